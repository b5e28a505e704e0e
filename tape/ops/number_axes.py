"""The axes of a number: it has none, and NumPy's reductions take 0 and -1 for all of it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["axis_of"]


def axis_of(x: Any, axis: Any) -> Any:
    """The axis, or None, which stands for all axes, where it is the first or last one of a number.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.ops.number_axes import axis_of
    >>> axis_of(np.float64(2.0), 0), axis_of(np.float64(2.0), 1), axis_of(np.ones(3), 0)
    (None, 1, 0)
    """
    if axis is None or (x.ndim if hasattr(x, "ndim") else np.ndim(x)):  # which takes a Var a microsecond
        return axis
    return None if isinstance(axis, (int, np.integer)) and -1 <= axis <= 0 else axis
