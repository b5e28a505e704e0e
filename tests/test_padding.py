"""Padding: NumPy's values in every mode, for widths of any size, and the transpose of that."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tape import errors, ops
from tests.oracles import assert_same, inner, jvp, record, vjp
from tests.tiers import rounds

quick = settings(max_examples=rounds(150))
STATISTICS = ("maximum", "mean", "median", "minimum")
MODES = ("constant", "edge", "linear_ramp", "reflect", "symmetric", "wrap", *STATISTICS)


def numbers(shape, dtype=np.float64):
    return np.random.default_rng(int(np.prod(shape))).uniform(-1, 1, shape).astype(dtype)


@quick
@given(
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=4),
    st.sampled_from(MODES),
    st.sampled_from([np.float64, np.float32, np.complex128]),
    st.data(),
)
def test_any_widths_in_any_mode(shape, mode, dtype, data):
    pairs = st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=len(shape), max_size=len(shape)
    )
    width = data.draw(st.integers(0, 9) | st.tuples(st.integers(0, 9)) | (pairs if shape else st.just(1)))
    options = {}
    if mode in ("reflect", "symmetric"):
        options = {"reflect_type": data.draw(st.sampled_from(["even", "odd"]))}
    elif mode in STATISTICS:
        dtype = np.float64
        options = {
            "stat_length": data.draw(st.none() | st.integers(1, 5) | st.tuples(*[st.integers(1, 5)] * 2))
        }
    x, t = numbers(shape, dtype), numbers(shape, dtype)[::-1] if shape else numbers(shape, dtype)

    def f(v):
        return np.pad(v, width, mode, **options)

    expected = f(x)
    assert_same(record(f, [x])[2].value, expected)
    seed = numbers(expected.shape, dtype)
    tangent, (gradient,) = jvp(f, [x], [t]), vjp(f, [x], seed)
    if mode not in STATISTICS:  # linear, up to a constant
        np.testing.assert_allclose(tangent, f(t) - (f(0 * t) if mode == "linear_ramp" else 0), atol=1e-5)
    np.testing.assert_allclose(inner([seed], [tangent]), inner([gradient], [t]), rtol=1e-3, atol=1e-3)


def test_widths_in_every_form():
    x = numbers((2, 3))
    for width in (
        2,
        (2,),
        (1, 2),
        ((1, 2),),
        ((1, 2), (0, 3)),
        [[1], [2]],
        np.array([1, 2]),
        {-1: 2, 0: (0, 1)},
        {1: (2, 1)},
        {0: 1},
        {},
    ):
        assert_same(record(lambda v, w=width: np.pad(v, w), [x])[2].value, np.pad(x, width))


def test_ints_are_rounded_as_numpy_rounds():
    n = np.array([[1, 2, 4], [7, 7, 9]])
    for mode in MODES:
        trace = tape.Trace()
        assert_same(np.pad(trace.input(n), 2, mode).value, np.pad(n, 2, mode))


def test_values_around_are_differentiated():
    x, v = numbers((2, 3)), np.array([[1.0, 2.0], [3.0, 4.0]])
    padded = record(lambda v: ops.pad(x, 1, constant_values=v), [v])[2].value
    assert_same(padded, np.pad(x, 1, constant_values=v))
    np.testing.assert_allclose(vjp(lambda v: ops.pad(x, 1, constant_values=v), [v])[0], [[3, 3], [4, 4]])
    np.testing.assert_allclose(
        vjp(lambda v: ops.pad(x, 1, constant_values=((v, 2.0), (0, v))), [np.array(1.5)])[0], 3 + 4
    )
    np.testing.assert_allclose(
        vjp(lambda v: ops.pad(x[0], 2, "linear_ramp", end_values=v), [v[0]])[0], [1.5, 1.5]
    )


def test_ties_of_extremes_share_the_derivative():
    gradient = vjp(lambda v: np.pad(v, (1, 0), "maximum"), [np.array([2.0, 2.0])], np.array([1.0, 0.0, 0.0]))[
        0
    ]
    np.testing.assert_array_equal(gradient, [0.5, 0.5])


def test_what_is_undefined_is_zero():
    x = numbers((2,))
    assert_same(record(lambda v: np.pad(v, 1, "empty"), [x])[2].value, np.pad(x, 1))


def fill(vector, width, axis, options):
    vector[:] = 0


@pytest.mark.parametrize(
    ("f", "error", "told"),
    [
        (lambda v: np.pad(v, 1, fill), errors.UnsupportedError, "concatenate"),
        (lambda v: np.pad(v, 1, "mirror"), errors.OptionError, "symmetric"),
        (lambda v: np.pad(v, 1, "edge", constant_values=1), errors.OptionError, "no option"),
        (lambda v: np.pad(v, 1, "mean", end_values=1), errors.OptionError, "stat_length"),
        (lambda v: np.pad(v, 1, "reflect", reflect_type="both"), errors.OptionError, "'both'"),
        (lambda v: np.pad(v, 1, "mean", stat_length=0), errors.OptionError, "at least 1"),
        (lambda v: np.pad(v, -1), errors.ShapeError, "slice"),
        (lambda v: np.pad(v, 1.5), errors.DTypeError, "ints"),
        (lambda v: np.pad(v, (1, 2, 3)), errors.ShapeError, "pad_width"),
        (lambda v: np.pad(v, {2: 1}), errors.ShapeError, "axis 2"),
        (lambda v: np.pad(v, 1, constant_values=(1, 2, 3)), errors.ShapeError, "constant_values"),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_nothing_behind(f, error, told):
    trace = tape.Trace()
    v = trace.param(np.ones((2, 3)))
    with pytest.raises(error, match=told):
        f(v)
    assert len(trace.nodes) == 1


def test_nothing_cannot_be_repeated():
    trace = tape.Trace()
    v = trace.param(np.ones((2, 0)))
    with pytest.raises(errors.ShapeError, match="constant"):
        np.pad(v, 1, "edge")
    assert np.pad(v, ((1, 1), (0, 0)), "edge").shape == (4, 0)
    assert_same(np.pad(v, 1).value, np.zeros((4, 2)))


def test_an_int_beyond_the_dtype_is_refused_as_numpy_does():
    x = np.array([1, 2], np.int8)
    with pytest.raises(OverflowError):
        np.pad(x, 1, constant_values=300)
    with pytest.raises((OverflowError, errors.TapeError)):
        tape.compile(lambda x: np.pad(x, 1, constant_values=300))(x)
