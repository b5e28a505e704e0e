"""Convolutions: PyTorch's values and gradients, transposes, dtypes, and what is refused at the call."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tests.op_table import convolution, pooling
from tests.oracles import assert_close, assert_same, inner, pytorch, record, uniform, vjp
from tests.tiers import rounds

nn = ops.nn
quick = settings(max_examples=rounds(100))
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


def numbers(*shape, dtype=np.float64):
    return np.random.default_rng(shape).uniform(-1, 1, shape).astype(dtype)


# ---- against PyTorch -----------------------------------------------------------------------------


def grid(rank):
    """Strides, paddings, dilations and groups, other ones for each axis, and sizes odd and even."""
    choices = list(product((1, 2, 3), (0, 1, 2), (1, 2), (1, 2), (7, 8)))
    for stride, padding, dilation, groups, size in choices[:: (5, 5, 11)[rank - 1]]:  # by no common factor
        yield {
            "spatial": tuple(size + 2 * axis for axis in range(rank)),
            "kernel": (3, 2, 1)[:rank],
            "groups": groups,
            "stride": tuple((stride + axis - 1) % 3 + 1 for axis in range(rank)),
            "padding": tuple((padding + axis) % 3 for axis in range(rank)),
            "dilation": tuple((dilation + axis) % 2 + 1 for axis in range(rank)),
        }


def check_against_torch(name, operands, dtype, **options):
    torch = pytorch()
    operands = [x.astype(dtype) for x in operands]
    tensors = [torch.tensor(x, requires_grad=True) for x in operands]
    expected = getattr(torch.nn.functional, name)(*tensors, **options)
    seed = uniform(np.random.default_rng(0), expected.detach().numpy())
    expected.backward(torch.tensor(seed))

    trace, _, out = record(lambda *args: getattr(nn, name)(*args, **options), operands)
    assert out.dtype == dtype
    assert_close(out.value, expected.detach().numpy(), TOLERANCE[dtype])
    for mine, tensor in zip(trace.backward_param_grads(out, seed), tensors, strict=True):
        assert mine.dtype == dtype
        assert_close(mine, tensor.grad.numpy(), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution_equals_pytorch(rank, dtype):
    for options in grid(rank):
        spatial, kernel, groups = options.pop("spatial"), options.pop("kernel"), options["groups"]
        operands = numbers(2, 4, *spatial), numbers(6, 4 // groups, *kernel), numbers(6)
        check_against_torch(f"conv{rank}d", operands, dtype, **options)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_convolution_equals_pytorch(rank, dtype):
    for k, options in enumerate(grid(rank)):
        spatial, kernel, groups = options.pop("spatial"), options.pop("kernel"), options["groups"]
        most = [max(pair) for pair in zip(options["stride"], options["dilation"], strict=True)]
        options["output_padding"] = tuple(k % n for n in most)
        operands = numbers(2, 4, *(n - 3 for n in spatial)), numbers(4, 6 // groups, *kernel), numbers(6)
        check_against_torch(f"conv_transpose{rank}d", operands, dtype, **options)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 4, 6, 5)])
def test_padding_in_words_and_images_alone_equal_pytorch(padding, shape):
    operands = numbers(*shape), numbers(2, 4, 2, 3)
    check_against_torch("conv2d", operands, np.float64, padding=padding, dilation=(1, 2))


@pytest.mark.parametrize(("dilation", "padding", "stride"), [(1, 0, 1), (2, 1, 2), ((1, 2), (2, 0), (3, 1))])
def test_windows_as_columns_equal_pytorch(dilation, padding, stride):
    options = {"kernel_size": (2, 3), "dilation": dilation, "padding": padding, "stride": stride}
    x = numbers(2, 3, 7, 8)
    check_against_torch("unfold", [x], np.float64, **options)
    columns = numbers(*nn.unfold(x, **options).shape)
    check_against_torch("fold", [columns], np.float32, output_size=(7, 8), **options)


# ---- properties ----------------------------------------------------------------------------------


@st.composite
def geometries(draw):
    """The shape of x, that of w, and options: of any convolution in which something is left of x."""
    rank, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))

    def per_axis(low, high):
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    kernel, dilation, pads = per_axis(1, 3), per_axis(1, 3), [per_axis(0, 2), per_axis(0, 2)]
    padding = tuple(zip(*pads, strict=True))
    least = [max(1, d * (k - 1) + 1 - sum(p)) for k, d, p in zip(kernel, dilation, padding, strict=True)]
    spatial = [n + more for n, more in zip(least, per_axis(0, 3), strict=True)]
    per_group = draw(st.integers(1, 2))
    x = (draw(st.integers(0, 2)), per_group * groups, *spatial)
    w = (draw(st.integers(1, 2)) * groups, per_group, *kernel)
    return x, w, {
        "stride": per_axis(1, 3), "padding": padding, "dilation": dilation, "groups": groups
    }  # fmt: skip


@quick
@given(geometries())
def test_pairs_of_padding_are_zeros_put_there(geometry):
    x, w, options = geometry
    x, w = numbers(*x), numbers(*w)
    conv = getattr(nn, f"conv{x.ndim - 2}d")
    padded = np.pad(x, [(0, 0), (0, 0), *options["padding"]])
    assert_close(conv(x, w, **options), conv(padded, w, **{**options, "padding": 0}), 1e-14)


@quick
@given(geometries())
def test_transposed_convolution_is_the_transpose(geometry):
    x, w, options = geometry
    x, w = (*x[:2], *(n + 4 for n in x[2:])), numbers(*w)  # no stride leaves all of that unseen
    conv, transpose = getattr(nn, f"conv{w.ndim - 2}d"), getattr(nn, f"conv_transpose{w.ndim - 2}d")
    y = numbers(*conv(np.zeros(x), w, **options).shape)
    back = transpose(y, w, **options)
    x = numbers(*back.shape)
    np.testing.assert_allclose(inner([conv(x, w, **options)], [y]), inner([x], [back]), atol=1e-12)


def test_unseen_elements_have_no_derivative():
    x, w = numbers(1, 1, 7), numbers(1, 1, 2)
    (gradient, _) = vjp(lambda x, w: nn.conv1d(x, w, stride=3), [x, w])
    assert np.all((gradient[0, 0] == 0) == [False, False, True, False, False, True, True])


def test_taylor_coefficients_are_those_of_the_polynomial():
    w, direction = numbers(2, 1, 2), numbers(1, 1, 4)

    def f(s):
        return nn.conv1d(s * direction, s * w).sum()

    values = tape.taylor(f, 1.5, 1.0, order=3)
    total = float(nn.conv1d(direction, w).sum())
    assert_close(np.stack(values), total * np.array([2.25, 3.0, 2.0, 0.0]), 1e-13)


# ---- programs ------------------------------------------------------------------------------------

NATIVE = [case for case in (*convolution.CASES, *pooling.CASES) if "complex" not in case.name]


@pytest.mark.parametrize("case", NATIVE, ids=repr)
def test_programs_have_instructions_for_it(case):
    args = case.args()

    def f(*args):
        value = case.on(ops)(*args)
        return [value, *vjp(case.on(ops), args, np.cos(np.arange(value.size)).reshape(value.shape))]

    compiled = tape.compile(f)
    for _ in range(2):
        for found, expected in zip(compiled(*args), f(*args), strict=True):
            assert_close(found, expected, 1e-14)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks


# ---- dtypes --------------------------------------------------------------------------------------


def test_dtypes_promote_as_in_numpy():
    x, w = numbers(1, 2, 5), numbers(2, 2, 2)
    for narrow, wide in product((np.float16, np.float32, np.float64, np.int8, np.int64), repeat=2):
        assert nn.conv1d(x.astype(narrow), w.astype(wide)).dtype == np.result_type(narrow, wide)


def test_float16_sums_are_formed_in_single_precision():
    x, w = np.ones((1, 5000, 1), np.float16), np.full((1, 5000, 1), 1.0, np.float16)
    assert_same(nn.conv1d(x, w), np.array([[[5000]]], np.float16))  # one by one it would stop at 2048


def test_complex_kernels_are_not_conjugated():
    x, w = numbers(1, 1, 3) + 1j, numbers(1, 1, 2) - 2j
    expected = [[[np.sum(x[0, 0, k : k + 2] * w[0, 0]) for k in range(2)]]]
    assert_close(nn.conv1d(x, w), np.array(expected), 1e-15)


# ---- errors --------------------------------------------------------------------------------------

WRONG = {
    "x has shape [5, 5]": ("conv2d", (5, 5), (1, 1, 3, 3), {}),
    "(N, C, length)": ("conv1d", (5,), (1, 1, 3), {}),
    "w has shape [1, 1, 3]": ("conv2d", (1, 1, 5, 5), (1, 1, 3), {}),
    "w has shape [1, 1, 0, 3]": ("conv2d", (1, 1, 5, 5), (1, 1, 0, 3), {}),
    "x has 3 channels": ("conv2d", (1, 3, 5, 5), (4, 2, 3, 3), {}),
    "takes 4": ("conv1d", (3, 5), (4, 2, 3), {"groups": 2}),
    "does not split into groups=2": ("conv1d", (4, 5), (3, 2, 3), {"groups": 2}),
    "bias has shape [3]": ("conv1d", (1, 1, 5), (2, 1, 3), {"bias": np.ones(3)}),
    "larger than its padded input [5, 4]": ("conv2d", (1, 1, 5, 4), (1, 1, 5, 5), {}),
    "which dilation spreads over [7]": ("conv1d", (1, 1, 6), (1, 1, 4), {"dilation": 2}),
    "padding=-1": ("conv1d", (1, 1, 6), (1, 1, 4), {"padding": -1}),
    "padding=(1, 2, 3)": ("conv2d", (1, 1, 6, 6), (1, 1, 4, 4), {"padding": (1, 2, 3)}),
    "padding='full'": ("conv1d", (1, 1, 6), (1, 1, 4), {"padding": "full"}),
    "needs stride 1": ("conv1d", (1, 1, 6), (1, 1, 4), {"padding": "same", "stride": 2}),
    "stride=0": ("conv1d", (1, 1, 6), (1, 1, 4), {"stride": 0}),
    "stride=1.5": ("conv1d", (1, 1, 6), (1, 1, 4), {"stride": 1.5}),
    "dilation=(1,)": ("conv2d", (1, 1, 6, 6), (1, 1, 4, 4), {"dilation": (1,)}),
    "groups=0": ("conv1d", (1, 1, 6), (1, 1, 4), {"groups": 0}),
    "nothing in [0]": ("conv1d", (1, 1, 0), (1, 1, 1), {"padding": 1}),
    "x has 2 channels": ("conv_transpose1d", (1, 2, 5), (3, 2, 3), {}),
    "the result would have [0]": ("conv_transpose1d", (1, 1, 1), (1, 1, 2), {"padding": 1}),
    "output_padding=[2]": ("conv_transpose1d", (1, 1, 4), (1, 1, 2), {"output_padding": 2, "stride": 2}),
    "padding='same'": ("conv_transpose1d", (1, 1, 4), (1, 1, 2), {"padding": "same"}),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_does_not_fit_is_refused_and_leaves_nothing_behind(words):
    name, x, w, options = WRONG[words]
    trace = tape.Trace()
    x, w = trace.param(np.ones(x)), trace.param(np.ones(w))
    with pytest.raises((errors.ShapeError, errors.OptionError)) as caught:
        getattr(nn, name)(x, w, **options)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{name}: ")
    assert __file__ in str(caught.value)
    assert len(trace) == 2


def test_windows_that_do_not_fit_are_refused():
    for call in (
        lambda: nn.unfold(numbers(1, 3, 3), 4),
        lambda: nn.unfold(numbers(3, 3), 2),
        lambda: nn.fold(numbers(1, 4, 5), 3, 2),
        lambda: nn.fold(numbers(1, 3, 4), 3, 2),
        lambda: nn.fold(numbers(4), 3, 2),
        lambda: nn.fold(numbers(1, 4, 4), 3, 4),
    ):
        with pytest.raises(errors.ShapeError, match=r"^(un)?fold: "):
            call()
