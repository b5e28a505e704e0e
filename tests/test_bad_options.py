"""Options that no operation takes: the error names the operation, or the one that it calls for the work."""

import inspect
import re
from operator import attrgetter
from types import ModuleType

import numpy as np
import pytest

from tape import errors, ops
from tests.op_table import TWO_OF_EACH, by_operation
from tests.oracles import record

BAD = {
    "axis": 99, "axes": (0, 99), "axis1": 99, "axis2": 99, "norm": "other", "mode": "other", "n": -1,
    "s": (-1,), "reduction": "other", "kind": "other", "method": "other", "casting": "other",
    "dtype": "other", "side": "other", "indexing": "other", "trim": "other", "approximate": "other",
    "UPLO": "other", "ord": "other", "stride": 0, "padding": -1, "dilation": 0, "groups": 0,
    "kernel_size": 0, "alpha": "other", "lambd": "other", "beta": "other", "delta": "other",
    "margin": "other", "num_groups": 0, "p": -1.0, "label_smoothing": 2.0, "edge_order": 3, "q": 2.0,
    "repeats": -1,
}  # fmt: skip
CALLED = {
    "append": "concatenate", "apply_over_axes": "sum", "concat": "concatenate", "corrcoef": "cov",
    "linalg.matrix_norm": "norm", "linalg.trace": "astype", "linalg.vector_norm": "norm",
    "logspace": "linspace", "nancumprod": "cumprod", "nancumsum": "cumsum", "permute_dims": "transpose",
    "fft.ihfft": "rfft", "trace": "(diagonal|astype)", "softmax_cross_entropy": "reduction",
    "nn.local_response_norm": "an operand", "roll": "there is no axis",
}  # fmt: skip
"""What is called for the work, and says what is wrong."""
TAKEN = {
    ("fft.fftn", "s"),
    ("fft.ifftn", "s"),
    ("fft.rfftn", "s"),
    ("fft.irfftn", "s"),
    ("nn.normalize", "p"),
    ("special.zeta", "q"),
}
OF_PYTHON = {
    *((name, "casting") for name in ("concat", "concatenate", "hstack", "stack", "vstack")),
    *((f"{name}_like", "dtype") for name in ("zeros", "ones", "empty")), ("nn.local_response_norm", "alpha"),
}  # fmt: skip
"""What raises an error of Python's or NumPy's own, as yet."""


class WithOption:
    """A namespace in which one function gets another value of one option."""

    def __init__(self, namespace, function, name, value):
        self._namespace, self._function, self._name, self._value = namespace, function, name, value

    def __getattr__(self, attribute):
        found = getattr(self._namespace, attribute)
        if isinstance(found, ModuleType):
            return WithOption(found, self._function, self._name, self._value)
        return self._call if found is self._function else found

    def _call(self, *args, **kwargs):
        bound = inspect.signature(self._function).bind(*args, **kwargs)
        bound.arguments[self._name] = self._value
        return self._function(*bound.args, **bound.kwargs)


def options(case):
    try:
        parameters = inspect.signature(attrgetter(case.op)(ops)).parameters
    except ValueError:
        return {}
    return {
        name: value
        for name, value in BAD.items()
        if name in parameters and parameters[name].default is not inspect.Parameter.empty
    }


@pytest.mark.filterwarnings("ignore")
@by_operation(TWO_OF_EACH)
def test_bad_options_are_refused_by_name(case):
    function = attrgetter(case.op)(ops)
    short = case.op.rpartition(".")[2]
    for name, value in options(case).items():
        space = WithOption(ops, function, name, value)
        if (case.op, name) in TAKEN:
            continue
        kinds = (TypeError, ValueError) if (case.op, name) in OF_PYTHON else errors.TapeError
        with pytest.raises(kinds) as caught:
            record(lambda *args, space=space: case.function(space, *args), case.args())
        if kinds is errors.TapeError:
            said = rf"({short}|{CALLED.get(case.op, short)})\b"
            assert re.match(said, str(caught.value)), (name, str(caught.value))


def test_joining_says_who_cannot_cast():
    for name in ("concatenate", "stack", "hstack", "vstack"):
        with pytest.raises(errors.DTypeError, match=rf"^{name}"):
            record(lambda x, name=name: getattr(ops, name)([x, x], dtype=int, casting="no"), [np.ones(2)])
