"""Operations that are ufuncs of SciPy's, one line each; `tape.ops.special` lists them.

`scipy.special` takes as long to import as all the rest, so the ufuncs are looked up when one is first needed.
`tape.program` runs their loops without Python, as it does NumPy's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from tape.core.elementwise import elementwise
from tape.core.node import Handle
from tape.core.numpy_protocol import LATE
from tape.core.table import OPERATIONS
from tape.errors import OptionError, UnsupportedError
from tape.ops.elementwise.complex import real
from tape.ops.elementwise.rounding import trunc

PREFIX = "special."
"""The prefix of these ufuncs' names where NumPy's are listed too."""

Function = Callable[..., Any]

DECLARED: dict[str, Any] = {}
"""The operations, by the name of SciPy's ufunc."""
COMPONENTS: set[str] = set()
"""The operations that are one result of several, by their names."""
_SEVERAL: dict[str, Function] = {}
"""Functions of several results, each an operation of its own, by the name of SciPy's ufunc."""


def scipy_ufunc(
    name: str,
    doc: str,
    *partials: Callable[..., Any] | None,
    jvp: Callable[..., Any] | None = None,
    taylor: Callable[..., Any] | None = None,
    double: Callable[..., Any] | None = None,
    is_whole: bool = False,
    is_wide: bool = False,
) -> Callable[..., Any]:
    """Declare an elementwise operation that is a ufunc of `scipy.special`, with one result.

    Parameters
    ----------
    name : str
        Operands of the ufunc.
    doc : str
        One line.
    *partials : callable
        As for `tape.core.elementwise.elementwise`: a rule for each operand. None for one that the function
        cannot be differentiated by: a Var that carries a derivative is refused there, at the call.
    jvp : callable, optional
        The forward rule of the last operand, where that is another than the reverse one: functions of
        complex numbers that are not holomorphic.
    taylor : callable, optional
        Same as for `tape.Op`.
    double : callable, optional
        Instructions in place of the ufunc's loop for operands of float64, as ``lower`` of `tape.Op`.
    is_whole : bool
        Whether the ufunc takes only integers as its first operand: floats that are whole are converted.
    is_wide : bool
        Whether its loop of float32 is deprecated: the last operand is converted to float64.

    Returns
    -------
    callable
        A function of the operands. Float16 and float32 stay what they are.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> tr.backward_param_grads(tape.ops.special.j0(tr.param(0.0)))  # declared here, with -d * j1(x)
    [array(-0.)]
    """

    def forward(*operands: Any) -> Any:
        given = (_whole(operands[0], name), *operands[1:]) if is_whole else operands
        given = (*given[:-1], in_float64(given[-1])) if is_wide else given
        return narrowed(ufunc_named(name)(*given), operands)

    def lower(b: Any, *operands: Any) -> Any:
        if double is not None and all(x.dtype == np.float64 for x in map(b.value, operands)):
            return double(b, *map(b.value, operands))
        if is_whole:
            n = b.value(operands[0])
            if n.dtype.kind == "f":  # where an order is no integer the program stops, and Python raises
                n = b.cast(b.require(n, b.elementwise("equal", n, b.elementwise("rint", n))), np.int64)
            operands = (n, *operands[1:])
        if is_wide:
            operands = (*operands[:-1], b.value(operands[-1], np.float64))
        if len(operands) > 2:
            return b.numbers(PREFIX + name, *operands)[0]
        return b.elementwise(PREFIX + name, *operands)

    constants = [k for k, partial in enumerate(partials) if partial is None]
    partials = tuple(partial and _with_real(partial, constants) for partial in partials)
    function: Any = elementwise(forward, *partials, taylor=taylor, lower=lower, name=name, doc=doc)
    if jvp is not None:
        function.op.jvp = [*partials[:-1], _with_real(jvp, constants)]
    if constants and len(constants) < len(partials):
        function = _of_constants(function, name, constants)
    DECLARED[name] = function
    return function


def in_float64(x: Any) -> Any:
    """Return a real operand in float64.

    Raises
    ------
    TypeError
        If it is complex, as of a ufunc.
    """
    if np.result_type(x).kind == "c":
        raise TypeError("not supported for complex numbers")
    return np.asarray(x, np.float64)[()]


def _with_real(rule: Callable[..., Any], constants: list[int]) -> Callable[..., Any]:
    """Return a rule that gets real numbers for orders and parameters; whole ones come as complex ones."""
    if not constants:
        return rule

    def call(d: Any, out: Any, *operands: Any) -> Any:
        known = [
            real(x) if k in constants and np.result_type(x).kind == "c" else x for k, x in enumerate(operands)
        ]
        return rule(d, out, *known)

    return call


def _whole(n: Any, name: str) -> Any:
    if np.result_type(n).kind != "f":
        return n
    if not np.all(n == np.rint(n)):
        raise OptionError(f"{name}: an order is no whole number. Pass integers")
    return np.asarray(n).astype(np.int64)[()]


def truncated(n: Any) -> Any:
    """Return a count or an order as ufuncs with a loop of integers take it: rounded towards zero.

    Examples
    --------
    >>> from tape.ops.elementwise.scipy_ufuncs import truncated
    >>> truncated(2), truncated(2.5), truncated(-0.5)
    (2, 2.0, -0.0)
    """
    if type(n) is float:
        return float(np.trunc(n))  # remains a number that widens nothing
    return trunc(n) if np.result_type(n).kind == "f" else n


def component(name: str, k: int, result: str, *partials: Function | None) -> Function:
    """Declare an elementwise operation that is one result of a ufunc of `scipy.special` with several.

    Parameters
    ----------
    name : str
        Name of the ufunc.
    k : int
        Which result.
    result : str
        Name of that result.
    *partials : callable or None
        As for `tape.core.elementwise.elementwise`.

    Returns
    -------
    callable
        A function of the operands of the ufunc.

    Examples
    --------
    >>> from tape.ops.elementwise.elementary import cos
    >>> from tape.ops.elementwise.scipy_ufuncs import component
    >>> cosine_integral = component("sici", 1, "ci", lambda d, out, x: d * cos(x) / x)
    >>> round(float(cosine_integral(1.0)), 6)
    0.337404
    """
    COMPONENTS.add(f"{name}_{result}")
    return elementwise(
        lambda *operands: narrowed(ufunc_named(name)(*operands)[k], operands),
        *partials,
        lower=lambda b, *operands: b.numbers(PREFIX + name, *operands)[k],
        name=f"{name}_{result}",
        doc=f"The result {result} of {name}.",
    )


def declare_several(name: str, function: Function) -> None:
    """Declare the function that runs when a ufunc of several results is given a Var.

    Examples
    --------
    >>> from scipy import special
    >>> from tape.ops.elementwise.scipy_ufuncs import counterpart
    >>> counterpart(special.sici).__name__
    'sici'
    """
    _SEVERAL[name] = function


def ufunc_named(name: str) -> np.ufunc:
    """Return a ufunc of SciPy's; those behind functions that do more are private.

    Examples
    --------
    >>> from tape.ops.elementwise.scipy_ufuncs import ufunc_named
    >>> float(ufunc_named("gamma")(5.0))
    24.0
    """
    found = _found.get(name)
    if found is None:
        from scipy import special

        found = getattr(special, name, None)
        if not isinstance(found, np.ufunc):
            found = getattr(special._ufuncs, f"_{name}")
        _found[name] = found
    return found


_found: dict[str, np.ufunc] = {}
_connected = False


def counterpart(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return the function that runs when a ufunc of SciPy's is given a Var; None for other ufuncs.

    A ufunc of SciPy's exists only once `scipy.special` is imported, and from then on OPERATIONS has their
    counterparts.

    Examples
    --------
    >>> from scipy import special
    >>> from tape.ops.elementwise.scipy_ufuncs import counterpart
    >>> counterpart(special.gammaln).__name__
    'gammaln'
    """
    global _connected
    if not _connected and "scipy.special" in sys.modules:
        import_module("tape.ops.special")
        known = {**DECLARED, **_SEVERAL}
        OPERATIONS.update({ufunc_named(name): function for name, function in known.items()})
        _connected = True  # and no sooner: another thread may ask meanwhile
    return OPERATIONS.get(ufunc)


LATE.append(counterpart)


def narrowed(out: Any, operands: Any) -> Any:
    """Return a result no wider than the floats that went in: SciPy has no float16, and not always float32."""
    dtypes = [x.dtype for x in operands if isinstance(x, (np.ndarray, np.generic))]  # not of weak numbers
    if out.dtype in dtypes:
        return out
    floats = [dtype for dtype in dtypes if dtype.kind in "fc"]
    if not floats:
        return out
    width = np.result_type(*floats)
    return out.astype(np.result_type(width, np.complex64) if out.dtype.kind == "c" else width)


def refuse_derivative(operand: Any, what: str, advice: str) -> None:
    """Raise if an operand is a Var that carries a derivative which would be lost.

    Examples
    --------
    >>> import tape
    >>> from tape.ops.elementwise.scipy_ufuncs import refuse_derivative
    >>> tr = tape.Trace()
    >>> refuse_derivative(tr.input(2.0), "f by its order", "Pass a number")
    """
    while isinstance(operand, Handle):
        if operand.node.is_active:
            raise UnsupportedError(f"{what} has no derivative rule. {advice}")
        operand = operand.node.value


_ORDINALS = ("first", "second", "third", "fourth")


def _of_constants(function: Any, name: str, constants: list[int]) -> Callable[..., Any]:
    """Return the function for operands that carry no derivative at these positions."""

    @wraps(function)
    def checked(*operands: Any) -> Any:
        for k in constants:
            if k < len(operands):
                refuse_derivative(
                    operands[k],
                    f"scipy.special.{name} by its {_ORDINALS[k]} argument",
                    "Pass a number or an array there, or tape.stop_gradient of a Var",
                )
        return function(*operands)

    return checked
