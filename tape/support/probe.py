"""Try a function: record it, differentiate it in both modes and twice, on complex numbers, and compile it.

Derivatives count only if they are right: each is compared with central differences.
"""

from __future__ import annotations

import builtins
import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.nesting import traced
from tape.core.node import Handle
from tape.core.trace import Trace
from tape.inspect.samples import name_of
from tape.ops.updates.overwriting import IN_PLACE
from tape.program import compile
from tape.support.samples import arguments, data
from tape.transforms import grad, jvp

_STEP = 1e-5
_WRITING = {f"np.{function.__name__}" for function in IN_PLACE}
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Support:
    """Features that a function supports.

    Attributes
    ----------
    name : str
        Its name in user code.
    sample : str
        The call that was tried.
    status : str
        ``"derivative"``, ``"no derivative"`` (recorded; zero almost everywhere), ``"answered"`` (from the
        value or its shape; not recorded), or ``"none"``, which raises at the call.
    vjp, jvp, second : bool
        Whether reverse mode, forward mode and both together give what differences give.
    is_complex : bool or None
        The same for complex arguments; None where NumPy takes none, or makes no floats of them.
    program : str
        ``"native"`` or ``"callback"``: how a compiled Program does it.
    detail : str
        The error message, or what was wrong.
    """

    name: str
    sample: str
    status: str
    vjp: bool = False
    jvp: bool = False
    second: bool = False
    is_complex: bool | None = None
    program: str = ""
    detail: str = ""


def probe(sample: str) -> Support:
    """Try a function.

    Parameters
    ----------
    sample : str
        A call, as in `tape.support.samples`.

    Returns
    -------
    Support

    Examples
    --------
    >>> from tape.support import probe
    >>> found = probe("np.exp(x)")
    >>> found.status, found.vjp, found.jvp, found.second, found.is_complex, found.program
    ('derivative', True, True, True, True, 'native')
    """
    name = name_of(sample)
    subject = Subject(sample)
    try:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            return _tried(name, sample, subject)
    except errors.TapeError as error:
        return Support(name, sample, "none", detail=str(error))


def _tried(name: str, sample: str, subject: Subject) -> Support:
    args = subject.args
    trace = Trace()
    outs = subject.outs([trace.param(arg) for arg in args])
    plain = subject.outs(args)
    if not any(isinstance(out, Handle) for out in outs):
        return Support(name, sample, "answered")
    if not _are_alike(outs, plain):
        return Support(name, sample, "none", detail="the recorded value is not that of NumPy")
    program = _program_of(subject, args)
    if not any(isinstance(out, Handle) and out.node.is_active for out in outs):
        return Support(name, sample, "no derivative", program=program)
    return Support(
        name,
        sample,
        "derivative",
        vjp=_is_right(_vjp, subject.scalar, args),
        jvp=_is_right(_jvp, subject.scalar, args),
        second=_is_right(_second, subject.scalar, args),
        is_complex=_complex_support(subject),
        program=program,
    )


class Subject:
    """A sample as a function of its float arguments."""

    def __init__(self, sample: str, *size: int) -> None:
        floats = arguments(*size)
        self.writes = name_of(sample) in _WRITING
        self.code = builtins.compile(sample, sample, "eval")
        self.args = [floats[name] for name in self.code.co_names if name in floats]
        self.names = [name for name in self.code.co_names if name in floats]
        self.data = {**data(*size), "tape": SimpleNamespace(ops=ops, apply=ops.apply)}
        if "scipy" in self.code.co_names:
            import scipy.special

            self.data["scipy"] = scipy

    def outs(self, args: Sequence[Any]) -> list[Any]:
        """Return all results, flat; of a function that writes in place, the arguments afterwards."""
        values = {name: ops.copy(arg) for name, arg in zip(self.names, args, strict=True)}
        result = eval(self.code, {**self.data, **values})
        return list(_flat(list(values.values()) if self.writes else result))

    def scalar(self, args: Sequence[Any]) -> Any:
        """Return a number that depends on every element of every result."""
        total: Any = 0.0
        for out in self.outs(args):
            if getattr(out, "dtype", np.dtype(int)).kind in "fc":
                weights = np.cos(1.0 + np.arange(np.size(out))).reshape(np.shape(out))
                if out.dtype.kind == "c":
                    weights = weights * (0.6 - 0.8j)
                total = total + np.sum(np.real(out * weights))
        return total


def _flat(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from _flat(part)
    else:
        yield result


def _are_alike(outs: Sequence[Any], plain: Sequence[Any]) -> bool:
    return len(outs) == len(plain) and all(
        not isinstance(out, Handle)
        or (
            np.result_type(traced(out)) == np.result_type(other)
            and np.array_equal(traced(out), other, equal_nan=True)
        )
        for out, other in zip(outs, plain, strict=True)
    )


def _program_of(subject: Subject, args: Sequence[Any]) -> str:
    def f(*args: Any) -> list[Any]:
        return [out for out in subject.outs(args) if isinstance(out, Handle)]

    compiled = compile(f)
    found = compiled(*args)
    if not _are_close(compiled(*args), found):
        return "wrong"
    has_callbacks = any(program.ir.callbacks for program in compiled.programs.values())
    return "callback" if has_callbacks else "native"


def _are_close(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    return all(np.allclose(x, y, rtol=1e-12, atol=1e-12, equal_nan=True) for x, y in zip(xs, ys, strict=True))


# ---- derivatives, each against differences of what it derives --------------------------------------

Scalar = Callable[[Sequence[Any]], Any]


def _along(args: Sequence[Any], salt: int) -> list[Any]:
    rng = np.random.default_rng(salt)

    def one(arg: Any) -> Any:
        t = rng.uniform(-1, 1, np.shape(arg))
        return t + 1j * rng.uniform(-1, 1, np.shape(arg)) if np.iscomplexobj(arg) else np.asarray(t)[()]

    return [one(arg) for arg in args]


def _moved(args: Sequence[Any], along: Sequence[Any], step: float) -> list[Any]:
    return [arg + step * t for arg, t in zip(args, along, strict=True)]


def _difference(f: Scalar, args: Sequence[Any], along: Sequence[Any]) -> float:
    return (f(_moved(args, along, _STEP)) - f(_moved(args, along, -_STEP))) / (2 * _STEP)


def _gradient(f: Scalar, args: Sequence[Any]) -> Sequence[Any]:
    return grad(lambda *args: f(args), tuple(range(len(args))))(*args)


def _paired(gradient: Sequence[Any], along: Sequence[Any]) -> Any:
    return sum(np.sum(np.real(g * t)) for g, t in zip(gradient, along, strict=True))


def _vjp(f: Scalar, args: Sequence[Any]) -> tuple[Any, Any]:
    along = _along(args, 1)
    return _paired(_gradient(f, args), along), _difference(f, args, along)


def _jvp(f: Scalar, args: Sequence[Any]) -> tuple[Any, Any]:
    along = _along(args, 2)
    return jvp(lambda *args: f(args), tuple(args), tuple(along))[1], _difference(f, args, along)


def _second(f: Scalar, args: Sequence[Any]) -> tuple[Any, Any]:
    along, other = _along(args, 3), _along(args, 4)

    def slope(args: Sequence[Any]) -> Any:
        return _paired(_gradient(f, args), along)

    return jvp(lambda *args: slope(args), tuple(args), tuple(other))[1], _difference(slope, args, other)


def _is_right(check: Callable[[Scalar, Sequence[Any]], tuple[Any, Any]], f: Scalar, args: Any) -> bool:
    try:
        found, expected = check(f, args)
    except errors.TapeError:
        return False
    return bool(abs(found - expected) <= _TOLERANCE * max(1.0, abs(expected)))


def _complex_support(subject: Subject) -> bool | None:
    args = [arg + 0.2j * (arg[::-1] if np.ndim(arg) else arg) for arg in subject.args]
    with contextlib.suppress(TypeError, ValueError, NotImplementedError, errors.TapeError):
        if not any(np.iscomplexobj(out) or np.asarray(out).dtype.kind == "f" for out in subject.outs(args)):
            return None
        slopes = [_difference(subject.scalar, args, _along(args, salt)) for salt in (1, 2)]
        if not np.all(np.isfinite(slopes)):
            return None
        return all(_is_right(check, subject.scalar, args) for check in (_vjp, _jvp, _second))
    return None
