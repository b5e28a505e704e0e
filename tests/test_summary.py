"""The tape in sums."""

import dataclasses
import time
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape import nn, ops
from tape.core.op import Op
from tape.inspect.costs import declare_cost, flops, passes
from tape.inspect.listing import summary
from tape.inspect.words import byte_size
from tape.scipy import linalg
from tests.op_table import CASES, by_operation
from tests.oracles import record
from tests.test_listing import Page

A = np.random.default_rng(0).normal(size=(8, 8)) + 8 * np.eye(8)
X = np.random.default_rng(1).uniform(0.5, 1.0, size=(10, 20))
IMAGES, KERNELS = np.ones((2, 4, 9, 9)), np.ones((6, 2, 3, 3))


def flops_of(f, *args):
    """By the summary of the tape that a function leaves."""
    trace = tape.Trace()
    f(*[trace.param(arg) for arg in args])
    return summary(trace).flops


# ---- FLOPs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.tanh(x) * x + 1, X),
        (lambda x: np.where(x > 0.7, np.sqrt(x), np.exp(x)), X),
        (lambda x: x @ x.T @ x, X),
        (lambda x: np.einsum("ij,kj,kl->il", x, x, x), X),
        (lambda x: np.einsum("i,j->ij", x[0], x[1]), X),
        (lambda x: np.sum(x, axis=0) + np.max(x), X),
        (lambda x: np.mean(x, axis=1), X),
        (lambda x: np.std(x) + np.var(x, axis=0), X),
        (lambda x: np.linalg.norm(x), X),
        (lambda x: nn.softmax(x, axis=1) + nn.log_softmax(x, axis=0), X),
        (lambda x: nn.layer_norm(x, (20,)), X),
        (lambda x: np.concatenate([x[2:], x[:1]]).T.reshape(-1, 2), X),
        (lambda x: x.astype(np.float32), X),
        (lambda a: np.linalg.solve(a, a[:, :3]), A),
        (lambda a: np.linalg.inv(a), A),
        (lambda a: np.linalg.cholesky(a @ a.T), A),
    ],
)
def test_tapes_and_programs_count_the_same(f, x):
    compiled = tape.compile(f)
    compiled(x)
    (program,) = compiled.programs.values()
    assert flops_of(f, x) == program.explain().flops


@given(st.lists(st.integers(1, 6), min_size=3, max_size=6))
def test_a_chain_of_products_takes_2mnk_each(sizes):
    matrices = [np.ones(shape) for shape in pairwise(sizes)]

    def chain(first, *rest):
        for matrix in rest:
            first = first @ matrix
        return first

    expected = sum(2 * sizes[0] * k * n for k, n in pairwise(sizes[1:]))
    assert flops_of(chain, *matrices) == expected


@pytest.mark.parametrize(
    ("f", "args", "count"),
    [
        (lambda x, w: nn.conv2d(x, w, groups=2), (IMAGES, KERNELS), 2 * (2 * 6 * 7 * 7) * (2 * 3 * 3)),
        (lambda x: nn.max_pool2d(x, 3), (IMAGES,), 2 * 4 * 3 * 3 * 9),
        (lambda x: np.fft.fft(x), (np.ones((3, 16)),), 5 * 48 * 4),
        (lambda a: np.linalg.svd(a)[1], (A,), 26 * 8**3),
        (lambda a: np.linalg.eigh(a)[0], (A,), 9 * 8**3),
        (lambda a: np.linalg.det(a), (np.stack([A, A]),), 2 * int(2 * 8**3 / 3)),
        (lambda x: np.convolve(x, x), (np.ones(5),), 2 * 25),
        (lambda x: np.einsum("ii->i", x), (A,), 0),
        (lambda x: np.einsum("ij->", x), (A,), 64),
        (lambda x: x[[1, 1]][..., None].swapaxes(0, 1), (A,), 0),
        (lambda x: np.sum(x), (np.ones((0, 3)),), 0),
        (lambda x: np.matmul(x, x.T), (np.ones((3, 0)),), 0),
    ],
)
def test_counts_by_shape(f, args, count):
    assert abs(flops_of(f, *args) - count) <= (1 if count else 0)


STACK = np.random.default_rng(0).normal(size=(2, 6, 6))
STACK = STACK @ STACK.swapaxes(1, 2) + 6 * np.eye(6)
SQUARE = STACK[0]
TALL = np.random.default_rng(0).normal(size=(7, 4))
ROWS = np.random.default_rng(0).uniform(0.5, 1, size=(4, 16))
BINS = np.arange(8.0)
FLOPS = {
    # of two matrices of order 6
    "eigvalsh": (lambda a: np.linalg.eigvalsh(a), STACK, 2 * (4 * 6**3 / 3)),
    "eigh": (lambda a: np.linalg.eigh(a)[0], STACK, 2 * (9 * 6**3)),
    "eigvals": (lambda a: np.linalg.eigvals(a), STACK, 2 * (10 * 6**3)),
    "eig": (lambda a: np.linalg.eig(a)[0], STACK, 2 * (25 * 6**3)),
    "cholesky": (lambda a: np.linalg.cholesky(a), STACK, 2 * (6**3 / 3)),
    "expm": (lambda a: ops.linalg.expm(a), STACK, 2 * (16 * 6**3)),
    "det": (lambda a: np.linalg.det(a), STACK, 2 * (2 * 6**3 / 3)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], STACK, 2 * (2 * 6**3 / 3)),
    "solve": (lambda a: np.linalg.solve(a, a[:, :, :2]), STACK, 2 * (2 * 6**3 / 3 + 2 * 6**2 * 2)),
    "inv": (lambda a: np.linalg.inv(a), STACK, 2 * (8 * 6**3 / 3)),
    "triangular": (lambda a: ops.linalg.solve_triangular(a, a[:, :, :2]), STACK, 2 * (6**2 * 2)),
    # of a matrix of 7 by 4
    "qr": (lambda a: np.linalg.qr(a)[0], TALL, 4 * 7 * 4**2 - 4 * 4**3 / 3),
    "svd": (lambda a: np.linalg.svd(a, full_matrices=False)[0], TALL, 6 * 7 * 4**2 + 20 * 4**3),
    "svd, wide": (lambda a: np.linalg.svd(a, full_matrices=False)[0], TALL.T, 6 * 7 * 4**2 + 20 * 4**3),
    "svdvals": (lambda a: np.linalg.svdvals(a), TALL, 2 * 7 * 4**2 + 2 * 4**3),
    "matrix_rank": (lambda a: np.linalg.matrix_rank(a), TALL, 2 * 7 * 4**2 + 2 * 4**3),
    "pinv": (lambda a: np.linalg.pinv(a), TALL, 6 * 7 * 4**2 + 20 * 4**3),
    "lstsq": (lambda a: np.linalg.lstsq(a, np.ones(7), rcond=None)[0], TALL, 6 * 7 * 4**2 + 20 * 4**3),
    # of four rows of 16
    "sort": (lambda x: np.sort(x, axis=1), ROWS, 64 * 4),
    "argsort": (lambda x: np.argsort(x, axis=1), ROWS, 64 * 4),
    "searchsorted": (lambda x: np.searchsorted(BINS, x), ROWS, 64 * 6),
    "digitize": (lambda x: np.digitize(x, BINS), ROWS, 64 * 6),
    "sum": (lambda x: np.sum(x, axis=1), ROWS, 64),
    "mean": (lambda x: np.mean(x, axis=1), ROWS, 64 + 4),
    "var": (lambda x: np.var(x, axis=1), ROWS, 4 * 64 + 2 * 4),
    "std": (lambda x: np.std(x, axis=1), ROWS, 4 * 64 + 3 * 4),
    "nanmean": (lambda x: np.nanmean(x, axis=1), ROWS, 64 + 4),
    "nanvar": (lambda x: np.nanvar(x, axis=1), ROWS, 4 * 64 + 2 * 4),
    "nanstd": (lambda x: np.nanstd(x, axis=1), ROWS, 4 * 64 + 3 * 4),
    "norm": (lambda x: np.linalg.norm(x, axis=1), ROWS, 2 * 64 + 4),
    "norm of order 3": (lambda x: np.linalg.norm(x, 3, axis=1), ROWS, 2 * 64 + 4),
    "logsumexp": (lambda x: ops.logsumexp(x, axis=1), ROWS, 4 * 64 + 2 * 4),
    "softmax": (lambda x: nn.softmax(x, axis=1), ROWS, 5 * 64 + 4),
    "log_softmax": (lambda x: nn.log_softmax(x, axis=1), ROWS, 5 * 64 + 4),
    "layer_norm": (lambda x: nn.layer_norm(x, (16,)), ROWS, 5 * 64 + 5 * 4),
    "cross_entropy": (lambda x: nn.cross_entropy(x, np.zeros(4, int)), ROWS, 4 * 64 + 1),
    "fft": (lambda x: np.fft.fft(x), ROWS, 5 * 64 * 4),
    "rfft": (lambda x: np.fft.rfft(x), ROWS, 5 * 64 * 4),
    "polyval": (lambda x: np.polyval(np.ones(5), x), ROWS, 2 * 64 * 5),
    "convolve": (lambda x: np.convolve(x[0], np.ones(3)), ROWS, 2 * 16 * 3),
    "lfilter of order 3": (
        lambda x: tape.scipy.signal.lfilter([1.0], [1.0, 0.5, 0.2, 0.1], x),
        ROWS,
        2 * 64 * (1 + 3),
    ),
    "matmul": (lambda x: x @ x.T, ROWS, 2 * 4 * 4 * 16),
    "dot": (lambda x: np.dot(x[0], x[1]), ROWS, 2 * 16),
    "vecdot": (lambda x: np.vecdot(x, x), ROWS, 2 * 64),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x, x), ROWS, 2 * 4 * 4 * 16),
    "outer": (lambda x: np.einsum("i,j->ij", x[0], x[1]), ROWS, 16 * 16),
    "argmax": (lambda x: np.argmax(x, axis=1), ROWS, 64),
    "nanargmax": (lambda x: np.nanargmax(x, axis=1), ROWS, 64),
    "count_nonzero": (lambda x: np.count_nonzero(x, axis=1), ROWS, 64),
    "nonzero": (lambda x: np.nonzero(x)[0], ROWS, 64),
    "add_at": (lambda x: ops.add_at(x, x[:2], [0, 1]), ROWS, 2 * 16),
    "max_pool": (lambda x: nn.max_pool1d(x[None], 2), ROWS, 64),
}


@pytest.mark.parametrize("name", FLOPS)
def test_flops_by_the_textbook(name):
    f, x, count = FLOPS[name]
    assert flops_of(f, x) == int(count)


OF_ONE_STEP = {
    # of a matrix of order 6, and of one of 7 by 4
    "schur": (lambda a: linalg.schur(a)[0], SQUARE, 25 * 6**3),
    "hessenberg": (lambda a: linalg.hessenberg(a), SQUARE, 14 * 6**3 / 3),
    "ldl": (lambda a: linalg.ldl(a)[0], SQUARE, 6**3 / 3),
    "packed_lu": (lambda a: linalg.lu_factor(a)[0], SQUARE, 2 * 6**3 / 3),
    "sylvester": (lambda a: linalg.solve_sylvester(a, np.eye(3), a[:, :3]), SQUARE, 20 * 6 * 3 * (6 + 3)),
    "sqrtm": (linalg.sqrtm, SQUARE, 25 * 6**3),
    "logm": (linalg.logm, SQUARE, 25 * 6**3),
    "signm": (linalg.signm, SQUARE, 60 * 6**3),
    "continuous_riccati": (lambda a: linalg.solve_continuous_are(a, a, a, a), SQUARE, 200 * 6**3),
    "discrete_riccati": (lambda a: linalg.solve_discrete_are(a, a, a, a), SQUARE, 200 * 6**3),
    "eig_of_bands": (lambda a: linalg.eigh_tridiagonal(a[0], a[1, 1:])[0], SQUARE, 9 * 6**3),
    "eigvals_of_bands": (lambda a: linalg.eigvalsh_tridiagonal(a[0], a[1, 1:]), SQUARE, 4 * 6**2),
    "solve_bands": (lambda a: linalg.solve_banded((1, 1), 1 + a[:3], a[:, :2]), SQUARE, 4 * 3 * 6 * 2),
    "cholesky_of_bands": (lambda a: linalg.cholesky_banded(a[:2] + np.array([[0], [99]])), SQUARE, 6 * 2**2),
    "unitary_factor": (lambda a: linalg.polar(a)[0], TALL, 6 * 7 * 4**2 + 20 * 4**3),
    "null_basis": (lambda a: linalg.null_space(a.T), TALL, 6 * 7 * 4**2 + 20 * 4**3),
    "norm": (np.linalg.norm, TALL, 2 * 28 + 1),
    "sparse_product": (lambda a: scipy.sparse.csr_array(np.eye(7)) @ a, TALL, 2 * 7 * 4),
    # of four rows of 16
    "correlate": (lambda x: np.correlate(x[0], np.ones(3)), ROWS, 2 * 16 * 3),
    "interp": (lambda x: np.interp(x, BINS, BINS), ROWS, 64 * 6),
    "bincount": (lambda x: np.bincount(np.tile(np.argsort(x[0]), 5)), ROWS, 80),
    "bincount of weights": (lambda x: np.bincount(np.arange(64) % 3, np.ravel(x)), ROWS, 64),
    "histogram": (lambda x: np.histogram(x, BINS)[0], ROWS, 64),
    "histogram of weights": (lambda x: np.histogram(np.ones(16), BINS, weights=x[0])[0], ROWS, 16),
    "median": (lambda x: np.median(x, axis=1), ROWS, 64 * 6),
    "quantile": (lambda x: np.quantile(x, 0.3, axis=1), ROWS, 64 * 6),
    "nanmedian": (lambda x: np.nanmedian(x, axis=1), ROWS, 64 * 6),
    "argpartition": (lambda x: np.argpartition(x, 3, axis=1), ROWS, 64 * 4),
    "unique": (np.unique, ROWS, 64 * 6),
    "isin": (lambda x: np.isin(x, BINS), ROWS, 64 * 4),
    "cumsum": (lambda x: np.cumsum(x, axis=1), ROWS, 64),
    "add_reduceat": (lambda x: np.add.reduceat(x, [0, 4], axis=1), ROWS, 64),
    "logaddexp_reduce": (lambda x: np.logaddexp.reduce(x, axis=1), ROWS, 64),
    "prod": (lambda x: np.prod(x, axis=1), ROWS, 64),
    "max": (lambda x: np.max(x, axis=1), ROWS, 64),
    "min where": (lambda x: np.min(x, axis=1, where=ROWS > 0, initial=9), ROWS, 64),
    "mean where": (lambda x: np.mean(x, axis=1, where=ROWS > 0), ROWS, 64 + 4),
    "var where": (lambda x: np.var(x, axis=1, where=ROWS > 0), ROWS, 4 * 64 + 2 * 4),
    "any": (lambda x: np.any(x, axis=1), ROWS, 64),
    "argmin": (lambda x: np.argmin(x, axis=1), ROWS, 64),
    "argwhere": (np.argwhere, ROWS, 64),
    "sum_pool": (lambda x: nn.avg_pool1d(x[None], 2), ROWS, 64),
    "standardized": (lambda x: nn.batch_norm(x, None, None, training=True), ROWS, 5 * 64 + 5 * 16),
    "spline_filter": (tape.scipy.ndimage.spline_filter1d, ROWS, 12 * 64),
}


@pytest.mark.parametrize("name", OF_ONE_STEP)
def test_the_dearest_step_takes_what_the_textbook_says(name):
    f, x, count = OF_ONE_STEP[name]
    trace = tape.Trace()
    f(trace.param(x))
    dearest = max((node for node in trace.nodes if node.op is not None), key=flops)
    assert dearest.op.name == name.split()[0]
    assert flops(dearest) == int(count)


def test_the_cost_of_a_convolution_and_of_its_derivatives_is_one():
    trace = tape.Trace()
    x, w = trace.param(IMAGES), trace.param(KERNELS)
    y = nn.conv2d(x, w, groups=2)
    again = tape.Trace()
    trace.backward_param_grads(y, seed=again.param(np.ones(y.shape)))
    counts = {node.op.name: flops(node) for node in (*trace.nodes, *again.nodes) if node.op is not None}
    assert counts["conv"] == counts["conv_input"] == counts["conv_weight"]


@by_operation(CASES)
def test_the_cost_of_every_operation_is_a_count(case):
    trace, _, _ = record(case.on(tape.ops), case.args())
    assert all(flops(node) >= 0 for node in trace.nodes)


def test_the_parts_of_a_factorization_cost_nothing_beyond_it():
    counts = {}
    for f in (np.linalg.qr, np.linalg.svd, np.linalg.eigh, np.linalg.slogdet):
        trace = tape.Trace()
        f(trace.param(np.eye(4)))
        counts[f.__name__] = [flops(node) > 0 for node in trace.nodes].count(True)
    assert set(counts.values()) == {1}


def test_an_operation_costs_the_same_without_its_derivative_rules(trace):
    x = trace.param(np.ones((3, 4)))
    floats, ints = np.sum(x, axis=1, dtype=float), np.sum(x, axis=1, dtype=int)
    assert flops(floats.node) == flops(ints.node) == 12


def test_a_declared_cost_belongs_to_its_operation_alone(trace):
    cheap, dear = Op(lambda x: x + 1, name="step"), Op(lambda x: x + 1, name="step")
    declare_cost(passes(7), dear)
    x = trace.param(np.ones(5))
    assert (flops(cheap(x).node), flops(dear(x).node)) == (5, 35)


@pytest.mark.parametrize("name", ["solve", "fft", "einsum", "add_at", "max_pool", "conv"])
def test_a_function_of_the_user_may_be_called_like_another_operation(trace, name):
    op = Op(np.sin, name=name)
    op(trace.param(np.ones(5)))
    op(trace.param(1.0))
    assert trace.summary().nodes == 4


# ---- memory ------------------------------------------------------------------------------------------


def test_each_block_of_memory_counts_once(trace):
    x = trace.param(np.ones((100, 10)))
    views = [x.T, x[3:], x.reshape(10, 100), np.broadcast_to(x[0], (50, 10))]
    assert summary(trace).value_bytes == 8000
    total = views[0] + 1.0
    assert summary(trace).value_bytes == 16000
    assert total.nbytes == 8000
    assert sum(operation.bytes for operation in summary(trace).ops) == 16000


def test_constants_are_counted_apart_and_not_if_a_node_holds_them(trace):
    held, constant = np.ones(100), np.ones(1000)
    y = trace.param(held) * constant[:100] + held
    _ = y + constant[100:200]
    assert (summary(trace).value_bytes, summary(trace).constant_bytes) == (4 * 800, 8000)


def test_constants_that_are_vars_of_an_outer_tape_are_counted(trace):
    with tape.Trace() as inner:
        _ = inner.param(np.ones(5)) * trace.param(np.ones((7, 1)))
    assert (summary(inner).value_bytes, summary(inner).constant_bytes) == (8 * (5 + 35), 8 * 7)


def test_numbers_are_memory_of_their_own(trace):
    x = trace.param(np.float64(1.0))
    y = x * np.float32(2.0)
    _ = [y.sum(), trace.input(np.float32(3.0))]
    report = summary(trace)
    assert report.value_bytes == sum(node.value.nbytes for node in trace.nodes)
    assert report.constant_bytes == 4


def test_memory_of_others_counts_as_far_as_it_is_seen(trace):
    array = np.frombuffer(bytearray(800))
    trace.input(array[10:20])
    trace.input(array[30:])
    assert summary(trace).value_bytes == 800


# ---- all the rest ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=30), st.booleans())
def test_sums_agree_with_the_nodes(pairs, is_param):
    trace = tape.Trace("T")
    handles = [trace.param(np.ones(3)) if is_param else trace.input(np.ones(3)), trace.input(2.0)]
    for a, b in pairs:
        handles.append(handles[a % len(handles)] + handles[b % len(handles)])
    report = summary(trace)
    assert report.nodes == len(trace) == report.params + report.inputs + report.operations
    assert report.nodes == sum(total.count for total in report.ops)
    assert report.value_bytes == sum(total.bytes for total in report.ops)
    assert report.flops == sum(total.flops for total in report.ops)
    assert report.param_elements == (3 if is_param else 0)
    assert report.inactive == sum(not node.is_active for node in trace.nodes[2:])

    def chain(id):
        return 1 + max((chain(parent) for parent in set(trace.nodes[id].parents)), default=0)

    if len(pairs) < 10:
        assert report.longest_chain == max(map(chain, range(len(trace))))


def test_nested_and_empty_tapes():
    assert summary(tape.Trace("T")).nodes == 0
    assert str(summary(tape.Trace("T"))).splitlines()[0] == "<Trace T: 0 nodes, 0 params>"
    outer, inner = tape.Trace(), tape.Trace()
    _ = np.exp(inner.param(outer.param(np.ones(5))))
    assert summary(inner).value_bytes == 80


def test_what_it_looks_like():
    trace = tape.Trace("T")
    _ = (trace.input(np.ones((50, 8))) @ trace.param(np.ones((8, 3)))).sum() * np.ones(1000)
    report = summary(trace)
    assert str(report) == (
        "<Trace T: 5 nodes, 1 param>\n"
        "nodes          5: 1 param of 24 elements, 1 input, 3 operations\n"
        "longest chain  4 nodes\n"
        "memory         12.6 kB in values, 8.0 kB in constants\n"
        "work           3,550 FLOPs forwards\n"
        "\n"
        "operation  nodes  FLOPs  share  memory\n"
        "matmul         1  2,400  67.6%  1.2 kB\n"
        "multiply       1  1,000  28.2%  8.0 kB\n"
        "sum            1    150   4.2%     8 B\n"
        "input          1      0         3.2 kB\n"
        "param          1      0          192 B"
    )
    page = Page(report._repr_html_())
    assert not page.open
    assert page.rows[1] == ["matmul", "1", "2,400", "67.6%", "1.2 kB"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.nodes = 3


def test_names_of_operations_are_escaped_and_many_are_summed_up(trace):
    x = trace.param(1.0)
    for k in range(40):
        x = tape.Op(lambda x: x, name=f"<b>\n{k}", vjp=[lambda g, out, x: g])(x)
    report = summary(trace)
    assert "21 others" in str(report)
    assert len(str(report).splitlines()) == 1 + 4 + 1 + 1 + 21
    assert Page(report._repr_html_()).tags.isdisjoint({"b"})


def test_operations_are_in_the_order_of_their_work(trace):
    """The most FLOPs first, of as many the most nodes."""
    x = trace.param(np.ones(6))
    for _ in range(3):
        x = x[::-1]
    y = np.exp(np.tanh(x) * 2.0) + np.sin(x[:3]).sum() + np.cos(x[3:]).sum() + np.sin(x[3:]).sum()
    report = summary(trace)
    keys = [(total.flops, total.count) for total in report.ops]
    assert keys == sorted(keys, reverse=True)
    assert len(set(keys)) < len(keys) > len({flops for flops, _ in keys}) + 1
    assert y.shape == (6,)


@pytest.mark.parametrize("names", [19, 20, 21, 22, 30])
def test_operations_are_summed_up_only_if_that_saves_lines(trace, names):
    x = trace.param(1.0)
    for k in range(names):
        x = tape.Op(lambda x: x + 1.0, name=f"op{k}", vjp=[lambda g, out, x: g])(x)
    kinds = names + 1  # params too
    lines = str(summary(trace)).splitlines()
    table = lines[lines.index("") + 2 :]
    assert len(table) == min(kinds, 21)
    if kinds > 21:
        words = table[-1].split()
        assert words[:2] == [str(kinds - 20), "others"]
        assert words[2] == str(kinds - 20)  # nodes


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (25_000_000, "25.0 MB"), (7e12, "7000.0 GB")],
)
def test_sizes(count, text):
    assert byte_size(count) == text


def test_a_long_tape_takes_microseconds_a_node():
    trace = tape.Trace()
    x = trace.param(1.0)
    for _ in range(50_000):
        x = x * 1.0
    start = time.perf_counter()
    report = summary(trace)
    assert (time.perf_counter() - start) / 50_000 < 40e-6  # a tenth of that when nothing else runs
    assert report.longest_chain == 50_001


def test_a_summary_at_a_prompt_is_what_is_printed(trace):
    _ = trace.param(np.ones(3)) * 2
    found = trace.summary()
    assert repr(found) == str(found)
