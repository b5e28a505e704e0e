"""Distributions of `scipy.stats`: each method by its argument and by its parameters."""

from typing import Any

import numpy as np

import tape
from tests import naive
from tests.op_table.case import Argument, Case, Domain, _domain, nonzero, positive, real
from tests.tiers import is_full

unit = _domain(lambda rng, s: rng.uniform(0.35, 0.65, s))
past_one = _domain(lambda rng, s: rng.uniform(1.2, 3, s))
past_two = _domain(lambda rng, s: rng.uniform(2.4, 4, s))
below = _domain(lambda rng, s: rng.uniform(-2, -0.5, s))
above = _domain(lambda rng, s: rng.uniform(1, 2, s))
halves = _domain(lambda rng, s: rng.uniform(0.45, 0.55, s))
above_half = _domain(lambda rng, s: rng.uniform(0.55, 0.65, s))
near_zero = _domain(lambda rng, s: rng.uniform(-0.1, 0, s))
near_one = _domain(lambda rng, s: rng.uniform(0.9, 1, s))
counts = _domain(lambda rng, s: rng.integers(1, 5, s))
bits = _domain(lambda rng, s: rng.integers(0, 2, s))
covariances = _domain(lambda rng, s: rng.uniform(-0.3, 0.3, s) + 2 * np.eye(s[-1]))

DENSITIES, TAILS, QUANTILES = ("pdf", "logpdf"), ("cdf", "sf", "logcdf", "logsf"), ("ppf", "isf")
MOMENTS = ("mean", "var", "std", "entropy")

ELEMENTARY: dict[str, tuple[Domain, ...]] = {
    "norm": (real,), "expon": (positive,), "lognorm": (positive, near_one), "laplace": (nonzero,),
    "logistic": (real,), "uniform": (unit,), "cauchy": (real,), "weibull_min": (positive, past_one),
    "pareto": (past_one, past_two), "truncnorm": (unit, below, above),
}  # fmt: skip
"""The domains of the argument and of the parameters; all methods are differentiable by all of them."""
GAMMAS: dict[str, tuple[Domain, ...]] = {
    "gamma": (positive, past_one), "chi2": (positive, past_one), "beta": (unit, past_one, past_one),
    "t": (real, past_two), "vonmises": (real, positive),
}  # fmt: skip
"""The same; their probabilities are integrals, by `vonmises` to be differentiated by the argument alone."""
COUNTS: dict[str, tuple[Domain, ...]] = {
    "poisson": (counts, positive), "geom": (counts, unit), "nbinom": (counts, past_one, unit),
    "bernoulli": (bits, unit),
}  # fmt: skip
UNMOVED = ("uniform", "truncnorm", "pareto")
"""Distributions whose arguments would leave the support if that moved."""
WITHOUT = {
    *(("cauchy", method) for method in MOMENTS[:3]), ("vonmises", "var"), ("vonmises", "std"),
    ("poisson", "entropy"), ("nbinom", "entropy"),
}  # fmt: skip
"""Moments that are not there, that SciPy integrates, or sums whose length depends on parameters."""


def of(name: str, method: str, *numbers: Any) -> Any:
    """A method of a distribution, with numbers behind its arguments."""

    def call(ns: Any, *args: Any) -> Any:
        distributions = naive.stats if ns is naive else tape.scipy.stats
        return getattr(getattr(distributions, name), method)(*args, *numbers)

    return call


def case(name: str, method: str, *arguments: Argument, note: str = "", numbers: tuple[Any, ...] = ()) -> Case:
    return Case(f"stats.{name} {method}{note}", of(name, method, *numbers), *arguments)


def drawn(domains: tuple[Domain, ...], *shape: int) -> list[Argument]:
    """An argument of shape (2, 3), and parameters of this shape."""
    return [domain(*((2, 3) if k == 0 else shape)) for k, domain in enumerate(domains)]


def moved() -> list[Argument]:
    """Arguments for loc and scale: nowhere does an argument leave the support for them."""
    return [near_zero(), near_one(3)]


def matrices(name: str, method: str, *arguments: Argument) -> Case:
    """A case in which square matrices become symmetric first: of others SciPy reads one triangle."""

    def call(ns: Any, *args: Any) -> Any:
        parts = [(a + a.T) / 2 if np.ndim(a) == 2 and a.shape[0] == a.shape[1] else a for a in args]
        if ns is naive and name == "wishart":
            parts = [float(a) if np.ndim(a) == 0 else a for a in parts]
        return of(name, method)(ns, *parts)

    return Case(f"stats.{name} {method}", call, *arguments)


def of_counts(name: str, method: str, *first: Any) -> Any:
    """A method called with these counts, and with arguments behind them."""
    return lambda ns, *args: of(name, method)(ns, *first, *args)


def of_shares(method: str, *first: Any) -> Any:
    """A method of the multinomial distribution, of all probabilities but the last."""

    def call(ns: Any, p: Any) -> Any:
        return of("multinomial", method)(
            ns, *first, np.concatenate([p, 1 - np.sum(p, -1, keepdims=True)], -1)
        )

    return call


ALL = [
    *(
        case(name, method, *drawn(domains, 3), *([] if name in UNMOVED else moved()))
        for name, domains in ELEMENTARY.items()
        for method in (*DENSITIES, *TAILS)
        if name != "uniform" or method in TAILS
    ),
    *(
        case(name, method, *drawn((above_half, *domains[1:]), 3), *moved())
        for name, domains in ELEMENTARY.items()
        for method in QUANTILES
    ),
    *(
        case(name, method, *drawn(domains, 3)[1:], *moved())
        for name, domains in (ELEMENTARY | GAMMAS).items()
        for method in MOMENTS
        if (name, method) not in WITHOUT
    ),
    *(case(name, method, *drawn(domains)) for name, domains in GAMMAS.items() for method in DENSITIES),
    *(
        case(name, method, *drawn((above_half, *GAMMAS[name][1:]), 3))
        for name in ("gamma", "chi2", "beta", "t")
        for method in (*TAILS, *QUANTILES)
    ),
    *(case("vonmises", method, real(3), positive()) for method in TAILS[:2]),
    case("vonmises", "ppf", unit(3), numbers=(1.5,)),
    *(
        case(name, method, *drawn(domains, 3), note=" ints")
        for name, domains in COUNTS.items()
        for method in ("pmf", "logpmf", *(TAILS[:2] if name == "bernoulli" else TAILS))
    ),
    *(
        case(name, method, *drawn(domains, 3)[1:])
        for name, domains in COUNTS.items()
        for method in MOMENTS
        if (name, method) not in WITHOUT
    ),
    *(
        Case(f"stats.binom {method} ints", of_counts("binom", method, [[1], [4]], 6), unit(3))
        for method in ("pmf", "logpmf", *TAILS)
    ),
    *(Case(f"stats.binom {method}", of_counts("binom", method, 6), unit(3)) for method in MOMENTS),
    *(matrices("multivariate_normal", m, real(2, 3), real(3), covariances(3, 3)) for m in DENSITIES),
    case("multivariate_normal", "logpdf", real(3), real(3), positive(3), note=" diagonal"),
    case("multivariate_normal", "logpdf", real(3), real(), positive(), note=" of one"),
    matrices("multivariate_normal", "entropy", real(3), covariances(3, 3)),
    *(matrices("multivariate_t", m, real(2, 3), real(3), covariances(3, 3), past_two()) for m in DENSITIES),
    matrices("multivariate_t", "entropy", real(3), covariances(3, 3), past_two()),
    case("dirichlet", "logpdf", halves(1), near_one(2)),
    case("dirichlet", "pdf", halves(1, 3), past_one(2)),
    *(case("dirichlet", method, past_one(4)) for method in ("mean", "var", "cov", "entropy")),
    Case("stats.multinomial logpmf ints", of_shares("logpmf", [1, 2], 3), halves(2, 1)),
    Case("stats.multinomial pmf ints", of_shares("pmf", [[1, 2], [3, 0]], 3), halves(1)),
    *(Case(f"stats.multinomial {m} ints", of_shares(m, 5), halves(1)) for m in ("mean", "cov", "entropy")),
    *(matrices("wishart", m, covariances(2, 2), past_two(), covariances(2, 2)) for m in DENSITIES),
    *(matrices("wishart", m, past_two(), covariances(2, 2)) for m in ("mean", "var", "entropy")),
]  # fmt: skip

_PLAIN = ("logpdf", "logpmf", "cdf", "logsf", "ppf", "mean", "entropy")
"""Of these all others are made; `tests.test_scipy_stats` has their values."""
CASES = ALL if is_full() else [case for case in ALL if case.name.split()[1] in _PLAIN]
