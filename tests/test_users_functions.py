"""Functions of users that operations call: what they keep is copied, what they write to is an error."""

import ctypes
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core.op import Op
from tape.core.users_functions import _content, _is_of, _may_write, checked_rules, own_parts, unwritten
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


# ---- piece by piece ------------------------------------------------------------------------------------


def fresh(kind):
    """What a function returns that holds on to nothing, and whether it need not be copied."""
    return {
        "array": lambda: np.ones(3),
        "part": lambda: np.ones(4)[1:],
        "reversed": lambda: np.ones(3)[::-1],
        "part of a part": lambda: np.ones(5)[1:][1:],
        "kept": lambda: KEPT,
        "kept part": lambda: KEPT[1:],
        "of bytes": lambda: np.frombuffer(bytes(24)),
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "is_own"),
    [
        ("array", True),
        ("part", True),
        ("reversed", True),
        ("part of a part", True),
        ("kept", False),
        ("kept part", False),
        ("of bytes", False),
    ],
)
def test_only_what_something_else_holds_is_copied(kind, is_own):
    found = fresh(kind)
    memory = found.__array_interface__["data"][0]
    own = own_parts(found)
    assert (own.__array_interface__["data"][0] == memory) is is_own
    assert own.flags.owndata or is_own
    assert_same(own, fresh(kind))


@pytest.mark.parametrize("kind", [list, tuple])
def test_parts_of_what_a_function_returns_are_copied_apart(kind):
    found = kind([np.ones(3), KEPT, None, 2.0])
    own = own_parts(found)
    assert type(own) is kind
    assert own[0] is found[0] or own[0].flags.owndata
    assert own[1] is not KEPT
    assert_same(own[1], KEPT)
    assert own[2:] == kind([None, 2.0])
    assert own_parts(3.5) == 3.5


def test_a_part_that_one_other_name_holds_is_copied():
    buffer = np.ones(3)
    found = [buffer, np.zeros(3)]
    address = found[1].__array_interface__["data"][0]
    own = own_parts(found)
    assert own[0] is not buffer
    assert own[1].__array_interface__["data"][0] == address


def test_parts_that_nothing_holds_are_not_copied():
    found = [np.ones(3), np.ones(4)]
    addresses = [part.__array_interface__["data"][0] for part in found]
    own = own_parts(found)
    assert [part.__array_interface__["data"][0] for part in own] == addresses
    holder = found
    own = own_parts(found)
    assert all(part is not one for part, one in zip(own, holder, strict=True))


CODE = {
    "x + 1": False,
    "x[0]": False,
    "x.T": False,
    "(x, y)": False,
    "x if y else -x": False,
    "np.sin(x)": True,
    "x.sum()": True,
    "y(x)": True,
}


@pytest.mark.parametrize("expression", CODE)
def test_expressions_that_may_write(expression):
    scope = {}
    exec(f"def f(x, y):\n    return {expression}", {"np": np}, scope)
    assert _may_write(scope["f"].__code__) is CODE[expression]


@pytest.mark.parametrize(
    "statement",
    ["x[0] = 1", "x.flat = 1", "x += 1", "x *= y", "x @= y", "x **= 2", "x >>= 1", "del x[0]", "del x.a",
     "x[:] = y"],
)  # fmt: skip
def test_statements_that_write(statement):
    scope = {}
    exec(f"def f(x, y):\n    {statement}\n    return x", {}, scope)
    assert _may_write(scope["f"].__code__)


def test_context_managers_may_write():
    scope = {}
    exec("def f(x, y):\n    with x: return y", {}, scope)
    assert _may_write(scope["f"].__code__)


def test_adjoints_and_views_of_them_are_those_of_the_caller():
    whole = np.ones(6)
    part, other = whole[:3], np.ones(3)
    for adjoint, found, expected in (
        (whole, whole, True),
        (whole, whole[1:], True),
        (part, whole[3:], True),
        (part, part, True),
        (whole, other, False),
        (other, np.ones(3), False),
        (whole, other[1:], False),
        (whole, [whole], False),
        ([whole], whole, False),
        (1.0, np.float64(1.0), False),
    ):
        assert _is_of(adjoint, found) is expected


@pytest.mark.parametrize("size", [512, 513])
def test_small_arrays_are_compared_as_a_whole(size):
    """Of four thousand bytes; of a larger one a write may go unnoticed."""
    array = np.arange(float(size))
    content = _content(array)
    assert (len(content) == array.nbytes) is (size == 512)
    array[:] = 0
    assert _content(array) != content


@pytest.mark.parametrize("nest", [lambda x: x, lambda x: [x], lambda x: (1, [None, x])])
def test_arrays_in_collections_may_not_be_written_to(nest):
    x = np.ones(3)

    def writes(first, given, **attrs):
        np.negative(x, out=x)
        return first

    with pytest.raises(
        errors.InPlaceError, match=r"what it was wrote to an array that it was given, float64\[3\]"
    ):
        unwritten(writes, "what it was", (np.ones(2), nest(x)), {"attr": 1})
    assert unwritten(lambda x, attr: abs(x) + attr, "a", (x,), {"attr": 1}).tolist() == [2.0] * 3
    assert unwritten(np.negative, "a ufunc", (x,), {"out": x}) is x


def test_rules_of_this_library_are_not_wrapped():
    ours, mine = ops.sin, lambda g, *rest: g
    assert checked_rules(None, "vjp", "mine") is None
    assert checked_rules(ours, "vjp", "mine") is ours
    given = [ours, None]
    assert checked_rules(given, "vjp", "mine") is given
    checked = checked_rules([mine, None, ours], "vjp", "mine")
    assert checked[0] is not mine
    assert checked[1:] == [None, ours]
    assert checked_rules(checked[0], "vjp", "other") is checked[0]
    assert checked_rules(mine, "jvp", "mine")._what == "the jvp rule of mine"
