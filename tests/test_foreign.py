"""Arrays that are not NumPy's own: refused where their arithmetic differs, left to compute where they can."""

import operator
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import tape
from tape import errors
from tests.oracles import assert_same

X = np.array([[1.0, 2.0], [3.0, 4.0]])


class Plain(np.ndarray):
    """Adds nothing to the arithmetic."""


class Scaled(np.ndarray):
    """Multiplies in its own way."""

    def __mul__(self, other):
        return np.asarray(self) * other * 100.0


class Watched(np.ndarray):
    """Has the protocol of its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


def matrix(array):
    with warnings.catch_warnings(action="ignore", category=PendingDeprecationWarning):
        return np.matrix(array)


OWN = {
    "matrix": matrix,
    "masked": lambda a: np.ma.masked_array(a, a > 3),
    "an operator": lambda a: a.view(Scaled),
    "a protocol": lambda a: a.view(Watched),
}


def square(x):
    return x * x


def called_before(strange):
    compiled = tape.compile(square)
    compiled(X)
    return compiled(strange)


WAYS = {
    "param": lambda m: tape.Trace().param(m),
    "input": lambda m: tape.Trace().input(m),
    "set": lambda m: (lambda trace: trace.set(trace.param(X), m))(tape.Trace()),
    "grad": lambda m: tape.grad(lambda x: np.sum(x * x))(m),
    "another argument": lambda m: tape.grad(lambda x, y: np.sum(tape.ops.multiply(x, y)))(X, m),
    "closed over": lambda m: tape.grad(lambda x: np.sum(tape.ops.matmul(x, m)))(X),
    "no Var at all": lambda m: tape.ops.matmul(m, X),
    "jvp": lambda m: tape.jvp(square, (m,), (X,)),
    "tangent": lambda m: tape.jvp(square, (X,), (m,)),
    "cotangent": lambda m: tape.vjp(square, X)[1](m),
    "hvp": lambda m: tape.hvp(lambda x: np.sum(x**3))(X, m),
    "linearize": lambda m: tape.linearize(square, X)[1](m),
    "compile": lambda m: tape.compile(square)(m),
    "compile, later": called_before,
    "constant of a program": lambda m: tape.compile(lambda x: tape.ops.multiply(x, m))(X),
    "result of an Op": lambda m: tape.Op(lambda x: m, name="mine", vjp=[lambda g, out, x: g])(X),
}


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("way", WAYS)
def test_an_array_with_arithmetic_of_its_own_is_refused(way, own):
    with pytest.raises((errors.DTypeError, errors.SeedError), match=r"masked array|its own"):
        WAYS[way](OWN[own](X))


@pytest.mark.parametrize("own", ["matrix", "masked"])
def test_operators_refuse_it_on_both_sides(own):
    trace = tape.Trace()
    x, strange = trace.param(X), OWN[own](X)
    calls = (lambda: x * strange, lambda: strange * x, lambda: np.multiply(x, strange), lambda: x[strange])
    for call in calls:
        with pytest.raises(errors.TapeError, match=r"masked array|its own|about to become a plain array"):
            call()
    assert len(trace) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda path: X.view(Plain),
        lambda path: X.view(np.recarray),
        lambda path: np.memmap(path, float, "w+", shape=(2, 2)),
    ],
)
def test_a_subclass_with_the_arithmetic_of_arrays_is_an_array(make, tmp_path):
    array = make(tmp_path / "numbers")
    array[...] = X
    gradient = tape.grad(lambda x: np.sum(x**3))
    assert_same(gradient(array), 3 * X**2)
    assert_same(tape.compile(gradient)(array), 3 * X**2)
    assert_same(tape.grad(lambda x: np.sum(array * x))(np.ones((2, 2))), X)
    assert_same(tape.jvp(square, (X,), (array,))[1], 2 * X * X)


# ---- operators leave it to the other operand -----------------------------------------------------


class Quantity:
    """A number with a unit, as unit libraries have them."""

    __array_ufunc__ = None

    def __radd__(self, other):
        return "computed by Quantity"

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __rmatmul__ = __rmod__ = __rfloordiv__ = __radd__
    __rdivmod__ = __rlshift__ = __rrshift__ = __rand__ = __ror__ = __rxor__ = __radd__
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __radd__

    __hash__ = None


BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.matmul, operator.mod,
    operator.floordiv, divmod, operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow,
)  # fmt: skip


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("x", [np.arange(3.0), 2.0])
def test_the_other_operand_computes_if_it_asks_to(op, x):
    trace = tape.Trace()
    assert op(trace.param(x), Quantity()) == "computed by Quantity"
    assert len(trace) == 1


def test_an_operand_that_cannot_compute_either_is_pythons_error():
    class Mute:
        __array_ufunc__ = None

    trace = tape.Trace()
    x = trace.param(1.0)
    for call in (lambda: x + Mute(), lambda: Mute() + x):
        with pytest.raises(TypeError, match="unsupported operand"):
            call()


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.truediv, operator.pow, np.multiply])
@pytest.mark.parametrize("flip", [False, True])
def test_xarray_keeps_its_axes_and_the_derivative(op, flip):
    trace = tape.Trace()
    x = trace.param(np.array([1.0, 2.0, 3.0]))
    array = xr.DataArray([3.0, 2.0, 1.0], dims="time")
    out = op(array, x) if flip else op(x, array)
    assert isinstance(out, xr.DataArray)
    assert out.dims == ("time",)
    expected = tape.grad(lambda y: np.sum(op(array.values, y) if flip else op(y, array.values)))(x.value)
    assert_same(trace.backward_param_grads(np.sum(out.data))[0], expected)


TABLES = {
    "series": pd.Series,
    "series of another order": lambda a: pd.Series(a, index=[2, 0, 1]),
    "index": pd.Index,
    "frame": lambda a: pd.DataFrame({"a": a, "b": 2 * a, "c": a - 1}),
    "series of polars": pl.Series,
    "frame of polars": lambda a: pl.DataFrame({"a": a, "b": 2 * a, "c": a - 1}),
}


ARITHMETIC = [operator.add, operator.mul, operator.truediv, operator.pow, operator.matmul]


@pytest.mark.parametrize("op", ARITHMETIC)
@pytest.mark.parametrize("name", TABLES)
def test_tables_on_the_right_of_a_var_are_arrays(op, name):
    x, table = np.array([1.0, 2.0, 3.0]), TABLES[name](np.array([3.0, 2.0, 1.5]))
    expected = tape.grad(lambda y: np.sum(op(y, np.asarray(table))))(x)
    assert_same(tape.grad(lambda y: np.sum(op(y, table)))(x), expected)
    if "polars" not in name:
        assert_same(tape.compile(tape.grad(lambda y: np.sum(op(y, table))))(x), expected)


@pytest.mark.parametrize("op", ARITHMETIC)
@pytest.mark.parametrize("name", [name for name in TABLES if "polars" not in name])
def test_tables_on_the_left_of_a_var_are_arrays_but_for_products(op, name):
    x, table = np.array([1.0, 2.0, 3.0]), TABLES[name](np.array([3.0, 2.0, 1.5]))
    if op is operator.matmul and name != "index":
        with pytest.raises(errors.ConversionError):
            tape.grad(lambda y: np.sum(op(table, y)))(x)
    else:
        expected = tape.grad(lambda y: np.sum(op(np.asarray(table), y)))(x)
        assert_same(tape.grad(lambda y: np.sum(op(table, y)))(x), expected)


@pytest.mark.parametrize("op", ARITHMETIC)
def test_polars_on_the_left_of_a_var_raises_its_own_error(op):
    with pytest.raises((TypeError, ValueError)):
        op(pl.Series([3.0, 2.0, 1.5]), tape.Trace().param(np.ones(3)))


class Copying:
    """Becomes another array every time."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array.copy()


class Sharing(Copying):
    """Becomes the same array every time."""

    def __array__(self, dtype=None, copy=None):
        return self.array


USES = {
    "operator": lambda x, s: x * s,
    "function": lambda x, s: np.multiply(x, s),
    "choice": lambda x, s: np.where(x > 0, s, x),
    "product": lambda x, s: np.dot(x, s),
    "derivative": lambda x, s: tape.grad(lambda x: np.sum(x * s))(x),
    "list": lambda x, s: np.stack([x, x])[0] * s,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", [Copying, pl.Series], ids=["copying", "polars"])
def test_what_becomes_another_array_every_time_is_no_constant_of_a_program(use, make):
    array = np.array([1.0, 2.0, 3.0])
    thing = make(array)
    with pytest.raises(errors.ConversionError, match=r"whose numbers are copied.*np\.asarray\(\.\.\.\)"):
        tape.compile(lambda x: USES[use](x, thing))(np.ones(3))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", [Sharing, pd.Series, memoryview], ids=["sharing", "pandas", "memory"])
def test_what_shares_its_memory_is_read_anew(use, make):
    array = np.array([1.0, 2.0, 3.0])
    thing = make(array)
    compiled = tape.compile(lambda x: USES[use](x, thing))
    for last in (3.0, -1.0, np.nan):
        np.asarray(thing)  # must show
        array[2] = last
        assert_same(compiled(np.ones(3)), USES[use](np.ones(3), np.asarray(thing)))


def test_the_named_operation_takes_what_converts_to_an_array():
    x = np.array([1.0, 2.0, 3.0])
    assert_same(tape.grad(lambda y: np.sum(tape.ops.multiply(y, pd.Series(x))))(x), x)
