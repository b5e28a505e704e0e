"""Batches: sweeping and computing many at once equals doing it one by one."""

from itertools import product
from string import ascii_letters

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core import interpreter
from tape.core.batch_rules import elementwise
from tape.core.op import Op
from tape.interpreters.batching import Batch, Lanes
from tests.op_table import CASES, by_operation, few_of_each, lightly
from tests.oracles import assert_close, is_float, record
from tests.tiers import some

SIZE = 3
DIFFERENTIABLE = [case for case in CASES if case.has_derivative]


# ---- sweeps --------------------------------------------------------------------------------------


def swept(trace, out, cotangents, tangents, wrap, unwrap):
    """Gradients and tangent, for one seed or a batch of them."""
    gradients = trace.pull_back({out.id: wrap(cotangents)})
    seeds = {p.id: wrap(t) for p, t in zip(trace.params, tangents, strict=True)}
    return [None if result is None else unwrap(result) for result in [
        *gradients, *trace.push_forward(seeds, [out.id])
    ]]  # fmt: skip


def same(x):
    return x


@by_operation(few_of_each(lightly(DIFFERENTIABLE)))
def test_sweeping_a_batch_equals_sweeping_one_by_one(case):
    check_sweeps(case, SIZE)


@by_operation(some(DIFFERENTIABLE, every=10))
def test_a_batch_may_hold_a_single_value(case):
    check_sweeps(case, 1)


def check_sweeps(case, size):
    trace, _, out = record(case.on(ops), case.args())
    rng = case.rng(1)
    cotangents = rng.normal(size=(size, *out.shape)).astype(out.dtype)
    tangents = [rng.normal(size=(size, *p.shape)) for p in trace.params]
    with Lanes(size) as lanes:
        together = swept(trace, out, cotangents, tangents, lanes.batch, lanes.values)
    for i in range(size):
        alone = swept(trace, out, cotangents[i], [t[i] for t in tangents], same, same)
        for batch, one in zip(together, alone, strict=True):
            assert (batch is None) == (one is None)
            if one is not None:
                assert_close(batch[i], one, 1e-12)
                assert batch.dtype == one.dtype


@by_operation(some(DIFFERENTIABLE, every=8))
def test_an_empty_batch_gives_empty_results(case):
    trace, _, out = record(case.on(ops), case.args())
    tangents = [np.zeros((0, *p.shape)) for p in trace.params]
    with Lanes(0) as lanes:
        try:
            results = swept(trace, out, np.zeros((0, *out.shape)), tangents, lanes.batch, lanes.values)
        except errors.UnsupportedError as error:
            if "depends on its values" not in str(error):
                raise
            return
    for result, like in zip(results, [*trace.params, out], strict=True):
        assert result is None or result.shape == (0, *like.shape)


# ---- operations ----------------------------------------------------------------------------------


@by_operation(few_of_each(lightly(CASES)))
def test_an_operation_on_batches_equals_the_loop(case):
    """For every choice of operands that are batches, the others being one for all."""
    several = [case.args(salt=salt) for salt in range(SIZE)]
    for chosen in product([False, True], repeat=len(several[0])):
        if not any(chosen):
            continue
        columns = list(zip(*several, strict=True))
        expected = [
            case.on(ops)(*(column[i if many else 0] for column, many in zip(columns, chosen, strict=True)))
            for i in range(SIZE)
        ]
        with Lanes(SIZE) as lanes:
            operands = [
                lanes.batch(np.stack(column)) if many else column[0]
                for column, many in zip(columns, chosen, strict=True)
            ]
            result = case.on(ops)(*operands)
            values = lanes.values(result)
            if isinstance(result, Batch):
                assert (result.shape, result.dtype) == (np.shape(expected[0]), np.result_type(expected[0]))
        assert_close(values, np.stack(expected), 1e-13)
        assert values.dtype == np.result_type(expected[0])


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((3,), (3,)), ((2, 1), (4,)), ((), (2,))], ids=str)
def test_operators_between_batches_arrays_and_numbers(shapes):
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0.5, 2, (SIZE, *shape)) for shape in shapes)
    with Lanes(SIZE) as lanes:
        a, b = lanes.batch(x), lanes.batch(y)
        for f in (lambda a, b: a * b - b / a, lambda a, b: 2 * a + b**2, lambda a, b: np.maximum(a, b)):
            expected = np.stack([f(x[i], y[i]) for i in range(SIZE)])
            assert_close(lanes.values(f(a, b)), expected, 1e-15)
            assert_close(lanes.values(f(a, y[0])), np.stack([f(v, y[0]) for v in x]), 1e-15)
            assert_close(lanes.values(f(x[0], b)), np.stack([f(x[0], v) for v in y]), 1e-15)


def _of_all_letters(x):
    return ops.einsum(f"{ascii_letters[:26]},{ascii_letters[26:]}->", x, np.full((1,) * 26, 3.0))


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (_of_all_letters, (1,) * 26),  # there is no letter left for the batch
        (lambda p: np.polyval(p, np.array([0.5, 1.0, -2.0])), (2, 3)),
        (lambda p: np.polyval(p, np.array([0.5, 1.0, -2.0])), (0,)),
        (lambda x: np.polyval(np.arange(6.0).reshape(2, 3), x), (3,)),
        (lambda p: np.polyval(p, np.float64(0.5)), (4,)),
        (lambda p: np.polyval(p[:2], p), (4,)),
    ],
)
def test_operations_that_know_no_batches_of_such_operands_are_run_for_each(f, shape):
    xs = np.random.default_rng(0).normal(size=(SIZE, *shape))
    assert_close(tape.vmap(f)(xs), np.stack([f(x) for x in xs]), 1e-14)
    slope = tape.grad(lambda x: np.sum(np.sin(f(x)))) if xs.size else lambda x: x
    assert_close(tape.vmap(slope)(xs), np.stack([slope(x) for x in xs]), 1e-14)


def test_a_batch_looks_like_one_of_its_values():
    with Lanes(2) as lanes:
        v = lanes.batch(np.arange(12.0).reshape(2, 2, 3))
        assert (v.shape, v.ndim, v.size, len(v), v.dtype) == ((2, 3), 2, 6, 2, np.float64)
        assert (np.shape(v), np.ndim(v), np.size(v), np.result_type(v)) == ((2, 3), 2, 6, np.float64)
        assert np.result_type(v, v, np.float32(1)) == np.float64
        assert [np.zeros_like(v).shape, np.ones_like(v).shape, np.empty_like(v).shape] == [(2, 3)] * 3
        assert np.full_like(v, 2.0).shape == (2, 3)
        assert v.T.shape == (3, 2)
        assert [row.shape for row in v] == [(3,), (3,)]
        assert "2 values" in repr(v)
        assert "2" in repr(lanes)


@pytest.mark.parametrize(
    "ask", [bool, float, int, lambda v: v.item(), lambda v: v.tolist(), lambda v: f"{v:.2f}", np.asarray]
)
def test_a_batch_is_no_plain_number(ask):
    with Lanes(2) as lanes:
        v = lanes.batch(np.ones(2))
        with pytest.raises(errors.ConversionError):
            ask(v)


def test_what_is_no_batch_is_repeated():
    with Lanes(2) as lanes:
        np.testing.assert_array_equal(lanes.values(np.arange(3.0)), [[0, 1, 2], [0, 1, 2]])
        np.testing.assert_array_equal(lanes.values(np.float64(3)), [3, 3])
    assert interpreter.innermost_open() is None


# ---- operations of users ---------------------------------------------------------------------------

Y = np.array([0.5, 1.5, -1.0])
RULES = {
    "plain": lambda d, out, x: d * 2 * x,
    "full_like": lambda d, out, x: np.full_like(d, 2.0) * d * x,
    "ones_like": lambda d, out, x: (np.ones_like(d) + 1) * d * x,
    "size": lambda d, out, x: d * x * (2 * np.size(d) / np.size(x)),
    "where": lambda d, out, x: np.where(d > 0, d, d) * 2 * x,
    "len": lambda d, out, x: d * x * (2.0 if d.ndim == 0 or len(d) == 3 else np.nan),
    "rows": lambda d, out, x: 2 * (np.stack([a * b for a, b in zip(d, x, strict=True)]) if d.ndim else d * x),
    "reshape": lambda d, out, x: (d.reshape(-1) * x.reshape(-1) * 2).reshape(x.shape),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("batch", ["one by one", "elementwise"])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_rules_of_users_run_on_batches(name, batch, mode):
    rule = RULES[name]
    batch_rule = elementwise if batch == "elementwise" else None
    op = Op(lambda x: x * x, name="mine", vjp=[rule], jvp=[rule], batch=batch_rule)
    assert_close(tape.jacobian(op, mode=mode)(Y), np.diag(2 * Y), 1e-15)
    by_element = tape.jacobian(lambda x: np.stack([op(part) for part in x]), mode=mode)
    assert_close(by_element(Y), np.diag(2 * Y), 1e-15)
    if name == "plain":
        assert_close(tape.hessian(lambda x: np.sum(op(x) * x))(Y), np.diag(6 * Y), 1e-14)


def test_an_operation_whose_shape_depends_on_values_cannot_run_on_an_empty_batch():
    op = Op(lambda x: x * 2.0, name="mine", vjp=[lambda g, out, x: op(g)])
    with Lanes(0) as lanes, pytest.raises(errors.UnsupportedError, match="the shape of mine depends on its"):
        op(lanes.batch(np.zeros((0, 2))))


def test_an_operation_without_a_rule_runs_on_an_empty_batch():
    op = Op(lambda x: (np.log(x), np.sum(x) > 0), name="mine", data_dependent=False)
    with Lanes(0) as lanes:
        logs, flag = op(lanes.batch(np.zeros((0, 2), np.float32)))
    assert lanes.values(logs).shape == (0, 2)
    assert lanes.values(logs).dtype == np.float32
    assert lanes.values(flag).shape == (0,)
    assert lanes.values(flag).dtype == bool


# ---- nesting -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")  # by the first
@by_operation(some(DIFFERENTIABLE, every=26))
def test_a_batched_sweep_is_differentiated_by_what_is_around_it(case):
    for mode in ("fwd", "rev"):
        check_nested(case, mode)


def check_nested(case, mode):
    """The gradient of a function of the Jacobian, against the same with rows made one by one."""
    args = [a for a in case.args() if is_float(a)]
    if len(args) != len(case.args()) or any(x.dtype != np.float64 for x in (*args, case.on(ops)(*args))):
        return
    rng = case.rng(2)
    w = rng.normal(size=(np.size(case.on(ops)(*args)), args[0].size))

    def weighed(x):
        jacobian = tape.jacobian(lambda x: case.on(ops)(x, *args[1:]), mode=mode)(x)
        return np.sum(ops.reshape(jacobian, w.shape) * w)

    def one_by_one(x):
        out, pullback = tape.vjp(lambda x: case.on(ops)(x, *args[1:]), x)
        units = np.eye(w.shape[0]).reshape((w.shape[0], *np.shape(out)))
        return sum((np.sum(pullback(u)[0] * r.reshape(args[0].shape)) for u, r in zip(units, w, strict=True)),
                   start=0.0 * np.sum(x))  # fmt: skip

    together = tape.grad(lambda x: weighed(x) + 0 * np.sum(x))(args[0])
    assert_close(together, tape.grad(one_by_one)(args[0]), 1e-11)


def test_a_batch_of_vars_records_on_their_trace():
    tr = tape.Trace()
    w = tr.param(np.array([[1.0, 2.0], [3.0, 4.0]]))
    with Lanes(2) as lanes:
        total = lanes.values(np.sum(lanes.batch(w) ** 2))
    assert total.trace is tr
    assert_close(tr.backward_param_grads(total, [1.0, 10.0])[0], [[2, 4], [60, 80]], 1e-15)


def test_batches_within_batches():
    x = np.arange(6.0).reshape(2, 3)
    with Lanes(2) as outer:
        rows = outer.batch(x)
        with Lanes(3) as inner:
            numbers = inner.batch(rows)
            product_of_both = inner.values(numbers * numbers + np.sum(rows))
        result = outer.values(product_of_both)
    assert_close(result, x * x + x.sum(1, keepdims=True), 1e-15)


def test_a_batch_is_closed_when_it_is_done_with_and_when_that_fails():
    before = interpreter.innermost_open()
    with Lanes(2) as lanes:
        assert interpreter.is_open(lanes)
    assert not interpreter.is_open(lanes)
    with pytest.raises(ZeroDivisionError), Lanes(2) as lanes:
        raise ZeroDivisionError
    assert not interpreter.is_open(lanes)
    tape.jacobian(lambda x: x * x, mode="rev")(np.ones(3))
    with pytest.raises(errors.ShapeError):
        tape.jacobian(lambda x: np.exp(x) @ np.ones(2))(np.ones(3))
    assert interpreter.innermost_open() is before


def test_a_batch_has_no_single_answer():
    with Lanes(2) as lanes:
        x = lanes.batch(np.array([[1.0, 2.0], [3.0, 4.0]]))
        index = lanes.batch(np.array([0, 1]))
        for ask in (
            lambda: np.array_equal(x, x), lambda: np.allclose(x, x), lambda: range(3)[index], x.item,
            lambda: bool(x[0] > 0),
        ):  # fmt: skip
            with pytest.raises(errors.ConversionError, match="several values"):
                ask()


# ---- over all axes, and over some ------------------------------------------------------------------

MASK = np.array([[True, False, True], [True, True, True]])
NAMES = """
sum mean prod max min any all var std nansum nanmean nanprod nanmax nanmin nanvar nanstd count_nonzero median
nanmedian ptp logsumexp average
"""
REDUCTIONS = {name: getattr(ops, name) for name in NAMES.split()} | {
    "norm": lambda x, **options: ops.linalg.norm(x * 1.0, 3 if "axis" in options else None, **options),
    "quantile": lambda x, **options: ops.quantile(x, 0.3, **options),
    "weighted logsumexp": lambda x, **options: ops.logsumexp(x, b=2.0 * MASK, **options),
    "sum where": lambda x, **options: ops.sum(x, where=MASK, **options),
    "var where": lambda x, **options: ops.var(x, where=MASK, **options),
}


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_a_batch_are_over_the_axes_of_each(name, options):
    f = REDUCTIONS[name]
    x = np.random.default_rng(0).uniform(0.5, 1.5, (4, 2, 3))
    with Lanes(4) as lanes:
        found = lanes.values(f(lanes.batch(x), **options))
    assert_close(found, np.stack([f(one, **options) for one in x]), 1e-13)
    if name not in ("any", "all", "count_nonzero"):
        slopes = tape.grad(lambda y: np.sum(f(y, **options) ** 2))
        with Lanes(4) as lanes:
            found = lanes.values(slopes(lanes.batch(x)))
        assert_close(found, np.stack([slopes(one) for one in x]), 1e-12)


# ---- shapes and shifts that differ within a batch --------------------------------------------------

ROLLED = [((5,), 0), ((3, 4), 1), ((3, 4), -2), ((3, 4), None), ((0, 2), 0)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("shape", "axis"), ROLLED)
def test_rolling_each_element_by_a_number_of_its_own(shape, axis, compiled):
    rng = np.random.default_rng(4)
    roll = tape.vmap(lambda x, shift: np.roll(x, shift, axis) * x)
    function = tape.compile(roll) if compiled else roll
    for _ in range(3):
        x, shifts = rng.normal(size=(6, *shape)), rng.integers(-9, 9, 6)
        expected = [np.roll(a, s, axis) * a for a, s in zip(x, shifts, strict=True)]
        np.testing.assert_array_equal(function(x, shifts), expected)


def test_masks_that_select_other_numbers_of_elements_are_named():
    with pytest.raises(errors.ShapeError, match=r"getitem returns .*\(2,\), \(1,\).*np.where"):
        tape.vmap(lambda x: np.sum(x[x > 0]))(np.array([[1.0, 2.0], [-1.0, 2.0]]))
