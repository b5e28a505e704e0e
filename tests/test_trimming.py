"""Loops of which only early steps are read have no later ones, and compute what they did."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.core.op import Op
from tape.transforms import _record
from tape.transforms._shorten import shortened

X = np.random.default_rng(0).normal(size=3)
ROWS = np.random.default_rng(1).normal(size=(20, 3)) * 0.3


def scanned(x, rows=ROWS, **options):
    return tape.scan(lambda h, row: (np.sin(h) + row, h * row), x, rows, **options)


@pytest.fixture
def lengths(monkeypatch):
    """How many steps the loops have on the tapes of which programs hold the sweep."""
    found = []

    def noting(trace, params, roots, notes):
        moved = shortened(trace, params, roots, notes)
        found.extend(node.attrs["steps"].length for node in trace.nodes if "steps" in node.attrs)
        return moved

    monkeypatch.setattr(_record, "shortened", noting)
    return found


READ = {
    "an element": (lambda h, ys: np.sum(ys[3]), 4),
    "a slice": (lambda h, ys: np.sum(ys[:5] ** 2), 5),
    "a slice in strides": (lambda h, ys: np.sum(ys[1:9:3]), 8),
    "several": (lambda h, ys: np.sum(ys[2] * ys[11]) + ys[4, 1], 12),
    "all but the last": (lambda h, ys: np.sum(ys[:-1]), 20),
    "the last one": (lambda h, ys: np.sum(ys[19]), 20),
    "from the end": (lambda h, ys: np.sum(ys[-17]), 20),
    "backwards": (lambda h, ys: np.sum(ys[4::-1]), 20),
    "the state, too": (lambda h, ys: np.sum(ys[3]) + np.sum(h), 20),
    "all": (lambda h, ys: np.sum(ys * ys), 20),
    "one, and all": (lambda h, ys: np.sum(ys[3]) + np.sum(ys), 20),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_decides(name, lengths):
    read, length = READ[name]

    def f(x, rows):
        return read(*scanned(x, rows))

    compiled = tape.compile(tape.grad(f, (0, 1)))
    for scale in (1.0, 0.7):
        for a, b in zip(compiled(X * scale, ROWS), tape.grad(f, (0, 1))(X * scale, ROWS), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    assert lengths[0] == length


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: tape.grad(lambda x: np.sum(tape.grad(f)(x) * X)),
        tape.hessian,
        lambda f: lambda x: tape.jvp(tape.grad(f), (x,), (X,))[1],
        lambda f: lambda x: tape.vmap(tape.grad(f))(np.stack([x, x + 1])),
    ],
    ids=["grad of grad", "hessian", "jvp of grad", "vmap of grad"],
)
def test_in_other_transforms(transform):
    g = transform(lambda x: np.sum(scanned(x)[1][:6] ** 2))
    np.testing.assert_allclose(tape.compile(g)(X), g(X), rtol=1e-12)


def test_one_of_two_loops(lengths):
    def f(x):
        h, ys = scanned(x)
        return np.sum(scanned(h)[1][2]) + ys[7, 0]

    np.testing.assert_allclose(tape.compile(tape.grad(f))(X), tape.grad(f)(X), rtol=1e-12)
    assert lengths == [20, 3]


def test_reversed_loops_stay(lengths):
    def f(x):
        return np.sum(scanned(x, reverse=True)[1][3])

    np.testing.assert_allclose(tape.compile(tape.grad(f))(X), tape.grad(f)(X), rtol=1e-12)
    assert 20 in lengths


@pytest.mark.parametrize("is_nested", [False, True])
def test_loops_that_run_python_stay(lengths, is_nested):
    """An operation without instructions may do something in each step that somebody notices."""
    noted = Op(np.sin, vjp=[lambda g, out, x: g * np.cos(x)], name="noted", data_dependent=False)

    def step(h, row):
        h = tape.fori_loop(0, 2, lambda i, z: noted(z) * 0.5, h) if is_nested else noted(h)
        return h + row, h * row

    def f(x):
        return np.sum(tape.scan(step, x, ROWS)[1][3])

    np.testing.assert_allclose(tape.compile(tape.grad(f))(X), tape.grad(f)(X), rtol=1e-12)
    assert 4 not in lengths


def test_loops_that_draw_random_numbers_draw_as_many():
    """The state of the generator is read after the loop, in the same function and in the next call."""

    def f(x, rng):
        ys = tape.scan(lambda h, row: (h + row * rng.normal(), h), x, ROWS)[1]
        return np.sum(ys[2] ** 2) * (1 + rng.random())

    found, expected = (
        [g(X, rng) for _ in range(3)]
        for g, rng in ((h, tape.random.default_rng(0)) for h in (tape.compile(tape.grad(f)), tape.grad(f)))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
