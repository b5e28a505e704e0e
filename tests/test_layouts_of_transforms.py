"""What transforms return is in C order, eager and in programs, so that writes to views of it are the same.

Their sweeps take other steps in programs, whose results may lie in memory otherwise.
"""

from functools import partial

import numpy as np
import pytest

import tape
from tests.tiers import grid, takes_long

A = np.random.default_rng(0).normal(size=(3, 3, 2))
LAYOUTS = {
    "C": A,
    "F": np.asfortranarray(A),
    "swapped": np.ascontiguousarray(A.transpose(0, 2, 1)).transpose(0, 2, 1),
    "backwards": np.ascontiguousarray(A[::-1])[::-1],
}


def loss(x):
    return np.sum(np.sin(x.T) * 2.0 + x.T**2)


def cube(x):
    return x**3


def turned(x):
    return x.T


@tape.custom_vjp
def twice(x):
    return x * 2.0


twice.defvjp(lambda g, out, x: g * 2.0)


def gradients_of_a_trace(x):
    with tape.Trace() as trace:
        root = loss(trace.param(x))
    return trace.backward_param_grads(root)[0]


def step(carry, row):
    return carry + row.sum(), (carry * row).T


TRANSFORMS = {
    "grad": tape.grad(loss),
    "grad of grad": tape.grad(lambda x: np.sum(written(tape.grad(loss)(x)) * x)),
    "value_and_grad": lambda x: tape.value_and_grad(loss)(x)[1],
    "elementwise_grad": tape.elementwise_grad(np.sin),
    "trace": gradients_of_a_trace,
    "vjp": lambda x: tape.vjp(turned, x)[1](x.T)[0],
    "value of vjp": lambda x: tape.vjp(turned, x)[0],
    "jvp": lambda x: tape.jvp(turned, (x,), (x,))[1],
    "jvp of nothing": lambda x: tape.jvp(lambda x: x, (x,), (x,))[1],
    "value of jvp": lambda x: tape.jvp(turned, (x,), (x,))[0],
    "linearize": lambda x: tape.linearize(cube, x)[1](x),
    "value of linearize": lambda x: tape.linearize(turned, x)[0],
    "hvp": lambda x: tape.hvp(loss)(x, x),
    "gnvp": lambda x: tape.gnvp(turned)(x, x),
    "rop": lambda x: tape.rop(turned, x, x, "double_lop"),
    "taylor": lambda x: tape.taylor(turned, x, x, 2),
    "jacobian": tape.jacobian(lambda x: np.sum(x * x, 0)),
    "vmap": tape.vmap(cube, 2, 1),
    "scan": lambda x: tape.scan(step, x[0].T[0, 0], x)[1],
    "carry of scan": lambda x: tape.scan(lambda c, k: (c + k, None), x, np.arange(3.0))[0],
    "scan without steps": lambda x: tape.scan(lambda c, k: (c + k, None), x, np.zeros(0))[0],
    "map": partial(tape.map, turned),
    "while_loop": lambda x: tape.while_loop(lambda c: np.sum(c) < 50.0, lambda c: c * c + 1.0, x),
    "while_loop without steps": lambda x: tape.while_loop(lambda c: np.sum(c * c) < 0.0, cube, x),
    "fori_loop": lambda x: tape.fori_loop(0, 3, lambda k, c: c + k, x),
    "fori_loop without steps": lambda x: tape.fori_loop(3, 3, lambda k, c: c + k, x),
    "checkpoint": tape.checkpoint(turned),
    "checkpoint_loop": lambda x: tape.checkpoint_loop(lambda c, k: c * 1.1, x, 3, 2),
    "custom_vjp": lambda x: twice(x.T),
    "fixed_point": lambda x: tape.fixed_point(lambda y, a: np.cos(y) * 0.3 + a, x, x),
    "root": lambda x: tape.root(lambda y, a: y - a, x, x),
    "odeint": lambda x: tape.odeint(lambda y, t: -y, x, np.array([0.0, 1.0]))[1],
}


def written(x):
    part = x.ravel()  # a view of what is in C order, a copy of everything else
    part += 2.0
    return x * 1.0


@takes_long
@grid(name=TRANSFORMS, layout=LAYOUTS, times=2)
def test_writing_to_what_a_transform_returns(name, layout):
    transform, x = TRANSFORMS[name], LAYOUTS[layout]
    uses = {
        "an argument": (lambda z: written(transform(z)), x),
        "closed over": (lambda z: written(transform(x)) * z, 2.0),
        "both": (lambda z: written(transform(x * z)), 2.0),
    }
    before = x.copy()
    for use, (f, argument) in uses.items():
        program = tape.compile(f)
        for _ in range(2):
            np.testing.assert_allclose(program(argument), f(argument), rtol=1e-9, err_msg=use)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_results_are_in_c_order_and_of_their_own(name):
    for x in LAYOUTS.values():
        found = TRANSFORMS[name](x)
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert not np.shares_memory(found, x)


def test_a_value_that_is_written_to_leaves_the_tape_as_it_was():
    x = np.ones(3)
    value, pullback = tape.vjp(np.exp, x)
    value += 1.0
    np.testing.assert_allclose(pullback(np.ones(3))[0], np.exp(x), rtol=1e-15)
    value, linear_map = tape.linearize(np.exp, x)
    value += 1.0
    np.testing.assert_allclose(linear_map(np.ones(3)), np.exp(x), rtol=1e-15)


AUXILIARY = {
    "grad": lambda f, p: tape.grad(f, has_aux=True)(p)[1],
    "value_and_grad": lambda f, p: tape.value_and_grad(f, has_aux=True)(p)[0][1],
    "vjp": lambda f, p: tape.vjp(f, p, has_aux=True)[2],
    "jvp": lambda f, p: tape.jvp(f, (p,), (p,), has_aux=True)[2],
    "cond": lambda f, p: tape.cond(True, lambda p: f(p)[1], lambda p: -p, p),
    "switch": lambda f, p: tape.switch(0, [lambda p: f(p)[1]], p),
}


@pytest.mark.parametrize("name", AUXILIARY)
def test_auxiliary_data_and_results_of_branches_share_no_memory_with_arguments(name):
    for part in (lambda p: p, lambda p: p[1:], lambda p: p.T[0]):
        p = np.asfortranarray(np.arange(6.0).reshape(2, 3))
        found = AUXILIARY[name](lambda p, part=part: (np.sum(p**2), part(p)), p)
        np.testing.assert_array_equal(found, part(p))
        assert found.flags.c_contiguous
        found -= 1
        np.testing.assert_array_equal(p, np.arange(6.0).reshape(2, 3))
