"""Norms where they have kinks, and what they make of options."""

import numpy as np
import pytest

import tape
from tape import errors, ops
from tests.oracles import assert_close, assert_same, jvp, record, vjp

VECTOR_ORDERS = (None, 0.5, 1, 1.5, 2, 3, np.inf, -np.inf, -1)
MATRIX_ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)


def norm(*args, **kwargs):
    return lambda x: np.linalg.norm(x, *args, **kwargs)


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.int64])
@pytest.mark.parametrize("axis", [None, 1, (1, 0)], ids=str)
def test_values_are_those_of_numpy(axis, dtype):
    x = np.array([[1, -2, 3], [0, 5, -7]], dtype)
    for order in (*VECTOR_ORDERS, 0) if axis == 1 else MATRIX_ORDERS:
        if dtype == np.float16 and order in ("nuc", 2, -2) and axis != 1:
            with pytest.raises(errors.DTypeError, match=r"^norm: LAPACK has no float16"):
                ops.linalg.norm(x, order, axis)
            continue
        for keepdims in (False, True):
            with np.errstate(divide="ignore"):
                expected = np.linalg.norm(x, order, axis, keepdims)
                assert_same(ops.linalg.norm(x, order, axis, keepdims), expected)


# ---- kinks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("order", VECTOR_ORDERS[:-1])
def test_the_derivative_of_the_norm_of_zero_is_zero(order, dtype):
    x = np.zeros(3, dtype)
    assert_same(vjp(norm(order), [x])[0], x)
    assert_same(jvp(norm(order), [x], [np.ones(3, dtype)]), np.float64(0))
    rows = vjp(lambda x: np.sum(norm(order, axis=1)(x)), [np.array([[0, 0], [3, 4]], dtype)])[0]
    assert not np.any(rows[0])
    assert np.any(rows[1])


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_the_derivative_of_the_norm_of_a_matrix_of_zeros_is_zero(order, dtype):
    x = np.zeros((3, 2), dtype)
    assert_same(vjp(norm(order), [x])[0], x)
    assert_same(jvp(norm(order), [x], [np.ones((3, 2), dtype)]), np.float64(0))


def test_second_derivatives_at_zero_are_no_nan():
    for order in (None, 2, 3):
        assert_same(tape.hessian(norm(order))(np.zeros(2)), np.zeros((2, 2)))


@pytest.mark.parametrize("order", [1.5, 3, 2, 1])
def test_elements_that_are_zero_among_others(order):
    x = np.array([0.0, 3.0, -4.0])
    (grad,) = vjp(norm(order), [x])
    p, length = order, np.linalg.norm(x, order)
    assert_close(grad, np.sign(x) * (np.abs(x) / length) ** (p - 1), 1e-15)


@pytest.mark.parametrize(
    ("order", "x", "expected"),
    [
        (np.inf, [2.0, -2.0, 1.0], [0.5, -0.5, 0.0]),
        (-np.inf, [1.0, -1.0, 3.0], [0.5, -0.5, 0.0]),
        (1, [[1.0, 2.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.0]]),
        (2, np.eye(3), np.eye(3) / 3),
        ("nuc", np.diag([2.0, 2.0]), np.eye(2)),
        ("nuc", np.diag([2.0, 0.0]), np.diag([1.0, 0.0])),
    ],
)
def test_equal_largest_ones_share_the_derivative(order, x, expected):
    assert_close(vjp(norm(order), [np.array(x)])[0], np.array(expected), 1e-15)


def test_norms_do_not_lose_tiny_numbers_in_their_derivatives():
    for scale in (1e-100, 1e100):
        x = scale * np.array([3.0, 4.0])
        assert_close(vjp(norm(), [x])[0], [0.6, 0.8], 1e-14)
        assert_close(vjp(norm(3), [x])[0], np.array([9, 16]) / 91 ** (2 / 3), 1e-13)


def test_a_norm_over_no_axis_is_the_absolute_value():
    x = np.array([[-1.0, 2.0, 0.0]])
    for keepdims in (False, True):
        found = ops.linalg.vector_norm(x, axis=(), keepdims=keepdims)
        assert_same(found, np.linalg.vector_norm(x, axis=(), keepdims=keepdims))
    assert_same(vjp(lambda x: np.linalg.vector_norm(x, axis=()), [x], np.ones((1, 3)))[0], np.sign(x))


# ---- condition numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("p", [None, 1, "fro", np.inf])
def test_the_condition_of_a_singular_matrix_is_infinite(p):
    x = np.stack([np.ones((2, 2)), np.zeros((2, 2)), np.diag([1.0, 2.0])])  # p None: to rounding
    trace, _, out = record(lambda x: np.linalg.cond(x, p), [x])
    assert_same(out.value, np.linalg.cond(x, p))
    (grad,) = trace.backward_param_grads(out)
    assert not np.any(grad[:-1])
    assert np.any(grad[-1])


def test_what_is_singular_but_for_rounding_has_the_condition_of_numpy_without_a_derivative():
    for x in (np.ones((2, 2)), np.arange(9.0).reshape(3, 3), np.ones((4, 3), np.float32)):
        f = tape.value_and_grad(np.linalg.cond)
        value, grad = f(x)
        assert_same(value, np.linalg.cond(x))
        assert_same(grad, np.zeros(x.shape, x.dtype))
        _, again = tape.compile(f)(x)
        assert not np.any(again)
    assert np.all(np.diag(tape.grad(np.linalg.cond)(np.diag([1.0, 1e-13]))) != 0)


@pytest.mark.parametrize("p", [None, -2, 1, "fro"])
def test_the_condition_is_a_scalar_for_one_matrix_and_takes_no_step_more_for_several(p):
    a = np.diag([4.0, 2.0])
    assert type(ops.linalg.cond(a, p)) is type(np.linalg.cond(a, p))
    trace, _, several = record(lambda a: ops.linalg.cond(a, p), [np.stack([a, a])])
    assert several.shape == (2,)
    assert trace.nodes[-1].op.name == "where"


def test_the_condition_of_what_is_not_a_number_is_none():
    x = np.array([[np.nan, 1.0], [1.0, 2.0]])
    assert np.isnan(ops.linalg.cond(x, 1))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "f"),
    [
        (errors.OptionError, norm("fro", axis=0)),
        (errors.OptionError, norm("nuc", axis=1)),
        (errors.OptionError, norm(3)),
        (errors.OptionError, norm("frobenius")),
        (errors.ShapeError, norm(axis=5)),
        (errors.ShapeError, norm(axis=(0, 0))),
        (errors.ShapeError, norm(axis=1.5)),
        (errors.ShapeError, lambda x: np.linalg.norm(x[None], 1)),
        (errors.ShapeError, lambda x: np.linalg.norm(x[:0], -np.inf, axis=0)),
        (errors.ShapeError, lambda x: np.linalg.matrix_norm(x[0])),
        (errors.ShapeError, lambda x: np.linalg.cond(x[:0])),
        (errors.ShapeError, lambda x: np.linalg.cond(x[0])),
        (errors.ShapeError, lambda x: np.linalg.cond(x, 1)),
        (errors.OptionError, lambda x: np.linalg.cond(x[:, :2], 3)),
        (errors.OptionError, lambda x: np.linalg.vector_norm(x, ord="fro")),
    ],
)
def test_errors(error, f):
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    with pytest.raises(error) as info:
        f(x)
    assert "test_norms.py" in str(info.value)
    assert all(node.op is None or node.op.name in ("getitem", "reshape") for node in trace.nodes)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.clongdouble])
@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("norm", lambda x: ops.linalg.norm(x, "nuc")), ("norm", lambda x: ops.linalg.norm(x, 2)),
        ("norm", lambda x: ops.linalg.norm(x, -2)), ("det", ops.linalg.det), ("inv", ops.linalg.inv),
        ("slogdet", ops.linalg.slogdet), ("svd", ops.linalg.svd), ("qr", ops.linalg.qr),
        ("svdvals", ops.linalg.svdvals), ("pinv", ops.linalg.pinv), ("eigh", ops.linalg.eigh),
        ("eigvalsh", ops.linalg.eigvalsh), ("eig", ops.linalg.eig), ("eigvals", ops.linalg.eigvals),
        ("cholesky", ops.linalg.cholesky), ("expm", ops.linalg.expm),
        ("cond", ops.linalg.cond), ("cond", lambda x: ops.linalg.cond(x, 1)),
    ],
)  # fmt: skip
def test_dtypes_that_lapack_has_not_are_refused_by_the_function_that_was_called(name, f, dtype):
    """At the call, and with nothing recorded."""
    x = np.array([[2, 1], [1, 3]], dtype)
    with tape.Trace() as trace:
        for each in (x, trace.param(x)):
            with pytest.raises(errors.DTypeError, match=rf"^{name}: LAPACK has no {x.dtype}"):
                f(each)
    assert [node for node in trace.nodes if node.op is not None] == []


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro"])
def test_conditions_of_infinite_matrices_are_those_of_numpy_in_programs_too(p):
    inf, eye = np.inf, np.eye(2)
    compiled = tape.compile(lambda x: np.linalg.cond(x, p))
    compiled(eye)
    matrices = [
        [[inf, inf], [inf, inf]],
        [[inf, 1.0], [1.0, 2.0]],
        [[inf, 0.0], [0.0, inf]],
        [[2.0, 1.0], [0.0, 3.0]],
    ]
    for x in (*map(np.array, matrices), np.stack([eye, np.full((2, 2), inf)])):
        with np.errstate(all="ignore"):
            expected = np.linalg.cond(x, p)
            np.testing.assert_allclose(compiled(x), expected)
            np.testing.assert_allclose(ops.linalg.cond(x, p), expected)
