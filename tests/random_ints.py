"""Random functions of int arguments, compiled and called with ints of all kinds.

``python -m tests.random_ints 1000`` tries that many, and prints those whose results or exceptions differ.
"""

import random
import sys
import warnings

import numpy as np

import tape
from tape.program import growth

INTS = [0, 1, 2, 3, 4, 5, 7, 10, 12, 31, 64, 100, -1, -2, -3, -7, 1000, 12345, 2**31 - 1, 2**31, -(2**31),
        2**40, -(2**53) - 1, 10**20, True, False]  # fmt: skip

OF_INTS = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} // {b}", "{a} % {b}", "{a} ** 2", "{a} ** 3",
    "2 ** ({a} % 50)", "2 ** -({a} % 50)", "2 ** max(-70, min({a}, 70))",
    "(-1) ** {a}", "{a} ** ({b} % 9)", "-{a}", "abs({a})", "+{a}", "min({a}, {b})", "max({a}, 3)", "{a} % 10",
    "{a} // 7", "{a} + 1", "3 - {a}", "{a} & 3", "{a} << 2", "~{a}", "int({a})", "round({a})", "{a} + True",
    "divmod({a}, 7)[1]", "sum([{a}, {b}])", "({a} if {a} > {b} else {b})", "len(range({a} % 20))",
    "(1, 2, 3)[{a} % 3]", "pow({a}, 2, 7)", "({a} and {b})", "[{a}, {b}][0]", "math.gcd({a}, 12)",
    "int(f'{{{a}}}')", "{{True: 1, False: 2}}[{a} == {b}]", "hash({a}) % 5", "copy.deepcopy({a})",
    "(5 if isinstance({a}, int) else 6)", "({a}).bit_length()", "({a}).real", "operator.index({a})",
    "int(str({a}))", "({a} in (1, 2, 3))", "len([0] * ({a} % 5))", "np.int64(3) * {a}", "{a} - {a}",
    "kind_of({a})", "lookup({a})",
]  # fmt: skip
OF_FLOATS = [
    "{a} / {b}", "0.9 ** {a}", "{a} * 0.5", "{f} + {a}", "{a} - {f}", "{f} * {g}", "{f} / {a}", "{a} ** -1",
    "{a} ** 0.5", "{f} ** {a}", "float({a})", "math.sqrt(abs({f}))", "np.sqrt({a})", "np.sqrt(abs({f}))",
    "np.exp(-{f})", "np.cos({a} * 0.1)", "{f} // 2", "{f} % 3", "-{f}", "abs({f})", "1 / (1 + {a})",
    "1 - 0.99 ** {a}", "np.float32(0.5) ** {a}", "np.float64(2.0) * {a}", "min({f}, 1.0)", "s * {a}",
    "({f} if {a} % 2 == 0 else {g})", "round({f}, 2)", "float(f'{{{a} / 3:.3f}}')", "np.power({f}, 2)",
    "(1.0 if isinstance({a} / 2, float) else 2.0)", "({a} / 2).is_integer() + 0.0", "2.5 ** {f}", "{a} * s",
    "({a} * (s > 0)) + 0.5", "((s > 0) + {a}) ** 7 * 1.0",
    "np.minimum({a}, {f})",
    "({f} > {g}) + 0.0", "s / {a}", "{a} % 2.5", "{a} // 0.5", "np.log1p({f})", "np.maximum({a}, {b}) * 1.0",
]  # fmt: skip
OF_ARRAYS = [
    "{x} * {a}", "{a} * {x}", "{x} + {f}", "{x} / {a}", "{x} - {a}", "{f} - {x}", "{x} ** ({a} % 4)",
    "{x} * {f}", "np.sum({x}) * {a} + {x}", "{x}[{a} % 2:]", "{x} if {a} else -{x}",
    "np.where({x} > {a}, {x}, {f})", "{x}[{a}] + {x}", "{x}[..., {a}] * {x}",
    "put({x}, {a}, {f})", "row({x}, {a})",
    "np.maximum({x}, {a})", "{x}[{a} % 3] + {x}", "np.tanh({x} * {f})", "n * {a} + {x}", "n // 2 + {x} * {a}",
    "tape.grad(lambda z: np.sum(z * {a} + z ** 2 * {f}))({x})", "np.full(3, {a}) + {x}", "written({x}, {a})",
    "added({x}, {f})", "k * {a} + {x}", "np.arange(3) * {f} + {x}", "({x} > {a}) * {x}",
    "np.clip({x}, 0, {a})", "np.clip(n, 0, {a}) + {x}", "np.where({x} > 1, {a}, {x})",
    "np.where({x} > 1, {f}, {x})", "np.where({x} > 1, n, {a}) + {x}", "np.multiply({x}, {a})",
    "np.divide({x}, {f})", "np.subtract(n, {a}) * {x}",
    "tape.jacobian(lambda z: z * {a} + {f})({x})",
    "tape.jacobian(tape.grad(lambda z: np.sum(z**3) * {a}))({x})",
    "tape.checkpoint(lambda z: z * {a})({x})", "tape.cond({a} > 3, np.sin, np.cos, {x})",
    "tape.scan(lambda c, e: (c * {f} + e, c), 0.0 * s, {x})[1]",
    "np.zeros(3) + {a} * {x}", "h * {a} + {x}", "h * {f} + {x}", "{x} // {a}", "{x} % {a}", "{a} / {x}",
    "tape.grad(lambda z: np.sum(z) ** 2 / {a})({x})", "np.roll({x}, {a})", "b * {a} + {x}",
]  # fmt: skip
HEAD = """
def kind_of(n):
    return 1 if isinstance(n, (int, np.integer)) else 2
@functools.lru_cache(maxsize=None)
def lookup(n):
    return n * 3 % 11
def written(x, v):
    y = x.copy()
    y[0] = v
    return y
def put(x, i, v):
    y = x.copy()
    y[i] = v
    y[i % 3] += i
    return y
def row(x, i):
    y = np.stack([x, 2 * x])
    z = y[i % 2]
    z += 1
    return y[0] + z
def added(x, v):
    y = x.copy()
    z = y
    y += v
    return z
"""


def source_of(rng):
    """A random function of an array ``x``, others ``n, k, h, b``, a float ``s`` and ints in a tree."""
    ints, floats, arrays = ["i", "j", "m"], ["s", "0.5"], ["x"]
    lines = []
    for k in range(rng.randrange(1, 7)):
        name = f"v{k}"
        family, names = rng.choice(((OF_INTS, ints), (OF_FLOATS, floats), (OF_ARRAYS, arrays)))
        parts = {"a": rng.choice(ints), "b": rng.choice([*ints, "3"]), "f": rng.choice(floats),
                 "g": rng.choice(floats), "x": rng.choice(arrays)}  # fmt: skip
        lines.append(f"    {name} = {rng.choice(family).format(**parts)}")
        names.append(name)
    shown = [name for names in (ints, floats, arrays) for name in names]
    result = ", ".join(rng.sample(shown, min(len(shown), rng.randrange(1, 5))))
    begin = "def f(x, n, k, h, b, s, i, t):\n    j, (m,) = t['j'], t['m']"
    return HEAD + "\n".join([begin, *lines, f"    return [{result}]\n"])


def arguments(rng, dtype):
    """Arguments of such a function."""
    draw = np.random.default_rng(rng.randrange(2**32))
    ints = [rng.choice(INTS if rng.random() < 0.3 else INTS[:12]) for _ in range(3)]
    x = draw.normal(size=3).astype(dtype)
    others = draw.integers(-5, 5, 3), draw.integers(-5, 5, 3).astype(np.int32), x.astype(np.float16)
    return x, *others, x > 0, float(x[0]), ints[0], {"j": ints[1], "m": [ints[2]]}


def outcome(f, args):
    """What a call returns, or the exception that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except Exception as error:
            return error


def is_same(found, wanted, tolerance=1e-9):
    """Whether two outcomes are the same but for rounding: values, types, dtypes and shapes; exceptions."""
    if isinstance(wanted, Exception):
        return isinstance(found, type(wanted))
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        found, wanted = list(found.items()), list(wanted.items())
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(
            is_same(one, other, tolerance) for one, other in zip(found, wanted, strict=True)
        )
    if isinstance(wanted, (np.ndarray, np.generic, float)):
        tolerance = 1e-2 if np.result_type(wanted) == np.float16 else tolerance
        found, wanted = np.asarray(found), np.asarray(wanted)
        if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
            return False
        with np.errstate(all="ignore"):
            return bool(np.allclose(found, wanted, tolerance, tolerance, equal_nan=True))
    return found == wanted


def differences(seed, calls=9):
    """The calls in which a random function differs from itself compiled: source, ints and outcomes."""
    rng = random.Random(seed)
    source = source_of(rng)
    space = {}
    exec("import copy, functools, math, operator\nimport numpy as np, tape\n" + source, space)
    compiled, dtype = tape.compile(space["f"]), rng.choice((np.float64, np.float32))
    found = []
    for _ in range(calls):
        args = arguments(rng, dtype)
        wanted, got = outcome(space["f"], args), outcome(compiled, args)
        if isinstance(got, tape.errors.TapeError):  # which it may if the ints are static, too
            wanted = outcome(tape.compile(space["f"]), args)
        if isinstance(wanted, IndexError):  # of an element that is not used, it is not raised
            continue
        if not is_same(got, wanted, 1e-9 if dtype is np.float64 else 1e-3):
            found.append((source, args[-2:], wanted, got))
    return found


if __name__ == "__main__":
    growth.AT_ONCE = growth.MANY = 10**6
    for seed in range(int(sys.argv[1])):
        for difference in differences(seed):
            print(f"seed {seed}", *difference, sep="\n", flush=True)
