"""Random operations, declared in one mode, in both, jointly, with None: every derivative is right or refused.

Each operation computes a random formula and has rules made from its derivative. They are declared in one of
the ways in which users do; used in a random function, all derivatives of which are those of the same function
in plain NumPy calls. ``TAPE_RANDOM_OPS`` says how many are tried.
"""

import os

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.core.op import Op
from tests.tiers import rounds, takes_long

COUNT = int(os.environ.get("TAPE_RANDOM_OPS", rounds(80, plain=40)))

# A formula: of one or two operands, with the derivative by each.
FORMULAS = {
    "square": (lambda x: x**2, [lambda x: 2 * x]),
    "sine": (lambda x: np.sin(x), [lambda x: np.cos(x)]),
    "smooth": (lambda x: x / (1 + x * x), [lambda x: (1 - x * x) / (1 + x * x) ** 2]),
    "doubled": (lambda x: 2.0 * x, [lambda x: 2.0]),
    "product": (lambda x, y: x * y, [lambda x, y: y, lambda x, y: x]),
    "sum": (lambda x, y: x + 3.0 * y, [lambda x, y: 1.0, lambda x, y: 3.0]),
    "wave": (lambda x, y: np.sin(x * y), [lambda x, y: y * np.cos(x * y), lambda x, y: x * np.cos(x * y)]),
    "quotient": (
        lambda x, y: x / (2 + y * y),
        [lambda x, y: 1 / (2 + y * y), lambda x, y: -2 * x * y / (2 + y * y) ** 2],
    ),
}
LINEAR = {"doubled": {0}, "product": {0, 1}, "quotient": {0}}
"""By which operands a formula is linear, the others being held."""
WAYS = (
    "vjp",
    "jvp",
    "both",
    "joint vjp",
    "joint jvp",
    "both joint",
    "vjp and joint jvp",
    "joint vjp and jvp",
    "linear",
)
DTYPES = (np.float64, np.float32, np.complex128)


def declared(name, way, missing):
    """An operation and the same in NumPy calls; operand ``missing`` has no derivative.

    Rules read an operand without a derivative as what it is: a constant, at every order.
    """
    formula, slopes = FORMULAS[name]

    def held(operands):
        return [tape.stop_gradient(x) if k == missing else x for k, x in enumerate(operands)]

    def rule_of(slope):
        return lambda d, out, *operands: d * slope(*held(operands))

    rules = [None if k == missing else rule_of(slope) for k, slope in enumerate(slopes)]

    def joint_vjp(g, out, *operands):
        return [None if rule is None else rule(g, out, *operands) for rule in rules]

    def joint_jvp(tangents, out, *operands):
        parts = [
            rule(t, out, *operands)
            for rule, t in zip(rules, tangents, strict=True)
            if rule is not None and t is not None
        ]
        return sum(parts[1:], parts[0]) if parts else None

    options = {
        "vjp": {"vjp": rules},
        "jvp": {"jvp": rules},
        "both": {"vjp": rules, "jvp": rules},
        "joint vjp": {"vjp": joint_vjp},
        "joint jvp": {"jvp": joint_jvp},
        "both joint": {"vjp": joint_vjp, "jvp": joint_jvp},
        "vjp and joint jvp": {"vjp": rules, "jvp": joint_jvp},
        "joint vjp and jvp": {"vjp": joint_vjp, "jvp": rules},
        "linear": {"vjp": rules, "linear": True},
    }[way]
    op = Op(formula, name=f"{name} by {way}", **options)
    return op, lambda *operands: formula(*held(operands))


def random_operation(rng):
    """One that is declared in a random way."""
    while True:
        name, way = rng.choice(list(FORMULAS)), rng.choice(WAYS)
        count = len(FORMULAS[name][1])
        missing = int(rng.integers(count)) if rng.random() < 0.3 else None
        moving = {k for k in range(count) if k != missing}
        if way != "linear" or moving <= LINEAR.get(name, set()):
            return count, *declared(name, way, missing)


PLAIN = (np.sin, np.tanh, lambda x: 0.5 * x, lambda x: np.sin(x) - 0.5, lambda x: 0.5 * np.sin(x)[::-1])


def random_function(rng, size, dtype):
    """A function of a vector, with random operations and with the same in NumPy calls; and how it reads."""
    operations = [random_operation(rng) for _ in range(rng.integers(1, 4))]
    steps = []
    for _ in range(rng.integers(2, 6)):
        which = int(rng.integers(len(operations)))
        operands = [
            ("constant", rng.normal(size=rng.choice([1, size])).astype(dtype)) if rng.random() < 0.2
            else ("number", float(rng.normal())) if rng.random() < 0.1
            else ("value", float(rng.random()))
            for _ in range(operations[which][0])
        ]  # fmt: skip
        operands[int(rng.integers(len(operands)))] = "value", float(rng.random())
        steps.append((which, operands, int(rng.integers(len(PLAIN)))))

    def function(kind):
        def f(x):
            values = [x]
            for which, operands, after in steps:
                given = [values[int(v * len(values))] if what == "value" else v for what, v in operands]
                values.append(PLAIN[after](operations[which][1 + kind](*given)) + 0.1 * x)
            return values[-1] + values[len(values) // 2]

        return f

    text = [([what for what, _ in operands], operations[which][1].name) for which, operands, _ in steps]
    return function(0), function(1), text


def random_points(rng, dtype):
    """Where, and a direction."""
    x, v = 0.5 * rng.normal(size=(2, 3)).astype(dtype)
    if dtype is np.complex128:
        x, v = x + 0.2j * rng.normal(size=3), v + 0.5j * rng.normal(size=3)
    return x, v


def scalar(f):
    return lambda x: np.sum(np.sin(f(x)))


REAL = {
    "grad": lambda f, x, v: tape.grad(scalar(f))(x),
    "value and grad": lambda f, x, v: tape.value_and_grad(scalar(f))(x),
    "hvp": lambda f, x, v: tape.hvp(scalar(f))(x, v),
    "hessian": lambda f, x, v: tape.hessian(scalar(f))(x),
    "divergence": lambda f, x, v: tape.divergence(f)(x),
    "laplacian": lambda f, x, v: tape.laplacian(scalar(f))(x),
    "gnvp": lambda f, x, v: tape.gnvp(f)(x, v),
    "gnvp of a loss": lambda f, x, v: tape.gnvp(f, lambda y: np.sum(np.cos(y)))(x, v),
    "third order": lambda f, x, v: tape.jvp(
        tape.grad(lambda x: tape.jvp(scalar(f), (x,), (v,))[1]), (x,), (v,)
    )[1],
    "through a checkpoint": lambda f, x, v: tape.hvp(tape.checkpoint(scalar(f)))(x, v),
    "compiled grad": lambda f, x, v: twice(tape.grad(scalar(f)), x),
    "compiled jacobian": lambda f, x, v: twice(tape.jacobian(f, mode="fwd"), x),
    "compiled hessian": lambda f, x, v: twice(tape.hessian(scalar(f)), x),
    "hessian of a program": lambda f, x, v: tape.hessian(tape.compile(scalar(f)))(x),
}
ANY = {
    "vjp": lambda f, x, v: tape.vjp(f, x)[1](v),
    "jvp": lambda f, x, v: tape.jvp(f, (x,), (v,)),
    "forward jacobian": lambda f, x, v: tape.jacobian(f, mode="fwd", holomorphic=x.dtype.kind == "c")(x),
    "reverse jacobian": lambda f, x, v: tape.jacobian(f, mode="rev", holomorphic=x.dtype.kind == "c")(x),
    "taylor": lambda f, x, v: tape.taylor(f, x, v, 3),
    "rop": lambda f, x, v: tape.rop(f, x, v),
    "double lop": lambda f, x, v: tape.rop(f, x, v, method="double_lop"),
    "linearize": lambda f, x, v: tape.linearize(f, x)[1](v),
    "compiled jvp": lambda f, x, v: twice(lambda x, v: tape.jvp(f, (x,), (v,))[1], x, v),
    "compiled vjp": lambda f, x, v: twice(lambda x, v: tape.vjp(f, x)[1](v), x, v),
    "jvp of a program": lambda f, x, v: tape.jvp(tape.compile(f), (x,), (v,)),
}


def twice(f, *args):
    """Of a program: recorded for other numbers, then run for these."""
    compiled = tape.compile(f)
    compiled(*(0.5 * arg for arg in args))
    return compiled(*args)


@takes_long
@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize("start", range(0, COUNT, 10))
def test_every_derivative_of_random_operations_is_that_of_numpy_calls(start):
    for seed in range(start, min(start + 10, COUNT)):
        rng = np.random.default_rng(seed)
        dtype = DTYPES[seed % len(DTYPES)]
        f, g, text = random_function(rng, 3, dtype)
        x, v = random_points(rng, dtype)
        transforms = ANY if dtype is np.complex128 else {**REAL, **ANY}
        for name in rng.choice(list(transforms), 8, replace=False):
            with np.errstate(all="ignore"):  # sines of complex numbers overflow now and then
                found, expected = transforms[name](f, x, v), transforms[name](g, x, v)
            for part, wanted in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
                where = f"seed {seed}, {name}: {text}"
                assert np.result_type(part) == np.result_type(wanted), where
                assert np.shape(part) == np.shape(wanted), where
                if np.isfinite(wanted).all():
                    scale = max(1.0, np.max(np.abs(wanted), initial=0.0))
                    tolerance = (2e-4 if dtype is np.float32 else 1e-10) * scale
                    assert np.allclose(part, wanted, rtol=0, atol=tolerance), where


@pytest.mark.parametrize("seed", range(20))
def test_random_rules_that_contradict_each_other_are_refused(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))

    def rules(present):
        return [(lambda d, out, *operands: d) if has else None for has in present]

    one, other = rng.random((2, count)) < 0.5
    if (one == other).all():
        Op(lambda *operands: operands[0], name="mine", vjp=rules(one), jvp=rules(other))
    else:
        k = int(np.flatnonzero(one != other)[0])
        with pytest.raises(errors.OptionError, match=f"for operand {k}, and None"):
            Op(lambda *operands: operands[0], name="mine", vjp=rules(one), jvp=rules(other))
