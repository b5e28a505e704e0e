"""Arguments by name: wherever a function takes one, it is the same as by position, with and without Vars."""

import inspect
import itertools
from types import ModuleType

import numpy as np
import pytest

import tape
import tape.numpy
from tape import Var, errors, ops
from tests import plain
from tests.op_table import TWO_OF_EACH, by_operation, lightly
from tests.oracles import assert_same, record


def by_name(function):
    """A function that is called with the names of all arguments that may have one."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C
        return function
    kinds = {name: one.kind for name, one in signature.parameters.items()}
    if inspect.Parameter.VAR_POSITIONAL in kinds.values():
        return function

    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        named = {
            k: v for k, v in bound.arguments.items() if kinds[k] is inspect.Parameter.POSITIONAL_OR_KEYWORD
        }
        others = {k: v for k, v in bound.kwargs.items() if k not in named}
        return function(*bound.args[: len(bound.arguments) - len(named) - len(others)], **named, **others)

    return call


class ByName:
    """A namespace whose functions are called by the names of their arguments."""

    def __init__(self, namespace):
        self._namespace = namespace

    def __getattr__(self, name):
        found = getattr(self._namespace, name)
        if isinstance(found, ModuleType):
            return ByName(found)
        return by_name(found) if callable(found) and not isinstance(found, type) else found


class NumpyOrPlain:
    """`tape.numpy`, and what users take from elsewhere."""

    def __getattr__(self, name):
        return getattr(tape.numpy, name, None) or getattr(plain, name)


SPACES = {"ops": ops, "numpy": plain, "tape.numpy": NumpyOrPlain()}
BY_POSITION = {
    "imag", "iscomplex", "isneginf", "isposinf", "isreal", "real", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
}  # fmt: skip
"""Operations that take their operand by position alone."""


@by_operation(lightly(TWO_OF_EACH))
def test_names_and_positions_are_the_same(case):
    args = case.args()
    expected, _, _ = record(case.on(ops), args)
    for title, space in SPACES.items():
        if title != "ops" and (case.op in BY_POSITION or not plain.has(case.op)):
            continue
        found, _, _ = record(case.on(ByName(space)), args)
        assert [node.op for node in found.nodes] == [node.op for node in expected.nodes], title
        for one, other in zip(found.nodes, expected.nodes, strict=True):
            assert_same(one.value, other.value)


CREATION = {
    # arguments by name, of which each is a Var in turn; how NumPy is asked for the same
    "arange stop": ("arange", {"stop": 3.5}),
    "arange start": ("arange", {"start": 0.5, "stop": 3.5}),
    "arange step": ("arange", {"start": 0.5, "stop": 3.5, "step": 0.7}),
    "arange backwards": ("arange", {"start": 3.0, "stop": 0.5, "step": -0.5}),
    "arange empty": ("arange", {"start": 3.0, "stop": 0.5}),
    "linspace": ("linspace", {"start": 0.5, "stop": 2.0, "num": 4}),
    "linspace open": ("linspace", {"start": 0.5, "stop": 2.0, "num": 4, "endpoint": False}),
    "logspace": ("logspace", {"start": 0.5, "stop": 2.0, "num": 3, "base": 3.0}),
    "geomspace": ("geomspace", {"start": 0.5, "stop": 2.0, "num": 4}),
    "full": ("full", {"shape": (2, 3), "fill_value": 1.5}),
    "full of an array": ("full", {"shape": (2, 3), "fill_value": np.arange(3.0)}),
    "full of nothing": ("full", {"shape": (0, 3), "fill_value": 1.5}),
    "full_like": ("full_like", {"a": np.ones((2, 2)), "fill_value": 2}),
    "zeros_like": ("zeros_like", {"a": np.ones((2, 2))}),
    "ones_like": ("ones_like", {"a": np.zeros((0, 2))}),
    "empty_like": ("empty_like", {"prototype": np.zeros((0, 2))}),
    "array": ("array", {"object": np.arange(3.0)}),
    "array of ndmin": ("array", {"object": np.arange(3.0), "ndmin": 2}),
    "array of nothing": ("array", {"object": np.zeros((0, 2)), "copy": True}),
    "array of dtype": ("array", {"object": np.arange(3.0), "dtype": np.float32}),
    "diag": ("diag", {"v": np.arange(3.0), "k": 1}),
    "diagflat": ("diagflat", {"v": np.arange(3.0), "k": -1}),
    "vander": ("vander", {"x": np.arange(3.0), "N": 2}),
    "tri": ("tril", {"m": np.ones((2, 3)), "k": 1}),
    "copy": ("copy", {"a": np.ones((2, 3))}),
}
BY_POSITION_ALONE = {"array", "empty_like"}


def with_one_traced(kwargs, trace):
    """The arguments with each float among them a param in turn."""
    for name, value in kwargs.items():
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == float):
            yield name, kwargs | {name: trace.param(value)}


@pytest.mark.parametrize("name", CREATION)
def test_arrays_are_made_of_vars_by_name_and_by_position(name):
    title, kwargs = CREATION[name]
    function, expected = getattr(tape.numpy, title), getattr(np, title)(**kwargs)
    for traced, given in with_one_traced(kwargs, tape.Trace()):
        made = {} if title in BY_POSITION_ALONE else {"by name": function(**given)}
        positions = itertools.takewhile(lambda key: key not in ("ndmin", "copy", "endpoint", "base"), given)
        first = [given[key] for key in positions]
        if title not in ("arange",) or "start" in given:
            made["by position"] = function(*first, **dict(list(given.items())[len(first) :]))
        for how, value in made.items():
            plain_value = value.value if isinstance(value, Var) else value
            assert (plain_value.shape, plain_value.dtype) == (expected.shape, expected.dtype), (traced, how)
            if title != "empty_like":
                np.testing.assert_allclose(plain_value, expected, rtol=1e-14, err_msg=f"{traced} {how}")


def test_there_is_no_device_but_the_cpu():
    trace = tape.Trace()
    x = trace.param(np.ones(3))
    calls = {
        "arange": lambda **k: tape.numpy.arange(x[0], 3.0, **k),
        "full": lambda **k: tape.numpy.full((2,), x[0], **k),
        "zeros_like": lambda **k: tape.numpy.zeros_like(x, **k),
        "ones_like": lambda **k: tape.numpy.ones_like(x, **k),
        "array": lambda **k: tape.numpy.asarray(x, **k),
    }
    for call in calls.values():
        for device in (None, "cpu"):
            assert isinstance(call(device=device), (Var, np.ndarray))
        with pytest.raises((errors.OptionError, ValueError), match=r"(?i)device"):
            call(device="gpu")
