"""Properties of linear algebra and Fourier transforms over random stacks, shapes, layouts and options.

A derivative is checked by the identity that defines the result (``d(q @ r)`` is ``dA``), which fixes it but
for what is free, and by both modes being each other's transpose.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tape.ops import linalg as la
from tests.oracles import LAYOUTS, assert_close, assert_same, inner, is_float, jvp, laid_out, record, vjp
from tests.tiers import rounds

quick = settings(max_examples=rounds(25, plain=12), derandomize=True)
STACKS = st.lists(st.integers(1, 2), max_size=2).map(tuple)
SIDES = st.integers(1, 4)
DTYPES = st.sampled_from([np.float64, np.complex128])
NORMS = st.sampled_from([None, "backward", "ortho", "forward"])


def drawn(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.uniform(-1, 1, shape)
    return np.asarray(x + 1j * rng.uniform(-1, 1, shape) if dtype is np.complex128 else x, dtype)


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))


def apart(shape, dtype):
    """Matrices with eigenvalues and singular values about one apart."""
    return drawn(shape, dtype) / 8 + np.eye(*shape[-2:]) * np.arange(1.0, shape[-1] + 1)


def check_both_modes(f, args, tolerance=1e-12):
    """``<w, J v>`` is ``<J.T w, v>``, and gradients have the dtypes of their arguments."""
    directions = [drawn(a.shape, a.dtype.type, seed=1) for a in args if is_float(a)]
    pushed = jvp(f, args, directions)
    seed = drawn(pushed.shape, pushed.dtype.type, seed=2)
    pulled = vjp(f, args, seed)
    assert [g.dtype for g in pulled] == [a.dtype for a in args if is_float(a)]
    assert_close(inner(pulled, directions), np.sum(seed * pushed).real, tolerance)


def check_parts(f, args):
    """That, and that values are NumPy's, for each part of a result."""
    expected = f(*args)
    for k, part in enumerate(expected):
        assert_same(record(lambda *a, k=k: f(*a)[k], args)[2].value, part)
        check_both_modes(lambda *a, k=k: f(*a)[k], args)


# ---- Fourier transforms --------------------------------------------------------------------------

REAL_ONLY = {"rfft", "ihfft", "rfftn"}


def check_linear(f, x):
    direction = drawn(x.shape, x.dtype.type, seed=1)
    assert_same(record(f, [x])[2].value, f(x))
    assert_close(jvp(f, [x], [direction]), f(direction), 1e-14)
    check_both_modes(f, [x])


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@quick
@given(st.data())
def test_fourier_transforms_along_any_axis(name, data):
    shape = tuple(data.draw(st.lists(SIDES, min_size=1, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    is_short = name in ("irfft", "hfft") and shape[axis] == 1
    n = data.draw(st.integers(1, 7) if is_short else st.none() | st.integers(1, 7))
    norm = data.draw(NORMS)
    x = drawn(shape, np.float64 if name in REAL_ONLY else data.draw(DTYPES))
    x = laid_out(x, data.draw(st.sampled_from(LAYOUTS)))
    check_linear(lambda x: getattr(np.fft, name)(x, n, axis, norm), x)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@quick
@given(st.data())
def test_fourier_transforms_over_any_axes(name, data):
    shape = tuple(data.draw(st.lists(SIDES, min_size=1, max_size=3)))
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=3))
    s = data.draw(st.lists(st.integers(1, 5), min_size=len(axes), max_size=len(axes)))
    norm = data.draw(NORMS)
    x = drawn(shape, np.float64 if name in REAL_ONLY else data.draw(DTYPES))
    check_linear(lambda x: getattr(np.fft, name)(x, s, axes, norm), x)


# ---- norms ---------------------------------------------------------------------------------------


@quick
@given(st.data(), DTYPES, st.booleans())
def test_norms_are_homogeneous(data, dtype, keepdims):
    """So that ``sum(gradient * x)`` is the norm, by Euler's theorem: also at ties, and at the origin."""
    shape = tuple(data.draw(st.lists(SIDES, min_size=2, max_size=3)))
    axes = data.draw(st.permutations(range(-len(shape), 0)))
    if data.draw(st.booleans()):
        axis, ord = axes[0], data.draw(st.sampled_from([None, 1, 2, 3, 1.5, 0.5, -1, -2, np.inf, -np.inf]))
    else:
        axis = tuple(axes[:2])
        ord = data.draw(st.sampled_from([None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]))
    x = drawn(shape, dtype)
    x = data.draw(st.sampled_from([x, np.ones_like(x), np.zeros_like(x)]))

    def f(x):
        return np.linalg.norm(x, ord, axis, keepdims)

    value = f(x)
    assert_same(record(f, [x])[2].value, value)
    if ord == -2 and isinstance(axis, tuple):
        value = np.where(value < 1e-12, 0, value)  # of a singular matrix: rounding errors
    check_both_modes(f, [x])
    seed = drawn(value.shape)
    assert_close(np.sum(vjp(f, [x], seed)[0] * x).real, np.sum(seed * value), 1e-12)
    assert_close(jvp(f, [x], [x]), value, 1e-12)


# ---- equations -----------------------------------------------------------------------------------


@quick
@given(STACKS, STACKS, SIDES, SIDES, DTYPES, DTYPES, st.booleans())
def test_solutions_solve_the_derived_equation(stack, other, n, k, of_a, of_b, is_vector):
    other = other[: len(stack)]
    stack = stack[: len(stack) - len(other)] + other  # they broadcast
    a = drawn((*stack, n, n), of_a) + 3 * np.eye(n)
    b = drawn((n,) if is_vector else (*other, n, k), of_b)
    da, db = drawn(a.shape, of_a, seed=1), drawn(b.shape, of_b, seed=2)
    x = np.linalg.solve(a, b)
    assert_same(record(np.linalg.solve, [a, b])[2].value, x)
    moved = jvp(np.linalg.solve, [a, b], [da, db])
    times = np.matvec if is_vector else np.matmul
    assert_close(times(da, x) + times(a, moved), np.broadcast_to(db, x.shape), 1e-13)
    check_both_modes(np.linalg.solve, [a, b])


@quick
@given(STACKS, SIDES, SIDES, DTYPES, st.sampled_from([0, 1, 2, "N", "T", "C"]), st.booleans(), st.booleans())
def test_triangular_solutions_are_those_of_the_triangle(stack, n, k, dtype, trans, lower, unit_diagonal):
    a, b = drawn((*stack, n, n), dtype) + 3 * np.eye(n), drawn((*stack, n, k), dtype)

    def full(a, b):
        part = (np.tril if lower else np.triu)(a, -unit_diagonal if lower else int(unit_diagonal))
        part = part + np.eye(n) if unit_diagonal else part
        part = np.swapaxes(part, -1, -2) if trans in (1, "T") else dagger(part) if trans in (2, "C") else part
        return np.linalg.solve(part, b)

    def triangular(a, b):
        return la.solve_triangular(a, b, trans, lower, unit_diagonal)

    directions = [drawn(x.shape, dtype, seed=1) for x in (a, b)]
    assert_close(jvp(triangular, [a, b], directions), jvp(full, [a, b], directions), 1e-13)
    seed = drawn(b.shape, dtype, seed=2)
    for grad, expected in zip(vjp(triangular, [a, b], seed), vjp(full, [a, b], seed), strict=True):
        assert_close(grad, expected, 1e-13)


@quick
@given(SIDES, SIDES, SIDES, DTYPES, DTYPES)
def test_least_squares_solutions_are_pseudoinverses_times_the_right_hand_side(m, n, k, of_a, of_b):
    a, b = apart((m, n), of_a), drawn((m, k), of_b)
    directions = [drawn(a.shape, of_a, seed=1), drawn(b.shape, of_b, seed=2)]
    check_both_modes(lambda a, b: np.linalg.lstsq(a, b)[0], [a, b])
    assert_close(
        jvp(lambda a, b: np.linalg.lstsq(a, b)[0], [a, b], directions),
        jvp(lambda a, b: np.linalg.pinv(a) @ b, [a, b], directions),
        1e-12,
    )


# ---- factorizations ------------------------------------------------------------------------------

MATRICES = (STACKS, SIDES, SIDES, DTYPES)


@quick
@given(*MATRICES, st.sampled_from(["reduced", "complete"]))
def test_factors_of_qr_move_as_their_product(stack, m, n, dtype, mode):
    a = apart((*stack, m, n), dtype)
    da = drawn(a.shape, dtype, seed=1)
    check_parts(lambda a: np.linalg.qr(a, mode), [a])
    assert_close(jvp(lambda a: np.matmul(*np.linalg.qr(a, mode)), [a], [da]), da, 1e-12)
    moved = jvp(lambda a: np.linalg.qr(a, mode).R, [a], [da])
    assert_close(np.tril(moved, -1), np.zeros(moved.shape), 1e-13)


@quick
@given(*MATRICES, st.booleans())
def test_factors_of_svd_move_as_their_product(stack, m, n, dtype, full_matrices):
    a = apart((*stack, m, n), dtype)
    da, k = drawn(a.shape, dtype, seed=1), min(m, n)

    def product(a):
        u, s, vh = np.linalg.svd(a, full_matrices)
        return u[..., :k] * s[..., None, :] @ vh[..., :k, :]

    check_parts(lambda a: np.linalg.svd(a, full_matrices), [a])
    assert_close(jvp(product, [a], [da]), da, 1e-12)
    for basis in (lambda a: np.linalg.svd(a, full_matrices).U,
                  lambda a: dagger(np.linalg.svd(a, full_matrices).Vh)):  # fmt: skip
        gram = jvp(lambda a, basis=basis: dagger(basis(a)) @ basis(a), [a], [da])
        assert_close(gram, np.zeros(gram.shape), 1e-12)


@quick
@given(STACKS, SIDES, DTYPES, st.sampled_from("LUlu"))
def test_eigenvectors_move_as_the_hermitian_matrix_of_the_triangle(stack, n, dtype, uplo):
    a = apart((*stack, n, n), dtype)
    da = drawn(a.shape, dtype, seed=1)

    def product(a):
        w, v = np.linalg.eigh(a, uplo)
        return v * w[..., None, :] @ dagger(v)

    part = np.tril(da, -1) if uplo in "Ll" else np.triu(da, 1)
    diagonal = np.eye(n) * da.real
    check_parts(lambda a: np.linalg.eigh(a, uplo), [a])
    assert_close(jvp(product, [a], [da]), part + dagger(part) + diagonal, 1e-12)


@quick
@given(STACKS, SIDES, DTYPES, st.booleans())
def test_eigenvectors_move_as_the_matrix(stack, n, dtype, is_turning):
    a = apart((*stack, n, n), dtype)
    if is_turning and n > 1:  # two complex eigenvalues
        a[..., 0, 1], a[..., 1, 0] = 2.5, -2.5
    da = drawn(a.shape, dtype, seed=1)

    def product(a):
        w, v = np.linalg.eig(a)
        return v * w[..., None, :] @ np.linalg.inv(v)

    check_parts(np.linalg.eig, [a])
    assert_close(jvp(product, [a], [da]), da, 1e-11)


@quick
@given(STACKS, SIDES, DTYPES, st.booleans())
def test_cholesky_factors_move_as_their_product(stack, n, dtype, upper):
    x = drawn((*stack, n, n), dtype)
    a = x @ dagger(x) + np.eye(n)
    da = drawn(a.shape, dtype, seed=1)
    da = da + dagger(da)

    def factor(a):
        return np.linalg.cholesky(a, upper=upper)

    def product(a):
        return dagger(factor(a)) @ factor(a) if upper else factor(a) @ dagger(factor(a))

    assert_same(record(factor, [a])[2].value, factor(a))
    check_both_modes(factor, [a])
    assert_close(jvp(product, [a], [da]), da, 1e-12)


@quick
@given(STACKS, SIDES, DTYPES, st.integers(0, 3))
def test_determinants_of_any_rank_move_as_sums_over_rows(stack, n, dtype, defect):
    a = drawn((*stack, n, n), dtype)
    a[..., : min(defect, n - 1), :] = a[..., -1:, :]  # rows that are equal
    da = drawn(a.shape, dtype, seed=1)
    rows = np.eye(n, dtype=bool)[:, :, None]
    expected = sum(np.linalg.det(np.where(row, da, a)) for row in rows)
    assert_same(record(np.linalg.det, [a])[2].value, np.linalg.det(a))
    assert_close(jvp(np.linalg.det, [a], [da]), expected, 1e-13)
    check_both_modes(np.linalg.det, [a])
