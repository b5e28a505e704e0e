"""Every operation of the table: values, both first-order rules, all second-order ones, and manners."""

import inspect
import itertools
from operator import attrgetter

import numpy as np
import pytest

import tape
from tape import ops
from tests import naive, plain
from tests.op_table import (
    CASES,
    TWO_OF_EACH,
    Case,
    a_third,
    by_operation,
    few_of_each,
    in_ops,
    lightly,
    spread,
    two_of_each,
)
from tests.oracles import (
    LAYOUTS,
    assert_close,
    assert_same,
    difference,
    difference_gradient,
    flat,
    inner,
    is_float,
    jvp,
    laid_out,
    record,
    uniform,
    unit_directions,
    vjp,
)
from tests.tiers import takes_long

DIFFERENTIABLE = [case for case in lightly(CASES) if case.has_derivative]
ALL_DIFFERENTIABLE = [case for case in CASES if case.has_derivative]
CONSTANT = [case for case in CASES if not case.has_derivative]
NARROWABLE = [  # NumPy promotes arrays of ints and narrow floats to float64
    case
    for case in a_third(lightly(TWO_OF_EACH), 1)
    if case.has_derivative and "ints" not in case.name.split() and case.op != "astype"
]
OF_SEVERAL = [case for case in two_of_each(DIFFERENTIABLE) if len(case.arguments) > 1]
PLAIN = [case for case in TWO_OF_EACH if plain.has(case.op)]

every_case = by_operation(CASES)
every_derivative = by_operation(spread(DIFFERENTIABLE))
second_derivatives = by_operation(a_third(few_of_each(DIFFERENTIABLE), 0))
each_operation = by_operation(lightly(TWO_OF_EACH))
each_derivative = by_operation(two_of_each(DIFFERENTIABLE))


def seed_for(case: Case, args: list[np.ndarray]) -> np.ndarray:
    """A random adjoint of the result."""
    return uniform(case.rng(7), np.asarray(case.on(ops)(*args)))


# ---- the table is complete -----------------------------------------------------------------------


def public_operations():
    """All functions of `tape.ops`, and of its namespaces with the name of these in front."""
    names = {name for name, value in vars(ops).items() if not name.startswith("_") and callable(value)}
    for namespace in (ops.linalg, ops.fft, ops.nn, ops.special):
        title = namespace.__name__.rpartition(".")[2]
        for name in namespace.__all__:
            if getattr(ops, name, None) is not getattr(namespace, name):
                names.add(f"{title}.{name}")
    return names


def test_the_table_covers_every_operation_and_nothing_else():
    assert {case.op for case in CASES if in_ops(case)} == public_operations()


def test_operations_are_documented():
    for name in public_operations():
        function = attrgetter(name)(ops)
        assert inspect.getdoc(function), name
        assert function.__name__ in (name.rpartition(".")[2], getattr(np, name, function).__name__)


# ---- values --------------------------------------------------------------------------------------


@every_case
def test_value_is_that_of_plain_numpy(case):
    args = case.args()
    expected = case.on(naive)(*args)
    value = case.on(ops)(*args)
    assert not isinstance(value, tape.Var)
    assert np.result_type(value) == np.result_type(expected)
    assert_close(value, expected, 1e-14)


@by_operation([case for case in PLAIN if case.op != "linalg.matrix_rank"])  # which is an int of Python's
def test_results_without_axes_are_scalars_or_arrays_as_in_numpy(case):
    for args in (case.args(), [a if a.ndim else a[()] for a in case.args()]):
        assert type(case.on(ops)(*args)) is type(case.on(plain)(*args))


@every_case
def test_recorded_value_is_the_computed_one(case):
    args = case.args()
    _, _, out = record(case.on(ops), args)
    assert isinstance(out, tape.Var)
    assert_same(out.value, case.on(ops)(*args))
    assert type(out.value) is type(case.on(ops)(*args)) or case.op == "nn.nll_loss"
    assert (out.shape, out.dtype, out.ndim, out.size) == (
        np.shape(out.value), out.value.dtype, np.ndim(out.value), np.size(out.value)
    )  # fmt: skip


@by_operation(PLAIN)
def test_numpy_functions_record_the_same_nodes(case):
    args = case.args()
    by_ops, by_numpy = record(case.on(ops), args)[0], record(case.on(plain), args)[0]
    assert [node.op for node in by_numpy.nodes] == [node.op for node in by_ops.nodes]
    assert [node.parents for node in by_numpy.nodes] == [node.parents for node in by_ops.nodes]
    for a, b in zip(by_numpy.nodes, by_ops.nodes, strict=True):
        assert_same(a.value, b.value)


@each_operation
def test_replay_equals_recording_anew(case):
    old, new = case.args(salt=1), case.args(salt=2)
    trace, leaves, _ = record(case.on(ops), old)
    anew, _, _ = record(case.on(ops), new)
    for leaf, value in zip(leaves, new, strict=True):
        trace.set(leaf, value)
    trace.replay()
    for replayed, recorded in zip(trace.nodes, anew.nodes, strict=True):
        assert_same(replayed.value, recorded.value)


@by_operation(CONSTANT)
def test_piecewise_constants_carry_no_derivative(case):
    args = case.args()
    trace, _, out = record(case.on(ops), args)
    assert out.node.vjp is None
    tangents = {p: np.ones(p.shape) for p in trace.params}
    assert not np.any(trace.jvp(out, tangents))
    if out.dtype.kind not in "fc":
        with pytest.raises(tape.errors.DTypeError):
            trace.backward_param_grads(out)
    elif trace.params:
        with pytest.raises(tape.errors.UnreachableParamError):
            trace.backward_param_grads(out)


# ---- first order ---------------------------------------------------------------------------------


@by_operation(ALL_DIFFERENTIABLE)
def test_jvp_is_the_directional_difference(case):
    args = case.args()
    directions = unit_directions(case.rng(3), args)
    pushed = jvp(case.on(ops), args, directions)
    assert_close(pushed, difference(case.on(naive), args, directions))
    seed = seed_for(case, args)  # and the transpose of the reverse mode, to rounding
    forwards = inner([seed], [pushed])
    assert abs(forwards - inner(vjp(case.on(ops), args, seed), directions)) <= 1e-13 * max(1, abs(forwards))


@takes_long
@every_derivative
def test_vjp_is_the_difference_jacobian_transposed(case):
    args = case.args()
    seed = seed_for(case, args)
    grads = iter(vjp(case.on(ops), args, seed))
    for k, arg in enumerate(args):
        if is_float(arg):

            def of_one(x, k=k):
                return case.on(naive)(*args[:k], x, *args[k + 1 :])

            expected = difference_gradient(of_one, arg, seed)
            assert_close(next(grads), expected)


# ---- second order: sweeps of an inner trace, swept again -----------------------------------------


def gradient(case, seed):
    return lambda *args: vjp(case.on(ops), args, seed)


@takes_long
@second_derivatives
def test_second_order_agrees_with_differences_of_the_first(case):
    args = case.args()
    seed, along = seed_for(case, args), unit_directions(case.rng(4), args)

    def gradient_along(*args):
        return inner(vjp(case.on(ops), args, seed), along)

    def pushed(*args):
        return jvp(case.on(ops), args, along)

    hessian_along = difference(lambda *args: flat(vjp(case.on(ops), args, seed)), args, along)
    parts = range(len(along))
    forward_over_reverse = [
        jvp(lambda *args, k=k: vjp(case.on(ops), args, seed)[k], args, along) for k in parts
    ]
    assert_close(flat(forward_over_reverse), hessian_along)
    assert_close(flat(vjp(gradient_along, args)), hessian_along)  # reverse over reverse
    assert_close(flat(vjp(pushed, args, seed)), hessian_along)  # reverse over forward
    assert_close(jvp(pushed, args, along), difference(pushed, args, along))  # forward over forward


# ---- manners -------------------------------------------------------------------------------------


def refuses_float16(case, narrow):
    """Whether there is an error at the call, as in NumPy: LAPACK starts at float32."""
    try:
        record(case.on(ops), narrow)
    except tape.errors.DTypeError as error:
        return "float16" in str(error)
    return False


@by_operation(NARROWABLE)
def test_float32_in_is_float32_out(case):
    check_dtypes(case, np.float32)


SQUARED_AS_FLOATS = {
    "nn.cosine_similarity", "nn.cosine_embedding_loss", "nn.normalize", "nn.pairwise_distance", "nn.pdist",
    "nn.triplet_margin_loss", "nn.triplet_margin_with_distance_loss",
}  # fmt: skip
"""Of halves, whose squares may overflow where the results do not."""


@by_operation(NARROWABLE)
def test_float16_in_is_float16_out(case):
    check_dtypes(case, np.float16)


def check_dtypes(case, dtype):
    narrow = case.args(dtype)
    if dtype == np.float16 and any(a.dtype.kind == "c" for a in narrow):
        return  # there are no complex numbers of that width
    if (
        dtype == np.float16
        and case.op.startswith(("linalg.", "stats.", "scipy.linalg."))
        and refuses_float16(case, narrow)
    ):
        return
    wide = [a.astype(np.result_type(a, np.float64)) if is_float(a) else a for a in narrow]
    seed, directions = seed_for(case, narrow), unit_directions(case.rng(3), narrow)
    trace, _, out = record(case.on(ops), narrow)
    of_that_width = {np.dtype(dtype), np.result_type(dtype, np.complex64)}
    if dtype == np.float16 and case.op in SQUARED_AS_FLOATS:
        of_that_width.add(np.dtype(np.float32))
    assert {node.value.dtype for node in trace.nodes if is_float(node.value)} <= of_that_width
    grads, tangent = vjp(case.on(ops), narrow, seed), jvp(case.on(ops), narrow, directions)
    assert [g.dtype for g in grads] == [a.dtype for a in narrow if is_float(a)]
    assert tangent.dtype == out.dtype
    if dtype == np.float32:
        assert_close(out.value, case.on(ops)(*wide), 1e-5)
        assert_close(flat(grads), flat(vjp(case.on(ops), wide, seed)), 1e-4)
        assert_close(tangent, jvp(case.on(ops), wide, directions), 1e-4)


@by_operation([c for c in a_third(lightly(TWO_OF_EACH), 2) if any(a.shape for a in c.arguments)])
def test_memory_layout_does_not_matter(case):
    args = case.args()
    expected = case.on(ops)(*args)
    seed = seed_for(case, args)
    for layout in LAYOUTS[1:]:
        others = [laid_out(a, layout) for a in args]
        assert_close(case.on(ops)(*others), expected, 1e-14)
        if case.has_derivative:
            grads = vjp(case.on(ops), others, laid_out(seed, layout))
            assert_close(flat(grads), flat(vjp(case.on(ops), args, seed)), 1e-13)


@each_derivative
def test_gradients_own_their_memory_and_inputs_keep_their_values(case):
    args = case.args()
    seed, directions = seed_for(case, args), unit_directions(case.rng(3), args)
    held = [*args, seed, *directions]
    copies = [array.copy() for array in held]
    trace, _, out = record(case.on(ops), args)
    values = [np.copy(node.value) for node in trace.nodes]
    grads = trace.backward_param_grads(out, seed, unreached="zero")
    tangent = trace.jvp(out, dict(zip(trace.params, directions, strict=True)))
    for grad in grads:
        assert type(grad) is np.ndarray
        assert grad.flags.writeable
    recorded = [operand for node in trace.nodes for operand in (node.value, *node.operands)]
    for made in (*grads, tangent):
        assert not any(np.shares_memory(made, other) for other in [*held, *recorded])
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(grads, 2))
    for made in grads:
        made[...] = np.nan
    for array, copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    for node, value in zip(trace.nodes, values, strict=True):
        np.testing.assert_array_equal(node.value, value)


@by_operation(OF_SEVERAL)
def test_each_operand_alone_gets_the_gradient_it_gets_in_company(case):
    args = case.args()
    seed = seed_for(case, args)
    together = iter(vjp(case.on(ops), args, seed))
    for k, arg in enumerate(args):
        if is_float(arg):
            alone = vjp(lambda x, k=k: case.on(ops)(*args[:k], x, *args[k + 1 :]), [arg], seed)
            assert_close(alone[0], next(together), 1e-14)


# ---- mixed operands, several results ---------------------------------------------------------------


@pytest.mark.parametrize("op", [ops.add, ops.subtract, ops.multiply, ops.divide, ops.power, ops.maximum])
def test_mixed_precision_gives_each_gradient_its_own_dtype(op):
    x, y = np.ones((2, 3), np.float32), np.full(3, 2.0)
    trace, _, out = record(op, [x, y])
    assert out.dtype == np.float64
    assert [g.dtype for g in trace.backward_param_grads(out)] == [np.float32, np.float64]
    first, second = trace.params
    assert trace.jvp(out, {first: np.ones((2, 3))}).dtype == np.float64
    assert trace.jvp(out, {second: np.ones(3)}).dtype == np.float64


@pytest.mark.parametrize("scalar", [2, 2.0, True, np.float32(2), np.float64(2)])
@pytest.mark.parametrize("op", [ops.add, ops.subtract, ops.multiply, ops.divide, ops.power, ops.minimum])
def test_scalar_operands_promote_as_in_numpy(op, scalar):
    x = np.full(3, 1.5, np.float32)
    reference = getattr(np, op.__name__)
    for f in (lambda v, op: op(v, scalar), lambda v, op: op(scalar, v)):
        out = record(lambda v, f=f: f(v, op), [x])[2]
        assert_same(out.value, f(x, reference))
        (grad,) = vjp(lambda v, f=f: f(v, op), [x])
        assert grad.dtype == np.float32


def test_operations_on_plain_scalars_compute():
    assert_same(ops.add(1, 2), np.add(1, 2))
    assert_same(ops.divide(1, 2), np.divide(1, 2))
    assert_same(ops.exp(0), np.exp(0))
    assert_same(ops.sum([[1, 2], [3, 4]], axis=0), np.array([4, 6]))
    assert_same(ops.greater(2.0, 1.0), np.greater(2.0, 1.0))


def test_split_makes_the_parts_numpy_makes():
    x = np.random.default_rng(0).uniform(0.5, 2, (6, 4))
    for cuts, axis in ((3, 0), (2, 1), ([1, 4], 0), ([2, 2], -1), ([-1], 0), (np.int64(2), 0)):
        parts = record(lambda v, cuts=cuts, axis=axis: v, [x])[2]
        assert parts.shape == x.shape
        for mine, theirs in zip(ops.split(x, cuts, axis), np.split(x, cuts, axis), strict=True):
            assert_same(mine, theirs)


def test_an_index_var_is_data_that_replay_may_change():
    trace = tape.Trace()
    x, i = trace.param([1.0, 2.0, 3.0]), trace.input([0, 0])
    y = x[i]
    assert_same(trace.backward_param_grads(y)[0], np.array([2.0, 0.0, 0.0]))
    trace.set(i, [2, 1, 1])
    trace.replay()
    assert_same(y.value, np.array([3.0, 2.0, 2.0]))
    assert_same(trace.backward_param_grads(y)[0], np.array([0.0, 2.0, 1.0]))
