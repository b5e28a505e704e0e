"""Sparse arrays beside Vars: products from both sides, patterns, systems; dispatch, factors, errors."""

import numpy as np
import pytest
import scipy.sparse

import tape
from tape import errors, ops
from tape.ops.products.sparse import sampled_product, sparse_product
from tape.scipy import sparse
from tape.scipy.sparse import linalg
from tests.op_table.scipy_sparse import ALL
from tests.oracles import assert_close, assert_same
from tests.scipy_checks import check_compiled, check_derivatives, check_value
from tests.tiers import some

KINDS = ["csr_array", "csc_array", "coo_array", "lil_array", "dia_array", "csr_matrix", "csc_matrix"]
DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.5, -1.0, 0.0], [0.0, 3.0, 4.0]])


@pytest.mark.parametrize("case", ALL, ids=str)
def test_value_is_that_of_a_dense_matrix(case):
    check_value(case)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_derivatives_are_differences_of_the_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(ALL, every=2), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


# ---- arrays of SciPy -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_products_with_arrays_of_scipy_record(kind):
    """Whatever stands left, in sweeps of both modes, batches and programs."""
    A, rng = getattr(scipy.sparse, kind)(DENSE), np.random.default_rng(0)
    products = [
        (lambda v, M: M @ v, (3,)), (lambda v, M: M @ v, (3, 2)), (lambda v, M: v @ M, (4,)),
        (lambda v, M: v @ M, (2, 4)), (lambda v, M: v @ M, (2, 1, 4)), (lambda v, M: M.T @ v, (4,)),
    ]  # fmt: skip
    for product, shape in products:
        v, t = rng.normal(size=(2, *shape))
        f, dense = (lambda v, M=M, product=product: np.sin(product(v, M)) for M in (A, DENSE))
        total, of_dense = (lambda v, g=g: np.sum(g(v)) for g in (f, dense))
        value, moved = tape.jvp(f, (v,), (t,))
        assert_close(value, dense(v), 1e-14)
        assert_close(moved, tape.jvp(dense, (v,), (t,))[1], 1e-14)
        assert_close(tape.grad(total)(v), tape.grad(of_dense)(v), 1e-14)
        assert_close(tape.compile(tape.grad(total))(v), tape.grad(of_dense)(v), 1e-14)
        assert_close(tape.vmap(f)(np.stack([v, t])), [dense(v), dense(t)], 1e-14)


def test_a_matrix_that_changes_is_seen_by_a_program():
    A = scipy.sparse.csr_array(DENSE)
    compiled, x = tape.compile(lambda x: A @ x), np.arange(1.0, 4.0)
    assert_close(compiled(x), DENSE @ x, 0)
    A.data *= 2
    assert_close(compiled(x), 2 * DENSE @ x, 0)
    A.data = 5 * A.data
    assert_close(compiled(x), 10 * DENSE @ x, 0)
    A.indices = A.indices[::-1].copy()
    assert_close(compiled(x), A.toarray() @ x, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("turned", [False, True])
def test_products_are_instructions(dtype, turned):
    """Of both operands, to second order, with repeated and missing elements, and rows of nothing."""
    rng = np.random.default_rng(0)
    A = scipy.sparse.csr_array((rng.normal(size=6), [2, 0, 2, 1, 1, 1], [0, 2, 2, 5, 6]), shape=(4, 3))
    A = A.astype(dtype)
    x, y = rng.normal(size=(2, 4 if turned else 3, 2)).astype(dtype)

    def total(data, x):
        A_of_data = sparse.with_data(A, data)
        return np.sum(np.sin((A_of_data.T if turned else A_of_data) @ x))

    def bend(data, x):
        along = tape.grad(lambda data, x: np.sum(tape.grad(total, 1)(data, x) * y), argnums=(0, 1))
        return total(data, x), *tape.grad(total, argnums=(0, 1))(data, x), *along(data, x)

    compiled = tape.compile(bend)
    for factor in (1, 2):
        for found, expected in zip(compiled(factor * A.data, x), bend(factor * A.data, x), strict=True):
            assert found.dtype == expected.dtype
            assert_close(found, expected, 1e-13 if dtype == np.float64 else 1e-5)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks


@pytest.mark.parametrize("dtype", [np.complex128, np.float16])
def test_products_of_other_numbers_call_back(dtype):
    A = scipy.sparse.csr_array(DENSE)
    compiled, x = tape.compile(lambda data, x: sparse.with_data(A, data) @ x), np.arange(3).astype(dtype)
    for _ in range(2):
        assert_close(compiled(A.data.astype(dtype), x), DENSE @ x, 1e-3)
    (program,) = compiled.programs.values()
    assert program.explain().callbacks == {"sparse_product": 1}


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (4, 3)])
def test_products_of_nothing_are_zeros(shape):
    A = scipy.sparse.csr_array(shape)
    for x in (np.ones(shape[1]), np.ones((shape[1], 0)), np.ones((shape[1], 2))):
        f = lambda data, x: sparse.with_data(A, data) @ x  # noqa: E731
        compiled = tape.compile(tape.jacobian(f, argnums=(0, 1)))
        for found, expected in zip(
            compiled(A.data, x), tape.jacobian(f, argnums=(0, 1))(A.data, x), strict=True
        ):
            assert found.shape == expected.shape
            assert not np.any(found)
        assert_close(tape.compile(f)(A.data, x), np.zeros((shape[0], *x.shape[1:])), 0)


def test_elements_have_no_slope_where_products_have_no_columns():
    A = scipy.sparse.csr_array(DENSE)
    slopes = tape.compile(tape.grad(lambda data, x: np.sum(np.sin(sparse.with_data(A, data) @ x))))
    for dtype in (np.float64, np.float32):
        assert_same(slopes(A.data.astype(dtype), np.ones((3, 0), dtype)), np.zeros(A.nnz, dtype))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("indices", 1, 3), ("indices", 1, -1), ("indices", 0, 2**40), ("indptr", 1, 10**6), ("indptr", 2, -1),
     ("indptr", 4, 99), ("indptr", 0, 1)],
)  # fmt: skip
def test_patterns_that_change_to_what_is_none_touch_no_other_memory(turned, name, place, value):
    """What SciPy would read beyond its arrays is left to it: the program has not done so."""
    A = scipy.sparse.csr_array(DENSE)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    rest = {"data": A.data, "indices": A.indices.copy(), "indptr": A.indptr.copy()}
    x = np.ones(4 if turned else 3)
    columns = ops.reshape(x, (len(x), 1))

    def f(data, indices, indptr):
        return sparse_product(data, indices, indptr, columns, shape=(4, 3), turned=turned)

    def g(data, indices, indptr):
        return sampled_product(indices, indptr, np.ones((4, 2)), np.ones((3, 2)))

    for h in (f, g):
        compiled = tape.compile(h)
        compiled(**rest)
        (program,) = compiled.programs.values()
        assert not program.explain().callbacks
        assert_close(program(**rest), h(**rest), 1e-15)
        wrong = {**rest, name: rest[name].copy()}
        wrong[name][place] = value
        with pytest.raises(errors.TapeError, match="does not take these numbers"):
            program(**wrong)


def test_plain_products_are_scipys():
    A = scipy.sparse.csr_array(DENSE)
    assert type(A @ np.ones(3)) is np.ndarray
    assert scipy.sparse.issparse(A @ A.T)
    assert A.__matmul__(object()) is NotImplemented


@pytest.mark.parametrize(
    "call",
    [
        lambda A, x: A * x, lambda A, x: A.multiply(x), lambda A, x: A + x, lambda A, x: x + A,
        lambda A, x: np.matmul(A, x), lambda A, x: np.tanh(x) * A, lambda A, x: np.stack([x, x]) @ A,
        lambda A, x: A @ np.float64(1.0) * x,
    ],
)  # fmt: skip
def test_what_is_no_product_is_refused(call):
    A = scipy.sparse.csr_array(DENSE)
    with pytest.raises((errors.TapeError, ValueError)):
        tape.grad(lambda x: np.sum(call(A, x)))(np.ones(3))


# ---- elements that are Vars ------------------------------------------------------------------------

PATTERN = scipy.sparse.csr_array(scipy.sparse.random_array((6, 6), density=0.4, rng=np.random.default_rng(1))
                                 + 3 * scipy.sparse.eye_array(6))  # fmt: skip


def dense_of(data):
    rows = np.repeat(np.arange(6), np.diff(PATTERN.indptr))
    return tape.ops.add_at(np.zeros((6, 6)), data, (rows, PATTERN.indices))


def test_systems_by_elements_and_right_hand_sides():
    """First and second derivatives, beside those of the dense matrix."""
    b = np.random.default_rng(2).normal(size=6)
    f = lambda data, b: np.sum(np.sin(linalg.spsolve(sparse.with_data(PATTERN, data), b)))  # noqa: E731
    dense = lambda data, b: np.sum(np.sin(np.linalg.solve(dense_of(data), b)))  # noqa: E731
    for k in range(2):
        assert_close(
            tape.grad(f, argnums=k)(PATTERN.data, b), tape.grad(dense, argnums=k)(PATTERN.data, b), 1e-13
        )
        second = (tape.hessian(g, argnums=k)(PATTERN.data, b) for g in (f, dense))
        assert_close(*second, 1e-12)
    rows = np.stack([b, 2 * b])
    for of in (lambda b: f(PATTERN.data, b), lambda b: f(PATTERN.data * b[0], b)):
        assert_close(tape.vmap(tape.grad(of))(rows), [tape.grad(of)(row) for row in rows], 1e-12)


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csc_matrix"])
def test_systems_with_arrays_of_scipy(kind):
    A, b = getattr(scipy.sparse, kind)(PATTERN), np.random.default_rng(3).normal(size=(6, 2))
    for right in (b, b[:, 0], b[:, :1]):
        assert_close(linalg.spsolve(A, right), scipy.sparse.linalg.spsolve(A.tocsc(), right), 1e-13)
        assert_close(
            tape.jvp(lambda r: linalg.spsolve(A, r), (right,), (right,))[1], linalg.spsolve(A, right), 1e-14
        )


def test_a_matrix_is_factorized_once(monkeypatch):
    made = []
    splu = scipy.sparse.linalg.splu
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda *args, **kw: made.append(1) or splu(*args, **kw))
    A = scipy.sparse.csc_array(PATTERN * 1.25)
    f = tape.grad(lambda b: np.sum(linalg.spsolve(A, b) ** 2))
    f(np.ones(6))
    f(np.arange(6.0))
    assert len(made) == 1
    A.data[0] += 1.0  # another matrix
    expected = tape.grad(lambda b: np.sum(np.linalg.solve(A.toarray(), b) ** 2))
    assert_close(f(np.ones(6)), expected(np.ones(6)), 1e-12)
    assert len(made) == 2


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda d: sparse.with_data(PATTERN, d[:-1]), errors.ShapeError, "one for each"),
        (lambda d: sparse.with_data(PATTERN.tocoo(), d), errors.DTypeError, "tocsr"),
        (lambda d: sparse.with_data(np.eye(2), d), errors.DTypeError, "csr"),
        (lambda d: sparse.with_data(PATTERN, d) @ np.ones(5), errors.ShapeError, "that fits"),
        (lambda d: sparse.with_data(PATTERN, d) @ np.ones((6, 1, 1)), errors.ShapeError, "that fits"),
        (lambda d: sparse.with_data(PATTERN, d) @ np.ones((6, 6, 1)), errors.ShapeError, "that fits"),
        (lambda d: linalg.spsolve(np.eye(2), d[:2]), errors.DTypeError, "sparse array"),
        (lambda d: linalg.spsolve(PATTERN, d[:5]), errors.ShapeError, "right-hand side"),
        (lambda d: linalg.spsolve(sparse.with_data(PATTERN, d), PATTERN), errors.UnsupportedError, "toarray"),
        (
            lambda d: linalg.spsolve(sparse.with_data(PATTERN, 0 * d), np.ones(6)),
            errors.SingularMatrixError,
            "singular",
        ),
        (
            lambda d: scipy.sparse.coo_array(np.ones(6)) @ d[:6],
            errors.ShapeError,
            r"\[6\]. It must have two axes",
        ),
        (lambda d: linalg.cg(PATTERN, d[:6])[0], errors.TapeError, "spsolve"),
    ],
)
def test_errors_say_what_to_do(call, kind, message):
    with pytest.raises(kind, match=message):
        tape.grad(lambda d: np.sum(call(d)))(PATTERN.data)


def test_other_names_are_scipys():
    assert sparse.eye_array(2).nnz == 2
    assert_close(linalg.norm(sparse.eye_array(4)), 2.0)
    found = linalg.spsolve(PATTERN.tocsc(), PATTERN.tocsc())
    assert_close(found.toarray(), np.eye(6), 1e-12)
    with pytest.raises(errors.UnsupportedError, match="with_data"):
        tape.grad(lambda x: sparse.diags_array(x).sum())(np.ones(3))


def test_right_hand_sides_without_columns_and_the_words_for_a_sparse_array():
    solved = linalg.spsolve(sparse.with_data(PATTERN, PATTERN.data), np.zeros((6, 0), np.float32))
    assert solved.shape == (6, 0)
    assert solved.dtype == float
    shown = repr(sparse.with_data(PATTERN[:4], PATTERN[:4].data))
    assert shown == f"<SparseData 4 x 6 with {PATTERN[:4].nnz} stored elements>"
