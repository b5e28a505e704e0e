"""Options that no operation takes: the error names the operation, or the one that it calls for the work."""

import inspect
import re
from operator import attrgetter
from types import ModuleType

import numpy as np
import pytest

from tape import errors, ops
from tests.op_table import TWO_OF_EACH, by_operation, in_ops
from tests.oracles import record
from tests.tiers import some

each_operation = by_operation(filter(in_ops, TWO_OF_EACH))

WRONG_SHAPE = np.ones((7, 9))
BAD = {
    "axis": 99, "axes": (0, 99), "axis1": 99, "axis2": 99, "norm": "other", "mode": "other", "n": -1,
    "s": (-1,), "reduction": "other", "kind": "other", "method": "other", "casting": "other",
    "dtype": "other", "side": "other", "indexing": "other", "trim": "other", "approximate": "other",
    "UPLO": "other", "ord": "other", "stride": 0, "padding": -1, "dilation": 0, "groups": 0,
    "kernel_size": 0, "alpha": "other", "lambd": "other", "beta": "other", "delta": "other",
    "margin": "other", "num_groups": 0, "p": -1.0, "label_smoothing": 2.0, "edge_order": 3, "q": 2.0,
    "repeats": -1, "order": "other", "eps": -1.0, "weight": WRONG_SHAPE, "bias": WRONG_SHAPE,
    "running_mean": WRONG_SHAPE, "running_var": WRONG_SHAPE, "weights": WRONG_SHAPE, "output_padding": -1,
    "num": -1,
}  # fmt: skip
CALLED = {
    "append": "concatenate", "apply_over_axes": "sum", "concat": "concatenate", "corrcoef": "cov",
    "linalg.matrix_norm": "norm", "linalg.trace": "astype", "linalg.vector_norm": "norm",
    "logspace": "linspace", "nancumprod": "cumprod", "nancumsum": "cumsum", "permute_dims": "transpose",
    "fft.ihfft": "rfft", "trace": "(diagonal|astype)", "softmax_cross_entropy": "reduction",
    "nn.local_response_norm": "an operand", "roll": "there is no axis",
    "linalg.tensorsolve": "(tensorsolve|transpose)", "ravel_multi_index": "order", "unravel_index": "order",
    "nn.softmin": "softmax", "reshape": "order", "ravel": "order", "histogramdd": "histogramdd",
    "histogram2d": "histogramdd",
}  # fmt: skip
"""What is called for the work, and says what is wrong."""
TAKEN = {
    ("fft.fftn", "s"),
    ("fft.ifftn", "s"),
    ("fft.rfftn", "s"),
    ("fft.irfftn", "s"),
    ("nn.normalize", "p"),
    *((f"nn.{name}", "eps") for name in ("normalize", "cosine_similarity", "triplet_margin_loss")),
    *((f"nn.{name}_nll_loss", "eps") for name in ("poisson", "gaussian")),
    ("nn.pairwise_distance", "eps"),
    ("histogram_bin_edges", "weights"),  # as in NumPy, which reads them only where estimators might
    ("cov", "bias"),  # of which only the truth counts
    ("special.zeta", "q"),
}
OF_PYTHON = {
    *((name, "casting") for name in ("concat", "concatenate", "hstack", "stack", "vstack")),
    *((f"{name}_like", "dtype") for name in ("zeros", "ones", "empty")), ("nn.local_response_norm", "alpha"),
    *((f"{name}_like", "order") for name in ("zeros", "ones", "empty", "full")),
}  # fmt: skip
"""What raises an error of Python's or NumPy's own, as yet."""
NOT_NAMED = {("linalg.norm", "ord"), ("linalg.cond", "p"), ("nn.local_response_norm", "beta")}
NOT_NAMED |= {(f"fft.{inverse}fft2", "s") for inverse in ("", "i", "r", "ir")}
NOT_NAMED |= {(name, "weights") for name in ("bincount", "histogram2d", "histogramdd")}
"""Where the error says neither the option nor its value."""


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


def shown(value):
    """A value as messages write it; of some axes the last."""
    return re.escape(str(value[-1]) if isinstance(value, tuple) else repr(value))


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
@each_operation
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
            text = str(caught.value)
            assert re.match(said, text), (name, text)
            if (case.op, name) not in NOT_NAMED:
                assert re.search(
                    rf"\b{name}\b" if value is WRONG_SHAPE else rf"\b{name}\b|{shown(value)}", text
                ), text


def test_joining_says_who_cannot_cast():
    for name in ("concatenate", "stack", "hstack", "vstack"):
        with pytest.raises(errors.DTypeError, match=rf"^{name}"):
            record(lambda x, name=name: getattr(ops, name)([x, x], dtype=int, casting="no"), [np.ones(2)])


WHOLE_NUMBERS = [
    "axis", "axes", "axis1", "axis2", "axisa", "axisb", "axisc", "source", "destination", "n", "num",
    "decimals", "repeats", "shift", "edge_order", "stride", "padding", "dilation", "groups", "kernel_size",
    "output_padding", "num_groups", "size", "minlength",
]  # fmt: skip
NEED_NOT_BE = {
    ("apply_over_axes", "axes"),
    ("roll", "shift"),
    ("special.polygamma", "n"),
}  # nor in NumPy and SciPy


@pytest.mark.filterwarnings("ignore")
@each_operation
def test_where_whole_numbers_are_needed_others_are_refused(case):
    function = attrgetter(case.op)(ops)
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        return
    for name in WHOLE_NUMBERS:
        if name in parameters and (case.op, name) not in NEED_NOT_BE:
            for value in (1.5, [1.5, 2.5]):
                space = WithOption(ops, function, name, value)
                with pytest.raises((TypeError, ValueError)):
                    record(lambda *args, space=space: case.function(space, *args), case.args())


ODD = some(["other", -1.0, WRONG_SHAPE, object(), [], None, [np.ones(2), np.ones(3)]], every=2)
FUNCTIONS = {
    name
    for space in (ops, *(value for value in vars(ops).values() if isinstance(value, ModuleType)))
    for name, value in vars(space).items()
    if callable(value)
}
OF_ANY = {"an", "a", "order", "Vars", "axes", "reduction"}  # operand, index, shape, ...
PARTS = {"embedded_diagonal", "dropout_mask", "max_pool", "avg_pool", "unfold"}
"""First words of messages that are no names of functions."""
SUBJECTS = (
    "axis|axes|index|indices|lengths|ranges|bins|weights|order|matrices|coefficients|mask|operands?|shapes?"
    "|positions|numbers nor bools|conditions?|heads|list|coordinates|array|power|classes|groups|constants"
    "|distances|choices"
)


@pytest.mark.filterwarnings("ignore")
@by_operation({case.op: case for case in TWO_OF_EACH if in_ops(case)}.values())
def test_errors_say_which_function_and_what_of_it(case):
    """Whatever is given for an argument: our own messages begin with a function, and name what is wrong."""
    function = attrgetter(case.op)(ops)
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        return
    wrong = []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for name in [name for name, parameter in parameters.items() if parameter.kind not in kinds]:
        for value in ODD:
            space = WithOption(ops, function, name, value)
            try:
                record(lambda *args, space=space: case.function(space, *args), case.args())
            except errors.TapeError as error:
                text = str(error).split(" [at ")[0]
            except Exception:
                continue
            else:
                continue
            words = re.match(r"[\w.]*", text)[0].removesuffix(".at")
            about = "|".join([*parameters, SUBJECTS])
            is_said = not text.startswith(f"{words}: ") or re.search(rf"\b({about})\b", text[len(words) :])
            of_several = words.rpartition("_")[0]  # pbdv_d is the first result of pbdv
            if (words not in FUNCTIONS | OF_ANY | PARTS and of_several not in FUNCTIONS) or not is_said:
                wrong.append((name, value, text))
    assert not wrong
