"""Pooling: PyTorch's values and gradients, ties, windows at the edge, and what is refused at the call."""

from itertools import product

import numpy as np
import pytest

import tape
from tape import errors, ops
from tests.oracles import assert_close, assert_same, inner, jvp, pytorch, record, uniform, vjp

nn = ops.nn
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


def numbers(*shape, dtype=np.float64):
    """No two alike, in random order."""
    count = int(np.prod(shape))
    return (np.random.default_rng(count).permutation(count).reshape(shape) / count - 0.5).astype(dtype)


# ---- against PyTorch -----------------------------------------------------------------------------


def check_against_torch(name, x, dtype, *args, **options):
    torch = pytorch()
    x = x.astype(dtype)
    tensor = torch.tensor(x, requires_grad=True)
    expected = getattr(torch.nn.functional, name)(tensor, *args, **options)
    seed = uniform(np.random.default_rng(0), expected.detach().numpy())
    expected.backward(torch.tensor(seed))

    trace, _, out = record(lambda x: getattr(nn, name)(x, *args, **options), [x])
    assert out.dtype == dtype
    assert_close(out.value, expected.detach().numpy(), TOLERANCE[dtype])
    (mine,) = trace.backward_param_grads(out, seed)
    assert mine.dtype == dtype
    assert_close(mine, tensor.grad.numpy(), TOLERANCE[dtype])


def grid(rank):
    """Sizes, windows, strides and paddings, other ones for each axis, and whether to round up."""
    choices = list(product((6, 7), (2, 3), (None, 1, 2, 3, 4), (0, 1), (False, True)))
    for size, window, stride, padding, ceil_mode in choices[:: (3, 3, 7)[rank - 1]]:  # by no common factor
        spatial = tuple(size + 2 * axis for axis in range(rank))
        windows = tuple((window + axis) % 2 + 2 for axis in range(rank))
        yield (
            spatial,
            {
                "kernel_size": windows,
                "stride": None
                if stride is None
                else tuple((stride + axis - 1) % 4 + 1 for axis in range(rank)),
                "padding": tuple((padding + axis) % 2 for axis in range(rank)),
                "ceil_mode": ceil_mode,
            },
        )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pooling_equals_pytorch(rank, dtype):
    for k, (spatial, options) in enumerate(grid(rank)):
        check_against_torch(
            f"max_pool{rank}d", numbers(2, 2, *spatial), dtype, dilation=k % 3 % 2 + 1, **options
        )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_average_pooling_equals_pytorch(rank, dtype):
    for k, (spatial, options) in enumerate(grid(rank)):
        counts = k % 3 != 0
        check_against_torch(
            f"avg_pool{rank}d", numbers(2, 2, *spatial), dtype, count_include_pad=counts, **options
        )


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize(
    ("shape", "output_size"),
    [
        ((2, 2, 7), 3), ((2, 2, 6), 3), ((2, 3), 5), ((2, 2, 6, 7), 1), ((2, 2, 6, 7), (None, 2)),
        ((2, 6, 4), (3, 2)), ((2, 2, 4, 5, 6), (2, 2, 3)), ((1, 1, 4, 4, 6), 2),
    ],
)  # fmt: skip
def test_adaptive_pooling_equals_pytorch(kind, shape, output_size):
    rank = 1 if len(shape) == 2 else len(shape) - 2 if isinstance(output_size, int) else len(output_size)
    check_against_torch(f"adaptive_{kind}_pool{rank}d", numbers(*shape), np.float64, output_size)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_global_pooling_equals_pytorch(dtype):
    for kind, rank in product(("avg", "max"), (1, 2, 3)):
        check_against_torch(f"adaptive_{kind}_pool{rank}d", numbers(2, 3, *range(4, 4 + rank)), dtype, 1)


def test_divisors_and_images_alone_equal_pytorch():
    check_against_torch("avg_pool2d", numbers(2, 4, 5), np.float64, 2, divisor_override=3)
    check_against_torch("avg_pool3d", numbers(2, 4, 5, 3), np.float32, 2, divisor_override=-1)
    check_against_torch("max_pool3d", numbers(2, 4, 5, 3), np.float64, 2)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_positions_and_unpooling_equal_pytorch(rank, dtype):
    torch = pytorch()
    for k, (spatial, options) in enumerate(grid(rank)):
        x = numbers(2, 2, *spatial, dtype=dtype)
        pool, unpool = f"max_pool{rank}d", f"max_unpool{rank}d"
        dilation = k % 3 % 2 + 1
        out, places = getattr(nn, pool)(x, dilation=dilation, return_indices=True, **options)
        _, theirs = getattr(torch.nn.functional, pool)(
            torch.tensor(x), dilation=dilation, return_indices=True, **options
        )
        np.testing.assert_array_equal(places, theirs.numpy())
        ceil_mode = options.pop("ceil_mode")
        if dilation == 1 and options["stride"] is None and not any(options["padding"]):
            for size in (None, spatial):
                if size is not None or not ceil_mode:
                    options["output_size"] = size
                    mine = getattr(nn, unpool)(out, places, **options)
                    expected = getattr(torch.nn.functional, unpool)(torch.tensor(out), theirs, **options)
                    assert_same(mine, expected.numpy())


# ---- properties ----------------------------------------------------------------------------------


def test_equally_large_elements_share_the_derivative():
    x = np.array([[[2.0, 2.0, 1.0, 2.0]]])
    t = np.array([[[1.0, 3.0, 5.0, 8.0]]])

    def f(x):
        return nn.max_pool1d(x, 3, 1)

    assert_same(vjp(f, [x], np.array([[[1.0, 10.0]]]))[0], np.array([[[0.5, 5.5, 0.0, 5.0]]]))
    assert_same(jvp(f, [x], [t]), np.array([[[2.0, 5.5]]]))


@pytest.mark.parametrize("pool", [nn.max_pool2d, nn.avg_pool2d], ids=["max", "avg"])
def test_reverse_mode_is_the_transpose_where_elements_are_equal(pool):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (2, 2, 7, 6)).astype(float)

    def f(x):
        return pool(x, (3, 2), (2, 1), (1, 0), ceil_mode=True)

    t, g = rng.normal(size=x.shape), rng.normal(size=f(x).shape)
    np.testing.assert_allclose(inner([jvp(f, [x], [t])], [g]), inner([t], vjp(f, [x], g)))


def test_padding_is_never_the_largest():
    x = np.full((1, 1, 3), -5.0)
    assert_same(nn.max_pool1d(x, 2, 1, 1), np.full((1, 1, 4), -5.0))
    assert_same(vjp(lambda x: nn.max_pool1d(x, 2, 1, 1), [x])[0], np.array([[[1.5, 1.0, 1.5]]]))
    lowest = np.full((1, 1, 3), -np.inf)
    assert_same(nn.max_pool1d(lowest, 2, 1, 1), np.full((1, 1, 4), -np.inf))
    assert_same(vjp(lambda x: nn.max_pool1d(x, 2, 1, 1), [lowest])[0], np.array([[[1.5, 1.0, 1.5]]]))


def test_nan_spreads_over_its_windows_only():
    x = np.array([[[1.0, np.nan, 3.0, 4.0]]])
    assert_same(nn.max_pool1d(x, 2, 1), np.array([[[np.nan, np.nan, 4.0]]]))


def test_pairs_of_padding_pad_each_end():
    x = numbers(1, 1, 5)
    below = np.pad(x, [(0, 0), (0, 0), (1, 0)], constant_values=-np.inf)
    assert_same(nn.max_pool1d(x, 2, padding=((1, 0),)), nn.max_pool1d(below, 2))
    assert_same(nn.avg_pool1d(x, 2, padding=((1, 0),)), nn.avg_pool1d(np.pad(x, [(0, 0), (0, 0), (1, 0)]), 2))


def test_the_last_one_of_equal_positions_is_kept():
    x, places = np.array([[1.0, 2.0, 3.0]]), np.array([[4, 0, 4]])
    assert_same(nn.max_unpool1d(x, places, 2), np.array([[2.0, 0.0, 0.0, 0.0, 3.0, 0.0]]))
    assert_same(vjp(lambda x: nn.max_unpool1d(x, places, 2), [x])[0], np.array([[0.0, 1.0, 1.0]]))


def test_compiled_unpooling_checks_the_positions_of_each_call():
    unpool = tape.compile(lambda x, places: nn.max_unpool1d(x, places, 2))
    x = np.array([[1.0, 2.0]])
    for places in ([[0, 3]], [[2, 1]], [[2, 2]]):
        assert_same(unpool(x, np.array(places)), nn.max_unpool1d(x, np.array(places), 2))
    for places in ([[0, 4]], [[-1, 0]]):
        with pytest.raises(errors.OptionError, match="do not lie within the 4 elements"):
            unpool(x, np.array(places))


# ---- dtypes --------------------------------------------------------------------------------------


def test_dtypes():
    for dtype in (np.float16, np.float32, np.float64):
        x = numbers(1, 1, 5, dtype=dtype)
        pools = (
            lambda x: nn.max_pool1d(x, 2),
            lambda x: nn.avg_pool1d(x, 2),
            lambda x: nn.avg_pool1d(x, 3, padding=1, count_include_pad=False),
            lambda x: nn.adaptive_avg_pool1d(x, 2),
            lambda x: nn.adaptive_max_pool1d(x, 2),
        )
        for pool in pools:
            trace, _, out = record(pool, [x])
            assert out.dtype == trace.backward_param_grads(out)[0].dtype == dtype
    small = np.array([[[200, 100, 7]]], np.uint8)
    assert_same(nn.max_pool1d(small, 2), np.array([[[200]]], np.uint8))
    assert_same(nn.avg_pool1d(small, 2), np.array([[[150.0]]]))
    assert_same(nn.avg_pool1d(small + 2j, 2), np.array([[[150.0 + 2j]]]))


# ---- errors --------------------------------------------------------------------------------------

WRONG = {
    "x has shape [5, 5]": ("max_pool2d", (5, 5), {"kernel_size": 2}),
    "(N, C, height, width)": ("adaptive_max_pool2d", (5, 5), {"output_size": 2}),
    "larger than its padded input [5, 4]": ("max_pool2d", (1, 5, 4), {"kernel_size": 5}),
    "kernel_size=0": ("avg_pool1d", (1, 5), {"kernel_size": 0}),
    "kernel_size=(2,)": ("avg_pool2d", (1, 5, 5), {"kernel_size": (2,)}),
    "stride=0": ("avg_pool1d", (1, 5), {"kernel_size": 2, "stride": 0}),
    "padding=-1": ("max_pool1d", (1, 5), {"kernel_size": 2, "padding": -1}),
    "more than half": ("max_pool1d", (1, 5), {"kernel_size": 3, "padding": 2}),
    "in the padding": ("max_pool1d", (1, 2), {"kernel_size": 2, "padding": 1, "dilation": 3}),
    "dilation=True": ("max_pool1d", (1, 5), {"kernel_size": 2, "dilation": True}),
    "nothing in [0]": ("avg_pool1d", (1, 0), {"kernel_size": 2, "padding": 1}),
    "divisor_override=0": ("avg_pool2d", (1, 5, 5), {"kernel_size": 2, "divisor_override": 0}),
    "output_size=0": ("adaptive_avg_pool1d", (1, 5), {"output_size": 0}),
    "output_size=(1, 2, 3)": ("adaptive_avg_pool2d", (1, 5, 5), {"output_size": (1, 2, 3)}),
    "nothing in [0] elements to pool": ("adaptive_avg_pool1d", (1, 0), {"output_size": 1}),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_does_not_fit_is_refused_and_leaves_nothing_behind(words):
    name, shape, options = WRONG[words]
    trace = tape.Trace()
    x = trace.param(np.ones(shape))
    with pytest.raises((errors.ShapeError, errors.OptionError)) as caught:
        getattr(nn, name)(x, **options)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{name}: ")
    assert __file__ in str(caught.value)
    assert len(trace) == 1


@pytest.mark.parametrize("pool", [nn.max_pool1d, nn.adaptive_max_pool1d], ids=["max", "adaptive max"])
def test_complex_numbers_have_no_largest(pool):
    with pytest.raises(errors.DTypeError, match="Pool their absolute values"):
        pool(numbers(1, 1, 5) + 1j, 2)


def test_positions_that_do_not_fit_are_refused():
    x = np.ones((1, 2, 2))
    with pytest.raises(errors.ShapeError, match=r"indices has \[1, 4\]"):
        nn.max_unpool2d(x, np.zeros((1, 4), int), 2)
    with pytest.raises(errors.DTypeError, match="They must be ints, as `max_pool2d` returns"):
        nn.max_unpool2d(x, np.zeros((1, 2, 2)), 2)
    with pytest.raises(errors.OptionError, match="indices from 0 to 16 do not lie within the 16 elements"):
        nn.max_unpool2d(x, np.array([[[0, 1], [2, 16]]]), 2)
    for size in ((4, 6), (4,), (2, 4)):
        with pytest.raises(errors.OptionError, match="output_size="):
            nn.max_unpool2d(x, np.zeros((1, 2, 2), int), 2, output_size=size)
