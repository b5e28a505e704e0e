"""Kernels that Python calls with arrays: functions of Python's C interface, one for each dtype.

Their bodies are plain Python functions of the modules in `tape.kernels`, but for those that need addresses. A
function takes what its body takes: its machine code reads the arguments from the objects that Python passes,
releases the lock, and returns a float. Nothing is checked, so that a call takes less than 0.1 us.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic, register_jitable

from tape.kernels import (
    choices,
    colouring,
    cross_entropy,
    formulas,
    fused,
    recurrences,
    reduce,
)
from tape.kernels.codes import FLOAT32, FLOAT64
from tape.kernels.compiled._jit import OPTIONS, inner, summing
from tape.kernels.compiled.indices import scatter_add
from tape.kernels.compiled.pointers import float64s, int32_at, int64_at, pointer_to
from tape.kernels.eager import COLOURING, EAGER, FORMULAS
from tape.kernels.headers import ARRAY_DATA, ARRAY_DIMS, ARRAY_NDIM, SCALAR

_NUMBERS = {
    "d": types.float64, "f": types.float32, "D": types.complex128, "F": types.complex64,
    "l": types.int64, "b": types.int8,
}  # fmt: skip


class _Kernel(NamedTuple):
    """How a kernel is made.

    Attributes
    ----------
    body : callable
        Of arrays and numbers.
    arguments : str
        A word for each: ``T`` for an array of the dtype, ``l`` or ``b`` for one of int64 or int8, with the
        number of axes, or ``_`` for one whose axes become one; ``number`` for a float, ``like`` for one in
        the precision of the dtype, ``flag`` for one that is True unless it is 0; ``numbers`` and how many,
        for an array that the body takes as a tuple.
    chars : str
        NumPy's letters for the dtypes.
    compiled : callable
        How the body is compiled: `inner` or `summing`.
    """

    body: Callable[..., Any]
    arguments: str
    chars: str = "df"
    compiled: Callable[..., Any] = inner


# ---- bodies that need more than arrays ---------------------------------------------------------------


def _defined(name: str, source: str, names: dict[str, Any]) -> Any:
    exec(compile(source, f"<{name}>", "exec"), names)
    return names[name]


def _add_rows(total, positions, values):  # type: ignore[no-untyped-def]
    before, length, after = total.shape
    code = FLOAT64 if total.itemsize == 8 else FLOAT32
    return scatter_add(
        code,
        total.ctypes.data,
        length,
        after,
        positions.ctypes.data,
        positions.size,
        before,
        values.ctypes.data,
    )


def _elementwise(body: Callable[..., Any]) -> Callable[..., None]:
    compiled = inner(body)

    def each(x, y, out):  # type: ignore[no-untyped-def]
        for i in range(out.size):
            out[i] = compiled(x[i], y[i])

    return each


def _stepped(formula: Callable[..., Any], states: int) -> Callable[..., None]:
    """Return the loop that applies a formula to each element, for its number of arrays of state."""
    state = "".join([f", s{k}" for k in range(states)])
    elements = "".join([f", s{k}[i]" for k in range(states)])
    written = f"param[i]{elements or ','} = "
    source = (
        f"def stepped(param, gradient{state}, numbers):\n"
        f"    for i in range(param.size):\n"
        f"        {written}formula(param[i], gradient[i]{elements}, numbers)\n"
    )
    return _defined("stepped", source, {"formula": inner(formula)})


for _helper in (choices.stretch, choices.part, choices.wins, *vars(formulas).values()):
    if callable(_helper) and getattr(_helper, "__module__", "").startswith("tape.kernels"):
        register_jitable(**OPTIONS)(_helper)

KERNELS: dict[str, dict[str, _Kernel]] = {
    EAGER: {
        "sum_rows": _Kernel(reduce.sum_rows, "T2 T1"),
        "sum_middle": _Kernel(reduce.sum_middle, "T3 T2"),
        "add_rows": _Kernel(_add_rows, "T3 l1 T3"),
        "select": _Kernel(choices.select_elements, "b1 T1 T1 T1"),
        "share": _Kernel(choices.share_elements, "T1 T1 T1 like flag T1"),
        "share_extremes": _Kernel(choices.share_extremes, "T2 T3 T2 T1 T3"),
        "losses": _Kernel(cross_entropy.losses_of, "T2 l1 T1", compiled=summing),
        "excess": _Kernel(cross_entropy.excess_of, "T2 l1 number T2", compiled=summing),
        "recur": _Kernel(recurrences.recur, "T3 T3 flag T3"),
        "multiply_others": _Kernel(recurrences.multiply_others, "T2 T3 T1 T3"),
        **{body.__name__: _Kernel(_elementwise(body), "T_ T_ T_") for body in fused.BODIES},
    },
    FORMULAS: {
        formula.__name__: _Kernel(_stepped(formula, states), f"T1 T1 {'T1 ' * states}numbers{count}")
        for formula, (states, count) in formulas.FORMULAS.items()
    },
    COLOURING: {
        "columns_coloured": _Kernel(colouring.columns_coloured, "l1 l1 l1 l1 l1 l1 l2", "l"),
        "stars_coloured": _Kernel(colouring.stars_coloured, "l1 l1 l1 l1 l1 l2", "l"),
        "acyclically_coloured": _Kernel(colouring.acyclically_coloured, "l1 l1 l1 l1 l1 l2", "l"),
        "substitution_ordered": _Kernel(colouring.substitution_ordered, "l1 l1 l1 l1 l1 b1 l1", "l"),
        "substituted": _Kernel(colouring.substituted, "T1 l1 l1 T1", "dfDF"),
    },
}
"""By group and name."""


# ---- from Python's objects to arrays -----------------------------------------------------------------


@intrinsic
def _release(typing_context):  # type: ignore[no-untyped-def]
    """Release Python's lock; return what `_acquire` takes."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        return _call(builder, "PyEval_SaveThread", ir.IntType(64), [])

    return types.int64(), generate


@intrinsic
def _acquire(typing_context, state):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        _call(builder, "PyEval_RestoreThread", ir.VoidType(), values)
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def _as_object(typing_context, number):  # type: ignore[no-untyped-def]
    """Return the address of a new float."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        return _call(builder, "PyFloat_FromDouble", ir.IntType(64), values)

    return types.int64(types.float64), generate


def _call(builder: Any, name: str, result: Any, values: Iterable[Any]) -> Any:
    values = list(values)
    kind = ir.FunctionType(result, [value.type for value in values])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, values)


@register_jitable
def _as_float(found):  # type: ignore[no-untyped-def]
    return 0.0 if found is None else found * 1.0


def _function(kernel: _Kernel, char: str) -> Any:
    """Return a function of the addresses (self, arguments, number of arguments) for one dtype."""
    names: dict[str, Any] = {
        "body": kernel.compiled(kernel.body), "carray": carray, "int64_at": int64_at, "int32_at": int32_at,
        "release": _release, "acquire": _acquire, "as_object": _as_object, "float64s": float64s,
        "kind": _NUMBERS[char], "as_float": _as_float,
    }  # fmt: skip
    lines, passed = [], []
    for k, word in enumerate(kernel.arguments.split()):
        lines.append(f"p{k} = int64_at(arguments + {8 * k})")
        if word in ("number", "like", "flag"):
            number = f"float64s(p{k} + {SCALAR})[0]"
            passed.append({"number": number, "like": f"kind({number})", "flag": f"({number} != 0.0)"}[word])
            continue
        letter, axes = ("T", "1") if word.startswith("numbers") else (word[0], word[1:])
        names[f"view{k}"] = pointer_to(_NUMBERS[char if letter == "T" else letter])
        lines.append(f"d{k} = int64_at(p{k} + {ARRAY_DIMS})")
        if axes == "_":
            lines += [
                f"n{k} = 1", f"for axis in range(int32_at(p{k} + {ARRAY_NDIM})):",
                f"    n{k} *= int64_at(d{k} + 8 * axis)",
            ]  # fmt: skip
            shape = f"n{k}"
        else:
            shape = ", ".join([f"int64_at(d{k} + {8 * axis})" for axis in range(int(axes))])
        lines.append(f"a{k} = carray(view{k}(int64_at(p{k} + {ARRAY_DATA})), ({shape},))")
        count = int(word[len("numbers") :]) if word.startswith("numbers") else 0
        passed.append("(" + "".join([f"a{k}[{i}], " for i in range(count)]) + ")" if count else f"a{k}")
    lines += ["state = release()", f"found = body({', '.join(passed)})", "acquire(state)"]
    lines.append("return as_object(as_float(found))")
    source = "def function(self, arguments, count):\n" + "".join([f"    {line}\n" for line in lines])
    return inner(_defined("function", source, names))


FUNCTIONS = {
    group: {
        f"{name} {char}": _function(kernel, char) for name, kernel in kernels.items() for char in kernel.chars
    }
    for group, kernels in KERNELS.items()
}
"""By group, and by the names of kernel and dtype."""
