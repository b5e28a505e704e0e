"""Checks of derivatives: `check_grads`, `check_jvp` and `check_vjp` compare them with differences.

Differences are central, of order 8, along random directions. The derivative of order n is compared with
differences of the one of order n - 1, which has been checked before: no precision is lost with the
order. Everything is public API of `tape.transforms`; nothing here knows a rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from tape import errors, tree
from tape.transforms.jvp import jvp
from tape.transforms.vjp import vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]

Mode = Literal["fwd", "rev"]
Arrays = list[Any]

_STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # Fornberg 1988, order 8
_ONE_SIDED = (-25 / 12, 4, -3, 4 / 3, -1 / 4)  # Fornberg 1988, order 4

# By the size of the coarsest dtype. Steps are powers of two: arguments move by what they can represent.
_STEPS = {2: 2.0**-2, 4: 2.0**-3, 8: 2.0**-7}
_RTOL = {2: 5e-2, 4: 5e-4, 8: 1e-8}
_SHRINK = {
    2: (1, 2, 4),
    4: (1, 8, 64),
    8: (1, 8, 64, 512),
}  # where a function bends too much for the first step
_NOISE = 30.0  # roundings of the function that a difference may suffer from, in units of its epsilon
_LOOK_AT = 64  # how many elements of an argument a report is based on


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[Mode] = ("fwd", "rev"),
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
        Plain NumPy code; arguments and result are trees. Called many times, with arguments that
        differ by up to four steps in each element. It must not be random.
    args : tuple or list
        Its arguments. Float leaves are differentiated by, all others are data.
    order : int
        The highest order to check; those below are checked first.
    modes : sequence of {"fwd", "rev"}
        Which sweeps to check.
    rtol : float, optional
        How much a derivative may be off, relative to the largest of its kind. By default 1e-8 for
        float64, 5e-4 for float32 and 5e-2 for float16, whichever is the coarsest in play. The
        rounding errors of the differences are allowed for besides.
    atol : float
        How much it may be off besides.
    step : float, optional
        The step of the differences. By default 1/128 for float64, 1/8 for float32 and 1/4 for float16;
        smaller ones, down to 512 times for float64, are tried before an error is raised.
    seed : int
        Of the random numbers: directions and cotangents.

    Raises
    ------
    DerivativeError
        If a derivative is off. An AssertionError, it says which, where and by how much, and whether
        ``f`` is smooth enough there to tell.
    OptionError
        If ``order``, ``modes``, ``step`` or ``args`` are none.
    DTypeError
        If there are no floats among the arguments or in the result.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.testing.check_grads(lambda p: np.tanh(p["a"] * p["b"]), ({"a": np.ones(3), "b": 0.5},))
    """
    __tracebackhide__ = True
    modes = [modes] if isinstance(modes, str) else list(modes)  # type: ignore[list-item]
    if not modes or any(mode not in ("fwd", "rev") for mode in modes):
        raise errors.OptionError(f"modes is {modes!r}. It holds 'fwd', 'rev' or both")
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 1:
        raise errors.OptionError(f"order is {order!r}. It is an int, 1 or more")
    subject = _Subject("check_grads", f, args, rtol, atol, step, seed)
    for path in (path for k in range(1, order + 1) for path in product(modes, repeat=k)):
        _check(subject.derived(path[:-1]), path[-1])


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

    The second check holds to rounding error: ``<w, J v>`` from a forward sweep is ``<J.T w, v>`` from a
    reverse one. It finds rules that fit each other badly where differences are too coarse to tell.

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
    subject = _Subject("check_jvp", f, args, rtol, atol, step, seed)
    _check(subject, "fwd")
    _check_transposition(
        subject, "the forward mode agrees with differences, the reverse mode does not fit it"
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
    subject = _Subject("check_vjp", f, args, rtol, atol, step, seed)
    _check(subject, "rev")
    _check_transposition(
        subject, "the reverse mode agrees with differences, the forward mode does not fit it"
    )


# ---- what is checked ---------------------------------------------------------------------------------


class _Subject:
    """A function of a list of float arrays, returning another, with all that its checks depend on."""

    def __init__(
        self,
        check: str,
        f: Callable[..., Any],
        args: Sequence[Any],
        rtol: float | None,
        atol: float,
        step: float | None,
        seed: int,
    ) -> None:
        if not isinstance(args, (tuple, list)):
            raise errors.OptionError(
                f"{check}: args is {errors.describe(args)}. It is a tuple of arguments, (x,) if there is one"
            )
        if step is not None and not 0 < step < np.inf:
            raise errors.OptionError(f"{check}: step is {step!r}. It is a positive number")
        self.title = f"{check}({getattr(f, '__name__', None) or repr(f)})"
        self.path: tuple[str, ...] = ()
        self.magnitude = 0.0  # of what the function is computed from, if that is a derivative
        self.rng = np.random.default_rng(seed)
        all_leaves, structure = tree.flatten(tuple(args))
        moving = [k for k, leaf in enumerate(all_leaves) if _is_float(leaf)]
        names = tree.names(structure, "args")
        self.names = [names[k] for k in moving]
        self.leaves = [all_leaves[k] for k in moving]
        outs, out_structure = tree.flatten(f(*args))
        out_names = tree.names(out_structure, "result")
        self.out_names = [name for name, out in zip(out_names, outs, strict=True) if _is_float(out)]
        for kind, found in (("argument", self.names), ("result", self.out_names)):
            if not found:
                raise errors.DTypeError(f"{self.title}: no {kind} holds floats, so there is no derivative")

        def function(*moved: Any) -> Arrays:
            filled = list(all_leaves)
            for k, leaf in zip(moving, moved, strict=True):
                filled[k] = leaf
            outs, _ = tree.flatten(f(*tree.restore(structure, filled)))
            return [out for out in outs if _is_float(out)]

        self.function: Callable[..., Arrays] = function
        self.likes = [np.asarray(out) for out in outs if _is_float(out)]
        coarsest = min((np.asarray(x).dtype for x in (*self.leaves, *self.likes)), key=lambda d: d.itemsize)
        self.epsilon = float(np.finfo(coarsest).eps)
        size = min(coarsest.itemsize, 8)
        self.rtol, self.atol = _RTOL[size] if rtol is None else rtol, atol
        first = _STEPS[size] if step is None else step
        self.steps = [first / shrink for shrink in _SHRINK[size]]

    def derived(self, path: Sequence[str]) -> _Subject:
        """The derivative in these modes, along directions and cotangents drawn here, once for all."""
        subject = self
        for mode in path:
            subject = subject._derived(mode)
        return subject

    def _derived(self, mode: str) -> _Subject:
        subject = object.__new__(_Subject)
        subject.__dict__.update(self.__dict__)
        subject.path = (*self.path, mode)
        subject.magnitude = max(self.magnitude, *(_scale(out) for out in self.at(self.leaves, 0.0)))
        inner = self.function
        if mode == "fwd":
            tangents = self.directions()
            subject.function = lambda *xs: jvp(inner, xs, tangents)[1]
        else:
            weights = self.weights()
            subject.function = lambda *xs: list(vjp(inner, *xs)[1](weights))
            subject.out_names = [f"the gradient by {name}" for name in self.names]
            subject.likes = [np.asarray(leaf) for leaf in self.leaves]
        return subject

    def directions(self) -> Arrays:
        """A random direction for every leaf, such that no step along it is rounded."""
        return [
            _representable(self.rng.uniform(-1, 1, np.shape(leaf)), leaf, self.steps[-1])
            for leaf in self.leaves
        ]

    def weights(self) -> Arrays:
        """A random cotangent; for a scalar result it is 1, so that what is reported is the gradient."""
        if sum(like.size for like in self.likes) == 1:
            return [np.ones_like(like)[()] for like in self.likes]
        return [self.rng.uniform(0.5, 1.5, like.shape).astype(like.dtype)[()] for like in self.likes]

    def at(self, directions: Arrays, distance: float) -> Arrays:
        """The results of the function after a step along the directions, widened."""
        moved = [
            leaf + np.asarray(distance * d, np.asarray(leaf).dtype) if np.any(d) else leaf
            for leaf, d in zip(self.leaves, directions, strict=True)
        ]
        return [_widened(out) for out in self.function(*moved)]


class _Slot(NamedTuple):
    """Part of a derivative, as it should be and as it is."""

    expected: Any
    got: Any
    tolerance: float  # what the differences leave open included
    noise: float  # by rounding of the differences alone

    @property
    def off(self) -> Any:
        """How far each element is off; infinitely if one of the two is NaN."""
        with np.errstate(invalid="ignore"):
            distance = np.abs(self.expected - self.got)
        return np.where(self.expected == self.got, 0.0, np.where(np.isnan(distance), np.inf, distance))

    @property
    def excess(self) -> float:
        """How far the worst element is off, in units of the tolerance: it is wrong if more than one."""
        off = _largest(self.off)
        return off / self.tolerance if off and self.tolerance else (np.inf if off else 0.0)


class _Forward:
    """A forward sweep against differences: every leaf of the result is a slot."""

    def __init__(self, subject: _Subject) -> None:
        self.subject = subject
        self.steps = subject.steps

    def directions(self) -> Arrays:
        """A direction for every leaf."""
        return self.subject.directions()

    def slots(self, directions: Arrays, step: float) -> list[_Slot]:
        """The derivative along a direction."""
        subject = self.subject
        slots = []
        tangents = jvp(subject.function, subject.leaves, directions)[1]
        for (expected, noise), tangent in zip(_differences(subject, directions, step), tangents, strict=True):
            scale = _scale(expected)
            tolerance = subject.rtol * scale + noise + subject.atol
            slots.append(_Slot(expected, _widened(tangent), tolerance, noise))
        return slots

    def of(self, column: int, index: Sequence[Any]) -> str:
        """What an element of a slot is the derivative of."""
        return _place(self.subject.out_names[column], index)


class _Reverse:
    """A reverse sweep against differences: the one slot is the product of gradient and direction."""

    def __init__(self, subject: _Subject) -> None:
        self.subject = subject
        self.steps = subject.steps
        self.rtol = subject.rtol
        self.weights = subject.weights()
        self.gradients = vjp(subject.function, *subject.leaves)[1](self.weights)

    def directions(self) -> Arrays:
        """A direction for every leaf, uphill in each element, so that nothing cancels in the product."""
        pairs = zip(self.subject.directions(), self.gradients, strict=True)
        return [np.copysign(direction, _widened(gradient)) for direction, gradient in pairs]

    def reference(self, directions: Arrays, step: float) -> list[tuple[Any, float]]:
        """How the results move along a direction, and how certain that is."""
        return _differences(self.subject, directions, step)

    def slots(self, directions: Arrays, step: float) -> list[_Slot]:
        """The product, and what it should be."""
        moved = self.reference(directions, step)
        theirs = [_widened(w) * value for w, (value, _) in zip(self.weights, moved, strict=True)]
        ours = [_widened(g) * d for g, d in zip(self.gradients, directions, strict=True)]
        noise = _norm([_norm([w]) * noise for w, (_, noise) in zip(self.weights, moved, strict=True)])
        scale = max(_norm(theirs), _norm(ours))
        tolerance = self.rtol * scale + noise + self.subject.atol
        return [_Slot(_total(theirs), _total(ours), tolerance, noise)]

    def of(self, column: int, index: Sequence[Any]) -> str:
        """What the slot is the derivative of."""
        names = ", ".join(self.subject.out_names)
        is_scalar = sum(np.size(w) for w in self.weights) == 1
        return names if is_scalar else f"the sum of random weights times {names}"


class _Transposed(_Reverse):
    """A reverse sweep against a forward one: equal but for rounding."""

    def __init__(self, subject: _Subject) -> None:
        super().__init__(subject)
        self.steps = subject.steps[:1]  # it does not matter which
        self.rtol = min(subject.rtol, 1e4 * subject.epsilon)

    def reference(self, directions: Arrays, step: float) -> list[tuple[Any, float]]:
        """How the results move along a direction."""
        tangents = jvp(self.subject.function, self.subject.leaves, directions)[1]
        return [(_widened(tangent), 0.0) for tangent in tangents]


# ---- checking, and finding where it went wrong -------------------------------------------------------


def _check(subject: _Subject, mode: str) -> None:
    __tracebackhide__ = True
    with warnings.catch_warnings():
        # The derivative of a linear function is constant, and rightly so.
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        comparison = _Forward(subject) if mode == "fwd" else _Reverse(subject)
        report = _report(comparison, _name((*subject.path, mode)), "differences")
    if report:
        raise errors.DerivativeError(report)


def _check_transposition(subject: _Subject, verdict: str) -> None:
    __tracebackhide__ = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        report = _report(_Transposed(subject), f"<w, J v> is not <J.T w, v>: {verdict}", "the forward mode")
    if report:
        raise errors.DerivativeError(report)


def _name(path: Sequence[str]) -> str:
    words = {"fwd": "forward mode", "rev": "reverse mode"}
    return f"order {len(path)}, " + " over ".join(words[mode] for mode in reversed(path))


def _settled(comparison: Any, directions: Arrays) -> list[_Slot]:
    """Every slot at the step where it fits best; smaller steps are not looked at without need."""
    best: list[_Slot] = []
    for step in comparison.steps:
        slots = comparison.slots(directions, step)
        if not best:
            best = slots
        for k, slot in enumerate(slots):
            # Rounding grows as steps shrink: it must stay far below what it could hide.
            hidden = max(_scale(slot.expected), _scale(best[k].off))
            is_first = not np.isfinite(best[k].expected).all()  # larger steps left the domain
            if (is_first or slot.noise <= 0.01 * hidden) and slot.excess < best[k].excess:
                best[k] = slot
        if all(slot.excess <= 1 for slot in best):
            break
    return best


def _report(comparison: Any, what: str, source: str) -> str | None:
    """What is wrong, or None."""
    subject = comparison.subject
    directions = comparison.directions()
    by_leaf = []
    for k in range(len(directions)):
        slots = _settled(comparison, _only(directions, k))
        by_leaf.append(max(slot.excess for slot in slots))
    worst = int(np.argmax(by_leaf))
    if by_leaf[worst] <= 1:
        return None
    elements = _elements(comparison, directions, worst)
    off = np.array([[_largest(slot.off) for slot in slots] for slots in elements.values()])
    allowed = np.array([[slot.tolerance for slot in slots] for slots in elements.values()]).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(off <= allowed, 0.0, off / allowed)
    row, column = np.unravel_index(int(np.argmax(excess)), off.shape)
    element, slots = list(elements.items())[row]
    slot = slots[column]
    inside = np.unravel_index(int(np.argmax(slot.off)), np.shape(slot.expected))
    name, shape = subject.names[worst], np.shape(subject.leaves[worst])
    wrong, size = int(np.sum((off > allowed).any(axis=1))), int(np.prod(shape, dtype=int))
    looked = f" ({len(elements)} of its {size} were looked at)" if len(elements) < size else ""
    lines = [
        f"{subject.title}: {what}: the derivative by {name} is wrong",
        f"  worst: by {_place(name, np.unravel_index(element, shape))}, of {comparison.of(column, inside)}",
        f"  expected {slot.expected[inside]:.10g} (by {source}), got {slot.got[inside]:.10g}: "
        f"off by {slot.off[inside]:.3g}, allowed is {allowed[column]:.3g}",
        f"  {name}: {wrong} of {len(elements)} elements off{looked}, by {_largest(off):.3g} or less",
    ]
    lines += [
        f"  {other}: " + ("agrees" if value <= 1 else f"off, by {value:.3g} times what is allowed")
        for k, (other, value) in enumerate(zip(subject.names, by_leaf, strict=True))
        if k != worst
    ]
    if not isinstance(comparison, _Transposed):
        lines += _doubts(subject, _unit(subject, worst, element)[0])
    return "\n".join(lines)


def _elements(comparison: Any, directions: Arrays, k: int) -> dict[int, list[_Slot]]:
    """The slots along single elements of a leaf, after halving it to where it is worst if it is large."""
    direction = directions[k].ravel()
    start, stop = 0, direction.size
    while stop - start > _LOOK_AT:
        middle = (start + stop) // 2
        excess = []
        for part in (slice(start, middle), slice(middle, stop)):
            kept = np.zeros_like(direction)
            kept[part] = direction[part]
            trial = list(directions)
            trial[k] = kept.reshape(directions[k].shape)
            slots = _settled(comparison, _only(trial, k))
            excess.append(max(_largest(slot.off) for slot in slots))
        start, stop = (start, middle) if excess[0] >= excess[1] else (middle, stop)
    return {
        element: [
            slot._replace(expected=slot.expected / unit, got=slot.got / unit, tolerance=slot.tolerance / unit)
            for slot in _settled(comparison, directions)
        ]
        for element in range(start, stop)
        for directions, unit in [_unit(comparison.subject, k, element)]
    }


def _doubts(subject: _Subject, directions: Arrays) -> list[str]:
    """Why the differences may be the ones that are wrong."""
    here = subject.at(directions, 0.0)
    if not all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(here, subject.at(directions, 0.0), strict=True)
    ):
        return ["  two calls with the same arguments gave different results: fix its random numbers"]
    coarse, fine = (_differences(subject, directions, step) for step in subject.steps[-2:])
    step = subject.steps[-1]
    right, left = _one_sided(subject, directions, step), _one_sided(subject, directions, -step)
    doubts = []
    for name, (a, noise_a), (b, noise_b), after, before in zip(
        subject.out_names, coarse, fine, right, left, strict=True
    ):
        room = 1e-3 * max(_largest(a), _largest(b)) + 10 * (noise_a + noise_b)
        if not _largest(a - b) <= room:
            doubts.append(
                f"  these differences cannot be trusted: steps of {subject.steps[-2]:.2g} and {step:.2g} "
                f"disagree by {_largest(a - b):.3g} for {name}; it is not smooth here, or too steep"
            )
        if not _largest(after - before) <= max(room, 0.01 * max(_largest(after), _largest(before))):
            doubts.append(
                "  these differences cannot be trusted: the slopes to the right and the left differ by "
                f"{_largest(after - before):.3g} for {name}; there is a kink or a jump. Try another point"
            )
    return doubts


# ---- differences -------------------------------------------------------------------------------------


def _differences(subject: _Subject, directions: Arrays, step: float) -> list[tuple[Any, float]]:
    """The derivative along the directions for every leaf of the result, and how far rounding blurs it."""
    with np.errstate(
        all="ignore"
    ):  # a step may leave the domain of the function; then a smaller one is taken
        pairs = [
            (w, subject.at(directions, k * step), subject.at(directions, -k * step)) for k, w in _STENCIL
        ]
        estimates = []
        for i in range(len(pairs[0][1])):
            value = sum(w * (plus[i] - minus[i]) for w, plus, minus in pairs) / step
            values = [points[i] for _, *both in pairs for points in both]
            largest = max(subject.magnitude, *map(_scale, values))
            estimates.append((value, _NOISE * subject.epsilon * largest / step))
    return estimates


def _one_sided(subject: _Subject, directions: Arrays, step: float) -> Arrays:
    with np.errstate(all="ignore"):
        points = [subject.at(directions, k * step) for k in range(len(_ONE_SIDED))]
        return [
            sum(w * point[i] for w, point in zip(_ONE_SIDED, points, strict=True)) / step
            for i in range(len(points[0]))
        ]


def _representable(direction: Any, leaf: Any, smallest: float) -> Any:
    """A direction rounded (away from zero) such that even the smallest steps are exact."""
    leaf = np.asarray(leaf)
    grid = np.spacing(2 * (np.abs(leaf) + 1)).astype(float) / smallest
    return np.asarray(np.copysign(np.ceil(np.abs(direction) / grid) * grid, direction))


def _unit(subject: _Subject, k: int, element: int) -> tuple[Arrays, float]:
    """A direction along one element of a leaf, and its length: one, unless such steps would be rounded."""
    directions = [np.zeros(np.shape(leaf)) for leaf in subject.leaves]
    lengths = _representable(np.ones_like(directions[k]), subject.leaves[k], subject.steps[-1])
    directions[k].flat[element] = lengths.flat[element]
    return directions, float(lengths.flat[element])


def _only(directions: Arrays, k: int) -> Arrays:
    return [d if i == k else np.zeros_like(d) for i, d in enumerate(directions)]


# ---- numbers -----------------------------------------------------------------------------------------


def _is_float(leaf: Any) -> bool:
    dtype = getattr(leaf, "dtype", None)
    return (np.asarray(leaf).dtype if dtype is None else dtype).kind == "f"


def _widened(array: Any) -> Any:
    array = np.asarray(array)
    return array.astype(np.result_type(array, np.float64))


def _largest(array: Any) -> float:
    return float(np.max(np.abs(array), initial=0.0))


def _scale(array: Any) -> float:
    return _largest(np.where(np.isfinite(array), array, 0.0))


def _norm(arrays: Sequence[Any]) -> float:
    return float(np.sqrt(sum(_scale(np.sum(np.square(_widened(array)))) for array in arrays)))


def _total(arrays: Sequence[Any]) -> Any:
    return np.asarray(sum(np.sum(array) for array in arrays))


def _place(name: str, index: Sequence[Any]) -> str:
    return name + (f"[{', '.join(str(int(i)) for i in index)}]" if len(index) else "")
