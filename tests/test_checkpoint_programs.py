"""`checkpoint` in programs: rows where it can be, which are computed again only where that saves memory."""

from typing import Any

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.scipy import integrate, optimize
from tape.transforms import checkpoint
from tests.oracles import assert_close, assert_same
from tests.test_checkpoint import A, V, X
from tests.tiers import takes_long


def callbacks(compiled: Any) -> list[str]:
    """The operations that programs of a function call in Python."""
    return [name for program in compiled.programs.values() for name in program.explain().callbacks]


def tree_block(p: Any) -> Any:
    return {"a": np.sin(p["x"]) * p["w"], "b": (np.sum(p["x"]) + 1.0, "word", 2.0)}


IN_PROGRAMS = {
    "vector": lambda x, w: np.sum(checkpoint(lambda x, w: np.tanh(np.tanh(x * w) @ A))(x, w)),
    "closure": lambda x, w: np.sum(checkpoint(lambda x: np.sin(x * w) * w)(x * w)),
    "tree": lambda x, w: (lambda out: np.sum(out["a"]) * out["b"][0] * out["b"][2])(
        checkpoint(tree_block)({"x": x, "w": w})
    ),
    "nested": lambda x, w: np.sum(checkpoint(lambda x: checkpoint(lambda y: np.sin(y) * x)(x * w))(x)),
    "scan inside": lambda x, w: checkpoint(
        lambda x: tape.scan(lambda c, _: (np.tanh(c * w), None), x, length=5)[0]
    )(x)[0],
    "while inside": lambda x, w: checkpoint(
        lambda x: tape.while_loop(lambda x: np.sum(x * x) > 0.5, lambda x: 0.9 * x * np.cos(w), x)
    )(x)[1],
    "in a scan": lambda x, w: np.sum(
        tape.scan(lambda c, row: (checkpoint(lambda c: np.tanh(c * w + row))(c), None), x, A)[0]
    ),
    "derivative inside": lambda x, w: np.sum(checkpoint(tape.grad(lambda x: np.sum(np.sin(x * w))))(x)),
}
COMPILED = {
    "value": lambda f: f,
    "grad": lambda f: tape.grad(f, (0, 1)),
    "hessian": lambda f: lambda x, w: tape.hessian(lambda x: f(x, w))(x),
    "jvp of grad": lambda f: lambda x, w: tape.jvp(tape.grad(f), (x, w), (w, x))[1],
    "jacobian": lambda f: lambda x, w: tape.jacobian(lambda w: f(x, w) * w, mode="fwd")(w),
    "taylor": lambda f: lambda x, w: tape.taylor(lambda x: f(x, w), x, w, 2),
}


@takes_long
@pytest.mark.parametrize("derive", COMPILED)
@pytest.mark.parametrize("name", IN_PROGRAMS)
def test_checkpoints_are_rows_of_a_program_and_the_same(name, derive):
    f = COMPILED[derive](IN_PROGRAMS[name])
    compiled = tape.compile(f)
    for x, w in ((X, V), (V, X), (0.5 * X, V)):
        for found, expected in zip(tree.flatten(compiled(x, w))[0], tree.flatten(f(x, w))[0], strict=True):
            assert_close(found, expected, 1e-12)
    assert callbacks(compiled) == []


def layers(wrap: Any, blocks: int, depth: int) -> Any:
    """The gradient of a network of blocks, compiled, and its program."""

    def block(x: Any, w: Any) -> Any:
        for _ in range(depth):
            x = np.tanh(x @ w)
        return x

    def f(w: Any, x: Any) -> Any:
        for _ in range(blocks):
            x = wrap(block)(x, w)
        return np.sum(x)

    compiled = tape.compile(tape.grad(f))
    w, x = np.eye(20) / 3, np.linspace(-1.0, 1.0, 2000).reshape(100, 20)
    compiled(w, x)
    (program,) = compiled.programs.values()
    return program, compiled(w, x)


def test_programs_compute_again_what_takes_memory():
    plain, expected = layers(lambda f: f, 6, 6)
    saved, found = layers(checkpoint, 6, 6)
    assert_close(found, expected, 1e-12)
    count = [
        sum(step.op == "vector_tanh" for step in program.plan.instructions) for program in (plain, saved)
    ]
    assert count == [36, 36 + 30] or count == [36, 72]  # the last block follows at once
    assert saved.explain().arena_bytes < 0.5 * plain.explain().arena_bytes


def test_programs_compute_nothing_again_that_saves_no_memory():
    plain, expected = layers(lambda f: f, 1, 1)
    saved, found = layers(checkpoint, 1, 1)
    assert_same(found, expected)
    assert len(saved) == len(plain)


def test_a_loop_keeps_no_values_of_a_checkpointed_step():
    def arena(wrap: Any) -> int:
        def f(w: Any) -> Any:
            step = wrap(lambda c: np.sin(np.cos(np.sin(np.cos(c * w)))))
            return np.sum(tape.scan(lambda c, _: (step(c), None), w, length=200)[0])

        compiled = tape.compile(tape.grad(f))
        compiled(np.ones(50))
        (program,) = compiled.programs.values()
        return program.explain().arena_bytes

    assert arena(checkpoint) < 0.4 * arena(lambda f: f)


def test_code_that_reads_numbers_stays_a_callback():
    reads = checkpoint(lambda x: x * 2 if x[0] > 0 else x * 3)
    compiled = tape.compile(tape.grad(lambda x: np.sum(reads(x) ** 2)))
    for x in (X, -X, X):
        assert_close(compiled(x), (8 if x[0] > 0 else 18) * x)
    assert set(callbacks(compiled)) == {"checkpoint(<lambda>)"}
    notes = [note for program in compiled.programs.values() for note in program.notes]
    assert any("runs in Python: the truth of" in note for note in notes)


def test_code_in_a_callback_may_read_what_it_did_not_read_at_first():
    def f(x, a, b):
        return np.mean(checkpoint(lambda u: np.sin(u * (b if np.sum(x) + a > -0.3 else a + 1)))(x))

    compiled = tape.compile(f)
    for a in (-2.0, 0.0, -3.0, 1.0):
        assert compiled(X, a, -0.25) == pytest.approx(f(X, a, -0.25), rel=1e-14)
    assert set(callbacks(compiled)) == {"checkpoint(<lambda>)"}


CALLING_BACK = {
    "checkpoint": lambda g, x: tape.checkpoint(g)(x),
    "checkpoint_loop": lambda g, x: tape.checkpoint_loop(lambda s, _: g(s), x, 3, 2),
    "quad": lambda g, x: integrate.quad(lambda t: g(t * x[0]), 0, 1)[0],
    "odeint": lambda g, x: integrate.odeint(lambda y, t: g(y), x, np.array([0.0, 1.0]))[-1],
    "root": lambda g, x: optimize.root(lambda z: z - 0.3 * g(z) - x, x).x,
    "brentq": lambda g, x: optimize.brentq(lambda z: z - 0.3 * g(z) - x[0], -10.0, 10.0),
    "minimize": lambda g, x: optimize.minimize(lambda z: np.sum((z - 0.3 * g(z) - x) ** 2), x).x,
}


@takes_long
@pytest.mark.parametrize("name", CALLING_BACK)
def test_functions_that_are_called_back_take_the_branch_of_each_call(name):
    def f(x, b):
        half = b / 2
        g = lambda z: np.sin(z * (half if b > 0.3 else b + 0.5))  # noqa: E731
        return np.sum(CALLING_BACK[name](g, x))

    gradient = tape.grad(f)
    compiled = tape.compile(gradient)
    for b in (0.2, 0.4, 0.6, 0.25, 0.5):
        assert_close(compiled(V, b), gradient(V, b), 1e-6)


def test_texts_of_numbers_are_those_of_each_call():
    compiled = tape.compile(checkpoint(lambda x: x * float(f"{x:.1f}")))
    for x in (1.04, 2.16, 1.04):
        assert compiled(x) == x * round(x, 1)


def test_a_checkpoint_in_a_program_may_not_write_to_its_arguments_either():
    def written(x: Any) -> Any:
        x += 1.0
        return x * x

    with pytest.raises(errors.InPlaceError, match="checkpoint"):
        tape.compile(tape.grad(lambda x: np.sum(checkpoint(written)(x))))(X)


def test_programs_with_checkpoints_are_saved(tmp_path):
    program, expected = layers(checkpoint, 4, 4)
    program.save(tmp_path / "layers.tape")
    w, x = np.eye(20) / 3, np.linspace(-1.0, 1.0, 2000).reshape(100, 20)
    assert_same(tape.load(tmp_path / "layers.tape")(w, x), expected)
