"""Factorizations, forms and Riccati's equations of `scipy.linalg`; the oracle is SciPy."""

from typing import Any

import numpy as np
from scipy import linalg

import tape
from tests import naive
from tests.op_table.case import Case, _domain, complexes, real, regular
from tests.op_table.determinants import regular_complex
from tests.op_table.scipy_linalg import case, f, small, tall, unit

graded = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s) + np.diag(np.arange(1.0, s[-1] + 1) ** 2))
graded_complex = _domain(
    lambda rng, s: rng.uniform(-0.5, 0.5, s) + 0.5j * rng.uniform(-1, 1, s) + np.diag(np.arange(s[-1]) * 4.0)
)
reducible = _domain(lambda rng, s: rng.uniform(-1, 1, s) + 0.5j * rng.uniform(-1, 1, s) + 3 * np.tri(*s, -1))
paired = _domain(lambda rng, s: rng.uniform(-0.1, 0.1, s) + np.diag([0.0, 0.0, 4.0]) + pair_beside(3))
pivoted = _domain(lambda rng, s: rng.uniform(-0.2, 0.2, s) + np.diag([0.0, 0.0, 3.0]) + pair_beside(3) * 2)
stable = _domain(lambda rng, s: rng.uniform(-0.2, 0.2, s) - 0.4 * np.eye(*s))
stable_complex = _domain(
    lambda rng, s: rng.uniform(-0.2, 0.2, s) + 1j * rng.uniform(-0.2, 0.2, s) - 0.4 * np.eye(*s)
)
half_bands = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s) + bands_graded(s, 0))
half_bands_complex = _domain(
    lambda rng, s: rng.uniform(-0.5, 0.5, s) + 0.3j * (np.arange(s[-2]) > 0)[:, None] + bands_graded(s, 0)
)
upper_bands = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s) + bands_graded(s, s[-2] - 1))
beside = _domain(lambda rng, s: rng.uniform(0.5, 1.5, s))
costs = _domain(lambda rng, s: definite_like(rng.uniform(-0.5, 0.5, s)))
graded_row = _domain(lambda rng, s: rng.uniform(-0.2, 0.2, s) + 2.0 * np.arange(s[-1]))
wide = _domain(lambda rng, s: rng.uniform(-0.5, 0.5, s) + np.eye(*s, k=s[-1] - s[-2]) * 3)


def pair_beside(n: int) -> np.ndarray:
    """Numbers beside the diagonal in the first two rows."""
    x = np.zeros((n, n))
    x[0, 1], x[1, 0] = 2.0, -0.5
    return x


def bands_graded(shape: tuple[int, ...], row: int) -> np.ndarray:
    """Diagonals with different numbers on the main one."""
    return np.where(np.arange(shape[-2]) == row, 2.0, 0.0)[:, None] * np.arange(shape[-1])


def definite_like(x: np.ndarray) -> np.ndarray:
    return x @ x.T + np.eye(len(x))


def squared(x: Any) -> Any:
    """Return the squares of absolute values, which are smooth where those are 0."""
    return np.real(x * np.conj(x))


def sizes(name: str, part: int, **options: Any) -> Any:
    """Squares of absolute values, where signs or phases are not determined."""
    return lambda ns, *args: squared(f(name, part=part, **options)(ns, *args))


def pair_of_form(ns: Any, a: Any) -> Any:
    """What a turn by a right angle, which is LAPACK's choice, does not change."""
    t = f("schur", part=0)(ns, a)
    b, c, x, y = t[0, 1], t[1, 0], t[0, 2], t[1, 2]
    return np.stack([t[0, 0], t[2, 2], b * c, (b - c) ** 2, x * x + y * y, (x * x - y * y) ** 2])


def pair_of_vectors(ns: Any, a: Any) -> Any:
    """The same of the vectors."""
    z = f("schur", part=1)(ns, a)
    first, second = (z[:, k, None] * z[:, k] for k in (0, 1))
    return (first - second) ** 2


def whole_of_qr(name: str, part: int, *behind: Any, size: int | None = None) -> Any:
    return of_qr(name, part, *behind, mode="full", size=size)


def of_qr(name: str, part: int, *behind: Any, mode: str = "economic", size: int | None = None) -> Any:
    """Factors, changed; of a whole basis the first columns."""

    def call(ns: Any, a: Any, *others: Any) -> Any:
        space = linalg if ns is naive else tape.scipy.linalg
        return getattr(space, name)(*space.qr(a, mode=mode), *others, *behind)[part][:, :size]

    return call


def regulator(name: str, options: str = "") -> Any:
    """A solution for Hermitian costs of whatever is given."""

    def call(ns: Any, a: Any, b: Any, q: Any, r: Any, *more: Any) -> Any:
        q, r = ((x + np.conj(x.T)) / 2 for x in (q, r))
        given = dict(zip(options, more, strict=True))
        return f(name, balanced=not given, **given)(ns, a, b, q, r)  # where SciPy is right

    return call


def riccati(name: str) -> list[Case]:
    matrices = stable(2, 2), real(2, 1), costs(2, 2), costs(1, 1)
    complex_ones = stable_complex(1, 1), complexes(1, 1), costs(1, 1), costs(1, 1)
    single = stable(1, 1), beside(1, 1), costs(1, 1), costs(1, 1)
    call, more = regulator(f"solve_{name}_are"), regulator(f"solve_{name}_are", "es")
    return [
        Case(f"scipy.linalg.solve_{name}_are", call, *matrices),
        Case(f"scipy.linalg.solve_{name}_are complex", call, *complex_ones),
        Case(f"scipy.linalg.solve_{name}_are generalised", more, *single, unit(1, 1), small(1, 1)),
    ]


def form_of_form(part: int) -> Any:
    """The complex form of a real one, of which only pairs are read below the diagonal."""

    def call(ns: Any, a: Any) -> Any:
        space = linalg if ns is naive else tape.scipy.linalg
        return squared(space.rsf2csf(*space.schur(a))[part])

    return call


def in_real_numbers(part: int) -> Any:
    def call(ns: Any, w: Any, v: Any) -> Any:
        pairs, vectors = np.concatenate([w, np.conj(w)]), np.concatenate([v, np.conj(v)], axis=1)
        return f("cdf2rdf", part=part)(ns, pairs, vectors)

    return call


CASES = [
    case("eigh_tridiagonal", graded_row(3), beside(2), part=0),
    Case("scipy.linalg.eigh_tridiagonal 1", sizes("eigh_tridiagonal", 1), graded_row(2, 3), beside(2, 2)),
    case("eigvalsh_tridiagonal", graded_row(3), beside(2)),
    Case("scipy.linalg.eig_banded", sizes("eig_banded", 1, lower=True), half_bands(2, 4)),
    Case("scipy.linalg.eig_banded complex", sizes("eig_banded", 1, lower=True), half_bands_complex(3, 4)),
    case("eig_banded", upper_bands(2, 3), note=" upper", part=0),
    case("eigvals_banded", upper_bands(3, 4)),
    case("eigvals_banded", half_bands_complex(2, 2, 3), note=" complex", lower=True),
    Case("scipy.linalg.schur", sizes("schur", 0), graded(3, 3)),
    Case("scipy.linalg.schur pair", pair_of_form, paired(3, 3)),
    Case("scipy.linalg.schur pair vectors", pair_of_vectors, paired(3, 3)),
    Case("scipy.linalg.schur sorted", sizes("schur", 0, sort="rhp"), graded(3, 3)),
    Case("scipy.linalg.schur complex", sizes("schur", 0), graded_complex(2, 2, 2)),
    Case("scipy.linalg.schur output", sizes("schur", 1, output="complex"), paired(3, 3)),
    Case("scipy.linalg.rsf2csf", form_of_form(0), paired(3, 3)),
    Case("scipy.linalg.rsf2csf vectors", form_of_form(1), paired(3, 3)),
    case("hessenberg", regular(4, 4)),
    case("hessenberg", regular(2, 3, 3), note=" basis", calc_q=True, part=1),
    case("hessenberg", reducible(3, 3), note=" complex"),
    case("matrix_balance", graded(3, 3), part=0),
    Case("scipy.linalg.cdf2rdf", in_real_numbers(0), complexes(2), complexes(4, 2)),
    Case("scipy.linalg.cdf2rdf vectors", in_real_numbers(1), complexes(2), complexes(4, 2)),
    *(
        case("ldl", domain(3, 3), note=f" {name} {k}", part=k, **options)
        for name, domain, options in (
            ("pairs", pivoted, {}), ("upper", graded, {"lower": False}),
            ("complex", regular_complex, {"hermitian": False}),
        )
        for k in (0, 1)
    ),
    case("rq", wide(2, 3), part=0),
    case("rq", wide(2, 3), note=" economic", part=1, mode="economic"),
    case("rq", tall(3, 2), note=" r", mode="r"),
    case("rq", regular_complex(2, 2), note=" complex", part=1),
    case("qr_multiply", tall(3, 2), real(2, 3), part=0),
    case("qr_multiply", tall(3, 2), real(2), note=" left", part=0, mode="left"),
    case("qr_multiply", regular_complex(3, 3), complexes(3, 3), note=" conjugate", part=0, conjugate=True),
    Case("scipy.linalg.qr_insert", of_qr("qr_insert", 1, 1), tall(3, 2), real(2)),
    Case("scipy.linalg.qr_insert 1", whole_of_qr("qr_insert", 0, 1, "col", size=2), tall(3, 1), real(3)),
    Case("scipy.linalg.qr_delete", of_qr("qr_delete", 0, 1), tall(3, 2)),
    Case("scipy.linalg.qr_update", of_qr("qr_update", 0), tall(3, 2), real(3), real(2)),
    *riccati("continuous"),
    *riccati("discrete"),
]  # fmt: skip
