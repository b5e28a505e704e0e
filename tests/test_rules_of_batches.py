"""Operations with rules of their own under `vmap`: these count, not what the code would differentiate to.

A program runs the code of such an operation as rows for a whole batch; its derivative is that of the rules
all the same, in both modes and at any order, whoever asks for it.
"""

import gc
from functools import cache

import numpy as np
import pytest

import tape
from tape import errors
from tests.tiers import grid, takes_long


@tape.custom_vjp
def hundredfold(x):
    return x * x


@hundredfold.defvjp
def _hundredfold(g, out, x):
    return 100 * g * x


@tape.custom_jvp
def fiftyfold(x, shared):
    return {"square": x * x, "product": x * shared}


@fiftyfold.defjvp
def _fiftyfold(tangents, out, x, shared):
    t, s = tangents
    t, s = (0 * v if m is None else m for m, v in ((t, x), (s, shared)))
    return {"square": 50 * x * t, "product": 7 * t * shared + 3 * s * x}


def custom_vjp(x, k):
    return hundredfold(x) * k


def custom_jvp(x, k):
    out = fiftyfold(x, k)
    return out["square"] + out["product"]


def root(x, k):
    """Of the elements one starts at its solution."""
    return tape.root(lambda y: y**3 + k * y - x, 0.0)


def root_of_arguments(x, k):
    return tape.root(lambda y, x, k: y**3 + k * y - x, x * 0.5, x, k)


def roots(x, k):
    found = tape.root(lambda y: {"u": y["u"] ** 3 + k * y["u"] - x, "v": y["v"] - y["u"]}, {"u": x, "v": 1.0})
    return found["u"] * found["v"]


def fixed_point(x, k):
    return tape.fixed_point(lambda y: 0.5 * np.sin(k * y) + x, 0.0)


def fixed_point_from_its_own_start(x, k):
    return tape.fixed_point(lambda y, x: 0.5 * np.sin(k * y) + x, x, x)


def odeint(x, k):
    return tape.odeint(lambda y, t: -k * y, x, np.array([0.0, 1.0]), method="Tsit5", rtol=1e-10, atol=1e-12)[
        -1
    ]


def checkpoint(x, k):
    return tape.checkpoint(lambda x: np.sin(k * x) * x)(x)


@tape.custom_vjp
def by_its_sign(x):
    return x * x


@by_its_sign.defvjp
def _by_its_sign(g, out, x):
    return 2 * g * x if x > 0.25 else 3 * g * x


def rule_that_reads_numbers(x, k):
    return by_its_sign(x) * k


CASES = [
    custom_vjp, custom_jvp, rule_that_reads_numbers, root, root_of_arguments, roots, fixed_point,
    fixed_point_from_its_own_start, odeint, checkpoint,
]  # fmt: skip
SETS = [np.array([0.0, 0.5, -1.0]), np.array([1.0, 0.5, 2.0]), np.array([0.25, 0.0, 0.0])]
K = 1.25


def by_x(of_one, x):
    return np.array([float(of_one(e, K)) for e in x])


HOW = {
    "value": (lambda f: lambda x, k: over(f)(x, k), lambda f, x: by_x(f, x)),
    "grad": (
        lambda f: tape.grad(lambda x, k: np.sum(over(f)(x, k))),
        lambda f, x: by_x(tape.grad(f), x),
    ),
    "jvp": (
        lambda f: lambda x, k: tape.jvp(lambda x: over(f)(x, k), (x,), (np.ones(3),))[1],
        lambda f, x: by_x(tape.grad(f), x),
    ),
    "grad by what is shared": (
        lambda f: tape.grad(lambda x, k: np.sum(over(f)(x, k)), argnums=1),
        lambda f, x: np.sum(by_x(tape.grad(f, argnums=1), x)),
    ),
    "jacobian": (
        lambda f: lambda x, k: tape.jacobian(lambda x: over(f)(x, k))(x),
        lambda f, x: np.diag(by_x(tape.grad(f), x)),
    ),
    "hessian": (
        lambda f: lambda x, k: tape.hessian(lambda x: np.sum(over(f)(x, k)))(x),
        lambda f, x: np.diag(by_x(tape.grad(tape.grad(f)), x)),
    ),
    "grad of a batch of gradients": (
        lambda f: tape.grad(lambda x, k: np.sum(over(tape.grad(f))(x, k))),
        lambda f, x: by_x(tape.grad(tape.grad(f)), x),
    ),
    "batch of batches": (
        lambda f: tape.grad(
            lambda x, k: np.sum(tape.vmap(lambda x: over(f)(x, k))(np.stack([x, x])))
        ),
        lambda f, x: 2 * by_x(tape.grad(f), x),
    ),
}  # fmt: skip


def over(f):
    """The function over a batch of x, with a k that all share."""
    return tape.vmap(f, in_axes=(0, None))


@cache
def leave_alone_what_there_is():
    """Let collections of garbage look at what is new: those of these tests are many."""
    gc.collect()
    gc.freeze()


@takes_long
@grid(ids=lambda value: getattr(value, "__name__", value), times=1, case=CASES, how=[*HOW])
def test_derivatives_of_a_batch_are_those_of_its_elements(case, how):
    if case is rule_that_reads_numbers and how == "grad of a batch of gradients":
        with pytest.raises(errors.ConversionError, match="the truth of Batch"):  # of a batch inside the sweep
            HOW[how][0](case)(SETS[0], K)
        return
    leave_alone_what_there_is()
    derived, expected = HOW[how]
    eager = derived(case)
    compiled = tape.compile(eager)
    for x in (*SETS, SETS[0]):
        gc.collect()  # nothing lives on that only the recording has made
        known = expected(case, x)
        for f in (eager, compiled):
            np.testing.assert_allclose(f(x, K), known, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("case", [root, fixed_point, custom_vjp])
def test_a_batch_of_what_is_shared_alone(case):
    """X is closed over, k is not in the batch: the results are the same for all elements."""
    f = tape.compile(tape.grad(lambda x, w: np.sum(tape.vmap(lambda w: w * case(x, K))(w))))
    w = np.array([1.0, 2.0, 4.0])
    for x in (0.0, 0.5, 0.0):
        np.testing.assert_allclose(f(x, w), 7 * tape.grad(case)(x, K), rtol=1e-7)


# ---- in the bodies of loops that close over an element of the batch -------------------------------------


@tape.custom_vjp
def threefold(s, x):
    return s * x


@threefold.defvjp
def _threefold(g, out, s, x):
    return 3 * g * x, 3 * g * s


OF_A_STEP = {
    "custom_vjp": threefold,
    "checkpoint": tape.checkpoint(lambda s, x: s * x),
    "fixed_point": lambda s, x: tape.fixed_point(lambda y: 0.3 * np.sin(y) + 0.1 * s * x, s),
    "root": lambda s, x: tape.root(lambda y: y**3 + y - s * x, s),
}
LOOPS = {
    "scan": lambda f, x: tape.scan(lambda s, _: (f(s, x), None), x, length=3)[0],
    "scan of none": lambda f, x: tape.scan(lambda s, _: (f(s, x), None), x, length=0)[0],
    "scan in stretches": lambda f, x: tape.scan(lambda s, _: (f(s, x), None), x, length=4, checkpoint=2)[0],
    "while_loop": lambda f, x: tape.while_loop(lambda s: s[1] < 3, lambda s: (f(s[0], x), s[1] + 1), (x, 0))[
        0
    ],
    "fori_loop": lambda f, x: tape.fori_loop(0, 3, lambda i, s: f(s, x), x),
    "map": lambda f, x: np.sum(tape.map(lambda e: f(e, x), np.stack([x, 2 * x])), axis=0),
}  # fmt: skip
DERIVED = {
    "value": lambda f: f,
    "grad": lambda f: tape.grad(lambda x: np.sum(f(x))),
    "jacobian": tape.jacobian,
}


@takes_long
@grid(ids=str, times=2, step=[*OF_A_STEP], loop=[*LOOPS], how=[*DERIVED])
def test_loops_around_them_that_close_over_the_batch(step, loop, how):
    def f(x):
        return LOOPS[loop](OF_A_STEP[step], x)

    derived = DERIVED[how](f)
    x = np.array([[1.0, 2.0], [-1.0, -2.0]])
    expected = np.stack([derived(row) for row in x])
    eager = tape.vmap(derived)
    compiled = tape.compile(eager)
    for g in (eager, compiled, compiled):
        np.testing.assert_allclose(g(x), expected, rtol=1e-7, atol=1e-10)
    if how == "grad":
        outside = tape.compile(tape.grad(lambda x: np.sum(tape.vmap(f)(x))))
        for _ in range(2):
            np.testing.assert_allclose(outside(x), expected, rtol=1e-7, atol=1e-10)
