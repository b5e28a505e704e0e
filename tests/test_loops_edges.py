"""Loops where their rules begin and end: first and last steps, states that begin to move, short runs."""

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core.node import Node
from tape.transforms.loops import patterns, periods, rolling
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.forward import reached
from tape.transforms.loops.products import Term, placed
from tape.transforms.loops.scan import Scan, _stretches
from tape.transforms.loops.steps import Steps, is_float, or_zeros
from tests.naive_program import compiled_for
from tests.tiers import takes_long

# ---- derivatives that reach one state after another ------------------------------------------------------


def lengths(program):
    """How many steps each loop of a program has, and which way it goes."""
    return [str(of.attrs[0]) for of in program.ir.instructions if of.op == "loop"]


def shifted(width, is_backwards, function):
    """A number goes from state to state, one in each step; the states are zero at first."""

    def f(x, factors):
        def step(carry, elements):
            first, *others = carry
            factor, scale = elements
            moved = [first, *[function(each) * scale for each in (first, *others[:-1])]]
            return tuple(moved), others[-1] * factor

        first = (x, *[np.float64(0.0)] * (width - 1))
        scales = np.linspace(1.0, 2.0, len(factors))
        carry, ys = tape.scan(step, first, (factors, scales), reverse=is_backwards)
        return carry[-1] + np.sum(ys**2 * np.arange(1.0, len(factors) + 1))

    return f


def of_both(f):
    """A derivative of each mode, by both arguments."""
    return (
        lambda x, factors: tape.jvp(f, (x, factors), (np.float64(1.0), np.cos(factors)))[1:],
        tape.grad(f, (0, 1)),
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("is_backwards", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_roots_of_zero_that_nothing_flows_through_make_no_nan(width, n, is_backwards):
    """Steps that differ from the others stand before the loop, and behind that of the other direction."""
    factors = np.linspace(0.5, 1.5, n)
    for derive in of_both(shifted(width, is_backwards, np.sqrt)):
        compiled, _ = compiled_for(derive, 2.0, factors)
        for x in (2.0, 3.0):
            found, expected = (np.hstack(g(x, factors)) for g in (compiled, derive))
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("is_backwards", [False, True])
@pytest.mark.parametrize(
    ("width", "n", "rest"),
    [(2, 9, 8), (3, 9, 7), (4, 9, 6), (5, 9, 9), (6, 9, 9), (4, 4, 1), (4, 3, 0), (2, 1, 0), (2, 2, 1)],
)
def test_up_to_four_steps_differ_from_the_others(width, n, rest, is_backwards):
    f, factors = shifted(width, is_backwards, lambda x: x * 1.0), np.linspace(0.5, 1.5, n)
    forwards, backwards = (" backwards", "") if is_backwards else ("", " backwards")
    push = compiled_for(lambda x: tape.jvp(lambda x: f(x, factors), (x,), (1.0,))[1], 2.0)[1]
    pull = compiled_for(tape.grad(lambda x: f(x, factors)), 2.0)[1]
    assert lengths(push) == [f"{n}{forwards}"] + [f"{rest}{forwards}"] * (rest > 0)
    assert lengths(pull) == [f"{n}{forwards}", f"{rest}{backwards}"] * (rest > 0)


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("is_backwards", [False, True])
def test_series_of_states_that_begin_to_move(order, is_backwards):
    f, factors = shifted(3, is_backwards, np.sin), np.linspace(0.5, 1.5, 5)

    def series(x, v):
        return tape.taylor(lambda x: f(x, factors), x, v, order)

    compiled, _ = compiled_for(series, 2.0, 1.0)
    found = compiled(1.5, 0.5)
    assert found.shape == (order + 1,)
    np.testing.assert_allclose(found, series(1.5, 0.5), rtol=1e-11)


# ---- the static part of a loop ---------------------------------------------------------------------------


def steps_of(f, init, xs=None, length=None, **options):
    """A loop of one body, of no constants."""
    scan = Scan(f, init, xs, length, False, "f")
    body = scan.recorded()
    return Steps(body, scan.length, 0, len(scan.carry), **options)


def doubling(carry, x):
    return carry * 2 + x, (carry + x, carry * 0 + 1)


XS = np.array([1.0, 2.0, 3.0])


def test_results_of_some_of_the_steps_have_zeros_where_there_was_none():
    steps = steps_of(doubling, np.float64(1.0), XS)
    state, sums, ones = steps.run([np.float64(1.0), XS])
    assert state == 19.0
    np.testing.assert_array_equal(sums, [2, 5, 11])
    np.testing.assert_array_equal(ones, [1, 1, 1])
    for most, last, expected in [
        (0, 1, [0, 0, 0]),
        (1, 3, [2, 0, 0]),
        (2, 8, [2, 5, 0]),
        (3, 19, [2, 5, 11]),
    ]:
        state, sums, _ = steps.run([np.float64(1.0), XS], most)
        assert state == last
        np.testing.assert_array_equal(sums, expected)
    back = steps_of(doubling, np.float64(1.0), XS, is_backwards=True)
    state, sums, _ = back.run([np.float64(1.0), XS])
    assert state == 25.0
    np.testing.assert_array_equal(sums, [13, 7, 4])


def test_results_of_as_many_steps_as_are_counted():
    for is_backwards, expected in [(False, [2, 5, 0]), (True, [5, 3, 0])]:
        steps = steps_of(doubling, np.float64(1.0), XS, ends_by="count", is_backwards=is_backwards)
        operands = [np.float64(1.0), XS, np.int64(2)]
        assert steps.count_in(operands) == [2]
        state, sums, _ = steps.run(operands)
        np.testing.assert_array_equal(sums, expected)
        assert state == (8 if not is_backwards else 9)
        assert steps.split(operands) == ([], [1.0], [XS])


def test_recorded_results_of_some_of_the_steps_have_zeros_as_well():
    steps = steps_of(doubling, np.float64(1.0), XS)
    tr = tape.Trace()
    x = tr.param(np.float64(1.0))
    for most, expected in [(1, [2, 0, 0]), (3, [2, 5, 11])]:
        state, sums, ones = steps.run([x, XS], most)
        assert isinstance(state, tape.Var)
        np.testing.assert_array_equal(sums.value, expected)
        np.testing.assert_array_equal(np.asarray(getattr(ones, "value", ones)), [k < most for k in range(3)])


def test_the_work_of_a_step_counts_loops_in_it():
    single = steps_of(lambda c, x: (c * x, None), np.float64(1.0), XS)
    assert single.work == len(single.body)

    def nested(c, x):
        return tape.scan(lambda c, _: (c * x, None), c, length=7)[0], None

    compiled = tape.compile(lambda c, xs: tape.scan(nested, c, xs)[0])
    np.testing.assert_allclose(compiled(2.0, XS), 2.0 * 6.0**7)
    (program,) = compiled.programs.values()
    assert lengths(program) == ["3"]


def test_what_is_float_and_zeros_of_it():
    assert [is_float(np.zeros(1, kind)) for kind in ("f4", "f8", "c8", "i8", "?")] == [True] * 3 + [False] * 2
    like = np.ones((2, 3), np.float32)
    assert or_zeros(like, None) is like
    assert (or_zeros(None, like).dtype, or_zeros(None, like).shape) == (like.dtype, (2, 3))
    assert type(or_zeros(None, np.float32(3))) is np.float32


def test_states_that_inputs_reach_in_some_step():
    """A chain of states, of which an integer lets nothing through."""
    steps = steps_of(lambda c, x: ((c[0], c[0] + c[1], c[1] * 2, c[3] + x), None), (1.0, 2.0, 3.0, 4.0), XS)
    everything = [True] * 4
    for first, expected in [(0, {0, 1, 2}), (1, {1, 2}), (2, {2}), (3, {3})]:
        inputs = [k == first for k in range(4)]
        assert reached(steps, [*inputs, False], everything) == expected
    assert reached(steps, [False] * 4 + [True], everything) == {3}
    assert reached(steps, [False] * 5, everything) == set()
    assert reached(steps, [True] + [False] * 4, [True, False, True, True]) == {0}
    assert reached(steps, [True] + [False] * 4, [True, True, False, True]) == {0, 1}


# ---- arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checkpoint", "length", "expected"),
    [("sqrt", 0, 1), ("sqrt", 1, 1), ("sqrt", 3, 1), ("sqrt", 4, 2), ("sqrt", 8, 2), ("sqrt", 9, 3),
     (1, 0, 1), (1, 5, 1), (5, 5, 5), (6, 5, 5), (4, 5, 4), (7, 0, 1)],
)  # fmt: skip
def test_how_many_stretches_there_are(checkpoint, length, expected):
    assert _stretches(checkpoint, length) == expected


def step(carry, x):
    return carry, carry


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: tape.scan(step, x), errors.OptionError, "length is None, without xs"),
        (lambda x: tape.scan(step, x, length=-1), errors.OptionError, "length is -1, without xs"),
        (lambda x: tape.scan(step, x, np.ones(3), 2), errors.ShapeError, r"differ: \[2, 3\]"),
        (lambda x: tape.scan(step, x, (np.ones(3), np.ones(4))), errors.ShapeError, r"differ: \[3, 4\]"),
        (lambda x: tape.scan(step, x, 1.0), errors.ShapeError, "xs holds a number"),
        (lambda x: tape.scan(lambda c, _: c, x, length=2), errors.ShapeError, "It must return a pair"),
        (lambda x: tape.scan(lambda c, _: (c, c, c), x, length=2), errors.ShapeError, "must return a pair"),
        (lambda x: tape.scan(lambda c, _: [c, c], x, length=2), errors.ShapeError, "It must return a pair"),
        (lambda x: tape.scan(step, x, length=2, checkpoint=0), errors.OptionError, "checkpoint is 0"),
        (lambda x: tape.scan(step, x, length=2, checkpoint=True), errors.OptionError, "checkpoint is True"),
        (lambda x: tape.scan(step, x, length=2, checkpoint=2.0), errors.OptionError, "checkpoint is 2.0"),
    ],
)  # fmt: skip
def test_wrong_numbers_of_steps_are_told(call, error, words, is_compiled):
    with pytest.raises(error, match=words):
        (tape.compile(call) if is_compiled else call)(np.float64(1.5))


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("length", [None, 0])
def test_no_steps_collect_arrays_without_elements(length, is_compiled):
    def f(x, xs):
        return tape.scan(lambda c, e: (c + e[0], {"a": e * c, "b": c > 0}), x, xs, length)

    args = 1.5, np.zeros((0, 2), np.float32)
    carry, ys = (tape.compile(f) if is_compiled else f)(*args)
    assert carry == 1.5
    assert ys["a"].shape == (0, 2)
    assert (ys["b"].shape, ys["b"].dtype) == ((0,), np.dtype(bool))


@takes_long
@pytest.mark.parametrize("n", [1, 2, 5, 6, 7])
@pytest.mark.parametrize("checkpoint", [1, 2, 3, "sqrt"])
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_that_are_left_over_come_first(n, checkpoint, reverse):
    xs = np.arange(1.0, n + 1)

    def f(xs, checkpoint=None):
        step = lambda c, x: (np.sin(c) * x, (c, [c * x]))  # noqa: E731
        return tape.scan(step, 1.0, xs, reverse=reverse, checkpoint=checkpoint)

    def total(xs, checkpoint=None):
        carry, (a, (b,)) = f(xs, checkpoint)
        return carry + np.sum(a * np.arange(1.0, n + 1)) + np.sum(b**2)

    expected, slope = f(xs), tape.grad(total)(xs)
    for g in (f, tape.compile(f)):
        carry, (a, (b,)) = g(xs, checkpoint)
        np.testing.assert_allclose(carry, expected[0], rtol=1e-14)
        np.testing.assert_allclose(a, expected[1][0], rtol=1e-14)
        np.testing.assert_allclose(b, expected[1][1][0], rtol=1e-14)
    for g in (tape.grad(total), tape.compile(tape.grad(total))):
        np.testing.assert_allclose(g(xs, checkpoint), slope, rtol=1e-12)


# ---- index sets --------------------------------------------------------------------------------------------


def turned(n):
    return lambda x: tape.fori_loop(0, n, lambda i, s: np.concatenate([s[1:], s[:1]]), x)


def test_loops_of_much_work_are_taken_for_loops_of_any_number_of_steps(monkeypatch):
    """Up to a number of operations of all steps together, an index set is followed step by step."""

    def is_exact(n, most):
        monkeypatch.setattr(patterns, "_MOST", most)
        pattern = tape.sparsity(turned(n))(np.ones(6)).toarray()
        exact = np.roll(np.eye(6, dtype=bool), n, axis=1)
        assert np.array_equal(pattern, exact) or pattern.all()
        return np.array_equal(pattern, exact)

    work = next(k for k in range(1, 40) if is_exact(1, k))
    for n in (2, 4, 5):
        assert is_exact(n, n * work)
        assert not is_exact(n, n * work - 1)


# ---- runs --------------------------------------------------------------------------------------------------


def test_of_many_periods_those_that_repeat_most_are_tried(monkeypatch):
    codes = np.array([*[1] * 6, *[2, 3] * 8, *[4, 5, 6] * 8, 7])
    assert set(periods._periods(codes, 4)) >= {1, 2, 3}
    found = {}
    for most in (1, 2, 3):
        monkeypatch.setattr(periods, "_MOST_PERIODS", most)
        found[most] = periods._periods(codes, 4)
        assert len(found[most]) == most
        assert found[most] == sorted(found[most])
    assert set(found[1]) < set(found[2]) < set(found[3])
    assert found[1][0] > 1


def test_periods_come_again_often_enough_and_fit():
    word = np.arange(5)
    codes = np.concatenate([word] * 4)
    assert periods._periods(codes, 4) == [5]
    assert periods._periods(codes[:-1], 4) == []
    assert periods._periods(codes, 5) == []
    assert periods._periods(codes, 2) == [5]
    for count, least, expected in [(4, 4, [1]), (4, 5, []), (3, 3, [1]), (3, 4, [])]:
        assert periods._periods(np.full(count, 7), least) == expected


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(rolling, "LEAST_NODES", 16)


def recorded(n, after=0):
    """A tape of a loop of n steps, of two operations each."""
    tr = tape.Trace()
    x = tr.param(np.float64(0.5))
    for _ in range(n):
        x = np.tanh(x) * 1.5
    for _ in range(after):
        x = np.exp(x)
    return tr


def rolled(tr):
    notes = []
    found = rolling.rolled(Columns(tr.nodes), [0], [len(tr.nodes) - 1], notes)
    return found, notes


def loops_on(tape):
    return [node.attrs["steps"].length for node in tape if "steps" in node.attrs]


def test_loops_from_a_number_of_operations_on_are_rolled_up(monkeypatch):
    tr = recorded(20)
    monkeypatch.setattr(rolling, "LEAST_NODES", 40)
    found, _ = rolled(tr)
    assert found is not None
    monkeypatch.setattr(rolling, "LEAST_NODES", 41)
    assert rolled(tr)[0] is None


@pytest.mark.parametrize(
    ("n", "step", "is_loop"),
    [
        (96, lambda w, x: np.tanh(w @ x), True),
        (95, lambda w, x: np.tanh(w @ x), False),
        (96, lambda w, x: np.tanh(w * x), False),
        (96, lambda w, x: x - np.sum(x), True),
        (96, lambda w, x: np.concatenate([np.sin(x)[1:], x[:1]]), False),
    ],
    ids=["products", "few products", "no products", "sums", "joined"],
)
def test_short_loops_with_products_or_sums_are_rolled_up(n, step, is_loop):
    tr = tape.Trace()
    w, x = tr.param(np.eye(3) * 0.5), tr.param(np.ones(3))
    for _ in range(n):
        x = step(w, x)
    found = rolling.rolled(Columns(tr.nodes), [0, 1], [len(tr.nodes) - 1], [])
    assert loops_on(found[0] if found else tr.nodes) == ([n] if is_loop else [])


def test_short_loops_do_not_join_separate_arrays():
    """Weights of layers, which would be copied in each call."""
    tr = tape.Trace()
    weights = [tr.param(np.eye(3) * 0.5) for _ in range(100)]
    rows = tr.param(np.ones((100, 3)))
    for separate in (True, False):
        x = tr.param(np.ones(3))
        first = len(tr.nodes) - 1
        for k in range(100):
            x = np.tanh(weights[k] @ x) if separate else np.tanh(weights[0] @ x + rows[k])
        found = rolling.rolled(Columns(tr.nodes), [*range(101), first], [x.id], [])
        assert loops_on(found[0] if found else tr.nodes) == ([] if separate else [100])


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("n", [7, 8, 9, 20])
def test_loops_of_eight_steps_and_more_are_rolled_up(n):
    tr = recorded(n, after=3)
    if len(tr.nodes) < rolling.LEAST_NODES:
        pytest.fail("the tape is too short")
    found, _ = rolled(tr)
    if n < 8:
        assert found is None
        return
    shorter, place = found
    assert loops_on(shorter) == [n]
    assert set(place) == {0, len(tr.nodes) - 1}
    root = shorter[place[len(tr.nodes) - 1]]
    assert root.value == tr.nodes[-1].value
    assert shorter[place[0]].op is None


def test_what_nothing_asks_for_is_left_out():
    tr = tape.Trace()
    x, y = tr.param(1.0), tr.param(2.0)
    dead, alive = x * 3.0, y * 4.0
    root = np.sin(alive)
    _ = dead + root
    for inputs, roots, kept in [
        ([0, 1], [root.id], [0, 1, 3, 4]), ([], [root.id], [1, 3, 4]), ([0], [], [0]),
        ([], [5], [0, 1, 2, 3, 4, 5]), ([0, 1, 2], [], [0, 1, 2]),
    ]:  # fmt: skip
        nodes, place = rolling.without_dead(tr.nodes, inputs, roots)
        assert place == {id: kept.index(id) for id in (*inputs, *roots)}
        assert [node.value for node in nodes] == [tr.nodes[id].value for id in kept]
        for node, id in zip(nodes, kept, strict=True):
            assert isinstance(node, Node)
            assert list(node.parents) == [None if p is None else kept.index(p) for p in tr.nodes[id].parents]


# ---- products after a loop ---------------------------------------------------------------------------------


def test_factors_of_products_are_collected_once():
    terms = {0: [Term((5, 6)), Term((6, 7), is_turned=True)], 3: [Term((1, 5)), Term((9, 9))]}
    more, found = placed(terms, stacked=[1, 7], by_arrays=[8, 6])
    assert more == [5, 9]  # 6 is there, 1 and 7 are given
    assert found[0] == [
        Term((2, 1), (False, False)), Term((1, 1), (False, True), is_turned=True)]  # fmt: skip
    assert found[3] == [Term((0, 2), (True, False)), Term((3, 3), (False, False))]
    assert placed({}, [1], [2]) == ([], {})


@pytest.mark.parametrize("is_turned", [False, True])
def test_the_sum_of_products_of_all_steps_is_one_product(is_turned):
    left, right = np.arange(12.0).reshape(2, 3, 2), np.arange(24.0).reshape(2, 3, 4)
    expected = sum(a.T @ b for a, b in zip(left, right, strict=True))
    for are_given, given, found in [
        ((True, False), [left], [right]), ((False, True), [right], [left]), ((True, True), [left, right], []),
    ]:  # fmt: skip
        factors = (0, 1) if all(are_given) else (0, 0)
        product = Term(factors, are_given, is_turned).product(given, found)
        np.testing.assert_array_equal(product, expected.T if is_turned else expected)


WEIGHTS = {
    "a product": lambda h, w: h @ w, "two products": lambda h, w: h @ w + np.sin(h) @ w,
    "a transposed weight": lambda h, w: h @ w.T, "both": lambda h, w: h @ w + h @ w.T,
    "a scaled weight": lambda h, w: h @ (2.0 * w), "a vector": lambda h, w: h + w[0] @ w,
    "a row of it": lambda h, w: h * w[0], "its elements too": lambda h, w: h @ w + np.sum(w),
    "from the left": lambda h, w: w @ h,
}  # fmt: skip


@takes_long
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("of_last", [False, True])
@pytest.mark.parametrize("name", WEIGHTS)
def test_gradients_by_weights_however_these_are_used(name, of_last, reverse):
    """Also of what is collected alone: the last step is not like the others then."""
    use = WEIGHTS[name]

    def f(w, h, xs):
        def step(h, x):
            moved = use(h, w) * x
            return np.tanh(moved), np.sum(moved**2)

        h, ys = tape.scan(step, h, xs, reverse=reverse)
        return np.sum(ys) + (np.sum(h**2) if of_last else 0.0)

    w, h = np.random.default_rng(0).normal(size=(2, 3, 3))
    gradient = tape.grad(f, (0, 1, 2))
    for n in (1, 2, 4):
        args = w, h, np.linspace(0.5, 1.0, n)
        compiled = tape.compile(gradient)
        for _ in range(2):
            for found, expected in zip(compiled(*args), gradient(*args), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


# ---- loops that data end -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_loop_of_no_steps_returns_its_first_state(is_compiled):
    def f(x):
        return tape.while_loop(lambda s: s[0] > 100.0, lambda s: (s[0] + 1, s[1] * s[0]), (x, np.ones(2)))

    g = tape.compile(f) if is_compiled else f
    for x, expected in [(1.0, (1.0, [1, 1])), (2.0, (2.0, [1, 1]))]:
        number, array = g(x)
        assert (number, array.tolist()) == expected


@pytest.mark.parametrize("is_compiled", [False, True])
def test_in_a_batch_what_is_done_keeps_its_state(is_compiled):
    def f(x):
        return tape.while_loop(lambda s: s[0] < 4.0, lambda s: (s[0] * 2.0, s[1] + 1), (x, 0))

    g = tape.vmap(f)
    g = tape.compile(g) if is_compiled else g
    for x in ([1.0, 4.0, 3.0, 0.5], [9.0, 5.0, 4.0, 7.0]):
        numbers, counts = g(np.array(x))
        expected = [f(each) for each in x]
        np.testing.assert_array_equal(numbers, [number for number, _ in expected])
        np.testing.assert_array_equal(counts, [count for _, count in expected])


@pytest.mark.parametrize("is_compiled", [False, True])
def test_conditions_may_be_numbers_and_arrays_of_one_element(is_compiled):
    for goes_on in (lambda k: 3 - k, lambda k: k < 3, lambda k: ops.reshape(k < 3, (1,)), lambda k: 3.0 - k):
        f = lambda k, goes_on=goes_on: tape.while_loop(goes_on, lambda k: k + 1, k)  # noqa: E731
        g = tape.compile(f) if is_compiled else f
        for k in (0, 1, 3):
            assert g(np.int64(k)) == 3
