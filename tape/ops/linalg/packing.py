"""Shared parts of linear algebra: checks of arguments, triangles, quotients, packed results.

A factorization has several results, an `Op` has one. So it is computed once, by an operation without a
derivative that returns all results in one array, and each result is an operation of the matrix and of that
array: `Packed`. The derivative of a result then costs, and requires, no more than that result needs:
eigenvalues may be equal as long as no derivative of their eigenvectors is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules, pattern_rules
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import DTypeError, ShapeError, SingularMatrixError
from tape.inspect.costs import declare_cost, free
from tape.ops.elementwise.complex import conjugated
from tape.ops.elementwise.selection import where
from tape.ops.structure.shape import expand_dims, swapaxes

Shape = tuple[int, ...]


# ---- arguments -----------------------------------------------------------------------------------


def matrices(name: str, a: Any) -> Any:
    """Return an operand that is a matrix or a stack of matrices, of a precision LAPACK has."""
    a = as_operand(a)
    if np.ndim(a) < 2:
        raise ShapeError(
            f"{name}: the operand must be a matrix or a stack of matrices, not of shape {list(np.shape(a))}. "
            "Add axes"
        )
    if np.result_type(a).char in "egG":
        raise DTypeError(f"{name}: LAPACK has no {np.result_type(a)}. Convert with astype")
    return a


def square(name: str, a: Any) -> Any:
    """Return an operand as `matrices` does; it must have as many rows as columns."""
    a = matrices(name, a)
    if a.shape[-2] != a.shape[-1]:
        raise ShapeError(f"{name}: matrices must be square, not of shape {list(a.shape)}")
    return a


# ---- matrices ------------------------------------------------------------------------------------


def stacked(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    """Batch rule of functions of stacks of matrices with one operand (or all of them batched)."""
    return op(*operands, **attrs)


def transposed(x: Any) -> Any:
    """Return the matrices with their axes exchanged."""
    return swapaxes(x, -1, -2)


def dagger(x: Any) -> Any:
    """Return the conjugate transpose."""
    return conjugated(transposed(x))


def times_columns(x: Any, factors: Any) -> Any:
    """Return each column times its factor."""
    return x * expand_dims(factors, -2)


def _tri(shape: Shape, lower: bool, k: int = 0) -> Any:
    """Return a mask of a triangle, without its diagonals above ``-k``."""
    rows, columns = shape[-2:]
    return np.tri(rows, columns, -k if lower else k - 1, dtype=bool) == lower


def triangle(x: Any, lower: bool, is_strict: bool) -> Any:
    """Return a triangle, with its diagonal or without, and zeros elsewhere."""
    return where(_tri(x.shape, lower, int(is_strict)), x, 0)


def _weights(shape: Shape, lower: bool) -> Any:
    return (_tri(shape, lower).astype(float) + _tri(shape, lower, 1)) / 2


def _half_forward(x: Any, *, lower: bool) -> Any:
    weights = _weights(x.shape, lower).astype(x.real.dtype if x.dtype.kind in "fc" else float)
    return np.where(weights, x, 0) * weights


def _lower_half(b: Any, x: Any, lower: bool) -> Any:
    x = x if x.dtype.kind in "fc" else b.cast(x, float)
    weights = _weights(x.shape, lower).astype(x.dtype)
    return b.where(b.value(weights > 0), x, 0) * b.value(weights)


def _pattern_half(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    return (np.tril if attrs["lower"] else np.triu)(operands[0])


half: Op = Op(
    _half_forward,
    name="half",
    pattern=_pattern_half,
    batch=stacked,
    lower=_lower_half,
    vjp=[lambda g, out, x, lower: half(g, lower=lower)],
    linear=True,
    doc="One triangle with half of the diagonal, so that a Hermitian matrix is this and its `dagger`.",
)


def mirrored(x: Any, lower: bool = True) -> Any:
    """Return the Hermitian matrix with the triangle ``x``; its transpose is ``half(g + dagger(g))``."""
    part = half(x, lower=lower)
    return part + dagger(part)


def skewed(x: Any) -> Any:
    """Return the skew-Hermitian matrix with this lower triangle; its transpose is ``half(g - dagger(g))``."""
    part = half(x, lower=True)
    return part - dagger(part)


# ---- quotients by differences of eigenvalues -----------------------------------------------------


def _rounding(x: Any, axis: Any) -> Any:
    """Return the size of rounding errors of numbers as large as the largest along the axes."""
    return 8 * x.shape[-1] * np.finfo(x.dtype).eps * np.max(np.abs(x), axis=axis, keepdims=True, initial=0)


_TURNS = (
    "a derivative divides by the difference of two equal eigenvalues or singular values, or by a singular "
    "value that is 0: their vectors can turn freely, and have no derivative. Use functions of the values "
    "alone (eigvalsh, svdvals), which do; or move the values apart"
)


def _alike_forward(w: Any, moved: Any, *, by_column: bool) -> Any:
    equal = np.abs(w[..., None, :] - w[..., :, None]) <= _rounding(w, -1)[..., None]
    is_moving = np.any(moved != 0, axis=-2 if by_column else (-2, -1), keepdims=True)
    is_turning = equal & is_moving & ~np.eye(w.shape[-1], dtype=bool)
    if np.any(is_turning):
        raise SingularMatrixError(_TURNS)
    return np.broadcast_to(equal, is_turning.shape)


def _lower_rounding(b: Any, x: Any, axes: tuple[int, ...]) -> Any:
    largest = b.fold("max", b.elementwise("absolute", x), axes, keepdims=True)
    return largest * b.literal(8 * x.shape[-1] * np.finfo(x.dtype).eps, largest.dtype)


def _lower_alike(b: Any, w: Any, moved: Any, by_column: bool) -> Any:
    columns, rows = (b.reshape(w, (*w.shape[:-1], *pair)) for pair in ((1, w.shape[-1]), (w.shape[-1], 1)))
    rounding = _lower_rounding(b, w, (-1,))
    equal = b.elementwise("absolute", columns - rows) <= b.reshape(rounding, (*rounding.shape, 1))
    is_moving = b.fold("any", b.elementwise("not_equal", moved, 0), -2 if by_column else (-2, -1), True)
    apart = b.value(np.eye(w.shape[-1], dtype=bool))
    is_free = b.elementwise("logical_not", b.elementwise("logical_and", equal, is_moving))
    is_right = b.elementwise("logical_or", is_free, apart)
    return b.require(b.broadcast(equal, is_right.shape), is_right)


def _batch_alike(
    op: Op, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Any:
    """Run on stacks that may have more axes in one operand: seeds move, for which the values are the same."""
    parts = [*zip(operands, (1, 2), is_batched, strict=True)]  # axes of values, and of what moves
    rank = max(np.ndim(x) - count - inside for x, count, inside in parts)
    return op(*(batch_rules.lift(x, inside, rank + count) for x, count, inside in parts), **attrs)


alike = Op(
    _alike_forward,
    name="alike",
    lower=_lower_alike,
    batch=_batch_alike,
    data_dependent=False,
    explains_errors=False,
    doc="Whether values in the last axis are equal up to rounding; an error if their vectors matter.",
)

vanishing = Op(
    lambda s: np.abs(s) <= _rounding(s, -1),
    name="vanishing",
    batch=stacked,
    lower=lambda b, s: b.elementwise("absolute", s) <= _lower_rounding(b, s, (-1,)),
    doc="Whether values in the last axis are zero up to rounding.",
)


def gaps(w: Any, moved: Any, *, by_column: bool) -> Any:
    """Return the differences ``w[j] - w[i]``: exactly 0 between equal ones, infinite on the diagonal.

    Parameters
    ----------
    w : array or Var
        ``(..., n)``.
    moved : array or Var
        The adjoint of the vectors, in which columns of equal values must be 0; or the tangent of the
        matrix, which turns all of those.
    by_column : bool
        True for the adjoint of the vectors, False for the tangent of the matrix.

    Raises
    ------
    SingularMatrixError
        If vectors of equal values matter: which they are depends on what moves the values apart.
    """
    same = alike(w, moved, by_column=by_column)
    differences = where(same, 0, expand_dims(w, -2) - expand_dims(w, -1))
    return where(np.eye(w.shape[-1], dtype=bool), np.inf, differences)


def _over_forward(x: Any, gap: Any) -> Any:
    is_zero = gap == 0
    if not np.any(is_zero):
        return x / gap
    if np.any(is_zero & (np.abs(x) > _rounding(x, (-2, -1)))):
        raise SingularMatrixError(_TURNS)
    return np.where(is_zero, 0, x / np.where(is_zero, 1, gap))


def _lower_over(b: Any, x: Any, gap: Any) -> Any:
    is_zero = b.elementwise("equal", gap, 0)
    is_large = b.elementwise("absolute", x) > _lower_rounding(b, x, (-2, -1))
    is_right = b.elementwise("logical_not", b.elementwise("logical_and", is_zero, is_large))
    return b.require(b.where(is_zero, 0, x / b.where(is_zero, 1, gap)), is_right)


over: Op = Op(
    _over_forward,
    name="over",
    pattern=pattern_rules.elementwise,
    batch=batch_rules.elementwise,
    lower=_lower_over,
    vjp=[lambda g, out, x, gap: over(g, gap), lambda g, out, x, gap: -over(g * out, gap)],
    jvp=[lambda t, out, x, gap: over(t, gap), lambda t, out, x, gap: -over(out * t, gap)],
    doc="``x / gap`` of matrices; 0 where both are 0, and an error where only ``gap`` is.",
)


# ---- functions of one matrix ---------------------------------------------------------------------


def by_matrix(compute: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """Return the function of stacks of matrices that calls this one for each, on plain arrays."""

    def of_stacks(*operands: Any, **attrs: Any) -> Sequence[Any]:
        stack = operands[0].shape[:-2]
        found = [compute(*(x[i] for x in operands), **attrs) for i in np.ndindex(stack)]
        parts = found or [compute(*(np.eye(*x.shape[-2:], dtype=x.dtype) for x in operands), **attrs)]
        return [
            np.array([one[k] for one in found], part.dtype).reshape(*stack, *np.shape(part))
            for k, part in enumerate(map(np.asarray, parts[0]))
        ]

    return of_stacks


# ---- several results in one array ----------------------------------------------------------------


class Packed:
    """Several results of one computation, each an operation.

    Parameters
    ----------
    name : str
        Name of the computation.
    compute : callable
        ``compute(*operands, **attrs)`` on plain arrays, returning a tuple of arrays.
    shapes : callable
        ``shapes(*operands, **attrs)``: those of the results, without the axes of the stack.
    is_stacking : bool
        Whether ``compute`` takes stacks of matrices.
    data_dependent : bool
        Whether the dtype of the results depends on the elements, as `Op` has it.
    lower : callable, optional
        ``lower(b, *operands, **attrs)``: the results in instructions, as `Op` has it.

    Attributes
    ----------
    op : Op
        The computation, constant to every derivative: all results flattened into the last axis.
    """

    def __init__(
        self,
        name: str,
        compute: Callable[..., Sequence[Any]],
        shapes: Callable[..., Sequence[Shape]],
        *,
        is_stacking: bool = True,
        data_dependent: bool = False,
        lower: Callable[..., Sequence[Any]] | None = None,
    ) -> None:
        self._shapes = shapes
        self._batch = stacked if is_stacking else None

        def forward(*operands: Any, **attrs: Any) -> Any:
            stack = operands[0].shape[:-2]
            flat = [
                np.reshape(part, (*stack, prod(shape)))
                for part, shape in zip(compute(*operands, **attrs), shapes(*operands, **attrs), strict=True)
            ]
            return np.concatenate(flat, axis=-1)

        def lowered(b: Any, *operands: Any, **attrs: Any) -> Any:
            assert lower is not None
            stack = operands[0].shape[:-2]
            parts, sizes = lower(b, *operands, **attrs), map(prod, shapes(*operands, **attrs))
            dtype = np.result_type(*[part.dtype for part in parts])
            flat = [
                b.reshape(b.value(part, dtype), (*stack, size))
                for part, size in zip(parts, sizes, strict=True)
            ]
            return b.concatenate(flat, len(stack))

        self.op = Op(
            forward,
            name=name,
            batch=self._batch,
            data_dependent=data_dependent,
            lower=lowered if lower else None,
        )

    def part(
        self,
        k: int,
        name: str,
        *,
        convert: Callable[[Any], Any] = np.asarray,
        layout: Callable[[Any, Any], Any] = lambda a, part: np.array(part, order="K"),
        vjp: Any = None,
        jvp: Any = None,
    ) -> Op:
        """Return the operation for result ``k``, of the operands and the packed array.

        ``vjp`` and ``jvp`` hold a rule for each operand; ``convert`` undoes the promotion by packing, as
        `numpy.real` does; ``layout`` copies the part, given the first operand, into the memory layout of
        NumPy's result: by default matrix by matrix.
        """

        def place(operands: Any, attrs: dict[str, Any]) -> tuple[int, Shape]:
            shapes = self._shapes(*operands[:-1], **attrs)
            return sum(map(prod, shapes[:k])), (*operands[-1].shape[:-1], *shapes[k])

        def forward(*operands: Any, **attrs: Any) -> Any:
            start, shape = place(operands, attrs)
            stack = operands[-1].ndim - 1
            part = convert(operands[-1][..., start : start + prod(shape[stack:])])
            return layout(operands[0], np.reshape(part, shape))[()]

        def lower(b: Any, *operands: Any, **attrs: Any) -> Any:
            start, shape = place(operands, attrs)
            packed = operands[-1]
            if convert is not np.asarray:  # a part that is real
                packed = b.real(packed)
            stop = start + prod(shape[packed.ndim - 1 :])
            return b.reshape(b.read(packed, (Ellipsis, slice(start, stop))), shape)

        op = Op(
            forward,
            name=name,
            batch=self._batch,
            lower=lower,
            data_dependent=False,
            vjp=vjp and [*vjp, None],
            jvp=jvp and [*jvp, None],
        )
        declare_cost(free, op)  # the factorization has its own cost
        return op
