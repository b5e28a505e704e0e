"""Draws in files of programs: which methods there are, with which options. Nothing else is drawn from a file.

A program from a file may have been written by anybody. The names of methods and options are checked here, the
state when it is set (`tape.core.bit_states`), and parameters by NumPy, in each draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.bit_states import KINDS
from tape.program.files.callbacks import PORTABLE, Portable
from tape.program.files.structures import list_of, require
from tape.program.files.types import dtype_name, dtype_of, shape_of
from tape.random._draws import draw, is_without_size

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_INTS = tuple(np.dtype(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"))
_FLAGS = (False, True)

_METHODS: dict[str, tuple[int, dict[str, tuple[Any, ...]]]] = {
    "random": (0, {"dtype": _FLOATS}),
    "standard_normal": (0, {"dtype": _FLOATS}),
    "standard_exponential": (0, {"dtype": _FLOATS, "method": ("zig", "inv")}),
    "standard_gamma": (1, {"dtype": _FLOATS}),
    "integers": (2, {"dtype": _INTS, "endpoint": _FLAGS}),
    "choice": (1, {"replace": _FLAGS, "shuffle": _FLAGS}),
    "permutation": (1, {}),
    "permuted": (1, {"axis": (None, *range(-32, 32))}),
    "multivariate_hypergeometric": (2, {"method": ("marginals", "count")}),
    "multivariate_normal": (
        2,
        {"check_valid": ("warn", "raise", "ignore"), "tol": (), "method": ("svd", "eigh", "cholesky")},
    ),
    "standard_cauchy": (0, {}),
    **dict.fromkeys(
        ["chisquare", "dirichlet", "exponential", "geometric", "logseries", "pareto", "poisson", "power",
         "rayleigh", "standard_t", "weibull", "zipf"],
        (1, {}),
    ),
    **dict.fromkeys(
        ["beta", "binomial", "f", "gamma", "gumbel", "laplace", "logistic", "lognormal", "multinomial",
         "negative_binomial", "noncentral_chisquare", "normal", "uniform", "vonmises", "wald"],
        (2, {}),
    ),
    **dict.fromkeys(["hypergeometric", "noncentral_f", "triangular"], (3, {})),
}  # fmt: skip
"""How many parameters a method takes, and its options with the values they may have; () for any float."""

_BOUNDS = (" > 0", " >= 0")


def _describe(attrs: dict[str, Any]) -> list[Any]:
    method, options = attrs["method"], dict(attrs["options"])
    known = _METHODS.get(method, (0, {}))[1]
    if method not in _METHODS or any(not _is_allowed(known.get(name), options[name]) for name in options):
        raise errors.UnsupportedError(
            f"{method} of a generator, with options {options}, cannot be saved. Draw outside, and pass the "
            "numbers"
        )
    described = [
        [name, dtype_name(value) if isinstance(value, np.dtype) else value] for name, value in options.items()
    ]
    size = attrs["size"]
    rest = [attrs["examples"], attrs["has_examples"], attrs["checked"]]
    return [attrs["kind"], method, size, described, *rest]


def _is_allowed(values: tuple[Any, ...] | None, value: Any) -> bool:
    if values == ():
        return type(value) is float
    return values is not None and any(type(value) is type(one) and value == one for one in values)


def _restore(entry: Any, operands: Sequence[Any], types: Sequence[Any]) -> dict[str, Any]:
    kind, method, size, described, examples, has_examples, checked = list_of(entry, 7)
    require(type(kind) is str and kind in KINDS, "no such bit generator")
    require(type(method) is str and method in _METHODS, "no such method of a generator")
    require(type(has_examples) is bool, "a draw is malformed")
    count, known = _METHODS[method]
    options = []
    for name, value in (list_of(one, 2) for one in list_of(described)):
        require(type(name) is str and name in known, f"{method} has no such option")
        found = dtype_of(value) if name == "dtype" else value
        require(_is_allowed(known[name], found), f"{method} has no such option")
        options.append((name, found))
    require(len(dict(options)) == len(options), "an option is there twice")
    bounds = tuple(list_of(checked))
    require(all(type(one) is str and one.endswith(_BOUNDS) for one in bounds), "a bound is malformed")
    given = len(operands) - 1 - len(bounds)
    require(given == count or (method == "choice" and given == 2), f"{method} has other parameters")
    require(operands[0] is None and len(types) == 2, "a draw has a state, and two results")
    batch, own = shape_of(examples), None if size is None else shape_of(size)
    # What is drawn is then no larger than the result that is declared, for which there is memory.
    begins = batch if own is None else (*batch, *own)
    if method == "permutation":
        length = operands[1]
        require(type(length) is int and length >= 0, "a permutation has no length")
        begins = (*batch, length)
    elif is_without_size(method):
        begins = batch
    require(types[1][0][: len(begins)] == begins, "a draw has another shape than its result")
    return {
        "kind": kind,
        "method": method,
        "size": own,
        "options": tuple(options),
        "examples": batch,
        "has_examples": has_examples,
        "checked": bounds,
    }


PORTABLE["draw"] = Portable(draw, _describe, _restore)
