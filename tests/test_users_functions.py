"""Functions of users that operations call: what they keep is copied, what they write to is an error."""

import ctypes
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.op import Op
from tests.oracles import assert_close, assert_same

X = np.array([1.0, 2.0, 3.0])
KEPT = np.array([1.0, 2.0, 3.0])


def kept(*_: object) -> np.ndarray:
    return KEPT


def kept_part(*_: object) -> np.ndarray:
    return KEPT[:]


def in_place(g: np.ndarray, *_: object) -> np.ndarray:
    g *= 2
    return g


def in_operand(g: np.ndarray, out: np.ndarray, x: np.ndarray) -> np.ndarray:
    x *= 2
    return g


def in_result(g: np.ndarray, out: np.ndarray, x: np.ndarray) -> np.ndarray:
    out *= 2
    return g


@pytest.mark.parametrize("rule", [kept, kept_part, lambda *_: [KEPT], lambda *_: (KEPT[:],)])
@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_what_a_rule_keeps_is_not_written_to(mode, rule):
    """Neither by sweeps, which add to what rules return, nor by the caller, who gets it."""
    if type(rule(0)) is np.ndarray:
        given = {mode: [rule, rule]}
    elif mode == "vjp":
        given = {mode: lambda g, *rest: [*rule(g), *rule(g)]}
    else:
        given = {mode: lambda tangents, *rest: rule(tangents)[0]}
    op = Op(lambda x, y: x + y, name="mine", **given)
    for _ in range(2):
        if mode == "vjp":
            found = tape.grad(lambda x, y: np.sum(op(x, y) + op(y, x)), (0, 1))(X, 2 * X)
            assert_same(found[0], 2 * KEPT)
            found = [tape.grad(lambda x: np.sum(op(x, X)))(X)]
        else:
            _, moved = tape.jvp(lambda x: op(x, x), (X,), (X,))
            assert_same(moved, 2 * KEPT if type(given["jvp"]) is list else KEPT)
            found = [tape.jvp(lambda x: op(x, X), (X,), (X,))[1]]
        for array in found:
            assert_same(array, KEPT)
            array *= 0
        assert KEPT.tolist() == [1, 2, 3]


def buffers_of(kind):
    """A buffer of three numbers, and functions that return it, or what shares its memory."""
    if kind == "of C":
        memory = (ctypes.c_double * 3)()
        return np.ctypeslib.as_array(memory), lambda buffer: np.ctypeslib.as_array(memory)
    if kind == "of Python":
        memory = bytearray(24)
        return np.frombuffer(memory), lambda buffer: np.frombuffer(memory)
    ways = {
        "itself": lambda buffer: buffer,
        "a view": lambda buffer: buffer[:],
        "by a memoryview": lambda buffer: np.asarray(memoryview(buffer)),
        "by strides": lambda buffer: np.lib.stride_tricks.as_strided(buffer, (3,)),
    }
    return np.zeros(3), ways[kind]


BUFFERS = ["itself", "a view", "by a memoryview", "by strides", "of C", "of Python"]


@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("how", ["forward", "vjp", "jvp", "custom_vjp", "custom_jvp"])
def test_a_buffer_that_a_function_uses_again_holds_one_result_at_a_time(how, kind):
    buffer, returned = buffers_of(kind)

    def filled(values):
        buffer[:] = values
        return returned(buffer)

    square = lambda x: x * x  # noqa: E731
    declared = {
        "forward": lambda: Op(lambda x: filled(x * x), name="mine", vjp=[lambda g, out, x: 2 * g * x]),
        "vjp": lambda: Op(square, name="mine", vjp=[lambda g, out, x: filled(2 * g * x)]),
        "jvp": lambda: Op(square, name="mine", jvp=[lambda t, out, x: filled(2 * t * x)]),
        "custom_vjp": lambda: tape.custom_vjp(square),
        "custom_jvp": lambda: tape.custom_jvp(square),
    }
    op = declared[how]()
    if how == "custom_vjp":
        op.defvjp(lambda g, out, x: filled(2 * g * x))
    if how == "custom_jvp":
        op.defjvp(lambda tangents, out, x: filled(2 * tangents[0] * x))
    f = lambda x, y: op(x) * op(y)  # noqa: E731
    expected = 2 * X * (2 * X) ** 2, 2 * X**2 * (2 * X)
    if how in ("jvp", "custom_jvp"):
        value, moved = tape.jvp(f, (X, 2 * X), (X, X))
        assert_close(moved, (expected[0] + expected[1]) * X)
    else:
        value, pull = tape.vjp(f, X, 2 * X)
        for found, slope in zip(pull(np.ones(3)), expected, strict=True):
            assert_close(found, slope)
    assert_close(value, X**2 * (2 * X) ** 2)


@pytest.mark.parametrize(
    ("how", "kind"), [("forward", list), ("forward", tuple), ("vjp", list), ("vjp", tuple), ("jvp", tuple)]
)
def test_several_buffers_in_one_collection_that_a_function_keeps(how, kind):
    kept = kind([np.zeros(3), np.zeros(3)])

    def filled(*values):
        for buffer, value in zip(kept, values, strict=True):
            buffer[:] = value
        return kept

    if how == "vjp":
        op = Op(lambda x, y: x * y, name="mine", vjp=lambda g, out, x, y: filled(g * y, g * x))
        found = tape.grad(lambda *v: np.sum(op(v[0], v[1]) + op(v[2], v[3])), (0, 1, 2, 3))(
            X, 2 * X, 3 * X, 4 * X
        )
        for one, expected in zip(found, (2 * X, X, 4 * X, 3 * X), strict=True):
            assert_close(one, expected)
        return
    both = lambda x: (np.sin(x), np.cos(x))  # noqa: E731
    slopes = lambda t, out, x: (t * np.cos(x), -t * np.sin(x))  # noqa: E731
    op = Op(
        (lambda x: filled(*both(x))) if how == "forward" else both,
        name="mine",
        jvp=[(lambda *given: filled(*slopes(*given))) if how == "jvp" else slopes],
    )
    f = lambda x: op(x)[0] * op(2 * x)[1]  # noqa: E731
    value, moved = tape.jvp(f, (X,), (X,))
    assert_close(value, np.sin(X) * np.cos(2 * X))
    assert_close(moved, X * (np.cos(X) * np.cos(2 * X) - 2 * np.sin(X) * np.sin(2 * X)))


@pytest.mark.parametrize("size", [3, 3000])
@pytest.mark.parametrize("rule", [in_place, in_operand, in_result])
def test_a_rule_that_writes_to_what_it_is_given_is_an_error(rule, size):
    x = np.linspace(1.0, 2.0, size)
    op = Op(lambda x: x * x, name="mine", vjp=[rule])
    with pytest.raises(errors.InPlaceError, match="the vjp rule of mine wrote to an array"):
        tape.grad(lambda x: np.sum(np.sin(op(x) + x)))(x)
    if rule is not in_place:
        op = Op(lambda x: x * x, name="mine", jvp=[rule])
        with pytest.raises(errors.InPlaceError, match="the jvp rule of mine wrote to an array"):
            tape.jvp(lambda x: np.sum(op(x) + x), (x,), (x,))


@pytest.mark.parametrize("run", [lambda f: f, tape.grad, tape.compile])
def test_a_forward_function_that_writes_to_its_operand_is_an_error(run):
    def forward(x: Any) -> Any:
        x *= 2
        return x.sum()

    op = Op(forward, name="mine", vjp=[lambda g, out, x: g * np.full_like(x, 2.0)])
    with pytest.raises(errors.InPlaceError, match="the forward function of mine wrote to an array"):
        run(lambda x: op(3 * x))(X)


@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[:], lambda x: x[::-1]])
@pytest.mark.parametrize("run", [tape.compile, lambda f: lambda x: tape.value_and_grad(f)(x)[0]])
def test_a_result_that_shares_memory_with_an_operand_is_a_copy(run, part):
    """Writing to one then leaves the other alone, also where nothing is recorded."""
    op = Op(part, name="mine", vjp=[lambda g, out, x: part(g)])

    def f(x: Any) -> Any:
        u = 2 * x
        a = op(u)
        a *= x
        u += x
        return np.sum(a * KEPT) + np.sum(u)

    assert_close(run(f)(X), f(X))
    assert_close(f(X), np.sum(part(2 * X) * X * KEPT) + np.sum(3 * X))
