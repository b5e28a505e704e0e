"""`tape.scipy.linalg` at its edges: stacks, empty ones, dtypes, errors that name the function."""

import warnings

import numpy as np
import pytest
from scipy import linalg as original

import tape
from tape import errors
from tape.scipy import linalg

N = 4


def regular(rng, *stack):
    return rng.normal(size=(*stack, N, N)) + 4 * np.diag(np.arange(1.0, N + 1))


def definite(rng, *stack):
    a = rng.normal(size=(*stack, N, N))
    return a @ np.swapaxes(a, -1, -2) + N * np.eye(N)


def wide(rng, *stack):
    return rng.normal(size=(*stack, 2, N)) + np.eye(2, N)


def tall(rng, *stack):
    return rng.normal(size=(*stack, N, 2)) + np.eye(N, 2)


def vector(rng, *stack):
    return rng.normal(size=(*stack, N)) + 4 * (np.arange(N) == 0)


def positive(rng, *stack):
    return rng.uniform(0.5, 1.5, (*stack, N))


def short(rng, *stack):
    return rng.uniform(0.5, 1.5, (*stack, N - 1))


def bands(rng, *stack):
    return rng.uniform(-0.5, 0.5, (*stack, 3, N)) + 4 * (np.arange(3) == 1)[:, None]


def half_bands(rng, *stack):
    main = np.array([[0.0], [1.0]])
    read = np.array([[0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    return read * rng.uniform(-0.5, 0.5, (*stack, 2, N)) + 4 * main * np.arange(1, N + 1)


def small(rng, *stack):
    return rng.uniform(-0.2, 0.2, (*stack, N, N))


CALLS = {
    "solve": (lambda s, a, b: s.solve(a, b), regular, tall),
    "solve pos": (lambda s, a, b: s.solve(a, b, assume_a="pos"), definite, tall),
    "solve sym": (lambda s, a, b: s.solve(a, b, assume_a="sym"), definite, tall),
    "solve her lower": (lambda s, a, b: s.solve(a, b, assume_a="her", lower=True), definite, tall),
    "solve diagonal": (lambda s, a, b: s.solve(a, b, assume_a="diagonal"), regular, tall),
    "solve transposed": (lambda s, a, b: s.solve(a, b, transposed=True), regular, tall),
    "solve_triangular": (lambda s, a, b: s.solve_triangular(a, b), regular, tall),
    "solve_triangular T lower": (
        lambda s, a, b: s.solve_triangular(a, b, 1, lower=True, unit_diagonal=True), regular, tall
    ),
    "inv": (lambda s, a: s.inv(a), regular),
    "pinv": (lambda s, a: s.pinv(a, return_rank=True), tall),
    "pinv tolerance": (lambda s, a: s.pinv(a, atol=1.5, return_rank=True), tall),
    "pinv share": (lambda s, a: s.pinv(a, rtol=0.6, return_rank=True), tall),
    "pinvh": (lambda s, a: s.pinvh(a, return_rank=True), definite),
    "pinvh upper": (lambda s, a: s.pinvh(a, lower=False, rtol=0.2, return_rank=True), regular),
    "det": (lambda s, a: s.det(a), regular),
    "norm": (lambda s, a: s.norm(a, axis=(-2, -1)), regular),
    "cholesky": (lambda s, a: s.cholesky(a), definite),
    "cholesky lower": (lambda s, a: s.cholesky(a, lower=True), definite),
    "cho_solve": (lambda s, a, b: s.cho_solve((a, True), b), definite, tall),
    "cho_factor": (lambda s, a: np.triu(s.cho_factor(a)[0]), definite),
    "lu": (lambda s, a: s.lu(a), regular),
    "lu wide": (lambda s, a: s.lu(a, permute_l=True), wide),
    "lu tall": (lambda s, a: s.lu(a, p_indices=True), tall),
    "lu_factor": (lambda s, a: s.lu_factor(a), regular),
    "lu_solve": (lambda s, a, b: s.lu_solve(s.lu_factor(a), b), regular, tall),
    "lu_solve T": (lambda s, a, b: s.lu_solve(s.lu_factor(a), b, 1), regular, tall),
    "qr": (lambda s, a: s.qr(a), tall),
    "qr economic": (lambda s, a: s.qr(a, mode="economic"), tall),
    "svd": (lambda s, a: [np.abs(part) for part in s.svd(a, full_matrices=False)], wide),
    "svd full": (lambda s, a: [np.shape(part) for part in s.svd(a)], wide),
    "svd values": (lambda s, a: s.svd(a, compute_uv=False), wide),
    "svdvals": (lambda s, a: s.svdvals(a), wide),
    "polar": (lambda s, a: s.polar(a), regular),
    "polar left": (lambda s, a: s.polar(a, side="left"), regular),
    "eigh": (lambda s, a: [np.abs(part) for part in s.eigh(a)], definite),
    "eigh upper": (lambda s, a: s.eigh(a, lower=False, eigvals_only=True), regular),
    "eigh subset": (lambda s, a: s.eigh(a, eigvals_only=True, subset_by_index=[1, 2]), definite),
    "eigvalsh": (lambda s, a: s.eigvalsh(a), regular),
    "eigvalsh generalised": (lambda s, a, b: s.eigvalsh(a, b), regular, definite),
    "eigvals": (lambda s, a: np.sort(np.abs(s.eigvals(a))), regular),
    "expm": (lambda s, a: s.expm(a), small),
    "expm_frechet": (lambda s, a, e: s.expm_frechet(a, e), small, small),
    "expm_frechet alone": (lambda s, a, e: s.expm_frechet(a, e, compute_expm=False), small, small),
    "expm_cond": (lambda s, a: s.expm_cond(a), small),
    "logm": (lambda s, a: s.logm(a), definite),
    "sqrtm": (lambda s, a: s.sqrtm(a), definite),
    "signm": (lambda s, a: s.signm(a), regular),
    "fractional_matrix_power": (lambda s, a: s.fractional_matrix_power(a, 0.5), definite),
    "fractional_matrix_power whole": (lambda s, a: s.fractional_matrix_power(a, -2), definite),
    **{
        name: (lambda s, a, name=name: getattr(s, name)(a), small)
        for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
    },
    "solve_sylvester": (lambda s, a, b, q: s.solve_sylvester(a, b, q), regular, regular, regular),
    "solve_continuous_lyapunov": (lambda s, a, q: s.solve_continuous_lyapunov(a, q), regular, regular),
    "solve_discrete_lyapunov": (lambda s, a, q: s.solve_discrete_lyapunov(a, q), small, regular),
    "solve_discrete_lyapunov bilinear": (
        lambda s, a, q: s.solve_discrete_lyapunov(a, q, "bilinear"), small, definite
    ),
    "solve_continuous_are": (
        lambda s, a, b, q, r: s.solve_continuous_are(a, b, q, r), small, regular, definite, definite
    ),
    "solve_discrete_are": (
        lambda s, a, b, q, r: s.solve_discrete_are(a, b, q, r), small, regular, definite, definite
    ),
    "schur": (lambda s, a: np.abs(s.schur(a)[0]), regular),
    "hessenberg": (lambda s, a: np.abs(s.hessenberg(a)), regular),
    "solve_banded": (lambda s, ab, b: s.solve_banded((1, 1), ab, b), bands, vector),
    "solveh_banded": (lambda s, ab, b: s.solveh_banded(ab, b), half_bands, vector),
    "cholesky_banded": (lambda s, ab: s.cholesky_banded(ab), half_bands),
    "cho_solve_banded": (lambda s, ab, b: s.cho_solve_banded((ab, False), b), half_bands, vector),
    "solve_toeplitz": (lambda s, c, b: s.solve_toeplitz(c, b), vector, vector),
    "matmul_toeplitz": (lambda s, c, x: s.matmul_toeplitz(c, x), vector, vector),
    "solve_circulant": (lambda s, c, b: s.solve_circulant(c, b), vector, vector),
    "toeplitz": (lambda s, c, r: s.toeplitz(c, r), vector, short),
    "circulant": (lambda s, c: s.circulant(c), vector),
    "hankel": (lambda s, c, r: s.hankel(c, r), vector, short),
    "khatri_rao": (lambda s, a, b: s.khatri_rao(a, b), tall, tall),
    "block_diag": (lambda s, a, b: s.block_diag(a, b), wide, regular),
    "convolution_matrix": (lambda s, a: s.convolution_matrix(a, 3), vector),
    "convolution_matrix same": (lambda s, a: s.convolution_matrix(a, 5, "same"), vector),
    "convolution_matrix valid": (lambda s, a: s.convolution_matrix(a, 3, "valid"), vector),
    "companion": (lambda s, a: s.companion(a), positive),
    "fiedler": (lambda s, a: s.fiedler(a), vector),
    "fiedler_companion": (lambda s, a: s.fiedler_companion(a), positive),
    "leslie": (lambda s, f, r: s.leslie(f, r), vector, short),
    "diagsvd": (lambda s, x: s.diagsvd(x, N, N + 1), vector),
    "diagsvd tall": (lambda s, x: s.diagsvd(x, N + 2, N), vector),
    "orth": (lambda s, a: np.abs(s.orth(a)), tall),
    "null_space": (lambda s, a: np.abs(s.null_space(a)), wide),
    "subspace_angles": (lambda s, a, b: s.subspace_angles(a, b), tall, tall),
    "orthogonal_procrustes": (lambda s, a, b: s.orthogonal_procrustes(a, b), regular, regular),
    "eigh_tridiagonal": (lambda s, d, e: s.eigh_tridiagonal(d, e, eigvals_only=True), vector, short),
    "eigvalsh_tridiagonal": (lambda s, d, e: s.eigvalsh_tridiagonal(d, e), vector, short),
    "eigvals_banded": (lambda s, ab: s.eigvals_banded(ab), half_bands),
    "eig_banded": (lambda s, ab: s.eig_banded(ab, eigvals_only=True), half_bands),
    "matrix_balance": (lambda s, a: s.matrix_balance(a), regular),
    "rq": (lambda s, a: s.rq(a), regular),
}  # fmt: skip
"""name, and what is special -> a call, and what its operands are drawn from."""


def quietly(call):
    """The results of a call, or the error that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call()
        except Exception as error:
            return error
    return [np.asarray(part) for part in (found if isinstance(found, (tuple, list)) else [found])]


def drawn(name, *stacks, seed=0):
    rng = np.random.default_rng(seed)
    _, *domains = CALLS[name]
    return [domain(rng, *stack) for domain, stack in zip(domains, stacks or [()] * len(domains), strict=True)]


def assert_alike(found, expected, tolerance=1e-9):
    assert not isinstance(found, Exception), found
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype.kind == other.dtype.kind
        np.testing.assert_allclose(
            one, other, rtol=tolerance, atol=tolerance * np.max(np.abs(other), initial=1)
        )


@pytest.mark.parametrize("name", CALLS)
def test_values_and_dtypes_are_those_of_scipy(name):
    """Of floats of both precisions, of ints, and of complex numbers."""
    call = CALLS[name][0]
    args = drawn(name)
    for convert in (
        lambda x: x,
        lambda x: x.astype(np.float32),
        lambda x: np.round(3 * x).astype(int),
        lambda x: x + 0.1j * x[::-1] if x.ndim == 1 else x + 0.01j * np.triu(x),
    ):
        given = [convert(x) for x in args]
        expected, found = (quietly(lambda s=s, g=given: call(s, *g)) for s in (original, linalg))
        if isinstance(expected, Exception):
            continue
        if isinstance(found, Exception):
            assert isinstance(found, errors.TapeError)
            continue
        single = given[0].dtype == np.float32
        if name == "solveh_banded" and given[0].dtype.kind == "c":
            continue  # whose main diagonal is real
        if name not in ("orth", "rq", "qr", "polar", "polar left", "schur", "hessenberg"):
            assert_alike(found, expected, 2e-3 if single else 1e-8)


STACKS = {"one": [(3,)], "two": [(2, 3)], "none": [(0,)], "beside": [(3,), ()], "behind": [(), (3,)]}


@pytest.mark.parametrize("stacks", STACKS)
@pytest.mark.parametrize("name", CALLS)
def test_results_of_stacks_are_those_of_their_matrices(name, stacks):
    """With gradients; where a stack is refused, it is by name."""
    call, *domains = CALLS[name]
    each = STACKS[stacks] * len(domains) if len(STACKS[stacks]) == 1 else STACKS[stacks]
    if len(each) != len(domains):
        return
    args = drawn(name, *each)
    found = quietly(lambda: call(linalg, *args))
    if isinstance(found, Exception):
        assert isinstance(found, (errors.TapeError, ValueError)), found
        return
    expected = quietly(lambda: call(original, *args))
    if stacks == "none":
        if name not in OTHER_SHAPES and not isinstance(expected, Exception):
            assert [part.shape for part in found] == [part.shape for part in expected]
        return
    if name == "block_diag" or name.startswith("svd full"):
        return  # which joins all
    whole = np.broadcast_shapes(*each)
    rows = [
        np.broadcast_to(x, whole + x.shape[len(stack) :]).reshape(-1, *x.shape[len(stack) :])
        for x, stack in zip(args, each, strict=True)
    ]
    if isinstance(expected, Exception) and all(part.shape[: len(whole)] != whole for part in found):
        return
    one_by_one = [quietly(lambda row=row: call(original, *row)) for row in zip(*rows, strict=True)]
    for k, part in enumerate(found):
        wanted = np.stack([one[k] for one in one_by_one]).reshape(whole + one_by_one[0][k].shape)
        if part.shape != wanted.shape:  # an axis of vectors, and not of matrices
            np.testing.assert_allclose(part, expected[k], rtol=1e-9, atol=1e-9)
            continue
        np.testing.assert_allclose(part, wanted, rtol=1e-8, atol=1e-8 * np.max(np.abs(wanted), initial=1))


def edges_of(x):
    """What an operand might be by mistake, or at its least."""
    yield "of another width", x[..., :-1]
    yield "of another height", x[:-1]
    yield "a stack of stacks", np.stack([x, x])
    yield "no axes", x.ravel()[0]
    yield "empty", x[..., :0]
    yield "nothing", x[tuple([slice(0)] * x.ndim)]
    yield "half precision", x.astype(np.float16)
    yield "long doubles", x.astype(np.longdouble)


def name_of(name):
    return name.split()[0]


PASSED_ON = {
    "eigvalsh": ("eigh", "solve_triangular"), "eigvals": ("eig",), "cho_solve": ("solve_triangular",),
    "cho_factor": ("cholesky",), "lu_solve": ("lu_factor", "solve_triangular"), "tanm": ("cosm",),
    "tanhm": ("coshm",), "solve": ("solve_triangular",), "solve_continuous_lyapunov": ("solve_sylvester",),
    "solveh_banded": ("solve_banded", "solve_bands"), "cho_solve_banded": ("solve_banded", "solve_bands"),
    "cholesky_banded": ("cholesky_of_bands",), "eigvals_banded": ("eig_banded",),
    "eigvalsh_tridiagonal": ("eigh_tridiagonal",), "solve_toeplitz": ("solve",),
}  # fmt: skip
"""Which functions compute, and name themselves; the errors end with the one that was called."""
OTHER_SHAPES = ("lu", "lu tall", "lu_factor", "hankel")
"""What of nothing has no shape of its own in SciPy, or is made one vector."""


@pytest.mark.parametrize("name", CALLS)
def test_operands_that_do_not_fit_are_refused_by_name_or_taken_as_by_scipy(name):
    call, args = CALLS[name][0], drawn(name)
    for k in range(len(args)):
        for what, edge in edges_of(args[k]):
            given = [*args[:k], edge, *args[k + 1 :]]
            expected, found = (quietly(lambda s=s, g=given: call(s, *g)) for s in (original, linalg))
            if isinstance(found, errors.TapeError):
                said = str(found)
                names = (name_of(name), *PASSED_ON.get(name_of(name), ()))
                assert said.startswith(tuple(f"{one}{end}" for one in names for end in ":(")), (what, said)
            elif not isinstance(found, Exception) and not isinstance(expected, Exception):
                is_other = name in OTHER_SHAPES
                assert is_other or [x.shape for x in found] == [x.shape for x in expected], what


OPTIONS = [
    ("eigh", lambda a, b: linalg.eigh(a, subset_by_index=3)),
    ("eigh", lambda a, b: linalg.eigh(a, subset_by_index=[1])),
    ("eigh", lambda a, b: linalg.eigh(a, subset_by_index=[0.5, 1])),
    ("eigh", lambda a, b: linalg.eigh(a, a, type=4)),
    ("lu_solve", lambda a, b: linalg.lu_solve(3, b)),
    ("lu_solve", lambda a, b: linalg.lu_solve((a,), b)),
    ("lu_solve", lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, 3)),
    ("lu_solve", lambda a, b: linalg.lu_solve((a, np.arange(3)), b)),
    ("lu_solve", lambda a, b: linalg.lu_solve((a, np.arange(4.0)), b)),
    ("solve_banded", lambda a, b: linalg.solve_banded(3, a, b)),
    ("solve_banded", lambda a, b: linalg.solve_banded((1, 1, 1), a, b)),
    ("solve_banded", lambda a, b: linalg.solve_banded((1, 0.5), a, b)),
    ("cho_solve_banded", lambda a, b: linalg.cho_solve_banded(a[0, 0], b)),
    ("convolution_matrix", lambda a, b: linalg.convolution_matrix(a[0], 2.5)),
    ("convolution_matrix", lambda a, b: linalg.convolution_matrix(a[0], 3, "most")),
    ("diagsvd", lambda a, b: linalg.diagsvd(a[0], 2.5, 4)),
    ("diagsvd", lambda a, b: linalg.diagsvd(a[0], 4, "4")),
    ("diagsvd", lambda a, b: linalg.diagsvd(a[0], 3, 3)),
    ("solve", lambda a, b: linalg.solve(a, b, assume_a="round")),
    ("inv", lambda a, b: linalg.inv(a, assume_a="round")),
    ("polar", lambda a, b: linalg.polar(a, side="up")),
    ("solve_discrete_lyapunov", lambda a, b: linalg.solve_discrete_lyapunov(a, a, "slow")),
    ("companion", lambda a, b: linalg.companion(a)),
    ("companion", lambda a, b: linalg.companion(a[0, :1])),
    ("fiedler_companion", lambda a, b: linalg.fiedler_companion(0 * a[0])),
    ("pinvh", lambda a, b: tape.grad(lambda atol: np.sum(linalg.pinvh(a, atol)))(0.1)),
]


@pytest.mark.parametrize("k", range(len(OPTIONS)))
def test_options_that_do_not_fit_are_refused_by_name(k):
    name, call = OPTIONS[k]
    a, b = drawn("solve pos")
    with pytest.raises(errors.TapeError, match=rf"^{name}\b"):
        call(a, b)


def test_pairs_of_squares_are_solved_by_each_method_on_both_sides_of_its_size():
    """Lyapunov equations: directly up to nine rows, by a bilinear map above."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 9, 10, 11):
        a, q = rng.uniform(-0.5, 0.5, (n, n)) / n, rng.normal(size=(n, n))
        for method in (None, "direct", "bilinear"):
            found = linalg.solve_discrete_lyapunov(a, q, method)
            np.testing.assert_allclose(a @ found @ a.T - found + q, 0, atol=1e-12)
            moved = tape.jvp(lambda q, a=a, m=method: linalg.solve_discrete_lyapunov(a, q, m), (q,), (q,))[1]
            np.testing.assert_allclose(moved, found, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("full_matrices", [True, False])
def test_options_of_svd_choose_what_is_returned(rows, full_matrices):
    a = np.random.default_rng(2).normal(size=(rows, 4))
    for compute_uv in (True, False):
        found = linalg.svd(a, full_matrices, compute_uv)
        expected = original.svd(a, full_matrices, compute_uv)
        assert type(found) is type(expected)
        assert [x.shape for x in (found if compute_uv else [found])] == [
            x.shape for x in (expected if compute_uv else [expected])
        ]
    for of_one in (linalg.svd(a[0]), original.svd(a)):
        assert len(of_one) == 3
