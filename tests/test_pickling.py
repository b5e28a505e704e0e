"""Copies and pickles of what is made of functions: they work as the original, or an error says why not."""

import copy
import functools
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys

import cloudpickle
import joblib
import numpy as np
import pytest

import tape
import tape.optim
from tape import errors
from tests.compiled import alike

X = np.array([0.5, 2.0])
V = np.array([1.0, -1.0])


def cubes(x):
    """The sum of cubes."""
    return np.sum(x**3)


def squares(x):
    return x**2


@tape.grad
def slope(x):
    return np.sum(x**3)


@tape.compile
@tape.value_and_grad
def both(x):
    return np.sum(x**3)


@tape.custom_vjp
def tripled(x):
    return 3 * np.sum(x)


@tripled.defvjp
def _tripled_rule(g, out, x):
    return 3 * g * np.ones_like(x)


class Model:
    """One with methods that are made by transforms."""

    def __init__(self, k):
        self.k = k

    @tape.compile
    def scaled(self, x):
        return self.k * x

    @functools.partial(tape.grad, argnums=1)
    def slope(self, x):
        return np.sum(self.k * x**2)


def stepped(x, factor=1.0):
    return np.sum(factor * x**2)


MADE = [
    (tape.grad(cubes), (X,)),
    (tape.grad(stepped, argnums=(0,)), (X,)),
    (tape.value_and_grad(cubes), (X,)),
    (tape.elementwise_grad(squares), (X,)),
    (tape.jacobian(squares, mode="fwd"), (X,)),
    (tape.hessian(cubes), (X,)),
    (tape.divergence(squares), (X,)),
    (tape.laplacian(cubes), (X,)),
    (tape.hvp(cubes), (X, V)),
    (tape.gnvp(squares), (X, V)),
    (tape.directional_derivative(squares), (X, V)),
    (tape.checkpoint(squares), (X,)),
    (tape.compile(cubes), (X,)),
    (tape.compile(tape.hessian(cubes)), (X,)),
    (tape.grad(functools.partial(stepped, factor=3.0)), (X,)),
    (tape.compile(functools.partial(stepped, factor=3.0)), (X,)),
    (tape.grad(tripled), (X,)),
    (tape.expression("x**2 + 1"), (X,)),
    (Model(2.0).scaled, (X,)),
    (Model(2.0).slope, (X,)),
    (slope, (X,)),
    (both, (X,)),
]
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda f, protocol=protocol: pickle.loads(pickle.dumps(f, protocol))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
    "cloudpickle": lambda f: pickle.loads(cloudpickle.dumps(f)),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize(("made", "args"), MADE, ids=lambda value: repr(value)[:40])
def test_copies_do_what_the_original_does(made, args, how):
    again = COPIES[how](made)
    alike(again(*args), made(*args))
    assert getattr(again, "__name__", "") == getattr(made, "__name__", "")


@pytest.mark.parametrize("made", [slope, both, tripled], ids=["grad", "compile", "custom_vjp"])
def test_what_a_module_has_under_its_name_is_pickled_by_name(made):
    for how in COPIES.values():
        assert how(made) is made


@pytest.mark.parametrize(
    "namespace", [tape.nn, tape.ops, tape.ops.special], ids=lambda module: module.__name__
)
def test_operations_are_pickled_by_name(namespace):
    """So are models with activation functions in their structure."""
    found = {name: f for name, f in vars(namespace).items() if callable(f) and not name.startswith("_")}
    for name, function in found.items():
        assert pickle.loads(pickle.dumps(function)) is function, name


def test_copy_of_a_compiled_function_records_anew():
    original = tape.compile(cubes, donate=0, max_paths=3)
    original(X.copy())
    again = pickle.loads(pickle.dumps(original))
    assert len(original.programs) == 1
    assert len(again.programs) == 0
    again(X.copy())
    (program,) = again.programs.values()
    assert program.donated == {0}


@pytest.mark.parametrize(
    "make",
    [tape.grad, tape.jacobian, tape.hvp, tape.checkpoint, tape.compile, tape.custom_jvp],
    ids=lambda make: make.__name__,
)
def test_functions_without_a_name_are_refused_by_pickle_and_taken_along_by_cloudpickle(make):
    made = make(lambda x: 2 * x)
    with pytest.raises(errors.UnsupportedError, match=r"would look for .*<lambda>.*or use cloudpickle"):
        pickle.dumps(made)
    assert copy.deepcopy(made).__name__ == made.__name__
    assert pickle.loads(cloudpickle.dumps(made)).__name__ == made.__name__


def test_functions_that_hold_a_tape_are_copied_as_functions_are_and_not_pickled():
    _, pullback = tape.vjp(cubes, X)
    _, linear_map = tape.linearize(cubes, X)
    for held in (pullback, linear_map):
        assert copy.copy(held) is copy.deepcopy(held) is held
        for dump in (pickle.dumps, cloudpickle.dumps):
            with pytest.raises(errors.UnsupportedError, match="holds a tape"):
                dump(held)


def test_other_processes_get_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, sys\n"
        "import joblib, numpy as np, tape\n"
        "@tape.compile\n"
        "@tape.grad\n"
        "def gradient(x):\n"
        "    return np.sum(x**3)\n"
        "if __name__ == '__main__':\n"
        "    hessian = tape.hessian(lambda x: np.sum(x**3))\n"
        "    print(joblib.Parallel(2)(joblib.delayed(f)(np.ones(1)) for f in (gradient, hessian)))\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(gradient, [np.ones(1)]))\n"
    )
    here = {**os.environ, "PYTHONPATH": str(pathlib.Path(tape.__file__).parents[1])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, env=here)
    assert done.stdout.split("\n")[:2] == ["[array([3.]), array([[6.]])]", "[array([3.])]"], done.stderr
    assert joblib.hash(tape.grad(cubes)) == joblib.hash(tape.grad(cubes))
    assert multiprocessing.current_process().name == "MainProcess"


# ---- programs ------------------------------------------------------------------------------------------


def program_of(f, *args, **options):
    compiled = tape.compile(f, **options)
    compiled(*args)
    (program,) = compiled.programs.values()
    return program


def test_copied_program_outlives_its_original():
    k = np.arange(4.0)
    program = program_of(lambda x, p: {"y": np.tanh(x * k) + p["b"], "k": k}, np.ones(4), {"b": 1.0})
    expected = program(np.ones(4), {"b": 2.0})
    copies = [how(program) for how in COPIES.values()]
    del program
    rubbish = [np.full(4, 7.0) for _ in range(100)]  # in the memory that was freed
    for again in copies:
        alike(again(np.ones(4), {"b": 2.0}), expected)
    assert copies[0] is not copies[1]
    assert len(rubbish) == 100


def test_deep_copy_of_a_program_has_copies_of_what_was_closed_over():
    k = np.ones(2)
    program = program_of(lambda x: x * k, X)
    shallow, deep = copy.copy(program), copy.deepcopy(program)
    k *= 3
    alike(shallow(X), 3 * X)
    alike(deep(X), X)


def test_programs_that_files_cannot_hold_are_refused():
    program = program_of(lambda x: np.argpartition(x, 1), X)
    trace = tape.Trace()
    of_trace = trace.compile(trace.param(2.0) ** 2)
    for made, why in ((program, "calls back into Python"), (of_trace, "reads the leaves of its trace")):
        for how in (copy.deepcopy, pickle.dumps, cloudpickle.dumps):
            with pytest.raises(errors.UnsupportedError, match=why):
                how(made)
        assert copy.copy(made) is made


def test_damaged_pickle_of_a_program_is_refused():
    restore, (content,) = program_of(cubes, X).__reduce__()
    with pytest.raises(errors.ProgramFileError, match="what was pickled is not a program"):
        restore(content[:-30])


# ---- optimizers ----------------------------------------------------------------------------------------

PARAMS = [
    lambda: [np.ones(3), np.ones((2, 2)), np.ones((4, 4))[::2, ::2]],
    lambda: {"w": np.ones(3), "b": np.ones((2, 3)).T},
]


@pytest.mark.parametrize("how", ["deepcopy", "pickle 5", "cloudpickle"])
@pytest.mark.parametrize("params", PARAMS, ids=["list", "dict"])
@pytest.mark.parametrize("kind", [lambda p: tape.optim.SGD(p, lr=0.1, momentum=0.9), tape.optim.Adam])
def test_copied_optimizer_updates_the_parameters_copied_with_it(kind, params, how):
    held = params()
    grads = copy.deepcopy(held)
    optimizer = kind(held)
    optimizer.step(grads)
    others, other = COPIES[how]((held, optimizer))
    before = copy.deepcopy(held)
    other.step(grads)
    alike(held, before)
    optimizer.step(grads)
    alike(others, held)


# ---- what is not callable ------------------------------------------------------------------------------

TRANSFORMS = [
    tape.grad, tape.value_and_grad, tape.elementwise_grad, tape.jacobian, tape.hessian, tape.divergence,
    tape.laplacian, tape.hvp, tape.gnvp, tape.directional_derivative, tape.checkpoint, tape.compile,
    tape.custom_vjp, tape.custom_jvp, tape.custom_vjp(cubes).defvjp, tape.custom_jvp(cubes).defjvp,
    lambda f: tape.compile(donate=0)(f), lambda f: tape.gnvp(cubes, f),
    lambda f: tape.vjp(f, X), lambda f: tape.jvp(f, (X,), (V,)), lambda f: tape.linearize(f, X),
    lambda f: tape.taylor(f, X, V, 2), lambda f: tape.rop(f, X, V), lambda f: tape.root(f, X),
    lambda f: tape.fixed_point(f, X), lambda f: tape.odeint(f, X, np.arange(2.0)),
    lambda f: tape.checkpoint_loop(f, X, 2, 1),
]  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("given", [3, "f", X, [cubes]], ids=["int", "str", "array", "list"])
def test_what_is_not_callable_is_refused_at_once(transform, given):
    with pytest.raises(errors.UnsupportedError, match="expects a function"):
        transform(given)


def test_names_of_what_transforms_return():
    for transform in TRANSFORMS[:10]:
        made = transform(cubes)
        assert made.__name__ == f"{transform.__name__}(cubes)"
        assert repr(made) == f"<{made.__name__}>"
    assert tape.checkpoint(cubes).__name__ == "cubes"
    assert tape.checkpoint(cubes).__doc__ == "The sum of cubes."
    assert Model(3.0).slope.__self__.k == 3.0
