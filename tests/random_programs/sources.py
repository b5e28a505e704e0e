"""Where programs get their values from, arguments and what is closed over, and data sets for them.

A source has a kind of `ingredients`, and a place: an argument, a global, a closure cell, an attribute, a
default. What is closed over changes between calls in place or by being bound anew. Numbers are multiples
of 1/4, so that sums and products are exact in any order; some data sets have zeros of both signs, NaN,
infinities, huge and equal numbers among them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

__all__ = ["ALIASES", "SOURCES", "Call", "DataSet", "Source", "copied", "data_sets", "materialise", "shown"]

MOODS = ("plain", "plain", "plain", "signs", "zeros", "special", "equal", "huge")
"""Which numbers a data set is drawn from."""

POOLS = {
    "plain": [k / 4 for k in range(-8, 9)],
    "signs": [-2.0, -1.0, -0.5, -0.0, 0.0, 0.25, 1.0],
    "zeros": [0.0, -0.0, 0.0, -0.0, 1.0],
    "special": [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -2.5],
    "equal": [0.5],
    "huge": [1e300, -1e300, 1e-200, 2.0, -1.0],
}


class Draw:
    """Random values of one data set: of a length, a dtype and a mood.

    Parameters
    ----------
    rng : random.Random
    n : int
        Length of vectors.
    dtype : dtype
        Of floats.
    mood : str
        One of `MOODS`.
    """

    def __init__(self, rng: random.Random, n: int, dtype: Any, mood: str) -> None:
        self.rng, self.n, self.dtype, self.mood = rng, n, dtype, mood

    def number(self) -> float:
        # A value that is unlike the others is rare among them: what meets only NaN tests little.
        rare = self.mood in ("special", "huge") and self.rng.random() < 0.6
        return self.rng.choice(POOLS["plain" if rare else self.mood])

    def vector(self) -> np.ndarray:
        return self._array([self.number() for _ in range(self.n)])

    def matrix(self) -> np.ndarray:
        return self._array([[self.number() for _ in range(self.n)] for _ in range(self.n)])

    def _array(self, numbers: list[Any]) -> np.ndarray:
        with np.errstate(over="ignore"):  # of huge numbers in float32
            return np.array(numbers, self.dtype)

    def complex_number(self) -> Any:
        return self._complex(self.vector(), self.vector())[0]

    def complex_vector(self) -> np.ndarray:
        return self._complex(self.vector(), self.vector())

    def complex_matrix(self) -> np.ndarray:
        return self._complex(self.matrix(), self.matrix())

    @staticmethod
    def _complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
        out = real.astype(np.result_type(real, 1j))
        out.imag = imag
        return out

    def half(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.vector().astype(np.float16)

    def ints(self) -> np.ndarray:
        return np.array([self.rng.randrange(-3, 4) for _ in range(self.n)])

    def single(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.vector().astype(np.float32)

    def bools(self) -> np.ndarray:
        """Bools of any byte."""
        true = self.rng.choice([1, 1, 2, 255])
        return np.array([self.rng.choice([0, true]) for _ in range(self.n)], np.uint8).view(bool)

    def numbers(self) -> dict[Any, float]:
        keys = ["p", "q", "r"]
        self.rng.shuffle(keys)
        return {key: self.number() for key in keys}

    def zero_d(self) -> np.ndarray:
        return np.array(self.scalar())

    def scalar(self) -> Any:
        return self._array([self.number()])[0]


class Source(NamedTuple):
    """Where a value comes from.

    Attributes
    ----------
    kind : str
        As ingredients name it.
    place : str
        argument, keywords, global, cell, attribute or default.
    change : str
        given (an argument), in place, or rebound.
    draw : callable
        From a `Draw` to a value.
    is_static : bool
        Whether a program is for one value of it.
    """

    kind: str
    place: str
    change: str
    draw: Callable[[Draw], Any]
    is_static: bool = False


def _ints(dtype: Any) -> Callable[[Draw], Any]:
    return lambda draw: draw.ints().astype(dtype)


def _choice(*values: Any) -> Callable[[Draw], Any]:
    return lambda draw: draw.rng.choice(values)


_NAN = float("nan")
_STATICS = (
    None, 2, 2.5, "up", True, (1, 2), (1, 2.0), frozenset({2}), frozenset({2.0}), (0, "a"),
    Decimal("1.0"), Decimal("1.00"), frozenset({1}), frozenset({True}), 1, 1j, range(2), range(0, 2, 1),
)  # fmt: skip

SOURCES: dict[str, Source] = {
    "x": Source("vector", "argument", "given", Draw.vector),
    "y": Source("vector", "argument", "given", Draw.vector),
    "A": Source("matrix", "argument", "given", Draw.matrix),
    "a": Source("number", "argument", "given", Draw.number),
    "b": Source("number", "argument", "given", Draw.number),
    "s": Source("number", "argument", "given", Draw.scalar),
    "k": Source("number", "argument", "given", _choice(-1, 0, 1, 2), is_static=True),
    "z": Source("zero_d", "argument", "given", lambda draw: np.array(draw.scalar())),
    "i": Source("ivector", "argument", "given", Draw.ints),
    "zv": Source("cvector", "argument", "given", Draw.complex_vector),
    "zm": Source("cmatrix", "argument", "given", Draw.complex_matrix),
    "zn": Source("cnumber", "argument", "given", Draw.complex_number),
    "half": Source("hvector", "argument", "given", Draw.half),
    **{
        f"j_{dtype}": Source("jvector", "argument", "given", _ints(dtype))
        for dtype in ("i1", "i2", "i4", "u1", "u2", "u4", "u8")
    },
    "m": Source("bvector", "argument", "given", Draw.bools),
    "t": Source("truth", "argument", "given", _choice(True, False), is_static=True),
    "n": Source("int", "argument", "given", _choice(0, 1, 2, 3), is_static=True),
    "axis": Source("axis", "argument", "given", _choice(0, 1, -1), is_static=True),
    "d": Source("numbers", "argument", "given", Draw.numbers),
    "kwargs": Source("numbers", "keywords", "given", Draw.numbers),
    "way": Source("text", "argument", "given", _choice("up", "down"), is_static=True),
    "opts": Source("static", "argument", "given", _choice(*_STATICS), is_static=True),
    "RV": Source("vector", "global", "rebound", Draw.vector),
    "RM": Source("matrix", "global", "rebound", Draw.matrix),
    "RS": Source("number", "global", "rebound", Draw.number),
    "RI": Source("ivector", "global", "rebound", Draw.ints),
    "RN": Source("int", "global", "rebound", _choice(0, 1, 2)),
    "cell": Source("vector", "cell", "rebound", Draw.vector),
    "cell_number": Source("number", "cell", "rebound", Draw.number),
    "model.w": Source("vector", "attribute", "rebound", Draw.vector),
    "model.rate": Source("number", "attribute", "rebound", Draw.number),
    "act": Source("callable", "global", "rebound", _choice(np.sin, np.cos, np.negative)),
    "scale": Source("callable", "global", "rebound", Draw.number),
    "bias.value": Source("callable", "attribute", "rebound", Draw.number),
    "KV": Source("kept_vector", "global", "in place", Draw.vector),
    "KM": Source("kept_matrix", "global", "in place", Draw.matrix),
    "KI": Source("kept_int", "global", "in place", Draw.ints),
    "KB": Source("kept_bool", "global", "in place", Draw.bools),
    "KF": Source("kept_f32", "global", "in place", Draw.single),
    "KZ": Source("kept_zero_d", "global", "in place", Draw.zero_d),
    "model.k": Source("kept_vector", "attribute", "in place", Draw.vector),
    "kept_cell": Source("kept_matrix", "cell", "in place", Draw.matrix),
    "kept_default": Source("kept_vector", "default", "in place", Draw.vector),
}  # fmt: skip
"""All of them, by the name under which programs read them."""

ALIASES = ("same", "view", "reversed", "one buffer", "shifted buffer")
"""How ``y`` may lie in the memory of ``x``."""

LAYOUTS = ("C", "C", "C", "strided", "reversed", "unaligned", "read-only")


@dataclass
class DataSet:
    """Values of every source, by name, and how arrays lie in memory."""

    values: dict[str, Any]
    alias: str = ""
    layout: str = "C"


def shown(value: Any) -> str:
    """A value as Python."""
    if isinstance(value, np.ndarray) and value.dtype == bool:
        return f"np.array({value.view(np.uint8).tolist()}, np.uint8).view(bool)"
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()}, {value.dtype.str!r})"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}({value})"
    return f"np.{value.__name__}" if isinstance(value, np.ufunc) else repr(value)


@dataclass
class Call:
    """The arguments of one call; of no other, as donated arrays are overwritten."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def data_sets(
    rng: random.Random, names: list[str], n: int, dtype: Any, features: frozenset[str]
) -> list[DataSet]:
    """Seven or more, in the order in which they are used: some return."""
    changes = {"given", *({"rebound"} & features), *({"in place"} if "kept" in features else ())}
    moods = MOODS if "exceptional" in features else ("plain", "signs")
    made: list[DataSet] = []
    usual: list[DataSet] = []  # of the program's shapes and dtype
    is_free = {SOURCES[name].change for name in names} <= {"given", "rebound"} & changes
    for _ in range(rng.randrange(4, 7)):
        draw = Draw(rng, n, dtype, rng.choice(moods) if made else "plain")
        is_other = bool(made) and is_free and rng.random() < 0.1
        if is_other and "shapes" in features:
            draw.n = rng.choice([1, 2, 3, 5])
        if is_other and "dtypes" in features:
            draw.dtype = rng.choice(["f4", "f8"])
        values = {name: SOURCES[name].draw(draw) for name in names}
        if usual and not is_other and rng.random() < 0.4:  # all but one source as before
            name = rng.choice(names)
            values = {**usual[-1].values, name: values[name]}
        if "numbers" in {SOURCES[name].kind for name in names} and "orders" not in features:
            values = {k: dict(sorted(v.items())) if isinstance(v, dict) else v for k, v in values.items()}
        if made:
            values.update({k: made[0].values[k] for k in names if SOURCES[k].change not in changes})
        if "odd bytes" not in features:
            values = {k: v.view(np.uint8) != 0 if _is_bools(v) else v for k, v in values.items()}
        one = DataSet(values)
        if "aliases" in features and rng.random() < 0.4 and {"x", "y"} <= set(names):
            one.alias = rng.choice(ALIASES)
            one.values["y"] = _lying_in(one.values["x"], one.alias)[1]
        elif "layouts" in features:
            one.layout = rng.choice(LAYOUTS)
        made.append(one)
        usual += [one] * (not is_other)
    order = [*range(len(made))] + [rng.randrange(len(made)) for _ in range(9 - len(made))]
    return [made[0], *(made[k] for k in order[1:])]


def _is_bools(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == bool


def _lying_in(x: np.ndarray, alias: str) -> tuple[np.ndarray, np.ndarray]:
    """A copy of a vector, and another of the same length in its memory."""
    n, size = len(x), x.itemsize
    if alias in ("same", "view", "reversed"):
        x = x.copy()
        return x, x if alias == "same" else x[:] if alias == "view" else x[::-1]
    shift = alias == "shifted buffer" and n > 1
    buffer = bytearray(x.tobytes() + x[:1].tobytes())  # the last one is seen by y alone
    return np.frombuffer(buffer, x.dtype, n), np.frombuffer(buffer, x.dtype, n, size * shift)


def _laid_out(value: np.ndarray, layout: str) -> np.ndarray:
    if layout == "strided":
        wide = np.zeros((*value.shape, 2), value.dtype)
        wide[..., 0] = value
        return wide[..., 0]
    if layout == "reversed" and value.ndim:
        return value[::-1].copy()[::-1]
    if layout == "unaligned":
        raw = np.zeros(value.nbytes + 1, np.uint8)
        out = raw[1:].view(value.dtype).reshape(value.shape)
        out[...] = value
        return out
    out = value.copy("F" if layout == "F" else "C")
    if layout == "read-only":
        out.flags.writeable = False
    return out


def copied(value: Any) -> Any:
    """A value of its own: arrays are copied."""
    return value.copy() if isinstance(value, (np.ndarray, dict)) else value


def materialise(one: DataSet, names: tuple[str, ...], donated: tuple[str, ...]) -> Call:
    """Arguments of some names, for a call that shares no memory with any other."""
    layout = one.layout if not (donated and one.layout == "read-only") else "C"
    args, kwargs = {}, {}
    for name in names:
        value, place = one.values[name], SOURCES[name].place
        if place == "keywords":
            kwargs = dict(value)
        elif place == "argument":
            args[name] = _laid_out(value, layout) if isinstance(value, np.ndarray) else copied(value)
    if one.alias and {"x", "y"} <= args.keys():
        args["x"], args["y"] = _lying_in(one.values["x"], one.alias)
    return Call(tuple(args.values()), kwargs)
