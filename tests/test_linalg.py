"""Linear algebra beside the table: values, factors put together again, degenerate points, errors."""

import itertools

import mpmath
import numpy as np
import pytest
import scipy.linalg

import tape
from tape import errors, ops
from tape.inplace.aliases import memory_of
from tests.oracles import assert_close, assert_same, difference_gradient, jvp, record, uniform, vjp
from tests.tiers import takes_long

la = ops.linalg


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))


def draw(shape, dtype=np.float64, seed=0):
    return uniform(np.random.default_rng(seed), np.empty(shape, dtype))


def symmetric(eigenvalues, seed=0):
    q = np.linalg.qr(draw((len(eigenvalues),) * 2, seed=seed))[0]
    return (q * eigenvalues) @ q.T


# ---- values --------------------------------------------------------------------------------------

CALLS = [
    ("inv", ()),
    ("det", ()),
    ("slogdet", ()),
    ("pinv", ()),
    ("pinv", (1e-3, True)),
    ("matrix_rank", ()),
    ("eig", ()),
    ("eigh", ()),
    ("eigh", ("U",)),
    ("eigvals", ()),
    ("eigvalsh", ("U",)),
    ("svd", ()),
    ("svd", (False,)),
    ("svd", (True, False)),
    ("svd", (False, True, True)),
    ("svdvals", ()),
    ("qr", ()),
    ("qr", ("complete",)),
    ("qr", ("r",)),
    ("matrix_power", (5,)),
    ("matrix_power", (-3,)),
    ("cond", ()),
    ("cond", ("nuc",)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int64])
@pytest.mark.parametrize(("name", "rest"), CALLS, ids=str)
def test_results_are_those_of_numpy(name, rest, dtype):
    a = 8 * draw((2, 4, 4), np.complex128) + 2 * np.eye(4)
    a = (a if np.dtype(dtype).kind == "c" else a.real).astype(dtype)
    if (name, rest) == ("cond", ("nuc",)) and np.finfo(np.result_type(a, np.float32)).eps > 1e-10:
        return  # NumPy inverts in float64, which would widen what is recorded
    expected = getattr(np.linalg, name)(a, *rest)
    found = getattr(la, name)(a, *rest)
    if not isinstance(expected, tuple):
        assert_same(found, expected)
        return
    assert found._fields == expected._fields
    for field in expected._fields:
        assert_same(getattr(found, field), getattr(expected, field))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3)], ids=str)
@pytest.mark.parametrize("columns", [(), (2,), (0,)], ids=str)
def test_least_squares_are_those_of_numpy(shape, columns, dtype):
    a, b = draw(shape, dtype), draw((shape[0], *columns), dtype, seed=1)
    for one, other in zip(la.lstsq(a, b), np.linalg.lstsq(a, b), strict=True):
        assert_same(one, other)
    _trace, _, traced = record(lambda a: np.linalg.lstsq(a, b), [a])
    for one, other in zip(traced, np.linalg.lstsq(a, b), strict=True):
        assert_same(one.value, other)


@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("lower", [False, True])
def test_triangular_systems_are_those_of_scipy(lower, trans):
    a, b = draw((3, 3), np.complex64) + 2 * np.eye(3, dtype=np.complex64), draw((3, 2), np.complex64)
    expected = scipy.linalg.solve_triangular(a, b, trans, lower)
    assert_same(la.solve_triangular(a, b, trans, lower), expected)


def test_the_exponential_is_that_of_scipy():
    a = draw((2, 3, 3), np.float32)
    assert_same(la.expm(a), scipy.linalg.expm(a))


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0, 20.0])
def test_the_exponential_of_programs_is_exact_to_rounding(scale):
    a = scale * np.random.default_rng(0).normal(size=(4, 4))
    with mpmath.workdps(60):
        exact = np.array(mpmath.expm(mpmath.matrix(a.tolist())).tolist(), float)
    assert np.abs(tape.compile(la.expm)(a) - exact).max() < 1e-14 * np.abs(exact).max()


def test_expm_of_what_is_not_finite_has_a_derivative_that_is_not():
    with np.errstate(all="ignore"):
        assert np.isnan(tape.grad(lambda x: np.sum(la.expm(x)))(np.full((2, 2), np.nan))).all()


def test_expm_whose_powers_overflow_has_no_derivative_of_zero():
    """SciPy returns zeros for the derivative, and NaN for the exponential."""
    a = np.array([[1e300, 2.0, 1e-200], [1e300, 2.0, -1.0], [1e300, -1.0, -0.5]])
    gradient = tape.grad(lambda s: np.sum(la.expm(s * a)))
    with np.errstate(all="ignore"):
        assert np.isnan(la.expm(-a)).all()
        assert np.isnan(gradient(-1.0))
        compiled = tape.compile(gradient)
        assert np.isnan([compiled(s) for s in (-1.0, -0.5, -1.0)]).all()


def test_a_cholesky_factor_is_what_solves():
    a, b = symmetric([1.0, 2.0, 3.0]), draw((3,))
    for lower in (False, True):
        assert_close(la.cho_solve(la.cho_factor(a, lower), b), np.linalg.solve(a, b), 1e-14)
        grads = vjp(lambda a, b, lower=lower: la.cho_solve(la.cho_factor(a, lower), b), [a, b], b)
        expected = vjp(np.linalg.solve, [a, b], b)
        assert_close(grads[0] + grads[0].T, expected[0] + expected[0].T, 1e-13)
        assert_close(grads[1], expected[1], 1e-13)


# ---- factors put together again are the matrix: the gradient of their product is the seed --------


def again_eigh(a):
    w, v = np.linalg.eigh((a + dagger(a)) / 2)
    return (v * w[..., None, :]) @ dagger(v)


def again_eig(a):
    w, v = np.linalg.eig(a)
    return (v * w[..., None, :]) @ np.linalg.inv(v)


def again_svd(a, full=False):
    u, s, vh = np.linalg.svd(a, full)
    k = s.shape[-1]
    return (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]


def again_qr(a, mode="reduced"):
    q, r = np.linalg.qr(a, mode)
    return q @ r


def again_cholesky(a):
    factor = np.linalg.cholesky((a + dagger(a)) / 2 + 3 * np.eye(a.shape[-1]))
    return factor @ dagger(factor)


SQUARE = [again_eigh, again_eig, again_cholesky]
ANY = [again_svd, again_qr, lambda a: again_svd(a, True), lambda a: again_qr(a, "complete")]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(
    ("f", "shape"),
    [*itertools.product(SQUARE, [(4, 4)]), *itertools.product(ANY, [(2, 4, 4), (5, 3), (3, 5)])],
)
def test_the_gradient_of_factors_put_together_is_the_seed(f, shape, dtype):
    a, seed, along = (draw(shape, dtype, k) for k in range(3))
    is_hermitian = f in (again_eigh, again_cholesky)
    expected = (seed + dagger(seed)) / 2 if is_hermitian else seed
    assert_close(vjp(f, [a], seed)[0], expected, 1e-12)
    pushed = (along + dagger(along)) / 2 if is_hermitian else along
    assert_close(jvp(f, [a], [along]), pushed, 1e-12)
    bent = vjp(lambda a: vjp(f, [a], seed)[0], [a], along)[0]
    assert_close(bent, np.zeros(shape), 1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_one_triangle_is_read_and_has_the_gradient(dtype):
    a = symmetric([1.0, 2.0, 4.0]).astype(dtype)
    a[np.triu_indices(3, 1)] = np.nan
    for f in (np.linalg.cholesky, np.linalg.eigvalsh, lambda a: np.linalg.eigh(a).eigenvalues,
              lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True),
              lambda a: np.linalg.pinv(a, hermitian=True)):  # fmt: skip
        (grad,) = vjp(f, [a], draw(f(a).shape, f(a).dtype))
        assert not np.any(np.triu(grad, 1))
        assert np.all(np.isfinite(grad))


@pytest.mark.parametrize(
    ("part", "shape"), [("U", (3, 2)), ("Vh", (2, 3)), ("U", (3, 3)), ("Vh", (3, 3)), ("U", (4, 3))]
)
def test_vectors_of_singular_values_that_vanish_but_for_rounding_have_no_derivative(part, shape):
    a, along = np.outer(draw(shape[:1]), draw(shape[1:], seed=1)), draw(shape, seed=2)
    full = draw(shape, seed=3)
    vectors = lambda a: getattr(np.linalg.svd(a, full_matrices=False), part)  # noqa: E731
    assert np.isfinite(jvp(vectors, [full], [along])).all()
    with pytest.raises(errors.SingularMatrixError, match="singular value that is 0"):
        jvp(vectors, [a], [along])
    with pytest.raises(errors.SingularMatrixError, match="singular value that is 0"):
        vjp(vectors, [a], np.ones_like(vectors(a)))


# ---- determinants --------------------------------------------------------------------------------


def cofactors(a):
    """Minor by minor."""
    out = np.zeros_like(a)
    for i, j in np.ndindex(a.shape):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        out[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    return out


@takes_long
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("rank", range(5))
def test_derivatives_of_a_determinant_at_every_rank(rank, dtype):
    a = draw((4, rank), dtype) @ draw((rank, 4), dtype, seed=1)
    along = draw((4, 4), dtype, seed=2)
    one = np.ones((), dtype)
    assert_close(vjp(np.linalg.det, [a], one)[0], cofactors(a), 1e-12)
    assert_close(jvp(np.linalg.det, [a], [along]), np.sum(cofactors(a) * along), 1e-12)

    def slope(a):
        return vjp(np.linalg.det, [a], one)[0]

    def bend(a):
        return vjp(lambda a: np.sum(slope(a) * along), [a], one)[0]

    assert_close(bend(a), difference_gradient(lambda a: np.sum(cofactors(a) * along), a, one), 1e-10)
    third = difference_gradient(lambda a: np.sum(bend(a) * along.T), a, one)
    assert_close(vjp(lambda a: np.sum(bend(a) * along.T), [a], one)[0], third, 1e-9)


def test_a_stack_may_have_determinants_of_every_kind():
    a = np.stack([np.eye(3), np.zeros((3, 3)), np.outer([1.0, 2, 3], [3.0, 2, 1]), draw((3, 3))])
    a[0, 1, 1] = 1e-14
    (grad,) = vjp(np.linalg.det, [a], np.ones(4))
    assert_close(grad, np.stack([cofactors(x) for x in a]), 1e-13)


def test_log_determinants_of_singular_matrices_have_no_derivative():
    trace, _, root = record(lambda a: np.linalg.slogdet(a).logabsdet, [np.zeros((2, 2))])
    assert root.value == -np.inf
    with pytest.raises(errors.SingularMatrixError):
        trace.backward_param_grads(root)


# ---- equal eigenvalues and singular values -------------------------------------------------------


@pytest.mark.parametrize("eigenvalues", [[1.0, 1, 1], [1, 1, 2], [2, 2, 2, -1, -1], [0, 0, 0]], ids=str)
@pytest.mark.parametrize("f", [np.linalg.eigvalsh, lambda a: np.linalg.eigh(a)[0], np.linalg.eigvals,
                               lambda a: np.linalg.eig(a).eigenvalues])  # fmt: skip
def test_functions_of_equal_eigenvalues_have_derivatives(f, eigenvalues):
    a = symmetric(np.array(eigenvalues))
    (grad,) = vjp(lambda a: np.sum(ops.real(f((a + a.T) / 2)) ** 3), [a])
    assert_close(grad, 3 * a @ a, 1e-13)


@pytest.mark.parametrize("f", [np.linalg.eigvalsh, np.linalg.eigvals, np.linalg.svdvals,
                               lambda a: np.linalg.eigh(a)[0], lambda a: np.linalg.eig(a)[0],
                               lambda a: np.linalg.svd(a)[1]])  # fmt: skip
def test_functions_of_equal_values_have_derivatives_forward(f):
    a, along = symmetric(np.array([2.0, 2, 1])), draw((3, 3))
    pushed = jvp(lambda a: np.sum(f((a + a.T) / 2) ** 3), [a], [along])
    assert_close(pushed, np.sum(3 * a @ a * along), 1e-13)


@pytest.mark.parametrize("values", [[1.0, 1, 1], [2, 2, 1]], ids=str)
@pytest.mark.parametrize("f", [np.linalg.svdvals, lambda a: np.linalg.svd(a, False)[1],
                               lambda a: np.linalg.lstsq(a, np.ones(a.shape[0]))[3]])  # fmt: skip
def test_functions_of_equal_singular_values_have_derivatives(f, values):
    u, v = (np.linalg.qr(draw((n, 3), seed=n))[0] for n in (4, 3))
    a = (u * values) @ v.T
    (grad,) = vjp(lambda a: np.sum(f(a) ** 4), [a])
    assert_close(grad, 4 * a @ a.T @ a, 1e-13)


VECTORS = [
    (lambda a: np.linalg.eigh(a)[1], np.eye(3)),
    (lambda a: np.linalg.eig(a)[1], np.eye(3)),
    (lambda a: np.linalg.eigh(a)[1], symmetric(np.array([1.0, 1, 2]))),
    (lambda a: np.linalg.svd(a)[0], np.eye(3)),
    (lambda a: np.linalg.svd(a)[2], symmetric(np.array([1.0, 1, 2]))),
    (lambda a: np.linalg.svd(a, False)[0], np.outer(np.ones(4), np.ones(2))),  # rank 1
    (lambda a: np.linalg.svd(a, False)[2], np.zeros((2, 3))),
]


@pytest.mark.parametrize(("f", "a"), VECTORS)
def test_vectors_of_equal_values_have_none_and_say_so(f, a):
    trace, (leaf,), root = record(f, [a])
    with pytest.raises(errors.SingularMatrixError, match="turn freely"):
        trace.backward_param_grads(root, draw(root.shape))
    with pytest.raises(errors.SingularMatrixError, match="turn freely"):
        trace.jvp(root, {leaf: draw(a.shape)})


@pytest.mark.parametrize("transform", [tape.grad, lambda f: tape.jacobian(f, mode="fwd")])
@pytest.mark.parametrize("vectors", [f for f, a in VECTORS if a.shape == (3, 3)])
def test_vectors_of_equal_values_are_refused_where_the_quotients_are_of_zeros(transform, vectors):
    for f in (lambda a: vectors(a)[0, 0], lambda a: np.sum(vectors(a)), lambda a: np.trace(vectors(a))):
        with pytest.raises(errors.SingularMatrixError, match="turn freely"):
            transform(f)(np.eye(3))
        with pytest.raises(errors.SingularMatrixError, match="turn freely"):
            tape.compile(transform(f))(np.eye(3))


def test_a_matrix_function_by_eigenvectors_is_no_wrong_number_at_equal_eigenvalues():
    def exponential(a):
        w, v = np.linalg.eigh(a)
        return (v * np.exp(w)) @ v.T

    weights = draw((3, 3))
    with pytest.raises(errors.SingularMatrixError, match="turn freely"):
        tape.grad(lambda a: np.sum(weights * exponential(a)))(np.eye(3))


def test_second_derivatives_at_equal_eigenvalues_are_an_error_and_not_a_number():
    with pytest.raises(errors.SingularMatrixError):
        tape.hessian(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(np.eye(2))


def test_what_does_not_turn_has_a_derivative_beside_equal_values():
    a = np.diag([1.0, 1.0, 2.0])
    seed = np.zeros((3, 3))
    seed[:, 2] = draw(3)  # of the third vector alone
    (grad,) = vjp(lambda a: np.linalg.eigh(a)[1], [a], seed)
    sign = np.linalg.eigh(a)[1][2, 2]
    expected = np.zeros((3, 3))
    expected[2, :2] = sign * seed[:2, 2]  # dv = sum of v_i dA_i2 / (w_2 - w_i)
    assert_close(grad, expected, 1e-15)


def test_defective_matrices_have_no_derivative():
    trace, _, root = record(np.linalg.eigvals, [np.array([[1.0, 1.0], [0.0, 1.0]])])
    with pytest.raises(errors.SingularMatrixError, match="defective"):
        trace.backward_param_grads(root, [1.0, 0.0])


def test_eigenvalues_without_vectors_may_come_in_another_order():
    rng = np.random.default_rng(3)
    for n in (8, 20, 40):
        a = rng.normal(size=(n, n))
        w = np.linalg.eigvals(a)
        seed = uniform(rng, w)
        alone = vjp(np.linalg.eigvals, [a], seed)[0]
        values = np.linalg.eig(a).eigenvalues
        order = np.argmin(np.abs(values[:, None] - w), axis=1)
        assert_close(alone, vjp(lambda a: np.linalg.eig(a)[0], [a], seed[order])[0], 1e-8)


def test_zero_singular_values_have_the_derivative_of_an_absolute_value():
    a = np.outer([1.0, 2.0], [2.0, 1.0, 2.0])
    (grad,) = vjp(np.linalg.svdvals, [a], [1.0, 100.0])
    assert_close(grad, a / np.linalg.norm(a), 1e-14)
    assert not np.any(vjp(np.linalg.svdvals, [np.zeros((2, 3))], [1.0, 1.0])[0])


# ---- rank ----------------------------------------------------------------------------------------


def test_least_squares_without_residuals():
    a, b = np.outer(np.ones(4), [1.0, 2.0]), draw((4, 2))
    trace, _, (x, residuals, rank, _) = record(np.linalg.lstsq, [a, b])
    assert (residuals.shape, int(rank.value)) == ((0,), 1)
    grads = trace.backward_param_grads(np.sum(residuals) + np.sum(x * draw((2, 2))))
    expected = vjp(lambda a, b: np.linalg.pinv(a) @ b, [a, b], draw((2, 2)))
    for grad, other in zip(grads, expected, strict=True):
        assert_close(grad, other, 1e-13)


def test_tall_matrices_are_not_squared():
    a, b = draw((200_000, 2)), draw(200_000)
    (grad,) = vjp(lambda a: np.sum(np.linalg.lstsq(a, b)[0]), [a])
    assert grad.shape == a.shape
    assert vjp(lambda a: np.sum(np.linalg.pinv(a)), [a.T])[0].shape == a.T.shape


# ---- errors come at the call, and nothing is recorded --------------------------------------------

ERRORS = [
    (errors.ShapeError, lambda x: np.linalg.inv(x[0])),
    (errors.ShapeError, lambda x: np.linalg.det(x[:2])),
    (errors.ShapeError, lambda x: np.linalg.eigh(x[:, :2])),
    (errors.ShapeError, lambda x: np.linalg.svd(x[0])),
    (errors.ShapeError, lambda x: np.linalg.qr(x[0])),
    (errors.ShapeError, lambda x: np.linalg.cholesky(x[:2])),
    (errors.ShapeError, lambda x: np.linalg.pinv(x[:2], hermitian=True)),
    (errors.ShapeError, lambda x: np.linalg.solve(x[:2], x)),
    (errors.ShapeError, lambda x: np.linalg.solve(x, x[:2])),
    (errors.ShapeError, lambda x: np.linalg.solve(x, 1.0)),
    (errors.ShapeError, lambda x: la.solve_triangular(x, np.ones(2))),
    (errors.ShapeError, lambda x: la.expm(x[:2])),
    (errors.ShapeError, lambda x: np.linalg.lstsq(x, np.ones(2))),
    (errors.ShapeError, lambda x: np.linalg.tensorsolve(x, np.ones(2))),
    (errors.ShapeError, lambda x: np.linalg.tensorsolve(x, np.ones(3), axes=(5,))),
    (errors.ShapeError, lambda x: np.linalg.tensorinv(x, 2)),
    (errors.OptionError, lambda x: np.linalg.tensorinv(x, 0)),
    (errors.OptionError, lambda x: np.linalg.eigvalsh(x, "X")),
    (errors.OptionError, lambda x: np.linalg.qr(x, "full")),
    (errors.UnsupportedError, lambda x: np.linalg.qr(x, "raw")),
    (errors.OptionError, lambda x: np.linalg.matrix_power(x, 0.5)),
    (errors.OptionError, lambda x: np.linalg.pinv(x, 1e-3, rtol=1e-3)),
    (errors.OptionError, lambda x: la.solve_triangular(x, x, "X")),
    (errors.DTypeError, lambda x: np.linalg.inv(ops.astype(x, np.float16))),
    (errors.DTypeError, lambda x: np.linalg.svdvals(ops.astype(x, np.longdouble))),
    (errors.SingularMatrixError, lambda x: np.linalg.inv(x)),
    (errors.SingularMatrixError, lambda x: np.linalg.cholesky(-x)),
    (errors.SingularMatrixError, lambda x: np.linalg.matrix_power(x, -1)),
    (errors.SingularMatrixError, lambda x: la.solve_triangular(0 * x, x)),
]


@pytest.mark.parametrize(("error", "f"), ERRORS)
def test_errors(error, f):
    trace = tape.Trace()
    x = trace.param(np.ones((3, 3)))
    with pytest.raises(error) as info:
        f(x)
    assert "test_linalg.py" in str(info.value)
    assert all(node.op is None or node.op.name in ("getitem", "cast", "negative", "multiply", "astype")
               for node in trace.nodes)  # fmt: skip


@pytest.mark.parametrize("name", ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet"])
def test_matrices_that_are_not_square_are_refused_by_the_name_of_the_function(name):
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    for wrong in (x, x[0]):
        with pytest.raises(errors.ShapeError, match=f"^{name}: "):
            getattr(np.linalg, name)(wrong)


def test_factors_of_dependent_columns_have_no_derivative():
    trace, _, root = record(lambda a: np.linalg.qr(a)[0], [np.ones((3, 2)) * [1, 0]])
    with pytest.raises(errors.SingularMatrixError):
        trace.backward_param_grads(root, np.ones((3, 2)))


# ---- programs ------------------------------------------------------------------------------------


def test_a_compiled_determinant_stays_right_where_it_becomes_zero():
    slope = tape.compile(tape.grad(np.linalg.det))
    for a in (
        np.eye(3),
        draw((3, 3)),
        np.outer([1.0, 2, 3], [3.0, 2, 1]),
        np.zeros((3, 3)),
        draw((3, 3), seed=1),
    ):
        assert_close(slope(a), cofactors(a), 1e-13)


@pytest.mark.parametrize("rcond", [None, -1, 1e-2])
def test_derivatives_of_lstsq_leave_out_what_rcond_does(rcond):
    """Of singular values 1 and 1e-3 the second one counts as zero, or does not."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    a = np.vstack([turn @ np.diag([1.0, 1e-3]) @ turn.T, np.zeros(2)])
    b = np.array([1.0, 2.0, 0.5])
    kept = 1 if rcond == 1e-2 else 2
    inverse = np.linalg.pinv(a, rcond=1e-2 if kept == 1 else 1e-15)
    x, *_ = np.linalg.lstsq(a, b, rcond=rcond)
    assert_close(x, inverse @ b, 1e-9)
    found = tape.jacobian(lambda b: np.linalg.lstsq(a, b, rcond=rcond)[0])(b)
    assert_close(found, inverse, 1e-9)
    step = 1e-7 * np.array([[1.0, -2.0], [0.5, 1.0], [0.3, 0.1]])
    if kept == 2:  # the rank of a matrix nearby is the same
        solve = lambda a: np.linalg.lstsq(a, b, rcond=rcond)[0]  # noqa: E731
        moved = tape.jvp(solve, (a,), (step,))[1]
        assert_close(moved, (solve(a + step) - solve(a - step)) / 2, 1e-3 * np.max(np.abs(moved)))
    else:
        row = tape.jvp(lambda a: np.linalg.lstsq(a, b, rcond=rcond)[0], (a,), (a,))[1]
        assert_close(row, -x, 1e-9)  # along the matrix itself, whose rank stays


@pytest.mark.parametrize(
    "a", [np.array([[1.0, 2.0, 0.5], [0.0, 3.0, 1.0], [0.0, 0.0, 7.0]]), np.array([[0.0, 1.0], [-1.0, 0.0]])],
    ids=["real eigenvalues", "complex eigenvalues"],
)  # fmt: skip
@pytest.mark.parametrize("stack", [(), (2,)])
def test_eigenvalues_and_vectors_lie_in_memory_as_in_numpy(a, stack):
    """Real ones with gaps, as parts of complex numbers: whether a reshape is a view depends on it."""
    a = np.broadcast_to(a, (*stack, *a.shape)).copy()
    trace = tape.Trace()
    x = trace.param(a)
    found = [memory_of(var) for var in (*np.linalg.eig(x), np.linalg.eigvals(x))]
    for one, expected in zip(found, [*np.linalg.eig(a), np.linalg.eigvals(a)], strict=True):
        assert (one.strides, one.dtype) == (expected.strides, expected.dtype)
        assert_same(one, expected)


OF_A_VECTOR = {
    "eigh": lambda a: np.linalg.eigh(a)[1],
    "eigvalsh": np.linalg.eigvalsh,
    "svd": lambda a: np.linalg.svd(a)[0],
    "svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "qr": lambda a: np.linalg.qr(a)[0],
    "pinv": np.linalg.pinv,
    "stack": lambda a: np.linalg.eigh(np.stack([a, a + np.eye(3)]))[1],
}


@takes_long
@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", OF_A_VECTOR)
def test_derivatives_in_a_batch_are_those_of_each_matrix(name, how):
    """A Jacobian is a batch of seeds in that of matrices; there are less matrices than seeds, or as many."""

    def f(x):
        return OF_A_VECTOR[name](np.diag(x) + 0.1 * np.outer(x, x))

    rows = np.array([[0.3, 2.5, 4.1], [0.7, 2.2, 5.0], [1.2, 3.0, 4.5]])
    for derived in (tape.jacobian(f), tape.hessian(lambda x: np.sum(f(x) ** 2 * np.arange(3)))):
        for x in (rows[:2], rows):
            expected = np.stack([derived(row) for row in x])
            assert_close(how(tape.vmap(derived))(x), expected, 1e-9)


@pytest.mark.parametrize(
    "name", ["eig", "eigh", "qr", "svd", "slogdet", "unique_all", "unique_counts", "unique_inverse"]
)
def test_results_of_vars_are_of_the_class_of_numpy_and_so_may_be_computed_again(name):
    f = getattr(np.linalg, name, None) or getattr(np, name)
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    kept = []
    tape.grad(lambda a: np.sum(kept.append(f(a)) or np.abs(kept[0][0])) + np.sum(a))(a)
    assert type(kept[0]) is type(f(a))
    loss = lambda run: lambda a: sum(np.sum(np.abs(x)) for x in run(a)[:2]) + np.sum(a)  # noqa: E731
    expected = tape.grad(loss(f))(a)
    np.testing.assert_allclose(tape.grad(loss(tape.checkpoint(f)))(a), expected)
    scanned = lambda b: tape.scan(lambda c, _: (f(b), None), f(a), length=2)[0]  # noqa: E731
    np.testing.assert_allclose(tape.grad(loss(scanned))(a), expected)
