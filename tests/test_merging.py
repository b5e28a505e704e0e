"""Programs sweep each distinct value once: what a function computes twice is merged before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.op import Op
from tape.transforms import _merge
from tape.transforms.loops.columns import Columns
from tests.tiers import rounds


def program_of(f: Callable[..., Any], *args: Any) -> Any:
    """Return the one program of a compiled function, which computes what the function does."""
    compiled = tape.compile(f)
    for scale in (1.0, 0.8):
        numbers = [scale * x for x in args]
        found, expected = compiled(*numbers), f(*numbers)
        for a, b in zip(_flat(found), _flat(expected), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    (program,) = compiled.programs.values()
    return program


def _flat(result: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in tape.tree.flatten(result)[0]]


def members(program: Any) -> int:
    """Return how many instructions a program runs, those of the bodies of loops included."""
    return sum(len(step.members) for step in program.plan.steps) + sum(map(members, program.bodies))


@pytest.fixture
def unmerged(monkeypatch):
    """Return what the program of a function was without merging."""

    def program(f, *args):
        with monkeypatch.context() as patch:
            patch.setattr(_merge, "_firsts", lambda columns: None)
            return program_of(f, *args)

    return program


def determinant(a):
    """Expand by minors, with a call for each: the same minors again and again."""

    def minor(row, columns):
        if len(columns) == 1:
            return a[row, columns[0]]
        total = 0.0
        for k, column in enumerate(columns):
            term = a[row, column] * minor(row + 1, columns[:k] + columns[k + 1 :])
            total = total + term if k % 2 == 0 else total - term
        return total

    return minor(0, tuple(range(len(a))))


def matrix(size: int) -> np.ndarray:
    return np.random.default_rng(size).normal(size=(size, size))


# ---- determinant by scalar recursion -------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_gradient_of_a_recursion_has_at_most_three_rows_a_row_of_value(size):
    value, gradient = (program_of(f, matrix(size)) for f in (determinant, tape.grad(determinant)))
    assert members(gradient) <= 3 * members(value)


V = matrix(4) + 1

NESTED = {
    "jvp of grad": lambda a: tape.jvp(tape.grad(determinant), (a,), (V,))[1],
    "grad of jvp": tape.grad(lambda a: tape.jvp(determinant, (a,), (V,))[1]),
    "grad of grad": tape.grad(lambda a: np.sum(tape.grad(determinant)(a) * V)),
    "vjp": lambda a: tape.vjp(determinant, a)[1](2.0),
    "hvp": lambda a: tape.hvp(determinant)(a, V),
    "hessian": tape.hessian(determinant),
    "jacobian": tape.jacobian(tape.grad(determinant), mode="fwd"),
    "checkpoint": tape.grad(lambda a: tape.checkpoint(determinant)(a) ** 2),
    "scan": tape.grad(lambda a: tape.scan(lambda c, x: (c / 2 + determinant(a * x), c), 1.0, V[0])[0]),
    "grad in a scan": lambda a: tape.scan(lambda c, x: (c - 0.1 * tape.grad(determinant)(x * c), x), a, V[0])[
        0
    ],
    "map": lambda a: tape.map(tape.grad(determinant), np.stack([a, V])),
}


@pytest.mark.parametrize("name", NESTED)
def test_all_levels_of_derivatives_are_merged(name, unmerged):
    assert members(program_of(NESTED[name], matrix(4))) < 0.85 * members(unmerged(NESTED[name], matrix(4)))


def test_compiled_trace_is_merged():
    trace = tape.Trace()
    a = trace.param(matrix(4))
    root = determinant(a)
    program = trace.compile(root)
    value, (gradient,) = program.run()
    assert members(program) <= 4 * members(program_of(determinant, matrix(4)))
    np.testing.assert_allclose(value, determinant(matrix(4)))
    np.testing.assert_allclose(gradient, tape.grad(determinant)(matrix(4)))


@pytest.mark.parametrize("changed", [0, 7, 8, 11])
def test_operations_of_many_operands_are_merged_if_all_of_them_are_the_same(changed):
    def stacked_twice(x):
        parts = [x[11 - k] for k in range(12)]  # of neighbours in order nothing is joined
        others = [part if k != changed else x[12] for k, part in enumerate(parts)]
        return np.stack(parts) * np.stack(others) + np.stack(parts)

    program = program_of(tape.grad(lambda x: np.sum(np.sin(stacked_twice(x)))), np.arange(1.0, 14.0))
    joined = [step for step in program.plan.instructions if step.op == "concatenate"]
    assert len(joined) == 2 + 1  # the gradient by x, too


def test_long_tapes_of_which_most_is_there_twice_are_merged_before_loops_are_looked_for():
    def cyclic(x):
        total = 0.0
        for k in range(1500):
            total = total * 0.9 + np.sin(x[k % 5]) * x[(k + 1) % 5]
        return total

    program = program_of(tape.grad(cyclic), matrix(5)[0])
    assert not program.bodies
    assert members(program) < 3500


def test_loops_whose_steps_share_a_value_stay_loops():
    def neighbours(x):
        total = 0.0
        for k in range(1000):
            total = total + np.square(x[k + 1]) - x[k] * np.square(x[k])
        return total

    program = program_of(tape.grad(neighbours), np.linspace(0, 1, 1001))
    assert len(program.bodies) == 2
    assert members(program) < 60


# ---- random programs ---------------------------------------------------------------------------------------


def turned(x):
    return x[..., ::-1] if np.ndim(x) else x


UNARY = (np.sin, np.tanh, np.square, np.negative, lambda x: 0.5 * x, turned)
BINARY = (np.add, np.subtract, np.multiply, np.maximum, lambda x, y: np.where(x > y, x, 2.0 * y))


def random_function(rng: np.random.Generator, count: int = 10) -> Callable[..., Any]:
    """Return a function that computes each of its values anew wherever it is used, as recursions do."""
    made: list[tuple[Any, ...]] = [(None, "xy"[k]) for k in range(2)]
    for _ in range(count):
        if rng.random() < 0.5:
            made.append((rng.choice(UNARY), rng.integers(max(0, len(made) - 3), len(made))))
        else:
            made.append((rng.choice(BINARY), *rng.integers(max(0, len(made) - 4), len(made), 2)))

    def f(x, y):
        def value(k):
            op, *operands = made[k]
            return {"x": x, "y": y}[operands[0]] if op is None else op(*map(value, operands))

        return np.sum(np.tanh(value(len(made) - 1)) + x * y)

    return f


@pytest.mark.parametrize("seed", range(rounds(60, plain=20)))
def test_random_functions_have_no_more_rows_and_the_same_derivatives(seed, unmerged):
    rng = np.random.default_rng(seed)
    f = random_function(rng)
    x, y = rng.normal(size=3), rng.normal(size=(2, 3)) if seed % 2 else rng.normal()
    gradient = tape.grad(f, (0, 1))
    program, before = program_of(gradient, x, y), unmerged(gradient, x, y)
    signs = sum(instruction.op == "negative" for instruction in program.plan.instructions)
    assert members(program) - signs <= members(before)  # minus signs cancel each other in each of the sums
    assert program.explain().effects["needed"] <= before.explain().effects["needed"]
    program_of(lambda x, v: tape.jvp(tape.grad(lambda x: f(x, y)), (x,), (v,)), x, rng.normal(size=3))


# ---- what is not the same ------------------------------------------------------------------------------


def compiled_is_eager(f: Callable[..., Any], *args: Any) -> None:
    gradient = tape.value_and_grad(f)
    for found, expected in zip(_flat(tape.compile(gradient)(*args)), _flat(gradient(*args)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12 if found.dtype != np.float32 else 1e-6)


X = np.array([0.5, -1.5, 2.0])


OTHERS = {
    "signs of zeros": (lambda x: x, lambda z: np.copysign(1.0, z), 0.0, -0.0),
    "bools and integers": (lambda x: x > 0, lambda z: z + z, True, 1),
    "dtypes": (lambda x: x, lambda z: 1e9 * ((z + 1e-9) - z), 1.0, np.float64(1.0)),
}
"""An inner function, an outer one, and two numbers between them that do not do the same."""


@pytest.mark.parametrize("name", OTHERS)
def test_numbers_of_other_types_and_signs_are_others(name):
    inner, outer, a, b = OTHERS[name]

    def f(x):
        return np.sum(outer(inner(x) * a) * x + outer(inner(x) * b) * (3.0 * x))

    compiled_is_eager(f, X.astype(np.float32))


def test_static_arguments_of_other_types_and_values_are_others():
    x = np.arange(12.0).reshape(3, 4) + 1

    def f(x):
        parts = [x[0], x[1], x[False, 0], x[0:2], x[0:3:2], x[..., 0], x[None, 0]]
        parts += [np.sum(x, axis=0), np.sum(x, axis=1), np.sum(x, axis=0, keepdims=True), x.astype("f4"), x.T]
        return sum((k + 1.0) * np.sum(part * part) for k, part in enumerate(parts) if part.size)

    compiled_is_eager(f, x)


def test_arrays_that_are_equal_are_others():
    a, b = np.array([0, 1]), np.array([0, 1])

    def f(x, a, b):
        return np.sum(x[a] * x[b] + x[a] * np.array([1.0, 2.0]) * np.array([1.0, 2.0]))

    compiled = tape.compile(tape.grad(f))
    for other in (b, b + 1):
        np.testing.assert_array_equal(compiled(X, a, other), tape.grad(f)(X, a, other))


def test_writes_between_make_others():
    def f(x):
        y, z = x * 2, x * 2
        before = y[0] * np.sin(y)
        y[0] = 5.0
        view = z[1:]
        view *= x[0]
        return np.sum(before + y[0] * np.sin(y) * np.sin(z) * z[0])

    compiled_is_eager(f, X)


def test_stale_views_stay_stale():
    def f(x):
        y = 1.0 * x + 1.0 * x
        first, all_of_it = y[:2], y[:3]
        all_of_it[0] = np.sum(x)
        return first

    for g in (lambda x: tape.vjp(f, x)[0], tape.jacobian(f)):
        for each in (g, tape.compile(g)):
            with pytest.raises(errors.InPlaceError, match="was used after another"):
                each(X)


def test_operations_of_ones_own_run_as_often_as_they_are_called():
    drawn = iter(range(1, 100))
    noise = Op(lambda x: x * next(drawn), name="noise", vjp=[lambda g, out, x: g * out / x])

    def f(x):
        return np.sum(noise(x) + noise(x))

    gradient = tape.compile(tape.grad(f))
    gradient(X)
    (program,) = gradient.programs.values()
    assert program.explain().callbacks == {"noise": 2}
    count = next(drawn)
    np.testing.assert_allclose(gradient(X), (count + 1) + (count + 2))


def test_where_no_derivative_flows_is_another_value():
    def f(x):
        return np.sum(np.sin(x) * tape.stop_gradient(np.sin(x)) * np.sin(tape.stop_gradient(x)))

    compiled_is_eager(f, X)


def test_branches_on_merged_values_are_guarded():
    def f(x):
        if np.sum(x * x) > 4:
            return np.sum(x * x) * 2
        return np.sum(x * x * x)

    gradient = tape.compile(tape.grad(f))
    for x in (X, X / 4, X):
        np.testing.assert_allclose(gradient(x), tape.grad(f)(x))


def test_results_that_are_the_same_have_their_own_cotangents():
    def both(x):
        out, pull = tape.vjp(lambda x: (np.sin(x), np.sin(x), x, np.sin(x)[0]), x)
        return out, pull((x, 2 * x, np.ones(3), np.float64(3.0)))

    found, expected = tape.compile(both)(X), both(X)
    for a, b in zip(_flat(found), _flat(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_several_results_are_merged():
    def f(a):
        q, r = np.linalg.qr(a)
        again, _ = np.linalg.qr(a)
        return np.sum(q * again @ r) * np.linalg.slogdet(a)[1] * np.linalg.slogdet(a)[1]

    program_of(tape.grad(f), matrix(3))


def test_eager_gradients_keep_their_tapes():
    recorded = []

    def f(x):
        y = np.sin(x) * np.sin(x)
        recorded.append(len(y.trace))
        return np.sum(y)

    tape.grad(f)(X)
    assert recorded == [4]


def firsts_naively(nodes):
    """Return for each node the first one that computes the same, as `_merge` finds them."""
    firsts = []
    for at, node in enumerate(nodes):
        first = at
        for before in range(at):
            other = nodes[before]
            pairs = zip(node.inputs[::2], other.inputs[::2], strict=False)
            if (
                firsts[before] == before
                and node.op is not None
                and node.op is other.op
                and node.attrs == other.attrs
                and len(node.inputs) == len(other.inputs)
                and all(p is q is None or (None not in (p, q) and firsts[p] == firsts[q]) for p, q in pairs)
                and all(
                    p is not None or (type(x), repr(x)) == (type(y), repr(y))
                    for p, x, y in zip(node.inputs[::2], node.inputs[1::2], other.inputs[1::2], strict=True)
                )
            ):
                first = before
                break
        firsts.append(first)
    return firsts


@pytest.mark.parametrize("seed", range(rounds(20, 200)))
def test_the_first_of_equal_nodes_is_that_of_a_naive_search(seed):
    rng = np.random.default_rng(seed)
    trace = tape.Trace()
    made = [trace.param(x) for x in (1.0, 2.0)]
    for _ in range(60):
        # In some tapes by the last ones alone, so that equal chains are long.
        recent = made[-int(rng.integers(2, 5)) :] if seed % 2 else made
        pick = lambda recent=recent: recent[rng.integers(len(recent))]  # noqa: E731
        kind = rng.integers(5)
        if kind == 0:
            made.append(np.sin(pick()))
        elif kind == 1:
            made.append(pick() * pick())
        elif kind == 2:
            made.append(pick() + float(rng.integers(2)))
        elif kind == 3:
            made.append(np.sum(np.stack([pick(), pick()]), keepdims=bool(rng.integers(2))).reshape(()))
        else:
            operands = [made[rng.integers(2)] for _ in range(rng.integers(8, 11))]
            made.append(np.stack(operands)[int(rng.integers(2))])
    for chain in range(2):  # equal ones, longer than there are rounds
        y = made[0]
        for k in range(12):
            y = np.cos(y) * float(k % 3)
        made.append(y + chain)
    assert_firsts_are_those_of_a_naive_search(trace.nodes)


def assert_firsts_are_those_of_a_naive_search(nodes):
    expected = firsts_naively(nodes)
    found = _merge._firsts(Columns(nodes))
    assert (found is None) == (expected == [*range(len(nodes))])
    assert found is None or found == expected
    for node, other in zip(nodes, _merge.reading_firsts(Columns(nodes)), strict=True):
        assert (node.call, node.value) == (other.call, other.value)
        assert other.inputs[::2] == tuple(id if id is None else expected[id] for id in node.inputs[::2])


@pytest.mark.parametrize("is_hashed", [True, False])
@pytest.mark.parametrize("seed", range(rounds(40, 400)))
def test_nodes_that_differ_are_not_merged_whatever_their_hashes_are(seed, is_hashed, monkeypatch):
    rng = np.random.default_rng(seed)
    if not is_hashed:  # as if all hashes were the same
        monkeypatch.setattr(_merge, "_mixed", np.zeros_like)
    trace = tape.Trace()
    made = [trace.param(x) for x in (1.0, 2.0, 3.0)]
    for _ in range(6):
        x, y = made[rng.integers(len(made))], made[rng.integers(len(made))]
        number = float(rng.integers(3)) * float(rng.choice([1.0, -1.0]))
        kinds = [
            lambda x, y, z: x - y, lambda x, y, z: x - z, lambda x, y, z: z - x, lambda x, y, z: x * z,
            lambda x, y, z: np.sin(x), lambda x, y, z: np.cos(x), lambda x, y, z: np.stack([x, y])[0],
        ]  # fmt: skip
        made.append(kinds[rng.integers(len(kinds))](x, y, number))
    assert_firsts_are_those_of_a_naive_search(trace.nodes)
