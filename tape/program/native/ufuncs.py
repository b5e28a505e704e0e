"""The ufuncs that programs run: NumPy's, SciPy's, and our own, whose loops are compiled kernels.

Our own are ufuncs to NumPy as well. It makes one from the addresses of its loops by
`PyUFunc_FromFuncAndData`, part of its public C interface, which extension modules find in a table.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from tape.kernels.availability import Unavailable
from tape.kernels.loading import NotReady, native, without_waiting
from tape.kernels.ufuncs import PLAIN, UFUNC_GROUPS
from tape.ops.elementwise.bodies import Arrays
from tape.ops.elementwise.scipy_ufuncs import PREFIX, narrowed, ufunc_named

_UFUNCS = """
    absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or
    bitwise_count bitwise_xor cbrt ceil conjugate copysign cos cosh deg2rad degrees divide equal exp exp2
    expm1 fabs float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot invert
    isfinite isinf isnan lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp
    logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum multiply negative
    nextafter not_equal power rad2deg radians reciprocal remainder right_shift rint sign signbit sin
    sinh spacing sqrt square subtract tan tanh trunc
"""
_SPECIAL = """
    agm bei beip ber berp beta betaln binom boxcox boxcox1p cbrt chdtr chdtrc chdtri chdtriv cosdg cosm1
    cotdg dawsn ellipe ellipeinc ellipk ellipkinc ellipkm1 elliprc entr erf erfc erfcinv erfcx erfi
    erfinv eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_hermite eval_hermitenorm eval_laguerre
    eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_legendre exp1 exp10 exp2 expi expit expm1 expn
    exprel gamma gammainc gammaincc gammainccinv gammaincinv gammaln gammasgn hankel1 hankel1e hankel2
    hankel2e huber hyp0f1 i0 i0e i1 i1e inv_boxcox inv_boxcox1p it2struve0 itmodstruve0 itstruve0 iv ive
    j0 j1 jv jve k0 k0e k1 k1e kei keip ker kerp kl_div kn kolmogi kolmogorov kv kve log1p log_expit
    log_ndtr loggamma logit modstruve ndtr ndtri ndtri_exp owens_t pdtr pdtrc pdtri pdtrik poch powm1
    pseudo_huber psi rel_entr rgamma riemann_zeta round sindg smirnov smirnovi spence spherical_in
    spherical_jn spherical_kn spherical_yn stdtr stdtridf stdtrit struve tandg tklmbda wofz wrightomega
    xlog1py xlogy y0 y1 yn yv yve zeta zetac
"""
"""Those of `scipy.special` that an operation is, of one or two operands and one result."""

_FROM_LOOPS = 1  # where the function is in the table: see numpy/__ufunc_api.h
_NO_IDENTITY = -1  # PyUFunc_None
_alive: list[Any] = []  # what the ufuncs refer to
_GROUP_OF = {name: group for group, loops in UFUNC_GROUPS.items() for name in loops}


class _Ufuncs(dict[str, Any]):
    """Ufuncs by name; SciPy's and our own are None until they are looked up, which keeps the import short."""

    def __getitem__(self, name: str) -> np.ufunc:
        found = super().__getitem__(name)
        if found is None:
            find = own_ufunc if name in _GROUP_OF else ufunc_named
            found = self[name] = find(name.removeprefix(PREFIX))
        return found


UFUNCS = _Ufuncs({name: getattr(np, name) for name in _UFUNCS.split()})
"""Elementwise instructions that are a ufunc."""
UFUNCS.update(dict.fromkeys(_GROUP_OF))
UFUNCS.update(dict.fromkeys(PREFIX + name for name in _SPECIAL.split()))


@cache
def own_ufunc(name: str) -> np.ufunc:
    """Return a ufunc of one operand, one of `UFUNC_GROUPS`; it is compiled if necessary.

    Raises
    ------
    Unavailable
        If compiled code cannot run here.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.native.ufuncs import own_ufunc
    >>> normal_cdf = own_ufunc("normal_cdf")
    >>> normal_cdf(np.array([-np.inf, 0.0, np.inf]))
    array([0. , 0.5, 1. ])
    >>> normal_cdf.types
    ['f->f', 'd->d']
    """
    group = _GROUP_OF[name]
    chars = tuple(UFUNC_GROUPS[group][name])
    addresses = [native(group).addresses[f"{name} {char}->{char}"] for char in chars]
    loops = (ctypes.c_void_p * len(chars))(*addresses)
    data = (ctypes.c_void_p * len(chars))()
    kinds = bytes([np.dtype(char).num for char in chars for _ in range(2)])
    encoded = name.encode()
    _alive.append((loops, data, kinds, encoded))
    make = _c_function(
        _FROM_LOOPS, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int,
    )  # fmt: skip
    return make(loops, data, kinds, len(chars), 1, 1, _NO_IDENTITY, encoded, None, 0)


def _c_function(index: int, *arguments: Any) -> Any:
    """Return a function of NumPy's table, which returns an object."""
    capsule = import_module("numpy._core._multiarray_umath")._UFUNC_API
    find = ctypes.pythonapi.PyCapsule_GetPointer
    find.restype = ctypes.c_void_p
    find.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(find(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)(table[index])


def _called(name: str, x: Any) -> Any:
    try:
        with without_waiting():
            function: Any = own_ufunc(name)
    except (NotReady, Unavailable):
        function = PLAIN[name]
    return narrowed(function(x), (x,))


for _name in PLAIN:
    setattr(Arrays, _name, staticmethod(partial(_called, _name)))
