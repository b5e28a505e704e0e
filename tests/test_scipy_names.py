"""Errors of `tape.scipy` begin with the name of the function that was called."""

import importlib
import re
import warnings
from itertools import groupby

import numpy as np
import pytest

import tape
from tape import errors
from tests.tiers import is_full

MODULES = ("signal", "ndimage", "spatial", "integrate", "interpolate", "optimize")
MOST = 100 if is_full() else 3
"""Cases of each function."""


def called(case):
    return case.name.split()[0]


def cases():
    for module in MODULES:
        table = importlib.import_module(f"tests.op_table.scipy_{module}")
        every = sorted(getattr(table, "ALL", None) or table.CASES, key=called)
        for _, group in groupby(every, called):
            yield from list(group)[:MOST]


def edges_of(x):
    """What an operand might be by mistake."""
    yield x * 1j
    yield np.stack([x, x])
    yield x * np.nan
    if x.ndim:
        yield x.ravel()[0]
        yield x[..., :-1]
        yield x[:-1]
        yield x[..., :0]


PASSED_ON = (
    "pad", "broadcast_to", "broadcast_arrays", "getitem", "moveaxis", "reshape", "concatenate", "stack",
    "solve", "an operand", "convolve", "fft", "ifft", "matmul", "multiply", "add", "subtract", "divide",
    "add_at", "where", "BSpline: points", "PPoly: points",
    "PPoly.integrate",
)  # fmt: skip
"""Operations that find a fault first; then the function is named at the end."""


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_errors_begin_with_the_name_of_the_function(case):
    name, args = called(case).rpartition(".")[2], case.args()
    of = case.on(tape.ops)
    for k, x in enumerate(args):
        if np.asarray(x).dtype.kind not in "fc":
            continue
        for edge in edges_of(np.asarray(x)):
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    of(*args[:k], edge, *args[k + 1 :])
            except errors.TapeError as error:
                said = str(error).split(" [at ")[0]
                ours = re.match(rf"(ndimage\.)?{name}\b(?!_)", said)
                is_named = said.endswith(f"(in {name})") and not said.startswith(name)
                assert ours or is_named or said.startswith(PASSED_ON), said
            except Exception:  # NumPy's, of what the case itself computes
                continue
