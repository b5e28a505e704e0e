"""The named tuples of functions with several results: NumPy's own, which exports none.

So results of Vars and of arrays are alike, and may take each other's place in loops and checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

__all__ = [
    "EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "UniqueAllResult",
    "UniqueCountsResult", "UniqueInverseResult",
]  # fmt: skip

if TYPE_CHECKING:
    from numpy.lib._arraysetops_impl import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
    from numpy.linalg._linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
else:
    EigResult, EighResult, QRResult, SlogdetResult, SVDResult = (
        type(getattr(np.linalg, name)(np.eye(1))) for name in ("eig", "eigh", "qr", "slogdet", "svd")
    )
    UniqueAllResult, UniqueCountsResult, UniqueInverseResult = (
        type(getattr(np, name)(np.zeros(1))) for name in ("unique_all", "unique_counts", "unique_inverse")
    )
