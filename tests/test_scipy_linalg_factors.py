"""Factorizations, forms, bands and Riccati's equations of `tape.scipy.linalg` beside SciPy."""

import numpy as np
import pytest
from scipy import linalg as original

import tape
from tape import errors
from tape.scipy import linalg
from tests.oracles import record
from tests.test_scipy_linalg import AB, RNG, SMALL, A, B, C, D, Z, assert_alike

S = A + A.T
H = Z + Z.conj().T
W = RNG.normal(size=(2, 5))
UNEVEN = A * 10.0 ** RNG.integers(-5, 5, (5, 5))
SPARSE = np.where(RNG.uniform(size=(5, 5)) < 0.3, UNEVEN, 0) + np.diag(C)
COST = np.eye(2) + 0.1
PAIRS = np.linalg.eig(np.kron(np.diag([1.0, 2.0]), [[1.0, 2.0], [-3.0, 1.0]]) + np.triu(np.ones((4, 4)), 2))
NEAR = np.eye(5) + 0.1 * A
BANDS = AB[2:] + 0.1j * np.array([[0.0], [1.0]])


def changed(mode, name, *arguments, **options):
    return lambda s: getattr(s, name)(*s.qr(A[:, :3], mode=mode), *arguments, **options)


CALLS = {
    "eigh_tridiagonal": lambda s: s.eigh_tridiagonal(C, B[:4, 0]),
    "eigh_tridiagonal ints": lambda s: s.eigh_tridiagonal([1, 2], [3]),
    "eigvalsh_tridiagonal": lambda s: s.eigvalsh_tridiagonal(C, B[:4, 0]),
    "eig_banded": lambda s: s.eig_banded(AB[:3]),
    "eig_banded complex": lambda s: s.eig_banded(BANDS, lower=True),
    "eigvals_banded": lambda s: s.eigvals_banded(BANDS, lower=True),
    "eigvals_banded stack": lambda s: s.eigvals_banded(np.stack([AB, AB + 1])),
    "schur": lambda s: s.schur(A),
    "schur complex": lambda s: s.schur(Z),
    "schur output": lambda s: s.schur(A, output="complex"),
    "schur sort": lambda s: s.schur(A, sort="rhp"),
    "schur sort complex": lambda s: s.schur(Z, sort="ouc"),
    "schur sort by a function": lambda s: s.schur(Z, "complex", sort=lambda w: w.real < 0),
    "schur sort by a function of parts": lambda s: s.schur(A, sort=lambda x, y: y == 0),
    "schur stack": lambda s: s.schur(np.stack([A, D])),
    "rsf2csf": lambda s: s.rsf2csf(*original.schur(A)),
    "rsf2csf complex": lambda s: s.rsf2csf(*original.schur(Z)),
    "hessenberg": lambda s: s.hessenberg(A, calc_q=True),
    "hessenberg complex": lambda s: s.hessenberg(Z, calc_q=True),
    "hessenberg of two": lambda s: s.hessenberg(Z[:2, :2], calc_q=True)[0],
    "matrix_balance": lambda s: s.matrix_balance(UNEVEN),
    "matrix_balance complex": lambda s: s.matrix_balance(UNEVEN * (1 + 1j), permute=False),
    "matrix_balance separate": lambda s: s.matrix_balance(SPARSE, separate=True),
    "matrix_balance order": lambda s: s.matrix_balance(SPARSE, scale=False),
    "cdf2rdf": lambda s: s.cdf2rdf(*np.linalg.eig(A)),
    "cdf2rdf pairs": lambda s: s.cdf2rdf(*PAIRS),
    "cdf2rdf real": lambda s: s.cdf2rdf(*np.linalg.eigh(D)),
    "ldl": lambda s: s.ldl(S),
    "ldl upper": lambda s: s.ldl(S, lower=False),
    "ldl complex": lambda s: s.ldl(H),
    "ldl upper complex": lambda s: s.ldl(H, lower=False),
    "ldl symmetric": lambda s: s.ldl(Z + Z.T, hermitian=False),
    "ldl pairs": lambda s: s.ldl(S - np.diag(np.diag(S))),
    "rq": lambda s: s.rq(A[:3]),
    "rq economic": lambda s: s.rq(A[:3], mode="economic"),
    "rq tall": lambda s: s.rq(Z[:, :3]),
    "rq tall economic": lambda s: s.rq(Z[:, :3], mode="economic"),
    "rq r": lambda s: s.rq(A[:, :3], mode="r"),
    "qr_multiply": lambda s: s.qr_multiply(A[:, :3], W),
    "qr_multiply vector": lambda s: s.qr_multiply(A[:3], C[:3]),
    "qr_multiply left": lambda s: s.qr_multiply(A[:, :3], C[:3], mode="left"),
    "qr_multiply complex": lambda s: s.qr_multiply(Z, Z, mode="left", conjugate=True),
    "qr_multiply whole": lambda s: s.qr_multiply(A[:, :3], B.copy(), mode="left", overwrite_c=True),
    "qr_multiply pivoting": lambda s: s.qr_multiply(A, C, pivoting=True),
    "qr_insert": changed("full", "qr_insert", W[:, :3], 1),
    "qr_insert at the end": changed("economic", "qr_insert", W[0, :3], -1),
    "qr_insert columns": changed("economic", "qr_insert", C, 3, "col"),
    "qr_insert complex": lambda s: s.qr_insert(*s.qr(Z), Z[0], 2, "row"),
    "qr_delete": changed("economic", "qr_delete", -2, 2),
    "qr_delete columns": changed("full", "qr_delete", 0, 2, "col"),
    "qr_update": changed("economic", "qr_update", C, W[0, :3]),
    "qr_update of rank two": changed("full", "qr_update", B, W[:, :3].T),
    "qr_update complex": lambda s: s.qr_update(*s.qr(Z), Z[0], Z[1]),
    "solve_continuous_are": lambda s: s.solve_continuous_are(A, B, D, COST),
    "solve_continuous_are e, s": lambda s: s.solve_continuous_are(A, B, D, COST, NEAR, 0.1 * B, False),
    "solve_continuous_are complex": lambda s: s.solve_continuous_are(Z, B, D, COST, s=0.1j * B),
    "solve_discrete_are": lambda s: s.solve_discrete_are(A, B, D, COST),
    "solve_discrete_are e, s": lambda s: s.solve_discrete_are(SMALL, B, D, COST, NEAR, 0.1 * B, False),
    "solve_discrete_are complex": lambda s: s.solve_discrete_are(SMALL * 1j, B, D, COST, s=0.1 * B),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_shapes_and_arguments_are_those_of_scipy(name):
    assert_alike(CALLS[name](linalg), CALLS[name](original))


SAME = {
    "eigh_tridiagonal": (linalg.eigh_tridiagonal, C, B[:4, 1]),
    "eigvalsh_tridiagonal": (linalg.eigvalsh_tridiagonal, C, B[:4, 1]),
    "eig_banded": (lambda ab: linalg.eig_banded(ab, lower=True), AB[:3]),
    "eigvals_banded": (linalg.eigvals_banded, BANDS),
    "qr_insert": (lambda q, r: linalg.qr_insert(q, r, W[0, :3], 2), *original.qr(A[:, :3])),
    "qr_update": (lambda q, r: linalg.qr_update(q, r, C, W[0, :3]), *original.qr(A[:, :3], mode="economic")),
    "qr_delete": (lambda q, r: linalg.qr_delete(q, r, 1, 1, "col"), *original.qr(A[:, :3])),
}


@pytest.mark.parametrize("name", SAME)
def test_functions_that_are_scipys_without_vars_return_the_same_with_them(name):
    """Signs of vectors included."""
    f, *args = SAME[name]

    def together(*args):
        found = f(*args)
        return np.concatenate([np.ravel(x) for x in (found if isinstance(found, tuple) else (found,))])

    np.testing.assert_allclose(record(together, args)[2].value, together(*args), rtol=0, atol=1e-15)


def test_selected_eigenvalues_are_those_of_all():
    def some_values(d, e):
        w, v = linalg.eigh_tridiagonal(d, e, select="i", select_range=(1, 2))
        assert v.shape == (5, 2)
        return w

    ours = tape.value_and_grad(lambda d, e: np.sum(some_values(d, e)), argnums=(0, 1))(C, B[:4, 0])
    theirs = tape.value_and_grad(lambda d, e: np.sum(linalg.eigvalsh_tridiagonal(d, e)[1:3]), argnums=(0, 1))
    expected = theirs(C, B[:4, 0])
    np.testing.assert_allclose(ours[0], expected[0], rtol=1e-12)
    for one, other in zip(ours[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("a", [A, Z, A.T @ A - A.T], ids=["real", "complex", "other"])
def test_changes_of_forms_satisfy_what_defines_them(a):
    """Their products change as the matrix, and bases stay bases, whatever turns LAPACK chooses."""
    rng = np.random.default_rng(1)
    t = rng.normal(size=a.shape) + (1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else 0)
    for factors, is_zero in (
        (linalg.schur, lambda form: np.abs(form) == 0),
        (lambda a: linalg.hessenberg(a, calc_q=True), lambda form: np.tri(len(form), k=-2, dtype=bool)),
        (lambda a: linalg.rsf2csf(*linalg.schur(a)), lambda form: np.tri(len(form), k=-1, dtype=bool)),
    ):
        (form, z), (d_form, d_z) = tape.jvp(factors, (a,), (t,))
        turned = z.conj().T
        change = d_z @ form @ turned + z @ d_form @ turned + z @ form @ d_z.conj().T
        np.testing.assert_allclose(change, t, atol=1e-11)
        np.testing.assert_allclose(turned @ d_z + d_z.conj().T @ z, 0, atol=1e-11)
        assert np.all(d_form[is_zero(form)] == 0)
    if a.dtype.kind != "c":
        form, d_form = (x[0] for x in tape.jvp(linalg.schur, (a,), (t,)))
        pairs = np.flatnonzero(np.diagonal(form, -1))
        assert len(pairs)
        diagonal = np.diagonal(d_form)
        np.testing.assert_allclose(diagonal[pairs], diagonal[pairs + 1], atol=1e-11)


def test_forms_of_programs_have_the_blocks_of_their_data():
    """Pairs of eigenvalues come and go, as do the orders of rows of LDL."""

    def f(a):
        t = linalg.schur(a)[0]
        u, d, perm = linalg.ldl(a + a.T)
        return np.sum(np.abs(np.diagonal(t)) ** 3) + np.sum(np.sin(d)) + np.sum(u[perm] ** 2)

    compiled, plain = tape.compile(tape.value_and_grad(f)), tape.value_and_grad(f)
    for a in (A, D, A.T, S - np.diag(np.diag(S)), -A):
        for ours, theirs in zip(compiled(a), plain(a), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert len(compiled.programs) == 1


OF_ONE_MATRIX = {
    "lu": lambda a: linalg.lu(a)[1:],
    "lu_factor": lambda a: linalg.lu_factor(a)[0],
    "lu_solve": lambda a: linalg.lu_solve(linalg.lu_factor(a), C),
    "qr": linalg.qr,
    "rq": linalg.rq,
    "ldl": lambda a: linalg.ldl(a + a.T)[:2],
    "cholesky": lambda a: linalg.cholesky(a @ a.T),
    "cho_solve": lambda a: linalg.cho_solve(linalg.cho_factor(a @ a.T), C),
    "schur": lambda a: linalg.schur(a + a.T),
    "hessenberg": lambda a: linalg.hessenberg(a, calc_q=True),
    "polar": linalg.polar,
    "svd": lambda a: linalg.svd(a)[1],
    "eigh": lambda a: abs(linalg.eigh(a + a.T)[1]),
    "eigvals": lambda a: np.sum(abs(linalg.eigvals(a)) ** 2),
    "inv": linalg.inv,
    "pinv": linalg.pinv,
    "det": linalg.det,
    "expm": linalg.expm,
    "logm": lambda a: linalg.logm(a @ a.T),
    "sqrtm": lambda a: linalg.sqrtm(a @ a.T),
    "signm": linalg.signm,
    "orth": lambda a: linalg.orth(a[:, :2]) @ linalg.orth(a[:, :2]).T,
    "null_space": lambda a: linalg.null_space(a[:2]) @ linalg.null_space(a[:2]).T,
    "subspace_angles": lambda a: linalg.subspace_angles(a[:, :2], a[:, 2:4]),
    "solve_sylvester": lambda a: linalg.solve_sylvester(a @ a.T, a @ a.T, a),
    "solve_continuous_lyapunov": lambda a: linalg.solve_continuous_lyapunov(a, D),
    "solve_continuous_are": lambda a: linalg.solve_continuous_are(a, B, D, np.eye(2)),
    "solve_discrete_are": lambda a: linalg.solve_discrete_are(a / 9, B, D, np.eye(2)),
    "solve_banded": lambda a: linalg.solve_banded((1, 1), np.array([[0], [5], [0]]) + a[:3], C),
    "solve_toeplitz": lambda a: linalg.solve_toeplitz(a[0] + np.array([9, 0, 0, 0, 0]), C),
    "eigh_tridiagonal": lambda a: linalg.eigvalsh_tridiagonal(a[0], a[1, 1:]),
    "qr_insert": lambda a: linalg.qr_insert(*linalg.qr(a), a[0], 2)[1],
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_MATRIX)
def test_gradients_of_a_batch_are_those_of_its_matrices(name):
    """Checks of what is singular look at each."""

    def total(a):
        return sum(np.sum(np.sin(part)) for part in tape.tree.leaves(OF_ONE_MATRIX[name](a)))

    gradient, batch = tape.grad(total), np.stack([A + 3 * np.eye(5), D + A])
    found = tape.vmap(gradient)(batch)
    for matrix, each in zip(batch, found, strict=True):
        np.testing.assert_allclose(each, gradient(matrix), rtol=1e-9, atol=1e-9)


def gram(a):
    return a @ np.swapaxes(a, -1, -2)


OF_STACKS = {
    **{
        name: OF_ONE_MATRIX[name]
        for name in ("qr", "rq", "hessenberg", "polar", "inv", "pinv", "det", "expm", "signm")
    },
    "lu": lambda a: linalg.lu(a)[1:],
    "ldl": lambda a: linalg.ldl(gram(a))[:2],
    "cholesky": lambda a: linalg.cholesky(gram(a)),
    "schur": lambda a: linalg.schur(gram(a)),
    "svdvals": linalg.svdvals,
    "eigvalsh": lambda a: linalg.eigvalsh(gram(a)),
    "logm": lambda a: linalg.logm(gram(a)),
    "sqrtm": lambda a: linalg.sqrtm(gram(a)),
    "cosm": linalg.cosm,
    "sinhm": linalg.sinhm,
    "solve": lambda a: linalg.solve(a, a[..., :2]),
    "solve_sylvester": lambda a: linalg.solve_sylvester(gram(a), gram(a), a),
}


@pytest.mark.parametrize("name", OF_STACKS)
def test_derivatives_of_a_stack_are_those_of_its_matrices(name):
    def total(a):
        return sum(np.sum(np.sin(part)) for part in tape.tree.leaves(OF_STACKS[name](a)))

    stack, gradient = np.stack([[A + 3 * np.eye(5), D + A], [2 * D, A - 2 * np.eye(5)]]), tape.grad(total)
    expected = np.stack([[gradient(a) for a in row] for row in stack])
    np.testing.assert_allclose(gradient(stack), expected, rtol=1e-8, atol=1e-9)
    along = np.cos(stack)
    moved = tape.jvp(total, (stack,), (along,))[1]
    assert moved == pytest.approx(np.sum(expected * along), rel=1e-8)


def test_only_what_is_read_has_a_gradient():
    gradient = tape.grad(lambda a: np.sum(linalg.ldl(a, lower=False)[1]))(A)
    assert np.all(np.tril(gradient, -1) == 0)
    assert np.all(np.diagonal(gradient) != 0)
    form, basis = original.schur(A)
    gradient = tape.grad(lambda t: np.sum(np.abs(linalg.rsf2csf(t, basis)[0]) ** 2))(form)
    assert np.all(gradient[np.tri(5, k=-1, dtype=bool) & (form == 0)] == 0)


def test_solutions_of_riccati_equations_satisfy_them_with_their_changes():
    """The residual of each equation stays 0, where SciPy 1.17, balanced, is wrong or raises."""
    e, s = NEAR, 0.1 * B

    def residuals(a, b, q, r, e, s):
        q, r = (q + q.T) / 2, (r + r.T) / 2
        x = linalg.solve_continuous_are(a, b, q, r, e, s)
        g = e.T @ x @ b + s
        one = a.T @ x @ e + e.T @ x @ a - g @ np.linalg.solve(r, g.T) + q
        x = linalg.solve_discrete_are(a, b, q, r, e, s)
        g = a.T @ x @ b + s
        other = a.T @ x @ a - e.T @ x @ e - g @ np.linalg.solve(r + b.T @ x @ b, g.T) + q
        return one, other

    matrices = (0.3 * A, B, D, COST, e, s)
    tangents = tuple(RNG.normal(size=x.shape) for x in matrices)
    values, changes = tape.jvp(residuals, matrices, tangents)
    for x in (*values, *changes):
        np.testing.assert_allclose(x, 0, atol=1e-9)


def test_stacks_of_riccati_equations_are_solved_one_by_one():
    stack = np.stack([0.3 * A, 0.2 * A.T])
    for solve in (linalg.solve_continuous_are, linalg.solve_discrete_are):
        for one, a in zip(solve(stack, B, D, COST), stack, strict=True):
            np.testing.assert_allclose(one, solve(a, B, D, COST), rtol=1e-12)


# ---- refusals --------------------------------------------------------------------------------------------


def gradient(f):
    return tape.grad(lambda a: np.sum(np.abs(f(a)) ** 2))


ROTATION = np.array([[1.0, 2.0], [-2.0, 1.0]])
OPTION, SHAPE = errors.OptionError, errors.ShapeError
SINGULAR = errors.SingularMatrixError
REFUSED = errors.UnsupportedError


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linalg.schur(A, output="round"), OPTION, "output"),
        (lambda: linalg.schur(A, sort="up"), OPTION, "ouc"),
        (lambda: gradient(lambda a: linalg.schur(a, sort=abs)[0])(A), REFUSED, "Name a sort"),
        (lambda: gradient(lambda a: linalg.schur(a)[1][0])(np.eye(3)), SINGULAR, "two equal eigenvalues"),
        (lambda: gradient(lambda a: linalg.schur(a)[1][0] + 1)(ROTATION), SINGULAR, "turn freely"),
        (lambda: gradient(lambda a: linalg.hessenberg(a)[0])(np.triu(D)), SINGULAR, "turn freely"),
        (lambda: gradient(lambda a: linalg.ldl(a)[0])(np.diag([1.0, 0.0])), SINGULAR, "Singular"),
        (lambda: linalg.rsf2csf(A, D[:2, :2]), SHAPE, "one shape"),
        (lambda: linalg.cdf2rdf(np.array([1j, 1.0]), np.eye(2)), OPTION, "odd number"),
        (lambda: linalg.cdf2rdf(C, A[:3]), SHAPE, "square matrix"),
        (lambda: linalg.rq(A, mode="raw"), OPTION, "economic"),
        (lambda: linalg.qr_multiply(A, B), SHAPE, "5 elements"),
        (lambda: linalg.qr_multiply(A, B, mode="both"), OPTION, "left"),
        (lambda: gradient(lambda a: linalg.qr_multiply(a, C, pivoting=True)[0])(A), REFUSED, "pivoting"),
        (lambda: gradient(lambda u: linalg.qr_insert(A, D, u, 9)[0])(C), OPTION, "k=9"),
        (lambda: gradient(lambda u: linalg.qr_insert(A, D, u, 0, "x")[0])(C), OPTION, "which"),
        (lambda: gradient(lambda u: linalg.qr_insert(A, D, u[:2], 0)[0])(C), SHAPE, "does not fit"),
        (lambda: gradient(lambda a: linalg.qr_delete(a, D, 3, 4)[0])(A), OPTION, "p=4"),
        (lambda: gradient(lambda u: linalg.qr_update(A, D, u, B)[0])(C), SHAPE, "do not fit"),
        (
            lambda: gradient(lambda u: linalg.qr_update(A, D, u, C[:3])[0])(C),
            SHAPE,
            r"\[5\] and v of shape \[3\]",
        ),
        (lambda: gradient(lambda u: linalg.qr_update(A, D, u, C)[0])(C[:4]), SHAPE, "matrix of shape"),
        (lambda: gradient(lambda u: linalg.qr_update(A, D, u, C[:, None])[0])(C), SHAPE, "do not fit"),
        (lambda: gradient(lambda a: linalg.qr_delete(a, D, 0, 1, "both")[0])(A), OPTION, "which='both'"),
        (lambda: gradient(lambda d: linalg.eigh_tridiagonal(d, C)[0])(C), SHAPE, "one less"),
        (lambda: gradient(lambda d: linalg.eigh_tridiagonal(d, C[1:])[0])(C + 0j), errors.DTypeError, "real"),
        (lambda: gradient(lambda d: linalg.eigvals_banded(d, select="v"))(AB), REFUSED, "select='i'"),
        (lambda: gradient(lambda d: linalg.eigvals_banded(d, select="x"))(AB), OPTION, "'a' or 'i'"),
        (lambda: gradient(lambda d: linalg.eigvals_banded(d, 0, 0, "i", (3, 9)))(AB), OPTION, "within"),
        (lambda: linalg.eigvals_banded(np.full((1, 2), np.nan)), ValueError, "infs or NaNs"),
        (lambda: linalg.solve_continuous_are(A, B, A, COST), OPTION, "symmetric"),
        (lambda: linalg.solve_continuous_are(A, B, D, D), SHAPE, "they are"),
        (lambda: linalg.solve_discrete_are(2 * np.eye(5), 0 * B, D, COST), SINGULAR, "stabilised"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "rest"), [("qr_insert", (C, 0)), ("qr_delete", (0,)), ("qr_update", (C, C))]
)
def test_factors_that_do_not_fit_are_refused_by_the_name_of_the_function(name, rest):
    with pytest.raises(SHAPE, match=f"^{name}: "):
        gradient(lambda q: getattr(linalg, name)(q, D[:2], *rest)[0])(A)


def test_more_changes_of_factors_have_derivatives():
    """Of rank two, of complex matrices and of columns."""

    def factors(a, u):
        q, r = linalg.qr(a)
        first = linalg.qr_update(q, r, u, W[:, :2].T)
        return first[0][:, :2], first[1], linalg.qr_delete(q, r, 0, 1, "col")[1]

    tape.testing.check_grads(factors, (A[:, :2], B), order=1)

    def regulator(q):
        return linalg.solve_discrete_are(0.3 * Z[:2, :2], B[:2], q @ q.conj().T, COST)

    tape.testing.check_grads(regulator, (Z[:2, :2] + 2 * np.eye(2),), order=1)
