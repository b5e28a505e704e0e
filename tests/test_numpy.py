"""`tape.numpy` as a drop-in: whole programs with plain arrays and with Vars, and what it does by itself."""

import importlib
import inspect
import types
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
import tape.numpy as tnp
import tape.numpy.fft
import tape.numpy.linalg
import tape.numpy.random
from tape import errors
from tests.oracles import assert_close, assert_same, difference_gradient
from tests.tiers import rounds

MODULES = {"": (tnp, np), "linalg.": (tnp.linalg, np.linalg), "fft.": (tnp.fft, np.fft)}


@pytest.fixture
def trace():
    return tape.Trace()


@pytest.fixture
def x(trace):
    return trace.param(2.0)


@pytest.fixture
def v(trace):
    return trace.param(np.array([3.0, 1.0, 2.0]))


# ---- the names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", MODULES)
def test_every_public_name_is_there_and_takes_the_same_arguments(prefix):
    """Functions have NumPy's signature, or one that says the same; all else is the same object."""
    mine, theirs = MODULES[prefix]
    assert set(dir(mine)) == set(dir(theirs)) - {"__path__"}
    for name in theirs.__all__:
        here, there = getattr(mine, name), getattr(theirs, name)
        if isinstance(there, types.ModuleType):
            assert isinstance(here, types.ModuleType)
        elif not isinstance(there, (types.FunctionType, types.BuiltinFunctionType, type(np.sum))):
            assert here is there or name in ("ndarray", "vectorize", "ndenumerate", "r_", "c_")
        elif here is not there and name not in ("arange", "concatenate"):
            assert list(parameters(here)) == [p for p in parameters(there) if p in parameters(here)]
            assert set(parameters(there)) - set(parameters(here)) == set()


def test_modules_that_forward_names_are_no_packages_and_keep_no_special_names():
    with pytest.raises(ModuleNotFoundError, match="is not a package"):
        importlib.import_module("tape.numpy.linalg.lapack_lite")
    assert tnp.linalg.__all__ == np.linalg.__all__
    assert not {"__path__", "__all__"} & vars(tnp.linalg).keys()


def parameters(function: Any) -> dict[str, Any]:
    return {
        name: (p.kind, p.default)
        for name, p in inspect.signature(function).parameters.items()
        if name != "ndmax"  # which not every NumPy has
    }


def test_star_imports_what_numpy_has():
    scope: dict[str, Any] = {}
    exec("from tape.numpy import *", scope)
    assert scope.keys() >= set(np.__all__)
    assert scope["array"] is tnp.array


def test_names_that_do_not_exist_are_missed_as_in_numpy():
    for name in ("no_such_name", "in1d", "product"):  # two of them gone since NumPy 2
        with pytest.raises(AttributeError) as expected:
            getattr(np, name)
        with pytest.raises(AttributeError) as actual:
            getattr(tnp, name)
        assert str(actual.value) == str(expected.value)


def test_vars_are_arrays(x, v):
    assert isinstance(x, tnp.ndarray)
    assert isinstance(v, tnp.ndarray)
    assert isinstance(np.zeros(2), tnp.ndarray)
    assert not isinstance([1.0], tnp.ndarray)
    assert not isinstance(np.float64(1.0), tnp.ndarray)
    assert issubclass(np.ndarray, tnp.ndarray)
    assert type(tnp.ndarray((2, 3))) is np.ndarray
    assert tnp.ndarray.sum is np.ndarray.sum

    class Own(tnp.ndarray):
        pass

    assert type(Own(2)) is Own
    assert isinstance(Own(2), np.ndarray)
    assert not isinstance(np.zeros(2), Own)
    assert not issubclass(np.ndarray, Own)


# ---- plain arguments -----------------------------------------------------------------------------------

PLAIN = {
    "array": lambda np: np.array([[1, 2], [3, 4]], dtype=float, ndmin=3),
    "array of objects": lambda np: np.array([1, None]),
    "asarray": lambda np: np.asarray((1, 2.5)),
    "asanyarray": lambda np: np.asanyarray(np.rec.array([1, 2])),
    "ascontiguousarray": lambda np: np.ascontiguousarray(np.ones((2, 3)).T),
    "asfortranarray": lambda np: np.asfortranarray(2.0),
    "asarray_chkfinite": lambda np: np.asarray_chkfinite([1.0, 2.0]),
    "require": lambda np: np.require([1, 2], np.float32, ["F", "W"]),
    "full": lambda np: np.full((2, 3), [1, 2, 3], np.int8),
    "full of text": lambda np: np.full(2, "a"),
    "arange": lambda np: np.arange(1, 9, 2),
    "arange of one": lambda np: np.arange(4.0),
    "arange of one and more": lambda np: np.arange(5, dtype=np.float32),
    "array of nothing": lambda np: np.array([[], []]),
    "length of r_": lambda np: np.asarray(len(np.r_) + len(np.c_)),
    "arange of keywords": lambda np: np.arange(start=1, stop=3, dtype=np.float32),
    "fromiter": lambda np: np.fromiter((k * k for k in range(9)), int, 4),
    "from_dlpack": lambda np: np.from_dlpack(np.ones(2)),
    "r_": lambda np: np.r_["0,2,0", [1, 2], [3, 4]],
    "r_ of ranges": lambda np: np.r_[1:3, 5, 0:1:3j],
    "c_": lambda np: np.c_[[1, 2], [3.0, 4]],
    "vectorize": lambda np: np.vectorize(lambda a, b: a + b)([1, 2], 0.5),
    "vectorize several": lambda np: np.vectorize(lambda a: (a, -a))([1, 2])[1],
    "ndenumerate": lambda np: np.array([k for (k,), _ in np.ndenumerate([1.5, 2.5])]),
    "lists": lambda np: np.sum([[1, 2], [3, 4]], axis=0),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_arguments_give_what_numpy_gives(name):
    actual, expected = PLAIN[name](tnp), PLAIN[name](np)
    assert type(actual) is type(expected)
    assert_same(actual, expected)
    assert actual.flags == expected.flags


BAD = {
    "ragged": lambda np: np.array([[1, 2], [3]]),
    "no copy": lambda np: np.array([1, 2], copy=False),
    "device": lambda np: np.asarray([1], device="gpu"),
    "not finite": lambda np: np.asarray_chkfinite([np.nan]),
    "fill": lambda np: np.full(2, [1, 2, 3]),
    "stop": lambda np: np.arange(),
    "step": lambda np: np.arange(0, 1, 0),
    "too short": lambda np: np.fromiter([1, 2], int, 3),
    "no dlpack": lambda np: np.from_dlpack([1, 2]),
    "directive": lambda np: np.r_["x", 1],
    "no elements": lambda np: np.vectorize(lambda a: a)([]),
    "axis": lambda np: np.sum(np.ones(2), axis=3),
    "singular": lambda np: np.linalg.inv(np.zeros((2, 2))),
    "axes": lambda np: np.fft.fftn(np.ones(2), s=(2, 2), axes=(0,)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_plain_arguments_raise_what_numpy_raises(name):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        BAD[name](np)
    with pytest.raises(Exception) as actual:  # noqa: PT011
        BAD[name](tnp)
    assert type(actual.value) is type(expected.value)
    assert str(actual.value) == str(expected.value)


# ---- nested lists --------------------------------------------------------------------------------------


@st.composite
def nested_lists(draw: Any) -> Any:
    """A regular nested list of ints, arrays, and a `Leaf` wherever there is to be a param."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))

    def build(rest: list[int]) -> Any:
        kind = draw(st.sampled_from(["list", "list", "list", "array", "param"]))
        if not rest:
            number = draw(st.integers(-3, 3))
            return {"list": number, "array": np.float32(number), "param": Leaf(np.float64(number))}[kind]
        if kind == "list" or len(rest) == len(shape):
            return draw(st.sampled_from([list, tuple]))([build(rest[1:]) for _ in range(rest[0])])
        array = draw(st.integers(-3, 3)) + np.arange(float(np.prod(rest))).reshape(rest)
        return Leaf(array) if kind == "param" else array.astype(np.float32)

    return build(shape)


class Leaf:
    """Where a param goes."""

    def __init__(self, value: Any) -> None:
        self.value = value


def filled(nested: Any, make: Any) -> Any:
    """A nested list with its leaves replaced."""
    if isinstance(nested, (list, tuple)):
        return type(nested)(filled(part, make) for part in nested)
    return make(nested.value) if isinstance(nested, Leaf) else nested


@settings(max_examples=rounds(150))
@given(nested_lists(), st.sampled_from([None, np.float32, np.float64]))
def test_nested_lists_become_what_numpy_makes_of_the_numbers(nested, dtype):
    trace = tape.Trace()
    expected = np.array(filled(nested, lambda value: value), dtype)
    actual = tnp.array(filled(nested, trace.param), dtype)
    assert_same(actual.value if trace.params else actual, expected)
    if not trace.params:
        return
    weights = np.arange(1.0, 1 + expected.size, dtype=np.float32).reshape(expected.shape)
    gradients = trace.backward_param_grads(tnp.sum(actual * weights))
    places = iter(range(len(gradients)))
    marked = np.array(filled(nested, lambda value: np.full_like(value, 1 + next(places))), dtype=float)
    plain = np.array(filled(nested, lambda value: np.full_like(value, np.nan)), dtype=float)
    for k, gradient in enumerate(gradients):
        assert_same(
            gradient, weights[np.isnan(plain) & (marked == 1 + k)].reshape(gradient.shape).astype(float)
        )


def test_scalars_of_one_nested_list_are_one_stack(trace, x):
    rows = [[x, 1.0, x * x] for _ in range(4)]
    before = len(trace)
    tnp.array(rows)
    assert len(trace) == before + 2  # and a reshape


@pytest.mark.parametrize(
    "make",
    [
        lambda x, v: [[x, 1.0], [x]],
        lambda x, v: [x, [1.0, x]],
        lambda x, v: [v, [1.0, 2.0]],
        lambda x, v: [[], [x]],
        lambda x, v: [x, v],
    ],
)
def test_ragged_lists_are_refused_and_leave_nothing_behind(trace, x, v, make):
    nested, before = make(x, v), len(trace)
    with pytest.raises(errors.ShapeError, match=r"regular.*concatenate"):
        tnp.array(nested)
    assert len(trace) == before


def test_options_of_array_are_those_of_numpy(trace, x, v):
    assert tnp.array([x, 1], ndmin=3).shape == (1, 1, 2)
    assert tnp.array(v, np.float32, ndmin=2).dtype == np.float32
    assert tnp.array([x, 1], like=v).shape == (2,)
    assert tnp.asarray(v, like=v) is v
    assert tnp.asarray(v) is tnp.asanyarray(v, copy=False) is v
    assert tnp.asfortranarray(x).shape == tnp.ascontiguousarray(x).shape == (1,)
    assert tnp.array([[x], v[:1]], order="F").shape == (2, 1)
    assert tnp.array([np.array([]), v[:0]]).shape == (2, 0)
    with pytest.raises(errors.OptionError, match="copy=False"):
        tnp.array([x, 1], copy=False)
    for options in ({"dtype": np.float32}, {"order": "F"}):
        with pytest.raises(errors.OptionError, match="which copy=False forbids"):
            tnp.array(tnp.ones((2, 2)) * x, copy=False, **options)
    with pytest.raises(errors.OptionError, match="cpu"):
        tnp.asarray(v, device="gpu")
    with pytest.raises(errors.DTypeError):
        tnp.array([x, "a"])
    with pytest.raises(errors.DTypeError):
        tnp.asarray([x, 1], dtype=object)


def test_asarray_chkfinite_looks_at_the_value(trace):
    with pytest.raises(errors.OptionError, match="NaN"):
        tnp.asarray_chkfinite(trace.param([1.0, np.inf]))


# ---- programs ------------------------------------------------------------------------------------------


def nested_rotation(np, x):
    c, s = np.cos(x[0]), np.sin(x[0])
    rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, x[1]]])
    return np.linalg.solve(rotation + np.eye(3), [x[2], 1, x[0]])


def lists_as_arguments(np, x):
    a, b, c = x
    total = np.sum([a * b, b, 1]) + np.mean([a, [b, c][1]]) + np.max([a, b, c]) + np.dot([a, b], [c, a])
    return total + np.linalg.norm([a, b]) + np.prod((a, c)) + np.trapezoid([a, b, c], dx=0.5)


def lists_of_lists(np, x):
    a, b, c = x
    joined = np.concatenate([[a, b], x, [c]]) * np.block([x[:2], x * c, a])
    return np.vstack([[a, b], [c, a]]) @ np.stack([[a, 1], [2, c]]) @ np.hstack([[a], [b]]) @ joined[:2]


def selected(np, x):
    chosen = np.select([x > 1, x > 0], [[x[0]] * 3, x * x], default=0)
    return np.sum(chosen * np.where([True, False, True], [x[1], 0, x[0]], x))


def lists_that_are_no_arrays(np, x):
    pieces = np.piecewise(x, [x > 1, x > 0.6], [x[0], lambda part: part**2, 0.5])
    counts, _ = np.histogramdd([x, x * x, [x[0]] * 3], bins=[[0, 1, 2]] * 3, weights=x)
    return np.sum(pieces) * np.linalg.multi_dot([x, np.outer(x, x), [x[2], 1, x[1]]]) + np.sum(counts**2)


def between_brackets(np, x):
    return np.sum(np.r_[x, 1, x[0], 0:2] ** 2) + np.sum(np.c_[x, [1, 2, 3]] * np.c_[x[:2], x[1:]].sum())


def grids(np, x):
    t = np.arange(x[1], x[1] + 2.2, x[2])
    return np.sum(t * np.linspace(x[0], 1, len(t))) + np.sum(np.full((2, 3), x) * np.full(3, x[0]))


def element_by_element(np, x):
    smooth = np.vectorize(lambda a, b=1.0: a * a if a > 1 else np.exp(b * a))
    return (
        np.sum(smooth(x)) + np.sum(smooth(x[:, None], b=x[:2])) + sum(e * i[0] for i, e in np.ndenumerate(x))
    )


def several_results(np, x):
    low, high = np.vectorize(lambda a: (a - 1.0, a * a))(x)
    return np.sum(low * high)


def iterated(np, x):
    powers = np.fromiter((x[0] ** k for k in range(4)), float, count=3)
    return np.sum(np.require(powers, requirements="C") * np.from_dlpack(np.asarray_chkfinite(x)))


def branching_on_types(np, x):
    y = x if isinstance(x, np.ndarray) else np.asarray(x)
    out = np.zeros_like(y, dtype=np.result_type(y, np.float32))
    return np.sum(np.where(y > 1, y, 0) + out) if np.issubdtype(y.dtype, np.floating) else np.nan


def newton(np, x):
    root = np.asarray(2.0)
    for _ in range(6):
        root = root - (root**3 + np.asarray(x[0]) * root - x[1]) / (3 * root**2 + x[0])
    return root


PROGRAMS = [
    nested_rotation,
    lists_as_arguments,
    lists_of_lists,
    selected,
    lists_that_are_no_arrays,
    between_brackets,
    grids,
    element_by_element,
    several_results,
    iterated,
    branching_on_types,
    newton,
]
POINT = np.array([0.7, 1.6, 0.5])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_run_on_vars_as_they_are(program):
    """Values and gradients; the values of plain arrays to the last bit."""

    def f(x: Any) -> Any:
        return np.sum(program(tnp, x))

    assert_same(program(tnp, POINT), program(np, POINT))
    value, gradient = tape.value_and_grad(f)(POINT)
    assert value == pytest.approx(np.sum(program(np, POINT)), rel=1e-13)
    assert_close(gradient, difference_gradient(f, POINT, 1.0))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_compile(program):
    """Without a callback, but for the operations that have no instructions."""
    compiled = tape.compile(tape.grad(lambda x: np.sum(program(tnp, x))))
    expected = tape.grad(lambda x: np.sum(program(tnp, x)))(POINT)
    assert_close(compiled(POINT), expected, 1e-12)
    assert_close(compiled(POINT), expected, 1e-12)
    callbacks = [made.explain().callbacks for made in compiled.programs.values()]
    assert callbacks == [{}] or program is lists_that_are_no_arrays


def test_second_derivatives_go_through_nested_lists():
    def f(x: Any) -> Any:
        return tnp.linalg.det(tnp.array([[x[0] * x[1], x[1]], [tnp.sin(x[0]), x[1] ** 2]]))

    hessian = tape.hessian(f)(POINT[:2])
    a, b = POINT[:2]
    expected = [[b * np.sin(a), 3 * b**2 - np.cos(a)], [3 * b**2 - np.cos(a), 6 * a * b]]
    assert_close(hessian, expected)


# ---- what has limits -----------------------------------------------------------------------------------


def test_arange_has_the_elements_of_numpy_to_the_last_bit(trace):
    rng = np.random.default_rng(0)
    for _ in range(50):
        start, step = rng.uniform(-2, 2, 2)
        stop = start + step * rng.uniform(0.1, 30)
        args = start, stop, step
        assert_same(tnp.arange(*map(trace.param, args)).value, np.arange(*args))
    x = trace.param(np.float32(0.5))
    assert_same(tnp.arange(x, 3).value, np.arange(np.float32(0.5), 3))
    assert_same(tnp.arange(x, 3, dtype=np.float32).value, np.arange(np.float32(0.5), 3, dtype=np.float32))
    assert_same(tnp.arange(trace.param(3.5)), np.arange(3.5))
    assert_same(tnp.arange(trace.param(0.5), 3, like=x).value, np.arange(0.5, 3))
    assert_same(tnp.arange(trace.input(4)), np.arange(4))
    assert_same(tnp.arange(trace.param(3.5), None, 0.5), np.arange(3.5, None, 0.5))


def test_what_has_limits_says_so(trace, x, v):
    before = len(trace)
    with pytest.raises(errors.ShapeError, match="has axes"):
        tnp.arange(v)
    with pytest.raises(errors.OptionError, match="zero"):
        tnp.arange(x, 3, 0)
    with pytest.raises(errors.UnsupportedError, match="matrix"):
        tnp.r_["r", v]
    with pytest.raises(errors.UnsupportedError, match="signature"):
        tnp.vectorize(lambda a: a, signature="(n)->()")(v)
    with pytest.raises(errors.ShapeError, match="count=3"):
        tnp.fromiter([x, x], float, 3)
    with pytest.raises(errors.ConversionError, match=r"np\.stack"):
        tnp.exp([x, x])
    with pytest.raises(errors.ShapeError):
        tnp.full(2, v)
    assert len(trace) == before
    with pytest.raises(errors.ShapeError, match="no elements"):
        tnp.vectorize(lambda a: a)(v[:0])
    with pytest.raises(errors.ShapeError, match=r"np\.stack"):
        tnp.fromiter([v, v], float)


def test_random_numbers_are_those_of_numpy():
    assert tnp.random.default_rng is np.random.default_rng
    trace = tape.Trace()
    with pytest.raises(errors.ConversionError, match="normal"):
        tnp.random.normal(trace.param(1.0))


# ---- beside a Var, or beside a number ------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("where", [np, tnp])
def test_arrays_laid_out_anew_record(order, where):
    """NumPy's own function does not ask a Var unless it is the ``like=`` too; those here always do."""
    name = {"C": "ascontiguousarray", "F": "asfortranarray"}[order]
    x = np.arange(6.0).reshape(2, 3)

    def f(x):
        like = {"like": x} if where is np else {}
        return np.sum(
            np.ravel(getattr(where, name)(x[:, ::-1], **like), order="K") * np.arange(6.0) * x[0, 1]
        )

    laid_out = getattr(np, name)(x[:, ::-1])
    with tape.Trace() as trace:
        made = getattr(where, name)(trace.param(x)[:, ::-1], like=trace.params[0])
        np.testing.assert_array_equal(made.value, laid_out)
        assert made.value.flags[f"{order}_CONTIGUOUS"]
    expected = tape.grad(lambda x: np.sum(x[:, ::-1].ravel(order) * np.arange(6.0) * x[0, 1]))(x)
    np.testing.assert_allclose(tape.grad(f)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(tape.compile(tape.grad(f))(x), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "make",
    [
        lambda ns, x: ns.array([x, 2.0, x], like=x),
        lambda ns, x: ns.full(3, x, like=x),
        lambda ns, x: ns.asarray(x, like=x),
        lambda ns, x: ns.require(x, like=x),
    ],
)
def test_what_is_made_of_vars_beside_a_var_keeps_its_derivative(make):
    for x in (2.0, np.float64(3.0)):
        found = tape.grad(lambda x: np.sum(make(np, x) ** 2))(x)
        assert found == tape.grad(lambda x: np.sum(make(tnp, x) ** 2))(x)
        assert found in (4 * x, 6 * x, 2 * x)


MADE = {
    "zeros": lambda like: tnp.zeros((2, 3), like=like),
    "ones": lambda like: tnp.ones(3, np.float32, like=like),
    "empty": lambda like: tnp.empty((0, 3), like=like),
    "full": lambda like: tnp.full(3, 2.0, like=like),
    "eye": lambda like: tnp.eye(3, k=1, like=like),
    "identity": lambda like: tnp.identity(2, like=like),
    "tri": lambda like: tnp.tri(3, like=like),
    "arange": lambda like: tnp.arange(3.0, like=like),
    "array": lambda like: tnp.array([1.0, 2.0], like=like),
    "asarray": lambda like: tnp.asarray([1.0, 2.0], like=like),
    "ascontiguousarray": lambda like: tnp.ascontiguousarray([1.0, 2.0], like=like),
    "require": lambda like: tnp.require([1.0, 2.0], like=like),
    "fromiter": lambda like: tnp.fromiter([1.0, 2.0], float, like=like),
    "fromfunction": lambda like: tnp.fromfunction(lambda i: i, (3,), like=like),
    "frombuffer": lambda like: tnp.frombuffer(b"ab", np.uint8, like=like),
}


@pytest.mark.parametrize("name", MADE)
def test_code_that_trains_predicts(name):
    """Beside a Var it is a Var; beside a number, which NumPy refuses, the same plain array."""
    expected = MADE[name](None)
    for like in (2.0, np.float64(2.0), 3, [1.0], np.ones(2)):
        found = MADE[name](like)
        assert type(found) is np.ndarray
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    with tape.Trace() as trace:
        made = MADE[name](trace.param(2.0))
        assert isinstance(made, tape.Var)
        np.testing.assert_array_equal(made.value, expected)


REFUSED = {
    "copy": (lambda x: tnp.array([x, x], np.float32, copy=False), errors.OptionError, "copy=False"),
    "axes": (lambda x: tnp.array([x, x], ndmax=1), errors.ShapeError, "ndmax=1"),
    "orders": (lambda x: tnp.require(x, requirements=["C", "F"]), errors.OptionError, "Fortran"),
    "matrix": (lambda x: tnp.r_["r", x], errors.UnsupportedError, "matrix"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_had_of_vars_is_refused(name):
    call, error, match = REFUSED[name]
    with tape.Trace() as trace, pytest.raises(error, match=match):
        call(trace.param(np.ones(2)))


@pytest.mark.parametrize("directive", ["0", "-1", "0,2", "0,2,0", "1,2,0"])
def test_r_reads_its_directive(directive):
    x = np.array([1.0, 2.0])
    expected = np.r_[directive, x, x]
    trace = tape.Trace()
    assert_same(tnp.r_[directive, trace.param(x), x].value, expected)


WITH_A_LIST = {
    "sum": lambda np, x: np.sum([2, x]),
    "asarray": lambda np, x: np.asarray([1, x]),
    "array": lambda np, x: np.array([[1, 2], [3, x]]),
    "c_": lambda np, x: np.c_[[1, x], [2, 3]],
    "r_": lambda np, x: np.r_[1, x],
    "vander": lambda np, x: np.vander([1, x]),
    "norm": lambda np, x: np.linalg.norm([1, x]),
    "isin": lambda np, x: np.isin([1, x], [5]),
    "stack": lambda np, x: np.stack([[1, 2], [x, 3]]),
}


@pytest.mark.parametrize("name", WITH_A_LIST)
def test_whole_numbers_in_lists_stay_on_the_tape(name):
    """Although they have no derivative that a plain number would lose: a replay computes with new ones."""
    f, trace = WITH_A_LIST[name], tape.Trace()
    x = trace.input(np.int64(3))
    y = f(tape.numpy, x)
    np.testing.assert_array_equal(y.value, f(np, 3))
    trace.set(x, np.int64(5))
    trace.replay()
    np.testing.assert_array_equal(y.value, f(np, 5))


@pytest.mark.parametrize("order", [None, "K", "C", "F", "A"])
def test_arrays_of_vars_in_any_order(order):
    trace = tape.Trace()
    x = trace.param(np.arange(6.0).reshape(2, 3))
    found = tnp.array(x, order=order)
    assert_same(found.value, x.value)
    assert found is not x
    assert_same(trace.backward_param_grads(np.sum(found * found))[0], 2 * x.value)


@pytest.mark.parametrize("kind", [list, tuple])
def test_arrays_are_filled_with_lists_of_vars(kind):
    tr = tape.Trace()
    v, w = tr.param(2.0), tr.param(3.0)
    y = tnp.full((3, 2), kind([v, w]))
    np.testing.assert_array_equal(y.value, np.full((3, 2), [2.0, 3.0]))
    assert tr.backward_param_grads(np.sum(y * np.arange(6.0).reshape(3, 2))) == [6.0, 9.0]
    np.testing.assert_array_equal(tnp.full(2, kind([v, 1.0])).value, [2.0, 1.0])
    np.testing.assert_array_equal(tnp.full((2, 2), kind([1, 2])), [[1, 2], [1, 2]])
