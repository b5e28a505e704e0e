"""Mathieu and spheroidal wave functions, which SciPy returns with their derivative, differentiable by x.

The slope of the first result is the second, and that of the second is given by the differential equation:
DLMF 28.2.1, 28.20.1, 30.2.1 and, for oblate ones, 30.2.1 at ``1j * x``. The characteristic value in it is a
constant; by the parameter, q or c, there is no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.elementary import cos, cosh
from tape.ops.elementwise.scipy_ufuncs import (
    PREFIX,
    Function,
    declare_several,
    in_float64,
    narrowed,
    refuse_derivative,
    ufunc_named,
)

__all__ = [
    "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2", "mathieu_sem",
    "obl_ang1", "obl_ang1_cv", "obl_rad1", "obl_rad1_cv", "obl_rad2", "obl_rad2_cv", "pro_ang1",
    "pro_ang1_cv", "pro_rad1", "pro_rad1_cv", "pro_rad2", "pro_rad2_cv",
]  # fmt: skip

declare_samples(
    "scipy.special.mathieu_cem, scipy.special.mathieu_sem(2, 1.5, x)",
    "scipy.special.mathieu_modcem1, scipy.special.mathieu_modcem2, scipy.special.mathieu_modsem1, "
    "scipy.special.mathieu_modsem2(2, 1.5, x)",
    "scipy.special.pro_ang1, scipy.special.obl_ang1(1, 2, 1.5, x / 9)",
    "scipy.special.pro_ang1_cv(1, 2, 1.5, 6.9447848136442785, x / 9)",
    "scipy.special.obl_ang1_cv(1, 2, 1.5, 5.015885665256057, x / 9)",
    "scipy.special.pro_rad1, scipy.special.pro_rad2, scipy.special.obl_rad1, "
    "scipy.special.obl_rad2(1, 2, 1.5, 2 + x)",
    "scipy.special.pro_rad1_cv, scipy.special.pro_rad2_cv(1, 2, 1.5, 6.9447848136442785, 2 + x)",
    "scipy.special.obl_rad1_cv, scipy.special.obl_rad2_cv(1, 2, 1.5, 5.015885665256057, 2 + x)",
)


def _in_double(name: str, operands: Sequence[Any]) -> Any:
    """Call a ufunc of SciPy's with float64: loops of float32 make NaN of some numbers, and hang."""
    return ufunc_named(name)(*map(in_float64, operands))


def _lowered(name: str, k: int = 0) -> Callable[..., Any]:
    """Return the ``lower`` rule of the same, of one result."""
    return lambda b, *operands: b.numbers(PREFIX + name, *[b.value(x, np.float64) for x in operands])[k]


def _solution(name: str, doc: str, count: int, second: Callable[..., Any], scale: float = 1.0) -> Function:
    """Declare a function of parameters and x; ``second(f, slope, *operands)`` is its second derivative.

    ``scale`` is the derivative by x of the variable that SciPy's second result is the derivative by.
    """
    constants = [None] * count
    values: Function = elementwise(
        lambda *operands: narrowed(_in_double(name, operands)[0], operands),
        *constants,
        lambda d, out, *operands: d * (scale * slopes(*operands)),
        lower=_lowered(name, 0),
        name=f"{name}_value",
        doc=f"The result of {name}.",
    )
    slopes: Function = elementwise(
        lambda *operands: narrowed(_in_double(name, operands)[1], operands),
        *constants,
        lambda d, out, *operands: d * (scale * second(values(*operands), out, *operands)),
        lower=_lowered(name, 1),
        name=f"{name}_slope",
        doc=f"The derivative that {name} returns.",
    )

    def function(*operands: Any) -> tuple[Any, Any]:
        for operand in operands[:-1]:
            refuse_derivative(
                operand,
                f"scipy.special.{name} by anything but x",
                "Pass numbers or arrays there, or tape.stop_gradient of a Var",
            )
        return values(*operands), slopes(*operands)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, and its derivative; differentiable by x."
    declare_several(name, function)
    return function


def _constant(name: str, count: int) -> Function:
    """Declare a characteristic value; its parameters carry no derivative here."""
    return elementwise(
        lambda *operands: narrowed(_in_double(name, operands), operands),
        *[None] * count,
        lower=_lowered(name),
        name=name,
        doc=f"The characteristic value `{name}`.",
    )


# ---- Mathieu ---------------------------------------------------------------------------------------------

_mathieu_a = _constant("mathieu_a", 2)
_mathieu_b = _constant("mathieu_b", 2)
_DEGREE = pi / 180


def _ordinary(name: str, doc: str, characteristic: Function) -> Function:
    def second(f: Any, slope: Any, m: Any, q: Any, x: Any) -> Any:
        return (2 * q * cos(x * (2 * _DEGREE)) - characteristic(m, q)) * f

    return _solution(name, doc, 2, second, _DEGREE)


def _modified(name: str, doc: str, characteristic: Function) -> Function:
    def second(f: Any, slope: Any, m: Any, q: Any, x: Any) -> Any:
        return (characteristic(m, q) - 2 * q * cosh(2 * x)) * f

    return _solution(name, doc, 2, second)


mathieu_cem = _ordinary("mathieu_cem", "Mathieu's even function of m, q and x in degrees", _mathieu_a)
mathieu_sem = _ordinary("mathieu_sem", "Mathieu's odd function of m, q and x in degrees", _mathieu_b)
mathieu_modcem1 = _modified(
    "mathieu_modcem1", "Mathieu's even modified function of the first kind", _mathieu_a
)
mathieu_modcem2 = _modified(
    "mathieu_modcem2", "Mathieu's even modified function of the second kind", _mathieu_a
)
mathieu_modsem1 = _modified(
    "mathieu_modsem1", "Mathieu's odd modified function of the first kind", _mathieu_b
)
mathieu_modsem2 = _modified(
    "mathieu_modsem2", "Mathieu's odd modified function of the second kind", _mathieu_b
)

# ---- spheroidal ------------------------------------------------------------------------------------------

_pro_cv = _constant("pro_cv", 3)
_obl_cv = _constant("obl_cv", 3)


def _prolate(f: Any, slope: Any, m: Any, c: Any, cv: Any, x: Any) -> Any:
    width = 1 - x * x
    return (2 * x * slope - (cv - c * c * x * x - m * m / width) * f) / width


def _oblate_angular(f: Any, slope: Any, m: Any, c: Any, cv: Any, x: Any) -> Any:
    width = 1 - x * x
    return (2 * x * slope - (cv + c * c * x * x - m * m / width) * f) / width


def _oblate_radial(f: Any, slope: Any, m: Any, c: Any, cv: Any, x: Any) -> Any:
    width = 1 + x * x
    return ((cv - c * c * x * x - m * m / width) * f - 2 * x * slope) / width


def _spheroidal(
    name: str, doc: str, equation: Function, characteristic: Function
) -> tuple[Function, Function]:
    """Declare a function of m, n, c and x, and the same of m, n, c, the characteristic value and x."""

    def second(f: Any, slope: Any, m: Any, n: Any, c: Any, x: Any) -> Any:
        return equation(f, slope, m, c, characteristic(m, n, c), x)

    def second_of_value(f: Any, slope: Any, m: Any, n: Any, c: Any, cv: Any, x: Any) -> Any:
        return equation(f, slope, m, c, cv, x)

    return (
        _solution(name, f"The {doc} of m, n, c and x", 3, second),
        _solution(f"{name}_cv", f"The {doc} of m, n, c, its characteristic value and x", 4, second_of_value),
    )


pro_ang1, pro_ang1_cv = _spheroidal(
    "pro_ang1", "prolate angular function of the first kind", _prolate, _pro_cv
)
pro_rad1, pro_rad1_cv = _spheroidal(
    "pro_rad1", "prolate radial function of the first kind", _prolate, _pro_cv
)
pro_rad2, pro_rad2_cv = _spheroidal(
    "pro_rad2", "prolate radial function of the second kind", _prolate, _pro_cv
)
obl_ang1, obl_ang1_cv = _spheroidal(
    "obl_ang1", "oblate angular function of the first kind", _oblate_angular, _obl_cv
)
obl_rad1, obl_rad1_cv = _spheroidal(
    "obl_rad1", "oblate radial function of the first kind", _oblate_radial, _obl_cv
)
obl_rad2, obl_rad2_cv = _spheroidal(
    "obl_rad2", "oblate radial function of the second kind", _oblate_radial, _obl_cv
)
