"""`checkpoint`: the same under every transform, whatever it closes over, and small in memory."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core import interpreter
from tape.transforms import checkpoint
from tests.oracles import assert_close, assert_same
from tests.tiers import takes_long

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3)) / 2
X = np.array([0.5, -1.2, 0.8])
V = np.array([1.0, 0.3, -0.7])
U = np.array([-0.4, 0.9, 0.6])


def test_results_that_are_no_floats_are_refused_in_programs_and_taken_elsewhere() -> None:
    largest = checkpoint(lambda x: np.argmax(x))
    assert_same(tape.grad(lambda x: np.sum(x * largest(x)))(X), np.full(3, 2.0))
    with pytest.raises(errors.UnsupportedError, match=r"returns int64\[\], which is not a float"):
        tape.compile(lambda x: x * largest(x))(X)


# ---- every transform, for functions from a vector of three to another ----------------------------


def summed(f: Any) -> Any:
    """A scalar without symmetries."""
    return lambda x: np.sum(U * np.sin(f(x)))


TRANSFORMS = {
    "value": lambda f: f(X),
    "grad": lambda f: tape.grad(summed(f))(X),
    "value_and_grad": lambda f: np.stack([*tape.value_and_grad(summed(f))(X)[1]]),
    "elementwise_grad": lambda f: tape.elementwise_grad(f)(X),
    "vjp": lambda f: tape.vjp(f, X)[1](U)[0],
    "jvp": lambda f: tape.jvp(f, (X,), (V,))[1],
    "linearize": lambda f: tape.linearize(f, X)[1](V),
    "jacobian fwd": lambda f: tape.jacobian(f, mode="fwd")(X),
    "jacobian rev": lambda f: tape.jacobian(f, mode="rev")(X),
    "hessian": lambda f: tape.hessian(summed(f))(X),
    "laplacian": lambda f: tape.laplacian(summed(f))(X),
    "divergence": lambda f: tape.divergence(f)(X),
    "hvp": lambda f: tape.hvp(summed(f))(X, V),
    "gnvp": lambda f: tape.gnvp(f)(X, V),
    "rop": lambda f: tape.rop(f, X, V, method="double_lop"),
    "grad of grad": lambda f: tape.grad(lambda x: U @ tape.grad(summed(f))(x))(X),
    "jvp of grad": lambda f: tape.jvp(tape.grad(summed(f)), (X,), (V,))[1],
    "grad of jvp": lambda f: tape.grad(lambda x: U @ tape.jvp(f, (x,), (V,))[1])(X),
    "jvp of jvp": lambda f: tape.jvp(lambda x: tape.jvp(f, (x,), (V,))[1], (X,), (U,))[1],
    "fwd of fwd": lambda f: tape.jacobian(tape.jacobian(f, mode="fwd"), mode="fwd")(X),
    "fwd of rev": lambda f: tape.jacobian(tape.jacobian(f, mode="rev"), mode="fwd")(X),
    "rev of fwd": lambda f: tape.jacobian(tape.jacobian(f, mode="fwd"), mode="rev")(X),
    "rev of rev": lambda f: tape.jacobian(tape.jacobian(f, mode="rev"), mode="rev")(X),
    "third order": lambda f: tape.jacobian(tape.hessian(summed(f)))(X),
    "hvp of grad": lambda f: tape.hvp(lambda x: V @ tape.grad(summed(f))(x))(X, U),
}
"""Also for the tests of what else runs a function again, which may lack a recurrence for series."""

TAYLOR = {"taylor": lambda f: tape.taylor(f, X, V, 3)}

FUNCTIONS = {
    "chain": lambda x: np.tanh(A @ np.sin(A @ x)) * x,
    "reductions": lambda x: x / np.sum(np.exp(x)) + np.mean(x * x),
    "indexing": lambda x: np.stack([x[0] * x[1], x[2] ** 2, np.exp(x[0])]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", [*TRANSFORMS, *TAYLOR])
def test_a_checkpoint_changes_nothing(name, transform):
    f, derive = FUNCTIONS[name], (TRANSFORMS | TAYLOR)[transform]
    assert_close(derive(checkpoint(f)), derive(f), 1e-13)


def captured_and_argument(x: Any) -> Any:
    """Everything that can be done with a Var from outside."""
    held = {"w": [x * 2, 1], "c": 3}

    @checkpoint
    def block(y: Any) -> Any:
        assert y.shape == x.shape
        return np.tanh(A @ y) * held["w"][0] + y @ x + x.sum() + held["c"] * np.concatenate([y, x])[2:5]

    return block(np.sin(x))


def nested_checkpoints(x: Any) -> Any:
    @checkpoint
    def outer(y: Any) -> Any:
        z = np.sin(y) * x
        inner = checkpoint(lambda v: checkpoint(lambda: np.tanh(v * z + x))() * y)
        return inner(np.cos(z)) + checkpoint(lambda: x)()

    return outer(x * x)


def without_checkpoints(f: Any, monkeypatch: Any) -> Any:
    """The same function, with checkpoints that do nothing."""

    def plain(x: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setitem(globals(), "checkpoint", lambda f: f)
            return f(x)

    return plain


@pytest.mark.parametrize("f", [captured_and_argument, nested_checkpoints])
@pytest.mark.parametrize("transform", [*TRANSFORMS, *TAYLOR])
def test_closures_are_differentiated_like_arguments(f, transform, monkeypatch):
    derive = (TRANSFORMS | TAYLOR)[transform]
    assert_close(derive(f), derive(without_checkpoints(f, monkeypatch)), 1e-12)


INSIDE = {
    "grad": lambda w: tape.grad(lambda x: np.sum(np.sin(x * w)))(w),
    "grad at a constant": lambda w: tape.grad(lambda x: np.sum(np.sin(x * w)))(X),
    "jvp": lambda w: tape.jvp(lambda x: np.sin(x * w), (X,), (X,))[1],
    "jvp along a closure": lambda w: tape.jvp(lambda x: np.sin(x * w), (w,), (w,))[1],
    "vjp with a closure": lambda w: tape.vjp(lambda x: np.sin(x * w), w)[1](w)[0],
    "jacobian": lambda w: tape.jacobian(lambda x: np.sin(A @ x * w))(w)[1],
    "hessian": lambda w: tape.hessian(lambda x: np.sum(np.sin(x * w)))(w)[1],
    "hvp along a closure": lambda w: tape.hvp(lambda x: np.sum(np.sin(x * w)))(X, w),
    "taylor along a closure": lambda w: tape.taylor(lambda x: np.sin(x * w), w, w, 2)[2],
    "stop_gradient": lambda w: w * tape.stop_gradient(w),
    "loop": lambda w: tape.checkpoint_loop(lambda s, step: np.sin(s * w), w, 4, 2),
    "root": lambda w: tape.root(lambda x: x + x**3 - w, np.ones(3)),
    "trace": lambda w: manual(w),
}


def manual(w: Any) -> Any:
    trace = tape.Trace()
    x = trace.param(w)
    return trace.backward_param_grads(np.sin(x) * w)[0]


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize(
    "transform", ["grad", "jvp", "jacobian rev", "hessian", "grad of grad", "jvp of jvp"]
)
def test_derivatives_inside(inside, transform):
    f, derive = INSIDE[inside], TRANSFORMS[transform]
    assert_close(derive(lambda w: checkpoint(lambda: f(w))()), derive(f), 1e-11)


@pytest.mark.parametrize("inside", INSIDE)
def test_derivatives_inside_of_an_argument(inside):
    derive = TRANSFORMS["hessian"]
    assert_close(derive(checkpoint(INSIDE[inside])), derive(INSIDE[inside]), 1e-11)


# ---- closures over Vars of other traces ----------------------------------------------------------

INNER = {
    "grad": lambda f: tape.grad(f)(0.5),
    "vjp": lambda f: tape.vjp(f, 0.5)[1](1.0)[0],
    "jvp": lambda f: tape.jvp(f, (0.5,), (1.0,))[1],
    "hessian": lambda f: tape.hessian(f)(0.5),
    "hvp": lambda f: tape.hvp(f)(0.5, 1.0),
    "taylor": lambda f: tape.taylor(f, 0.5, 1.0, 2)[2],
    "grad of grad": lambda f: tape.grad(tape.grad(f))(0.5),
}
OUTER = {
    "value": lambda f: f(0.7),
    "grad": lambda f: tape.grad(f)(0.7),
    "jvp": lambda f: tape.jvp(f, (0.7,), (1.0,))[1],
    "hessian": lambda f: tape.hessian(f)(0.7),
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
def test_an_inner_derivative_of_a_closure_over_an_outer_var(inner, outer):
    """The checkpoint is recorded for x, and closes over w, which belongs to a trace further out."""

    def slope(wrap: Any) -> Any:
        return OUTER[outer](lambda w: INNER[inner](lambda x: wrap(lambda z: np.sin(z * w) * w)(x)))

    assert_close(slope(checkpoint), slope(lambda f: f), 1e-13)


def test_closures_over_vars_of_three_depths():
    def f(wrap: Any) -> Any:
        return tape.grad(
            lambda a: tape.grad(
                lambda b: tape.grad(lambda c: wrap(lambda z: np.sin(z * a) * b**2 * c)(b * c))(1.1)
            )(0.9)
        )(0.7)

    assert_close(f(checkpoint), f(lambda g: g), 1e-12)


@pytest.mark.parametrize("inner", INNER)
def test_closures_over_vars_of_manual_traces(inner):
    found = []
    for wrap in (checkpoint, lambda f: f):
        trace = tape.Trace()
        w = trace.param(0.7)
        found.append(INNER[inner](lambda x, wrap=wrap, w=w: wrap(lambda z: np.sin(z * w) * w)(x)))
        found += trace.backward_param_grads(found[-1])
        found.append(trace.jvp(found[-2], {w: 1.0}))
    assert_close([float(part) for part in found[:3]], [float(part) for part in found[3:]], 1e-13)


def test_manual_traces_and_their_replay():
    trace = tape.Trace()
    x, w = trace.param(0.5), trace.param(2.0)
    y = checkpoint(lambda x: np.sin(x * w))(x)
    z = y * y

    def slopes() -> Any:
        inner = 2 * np.sin(x.value * w.value) * np.cos(x.value * w.value)
        return inner * np.array([w.value, x.value])

    assert len(trace) == 4
    assert_close(trace.backward_param_grads(z), slopes(), 1e-14)
    trace.set(x, 0.3)
    trace.set(w, -1.5)
    trace.replay()
    assert_close(z.value, np.sin(0.45) ** 2, 1e-14)
    assert_close(trace.backward_param_grads(z), slopes(), 1e-14)
    assert_close(trace.jvp(z, {w: 1.0}), slopes()[1], 1e-14)


def test_a_pullback_from_outside():
    def f(w: Any, wrap: Any) -> Any:
        _, pullback = tape.vjp(lambda x: np.sin(x * w), 0.3)
        return wrap(lambda: pullback(w)[0] * w)()

    for derive in (tape.grad, tape.hessian):
        found, expected = (derive(lambda w, wrap=wrap: f(w, wrap))(0.7) for wrap in (checkpoint, lambda f: f))
        assert_close(found, expected, 1e-13)


def test_the_result_may_be_a_var_from_outside():
    def f(w: Any) -> Any:
        first, second, *rest = checkpoint(lambda x: (x, w, 1, "word", None))(2 * w)
        assert rest == [1, "word", None]
        return first * second * checkpoint(lambda: w)()

    assert tape.grad(f)(3.0) == 6 * 9
    assert tape.jvp(f, (3.0,), (1.0,)) == (54, 54)


def test_other_threads():
    """What another thread does with a Var from outside is differentiated, or refused."""

    def f(w: Any) -> Any:
        @checkpoint
        def block(x: Any) -> Any:
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(lambda: np.sin(x * w)).result()

        return block(w)

    try:
        found = tape.grad(f)(0.5)
    except errors.TapeError:
        return
    assert_close(found, np.cos(0.25), 1e-14)


# ---- arguments and results -----------------------------------------------------------------------


def test_trees_keywords_and_results_that_are_no_floats():
    seen = []

    @checkpoint
    def block(tree: Any, /, n: int, *, scale: Any, flag: str = "a") -> Any:
        """Said here."""
        seen.append(flag)
        x = tree["x"][0] * scale
        return {"out": (x**n, np.argmax(x)), "n": n, "flag": flag, "mask": x > 0, "none": None}

    def f(x: Any, scale: Any) -> Any:
        out = block({"x": [x]}, 3, scale=scale, flag="b")
        assert out["n"] == 3
        assert out["flag"] == "b"
        assert not isinstance(out["out"][1], tape.Var)
        assert_same(out["mask"], np.array([True, False, True]))
        return np.sum(out["out"][0])

    by_x, by_scale = tape.grad(f, (0, 1))(X, 2.0)
    assert_close(by_x, 3 * X**2 * 8)
    assert_close(by_scale, np.sum(3 * X**3 * 4))
    assert set(seen) == {"b"}
    assert block.__name__ == "block"
    assert block.__doc__ == "Said here."


def test_dtypes_of_several_results_are_kept():
    def f(a: Any, b: Any) -> Any:
        narrow, wide = checkpoint(lambda a, b: (a * 2, b * 3))(a, b)
        assert (narrow.dtype, wide.dtype) == (np.float32, np.float64)
        return np.sum(narrow) + np.sum(wide)

    by_a, by_b = tape.grad(f, (0, 1))(np.ones(2, np.float32), np.ones((2, 2)))
    assert_same(by_a, np.full(2, 2, np.float32))
    assert_same(by_b, np.full((2, 2), 3.0))
    _, moved = tape.jvp(checkpoint(lambda a: (a, a * 2)), (np.float32(1),), (np.float32(1),))
    assert [part.dtype for part in moved] == [np.float32] * 2


def test_called_with_arrays_it_just_computes():
    assert_same(checkpoint(np.sin)(X), np.sin(X))
    assert checkpoint(lambda: "word")() == "word"
    assert_same(checkpoint(lambda x: x)(X), X)


def test_methods():
    class Layer:
        def __init__(self, w: Any) -> None:
            self.w = w

        @checkpoint
        def __call__(self, x: Any) -> Any:
            return np.tanh(x * self.w)

    found = tape.grad(lambda w: Layer(w)(0.5))(0.7)
    assert_close(found, 0.5 * (1 - np.tanh(0.35) ** 2), 1e-14)


def test_a_checkpoint_is_one_node():
    trace = tape.Trace()
    x = trace.param(X)
    y = checkpoint(lambda x: np.sum(np.tanh(np.tanh(x))))(x)
    assert len(trace) == 2
    assert y.node.op.name == "checkpoint(<lambda>)"


def test_how_often_the_function_runs():
    calls = []

    @checkpoint
    def block(x: Any) -> Any:
        calls.append(None)
        return np.sin(x)

    def count(derive: Any) -> int:
        calls.clear()
        derive()
        return len(calls)

    assert count(lambda: block(1.0)) == 1
    assert count(lambda: tape.grad(block)(1.0)) == 2
    assert count(lambda: tape.jvp(block, (1.0,), (1.0,))) == 2
    assert count(lambda: tape.taylor(block, 1.0, 1.0, 5)) == 2
    _, pullback = tape.vjp(block, 1.0)
    assert count(lambda: (pullback(1.0), pullback(1.0))) == 2


# ---- memory --------------------------------------------------------------------------------------


def peak(f: Any, *args: Any) -> int:
    """The most memory in use while a function runs, in bytes, once it has run before."""
    f(*args)
    gc.collect()
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@takes_long
def test_memory_is_saved():
    blocks, layers, size = 16, 16, 20_000

    def block(x: Any) -> Any:
        for _ in range(layers):
            x = np.sin(x)
        return x

    def run(wrap: Any) -> Any:
        def f(x: Any) -> Any:
            for _ in range(blocks):
                x = wrap(block)(x)
            return np.sum(x)

        return f

    x = np.ones(size)
    plain, saved = (peak(tape.grad(run(wrap)), x) / x.nbytes for wrap in (lambda f: f, checkpoint))
    assert plain > blocks * layers
    assert saved < blocks + 2 * layers + 8  # a result a block, and one block at a time


# ---- what goes wrong -----------------------------------------------------------------------------


def changing(*results: Any) -> Any:
    """A function that returns something else every time."""
    remaining = iter(results)
    return checkpoint(lambda x: next(remaining)(x))


@pytest.mark.parametrize("derive", [tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (x,))])
def test_a_function_that_does_not_do_the_same_again(derive):
    other_shape = changing(lambda x: x, lambda x: np.stack([x, x]))
    with pytest.raises(errors.ShapeError, match=r"shape \[2\], and \[\] before. It must always return"):
        derive(other_shape)(1.0)
    other_tree = changing(lambda x: (x, x), lambda x: (x,))
    with pytest.raises(errors.ShapeError, match=r"returned a tree .* before"):
        derive(lambda x: other_tree(x)[0])(1.0)
    assert interpreter.innermost_open() is None


@pytest.mark.parametrize("fails_in", [1, 2])
def test_what_the_function_raises_comes_through(fails_in):
    calls = []

    def f(w: Any) -> Any:
        @checkpoint
        def block(x: Any) -> Any:
            calls.append(None)
            y = x * w
            if len(calls) == fails_in:
                raise KeyError("mine")
            return y

        return block(w)

    with pytest.raises(KeyError, match="mine"):
        tape.grad(f)(1.0)
    assert interpreter.innermost_open() is None
    assert not interpreter.OPEN


def test_what_the_function_raises_when_it_runs_again_is_what_it_has_raised():
    """And not an error of ours about operands, although ValueErrors of NumPy are explained."""
    for kind in (ValueError, IndexError, TypeError, np.linalg.LinAlgError):

        def picky(x: Any, kind: Any = kind) -> Any:
            if x > 1:
                raise kind("mine")
            return x * 2

        for segment in (checkpoint(picky), ruled(tape.custom_vjp, picky), ruled(tape.custom_jvp, picky)):
            trace = tape.Trace()
            x = trace.param(0.5)
            segment(x)
            trace.set(x, 1.5)
            with pytest.raises(kind) as caught:
                trace.replay()
            assert type(caught.value) is kind
            assert caught.value.args == ("mine",)


def ruled(transform: Any, f: Any) -> Any:
    """A function with a rule of its own."""
    made = transform(f)
    (made.defvjp if transform is tape.custom_vjp else made.defjvp)(lambda t, out, x: 2 * t)
    return made


def test_a_pullback_that_outlives_what_it_closes_over():
    kept = []

    def f(w: Any) -> Any:
        out, pullback = tape.vjp(checkpoint(lambda x: np.sin(x * w)), 0.5)
        kept.append(pullback)
        return out

    tape.grad(f)(0.7)
    gc.collect()
    with pytest.raises(errors.TraceDroppedError):
        kept[0](1.0)


def test_the_function_sees_plain_arrays_and_raises_what_numpy_does():
    with pytest.raises(ValueError, match="could not be broadcast"):
        tape.grad(lambda x: checkpoint(lambda x: np.sum(x + np.ones(4)))(x))(X)
    assert interpreter.innermost_open() is None


def test_a_constant_result_is_constant():
    with pytest.warns(errors.ConstantResultWarning):
        assert tape.grad(lambda w: checkpoint(lambda: 2.0)())(1.0) == 0
    assert tape.grad(lambda w: w * checkpoint(lambda x: ops.sum(np.ones(3)))(w))(1.0) == 3


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize(
    "constant", [lambda x: 2.0, lambda x: np.ones(3) @ np.ones(3), lambda x: tape.stop_gradient(x)]
)
def test_every_derivative_of_a_constant_result_is_zero(constant):
    value = float(constant(0.5))

    def f(x: Any) -> Any:
        return x**2 * checkpoint(constant)(x)

    assert_close(tape.taylor(f, 0.5, 1.0, 3), np.array([0.25, 1.0, 2.0, 0.0]) * value, 1e-15)
    assert_close(tape.jvp(f, (0.5,), (1.0,))[1], value, 1e-15)
    assert_close(tape.grad(f)(0.5), value, 1e-15)
    assert_close(tape.grad(tape.grad(f))(0.5), 2 * value, 1e-15)
    assert_same(tape.taylor(checkpoint(constant), 0.5, 1.0, 2), np.array([value, 0.0, 0.0]))


# ---- the caller's arrays --------------------------------------------------------------------------


def doubles(x: Any) -> Any:
    x *= 2
    return np.sum(x**2)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tape.grad(checkpoint(doubles))(x),
        lambda x: checkpoint(doubles)(x),
        lambda x: tape.grad(lambda x: tape.checkpoint_loop(lambda s, step: doubles(s) * s, x, 3, 2)[0])(x),
    ],
)
def test_writing_into_what_is_given_is_refused(call):
    """Recorded, ``x *= 2`` makes a new Var; here it would write into the caller's array."""
    x = X.copy()
    with pytest.raises(errors.InPlaceError, match=r"Write x = x \+ y"):
        call(x)
    assert_same(x, X)
