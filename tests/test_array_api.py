"""`tape.numpy` and the Python Array API standard, 2024.12, clause by clause: see `tests.array_api`.

On plain arrays `tape.numpy` does what NumPy does, and fails where NumPy fails: at the few clauses of the
standard that are listed here. On Vars it gives Vars of the same values.
"""

from typing import Any

import numpy as np
import pytest

import tape
import tape.numpy as tnp
from tests import array_api
from tests.array_api import DTYPES, Function, numbers
from tests.oracles import assert_close, difference, difference_gradient, inner, is_float, uniform, vjp

NUMPY_LACKS = {
    "argsort": "descending=",
    "diff": "None as prepend= and append=",
    "expand_dims": "a default axis",
    "fft.fftfreq": "dtype= and device=",
    "fft.rfftfreq": "dtype= and device=",
    "finfo": "arrays",
    "iinfo": "arrays",
    "sort": "descending=",
}
"""What the standard has and NumPy, up to 2.4, does not."""

IS_OLD = np.lib.NumpyVersion(np.__version__) < "2.3.0"  # and lacks more


def names(function: Function) -> str:
    return function.name


def outcome(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What a call returns, or the exception that it raises."""
    try:
        return f(*args, **kwargs)
    except Exception as error:
        return error


def parts(result: Any) -> list[Any]:
    """The arrays of a result of one or several."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def keywords(function: Function) -> list[dict[str, Any]]:
    """None, all at their defaults, and others; those of them that NumPy takes."""
    return [{}, function.defaults, {**function.defaults, **function.chosen}]


def kinds(function: Function, dtypes: dict[str, tuple]) -> list[Any]:
    return [dtype for kind in function.kinds for dtype in dtypes.get(kind, ())]


def assert_alike(actual: Any, expected: Any, unspecified: bool = False, tolerance: float = 0.0) -> None:
    """Equal in type, dtype, shape and value, part for part."""
    assert len(parts(actual)) == len(parts(expected))
    assert getattr(actual, "_fields", None) == getattr(expected, "_fields", None)
    for mine, theirs in zip(parts(actual), parts(expected), strict=True):
        assert np.result_type(mine) == np.result_type(theirs)
        assert np.shape(mine) == np.shape(theirs)
        if not unspecified:
            mine = mine.value if isinstance(mine, tape.Var) else mine
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("function", array_api.FUNCTIONS, ids=names)
def test_plain_arrays_are_treated_as_by_numpy(function):
    """With every dtype and every keyword of the standard: the same result, or the same error."""
    for dtype in kinds(function, DTYPES):
        for chosen in keywords(function):
            args = function.arguments(dtype)
            expected = outcome(function.of(np), args, chosen)
            actual = outcome(function.of(tnp), args, chosen)
            if isinstance(expected, Exception):
                assert type(actual) is type(expected)
                assert str(actual) == str(expected)
                assert function.name in NUMPY_LACKS or IS_OLD, str(expected)
                continue
            assert type(actual) is type(expected)
            if isinstance(expected, (bool, np.dtype, np.finfo, np.iinfo)):
                assert str(actual) == str(expected)
            else:
                assert_alike(actual, expected, function.unspecified)


def as_vars(args: tuple) -> tuple[tape.Trace, tuple]:
    """The arguments with a Var in place of every array; those of floats are params."""
    trace = tape.Trace()

    def as_var(argument: Any) -> Any:
        if isinstance(argument, list):
            return list(map(as_var, argument))
        if not isinstance(argument, (np.ndarray, np.generic)):
            return argument
        return trace.param(argument) if is_float(argument) else trace.input(argument)

    return trace, tuple(map(as_var, args))


ONE_OF_EACH = {
    "b": (np.bool,),
    "i": (np.int64,),
    "u": (np.uint8,),
    "f": (np.float32, np.float64),
    "c": (np.complex128,),
}


@pytest.mark.parametrize("function", array_api.ON_VARS, ids=names)
def test_vars_give_vars_of_the_same_values(function):
    for dtype in kinds(function, ONE_OF_EACH):
        for chosen in keywords(function):
            args = function.arguments(dtype)
            expected = outcome(function.of(np), args, chosen)
            if isinstance(expected, Exception):
                continue
            trace, operands = as_vars(args)
            actual = function.of(tnp)(*operands, **chosen)
            if len(trace.nodes):
                assert all(isinstance(part, tape.Var) for part in parts(actual))
            assert_alike(
                actual, expected, tolerance=64 * np.finfo(np.float32).eps if dtype is np.float32 else 1e-14
            )


def real(x: Any) -> Any:
    """Both parts of complex numbers, as one number."""
    return np.real(x) + 2 * np.imag(x) if np.result_type(x).kind == "c" else x


@pytest.mark.parametrize("function", [f for f in array_api.ON_VARS if "f" in f.kinds], ids=names)
def test_vars_have_derivatives_where_there_are_any(function):
    """Against differences, for functions that are constant almost everywhere too."""
    args = function.arguments(np.float64)
    places = [k for k, a in enumerate(args) if isinstance(a, np.ndarray) and is_float(a)]
    if not places:
        pytest.skip("takes no array of floats as it is")
    floats = [args[k] for k in places]
    rng = np.random.default_rng(0)
    for chosen in keywords(function):
        if isinstance(outcome(function.of(np), args, chosen), Exception):
            continue

        def f(*floats: Any) -> Any:
            given = dict(zip(places, floats, strict=True))
            result = function.of(tnp)(*(given.get(k, a) for k, a in enumerate(args)), **chosen)  # noqa: B023
            return sum((np.sum(np.sin(real(part))) for part in parts(result)), start=np.float64(0.0))

        directions = [uniform(rng, a) / 4 for a in floats]  # where arguments are close to each other
        expected = difference(f, floats, directions)
        assert inner(vjp(f, floats), directions) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_the_namespace_has_everything_else():
    for name in (*array_api.CONSTANTS, *array_api.DTYPE_NAMES):
        assert getattr(tnp, name) is getattr(np, name)
    assert tnp.__array_api_version__ == np.__array_api_version__
    info = tnp.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert info.devices() == ["cpu"]
    assert {"boolean indexing", "data-dependent shapes", "max dimensions"} <= info.capabilities().keys()
    assert info.dtypes(device="cpu", kind="bool") == {"bool": np.dtype(bool)}
    assert info.default_dtypes(device="cpu")["real floating"] == np.dtype(float)


def test_a_var_has_the_attributes_of_an_array():
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    missing = [name for name in (*array_api.ATTRIBUTES, *array_api.METHODS) if not hasattr(x, name)]
    assert not missing


def test_a_var_names_the_namespace():
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    assert x.__array_namespace__() is tnp
    assert x.__array_namespace__(api_version="2024.12") is tnp
    with pytest.raises(ValueError, match=r"2019\.12"):
        x.__array_namespace__(api_version="2019.12")


def test_functions_for_any_library_run_on_vars():
    """Written for arrays of the standard, and for nothing else."""

    def softmax(x: Any) -> Any:
        xp = x.__array_namespace__()
        shifted = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        weights = xp.concat([xp.asarray([1.0, 2.0]), xp.ones(x.shape[0] - 2, dtype=x.dtype)])
        return xp.vecdot(xp.astype(weights, x.dtype, copy=False), shifted / xp.sum(shifted))

    x = numbers(float, 4)
    expected = difference_gradient(softmax, x, 1.0)
    assert_close(tape.grad(softmax)(x), expected)
    assert_close(tape.compile(tape.grad(softmax))(x), expected)
