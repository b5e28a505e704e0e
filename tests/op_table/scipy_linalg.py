"""Linear algebra of `scipy.linalg`, by `tape.scipy.linalg`; the oracle is SciPy."""

from typing import Any

import numpy as np
from scipy import linalg

import tape
from tests import naive
from tests.op_table.case import Argument, Case, _domain, complexes, nonzero, positive, real, regular
from tests.op_table.determinants import regular_complex

near_unit = _domain(lambda rng, s: rng.uniform(-0.3, 0.3, s) + np.eye(s[-1]))
small = _domain(lambda rng, s: rng.uniform(-0.4, 0.4, s))
tall = _domain(lambda rng, s: rng.uniform(-0.4, 0.4, s) + np.eye(*s[-2:]) * np.arange(2, s[-1] + 2))
turned = _domain(lambda rng, s: rng.uniform(-0.3, 0.3, s) + np.roll(2 * np.eye(*s[-2:]), 1, axis=-2))
column = _domain(lambda rng, s: rng.uniform(-0.2, 0.2, s) + 3 * (np.arange(s[-1]) == 0))
definite = _domain(lambda rng, s: rng.uniform(-0.2, 0.2, s) + np.diag(4.0 ** np.arange(s[-1])))
unit = _domain(lambda rng, s: rng.uniform(-0.1, 0.1, s) + np.eye(s[-1]))
bands = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s) + 3 * (np.arange(s[-2]) == 1)[:, None])
half_bands = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s) + 4 * (np.arange(s[-2]) == 0)[:, None])
upper_bands = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s) + 4 * (np.arange(s[-2]) == s[-2] - 1)[:, None])


def f(name: str, *before: Any, part: int | None = None, **options: Any) -> Any:
    """A function with numbers in front and options behind; one of its results."""

    def call(ns: Any, *args: Any) -> Any:
        found = getattr(linalg if ns is naive else tape.scipy.linalg, name)(*before, *args, **options)
        return found if part is None else found[part]

    return call


def case(
    name: str, *arguments: Argument, note: str = "", before: tuple[Any, ...] = (), **options: Any
) -> Case:
    return Case(f"scipy.linalg.{name}{note}", f(name, *before, **options), *arguments)


def solved(name: str, factor: str, **options: Any) -> Any:
    """Factor and solve."""

    def call(ns: Any, a: Any, b: Any) -> Any:
        space = linalg if ns is naive else tape.scipy.linalg
        return getattr(space, name)(getattr(space, factor)(a, **options), b)

    return call


def squared(name: str, part: int, **options: Any) -> Any:
    """Squares of vectors, whose signs are not determined."""
    return lambda ns, *args: f(name, part=part, **options)(ns, *args) ** 2


def real_eigenvalues(ns: Any, a: Any, b: Any) -> Any:
    return np.sort(np.real(f("eig", part=0)(ns, a, b)))


def real_eigenvalues_of_one(ns: Any, a: Any) -> Any:
    """In no order of their own."""
    return np.sort(np.real(f("eigvals")(ns, a)))


def real_power(ns: Any, a: Any) -> Any:
    """SciPy's is complex, with imaginary parts of 0."""
    return np.real(f("fractional_matrix_power", t=0.3)(ns, a))


CASES = [
    case("solve", regular(3, 3), real(3)),
    *(
        case("solve", regular(3, 3), real(3, 2), note=f" {kind} {lower}", assume_a=kind, lower=lower)
        for kind, lower in (
            ("sym", False), ("her", True), ("pos", True), ("pos", False), ("diagonal", False),
            ("upper triangular", False), ("lower triangular", False),
        )
    ),
    case("solve", regular_complex(3, 3), complexes(3), note=" sym complex", assume_a="sym"),
    case("solve", regular_complex(3, 3), complexes(3), note=" her complex", assume_a="her", lower=True),
    case("solve", regular(2, 3, 3), real(3), note=" transposed", transposed=True),
    case("solve_triangular", regular(3, 3), real(3, 2), note=" T", trans="T", lower=True),
    case("inv", regular(2, 3, 3)),
    case("inv", regular(3, 3), note=" pos", assume_a="pos", lower=True),
    case("pinv", tall(3, 2)),
    case("lstsq", real(4, 2), real(4), part=0),
    case("lstsq", real(4, 2), real(4), note=" squares", part=1),
    case("det", regular(2, 3, 3)),
    case("norm", nonzero(2, 3)),
    case("norm", nonzero(2, 3), note=" 1", ord=1, axis=(0, 1), keepdims=True),
    case("cholesky", definite(3, 3)),
    case("cholesky", definite(2, 3, 3), note=" lower", lower=True),
    Case("scipy.linalg.cho_factor", solved("cho_solve", "cho_factor"), definite(3, 3), real(3)),
    Case("scipy.linalg.cho_solve", solved("cho_solve", "cho_factor", lower=True), definite(3, 3), real(3, 2)),
    *(
        case("lu", turned(m, n), note=f" {m} {n} {k}", part=k)
        for m, n in ((3, 3), (4, 2), (2, 4))
        for k in (1, 2)
    ),
    case("lu", turned(2, 3, 3), note=" permuted", part=0, permute_l=True),
    case("lu", regular_complex(3, 3), note=" complex", part=2),
    case("lu_factor", turned(3, 3), part=0),
    Case("scipy.linalg.lu_solve", solved("lu_solve", "lu_factor"), turned(2, 3, 3), real(2, 3, 2)),
    Case("scipy.linalg.lu_solve vector", solved("lu_solve", "lu_factor"), turned(3, 3), real(3)),
    Case("scipy.linalg.qr", squared("qr", 0, mode="economic"), tall(3, 2)),
    Case("scipy.linalg.qr r", squared("qr", 0, mode="r"), tall(3, 2)),
    case("svd", tall(2, 3), part=1),
    case("svd", tall(3, 2), note=" values", compute_uv=False),
    case("svdvals", tall(3, 2)),
    case("polar", tall(3, 3), part=0),
    case("polar", tall(3, 2), note=" tall", part=1),
    case("polar", tall(2, 3), note=" left", part=0, side="left"),
    case("eigh", definite(3, 3), part=0),
    Case("scipy.linalg.eigh vectors", squared("eigh", 1, lower=False), definite(3, 3)),
    *(
        Case(f"scipy.linalg.eigh type {t}", squared("eigh", 1, type=t), definite(2, 2), unit(2, 2))
        for t in (1, 2, 3)
    ),
    case("eigvalsh", definite(3, 3), unit(3, 3), note=" upper", lower=False, subset_by_index=(1, 2)),
    Case("scipy.linalg.eigvals", real_eigenvalues_of_one, definite(3, 3)),
    Case("scipy.linalg.eig", real_eigenvalues, definite(2, 2), unit(2, 2)),
    case("expm", real(2, 2, 2)),
    case("logm", near_unit(2, 2)),
    case("sqrtm", near_unit(2, 2, 2)),
    case("sqrtm", regular_complex(2, 2), note=" complex"),
    Case("scipy.linalg.fractional_matrix_power", real_power, near_unit(2, 2)),
    *(case(name, real(2, 2)) for name in ("cosm", "sinm", "coshm", "sinhm", "tanhm")),
    case("tanm", near_unit(2, 2)),
    case("solve_sylvester", regular(3, 3), regular(2, 2), real(3, 2)),
    case("solve_sylvester", regular_complex(2, 2), regular_complex(2, 2), complexes(2, 2), note=" complex"),
    case("solve_continuous_lyapunov", regular(3, 3), real(3, 3)),
    case("solve_continuous_lyapunov", regular_complex(2, 2), complexes(2, 2), note=" complex"),
    case("solve_discrete_lyapunov", small(2, 2), real(2, 2)),
    case("solve_discrete_lyapunov", small(2, 2), real(2, 2), note=" bilinear", method="bilinear"),
    case("solve_banded", bands(4, 5), real(5), before=((2, 1),)),
    case("solve_banded", bands(3, 4), real(4, 2), note=" matrix", before=((1, 1),)),
    case("solveh_banded", half_bands(2, 4), real(4), lower=True),
    case("solveh_banded", upper_bands(3, 5), real(5, 2), note=" upper"),
    case("toeplitz", real(3), real(4)),
    case("toeplitz", complexes(2, 3), note=" stack"),
    case("solve_toeplitz", column(4), real(4)),
    case("circulant", real(4)),
    case("hankel", real(3)),
    case("hankel", real(3), real(2), note=" row"),
    case("companion", positive(4)),
    case("block_diag", real(2, 3), real(), real(1, 2)),
    case("khatri_rao", real(2, 3), real(4, 3)),
]  # fmt: skip
