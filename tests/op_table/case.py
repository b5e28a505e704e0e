"""What lines of the table are made of: cases, domains of arguments, and families of similar cases."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
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
        Floats and complex numbers are differentiated by, the rest is data.
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
        self.size = sum(prod(argument.shape) for argument in arguments)

    def __repr__(self) -> str:
        return self.name

    def rng(self, salt: int = 0) -> np.random.Generator:
        """Random numbers of this case's own, the same in every run."""
        return np.random.default_rng([salt, crc32(self.name.encode())])

    def args(self, dtype: Any = np.float64, salt: int = 0) -> list[np.ndarray]:
        """Arguments, floats in the given dtype (complex ones of its width); others for every ``salt``."""
        rng = self.rng(salt)
        drawn = [argument.draw(rng, argument.shape) for argument in self.arguments]
        widths = {"f": dtype, "c": np.result_type(dtype, np.complex64)}
        return [a.astype(widths.get(a.dtype.kind, a.dtype)) for a in drawn]

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
complexes = _domain(lambda rng, s: rng.uniform(-1, 1, s) + 1j * rng.uniform(-1, 1, s))
upper = _domain(lambda rng, s: rng.uniform(0.5, 2, s) * np.exp(1j * rng.uniform(0.4, 2.6, s)))  # off the cuts
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

SHAPES: tuple[Shape, ...] = ((), (2, 1, 3), (0, 3))

PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((), (2, 3)),
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3, 1), (4,)),
    ((2, 1, 3), (4, 1)),
    ((1, 1), (2, 1, 2)),
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


def call(op: str, **options: Any) -> Callable[..., Any]:
    return lambda ns, *args: getattr(ns, op)(*args, **options)


def told(**options: Any) -> str:
    return " ".join(f"{key}={value}" for key, value in options.items()).replace(", ", ",")


def joined(shapes: Iterable[Shape]) -> str:
    return "x".join(str(shape).replace(" ", "") for shape in shapes)


def unary(op: str, domain: Domain, **options: Any) -> list[Case]:
    """An elementwise operation of one operand, for every kind of shape."""
    return [Case(f"{op} {joined([s])}", call(op), domain(*s), **options) for s in SHAPES]


def binary(op: str, left: Domain, right: Domain, **options: Any) -> list[Case]:
    """An elementwise operation of two operands, for every kind of broadcasting."""
    pairs = PAIRS if options.get("has_derivative", True) else PAIRS[::3]
    return [Case(f"{op} {joined([s, t])}", call(op), left(*s), right(*t), **options) for s, t in pairs]


def reduction(op: str, domain: Domain, **attrs: Any) -> list[Case]:
    """A reduction, over every kind of axes, with and without keeping them."""
    return [
        Case(f"{op} {told(axis=axis, keepdims=keep, **attrs)}", call(op, axis=axis, keepdims=keep, **attrs),
             domain(2, 3, 2))
        for axis in AXES
        for keep in ((False, True) if axis in (None, (0, 2)) else (axis == 1,))
    ]  # fmt: skip
