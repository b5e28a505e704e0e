"""What a call at an edge of its arguments has to fulfil: NumPy's values, and all derivatives in every way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import tape
from tape.interpreters.batching import Lanes
from tests.oracles import assert_close, difference, inner, is_float, jvp, uniform, unit_directions, vjp

__all__ = ["check"]


def check(
    f: Callable[..., Any],
    *args: Any,
    oracle: Callable[..., Any] | None = None,
    tolerance: float = 1e-12,
    slopes: bool = True,
    program: bool = True,
    batch: bool = True,
) -> set[str]:
    """Compare a call with NumPy's, both modes with differences, a program and a batch with plain calls.

    Parameters
    ----------
    f : callable
        Of arrays, returning one or several. Of plain ones it returns what NumPy does if there is no oracle.
    *args : array_like
        Floats and complex numbers are differentiated by; the rest is data.
    oracle : callable, optional
        What is right.
    tolerance : float
        Of values; slopes get a thousand times as much.
    slopes, program, batch : bool
        Whether there are derivatives, a program, and a batch of calls, to be compared.

    Returns
    -------
    set of str
        Operations without instructions, which programs call, and those without a rule for batches, which run
        once for each element; these with "each" in front.
    """
    args = tuple(np.asarray(a) for a in args)
    right = oracle or f
    expected = _parts(right(*args))
    wrt = [k for k, a in enumerate(args) if is_float(a)]
    trace = tape.Trace()
    leaves = [trace.param(a) if is_float(a) else trace.input(a) for a in args]
    _assert_alike(f(*leaves), expected, tolerance)
    seeds = [uniform(np.random.default_rng(k), np.asarray(out)) for k, out in enumerate(expected)]

    def total(*args: Any, of: Any = f) -> Any:
        pairs = zip(_parts(of(*args)), seeds, strict=True)
        return inner(*zip(*[(out, seed) for out, seed in pairs if is_float(seed)], strict=True))

    def both(*args: Any) -> Any:
        return (*_parts(f(*args)), *tape.grad(total, tuple(wrt))(*args))

    slopes = slopes and bool(wrt) and any(map(is_float, seeds))
    if slopes:
        along = unit_directions(np.random.default_rng(5), args)
        slope = difference(lambda *args: total(*args, of=right), args, along)
        assert_close(jvp(total, args, along), slope, 1e3 * tolerance)
        assert_close(inner(vjp(total, args), along), slope, 1e3 * tolerance)
    function = both if slopes else f
    called: set[str] = set()
    if program:
        compiled, plainly = tape.compile(function), _parts(function(*args))
        for _ in range(2):  # the first call records
            _assert_alike(compiled(*args), plainly, tolerance)
        called.update(*(each.explain().callbacks for each in compiled.programs.values()))
    for chosen in (wrt[:1], wrt)[: len(wrt)] if batch else ():
        axes = tuple(0 if k in chosen else None for k in range(len(args)))
        given = [np.stack([a, a * 1.01]) if k in chosen else a for k, a in enumerate(args)]
        rows = [_parts(function(*(a[i] if k in chosen else a for k, a in enumerate(given)))) for i in (0, 1)]
        stacked = [np.stack(pair) for pair in zip(*rows, strict=True)]
        with _noted(called):
            _assert_alike(tape.vmap(function, axes)(*given), stacked, tolerance)
    return called


@contextmanager
def _noted(names: set[str]) -> Iterator[None]:
    """Note operations that run once for each element of a batch."""
    one_by_one = Lanes._one_by_one

    def noted(lanes: Lanes, op: Any, *rest: Any) -> Any:
        names.add(f"each {op.name}")
        return one_by_one(lanes, op, *rest)

    with patch.object(Lanes, "_one_by_one", noted):
        yield


def _parts(result: Any) -> Sequence[Any]:
    return result if isinstance(result, (tuple, list)) else (result,)


def _assert_alike(found: Any, expected: Sequence[Any], tolerance: float) -> None:
    """As many results, with equal shapes, dtypes and elements."""
    found = _parts(found)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        value = one.value if isinstance(one, tape.Var) else one
        assert np.result_type(value) == np.result_type(other)
        assert_close(value, other, tolerance)
