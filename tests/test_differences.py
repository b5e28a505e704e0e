"""Sums over the differences of pairs become kernels, where nothing else is asked of the differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape.program.ir import differences
from tests.naive_program import compiled_for, run
from tests.oracles import assert_close


def array(*shape, dtype=np.float64):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


SQUARES, WEIGHTED = "squared_distances", "weighted_differences"


def kernels(program):
    """The kernels of differences."""
    names = [of.attrs[0] for of in program.ir.instructions if of.op == "kernel"]
    return [name for name in names if name in (SQUARES, WEIGHTED)]


def largest(program):
    """The elements of the largest array."""
    return max(of.size for of in program.ir.instructions)


def distances(x, y):
    return np.sum((x[:, None] - y) ** 2, axis=2)


def energy(x, y):
    return np.sum(np.exp(-0.5 * distances(x, y)))


def of_nearest(x, y):
    return np.sum(np.min(distances(x, y), axis=1))


def diagonal_of_hessian(x, y):
    gradient = lambda y: tape.grad(of_nearest, argnums=1)(x, y)  # noqa: E731
    return tape.jvp(gradient, (y,), (np.ones_like(y),))


def two_row_axes(x, y):
    return np.sum((x.reshape(5, -1, 1, x.shape[1]) - y) ** 2, axis=-1)


def two_length_axes(x, y):
    x, y = (z.reshape(len(z), 2, -1) for z in (x, y))
    return np.sum((x[:, None] - y) ** 2, axis=(2, 3))


def weighted_by_both_axes(x, y):
    def total(x, y):
        x, y = (z.reshape(len(z), 2, -1) for z in (x, y))
        return np.sum(np.sin(np.sum((x[:, None] - y) ** 2, axis=3)))

    return tape.grad(total, argnums=(0, 1))(x, y)


FOUND = {  # of x (40, 6) and y (30, 6): the kernels
    "squares": (distances, [SQUARES]),
    "square": (lambda x, y: np.sum(np.square(x[:, None] - y), axis=2), [SQUARES]),
    "product with itself": (lambda x, y: np.sum((x[:, None] - y) * (x[:, None] - y), axis=-1), [SQUARES]),
    "the other order": (lambda x, y: np.sum((y - x[:, None]) ** 2, axis=2), [SQUARES]),
    "columns first": (lambda x, y: np.sum((x - y[:, None]) ** 2, axis=2), [SQUARES]),
    "coordinates first": (lambda x, y: np.sum((x.T[:, :, None] - y.T[:, None]) ** 2, axis=0), [SQUARES]),
    "coordinates between": (lambda x, y: np.sum((x[:, :, None] - y.T) ** 2, axis=1), [SQUARES]),
    "axes kept": (lambda x, y: np.sum((x[:, None] - y) ** 2, axis=2, keepdims=True), [SQUARES]),
    "axes of length one": (
        lambda x, y: np.sum((x[:, None, None] - y[:, None]) ** 2, axis=(2, 3)), [SQUARES]),
    "repeated by hand": (
        lambda x, y: np.sum((np.broadcast_to(x[:, None], (40, 30, 6)) - y) ** 2, axis=2), [SQUARES]),
    "to itself": (lambda x, y: distances(x, x), [SQUARES]),
    "two axes of rows": (two_row_axes, [SQUARES]),
    "two axes of coordinates": (two_length_axes, [SQUARES]),
    "one set of coordinates of two": (
        lambda x, y: np.sum((x.reshape(-1, 1, 2, 3) - y.reshape(-1, 2, 3)) ** 2, axis=3), [SQUARES]),
    "slices": (lambda x, y: distances(x[::2, 1:5], y[::-1, 1:5]), [SQUARES]),
    "a batch": (lambda x, y: tape.vmap(distances)(x.reshape(4, 10, 6), y[:28].reshape(4, 7, 6)), [SQUARES]),
    "each point": (lambda x, y: tape.vmap(lambda a: np.sum((a - y) ** 2, axis=1))(x), [SQUARES]),
    "gradients": (tape.grad(energy, argnums=(0, 1)), [SQUARES, WEIGHTED, WEIGHTED]),
    "a gradient by one": (tape.grad(energy), [SQUARES, WEIGHTED]),
    "nearest": (tape.value_and_grad(of_nearest, argnums=(0, 1)), [SQUARES, WEIGHTED, WEIGHTED]),
    "diagonal of a Hessian": (diagonal_of_hessian, [SQUARES, WEIGHTED]),
    "gradients of a batch": (weighted_by_both_axes, [SQUARES, WEIGHTED, WEIGHTED]),
    "weights of another array": (
        lambda x, y: np.sum((x @ y.T)[:, :, None] * (x[:, None] - y), axis=0), [WEIGHTED]),
    "weights along an axis": (lambda x, y: np.sum(x[:, :1, None] * (x[:, None] - y), axis=0), [WEIGHTED]),
    "weights that are scaled by much": (
        lambda x, y: np.sum((1e9 * x[:, :1])[:, :, None] * (x[:, None] - y), axis=0), [WEIGHTED]),
    "several factors": (
        lambda x, y: np.sum(-2.0 * x[:, :1, None] * (x[:, None] - y) * y[:, 1:2] * 3.0, axis=1), [WEIGHTED]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FOUND)
def test_sums_of_differences_that_are_kernels(name, dtype):
    f, wanted = FOUND[name]
    x, y = array(40, 6, dtype=dtype), array(1, 30, 6, dtype=dtype)[0]
    compiled, program = compiled_for(f, x, y)
    assert kernels(program) == wanted
    assert largest(program) < 40 * 30 * 6
    outputs = tape.tree.flatten(compiled(x, y))[0]
    tolerance = 1000 * np.finfo(dtype).eps
    for found, naive, expected in zip(
        outputs, run(program.ir, [x, y]), tape.tree.flatten(f(x, y))[0], strict=True
    ):
        assert found.dtype == dtype
        assert_close(found, expected, tolerance)
        assert_close(found, naive, tolerance)


@pytest.mark.parametrize("rows", [90, 9])
def test_what_weights_are_scaled_by_is_applied_where_there_are_fewer(rows):
    x, y, w = array(rows, 30), array(40, 30), array(rows, 40)
    f = lambda x, y, w: np.sum(-2.0 * w[:, :, None] * (x[:, None] - y), axis=0)  # noqa: E731
    compiled, program = compiled_for(f, x, y, w)
    assert kernels(program) == [WEIGHTED]
    scaling = [of.size for of in program.ir.instructions if of.op == "multiply"]
    assert scaling == [min(w.size, y.size)]
    assert_close(compiled(x, y, w), f(x, y, w), 1e-12)


def also_a_result(x, y):
    d = x[:, None] - y
    return d, np.sum(d**2, axis=2)


def also_read(x, y):
    d = x[:, None] - y
    return np.sum(d**2, axis=2), np.max(d, axis=2)


LEFT = {
    "also a result": also_a_result,
    "also read": also_read,
    "absolute values": lambda x, y: np.sum(np.abs(x[:, None] - y), axis=2),
    "cubes": lambda x, y: np.sum((x[:, None] - y) ** 3, axis=2),
    "scaled squares": lambda x, y: np.sum((0.5 * (x[:, None] - y)) ** 2, axis=2),
    "weighted squares": lambda x, y: np.sum(y[0] * (x[:, None] - y) ** 2, axis=2),
    "largest square": lambda x, y: np.max((x[:, None] - y) ** 2, axis=2),
    "squares of rows": lambda x, y: np.sum((x[:, None] - y) ** 2, axis=0),
    "all squares": lambda x, y: np.sum((x[:, None] - y) ** 2),
    "no weights": lambda x, y: np.sum(2.0 * (x[:, None] - y), axis=0),
    "a weight for each": lambda x, y: np.sum(np.sin(x[:, None] + y) * (x[:, None] - y), axis=0),
    "a weight for each coordinate": lambda x, y: np.sum(y[0] * (x[:, None] - y), axis=0),
    "weights, over coordinates": lambda x, y: np.sum(x[:, :1, None] * (x[:, None] - y), axis=2),
    "weights, over rows in part": (
        lambda x, y: np.sum(y[:, :1] * (x.reshape(5, 4, 1, 6) - y), axis=0)),
    "weights of more axes": lambda x, y: np.sum(x[:4, :1, None, None] * (x[:, None] - y)[None], axis=1),
    "weights scaled by much": lambda x, y: np.sum(1e9 * (y[:, :1] * (x[:, None] - y)), axis=0),
    "one operand has all axes": lambda x, y: np.sum((x - y[0]) ** 2, axis=1),
    "vectors": lambda x, y: np.sum((x[:, 0][:, None] - y[:, 0]) ** 2, axis=0),
    "integers": lambda x, y: distances(np.round(x).astype(int), np.round(y).astype(int)),
}  # fmt: skip
"""Of what there is no kernel."""


@pytest.mark.parametrize("name", LEFT)
def test_other_sums_stay_what_they_are(name):
    x, y = array(20, 6), array(1, 15, 6)[0]
    compiled, program = compiled_for(LEFT[name], x, y)
    assert not kernels(program)
    for found, expected in zip(*(tape.tree.flatten(f(x, y))[0] for f in (compiled, LEFT[name])), strict=True):
        assert_close(found, expected)


def test_few_differences_and_long_rows_are_no_kernels():
    assert not kernels(compiled_for(distances, array(5, 4), array(5, 4))[1])
    assert kernels(compiled_for(distances, array(3, 4096), array(3, 4096))[1])
    assert not kernels(compiled_for(distances, array(3, 4097), array(3, 4097))[1])


def test_rounding_as_numpy_has_no_kernels():
    trace = tape.Trace()
    x, y = trace.param(array(20, 6)), trace.param(array(1, 15, 6)[0])
    root = energy(x, y)
    first = trace.backward_param_grads(root)
    for _ in range(9):  # sweeps become a program, which rounds as they do
        found = trace.backward_param_grads(root)
    for a, b in zip(first, found, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- any axes, any weights ------------------------------------------------------------------------------


FIRST, SECOND, BOTH, NEITHER = differences.FIRST, differences.SECOND, differences.BOTH, differences.NEITHER


@st.composite
def cases(draw):
    """Who has each axis, its length, whether weights have it; axes to sum over; whether of squares."""
    others = draw(st.lists(st.sampled_from([FIRST, SECOND, BOTH, NEITHER]), max_size=2))
    owners = draw(st.permutations([FIRST, SECOND, BOTH, *others]))
    lengths = [1 if owner == NEITHER else draw(st.integers(2, 4)) for owner in owners]
    are_squared = draw(st.booleans())
    of = draw(st.sampled_from([BOTH] if are_squared else [FIRST, SECOND]))
    axes = tuple([axis for axis, owner in enumerate(owners) if owner == of])
    if draw(st.integers(0, 3)) == 0:  # any others
        axes = tuple(sorted(draw(st.sets(st.integers(0, len(owners) - 1), min_size=1))))
    return owners, lengths, draw(st.lists(st.booleans(), min_size=5, max_size=5)), axes, are_squared


def is_expected(owners, weighted, axes, are_squared):
    """Whether there is a kernel; None for axes that are not side by side, which are moved there first."""
    if axes[-1] - axes[0] >= len(axes):
        return None
    long = [axis for axis, owner in enumerate(owners) if owner != NEITHER]
    summed = [axis for axis in long if axis in axes]
    if not summed:
        return False
    found = {owners[axis] for axis in summed}
    if are_squared:
        return found == {BOTH}
    is_whole = any(summed == [axis for axis in long if owners[axis] == of] for of in (FIRST, SECOND))
    of_both = [has for has, owner in zip(weighted, owners, strict=False) if owner == BOTH]
    return is_whole and not all(of_both)


@given(
    case=cases(),
    dtype=st.sampled_from([np.float64, np.float32]),
    scale=st.sampled_from([1.0, -1.0, 2.0, -0.5]),
    is_negative=st.booleans(),
    seed=st.integers(0, 9),
)
def test_any_sum_of_any_differences_is_numpys(case, dtype, scale, is_negative, seed):
    owners, lengths, weighted, axes, are_squared = case
    rng = np.random.default_rng(seed)  # small integers: exact in any order

    def integers(has_axis):
        shape = [n if has else 1 for n, has in zip(lengths, has_axis, strict=False)]
        return rng.integers(-3, 4, shape).astype(dtype)

    x, y = (integers([owner in (alone, BOTH) for owner in owners]) for alone in (FIRST, SECOND))
    w = integers(weighted)

    def f(x, y, w):
        d = x - y
        return np.sum(d * d if are_squared else scale * d * (-w if is_negative else w), axis=axes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differences, "_WORTH_IT", 1)
        compiled, program = compiled_for(f, x, y, w)
    expected = f(x, y, w)
    found = compiled(x, y, w)
    np.testing.assert_array_equal(found, expected)
    assert not np.signbit(found[(found == 0) & ~np.signbit(expected)]).any()
    np.testing.assert_array_equal(run(program.ir, [x, y, w])[0], expected)
    wanted = is_expected(owners, weighted, axes, are_squared)
    assert wanted is None or bool(kernels(program)) == wanted


# ---- what must not change --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [distances, tape.grad(energy, argnums=(0, 1)), tape.grad(of_nearest)])
def test_nan_and_infinity_stay_where_they_are(f):
    x, y = array(20, 6), array(1, 15, 6)[0]
    x[3, 2], x[5, 0], y[4, 1], y[14, 5] = np.nan, np.inf, np.nan, -np.inf
    compiled, program = compiled_for(f, x, y)
    assert kernels(program)
    for found, expected in zip(*(tape.tree.flatten(g(x, y))[0] for g in (compiled, f)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("columns", [3, 15, 16, 17, 40])
def test_ties_are_shared_as_without_a_program(columns):
    y = np.repeat(array(columns, 6), 2, axis=0)  # each twice
    x = array(1, 40, 6)[0]
    gradient = tape.grad(of_nearest, argnums=(0, 1))
    compiled, program = compiled_for(gradient, x, y)
    assert kernels(program)
    for found, expected in zip(compiled(x, y), gradient(x, y), strict=True):
        assert_close(found, expected)
    np.testing.assert_array_equal(compiled(x, y)[1][::2], compiled(x, y)[1][1::2])


def test_close_points_far_from_zero_keep_their_digits():
    x, y = 1e8 + array(20, 6), 1e8 + array(1, 15, 6)[0]
    for f in (distances, tape.grad(energy), tape.grad(energy, argnums=1)):
        compiled, program = compiled_for(f, x, y)
        assert kernels(program)
        assert_close(compiled(x, y), f(x - 1e8, y - 1e8), 1e-12)


def test_kernels_are_saved_and_loaded(tmp_path):
    x, y = array(20, 6), array(1, 15, 6)[0]
    gradient = tape.grad(energy, argnums=(0, 1))
    _, program = compiled_for(gradient, x, y)
    program.save(tmp_path / "distances.tape")
    for found, expected in zip(tape.load(tmp_path / "distances.tape")(x, y), gradient(x, y), strict=True):
        assert_close(found, expected)
