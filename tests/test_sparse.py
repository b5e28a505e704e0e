"""Sparse derivatives: the numbers of dense ones, patterns that cover them, and a pattern for each path."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import optimize
from scipy.sparse import csr_array

import tape
from benchmarks.workloads import bundle_adjustment
from benchmarks.workloads.bundle_adjustment import Problem, reprojection_errors
from tape import errors
from tape.core.pattern_rules import elementwise
from tape.kernels import eager
from tape.ops.linalg.packing import mirrored
from tape.transforms.loops import patterns
from tests import sparse_programs
from tests.tiers import rounds, takes_long

X = np.random.default_rng(0).normal(size=8)
Y = np.random.default_rng(1).normal(size=8)
EDGES = np.random.default_rng(2).integers(0, 8, size=(2000, 2))  # more than Python may read of a program


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def flat(dense, *args, argnums=0):
    return np.reshape(dense(*args), (-1, np.size(args[argnums])))


def check(f, *calls, order=1, argnums=0):
    """Compare with the dense derivative in each call; return the sparse one."""
    transforms = (tape.sparse_jacobian, tape.jacobian) if order == 1 else (tape.sparse_hessian, tape.hessian)
    sparse, dense = (transform(f, argnums) for transform in transforms)
    for args in calls:
        found = sparse(*args)
        expected = flat(dense, *args, argnums=argnums)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)
        assert found.dtype == expected.dtype
    return sparse


# ---- patterns ----------------------------------------------------------------------------------------


def _added(v, places):
    new = np.zeros(8, like=v)
    np.add.at(new, places, v)
    return new


def _put_along(v, places):
    new = np.zeros(8, like=v)
    np.put_along_axis(new, places, v, 0)
    return new


def _written(x, places, values):
    new = x * 2 + np.zeros_like(x)
    new[places] = values
    return new


def _put(x, places, values):
    new = x * 1.0
    np.put_along_axis(new, places, values, axis=-1)
    return new


_KERNEL = np.random.default_rng(3).normal(size=(2, 1, 2, 2))

EXACT = {
    "neighbours": lambda x: x[1:] * x[:-1],
    "a boundary left out": lambda x: (x * np.roll(x, 1))[1:],
    "rows": lambda x: np.sum(x.reshape(4, 2) ** 2, axis=1),
    "stacked matrices": lambda x: np.linalg.inv(x.reshape(2, 2, 2)),
    "columns of a solution": lambda x: np.linalg.solve(np.eye(4) * 3 + 0.1, x.reshape(4, 2)),
    "a band of constants": lambda x: np.sin((np.eye(8) + np.eye(8, k=1)) @ x),
    "constants on the right": lambda x: np.sin(x.reshape(2, 4) @ np.tri(4)),
    "a mask of constants": lambda x: np.tril(np.outer(x, x))[3:5],
    "a product with zeros": lambda x: np.eye(8)[:3] * x**2,
    "sliding products": lambda x: np.convolve(x**2, [1.0, 2.0, 3.0], "same"),
    "reversed operands": lambda x: np.correlate([1.0, 2.0, 3.0], x, "full"),
    "a convolution": lambda x: tape.nn.conv2d(
        x.reshape(1, 2, 4, 1), _KERNEL[..., :1], padding=(1, 0), stride=(2, 1), groups=2
    ),
    "a transposed convolution": lambda x: tape.nn.conv_transpose1d(
        x.reshape(1, 2, 4), _KERNEL[:, :, 0], stride=2, padding=1, dilation=2
    ),
    "a stencil": lambda x: tape.nn.conv1d(x.reshape(1, 1, 8) ** 2, np.array([[[1.0, 0.0, -1.0]]])),
    "differences": lambda x: np.diff(x**2, n=2),
    "sums so far": lambda x: np.cumsum(x**2),
    "einsum": lambda x: np.einsum("ij,kj->ik", x.reshape(2, 4)[:, :1], x.reshape(2, 4)[:, 1:2]),
    "cross products": lambda x: np.cross(x[:3], x[3:6]),
    "cross products in the plane": lambda x: np.cross(x[:4].reshape(2, 2) ** 2, x[4:].reshape(2, 2)),
    "cross products with one of the plane": lambda x: np.cross(x[:4].reshape(2, 2) ** 2, [1.0, 2.0]),
    "rows times rows": lambda x: np.vecdot(x[:4].reshape(2, 2), x[4:].reshape(2, 2)),
    "rows times constant ones": lambda x: np.vecdot(x.reshape(4, 2) ** 2, [[1.0, 2.0]]),
    "constants times a vector": lambda x: np.dot(np.tri(2, 2) + 1, x[1:3] ** 2),
    "a stack of products": lambda x: np.dot(np.ones((3, 2)), x.reshape(2, 2, 2) ** 2),
    "a matrix times another": lambda x: np.dot(x[:4].reshape(2, 2), x[4:].reshape(2, 2)),
    "a number times a vector": lambda x: np.dot(x[0], x),
    "sliding products of both": lambda x: np.convolve(x[:3], x[3:]),
    "the lower triangle mirrored": lambda x: mirrored(x[:4].reshape(2, 2) ** 2),
    "the upper triangle mirrored": lambda x: mirrored(x[:4].reshape(2, 2) ** 2, lower=False),
    "put along an axis": lambda x: _put(x.reshape(2, 4), np.array([[1], [0]]), x[:2, None] ** 2),
    "put into constants": lambda x: _put(np.ones_like(x)[None], np.array([[1, 0]]), x[None, 2:4] ** 2),
    "constants put": lambda x: _put(x.reshape(2, 4) * 2, np.array([[1], [0]]), 3.0),
    "written in place": lambda x: np.concatenate([_added(x, EDGES[:8, 0]), _added(x, np.arange(8))]),
    "written at positions": lambda x: _written(x, [5, 0, 3], x[:3] * x[1:4]),
    "written twice": lambda x: _written(x, np.array([1, 4, 1]), x[5:] * x[0]),
    "written at positions of two axes": lambda x: _written(x.reshape(4, 2), ([0, 2], [1, 0]), x[2:4]),
    "written at a mask": lambda x: _written(x, np.arange(8) % 3 == 0, x[1:4]),
    "numbers written at positions": lambda x: _written(x * x[0], [2, 7], [1.0, 3.0]),
    "written to zeros": lambda x: _written(np.zeros_like(x), [7, 2], x[:2] ** 2) * np.arange(8.0),
    "a choice between zeros": lambda x: (
        np.where(
            np.arange(8) < 4,
            _written(np.zeros_like(x), [1, 6], x[:2]),
            _written(np.zeros_like(x), [2, 5], x[2:4]),
        )
        * x
    ),
    "padded": lambda x: np.pad(x, 2),
    "a batch": lambda x: tape.vmap(lambda row: row * row[0])(x.reshape(4, 2)),
    "a scan": lambda x: tape.scan(lambda s, e: (np.sin(s * e), s * e), x[:2], np.ones(4))[1],
    "a scan over the argument": lambda x: tape.scan(lambda s, e: (np.sin(s) * e, s * e), 1.0, x)[1],
    "a loop that indexes": lambda x: tape.fori_loop(0, 3, lambda i, s: s * s + tape.ops.getitem(x, i), x[4:]),
    "a loop that chooses by its counter": lambda x: tape.fori_loop(
        0, 3, lambda i, c: np.where(np.arange(8) == 2 * i + 1, c * x[::-1], c), x
    ),
    "a scan that reads at computed positions": lambda x: tape.scan(
        lambda c, k: (c, x[(3 * k + 1) % 8] * c), x[:2], np.arange(4)
    )[1],
    "written along an axis": lambda x: _put_along(x**2, np.arange(8)[::-1])[1:],
    "a loop rolled up": lambda x: [x := np.sin(x) + 2 * x for _ in range(12)][-1],
    "checkpoint": tape.checkpoint(lambda x: np.sin(x) * x),
    "compiled": tape.compile(lambda x: x * x[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_a_pattern_is_that_of_the_numbers(name):
    f = EXACT[name]
    structure = check(f, (X,), (Y,)).structure(X)
    assert np.array_equal(structure.pattern.toarray(), flat(tape.jacobian(f), X) != 0)
    weights = np.arange(1.0, 1 + np.size(f(X))).reshape(np.shape(f(X)))

    def scalar(x):
        return np.sum(np.sin(weights * f(x)))

    second = check(scalar, (X,), order=2).structure(X).pattern.toarray()
    numeric = flat(tape.hessian(scalar), X) != 0
    assert np.all(second[numeric])
    if not any(word in name for word in ("scan", "loop", "cross", "mirrored")):
        assert np.array_equal(second, numeric)


@tape.custom_vjp
def _rounded(x):
    return np.round(x)


@_rounded.defvjp
def _(g, out, x):
    return g


COVERED = {
    "sorted": np.sort,
    "an order of the argument": lambda x: x[np.argsort(x)] * np.arange(8.0),
    "the largest": lambda x: np.max(x.reshape(4, 2), axis=1),
    "read where the largest is": lambda x: x[np.argmax(x)] * np.ones(2),
    "written where the argument says": lambda x: _written(x, np.argsort(x)[:3], x[:3] ** 2),
    "added where the argument says": lambda x: _added(x, np.argsort(x)),
    "put where the argument says": lambda x: _put(
        x.reshape(2, 4), np.argsort(x.reshape(2, 4), axis=1)[:, :1], x[:2, None] ** 2
    ),
    "a median": lambda x: np.median(x.reshape(4, 2), axis=1),
    "a choice by the argument": lambda x: np.where(x > 0, x**2, np.roll(x, 1)),
    "a branch": lambda x: np.roll(x, 1) ** 2 if x[0] > 0 else x[::-1] ** 2,
    "a branch for some of a batch": lambda x: tape.vmap(
        lambda row: tape.cond(row[0] > 0, lambda r: r[0] * r, lambda r: r[1] * r, row)
    )(x.reshape(4, 2)),
    "a mask": lambda x: x[x > 0] ** 2,
    "while": lambda x: tape.while_loop(
        lambda v: np.sum(v) < 50.0, lambda v: 1.5 * v + np.roll(v, 1), np.abs(x)
    ),
    "a state that moves from the second step on": lambda x: tape.while_loop(
        lambda s: s[0] < 3.0, lambda s: (s[0] + 1.0, s[2] ** 2 + s[1], np.roll(s[2], 1)), (0.0, 0.0 * X, x)
    )[1],
    "a state that moves no more": lambda x: tape.while_loop(
        lambda s: s[0] < 3.0, lambda s: (s[0] + 1.0, s[1] * s[2], s[2] * 0.0 + 1.0), (0.0, x**2, np.sin(x))
    )[1:],
    "a rule of its own": lambda x: _rounded(3 * x),
    "an operation without a rule": lambda x: tape.Op(
        lambda x: x**2, name="square", vjp=[lambda g, out, x: 2 * g * x]
    )(x),
    "Fourier": lambda x: np.fft.irfft(np.fft.rfft(x.reshape(2, 4)) * np.array([1, 2, 3]), 4),
    "a solution": lambda x: tape.root(lambda u: u**3 + u - x, x),
}  # fmt: skip


OF_DATA = {
    # what is read where the argument says, and how many elements of it each result may be
    "the last axis": (lambda x, i: x.reshape(4, 2)[..., i % 2], 2),
    "the first axis": (lambda x, i: x.reshape(4, 2)[i, ...], 4),
    "the first axis of three": (lambda x, i: x.reshape(2, 4, 1)[i % 2, ...], 2),
    "the axis behind": (lambda x, i: x.reshape(2, 2, 2)[..., i % 2, :], 2),
    "the axis between": (lambda x, i: x.reshape(2, 4, 1)[:, i, ...], 4),
    "the last of three": (lambda x, i: x.reshape(2, 2, 2)[:, ..., i % 2], 2),
    "two axes": (lambda x, i: x.reshape(2, 2, 2)[i % 2, ..., i[::-1] % 2], 4),
    "an axis beside a number": (lambda x, i: x.reshape(2, 2, 2)[..., 1, i % 2], 2),
    "an axis beside a new one": (lambda x, i: x.reshape(4, 2)[None, ..., i % 2], 2),
    "an axis behind a slice": (lambda x, i: x.reshape(4, 2)[1:3, i % 2], 2),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_DATA)
@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
def test_positions_that_data_decide_are_those_along_the_axes_that_are_read(name):
    read, count = OF_DATA[name]
    f = lambda x: read(x, np.argsort(x)[:3] // 2)  # noqa: E731
    found = check(f, (X,), (-X,), (Y,)).structure(X)
    assert np.all(np.sum(found.pattern.toarray(), axis=1) == count)


@pytest.mark.parametrize("name", COVERED)
@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
def test_a_pattern_covers_what_data_decide(name):
    check(COVERED[name], (X,), (-X,), (Y,), (np.sort(Y),))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: _put_along(x**2, np.argsort(x)) * np.arange(8.0),
        lambda x: tape.scan(
            lambda c, k: (c, np.take_along_axis(c * x, np.argsort(c), 0)[1:]), x, np.arange(3.0)
        )[1],
        lambda x: tape.scan(lambda c, k: (c[np.argsort(c * x)], c * c[0]), x, length=2)[1],
    ],
)
def test_hessians_where_the_argument_decides_what_is_read_and_written(f):
    check(lambda x: np.sum(np.arange(1.0, 1 + f(x).size) * np.ravel(f(x)) ** 2), (X,), (-X,), (Y,), order=2)


def test_each_branch_has_a_structure_of_its_own():
    jacobian = check(COVERED["a branch"], (X,), (-X,), (X,), (Y,))
    one, other = jacobian.structures
    assert one.nonzeros == other.nonzeros == 8
    assert (one.pattern != other.pattern).nnz


@pytest.mark.parametrize("order", [1, 2])
def test_random_functions_have_the_pattern_of_their_numbers(order):
    found = [sparse_programs.difference(seed, order=order) for seed in range(rounds(200, 6))]
    assert not [one for one in found if one is not None]


# ---- content that patterns depend on ---------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x, e: x[e[:, 0]] * x[e[:, 1]],
        lambda x, e: _added(x, e[:8, 0]),
        lambda x, e: np.take(x, e[:9, 0] - 1) * np.take_along_axis(x, e[:9, 1], 0),
        lambda x, e: tape.scan(lambda s, i: (s, tape.ops.getitem(x, i) * s), 2.0, e[:5, 0])[1],
    ],
)
def test_other_positions_have_another_pattern(f):
    later = EDGES[::-1].copy()
    jacobian = check(f, (X, EDGES), (Y, EDGES), (X, later), (Y, later), (X, EDGES))
    assert len(jacobian.structures) == len(jacobian.programs) == 2


@pytest.mark.parametrize("number", [0, 1, 2])
def test_integers_among_zeros_are_data(number):
    def written(x, k):
        z = np.zeros(8, like=x)
        z[0] = k
        return np.outer(x, z)[:2]

    check(written, (X, number), (Y, 3))
    check(lambda x, k: x * (written(x, 0)[0] + k), (X, np.arange(8) + number))
    check(lambda x, k: x * np.concatenate([np.zeros(4), k]), (X, np.arange(4) + number))


def test_a_mask_that_is_an_argument_takes_one_program():
    jacobian = check(lambda x, m: np.where(m, x**2, 0.0), (X, X > 0), (Y, Y > 0), (X, Y > 0))
    assert len(jacobian.programs) == 1


def test_arrays_that_change_in_place_change_the_pattern():
    matrix, places = np.eye(8), np.arange(3)

    def f(x):
        return (matrix @ x**2)[:3] * tape.ops.getitem(x, np.asarray(places, like=x))

    jacobian = tape.sparse_jacobian(f)
    for change in ("nothing", "matrix", "places", "back"):
        if change == "matrix":
            matrix[0, 7] = 3.0
        elif change == "places":
            places[:] = [5, 6, 7]
        elif change == "back":
            matrix[0, 7], places[:] = 0.0, [0, 1, 2]
        np.testing.assert_allclose(jacobian(X).toarray(), tape.jacobian(f)(X), rtol=1e-12)


def test_names_that_are_rebound_change_the_pattern():
    shift = 1

    def f(x):
        return x * np.roll(x, shift)

    jacobian = tape.sparse_jacobian(f)
    for shift in (1, 2, 1, 3):  # noqa: B007
        np.testing.assert_allclose(jacobian(X).toarray(), tape.jacobian(f)(X))


# ---- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_both_modes_give_the_same_matrix(mode, dtype):
    x = X.astype(dtype)
    jacobian = tape.sparse_jacobian(lambda x: np.concatenate([x[:-1] * x[1:], x[:1]]), mode=mode)
    found = jacobian(x)
    assert isinstance(found, csr_array)
    assert found.dtype == dtype
    assert jacobian.structure(x).mode == ("fwd" if mode == "auto" else mode)
    np.testing.assert_allclose(
        found.toarray(), tape.jacobian(lambda x: np.concatenate([x[:-1] * x[1:], x[:1]]))(x)
    )


@pytest.mark.parametrize("recovery", ["direct", "indirect"])
def test_hessians_are_exactly_symmetric(recovery):
    hessian = tape.sparse_hessian(rosenbrock, recovery=recovery)
    for x in (X, Y, 100 * X):
        found = hessian(x)
        np.testing.assert_allclose(found.toarray(), tape.hessian(rosenbrock)(x), rtol=1e-9, atol=1e-9)
        assert (found != found.T).nnz == 0
    assert hessian.structure(X).colours == (3 if recovery == "direct" else 2)


def test_trees_are_one_matrix_in_the_order_of_their_leaves():
    def f(p, y):
        return {"product": p["u"] * p["v"], "sum": p["u"].sum() * y[0]}

    p = {"u": X[:3], "v": Y[:3]}
    found = tape.sparse_jacobian(f, argnums=(0, 1))(p, X[:2]).toarray()
    dense = tape.jacobian(f, argnums=(0, 1))(p, X[:2])
    rows = [np.hstack([np.atleast_2d(x) for x in (row[0]["u"], row[0]["v"], row[1])]) for row in
            (dense["product"], dense["sum"])]  # fmt: skip
    np.testing.assert_allclose(found, np.vstack(rows))


@pytest.mark.parametrize(
    "f", [lambda x: x[:0], lambda x: 0 * x, lambda x: x * 1.0, np.sum, lambda x: x[:0].reshape(3, 0).sum(1)]
)
def test_small_and_empty_results(f):
    check(f, (X,), (X[:1],))


def test_a_number_as_the_argument():
    check(lambda x: np.array([1.0, 2.0]) * x, (1.5,), (2.5,))


def test_results_share_no_memory():
    hessian = tape.sparse_hessian(rosenbrock)
    first, second = hessian(X), hessian(X)
    first.data[:] = 0
    first.eliminate_zeros()
    assert (second != hessian(X)).nnz == 0
    assert second.nnz == 22


@takes_long
def test_many_variables():
    n = 100_000
    x = np.random.default_rng(0).normal(size=n)
    v = np.random.default_rng(1).normal(size=n)
    hessian = tape.sparse_hessian(rosenbrock)
    np.testing.assert_allclose(hessian(x) @ v, tape.hvp(rosenbrock)(x, v), rtol=1e-9, atol=1e-6)
    assert (hessian.structure(x).nonzeros, hessian.structure(x).colours) == (3 * n - 2, 3)


def test_pieces_that_fit_in_memory(monkeypatch):
    monkeypatch.setattr("tape.sparse.derivatives._BATCH_ELEMENTS", 64)
    check(lambda x: np.cumsum(x**2), (X,), (Y,))


def test_without_compiled_code():
    with eager.avoided():
        check(rosenbrock, (X,), (Y,), order=2)


@pytest.mark.filterwarnings("ignore::tape.errors.PathLimitWarning")
def test_more_patterns_than_programs_run_as_plain_python(monkeypatch):
    def f(x, i):
        return x[i] ** 2

    jacobian = tape.sparse_jacobian(f)
    monkeypatch.setattr(jacobian._program, "_max_paths", 2)
    for k in range(6):
        i = np.array([k % 8, 5, 3])
        np.testing.assert_allclose(jacobian(X, i).toarray(), tape.jacobian(f)(X, i))
    assert len(jacobian.programs) == len(jacobian.structures) == 2


def test_sparsity():
    assert np.array_equal(tape.sparsity(np.cumsum)(X).toarray(), np.tri(8, dtype=bool))
    second = tape.sparsity(rosenbrock, order=2)(X)
    assert second.dtype == bool
    assert second.nnz == 22


def test_structures_explain_themselves():
    hessian = tape.sparse_hessian(rosenbrock)
    assert hessian.structures == []
    hessian(np.ones(100))
    assert repr(hessian) == "<sparse_hessian(rosenbrock)>"
    assert repr(hessian.structures) == (
        "[<Structure 100 x 100: 298 nonzeros (2.98%), 3 colours of a star colouring>]"
    )


@pytest.mark.parametrize(
    ("derivative", "text"),
    [
        (tape.sparse_jacobian(np.sin), "8 x 8: 8 nonzeros (12.50%), 1 colours of columns"),
        (tape.sparse_jacobian(np.sum), "1 x 8: 8 nonzeros (100.00%), 1 colours of rows"),
        (tape.sparse_jacobian(np.sum, mode="fwd"), "1 x 8: 8 nonzeros (100.00%), 8 colours of columns"),
        (tape.sparse_jacobian(np.cumsum, mode="rev"), "8 x 8: 36 nonzeros (56.25%), 8 colours of rows"),
        (tape.sparse_jacobian(lambda x: x[:0]), "0 x 8: 0 nonzeros (0.00%), 0 colours of columns"),
        (
            tape.sparse_hessian(rosenbrock, recovery="indirect"),
            "8 x 8: 22 nonzeros (34.38%), 2 colours of an acyclic colouring",
        ),
    ],
)
def test_a_structure_says_its_size_its_share_of_nonzeros_and_what_is_coloured(derivative, text):
    assert repr(derivative.structure(X)) == f"<Structure {text}>"


def test_copies():
    hessian = tape.sparse_hessian(rosenbrock)
    hessian(X)
    for other in (copy.copy(hessian), copy.deepcopy(hessian), pickle.loads(pickle.dumps(hessian))):
        assert (other(X) != hessian(X)).nnz == 0
        assert repr(other) == repr(hessian)


# ---- patterns that are given, and errors -----------------------------------------------------------


def test_an_operation_may_declare_its_pattern():
    rules = {"vjp": [lambda g, out, x: 2 * g * x]}
    square, dense = tape.Op(np.square, pattern=elementwise, **rules), tape.Op(np.square, **rules)
    halves = tape.Op(lambda x: x / 2, name="halves", vjp=[lambda g, out, x: halves(g)], linear=True)
    local = tape.Op(
        lambda x: x / 2, name="halves", vjp=[lambda g, out, x: local(g)], linear=True, pattern=elementwise
    )
    assert [tape.sparsity(f)(X).nnz for f in (square, dense, halves, local)] == [8, 8, 64, 8]


def test_a_given_pattern_is_used_and_checked():
    def f(x):
        return x * np.roll(x, 1)

    dense = tape.sparse_jacobian(f, pattern=np.ones((8, 8)))
    assert dense(X).nnz == 64
    np.testing.assert_allclose(dense(X).toarray(), tape.jacobian(f)(X))
    with pytest.raises(errors.DerivativeError, match="leaves out"):
        tape.sparse_jacobian(f, pattern=np.eye(8))(X)
    with pytest.raises(errors.ShapeError, match=r"\(7, 8\)"):
        tape.sparse_jacobian(f, pattern=np.ones((7, 8)))(X)
    with pytest.raises(errors.ShapeError, match="Give a matrix"):
        tape.sparse_jacobian(f, pattern=1)(X)


def test_derivatives_that_are_not_finite_are_not_checked_against_a_given_pattern():
    found = tape.sparse_jacobian(np.sqrt, pattern=np.eye(3))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(
            found(np.array([0.0, 1.0, 4.0])).toarray(), np.diag([np.inf, 0.5, 0.25])
        )


@pytest.mark.parametrize(
    ("f", "rows"),
    [
        (lambda c, e: (c * e, c + e), np.tile(np.eye(2), (3, 4))),
        (lambda c, e: (c * c, c + e[::-1]), np.tile(np.hstack([np.eye(2), *[np.eye(2)[::-1]] * 3]), (3, 1))),
        (lambda c, e: (c, e * 2.0), np.tile(np.hstack([np.zeros((2, 2)), *[np.eye(2)] * 3]), (3, 1))),
    ],
)
def test_in_loops_of_many_operations_any_step_may_read_each_column(monkeypatch, f, rows):
    monkeypatch.setattr(patterns, "_MOST", 0)
    jacobian = check(lambda x: tape.scan(f, x[:2], x[2:].reshape(3, 2))[1], (X,), (Y,))
    np.testing.assert_array_equal(jacobian.structure(X).pattern.toarray(), rows != 0)


def test_what_is_not_sparse_is_an_error():
    with pytest.raises(errors.UnsupportedError, match="not sparse"):
        tape.sparse_jacobian(np.cumsum)(np.ones(100_000))


def test_errors():
    with pytest.raises(errors.OptionError):
        tape.sparse_jacobian(np.sin, mode="forward")
    with pytest.raises(errors.OptionError):
        tape.sparse_hessian(np.sum, recovery="fast")
    with pytest.raises(errors.OptionError):
        tape.sparsity(np.sum, order=3)
    with pytest.raises(errors.UnsupportedError):
        tape.sparse_jacobian(3)
    with pytest.raises(errors.DTypeError, match="real"):
        tape.sparse_jacobian(np.sin)(X + 1j)
    with pytest.raises(errors.DTypeError, match="complex"):
        tape.sparse_jacobian(lambda x: x * 1j)(X)
    with pytest.raises(errors.ShapeError, match="sparse_hessian"):
        tape.sparse_hessian(np.sin)(X)
    with pytest.raises(errors.ConversionError, match=r"tape\.jacobian"):
        tape.grad(lambda x: tape.sparse_jacobian(np.sin)(x).sum())(X)
    with pytest.raises(errors.ConversionError, match=r"tape\.jacobian"):
        tape.compile(tape.sparse_jacobian(np.sin))(X)


# ---- SciPy's solvers -------------------------------------------------------------------------------


def _chain(p):
    x = p["x"]
    return {"links": x[1:] - 0.5 * np.sin(x[:-1]), "start": x[:1] - 1}


@pytest.mark.parametrize("options", [{}, {"tr_solver": "lsmr"}, {"method": "dogbox", "loss": "soft_l1"}])
def test_least_squares_takes_sparse_jacobians(options):
    found = tape.scipy.least_squares(_chain, {"x": np.zeros(30)}, jac_sparsity="auto", **options)
    expected = tape.scipy.least_squares(_chain, {"x": np.zeros(30)})
    np.testing.assert_allclose(found.x["x"], expected.x["x"], atol=1e-6)
    assert found.jac.nnz == 59


def test_trust_constr_takes_sparse_hessians():
    limit = optimize.NonlinearConstraint(lambda p: p["x"][1:] * p["x"][:-1], -np.inf, 0.5)
    start = {"x": np.full(12, 0.3)}
    found, expected = (
        tape.scipy.minimize(
            lambda p: rosenbrock(p["x"]), start, method="trust-constr", constraints=limit, sparse=sparse
        )
        for sparse in (True, False)
    )
    assert found.nit == expected.nit
    np.testing.assert_allclose(found.x["x"], expected.x["x"], atol=1e-6)
    with pytest.raises(errors.OptionError, match="trust-constr"):
        tape.scipy.minimize(rosenbrock, X, method="BFGS", sparse=True)


def test_a_linear_function_needs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tape.scipy.minimize(
            lambda x: np.sum(x), X, method="trust-constr", bounds=[(0, 1)] * 8, sparse=True
        )
    np.testing.assert_allclose(found.x, 0, atol=1e-3)


# ---- bundle adjustment -----------------------------------------------------------------------------


def test_the_jacobian_of_bundle_adjustment_is_the_dense_one():
    problem = Problem.random(0, cameras=3, points=7, observations=20)
    arguments = problem.cameras, problem.points, problem.weights, problem.seen

    def errors_of(cameras, points, weights, seen):
        of_both = cameras[problem.camera_of], points[problem.point_of]
        return {"errors": reprojection_errors(*of_both, weights, seen), "weights": 1 - weights**2}

    jacobian = tape.sparse_jacobian(errors_of, argnums=(0, 1, 2))
    found = jacobian(*arguments)
    dense = tape.jacobian(errors_of, argnums=(0, 1, 2))(*arguments)
    rows = [
        np.hstack([np.reshape(block, (size, -1)) for block in dense[name]])
        for name, size in (("errors", 40), ("weights", 20))
    ]
    np.testing.assert_allclose(found.toarray(), np.vstack(rows), rtol=1e-10, atol=1e-10)
    assert np.array_equal(jacobian.structure(*arguments).pattern.toarray(), np.vstack(rows) != 0)
    for case in (bundle_adjustment._with_tape, bundle_adjustment._with_tape_sparse):
        np.testing.assert_allclose(case(problem)()[0], found.data, rtol=1e-10, atol=1e-10)


def test_a_matrix_of_plain_numbers_is_not_kept_by_a_program():
    fixed = np.array([1.0, 2.0])
    hessian = tape.sparse_hessian(lambda x: np.sum(x**3))
    with pytest.raises(errors.UnsupportedError, match="in a compiled function"):
        tape.compile(lambda t: t * hessian(fixed).data)(2.0)


@pytest.mark.parametrize("shape", [(4,), (4, 3), (2, 4, 3)])
def test_products_with_stacks_have_the_pattern_of_their_numbers(shape):
    y = np.random.default_rng(1).normal(size=shape)

    def f(x):
        return np.ravel(np.dot(x, y))

    x = np.random.default_rng(2).normal(size=(2, 4))
    dense = tape.jacobian(f)(x).reshape(-1, x.size)
    found = tape.sparse_jacobian(f)(x)
    np.testing.assert_allclose(found.toarray(), dense)
    assert found.nnz == np.count_nonzero(dense)
