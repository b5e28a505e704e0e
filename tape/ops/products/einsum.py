"""Sums of products, in Einstein notation.

Every call becomes one operation with its subscripts written out: a letter for each axis, the result after
``->``. The derivative by an operand is again an einsum, of the adjoint and the other operands, and a batch is
one more letter.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from itertools import product
from math import prod
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from tape.core import pattern_rules, series
from tape.core.linear import broadcast_to
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import ShapeError, UnsupportedError
from tape.inspect.costs import Shape, declare_cost
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.selection import where
from tape.ops.structure.shape import astype, reshape

__all__ = ["einsum"]

declare_samples('np.einsum("ij,j,ik->k", x, v, y)')

_LARGE = 10_000
"""The number of products from which on NumPy's search for a faster order is worth its time."""


def _terms(subscripts: str) -> tuple[list[str], str]:
    """Return the subscripts of each operand, and those of the result."""
    inputs, result = subscripts.split("->")
    return inputs.split(","), result


def _longest(operands: Sequence[Any], inputs: Sequence[str]) -> dict[str, int]:
    """Return the length of the axes of each letter, after broadcasting."""
    lengths: dict[str, int] = {}
    for x, labels in zip(operands, inputs, strict=True):
        for label, length in zip(labels, np.shape(x), strict=True):
            if lengths.get(label, 1) == 1:
                lengths[label] = length
    return lengths


# ---- rules -----------------------------------------------------------------------------------------


def _adjoint(k: int, g: Any, out: Any, *operands: Any, subscripts: str, **options: Any) -> Any:
    """Return the adjoint of operand ``k``."""
    inputs, result = _terms(subscripts)
    own, others = inputs[k], [*inputs[:k], *inputs[k + 1 :]]
    parts, labels = [g, *operands[:k], *operands[k + 1 :]], [result, *others]
    lengths = dict(zip(own, np.shape(operands[k]), strict=True))
    known = set().union(*labels)
    # An axis of length one may have been broadcast, and then it is summed over.
    kept = "".join(label for label in lengths if label in known and lengths[label] != 1)
    is_large = prod(_longest(parts, labels).values()) > _LARGE
    if is_large:  # in pairs: ints and bools must not be multiplied among themselves, see `_check_small`
        parts = [x if np.result_type(x).kind in "fc" else astype(x, g.dtype) for x in parts]
    d = _einsum(len(parts))(*parts, subscripts=f"{','.join(labels)}->{kept}", optimize=is_large)
    if len(kept) < len(lengths):
        sides = iter(d.shape)
        d = reshape(d, [next(sides) if label in kept else 1 for label in lengths])
    if d.shape != tuple(lengths.values()):
        d = broadcast_to(d, shape=tuple(lengths.values()))  # constant along axes that were only summed over
    return d if len(own) == len(lengths) else _on_diagonal(d, own, lengths)


def _on_diagonal(d: Any, labels: str, lengths: dict[str, int]) -> Any:
    """Return an array with one axis for each letter, on the diagonal of one with all occurrences."""
    count = len(labels)
    is_kept = np.ones((1,) * count, bool)
    shape = []
    for axis, label in enumerate(labels):
        first = labels.index(label)
        shape.append(lengths[label] if axis == first else 1)
        if axis != first:
            sides = [lengths[label] if i in (first, axis) else 1 for i in range(count)]
            is_kept = is_kept & np.eye(lengths[label], dtype=bool).reshape(sides)
    return where(is_kept, reshape(d, shape), 0)


def _taylor(op: Any, out: Any, operands: Any, attrs: dict[str, Any]) -> series.Series:
    """Taylor rule: each coefficient is a sum over all ways to split its order among the operands."""
    coefficients = [out]
    for order in range(1, len(operands[0])):
        shares = product(range(order + 1), repeat=len(operands))
        chosen = (
            [a[j] for a, j in zip(operands, share, strict=True)] for share in shares if sum(share) == order
        )
        coefficients.append(
            series.total(op(*parts, **attrs) for parts in chosen if not any(part is None for part in parts))
        )
    return coefficients


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    inputs, result = _terms(attrs["subscripts"])
    free = next((letter for letter in ascii_letters if letter not in attrs["subscripts"]), None)
    if free is None:
        return NotImplemented
    lifted = [free + labels if inside else labels for labels, inside in zip(inputs, is_batched, strict=True)]
    return op(*operands, **{**attrs, "subscripts": f"{','.join(lifted)}->{free}{result}"})


# ---- in programs: transpositions, matrix products and folds ----------------------------------------

Term = tuple[Any, str]  # a value, and a letter for each of its axes


def _arranged(b: Any, term: Term, order: Sequence[str]) -> Any:
    x, labels = term
    return b.transpose(x, [labels.index(label) for label in order])


def _distinct(b: Any, x: Any, labels: str) -> Term:
    """Return the diagonal where letters repeat, without axes of length one, which broadcast."""
    labels = "".join(label for label, length in zip(labels, x.shape, strict=True) if length != 1)
    x = b.reshape(x, tuple(length for length in x.shape if length != 1))
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        first, second = labels.index(label), labels.rindex(label)
        rest = [i for i in range(len(labels)) if i not in (first, second)]
        positions = np.arange(x.shape[first])
        x = b.read(b.transpose(x, (first, second, *rest)), (positions, positions))
        labels = label + "".join(labels[i] for i in rest)
    return x, labels


def _summed(b: Any, term: Term, kept: Iterable[str]) -> Term:
    x, labels = term
    axes = tuple(i for i, label in enumerate(labels) if label not in kept)
    if not axes:
        return term
    folded = b.fold("any" if x.dtype.kind == "b" else "sum", x, axes)
    return folded, "".join(label for label in labels if label in kept)


def _multiplied(b: Any, left: Term, right: Term, kept: set[str]) -> Term:
    """Return the product of two terms: a stack of matrix products, or a product of elements.

    What only one of them has is summed over first; but later, as in NumPy, where that takes no longer, so
    that infinities of both signs do not cancel out.
    """
    for term, other in ((left, right), (right, left)):
        rest = set(term[1]) - set(other[1]) - kept
        if rest and other[1] and set(other[1]) <= set(term[1]):
            return _summed(b, _multiplied(b, left, right, kept | rest), kept)
    (x, xs), (y, ys) = (
        _summed(b, term, kept.union(other[1])) for term, other in ((left, right), (right, left))
    )
    lengths = {**dict(zip(xs, x.shape, strict=True)), **dict(zip(ys, y.shape, strict=True))}
    stacks = [label for label in xs if label in ys and label in kept]
    inner = [label for label in xs if label in ys and label not in kept]
    rows, columns = [s for s in xs if s not in ys], [s for s in ys if s not in xs]

    def sides(*groups: Sequence[str]) -> tuple[int, ...]:
        return tuple(prod(lengths[label] for label in group) for group in groups)

    x = _arranged(b, (x, xs), (*stacks, *rows, *inner))
    y = _arranged(b, (y, ys), (*stacks, *inner, *columns))
    x = b.reshape(x, sides(*stacks, rows, inner))
    y = b.reshape(y, sides(*stacks, inner, columns))
    if x.dtype.kind in "fc" and inner and (rows or columns):
        out = b.matmul(x, y)
    else:
        pairs = b.reshape(x, (*x.shape, 1)) * b.reshape(y, (*y.shape[:-2], 1, *y.shape[-2:]))
        out = b.fold("any" if x.dtype.kind == "b" else "sum", pairs, -2) if inner else pairs
    labels = "".join((*stacks, *rows, *columns))
    return b.reshape(out, sides(*labels)), labels


def _lower(
    b: Any, *operands: Any, subscripts: str, dtype: Any = None, optimize: Any = False, **options: Any
) -> Any:
    inputs, result = _terms(subscripts)
    values = [b.value(x) for x in operands]
    lengths = _longest(values, inputs)
    dtype = np.result_type(*(x.dtype for x in values)) if dtype is None else np.dtype(dtype)
    terms = [_distinct(b, b.value(x, dtype), labels) for x, labels in zip(values, inputs, strict=True)]
    path: Any = [tuple(range(len(terms)))]
    if len(terms) > 2:
        shapes = [np.broadcast_to(0.0, x.shape) for x in values]
        path = np.einsum_path(subscripts, *shapes, optimize="greedy")[0][1:]
    for chosen in path:
        rest = [term for i, term in enumerate(terms) if i not in chosen]
        total, *others = [terms[i] for i in chosen]
        for k, other in enumerate(others):
            later = (*rest, *others[k + 1 :])
            total = _multiplied(b, total, other, set(result).union(*(labels for _, labels in later)))
        terms = [*rest, total]
    ((x, labels),) = (_summed(b, term, result) for term in terms)
    is_sum = bool(set().union(*inputs) - set(result))
    if is_sum and x.dtype.kind in "fc" and not (optimize and len(inputs) > 1):
        x = x + b.literal(0, x.dtype)  # NumPy adds to zeros, in which -0.0 becomes 0.0
    ordered = _arranged(b, (x, labels), [label for label in result if label in labels])
    return b.reshape(ordered, tuple(lengths[label] for label in result))


def _written_back(x: Any, part: Any, *, subscripts: str, **options: Any) -> Any:
    """Return the operand after its diagonals, or axes in another order, have been written to."""
    reached = _adjoint(0, np.ones(part.shape), part, x, subscripts=subscripts, **options)
    return where(reached != 0, _adjoint(0, part, part, x, subscripts=subscripts, **options), x)


# ---- the operation ---------------------------------------------------------------------------------


def _cost(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """Return the cost: each operand multiplied with what is left of those before it, and summed."""
    inputs, result = _terms(attrs["subscripts"])
    lengths: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for label, length in zip(labels, shape, strict=True):
            lengths[label] = max(length, lengths.get(label, 1)) if length else 0
    if len(inputs) == 1:
        return prod(shapes[0]) if set(inputs[0]) - set(result) else 0
    total, left = 0, set(inputs[0])
    for k, labels in enumerate(inputs[1:], start=1):
        left |= set(labels)
        kept = left & set(result).union(*inputs[k + 1 :])
        total += (2 if left - kept else 1) * prod([lengths[label] for label in left])
        left = kept
    return total


_plainly: Any = getattr(import_module("numpy._core.multiarray"), "c_einsum", np.einsum)
"""What NumPy's function calls without options, after it has looked for operands of other types."""


@pattern_rules.multilinear
def _pattern(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """Pattern rule: equal letters are equal positions, and letters that the result lacks are any."""
    inputs, result = _terms(attrs["subscripts"])
    found = []
    for x, labels, moves in zip(operands, inputs, is_moving, strict=True):
        if moves:
            distinct = "".join(dict.fromkeys(labels))
            x = np.einsum(f"{labels}->{distinct}", x)
            gone = tuple(i for i, letter in enumerate(distinct) if letter not in result)
            kept = [letter for letter in distinct if letter in result]
            x = sets.over(x, gone, False) if gone else x
            ordered = [letter for letter in result if letter in kept]
            x = np.transpose(x, [kept.index(letter) for letter in ordered])
            found.append(x[tuple(slice(None) if letter in kept else None for letter in result)])
    return np.broadcast_to(sets.union(*found), np.shape(out))


@cache
def _einsum(count: int) -> Op:
    """Return the einsum operation for this number of operands."""
    op = Op(
        lambda *operands, subscripts, **options: (np.einsum if options else _plainly)(
            subscripts, *operands, **options
        ),
        name="einsum",
        pattern=_pattern,
        vjp=[partial(_adjoint, k) for k in range(count)],
        linear=True,
        view=_written_back,
        taylor=_taylor if count > 2 else series.multilinear,
        batch=_batch,
        lower=_lower,
    )
    declare_cost(_cost, op)
    return op


@implements(np.einsum)
@specialised()
def einsum(
    *operands: Any, optimize: Any = False, dtype: Any = None, order: str = "K", casting: str = "safe"
) -> Any:
    """Evaluate sums of products in Einstein notation, with all options of `numpy.einsum`.

    Parameters
    ----------
    *operands : str and array_like or Var, or array_like or Var and list of int, in turn
        Subscripts and the arrays they are for: ``"ij,jk->ik", a, b``, or, with a number for a letter,
        ``a, [0, 1], b, [1, 2], [0, 2]``.
    optimize : bool, str or path
        NumPy's order of computation: False in one loop over all letters, True in pairs. Derivatives of large
        products are computed in pairs in any case.
    dtype, order, casting
        Same as for `numpy.einsum`.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var

    Raises
    ------
    ShapeError
        If the subscripts are malformed or do not fit the shapes.
    UnsupportedError
        If NumPy would optimize by multiplying or adding up bools or small ints before they meet a float
        that is differentiated: its result is that of an overflow then.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> tr.backward_param_grads(np.einsum("ii", x))
    [array([[1., 0.],
           [0., 1.]])]
    """
    if operands and isinstance(operands[0], str):
        text, given = operands[0].replace(" ", ""), operands[1:]
    else:
        text, given = _from_lists(operands)
    arrays = [as_operand(array) for array in given]
    subscripts = _written_out(text, [np.shape(array) for array in arrays], optimize is not False)
    if optimize is not False:
        _check_small(arrays, subscripts, optimize)
    defaults = {"optimize": False, "dtype": None, "order": "K", "casting": "safe"}
    chosen = {"optimize": optimize, "dtype": dtype, "order": order, "casting": casting}
    options = {key: value for key, value in chosen.items() if value != defaults[key]}
    return _einsum(len(arrays))(*arrays, subscripts=subscripts, **options)


def _check_small(arrays: Sequence[Any], subscripts: str, optimize: Any) -> None:
    """Raise where NumPy's order of pairs would multiply bools or small ints before they meet a float.

    NumPy adds up bools by "or", and small ints in their few bits: the derivative by the float would not be
    that of an einsum.
    """
    dtypes = [np.result_type(x) for x in arrays]
    is_small = [dtype.kind == "b" or (dtype.kind in "iu" and dtype.itemsize < 8) for dtype in dtypes]
    moves = (isinstance(x, Handle) and dtype.kind in "fc" for x, dtype in zip(arrays, dtypes, strict=True))
    if not any(is_small) or not any(moves):
        return
    inputs, result = _terms(subscripts)
    terms = [
        (set(labels), dtype if small else None)
        for labels, dtype, small in zip(inputs, dtypes, is_small, strict=True)
    ]
    shapes = [np.broadcast_to(0.0, np.shape(x)) for x in arrays]
    for chosen in np.einsum_path(subscripts, *shapes, optimize=optimize)[0][1:]:
        parts = [terms[i] for i in chosen]
        terms = [term for i, term in enumerate(terms) if i not in chosen]
        kept = set(result).union(*(labels for labels, _ in terms))
        met = set().union(*(labels for labels, dtype in parts if dtype is None))
        small = [dtype for _, dtype in parts if dtype is not None]
        summed = [labels - kept - met for labels, dtype in parts if dtype is not None]
        is_product = len(small) == len(parts) and np.result_type(*small).kind != "b"
        if is_product or any(summed):
            raise UnsupportedError(
                f"einsum: {subscripts!r} with optimize={optimize!r} multiplies or adds up bools or small "
                "ints among themselves, where they overflow. Convert them to float, or omit optimize"
            )
        both = set().union(*(labels for labels, _ in parts))
        terms.append((both & kept, np.result_type(*small) if len(small) == len(parts) else None))


def _from_lists(operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return subscripts given as lists of numbers as letters, and the arrays."""
    count = len(operands) // 2 * 2
    lists = [_letters(labels) for labels in operands[1:count:2]]
    result = [_letters(labels) for labels in operands[count:]]
    return "->".join((",".join(lists), *result)), operands[:count:2]


def _letters(labels: Any) -> str:
    """Return NumPy's letters for numbers: their order decides that of an implicit result."""
    if not isinstance(labels, Handle):
        every = ascii_uppercase + ascii_lowercase
        with suppress(TypeError, IndexError):
            return "".join("..." if s is Ellipsis else every[range(52)[operator.index(s)]] for s in labels)
    raise ShapeError(
        f"einsum: after each operand comes a list of ints from 0 to 51 or Ellipsis, not {labels!r}"
    )


def _written_out(text: str, shapes: Sequence[tuple[int, ...]], sums_over_rest: bool) -> str:
    """Return the subscripts with a letter for each axis and an explicit result.

    An ellipsis that the result lacks is an error, except in NumPy's optimizer, which sums over it.
    """
    source = f"einsum: {text!r} for shapes {', '.join(str(list(shape)) for shape in shapes)}"
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(shapes) or not shapes:
        raise ShapeError(f"{source}. There are subscripts for {len(inputs)} operands")
    for part in (*inputs, right):
        named = part.replace("...", "", 1)
        if not set(named) <= set(ascii_letters):
            raise ShapeError(f"{source}. Subscripts are letters, and one '...' for all axes without")
    extra = [len(shape) - len(part.replace("...", "")) for part, shape in zip(inputs, shapes, strict=True)]
    for part, more in zip(inputs, extra, strict=True):
        if more < 0 or (more and "..." not in part):
            raise ShapeError(f"{source}. {part!r} has the wrong number of axes")
    most = max(extra)
    free = "".join(letter for letter in ascii_letters if letter not in text)[:most]
    inputs = [part.replace("...", free[most - more :]) for part, more in zip(inputs, extra, strict=True)]
    every = "".join(inputs)
    if arrow:
        if most and "..." not in right and not sums_over_rest:
            raise ShapeError(f"{source}. The result needs '...' too; sum over axes that have letters")
        result = right.replace("...", free)
    else:
        once = (label for label in sorted(set(every) - set(free)) if every.count(label) == 1)
        result = free + "".join(once)
    if len(set(result)) < len(result) or not set(result) <= set(every):
        raise ShapeError(f"{source}. Each subscript of the result must be one of the operands', once")
    _check_lengths(source, inputs, shapes)
    return f"{','.join(inputs)}->{result}"


def _check_lengths(source: str, inputs: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
    lengths: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        own: dict[str, int] = {}
        for label, length in zip(labels, shape, strict=True):
            if own.setdefault(label, length) != length:
                raise ShapeError(f"{source}. {label!r} is for axes of lengths {own[label]} and {length}")
        for label, length in own.items():
            if lengths.get(label, 1) == 1:
                lengths[label] = length
            elif length not in (1, lengths[label]):
                raise ShapeError(f"{source}. {label!r} is for axes of lengths {lengths[label]} and {length}")
