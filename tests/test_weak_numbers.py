"""Python's numbers beside arrays of narrow dtypes, which they do not widen: compiled functions against NumPy.

A program is recorded with one number and called with others: too large for the dtype, too small, not whole.
"""

import warnings

import numpy as np

import tape
from tests.tiers import grid, rounds

FUNCTIONS = {
    "isclose": np.isclose,
    "isclose, reversed": lambda x, c: np.isclose(c, x),
    "isclose, rtol": lambda x, c: np.isclose(x, x * (1 + 1e-3), c),
    "isclose, atol": lambda x, c: np.isclose(x, x + 1, 0.0, c),
    "isclose, NaN": lambda x, c: np.isclose(x, c, equal_nan=True),
    "allclose": np.allclose,
    "clip": lambda x, c: (np.clip(x, c, None), np.clip(x, -1.0, c), np.clip(c, x, x + 1)),
    "where": lambda x, c: (np.where(x > 0, x, c), np.where(x > c, c, x)),
    "full_like": lambda x, c: np.full_like(x * 1.5, c),
    "interp": lambda x, c: np.interp(x, [0.0, 1.0], [c, 1.0]),
    "quantile": lambda x, c: np.quantile(x, abs(c) % 1),
    "linspace": lambda x, c: np.linspace(x, c, 3),
    "nan_to_num": lambda x, c: np.nan_to_num(x, nan=c),
    "append": lambda x, c: np.append(x, c),
    "pad": lambda x, c: np.pad(x * 1.5, 1, constant_values=c),
    "select": lambda x, c: np.select([x > 0], [x], c),
    "piecewise": lambda x, c: np.piecewise(x, [x > 0], [c, lambda v: v]),
    "sum, initial": lambda x, c: np.sum(x, initial=c),
    "prod, initial": lambda x, c: np.prod(x, initial=c),
    "max, initial": lambda x, c: np.max(x, initial=c),
    "min, initial, where": lambda x, c: np.min(x, initial=c, where=x > 0),
    "nansum, initial": lambda x, c: np.nansum(x, initial=c, where=x > 0),
    "nanmax, initial": lambda x, c: np.nanmax(x, initial=c),
    "average": lambda x, c: np.average(x, weights=x * x + c),
    "stack": lambda x, c: np.stack([x[0], c]),
    "concatenate": lambda x, c: np.concatenate([x, [c]]),
    "gradient": lambda x, c: np.gradient(x, c),
    "diff": lambda x, c: np.diff(x, prepend=c),
    "power": lambda x, c: (x * 1.5) ** c,
    "remainder": lambda x, c: (x % c, c % (x * 1.5), x // c),
    "products": lambda x, c: (np.outer(x, c), np.kron(x, c)),
    "comparisons": lambda x, c: (x < c, x <= c, x == c, c > x, np.maximum(x, c), np.fmin(c, x)),
    "arithmetic": lambda x, c: (abs(x - c) / c, x * abs(c) + max(c, 1.0) * round(c, 1)),
    "searching": lambda x, c: (np.searchsorted(np.sort(x), c), np.isin(x, c), np.count_nonzero(x == c)),
    "ufuncs": lambda x, c: (np.hypot(x, c), np.arctan2(x, c), np.copysign(c, x), np.logaddexp(x, c)),
    "activations": lambda x, c: (tape.nn.leaky_relu(x * 1.5, c), tape.nn.elu(x * 1.5, c)),
}
NUMBERS = [0.5, -1e300, 1e300, 1e-300, -0.0, np.inf, np.nan, 16777217.0, 70000.5]
TOLERANCES = {2: 4e-3, 4: 1e-5, 8: 1e-7}


def outcome(f, *args):
    """What a function returns, as a list of arrays, or the class of its error."""
    try:
        return [np.asarray(leaf) for leaf in tape.tree.leaves(f(*args))]
    except Exception as error:
        return type(error)


def assert_same(found, expected, told):
    if isinstance(expected, type):
        assert found is expected or issubclass(found, tape.errors.TapeError), told
        return
    if isinstance(found, type) and issubclass(found, tape.errors.TapeError):
        return
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), told
        if b.dtype.kind == "f":
            rtol = TOLERANCES[b.dtype.itemsize]
            np.testing.assert_allclose(a, b, rtol=rtol, atol=0, err_msg=str(told))
        else:
            np.testing.assert_array_equal(a, b, str(told))


@grid(name=FUNCTIONS, dtype=["float32", "int32", "float16", "int64"])
def test_they_are_what_numpy_makes_of_them(name, dtype):
    f, draw = FUNCTIONS[name], np.random.default_rng(len(name))
    compiled = tape.compile(f)
    number = 7 if dtype.startswith("int") else np.inf
    arrays = [np.array([1.5, -2, 0.25, 3]).astype(dtype), np.array([0, 1, number, 0.1]).astype(dtype)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for c in [1.0, *draw.permutation(NUMBERS)[: rounds(9, 4)].tolist()]:
            for x in arrays:
                found, expected = outcome(compiled, x.copy(), c), outcome(f, x.copy(), c)
                assert_same(found, expected, (name, dtype, c, x, found, expected))
