"""`jacobian`, `hessian`, `laplacian` and `divergence`: many sweeps over one tape, batched into one.

The identity matrix is swept as a batch of seeds, in pieces that limit the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

import numpy as np

from tape import errors, ops, tree
from tape.core.node import Handle
from tape.interpreters.batching import Lanes
from tape.ops.structure.layout import in_c_order, of_kind
from tape.transforms._derived import derived
from tape.transforms._record import Argnums, Recording, dtype_of, name_of
from tape.transforms.grad import gradient_of

Mode = Literal["auto", "fwd", "rev"]

_BATCH_ELEMENTS = 2**24
"""The number of elements that a batched sweep may hold at a time: 128 MiB of float64."""


@derived
def jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, mode: Mode = "auto", *, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``f``.

    For complex results of real arguments it is their derivative, for real results of complex arguments the
    gradient of each, in the sense of `tape.grad`. For complex results of complex arguments it exists only if
    the function is holomorphic.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees.
    argnums : int or tuple of int
        The positional arguments to differentiate with respect to.
    mode : {"auto", "fwd", "rev"}
        Forward mode takes a sweep for every element of the arguments, reverse mode one for every element of
        the result, all as one batch. The default takes the fewer. Complex results of real arguments need
        forward mode, real results of complex arguments reverse mode.
    holomorphic : bool
        Declares that ``f`` is a holomorphic function from complex arguments to complex results. This is
        checked along a random direction.

    Returns
    -------
    callable
        A function with the arguments of ``f``. For an argument of shape ``s`` and a result of shape ``r``,
        the array ``r + s``; in general ``J[result][argument]``, a tree like the result of trees like the
        argument, of such arrays.

    Raises
    ------
    DTypeError
        When called, as `grad`; if arguments and results are complex without ``holomorphic``, or real with
        it; or if ``f`` is not holomorphic although declared so.
    OutOfBoundsError
        As `grad`.
    OptionError
        If the mode is unknown, or not available for these complex numbers.

    Warns
    -----
    ConstantResultWarning
        If the result of ``f`` does not depend on the arguments; its derivative is zero.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> tape.jacobian(lambda z: z**2, holomorphic=True)(1 + 2j)
    np.complex128(2+4j)
    """
    if mode not in ("auto", "fwd", "rev"):
        raise errors.OptionError(f"jacobian: mode must be 'auto', 'fwd' or 'rev', not {mode!r}")

    def derivative(*args: Any, **kwargs: Any) -> Any:
        recording = Recording("jacobian", f, args, kwargs, argnums)
        recording.check_dtypes()
        if holomorphic:
            _check_holomorphic(recording)
            direction = mode
        else:
            direction = _mode_of_complex(recording, mode)
        rows = [recording.restore_args(row) for row in _blocks(recording, _chosen(recording, direction))]
        return tree.unflatten(recording.out_structure, rows)

    return derivative


@derived
def hessian(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of ``f``, which returns a scalar: forward over reverse.

    Parameters
    ----------
    f : callable
        Plain NumPy code.
    argnums : int or tuple of int
        The positional arguments to differentiate with respect to.

    Returns
    -------
    callable
        A function with the arguments of ``f``. For an argument of shape ``s`` the array ``s + s``, exactly
        symmetric; in general a tree as the argument, of trees as the argument, of such arrays.

    Raises
    ------
    ShapeError, DTypeError, OutOfBoundsError
        As `grad`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """

    def second(*args: Any, **kwargs: Any) -> Any:
        gradient = gradient_of(f, argnums, transform="hessian")
        recording = Recording("hessian", gradient, args, kwargs, argnums, name=name_of(f))
        recording.check_real_arguments(
            "Second derivatives with respect to complex numbers are not a matrix. Use tape.hvp along a "
            "direction; or differentiate by real and imaginary parts: tape.hessian(lambda p: f(p[0] + 1j * "
            "p[1]))"
        )
        rows = _symmetric(_blocks(recording, "fwd"), [p.ndim for p in recording.params])
        return recording.restore_args([recording.restore_args(row) for row in rows])

    return second


@derived
def divergence(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that computes the divergence of ``f``: the trace of its Jacobian.

    Parameters
    ----------
    f : callable
        Plain NumPy code; it returns a tree of the structure and shapes of its argument.

    Returns
    -------
    callable
        A function with the argument of ``f`` that returns a scalar.

    Raises
    ------
    ShapeError
        When called, if argument and result differ in structure or shape.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.divergence(lambda x: x**2)(np.array([1.0, 2.0])))
    6.0
    """
    return _trace_of_jacobian("divergence", f)


def _trace_of_jacobian(transform: str, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def trace_of_jacobian(x: Any) -> Any:
        recording = Recording(transform, f, (x,))
        recording.check_dtypes()
        recording.check_real_arguments(
            "Of complex numbers, differentiate by real and imaginary parts: of a function of p, with "
            "p[0] + 1j * p[1] in place of the argument"
        )
        shapes_in = [p.shape for p in recording.params]
        shapes_out = [np.shape(out) for out in recording.outs]
        if recording.out_structure != recording.structures[0] or shapes_in != shapes_out:
            raise errors.ShapeError(
                f"{transform}: the argument of {recording.name} has shape {shapes_in} and its result "
                f"{shapes_out}, structures {tree.describe(recording.structures[0])} and "
                f"{tree.describe(recording.out_structure)}. Both must have the same structure and shapes"
            )
        return _total_of_own(recording)

    return trace_of_jacobian


@derived
def laplacian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that computes the Laplacian of ``f``: the trace of its Hessian.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a tree to a scalar.

    Returns
    -------
    callable
        A function with the argument of ``f`` that returns a scalar.

    Raises
    ------
    ShapeError, DTypeError
        As `grad`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])))
    18.0
    """
    gradient = gradient_of(f, transform="laplacian")
    gradient.__name__ = name_of(f)
    return _trace_of_jacobian("laplacian", gradient)


# ---- complex numbers -------------------------------------------------------------------------------


def _mode_of_complex(recording: Recording, mode: Mode) -> Mode:
    """Return the mode that is possible for a function not declared as holomorphic."""
    from_complex = any(param.dtype.kind == "c" for param in recording.params)
    to_complex = any(dtype_of(recording.plain(out)).kind == "c" for out in recording.outs)
    if not from_complex and not to_complex:
        return mode
    if from_complex and to_complex:
        raise errors.DTypeError(
            f"jacobian: {recording.name} maps complex numbers to complex ones. If it is holomorphic, pass "
            "holomorphic=True; if not, differentiate its np.real and np.imag, or take tape.jvp or tape.vjp"
        )
    possible: Mode = "rev" if from_complex else "fwd"
    if mode not in ("auto", possible):
        kinds = "complex numbers to real" if from_complex else "real numbers to complex"
        raise errors.OptionError(
            f"jacobian: {recording.name} maps {kinds} ones, for which mode {mode!r} takes two sweeps an "
            f"element. Use {possible!r} or 'auto'"
        )
    return possible


def _check_holomorphic(recording: Recording) -> None:
    """Check that all is complex, and that the tangent along i times a direction is i times the tangent."""
    values = [recording.plain(out) for out in recording.outs]
    for value in (*(param.node.value for param in recording.params), *values):
        if dtype_of(value).kind != "c":
            raise errors.DTypeError(
                f"jacobian: holomorphic=True, and an argument or result of {recording.name} is "
                f"{errors.describe(value)}. Leave it out, or convert that to complex"
            )
    rng = np.random.default_rng(0)
    directions = [
        np.asarray(rng.normal(size=p.shape) + 1j * rng.normal(size=p.shape), p.dtype)[()]
        for p in recording.params
    ]
    along, turned = (recording.push_forward([unit * v for v in directions]) for unit in (1, 1j))
    eps = max(np.finfo(dtype_of(x)).eps for x in (*values, *recording.params))
    for one, other in zip(along, turned, strict=True):
        if isinstance(one, Handle) or isinstance(other, Handle):
            return  # it is being differentiated itself: its values are not available
        largest = max(np.max(np.abs(part), initial=0.0) for part in (one, other))
        if np.max(np.abs(other - 1j * one), initial=0.0) > eps**0.5 * largest:
            raise errors.DTypeError(
                f"jacobian: holomorphic=True, and {recording.name} is not holomorphic: its tangent along i "
                "times a direction is not i times that along it. Differentiate its np.real and np.imag; or "
                "use tape.jvp or tape.vjp"
            )


# ---- batched sweeps --------------------------------------------------------------------------------


def _chosen(recording: Recording, mode: Mode) -> Mode:
    if mode != "auto":
        return mode
    inputs = sum(p.size for p in recording.params)
    outputs = sum(int(np.size(out)) for out in recording.outs)
    return "fwd" if inputs <= outputs else "rev"


def _blocks(recording: Recording, mode: Mode) -> list[list[Any]]:
    """Return for every leaf of the result the Jacobian by every param: arrays of result's + param's shape."""
    if not recording.params:
        return [[] for _ in recording.outs]
    rows = _batched_blocks(recording, mode)
    values = [param.node.value for param in recording.params]
    return [[_owned(recording, *pair) for pair in zip(row, values, strict=True)] for row in rows]


def _owned(recording: Recording, block: Any, value: Any) -> Any:
    """Return a block that shares no memory, on the right trace; a number if the param's value is one."""
    return of_kind(recording.lifted(np.array(block) if isinstance(block, np.ndarray) else block), value)


def _batched_blocks(recording: Recording, mode: Mode) -> list[list[Any]]:
    ins = [p.shape for p in recording.params]
    outs = [np.shape(out) for out in recording.outs]
    if mode == "fwd":
        columns = _swept(recording, ins, [p.dtype for p in recording.params], recording.push_forward)
        return [
            [_moved_back(part, shape_in, shape_out) for part, shape_in in zip(parts, ins, strict=True)]
            for parts, shape_out in zip(columns, outs, strict=True)
        ]
    dtypes = [np.result_type(out) for out in recording.outs]
    rows = _swept(recording, outs, dtypes, recording.pull_back)
    return [
        [
            in_c_order(parts[k].reshape((*shape_out, *shape_in)))
            for parts, shape_in in zip(rows, ins, strict=True)
        ]
        for k, shape_out in enumerate(outs)
    ]


def _moved_back(part: Any, shape_in: tuple[int, ...], shape_out: tuple[int, ...]) -> Any:
    """Return a block of shape (size of the param, *result's shape) with its axes in order."""
    flat = part.reshape((prod(shape_in), prod(shape_out)))
    return in_c_order(flat.T.reshape((*shape_out, *shape_in)))


def _swept(
    recording: Recording, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any], sweep: Callable[..., Any]
) -> list[list[Any]]:
    """Sweep the identity: return for each result of the sweep a part for each seeded array.

    The first axis of a part goes over the elements of that array.
    """
    sizes = [prod(shape) for shape in shapes]
    pieces = []
    for start, size in _pieces(recording, sum(sizes)):
        with Lanes(size) as lanes:
            seeds = [lanes.batch(unit) for unit in _units(start, size, shapes, dtypes)]
            pieces.append([lanes.values(result) for result in sweep(seeds)])
    cuts = np.cumsum(sizes)[:-1].tolist()
    return [
        ops.split(parts[0] if len(parts) == 1 else ops.concatenate(parts), cuts)
        for parts in zip(*pieces, strict=True)
    ]


def _pieces(recording: Recording, total: int) -> list[tuple[int, int]]:
    """Return the start and size of batches to sweep, so that each fits in memory."""
    on_tape = sum(int(np.size(node.value)) for node in recording.trace.nodes)
    step = max(1, min(total, _BATCH_ELEMENTS // max(1, on_tape)))
    return [(start, min(step, total - start)) for start in range(0, max(total, 1), step)]


def _units(start: int, size: int, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]) -> list[Any]:
    """Return rows of the identity for all elements of all arrays: for each array, ``(size, *shape)``."""
    units = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        units.append(np.eye(size, prod(shape), start, dtype).reshape((size, *shape)))
        start -= prod(shape)
    return units


def _total_of_own(recording: Recording) -> Any:
    """Return the trace of the Jacobian of a function from a structure to the same structure."""
    shapes = [p.shape for p in recording.params]
    dtypes = [p.dtype for p in recording.params]
    total: Any = 0.0
    for start, size in _pieces(recording, sum(map(prod, shapes))):
        with Lanes(size) as lanes:
            seeds = [lanes.batch(unit) for unit in _units(start, size, shapes, dtypes)]
            results = [lanes.values(result) for result in recording.push_forward(seeds)]
        flat = [r.reshape((size, prod(shape))) for r, shape in zip(results, shapes, strict=True)]
        rows = np.arange(size)
        total = total + ops.sum(ops.getitem(ops.concatenate(flat, axis=1), (rows, rows + start)))
    return recording.lifted(total)


def _symmetric(blocks: list[list[Any]], ndims: Sequence[int]) -> list[list[Any]]:
    """Return the mean of a Hessian and its transpose, block by block."""
    result = [list(row) for row in blocks]
    for i, row in enumerate(blocks):
        for j in range(i + 1):
            turned = _transposed(blocks[j][i], ndims[j])
            result[i][j] = 0.5 * (row[j] + turned)
            if i != j:
                result[j][i] = _transposed(result[i][j], ndims[i])
    return result


def _transposed(block: Any, ndim: int) -> Any:
    """Move the first ``ndim`` axes behind the others."""
    turned = ops.transpose(block, (*range(ndim, block.ndim), *range(ndim)))
    return turned.copy() if isinstance(turned, np.ndarray) else turned
