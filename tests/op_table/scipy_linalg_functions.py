"""Functions of matrices, subspaces and polar factors of `scipy.linalg`; the oracle is SciPy."""

from typing import Any

import numpy as np
from scipy import linalg

import tape
from tests import naive
from tests.op_table.case import Case, _domain, complexes, nonzero, real, regular
from tests.op_table.determinants import regular_complex
from tests.op_table.scipy_linalg import case, tall

apart = _domain(lambda rng, s: rng.uniform(-0.3, 0.3, s) + np.diag(np.linspace(-2, 3, s[-1])))
thin = _domain(lambda rng, s: rng.uniform(-1, 1, s) + 2 * np.eye(*s))
thin_complex = _domain(lambda rng, s: rng.uniform(-1, 1, s) + 1j * rng.uniform(-1, 1, s) + 2 * np.eye(*s))


def through(name: str, make: Any, **options: Any) -> Any:
    """A function of a result that does not depend on the choice of a basis."""
    return lambda ns, *args: make(
        getattr(linalg if ns is naive else tape.scipy.linalg, name)(*args, **options)
    )


def projection(basis: Any) -> Any:
    return basis @ np.conj(basis.T)


CASES = [
    case("expm_frechet", real(2, 2), real(2, 2), part=1),
    case("expm_frechet", complexes(1, 1), real(1, 1), note=" complex", compute_expm=False),
    case("expm_cond", nonzero(1, 1)),
    case("signm", apart(2, 3, 3)),
    case("signm", regular_complex(2, 2), note=" complex"),
    Case("scipy.linalg.orth", through("orth", np.square), tall(3, 2)),
    Case("scipy.linalg.null_space", through("null_space", projection), thin(2, 4)),
    Case("scipy.linalg.null_space complex", through("null_space", projection), thin_complex(1, 3)),
    case("subspace_angles", thin(5, 2), thin(5, 3)),
    case("subspace_angles", complexes(3, 1), complexes(3, 2), note=" complex"),
    case("orthogonal_procrustes", thin(4, 3), thin(4, 3), part=0),
    case("orthogonal_procrustes", thin(4, 2), thin(4, 2), note=" scale", part=1),
    case("polar", thin_complex(3, 2), note=" complex", part=0),
    case("pinvh", regular(2, 3, 3)),
    case("pinvh", regular_complex(3, 3), note=" upper", lower=False),
]
