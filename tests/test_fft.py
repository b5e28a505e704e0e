"""Fourier transforms: inverses, transposes, half spectra; the same numbers as NumPy's to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tape.ops.fft.spectra import back, forth
from tests.naive_program import counts, program_of
from tests.oracles import assert_close, assert_same, inner, jvp, record, uniform, vjp
from tests.tiers import rounds

NORMS = [None, "backward", "ortho", "forward"]
NAMES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"]
PAIRS = [("fft", "ifft"), ("fftn", "ifftn"), ("fft2", "ifft2"), ("fftshift", "ifftshift")]


def drawn(shape, *, is_complex, dtype=np.float64):
    x = uniform(np.random.default_rng(0), np.empty(shape, np.complex128 if is_complex else np.float64))
    return x.astype(np.result_type(dtype, np.complex64) if is_complex else dtype)


@st.composite
def calls(draw):
    """A transform along an axis or over several, with every option, and a shape."""
    name = draw(
        st.sampled_from(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"])
    )
    shape = tuple(draw(st.lists(st.integers(2, 5), min_size=1, max_size=3)))
    options = {"norm": draw(st.sampled_from(NORMS))}
    if name.endswith("n"):
        axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=3))
        options["axes"] = axes
        if draw(st.booleans()):
            options["s"] = draw(st.lists(st.integers(1, 6), min_size=len(axes), max_size=len(axes)))
    else:
        options["axis"] = draw(st.integers(-len(shape), len(shape) - 1))
        options["n"] = draw(st.none() | st.integers(1, 7))
    return name, shape, options


@settings(max_examples=rounds(150))
@given(calls())
def test_any_transform_is_that_of_numpy_and_its_modes_are_transposes(call):
    name, shape, options = call
    x = drawn(shape, is_complex="rfft" not in name.replace("irfft", "") and name != "ihfft")

    def f(x):
        return getattr(np.fft, name)(x, **options)

    expected = f(x)
    _, _, out = record(f, [x])
    assert_same(out.value, expected)
    rng = np.random.default_rng(1)
    seed, direction = uniform(rng, expected), uniform(rng, x)
    assert_close(jvp(f, [x], [direction]), f(direction), 1e-13)
    assert_close(inner([seed], [f(direction)]), inner(vjp(f, [x], seed), [direction]), 1e-12)


@pytest.mark.parametrize(("there", "again"), PAIRS)
def test_inverses(there, again):
    x = drawn((4, 5), is_complex=True)
    for names in ((there, again), (again, there)):
        first, second = (getattr(ops.fft, name) for name in names)
        assert_close(second(first(x)), x, 1e-15)
        (gradient,) = vjp(lambda x, f=first, g=second: g(f(x)), [x], x)
        assert_close(gradient, x, 1e-15)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_half_a_spectrum_says_all_about_real_numbers(norm, length):
    x = drawn((length,), is_complex=False)
    whole, half = ops.fft.fft(x, norm=norm), ops.fft.rfft(x, norm=norm)
    assert_close(half, whole[: len(half)], 1e-15)
    assert_close(ops.fft.irfft(half, length, norm=norm), x, 1e-15)
    (gradient,) = vjp(lambda x: ops.fft.irfft(ops.fft.rfft(x, norm=norm), length, norm=norm), [x], x)
    assert_close(gradient, x, 1e-15)


def test_imaginary_parts_that_do_not_matter_get_no_gradient():
    """Of the frequency 0, and of the last one for an even number of points; the others count twice."""
    half = drawn((4,), is_complex=True)
    for length, idle in ((6, [0, 3]), (7, [0])):
        (gradient,) = vjp(lambda c, n=length: ops.fft.irfft(c, n), [half], drawn((length,), is_complex=False))
        assert not gradient[idle].imag.any()
        assert np.delete(gradient, idle).imag.all()


@pytest.mark.parametrize("name", ["fft", "rfft", "fftn", "fftshift", "rfft2"])
def test_single_precision_stays(name):
    x = drawn((3, 4), is_complex=False, dtype=np.float32)
    trace, _, out = record(getattr(np.fft, name), [x])
    assert out.dtype == getattr(np.fft, name)(x).dtype
    (gradient,) = trace.backward_param_grads(out, np.ones(out.shape, out.dtype))
    assert gradient.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.fft.fft(x, axis=2), errors.ShapeError),
        (lambda x: np.fft.fft(x, 0), errors.ShapeError),
        (lambda x: np.fft.fft(x, norm="unitary"), errors.OptionError),
        (lambda x: np.fft.irfft(x[:, :1]), errors.ShapeError),
        (lambda x: np.fft.hfft(x, axis=5), errors.ShapeError),
        (lambda x: np.fft.fftn(x, s=(2,), axes=(0, 1)), errors.ShapeError),
        (lambda x: np.fft.rfftn(x, axes=()), errors.ShapeError),
        (lambda x: np.fft.fft2(x[0]), errors.ShapeError),
        (lambda x: np.fft.ifftshift(x, 2), errors.ShapeError),
        (lambda x: np.fft.rfft(x * 1j), errors.DTypeError),
    ],
)
def test_what_is_no_transform_is_refused_and_leaves_nothing(call, error):
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    before = len(trace.nodes)
    with pytest.raises(error):
        call(x)
    assert all(node.op not in (forth, back) for node in trace.nodes[before:])


def test_shifts_are_views_joined_in_a_program():
    x = np.arange(15.0).reshape(3, 5)
    for shift in (np.fft.fftshift, np.fft.ifftshift):
        program = program_of(lambda x, shift=shift: shift(x) * 2, x)
        assert "callback" not in counts(program.ir)
        assert_same(program(x), 2 * shift(x))
