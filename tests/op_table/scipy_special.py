"""Functions of `scipy.special` that SciPy writes in Python, and that `tape.scipy.special` writes for Vars."""

from typing import Any

import numpy as np
from scipy import special

import tape
from tests import naive
from tests.op_table.case import Case, _domain, complexes, nonzero, positive, real

past_three = _domain(lambda rng, s: rng.uniform(3.3, 4.7, s))
below_zero = _domain(lambda rng, s: rng.uniform(-0.7, -0.3, s))
past_one = _domain(lambda rng, s: rng.uniform(1.3, 2.7, s))
angles = _domain(lambda rng, s: rng.uniform(0.3, 2.8, s))
half = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s))
inside = _domain(lambda rng, s: rng.uniform(-0.8, 0.8, s))


def f(name: str, *before: Any, part: int | None = None, **options: Any) -> Any:
    """A function with numbers in front and options behind; one of its results."""

    def call(ns: Any, *args: Any) -> Any:
        found = getattr(special if ns is naive else tape.scipy.special, name)(*before, *args, **options)
        return found if part is None else found[part]

    return call


def case(name: str, *arguments: Any, before: tuple[Any, ...] = (), note: str = "", **options: Any) -> Case:
    return Case(f"scipy.special.{name}{note}", f(name, *before, **options), *arguments)


CASES = [
    case("comb", past_three(2, 1), past_one(3)),
    case("comb", past_three(3), before=(), note=" repetition", k=2, repetition=True),
    case("comb", positive(3), before=(), note=" repetition of few", k=0.75, repetition=True),
    case("perm", past_three(2, 1), past_one(3)),
    case("factorial", past_one(2, 3)),
    case(
        "factorial", _domain(lambda rng, s: rng.uniform(-0.7, -0.3, s))(3), note=" complex", extend="complex"
    ),
    case("diric", nonzero(2, 3), n=5),
    case("diric", nonzero(3), note=" even", n=4),
    *(
        case(name, positive(3), before=(1.5,), note=f" {n}", n=n)
        for name in ("jvp", "yvp", "ivp", "kvp")
        for n in (0, 1, 3)
    ),
    *(case(name, positive(3), before=(1,), note=" of real numbers") for name in ("h1vp", "h2vp")),
    *(
        case(
            f"spherical_{kind}n",
            (positive if kind == "k" else nonzero)(3),
            before=(n,),
            note=f" {n} {slope}",
            derivative=slope,
        )
        for kind in "jyik"
        for n, slope in ((0, True), (2, False))
    ),
    case("lambertw", positive(3)),
    Case(
        "scipy.special.logsumexp weights",
        lambda ns, a, b: f("logsumexp", axis=1, keepdims=True, b=b)(ns, a),
        real(2, 3),
        positive(3),
    ),
    case("softmax", real(2, 3), axis=1),
    case("log_softmax", real(2, 3), axis=(0, 1)),
    case("multigammaln", past_three(3), d=2),
    case("assoc_laguerre", real(2, 3), n=3, k=1.5),
    case("sinc", real(2, 3)),
    case("softplus", real(2, 3)),
    case("zeta", past_one(3)),
    case("zeta", past_one(2, 1), positive(3), note=" of Hurwitz"),
    *(
        case("legendre_p", real(2, 3), before=(n,), note=f" {n} {d}", diff_n=d)
        for n, d in ((0, 1), (4, 0), (5, 2))
    ),
    case("legendre_p_all", real(2), before=(3,), diff_n=1),
    *(
        case("assoc_legendre_p", inside(2), before=(4, m), note=f" {m} {d} {norm}", norm=norm, diff_n=d)
        for m, d, norm in ((0, 0, False), (1, 1, True), (-2, 2, False), (5, 0, True))
    ),
    case("assoc_legendre_p", complexes(3), before=(3, 1), note=" complex", branch_cut=3),
    case("assoc_legendre_p_all", inside(2), before=(3, 2)),
    *(
        case("sph_legendre_p", angles(2, 3), before=(4, m), note=f" {m} {d}", diff_n=d)
        for m, d in ((0, 0), (-2, 1), (4, 2))
    ),
    case("sph_legendre_p_all", angles(2), before=(2, 1), diff_n=1),
    *(
        case("sph_harm_y", angles(2, 1), real(3), before=(3, m), note=f" {m} {d}", part=part, diff_n=d)
        for m, d, part in ((-1, 0, None), (2, 1, 1), (0, 2, 2))
    ),
    case("sph_harm_y_all", angles(2), real(1), before=(2, 1)),
    *(
        Case(
            f"scipy.special.{name} {part}",
            lambda ns, x, name=name, before=before, part=part: f(name, *before, part=part)(ns, x[0]),
            positive(1),
        )
        for name, before in (
            ("lmbda", (2.5,)),
            ("pbdn_seq", (3,)),
            ("pbdv_seq", (2.5,)),
            ("pbvv_seq", (2.5,)),
            ("riccati_jn", (3,)),
            ("riccati_yn", (3,)),
        )
        for part in (0, 1)
    ),
    *(case("lqn", half(2, 3), before=(3,), note=f" {part}", part=part) for part in (0, 1)),
    *(case("lqmn", past_one(2), before=(2, 3), note=f" {part}", part=part) for part in (0, 1)),
    case("polygamma", positive(2, 3), before=(np.array([0, 1, 2]),)),
]
