"""Numbers written in calls of functions, given as arguments of a compiled function instead.

Each literal in each sample call becomes an argument, of each kind that a number may have, and takes other
values from call to call: the result is NumPy's for the number of this call, or an error says why not.
"""

import ast

import numpy as np
import pytest
import scipy.special

import tape
from tape import errors
from tape.inspect.samples import SAMPLES
from tape.support.samples import arguments, data
from tests.tiers import is_full, takes_long

ARGUMENTS = arguments()
FLOATS = (np.float64, np.float32)
GIVEN = "given"  # the name of the argument
WHOLE_KINDS = {"int": int, "int64": np.int64, "int32": np.int32, "0-d": np.array, "float": float}
BROKEN_KINDS = {"float": float, "float64": np.float64, "float32": np.float32, "0-d": np.array}
OF_OUR_OWN = {"scipy.special.modfresnelm", "scipy.special.modfresnelp"}
"""SciPy's results at negative numbers are those of another function, and ours are not."""


class _Given(ast.NodeTransformer):
    """Replaces the number at a position in a call by a name."""

    def __init__(self, position):
        self.position, self.number = position, None

    def visit_Constant(self, node):
        if type(node.value) not in (int, float, bool):
            return node
        self.position -= 1
        if self.position != -1:
            return node
        self.number = node.value
        return ast.copy_location(ast.Name(GIVEN, ast.Load()), node)


def literals():
    """Yield the name of a sample, a function of its arrays and one number in it, the arrays, the number."""
    for name, sample in SAMPLES.items():
        position = 0
        while True:
            given = _Given(position)
            call = ast.fix_missing_locations(given.visit(ast.parse(sample, mode="eval")))
            if given.number is None:
                break
            used = [
                k for k in ARGUMENTS if any(isinstance(n, ast.Name) and n.id == k for n in ast.walk(call))
            ]
            text = f"lambda {', '.join([*used, GIVEN])}: {ast.unparse(call)}"
            if name not in OF_OUR_OWN:
                yield pytest.param(text, used, given.number, id=f"{name}-{position}")
            position += 1


def numbers(number):
    """Return other values of a number in a call, by kind."""
    if isinstance(number, bool):
        values, kinds = [number, not number, number], {"bool": bool, "bool_": np.bool_}
    elif isinstance(number, int):
        values = [number, number + 1, number, number - 1, number + 2, -number]
        kinds = WHOLE_KINDS
    else:
        values = [number, number * 1.5, number, number / 2, -number, number + 1, 0.0]
        kinds = BROKEN_KINDS
    return {name: [kind(value) for value in values] for name, kind in kinds.items()}


def summed(f):
    """Return the sum of the sines of all floats that a function returns."""

    def total(*args):
        leaves = tape.tree.leaves(f(*args))
        return sum(np.sum(np.sin(leaf)) for leaf in leaves if getattr(leaf, "dtype", None) in FLOATS)

    return total


ALL = [each for each in literals() if "empty" not in each.id]  # which may hold anything
CHOSEN = ALL if is_full() else ALL[::24]


@takes_long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize(("text", "used", "number"), CHOSEN)
def test_a_number_in_a_call_may_be_an_argument(text, used, number, derivative):
    f = eval(text, {"tape": tape, "scipy": scipy, **data()})
    arrays = [ARGUMENTS[name] for name in used]
    if derivative:
        if not used:
            pytest.skip("no array to differentiate by")
        f = tape.grad(summed(f), tuple(range(len(used))))
    for values in numbers(number).values():
        compiled = tape.compile(f)
        for value in values:
            with np.errstate(all="ignore"):
                try:
                    expected = f(*arrays, value)
                except Exception:
                    continue
                try:
                    found = compiled(*arrays, value)
                except errors.TraceDroppedError:  # which is none that helps
                    raise
                except errors.TapeError:
                    break
            same(found, expected)


def same(found, expected):
    found, expected = tape.tree.leaves(found), tape.tree.leaves(expected)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if x.dtype.kind in "biufc":
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
