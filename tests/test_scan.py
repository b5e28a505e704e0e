"""Scans in stretches: the same numbers in every transform, fewer carries kept, and steps that run again."""

from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import tape
from tape import errors, tree
from tests.naive_loops import CASES, PYTHON, TAPE
from tests.test_loops import NAMES, assert_alike, data, transformed
from tests.tiers import cover, is_full, takes_long

CHECKPOINTS = ["sqrt", 1, 2, 3, 100]
STRETCHES = [(1, "sqrt"), (2, 1), (5, 2), (5, 100), (5, "sqrt"), (12, 1), (12, 3), (12, "sqrt")]
"""Lengths and checkpoints: stretches of one step and of all, of equal lengths, and with a rest."""


def in_stretches(checkpoint):
    """Loops of which scans are divided in stretches."""
    return SimpleNamespace(**{**vars(TAPE), "scan": partial(tape.scan, checkpoint=checkpoint)})


# A rule that is not linear in its adjoint has another result where what it belongs to is computed twice.
SCANNING = [case for case in CASES if "scan" in case.__code__.co_names and case.__name__ != "clipping_rule"]


STRETCHED = cover(SCANNING, NAMES, STRETCHES)
if is_full():  # three of each case under each transform: all of them take minutes
    pairs = cover([*product(SCANNING, NAMES)], STRETCHES, times=3)
    STRETCHED = [*dict.fromkeys([*STRETCHED, *[(*pair, stretches) for pair, stretches in pairs]])]


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize(
    ("case", "name", "stretches"), STRETCHED, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_stretches_change_no_number(case, name, stretches):
    n, checkpoint = stretches
    python, eager = (transformed(name, case, loops) for loops in (PYTHON, in_stretches(checkpoint)))
    compiled = tape.compile(eager)
    tolerance = 1e-5 if case.__name__ == "other_dtypes" else 1e-8
    for seed in range(2):
        x, w = data(n, seed)
        expected = [np.asarray(leaf) for leaf in tree.flatten(python(x, w))[0]]
        for f in (eager, compiled):
            assert_alike(tree.flatten(f(x, w))[0], expected, tolerance)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7, 12])
@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_values_collected_in_stretches_stand_in_order(n, checkpoint, reverse):
    x, w = data(n)

    def f(x, w, **options):
        def step(carry, e):
            return {"c": carry["c"] * e["x"] + e["k"]}, (carry["c"], {"k": e["k"], "none": None})

        return tape.scan(step, {"c": w}, {"x": x, "k": np.arange(n)}, reverse=reverse, **options)

    expected = f(x, w)
    for g in (f, tape.compile(f)):
        assert_alike(g(x, w, checkpoint=checkpoint), expected)


def step(c, x):
    return np.tanh(c * x) + np.sin(c), None


@pytest.mark.parametrize(
    ("checkpoint", "stretches"), [(1, 1), (2, 2), (5, 5), (7, 8), (30, 30), (31, 30), ("sqrt", 5)]
)
def test_a_tape_has_a_node_for_each_stretch_and_one_for_the_steps_left_over(checkpoint, stretches):
    """Seven stretches of four steps leave two over. Each step runs once more in the reverse sweep."""
    calls = []

    def counted(c, x):
        calls.append(1)
        return step(c, x)

    trace = tape.Trace()
    w = trace.param(np.ones(3))
    before = len(trace.nodes)
    end = tape.scan(counted, w, np.ones((30, 3)), checkpoint=checkpoint)[0]
    assert len(trace.nodes) - before == stretches
    assert len(calls) == 30
    trace.backward_param_grads(np.sum(end))
    assert len(calls) == 60


DERIVATIVES = {
    "gradient": tape.grad,
    "of a tangent": lambda f: tape.grad(lambda w, x: tape.jvp(lambda w: f(w, x), (w,), (w,))[1]),
}


@takes_long
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_program_keeps_the_square_root_of_the_carries(name, reverse):
    x = np.linspace(-1, 1, 400 * 100).reshape(400, 100)
    carry = x[0].nbytes

    def memory(checkpoint):
        def end(w, x):
            return np.sum(tape.scan(step, w, x, reverse=reverse, checkpoint=checkpoint)[0])

        compiled = tape.compile(DERIVATIVES[name](end))
        compiled(x[0], x)
        (program,) = compiled.programs.values()
        return sum(body.plan.slots[0] for body in program.bodies) + program.plan.slots[0]

    assert memory(None) >= 400 * carry
    assert memory("sqrt") <= 200 * carry
    assert 2 * memory("sqrt") < memory(2)


KEPT = {
    "nothing of a sum": (0, lambda c, x, w: c + x),
    "nothing of what is linear": (0, lambda c, x, w: 2.0 * c - x * c[::-1]),
    "nothing of views": (0, lambda c, x, w: c.reshape(8, 8).T.reshape(64)[::-1] * 2.0),
    "nothing of constants": (0, lambda c, x, w: c * 0.5 + np.sin(w) * w),
    "nothing of elements": (0, lambda c, x, w: c + x * w),
    "the carry": (1, lambda c, x, w: np.sin(c) * 0.5),
    "the carry, where views of it are read": (1, lambda c, x, w: np.sin(c[::-1]) + np.cos(c)),
    "a result": (1, lambda c, x, w: np.tanh(c * x + x)),
    "a factor": (1, lambda c, x, w: c * w),
    "what its rules would compute again": (2, lambda c, x, w: np.sin(c) * 0.5 + np.cos(c)),
    "not a product of what is kept": (2, lambda c, x, w: np.exp(-c * c) + 0.3 * c),
    "each carry of a loop inside": (2, lambda c, x, w: tape.fori_loop(0, 2, lambda i, d: np.sin(d), c)),
}


@takes_long
@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_derivative_keeps_no_more_of_each_step_than_it_reads(name, reverse):
    arrays, body = KEPT[name]

    def end(w, x):
        return np.sum(tape.scan(lambda c, x: (body(c, x, w), None), w, x, reverse=reverse)[0])

    w, memory = np.linspace(0.1, 1, 64), []
    for n in (100, 200):
        x = np.sin(np.arange(n * 64.0)).reshape(n, 64)
        compiled = tape.compile(tape.grad(end))
        np.testing.assert_allclose(compiled(w, x), tape.grad(end)(w, x), rtol=1e-8, atol=1e-8)
        (program,) = compiled.programs.values()
        memory.append(sum(body.plan.slots[0] for body in program.bodies) + program.plan.slots[0])
    assert memory[1] - memory[0] == arrays * 100 * w.nbytes


@pytest.mark.parametrize("checkpoint", [0, -1, True, False, 2.0, 1.5, "square", "sqr", ()])
def test_another_checkpoint_is_an_error(checkpoint):
    def f(x, w):
        return tape.scan(step, w, x, checkpoint=checkpoint)

    for g in (f, tape.compile(f)):
        with pytest.raises(errors.OptionError, match="checkpoint is"):
            g(*data(4))


# ---- how many steps ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (3, 3), (5, 2), (-1, -4)])
def test_no_steps_return_the_state_as_numbers_of_numpy(lower, upper):
    def never(i, state):
        raise AssertionError

    def f(a, w):
        return tape.fori_loop(lower, upper, never, {"a": a, "w": w, "one": 1, "none": None})

    for g in (f, tape.compile(f)):
        found = g(2.0, np.ones(3))
        assert (found["a"], found["one"], found["none"]) == (2.0, 1, None)
        assert (type(found["a"]), type(found["one"])) == (np.float64, np.int64)
        np.testing.assert_array_equal(found["w"], np.ones(3))
    assert tape.compile(tape.grad(lambda a: f(a, np.ones(3))["a"] ** 2))(3.0) == 6.0
    with pytest.raises(errors.DTypeError, match="the state"):
        tape.fori_loop(lower, upper, never, "text")


@pytest.mark.parametrize(("lower", "upper"), [(0, 3), (-2, 2), (5, 6), (np.int32(1), np.uint8(4))])
def test_the_counter_runs_from_one_bound_to_before_the_other(lower, upper):
    def f(w):
        return tape.fori_loop(lower, upper, lambda i, c: (c[0] * 10 + i, c[1] * w), (0, w))

    for g in (f, tape.compile(f)):
        digits, power = g(2.0)
        expected = 0
        for i in range(lower, upper):
            expected = expected * 10 + i
        assert (digits, power) == (expected, 2.0 ** (len(range(lower, upper)) + 1))


@pytest.mark.parametrize("length", [2.5, "3", np.ones(2)])
def test_a_length_is_an_integer(length):
    with pytest.raises(TypeError):
        tape.scan(step, np.ones(3), length=length)


# ---- what is wrong, and of which loop -------------------------------------------------------------------


@pytest.mark.parametrize("others", [{"b": 1.0}, [1.0], (1.0, 2.0), None, 1.0])
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_collect_the_same_structure(others, reverse):
    """It was that of the last step: numbers under another name."""

    def f(x):
        return tape.scan(lambda c, v: (c, {"a": v} if v > 1 else others), 0.0, x, reverse=reverse)

    for g in (f, tape.compile(f)):
        with pytest.raises(errors.ShapeError, match="must return the same structure"):
            g(np.array([2.0, 0.0, 1.0]))
        assert list(g(np.array([2.0, 3.0]))[1]) == ["a"]


def test_errors_name_the_loop():
    def body(i, state):
        return np.append(state, 1.0)

    def two(x):
        return x if x > 1 else (x, x)

    for call, error, match in [
        (lambda x: tape.fori_loop(0, 3, body, x), errors.ShapeError, r"^fori_loop\(body\): "),
        (lambda x: tape.map(two, x), errors.ShapeError, r"^map\(two\): "),
        (lambda x: tape.map(two, x[0]), errors.ShapeError, r"^map\(two\): "),
        (lambda x: tape.scan(step, x, x[0]), errors.ShapeError, r"^scan\(step\): "),
    ]:
        for g in (call, tape.compile(call)):
            with pytest.raises(error, match=match):
                g(np.array([2.0, 0.0, 1.0]))


INTS = {
    "bools": lambda x: tape.scan(lambda c, v: (c * v, c > v), x, x + 1),
    "ints": lambda x: tape.scan(lambda c, v: (c * v, np.argmax(c)), x, x + 1),
    "ints in stretches": lambda x: tape.scan(lambda c, v: (c * v, np.argmax(c)), x, x + 1, checkpoint="sqrt"),
    "a count": lambda x: tape.scan(lambda c, v: ((c[0] * v, c[1] + 1), c[1]), (x, 0), x + 1),
    "of a map": lambda x: (x**2, tape.map(lambda a: (a**3, (a > 0.2) * 1), x)[1]),
}


@pytest.mark.parametrize("run", [lambda f: f, tape.compile])
@pytest.mark.parametrize("name", INTS)
def test_integers_that_steps_collect_have_no_part_in_second_derivatives(name, run):
    def f(x):
        state, found = INTS[name](x)
        return np.sum((state[0] if isinstance(state, tuple) else state) * np.sum(found, axis=0) * x)

    hessian, moved = run(tape.hessian(f)), run(lambda x: tape.jvp(tape.grad(f), (x,), (x,))[1])
    x, step = np.array([0.3, 0.7, -0.4, 1.1]), 1e-5
    for k in (1.0, 1.5, 1.0):
        units = step * np.eye(4)
        differences = np.stack([tape.grad(f)(k * x + u) - tape.grad(f)(k * x - u) for u in units]) / 2 / step
        np.testing.assert_allclose(hessian(k * x), differences, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(moved(k * x), differences @ (k * x), rtol=1e-5, atol=1e-6)
