"""Every operation, one line each: its name, the function, the arguments it is well conditioned at.

A function takes the namespace that runs it first: `tape.ops` on arrays or on Vars, NumPy on Vars, or
`tests.naive` as the oracle. `tests.test_ops` derives all its checks from `CASES`. The first word of a
case's name is the operation; adding an operation means adding its line.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Argument:
    """How one argument is drawn."""

    shape: Shape
    draw: Callable[[np.random.Generator, Shape], np.ndarray]


Domain = Callable[..., Argument]  # called with a shape


class Case:
    """One way of calling an operation.

    Parameters
    ----------
    name : str
        The operation, then what sets this case apart.
    function : callable
        ``function(namespace, *arrays)``, returning one array.
    *arguments : Argument
        Floats are differentiated by, the rest is data.
    has_derivative : bool
        Whether anything flows; if not, the result is a constant to every derivative.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], *arguments: Argument, has_derivative: bool = True
    ) -> None:
        self.name = name
        self.op = name.split()[0]
        self.function = function
        self.arguments = arguments
        self.has_derivative = has_derivative

    def __repr__(self) -> str:
        return self.name

    def rng(self, salt: int = 0) -> np.random.Generator:
        """Random numbers of this case's own, the same in every run."""
        return np.random.default_rng([salt, crc32(self.name.encode())])

    def args(self, dtype: Any = np.float64, salt: int = 0) -> list[np.ndarray]:
        """Arguments, floats in the given dtype; others for every ``salt``."""
        rng = self.rng(salt)
        drawn = [argument.draw(rng, argument.shape) for argument in self.arguments]
        return [a.astype(dtype) if a.dtype.kind == "f" else a for a in drawn]

    def on(self, namespace: Any) -> Callable[..., Any]:
        """The function of arrays alone, run by a namespace."""
        return lambda *args: self.function(namespace, *args)


# ---- domains: at least 0.1 away from any kink or pole, so that differences are exact -------------


def _domain(draw: Callable[[np.random.Generator, Shape], Any]) -> Domain:
    return lambda *shape: Argument(shape, lambda rng, shape: np.asarray(draw(rng, shape)))


def _grid(offset: float) -> Domain:
    """Values 0.4 apart in random order."""
    return _domain(lambda rng, s: _shuffled(rng, s) * 0.4 + offset)


def _shuffled(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    count = int(np.prod(shape))
    return rng.permutation(count).reshape(shape) - float(count // 2)


real = _domain(lambda rng, s: rng.uniform(-1, 1, s))
positive = _domain(lambda rng, s: rng.uniform(0.5, 2, s))
nonzero = _domain(lambda rng, s: rng.uniform(0.5, 2, s) * rng.choice([-1.0, 1.0], s))
grid = _grid(0.1)  # no two elements alike, none 0
other_grid = _grid(0.3)  # none alike in both grids
bools = _domain(lambda rng, s: rng.integers(0, 2, s) == 1)
ints = _domain(lambda rng, s: rng.integers(-3, 4, s))
classes = _domain(lambda rng, s: rng.integers(0, 4, s))
regular = _domain(lambda rng, s: rng.uniform(-1, 1, s) + 3 * np.eye(s[-1]))
probabilities = _domain(lambda rng, s: rng.dirichlet(np.ones(s[-1]), s[:-1]))


def zeros_at(*positions: int) -> Domain:
    """Nonzero values, but for these positions of the flattened array."""

    def draw(rng: np.random.Generator, shape: Shape) -> np.ndarray:
        x = rng.uniform(0.5, 2, shape)
        x.flat[list(positions)] = 0
        return x

    return _domain(draw)


# ---- families: what one line of the table stands for ---------------------------------------------

SHAPES: tuple[Shape, ...] = ((), (3,), (2, 3), (2, 1, 3), (0, 3))

PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((3,), ()),
    ((), (2, 3)),
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((1,), (3,)),
    ((3, 1), (4,)),
    ((4,), (3, 1)),
    ((2, 1, 3), (4, 1)),
    ((1, 1), (2, 1, 2)),
    ((0, 3), (3,)),
    ((1, 1), (0, 3)),
)

PRODUCTS: tuple[tuple[Shape, Shape], ...] = (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (2, 1, 3, 4)),
    ((3,), (5, 3, 4)),
    ((3,), (2, 5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((2, 5, 2, 3), (3,)),
    ((1, 1), (1, 1)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((0,), (0,)),
    ((0, 2, 3), (3, 4)),
    ((2, 3), (0, 3, 4)),
    ((0, 2, 3), (3,)),
)

AXES: tuple[Any, ...] = (None, 0, 1, -1, (0, 2), (-1, 0), (2, 1, 0))


def _call(op: str, **options: Any) -> Callable[..., Any]:
    return lambda ns, *args: getattr(ns, op)(*args, **options)


def _told(**options: Any) -> str:
    return " ".join(f"{key}={value}" for key, value in options.items()).replace(", ", ",")


def _joined(shapes: Iterable[Shape]) -> str:
    return "x".join(str(shape).replace(" ", "") for shape in shapes)


def unary(op: str, domain: Domain, **options: Any) -> list[Case]:
    """An elementwise operation of one operand, for every kind of shape."""
    return [Case(f"{op} {_joined([s])}", _call(op), domain(*s), **options) for s in SHAPES]


def binary(op: str, left: Domain, right: Domain, **options: Any) -> list[Case]:
    """An elementwise operation of two operands, for every kind of broadcasting."""
    return [Case(f"{op} {_joined([s, t])}", _call(op), left(*s), right(*t), **options) for s, t in PAIRS]


def reduction(op: str, domain: Domain, **attrs: Any) -> list[Case]:
    """A reduction, over every kind of axes, with and without keeping them."""
    return [
        Case(f"{op} {_told(axis=axis, keepdims=keep, **attrs)}", _call(op, axis=axis, keepdims=keep, **attrs),
             domain(2, 3, 2))
        for axis in AXES
        for keep in (False, True)
    ]  # fmt: skip


def position(op: str, domain: Domain) -> list[Case]:
    """A reduction to an index, which takes one axis at most."""
    return [
        Case(f"{op} {_told(axis=axis, keepdims=keep)}", _call(op, axis=axis, keepdims=keep),
             domain(2, 3, 2), has_derivative=False)
        for axis in (None, 0, -1)
        for keep in (False, True)
    ]  # fmt: skip


def softmaxes(op: str) -> list[Case]:
    """A normalisation, over every kind of axes."""
    return [Case(f"{op} {_told(axis=axis)}", _call(op, axis=axis), real(2, 3, 2)) for axis in AXES]


def getitem(told: str, index: Any, *shape: int) -> Case:
    """Reading by a static index."""
    return Case(f"getitem {told}", lambda ns, x: ns.getitem(x, index), real(*shape))


def cross_entropy(kind: str, target: Callable[[Shape], Argument]) -> list[Case]:
    """Softmax cross-entropy for every reduction and rank of logits."""
    return [
        Case(f"softmax_cross_entropy {kind} {reduced} {_joined([s])}",
             _call("softmax_cross_entropy", reduction=reduced), real(*s), target(s))
        for reduced in ("mean", "sum", "none")
        for s in ((4,), (3, 4), (2, 3, 4), (0, 4))
        if reduced != "mean" or 0 not in s
    ]  # fmt: skip


def _slope(x: Any) -> Any:
    return 3 * x * x


CASES: list[Case] = [
    # arithmetic
    *binary("add", real, real),
    *binary("subtract", real, real),
    *binary("multiply", real, real),
    *binary("divide", real, nonzero),
    *binary("power", positive, real),
    *unary("negative", real),
    *unary("positive", real),
    Case("power x**2", lambda ns, x: ns.power(x, 2), real(2, 3)),
    Case("power x**3", lambda ns, x: ns.power(x, 3), real(2, 3)),
    Case("power x**2.0", lambda ns, x: ns.power(x, 2.0), real(2, 3)),
    Case("power x**0.5", lambda ns, x: ns.power(x, 0.5), positive(2, 3)),
    Case("power x**-1", lambda ns, x: ns.power(x, -1), nonzero(2, 3)),
    Case("power x**1", lambda ns, x: ns.power(x, 1), real(2, 3)),
    Case("power x**0", lambda ns, x: ns.power(x, 0), real(2, 3)),
    Case("power 0d**2", lambda ns, x: ns.power(x, 2), real()),
    Case("power 2**x", lambda ns, x: ns.power(2.0, x), real(2, 3)),
    Case("power x**n ints", lambda ns, x, n: ns.power(x, n), nonzero(2, 3), ints(3)),
    Case("multiply x*x", lambda ns, x: ns.multiply(x, x), real(2, 3)),
    Case("divide x/x*x", lambda ns, x: ns.divide(x, ns.multiply(x, x)), nonzero(2, 3)),
    Case("add ints", _call("add"), real(2, 3), ints(2, 3)),
    Case("multiply ints", _call("multiply"), ints(3), real(2, 3)),
    Case("divide ints", _call("divide"), ints(3), nonzero(2, 3)),
    Case("multiply bools", _call("multiply"), real(2, 3), bools(2, 3)),
    # elementary
    *unary("exp", real),
    *unary("expm1", real),
    *unary("log", positive),
    *unary("log1p", positive),
    *unary("sqrt", positive),
    *unary("square", real),
    *unary("reciprocal", nonzero),
    *unary("absolute", grid),
    *unary("sin", real),
    *unary("cos", real),
    *unary("tan", real),
    *unary("arctan", real),
    *unary("erf", real),
    *unary("tanh", real),
    *unary("sigmoid", real),
    *unary("relu", grid),
    *unary("softplus", real),
    Case("apply x**3", lambda ns, x: ns.apply(x, lambda a: a**3, _slope), real(2, 3)),
    Case("apply 0d", lambda ns, x: ns.apply(x, lambda a: a**3, _slope), real()),
    # selection
    *binary("maximum", grid, other_grid),
    *binary("minimum", grid, other_grid),
    Case("maximum x,0", lambda ns, x: ns.maximum(x, 0), grid(2, 3)),
    Case("minimum 1,x", lambda ns, x: ns.minimum(1.0, x), grid(2, 3)),
    Case("where (2,3)", _call("where"), bools(2, 3), real(2, 3), real(2, 3)),
    Case("where broadcast", _call("where"), bools(3, 1), real(4), real()),
    Case("where broadcast condition", _call("where"), bools(2, 3, 4), real(3, 1), real(4)),
    Case("where 0d", _call("where"), bools(), real(), real()),
    Case("where empty", _call("where"), bools(0, 3), real(3), real(1, 1)),
    Case("where x>0", lambda ns, x: ns.where(ns.greater(x, 0), x, 2 * x), grid(2, 3)),
    Case("where constant", lambda ns, x: ns.where(ns.less(x, 0), x, 0), grid(2, 3)),
    Case("clip both", lambda ns, x: ns.clip(x, -0.5, 0.7), grid(2, 3)),
    Case("clip low", lambda ns, x: ns.clip(x, -0.5, None), grid(2, 3)),
    Case("clip high", lambda ns, x: ns.clip(x, None, 0.7), grid(2, 3)),
    Case("clip arrays", _call("clip"), grid(3, 1), other_grid(4), positive(1, 1)),
    *(case for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
      for case in binary(op, ints, ints, has_derivative=False)),
    *(case for op in ("logical_and", "logical_or", "logical_xor")
      for case in binary(op, bools, bools, has_derivative=False)),
    *(case for op in ("bitwise_and", "bitwise_or", "bitwise_xor")
      for case in binary(op, ints, ints, has_derivative=False)),
    *(case for op in ("isnan", "isinf", "isfinite", "sign", "floor", "ceil", "trunc", "rint", "logical_not")
      for case in unary(op, grid, has_derivative=False)),
    Case("less floats", _call("less"), grid(2, 3), grid(3), has_derivative=False),
    Case("equal floats", _call("equal"), grid(2, 3), grid(3), has_derivative=False),
    *unary("invert", bools, has_derivative=False),
    Case("isclose", lambda ns, x, y: ns.isclose(x, y, atol=0.5), grid(2, 3), grid(3), has_derivative=False),
    Case("all axis", lambda ns, x: ns.all(x, 1), bools(2, 3), has_derivative=False),
    Case("any keepdims", lambda ns, x: ns.any(x, keepdims=True), bools(2, 3), has_derivative=False),
    *position("argmax", grid),
    *position("argmin", grid),
    # linear equations
    Case("solve vector", _call("solve"), regular(3, 3), real(3)),
    Case("solve matrix", _call("solve"), regular(3, 3), real(3, 2)),
    Case("solve stack", _call("solve"), regular(2, 3, 3), real(2, 3, 2)),
    Case("solve broadcast", _call("solve"), regular(2, 1, 3, 3), real(4, 3, 2)),
    Case("solve one matrix", _call("solve"), regular(3, 3), real(2, 3, 1)),
    Case("solve stack vector", _call("solve"), regular(2, 3, 3), real(3)),
    # reductions
    *reduction("sum", real),
    *reduction("mean", real),
    *reduction("max", grid),
    *reduction("min", grid),
    *reduction("prod", nonzero),
    *reduction("var", real, ddof=0),
    *reduction("var", real, ddof=1),
    *reduction("std", grid, ddof=0),
    *reduction("std", grid, ddof=1),
    *reduction("logsumexp", real),
    *(Case(f"{op} axis=()", _call(op, axis=()), grid(2, 3))
      for op in ("sum", "mean", "max", "min", "prod", "logsumexp")),
    *(Case(f"{op} 0d", _call(op), grid())
      for op in ("sum", "mean", "max", "min", "prod", "var", "logsumexp")),
    *(Case(f"{op} empty axis={axis}", _call(op, axis=axis), real(0, 3))
      for op in ("sum", "prod") for axis in (None, 0, 1)),
    *(Case(f"{op} empty", _call(op, axis=1), real(0, 3))
      for op in ("mean", "max", "min", "var", "std", "logsumexp")),
    Case("prod one zero", _call("prod"), zeros_at(1)(5)),
    Case("prod two zeros", _call("prod"), zeros_at(1, 3)(5)),
    Case("prod three zeros", _call("prod"), zeros_at(0, 1, 3)(4)),
    Case("prod zeros axis=0", _call("prod", axis=0), zeros_at(0, 1, 4)(3, 3)),
    Case("prod one element", _call("prod", axis=1), real(3, 1)),
    Case("sum bools to ints", lambda ns, m, x: ns.sum(m, axis=0) * x, bools(4, 3), real(3)),
    Case("std square", lambda ns, x: ns.square(ns.std(x, axis=0)), grid(3, 2)),
    # softmax
    *softmaxes("softmax"),
    *softmaxes("log_softmax"),
    Case("softmax empty", _call("softmax"), real(0, 3)),
    Case("log_softmax empty", _call("log_softmax"), real(0, 3)),
    *cross_entropy("indices", lambda s: classes(*s[:-1])),
    *cross_entropy("probabilities", lambda s: probabilities(*s)),
    *cross_entropy("weights", lambda s: real(*s)),
    # products
    *(Case(f"matmul {_joined(pair)}", _call("matmul"), real(*pair[0]), real(*pair[1])) for pair in PRODUCTS),
    Case("matmul x@x", lambda ns, x: ns.matmul(x, x), real(3, 3)),
    Case("matmul x@x.T", lambda ns, x: ns.matmul(x, ns.transpose(x)), real(2, 3)),
    Case("matmul ints", _call("matmul"), ints(2, 3), real(3, 2)),
    *(Case(f"dot {_joined(pair)}", _call("dot"), real(*pair[0]), real(*pair[1]))
      for pair in (((), (2, 3)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)),
                   ((5, 2, 3), (3,)), ((5, 2, 3), (3, 4)))),
    # shape
    Case("reshape (3,2)", lambda ns, x: ns.reshape(x, (3, 2)), real(2, 3)),
    Case("reshape -1", lambda ns, x: ns.reshape(x, (3, -1)), real(2, 3, 2)),
    Case("reshape int", lambda ns, x: ns.reshape(x, 6), real(2, 3)),
    Case("reshape 0d", lambda ns, x: ns.reshape(x, (1, 1)), real()),
    Case("reshape to 0d", lambda ns, x: ns.reshape(x, ()), real(1, 1)),
    Case("reshape empty", lambda ns, x: ns.reshape(x, (3, 0)), real(0, 2)),
    *(Case(f"ravel {_joined([s])}", _call("ravel"), real(*s)) for s in SHAPES),
    *(Case(f"transpose {_joined([s])}", _call("transpose"), real(*s)) for s in SHAPES),
    Case("transpose (2,0,1)", lambda ns, x: ns.transpose(x, (2, 0, 1)), real(2, 3, 4)),
    Case("transpose negative", lambda ns, x: ns.transpose(x, (-1, 0, -2)), real(2, 3, 4)),
    Case("swapaxes 0,-1", lambda ns, x: ns.swapaxes(x, 0, -1), real(2, 3, 4)),
    Case("swapaxes same", lambda ns, x: ns.swapaxes(x, 1, 1), real(2, 3)),
    Case("expand_dims 0", lambda ns, x: ns.expand_dims(x, 0), real(2, 3)),
    Case("expand_dims -1", lambda ns, x: ns.expand_dims(x, -1), real(2, 3)),
    Case("expand_dims (0,2)", lambda ns, x: ns.expand_dims(x, (0, 2)), real(2, 3)),
    Case("expand_dims 0d", lambda ns, x: ns.expand_dims(x, 0), real()),
    Case("squeeze all", _call("squeeze"), real(1, 3, 1)),
    Case("squeeze 0", lambda ns, x: ns.squeeze(x, 0), real(1, 3, 1)),
    Case("squeeze (0,-1)", lambda ns, x: ns.squeeze(x, (0, -1)), real(1, 3, 1)),
    Case("squeeze to 0d", _call("squeeze"), real(1, 1)),
    Case("broadcast_to (2,3)", lambda ns, x: ns.broadcast_to(x, (2, 3)), real(3)),
    Case("broadcast_to (4,2,3)", lambda ns, x: ns.broadcast_to(x, (4, 2, 3)), real(2, 1)),
    Case("broadcast_to same", lambda ns, x: ns.broadcast_to(x, (3,)), real(3)),
    Case("broadcast_to int", lambda ns, x: ns.broadcast_to(x, 3), real()),
    Case("broadcast_to empty", lambda ns, x: ns.broadcast_to(x, (0, 3)), real(3)),
    Case("astype wider", lambda ns, x: ns.astype(x, np.longdouble), real(2, 3)),
    Case("astype ints", lambda ns, x: ns.astype(x, np.int64), grid(2, 3), has_derivative=False),
    Case("astype bools", lambda ns, x: ns.astype(x, bool), grid(2, 3), has_derivative=False),
    Case("concatenate 1d", lambda ns, x, y: ns.concatenate([x, y]), real(2), real(3)),
    Case("concatenate axis=1", lambda ns, x, y, z: ns.concatenate([x, y, z], axis=1),
         real(2, 1), real(2, 3), real(2, 0)),
    Case("concatenate axis=-1", lambda ns, x, y: ns.concatenate((x, y), axis=-1), real(2, 1), real(2, 3)),
    Case("concatenate axis=None", lambda ns, x, y: ns.concatenate([x, y], axis=None), real(2, 3), real()),
    Case("concatenate ints", lambda ns, n, x: ns.concatenate([n, x]), ints(2), real(3)),
    Case("concatenate twice", lambda ns, x: ns.concatenate([x, 2 * x, x]), real(2, 3)),
    Case("concatenate one", lambda ns, x: ns.concatenate([x]), real(2, 3)),
    Case("stack axis=0", lambda ns, x, y: ns.stack([x, y]), real(3), real(3)),
    Case("stack axis=1", lambda ns, x, y: ns.stack((x, y), axis=1), real(3, 2), real(3, 2)),
    Case("stack ints axis=-1", lambda ns, x, n: ns.stack([x, n, x], axis=-1), real(3, 2), ints(3, 2)),
    Case("stack 0d", lambda ns, x, y: ns.stack([x, y, x]), real(), real()),
    Case("split parts", lambda ns, x: ns.split(x, 3)[1], real(6, 2)),
    Case("split cuts", lambda ns, x: ns.concatenate(ns.split(x, [1, 3], axis=1)[::-1], axis=1), real(2, 4)),
    Case("split repeated cuts", lambda ns, x: ns.concatenate(ns.split(x, [3, 3, 9], axis=-1)), real(4)),
    Case("split negative cuts", lambda ns, x: ns.split(x, [-2])[1], real(5, 2)),
    Case("split empty", lambda ns, x: ns.split(x, 2)[0], real(0, 2)),
    # indexing
    getitem("int", 1, 3),
    getitem("negative int", -1, 3, 2),
    getitem("to 0d", (1, 0), 3, 2),
    getitem("of 0d", ()),
    getitem("ellipsis of 0d", ...),
    getitem("None of 0d", None),
    getitem("slice", slice(1, None), 4, 2),
    getitem("steps", (slice(None, None, 2), slice(None, None, -1)), 5, 3),
    getitem("empty slice", slice(2, 2), 4, 2),
    getitem("None, Ellipsis", (None, ..., slice(0, 1)), 2, 3),
    getitem("Ellipsis", (..., 1), 2, 3, 4),
    getitem("list with repeats", [0, 2, 2, -1], 4),
    getitem("2-d ints with repeats", np.array([[0, 1], [1, 1]]), 3, 2),
    getitem("two int arrays", (np.array([0, 1, 1]), np.array([2, 0, 0])), 2, 3),
    getitem("broadcast int arrays", (np.array([[0], [1]]), np.array([2, 0, 0])), 2, 3),
    getitem("split int arrays", (np.array([0, 1, 1]), slice(None), np.array([2, 0, 0])), 2, 2, 3),
    getitem("no ints", [], 3, 2),
    getitem("mask", np.array([True, False, True]), 3, 2),
    getitem("full mask", np.array([[True, False], [True, True]]), 2, 2),
    getitem("all False", np.array([False, False]), 2, 2),
    getitem("mask, slice", (np.array([True, False, True]), slice(None, None, -1)), 3, 2),
    getitem("mask, int", (np.array([True, False, True]), 1), 3, 2),
    getitem("slice, ints, None", (slice(0, 2), np.array([1, 1]), None), 3, 2),
    getitem("True", True, 2),
    getitem("NumPy int", np.int32(1), 3),
    Case("getitem by data", lambda ns, x, i: ns.getitem(x, i), real(4, 2), classes(2, 3)),
    Case("getitem by data, slice", lambda ns, x, i: ns.getitem(x, (slice(1, 3), i)), real(4, 5), classes(3)),
    Case("getitem chained", lambda ns, x: ns.getitem(ns.getitem(x, [0, 0, 2]), slice(1, None)), real(3)),
]  # fmt: skip
