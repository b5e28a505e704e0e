"""What data decide about eigenvalue problems: the scaling of rows and columns, and pairs of eigenvalues.

Both are constant to every derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.errors import OptionError
from tape.ops.linalg.packing import by_matrix, stacked

__all__ = ["balance", "partners"]


def _balance_of_one(a: Any, permute: bool, scale: bool) -> Any:
    from scipy.linalg import matrix_balance  # imported late: it takes as long as all the rest

    _, found = matrix_balance(a, permute=permute, scale=scale, separate=True)
    return (np.stack(found).astype(np.finfo(a.dtype).dtype),)


_balance = Op(
    lambda a, *, permute, scale: by_matrix(lambda x: _balance_of_one(x, permute, scale))(a)[0],
    name="balance",
    batch=stacked,
)
_order = Op(lambda found: found[..., 1, :].astype(np.int64), name="balance_order", batch=stacked)


def balance(a: Any, permute: bool, scale: bool) -> tuple[Any, Any]:
    """Return the factors of rows and columns, powers of two, and their order."""
    found = _balance(a, permute=permute, scale=scale)
    return found[..., 0, :], _order(found)


def _partners_forward(w: Any) -> Any:
    is_complex = np.imag(w) != 0
    if np.any(np.sum(is_complex, axis=-1) % 2):
        raise OptionError(
            "cdf2rdf: there is an odd number of complex eigenvalues. Give them in conjugate pairs"
        )
    out = np.broadcast_to(np.arange(w.shape[-1]), w.shape).copy()
    for i in np.ndindex(w.shape[:-1]):
        found = np.flatnonzero(is_complex[i])
        out[i][found[0::2]], out[i][found[1::2]] = found[1::2], found[0::2]
    return out


partners = Op(
    _partners_forward,
    name="eigenvalue_partners",
    batch=stacked,
    doc="The index of the conjugate of each complex eigenvalue, its own index for real ones.",
)
