"""Distributions of one number: from formulas of a standard one to SciPy's methods with ``loc`` and ``scale``.

A distribution is a class of formulas for the standard one, in NumPy code that takes arrays and Vars alike:
`_logpdf`, `_cdf`, `_ppf` and so on. `Continuous` and `Discrete` shift and scale, decide what holds outside
the support and for impossible parameters, and bind arguments as SciPy does.

Formulas are computed at a point inside of the support where the argument is outside, and the result is not
used there: so that derivatives are zero there, and not NaN.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import plain
from tape.core.operands import lifted
from tape.core.weak import Weak
from tape.numpy._conversion import array

__all__ = ["Continuous", "Discrete", "Frozen"]

Array = Any  # an array or number, or a Var


class Distribution:
    """What continuous and discrete distributions share: parameters, moments, and frozen ones.

    Attributes
    ----------
    name : str
        The name in `scipy.stats`.
    shapes : tuple of str
        The names of the parameters other than ``loc`` and ``scale``.
    bounds : tuple of float
        The smallest and the largest value of the standard distribution, if these are the same for all
        parameters; `_support` tells them.
    inner : float
        A value inside of the support.
    """

    shapes: tuple[str, ...] = ()
    bounds: tuple[float, float] = (-np.inf, np.inf)
    inner: float = 0.0
    _methods: frozenset[str] = frozenset()
    _has_scale = True

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Return the distribution with these parameters: its methods take only what is left."""
        return Frozen(self, args, kwargs)

    def __repr__(self) -> str:
        return f"tape.scipy.stats.{self.name}"

    def __getattr__(self, name: str) -> Any:
        """Look up what is not written here in SciPy: methods that draw numbers, fit and integrate."""
        if name.startswith("_"):
            raise AttributeError(name)
        from scipy import stats

        return getattr(getattr(stats, self.name), name)

    # ---- formulas, for loc = 0 and scale = 1 -------------------------------------------------------------

    def _is_valid(self, *shapes: Array) -> Array:
        """Return whether there is a distribution with these parameters."""
        return reduce(np.logical_and, [shape > 0 for shape in shapes], True)

    def _support(self, *shapes: Array) -> tuple[Array, Array]:
        return self.bounds

    def _mean(self, *shapes: Array) -> Array:
        raise NotImplementedError

    def _var(self, *shapes: Array) -> Array:
        raise NotImplementedError

    def _entropy(self, *shapes: Array) -> Array:
        raise NotImplementedError

    # ---- arguments --------------------------------------------------------------------------------------

    def _bound(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Array], Array, Array]:
        """Return the shape parameters, loc and scale of a call."""
        names = (*self.shapes, "loc", *(["scale"] if self._has_scale else []))
        given = dict(zip(names, args, strict=False))
        is_twice = len(args) > len(names) or bool(given.keys() & kwargs.keys())
        given |= kwargs
        missing = [name for name in self.shapes if name not in given]
        if is_twice or missing or given.keys() - set(names):
            found = (
                f"without {', '.join(missing)}" if missing else f"with {len(args)} numbers and {[*kwargs]}"
            )
            raise errors.UnsupportedError(
                f"{self.name}.{method} was called {found}. Its parameters are {', '.join(names)}, each once"
            )
        values = {name: as_operand(self.name, value) for name, value in given.items()}
        shapes = [values[name] for name in self.shapes]
        if shapes and all(map(_is_pythons, shapes)) and not self._is_valid(*shapes):
            shapes = [as_argument(self.name, shape) for shape in shapes]  # which may divide by zero
        return shapes, values.get("loc", 0), values.get("scale", 1)

    # ---- moments ----------------------------------------------------------------------------------------

    def mean(self, *args: Any, **kwargs: Any) -> Array:
        """Return the expected value, of the shape of the parameters."""
        shapes, loc, scale = self._bound("mean", args, kwargs)
        with quiet():
            return self._chosen(shapes, scale, _moved(self._mean(*shapes), loc, scale))

    def var(self, *args: Any, **kwargs: Any) -> Array:
        """Return the variance, of the shape of the parameters."""
        shapes, loc, scale = self._bound("var", args, kwargs)
        with quiet():
            variance = self._var(*shapes)
            variance = variance if _is_default(scale, 1) else variance * scale**2
            return self._chosen(shapes, scale, variance if _is_default(loc, 0) else variance + 0 * loc)

    def std(self, *args: Any, **kwargs: Any) -> Array:
        """Return the standard deviation, of the shape of the parameters."""
        return np.sqrt(self.var(*args, **kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Array:
        """Return the differential entropy, of the shape of the parameters, in nats."""
        shapes, loc, scale = self._bound("entropy", args, kwargs)
        with quiet():
            entropy = self._entropy(*shapes)
            entropy = entropy if _is_default(scale, 1) else entropy + np.log(scale)
            return self._chosen(shapes, scale, entropy if _is_default(loc, 0) else entropy + 0 * loc)

    def median(self, *args: Any, **kwargs: Any) -> Array:
        """Return the median, of the shape of the parameters."""
        return self.ppf(0.5, *args, **kwargs)

    def support(self, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
        """Return the smallest and the largest value."""
        shapes, loc, scale = self._bound("support", args, kwargs)
        low, high = self._support(*shapes)
        return tuple(self._chosen(shapes, scale, _moved(end, loc, scale)) for end in (low, high))

    def _chosen(self, shapes: list[Array], scale: Array, out: Array) -> Array:
        """Return a result where the parameters are possible, else NaN."""
        return _plain(_where(_all_of(self._is_valid(*shapes), _is_positive(scale)), out, np.nan))


class Continuous(Distribution):
    """A distribution with a density."""

    _methods = frozenset(
        {"pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "interval"}
        | {"mean", "var", "std", "entropy", "median", "support"}
    )

    # ---- formulas, for loc = 0 and scale = 1 -------------------------------------------------------------

    def _logpdf(self, x: Array, *shapes: Array) -> Array:
        raise NotImplementedError

    def _pdf(self, x: Array, *shapes: Array) -> Array:
        return np.exp(self._logpdf(x, *shapes))

    def _cdf(self, x: Array, *shapes: Array) -> Array:
        raise NotImplementedError

    def _sf(self, x: Array, *shapes: Array) -> Array:
        return 1 - self._cdf(x, *shapes)

    def _logcdf(self, x: Array, *shapes: Array) -> Array:
        return log_of(self._cdf(x, *shapes), self._sf(x, *shapes))

    def _logsf(self, x: Array, *shapes: Array) -> Array:
        return log_of(self._sf(x, *shapes), self._cdf(x, *shapes))

    def _ppf(self, q: Array, *shapes: Array) -> Array:
        raise NotImplementedError

    def _isf(self, q: Array, *shapes: Array) -> Array:
        return self._ppf(1 - q, *shapes)

    def _inside(self, *shapes: Array) -> Array:
        """Return a point inside of the support."""
        return self.inner

    # ---- SciPy's methods --------------------------------------------------------------------------------

    def _of_x(
        self, method: str, below: float, above: float, is_density: bool, x: Array, *args: Any, **kwargs: Any
    ) -> Array:
        shapes, loc, scale = self._bound(method, args, kwargs)
        x = as_argument(self.name, x)
        formula = getattr(self, f"_{method}")
        with quiet():
            z = x if _is_default(loc, 0) else x - loc
            z = z if _is_default(scale, 1) else z / scale
            low, high = self._support(*shapes)
            if _is_default(low, -np.inf) and _is_default(high, np.inf):
                out = formula(z, *shapes)  # infinities and NaN are the formula's to handle
            else:
                is_inside = _between(low, z, high)
                out = formula(_where(is_inside, z, self._inside(*shapes)), *shapes)
                out = np.where(z < low, below, np.where(z > high, above, np.where(z == z, out, np.nan)))
            if is_density and not _is_default(scale, 1):
                out = out / scale if method == "pdf" else out - np.log(scale)
            return self._chosen(shapes, scale, out)

    def _of_q(self, method: str, q: Array, *args: Any, **kwargs: Any) -> Array:
        shapes, loc, scale = self._bound(method, args, kwargs)
        q = as_argument(self.name, q)
        with quiet():
            is_inside = (q > 0) & (q < 1)
            out = getattr(self, f"_{method}")(_where(is_inside, q, 0.5), *shapes)
            at_zero, at_one = self._support(*shapes)[:: 1 if method == "ppf" else -1]
            out = np.where(q == 0, at_zero, np.where(q == 1, at_one, np.where(is_inside, out, np.nan)))
            return self._chosen(shapes, scale, _moved(out, loc, scale))

    def interval(self, confidence: Array, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
        """Return the ends of the interval around the median that holds this share of the probability."""
        half = (1 - as_argument(self.name, confidence)) / 2
        return self.ppf(half, *args, **kwargs), self.isf(half, *args, **kwargs)

    def pdf(self, x: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the density at x."""
        return self._of_x("pdf", 0, 0, True, x, *args, **kwargs)

    def logpdf(self, x: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the logarithm of the density at x."""
        return self._of_x("logpdf", -np.inf, -np.inf, True, x, *args, **kwargs)

    def cdf(self, x: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the probability of values up to x."""
        return self._of_x("cdf", 0, 1, False, x, *args, **kwargs)

    def logcdf(self, x: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the logarithm of `cdf`, exact where that is tiny."""
        return self._of_x("logcdf", -np.inf, 0, False, x, *args, **kwargs)

    def sf(self, x: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the probability of values above x."""
        return self._of_x("sf", 1, 0, False, x, *args, **kwargs)

    def logsf(self, x: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the logarithm of `sf`, exact where that is tiny."""
        return self._of_x("logsf", 0, -np.inf, False, x, *args, **kwargs)

    def ppf(self, q: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the value up to which there is the probability q."""
        return self._of_q("ppf", q, *args, **kwargs)

    def isf(self, q: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the value above which there is the probability q, exact where q is tiny."""
        return self._of_q("isf", q, *args, **kwargs)


class Discrete(Distribution):
    """A distribution of integers; ``ppf`` and ``isf`` are SciPy's, as they have no derivative."""

    bounds = (0, np.inf)
    _has_scale = False
    _methods = frozenset(
        {"pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "mean", "var", "std", "entropy", "support"}
    )

    # ---- formulas, for loc = 0 ---------------------------------------------------------------------------

    def _logpmf(self, k: Array, *shapes: Array) -> Array:
        raise NotImplementedError

    def _pmf(self, k: Array, *shapes: Array) -> Array:
        return np.exp(self._logpmf(k, *shapes))

    def _cdf(self, k: Array, *shapes: Array) -> Array:
        raise NotImplementedError

    def _sf(self, k: Array, *shapes: Array) -> Array:
        raise NotImplementedError

    def _logcdf(self, k: Array, *shapes: Array) -> Array:
        return log_of(self._cdf(k, *shapes), self._sf(k, *shapes))

    def _logsf(self, k: Array, *shapes: Array) -> Array:
        return log_of(self._sf(k, *shapes), self._cdf(k, *shapes))

    # ---- SciPy's methods --------------------------------------------------------------------------------

    def _of_k(
        self, method: str, below: float, above: float, is_mass: bool, k: Array, *args: Any, **kwargs: Any
    ) -> Array:
        shapes, loc, _ = self._bound(method, args, kwargs)
        k = as_argument(self.name, k)
        with quiet():
            z = k if _is_default(loc, 0) else k - loc
            whole = np.floor(z)
            low, high = self._support(*shapes)
            is_inside = _between(low, whole, high) & (whole < np.inf)
            if is_mass:
                is_inside = is_inside & (whole == z)
            out = getattr(self, f"_{method}")(_where(is_inside, whole, low), *shapes)
            out = np.where(is_inside, out, below)
            out = np.where(is_inside | (z < low), out, above)
            return self._chosen(shapes, 1, np.where(z == z, out, np.nan))

    def pmf(self, k: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the probability of k."""
        return self._of_k("pmf", 0, 0, True, k, *args, **kwargs)

    def logpmf(self, k: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the logarithm of the probability of k."""
        return self._of_k("logpmf", -np.inf, -np.inf, True, k, *args, **kwargs)

    def cdf(self, k: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the probability of values up to k."""
        return self._of_k("cdf", 0, 1, False, k, *args, **kwargs)

    def logcdf(self, k: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the logarithm of `cdf`, exact where that is tiny."""
        return self._of_k("logcdf", -np.inf, 0, False, k, *args, **kwargs)

    def sf(self, k: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the probability of values above k."""
        return self._of_k("sf", 1, 0, False, k, *args, **kwargs)

    def logsf(self, k: Array, *args: Any, **kwargs: Any) -> Array:
        """Return the logarithm of `sf`, exact where that is tiny."""
        return self._of_k("logsf", 0, -np.inf, False, k, *args, **kwargs)


class Frozen:
    """A distribution with its parameters: ``norm(1.0, 2.0).pdf(x)`` is ``norm.pdf(x, 1.0, 2.0)``."""

    def __init__(self, distribution: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = distribution, args, kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.dist._methods:
            from scipy import stats

            return getattr(getattr(stats, self.dist.name)(*self.args, **self.kwds), name)
        method = getattr(self.dist, name)
        return lambda *x, **kwargs: method(*x, *self.args, **self.kwds, **kwargs)


# ---- arrays and Vars -------------------------------------------------------------------------------------


def quiet() -> np.errstate:
    """Return a block without warnings: as in SciPy, numbers outside of the support are no reason for one."""
    return np.errstate(all="ignore")


def as_operand(name: str, x: Any) -> Array:
    """Return what can be computed with: lists become arrays, integers and bools float64, as in SciPy.

    Complex numbers are refused; SciPy drops their imaginary parts in some methods. While a program is
    recorded, arrays are Vars.
    """
    x = lifted(x)
    x = array(x) if isinstance(x, (list, tuple)) else float(x) if type(x) is bool else x
    kind = getattr(getattr(x, "dtype", None), "kind", "f")
    if x is None or isinstance(x, str) or kind not in "iubfc":
        raise errors.DTypeError(f"{name} is a distribution of numbers, and was given {errors.describe(x)}")
    if kind in "iub":  # whose differences would wrap around
        return x.astype(np.float64)
    if type(x) is complex or kind == "c":
        raise errors.DTypeError(
            f"{name} is a distribution of real numbers, and was given {x!r}. Pass its real part"
        )
    return x


def _is_pythons(x: Array) -> bool:
    """Return whether it is a number of Python's, in a compiled function too."""
    return type(x) in (int, float) or isinstance(plain(x), Weak)


def as_argument(name: str, x: Any) -> Array:
    """Return what can be computed with; numbers of Python's, which raise errors, become NumPy's."""
    if type(x) in (int, float):
        return np.float64(x)
    x = as_operand(name, x)
    return np.positive(x) if isinstance(plain(x), Weak) else x  # a number of Python's in a compiled function


def log_of(p: Array, complement: Array) -> Array:
    """Return the logarithm of a probability, from what is left to 1 where that is the smaller number."""
    is_large, is_zero = p > 0.5, p == 0
    of_small = np.where(is_zero, -np.inf, np.log(np.where(is_large | is_zero, 0.5, p)))
    return np.where(is_large, np.log1p(-np.where(is_large, complement, 0.25)), of_small)


def _plain(out: Array) -> Array:
    """Return a number of NumPy's in place of an array without axes, as SciPy does; a Var stays one."""
    if type(out) in (int, float):
        return np.float64(out)
    return out[()] if type(out) is np.ndarray and out.ndim == 0 else out


def _is_default(x: Any, value: float) -> bool:
    """Tell whether a parameter is a number of Python's that changes nothing."""
    return type(x) in (int, float) and x == value


def _is_positive(scale: Array) -> Array:
    return True if _is_default(scale, 1) else scale > 0


def _all_of(a: Array, b: Array) -> Array:
    if a is True or b is True:
        return b if a is True else a
    return a & b


def _between(low: Array, x: Array, high: Array) -> Array:
    above = True if _is_default(low, -np.inf) else x >= low
    return _all_of(above, True if _is_default(high, np.inf) else x <= high)


def _where(condition: Array, a: Array, b: Array) -> Array:
    return a if condition is True else np.where(condition, a, b)


def _moved(standard: Array, loc: Array, scale: Array) -> Array:
    """Return a value of the standard distribution in that of ``loc`` and ``scale``."""
    scaled = standard if _is_default(scale, 1) else standard * scale
    return scaled if _is_default(loc, 0) else scaled + loc
