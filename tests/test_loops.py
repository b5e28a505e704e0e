"""Loops and branches as functions: they equal plain Python, in every transform, eager and compiled."""

import threading
from dataclasses import dataclass
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import tape
from tape import tree
from tests.naive_loops import CASES, PYTHON, TAPE, WHILES
from tests.oracles import LAYOUTS, assert_close, laid_out
from tests.tiers import grid, some

DIRECTION = np.linspace(-1, 1, 3)


def data(n, seed=0):
    rng = np.random.default_rng([n, seed])
    return rng.normal(size=(n, 3)), rng.normal(size=3)


def floats(value):
    """The leaves of a tree that have derivatives."""
    return [leaf for leaf in tree.flatten(value)[0] if np.dtype(leaf.dtype).kind in "fc"]


def loss_of(case, loops):
    """A number that depends on all results of a case, in different ways."""

    def loss(x, w):
        leaves = floats(case(loops, x, w))
        return sum([np.sum(np.sin(np.real(leaf)) * (k + 1.0)) for k, leaf in enumerate(leaves)], start=0.0)

    return loss


def real_floats(case, loops):
    return lambda x, w: [leaf for leaf in floats(case(loops, x, w)) if leaf.dtype.kind == "f"]


def squared(f):
    return lambda x, w: np.sum(f(x, w) ** 2)


def by_w(transform):
    """A transform of a function of one argument, for a function of x and w."""
    return lambda loss: lambda x, w: transform(lambda w: loss(x, w))(w)


TRANSFORMS = {
    "grad": lambda f: tape.grad(f, (0, 1)),
    "grad of one": lambda f: tape.grad(f, 1),
    "value and grad": lambda f: tape.value_and_grad(f, 0),
    "jvp": lambda f: lambda x, w: tape.jvp(f, (x, w), (np.cos(x), DIRECTION)),
    "jvp of one": lambda f: lambda x, w: tape.jvp(lambda w: f(x, w), (w,), (DIRECTION,)),
    "vjp": lambda f: lambda x, w: tape.vjp(f, x, w)[1](2.0),
    "linearize": lambda f: lambda x, w: tape.linearize(lambda w: f(x, w), w)[1](DIRECTION),
    "hessian": lambda f: tape.hessian(f, 1),
    "hvp": by_w(lambda f: lambda w: tape.hvp(f)(w, DIRECTION)),
    "taylor": lambda f: lambda x, w: tape.taylor(lambda t: f(x * t, w * t), 1.0, 1.0, 3),
    "grad of grad": lambda f: tape.grad(squared(tape.grad(f, 0)), 1),
    "third order": lambda f: tape.grad(squared(tape.grad(squared(tape.grad(f, 1)), 1)), 1),
    "jvp of jvp": by_w(
        lambda f: lambda w: tape.jvp(lambda w: tape.jvp(f, (w,), (DIRECTION,))[1], (w,), (DIRECTION**2,))
    ),
    "grad of jvp": by_w(lambda f: tape.grad(lambda w: tape.jvp(f, (w,), (DIRECTION,))[1])),
    "jvp of grad": by_w(lambda f: lambda w: tape.jvp(tape.grad(f), (w,), (DIRECTION,))),
    "checkpoint": lambda f: tape.grad(tape.checkpoint(f), 1),
}
"""Of a loss of x and w."""


def transformed(name, case, loops):
    if name == "value":
        return lambda x, w: case(loops, x, w)
    if name.startswith("jacobian"):
        return tape.jacobian(real_floats(case, loops), 1, mode=name[-3:])
    return TRANSFORMS[name](loss_of(case, loops))


NAMES = ["value", *TRANSFORMS, "jacobian rev", "jacobian fwd"]
UNROLLED = {"clipping_rule"}  # how often a rule that is not linear is applied makes a difference
COUNTED = [case for case in CASES if case not in WHILES]


def assert_alike(found, expected, tolerance=1e-8):
    """The same structure, shapes, dtypes and numbers."""
    found, structure = tree.flatten(found)
    expected, other = tree.flatten(expected)
    assert structure == other
    for a, b in zip(found, expected, strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def has_loops(compiled):
    return all(program.bodies for program in compiled.programs.values())


# ---- the bank of functions with loops, in every transform ----------------------------------------------


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@grid(
    ids=lambda value: getattr(value, "__name__", str(value)), times=2, case=CASES, name=NAMES, n=[1, 2, 5],
)  # fmt: skip
def test_loops_equal_loops_of_python(case, name, n):
    """Eagerly, compiled, and when the program is called again with other numbers."""
    python, eager = transformed(name, case, PYTHON), transformed(name, case, TAPE)
    compiled = tape.compile(eager)
    tolerance = 1e-5 if case.__name__ == "other_dtypes" else 1e-8
    for seed in range(3):
        x, w = data(n, seed)
        expected = [np.asarray(leaf) for leaf in tree.flatten(python(x, w))[0]]
        if seed == 0:
            assert_alike(tree.flatten(eager(x, w))[0], expected, tolerance)
        assert_alike(tree.flatten(compiled(x, w))[0], expected, tolerance)
    # a Taylor expansion is recorded step by step
    assert len(compiled.programs) == 1 or (case in WHILES and name == "taylor")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_loops_are_instructions(case):
    compiled = tape.compile(tape.grad(loss_of(case, TAPE), (0, 1)))
    compiled(*data(4))
    assert has_loops(compiled) == (case.__name__ not in UNROLLED)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@grid(ids=lambda value: getattr(value, "__name__", str(value)), times=1, case=COUNTED, name=NAMES)
def test_loops_of_no_steps_are_the_same_compiled(case, name):
    x, w = data(0)
    eager = transformed(name, case, TAPE)
    try:
        expected = eager(x, w)
    except IndexError:  # of a case that reads x at its counter, in a step that is only there for its types
        with pytest.raises(IndexError):
            tape.compile(eager)(x, w)
        return
    compiled = tape.compile(eager)
    for _ in range(2):
        assert_alike(compiled(x, w), expected)


@pytest.mark.parametrize("case", some(CASES, every=3), ids=lambda case: case.__name__)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_arguments_do_not_matter(case, layout):
    x, w = data(4)
    compiled = tape.compile(lambda x, w: case(TAPE, x, w))
    expected = case(TAPE, x, w)
    for order in ("C", layout):
        assert_alike(compiled(laid_out(x, order), laid_out(w, order)), expected)
    rows = np.broadcast_to(w, (4, 3))
    assert_alike(compiled(rows, w), case(TAPE, rows, w))


def test_a_loop_runs_on_a_trace():
    x, w = data(4)
    trace = tape.Trace()
    var = trace.param(w)
    c, ys = tape.scan(lambda c, x: (np.tanh(c * var + x), c), var, trace.input(x))
    (found,) = trace.backward_param_grads(np.sum(ys) + np.sum(c))

    def loss(w):
        c, ys = PYTHON.scan(lambda c, x: (np.tanh(c * w + x), c), w, x)
        return np.sum(ys) + np.sum(c)

    np.testing.assert_allclose(found, tape.grad(loss)(w), rtol=1e-13)
    assert_alike(trace.compile(np.sum(ys) + np.sum(c)).run()[1], [found])


# ---- dtypes and shapes ---------------------------------------------------------------------------------

DTYPES = ["f8", "f4", "c16", "i8", "?", "i4", "u1"]
SHAPES = [(), (3,), (2, 3), (0,), (2, 0)]


@grid(dtype=DTYPES, shape=SHAPES, n=[0, 1, 2, 3], reverse=[False, True])
def test_carries_elements_and_results_keep_dtype_and_shape(dtype, shape, n, reverse):
    rng = np.random.default_rng(n)
    init = np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    xs = np.asarray(rng.integers(0, 2, (n, *shape))).astype(dtype)

    def f(loops, init, xs):
        def step(c, x):
            return (c[1], c[0] | x if dtype == "?" else c[0] * x + c[1]), (c[0], x, c[1] == x)

        return loops.scan(step, (init, init), xs, reverse=reverse)

    expected = f(TAPE, init, xs)
    compiled = tape.compile(lambda init, xs: f(TAPE, init, xs))
    for _ in range(2):
        assert_alike(compiled(init, xs), expected)
    (a, b), (c, d, e) = expected
    assert a.dtype == b.dtype == c.dtype == d.dtype == init.dtype
    assert e.dtype == bool
    assert c.shape == d.shape == e.shape == (n, *shape)
    if n:
        assert_alike(
            [np.asarray(leaf) for leaf in tree.flatten(f(PYTHON, init, xs))[0]], tree.flatten(expected)[0]
        )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("transform", [None, tape.grad, tape.hessian])
def test_python_floats_do_not_widen(dtype, transform):
    """Arguments, literals and what the body closes over; in a carry they are numbers of NumPy."""
    half = 0.5

    def f(x, a, b):
        def step(c, e):
            return c * b + half * e / a, (c * a, b > a)

        return tape.scan(step, x, np.stack([x, 2 * x]))

    g = f if transform is None else transform(lambda x, a, b: np.sum(f(x, a, b)[0] ** 3))
    compiled = tape.compile(g)
    x = np.linspace(1, 2, 3).astype(dtype)
    for a, b in ((2.0, 0.5), (3.0, 4.0)):
        expected = g(x, a, b)
        assert {leaf.dtype for leaf in floats(expected)} == {np.dtype(dtype)}
        assert_alike(compiled(x, a, b), expected, 1e-5 if dtype == "f4" else 1e-12)
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("is_read", [False, True])
def test_python_numbers_in_a_carry_become_numbers_of_numpy(is_read):
    def f(a, xs):
        return tape.scan(lambda c, x: (c * 0.5 if is_read and x > 0 else c + x, c), a, xs)

    xs = np.ones(2)
    for _ in range(2):
        for g in (f, tape.compile(f)):
            c, _ = g(2.0, xs)
            assert type(c) is np.float64


# ---- what the body closes over -------------------------------------------------------------------------


def test_closed_over_arrays_are_read_anew():
    table, rate = np.array([1.0, 2.0, 3.0]), 0.5

    def f(x):
        return tape.scan(lambda c, x: (c * table + x * rate, c), x[0], x)

    compiled = tape.compile(f)
    x, _ = data(4)
    for factor in (1.0, 2.0, -3.0):
        table *= factor
        rate += factor
        assert_alike(compiled(x), f(x))


@pytest.mark.parametrize("is_taken", [False, True])
def test_the_counter_reads_arrays(is_taken):
    """NumPy alone reads plain arrays at what it takes for an int: then the loop is recorded step by step."""
    table = np.arange(12.0).reshape(4, 3)

    def f(x, w):
        def body(i, c):
            row = tape.ops.take(table, i, axis=0) if is_taken else table[i]
            return c * row + x[i, i % 3] * x[i - 1]

        return np.sum(tape.fori_loop(0, 4, body, w))

    compiled = tape.compile(tape.value_and_grad(f, (0, 1)))
    for seed in range(3):
        x, w = data(4, seed)
        if is_taken:
            table[seed] = seed
        assert_alike(compiled(x, w), tape.value_and_grad(f, (0, 1))(x, w))
    assert has_loops(compiled) == is_taken


@pytest.mark.parametrize("transform", [tape.grad, tape.hessian])
def test_outer_variables_of_all_levels_are_differentiated(transform):
    def f(loops):
        def energy(a):
            def inner(b):
                return loops.fori_loop(0, 3, lambda i, c: np.sin(c * a) * b + a, b)

            return np.sum(tape.grad(lambda b: np.sum(inner(b * a)))(a) ** 2)

        return transform(energy)

    a = np.array([0.3, -0.7])
    expected = f(PYTHON)(a)
    compiled = tape.compile(f(TAPE))
    for _ in range(2):
        assert_alike(compiled(a), expected)
    assert has_loops(compiled)


# ---- branches and while --------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [lambda f: f, tape.grad, lambda f: tape.grad(tape.grad(f))])
def test_branches_run_one_function(transform):
    called = Mock()

    def up(x, y):
        called("up")
        return x**3 * y

    def down(x, y):
        called("down")
        return np.sin(x) - y

    f = transform(lambda x: tape.cond(x > 1, up, down, x, 2.0))
    plain = transform(lambda x: up(x, 2.0) if x > 1 else down(x, 2.0))
    compiled = tape.compile(f)
    for x in (0.5, 2.0, 0.25, 3.0):
        expected = plain(x)
        called.reset_mock()
        assert f(x) == pytest.approx(expected, rel=1e-13)
        assert {call.args[0] for call in called.call_args_list} == {"up" if x > 1 else "down"}
        assert compiled(x) == pytest.approx(expected, rel=1e-13)
    assert len(compiled.programs) == 2


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 7])
def test_switch_takes_the_nearest_branch(index):
    branches = [np.sin, np.cos, np.tanh]
    expected = branches[min(max(index, 0), 2)](0.5)
    assert tape.switch(index, branches, 0.5) == expected
    assert tape.compile(lambda i, x: tape.switch(i, branches, x))(index, 0.5) == expected
    i = np.array([index])
    assert tape.compile(lambda i, x: tape.switch(i[0], branches, x))(i, 0.5) == expected


def newton(x):
    def state(s):
        root, _ = s
        step = (root * root - x) / (2 * root)
        return root - step, np.abs(step)

    return tape.while_loop(lambda s: s[1] > 1e-9, state, (x, 1.0))[0]


def test_while_runs_as_often_as_data_decide():
    compiled, gradient = tape.compile(newton), tape.compile(tape.grad(newton))
    for x in (2.0, 9.0, 1e4, 3.0):
        assert newton(x) == pytest.approx(x**0.5, rel=1e-12)
        assert compiled(x) == newton(x)
        assert gradient(x) == pytest.approx(0.5 / x**0.5, rel=1e-7)


@dataclass
class State:
    value: Any
    count: Any


def test_while_has_trees():
    def f(x):
        return tape.while_loop(
            lambda s: s.value < 100, lambda s: State(s.value * x, s.count + 1), State(x, 0)
        )

    expected, found = f(3.0), tape.compile(f)(3.0)
    assert (expected.value, expected.count) == (found.value, found.count) == (243.0, 4)


# ---- many calls ----------------------------------------------------------------------------------------


def long_loop(x, w):
    c, ys = tape.scan(lambda c, x: (np.tanh(c * w + x), c * x), w, x)
    return np.sum(ys) + np.sum(c)


def test_threads_call_one_function_at_once():
    compiled = tape.compile(tape.value_and_grad(long_loop, (0, 1)))
    cases = [data(2000, seed) for seed in range(4)]
    alone = [compiled(*case) for case in cases]
    found: dict[tuple[int, int], Any] = {}

    def work(k):
        for turn in range(10):
            found[k, turn] = compiled(*cases[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    for (k, _), result in found.items():
        assert_alike(result, alone[k], 1e-12)


def test_programs_do_not_grow_with_the_number_of_steps():
    sizes = set()
    for n in (3, 30, 3000):
        compiled = tape.compile(tape.grad(long_loop, (0, 1)))
        compiled(*data(n))
        (program,) = compiled.programs.values()
        sizes.add((len(program.ir.instructions), *[len(body.ir.instructions) for body in program.bodies]))
    assert len(sizes) == 1


# ---- steps in which nothing flows to a part of the state -----------------------------------------

ZEROS = np.array([0.0, 1.0, 2.0, 0.0])
PARTLY_FLOWING = {
    "to one of two, at the end": lambda x: tape.fori_loop(
        0, 1, lambda i, s: (s[0] * s[1], np.sqrt(0 * x)), (x, x)
    )[0],
    "from one of two, at the start": lambda x: tape.scan(
        lambda c, e: ((c[0] * 0.5 + np.sqrt(c[1]) * 0.0, c[0] * c[0] + 1.0), None), (x, 0.0), ZEROS
    )[0][0],
    "what is collected": lambda x: tape.scan(
        lambda c, e: ((c[0] * 0.5, np.sqrt(c[1]) + c[0]), np.sqrt(c[1]) * c[0]), (x, 0.0), ZEROS, reverse=True
    )[1][0],
    "to the one before": lambda x: tape.scan(lambda c, e: ((np.sin(c[0]) * e, c[0]), None), (x, x), ZEROS)[0][
        1
    ],
    "to one, then the other": lambda x: tape.scan(lambda c, e: ((c[1], c[0] * e), c[0]), (x, x), ZEROS)[0][0],
    "to elements": lambda x: np.sum(
        tape.scan(lambda c, e: ((np.sqrt(e) * c[1], c[1] + e * c[0]), None), (1.0, x), x * ZEROS)[0][1]
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PARTLY_FLOWING)
def test_zeros_beside_infinite_derivatives_are_those_of_python_loops(name):
    f = PARTLY_FLOWING[name]
    for derived in (tape.grad(f), lambda x: tape.jvp(f, (x,), (1.0,))[1]):
        compiled = tape.compile(derived)
        compiled(0.5)
        assert_close(compiled(0.25), derived(0.25))
        (program,) = compiled.programs.values()
        assert not program.explain().callbacks
