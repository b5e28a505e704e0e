"""Products, systems of equations and orders in programs: nothing, one, stacks of stacks, and every dtype."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape import ops
from tests.naive_program import compiled_for, counts, run
from tests.tiers import takes_long


def normal(*shape, dtype=float, salt=0):
    rng = np.random.default_rng([salt, *shape])
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 4 * x).astype(dtype)


@given(
    rows=st.sampled_from([1, 2, 3, 8, 17]), inner=st.sampled_from([1, 2, 3, 8, 70]),
    columns=st.sampled_from([1, 2, 9]), stacks=st.sampled_from([
        ((4,), (4,)), ((), (4,)), ((4,), ()), ((1,), (4,)), ((4,), (1,)), ((3, 1), (4,)), ((2, 3), (2, 3)),
        ((1, 1), (2, 3)), ((0,), (0,)), ((0,), (1,)), ((1,), (1,)),
    ]),
    dtype=st.sampled_from([np.float64, np.float32]), seed=st.integers(0, 9),
)  # fmt: skip
def test_stacks_of_products_with_vectors_are_numpys(rows, inner, columns, stacks, dtype, seed):
    rng = np.random.default_rng(seed)  # small integers: exact in any order
    a, b = (
        rng.integers(-3, 4, (*stack, *matrix)).astype(dtype)
        for stack, matrix in zip(stacks, [(rows, inner), (inner, columns)], strict=True)
    )
    compiled, program = compiled_for(np.matmul, a, b)
    expected = a @ b
    for found in (compiled(a, b), run(program.ir, [a, b])[0]):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
        assert not np.signbit(found[found == 0]).any()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shapes", [((5, 1, 3), (5, 3, 1)), ((5, 3, 3), (5, 3, 1)), ((3, 3), (5, 3, 1)),
                                    ((5, 3, 1), (5, 1, 3))])  # fmt: skip
def test_vectors_in_stacks_keep_nan_and_infinity(shapes):
    a, b = (normal(*shape) for shape in shapes)
    a.flat[1], b.flat[4], b.flat[7] = np.nan, np.inf, 0.0
    compiled, _ = compiled_for(np.matmul, a, b)
    np.testing.assert_allclose(compiled(a, b), a @ b, rtol=1e-13)
    gradient = tape.grad(lambda a, b: np.sum(np.matmul(a, b) ** 2), argnums=(0, 1))
    compiled, _ = compiled_for(gradient, a, b)
    for found, expected in zip(compiled(a, b), gradient(a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def regular(*shape, dtype=float):
    return normal(*shape, dtype=dtype) / 4 + 3 * np.eye(shape[-1], dtype=dtype)


def compiled_like(f, args, left, callbacks=(), tolerance=1e-12):
    """The program has NumPy's results, these instructions, and calls these operations."""
    compiled, program = compiled_for(f, *args)
    found, expected = compiled(*args), f(*args)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    assert set(program.explain().callbacks) == {*callbacks}
    every = [of.attrs[0] if of.op == "kernel" else of.op for of in program.ir.instructions]
    assert sorted(op for op in every if op in WATCHED) == sorted(left.split())
    return program


WATCHED = {
    "matmul", "matmul_add", "numpy_matmul", "solve", "triangular_solve", "cholesky", "small_solve",
    "small_cholesky", "small_det", "small_inv", "det", "inv", "slogdet", "numpy_solve", "cholesky_lo",
    "cholesky_up", "callback",
}  # fmt: skip


# ---- products --------------------------------------------------------------------------------------------

SHAPES = {
    "no rows": ((0, 3), (3, 2), ""), "no columns": ((2, 3), (3, 0), ""),
    "nothing to add": ((2, 0), (0, 3), ""),
    "no matrices": ((0, 2, 3), (0, 3, 2), ""), "no matrices in a stack": ((2, 0, 2, 3), (0, 3, 2), ""),
    "one number": ((1, 1), (1, 1), "matmul"), "a stack and a matrix": ((4, 2, 3), (3, 2), "matmul"),
    "a matrix and a stack": ((2, 3), (4, 3, 2), "matmul"), "two stacks": ((4, 2, 3), (4, 3, 2), "matmul"),
    "a stack for each": ((4, 1, 2, 3), (5, 3, 2), "matmul"),
    "stacks of three axes": ((2, 1, 3, 2, 3), (4, 1, 3, 2), "matmul"),
    "stacks of four axes": ((2, 1, 1, 2, 2, 3), (3, 1, 2, 3, 2), "matmul"),
    "a stack of three axes and a matrix": ((2, 2, 3, 2, 3), (3, 2), "matmul"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128, np.int8])
@pytest.mark.parametrize("name", SHAPES)
def test_products_of_all_shapes(name, dtype):
    left, right, op = SHAPES[name]
    op = op if np.dtype(dtype).kind == "f" or not op else "numpy_matmul"
    args = normal(*left, dtype=dtype), normal(*right, dtype=dtype, salt=1)
    program = compiled_like(np.matmul, args, op, tolerance=1e-4 if dtype == np.float32 else 1e-12)
    for instruction in program.ir.instructions:
        if instruction.op in ("matmul", "numpy_matmul"):
            assert len(instruction.shape) <= (4 if instruction.op == "matmul" else 3)


def test_products_of_two_dtypes_are_of_the_wider_one():
    for left, right, op in [("f4", "f8", "matmul"), ("i8", "f4", "matmul"), ("i4", "i8", "numpy_matmul")]:
        args = normal(2, 3, dtype=left), normal(3, 4, dtype=right)
        compiled_like(np.matmul, args, op)


# Factors that products take in, and what of it is left.
TINY, HUGE = np.finfo(float).tiny, np.finfo(float).max
SCALED = {
    "nothing": (lambda x, y: x @ y, "matmul", ()),
    "twice": (lambda x, y: 2.0 * (3.0 * (x @ y)), "matmul", (6.0,)),
    "a number behind": (lambda x, y: (x @ y) * 0.5, "matmul", (0.5,)),
    "zero": (lambda x, y: 0.0 * (x @ y), "matmul", (0.0,)),
    "a sign": (lambda x, y: -(x @ y), "matmul", (-1.0,)),
    "a sign and a number": (lambda x, y: -(2.0 * (x @ y)), "matmul", (-2.0,)),
    "the least": (lambda x, y: TINY * (x @ y), "matmul", (TINY,)),
    "less": (lambda x, y: 0.5 * TINY * (x @ y), "matmul", ()),
    "the largest": (lambda x, y: -HUGE * (1e-300 * x @ y), "matmul", (-HUGE,)),
    "more": (lambda x, y: 1e200 * (1e200 * (x @ y * 0.0)), "matmul", (0.0,)),
    "a sum": (lambda x, y: x + x @ y, "matmul_add", (1.0,)),
    "a scaled sum": (lambda x, y: 3.0 * (x @ y) + x, "matmul_add", (3.0,)),
    "a difference": (lambda x, y: x - x @ y, "matmul_add", (-1.0,)),
    "a difference with a sign": (lambda x, y: x - -(x @ y), "matmul_add", (1.0,)),
    "a scaled difference": (lambda x, y: x - 4.0 * (x @ y), "matmul_add", (-4.0,)),
    "both factors": (lambda x, y: (2.0 * x) @ (y * 3.0), "matmul", (6.0,)),
    "one for both factors": (lambda x, y: (lambda s: s @ s)(-3.0 * x), "matmul", (9.0,)),
    "one turned for both factors": (lambda x, y: (lambda s: s.T @ s)(-3.0 * x), "matmul", (9.0,)),
    "a factor and the product": (lambda x, y: 5.0 * ((2.0 * x) @ y), "matmul", (10.0,)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SCALED)
def test_factors_of_products(name):
    f, op, factor = SCALED[name]
    program = compiled_like(f, (normal(3, 3), normal(3, 3, salt=1)), op)
    (product,) = [of for of in program.ir.instructions if of.op == op]
    assert tuple(product.attrs) == factor


def test_one_factor_scales_two_products_and_each_is_told():
    def f(x, y):
        scaled = 2.0 * x
        return scaled @ y, 3.0 * (y @ scaled), scaled @ scaled

    program = compiled_like(f, (normal(3, 3), normal(3, 3, salt=1)), "matmul matmul matmul")
    factors = [of.attrs for of in program.ir.instructions if of.op == "matmul"]
    assert factors == [(2.0,), (6.0,), (4.0,)]


TURNED = {
    "a product": (lambda x, y: np.transpose(x @ y), 2),
    "a product of what is turned": (lambda x, y: np.transpose(x.T @ y.T), 0),
    "a product of one that is turned": (lambda x, y: np.transpose(x.T @ y), 1),
    "a product with itself": (lambda x, y: np.transpose(x @ x), 1),
    "stacks": (lambda x, y: np.swapaxes(np.stack([x, y]) @ np.stack([y, x]), 1, 2), 2),
    "other axes of a stack": (lambda x, y: np.swapaxes(np.stack([x, y, x]) @ y, 0, 1), 1),
    "what is read as it is, too": (lambda x, y: (lambda p: (np.transpose(p), p + 1.0))(x @ y), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNED)
def test_products_that_are_only_read_turned_are_those_of_turned_factors(name):
    f, turns = TURNED[name]
    program = compiled_like(f, (normal(3, 3), normal(3, 3, salt=1)), "matmul")
    assert sum(of.op == "transpose" for of in program.ir.instructions) == turns
    product = [id for id, of in enumerate(program.ir.instructions) if of.op == "matmul"]
    is_result = program.ir.outputs == product
    assert is_result == (name not in ("other axes of a stack", "what is read as it is, too"))


# ---- systems of equations ----------------------------------------------------------------------------------

SYSTEMS = {
    "a vector": ((3, 3), (3,), "solve", ()), "columns": ((3, 3), (3, 2), "solve", ()),
    "one matrix for a stack": ((3, 3), (4, 3, 2), "solve", ()),
    "one matrix in a stack": ((1, 1, 3, 3), (2, 4, 3, 2), "solve", ()),
    "stacks": ((2, 3, 3), (4, 2, 3, 2), "solve", ()),
    "a stack for one right side": ((4, 3, 3), (3, 2), "solve", ()),
    "no matrices": ((0, 3, 3), (0, 3, 2), "", ()), "no equations": ((0, 0), (0, 2), "", ()),
    "no right sides": ((3, 3), (3, 0), "callback", ("solve",)),
    "many without right sides": ((32, 3, 3), (32, 3, 0), "callback", ("solve",)),
    "one of many": ((1, 3, 3), (32, 3, 1), "solve", ()),
    "many for one": ((32, 3, 3), (1, 3, 1), "small_solve", ()),
    "many in two axes": ((8, 4, 2, 2), (4, 2, 1), "small_solve", ()),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_of_all_shapes(name, dtype):
    left, right, op, callbacks = SYSTEMS[name]
    args = regular(*left, dtype=dtype), normal(*right, dtype=dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    compiled_like(np.linalg.solve, args, op, callbacks, tolerance)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(
    ("shape", "op"),
    [((3, 3), "cholesky"), ((2, 3, 3), "cholesky"), ((2, 2, 3, 3), "cholesky"), ((0, 0), ""),
     ((0, 3, 3), ""), ((32, 8, 8), "small_cholesky"), ((32, 9, 9), "cholesky"),
     ((4, 8, 2, 2), "small_cholesky")],
)  # fmt: skip
def test_cholesky_factors_of_all_shapes(shape, op, upper):
    x = normal(*shape) / 4
    a = np.matmul(x, np.swapaxes(x, -1, -2)) + 9 * np.eye(shape[-1])

    def f(a):
        return ops.linalg.cholesky(a, upper=upper)

    compiled, program = compiled_for(f, a)
    lower = np.linalg.cholesky(a)
    expected = np.swapaxes(lower, -1, -2) if upper else lower
    np.testing.assert_allclose(compiled(a), expected, rtol=1e-12, atol=1e-13)
    assert not program.explain().callbacks
    every = [of.attrs[0] if of.op == "kernel" else of.op for of in program.ir.instructions]
    assert [name for name in every if "cholesky" in name] == op.split()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64, np.int64])
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 2, 2), (1, 1), (2, 3, 3)])
def test_determinants_of_nothing_are_one(shape, dtype):
    a = regular(*shape, dtype=dtype)
    tolerance = 1e-4 if np.dtype(dtype).char in "fF" else 1e-11
    for f, op in ((np.linalg.det, "det"), (lambda a: tuple(np.linalg.slogdet(a)), "slogdet")):
        compiled_like(f, (a,), op if a.size else "", tolerance=tolerance)


def test_results_are_of_single_precision_if_all_operands_are():
    a, b = regular(3, 3, dtype=np.float32), normal(3, 2)
    for right, dtype in ((b, np.float64), (b.astype(np.float32), np.float32), (b.astype(int), np.float64)):
        compiled, _ = compiled_for(lambda a, b: np.linalg.lstsq(a, b)[0], a, right)
        assert compiled(a, right).dtype == dtype == np.linalg.lstsq(a, right)[0].dtype
        compiled, _ = compiled_for(np.linalg.solve, a, right)
        assert compiled(a, right).dtype == dtype == np.linalg.solve(a, right).dtype


# ---- orders ------------------------------------------------------------------------------------------------

ORDERS = [np.sort, np.argsort, lambda x, axis: np.argsort(x, axis, kind="stable")]


@pytest.mark.parametrize("f", ORDERS, ids=["sort", "argsort", "stable argsort"])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (0, 4), (4, 0), (2, 3)])
def test_what_is_sorted_as_it_is_has_no_kernel(f, axis, shape):
    x = normal(*shape)
    compiled, program = compiled_for(lambda x: f(x, axis), x)
    found, expected = compiled(x), f(x, axis)
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, found.shape) == (expected.dtype, shape)
    is_sorted = x.size == 0 or shape[axis] == 1
    assert ("kernel" in counts(program.ir)) != is_sorted


@pytest.mark.parametrize(
    ("axis", "other", "kernels"),
    [
        (0, 0, ["argsort", "sort"]),
        (0, -2, ["argsort", "sort"]),
        (1, -1, ["argsort", "sort"]),
        (1, 0, ["argsort"]),
    ],
)
def test_what_is_read_by_the_order_that_sorts_it_is_sorted(axis, other, kernels):
    """Along the same axis; along another one it is looked up."""

    def f(x):
        order = np.argsort(x, axis)
        return order, np.take_along_axis(x, order, other)

    x = normal(3, 3)
    compiled, program = compiled_for(f, x)
    for one, expected in zip(compiled(x), f(x), strict=True):
        np.testing.assert_array_equal(one, expected)
    assert [of.attrs[0] for of in program.ir.instructions if of.op == "kernel"] == kernels


@pytest.mark.parametrize("count", [0, 1, 3])
def test_values_are_written_to_as_many_places_as_a_mask_has(count):
    mask = np.arange(6) % 2 == 0 if count == 3 else np.arange(6) < count
    values = np.arange(float(count)) + 1

    def f(x, mask, values):
        return ops.set_at(x, values, mask), np.flatnonzero(mask)

    x = normal(6)
    compiled = tape.compile(f)
    for _ in range(2):
        found, places = compiled(x, mask, values)
        np.testing.assert_array_equal(places, np.flatnonzero(mask))
        expected = x.copy()
        expected[mask] = values
        np.testing.assert_array_equal(found, expected)
    (program,) = compiled.programs.values()
    assert set(program.explain().callbacks) == (set() if count else {"set_at"})


@pytest.mark.parametrize("least", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("weighs", [False, True])
def test_counts_are_as_long_as_the_largest_number_or_as_is_asked_for(least, weighs):
    def f(x, w):
        return np.bincount(x, w if weighs else None, minlength=least)

    x, w = np.array([1, 3, 1]), np.array([0.5, 2.0, 1.5])
    compiled, program = compiled_for(f, x, w)
    np.testing.assert_array_equal(compiled(x, w), f(x, w))
    np.testing.assert_array_equal(compiled(np.array([0, 0, 3]), w), f(np.array([0, 0, 3]), w))
    assert not program.explain().callbacks


def test_searches_in_nothing_and_for_nothing():
    for x, keys in [((), (1.0, 2.0)), ((1.0, 2.0), ()), ((), ()), ((1.0,), (0.5, 1.0, 2.0))]:
        for side in ("left", "right"):
            args = np.array(x, float), np.array(keys, float)
            compiled, program = compiled_for(lambda x, v, side=side: np.searchsorted(x, v, side), *args)
            np.testing.assert_array_equal(compiled(*args), np.searchsorted(*args, side))
            assert ("kernel" in counts(program.ir)) == bool(x and keys)


def numpys(f, *args):
    """The program of a function, which returns what NumPy does, of the same dtype and shape."""
    compiled, program = compiled_for(f, *args)
    for _ in range(2):
        found, expected = compiled(*args), f(*args)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)
    return program


def kernels(program):
    return [of.attrs[0] for of in program.ir.instructions if of.op == "kernel"]


@takes_long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1,), (5,), (3, 4), (2, 5), (4, 1), (1, 4)])
def test_quantiles_of_rows_of_which_some_have_nan(shape, dtype):
    x = normal(*shape, dtype=dtype)
    holed = x.copy()
    holed.flat[0] = np.nan
    shares = np.array([0.5, 0.25, 1.0, 0.0])
    for axis in (None, 0, -1):
        functions = [
            lambda x, axis=axis: np.quantile(x, shares, axis=axis, method="lower"),
            lambda x, axis=axis: np.nanquantile(x, shares, axis=axis, method="higher"),
            lambda x, axis=axis: np.quantile(x, shares[:0], axis=axis),
            lambda x, axis=axis: np.nanmedian(x, axis=axis),
        ]
        for f in functions:
            for rows in (x, holed):
                assert not numpys(f, rows).explain().callbacks


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (np.zeros((2, 0)), []), (np.zeros((2, 1)), []), (np.arange(6.0).reshape(1, 6), ["argsort"]),
        (np.array([[1.0, 2, 0, 1], [2, 1, 2, 1]]), ["refined_order"]), (np.array([3.0]), []),
    ],
)  # fmt: skip
def test_orders_by_several_keys(keys, expected):
    found = kernels(numpys(np.lexsort, keys))
    assert set(expected) <= {name.removeprefix("stable_") for name in found}
    assert bool(found) == bool(expected)


@pytest.mark.parametrize("kth", [0, 3, -1, (0, 5), (2, -2)])
@pytest.mark.parametrize("axis", [0, 1])
def test_partitions_put_elements_where_sorting_does(axis, kth):
    x = (
        np.sin(np.arange(1300.0) ** 2).reshape(650, 2)
        if axis == 0
        else np.cos(np.arange(1300.0)).reshape(2, 650)
    )
    compiled, program = compiled_for(lambda x: np.partition(x, kth, axis), x)
    found, places = compiled(x), np.atleast_1d(kth)
    np.testing.assert_array_equal(np.take(found, places, axis), np.take(np.sort(x, axis), places, axis))
    np.testing.assert_array_equal(np.sort(found, axis), np.sort(x, axis))
    for place in places % 650:
        before, behind = np.split(np.moveaxis(found, axis, 0), [place])
        assert np.all(np.max(before, axis=0, initial=-np.inf) <= np.min(behind, axis=0))
    assert not program.explain().callbacks
    assert "partition_order" in kernels(program)
