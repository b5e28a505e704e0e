"""All kernels that programs may call, by name: see `tape.kernels.kernel` for what an entry is."""

from __future__ import annotations

from functools import lru_cache

from tape.kernels import (
    columns,
    counting,
    differences,
    extremes,
    factors,
    indices,
    matrices,
    searching,
    selection,
    sliding,
    small,
    sorting,
    sparse,
    stacks,
    transposition,
    weighted,
    windowed,
)
from tape.kernels.kernel import Kernel, Needs

GROUPS: dict[str, dict[str, Kernel]] = {
    "convolution": columns.KERNELS,
    "pooling": windowed.KERNELS,
    "factors": factors.KERNELS,
    "small": small.KERNELS,
    "writing": indices.KERNELS,
    "sorting": sorting.KERNELS,
    "selection": selection.KERNELS,
    "searching": searching.KERNELS,
    "counting": counting.KERNELS,
    "sliding": sliding.KERNELS,
    "sparse": sparse.KERNELS,
    "differences": differences.KERNELS,
    "extremes": extremes.KERNELS,
    "weighted sums": weighted.KERNELS,
    "transposition": transposition.KERNELS,
    "products of stacks": stacks.KERNELS,
    "products of doubles": matrices.DOUBLES,
    "products of singles": matrices.SINGLES,
    "products by rows": matrices.BY_ROWS,
}
"""Kernels that are compiled together, when a program needs one of them for the first time."""
REGISTRY: dict[str, Kernel] = {name: kernel for group in GROUPS.values() for name, kernel in group.items()}
"""All of them."""

_MOST = 1 << 31


@lru_cache(maxsize=4096)
def needs_of(name: str, parameters: tuple[int, ...]) -> Needs:
    """What a kernel needs with these parameters.

    Parameters
    ----------
    name : str
        In the registry.
    parameters : tuple of int
        Of any origin.

    Raises
    ------
    ValueError
        If there is no such kernel, or if it cannot work with these parameters.

    Examples
    --------
    >>> from tape.kernels.columns import convolution_parameters
    >>> from tape.kernels.registry import needs_of
    >>> needs_of("conv", convolution_parameters((2, 4, 9), (6, 2, 3), (4,), (2,), ((0, 0),), (1,), 2)).out
    48
    """
    kernel = REGISTRY.get(name)
    if kernel is None:
        raise ValueError(f"there is no kernel {name!r}")
    count = sum(kernel.parameters.values())
    if len(parameters) != count:
        raise ValueError(f"{name} has {count} parameters, not {len(parameters)}")
    if max(map(abs, parameters)) >= _MOST:
        raise ValueError("a parameter is out of range")
    return kernel.needs(parameters)
