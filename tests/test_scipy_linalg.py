"""`tape.scipy.linalg` beside SciPy: values, arguments, stacks, programs, and what is refused."""

import numpy as np
import pytest
from scipy import linalg as original

import tape
from tape import errors
from tape.ops.linalg.polar import unitary_factor
from tape.scipy import linalg
from tape.scipy.linalg._arrays import or_scipy
from tests.oracles import assert_close, difference
from tests.tiers import some

RNG = np.random.default_rng(0)
A = RNG.normal(size=(5, 5))
B = RNG.normal(size=(5, 2))
D = A @ A.T + np.eye(5)
Z = A + 1j * RNG.normal(size=(5, 5))
C = np.array([4.0, 1.0, 0.5, 0.2, 0.1])
AB = np.array([[0.0, 0, 0.3, 0.2, 0.4], [0, 0.5, 0.6, 0.4, 0.1], [3, 4, 5, 4, 3], [0.2, 0.4, 0.3, 0.6, 0]])
SMALL = 0.3 * A / np.linalg.norm(A, 2)
POWERS = (3, -2, 3.0, 0, np.int64(2), np.float32(3))

CALLS = {
    "solve": lambda s: s.solve(A, B),
    "solve sym": lambda s: s.solve(A, B, assume_a="sym"),
    "solve her": lambda s: s.solve(Z, B, assume_a="her", lower=True),
    "solve sym complex": lambda s: s.solve(Z, B, assume_a="sym", lower=True),
    "solve pos": lambda s: s.solve(np.triu(D), B[:, 0], assume_a="pos"),
    "solve diagonal": lambda s: s.solve(A, B, assume_a="diagonal"),
    "solve tridiagonal": lambda s: s.solve(A, B, assume_a="tridiagonal"),
    "solve banded": lambda s: s.solve(np.tril(A, 1), B, assume_a="banded"),
    "solve upper": lambda s: s.solve(A, B, assume_a="upper triangular"),
    "solve transposed": lambda s: s.solve(A, B, transposed=True),
    "solve ints": lambda s: s.solve([[2, 1], [1, 3]], [1, 2]),
    "solve_triangular": lambda s: s.solve_triangular(A, B, trans="T", lower=True),
    "inv": lambda s: s.inv(A),
    "inv sym": lambda s: s.inv(A, assume_a="sym"),
    "inv sym complex": lambda s: s.inv(Z, assume_a="sym", lower=True),
    "inv her": lambda s: s.inv(Z, assume_a="her"),
    "inv pos": lambda s: [s.inv(np.tril(D), assume_a="pos", lower=True), s.inv(np.triu(D), assume_a="pos")],
    "inv upper": lambda s: s.inv(A, assume_a="upper triangular", lower=True),
    "inv lower": lambda s: s.inv(A, assume_a="lower triangular"),
    "solve her upper": lambda s: s.solve(Z, B, assume_a="her"),
    "solve lower": lambda s: s.solve(A, B, assume_a="lower triangular", transposed=True),
    "lu_solve list": lambda s: s.lu_solve((D, [0, 2, 2, 4, 4]), B),
    "polar wide": lambda s: s.polar(A[:3]),
    "polar left of a tall one": lambda s: s.polar(Z[:, :3], side="left"),
    "funm complex": lambda s: s.funm(Z, np.exp),
    "funm that becomes complex": lambda s: s.funm(np.diag([1.0, -1.0]), np.sqrt),
    "fractional_matrix_power": lambda s: [s.fractional_matrix_power(A, t) for t in POWERS],
    "cosm complex": lambda s: s.cosm(Z),
    "pinv": lambda s: s.pinv(A[:, :3]),
    "pinv of lower rank": lambda s: s.pinv(np.outer(C, C), return_rank=True),
    "lstsq": lambda s: s.lstsq(A[:, :2], B)[:3],
    "lstsq vector": lambda s: s.lstsq(A[:, :2], B[:, 0]),
    "det": lambda s: s.det(A),
    "norm": lambda s: s.norm(A, "nuc"),
    "cholesky": lambda s: s.cholesky(D),
    "cholesky complex": lambda s: s.cholesky(Z @ Z.conj().T, lower=True),
    "cho_solve": lambda s: s.cho_solve(s.cho_factor(D), B),
    "lu": lambda s: s.lu(A),
    "lu tall": lambda s: s.lu(A[:, :3], permute_l=True),
    "lu wide indices": lambda s: s.lu(A[:3], p_indices=True),
    "lu complex": lambda s: s.lu(Z),
    "lu stack": lambda s: s.lu(np.stack([A, A.T])),
    "lu_factor": lambda s: s.lu_factor(A),
    "lu_solve": lambda s: s.lu_solve(s.lu_factor(A), B),
    "lu_solve T": lambda s: s.lu_solve(s.lu_factor(A), B[:, 0], trans=1),
    "lu_solve C": lambda s: s.lu_solve(s.lu_factor(Z), B, trans=2),
    "qr": lambda s: s.qr(A[:, :3]),
    "qr economic": lambda s: s.qr(A[:, :3], mode="economic"),
    "qr r": lambda s: s.qr(A, mode="r"),
    "svd values": lambda s: s.svd(A[:3], compute_uv=False),
    "svdvals": lambda s: s.svdvals(A[:3]),
    "polar": lambda s: s.polar(A),
    "polar left": lambda s: s.polar(A[:3], side="left"),
    "eigh values": lambda s: s.eigh(A, eigvals_only=True),
    "eigvalsh": lambda s: s.eigvalsh(A, D, type=1, lower=False),
    "eigvalsh type 2": lambda s: s.eigvalsh(A, D, type=2),
    "eigvalsh type 3": lambda s: s.eigvalsh(Z, D, type=3, subset_by_index=(1, 3)),
    "eigvals": lambda s: np.sort(np.abs(s.eigvals(A, D))),
    "expm": lambda s: s.expm(A),
    "funm": lambda s: s.funm(A, np.cos),
    "logm": lambda s: s.logm(D),
    "sqrtm": lambda s: s.sqrtm(D),
    "sqrtm complex": lambda s: s.sqrtm(Z @ Z),
    "cosm": lambda s: s.cosm(A),
    "sinm complex": lambda s: s.sinm(Z),
    "tanhm": lambda s: s.tanhm(SMALL),
    "solve_sylvester": lambda s: s.solve_sylvester(D, D[:2, :2], B),
    "solve_continuous_lyapunov": lambda s: s.solve_continuous_lyapunov(Z, D),
    "solve_lyapunov": lambda s: s.solve_lyapunov(Z, D),
    "solve_discrete_lyapunov": lambda s: s.solve_discrete_lyapunov(SMALL, D),
    "solve_discrete_lyapunov bilinear": lambda s: s.solve_discrete_lyapunov(SMALL + 0j, D, "bilinear"),
    "solve_banded": lambda s: s.solve_banded((1, 2), AB, B),
    "solveh_banded": lambda s: s.solveh_banded(AB[:3], B[:, 0]),
    "solveh_banded lower": lambda s: s.solveh_banded(AB[2:] + 0j, B, lower=True),
    "toeplitz": lambda s: s.toeplitz(C + 1j),
    "toeplitz row": lambda s: s.toeplitz(C, B[:, 0]),
    "solve_toeplitz": lambda s: s.solve_toeplitz((C, C[::-1]), B),
    "circulant": lambda s: s.circulant(C),
    "hankel": lambda s: s.hankel(C),
    "toeplitz ints": lambda s: s.toeplitz([1, 2, 3]),
    "block_diag ints": lambda s: s.block_diag([1, 2], 3),
    "hankel row": lambda s: s.hankel(C, C[:3]),
    "companion": lambda s: s.companion(C),
    "block_diag": lambda s: s.block_diag(A, C, 3.0, [[]], B),
    "khatri_rao": lambda s: s.khatri_rao(A, D),
}  # fmt: skip


def assert_alike(ours, theirs):
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_alike(one, other)
        return
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype.kind == theirs.dtype.kind
    np.testing.assert_allclose(
        ours, theirs, rtol=1e-11, atol=1e-11 * max(1.0, np.max(np.abs(theirs), initial=0))
    )


@pytest.mark.parametrize("name", CALLS)
def test_values_shapes_and_arguments_are_those_of_scipy(name):
    ours, theirs = CALLS[name](linalg), CALLS[name](original)
    if isinstance(theirs, list):
        ours, theirs = tuple(ours), tuple(theirs)
    assert_alike(ours, theirs)


@pytest.mark.parametrize("name", ["solve_banded", "solveh_banded", "solve_toeplitz"])
def test_stacks_are_solved_one_by_one(name):
    call = {
        "solve_banded": lambda ab, b: linalg.solve_banded((1, 2), ab, b),
        "solveh_banded": lambda ab, b: linalg.solveh_banded(ab[..., :3, :], b),
        "solve_toeplitz": lambda c, b: linalg.solve_toeplitz(c[..., 2, :] * C, b),
    }[name]
    stack = np.stack([AB, AB + 0.1, AB * 2])
    together = tape.vmap(lambda ab: call(ab, B))(stack)
    for one, ab in zip(together, stack, strict=True):
        np.testing.assert_allclose(one, call(ab, B), rtol=1e-12)
    gradients = tape.vmap(tape.grad(lambda ab: np.sum(call(ab, B) ** 2)))(stack)
    for one, ab in zip(gradients, stack, strict=True):
        np.testing.assert_allclose(one, tape.grad(lambda ab: np.sum(call(ab, B) ** 2))(ab), rtol=1e-11)


def test_sylvester_equations_of_real_and_complex_matrices():
    """Which SciPy 1.17 solves wrongly."""
    for a, b, q in ((Z, D[:2, :2], B), (A, Z[:2, :2], B), (A, D[:2, :2], B + 1j)):
        x = linalg.solve_sylvester(a, b, q)
        np.testing.assert_allclose(a @ x + x @ b, q, atol=1e-11)


def test_what_is_not_read_has_no_gradient():
    """Elements beside the bands, and those of the other triangle."""
    gradient = tape.grad(lambda ab: np.sum(linalg.solve_banded((1, 2), ab, B)))(AB + 1.0)
    assert gradient[0, 0] == gradient[0, 1] == gradient[1, 0] == gradient[3, 4] == 0
    assert np.all(gradient[2] != 0)
    for options in ({"assume_a": "pos"}, {"assume_a": "sym"}, {"assume_a": "upper triangular"}):
        gradient = tape.grad(lambda a: np.sum(linalg.solve(a, B, **options)))(D)  # noqa: B023
        assert np.all(np.tril(gradient, -1) == 0)
        assert np.all(np.diagonal(gradient) != 0)


def test_programs_choose_the_order_of_rows_anew():
    """Pivots are data: with other elements they are others."""
    f = tape.compile(tape.value_and_grad(lambda a: np.sum(np.sin(linalg.lu(a)[2]))))
    plain = tape.value_and_grad(lambda a: np.sum(np.sin(linalg.lu(a)[2])))
    for a in (A, A[::-1].copy(), A[[2, 0, 1, 4, 3]], D):
        for ours, theirs in zip(f(a), plain(a), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    assert len(f.programs) == 1


def test_logarithms_draw_no_numbers():
    """SciPy estimates norms by random vectors; the generator is the user's."""
    a = np.eye(8) + 0.3 * np.tril(np.arange(64.0).reshape(8, 8) % 5)
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.rand()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    tape.grad(lambda a: np.sum(linalg.logm(a)))(a)
    assert np.random.rand() == expected  # noqa: NPY002


@pytest.mark.parametrize(
    "name", some(["lu_solve", "cho_solve", "polar", "polar left", "sqrtm", "logm"], every=1)
)
def test_gradients_satisfy_what_defines_the_result(name):
    """Both sides of the equation have the same derivative."""
    both = {
        "lu_solve": lambda a: (a @ linalg.lu_solve(linalg.lu_factor(a), B), B + 0 * a[:, :2]),
        "cho_solve": lambda a: (a @ linalg.cho_solve(linalg.cho_factor(a), B), B + 0 * a[:, :2]),
        "polar": lambda a: (np.matmul(*linalg.polar(a)), a),
        "polar left": lambda a: (np.matmul(*linalg.polar(a, side="left")[::-1]), a),
        "sqrtm": lambda a: (linalg.sqrtm(a) @ linalg.sqrtm(a), a),
        "logm": lambda a: (linalg.expm(linalg.logm(a)), a),
    }[name]
    t = RNG.normal(size=(5, 5))
    t = t + t.T
    (left, right), (by_left, by_right) = tape.jvp(both, (D,), (t,))
    np.testing.assert_allclose(left, right, atol=1e-10)
    np.testing.assert_allclose(by_left, by_right, atol=1e-9)


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 3)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_orthonormal_factors_of_any_shape_have_derivatives(shape, dtype):
    rng = np.random.default_rng(0)
    a, t = (
        rng.normal(size=shape) + (1j if dtype is complex else 0) * rng.normal(size=shape) for _ in range(2)
    )
    found = tape.jvp(unitary_factor, (a,), (t,))[1]
    assert_close(found, difference(unitary_factor, [a], [t]), 1e-7)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hessenberg_forms_of_small_matrices_have_derivatives(n):
    a, t = np.random.default_rng(n).normal(size=(2, n, n)) + np.eye(n)
    for part in range(2):
        f = lambda a, part=part: linalg.hessenberg(a, calc_q=True)[part]  # noqa: E731
        assert_close(tape.jvp(f, (a,), (t,))[1], difference(f, [a], [t]), 1e-7)


def test_polar_has_derivatives_where_singular_values_are_equal():
    """Which those of the singular vectors have not."""
    tape.testing.check_grads(lambda a: linalg.polar(a)[0], (np.eye(3) * 2.0,), order=2)


def test_generalised_vectors_are_normalised_as_in_scipy():
    for kind in (1, 2, 3):
        w, v = linalg.eigh(A, D, type=kind)
        _, theirs = original.eigh(A, D, type=kind)
        np.testing.assert_allclose(np.abs(v), np.abs(theirs), atol=1e-10)
        metric = np.linalg.inv(D) if kind == 3 else D
        np.testing.assert_allclose(v.T @ metric @ v, np.eye(5), atol=1e-10)
        assert np.all(np.diff(w) > 0)


# ---- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["qz", "ordqz", "cossin"])
def test_what_is_not_unique_is_refused_with_vars_alone(name):
    with tape.Trace() as trace:
        a = trace.param(D)
        for args, options in (((a,), {}), ((list(a),), {}), ((D, [[a[0, 0]]]), {}), ((D,), {"B": a})):
            with pytest.raises(
                errors.UnsupportedError, match=rf"linalg\.{name} has no derivative rule\. .*Use "
            ):
                getattr(linalg, name)(*args, **options)
    assert getattr(linalg, name).__name__ == name
    arguments = (D, A) if name != "cossin" else (np.linalg.qr(A)[0], 2, 3)
    assert_alike(getattr(linalg, name)(*arguments), getattr(original, name)(*arguments))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linalg.solve(A, B, assume_a="round"), errors.OptionError, "assume_a"),
        (lambda: linalg.solve(Z, B, transposed=True), errors.OptionError, "transposed"),
        (lambda: linalg.solve(A[:3], B), errors.ShapeError, "square"),
        (lambda: linalg.solve_banded((1, 1), AB, B), errors.ShapeError, "3 rows"),
        (lambda: linalg.solve_banded((1, 2), AB, B[:3]), errors.ShapeError, "as b has rows"),
        (lambda: linalg.qr(A, mode="raw"), errors.OptionError, "economic"),
        (lambda: linalg.qr(A, pivoting=True), errors.OptionError, "pivoting"),
        (lambda: linalg.eigh(A, D, type=4), errors.OptionError, "type"),
        (lambda: linalg.eigh(A, subset_by_value=(0, 1)), errors.UnsupportedError, "subset_by_index"),
        (lambda: linalg.eig(A, left=True), errors.UnsupportedError, "left"),
        (lambda: linalg.sqrtm(-np.eye(2)), errors.UnsupportedError, "complex"),
        (lambda: linalg.solve_sylvester(A, -A, A), errors.SingularMatrixError, "unique"),
        (lambda: linalg.solve_sylvester(A, A, B), errors.ShapeError, "q of shape"),
        (lambda: tape.grad(lambda a: np.sum(linalg.polar(a)[0]))(A[:3]), errors.ShapeError, "other side"),
        (lambda: linalg.polar(A, side="up"), errors.OptionError, "side"),
        (lambda: linalg.pinv(A, atol=0.1), errors.UnsupportedError, "rtol"),
        (lambda: linalg.lu_solve(linalg.lu_factor(A), B, trans=3), errors.OptionError, "trans"),
        (lambda: linalg.solve_discrete_lyapunov(A, D, "quick"), errors.OptionError, "method"),
        (lambda: linalg.khatri_rao(A, B), errors.ShapeError, "columns"),
        (lambda: linalg.companion([1.0]), errors.ShapeError, "companion"),
        (lambda: linalg.cholesky(-D), errors.SingularMatrixError, "positive definite"),
        (lambda: linalg.lu(A.astype(np.float16)), errors.DTypeError, "float16"),
        (lambda: linalg.eigh(A, subset_by_index=(2, 1)), errors.OptionError, "within 0 and 4, the smaller"),
        (lambda: linalg.eigh(A, subset_by_index=(0, 5)), errors.OptionError, "within 0 and 4"),
        (lambda: linalg.eigh(A, subset_by_index=(-1, 2)), errors.OptionError, "within 0 and 4"),
        (lambda: linalg.lu_solve((A, np.arange(5)), B[:3]), errors.ShapeError, r"\[3, 2\], and the matrix 5"),
        (lambda: linalg.lu_solve((A, np.arange(5)), 1.0), errors.ShapeError, r"b has shape \[\]"),
        (lambda: linalg.lu_solve((A, np.arange(4)), B), errors.ShapeError, r"piv is int64\[4\]"),
        (lambda: linalg.lu_solve((A, C), B), errors.ShapeError, r"piv is float64\[5\]"),
        (lambda: linalg.solve_discrete_lyapunov(A, A[:2, :2]), errors.ShapeError, r"\[5, 5\] and \[2, 2\]"),
        (lambda: linalg.solve_discrete_lyapunov(A[None], A[None]), errors.ShapeError, "Give two"),
        (lambda: linalg.solve_banded((1, 2), AB, 1.0), errors.ShapeError, r"b of shape \[\]"),
        (
            lambda: tape.grad(lambda a: np.sum(linalg.polar(a, "left")[0]))(B),
            errors.ShapeError,
            "on the left is",
        ),
    ],
)
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_scipys_functions_raise_without_vars_is_an_error_of_ours():
    """`inv` stands for those that call LAPACK in SciPy, of which hardly any fails to converge."""
    inv = or_scipy(vars(linalg)["inv"])
    with pytest.raises(errors.SingularMatrixError, match=r"^inv: .*singular.*\. Check the matrix"):
        inv(np.zeros((2, 2)))


def test_singular_leading_parts_have_no_derivative():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert_alike(linalg.lu(singular), original.lu(singular))
    with pytest.raises(errors.SingularMatrixError, match="leading part"):
        tape.grad(lambda a: np.sum(linalg.lu(a)[1]))(singular)


CLOSED = {
    "eigvalsh": lambda k: linalg.eigvalsh(k),
    "solve": lambda k: linalg.solve(k, k),
    "eig_banded": lambda k: linalg.eig_banded(k, eigvals_only=True),
    "funm": lambda k: np.abs(linalg.funm(k, np.exp)),
    "ldl": lambda k: linalg.ldl(k)[1],
    "orth": lambda k: linalg.orth(k) ** 2,
    "solve_circulant": lambda k: linalg.solve_circulant(k[0], k),
    "toeplitz": lambda k: linalg.toeplitz(k[0]),
}


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("dtype", [float, int])
def test_programs_follow_arrays_that_are_closed_over(name, dtype):
    """Changed in place, whatever is made of them is made anew."""
    k = np.array([[9, 1, 2], [1, 6, 3], [2, 3, 12]]).astype(dtype)

    def f(x):
        return np.sum(CLOSED[name](k)) * x

    compiled = tape.compile(f)
    compiled(2.0)
    k += np.diag([3, 1, 5]).astype(dtype)
    k[0, 1] = 2
    np.testing.assert_allclose(compiled(2.0), f(2.0), rtol=1e-12)
