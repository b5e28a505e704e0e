"""Reductions and scans in programs: every kind, over every choice of axes, of whatever operand."""

from itertools import combinations

import numpy as np
import pytest

import tape
from tape.program.program import Program
from tape.program.record.recording import record
from tests.naive_program import compiled_for, counts
from tests.oracles import assert_close
from tests.tiers import takes_long

KINDS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")
SHAPE = (2, 3, 1, 2)
AXES = [None, *[axes for n in range(5) for axes in combinations(range(4), n)], -1, -4, (0, -1), (-2, -3)]
DTYPES = ("f8", "f4", "f2", "c16", "c8", "i8", "i4", "i1", "u1", "u8", "?")


def numbers(dtype, shape=SHAPE, seed=0):
    """Few numbers, so that some are equal, and zeros of both signs."""
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 0.6
    if dtype in ("u1", "u8"):
        return rng.integers(0, 4, shape).astype(dtype)
    found = rng.integers(-2, 3, shape) * rng.choice([-0.5, 1.0, 1.5], shape)
    return (found + 0.5j * rng.integers(-2, 2, shape) if dtype[0] == "c" else found).astype(dtype)


NATIVE = {
    **dict.fromkeys(("argmax", "argmin"), ("f8", "f4", "i4", "?")),
    **dict.fromkeys(
        ("sum", "prod", "max", "min", "cumsum"), tuple(dtype for dtype in DTYPES if dtype != "f2")
    ),
    **dict.fromkeys(("any", "all"), DTYPES),
    **dict.fromkeys(("cumprod", "maximum", "minimum"), ("f8", "f4")),
}
"""Of which dtypes programs compute them themselves."""


def check(f, *args, tolerance=None, is_native=True):
    """Compiled as eager: shapes, dtypes, and numbers with the signs of zeros; return the instructions."""
    compiled, program = compiled_for(f, *args)
    found, expected = compiled(*args), f(*args)
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        one, other = np.asarray(one), np.asarray(other)
        assert (k, one.shape, one.dtype) == (k, other.shape, other.dtype)
        if tolerance is None or one.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other, err_msg=str(k))
            if one.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(one), np.signbit(other), err_msg=str(k))
        else:
            assert_close(one, other, tolerance)
    left = counts(program.ir)
    assert not is_native or "callback" not in left
    return left


@takes_long
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_reductions_over_every_choice_of_axes(kind, dtype):
    """Of small numbers with few digits: sums and products are exact in every order."""
    axes = [None, 0, 1, -1, -4] if kind.startswith("arg") else AXES
    reduce = getattr(np, kind)
    x = numbers(dtype)
    f = lambda x: [reduce(x, axis=axis, keepdims=keep) for axis in axes for keep in (False, True)]  # noqa: E731
    check(f, x, is_native=dtype in NATIVE[kind])


EMPTY = [
    ((0, 3), 0),
    ((0, 3), 1),
    ((0, 3), None),
    ((3, 0), (0, 1)),
    ((3, 0), -1),
    ((2, 0, 3), (0, 2)),
    ((0,), ()),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["sum", "prod", "any", "all"])
def test_reductions_of_nothing(kind, dtype):
    reduce = getattr(np, kind)
    arrays = [np.zeros(shape, dtype) for shape, _ in EMPTY]

    def f(*arrays):
        pairs = [(x, axis) for x, (_, axis) in zip(arrays, EMPTY, strict=True)]
        return [reduce(x, axis=axis, keepdims=keep) for x, axis in pairs for keep in (False, True)]

    check(f, *arrays, is_native=dtype in NATIVE[kind])


@pytest.mark.parametrize("kind", ["max", "min", "argmax", "argmin"])
def test_extremes_of_no_numbers_beside_others(kind):
    check(lambda x: [getattr(np, kind)(x, axis=1)], np.zeros((0, 3)))


@pytest.mark.parametrize("kind", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_extremes_with_nan_and_infinity(kind, dtype):
    x = np.array([[1, np.nan, 3], [np.inf, -np.inf, 0], [np.nan, np.inf, np.nan], [-0.0, 0.0, -0.0]], dtype)
    for array in (x, x.T.copy(), x[::-1], x[:, ::-1]):
        check(
            lambda x: [getattr(np, kind)(x, axis=axis) for axis in (None, 0, 1)],
            array,
            is_native=dtype != "f2",
            tolerance=0.0,
        )


SPREAD = {
    "all": lambda x: np.broadcast_to(x, (4, 2, 3)),
    "before": lambda x: np.broadcast_to(x[:1], (2, 3)),
    "behind": lambda x: np.broadcast_to(x[:, :1], (2, 3)),
    "both": lambda x: np.broadcast_to(x[:1, :1], (5, 2, 3)),
    "a number": lambda x: np.broadcast_to(x[0, 1], (5, 2, 3)),
    "of one": lambda x: np.broadcast_to(x[:, None, :1], (2, 1, 3)),
    "to nothing": lambda x: np.broadcast_to(x, (0, 2, 3)),
}


@takes_long
@pytest.mark.parametrize("name", SPREAD)
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "any", "argmin"])
def test_reductions_of_what_is_broadcast(kind, name):
    spread, reduce = SPREAD[name], getattr(np, kind)
    ndim = spread(np.ones((2, 3))).ndim
    axes = [*range(ndim), *([] if kind == "argmin" else combinations(range(ndim), 2))]
    if name == "to nothing" and kind in ("max", "argmin"):
        axes = [axis for axis in axes if np.ndim(axis) == 0 and axis]
    for dtype in ("f8", "i4" if kind == "argmin" else "i8"):
        check(lambda x: [reduce(spread(x), axis=axis) for axis in axes], numbers(dtype, (2, 3)))
        if name == "to nothing":
            continue
        check(
            lambda x: [reduce(spread(x), axis=axis, keepdims=True) for axis in axes], numbers(dtype, (2, 3))
        )


# What is summed of an array and another one, and what is left of it: a sign and some scales cost one number.
SCALED = {
    "2 x": (lambda x, y: 2.0 * x, {"fold": 1, "multiply": 1}),
    "x * -2": (lambda x, y: x * -2.0, {"fold": 1, "subtract": 1, "multiply": 1}),
    "x / 2": (lambda x, y: x / 2.0, {"fold": 1, "multiply": 1}),
    "-x / 2": (lambda x, y: -x / 2.0, {"fold": 1, "subtract": 1, "multiply": 1}),
    "-x": (lambda x, y: -x, {"fold": 1, "subtract": 1}),
    "3 x": (lambda x, y: 3.0 * x, {"sum_product": 1}),
    "4 x": (lambda x, y: 4.0 * x, None),
    "x y": (lambda x, y: x * y, {"sum_product": 1}),
    "2 x y": (lambda x, y: 2.0 * (x * y), {"sum_product": 1, "multiply": 1}),
    "-x y": (lambda x, y: -(x * y), {"sum_product": 1, "subtract": 1}),
    "x y[0]": (lambda x, y: x * y[0], None),
    "y[0] 2": (lambda x, y: 2.0 * y[:1], {"add": 1, "multiply": 1}),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", SCALED)
def test_sums_of_what_is_scaled(name, dtype):
    f, left = SCALED[name]
    x, y = numbers(dtype, (2, 3)), numbers(dtype, (2, 3), seed=1)
    for axis in (0, None, (0, 1)):
        found = check(lambda x, y: [np.sum(f(x, y), axis=axis)], x, y, tolerance=1e-7)  # noqa: B023
        if axis == 0 and left is not None:
            assert {op: found.get(op) for op in left} == left or name in ("3 x", "y[0] 2")
    if dtype == "f8":  # zeros of both signs have a sum of no sign
        zeros = np.array([[0.0, -0.0, -0.0], [-0.0, -0.0, 0.0]])
        check(lambda x, y: [np.sum(f(x, y), axis=0)], zeros, np.ones((2, 3)))


SCANS = {
    "cumsum": lambda x: [np.cumsum(x, axis=axis) for axis in (0, 1, -1)] + [np.cumsum(x)],
    "cumprod": lambda x: [np.cumprod(x, axis=axis) for axis in (0, 1, -1)] + [np.cumprod(x)],
    "maximum": lambda x: [np.maximum.accumulate(x, axis=axis) for axis in (0, 1, -1)],
    "minimum": lambda x: [np.minimum.accumulate(x, axis=axis) for axis in (0, 1, -1)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCANS)
def test_accumulations_along_every_axis(name, dtype):
    if dtype[0] == "c" and name in ("maximum", "minimum"):
        dtype = "f8"
    for shape in ((2, 3, 2), (1, 3, 1), (0, 3, 2), (3, 0, 2)):
        check(SCANS[name], numbers(dtype, shape), is_native=dtype in NATIVE[name])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_sums_in_the_order_of_numpy(dtype):
    """In programs that round as NumPy does, over axes that follow each other."""
    x = np.random.default_rng(0).normal(size=(3, 40, 5)).astype(dtype) * 1e3
    for axis in (0, 1, 2, (0, 1), (1, 2), (0, 1, 2), ()):
        for f in (lambda x: tape.ops.sum(x * x, axis=axis), lambda x: tape.ops.sum(-2.0 * x, axis=axis)):  # noqa: B023
            program = Program(record(f, (x,), {}, "f"), as_numpy=True)
            assert not program.ir.callbacks
            np.testing.assert_array_equal(program(x), f(x))
    f = lambda x: tape.ops.sum(x * x, axis=(0, 2))  # noqa: E731
    program = Program(record(f, (x,), {}, "f"), as_numpy=True)
    np.testing.assert_array_equal(program(x), f(x))
