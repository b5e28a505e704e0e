"""Loops as plain Python, which `tape.scan` and its kin are checked against, and functions with loops."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

import tape
from tape import tree

# ---- loops of Python -----------------------------------------------------------------------------------


def scan(f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> Any:
    """`tape.scan` as a loop; of no steps, what it collects is None."""
    arrays, element = tree.flatten(xs)
    steps = range(length if length is not None else len(arrays[0]))
    leaves, state = tree.flatten(init)
    carry = tree.unflatten(
        state, [leaf if isinstance(leaf, tape.Var) else np.asarray(leaf)[()] for leaf in leaves]
    )
    rows = []
    for k in reversed(steps) if reverse else steps:
        carry, y = f(carry, tree.unflatten(element, [array[k] for array in arrays]))
        rows.append(y)
    if not rows:
        return carry, None
    if reverse:
        rows.reverse()
    columns = zip(*[tree.flatten(row)[0] for row in rows], strict=True)
    return carry, tree.unflatten(tree.flatten(rows[0])[1], [np.stack(column) for column in columns])


def fori_loop(lower: int, upper: int, body: Callable, init: Any) -> Any:
    """`tape.fori_loop` as a loop; the counter is an integer of NumPy."""
    return scan(lambda state, i: (body(i, state), None), init, np.arange(lower, upper))[0]


def map(f: Callable, xs: Any) -> Any:
    """`tape.map` as a loop."""
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def while_loop(goes_on: Callable, body: Callable, state: Any) -> Any:
    """`tape.while_loop` as a loop; numbers in its state are those of NumPy."""
    leaves, structure = tree.flatten(state)
    state = tree.unflatten(structure, [x if isinstance(x, tape.Var) else np.asarray(x)[()] for x in leaves])
    while goes_on(state):
        state = body(state)
    return state


PYTHON = SimpleNamespace(scan=scan, fori_loop=fori_loop, map=map, while_loop=while_loop)
TAPE = SimpleNamespace(scan=tape.scan, fori_loop=tape.fori_loop, map=tape.map, while_loop=tape.while_loop)


# ---- functions with loops: of the loops to use, x (n, 3) and w (3,) ------------------------------------


@dataclass
class Body:
    """A tree with names."""

    position: Any
    speed: Any


def recurrence(loops, x, w):
    def step(c, x):
        c = np.tanh(w * c + x)
        return c, c * 2

    return loops.scan(step, np.zeros(3), x)


def reversed_recurrence(loops, x, w):
    return loops.scan(lambda c, x: (np.sin(c * x) + w, c * c), w, x, reverse=True)


def trees(loops, x, w):
    def step(c, e):
        body, (n, _) = c["body"], c["rest"]
        speed = body.speed - 0.1 * body.position * e["x"]
        moved = Body(body.position + 0.1 * speed, speed)
        return {"body": moved, "rest": (n + 1.0, None)}, (moved, {"n": n, "none": None})

    init = {"body": Body(w, w * 0.5), "rest": (0.0, None)}
    return loops.scan(step, init, {"x": x, "none": None})


def shared_with_rules(loops, x, w):
    """Rules of the body compute what it has computed, and read sums and products of what they read."""

    def step(c, x):
        a = c * x
        total = np.sum(a)
        return np.sin(a) * np.cos(a) + np.exp(-(a + total)) * 0.1, (a * total, np.cos(a))

    return loops.scan(step, w, x)


def swapped(loops, x, w):
    return loops.scan(lambda c, x: ((c[1], c[0] * x), c[0]), (w, np.cos(w)), x)


def passed_through(loops, x, w):
    return loops.scan(lambda c, x: ((c[0], c[1] + c[0] * x), None), (w, np.zeros(3)), x)[0]


def unused_carry(loops, x, w):
    return loops.scan(lambda c, x: (np.exp(-x), x * w), w, x)


def constant_carry(loops, x, w):
    return loops.scan(lambda c, x: (np.ones(3), c * x), w, x)


def collected_as_is(loops, x, w):
    """Elements, the carry, constants, and one thing twice."""

    def step(c, x):
        after = c + x * x
        return after, (x, c, after, after, w, 1.5, 2)

    return loops.scan(step, w, x)


def some_results(loops, x, w):
    _, (a, _, _, d) = loops.scan(lambda c, x: (c * x, (c + x, x / 3, c * c, np.sin(x) * w)), w, x)
    return a + d


def last_unused(loops, x, w):
    return loops.scan(lambda c, x: ((c[0] * x, c[1] + np.sin(x)), None), (w, w), x)[0][1]


def numbers(loops, x, w):
    def step(c, e):
        total, count = c[0] + np.sum(e), c[1] + 1.0
        return (total, count), total / count

    return loops.scan(step, (0.0, 0.0), x)


def weak_numbers(loops, x, w):
    """Python numbers of all kinds beside arrays."""
    return loops.scan(lambda c, x: (2 * c - 0.5 * x + 1, (c / 4) ** 2), w, x)


def other_dtypes(loops, x, w):
    def step(c, e):
        count, flag, small = c
        x, k, b = e
        count = count + k
        flag = flag ^ b
        small = small * np.float32(0.5) + x.astype(np.float32)
        return (count, flag, small), (
            count * 2,
            ~flag,
            small,
            x * k,
            x[b.argmin()],
            x[k % 3],
            1.5 * small,
            b + b,
        )

    n = len(x)
    rows = np.arange(3 * n).reshape(n, 3)
    init = (np.arange(3), np.array([True, False, True]), np.zeros(3, np.float32))
    return loops.scan(step, init, (x, rows % 4, rows % 2 > 0))


def complex_carry(loops, x, w):
    return loops.scan(lambda c, x: (c * 1j + x, (np.abs(c) ** 2, np.real(c) * w, c)), w + 0j, x)


def matrices(loops, x, w):
    def step(c, x):
        c = np.tanh(c @ np.outer(x, w) * 0.3 + c.T)
        return c, (c @ x, np.linalg.solve(c @ c.T + np.eye(3), x))

    return loops.scan(step, np.outer(w, w), x)


def empty_arrays(loops, x, w):
    return loops.scan(lambda c, x: ((c[0] * x[:0], c[1] + x), (x[1:1], np.zeros((2, 0)))), (w[:0], w), x)


def written_inside(loops, x, w):
    def step(c, x):
        y = np.zeros(3, like=c * x * w)
        y[0] = x[1] * c[0]
        y[1:] = np.sin(c[:-1])
        z = c + y * w
        z += y
        z[::2] *= w[::2]
        return z, y

    return loops.scan(step, w * 1.0, x)


def views(loops, x, w):
    def step(c, x):
        turned = c[::-1].reshape(3, 1).T[0]
        return turned * x[[2, 0, 1]], (turned, x[:2], np.broadcast_to(c[0], (2, 2)), x[1])

    return loops.scan(step, w, x)


def counted(loops, x, w):
    return loops.fori_loop(0, len(x), lambda i, c: c * w[i % 3] + x[i] - i, w)


def counted_from_elsewhere(loops, x, w):
    n = len(x)
    return loops.fori_loop(-n, 0, lambda i, c: (c[0] + x[i] * i, np.maximum(c[1], x[-1 - i])), (w, w))


def counter_only(loops, x, w):
    return loops.fori_loop(2, 2 + len(x), lambda i, c: c + 1.0 / i, 0.0) * w


def counter_writes(loops, x, w):
    def body(i, rows):
        rows = rows + x * w * 0
        rows[i] = x[i] * w + rows[i - 1]
        return rows

    return loops.fori_loop(0, len(x), body, np.zeros_like(x) + w)


def integer_state(loops, x, w):
    def body(i, c):
        a, b, total = c
        return b, (a + b) % 11, total + w * a

    return loops.fori_loop(0, len(x), body, (0, 1, np.zeros(3)))


def mapped(loops, x, w):
    return loops.map(lambda row: (row / np.sqrt(1 + row @ row), row @ w, np.sort(row)), x)


def mapped_tree(loops, x, w):
    return loops.map(lambda p: {"a": p["u"] * w, "b": [p["v"], np.sum(p["u"])]}, {"u": x, "v": x[:, 0]})


def nested(loops, x, w):
    """Three loops within each other, each closing over the carries outside of it."""

    def outer(c, row):
        def middle(d, e):
            def inner(i, t):
                return t * 0.5 + np.sin(c) * d * e + i

            d = loops.fori_loop(0, 3, inner, d)
            return d, np.sum(d * c)

        d, sums = loops.scan(middle, c * row, row)
        return np.tanh(d), sums

    return loops.scan(outer, w, x)


def nested_maps(loops, x, w):
    return loops.map(lambda row: loops.map(lambda e: np.sin(e * row) * w, row), x)


def one_after_another(loops, x, w):
    c, ys = loops.scan(lambda c, x: (c + x, c * x), w, x)
    d, zs = loops.scan(lambda d, y: (d * np.cos(y) + c, d), c, ys, reverse=True)
    return d, np.sum(zs, axis=0) * c


def sorts(loops, x, w):
    return loops.scan(lambda c, x: (np.sort(c * x) + w, np.fft.fft(c).real), w, x)


def determinants(loops, x, w):
    return loops.map(lambda x: np.linalg.slogdet(np.outer(x, w) + 2 * np.eye(3))[1], x)


def derivative_inside(loops, x, w):
    def step(c, x):
        value, grad = tape.value_and_grad(lambda c: np.sum(np.sin(c * x) * w))(c)
        return c - 0.1 * grad, value

    return loops.scan(step, w, x)


def second_derivative_inside(loops, x, w):
    return loops.map(lambda row: tape.hessian(lambda v: np.sum(np.sin(v * w) ** 2))(row) @ w, x)


def derivative_of_a_loop_inside(loops, x, w):
    def energy(v, row):
        return np.sum(loops.fori_loop(0, 3, lambda i, u: u + 0.1 * np.sin(u * row), v) ** 2)

    return loops.scan(lambda c, row: (c - 0.1 * tape.grad(energy)(c, row), energy(c, row)), w, x)


def chosen(loops, x, w):
    return loops.scan(lambda c, x: (np.where(c > x, c * 0.5, x + w), np.maximum(c, x)), w, x)


def reductions(loops, x, w):
    def step(c, x):
        return c * 0.9 + x.mean(), (x.max(), np.argmax(x), np.cumsum(c), np.prod(x), np.linalg.norm(c + 2))

    return loops.scan(step, w, x)


def stopped(loops, x, w):
    return loops.scan(lambda c, x: (tape.stop_gradient(c) * x + c, tape.stop_gradient(x) * w), w, x)


def checkpointed(loops, x, w):
    step = tape.checkpoint(lambda c, x: np.tanh(c * x) + w)
    return loops.scan(lambda c, x: (step(c, x), c), w, x)


@tape.custom_vjp
def clipped_gradient(x):
    return x * x


@clipped_gradient.defvjp
def _(g, out, x):
    return np.clip(g, -0.5, 0.5) * 2 * x


def clipping_rule(loops, x, w):
    """Of a rule that is not linear, it matters how often it is applied."""
    return loops.scan(lambda c, x: (clipped_gradient(c) * x * 0.1 + w, clipped_gradient(x)), w, x)


@tape.custom_vjp
def square(x):
    return x * x


@square.defvjp
def _(g, out, x):
    return g * 2 * x


def custom_rule(loops, x, w):
    return loops.scan(lambda c, x: (square(c) * x * 0.1 + w, square(x)), w, x)


def same_twice(loops, x, w):
    return loops.scan(lambda c, e: ((c[0] * c[1] + e[0] * e[1], c[1]), c[0]), (w, w), (x, x))


def no_elements(loops, x, w):
    return loops.scan(lambda c, _: (np.cos(c) * w, np.sum(c)), w, length=len(x))


def newton(loops, x, w):
    """A loop that data end, with numbers in its state."""

    def step(s):
        move = (s["root"] ** 2 - np.sum(w * w) - 1) / (2 * s["root"])
        return {"root": s["root"] - move, "move": np.abs(move), "steps": s["steps"] + 1}

    s = loops.while_loop(lambda s: s["move"] > 1e-6, step, {"root": 1.0, "move": 1.0, "steps": 0})
    return s["root"] * x, s["steps"]


def no_step(loops, x, w):
    return loops.while_loop(lambda v: np.sum(v) > 1e9, lambda v: v * x[0], w * w)


def until_all_are_small(loops, x, w):
    """Constants of both functions, views and a state that is not read."""
    return loops.while_loop(
        lambda s: (s[0] * s[0] > x[0] ** 2).any(), lambda s: (s[0][::-1] * 0.5, s[0] * w, s[2]), (w, x[-1], x)
    )


def while_in_scan(loops, x, w):
    def step(c, x):
        c = loops.while_loop(lambda v: np.sum(v * v) > 0.5, lambda v: v * 0.7 + w * 0.01, c + x)
        return c, np.sum(c)

    return loops.scan(step, w, x)


def scan_in_while(loops, x, w):
    def step(s):
        moved, sums = loops.scan(lambda c, x: (c * 0.8 + 0.01 * np.sin(c * x), np.sum(c)), s[0], x)
        return moved, s[1] + np.sum(sums)

    return loops.while_loop(lambda s: np.sum(s[0] * s[0]) > 0.1, step, (w, 0.0))


def while_in_while(loops, x, w):
    def step(v):
        u = loops.while_loop(lambda u: np.sum(u * u) > 1, lambda u: u * 0.9, v + x[0] * 0.1)
        return v * 0.5 + u * w * 0.01

    return loops.while_loop(lambda v: np.max(np.abs(v)) > 0.1, step, w)


def descent(loops, x, w):
    """Steps along a derivative, until it is small."""
    slope = tape.grad(lambda v: np.sum((v - w) ** 2 * (1 + x[0] ** 2)) + np.sum(np.cos(v)) * 0.1)
    step = 0.3 / (1 + np.max(x[0] ** 2))
    return loops.while_loop(lambda v: np.sum(slope(v) ** 2) > 1e-3, lambda v: v - step * slope(v), x[-1])


WHILES = [
    newton, no_step, until_all_are_small, while_in_scan, scan_in_while, while_in_while, descent,
]  # fmt: skip
CASES = [
    recurrence, reversed_recurrence, trees, shared_with_rules, swapped, passed_through, unused_carry,
    constant_carry, collected_as_is, some_results, last_unused, numbers, weak_numbers, other_dtypes,
    complex_carry, matrices, empty_arrays,
    written_inside, views, counted, counted_from_elsewhere, counter_only, counter_writes, integer_state,
    mapped, mapped_tree, nested, nested_maps, one_after_another, sorts, determinants, derivative_inside,
    second_derivative_inside, derivative_of_a_loop_inside, chosen, reductions, stopped, checkpointed,
    custom_rule, clipping_rule, same_twice, no_elements, *WHILES,
]  # fmt: skip
