"""Ufuncs of our own: which there are, and what computes them where compiled code cannot run.

Their loops are in `tape.kernels.compiled`, one module a group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

UFUNC_GROUPS: dict[str, dict[str, str]] = {
    "normal": {"normal_cdf": "fd", "normal_moment": "fd"},
    "circular": {"vector_sin": "d", "vector_cos": "d"},
    "exponentials": {"vector_exp": "d", "vector_tanh": "d"},
    "logarithms": {"vector_log": "d", "vector_log1p": "d"},
}
"""Ufuncs of one operand that are compiled together, and the dtypes that each has loops for."""

TAIL_ENDS = 39.0
"""From here on the normal distribution's tail is 0 in float64."""


def _normal_cdf(x: Any) -> Any:
    from scipy.special import ndtr  # which takes long to import, and is not needed elsewhere

    return ndtr(x)


def _normal_moment(x: Any) -> Any:
    x = np.clip(x, -TAIL_ENDS, TAIL_ENDS)  # beyond, and at infinity, it is 0; NaN stays
    return x * np.exp(-0.5 * x * x) * x.dtype.type(0.3989422804014327)


PLAIN = {"normal_cdf": _normal_cdf, "normal_moment": _normal_moment}
"""Those that code which is not compiled calls."""
