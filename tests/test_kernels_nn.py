"""Kernels of convolution and pooling: plain arrays and programs, against loops over every element."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors
from tape.kernels import convolution, pooling
from tape.kernels.columns import convolution_parameters
from tape.kernels.registry import REGISTRY, needs_of
from tape.kernels.windowed import pooling_parameters
from tape.kernels.windows import output_lengths
from tape.program.calls.calling import Leaf
from tape.program.ir.builder import Builder
from tape.program.ir.check import check
from tape.program.native.opcodes import THREADS
from tape.program.runtime.run import Runner
from tests.tiers import rounds, takes_long

TOLERANCES = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5}


# ---- oracles ---------------------------------------------------------------------------------------


def meetings(spatial, kernel, windows, stride, padding, dilation):
    """Every window, position in the kernel and element of x that come together."""
    for window, tap in product(np.ndindex(*windows), np.ndindex(*kernel)):
        element = tuple(
            i * step - low + k * gap
            for i, k, step, (low, _), gap in zip(window, tap, stride, padding, dilation, strict=True)
        )
        if all(0 <= at < length for at, length in zip(element, spatial, strict=True)):
            yield window, tap, element


def convolved(x, w, y, geometry, groups, into):
    """The sum of x times w into y, of y times w into x, or of x times y into w."""
    out = np.zeros_like({"x": x, "w": w, "y": y}[into], dtype=float)
    channels, kernels = w.shape[1], len(w) // groups
    for n, o, c in np.ndindex(len(x), len(w), channels):
        channel = o // kernels * channels + c
        for window, tap, element in meetings(x.shape[2:], w.shape[2:], y.shape[2:], *geometry):
            at = {"x": (n, channel, *element), "w": (o, c, *tap), "y": (n, o, *window)}
            if into == "y":
                out[at["y"]] += float(x[at["x"]]) * w[at["w"]]
            elif into == "x":
                out[at["x"]] += float(y[at["y"]]) * w[at["w"]]
            else:
                out[at["w"]] += float(x[at["x"]]) * y[at["y"]]
    return out


def seen(x, window, windows, geometry):
    """The elements of each window of each plane, as a list."""
    found = {}
    for plane in np.ndindex(x.shape[:2]):
        for at, _, element in meetings(x.shape[2:], window, windows, *geometry):
            found.setdefault((*plane, *at), []).append((*plane, *element))
    return found


# ---- programs of one kernel ---------------------------------------------------------------------------


def runner(name, parameters, shape, *operands, threads=1):
    b = Builder()
    values = [b.input(x.shape, x.dtype) for x in operands]
    result = b.kernel(name, values, parameters, shape, operands[0].dtype)
    b.ir.outputs = [result.id]
    check(b.ir)
    leaves = [Leaf(np.ndarray, x.shape, x.dtype) for x in operands]
    made = Runner(b.ir, leaves, [None], frozenset(), name)
    made.threads = threads
    return made


def run(name, parameters, shape, *operands, threads=1):
    made = runner(name, parameters, shape, *operands, threads=threads)
    if threads > 1:  # however small the work
        at = made.code[: made.rows * 20].reshape(-1, 20)
        at[:, 6] = at[:, 5]
    (out,) = made.run(operands)
    return out


# ---- any geometry ----------------------------------------------------------------------------------


@st.composite
def geometries(draw):
    """Spatial lengths, window, stride, padding and dilation along one to three axes, with a window."""
    axes = draw(st.integers(1, 3))
    most = {1: 12, 2: 7, 3: 4}[axes]
    small = st.integers(1, 3)
    spatial, kernel, stride, padding, dilation = [], [], [], [], []
    for _ in range(axes):
        size, gap = draw(small), draw(st.integers(1, 2))
        low, high = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        least = max(1, (size - 1) * gap + 1 - low - high)
        spatial.append(draw(st.integers(least, max(least, most))))
        kernel.append(size)
        stride.append(draw(small))
        padding.append((low, high))
        dilation.append(gap)
    return tuple(spatial), tuple(kernel), (tuple(stride), tuple(padding), tuple(dilation))


DTYPES = st.sampled_from([np.float64, np.float32])


@settings(max_examples=rounds(40))
@given(geometries(), DTYPES, st.tuples(*[st.integers(1, 3)] * 4), st.integers(0, 99))
def test_convolutions(shapes, dtype, counts, seed):
    spatial, kernel, geometry = shapes
    images, groups, channels, kernels = counts
    rng = np.random.default_rng(seed)
    windows = output_lengths(spatial, kernel, *geometry)
    x = rng.normal(size=(images, groups * channels, *spatial)).astype(dtype)
    w = rng.normal(size=(groups * kernels, channels, *kernel)).astype(dtype)
    y = rng.normal(size=(images, groups * kernels, *windows)).astype(dtype)
    parameters = convolution_parameters(x.shape, w.shape, windows, *geometry, groups)
    plain = {
        "y": ("conv", (x, w), convolution.conv(x, w, *geometry, groups)),
        "x": ("conv_input", (y, w), convolution.conv_input(y, w, spatial, *geometry, groups)),
        "w": ("conv_weight", (x, y), convolution.conv_weight(x, y, kernel, *geometry, groups)),
    }
    tolerance = {"rtol": TOLERANCES[x.dtype], "atol": 10 * TOLERANCES[x.dtype]}
    for into, (name, operands, found) in plain.items():
        expected = convolved(x, w, y, geometry, groups, into)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, **tolerance)
        compiled = run(name, parameters, expected.shape, *operands)
        np.testing.assert_allclose(compiled, expected, **tolerance)
        shared = run(name, parameters, expected.shape, *operands, threads=2)
        np.testing.assert_array_equal(shared, compiled)


SAME = {
    "row": ((9,), (3,), ((1,), ((1, 1),), (1,))),
    "even": ((5, 6), (2, 2), ((1, 1), ((1, 0), (0, 1)), (1, 1))),
    "square": ((8, 8), (3, 3), ((1, 1), ((1, 1), (1, 1)), (1, 1))),
    "apart": ((4, 11), (3, 3), ((1, 1), ((2, 2), (2, 2)), (2, 2))),
    "narrow": ((5, 1), (3, 3), ((1, 1), ((0, 0), (1, 1)), (1, 1))),
    "far": ((2, 3), (5, 5), ((1, 1), ((2, 2), (2, 2)), (1, 1))),
    "rows apart": ((9, 7), (3, 3), ((2, 1), ((1, 1), (1, 1)), (1, 1))),
    "cube": ((3, 4, 5), (3, 3, 3), ((1, 1, 1), ((1, 1), (1, 1), (1, 1)), (1, 1, 1))),
}
"""As many windows in a row as elements: what they see lies side by side from row to row, or nearly so."""


@takes_long
@pytest.mark.parametrize("case", SAME)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("counts", [(2, 1, 11, 3), (1, 2, 3, 2)])
def test_convolutions_with_windows_that_lie_side_by_side(case, dtype, counts):
    """And of so many channels that the derivative by weights turns the windows' adjoints, or of few."""
    spatial, kernel, geometry = SAME[case]
    images, groups, channels, kernels = counts
    rng = np.random.default_rng(0)
    windows = output_lengths(spatial, kernel, *geometry)
    assert windows[-1] == spatial[-1]
    x = rng.normal(size=(images, groups * channels, *spatial)).astype(dtype)
    w = rng.normal(size=(groups * kernels, channels, *kernel)).astype(dtype)
    y = rng.normal(size=(images, groups * kernels, *windows)).astype(dtype)
    parameters = convolution_parameters(x.shape, w.shape, windows, *geometry, groups)
    tolerance = {"rtol": TOLERANCES[x.dtype], "atol": 10 * TOLERANCES[x.dtype]}
    for into, name, operands in (
        ("y", "conv", (x, w)),
        ("x", "conv_input", (y, w)),
        ("w", "conv_weight", (x, y)),
    ):
        expected = convolved(x, w, y, geometry, groups, into)
        compiled = run(name, parameters, expected.shape, *operands)
        np.testing.assert_allclose(compiled, expected, **tolerance)
        np.testing.assert_array_equal(run(name, parameters, expected.shape, *operands, threads=2), compiled)


@pytest.mark.parametrize("case", ["square", "apart", "cube"])
def test_elements_that_no_window_sees_do_not_reach_it(case):
    """What lies between the windows of two rows may be NaN, and is in the columns for a moment."""
    spatial, kernel, geometry = SAME[case]
    windows = output_lengths(spatial, kernel, *geometry)
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(1, 2, *spatial)), rng.normal(size=(2, 2, *kernel))
    y = rng.normal(size=(1, 2, *windows))
    x[0, 0, ..., -1], y[0, 0, ..., 0] = np.nan, np.nan
    parameters = convolution_parameters(x.shape, w.shape, windows, *geometry, 1)
    for name, operands, expected in (
        ("conv", (x, w), convolution.conv(x, w, *geometry, 1)),
        ("conv_input", (y, w), convolution.conv_input(y, w, spatial, *geometry, 1)),
    ):
        found = run(name, parameters, expected.shape, *operands)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        assert not np.isnan(found).all()


@settings(max_examples=rounds(40))
@given(geometries(), DTYPES, st.integers(0, 99))
def test_pooling(shapes, dtype, seed):
    spatial, window, geometry = shapes
    rng = np.random.default_rng(seed)
    windows = output_lengths(spatial, window, *geometry)
    x = rng.integers(-2, 2, (2, 2, *spatial)).astype(dtype)  # with ties
    t, g = rng.normal(size=x.shape).astype(dtype), rng.normal(size=(2, 2, *windows)).astype(dtype)
    found = seen(x, window, windows, geometry)
    largest, total, means = np.full(g.shape, -np.inf), np.zeros(g.shape), np.zeros(g.shape)
    shares, sums = np.zeros(x.shape), np.zeros(x.shape)
    for at, elements in found.items():
        largest[at] = max(x[e] for e in elements)
        total[at] = sum(x[e] for e in elements)
        tied = [e for e in elements if x[e] == largest[at]]
        means[at] = np.mean([t[e] for e in tied])
        for e in tied:
            shares[e] += g[at] / len(tied)
        for e in elements:
            sums[e] += g[at]
    y = pooling.max_pool(x, window, *geometry)
    cases = {
        "max_pool": ((x,), y, largest),
        "max_pool_vjp": ((g, x, y), pooling.max_pool_vjp(g, x, y, window, *geometry), shares),
        "max_pool_jvp": ((t, x, y), pooling.max_pool_jvp(t, x, y, window, *geometry), means),
        "sum_pool": ((x,), pooling.sum_pool(x, window, *geometry), total),
        "sum_pool_vjp": ((g,), pooling.sum_pool_vjp(g, spatial, window, *geometry), sums),
    }
    parameters = pooling_parameters(x.shape, window, windows, *geometry)
    tolerance = {"rtol": TOLERANCES[x.dtype], "atol": TOLERANCES[x.dtype]}
    for name, (operands, plain, expected) in cases.items():
        assert plain.dtype == dtype
        np.testing.assert_allclose(plain, expected, **tolerance)
        for threads in (1, 2):
            compiled = run(name, parameters, expected.shape, *operands, threads=threads)
            np.testing.assert_allclose(compiled, expected, **tolerance)


# ---- what windows may hold --------------------------------------------------------------------------

PAIRS = ((2,), ((0, 0),), (1,))


def test_nan_is_the_largest_and_takes_it_all():
    x = np.array([[[1.0, np.nan, np.inf, 2.0, -np.inf, -np.inf]]])
    y = pooling.max_pool(x, (2,), *PAIRS)
    np.testing.assert_array_equal(y, [[[np.nan, np.inf, -np.inf]]])
    parameters = pooling_parameters(x.shape, (2,), (3,), *PAIRS)
    np.testing.assert_array_equal(run("max_pool", parameters, y.shape, x), y)
    expected = [[[0, 1, 1, 0, 0.5, 0.5]]]
    g = np.ones(y.shape)
    np.testing.assert_array_equal(pooling.max_pool_vjp(g, x, y, (2,), *PAIRS), expected)
    np.testing.assert_array_equal(run("max_pool_vjp", parameters, x.shape, g, x, y), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spatial", [(2, 2), (2, 9), (3, 5), (8, 8), (9, 34), (3, 4, 6)])
def test_squares_hold_ties_and_what_is_not_finite(dtype, spatial):
    """To the last bit, signs of zero included, as the loops for all windows have it."""
    rng = np.random.default_rng(0)
    window = (1,) * (len(spatial) - 2) + (2, 2)
    geometry = (window, ((0, 0),) * len(spatial), (1,) * len(spatial))
    windows = output_lengths(spatial, window, *geometry)
    x = rng.choice(np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan], dtype), (3, 4, *spatial))
    y = pooling.max_pool(x, window, *geometry)
    g = rng.choice(np.array([-0.0, 0.0, 1.0, -2.5, np.nan, np.inf], dtype), (3, 4, *windows))
    parameters = pooling_parameters(x.shape, window, windows, *geometry)
    shares = pooling.max_pool_vjp(g, x, y, window, *geometry)
    for threads in (1, 2):
        np.testing.assert_array_equal(run("max_pool", parameters, y.shape, x, threads=threads), y)
        found = run("max_pool_vjp", parameters, x.shape, g, x, y, threads=threads)
        np.testing.assert_array_equal(found, shares)
        assert not (np.signbit(found) & (found == 0)).any()


def test_windows_that_see_only_padding():
    """Nothing flows there, and nothing is divided by no elements."""
    x, geometry = np.ones((1, 1, 1)), ((1,), ((2, 3),), (3,))
    y = pooling.max_pool(x, (2,), *geometry)
    np.testing.assert_array_equal(y, [[[-np.inf, -np.inf, 1]]])
    g = np.ones(y.shape)
    parameters = pooling_parameters(x.shape, (2,), (3,), *geometry)
    for found in (
        pooling.max_pool_vjp(g, x, y, (2,), *geometry),
        run("max_pool_vjp", parameters, x.shape, g, x, y),
    ):
        np.testing.assert_array_equal(found, [[[1]]])
    for found in (
        pooling.max_pool_jvp(x, x, y, (2,), *geometry),
        run("max_pool_jvp", parameters, y.shape, x, x, y),
    ):
        np.testing.assert_array_equal(found, [[[0, 0, 1]]])


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, bool])
def test_plain_arrays_of_other_dtypes(dtype):
    x = np.array([[[3, 1, 2, 5]]]).astype(dtype)
    y = pooling.max_pool(x, (2,), (2,), ((1, 1),), (1,))
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, np.array([[[3, 2, 5]]]).astype(dtype))


# ---- in programs -------------------------------------------------------------------------------------


def shared_work():
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=shape).astype(np.float32) for shape in ((16, 3, 20, 20), (8, 3, 5, 5)))
    geometry = ((1, 1), ((0, 0), (0, 0)), (1, 1))
    return x, w, geometry, convolution_parameters(x.shape, w.shape, (16, 16), *geometry, 1)


def test_large_work_is_shared():
    """By as many threads as are worth it; the sums are the same."""
    x, w, geometry, parameters = shared_work()
    made = runner("conv", parameters, (16, 8, 16, 16), x, w, threads=2)
    assert made.code[6] > 1
    (shared,) = made.run((x, w))
    assert made._pool[0].frame[THREADS] == 2
    np.testing.assert_array_equal(shared, run("conv", parameters, shared.shape, x, w))
    np.testing.assert_allclose(shared, convolution.conv(x, w, *geometry, 1), rtol=1e-4, atol=1e-4)


def test_operands_in_any_order():
    """Views are put in order before a kernel reads them."""
    x = np.random.default_rng(0).normal(size=(3, 2, 6))
    b = Builder()
    value = b.transpose(b.input((6, 2, 3), x.dtype), (2, 1, 0))
    parameters = pooling_parameters((3, 2, 6), (2,), (3,), *PAIRS)
    b.ir.outputs = [b.kernel("sum_pool", (value,), parameters, (3, 2, 3), x.dtype).id]
    check(b.ir)
    made = Runner(b.ir, [Leaf(np.ndarray, (6, 2, 3), x.dtype)], [None], frozenset(), "turned")
    (found,) = made.run((np.ascontiguousarray(x.T),))
    np.testing.assert_allclose(found, pooling.sum_pool(x, (2,), *PAIRS), rtol=1e-14)


def test_programs_with_kernels_are_saved_described_and_profiled(tmp_path):
    x, w, *_ = shared_work()
    f = tape.compile(tape.value_and_grad(lambda w, x: np.sum(tape.nn.max_pool2d(tape.nn.conv2d(x, w), 2))))
    f(w, x)
    value, gradient = f(w, x)
    (made,) = f.programs.values()
    report = made.explain()
    assert not report.callbacks
    assert report.flops > 2 * 16 * 8 * 75 * 16 * 16  # of the convolution and of its adjoint
    assert "conv(in1, in0; images=16, groups=1, channels=3, kernels=8, spatial=(1, 20, 20)" in str(made)
    assert any("max_pool_vjp" in text for timing in made.profile(w, x).timings for text in timing.text)
    made.save(tmp_path / "conv.tape")
    loaded = tape.load(tmp_path / "conv.tape")
    value_again, gradient_again = loaded(w, x)
    assert value_again == value
    np.testing.assert_array_equal(gradient_again, gradient)


def test_kernels_that_do_not_suit_are_refused():
    x, parameters = np.ones((2, 3, 8)), pooling_parameters((2, 3, 8), (2,), (4,), *PAIRS)
    good = runner("max_pool", parameters, (2, 3, 4), x).ir
    instruction = good.instructions[-1]
    flaws = [
        {"attrs": ("another", parameters)}, {"attrs": ("max_pool", parameters[1:])}, {"attrs": ("max_pool",)},
        {"attrs": ("max_pool", (*parameters[:-1], 0))}, {"attrs": ("max_pool", (7, *parameters[1:]))},
        {"attrs": ("max_pool", (1.0, *parameters[1:]))}, {"attrs": ("max_pool", (2**40, *parameters[1:]))},
        {"attrs": ("sum_pool_vjp", parameters)}, {"operands": (0, 0)}, {"shape": (2, 3, 3)},
        {"dtype": np.dtype(np.float32)},
        {"attrs": ("conv", parameters)},
    ]  # fmt: skip
    for flaw in flaws:
        before = {field: getattr(instruction, field) for field in flaw}
        for field, value in flaw.items():
            setattr(instruction, field, value)
        with pytest.raises(errors.ProgramError, match="instruction 1, kernel"):
            check(good)
        for field, value in before.items():
            setattr(instruction, field, value)
    check(good)


def test_every_kernel_says_what_it_needs():
    """From as many parameters as it names; not from zeros."""
    for name, kernel in REGISTRY.items():
        count = sum(kernel.parameters.values())
        assert needs_of(name, (1,) * count).tasks >= 1
        with pytest.raises(ValueError, match=r"positive|no elements"):
            needs_of(name, (0,) * count)
