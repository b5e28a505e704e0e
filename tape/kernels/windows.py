"""Which elements of an array the windows of a convolution or a pooling see, for plain arrays.

Windows are looked at tap by tap: each position of the kernel sees a regular grid of elements, but for the
windows in which it lies in the padding. So nothing is padded, and a tap is two slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

Pairs = Sequence[tuple[int, int]]


class Tap(NamedTuple):
    """What one position of a kernel sees.

    Attributes
    ----------
    position : tuple of int
        In the kernel.
    seen : tuple of slice
        Elements of the input, along its spatial axes.
    windows : tuple of slice
        The windows that see them there, as many.
    """

    position: tuple[int, ...]
    seen: tuple[Any, ...]
    windows: tuple[Any, ...]


def output_lengths(
    spatial: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int],
) -> tuple[int, ...]:  # fmt: skip
    """How many windows there are along each axis.

    Parameters
    ----------
    spatial, kernel, stride, dilation : sequence of int
        For each axis.
    padding : sequence of (int, int)
        Elements before the first, and behind the last.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from tape.kernels.windows import output_lengths
    >>> output_lengths((28, 7), (5, 3), (1, 2), ((0, 0), (1, 1)), (1, 1))
    (24, 4)
    """
    return tuple(
        [
            (length + low + high - step * (size - 1) - 1) // stride + 1
            for length, size, stride, (low, high), step in zip(
                spatial, kernel, stride, padding, dilation, strict=True
            )
        ]
    )


def taps(
    spatial: Sequence[int], kernel: Sequence[int], outputs: Sequence[int], stride: Sequence[int],
    padding: Pairs, dilation: Sequence[int],
) -> Iterator[Tap]:  # fmt: skip
    """All positions of a kernel that see anything, in C order.

    Parameters
    ----------
    spatial, kernel, stride, padding, dilation
        As for `output_lengths`.
    outputs : sequence of int
        How many windows there are; what lies above the padding of the high side is padding too.

    Yields
    ------
    Tap

    Examples
    --------
    >>> from tape.kernels.windows import taps
    >>> for tap in taps((3,), (2,), (3,), (1,), ((1, 0),), (1,)):
    ...     print(tap.position, tap.seen, tap.windows)
    (0,) (slice(0, 2, 1),) (slice(1, 3, None),)
    (1,) (slice(0, 3, 1),) (slice(0, 3, None),)
    """
    axes = []
    for length, size, count, step, (low, _), gap in zip(
        spatial, kernel, outputs, stride, padding, dilation, strict=True
    ):
        axis = []
        for k in range(size):
            offset = k * gap - low  # of what the first window sees
            first = max(0, -(offset // step))
            stop = min(count, (length - 1 - offset) // step + 1)
            if first < stop:
                seen = slice(first * step + offset, (stop - 1) * step + offset + 1, step)
                axis.append((k, seen, slice(first, stop)))
        axes.append(axis)
    for choice in product(*axes):
        yield Tap(*(tuple(part) for part in zip(*choice, strict=True)))
