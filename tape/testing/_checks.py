"""The three checks of derivatives.

The derivative of order n is compared with differences of the one of order n - 1, which has been checked
before: so precision does not decrease with the order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np

from tape import errors
from tape.testing._comparisons import Comparison, Forward, Reverse, Transposed
from tape.testing._report import report
from tape.testing._subject import Subject

Mode = Literal["fwd", "rev"]

_COMPARISONS: dict[str, type[Comparison]] = {"fwd": Forward, "rev": Reverse}
_WORDS = {"fwd": "forward mode", "rev": "reverse mode"}


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[Mode] | Mode = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of a function against differences, up to some order.

    Every combination of the modes is checked: at order 2 forward over reverse, reverse over forward,
    and each over itself.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees. It is called many times, with arguments that
        differ by up to four steps in each element, and must be deterministic.
    args : tuple or list
        Its arguments. Floats and complex numbers are differentiated, the latter by their real and imaginary
        parts; all others are data.
    order : int
        The highest order to check; lower orders are checked first.
    modes : {"fwd", "rev"} or sequence of them
        The modes to check.
    rtol : float, optional
        The tolerance, relative to the largest derivative of its kind. By default 1e-8 for float64, 5e-4
        for float32 and 5e-2 for float16, by the coarsest dtype involved. The rounding errors of the
        differences are added to it.
    atol : float
        An absolute tolerance, added to the relative one.
    step : float, optional
        The step of the differences. By default 1/128 for float64, 1/8 for float32 and 1/4 for float16;
        smaller ones, down to 512 times for float64, are tried before an error is raised.
    seed : int
        The seed of random directions and cotangents.

    Raises
    ------
    DerivativeError
        If a derivative is wrong. It is an AssertionError, and says which derivative, where and by how much,
        and whether ``f`` is smooth enough there for differences.
    OptionError
        If ``order``, ``modes``, ``step`` or ``args`` are invalid.
    DTypeError
        If there are no floats among the arguments or in the result.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.testing.check_grads(lambda p: np.tanh(p["a"] * p["b"]), ({"a": np.ones(3), "b": 0.5},))
    """
    __tracebackhide__ = True
    modes = [modes] if isinstance(modes, str) else list(modes)
    if not modes or any(mode not in _WORDS for mode in modes):
        raise errors.OptionError(f"modes is {modes!r}. It must hold 'fwd', 'rev' or both")
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise errors.OptionError(f"order is {order!r}. It must be an int, 1 or more")
    subject = Subject("check_grads", f, args, rtol, atol, step, seed)
    for count in range(1, order + 1):
        for path in product(modes, repeat=count):
            _check_by_differences(subject, path)


def check_jvp(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Check the forward mode against differences, and then against the reverse mode.

    The second check is exact up to rounding: ``<w, J v>`` from a forward sweep is ``<J.T w, v>`` from a
    reverse one. It finds inconsistent rules where differences are too coarse.

    Parameters
    ----------
    f, args, rtol, atol, step, seed
        As for `check_grads`.

    Raises
    ------
    DerivativeError, OptionError, DTypeError
        As `check_grads`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.testing.check_jvp(lambda x, y: x @ y, (np.ones((2, 3)), np.ones(3)))
    """
    __tracebackhide__ = True
    subject = Subject("check_jvp", f, args, rtol, atol, step, seed)
    _check_by_differences(subject, ["fwd"])
    _check_transposition(
        subject, "the forward mode agrees with differences, the reverse mode differs from it"
    )


def check_vjp(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Check the reverse mode against differences, and then against the forward mode.

    Parameters
    ----------
    f, args, rtol, atol, step, seed
        As for `check_grads`; the second check is that of `check_jvp`.

    Raises
    ------
    DerivativeError, OptionError, DTypeError
        As `check_grads`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.testing.check_vjp(lambda x: {"norm": np.sqrt(x @ x), "x": x}, (np.array([3.0, 4.0]),))
    """
    __tracebackhide__ = True
    subject = Subject("check_vjp", f, args, rtol, atol, step, seed)
    _check_by_differences(subject, ["rev"])
    _check_transposition(
        subject, "the reverse mode agrees with differences, the forward mode differs from it"
    )


def _check_by_differences(subject: Subject, path: Sequence[str]) -> None:
    """Check the last of these modes, applied over the others."""
    __tracebackhide__ = True
    *inner, mode = path
    modes = " over ".join(_WORDS[mode] for mode in reversed(path))
    _check(_COMPARISONS[mode], subject.derived(inner), f"order {len(path)}, {modes}")


def _check_transposition(subject: Subject, verdict: str) -> None:
    __tracebackhide__ = True
    _check(Transposed, subject, f"<w, J v> is not <J.T w, v>: {verdict}")


def _check(kind: type[Comparison], subject: Subject, what: str) -> None:
    __tracebackhide__ = True
    with warnings.catch_warnings():
        # The derivative of a linear function is constant, which is correct.
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        text = report(kind(subject), what)
    if text:
        raise errors.DerivativeError(text)
