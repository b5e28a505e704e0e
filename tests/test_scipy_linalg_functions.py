"""Functions of matrices, subspaces and structured matrices of `tape.scipy.linalg` beside SciPy."""

import numpy as np
import pytest
from scipy import linalg as original

import tape
from tape import errors
from tape.scipy import linalg
from tests.test_scipy_linalg import AB, SMALL, A, B, C, D, Z, assert_alike

LOW = np.outer(C, B[:, 0]) + np.outer(C[::-1], B[:, 1])  # of rank two
MODES = ("full", "same", "valid")
TALL = np.stack([B, B[::-1] + 1])

CALLS = {
    "expm_frechet": lambda s: s.expm_frechet(A, D),
    "expm_frechet ints": lambda s: s.expm_frechet([[1, 2], [3, 4]], np.eye(2), "blockEnlarge", False),
    "expm_cond": lambda s: s.expm_cond(SMALL),
    "signm": lambda s: s.signm(A),
    "signm complex": lambda s: s.signm(Z),
    "orth": lambda s: s.orth(B),
    "orth of lower rank": lambda s: s.orth(LOW),
    "orth stack": lambda s: s.orth(TALL),
    "orth rcond": lambda s: s.orth(D, rcond=0.5),
    "null_space": lambda s: s.null_space(LOW),
    "null_space wide": lambda s: s.null_space(Z[:2]),
    "null_space stack": lambda s: s.null_space(TALL.swapaxes(1, 2)),
    "null_space stack rcond": lambda s: s.null_space(TALL.swapaxes(1, 2), rcond=0.9),
    "subspace_angles stack": lambda s: [s.subspace_angles(TALL, TALL[::-1]), s.subspace_angles(B, TALL)],
    "null_space empty": lambda s: s.null_space(B),
    "subspace_angles": lambda s: s.subspace_angles(B, A[:, :2]),
    "subspace_angles of lower rank": lambda s: s.subspace_angles(LOW, Z[:, :1]),
    "orthogonal_procrustes": lambda s: s.orthogonal_procrustes(A[:, :3], D[:, :3]),
    "orthogonal_procrustes complex": lambda s: s.orthogonal_procrustes(Z, D),
    "polar complex": lambda s: s.polar(Z[:, :2]),
    "polar singular": lambda s: s.polar(LOW)[1],
    "pinvh": lambda s: s.pinvh(A),
    "pinvh upper of lower rank": lambda s: s.pinvh(np.outer(C, C) + 0j, lower=False, return_rank=True),
    "cho_solve_banded": lambda s: s.cho_solve_banded((s.cholesky_banded(AB[:3]), False), B),
    "cho_solve_banded lower": lambda s: s.cho_solve_banded((s.cholesky_banded(AB[2:], lower=True), 1), C),
    "convolution_matrix": lambda s: [s.convolution_matrix(C, n, m) for n in (1, 3, 8) for m in MODES],
    "convolution_matrix stack": lambda s: s.convolution_matrix(A[:2] + 1j, 3),
    "diagsvd": lambda s: [s.diagsvd(C, 5, 7), s.diagsvd([1, 2], 3, 2)],
    "fiedler": lambda s: [s.fiedler(C), s.fiedler([1, 4]), s.fiedler(3.0), s.fiedler(A)],
    "fiedler empty": lambda s: [s.fiedler([]), s.fiedler(np.zeros((2, 0)))],
    "fiedler_companion": lambda s: [s.fiedler_companion(np.arange(1.0, n + 1)) for n in range(1, 8)],
    "fiedler_companion ints": lambda s: s.fiedler_companion([[2, 1, 4], [1, 5, 3]]),
    "leslie": lambda s: [s.leslie(C, C[1:]), s.leslie([1, 2], [3])],
    "matmul_toeplitz": lambda s: [s.matmul_toeplitz((C, B[:, 0]), B), s.matmul_toeplitz(C + 1j, B[:, 0])],
    "matmul_toeplitz wide": lambda s: s.matmul_toeplitz((C[:2], C), B),
    "solve_circulant": lambda s: [s.solve_circulant(C, B), s.solve_circulant(C[::-1], B[:, 0] + 1j)],
    "solve_circulant axes": lambda s: s.solve_circulant(A[:2].T, B, caxis=0, baxis=0, outaxis=-1),
    "solve_circulant lstsq": lambda s: s.solve_circulant([1.0, 2, 1, 2], B[:4, 0], singular="lstsq"),
    "solve_circulant zeros": lambda s: s.solve_circulant(np.zeros(4), B[:4, 0], singular="lstsq"),
    "solve_circulant tol": lambda s: s.solve_circulant(C, C, singular="lstsq", tol=4.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_shapes_and_arguments_are_those_of_scipy(name):
    ours, theirs = CALLS[name](linalg), CALLS[name](original)
    if isinstance(theirs, list):
        ours, theirs = tuple(ours), tuple(theirs)
    assert_alike(ours, theirs)


def test_columns_of_toeplitz_matrices_may_be_of_any_shape():
    """They are read in order, as by the functions that make and solve with one."""
    square, row = A[:2, :2] + 1j, D[:2, :2]
    for c, r in ((C[:, None], None), (C[None], B[:, 0][:, None]), (square, row), (row, None), (square, None)):
        flat = np.ravel(c) if r is None else (np.ravel(c), np.ravel(r))
        given = c if r is None else (c, r)
        for x in (A[: np.size(c), :3], A[: np.size(c), 0]):
            expected = original.matmul_toeplitz(flat, x)
            np.testing.assert_allclose(linalg.matmul_toeplitz(given, x), expected, rtol=1e-11, atol=1e-12)
            lists = tape.tree.map(np.ndarray.tolist, given)
            if r is not None:
                np.testing.assert_allclose(linalg.matmul_toeplitz(lists, x), expected, rtol=1e-11, atol=1e-12)
        x = A[: np.size(c), 0]
        f = lambda c, r=r, x=x: np.real(linalg.matmul_toeplitz(c if r is None else (c, r), x))  # noqa: E731
        assert tape.jacobian(f)(c).shape == (len(x), *np.shape(c))


def test_ranks_are_read_anew_in_programs():
    """The shape of a basis depends on data."""

    def spread(a):
        z = linalg.null_space(a)
        return np.sum((z @ z.T) ** 2 * np.arange(25.0).reshape(5, 5))

    f, plain = tape.compile(tape.value_and_grad(spread)), tape.value_and_grad(spread)
    for a in (A[:3], LOW[:3], A[:3] * 2, LOW[:3] * 3):
        for ours, theirs in zip(f(a), plain(a), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_bases_of_lower_rank_move_with_their_space():
    """Along changes that keep the rank, projections have the derivatives of differences."""

    def projections(b):
        a = b @ B.T  # of rank two
        q, z = linalg.orth(a[:, :2]), linalg.null_space(a)
        return q @ q.T, z @ z.T, linalg.subspace_angles(a, B)

    tape.testing.check_grads(projections, (A[:, :2],), order=2)


def test_small_and_right_angles_keep_their_digits():
    """Where SciPy takes arcus cosines of numbers beside 1: an angle of 1e-9 and one of 1.5."""
    unit = np.eye(4)
    first = unit[:, :2]
    second = np.stack([unit[0] + 1e-9 * unit[2], np.cos(1.5) * unit[1] + np.sin(1.5) * unit[3]], axis=1)
    np.testing.assert_allclose(linalg.subspace_angles(first, second), [1.5, 1e-9], rtol=1e-12)


def test_functions_of_matrices_take_functions_that_close_over_vars():
    """And have the derivatives of those that are written for them."""

    def by_funm(a, p):
        return linalg.funm(a, lambda w: np.exp(p * w))

    for ours, theirs in zip(
        tape.vjp(by_funm, A, 0.7)[1](D), tape.vjp(lambda a, p: linalg.expm(p * a), A, 0.7)[1](D), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    tape.testing.check_grads(by_funm, (A, 0.7), order=2)
    compiled = tape.compile(tape.grad(lambda a: np.sum(by_funm(a, 0.5))))
    for a in (A, D, A.T):
        np.testing.assert_allclose(compiled(a), tape.grad(lambda a: np.sum(by_funm(a, 0.5)))(a), rtol=1e-9)


def test_functions_of_complex_matrices_stay_complex_and_of_real_ones_become_so():
    small = 0.3 * Z / np.linalg.norm(Z, 2)
    value, moved = tape.jvp(lambda a: linalg.funm(a, np.exp), (small,), (D + 0j,))
    np.testing.assert_allclose(value, original.expm(small), rtol=1e-11)
    np.testing.assert_allclose(moved, original.expm_frechet(small, D, compute_expm=False), rtol=1e-9)
    signs = np.diag([4.0, -9.0])
    value, moved = tape.jvp(lambda a: linalg.funm(a, np.sqrt), (signs,), (np.eye(2),))
    np.testing.assert_allclose(value, np.diag([2.0, 3.0j]), atol=1e-14)
    np.testing.assert_allclose(moved, np.diag([1 / 4, -1j / 6]), atol=1e-14)


def test_conditions_of_exponentials_have_derivatives():
    tape.testing.check_grads(linalg.expm_cond, (A[:2, :2],), order=1)


def test_signs_of_matrices_satisfy_what_defines_them():
    s, t = tape.jvp(linalg.signm, (A,), (D,))
    np.testing.assert_allclose(s @ s, np.eye(5), atol=1e-11)
    np.testing.assert_allclose(s @ t + t @ s, 0, atol=1e-9)
    np.testing.assert_allclose(A @ t + D @ s, s @ D + t @ A, atol=1e-9)  # A commutes with its sign


def test_what_lies_outside_of_the_bands_is_zero_and_has_no_gradient():
    for lower, ab in ((True, AB[2:] + 0.1), (False, AB[:3] + 0.1)):
        factor = linalg.cholesky_banded(ab, lower=lower)
        is_outside = factor == 0
        assert np.sum(is_outside) == (1 if lower else 3)
        gradient = tape.grad(lambda ab: np.sum(linalg.cholesky_banded(ab, lower=lower)))(ab)  # noqa: B023
        assert np.array_equal(gradient == 0, is_outside)
        np.testing.assert_allclose(
            factor[~is_outside], original.cholesky_banded(ab, lower=lower)[~is_outside]
        )


def gradient(f):
    return tape.grad(lambda a: np.sum(f(a)))


SINGULAR = errors.SingularMatrixError
DEFECTIVE = np.array([[1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linalg.expm_frechet(A, B), errors.ShapeError, "square"),
        (lambda: linalg.expm_frechet(A, D[:2, :2]), errors.ShapeError, "Give equal"),
        (lambda: linalg.expm_frechet(A, D, "best"), errors.OptionError, "blockEnlarge"),
        (lambda: linalg.signm(A, disp=False), errors.UnsupportedError, "square of the result"),
        (lambda: gradient(lambda a: linalg.signm(a))(np.diag([1.0, 0])), SINGULAR, "unique"),
        (lambda: gradient(lambda a: linalg.funm(a, np.exp, False))(A), errors.UnsupportedError, "disp"),
        (lambda: gradient(lambda a: linalg.funm(a, np.sum))(A), errors.ShapeError, "must keep it"),
        (lambda: gradient(lambda a: linalg.funm(a, np.exp))(DEFECTIVE), SINGULAR, "defec"),
        (lambda: gradient(lambda a: linalg.orth(a))(TALL), errors.ShapeError, "for each matrix"),
        (lambda: gradient(lambda a: linalg.orth(a))(np.eye(3)), SINGULAR, "turn freely"),
        (lambda: tape.grad(lambda r: linalg.orth(A, r)[0, 0])(0.1), errors.UnsupportedError, "is a Var"),
        (lambda: linalg.subspace_angles(A, B[:3]), errors.ShapeError, "rows"),
        (lambda: linalg.orthogonal_procrustes(A, B), errors.ShapeError, "Give equal"),
        (lambda: gradient(lambda a: linalg.polar(a)[0])(LOW), SINGULAR, "full rank"),
        (lambda: gradient(lambda a: linalg.polar(a)[0])(np.zeros((2, 2))), SINGULAR, "full rank"),
        (lambda: linalg.pinvh(A, atol=0.1), errors.UnsupportedError, "rtol"),
        (lambda: linalg.cholesky_banded(-AB[:3]), SINGULAR, "positive definite"),
        (lambda: linalg.cho_solve_banded((AB, True), B[:3]), errors.ShapeError, "as b has rows"),
        (lambda: linalg.convolution_matrix(C, 0), errors.OptionError, "positive"),
        (lambda: linalg.convolution_matrix(C, 2, "half"), errors.OptionError, "mode"),
        (lambda: linalg.convolution_matrix([], 2), errors.ShapeError, "at least one"),
        (lambda: linalg.diagsvd(C, 3, 4), errors.ShapeError, "Give 3"),
        (lambda: linalg.fiedler_companion([0.0, 1, 2]), errors.OptionError, "leading"),
        (lambda: linalg.leslie(C, C), errors.ShapeError, "one less"),
        (lambda: linalg.matmul_toeplitz(C, B[:3]), errors.ShapeError, r"must be \[5\]"),
        (lambda: linalg.solve_circulant([1.0, 1.0], B[:2]), SINGULAR, "lstsq"),
        (lambda: linalg.solve_circulant(C, B[:3]), errors.ShapeError, "5 and 3"),
        (lambda: linalg.solve_circulant(C, B, "guess"), errors.OptionError, "singular"),
        (lambda: linalg.expm_cond(np.zeros((0, 0))), errors.ShapeError, "an empty matrix"),
        (
            lambda: gradient(lambda a: linalg.funm(a, np.exp))(TALL[:, :2]),
            errors.ShapeError,
            r"shape \[2, 2, 2\]",
        ),
        (lambda: linalg.cholesky_banded(AB[:0]), errors.ShapeError, r"shape \[0, 5\] has no diagonals"),
        (
            lambda: linalg.solve_circulant(C.astype(np.float16), C),
            errors.DTypeError,
            "solve_circ.* of float16",
        ),
        (
            lambda: linalg.matmul_toeplitz(C, C.astype("g")),
            errors.DTypeError,
            "^matmul_toeplitz: .* float128",
        ),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_functions_of_float32_are_real_where_they_are_in_scipy():
    a = np.array([[1.0, 2.0], [-3.0, 1.0]], np.float32)
    found = linalg.funm(a, np.cos)
    assert found.dtype == original.funm(a, np.cos).dtype == np.float32
    np.testing.assert_allclose(found, original.funm(a, np.cos), rtol=1e-5)
