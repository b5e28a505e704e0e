"""Special functions."""

from typing import Any

import numpy as np
from scipy import special
from scipy.optimize import brentq

from tests import naive
from tests.op_table.case import (
    Case,
    Domain,
    _domain,
    complexes,
    joined,
    nonzero,
    positive,
    real,
    upper,
)
from tests.tiers import is_full

unit = _domain(lambda rng, s: rng.uniform(0.2, 0.8, s))
middle = _domain(lambda rng, s: rng.uniform(0.35, 0.65, s))
twice = _domain(lambda rng, s: rng.uniform(0.4, 1.6, s))
between_steps = _domain(lambda rng, s: rng.uniform(0.56, 0.69, s))
past_one = _domain(lambda rng, s: rng.uniform(1.6, 3, s))
over_one = _domain(lambda rng, s: rng.uniform(1.15, 1.25, s))
past_three = _domain(lambda rng, s: rng.uniform(3, 4, s))
minus_unit = _domain(lambda rng, s: rng.uniform(-0.8, -0.2, s))
below_zero = _domain(lambda rng, s: rng.uniform(-3, -0.6, s))
between_poles = _domain(lambda rng, s: rng.uniform(-0.6, -0.4, s))
off_axes = _domain(lambda rng, s: rng.uniform(0.5, 1.5, s) + 1j * rng.uniform(0.5, 1.5, s))
orders = _domain(lambda rng, s: rng.integers(0, 4, s))


def f(name: str, *before: Any, after: tuple[Any, ...] = ()) -> Any:
    """A function of `scipy.special`, with numbers in front and behind."""
    return lambda ns, *args: getattr(ns.special, name)(*before, *args, *after)


def cases(
    name: str, shapes: list[Any], domains: tuple[Domain, ...], *before: Any, after: tuple[Any, ...] = ()
) -> list[Case]:
    title = " ".join([f"special.{name}", *map(str, before)])
    return [
        Case(
            f"{title} {joined(s)}",
            f(name, *before, after=after),
            *(d(*t) for d, t in zip(domains, s, strict=True)),
        )
        for s in shapes
    ]


ONE: dict[str, Domain] = {
    "cosdg": real, "cotdg": past_one, "it2struve0": positive, "sindg": real, "tandg": real,
    "cbrt": positive, "cosm1": nonzero, "dawsn": real, "digamma": positive, "entr": positive, "erfc": real,
    "erfcinv": twice, "erfcx": real, "erfi": real, "erfinv": unit, "exp1": positive, "exp10": real,
    "exp2": real, "expi": positive, "expit": real, "expm1": real, "exprel": real, "gamma": positive,
    "gammaln": positive, "i0": real, "i0e": nonzero, "i1": real, "i1e": nonzero, "j0": real, "j1": real,
    "k0": positive, "k0e": positive, "k1": positive, "k1e": positive, "log1p": positive,
    "log_expit": real, "log_ndtr": real, "loggamma": positive, "logit": unit, "ndtr": real,
    "ndtri": unit, "ndtri_exp": below_zero, "rgamma": positive, "y0": positive, "y1": positive,
    "zeta": past_one, "bei": positive, "beip": positive, "ber": positive, "berp": positive, "ellipe": unit,
    "ellipk": unit, "ellipkm1": unit, "itmodstruve0": positive, "itstruve0": positive, "kei": positive,
    "keip": positive, "ker": positive, "kerp": positive, "spence": positive, "wrightomega": real,
    "zetac": past_one, "kolmogi": middle, "kolmogorov": positive,
}  # fmt: skip
TWO: dict[str, tuple[Domain, Domain]] = {
    "chdtriv": (middle, past_one),
    "agm": (positive, past_one), "chdtr": (past_one, positive), "chdtrc": (past_one, positive),
    "chdtri": (past_one, middle), "owens_t": (real, real), "powm1": (positive, real),
    "beta": (positive, positive), "betaln": (positive, positive), "binom": (past_one, unit),
    "gammainc": (past_one, positive), "gammaincc": (past_one, positive), "gammaincinv": (past_one, middle),
    "gammainccinv": (past_one, middle), "stdtr": (past_one, real), "stdtrit": (past_one, middle),
    "boxcox": (positive, nonzero), "boxcox1p": (positive, nonzero), "inv_boxcox": (unit, unit),
    "inv_boxcox1p": (unit, unit), "kl_div": (positive, positive), "poch": (positive, positive),
    "pseudo_huber": (positive, real), "rel_entr": (positive, positive), "xlog1py": (real, positive),
    "xlogy": (real, positive), "zeta": (past_one, positive), "elliprc": (positive, positive),
}  # fmt: skip
THREE: dict[str, tuple[Domain, Domain, Domain]] = {
    "gdtria": (middle, past_one, past_one), "radian": (real, real, real),
    "voigt_profile": (real, past_one, past_one),
    "fdtr": (past_one, past_one, positive), "fdtrc": (past_one, past_one, positive),
    "fdtri": (past_one, past_one, middle), "gdtr": (positive, past_one, positive),
    "gdtrc": (positive, past_one, positive), "gdtrix": (positive, past_one, middle),
    "bdtrik": (middle, past_three, unit), "bdtrin": (past_one, middle, middle),
    "elliprd": (positive, positive, positive), "elliprf": (positive, positive, positive),
    "elliprg": (positive, positive, positive),
    "nbdtrin": (past_one, middle, middle),
}  # fmt: skip
LAST: dict[str, tuple[tuple[Any, ...], Domain]] = {
    "btdtria": ((0.4, 1.5), middle), "btdtrib": ((1.5, 0.4), middle), "fdtridfd": ((2.5, 0.4), past_three),
    "gdtrib": ((1.5, 0.4), past_one), "log_wright_bessel": ((1.5, 2.5), positive), "lpmv": ((1, 3), unit),
    "nbdtri": ((2, 5), middle), "nrdtrimn": ((0.8, 1.5), real), "nrdtrisd": ((0.5, 0.8), past_one),
    "pdtrik": ((0.4,), past_three), "stdtridf": ((0.8,), over_one), "wright_bessel": ((1.5, 2.5), positive),
    "nbdtr": ((2, 5), unit),
    "nbdtrc": ((2, 5), unit), "eval_gegenbauer": ((3, 1.5), real), "eval_genlaguerre": ((3, 1.5), real),
    "eval_jacobi": ((3, 0.5, 1.5), real), "eval_sh_jacobi": ((3, 2.5, 1.5), real),
    "nbdtrik": ((0.4, 5.5), middle), "bdtr": ((2, 5), middle), "bdtrc": ((2, 5), middle),
    "bdtri": ((2, 5), middle),
    "elliprj": ((0.7, 1.5, 0.4), positive), "smirnov": ((4,), between_steps), "smirnovi": ((7,), middle),
    "hyp1f1": ((0.5, 1.5), real), "hyp2f1": ((0.5, 1.5, 2.5), minus_unit), "hyperu": ((0.5, 1.5), positive),
}  # fmt: skip
"""Numbers in front, and the domain of the last argument, which alone is differentiated."""
ORDERED: dict[str, tuple[Any, Domain]] = {
    "gammainc": (1.5, positive), "iv": (0.5, positive), "ive": (1.5, positive), "jn": (2, real),
    "jv": (1.5, positive), "jve": (1.5, positive), "kn": (2, positive), "kv": (1.5, positive),
    "eval_chebyc": (3, real), "eval_chebys": (3, real), "eval_chebyt": (3, real), "eval_chebyu": (3, real),
    "eval_hermite": (3, real), "eval_hermitenorm": (3, real), "eval_laguerre": (3, real),
    "eval_legendre": (3, real), "eval_sh_chebyt": (3, unit), "eval_sh_chebyu": (3, unit),
    "eval_sh_legendre": (3, unit), "expn": (2, positive), "hyp0f1": (1.5, real), "modstruve": (1.5, positive),
    "pdtr": (2, positive), "pdtrc": (2, positive), "pdtri": (2, middle), "struve": (1.5, positive),
    "kve": (0.5, positive), "polygamma": (1, positive), "yn": (2, positive), "yv": (1.5, positive),
    "yve": (1.5, positive),
}  # fmt: skip
COMPLEX: dict[str, Domain] = {
    "dawsn": complexes, "digamma": upper, "erfc": complexes, "erfcx": complexes, "erfi": complexes,
    "exp1": upper, "expi": upper, "expm1": complexes, "gamma": upper, "log1p": upper,
    "log_ndtr": complexes, "loggamma": upper, "ndtr": complexes, "rgamma": complexes, "spence": upper,
    "lambertw": upper, "wofz": upper, "wrightomega": complexes,
}  # fmt: skip
COMPLEX_ORDERED: dict[str, Any] = {
    "hankel1": 0.5, "hankel1e": 0.5, "hankel2": 0.5, "hankel2e": 0.5, "iv": 0.5,
    "ive": 0.5, "jv": 1.5, "jve": 1.5, "kv": 0.5, "kve": 0.5, "yv": 0.5, "yve": 0.5,
}  # fmt: skip


SINGLES = [((),), ((2, 3),), ((0, 3),)]
PAIRS = [((), ()), ((2, 3), (3,)), ((0, 3), (1,))]
TRIPLES = [((), (), ()), ((2, 1), (3,), (2, 3)), ((0, 3), (1,), ())]

SEVERAL: dict[str, tuple[int, Domain]] = {
    "airy": (4, real), "fresnel": (2, real), "iti0k0": (2, positive),
    "itj0y0": (2, positive), "shichi": (2, positive), "sici": (2, positive), "airye": (4, positive),
    "it2i0k0": (2, positive), "it2j0y0": (2, positive), "kelvin": (4, positive),
    "modfresnelm": (2, positive), "modfresnelp": (2, positive),
}  # fmt: skip
"""Functions of several results, and how many."""


def of_several(name: str, k: int, *after: Any) -> Any:
    return lambda ns, x: getattr(ns.special, name)(x, *after)[k]


def of_pair(name: str, k: int) -> Any:
    return lambda ns, x: getattr(ns.special, name)(1.5, x)[k]


def airy_integral(k: int) -> Any:
    """A result of `itairy`; the oracle is a rule of Gauss, as SciPy's series have eight digits."""
    points, weights = np.polynomial.legendre.leggauss(40)

    def call(ns: Any, x: Any) -> Any:
        if ns is not naive:
            return ns.special.itairy(x)[k]
        sign = 1 if k < 2 else -1
        return (
            np.sum(special.airy(sign * x[..., None] * (points + 1) / 2)[2 * (k % 2)] * weights, axis=-1)
            * x
            / 2
        )

    return call


PROLATE, OBLATE = float(special.pro_cv(1, 3, 1.3)), float(special.obl_cv(1, 3, 1.3))
SOLUTIONS: dict[str, tuple[tuple[float, ...], Domain]] = {
    "mathieu_cem": ((2, 1.5), past_one), "mathieu_sem": ((2, 1.5), past_one),
    **{f"mathieu_mod{parity}m{kind}": ((2, 1.5), unit) for parity in ("ce", "se") for kind in (1, 2)},
    "pro_ang1": ((1, 3, 1.3), middle), "pro_ang1_cv": ((1, 3, 1.3, PROLATE), middle),
    "obl_ang1": ((1, 3, 1.3), middle), "obl_ang1_cv": ((1, 3, 1.3, OBLATE), middle),
    **{f"pro_rad{kind}": ((1, 3, 1.3), past_one) for kind in (1, 2)},
    **{f"pro_rad{kind}_cv": ((1, 3, 1.3, PROLATE), past_one) for kind in (1, 2)},
    **{f"obl_rad{kind}": ((1, 3, 1.3), past_one) for kind in (1, 2)},
    **{f"obl_rad{kind}_cv": ((1, 3, 1.3, OBLATE), past_one) for kind in (1, 2)},
}  # fmt: skip
"""Functions that are returned with their derivative, the numbers in front, and the domain of the last."""


def of_last(name: str, k: int, *before: float) -> Any:
    return lambda ns, x: getattr(ns.special, name)(*before, x)[k]


FOUND: dict[str, tuple[int, tuple[float, ...]]] = {
    "chndtridf": (1, (3.5, 0.3, 2.0)), "chndtrinc": (2, (3.5, 2.0, 0.5)),
    "ncfdtridfn": (0, (0.3, 3.5, 0.5, 0.3)), "ncfdtridfd": (1, (3.5, 0.3, 2.0, 1.0)),
    "ncfdtrinc": (2, (2.0, 2.5, 0.5, 3.5)), "nctdtridf": (0, (0.83, 0.2, 2.0)),
    "nctdtrinc": (1, (2.5, 0.5, 0.7)),
}  # fmt: skip
"""Functions that SciPy computes with five digits or more, the place of the probability, and operands."""


def changed(centers: tuple[float, ...], place: int) -> list[int]:
    """The operands that are differentiated: in the plain tier the probability and the one after it."""
    count = len(centers)
    return list(range(count)) if is_full() else [place, (place + 1) % count]


def found_from_a_probability(name: str, place: int, centers: tuple[float, ...]) -> Any:
    """Such a function around these operands; the oracle is a root of the distribution function."""
    function = getattr(special, name[:6])

    def call(ns: Any, *changes: Any) -> Any:
        args: list[Any] = list(centers)
        for k, change in zip(changed(centers, place), changes, strict=True):
            args[k] = centers[k] + change / 32
        if ns is not naive:
            return getattr(ns.special, name)(*args)
        near = float(getattr(special, name)(*args))

        def error(x: float) -> float:
            return float(function(*args[:place], x, *args[place + 1 :]) - args[place])

        return np.float64(brentq(error, near * 0.999, near * 1.001, xtol=1e-15, rtol=9e-16))

    return call


CASES = [
    *(
        Case(f"special.{name} {k}", of_several(name, k), domain(3))
        for name, (count, domain) in SEVERAL.items()
        for k in range(count)
    ),
    *(
        Case(f"special.{name} {k}", of_pair(name, k), real(3))
        for name in ("pbdv", "pbvv", "pbwa")
        for k in range(2)
    ),
    *(Case(f"special.ellipj {k}", of_several("ellipj", k, 0.4), real(2, 3)) for k in range(4)),
    *(
        c
        for op, domains in THREE.items()
        for c in cases(op, [((), (), ()), ((2, 1), (3,), (2, 3))], domains)
    ),
    *(
        c
        for op, (before, domain) in LAST.items()
        for c in cases(op, [((),), ((2, 3),)], (domain,), *before)
    ),
    *(
        c
        for kind in "jyik"
        for n in (0, 2)
        for c in cases(f"spherical_{kind}n", [((),), ((2, 3),)], (nonzero,), n)
    ),
    *cases("lambertw", [((),), ((2, 3),)], (positive,)),
    *cases("besselpoly", [((),), ((2, 3),)], (positive,), after=(1.5, 2.5)),
    *cases("tklmbda", [((),), ((2, 3),)], (real,), after=(0.4,)),
    *cases("chndtr", [((2,), (), (1,))], (positive, past_one, positive)),
    *cases("chndtrix", [((2,), (), (1,))], (middle, past_one, positive)),
    *cases("ncfdtr", [((2,), (), (1,), (2,))], (past_one, past_one, positive, positive)),
    *cases("ncfdtri", [((), (), (), (2,))], (past_one, past_one, positive, middle)),
    *cases("nctdtr", [((2,), (), (1,))], (past_one, unit, real)),
    *cases("nctdtrit", [((), (), (2,))], (past_one, unit, middle)),
    *(
        Case(
            f"special.{op}",
            found_from_a_probability(op, place, centers),
            *(real() for _ in changed(centers, place)),
        )
        for op, (place, centers) in FOUND.items()
    ),
    *cases("elliprj", [((2, 1), (3,), (2, 3), (3,))], (positive,) * 4),
    *(
        Case(f"special.{op} {k}", of_last(op, k, *before), domain(2))
        for op, (before, domain) in SOLUTIONS.items()
        for k in range(2)
    ),
    *(Case(f"special.itairy {k}", airy_integral(k), real(3)) for k in range(4)),
    *cases("elliprf", [((3,), (), (1,))], (off_axes, off_axes, upper)),
    *cases("elliprj", [((2,), (), (1,), ())], (off_axes, off_axes, positive, off_axes)),
    *(Case(f"special.airye complex {k}", of_several("airye", k), off_axes(3)) for k in range(4)),
    *cases("ellipkinc", [((),), ((2, 3),)], (twice,), after=(0.4,)),
    *cases("ellipeinc", [((),), ((2, 3),)], (twice,), after=(0.4,)),
    *(
        Case(f"special.{op} ints", f(op), orders(2, 1), unit(3))
        for op in ("eval_legendre", "eval_chebyt", "eval_hermite", "expn")
    ),
    *(c for op, domain in ONE.items() for c in cases(op, SINGLES, (domain,))),
    *(c for op, domains in TWO.items() for c in cases(op, PAIRS, domains)),
    *(c for op, (order, domain) in ORDERED.items() for c in cases(op, SINGLES, (domain,), order)),
    *(c for op, domain in COMPLEX.items() for c in cases(op, [((3,),)], (domain,))),
    *(c for op, order in COMPLEX_ORDERED.items() for c in cases(op, [((3,),)], (off_axes,), order)),
    *cases("betainc", [((),), ((2, 3),)], (unit,), 1.5, 2.5),
    *(
        c
        for op in ("betainc", "betaincc", "betaincinv", "betainccinv")
        for c in cases(op, TRIPLES, (past_one, past_one, middle))
    ),
    *cases("huber", [((3,), (2, 3)), ((), ())], (past_one, unit)),
    *cases("huber", [((3, 1), (3,))], (unit, past_one)),
    *cases("xlogy", [((3,), (3,))], (complexes, upper)),
    *cases("xlog1py", [((3,), (3,))], (complexes, complexes)),
    *(
        Case(f"special.{name} {rank}", f(name), between_poles(*(3,) * rank), has_derivative=False)
        for name in ("gammasgn", "round")
        for rank in (0, 1)
    ),
    Case("special.psi", f("psi"), between_poles(3)),
    Case("special.gammaln left", f("gammaln"), between_poles(3)),
    Case("special.rgamma left", f("rgamma"), real(2, 3)),
    Case("special.polygamma ints", f("polygamma"), orders(3), positive(2, 3)),
    Case("special.polygamma 0", f("polygamma", 0), positive(3)),
    Case("special.polygamma left", f("polygamma", 1), between_poles(3)),
    Case("special.jn ints", f("jn"), orders(2, 1), real(3)),
    Case("special.kve ints", f("kve"), orders(2, 1), positive(3)),
    Case("special.multigammaln 0d", lambda ns, a: ns.special.multigammaln(a, 1), past_one()),
    Case("special.multigammaln d=3", lambda ns, a: ns.special.multigammaln(a, 3), past_one(2, 3)),
    Case("logsumexp weights", lambda ns, a, b: ns.logsumexp(a, 1, b), real(2, 3), positive(3)),
    Case("logsumexp sign", lambda ns, a, b: ns.logsumexp(a, 1, b, True, True)[0], real(2, 3), nonzero(2, 1)),
    Case("logsumexp complex", lambda ns, a: ns.logsumexp(a, axis=1), complexes(2, 3)),
    Case("special.softmax", f("softmax"), real(2, 3)),
    Case("special.log_softmax", f("log_softmax"), real(2, 3)),
]  # fmt: skip
