"""What derivatives are checked against: differences of high order, and the sweeps as functions.

`difference` knows nothing of tape. `vjp` and `jvp` are one trace each; called with functions that call
them again they nest, which gives the higher orders.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors

STEP = 0.01
STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))  # Fornberg 1988, order 8

LAYOUTS = ("C", "F", "gaps", "backwards")


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same elements in C or Fortran order, as every second one of a larger array, or turned round."""
    if x.ndim == 0:
        return x.copy()
    if layout in "CF":
        return np.array(x, order=layout)
    if layout == "gaps":
        view = np.zeros(tuple(2 * n for n in x.shape), x.dtype)[(slice(None, None, 2),) * x.ndim]
        view[...] = x
        return view
    turn = (slice(None, None, -1),) * x.ndim
    return x[turn].copy()[turn]


def is_float(array: Any) -> bool:
    """Whether an argument is differentiated; the others are data."""
    return array.dtype.kind in "fc"


def uniform(rng: np.random.Generator, like: Any) -> Any:
    """Random numbers of absolute value at most one, in the shape and dtype of an array."""
    x = rng.uniform(-1, 1, np.shape(like))
    if like.dtype.kind == "c":
        x = (x + 1j * rng.uniform(-1, 1, np.shape(like))) / 2**0.5
    return np.asarray(x).astype(like.dtype)


def flat(arrays: Sequence[Any]) -> np.ndarray:
    """All elements of all arrays, as one vector."""
    return np.concatenate([np.ravel(array) for array in arrays])


def unit_directions(rng: np.random.Generator, arrays: Sequence[Any]) -> list[Any]:
    """A random direction for every differentiated argument, no element moving faster than one."""
    return [uniform(rng, a) for a in arrays if is_float(a)]


def move(args: Sequence[Any], directions: Sequence[Any], distance: float) -> list[Any]:
    """The arguments after a step along the directions."""
    remaining = iter(directions)
    return [a + distance * next(remaining) if is_float(a) else a for a in args]


def difference(f: Callable, args: Sequence[Any], directions: Sequence[Any]) -> Any:
    """The derivative of ``f`` along the directions, by central differences of order 8."""
    return (
        sum(
            weight * (f(*move(args, directions, k * STEP)) - f(*move(args, directions, -k * STEP)))
            for k, weight in STENCIL
        )
        / STEP
    )


def difference_gradient(f: Callable, x: np.ndarray, seed: Any) -> np.ndarray:
    """The gradient of ``real(sum(seed * f(x)))``, one difference for every number ``x`` is made of.

    By a complex x the gradient is the derivative by its real part, less i times that by the imaginary.
    """
    gradient = np.zeros(x.size, x.dtype)
    for part in (1, -1j) if x.dtype.kind == "c" else (1,):
        for i, unit in enumerate(np.eye(x.size)):
            change = difference(f, [x], [np.conj(part) * unit.reshape(x.shape)])
            gradient[i] += part * np.sum(seed * change).real
    return gradient.reshape(x.shape)


def record(f: Callable, args: Sequence[Any]) -> tuple[tape.Trace, list[Any], Any]:
    """A trace of ``f``, its leaves (floats are params, the rest inputs) and the result."""
    trace = tape.Trace()
    leaves = [trace.param(a) if is_float(a) else trace.input(a) for a in args]
    return trace, leaves, f(*leaves)


def vjp(f: Callable, args: Sequence[Any], seed: Any = None) -> list[Any]:
    """The gradients of ``sum(seed * f(*args))`` by the float arguments; nests."""
    trace, _, root = record(f, args)
    if not isinstance(root, tape.Var) or root.trace is not trace:
        return [np.zeros(a.shape, a.dtype) for a in args if is_float(a)]
    return trace.backward_param_grads(root, seed, unreached="zero")


def jvp(f: Callable, args: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The derivative of ``f`` along the tangents of the float arguments; nests."""
    trace, _, root = record(f, args)
    if not isinstance(root, tape.Var) or root.trace is not trace:
        return np.zeros(np.shape(root), np.result_type(root))
    return trace.jvp(root, dict(zip(trace.params, tangents, strict=True)))


def gradient_of_sines(f: Callable, args: Sequence[Any]) -> Callable:
    """The gradient of the sum of the sines of a function's result, by all arguments that have one."""
    chosen = tuple(k for k, a in enumerate(args) if is_float(a))
    return tape.grad(lambda *args: tape.ops.sum(tape.ops.real(np.sin(f(*args)))), chosen)


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """The inner product of two lists of arrays or Vars, as adjoints and tangents pair."""
    return sum((tape.ops.sum(tape.ops.real(x * y)) for x, y in zip(xs, ys, strict=True)), start=0.0)


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Equal shapes, and equal elements relative to the largest (or to one, if all are smaller)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{actual.shape} is not {expected.shape}"
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def derivative(f: Callable, order: int) -> Callable:
    """The derivative of a function of one array, element by element, by that many nested traces."""
    if order == 0:
        return f

    def derived(x: Any) -> Any:
        return vjp(derivative(f, order - 1), [x])[0]

    return derived


def scalar(gradients):
    """The only gradient there is, as a number."""
    (gradient,) = gradients
    return float(gradient)


def assert_same(actual, expected):
    """Equal in value, shape and dtype."""
    assert np.result_type(actual) == np.result_type(expected)
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_array_equal(actual, expected)


def message_of(f: Callable[..., Any], *args: Any) -> str:
    """What an error says, or what it was raised from: NumPy chains errors of its own."""
    with pytest.raises((errors.TapeError, ValueError)) as caught:
        f(*args)
    error = caught.value if isinstance(caught.value, errors.TapeError) else caught.value.__cause__
    assert isinstance(error, errors.TapeError)
    return str(error)


def pytorch() -> Any:
    """PyTorch, in one thread; without it the test is skipped.

    Its threads wait for work by computing, which takes the cores from other test processes.
    """
    torch = pytest.importorskip("torch", reason="compares with PyTorch", exc_type=ImportError)
    torch.set_num_threads(1)
    return torch
