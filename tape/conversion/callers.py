"""The call that converts a Var to a plain number, and its recorded counterpart, for messages.

C code calls the conversion methods of a Var without naming itself. The user's frame has the name: its current
instruction is a call, and the instructions before it in the same expression have loaded the function. Whether
the conversion is allowed is not decided here.
"""

from __future__ import annotations

import abc
import builtins
import dis
import functools
import inspect
import os
import sys
from functools import cached_property
from importlib import import_module
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from tape import errors

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_NUMPY = os.path.join(os.path.dirname(np.__file__), "")
_STORE_SUBSCR = dis.opmap["STORE_SUBSCR"]
_REMAINDERS = frozenset(
    (instruction.opcode, instruction.arg)
    for text in ("a % b", "a %= b")
    for instruction in dis.get_instructions(compile(text, "", "exec"))
    if instruction.opname == "BINARY_OP"
)


class Caller:
    """The code that converts a Var to a plain number: Python outside of this package, or C code it called."""

    def __init__(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        self._frame = frame
        self._instruction = (-1, 0)  # its opcode and argument
        if frame is not None:
            code, at = frame.f_code.co_code, frame.f_lasti
            self._instruction = code[at], code[at + 1]

    @property
    def is_numpy(self) -> bool:
        """Whether the caller is a NumPy function written in Python."""
        return self._frame is not None and self._frame.f_code.co_filename.startswith(_NUMPY)

    @property
    def is_storing(self) -> bool:
        """Whether the call is ``array[index] = var``."""
        return self._instruction[0] == _STORE_SUBSCR

    @property
    def is_formatting(self) -> bool:
        """Whether the call is ``"..." % var``; a number on the left would dispatch to the Var itself."""
        return self._instruction in _REMAINDERS

    @cached_property
    def name(self) -> str:
        """The name of the call in the user's code, as ``math.erf`` or ``rng.normal``; empty if unknown."""
        names, title, is_method = self._called
        is_public = title.partition(".")[0] in _NAMED_BY_MODULE or hasattr(builtins, title)
        return title if is_public and not is_method else ".".join(names)

    @property
    def counterpart(self) -> str:
        """Advice to call a counterpart, as an imperative; empty if there is none."""
        return counterpart_of(self._called[1])

    @cached_property
    def _called(self) -> tuple[list[str], str, bool]:
        """The call as written, its title (see `_title`), and whether it is a method of an object."""
        frame = self._frame
        while frame is not None and errors.is_foreign(frame.f_code.co_filename):
            frame = frame.f_back
        names = [] if frame is None else _names_called(frame)
        if frame is None or not names:
            return [], "", False
        owner, function = _looked_up(frame, names)
        return names, *_title(owner, function, names[-1])


_OF_TEXT = tuple(
    os.path.join(_PACKAGE, *path)
    for path in (
        ("core", "var.py"),
        ("core", "var_numbers.py"),
        ("inspect", "words.py"),
        ("program", "record", "traced.py"),
        ("transforms", "loops", "body.py"),
        ("conversion", "callers.py"),
    )
)
"""Where the text of a Var is made, for whoever asks."""
_PROGRAM = os.path.join(_PACKAGE, "program", "")
_DEBUGGERS = frozenset(
    ("IPython", "_pytest", "bdb", "cmd", "code", "debugpy", "doctest", "logging", "loguru", "pdb", "pprint",
     "pydevd", "pytest", "reprlib", "rich", "traceback", "unittest", "warnings")
)  # fmt: skip
"""Modules that show values, and do not compute with them."""


def is_shown() -> bool:
    """Return whether a message, ``print``, a log or a debugger asks for the text of a Var."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _OF_TEXT:
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(_PACKAGE):
        return True
    if _names_called(frame) == ["print"]:
        return True
    outer: FrameType | None = frame
    while outer is not None and not outer.f_code.co_filename.startswith(_PROGRAM):
        if str(outer.f_globals.get("__name__")).partition(".")[0] in _DEBUGGERS:
            return True
        outer = outer.f_back
    return False


_STDLIB = os.path.join(os.path.dirname(os.__file__), "")
_FUNCTOOLS = functools.__file__


def is_asked_by_user() -> bool:
    """Return whether the user's own code, and no library, asks for the class of a Var, as isinstance does.

    Of libraries only what answers such questions counts: abstract classes, `numpy.isscalar` and
    `functools.singledispatch`.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _passes_on(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return False
    filename = frame.f_code.co_filename
    return not (errors.is_foreign(filename) or errors.is_installed(filename) or filename.startswith(_STDLIB))


def _passes_on(code: CodeType) -> bool:
    """Return whether code asks for a class on behalf of its caller."""
    if code.co_filename == _FUNCTOOLS:
        return code.co_name in ("wrapper", "_method")
    return code is _ISSCALAR or code.co_filename in ("<frozen abc>", abc.__file__)


_ISSCALAR = inspect.unwrap(np.isscalar).__code__
_CALLED = "(...)"


def _names_called(frame: FrameType) -> list[str]:
    """Return the dotted name of the current call of a frame: ``["math", "erf"]``; empty if there is none."""
    names: list[str] = []
    instructions = list(dis.get_instructions(frame.f_code))
    before = [i for i in instructions if i.offset <= frame.f_lasti]
    at = before[-1] if before else None  # calls of Python functions are left with the caches behind them
    if at is None or not at.opname.startswith("CALL") or at.positions is None or at.positions.lineno is None:
        return names
    for instruction in before[:-1]:
        if instruction.positions is None or instruction.positions[:3:2] != at.positions[:3:2]:
            continue  # the start of another expression: the function of this one is loaded here
        name = instruction.argval
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.append(name)
        elif instruction.opname.startswith(("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF")):
            names = [name] if isinstance(name, str) else []
        elif instruction.opname.startswith("CALL") and names:
            names[-1] += _CALLED
        elif instruction.opname.startswith("BINARY") and names:
            names[-1] += "[...]"
    return names


def _looked_up(frame: FrameType, names: list[str]) -> tuple[Any, Any]:
    """Return the object of a dotted name, after the one that it is an attribute of; None if unknown."""
    owner, found = None, None
    names = [*names[:-1], names[-1].removesuffix(_CALLED)]  # the type of np.vectorize(f)
    first, *others = names
    for space in (frame.f_locals, frame.f_globals, vars(builtins)):
        if first.removesuffix(_CALLED) in space:
            found = _unless_called(first, space[first.removesuffix(_CALLED)])
            break
    for called in others:
        owner, name = found, called.removesuffix(_CALLED)
        if found is None:
            break
        is_module = isinstance(found, ModuleType)  # on other types a property might run
        found = getattr(found, name, None) if is_module else inspect.getattr_static(found, name, None)
        found = _unless_called(called, found)
    return owner, found


def _unless_called(name: str, thing: Any) -> Any:
    """Return what a name means: nothing that is known if it is called, but for namespaces."""
    if name.endswith(_CALLED) and thing is np.random.default_rng:
        return np.random.Generator
    return thing if not name.endswith(_CALLED) or _distribution(thing) else None


def _distribution(thing: Any) -> str:
    """Return the name of a distribution of `scipy.stats`, an object used as a namespace; else empty."""
    stats = sys.modules.get("scipy.stats")
    if stats is None or not type(thing).__module__.startswith("scipy.stats"):
        return ""
    return next((name for name, value in vars(stats).items() if value is thing), "")


def _title(owner: Any, function: Any, name: str) -> tuple[str, bool]:
    """Return the name of a callable with its public module, and whether it is a method of an object."""
    if function is None:
        return "", False  # unknown
    if distribution := _distribution(owner):
        return f"scipy.stats.{distribution}.{name}", False
    of_type = getattr(function, "__objclass__", None)
    if of_type is not None:
        return f"{_public(of_type)}.{name}", True
    if isinstance(function, np.ufunc):
        return f"{'np' if hasattr(np, function.__name__) else 'scipy.special'}.{function.__name__}", False
    if not hasattr(function, "__qualname__"):
        function = type(function)  # a callable object, such as np.vectorize returns
    return _public(function), owner is not None and not isinstance(owner, (ModuleType, type))


def _public(thing: Any) -> str:
    """Return the name of a function or class with its public module."""
    name = getattr(thing, "__qualname__", "")
    if getattr(np, name, None) is thing:
        return f"np.{name}"
    home = getattr(thing, "__module__", None) or "builtins"
    for k in range(1, home.count(".") + 1):  # a module around its own, from which users import it
        around = ".".join(home.split(".")[:k])
        if "._" not in around and getattr(sys.modules.get(around), name, None) is thing:
            return f"{around}.{name}".replace("numpy.", "np.", 1)
    top, *rest = home.split(".")
    parts = [] if top == "builtins" else [top.lstrip("_"), *(p for p in rest if not p.startswith("_"))]
    return ".".join([*parts, name]).replace("numpy.", "np.", 1)


_DRAWS = ("beta", "chisquare", "dirichlet", "f", "gamma", "gumbel", "laplace", "logistic", "lognormal")

_NAMED_BY_MODULE = frozenset({"cmath", "decimal", "fractions", "math", "np", "random", "scipy", "statistics"})
"""Modules whose functions are named in full, however they were imported."""

_RENAMED = {
    "acos": "np.arccos", "acosh": "np.arccosh", "asin": "np.arcsin", "asinh": "np.arcsinh",
    "atan": "np.arctan", "atan2": "np.arctan2", "atanh": "np.arctanh", "comb": "scipy.special.binom",
    "dist": "np.linalg.norm of the difference", "erf": "scipy.special.erf", "erfc": "scipy.special.erfc",
    "factorial": "scipy.special.gamma of n + 1", "fsum": "np.sum", "gamma": "scipy.special.gamma",
    "lgamma": "scipy.special.gammaln", "phase": "np.angle", "polar": "np.abs and np.angle", "pow": "np.power",
    "rect": "r * np.exp(1j * phi)", "sumprod": "np.dot", "ulp": "np.spacing",
}  # fmt: skip
"""The counterparts of functions of `math` and `cmath`, where NumPy has none of the same name."""

_ADVICE = {
    "float": "Compute with the Var itself",
    "complex": "Compute with the Var itself; x + 1j * y makes a complex one",
    "int": "Write int(tape.stop_gradient(v)), or np.floor(v).astype(int) of whole arrays",
    "np.array": "Use tape.numpy.array, or np.stack and np.concatenate to join Vars",
    "np.asarray": "Use tape.numpy.asarray, or np.stack and np.concatenate to join Vars",
    "np.float64": "Compute with the Var itself",
    "np.fromiter": "Use np.stack of a list of Vars",
    "np.frompyfunc": "Write the function in NumPy calls on whole arrays, or declare it with tape.apply",
    "np.full": "Use tape.numpy.full",
    "np.ndarray.fill": "Make the array with np.zeros(shape, like=v), or use tape.numpy.full",
    "np.random.Generator.exponential": "Use tape.random, or scale * rng.standard_exponential(size)",
    "np.random.Generator.normal": "Use tape.random, or loc + scale * rng.standard_normal(size)",
    **{
        f"np.random.Generator.{name}": "Use a generator of tape.random, made by tape.random.default_rng"
        for name in _DRAWS
    },
    **{
        f"np.random.RandomState.{name}": "Use a generator of tape.random, made by tape.random.default_rng"
        for name in (*_DRAWS, "exponential", "normal", "uniform")
    },
    "np.random.Generator.uniform": "Use tape.random, or low + (high - low) * rng.random(size)",
    "np.arange": "Read the number by int(): np.arange(int(n))",
    "np.vectorize": "Map the function over the elements by tape.vmap, or write it in calls on whole arrays",
    "operator.setitem": "Make the array with np.zeros(shape, like=v)",
    **dict.fromkeys(
        (
            "scipy.interpolate.InterpolatedUnivariateSpline",
            "scipy.interpolate.LSQUnivariateSpline",
            "scipy.interpolate.RectBivariateSpline",
            "scipy.interpolate.SmoothBivariateSpline",
            "scipy.interpolate.UnivariateSpline",
        ),
        "Use CubicSpline, make_interp_spline or RegularGridInterpolator of tape.scipy.interpolate",
    ),
    "statistics.fmean": "Call np.mean",
    "statistics.mean": "Call np.mean",
    "statistics.median": "Call np.median",
    "statistics.pstdev": "Call np.std",
    "statistics.pvariance": "Call np.var",
    "statistics.stdev": "Call np.std with ddof=1",
    "statistics.variance": "Call np.var with ddof=1",
}


def counterpart_of(title: str) -> str:
    """Return advice to call a recorded counterpart of a function that takes plain numbers, as an imperative.

    Parameters
    ----------
    title : str
        The function with its public module.

    Returns
    -------
    str
        Empty if there is no counterpart.

    Examples
    --------
    >>> from tape.conversion.callers import counterpart_of
    >>> counterpart_of("math.lgamma")
    'Call scipy.special.gammaln, which records'
    """
    module, _, name = title.rpartition(".")
    if module in ("math", "cmath"):
        found = _RENAMED.get(name) or (f"np.{name}" if hasattr(np, name) else "")
        return f"Call {found}, which records" if found else ""
    if module.startswith("scipy.") and is_written_here(title):
        return f"Call tape.{title}, which records"
    if module.startswith("scipy.") and title not in _ADVICE and not os.environ.get("SCIPY_ARRAY_API"):
        return "Start Python with SCIPY_ARRAY_API=1, by which many of SciPy's functions take Vars"
    return _ADVICE.get(title, "")


def is_written_here(title: str) -> bool:
    """Whether a function of SciPy's is written in `tape.scipy`, whose other names are SciPy's own.

    Parameters
    ----------
    title : str
        The function with its public module, as ``"scipy.linalg.expm"``.

    Returns
    -------
    bool
    """
    _, module, *names = title.split(".")
    try:
        found: Any = import_module(f"tape.scipy.{module}")
    except ModuleNotFoundError:
        return False
    for name in names:
        found = getattr(found, name, None)
    return (getattr(found, "__module__", None) or "").startswith("tape.")
