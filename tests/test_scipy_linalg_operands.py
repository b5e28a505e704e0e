"""What functions of `tape.scipy.linalg` take: lists, Vars, numbers of single precision."""

import numpy as np
import pytest
from scipy import linalg as original

import tape
from tape.scipy import linalg
from tests import test_scipy_linalg, test_scipy_linalg_factors, test_scipy_linalg_functions

CALLS = {
    f"{file.__name__.rpartition('_')[2]}: {name}": call
    for file in (test_scipy_linalg, test_scipy_linalg_factors, test_scipy_linalg_functions)
    for name, call in file.CALLS.items()
}
REFUSED = (
    "polar wide", "polar left of a tall one", "by a function", "pivoting", "orth stack", "null_space stack",
    "subspace_angles stack",
)  # fmt: skip
"""With Vars: what has no derivative, or a shape for each matrix."""
FREE = ("schur", "null_space")
"""Results that rounding chooses among many."""


class Given:
    """A library whose functions are given something else for each array, in tuples too."""

    def __init__(self, library, convert):
        self._library, self._convert = library, convert

    def __getattr__(self, name):
        f = getattr(self._library, name)

        def call(*args, **options):
            arrays = {key: self._of(x) for key, x in options.items() if not isinstance(x, float)}
            return f(*map(self._of, args), **{**options, **arrays})

        return call

    def _of(self, x):
        if isinstance(x, tuple):
            return tuple(map(self._of, x))
        return self._convert(x) if isinstance(x, (np.ndarray, list, float)) else x


def is_differentiated(x):
    return not isinstance(x, float) and np.asarray(x).dtype.kind in "fc"


def single(x):
    """The same numbers as floats of single precision; ints of arrays stay ints."""
    x = np.asarray(x)
    return x if x.dtype.kind in "iu" else x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)


def parts(found):
    return [np.asarray(getattr(part, "value", part)) for part in tape.tree.leaves(found)]


@pytest.mark.parametrize("name", CALLS)
def test_lists_are_arrays(name):
    expected = CALLS[name](linalg)
    found = CALLS[name](Given(linalg, lambda x: np.asarray(x).tolist()))
    for one, other in zip(parts(found), parts(expected), strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.max(np.abs(other), initial=1))


TAKEN = [name for name in CALLS if not any(part in name for part in REFUSED)]


@pytest.mark.parametrize("name", TAKEN)
def test_values_with_vars_are_scipys(name):
    with tape.Trace() as trace:
        found = CALLS[name](Given(linalg, lambda x: trace.param(x) if is_differentiated(x) else x))
    for one, other in zip(parts(found), parts(CALLS[name](original)), strict=True):
        assert one.shape == other.shape
        assert one.dtype.kind == other.dtype.kind
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.max(np.abs(other), initial=1))


@pytest.mark.parametrize("name", [name for name in TAKEN if not name.endswith(("ints", "empty", "power"))])
def test_single_precision_stays_single(name):
    """With Vars and without, where SciPy's results are of double precision too."""

    def given(x):
        return trace.param(single(x)) if is_differentiated(x) else single(x)

    expected = parts(CALLS[name](original))
    with tape.Trace() as trace:
        recorded = CALLS[name](Given(linalg, given))
    for found in (recorded, CALLS[name](Given(linalg, single))):
        for one, other in zip(parts(found), expected, strict=True):
            other = single(other)
            assert one.shape == other.shape
            assert one.dtype.kind == other.dtype.kind
            if one.dtype.kind in "fc":
                assert one.dtype == other.dtype
            if not any(part in name for part in FREE):
                np.testing.assert_allclose(one, other, atol=2e-3 * np.max(np.abs(other), initial=1))
