"""What tests of compiled functions share: compiled equals eager."""

import numpy as np
import pytest

import tape
from tape import tree
from tape.core.elementwise import elementwise

RNG = np.random.default_rng(4)


def alike(found, expected):
    """Whether two results are the same tree of the same types, dtypes and shapes, to rounding.

    Arrays of shape () from eager are scalars when compiled.
    """
    found_leaves, found_structure = tree.flatten(found)
    leaves, structure = tree.flatten(expected)
    assert found_structure == structure
    for a, b in zip(found_leaves, leaves, strict=True):
        if isinstance(b, np.ndarray):
            b = b if b.ndim else b[()]
        assert type(a) is type(b), (a, b)
        if isinstance(b, (np.ndarray, np.generic)):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            eps = np.finfo(b.dtype).eps if b.dtype.kind == "f" else 0
            np.testing.assert_allclose(a, b, rtol=64 * eps, atol=64 * eps)
        elif isinstance(b, float):
            assert a == pytest.approx(b, rel=1e-14, nan_ok=True)
        else:
            assert a == b


def check(f, *calls):
    """Compiled equals eager, where it records and where it replays; each call is a tuple of arguments."""
    compiled = tape.compile(f)
    for args in (*calls, *calls):
        alike(compiled(*args), f(*args))
    return compiled


def vectors(n=3, dtype=np.float64):
    return RNG.normal(size=n).astype(dtype)


def _cube(x):
    return x**3


called_back = elementwise(_cube, lambda d, out, x: d * (3 * x * x), name="called_back")
"""An operation that programs have no instruction for."""
