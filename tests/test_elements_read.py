"""Elements of arrays that are closed over, where Python reads them: what it makes of them follows the arrays.

A number, a choice or a length that Python makes of ``k`` leaves no trace of it in a program, as in
``max(1, k[0])``. That ``k`` matters is seen in the code, or because no operation of the program reads it.
"""

import collections
import dataclasses
import functools
import math
import types
import warnings

import numpy as np
import pytest

import tape
from tape import errors
from tape.program.calls.bytecode import Passed, Read, names_in
from tape.program.calls.expressions import Expressions, Param, Path, Returned
from tests.tiers import grid

K, N = np.array([1.5, 0.5]), np.array([1, 2, 0])
HELD = types.SimpleNamespace(k=K, n=N)
LAYERS = [(K, N)]
Pair = collections.namedtuple("Pair", "first second")
PAIR = Pair(N, K)
BY_NAME, IN_ORDER = {"k": K, "n": N}, [N, K]
X = np.array([0.3, 0.7, 1.1])


def chosen(x, low):
    return x if low > 1 else -x


def chosen_by_name(x, *, low):
    if low > 1:
        return x
    return -x


def chosen_inside(x, part):
    return chosen(x, part)


def at_least(x, least):
    return x * max(1, least)


def repeated(x, times):
    for _ in range(times):
        x = x * 1.5
    return x


def chosen_by_element(x, a):
    return x if a[0] > 1 else -x


def normalised(x, a):
    norm = np.linalg.norm(a)
    return x / norm if norm > 1 else x


def is_small(v):
    return v < 1


def matched(x):
    match N[0]:
        case 1:
            return x
        case 2:
            return -x
    return 3 * x


def unpacked(x):
    low, high = K
    return x if low > high else -x


def unpacked_in_part(x):
    first, *_ = N
    return x * (3 if first > 1 else 2)


def found_in_a_loop(x):
    for i, v in enumerate(K):
        if v > 1:
            return x * (i + 1)
    return x * 5


def counted_in_a_loop(x):
    i = 0
    while i < 2 and K[i] > 1:
        i += 1
        x = x * 2
    return x


def chained(x):
    top = K.max()
    if top > 2:
        return x
    return x * 2 if top > 1 else x * 3


def of_a_local(x):
    mine = K
    return x * min(1, mine[0])


def held():
    return K


def each(things):
    yield from things


def with_star(*args):
    return chosen_by_element(*args)


def by_function(function, *args):
    return function(*args)


def layers_of_pairs(x):
    for first, _ in LAYERS:
        x = x * max(1, first[0])
    return x


def unpacked_pair(x):
    _, second = PAIR
    return x if second[0] > 1 else -x


def either(x):
    mine = K if len(x) == 3 else x
    return x * max(1, mine[0])


def returned(x):
    mine = held()
    return x * max(1, mine[0])


def nested(x):
    def inside(mine):
        return max(1, mine[0])

    return x * inside(K)


def values_of_attributes(x):
    for value in vars(HELD).values():
        x = x * max(1, value[0])
    return x


def pairs_of_a_dict(x):
    for _, value in BY_NAME.items():  # noqa: PERF102
        x = x * max(1, value[0])
    return x


def items_by_number(x):
    for i in range(len(IN_ORDER)):
        x = x * max(1, IN_ORDER[i][0])
    return x


def with_a_default(x, mine=K):
    return x if mine[0] > 1 else x * min(1, mine[1])


def with_a_keyword(x, *, mine=K, more=IN_ORDER):
    return x * sum(1 for v in mine if v > 1) + max(more[0][0], 1)


FORMS = {
    "layers of pairs": layers_of_pairs,
    "an unpacked pair": unpacked_pair,
    "either": either,
    "returned": returned,
    "yielded": lambda x: sum(x * max(1, mine[0]) for mine in each(IN_ORDER)),
    "nested": nested,
    "star": lambda x: chosen_by_element(*(x, K)),
    "keywords": lambda x: chosen_by_element(x=x, a=K),
    "a function with a star": lambda x: with_star(x, K),
    "by a function": lambda x: by_function(chosen_by_element, x, K),
    "mapped": lambda x: sum(map(chosen_by_element, [x, x], IN_ORDER)),
    "values of attributes": values_of_attributes,
    "pairs of a dict": pairs_of_a_dict,
    "items by number": items_by_number,
    "a default": with_a_default,
    "a keyword's default": with_a_keyword,
    "a partial": functools.partial(chosen_by_element, a=K),
    "a partial's first": functools.partial(lambda a, x: x if a[0] > 1 else -x, K),
    "max": lambda x: x * max(1, K[0]),
    "min": lambda x: x * min(1, K[0]),
    "max of all": lambda x: x * max(1, *N),
    "a local variable": of_a_local,
    "an element passed on": lambda x: chosen(x, K[0]),
    "by name": lambda x: chosen_by_name(x, low=K[0]),
    "passed on twice": lambda x: chosen_inside(x, K[0]),
    "a maximum passed on": lambda x: chosen(x, K.max()),
    "np.max passed on": lambda x: chosen(x, np.max(K)),
    "arithmetic passed on": lambda x: chosen(x, K[0] * K[1] * 3),
    "of an attribute": lambda x: chosen(x, HELD.k[0]),
    "of a value": lambda x: chosen(x, BY_NAME["k"][0]),
    "of an item": lambda x: chosen(x, IN_ORDER[1][0]),
    "the array passed on": lambda x: chosen_by_element(x, K),
    "a result passed on": lambda x: chosen_by_element(x, K * 2),
    "an attribute passed on": lambda x: chosen_by_element(x, HELD.k),
    "a value passed on": lambda x: chosen_by_element(x, BY_NAME["k"]),
    "normalised": lambda x: normalised(x, K),
    "at least": lambda x: at_least(x, N[0]),
    "repeated": lambda x: repeated(x, N[0]),
    "not": lambda x: x * (not N[2] - 1 + N[1]),
    "in": lambda x: x * (2 in N),
    "not in": lambda x: x if 2 not in N else -x,
    "and": lambda x: x * (N[0] - 1 and 3),
    "or": lambda x: x * (N[0] - 1 or 3),
    "and of a bool": lambda x: x + ((K[0] > 1) and 1.0),
    "f-string": lambda x: x * len(f"{N[0] * 9}"),
    "str": lambda x: x * len(str(N * 9)),
    "%": lambda x: x * len("%d" % (N[0] * 9)),  # noqa: UP031
    "format": lambda x: x * len(format(N[0] * 9, "d")),
    "join": lambda x: x * len(",".join(map(str, N * 9))),
    "count_nonzero": lambda x: x * np.count_nonzero(K > 1),
    "unique": lambda x: x * np.unique(N).size,
    "nonzero": lambda x: x * N.nonzero()[0].size,
    "where": lambda x: x * np.where(K > 1)[0].size,
    "flatnonzero": lambda x: x * len(np.flatnonzero(N)),
    "set": lambda x: x * len(set(N)),
    "any": lambda x: x * any(v > 2 for v in K),
    "all": lambda x: x * all(v > 0.6 for v in K),
    "count": lambda x: x * sum(1 for v in K if v > 1),
    "comprehension": lambda x: x * len([v for v in K if v > 1]),
    "sum of some": lambda x: x + sum(x for v in K if v > 1),
    "filter": lambda x: x * len(list(filter(is_small, K))),
    "map": lambda x: x * max(map(float, K)),
    "reduce": lambda x: x * functools.reduce(lambda a, b: a if a > b else 4, K),
    "zip": lambda x: sum(x if v > 1 else -x for v, _ in zip(K, N, strict=False)),
    "list": lambda x: sum(x if v > 1 else 2 * x for v in list(K)),
    "a key function": lambda x: x * min(range(2), key=lambda i: K[i]),
    "the smallest of pairs": lambda x: x * min((v, i) for i, v in enumerate(K))[1],
    "most common": lambda x: x * collections.Counter(N.tolist()).most_common(1)[0][1],
    "a key": lambda x: x * {0: 1, 1: 2, 2: 3}[N[0]],
    "get": lambda x: x * {1: 2, 2: 3}.get(N[0], 9),
    "allclose": lambda x: x * np.allclose(K, [1.5, 0.5]),
    "array_equal": lambda x: x * np.array_equal(N, [1, 2, 0]),
    "isclose": lambda x: x if np.isclose(K[0], 1.5) else -x,
    "math": lambda x: x * math.sqrt(K[0]),
    "bit_length": lambda x: x * int(N[0]).bit_length(),
    "bytes": lambda x: x * N.tobytes()[0],
    "memoryview": lambda x: x * memoryview(K)[0],
    "divmod": lambda x: x * divmod(N[0], 2)[1],
    "conditional": lambda x: x * (2 if K.sum() > 1.5 else 3),
    "match": matched,
    "unpacked": unpacked,
    "unpacked in part": unpacked_in_part,
    "a loop that ends": found_in_a_loop,
    "while": counted_in_a_loop,
    "elif": chained,
    "a shift": lambda x: np.roll(x, max(1, N[0] - 1) + 1),
}
CONTENTS = [
    ([1, 2, 0], [1.5, 0.5]), ([1, 2, 0], [1.5, 0.5]), ([2, 2, 0], [0.5, 0.5]), ([2, 0, 0], [0.7, 2.5]),
    ([1, 2, 0], [1.5, 0.5]), ([1, 0, 0], [1.7, 2.5]),
]  # fmt: skip
TRANSFORMS = {
    "value": lambda f: f,
    "grad": lambda f: tape.grad(lambda x: np.sum(np.sin(f(x)))),
    "vmap": lambda f: lambda x: tape.vmap(f)(np.stack([x, 2 * x])),
}


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    N[:], K[:] = CONTENTS[0]


@grid(name=FORMS, transform=TRANSFORMS, also_read=[False, True])
def test_what_python_makes_of_elements_follows_them(name, transform, also_read):
    """Also where operations of the program read the array as well."""
    form = FORMS[name]
    f = TRANSFORMS[transform](lambda x: form(x) + 0 * (K[:1] * x + N[:1] * x) if also_read else form(x))
    compiled = tape.compile(f)
    for N[:], K[:] in CONTENTS:
        expected = f(X)
        found = compiled(X)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@grid(form=[lambda x: x if N[0] < 30 else -x, lambda x: chosen(x, 31 - N[0]), lambda x: x * max(30, N[0])])
def test_a_branch_that_stays_for_long_is_no_evidence(form):
    compiled = tape.compile(form)
    N[0] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PathLimitWarning)
        for _ in range(40):
            N[0] += 1
            np.testing.assert_array_equal(compiled(X), form(X))


def layers(x, weights):
    for weight in weights:
        x = np.tanh(x @ weight + weight[0])
    return x


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    bias: np.ndarray

    def __call__(self, x):
        return np.tanh(x @ self.weight) + self.bias


def dense_layer(x, pair):
    return np.tanh(x @ pair[0] + pair[1])


def deep(x, layers):
    for k, layer in enumerate(layers):
        x = layer(x)
        if k < len(layers) - 1:
            x = x * 2
    return x


class Net:
    def __init__(self):
        self.weights, self.biases = [np.ones((3, 3)), np.eye(3)], [np.ones(3), np.zeros(3)]
        self.scale = np.ones(3)

    def layer(self, x, weight, bias):
        return np.tanh(x @ weight + bias) * self.scale

    def __call__(self, x):
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = self.layer(x, weight, bias)
        return x + self.biases[0]


def test_arrays_that_only_operations_read_need_one_program():
    weights, net = [np.ones((3, 3)), np.eye(3)], Net()
    dense = [Layer(np.ones((3, 3)), np.ones(3)), Layer(np.eye(3), np.zeros(3))]
    stacked = [(weights[0], net.biases[0]), (weights[1], net.biases[1])]
    forms = {
        "items": lambda x: layers(x, weights),
        "a gradient": lambda x: tape.grad(lambda p: np.sum(layers(x, p) ** 2))(weights)[0],
        "attributes": net.__call__,
        "pairs": lambda x: sum(np.sum(x @ w) for w in weights),
        "a branch on data": lambda x: x @ weights[0] if np.sum(x @ weights[0]) > 0 else -x,
        "dataclasses": lambda x: deep(x, dense),
        "pairs in a list": lambda x: functools.reduce(dense_layer, stacked, x),
        "a shape": lambda x: x @ weights[0] / len(weights[0]) / weights[0].shape[0],
    }
    compiled = {name: tape.compile(f) for name, f in forms.items()}
    for step in range(20):
        for name, f in forms.items():
            np.testing.assert_allclose(compiled[name](X), f(X), rtol=1e-12)
        for array in (*weights, *net.weights, *net.biases, net.scale, *tape.tree.leaves([*map(vars, dense)])):
            array += 0.01 * (step + 1) * np.cos(np.arange(array.size).reshape(array.shape) / 8)
    assert {name: len(c.programs) for name, c in compiled.items()} == dict.fromkeys(forms, 1)


# ---- what is found in code -------------------------------------------------------------------------------


def test_reads_of_elements_in_code():
    def code(text):
        return names_in(compile(f"def f(x, a): return {text}", "", "exec").co_consts[0])

    assert Read("k", 1, 0) in code("x * max(1, k[0])").decisive
    assert Read("k", 2, 0) in code("x * k[0, 1]").decisive
    assert Read("d", 1, 1) in code("x * d['k'][0]").decisive
    assert Read("k", 1, 0) in code("[x * v for v in o.k]").decisive
    assert Read(Param("a"), 1, 0) in code("x * a[0]").decisive
    assert Read(Returned("get"), 1, 0) in code("x * get()[0]").decisive
    assert Read("k", is_condition=True) in code("x if k.sum() > 1 else -x").decisive
    assert Read(Param("a"), is_condition=True) in code("x if np.max(a) > 1 else -x").decisive
    for text in ("x @ k", "x @ k.T", "x * k[1:]", "x[:3] @ k[None]", "x * len(k)", "x / k.shape[0]"):
        assert not {read for read in code(text).decisive if read.name == "k"}, text
    for text in ("x if np.sum(x @ k) > 1 else -x", "x if len(k) > 1 else -x", "x if k is None else -x"):
        assert not any(read.is_condition for read in code(text).decisive), text
    assert code("g(x, low=k)").passed >= {Passed("g", 0, Param("x"), 0), Passed("g", "low", "k", 0)}
    assert Passed("g", 1, "d", 1) in code("g(x, d['k'])").passed
    assert Passed("g", 0, "k", None) in code("o.g(k * 2)").passed
    assert code("o.k[0]").returns == {Path("k", 1)}


def test_what_variables_may_be():
    def paths(text):
        return Expressions(compile(f"def f(a):\n{text}", "", "exec").co_consts[0]).paths

    for text, found in {
        " w = k": {("k", 0)},
        " w = k if a else o.m": {("k", 0), ("m", 0)},
        " w = d['k'][0]": {("d", 2)},
        " w = get()": {(Returned("get"), 0)},
        " for w in ws: pass": {("ws", 1)},
        " v, w = pair": {("pair", 1)},
        " for v, w in layers: pass": {("layers", 2)},
        " for _, w in d.items(): pass": {("d", 1)},
        " for v, w in zip(vs, ws): pass": {("vs", 1), ("ws", 1)},
        " for w in list(d.values()): pass": {("d", 1)},
        " w = a": {(Param("a"), 0)},
        " w = k + 1": set(),
    }.items():
        assert paths(text)["w"] == {Path(*one) for one in found}, text
