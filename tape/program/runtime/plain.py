"""A program's instructions run by NumPy, one after another: slowly, and without machine code.

Programs run like this while machine code is being compiled, if there is no function that could be called
instead: those from files, and tapes. Results are the machine's but for rounding, and so is what stops it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape.kernels.ufuncs import PLAIN
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.loops import Block
from tape.program.native.gufuncs import GUFUNCS
from tape.program.native.ufuncs import UFUNCS
from tape.program.runtime.plain_kernels import KERNELS, Refused
from tape.program.runtime.run import Flip, Rerun


class _Differs(Exception):
    """Raised where a guard has another outcome than recorded, with the `Flip`."""


def run(ir: IR, leaves: Sequence[Any]) -> list[np.ndarray] | Flip:
    """Run instructions on the dynamic leaves of the arguments.

    Parameters
    ----------
    ir : IR
        Sound: see `tape.program.ir.check`.
    leaves : sequence
        Arrays and numbers, of the shapes and dtypes of the recording.

    Returns
    -------
    list of numpy.ndarray or Flip
        The outputs, which share no memory; or the guard that had another outcome than recorded.

    Raises
    ------
    Rerun
        Where the machine would stop.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.program.runtime import plain
    >>> f = tape.compile(lambda x: np.sum(x * x))
    >>> out = f(np.ones(2))
    >>> (program,) = f.programs.values()
    >>> plain.run(program.ir, [np.array([1.0, 2.0])])
    [array(5.)]
    """
    try:
        return _outputs(ir, leaves)
    except _Differs as differs:
        return differs.args[0]


def _outputs(ir: IR, leaves: Sequence[Any]) -> list[np.ndarray]:
    values: list[np.ndarray] = []
    for instruction in ir.instructions:
        operands = [values[operand] for operand in instruction.operands]
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(_value(ir, instruction, operands, leaves))
        except (IndexError, FloatingPointError, np.linalg.LinAlgError, Refused):
            raise Rerun(_named(ir, instruction)) from None
        assert (value.shape, value.dtype) == (instruction.shape, instruction.dtype), instruction
        values.append(value)
    return [values[out].copy() for out in ir.outputs]


def _named(ir: IR, instruction: Instruction) -> str:
    """Return what an instruction is called in errors: a kernel, or a user's operation, by its own name."""
    if instruction.op == "callback":
        return ir.callbacks[instruction.attrs[0]][0].name
    return instruction.attrs[0] if instruction.op == "kernel" else instruction.op


def _value(ir: IR, instruction: Instruction, x: list[np.ndarray], leaves: Sequence[Any]) -> Any:
    op, attrs, shape, dtype = instruction.op, instruction.attrs, instruction.shape, instruction.dtype
    if op == "input":
        return np.asarray(leaves[attrs[0]], dtype)
    if op == "constant":
        return ir.constants[attrs[0]]
    if op == "literal":
        return np.frombuffer(attrs[1], attrs[0])[0]
    if op in PLAIN:
        return PLAIN[op](*x)
    if op in UFUNCS:
        return UFUNCS[op](*x)
    if op in GUFUNCS:
        return _gufunc(op, x, attrs, shape, dtype)
    if op == "guard":
        return _guard(ir, x[0].reshape(()), *attrs)
    if op == "callback":
        return _callback(ir, instruction, x)
    return _OTHERS[op](x, attrs, shape, dtype)


def _guard(ir: IR, x: np.ndarray, number: int, axis: int | None = None) -> np.bool_:
    """Compare a number that Python has read with what it was in the recording."""
    guard = ir.guards[number]
    outcome: Any
    if axis is not None:
        outcome = list(guard.outcome)
        outcome[1 + axis] = int(x)
        outcome = tuple(outcome)
    elif guard.kind == "bool":
        outcome = bool(x)
    else:
        outcome = int(x) if np.isfinite(x) else None
    if outcome != guard.outcome:
        raise _Differs(Flip(number, outcome))
    return np.bool_(True)


def _callback(ir: IR, instruction: Instruction, x: list[np.ndarray]) -> np.ndarray:
    op, places, options = ir.callbacks[instruction.attrs[0]]
    operands = iter([value[()] for value in x])
    values = [next(operands) if place is None else place for place in places]
    result = np.asarray(op.compute(values, options))
    if (result.shape, result.dtype) != (instruction.shape, instruction.dtype):
        if instruction.guard is None:
            raise Refused
        raise _Differs(Flip(instruction.guard, (result.dtype.str, *result.shape)))
    return result


def _key(attrs: Any, shape: Any) -> tuple[slice, ...]:
    """Return the index of regularly spaced elements."""
    starts, steps = attrs
    stops = [start + n * step for start, step, n in zip(starts, steps, shape, strict=True)]
    return tuple(
        [
            slice(start, stop if stop >= 0 else None, step) if n else slice(0, 0)
            for start, stop, step, n in zip(starts, stops, steps, shape, strict=True)
        ]
    )


def _fold(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    kind, axes = attrs
    if kind in ("sum", "prod"):  # of bytes a byte
        return getattr(np, kind)(x[0], axis=axes, dtype=dtype)
    return getattr(np, kind)(x[0], axis=axes[0] if kind.startswith("arg") else axes).astype(dtype)


def _product(x: Any, attrs: Any, dtype: Any) -> Any:
    (factor,) = attrs or (1,)
    return (x[0] @ x[1] * dtype.type(factor)).astype(dtype)


def _ravel_index(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    lengths, wraps = attrs
    inside: list[np.ndarray] = []
    for index, length in zip(x, lengths, strict=True):
        inside.append(np.where(index < 0, index + length, index) if wraps else index)
        if np.any(inside[-1] < 0) or np.any(inside[-1] >= length):
            raise Refused
    return np.ravel_multi_index(np.broadcast_arrays(*inside), lengths)


def _add_at(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    total = np.array(x[0])
    if len(x) == 2:
        total[_key(attrs, x[1].shape)] += x[1]
    else:
        np.add.at(total, (*[slice(None)] * attrs[0], x[2]), x[1])
    return total


def _put(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    total = np.array(x[0])
    total[_key(attrs, x[1].shape)] = x[1]
    return total


def _scan(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    kind, axis, is_backwards = attrs
    turned = [np.moveaxis(a, axis, 0)[:: -1 if is_backwards else 1] for a in x]
    if kind == "linear":
        out = turned[0].copy()
        for i in range(1, len(out)):
            out[i] += turned[1][i] * out[i - 1]
    else:
        ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "logaddexp": np.logaddexp}[kind]
        out = ufunc.accumulate(turned[0])
    return np.moveaxis(out[:: -1 if is_backwards else 1], 0, axis)


def _solve(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    """Solve for right-hand sides that are rows, as the solutions are."""
    return np.linalg.solve(x[0], x[1].swapaxes(-1, -2)).swapaxes(-1, -2)


def _gufunc(name: str, x: list[np.ndarray], lengths: Any, shape: Any, dtype: Any) -> Any:
    """Call the ufunc, as NumPy's own functions do; several results are laid out as `Block` says."""
    of = GUFUNCS[name]
    ufunc: Any = of.ufunc
    x = [np.array(operand) for operand in x]
    types = next(t for t in of.types if t.startswith("".join(a.dtype.char for a in x)))
    out = None
    if of.free:  # only results say how long they are
        stack = x[0].shape[: x[0].ndim - len(of.operands[0])]
        out = np.empty((*stack, *lengths), dtype)
    with np.errstate(invalid="raise" if of.failure else "ignore"):  # as a singular matrix is told of
        results = ufunc(*x, signature=types) if out is None else ufunc(*x, out=out, signature=types)
    results = [np.asarray(result) for result in (results if type(results) is tuple else (results,))]
    results = [x[0], *results] if of.overwrites else results
    if len(results) == 1:
        return results[0]
    block = np.zeros(shape, dtype)
    for part, result in zip(Block([(a.shape, a.dtype) for a in results]).parts, results, strict=True):
        block[part.offset : part.offset + part.size] = np.ascontiguousarray(result).reshape(-1).view(np.uint8)
    return block


def _require(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    if not x[1]:
        raise Refused
    return x[0]


def _part(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    size = int(np.prod(shape)) * dtype.itemsize
    return x[0][attrs[0] : attrs[0] + size].view(dtype).reshape(shape)


def _loop(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    """Return all results one after another, as `tape.program.ir.loops.Block` says."""
    (loop,) = attrs
    first, last = loop.constants, loop.constants + loop.states
    state = x[first:last]
    *x, count = x if loop.ends_by == "count" else [*x, loop.length]
    parts = loop.block.parts[: len(loop.body.outputs)]
    stacked = [np.zeros(part.shape, part.dtype) for part in parts[loop.states :]]
    steps = range(min(max(int(count), 0), loop.length))
    for k in reversed(steps) if loop.is_backwards else steps:
        if loop.ends_by == "flag" and not state[0]:
            break
        results = _outputs(loop.body, [*x[:first], *state, *[array[k] for array in x[last:]]])
        state = results[: loop.states]
        for array, result in zip(stacked, results[loop.states :], strict=True):
            array[k] = result
    block = np.zeros(shape, dtype)
    for part, result in zip(parts, [*state, *stacked], strict=True):
        block[part.offset : part.offset + part.size] = np.ascontiguousarray(result).reshape(-1).view(np.uint8)
    return block


def _triangular_solve(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    lower, transposed, unit_diagonal = attrs
    a = np.tril(x[0]) if lower else np.triu(x[0])
    if unit_diagonal:
        a[..., range(shape[-1]), range(shape[-1])] = 1
    return _solve([a.swapaxes(-1, -2) if transposed else a, x[1]], (), shape, dtype)


_OTHERS: dict[str, Callable[..., Any]] = {
    "where": lambda x, attrs, shape, dtype: np.where(*x),
    "cast": lambda x, attrs, shape, dtype: x[0].astype(dtype),
    "reshape": lambda x, attrs, shape, dtype: x[0].reshape(shape),
    "transpose": lambda x, attrs, shape, dtype: x[0].transpose(attrs[0]),
    "broadcast": lambda x, attrs, shape, dtype: np.broadcast_to(x[0], shape),
    "slice": lambda x, attrs, shape, dtype: x[0][_key(attrs, shape)],
    "fold": _fold,
    "sum_product": lambda x, attrs, shape, dtype: _fold([x[0] * x[1]], attrs, shape, dtype),
    "numpy_fold": _fold,
    "reals": lambda x, attrs, shape, dtype: np.stack([np.real(x[0]), np.imag(x[0])], -1),
    "complexes": lambda x, attrs, shape, dtype: np.ascontiguousarray(x[0]).view(dtype).reshape(shape),
    "numpy_matmul": lambda x, attrs, shape, dtype: _product(x, attrs, dtype),
    "matmul": lambda x, attrs, shape, dtype: _product(x, attrs, dtype),
    "matmul_add": lambda x, attrs, shape, dtype: x[0] + _product(x[1:], attrs, dtype),
    "scan": _scan,
    "solve": _solve,
    "require": _require,
    "triangular_solve": _triangular_solve,
    "cholesky": lambda x, attrs, shape, dtype: np.linalg.cholesky(x[0], upper=attrs[0]),
    "take": lambda x, attrs, shape, dtype: np.take(x[0], x[1], attrs[0]),
    "ravel_index": _ravel_index,
    "add_at": _add_at,
    "put": _put,
    "kernel": lambda x, attrs, shape, dtype: KERNELS[attrs[0]](*x, attrs[1]).reshape(shape),
    "again": lambda x, attrs, shape, dtype: x[0],
    "part": _part,
    "loop": _loop,
    "concatenate": lambda x, attrs, shape, dtype: np.concatenate(x, attrs[0]),
}
