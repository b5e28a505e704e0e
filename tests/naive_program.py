"""An interpreter of IR in plain NumPy: what planner, encoder and machine are checked against."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import tape
from tape.kernels import convolution, pooling
from tape.kernels.registry import GROUPS
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.loops import Block
from tape.program.native.gufuncs import GUFUNCS
from tape.program.native.ufuncs import UFUNCS
from tape.program.runtime.slots import Body, slots_of
from tape.program.runtime.verify import verify
from tests import naive_sorting


def run(ir: IR, leaves: Sequence[Any]) -> list[np.ndarray]:
    """The outputs of an IR; a guard that comes out differently is an AssertionError."""
    values: list[np.ndarray] = []
    for instruction in ir.instructions:
        operands = [values[operand] for operand in instruction.operands]
        with np.errstate(all="ignore"):
            value = np.asarray(_value(ir, instruction, operands, leaves))
        assert (value.shape, value.dtype) == (instruction.shape, instruction.dtype), instruction
        values.append(value)
    return [values[out].copy() for out in ir.outputs]


def program_of(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The Program of a function for these arguments."""
    return compiled_for(f, *args, **options)[1]


def compiled_for(f: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, Any]:
    """A compiled function that has been recorded, and its Program, verified: what follows may run it."""
    compiled = tape.compile(f, **options)
    compiled(*args)
    (program,) = compiled.programs.values()
    verified(program)
    return compiled, program


def verified(routine: Any) -> None:
    """Verify a program, and the bodies of its loops."""
    calls = [id for id, instruction in enumerate(routine.plan.instructions) if instruction.op == "callback"]
    bodies = [Body.of(body.plan) for body in routine.bodies]
    verify(routine.code, routine.rows, slots_of(routine.plan), calls, bodies)
    for body in routine.bodies:
        verified(body)


def counts(ir: IR) -> dict[str, int]:
    """How many instructions there are of each kind, but for where values come from and views."""
    found: dict[str, int] = {}
    for instruction in ir.instructions:
        if instruction.op not in _FREE:
            found[instruction.op] = found.get(instruction.op, 0) + 1
    return found


_FREE = {"input", "constant", "literal", "reshape", "transpose", "broadcast", "slice", "again", "part"}


def _value(ir: IR, instruction: Instruction, x: list[np.ndarray], leaves: Sequence[Any]) -> Any:
    op, attrs, shape, dtype = instruction.op, instruction.attrs, instruction.shape, instruction.dtype
    if op == "input":
        return np.asarray(leaves[attrs[0]], dtype)
    if op == "constant":
        return ir.constants[attrs[0]]
    if op == "literal":
        return np.frombuffer(attrs[1], attrs[0])[0]
    if op in UFUNCS:
        return UFUNCS[op](*x)
    if op in GUFUNCS:
        return _gufunc(op, x, attrs, shape, dtype)
    if op == "guard":
        guard = ir.guards[attrs[0]]
        if guard.kind == "type":
            assert x[0].item() == guard.outcome[1 + attrs[1]], guard
            return np.bool_(True)
        assert (bool if guard.kind == "bool" else int)(x[0].item()) == guard.outcome, guard
        return np.bool_(True)
    if op == "callback":
        function, places, options = ir.callbacks[attrs[0]]
        operands = iter([value[()] for value in x])
        return function.forward(*[next(operands) if place is None else place for place in places], **options)
    return _OTHERS[op](x, attrs, shape, dtype)


def _key(starts: Any, steps: Any, shape: Any) -> tuple[slice, ...]:
    """The index of regularly spaced elements."""
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
    lengths, _ = attrs
    inside = [np.where(index < 0, index + length, index) for index, length in zip(x, lengths, strict=True)]
    return np.ravel_multi_index(np.broadcast_arrays(*inside), lengths)


def _add_at(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    total = np.array(x[0])
    if len(x) == 2:
        total[_key(*attrs, x[1].shape)] += x[1]
    else:
        np.add.at(total, (*[slice(None)] * attrs[0], x[2]), x[1])
    return total


def _put(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    total = np.array(x[0])
    total[_key(*attrs, x[1].shape)] = x[1]
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
    """The right-hand sides, and the solutions, are rows."""
    return np.linalg.solve(x[0], x[1].swapaxes(-1, -2)).swapaxes(-1, -2)


def _gufunc(name: str, x: list[np.ndarray], lengths: Any, shape: Any, dtype: Any) -> Any:
    """Through NumPy, which is what its own functions do, too; several results as `Block` says."""
    of = GUFUNCS[name]
    x = [np.array(operand) for operand in x]
    types = next(t for t in of.types if t.startswith("".join(a.dtype.char for a in x)))
    out = None
    if of.free:  # only results say how long they are
        stack = x[0].shape[: x[0].ndim - len(of.operands[0])]
        out = np.empty((*stack, *lengths), dtype)
    results = of.ufunc(*x, signature=types) if out is None else of.ufunc(*x, out=out, signature=types)
    results = [np.asarray(result) for result in (results if type(results) is tuple else (results,))]
    results = [x[0], *results] if of.overwrites else results
    if len(results) == 1:
        return results[0]
    block = np.zeros(shape, dtype)
    for part, result in zip(Block([(a.shape, a.dtype) for a in results]).parts, results, strict=True):
        block[part.offset : part.offset + part.size] = np.ascontiguousarray(result).reshape(-1).view(np.uint8)
    return block


def _require(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    assert x[1]
    return x[0]


def _part(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    size = int(np.prod(shape)) * dtype.itemsize
    return x[0][attrs[0] : attrs[0] + size].view(dtype).reshape(shape)


def _loop(x: Any, attrs: Any, shape: Any, dtype: Any) -> Any:
    """All results one after another, as `tape.program.ir.loops.Block` says."""
    (loop,) = attrs
    first, last = loop.constants, loop.constants + loop.states
    state = x[first:last]
    *x, count = x if loop.ends_by == "count" else [*x, loop.length]
    parts = loop.block.parts[: len(loop.body.outputs)]
    stacked = [np.zeros(part.shape, part.dtype) for part in parts[loop.states :]]
    for k in list(range(count))[:: -1 if loop.is_backwards else 1]:
        if loop.ends_by == "flag" and not state[0]:
            break
        results = run(loop.body, [*x[:first], *state, *[array[k] for array in x[last:]]])
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
    "slice": lambda x, attrs, shape, dtype: x[0][_key(*attrs, shape)],
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
    "kernel": lambda x, attrs, shape, dtype: _KERNELS[attrs[0]](*x, attrs[1]).reshape(shape),
    "again": lambda x, attrs, shape, dtype: x[0],
    "part": _part,
    "loop": _loop,
    "concatenate": lambda x, attrs, shape, dtype: np.concatenate(x, attrs[0]),
}


def _put_rows(total: Any, values: Any, index: Any, parameters: Any) -> Any:
    before, length, row, count = parameters
    out = total.reshape(before, length, row).copy()
    for k in range(count):
        out[:, index[k]] = values.reshape(before, count, row)[:, k]
    return out


def _geometry(parameters: Any) -> Any:
    """Spatial lengths and window, and what else `tape.kernels.pooling` wants to know of them."""
    spatial, kernel, windows, stride, low, dilation = (parameters[k : k + 3] for k in range(0, 18, 3))
    last = [(n - 1) * s + (k - 1) * d for n, s, k, d in zip(windows, stride, kernel, dilation, strict=True)]
    padding = [(a, b + 1 - n - a) for a, b, n in zip(low, last, spatial, strict=True)]
    return spatial, kernel, windows, (stride, padding, dilation)


def _convolution(name: str) -> Callable[..., Any]:
    def convolved(a: Any, b: Any, parameters: Any) -> Any:
        (images, groups, channels, kernels), rest = parameters[:4], parameters[4:]
        spatial, kernel, windows, geometry = _geometry(rest)
        x, y = (images, groups * channels, *spatial), (images, groups * kernels, *windows)
        w = (groups * kernels, channels, *kernel)
        if name == "conv":
            return convolution.conv(a.reshape(x), b.reshape(w), *geometry, groups)
        if name == "conv_input":
            return convolution.conv_input(a.reshape(y), b.reshape(w), spatial, *geometry, groups)
        return convolution.conv_weight(a.reshape(x), b.reshape(y), kernel, *geometry, groups)

    return convolved


def _pooling(name: str) -> Callable[..., Any]:
    def pooled(*operands: Any) -> Any:
        *arrays, parameters = operands
        spatial, kernel, windows, geometry = _geometry(parameters[1:])
        x, y = (parameters[0], *spatial), (parameters[0], *windows)
        shapes = {"max_pool_vjp": (y, x, y), "max_pool_jvp": (x, x, y), "sum_pool_vjp": (y,)}.get(name, (x,))
        arrays = [a.reshape(shape) for a, shape in zip(arrays, shapes, strict=True)]
        if name == "sum_pool_vjp":
            return pooling.sum_pool_vjp(*arrays, spatial, kernel, *geometry)
        return getattr(pooling, name)(*arrays, kernel, *geometry)

    return pooled


def _cholesky_pullback(factor: Any, adjoint: Any, parameters: Any) -> Any:
    count, n = parameters
    factor, adjoint = factor.reshape(count, n, n), adjoint.reshape(count, n, n)

    def half(x: Any) -> Any:
        return np.tril(x) * (1 - np.eye(n, dtype=x.dtype) / 2)

    turned = np.linalg.inv(factor).swapaxes(1, 2)
    pulled = turned @ half(factor.swapaxes(1, 2) @ adjoint) @ turned.swapaxes(1, 2)
    return half(pulled + pulled.swapaxes(1, 2))


def _stack(a: Any, parameters: Any) -> Any:
    return a.reshape(parameters[0], parameters[1], parameters[1])


def _sparse(index: Any, parameters: Any) -> tuple[Any, Any]:
    """The row and the column of each stored element."""
    starts, columns = np.split(index, [parameters[0] + 1])
    return np.repeat(np.arange(parameters[0]), np.diff(starts)), columns


def _sparse_product(data: Any, index: Any, x: Any, parameters: Any, turned: bool = False) -> Any:
    dense = np.zeros(parameters[:2], data.dtype)
    np.add.at(dense, _sparse(index, parameters), data)
    return (dense.T if turned else dense) @ x.reshape(-1, parameters[3])


def _sampled_product(index: Any, left: Any, right: Any, parameters: Any) -> Any:
    width = parameters[3]
    return (left.reshape(-1, width) @ right.reshape(-1, width).T)[_sparse(index, parameters)]


_KERNELS: dict[str, Callable[..., Any]] = {
    "sparse_product": _sparse_product,
    "sparse_turned_product": partial(_sparse_product, turned=True),
    "sampled_product": _sampled_product,
    "cholesky_pullback": _cholesky_pullback,
    "small_det": lambda a, parameters: np.linalg.det(_stack(a, parameters)),
    "small_inv": lambda a, parameters: np.linalg.inv(_stack(a, parameters)),
    "small_solve": lambda a, b, parameters: np.linalg.solve(
        _stack(a, parameters), b.reshape(parameters[0], parameters[1], parameters[2])
    ),
    "small_cholesky": lambda a, parameters: np.linalg.cholesky(
        _stack(a, parameters), upper=bool(parameters[2])
    ),
    "put_rows": _put_rows,
    **naive_sorting.KERNELS,
    **{name: _convolution(name) for name in GROUPS["convolution"]},
    **{name: _pooling(name) for name in GROUPS["pooling"]},
}
