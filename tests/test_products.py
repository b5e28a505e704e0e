"""Products: the same numbers as NumPy's to the last bit, what two components stand for, refusals."""

import warnings
from itertools import pairwise, product

import numpy as np
import pytest

import tape
from tape import errors, ops
from tests.oracles import assert_close, assert_same, record, vjp

SHAPES = [(), (4,), (3, 4), (4, 3), (2, 3, 4), (2, 4, 3), (2, 1, 3, 4), (0, 4), (3, 0)]
NAMES = ["dot", "inner", "outer", "vdot", "kron", "vecdot", "matvec", "vecmat"]


def drawn(*shapes, dtype=np.float64):
    rng = np.random.default_rng(0)
    return [np.asarray(rng.normal(size=shape)).astype(dtype) for shape in shapes]


def attempt(f, *args):
    """The result of a call, or None if it is refused."""
    try:
        return f(*args)
    except ValueError:
        return None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_pair_of_shapes_does_what_it_does_in_numpy(name, dtype):
    f = getattr(np, name)
    for shapes in product(SHAPES, SHAPES):
        arrays = drawn(*shapes, dtype=dtype)
        expected = attempt(f, *arrays)
        trace = tape.Trace()
        leaves = [trace.param(a) for a in arrays]
        out = attempt(f, *leaves)
        assert (out is None) == (expected is None), shapes
        if out is None:
            assert len(trace.nodes) == 2  # nothing is left behind
        else:
            assert_same(out.value, expected)


@pytest.mark.parametrize(
    "axes", [0, 1, 2, (0, 0), ([0, 1], [0, 1]), ((-1, 0), (1, 0)), [[0], (-1,)]], ids=str
)
def test_tensordot_takes_axes_as_numpy_does(axes):
    arrays = drawn((3, 3), (3, 3))
    _, _, out = record(lambda a, b: np.tensordot(a, b, axes), arrays)
    assert_same(out.value, np.tensordot(*arrays, axes))


@pytest.mark.parametrize("axes", [3, (2, 0), ([0, 1], [0]), ([0, 0], [0, 1]), (1, 1)], ids=str)
def test_axes_that_do_not_fit_are_refused_and_leave_nothing(axes):
    trace = tape.Trace()
    leaves = [trace.param(a) for a in drawn((3, 3), (3, 4))]
    with pytest.raises(errors.ShapeError, match="tensordot"):
        np.tensordot(*leaves, axes)
    assert len(trace.nodes) == 2


@pytest.mark.parametrize("sides", [[2, 9, 3, 8, 2], [7, 2, 7, 2], [3, 3, 3, 3, 3, 3]])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_multi_dot_multiplies_in_the_order_of_numpy(sides, first, last):
    """The same rounding, so the same order."""
    shapes = [*pairwise(sides)]
    if first:
        shapes[0] = shapes[0][1:]
    if last:
        shapes[-1] = shapes[-1][:1]
    arrays = drawn(*shapes)
    _, _, out = record(lambda *args: np.linalg.multi_dot(args), arrays)
    assert_same(out.value, np.linalg.multi_dot(arrays))


def test_a_chain_that_does_not_multiply_is_refused():
    for shapes in ([(2, 3)], [(2, 3), (2, 3)], [(2, 3), (3,), (3, 2)], [(2, 3, 4), (4, 2)]):
        with pytest.raises(errors.ShapeError, match="multi_dot"):
            record(lambda *args: np.linalg.multi_dot(args), drawn(*shapes))


# ---- cross products --------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((4, 2), (3,)), ((4, 3), (2,)), ((4, 2), (1, 2))])
def test_two_components_lie_in_a_plane(shapes):
    a, b = drawn(*shapes)
    with warnings.catch_warnings(action="ignore"):
        expected = np.cross(a, b)
    _, _, out = record(np.cross, [a, b])
    assert_same(out.value, expected)
    in_space = [np.concatenate([x, np.zeros((*x.shape[:-1], 1))], -1)[..., :3] for x in (a, b)]
    whole = ops.cross(*in_space)
    assert_same(out.value, whole if out.shape == whole.shape else whole[..., 2])


def test_a_cross_product_is_orthogonal_to_both_and_so_is_its_derivative():
    a, b = drawn((5, 3), (5, 3))
    assert_close(ops.vecdot(ops.cross(a, b), a), np.zeros(5), 1e-14)
    for gradient in vjp(lambda a, b: np.sum(np.vecdot(np.cross(a, b), a + b)), [a, b]):
        assert_close(gradient, np.zeros((5, 3)), 1e-13)


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((4,), (3,)), {}),
        (((), (3,)), {}),
        (((2, 3), (5, 3)), {}),
        (((3,), (3,)), {"axisa": 1}),
        (((3,), (3,)), {"axisc": 1}),
    ],
)
def test_what_is_no_cross_product_is_refused_and_leaves_nothing(shapes, options):
    trace = tape.Trace()
    leaves = [trace.param(a) for a in drawn(*shapes)]
    with pytest.raises(errors.ShapeError, match="cross"):
        np.cross(*leaves, **options)
    assert len(trace.nodes) == 2


# ---- conjugation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vdot", "vecdot"])
def test_the_squared_length_of_a_complex_vector(name):
    """The gradient of ``sum(|z|**2)`` is ``2 conj(z)``."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=4) + 1j * rng.normal(size=4)
    (gradient,) = vjp(lambda z: np.real(getattr(np, name)(z, z)), [z])
    assert_close(gradient, 2 * z.conj(), 1e-15)


@pytest.mark.parametrize("axisc", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("lengths", [(3, 3), (2, 3), (3, 2)])
def test_cross_products_lie_along_any_axis(axisc, lengths):
    a, b = (np.random.default_rng(k).standard_normal((4, 5, n)) for k, n in enumerate(lengths))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of vectors in the plane
        expected = np.cross(a, b, axisc=axisc)
    np.testing.assert_allclose(tape.ops.cross(a, b, axisc=axisc), expected)
    tr = tape.Trace()
    np.testing.assert_allclose(tape.ops.cross(tr.param(a), b, axisc=axisc).value, expected)


def test_inner_products_take_lists():
    assert tape.ops.inner([1.0, 2.0], [3.0, 4.0]) == 11.0
    assert tape.ops.inner(np.ones(2), [3.0, 4.0]) == 7.0


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("function", [np.vecdot, np.linalg.vecdot])
def test_inner_products_are_taken_along_any_axis(function, axis):
    x, y = drawn((2, 3, 4), (2, 3, 4), dtype=complex)
    for a, b in ((x.real, y.real), (x, y)):
        expected = function(a, b, axis=axis)
        found = record(lambda a, b: function(a, b, axis=axis), [a, b])[2].value
        assert_close(found, expected, 1e-14)
        assert_close(expected, np.sum(a.conj() * b, axis=axis), 1e-14)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_a_kronecker_product_with_a_number_is_a_product(shape):
    a, b = drawn((), shape)
    for operands in ((a, b), (b, a)):
        trace, _, out = record(np.kron, operands)
        assert_same(out.value, np.kron(*operands))
        assert [node.op.name for node in trace.nodes if node.op is not None] == ["multiply"]


# ---- gradients of a matrix times a vector ----------------------------------------------------------------


LAYOUTS = {
    "contiguous": lambda v: v,
    "every second": lambda v: np.repeat(v, 2)[::2],
    "reversed": lambda v: v[::-1].copy()[::-1],
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("is_left", [True, False])
def test_gradient_of_a_matrix_times_a_vector_is_a_column_times_a_row(dtype, layout, is_left):
    rng = np.random.default_rng(3)
    factor = 1 + 1j if dtype == "c16" else 1.0
    g, v = (layout((rng.normal(size=n) * factor).astype(dtype)) for n in (3, 5))
    matrix = rng.normal(size=(3, 5) if is_left else (5, 3)).astype(dtype)
    _, pull = tape.vjp(lambda m: m @ v if is_left else v @ m, matrix)
    (gradient,) = pull(g)
    column, row = (g, v) if is_left else (v, g)
    assert_same(gradient, column[:, None] @ row[None, :])


def test_a_program_reads_the_vector_of_a_product_anew():
    v, w = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    gradient = tape.compile(tape.grad(lambda w: np.sum(w @ v)))
    np.testing.assert_array_equal(gradient(w), [[1, 2], [1, 2]])
    v[:] = 5.0, 6.0
    np.testing.assert_array_equal(gradient(w), [[5, 6], [5, 6]])
