"""Programs run twice, eagerly and compiled, on the same data sets: what comes out must be the same."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

import tape
from tape import errors
from tape.program.hot import compiling, lanes
from tape.program.ir import compression, contract, extremes, sinking
from tape.program.plan import pairs, planner
from tests.random_programs.otherwise import (
    OTHERWISE,
    rounded_otherwise,
    summed_otherwise,
    with_results_as_they_are,
    with_zeros_turned,
)
from tests.random_programs.programs import Program
from tests.random_programs.sources import SOURCES, DataSet, copied, materialise

__all__ = ["HARMLESS", "Verdict", "called", "difference", "is_ill_conditioned", "run"]

REFUSALS = (
    errors.UnsupportedError,
    errors.ConversionError,
    errors.InPlaceError,
    errors.MissingAttributeError,
    errors.DTypeError,
)
"""What a compiled function may raise where the eager one does not."""

HARMLESS = ("same", "refused", "eager refuses", "drops an error", "ill-conditioned")
"""Verdicts that are no differences."""

BUILT_IN = (
    ValueError, IndexError, TypeError, ZeroDivisionError, OverflowError, FloatingPointError, KeyError,
    AttributeError, np.linalg.LinAlgError,
)  # fmt: skip


@dataclass
class Verdict:
    """What became of a program.

    Attributes
    ----------
    kind : str
        ``same``; ``refused`` by a documented error; ``eager refuses``, where there is nothing to compare;
        ``drops an error``, if what would raise it is not needed;
        ``ill-conditioned``, if eager results differ as much for arguments that differ by rounding, for sums
        in another order, or for zeros of another sign where signs are not laid down; or how the two
        differ: ``value``, ``NaN``, ``sign of zero``, ``type``, ``structure``, ``error``, ``argument``.
    detail : str
        Of errors, their class; of differences, what was found and expected.
    call : int
        The last one, counted from 0.
    """

    kind: str
    detail: str = ""
    call: int = 0

    @property
    def is_difference(self) -> bool:
        return self.kind not in HARMLESS


class Subject:
    """The function of a program in a namespace of its own, and what it closes over.

    Parameters
    ----------
    program : Program
    code : code object
        Of its source.
    first : DataSet
        What is closed over at first.
    """

    def __init__(self, program: Program, code: Any, first: DataSet) -> None:
        self.program = program
        self.namespace: dict[str, Any] = {"np": np, "tape": tape, "STATE": _State(), **OTHERWISE}
        self.current = dict(first.values)
        for name in program.placed("global", "attribute", "default"):
            self._bind(name, copied(first.values[name]))
        exec(code, self.namespace)
        self.cells = [copied(first.values[name]) for name in program.placed("cell")]
        if self.cells:
            self.f, self.rebind = self.namespace["make"](*self.cells)
        else:
            self.f = self.namespace["f"]

    def _bind(self, name: str, value: Any) -> None:
        owner, _, attribute = name.partition(".")
        if attribute:
            setattr(self.namespace.setdefault(owner, _Record()), attribute, value)
        else:
            self.namespace[name] = value

    def _read(self, name: str) -> Any:
        owner, _, attribute = name.partition(".")
        found = self.namespace[owner]
        return getattr(found, attribute) if attribute else found

    def change(self, one: DataSet) -> None:
        """Let what is closed over be what a data set says, in place or under the same name."""
        cells = self.program.placed("cell")
        is_rebound = False
        for name in self.program.sources:
            source, value = SOURCES[name], one.values[name]
            if source.change == "given" or value is self.current[name]:
                continue
            self.current[name] = value
            if source.change == "in place":
                kept = self.cells[cells.index(name)] if source.place == "cell" else self._read(name)
                np.atleast_1d(kept).view(np.uint8)[...] = np.atleast_1d(value).view(
                    np.uint8
                )  # bools of any byte
            elif source.place == "cell":
                self.cells[cells.index(name)] = copied(value)
                is_rebound = True
            else:
                self._bind(name, copied(value))
        if is_rebound:
            self.rebind(*self.cells)

    def closed_over(self) -> list[Any]:
        """What is closed over, as it is now."""
        return [
            self.cells[self.program.placed("cell").index(name)]
            if SOURCES[name].place == "cell"
            else self._read(name)
            for name in self.program.sources
            if SOURCES[name].change != "given"
        ]

    def outcome(self, f: Any, call: Any) -> tuple[Any, Exception | None]:
        """What the function, or it compiled, returns, or raises; and the state that it leaves."""
        found, raised = outcome(f, call)
        if raised is None and self.program.has_state:
            return {"result": found, "state": vars(self.namespace["STATE"])}, None
        return found, raised


class _Record:
    """An object with attributes."""


class _State:
    """What a function changes."""

    def __init__(self) -> None:
        self.count, self.total, self.mean, self.last = 0, 0.0, 0.0, None
        self.log: list[Any] = []


def outcome(f: Any, call: Any) -> tuple[Any, Exception | None]:
    """What a function returns, or raises."""
    try:
        return f(*call.args, **call.kwargs), None
    except NameError:  # no program: a statement was left out that another needs
        raise
    except Exception as error:
        return None, error


def run(program: Program, sets: list[DataSet], ignored: frozenset[str] = frozenset()) -> Verdict:
    """Call a program on data sets in order, until there is a difference or a refusal.

    Parameters
    ----------
    program : Program
        What is called, eagerly and compiled.
    sets : list of DataSet
        What it is called on; some are there several times.
    ignored : frozenset of str
        Kinds of differences that count as none.
    """
    if not program.has_determined_zeros:
        ignored = ignored | {"sign of zero"}
    if program.has_second_loop_derivatives:
        ignored = ignored | {"NaN"}  # zero times infinity
    with warnings.catch_warnings(), np.errstate(all="ignore"), _sizes(program.seed):
        warnings.simplefilter("ignore")
        code = compile(program.source, f"<program {program.seed}>", "exec")
        eager, subject = Subject(program, code, sets[0]), Subject(program, code, sets[0])
        compiled = tape.compile(subject.f, donate=program.donated, max_paths=program.max_paths)
        verdict = Verdict("same")
        for number, one in enumerate(sets):
            eager.change(one)
            subject.change(one)
            # What is compiled comes first: it may not rely on what the eager call left behind.
            call, plain = (materialise(one, program.sources, program.donate) for _ in range(2))
            found, raised = subject.outcome(compiled, call)
            expected, reason = eager.outcome(eager.f, plain)
            if isinstance(reason, errors.TapeError):
                return Verdict("eager refuses", type(reason).__name__, number)
            kind, detail = _judged(found, raised, expected, reason, ignored)
            if kind == "error" and reason is not None and program.has_dead_statements:
                return Verdict("drops an error", repr(reason), number)
            if kind == "refused":
                return Verdict(kind, detail, number)
            if isinstance(raised, np.linalg.LinAlgError) and "NaN" in ignored:
                return Verdict("ill-conditioned", detail, number)  # a factorization of that NaN
            is_singular = reason is None and isinstance(raised, np.linalg.LinAlgError)
            if is_singular and is_nearly_singular(program, code, sets[: number + 1]):
                return Verdict("ill-conditioned", detail, number)
            if not kind:
                kind, detail = _damage(program, one, call, subject, found)
            decides = program.has_second_loop_derivatives and _overflows(one)  # a NaN: zero times infinity
            if kind in ("value", "structure") and decides:
                return Verdict("ill-conditioned", detail, number)
            if kind in ("value", "structure", "NaN", "type") and is_ill_conditioned(
                program, code, sets[: number + 1], found, expected
            ):
                return Verdict("ill-conditioned", detail, number)
            if kind:
                return Verdict(kind, detail, number)
            if raised is not None and program.has_state:  # what it has changed by then is not laid down
                return verdict
        return verdict


@contextmanager
def _sizes(seed: int) -> Iterator[None]:
    """Let three of four programs do to small arrays what is done to long or large ones.

    And one of four compiles its loops after two steps, of short arrays too; one of two compresses the
    smallest batches, and has kernels for the extremes of few elements.
    """
    with ExitStack() as stack:
        if seed & 1:
            stack.enter_context(patch.multiple(pairs, MOST_SHORT=1, _LONG_BYTES=1))
        if seed & 2:
            for module in (planner, sinking, contract):
                stack.enter_context(patch.object(module, "GROUPED_BYTES", 32))
        if seed & 12 == 12:
            stack.enter_context(patch.object(compiling, "steps_before", lambda _: 2))
            stack.enter_context(patch.object(lanes, "_LEAST_LANES", 2))
        if seed & 16:
            least = {"_WORTH_IT": -math.inf, "_FEWEST_ROWS": 2, "_SHARE": 1}
            stack.enter_context(patch.multiple(compression, **least))
            stack.enter_context(patch.multiple(extremes, _WORTH_IT=1, _FEWEST_BYTES=1))
        yield


def _judged(found: Any, raised: Any, expected: Any, reason: Any, ignored: frozenset[str]) -> tuple[str, str]:
    """How the outcomes differ; nothing if they do not."""
    if raised is None and reason is None:
        return difference(found, expected, ignored)
    if reason is None:
        # Where NumPy converts what is assigned to an array, it says so in an error of its own.
        refusal = raised if isinstance(raised, REFUSALS) else raised.__cause__
        if isinstance(refusal, REFUSALS):
            return "refused", f"{type(refusal).__name__}: {str(refusal)[:60]}"
        return "error", f"{type(raised).__name__}: {str(raised)[:200]}, expected {expected!r}"
    if raised is None:
        return "error", f"{found!r}, expected {reason!r}"
    classes = tuple(known for known in BUILT_IN if isinstance(reason, known))
    if isinstance(raised, classes or type(reason)):
        return "", ""
    if isinstance(raised, REFUSALS) or isinstance(raised.__cause__, REFUSALS):
        return "refused", type(raised).__name__
    return "error", f"{raised!r}, expected {reason!r}"


def _overflows(one: DataSet) -> bool:
    """Whether there are numbers in a data set whose products are infinite."""
    leaves = [np.asarray(leaf) for leaf in tape.tree.leaves(list(one.values.values()))]
    return any(np.any(~(np.abs(leaf) < 1e150)) for leaf in leaves if leaf.dtype.kind in "fc")


def _damage(program: Program, one: DataSet, call: Any, subject: Subject, found: Any) -> tuple[str, str]:
    """Whether arguments that are not donated, or arrays closed over, were written to, or are results."""
    fresh = materialise(one, program.sources, program.donate)
    for name, now, before in zip(program.placed("argument"), call.args, fresh.args, strict=True):
        if name not in program.donate and _bytes(now) != _bytes(before):
            return "argument", f"{name} was {before!r}, is {now!r}"
    closed = [name for name in program.sources if SOURCES[name].change != "given"]
    for name, now in zip(closed, subject.closed_over(), strict=True):
        if _bytes(now) != _bytes(one.values[name]):
            return "argument", f"{name} was {one.values[name]!r}, is {now!r}"
    returned = found["result"] if program.has_state and found else found
    results = [leaf for leaf in tape.tree.leaves(returned) if isinstance(leaf, np.ndarray)]
    given = zip(program.placed("argument"), call.args, strict=True)
    others = [value for name, value in given if name not in program.donate] + subject.closed_over()
    for k, result in enumerate(results):
        for other in [*results[:k], *others]:
            if isinstance(other, np.ndarray) and np.may_share_memory(result, other):
                return "argument", f"the result {result!r} shares memory with {other!r}"
    return "", ""


def _bytes(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


# ---- comparing -----------------------------------------------------------------------------------


def difference(found: Any, expected: Any, ignored: frozenset[str] = frozenset()) -> tuple[str, str]:
    """How two results differ first, but for kinds that are ignored; nothing if they are the same."""
    return next(
        (one for one in _differences(found, expected, "result") if one[0] and one[0] not in ignored), ("", "")
    )


def _differences(found: Any, expected: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(expected, np.ndarray) and not expected.ndim:
        expected = expected[()]  # compiled functions return scalars

    def told() -> str:
        return f"{where}: {found!r}, expected {expected!r}"

    def told_if(kind: str) -> list[tuple[str, str]]:
        return [(kind, told())] if kind else []

    if _class_of(found) != _class_of(expected):
        are_numbers = isinstance(found, np.generic) and isinstance(expected, np.generic)
        is_alike = are_numbers and found.dtype == expected.dtype
        yield "class" if is_alike else "type", f"{told()}, {type(found)}, {type(expected)}"
    elif isinstance(expected, dict):
        if [(type(key), key) for key in found] != [(type(key), key) for key in expected]:
            yield "structure", told()
        for key in expected.keys() & found.keys():
            yield from _differences(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        if len(found) != len(expected):
            yield "structure", told()
        for k, (a, b) in enumerate(zip(found, expected, strict=False)):
            yield from _differences(a, b, f"{where}[{k}]")
    elif isinstance(expected, (np.ndarray, np.generic)):
        if (found.dtype, found.shape) != (expected.dtype, expected.shape):
            yield "structure", told()
        else:
            yield from told_if(_numbers(found, expected))
    elif isinstance(expected, (float, complex)):
        yield from told_if(_numbers(np.asarray(found), np.asarray(expected)))
    elif found != expected or repr(found) != repr(expected):
        yield "value", told()


def _class_of(value: Any) -> Any:
    """The class of a value; of named tuples, of which NumPy's and ours are alike, the name and fields."""
    cls = type(value)
    return (cls.__name__, cls._fields) if isinstance(value, tuple) and hasattr(cls, "_fields") else cls


_TOLERANCES = {2: 4e-3, 4: 1e-3}
"""Of halves, four roundings; of doubles 1e-7."""


def _numbers(found: np.ndarray, expected: np.ndarray) -> str:
    """How arrays of a dtype and shape differ; an empty string if they do not."""
    if expected.dtype.kind == "c":
        # Parts of infinities are not laid down: NumPy's loops round once or twice, by where they begin.
        both = np.isfinite(found) | np.isfinite(expected)
        parts = [_numbers(part(found[both]), part(expected[both])) for part in (np.real, np.imag)]
        return parts[0] or parts[1]
    if expected.dtype.kind != "f":
        return "" if np.array_equal(found, expected) else "value"
    extra = np.isnan(found) & ~np.isnan(expected)
    if np.any(extra):
        return _numbers(found[~extra], expected[~extra]) or "NaN"
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return "value"
    found, expected = found[finite], expected[finite]
    scale = np.max(np.abs(expected), initial=1.0)
    tolerance = _TOLERANCES.get(expected.dtype.itemsize, 1e-7)
    if not np.all(np.abs(found - expected) <= tolerance * scale):
        return "value"
    zeros = (found == 0) & (expected == 0)
    return "sign of zero" if np.any(np.signbit(found[zeros]) != np.signbit(expected[zeros])) else ""


def is_ill_conditioned(program: Program, code: Any, sets: list[DataSet], found: Any, expected: Any) -> bool:
    """Whether eager results differ as much where these do, if all numbers are moved by their rounding.

    Or if arrays lie otherwise in memory: BLAS multiplies these by another kernel, which may round once for
    a product and a sum, so that what overflows there and here is not the same, and so with infinities in
    products of complex numbers. Or if sums are taken in another order, results of statements are rounded
    otherwise, or zeros have the other sign.
    """
    moved = [(code, [_moved(one, salt, program.has_determined_zeros) for one in sets]) for salt in range(8)]
    lying = [[replace(one, layout=layout, alias="") for one in sets] for layout in ("F", "C", "reversed")]
    otherwise = list(summed_otherwise(program))
    copied, _ = called(program, with_results_as_they_are(program), sets)
    if not difference(copied, expected, frozenset({"sign of zero"}))[0]:
        otherwise += rounded_otherwise(program)
    gaps = _gaps(found, expected)
    moved_gaps = np.zeros(len(gaps))
    for variant, data in [*moved, *[(code, other) for other in lying], *[(one, sets) for one in otherwise]]:
        other, error = called(program, variant, data)
        if error is None:
            others = _gaps(other, expected)
            if len(others) != len(gaps):  # of another structure than expected: is it what was found?
                others = [0.0 if difference(found, other)[0] else np.inf] * len(gaps)
            moved_gaps = np.maximum(moved_gaps, others)
    if all(moved >= 0.1 * gap for moved, gap in zip(moved_gaps, gaps, strict=True) if gap > 1e-7):
        return True
    if program.has_determined_zeros:
        return False
    turned = [called(program, variant, sets)[0] for variant in with_zeros_turned(program)]
    close = [_close(found, other) for other in (expected, *turned)]
    alike = [one for one in close if [x.shape for x in one] == [x.shape for x in close[0]]]
    return all(np.all(np.any(one, axis=0)) for one in zip(*alike, strict=True))


def is_nearly_singular(program: Program, code: Any, sets: list[DataSet]) -> bool:
    """Whether the eager call inverts a matrix that rounding tells apart from singular ones, or does not."""

    def checked(function: Any) -> Any:
        def call(a: Any, *others: Any) -> Any:
            if type(a) is np.ndarray and np.any(np.linalg.cond(a) * np.finfo(a.dtype).eps > 0.01):
                raise np.linalg.LinAlgError("Singular matrix")
            return function(a, *others)

        return call

    checks = {name: checked(getattr(np.linalg, name)) for name in ("inv", "solve")}
    with patch.multiple(np.linalg, **checks):
        _, error = called(program, code, sets)
    return isinstance(error, np.linalg.LinAlgError)


def called(program: Program, code: Any, sets: list[DataSet]) -> tuple[Any, Exception | None]:
    """What the function of some code returns for the last one of data sets, or raises."""
    eager = Subject(program, code, sets[0])
    for one in sets:
        eager.change(one)
        if program.has_state or one is sets[-1]:
            found = eager.outcome(eager.f, materialise(one, program.sources, program.donate))
    return found


def _gaps(one: Any, other: Any) -> list[float]:
    """How far numbers are apart, leaf by leaf, beside the largest; infinite where they are not alike."""
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        return _gaps(list(one.values()), list(other.values()))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        return [gap for pair in zip(one, other, strict=True) for gap in _gaps(*pair)]
    if np.shape(one) != np.shape(other) or isinstance(other, (list, tuple, dict)):
        return [np.inf]
    if not isinstance(other, (np.ndarray, np.generic, float, complex)):
        return [0.0 if one == other else np.inf]
    if np.result_type(one) != np.result_type(other):
        return [np.inf]
    one, other = np.asarray(one, complex), np.asarray(other, complex)
    gaps = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0, np.abs(one - other))
    scale = np.max(np.abs(other), where=np.isfinite(other), initial=1)
    return [float(np.max(np.nan_to_num(gaps, nan=np.inf), initial=0) / scale)]


def _close(one: Any, other: Any) -> list[np.ndarray]:
    """Which numbers are alike, leaf by leaf."""
    if isinstance(one, dict) and isinstance(other, dict):
        one, other = list(one.values()), list(other.values())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return [close for pair in zip(one, other, strict=False) for close in _close(*pair)]
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or not {one.dtype.kind, other.dtype.kind} <= {*"biufc"}:
        return [np.asarray(bool(one.shape == other.shape and np.all(one == other)))]
    return [np.isclose(one, other, 1e-7, 1e-7, equal_nan=True)]


def _moved(one: DataSet, salt: int, keeps_zeros: bool) -> DataSet:
    """The data set with numbers moved by their rounding, more by larger salts; equal ones stay equal."""

    def sign(number: Any) -> int:
        return 1 - 2 * (hash((float(number), salt)) >> 7 & 1)

    def move(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: move(part) for key, part in value.items()}
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "c":
            parts = np.stack([value.real, value.imag], -1)
            return move(parts).view(value.dtype)[..., 0]
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            signs = np.array([*map(sign, value.ravel())], value.dtype).reshape(value.shape)
            eps = 2 ** (salt + 3) * np.finfo(value.dtype).eps
            zeros = value if keeps_zeros else 0 * signs
            return np.where(value == 0, zeros, value * (1 + eps * signs))
        if isinstance(value, float):
            return type(value)(value * (1 + 2 ** (salt - 50) * sign(value)))
        return value

    return DataSet({name: move(value) for name, value in one.values.items()})
