"""`jacobian`, `hessian`, `laplacian` and `divergence`: many sweeps over one tape, done as one.

The identity goes through the tape as a batch of seeds, in pieces if it would need much memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

import numpy as np

from tape import errors, ops, tree
from tape.batch import Lanes
from tape.transforms._record import Argnums, Recording, name_of
from tape.transforms.grad import gradient_of

__all__ = ["divergence", "hessian", "jacobian", "laplacian"]

Mode = Literal["auto", "fwd", "rev"]

_BATCH_ELEMENTS = 2**24
"""How many numbers a batched sweep may hold at a time: 128 MiB of float64."""


def jacobian(f: Callable[..., Any], argnums: Argnums = 0, mode: Mode = "auto") -> Callable[..., Any]:
    """The Jacobian of a function.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees.
    argnums : int or tuple of int
        Which positional arguments to differentiate by.
    mode : {"auto", "fwd", "rev"}
        Forwards costs a sweep for every element of the arguments, backwards for every one of the
        result, all as one batch. By default whichever is fewer.

    Returns
    -------
    callable
        With the arguments of ``f``. For an argument of shape ``s`` and a result of shape ``r``, the
        array ``r + s``; in general ``J[result][argument]``, a tree like the result of trees like the
        argument, of such arrays.

    Raises
    ------
    DTypeError, OutOfBoundsError
        As `grad`.
    OptionError
        If there is no such mode.

    Warns
    -----
    ConstantResultWarning
        If what ``f`` returns does not depend on the arguments; its derivative is zero.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in ("auto", "fwd", "rev"):
        raise errors.OptionError(f"mode is 'auto', 'fwd' or 'rev', not {mode!r}")

    def derivative(*args: Any, **kwargs: Any) -> Any:
        recording = Recording("jacobian", f, args, kwargs, argnums)
        recording.check_dtypes()
        rows = [recording.restore_args(row) for row in _blocks(recording, _chosen(recording, mode))]
        return tree.restore(recording.out_structure, rows)

    derivative.__name__ = f"jacobian({name_of(f)})"
    return derivative


def hessian(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The second derivatives of a function that returns a scalar: forwards over reverse.

    Parameters
    ----------
    f : callable
        Plain NumPy code.
    argnums : int or tuple of int
        Which positional arguments to differentiate by.

    Returns
    -------
    callable
        With the arguments of ``f``. For an argument of shape ``s`` the array ``s + s``, exactly
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
        rows = _symmetric(_blocks(recording, "fwd"), [p.ndim for p in recording.params])
        return recording.restore_args([recording.restore_args(row) for row in rows])

    second.__name__ = f"hessian({name_of(f)})"
    return second


def divergence(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The sum of the derivatives of each result by its own argument: the trace of the Jacobian.

    Parameters
    ----------
    f : callable
        Plain NumPy code; it returns a tree of the structure and shapes of its argument.

    Returns
    -------
    callable
        With the argument of ``f``; returns a scalar.

    Raises
    ------
    ShapeError
        When called, if argument and result are not alike.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.divergence(lambda x: x**2)(np.array([1.0, 2.0])))
    6.0
    """

    def trace_of_jacobian(x: Any) -> Any:
        recording = Recording("divergence", f, (x,))
        recording.check_dtypes()
        shapes_in = [p.shape for p in recording.params]
        shapes_out = [np.shape(out) for out in recording.outs]
        if recording.out_structure != recording.structures[0] or shapes_in != shapes_out:
            raise errors.ShapeError(
                f"divergence: the argument of {recording.name} has shape {shapes_in} and its result "
                f"{shapes_out}, structures {tree.told(recording.structures[0])} and "
                f"{tree.told(recording.out_structure)}. Both must be alike"
            )
        return _total_of_own(recording)

    trace_of_jacobian.__name__ = f"divergence({name_of(f)})"
    return trace_of_jacobian


def laplacian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The sum of the second derivatives by each element: the trace of the Hessian.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a tree to a scalar.

    Returns
    -------
    callable
        With the argument of ``f``; returns a scalar.

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
    return divergence(gradient)


# ---- batched sweeps --------------------------------------------------------------------------------


def _chosen(recording: Recording, mode: Mode) -> Mode:
    if mode != "auto":
        return mode
    inputs = sum(p.size for p in recording.params)
    outputs = sum(int(np.size(out)) for out in recording.outs)
    return "fwd" if inputs <= outputs else "rev"


def _blocks(recording: Recording, mode: Mode) -> list[list[Any]]:
    """For every leaf of the result, the Jacobian by every param: arrays of result's + param's shape."""
    if not recording.params:
        return [[] for _ in recording.outs]
    rows = _batched_blocks(recording, mode)
    is_scalar = [isinstance(p.node.value, np.generic) for p in recording.params]
    return [[_owned(recording, *pair) for pair in zip(row, is_scalar, strict=True)] for row in rows]


def _owned(recording: Recording, block: Any, is_scalar: bool) -> Any:
    """A block that shares memory with nothing, on the right trace; a scalar if the param is one."""
    if isinstance(block, np.ndarray):
        block = block[()] if is_scalar and not block.shape else np.array(block)
    return recording.lifted(block)


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
        [parts[k].reshape((*shape_out, *shape_in)) for parts, shape_in in zip(rows, ins, strict=True)]
        for k, shape_out in enumerate(outs)
    ]


def _moved_back(part: Any, shape_in: tuple[int, ...], shape_out: tuple[int, ...]) -> Any:
    """A block of shape (size of the param, *result's shape), in its place."""
    flat = part.reshape((prod(shape_in), prod(shape_out)))
    return flat.T.reshape((*shape_out, *shape_in))


def _swept(
    recording: Recording, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any], sweep: Callable[..., Any]
) -> list[list[Any]]:
    """What a sweep makes of the identity: for each result of the sweep, a part for each seeded array.

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
    """Start and size of the batches in which to sweep, so that each fits in memory."""
    on_tape = sum(int(np.size(node.value)) for node in recording.trace.nodes)
    step = max(1, min(total, _BATCH_ELEMENTS // max(1, on_tape)))
    return [(start, min(step, total - start)) for start in range(0, max(total, 1), step)]


def _units(start: int, size: int, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]) -> list[Any]:
    """Rows of the identity for all elements of all arrays: for each array, ``(size, *shape)``."""
    units = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        units.append(np.eye(size, prod(shape), start, dtype).reshape((size, *shape)))
        start -= prod(shape)
    return units


def _total_of_own(recording: Recording) -> Any:
    """The trace of the Jacobian of what returns something like its argument."""
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
    """The mean of a Hessian and its transpose, block by block."""
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
