"""The three products behind convolutions, each linear in both operands.

Of images and kernels; of results and kernels, summed where they came from; and of images and results. The
derivatives of each are the two others. Images are ``(N, C, *spatial)``, kernels ``(O, C / groups, *kernel)``,
results ``(N, O, *windows)``. The arithmetic is that of `tape.kernels.convolution`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tape.core import pattern_rules
from tape.core.op import Op
from tape.inspect.costs import declare_cost
from tape.kernels import convolution as kernels
from tape.kernels.columns import convolution_parameters
from tape.ops.nn.geometry import Counts, computed, window_counts
from tape.ops.structure.axes import moveaxis
from tape.ops.structure.shape import reshape

# The parts of the first two axes, the slower one first: N images, G groups, and in each group I channels of
# the images and O of the results.

_IMAGES, _KERNELS, _RESULTS = ("N", "GI"), ("GO", "I"), ("N", "GO")


def _conv_shape(x: Counts, w: Counts, **at: Any) -> Counts:
    where = (at["stride"], at["padding"], at["dilation"])
    return (x[0], w[0], *window_counts("conv", x[2:], w[2:], *where))


def _input_shape(g: Counts, w: Counts, **at: Any) -> Counts:
    return (g[0], w[1] * at["groups"], *at["spatial"])


def _weight_shape(x: Counts, g: Counts, **at: Any) -> Counts:
    return (g[1], x[1] // at["groups"], *at["kernel"])


def _product(
    name: str, roles: Sequence[tuple[str, str]], shape: Callable[..., Counts], *rules: Callable[..., Any]
) -> Op:
    """Return one of the products; ``roles`` are the axes of its operands and of its result."""
    forward = partial(computed, getattr(kernels, name))

    def lower(b: Any, *operands: Any, **at: Any) -> Any:
        shapes = dict(zip(roles, [x.shape for x in operands], strict=False))
        out = shapes[roles[-1]] = shape(*shapes.values(), **at)
        dtype = np.result_type(*[x.dtype for x in operands])
        if not all(x.size for x in operands):
            return b.broadcast(b.literal(0, dtype), out)
        x, w, y = (shapes[role] for role in (_IMAGES, _KERNELS, _RESULTS))
        where = at["stride"], at["padding"], at["dilation"], at["groups"]
        return b.kernel(name, operands, convolution_parameters(x, w, y[2:], *where), out, dtype)

    def batch(op: Op, operands: Any, is_batched: Sequence[bool], at: dict[str, Any], size: int) -> Any:
        if not size:
            inner = (np.shape(x)[many:] for x, many in zip(operands, is_batched, strict=True))
            return np.zeros((0, *shape(*inner, **at)), np.result_type(*[x.dtype for x in operands]))
        label, groups = _along(roles, is_batched), at["groups"]
        folded = [
            _folded(x, role, label, groups) if many else x
            for x, role, many in zip(operands, roles, is_batched, strict=False)
        ]
        out = op(*folded, **{**at, "groups": groups * size if label == "G" else groups})
        return _unfolded(out, roles[-1], label, groups, size)

    return Op(forward, name=name, vjp=rules, linear=True, batch=batch, pattern=_pattern, lower=lower)


@pattern_rules.multilinear
def _pattern(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """Pattern rule: results depend on the elements of images that a kernel covers, or the other way round."""
    if is_moving[1] or op is _conv_weight:
        return pattern_rules.dense(sets, op, operands, is_moving, attrs, out)
    x, w = operands
    count, channels, *lengths = x.shape
    groups = attrs["groups"]
    joined = sets.over(x.reshape(count, groups, channels // groups, *lengths), 2, True)
    pads = attrs["padding"]
    image, result = (x, out) if op is conv else (out, x)
    padded = [length + sum(pad) for length, pad in zip(image.shape[2:], pads, strict=True)]
    support = sets.support(w)
    found: Any = np.int64(0)
    for offset in np.ndindex(*np.shape(w)[2:]):
        if support is not None and not np.any(support[(..., *offset)]):
            continue
        along = zip(offset, attrs["dilation"], attrs["stride"], result.shape[2:], strict=True)
        covered: tuple[Any, ...] = (
            ...,
            *[slice(k * gap, k * gap + step * (size - 1) + 1, step) for k, gap, step, size in along],
        )
        if op is conv:
            found = sets.union(found, np.pad(joined, [(0, 0)] * 3 + list(pads))[covered])
        else:
            placed = np.zeros((count, groups, 1, *padded), np.int64)
            placed[covered] = joined
            found = sets.union(found, placed)
    if op is conv_input:
        inside = zip(pads, image.shape[2:], strict=True)
        found = found[(..., *[slice(before, before + length) for (before, _), length in inside])]
    shape = (count, groups, out.shape[1] // groups, *out.shape[2:])
    return np.broadcast_to(found, shape).reshape(out.shape)


def _along(roles: Sequence[tuple[str, str]], is_batched: Sequence[bool]) -> str:
    """Return the axis that takes the batch: one that a single operand and the result have, or the groups."""
    if all(is_batched):
        return "G"
    ours, result = "".join(roles[is_batched.index(True)]), "".join(roles[-1])
    (label,) = set(ours) & set(result) - {"G"}
    return label


def _place(role: tuple[str, str], label: str, groups: int) -> tuple[int, int]:
    """Return the axis that a label is part of, and how many runs of it there are."""
    axis = 0 if label in role[0] else 1
    return axis, groups if role[axis].index(label) else 1


def _folded(x: Any, role: tuple[str, str], label: str, groups: int) -> Any:
    """Return a batch of operands as one, with the elements of the batch next to each other along a label."""
    axis, runs = _place(role, label, groups)
    size, *shape = x.shape
    split = reshape(x, (size, *shape[:axis], runs, shape[axis] // runs, *shape[axis + 1 :]))
    shape[axis] *= size
    return reshape(moveaxis(split, 0, axis + 1), shape)


def _unfolded(x: Any, role: tuple[str, str], label: str, groups: int, size: int) -> Any:
    """Return the batch that was folded."""
    axis, runs = _place(role, label, groups)
    shape = list(x.shape)
    shape[axis] //= size
    split = reshape(x, (*shape[:axis], runs, size, shape[axis] // runs, *shape[axis + 1 :]))
    return reshape(moveaxis(split, axis + 1, 0), (size, *shape))


conv: Op = _product(
    "conv",
    (_IMAGES, _KERNELS, _RESULTS),
    _conv_shape,
    lambda g, out, x, w, **at: conv_input(g, w, spatial=x.shape[2:], **at),
    lambda g, out, x, w, **at: _conv_weight(x, g, kernel=w.shape[2:], **at),
)
declare_cost(lambda out, shapes, at: 2 * prod(out) * prod(shapes[1][1:]), conv)

conv_input: Op = _product(
    "conv_input",
    (_RESULTS, _KERNELS, _IMAGES),
    _input_shape,
    lambda d, out, g, w, spatial, **at: conv(d, w, **at),
    lambda d, out, g, w, spatial, **at: _conv_weight(d, g, kernel=w.shape[2:], **at),
)
declare_cost(lambda out, shapes, at: 2 * prod(shapes[0]) * prod(shapes[1][1:]), conv_input)

_conv_weight: Op = _product(
    "conv_weight",
    (_IMAGES, _RESULTS, _KERNELS),
    _weight_shape,
    lambda d, out, x, g, kernel, **at: conv_input(g, d, spatial=x.shape[2:], **at),
    lambda d, out, x, g, kernel, **at: conv(x, d, **at),
)
declare_cost(lambda out, shapes, at: 2 * prod(shapes[1]) * prod(out[1:]), _conv_weight)
