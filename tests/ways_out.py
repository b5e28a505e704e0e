"""Ways that Python code has from one number to another: what may lose a derivative if the number is a Var.

Each takes a number about 1.3, or an array of three such, and returns numbers. All are smooth there, or
constant around it, so that a difference quotient tells their derivative.
"""

import array
import cmath
import copy
import ctypes
import decimal
import fractions
import json
import math
import operator
import pickle
import random
import statistics
import struct

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

__all__ = ["NUMBERS", "OF_ARRAYS", "OF_NUMBERS"]

NUMBERS = [1.3, 1.7, 2.4, 1.3]
TABLE = np.array([5.0, 2.0, 7.0, 1.0, 3.0])


def filled(write):
    """A way that writes the number into a plain array."""

    def way(v):
        out = np.zeros(3)
        write(out, v)
        return out

    return way


def stored(out, v):
    out[0] = v


def added(out, v):
    out += v


def added_element(out, v):
    out[0] += v


def sliced(out, v):
    out[:2] = v


def flat(out, v):
    out.flat[1] = v


def c_double(v):
    return ctypes.c_double(v).value


def c_array(v):
    return list((ctypes.c_double * 1)(v))


def memory(v):
    return np.asarray(memoryview(v))


def fraction(v):
    return float(fractions.Fraction(v))


def quotient(v):
    up, down = v.as_integer_ratio()
    return up / down


def seeded(v):
    return random.Random(v).random()


def drawn(draw):
    """A way that draws random numbers, the same ones each time."""
    return lambda v: draw(np.random.default_rng(0), v)


def drawn_by_python(draw):
    return lambda v: draw(random.Random(0), v)


def keyed(v):
    return {1.3: 2.0, 1.7: 3.0}.get(v, 4.0)


def counted(v):
    return float(len({v, 1.3, 1.7}))


def member(v):
    return 2.0 if v in {1.3, 2.4} else 3.0


def text(v):
    return float(len(f"{v:.3f}{v!s:.0}") + len("%.2f" % v) + len(f"{v!r:.0}"))  # noqa: UP031


OF_MATH = (
    "acosh asinh atan cbrt ceil cos cosh degrees erf erfc exp exp2 expm1 fabs floor gamma lgamma log log10 "
    "log1p log2 radians sin sinh sqrt tan tanh trunc ulp isfinite isnan"
)
OF_CMATH = "atan cos cosh exp log phase sin sqrt tan"
OF_NUMPY = "float64 float32 int64 bool_ longdouble array asarray asanyarray ascontiguousarray"

OF_NUMBERS = {
    "float": float,
    "int": int,
    "complex": lambda v: complex(v).real,
    "complex of two": lambda v: complex(v, v).imag,
    "bool": lambda v: 2.0 if v else 3.0,
    "comparison": lambda v: 2.0 if 1.5 < v < 2 else 3.0,
    "index": lambda v: TABLE[operator.index(v)],
    "item": lambda v: v.item(),
    "item(0)": lambda v: v.item(0),
    "tolist": lambda v: v.tolist(),
    "hash": lambda v: hash(v) % 7.0,
    "dict": keyed,
    "set": counted,
    "in a set": member,
    "in a list": lambda v: 2.0 if v in [1.3, 2.4] else 3.0,
    "round": round,
    "round to digits": lambda v: round(v, 1),
    "abs": abs,
    "divmod": lambda v: sum(divmod(v, 0.7)),
    "pow": lambda v: pow(v, 3),
    "pow of a number": lambda v: pow(2.0, v),
    "sum": lambda v: sum([v, 1.0, v]),
    "min": lambda v: min(v, 1.5, 2 * v),
    "max": lambda v: max([v, 1.5]),
    "sorted": lambda v: sorted([v, 1.5, 0.5 * v])[1],
    "range": lambda v: float(len(range(v))),
    "slice": lambda v: TABLE[:v].sum(),
    "slice of a list": lambda v: sum([1.0, 2.0, 3.0][:v]),
    "list * v": lambda v: sum([1.0] * v),
    "string * v": lambda v: float(len("a" * v)),
    "list[v]": lambda v: [1.0, 2.0, 3.0][v],
    "bytes": lambda v: float(len(bytes(v))),
    "chr": lambda v: float(ord(chr(v))),
    "text": text,
    "real": lambda v: v.real,
    "imag": lambda v: v.imag,
    "conjugate": lambda v: v.conjugate(),
    "is_integer": lambda v: float(v.is_integer()),
    "as_integer_ratio": quotient,
    "hex": lambda v: float.fromhex(v.hex()),
    "__float__": lambda v: v.__float__(),
    "Fraction": fraction,
    "Decimal": lambda v: float(decimal.Decimal(v)),
    "json": lambda v: json.loads(json.dumps(v)),
    "pickle": lambda v: pickle.loads(pickle.dumps(v)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "struct": lambda v: struct.unpack("d", struct.pack("d", v))[0],
    "array.array": lambda v: array.array("d", [v])[0],
    "ctypes": c_double,
    "ctypes array": c_array,
    "memoryview": memory,
    # math and cmath
    **{f"math.{name}": (lambda f: lambda v: f(v))(getattr(math, name)) for name in OF_MATH.split()},
    "math.atan2": lambda v: math.atan2(v, 2.0),
    "math.copysign": lambda v: math.copysign(v, -1.0),
    "math.dist": lambda v: math.dist([v, 0.0], [0.0, 1.0]),
    "math.fmod": lambda v: math.fmod(v, 0.4),
    "math.frexp": lambda v: sum(math.frexp(v)),
    "math.fsum": lambda v: math.fsum([v, 1.0]),
    "math.hypot": lambda v: math.hypot(v, 1.0),
    "math.isclose": lambda v: float(math.isclose(v, 1.7)),
    "math.ldexp": lambda v: math.ldexp(v, 2),
    "math.modf": lambda v: math.modf(v)[0],
    "math.nextafter": lambda v: math.nextafter(v, 3.0),
    "math.pow": lambda v: math.pow(2.0, v),
    "math.prod": lambda v: math.prod([v, v, 2.0]),
    "math.remainder": lambda v: math.remainder(v, 0.35),
    "map": lambda v: sum(map(math.log, [v, 2.0])),
    **{f"cmath.{name}": (lambda f: lambda v: f(v).real)(getattr(cmath, name)) for name in OF_CMATH.split()},
    "cmath.polar": lambda v: cmath.polar(v)[0],
    "cmath.rect": lambda v: cmath.rect(v, 0.3).imag,
    # statistics, random
    "statistics.mean": lambda v: statistics.mean([v, 2.0]),
    "statistics.fmean": lambda v: statistics.fmean([v, 2.0]),
    "statistics.median": lambda v: statistics.median([v, 2.0, 1.5 * v]),
    "statistics.stdev": lambda v: statistics.stdev([v, 2.0, 3.0]),
    "statistics.pvariance": lambda v: statistics.pvariance([v, 2.0]),
    "statistics.geometric_mean": lambda v: statistics.geometric_mean([v, 2.0]),
    "statistics.NormalDist": lambda v: statistics.NormalDist(v, 1.0).cdf(2.0),
    "statistics.NormalDist.pdf": lambda v: statistics.NormalDist(0.0, 1.0).pdf(v),
    "random.Random": seeded,
    "random.gauss": drawn_by_python(lambda r, v: r.gauss(v, 1.0)),
    "random.uniform": drawn_by_python(lambda r, v: r.uniform(0.0, v)),
    "random.expovariate": drawn_by_python(lambda r, v: r.expovariate(v)),
    "random.gammavariate": drawn_by_python(lambda r, v: r.gammavariate(2.0, v)),
    "random.triangular": drawn_by_python(lambda r, v: r.triangular(0.0, v)),
    "random.choice": drawn_by_python(lambda r, v: r.choice([v, v])),
    "random.randrange": drawn_by_python(lambda r, v: float(r.randrange(v))),
    "rng.normal": drawn(lambda r, v: r.normal(v)),
    "rng.normal(loc)": drawn(lambda r, v: r.normal(loc=v, size=2)),
    "rng.normal(scale)": drawn(lambda r, v: r.normal(0.0, v)),
    "rng.uniform": drawn(lambda r, v: r.uniform(0.0, v)),
    "rng.exponential": drawn(lambda r, v: r.exponential(v)),
    "rng.gamma": drawn(lambda r, v: r.standard_gamma(2.0) * v),
    "rng.integers": drawn(lambda r, v: float(r.integers(0, v))),
    "rng.random(size)": drawn(lambda r, v: float(r.random(v).size)),
    "default_rng": lambda v: np.random.default_rng(v).random(),
    # NumPy's constructors, and functions that do not ask
    **{f"np.{name}": (lambda f: lambda v: f(v))(getattr(np, name)) for name in OF_NUMPY.split()},
    "np.complex128": lambda v: np.complex128(v).real,
    "np.array of a list": lambda v: np.array([v, 1.0]),
    "np.array of objects": lambda v: np.array([v], dtype=object)[0],
    "np.asarray of float32": lambda v: np.asarray(v, np.float32),
    "np.fromiter": lambda v: np.fromiter([v, 1.0], float),
    "np.full": lambda v: np.full(2, v),
    "np.full_like": lambda v: np.full_like(np.zeros(2), v),
    "np.arange": lambda v: float(np.arange(v).size),
    "np.arange(start)": lambda v: np.arange(v, v + 2.0),
    "np.linspace": lambda v: np.linspace(0.0, v, 3),
    "np.zeros(v)": lambda v: float(np.zeros(v).size),
    "np.eye(v)": lambda v: np.eye(v).sum(),
    "np.sum(initial)": lambda v: np.sum(np.arange(2.0), initial=v),
    "np.max(initial)": lambda v: np.max(np.arange(2.0), initial=v),
    "np.var(ddof)": lambda v: np.var(np.arange(5.0), ddof=v),
    "np.interp(left)": lambda v: np.interp(-1.0, np.arange(2.0), np.arange(2.0), left=v),
    "np.vectorize": lambda v: np.vectorize(math.sin)(v),
    "np.frompyfunc": lambda v: np.frompyfunc(math.sin, 1, 1)(v),
    "np.apply_along_axis": lambda v: np.apply_along_axis(lambda row: row * v, 0, np.ones(2)),
    "np.piecewise": lambda v: np.piecewise(np.ones(2), [np.array([True, False])], [v, 0.0]),
    "np.fromfunction": lambda v: np.fromfunction(lambda i: i * v, (2,)),
    "np.nditer": lambda v: float(next(np.nditer(v))),
    "np.broadcast": lambda v: float(next(iter(np.broadcast(v, 1.0)))[0]),
    "np.put": filled(lambda out, v: np.put(out, [0], v)),
    "np.copyto": filled(lambda out, v: np.copyto(out, v)),
    "np.add.at": filled(lambda out, v: np.add.at(out, [0, 0], v)),
    "np.add(out)": filled(lambda out, v: np.add(out, v, out=out)),
    "np.fill_diagonal": filled(lambda out, v: np.fill_diagonal(out.reshape(3, 1), v)),
    "array.fill": filled(lambda out, v: out.fill(v)),
    "array.put": filled(lambda out, v: out.put([0], v)),
    "array.take": lambda v: TABLE.take(v),
    "array.clip": lambda v: TABLE.clip(v),
    "array.itemset": filled(lambda out, v: out.__setitem__(0, v)),
    "array.searchsorted": lambda v: float(np.arange(4.0).searchsorted(v)),
    "operator.setitem": filled(lambda out, v: operator.setitem(out, 0, v)),
    "out[0] = v": filled(stored),
    "out[:2] = v": filled(sliced),
    "out.flat[1] = v": filled(flat),
    "out += v": filled(added),
    "out[0] += v": filled(added_element),
    "table[v]": lambda v: TABLE[v],
    # SciPy
    "scipy.stats.norm.logpdf": lambda v: scipy.stats.norm.logpdf(v),
    "scipy.stats.norm.cdf(loc)": lambda v: scipy.stats.norm.cdf(0.5, loc=v),
    "scipy.stats.gamma.pdf": lambda v: scipy.stats.gamma.pdf(1.0, v),
    "scipy.stats.norm frozen": lambda v: scipy.stats.norm(v).pdf(1.0),
    "scipy.special.erf": lambda v: scipy.special.erf(v),
    "scipy.special.logsumexp": lambda v: scipy.special.logsumexp([v, 1.0]),
    "scipy.special.comb": lambda v: scipy.special.comb(5, v),
    "scipy.integrate.quad": lambda v: scipy.integrate.quad(math.sin, 0.0, v)[0],
    "scipy.integrate.quad of": lambda v: scipy.integrate.quad(lambda t: t * v, 0.0, 1.0)[0],
    "scipy.optimize.brentq": lambda v: scipy.optimize.brentq(lambda t: t * t - v, 0.0, 5.0),
    "scipy.optimize.newton": lambda v: scipy.optimize.newton(lambda t: t * t - 4.0, v),
    "scipy.linalg.expm": lambda v: scipy.linalg.expm(np.array([[v]])),
    "scipy.interpolate": lambda v: scipy.interpolate.CubicSpline(np.arange(5.0), TABLE)(v),
}
"""The numbers are passed as `numpy.float64`, which has what both Python's floats and NumPy's scalars have."""


def written_rows(v):
    out = np.zeros((2, 3))
    out[0] = v
    out[1] = list(v)
    return out


def one_by_one(v):
    out = np.zeros(3)
    for i in range(3):
        out[i] = v[i]
    return out


def from_buffer(v):
    return np.frombuffer(bytes(v.data), float)


OF_ARRAYS = {
    "float of each": lambda v: [float(x) for x in v],
    "math of each": lambda v: [math.sin(x) for x in v],
    "math.fsum": math.fsum,
    "math.dist": lambda v: math.dist(v, [0.0, 0.0, 0.0]),
    "math.hypot": lambda v: math.hypot(*v),
    "sum": sum,
    "max": max,
    "sorted": lambda v: np.array([2.0, 3.0, 5.0]) @ np.stack(sorted(v)),
    "np.array": np.array,
    "np.asarray": np.asarray,
    "np.array(list)": lambda v: np.array(list(v)),
    "np.array of pairs": lambda v: np.array([v, 2 * v]),
    "np.fromiter": lambda v: np.fromiter(v, float),
    "np.fromiter of each": lambda v: np.fromiter((x * x for x in v), float),
    "np.ascontiguousarray": np.ascontiguousarray,
    "tolist": lambda v: v.tolist(),
    "tobytes": lambda v: np.frombuffer(v.tobytes()),
    "buffer": from_buffer,
    "memoryview": lambda v: np.asarray(memoryview(v)),
    "view": lambda v: v.view(np.float64),
    "flat": lambda v: list(v.flat),
    "item": lambda v: v.item(1),
    "dlpack": np.from_dlpack,
    "ctypes": lambda v: list((ctypes.c_double * 3)(*v)),
    "array.array": lambda v: array.array("d", v),
    "struct": lambda v: struct.unpack("3d", struct.pack("3d", *v)),
    "json": lambda v: json.loads(json.dumps(list(v))),
    "pickle": lambda v: pickle.loads(pickle.dumps(v)),
    "copy": copy.copy,
    "deepcopy": lambda v: copy.deepcopy([v])[0],
    "statistics.mean": statistics.mean,
    "statistics.fmean": statistics.fmean,
    "statistics.correlation": lambda v: statistics.correlation(v, [1.0, 2.0, 4.0]),
    "random.choices": lambda v: random.Random(0).choices([1.0, 2.0, 3.0], weights=v),
    "rng.normal": drawn(lambda r, v: r.normal(v)),
    "rng.dirichlet": drawn(lambda r, v: r.dirichlet(v)),
    "rng.choice(p)": drawn(lambda r, v: r.choice(3, p=v / np.sum(v)) * 1.0),
    "rng.permutation": drawn(lambda r, v: r.permutation(v)),
    "rng.permuted": drawn(lambda r, v: r.permuted(v)),
    "out[:] = v": filled(lambda out, v: out.__setitem__(slice(None), v)),
    "out[mask] = v": filled(lambda out, v: out.__setitem__(np.ones(3, bool), v)),
    "rows": written_rows,
    "one by one": one_by_one,
    "out += v": filled(added),
    "np.put": filled(lambda out, v: np.put(out, [0, 1, 2], v)),
    "np.copyto": filled(np.copyto),
    "np.vectorize": lambda v: np.vectorize(math.sin)(v),
    "np.frompyfunc": lambda v: np.frompyfunc(math.sin, 1, 1)(v),
    "np.apply_along_axis": lambda v: np.apply_along_axis(np.sum, 0, v),
    "np.nditer": lambda v: [float(x) for x in np.nditer(v)],
    "np.ma": lambda v: np.ma.masked_array(v, [False] * 3).sum(),
    "np.rec": lambda v: np.rec.fromarrays([v])["f0"],
    "np.matrix": lambda v: np.asarray(np.matrix(v)),
    "np.linalg.norm": np.linalg.norm,
    "np.histogram": lambda v: np.histogram(v, bins=[0.0, 1.5, 5.0])[0] * 1.0,
    "np.poly1d": lambda v: np.poly1d(v)(2.0),
    "np.bincount(weights)": lambda v: np.bincount([0, 1, 1], weights=v),
    "np.polynomial": lambda v: np.polynomial.Polynomial(v)(2.0),
    "array.dot": lambda v: np.ones(3).dot(v),
    "array @ v": lambda v: np.ones(3) @ v,
    "table[v > 2]": lambda v: TABLE[:3][v > 2].sum(),
    "mask": filled(lambda out, v: out.__setitem__(v > 1.5, 1.0)),
    "count": filled(lambda out, v: operator.iadd(out, v > 1.5)),
    "table[whole]": lambda v: TABLE[np.floor(v).astype(int)],
    "scipy.stats.norm.pdf": lambda v: scipy.stats.norm.pdf(v),
    "scipy.stats.zscore": lambda v: scipy.stats.zscore(v),
    "scipy.stats.gmean": lambda v: scipy.stats.gmean(v),
    "scipy.special.softmax": lambda v: scipy.special.softmax(v),
    "scipy.linalg.solve": lambda v: scipy.linalg.solve(np.eye(3), v),
    "scipy.integrate.trapezoid": lambda v: scipy.integrate.trapezoid(v),
    "scipy.interpolate": lambda v: scipy.interpolate.CubicSpline(np.arange(3.0), v)(0.5),
    "scipy.optimize.minimize": lambda v: (
        scipy.optimize.minimize(lambda t: np.sum((t - v) ** 2), np.zeros(3)).x
    ),
}
