"""Complex numbers: their parts, conjugates and angles.

Rules take adjoints and tangents to pair without conjugation: the change of a real result is
``real(sum(g * t))``. What a rule makes for a real operand, or for a real result, is its real part: the
caller takes it. So what is real need not have a real rule, and one expression serves both modes. Only
that the adjoint of a complex operand of one variable is complex, its rule must see to itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import series
from tape.functions import elementwise
from tape.op import cast
from tape.ops.arithmetic import multiply

__all__ = ["conj", "conjugate", "imag", "real"]


def _lower_same(b: Any, x: Any) -> Any:
    return b.value(x)  # programs know no complex numbers


real = elementwise(
    np.real,
    lambda d, out, x: cast(d, dtype=x.dtype) if x.dtype.kind == "c" else d,
    taylor=series.linear,
    lower=_lower_same,
    name="real",
    numpy=np.real,
    doc="The real part.",
)

imag = elementwise(
    np.imag,
    lambda d, out, x: multiply(d, -1j) if x.dtype.kind == "c" else d * 0.0,
    taylor=series.linear,
    lower=lambda b, x: b.value(x) * 0,
    name="imag",
    numpy=np.imag,
    doc="The imaginary part; of a real number 0.",
)

conjugate = elementwise(
    np.conjugate,
    lambda d, out, x: conjugate(d) if x.dtype.kind == "c" else d,
    taylor=series.linear,
    lower=_lower_same,
    name="conjugate",
    doc="The complex conjugate.",
)
conj = conjugate
