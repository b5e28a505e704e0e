"""Axes of a number: those that NumPy takes, and PyTorch for softmax and its kin, are taken here."""

import numpy as np
import pytest

import tape
from tape import errors, nn, ops
from tests.oracles import assert_close, assert_same
from tests.tiers import grid

UFUNCS = (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.logical_and, np.logical_or)
FUNCTIONS = {
    **{
        name: lambda x, axis, name=name: getattr(np, name)(x, axis=axis)
        for name in (
            "argmax", "argmin", "cumsum", "cumprod", "nancumsum", "nancumprod", "argsort", "sort",
            "sum", "prod", "max", "min", "ptp", "all", "any", "count_nonzero", "mean", "std", "var",
            "average", "median", "nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd",
            "nanmedian", "flip", "squeeze", "cumulative_sum", "cumulative_prod",
        )
    },
    **{
        f"{ufunc.__name__}.{method}": lambda x, axis, u=ufunc, method=method: getattr(u, method)(x, axis)
        for ufunc in UFUNCS
        for method in ("reduce", "accumulate")
    },
    **{
        f".{name}": lambda x, axis, name=name: getattr(x, name)(axis=axis)
        for name in ("sum", "prod", "max", "all", "any", "argmax", "argmin", "cumsum", "cumprod", "mean")
    },
    "quantile": lambda x, axis: np.quantile(x, 0.5, axis=axis),
    "repeat": lambda x, axis: np.repeat(x, 3, axis=axis),
    "take": lambda x, axis: np.take(x, 0, axis=axis),
    "partition": lambda x, axis: np.partition(x, 0, axis=axis),
    "argpartition": lambda x, axis: np.argpartition(x, 0, axis=axis),
    "diff": lambda x, axis: np.diff(x, axis=axis),
    "roll": lambda x, axis: np.roll(x, 1, axis=axis),
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
}  # fmt: skip


@grid(number=[np.float64(2.0), np.array(-0.5)], axis=[None, 0, -1, 1, -2], name=FUNCTIONS)
def test_an_axis_of_a_number_is_what_numpy_takes_it_for(number, axis, name):
    f = FUNCTIONS[name]
    with tape.Trace() as trace:
        x = trace.param(number)
        try:
            expected = f(number, axis)
        except Exception:
            with pytest.raises(errors.TapeError):
                f(x, axis)
            return
        assert_same(np.asarray(f(x, axis).value), np.asarray(expected))
        assert_same(np.asarray(tape.compile(lambda x: f(x, axis))(number)), np.asarray(expected))


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: np.sum(x, axis=0), 1.0),
        (lambda x: np.max(x, axis=-1, keepdims=True), 1.0),
        (lambda x: np.nanprod(x, axis=0), 1.0),
        (lambda x: np.nanstd(x, axis=-1), 0.0),
        (lambda x: np.cumprod(x, axis=0), np.ones(1)),
        (lambda x: np.repeat(x, 3, axis=-1), np.ones(3)),
        (lambda x: np.argmax(x, axis=0) * x, 0.0),
        (lambda x: ops.logsumexp(x, axis=0), 1.0),
        (lambda x: nn.softmax(x, axis=-1), 0.0),
        (lambda x: nn.log_softmax(x, axis=0), 0.0),
        (lambda x: nn.normalize(x, axis=0), 0.0),
        (lambda x: nn.cosine_similarity(x, 3.0 * x, axis=-1), 0.0),
    ],
)
def test_derivatives_along_an_axis_of_a_number(f, slope):
    for derive in (tape.jacobian(f), tape.compile(tape.jacobian(f)), lambda x: tape.jvp(f, (x,), (1.0,))[1]):
        assert_close(derive(2.0), slope, 1e-15)
    batched = tape.jacobian(lambda x: f(x[0]), mode="fwd")(np.array([2.0, 5.0]))
    assert_close(batched[..., 0], slope, 1e-15)
    assert_close(batched[..., 1], 0.0 * np.asarray(slope), 1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, axis: nn.softmax(x, axis=axis),
        lambda x, axis: nn.log_softmax(x, axis=axis),
        lambda x, axis: ops.logsumexp(x, axis=axis),
        lambda x, axis: nn.normalize(x, axis=axis),
        lambda x, axis: nn.cosine_similarity(x, x, axis=axis),
    ],
)
def test_softmax_and_its_kin_take_the_axes_that_pytorch_takes(f):
    for axis in (0, -1):
        assert np.isfinite(f(np.float64(3.0), axis))
    for axis in (1, -2, (0,)):
        with pytest.raises(errors.ShapeError, match="axis"):
            f(np.float64(3.0), axis)
