"""What rules read: values that no rule needs are not needed for a gradient, and a Program lets go of them."""

from itertools import product

import numpy as np
import pytest

import tape
from tape import ops
from tests.naive_program import compiled_for
from tests.oracles import assert_same


class Unreadable:
    """Has the shape and dtype of an array, and nothing else: reading its elements is an error."""

    def __init__(self, array):
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size


X = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
READ = {
    # name: the operation, and whether its reverse rule reads its operand, and its result
    "add": (lambda x: ops.add(x, X), False, False),
    "subtract": (lambda x: ops.subtract(x, X), False, False),
    "negative": (ops.negative, False, False),
    "exp": (ops.exp, False, True),
    "tanh": (ops.tanh, False, True),
    "sigmoid": (ops.sigmoid, False, True),
    "relu": (ops.relu, False, True),
    "sin": (ops.sin, True, False),
    "square": (ops.square, True, False),
    "getitem": (lambda x: ops.getitem(x, (slice(None), 1)), False, False),
    "getitem by array": (lambda x: ops.getitem(x, [1, 0, 1]), False, False),
    "sum": (ops.sum, False, False),
    "sum over an axis": (lambda x: ops.sum(x, axis=0), False, False),
    "mean": (ops.mean, False, False),
    "reshape": (lambda x: ops.reshape(x, (3, 2)), False, False),
    "transpose": (ops.transpose, False, False),
    "broadcast_to": (lambda x: ops.broadcast_to(x, (4, 2, 3)), False, False),
    "concatenate": (lambda x: ops.concatenate([x, X]), False, False),
    "matmul": (lambda x: ops.matmul(x, X.T), False, False),
    "cumsum": (lambda x: ops.cumsum(x, axis=1), False, False),
}


def pulled(f, *, hide_operand=False, hide_result=False):
    """What the reverse rule makes for X, if it may not read the operand, or the result."""
    with tape.Trace() as trace:
        out = f(trace.param(X))
        node = out.node
        seed = np.cos(np.arange(out.size)).reshape(out.shape)
        if hide_operand:
            node.inputs = tuple(Unreadable(v) if v is X and k < 2 else v for k, v in enumerate(node.inputs))
        if hide_result:
            node.value = Unreadable(node.value)
        ((_, contribution),) = node.call.pull(node, seed)
        return contribution.dense() if hasattr(contribution, "dense") else contribution


@pytest.mark.parametrize("name", READ)
def test_rules_read_what_they_need_and_nothing_else(name):
    f, reads_operand, reads_result = READ[name]
    expected = pulled(f)
    if not reads_operand:
        assert_same(pulled(f, hide_operand=True), expected)
    if not reads_result:
        assert_same(pulled(f, hide_result=True), expected)


@pytest.mark.parametrize("name", [name for name in READ if True in READ[name][1:]])
def test_what_they_need_they_do_read(name):
    """The test above can fail."""
    f, reads_operand, reads_result = READ[name]
    with pytest.raises(Exception):  # noqa: B017, PT011
        pulled(f, hide_operand=reads_operand, hide_result=reads_result)


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        (lambda x: np.tanh(x + 1.0), 1),  # the result of tanh, and not the sum
        (lambda x: np.exp(-x), 1),
        (lambda x: (x + 1.0) - 0.5, 0),
        (lambda x: ops.relu(x * 0.9), 1),
    ],
    ids=["tanh", "exp", "sums", "relu"],
)
def test_a_program_keeps_what_rules_read_until_they_have_and_nothing_else(step, kept):
    steps, x = 20, np.linspace(0.1, 0.2, 4096)

    def f(x):
        for _ in range(steps):
            x = step(x)
        return np.sum(x)

    _, program = compiled_for(tape.grad(f), x)
    assert program.explain().arena_bytes <= (kept * steps + 3) * x.nbytes


@pytest.mark.parametrize("dtypes", list(product([np.float64, np.float32], repeat=2)))
@pytest.mark.parametrize("f", [np.add, np.multiply, np.divide, np.arctan2, np.maximum, np.power, np.hypot])
def test_gradients_by_numbers_have_the_dtypes_of_the_numbers(f, dtypes):
    """Of each of two operands, whatever the other one is."""
    trace = tape.Trace()
    x, y = (trace.param(dtype(number)) for dtype, number in zip(dtypes, (1.5, 0.5), strict=True))
    gradients = trace.backward_param_grads(f(x, y))
    assert [gradient.dtype for gradient in gradients] == list(dtypes)
