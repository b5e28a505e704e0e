"""Kernels that choose, and that run along an axis, against NumPy and loops."""

import numpy as np
import pytest

import tape
from tape.kernels.choices import extremes_share, select, share
from tape.kernels.eager import avoided
from tape.kernels.recurrences import products_share, recurrence
from tests.oracles import LAYOUTS, laid_out
from tests.tiers import grid

FLOATS = [np.float64, np.float32]
SHAPE = (6, 7, 50)  # large enough for kernels
CHOICES = ["maximum", "minimum", "fmax", "fmin"]


def numbers(shape, dtype=np.float64, salt=0):
    """Small integers, many of them equal, some NaN, infinite or -0."""
    x = np.random.default_rng(salt).integers(-3, 4, shape).astype(dtype)
    if x.ndim:
        x.flat[:: 5 + salt] = np.nan
        x.flat[1::31] = np.inf
        x.flat[2::17] = -0.0
    return x


def operands(dtype):
    full = numbers(SHAPE, dtype, 1)
    return [
        full,
        full[0],
        full[0, 0],
        full[:, :1],
        full[..., :1],
        full[:1, :, :1],
        full[:1, :1, :1],
        dtype(2),
        0,
        1.5,
    ]


# ---- select --------------------------------------------------------------------------------------


def assert_selected(condition, x, y):
    found, expected = select(condition, x, y), np.where(condition, x, y)
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(np.real(found)), np.signbit(np.real(expected)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_select_is_where_for_all_that_broadcasts(dtype):
    condition = np.random.default_rng(2).uniform(size=SHAPE) < 0.5
    for x in operands(dtype):
        for y in operands(dtype):
            assert_selected(condition, x, y)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_select_is_where_in_every_layout(layout):
    condition = np.random.default_rng(2).uniform(size=SHAPE) < 0.5
    for laid in ("C", layout):
        assert_selected(laid_out(condition, laid), laid_out(numbers(SHAPE), layout), 0)
        assert_selected(laid_out(condition, layout), 0, laid_out(numbers(SHAPE), laid))


def test_select_leaves_the_rest_to_numpy():
    condition = np.random.default_rng(2).uniform(size=SHAPE) < 0.5
    x = numbers(SHAPE)
    for other in (np.float32(1), np.int64(1), 1j, True, x.astype(np.float16), x[None, None]):
        assert_selected(condition, x, other)
        assert_selected(condition, other, x.astype(np.float32))
    assert_selected(condition.astype(int), x, 0)
    assert_selected(condition[0], x, 0)
    assert_selected(condition, 1.0, 0.0)
    with avoided():
        assert_selected(condition, x, 0)


# ---- what choices pass back ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("choice", CHOICES)
def test_shares_are_those_of_the_definition(choice, dtype):
    d = numbers(SHAPE, dtype, 3)
    for x in operands(dtype):
        for y in operands(dtype):
            found = share(d, x, y, choice)
            if np.size(x) == np.size(y) == 1:
                assert found is None
                continue
            chosen = getattr(np, choice)(x, y)
            expected = np.where(np.equal(x, y), dtype(0.5) * d, np.where(np.equal(x, chosen), d, dtype(0)))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.broadcast_to(expected, SHAPE))


def test_shares_of_other_arrays_are_left_to_the_rule():
    d = numbers(SHAPE)
    assert share(d, d.astype(np.float32), d, "maximum") is None
    assert share(d, np.asfortranarray(d), d, "maximum") is None
    assert share(d[0, 0], d, d, "maximum") is None
    assert share(d, d[None, None], d, "maximum") is None
    assert share(d[:5, :2], d[:5, :2], 0, "maximum") is None
    with avoided():
        assert share(d, d, 0.0, "maximum") is None


@grid(axes=[(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], dtype=FLOATS)
def test_extreme_elements_share_evenly(axes, dtype):
    x = numbers(SHAPE, dtype)
    extremes = np.fmax.reduce(x, axis=axes, keepdims=True)
    g = numbers(extremes.shape, dtype, 3)
    is_extreme = x == extremes
    expected = np.where(
        is_extreme, g / np.maximum(is_extreme.sum(axis=axes, keepdims=True), 1).astype(dtype), 0
    )
    np.testing.assert_array_equal(extremes_share(g, x, extremes), expected)


def test_extremes_along_axes_apart_are_left_to_the_rule():
    x = numbers(SHAPE)
    assert extremes_share(x[:1, :, :1], x, x[:1, :, :1]) is None


@pytest.mark.parametrize("choice", [getattr(np, name) for name in (*CHOICES, "clip", "where")])
def test_large_and_small_arrays_have_the_same_rules(choice):
    x, y = np.random.default_rng(0).integers(-3, 4, (2, 5, 1000)).astype(float)
    operands = (x < y, x, y) if choice is np.where else (x, y, 1.5) if choice is np.clip else (x, y)

    def adjoint(part):
        floats = [k for k, operand in enumerate(operands) if k or choice is not np.where]
        sizes = [np.ndim(operand) > 1 for operand in operands]
        args = [
            operand[:, part] if large else operand for operand, large in zip(operands, sizes, strict=True)
        ]

        def f(*chosen):
            return choice(*(chosen[floats.index(k)] if k in floats else arg for k, arg in enumerate(args)))

        return tape.vjp(f, *(args[k] for k in floats))[1](np.cos(np.arange(1000.0))[part] + np.zeros((5, 1)))

    whole = adjoint(slice(None))
    for k in range(0, 1000, 100):
        for large, small in zip(whole, adjoint(slice(k, k + 100)), strict=True):
            if np.ndim(large):
                np.testing.assert_array_equal(large[:, k : k + 100], small)


# ---- along an axis -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("backwards", [False, True])
def test_recurrences_are_loops(axis, backwards, dtype):
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, *SHAPE)).astype(dtype)
    a[0], a[:, 0], a[..., 0] = np.nan, np.nan, np.nan  # what comes first has nothing to be multiplied by
    a[1:, 1:, 1:] = b[1:, 1:, 1:]
    expected = b.copy()
    rows, factors = (np.moveaxis(x, axis, 0)[:: -1 if backwards else 1] for x in (expected, a))
    for k in range(1, len(rows)):
        rows[k] += factors[k] * rows[k - 1]
    found = recurrence(a, np.asfortranarray(b), axis, backwards)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert recurrence(a, b.astype(np.float16), axis, backwards) is None
    assert recurrence(a[:1, :1], b[:1, :1], axis, backwards) is None


@grid(axes=[(0,), (1,), (2,), (0, 1), (1, 2)], zeros=[0, 1, 2], dtype=FLOATS)
def test_products_of_others_are_exact_where_factors_are_zero(axes, zeros, dtype):
    x = np.random.default_rng(0).choice([-2.0, -1.0, 0.5, 1.0], SHAPE).astype(dtype)
    x[:zeros, :zeros, :zeros] = 0
    kept = tuple(1 if i in axes else n for i, n in enumerate(SHAPE))
    g = numbers(kept, dtype)
    g[~np.isfinite(g)] = 2
    others = np.empty(SHAPE)
    for i in np.ndindex(SHAPE):
        reduced = tuple(slice(None) if k in axes else slice(i[k], i[k] + 1) for k in range(3))
        rest = np.ones(SHAPE, bool)
        rest[i] = False
        others[i] = np.prod(x[reduced][rest[reduced]], dtype=float)
    np.testing.assert_array_equal(products_share(g, x), g * others)
    assert products_share(g, x.astype(np.float16)) is None
    assert products_share(x[:1, :, :1], x) is None


@pytest.mark.parametrize("columns", [1, 3])
def test_products_of_others_overflow_only_where_they_are_too_large(columns):
    x = np.repeat([[[0.5], [1e-200], [-1.75], [1e300]]], columns, axis=2)
    g = np.full((1, 1, columns), -1.75e100)
    with np.errstate(over="ignore"):
        found = products_share(g, x)
        with avoided():
            avoiding = products_share(g, x)
    np.testing.assert_array_equal(np.isinf(found), np.isinf(avoiding))
    assert not np.isinf(found[0, [0, 2, 3]]).any()


@grid(
    shape=[(1,), (2, 1), (3, 4), (5, 1, 7), (2, 40, 3), (40, 30)], dtype=[*FLOATS, np.float16, np.complex64]
)
def test_products_of_others_are_the_same_with_and_without_machine_code(shape, dtype):
    rng = np.random.default_rng(0)
    special = rng.choice([0.0, -0.0, np.inf, np.nan], shape)
    for x in (rng.standard_normal(shape), np.where(rng.random(shape) < 0.1, special, 1.5)):
        x = np.asfortranarray(x.astype(dtype))
        for axis in range(len(shape)):
            g = rng.standard_normal([1 if k == axis else n for k, n in enumerate(shape)]).astype(dtype)
            with np.errstate(all="ignore"):
                found = products_share(g, x)
                with avoided():
                    expected = products_share(g, x)
            if shape[axis] == 1:
                assert found is expected is None
                continue
            assert found.dtype == expected.dtype == dtype
            np.testing.assert_array_equal(found, expected)
            is_number = ~np.isnan(expected)
            for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
                np.testing.assert_array_equal(np.signbit(a)[is_number], np.signbit(b)[is_number])
            if np.isfinite(x).all():
                others = np.stack([np.prod(np.delete(x, k, axis), axis) for k in range(shape[axis])], axis)
                tiny, eps = np.finfo(dtype).tiny, np.finfo(dtype).eps
                np.testing.assert_allclose(found, g * others, rtol=200 * eps, atol=tiny)
    assert products_share(np.ones((1, 3), dtype), np.ones((0, 3), dtype)) is None
