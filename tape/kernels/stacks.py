"""Stacks of products of tiny matrices: what their kernel takes and needs, and when it is worth it.

Its code is in `tape.kernels.compiled.stacks`; its parameters are those of `tape.kernels.matrices`.
"""

from __future__ import annotations

from tape.kernels.kernel import Kernel, Needs
from tape.kernels.matrices import PARAMETERS, needs_of_product

PRODUCTS_OF_A_TASK = 64
_MOST_COLUMNS = 4
"""Of the second factor: a vector has as many numbers."""
_MOST = 64
"""Multiplications: calling BLAS takes as long as so many."""
_FEWEST = 8
"""Products."""


def are_tiny(count: int, m: int, n: int, k: int) -> bool:
    """Return whether each of several ``(m, n)`` products is less work than calling BLAS for it.

    Parameters
    ----------
    count : int
        How many there are.
    m, n, k : int
        Lengths; ``k`` is summed over.
    """
    return count >= _FEWEST and 1 < n <= _MOST_COLUMNS and m * n * k <= _MOST


def _needs(parameters: tuple[int, ...]) -> Needs:
    needs = needs_of_product(parameters, 8)
    outer, inner_length, _, n, *_ = parameters
    is_packed = parameters[16] != 1
    if n > _MOST_COLUMNS or is_packed:
        raise ValueError("there are too many columns, or they are apart")
    tasks = -(-outer * inner_length // PRODUCTS_OF_A_TASK)
    return needs._replace(workspace=0, tasks=tasks)


KERNELS = {"products_of_stack": Kernel(PARAMETERS, _needs)}
