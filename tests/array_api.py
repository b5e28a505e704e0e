"""The functions of the Python Array API standard, 2024.12, each with its signature and arguments to try.

From the text of the standard, https://data-apis.org/array-api/2024.12/API_specification. Kinds of dtypes are
those of NumPy: b(ool), i(nt), u(nsigned), f(loat), c(omplex).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DTYPES = {
    "b": (np.bool,),
    "i": (np.int8, np.int16, np.int32, np.int64),
    "u": (np.uint8, np.uint16, np.uint32, np.uint64),
    "f": (np.float32, np.float64),
    "c": (np.complex64, np.complex128),
}

ALL, NUMERIC, REAL, FLOATING, INTEGER = "biufc", "iufc", "iuf", "fc", "iu"


def numbers(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    """Distinct numbers: floats inside of the unit interval, small positive ints; bools of both kinds."""
    kind, size = np.dtype(dtype).kind, int(np.prod(shape))
    order = np.random.default_rng(seed).permutation(size).reshape(shape)
    if kind == "b":
        return order % 2 == 0
    if kind in "iu":
        return (order + 1).astype(dtype)
    inside = 0.15 + 0.7 * (order + 0.5) / max(size, 1)
    return (inside + (0.3j * inside[::-1] if kind == "c" else 0)).astype(dtype)


def positive_definite(dtype: Any, *batch: int) -> np.ndarray:
    """Hermitian matrices of three rows."""
    a = numbers(dtype, *batch, 3, 3)
    return a @ a.conj().mT + np.diag(np.array([1, 2, 3], dtype))


@dataclass(frozen=True)
class Function:
    """One function of the standard.

    ``arguments(dtype)`` makes those that have no default; ``chosen`` has others than the defaults for the
    rest. What is ``unspecified`` is not compared beyond shape and dtype.
    """

    text: str
    kinds: str
    arguments: Callable[[Any], tuple]
    chosen: dict[str, Any] = field(default_factory=dict)
    unspecified: bool = False

    @property
    def name(self) -> str:
        """As users call it, below the namespace."""
        return self.text.partition("(")[0]

    @property
    def defaults(self) -> dict[str, Any]:
        """The keywords that the standard has, with their defaults."""
        scope: dict[str, Any] = {}
        exec(f"def f({self.text.partition('(')[2]}: pass", scope)
        parameters = inspect.signature(scope["f"]).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def of(self, namespace: Any) -> Callable[..., Any]:
        """The function in a namespace."""
        for name in self.name.split("."):
            namespace = getattr(namespace, name)
        return namespace


def one(dtype: Any) -> tuple:
    return (numbers(dtype, 2, 3),)


def two(dtype: Any) -> tuple:
    return numbers(dtype, 2, 3), numbers(dtype, 3, seed=1)


def matrix(dtype: Any) -> tuple:
    return (positive_definite(dtype, 2),)


def _each(names: str, text: str, kinds: str, arguments: Callable[[Any], tuple]) -> list[Function]:
    return [Function(name + text, kinds, arguments) for name in names.split()]


CREATION = [
    Function(
        "arange(start, /, stop=None, step=1, *, dtype=None, device=None)",
        "iuf",
        lambda dtype: (1, 7, 2),
        {"dtype": np.float32, "device": "cpu"},
    ),
    Function(
        "asarray(obj, /, *, dtype=None, device=None, copy=None)",
        ALL,
        one,
        {"dtype": np.complex128, "device": "cpu", "copy": True},
    ),
    Function(
        "empty(shape, *, dtype=None, device=None)",
        ALL,
        lambda dtype: ((2, 3),),
        {"dtype": np.float32, "device": "cpu"},
        unspecified=True,
    ),
    Function(
        "empty_like(x, /, *, dtype=None, device=None)", ALL, one, {"dtype": np.float32}, unspecified=True
    ),
    Function(
        "eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)",
        "f",
        lambda dtype: (2, 3),
        {"k": 1, "dtype": np.float32, "device": "cpu"},
    ),
    Function("from_dlpack(x, /, *, device=None, copy=None)", ALL, one, {"device": "cpu", "copy": True}),
    Function(
        "full(shape, fill_value, *, dtype=None, device=None)",
        ALL,
        lambda dtype: ((2, 3), numbers(dtype, 1)[0]),
        {"dtype": np.complex128, "device": "cpu"},
    ),
    Function(
        "full_like(x, /, fill_value, *, dtype=None, device=None)",
        ALL,
        lambda dtype: (numbers(dtype, 2, 3), 1),
        {"dtype": np.float32, "device": "cpu"},
    ),
    Function(
        "linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)",
        "f",
        lambda dtype: (1.0, 2.0, 5),
        {"dtype": np.float32, "device": "cpu", "endpoint": False},
    ),
    Function(
        "meshgrid(*arrays, indexing='xy')",
        ALL,
        lambda dtype: (numbers(dtype, 2), numbers(dtype, 3)),
        {"indexing": "ij"},
    ),
    *(
        Function(
            f"{name}(shape, *, dtype=None, device=None)",
            "f",
            lambda dtype: ((2, 3),),
            {"dtype": np.float32, "device": "cpu"},
        )
        for name in ("ones", "zeros")
    ),
    *(
        Function(f"{name}(x, /, *, dtype=None, device=None)", ALL, one, {"dtype": np.int8, "device": "cpu"})
        for name in ("ones_like", "zeros_like")
    ),
    *(Function(f"{name}(x, /, *, k=0)", ALL, one, {"k": 1}) for name in ("tril", "triu")),
]

DATA_TYPES = [
    Function(
        "astype(x, dtype, /, *, copy=True, device=None)",
        ALL,
        lambda dtype: (*one(dtype), np.complex128),
        {"copy": False, "device": "cpu"},
    ),
    Function("can_cast(from_, to, /)", ALL, lambda dtype: (*one(dtype), np.dtype(np.float32))),
    Function("finfo(type, /)", "fc", lambda dtype: (np.dtype(dtype),)),
    Function("finfo(type, /)", "fc", one),
    Function("iinfo(type, /)", "iu", lambda dtype: (np.dtype(dtype),)),
    Function("iinfo(type, /)", "iu", one),
    Function("isdtype(dtype, kind)", ALL, lambda dtype: (np.dtype(dtype), "numeric")),
    Function("isdtype(dtype, kind)", ALL, lambda dtype: (np.dtype(dtype), ("bool", np.dtype(np.float32)))),
    Function("result_type(*arrays_and_dtypes)", ALL, lambda dtype: (*one(dtype), np.dtype(np.int8), 1.5)),
]

_UNARY = {
    NUMERIC: "abs conj isfinite isinf isnan negative positive real round sign square",
    FLOATING: "acos asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt"
    " tan tanh",
    REAL: "ceil floor trunc",
    INTEGER + "b": "bitwise_invert",
    "b": "logical_not",
    "c": "imag",
    "f": "signbit",
}

_BINARY = {
    NUMERIC: "add multiply subtract",
    ALL: "equal not_equal",
    FLOATING: "divide pow",
    REAL: "floor_divide greater greater_equal less less_equal maximum minimum remainder",
    INTEGER + "b": "bitwise_and bitwise_or bitwise_xor",
    INTEGER: "bitwise_left_shift bitwise_right_shift pow",
    "b": "logical_and logical_or logical_xor",
    "f": "atan2 copysign hypot logaddexp nextafter",
}

_SCALARS = {"b": True, "i": 2, "u": 2, "f": 0.5, "c": 0.5 - 2j}


def array_and_scalar(dtype: Any) -> tuple:
    return numbers(dtype, 2, 3), _SCALARS[np.dtype(dtype).kind]


def scalar_and_array(dtype: Any) -> tuple:
    return array_and_scalar(dtype)[::-1]


ELEMENTWISE = [
    *(function for kinds, names in _UNARY.items() for function in _each(names, "(x, /)", kinds, one)),
    Function("acosh(x, /)", FLOATING, lambda dtype: (numbers(dtype, 2, 3) + dtype(1),)),
    Function("clip(x, /, min=None, max=None)", REAL, lambda dtype: (*one(dtype), *_bounds(dtype))),
    *(
        function
        for arguments in (two, array_and_scalar, scalar_and_array)
        for kinds, names in _BINARY.items()
        for function in _each(names, "(x1, x2, /)", kinds, arguments)
    ),
]


def _bounds(dtype: Any) -> tuple:
    return (2, 4) if np.dtype(dtype).kind in "iu" else (0.3, 0.6)


def line(dtype: Any) -> tuple:
    return (numbers(dtype, 2, 5),)


_N = {"axis": 0, "norm": "ortho"}
FOURIER = [
    *(
        Function(f"fft.{name}(x, /, *, n=None, axis=-1, norm='backward')", kinds, line, {**_N, "n": 3})
        for name, kinds in {
            "fft": "c",
            "ifft": "c",
            "rfft": "f",
            "irfft": "c",
            "hfft": "c",
            "ihfft": "f",
        }.items()
    ),
    *(
        Function(
            f"fft.{name}(x, /, *, s=None, axes=None, norm='backward')",
            kinds,
            line,
            {"s": (3, 4), "axes": (0, 1), "norm": "forward"},
        )
        for name, kinds in {"fftn": "c", "ifftn": "c", "rfftn": "f", "irfftn": "c"}.items()
    ),
    *(
        Function(
            f"fft.{name}(n, /, *, d=1.0, dtype=None, device=None)",
            "f",
            lambda dtype: (5,),
            {"d": 0.5, "dtype": None, "device": "cpu"},
        )
        for name in ("fftfreq", "rfftfreq")
    ),
    *(
        Function(f"fft.{name}(x, /, *, axes=None)", "fc", line, {"axes": 1})
        for name in ("fftshift", "ifftshift")
    ),
]


def vectors(dtype: Any) -> tuple:
    return numbers(dtype, 2, 3), numbers(dtype, 2, 3, seed=1)


def product(dtype: Any) -> tuple:
    return numbers(dtype, 2, 2, 3), numbers(dtype, 3, 2)


INDEXING = [
    Function(
        "take(x, indices, /, *, axis=None)",
        ALL,
        lambda dtype: (numbers(dtype, 3), np.array([2, 0])),
        {"axis": 0},
    ),
    Function(
        "take_along_axis(x, indices, /, *, axis=-1)",
        ALL,
        lambda dtype: (*one(dtype), np.array([[2, 0], [1, -1]])),
        {"axis": 1},
    ),
]

LINEAR_ALGEBRA = [
    *(
        Function(f"{prefix}{text}", kinds, arguments, chosen)
        for prefix in ("", "linalg.")
        for text, kinds, arguments, chosen in (
            ("matmul(x1, x2, /)", NUMERIC, product, {}),
            ("matrix_transpose(x, /)", ALL, one, {}),
            ("tensordot(x1, x2, /, *, axes=2)", NUMERIC, vectors, {"axes": ((0,), (0,))}),
            ("vecdot(x1, x2, /, *, axis=-1)", NUMERIC, vectors, {"axis": -2}),
        )
    ),
    Function("linalg.cholesky(x, /, *, upper=False)", FLOATING, matrix, {"upper": True}),
    Function("linalg.cross(x1, x2, /, *, axis=-1)", NUMERIC, vectors, {"axis": 1}),
    Function("linalg.diagonal(x, /, *, offset=0)", ALL, one, {"offset": 1}),
    Function(
        "linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')", FLOATING, one, {"keepdims": True, "ord": 1}
    ),
    Function("linalg.matrix_power(x, n, /)", FLOATING, lambda dtype: (*matrix(dtype), 3)),
    Function("linalg.matrix_rank(x, /, *, rtol=None)", FLOATING, matrix, {"rtol": 0.1}),
    Function("linalg.outer(x1, x2, /)", NUMERIC, lambda dtype: (numbers(dtype, 2), numbers(dtype, 3))),
    Function("linalg.pinv(x, /, *, rtol=None)", FLOATING, matrix, {"rtol": 1e-3}),
    Function("linalg.qr(x, /, *, mode='reduced')", FLOATING, matrix, {"mode": "complete"}),
    Function("linalg.solve(x1, x2, /)", FLOATING, lambda dtype: (*matrix(dtype), numbers(dtype, 3, 2))),
    Function("linalg.svd(x, /, *, full_matrices=True)", FLOATING, matrix, {"full_matrices": False}),
    Function(
        "linalg.trace(x, /, *, offset=0, dtype=None)", NUMERIC, one, {"offset": 1, "dtype": np.complex128}
    ),
    Function(
        "linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)",
        FLOATING,
        one,
        {"axis": 0, "keepdims": True, "ord": 3},
    ),
    *_each(
        "linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.slogdet linalg.svdvals",
        "(x, /)",
        "fc",
        matrix,
    ),
]

MANIPULATION = [
    Function("broadcast_arrays(*arrays)", ALL, two),
    Function("broadcast_to(x, /, shape)", ALL, lambda dtype: (numbers(dtype, 3), (2, 3))),
    Function("concat(arrays, /, *, axis=0)", ALL, lambda dtype: (list(vectors(dtype)),), {"axis": None}),
    Function("expand_dims(x, /, *, axis=0)", ALL, one, {"axis": -1}),
    Function("flip(x, /, *, axis=None)", ALL, one, {"axis": (0, 1)}),
    Function(
        "moveaxis(x, source, destination, /)", ALL, lambda dtype: (numbers(dtype, 2, 1, 3), (0, 1), (2, 0))
    ),
    Function("permute_dims(x, /, axes)", ALL, lambda dtype: (numbers(dtype, 2, 1, 3), (2, 0, 1))),
    Function("repeat(x, repeats, /, *, axis=None)", ALL, lambda dtype: (*one(dtype), 2), {"axis": 1}),
    Function("reshape(x, /, shape, *, copy=None)", ALL, lambda dtype: (*one(dtype), (3, -1)), {"copy": True}),
    Function("roll(x, /, shift, *, axis=None)", ALL, lambda dtype: (*one(dtype), 2), {"axis": 1}),
    Function("squeeze(x, /, axis)", ALL, lambda dtype: (numbers(dtype, 2, 1, 3), 1)),
    Function("stack(arrays, /, *, axis=0)", ALL, lambda dtype: (list(vectors(dtype)),), {"axis": -1}),
    Function("tile(x, repetitions, /)", ALL, lambda dtype: (*one(dtype), (2, 1))),
    Function("unstack(x, /, *, axis=0)", ALL, one, {"axis": 1}),
]

SEARCHING = [
    *(
        Function(f"{name}(x, /, *, axis=None, keepdims=False)", REAL, one, {"axis": 1, "keepdims": True})
        for name in ("argmax", "argmin")
    ),
    Function("count_nonzero(x, /, *, axis=None, keepdims=False)", ALL, one, {"axis": 0, "keepdims": True}),
    Function("nonzero(x, /)", ALL, one),
    Function(
        "searchsorted(x1, x2, /, *, side='left', sorter=None)",
        REAL,
        lambda dtype: (np.sort(numbers(dtype, 3)), *one(dtype)),
        {"side": "right", "sorter": np.arange(3)},
    ),
    Function("where(condition, x1, x2, /)", ALL, lambda dtype: (numbers(bool, 2, 3), *two(dtype))),
    Function(
        "where(condition, x1, x2, /)", ALL, lambda dtype: (numbers(bool, 2, 3), *array_and_scalar(dtype))
    ),
]

SETS = _each("unique_all unique_counts unique_inverse unique_values", "(x, /)", ALL, one)

SORTING = [
    Function(
        f"{name}(x, /, *, axis=-1, descending=False, stable=True)",
        REAL,
        one,
        {"axis": 0, "descending": True, "stable": False},
    )
    for name in ("argsort", "sort")
]

_REDUCED = {"axis": 0, "keepdims": True}
STATISTICS = [
    *(
        Function(
            f"{name}(x, /, *, axis=None, dtype=None, include_initial=False)",
            NUMERIC,
            lambda dtype: (numbers(dtype, 4),),
            {"axis": 0, "dtype": np.complex128, "include_initial": True},
        )
        for name in ("cumulative_prod", "cumulative_sum")
    ),
    *(
        Function(f"{name}(x, /, *, axis=None, keepdims=False)", kinds, one, _REDUCED)
        for name, kinds in {"max": REAL, "min": REAL, "mean": FLOATING, "all": ALL, "any": ALL}.items()
    ),
    *(
        Function(
            f"{name}(x, /, *, axis=None, dtype=None, keepdims=False)",
            NUMERIC,
            one,
            {**_REDUCED, "dtype": np.complex128},
        )
        for name in ("prod", "sum")
    ),
    *(
        Function(
            f"{name}(x, /, *, axis=None, correction=0.0, keepdims=False)",
            "f",
            one,
            {**_REDUCED, "correction": 1.0},
        )
        for name in ("std", "var")
    ),
    Function(
        "diff(x, /, *, axis=-1, n=1, prepend=None, append=None)",
        NUMERIC,
        one,
        {"axis": 0, "n": 2, "prepend": np.ones((1, 3), np.int8), "append": np.zeros((1, 3), np.int8)},
    ),
]

ON_VARS = [
    *(f for f in CREATION if f.name in ("asarray", "from_dlpack", "full", "meshgrid", "tril", "triu")),
    *(f for f in DATA_TYPES if f.name == "astype"),
    *ELEMENTWISE,
    *FOURIER,
    *INDEXING,
    *LINEAR_ALGEBRA,
    *MANIPULATION,
    *SEARCHING,
    *SETS,
    *SORTING,
    *STATISTICS,
]
"""Everything that takes arrays and returns arrays computed from them."""

FUNCTIONS = [*CREATION, *DATA_TYPES, *(f for f in ON_VARS if f not in CREATION and f not in DATA_TYPES)]

CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
DTYPE_NAMES = (
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float32", "float64", "complex64", "complex128"),
)

ATTRIBUTES = ("dtype", "device", "mT", "ndim", "shape", "size", "T")
_ARITHMETIC = ("add", "floordiv", "matmul", "mod", "mul", "pow", "sub", "truediv")
_OPERATORS = (*_ARITHMETIC, "and", "lshift", "or", "rshift", "xor")
METHODS = (
    *(f"__{name}__" for name in _OPERATORS),
    *(f"__r{name}__" for name in _OPERATORS),
    *(f"__{name}__" for name in ("abs", "invert", "neg", "pos", "eq", "ge", "gt", "le", "lt", "ne")),
    *(f"__{name}__" for name in ("bool", "complex", "float", "index", "int", "getitem", "setitem")),
    *("__array_namespace__", "__dlpack__", "__dlpack_device__", "to_device"),
)
