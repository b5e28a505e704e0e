"""Axes of scalars: a scalar has none, and NumPy's reductions accept 0 and -1 for it."""

from __future__ import annotations

from typing import Any

import numpy as np


def axis_of(x: Any, axis: Any) -> Any:
    """Return the axis, or None, which stands for all axes, where it is 0 or -1 and ``x`` is a scalar.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.number_axes import axis_of
    >>> axis_of(np.float64(2.0), 0), axis_of(np.float64(2.0), 1), axis_of(np.ones(3), 0)
    (None, 1, 0)
    """
    if axis is None or (x.ndim if hasattr(x, "ndim") else np.ndim(x)):  # np.ndim of a Var takes a microsecond
        return axis
    return None if isinstance(axis, (int, np.integer)) and -1 <= axis <= 0 else axis
