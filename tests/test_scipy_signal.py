"""Signals beside SciPy's: every mode and order, states, ends; derivatives, and what is refused."""

import numpy as np
import pytest
from scipy import signal as original

import tape
from tape import errors
from tape.scipy import signal
from tests.op_table.scipy_signal import ALL
from tests.oracles import assert_close
from tests.scipy_checks import check_compiled, check_derivatives, check_value
from tests.tiers import grid, some

SHAPES = [
    ((5,), (3,)), ((3,), (5,)), ((4,), (4,)), ((6,), (2,)), ((4, 5), (2, 3)), ((2, 3), (4, 5)),
    ((4, 2), (2, 5)), ((3, 4, 2), (2, 2, 1)), ((1,), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("case", ALL, ids=str)
def test_value_is_that_of_scipy(case):
    check_value(case)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_derivatives_are_differences_of_scipys_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(ALL, every=3), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


def both(name, *args, **options):
    """The results of both modules, as alike as their rounding; where SciPy raises, so do we."""
    try:
        theirs = getattr(original, name)(*args, **options)
    except ValueError:
        with pytest.raises((errors.ShapeError, errors.OptionError)):
            getattr(signal, name)(*args, **options)
        return
    ours = getattr(signal, name)(*args, **options)
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, theirs)), strict=True):
        assert np.result_type(one) == np.result_type(other)
        assert np.shape(one) == np.shape(other)
        assert_close(one, other, 1e-6 if np.result_type(other) in (np.float32, np.complex64) else 1e-12)


@grid(shapes=SHAPES, mode=["full", "same", "valid"], dtype=[np.float64, np.complex128, np.float32])
def test_convolutions(shapes, mode, dtype):
    rng = np.random.default_rng(len(shapes[0]))
    a, v = ((rng.normal(size=s) + (1j * rng.normal(size=s) if dtype == np.complex128 else 0)).astype(dtype)
            for s in shapes)  # fmt: skip
    for method in ("auto", "direct", "fft"):
        for name in ("convolve", "correlate"):
            both(name, a, v, mode, method)
    both("fftconvolve", a, v, mode)
    both("oaconvolve", a, v, mode)
    if a.ndim == 2:
        for boundary in ("fill", "wrap", "symm"):
            for name in ("convolve2d", "correlate2d"):
                both(name, a, v, mode, boundary, 0.5)


def test_a_smaller_complex_matrix_is_correlated_with_a_larger_one():
    """Of which SciPy takes the conjugate values, where it exchanges the two."""
    rng = np.random.default_rng(0)
    large, small = [rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in ((5, 4), (3, 4))]
    for mode in ("full", "same", "valid"):
        for a, v in ((large, small), (small, large), (large, large)):
            both("correlate2d", a, v, mode)


@grid(zeros=[1, 2, 3, 5], poles=[1, 2, 3, 4], count=[1, 2, 3, 9])
def test_recursive_filters(zeros, poles, count):
    rng = np.random.default_rng(count)
    b, a = rng.normal(size=zeros), np.append(2.0, rng.uniform(-0.3, 0.3, poles - 1))
    x, order = rng.normal(size=(2, count, 3)), max(zeros, poles) - 1
    both("lfilter", b, a, x, 1)
    both("lfilter", b, a, x.astype(np.float32), 1)
    both("lfilter", b, a, x, 1, rng.normal(size=(2, order, 3)))
    if order:
        both("lfilter_zi", b, a)
        for padtype in ("odd", "even", "constant", None):
            both("filtfilt", b, a, rng.normal(size=(2, 30)), padtype=padtype)
        both("filtfilt", b, a, rng.normal(size=(30, 2)), axis=0, padlen=0)


def test_sections():
    sos, x = original.butter(5, 0.3, output="sos"), np.random.default_rng(0).normal(size=(40, 2))
    both("sosfilt", sos, x, 0)
    both("sosfilt", sos, x, 0, np.random.default_rng(1).normal(size=(3, 2, 2)))
    both("sosfilt_zi", sos)
    both("sosfiltfilt", sos, x, 0)


@grid(order=[4, 5], padtype=["odd", "even", "constant", None])
def test_sections_forwards_and_backwards(order, padtype):
    """An odd order has a zero in its first section, which counts in how far the signal goes on."""
    sos, x = original.butter(order, 0.3, output="sos"), np.random.default_rng(0).normal(size=(2, 25, 2))
    for padlen in (None, 0, 5, 24, 25):
        both("sosfiltfilt", sos, x, 1, padtype, padlen)
    both("sosfiltfilt", sos, x @ [1, 1j], padtype=padtype)


def test_how_far_sections_go_on_is_less_by_the_zeros_that_numerators_or_denominators_have_in_common():
    some_of, more = [[1, 0.5, 0, 1, -0.2, 0], [1, 0.3, 0, 1, 0.1, 0.2]], [[1, 0.3, 0.1, 1, 0.1, 0]]
    x = np.random.default_rng(0).normal(size=20)
    for sos in (some_of, more, some_of + more, np.roll(some_of, 3, axis=1)):
        both("sosfiltfilt", sos, x)


@grid(name=["fftconvolve", "oaconvolve"], mode=["full", "same", "valid"])
def test_convolutions_along_some_axes(name, mode):
    """Along the others the arrays broadcast."""
    rng = np.random.default_rng(9)
    for a, v, axes in (
        ((3, 8), (3, 5), 1), ((3, 5), (1, 8), [-1]), ((6, 4), (2, 4), 0), ((6, 4), (2, 1), [-2]),
        ((6, 4, 2), (3, 2, 1), (1, 0)), ((4, 5), (3, 2), None), ((6, 4), (2, 3), [0]),
    ):  # fmt: skip
        both(name, rng.normal(size=a), rng.normal(size=v), mode, axes=axes)


@grid(
    window=[(5, 2), (7, 3), (4, 2), (11, 4), (1, 0), (6, 0)],
    mode=["interp", "mirror", "constant", "nearest", "wrap"],
    deriv=[0, 1, 2],
)
def test_fitted_polynomials(window, mode, deriv):
    x = np.random.default_rng(2).normal(size=(2, 11))
    both("savgol_filter", x, *window, deriv, 0.5, 1, mode, 0.3)
    both("savgol_filter", x.T, *window, deriv, 1.0, 0, mode)


def test_trends_and_analytic_signals():
    x = np.random.default_rng(3).normal(size=(2, 11))
    for kind, breaks in (("linear", 0), ("constant", 0), ("linear", [3, 7])):
        both("detrend", x, 1, kind, breaks)
        both("detrend", x.T + 1j, 0, kind, breaks)
        both("detrend", x.astype(np.float32), type=kind, bp=breaks)
    for count in (None, 8, 15):
        both("hilbert", x, count)
        both("hilbert", x.T.astype(np.float32), count, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"nperseg": 16},
        {"nperseg": 15, "noverlap": 4, "nfft": 32, "scaling": "spectrum", "detrend": "linear"},
        {"nperseg": 20, "return_onesided": False, "detrend": False, "fs": 3.0, "window": ("kaiser", 3.0)},
    ],
    ids=str,
)
def test_spectra(options):
    x, y = np.random.default_rng(4).normal(size=(2, 2, 50, 3))
    both("welch", x, axis=1, **options)
    both("csd", x, y, axis=1, **options)
    both("csd", x, y[:1], axis=1, **options)
    both("csd", y[0, :, :1], x[0], axis=0, **options)
    both("csd", x[0, :, 0], y[:, :, 0], **options)
    both("periodogram", x, 2.0, axis=1, window="hann")
    both("periodogram", x, window=None)


@grid(
    options=[
        {}, {"nfft": 30}, {"nfft": 31}, {"scaling": "spectrum", "fs": 7.0}, {"detrend": "linear"},
        {"detrend": False, "return_onesided": False}, {"window": ("tukey", 0.2), "fs": 7.0},
        {"window": np.hanning(24)},
    ],
    dtype=[np.float32, np.complex128],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Input data is complex")
def test_spectra_of_other_dtypes_along_any_axis(options, dtype):
    """Those of complex signals have both sides, whatever is asked."""
    parts = np.random.default_rng(4).normal(size=(2, 2, 24, 2))
    x, y = (parts @ [1, 1j if dtype == np.complex128 else 1]).astype(dtype)
    both("periodogram", x, **options)
    both("periodogram", x.T, axis=0, **options)
    both("welch", x.T, nperseg=24, axis=0, **options)
    both("csd", x, y, nperseg=24, **options)
    both("csd", x, y.real, nperseg=24, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"nperseg": 16},
        {"nperseg": 15, "noverlap": 11, "fs": 4.0},
        {"nperseg": 16, "nfft": 32, "boundary": "odd", "scaling": "psd"},
        {"nperseg": 8, "boundary": None, "padded": False, "detrend": "constant"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:NOLA")
def test_short_time_transforms(options):
    x = np.random.default_rng(5).normal(size=(2, 50, 3))
    both("stft", x, axis=1, **options)
    both("stft", x[0, :, 0], **options)
    z = original.stft(x[0, :, 0], **options)[2]
    both("istft", z, **{key: options[key] for key in options if key not in ("padded", "detrend", "boundary")})


@pytest.mark.parametrize("count", [5, 6])
@pytest.mark.parametrize(
    "options", [{}, {"nperseg": 7}, {"nperseg": 9}, {"nperseg": 7, "nfft": 8}, {"nfft": 9}]
)
@pytest.mark.filterwarnings("ignore:NOLA")
def test_a_signal_of_a_transform_whose_segments_are_shorter_or_longer_than_its_frequencies_say(
    count, options
):
    z = np.random.default_rng(8).normal(size=(count, 4, 2)) @ [1, 1j]
    both("istft", z, **options)
    both("istft", z, input_onesided=False, nperseg=count)


@grid(boundary=["zeros", "even", "odd", "constant", None], padded=[True, False], nperseg=[8, 11])
@pytest.mark.filterwarnings("ignore:Input data is complex")
def test_segments_of_any_signal_at_its_ends(boundary, padded, nperseg):
    x = np.random.default_rng(5).normal(size=(3, 29, 2))
    options = {"boundary": boundary, "padded": padded, "nperseg": nperseg}
    both("stft", x[..., 0].astype(np.float32), **options)
    both("stft", x @ [1, 1j], scaling="psd", fs=3.0, **options)
    both("stft", x, axis=-2, return_onesided=False, detrend="linear", **options)


@pytest.mark.filterwarnings("ignore:Input data is complex")
def test_segments_along_any_axis_become_signals_along_that_of_times():
    x = np.random.default_rng(5).normal(size=(3, 40))
    options = {"nperseg": 8, "noverlap": 6, "fs": 2.0, "scaling": "psd"}
    for signals, more in ((x, {}), (x[:, ::-1] + 1j * x, {"input_onesided": False})):
        _, _, z = original.stft(signals, **options)
        t, found = signal.istft(z, **options, **more)
        assert_close(t, np.arange(40) / 2.0, 1e-15)
        assert_close(found, signals, 1e-12)
        for axes in ((0, 1), (1, 0), (0, 2), (-1, 0)):
            turned = np.moveaxis(z, (-1, -2), axes)
            places = {"time_axis": axes[0], "freq_axis": axes[1]}
            _, again = signal.istft(turned, **places, **options, **more)
            assert_close(again, original.istft(turned, **places, **options, **more)[1], 1e-12)
            assert_close(np.sort(again.ravel()), np.sort(signals.ravel()), 1e-12)
    assert signal.istft(z[:, :5].astype(np.complex64), nperseg=8)[1].dtype == np.float32
    _, _, z = original.stft(x, nperseg=8, boundary=None)
    t, inside = signal.istft(z, boundary=False)
    assert_close(t, np.arange(40.0), 0)
    assert_close(inside[:, 1:], x[:, 1:], 1e-12)  # at the first sample the window is zero


RAMP = np.arange(6.0)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("convolve", (2 + 1j, 3 - 2j), {}),
        ("correlate", (2 + 1j, 3 - 2j), {}),
        ("fftconvolve", (2 + 1j, 3 - 2j), {}),
        ("fftconvolve", (np.ones(0), np.ones(3)), {}),
        ("fftconvolve", (np.ones((2, 0)), np.ones((3, 1))), {}),
        ("convolve", (np.arange(5), np.arange(3) - 1, "same"), {}),
        ("correlate", (np.arange(5), np.arange(3) - 1, "same"), {}),
        ("convolve2d", (np.arange(6).reshape(2, 3), np.arange(4).reshape(2, 2), "same", "wrap", 3), {}),
        ("correlate2d", (np.arange(6).reshape(2, 3), np.arange(4).reshape(2, 2), "same", "wrap", 3), {}),
        ("correlate2d", (np.arange(6).reshape(2, 3), np.arange(4).reshape(2, 2), "full", "fill", 3), {}),
        ("convolve2d", (np.ones((0, 3)), np.ones((2, 2))), {}),
        ("convolve2d", (np.ones((2, 3)), np.ones((2, 0)), "valid"), {}),
        ("convolve2d", (np.ones((0, 3), np.float32), np.ones((0, 2), np.float32), "valid"), {}),
        ("lfilter", ([1, 2, 3], [2, 0.1], np.zeros((0, 5))), {"zi": np.zeros((0, 2))}),
        ("lfilter", ([1, 2, 3], [2, 0.1], np.zeros((5, 0)), 0), {"zi": np.zeros((2, 0))}),
        ("lfilter", ([1, 2, 3, 4], [2, 0.1, 0.2], RAMP.reshape(1, 2, 3), 1), {"zi": RAMP[None, :3, None]}),
        ("lfilter", ([1, 2, 3, 4], [2, 0.1], RAMP[:1]), {"zi": RAMP[1:4]}),
        ("lfilter", ([1, 2, 3, 4], [2, 0.1], np.zeros((2, 0))), {}),
        ("savgol_filter", (RAMP**2, 1, 0, 0, 0.5), {}),
        ("savgol_filter", (RAMP**2, 1, 0, 1, 0.5), {}),
        ("welch", (RAMP**2,), {"nperseg": 4, "detrend": lambda parts: parts - parts[..., :1]}),
    ],
)  # fmt: skip
def test_numbers_empty_arrays_ints_and_short_signals(name, args, options):
    getattr(original, name)(*args, **options)  # raises nothing
    both(name, *args, **options)


def test_the_power_of_a_width_divides_a_fitted_polynomial_of_one_sample():
    """Its derivative is zero; its value is that of the sample, whatever the distance of samples is."""
    x = np.array([3.0, 1.0, 4.0])
    np.testing.assert_array_equal(signal.savgol_filter(x, 1, 0, delta=0.5), x)


def test_a_signal_that_is_shorter_than_its_filter_and_filters_of_no_batch():
    """What has not come out of the initial state stays in it."""
    state, x = np.array([1.0, 2.0, 4.0]), np.zeros(0)
    np.testing.assert_array_equal(signal.lfilter([1.0, 2.0, 3.0, 4.0], [1.0], x, zi=state)[1], state)
    f = lambda a, x: signal.lfilter([1.0, 0.5], a, x)  # noqa: E731
    assert tape.vmap(f)(np.ones((0, 3)), np.ones((0, 5))).shape == (0, 5)
    assert tape.vmap(f, in_axes=(0, None))(np.ones((0, 3)), np.ones(5)).shape == (0, 5)


def test_gradients_of_arrays_without_elements_are_of_their_shape():
    assert signal.convolve(np.ones(0), np.ones(3)).shape == (0,)  # in SciPy an internal error
    nothing = tape.grad(lambda v: np.sum(signal.convolve2d(np.ones((0, 3)), v)))(np.ones((2, 2)))
    assert nothing.tolist() == [[0, 0], [0, 0]]


# ---- derivatives -----------------------------------------------------------------------------------


def test_a_filter_of_high_order_by_its_coefficients():
    """Beside the derivative of its transfer function, by transforms."""
    b, a = original.butter(4, 0.4)
    x = np.zeros(400)
    x[0] = 1.0
    response = lambda b, a: np.sum(signal.lfilter(b, a, x) ** 2)  # noqa: E731

    def by_transforms(b, a):
        ratio = np.fft.rfft(b, 400) / np.fft.rfft(a, 400)
        return np.sum(np.fft.irfft(ratio, 400) ** 2)

    for k in range(2):
        assert_close(tape.grad(response, argnums=k)(b, a), tape.grad(by_transforms, argnums=k)(b, a), 1e-11)
        second = (tape.hessian(f, argnums=k)(b, a) for f in (response, by_transforms))
        assert_close(*second, 1e-10)


def test_forwards_and_backwards_by_coefficients():
    b, a = original.butter(3, 0.3)
    x = np.random.default_rng(6).normal(size=40)
    tape.testing.check_grads(lambda b, a, x: signal.filtfilt(b, a, x), (b, a, x), order=1)
    sos = original.butter(3, 0.3, output="sos")
    tape.testing.check_grads(lambda x: signal.sosfiltfilt(sos, x), (x,), order=1)


def test_filters_in_batches():
    x, a = (
        np.random.default_rng(7).normal(size=(3, 12)),
        np.array([[1.0, -0.5, 0.1], [1.0, 0.2, 0.0], [2.0, 0.1, 0.3]]),
    )
    f = lambda a, x: signal.lfilter([1.0, 0.5], a, x)  # noqa: E731
    assert_close(tape.vmap(f)(a, x), [f(*pair) for pair in zip(a, x, strict=True)], 1e-14)
    assert_close(tape.vmap(f, in_axes=(None, 0))(a[0], x), [f(a[0], row) for row in x], 1e-14)
    assert_close(tape.vmap(f, in_axes=(0, None))(a, x[0]), [f(row, x[0]) for row in a], 1e-14)


@grid(axis=[0, 1, -1], in_axes=[(None, 0), (None, 2), (0, None), (0, 1)])
def test_filters_in_batches_along_any_axis(axis, in_axes):
    rng = np.random.default_rng(7)
    a, x = np.append(np.ones((3, 1)), rng.uniform(-0.3, 0.3, (3, 2)), axis=1), rng.normal(size=(3, 5, 4))
    x = x if in_axes[1] is None else np.moveaxis(x, 0, in_axes[1])
    call = a if in_axes[0] == 0 else a[0], x[0] if in_axes[1] is None else x
    found = tape.vmap(lambda a, x: signal.lfilter([1.0, 0.5], a, x, axis), in_axes=in_axes)(*call)
    for k, row in enumerate(found):
        rows = [part if at is None else np.take(part, k, at) for part, at in zip(call, in_axes, strict=True)]
        assert_close(row, original.lfilter([1.0, 0.5], *rows, axis), 1e-13)


# ---- what is left to SciPy, and errors -------------------------------------------------------------


def test_ints_are_scipys_and_other_names_refuse_vars():
    assert signal.convolve([1, 2], [1, 3]).dtype.kind == "i"
    assert signal.get_window("hann", 4).shape == (4,)
    assert signal.find_peaks([0.0, 1.0, 0.0])[0].tolist() == [1]
    for name in ("convolve", "correlate", "convolve2d", "correlate2d"):
        trace = tape.Trace()
        with pytest.raises(errors.DTypeError, match=rf"^{name}: of ints, int64 and int32\. Convert them"):
            getattr(signal, name)(trace.input(np.ones((2, 2), int)), np.ones((2, 2), np.int32))
    with pytest.raises(errors.UnsupportedError, match=r"medfilt.*savgol_filter"):
        tape.grad(lambda x: np.sum(signal.medfilt(x)))(np.ones(5))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: signal.convolve(x, np.ones((2, 2))), errors.ShapeError, "same number of axes"),
        (lambda x: signal.convolve(x, x, "most"), errors.OptionError, "mode"),
        (lambda x: signal.convolve(x, x, method="guess"), errors.OptionError, "method"),
        (lambda x: signal.convolve2d(x, x), errors.ShapeError, "matrices"),
        (lambda x: signal.lfilter([1.0], [0.0, 1.0], x), errors.OptionError, "first coefficient"),
        (lambda x: signal.lfilter([1.0], [1.0, 1.0], x, zi=np.ones(3)), errors.ShapeError, "zi"),
        (lambda x: signal.filtfilt([1.0, 1.0], [1.0], x, method="gust"), errors.OptionError, "pad"),
        (lambda x: signal.filtfilt(np.ones(3), [1.0], x), errors.ShapeError, "padlen"),
        (lambda x: signal.sosfilt(np.ones((1, 5)), x), errors.ShapeError, "sections"),
        (lambda x: signal.savgol_filter(x, 3, 3), errors.OptionError, "less than"),
        (lambda x: signal.savgol_filter(x, 9, 3), errors.ShapeError, "fewer"),
        (lambda x: signal.detrend(x, bp=9), errors.OptionError, "breakpoints"),
        (lambda x: signal.hilbert(1j * x), errors.DTypeError, "real"),
        (lambda x: signal.welch(x, nperseg=4, noverlap=4)[1], errors.OptionError, "noverlap"),
        (
            lambda x: signal.filtfilt([1.0], [1.0], x, padtype="wrap"),
            errors.OptionError,
            "filtfilt: padtype is 'wrap'",
        ),
        (
            lambda x: signal.convolve2d(x[None], x[None], "same", "flat"),
            errors.OptionError,
            "^convolve2d: boundary is",
        ),
        (
            lambda x: signal.correlate2d(x[None], x[None], "same", "flat"),
            errors.OptionError,
            "^correlate2d: boundary",
        ),
        (
            lambda x: signal.fftconvolve(x[None], x[None], axes=[1, -1]),
            errors.ShapeError,
            r"\[1, -1\] name one twice",
        ),
        (lambda x: signal.lfilter(x[None], [1.0], x), errors.ShapeError, r"shapes \[1, 6\] and \[1\]"),
        (lambda x: signal.lfilter([1.0], x[:0], x), errors.ShapeError, r"shapes \[1\] and \[0\]"),
        (
            lambda x: signal.sosfilt([[1, 2, 3, 1, 0, 0]], x, zi=np.ones((2, 2))),
            errors.ShapeError,
            r"must be \[1, 2\]",
        ),
        (
            lambda x: signal.savgol_filter(x, 3, 1, mode="none"),
            errors.OptionError,
            "^savgol_filter: mode is 'none'. Take interp,",
        ),
        (lambda x: signal.savgol_filter(x, 3, -1), errors.OptionError, "the degree -1 must"),
        (lambda x: signal.detrend(x, bp=[2, 3.5]), errors.OptionError, "a breakpoint is .* must be an int"),
        (lambda x: signal.detrend(x, type="cubic"), errors.OptionError, "type is 'cubic'"),
        (lambda x: signal.welch(x[:0])[1], errors.ShapeError, "welch: the signal has no samples"),
        (lambda x: signal.welch(x, window=np.ones((3, 3)))[1], errors.ShapeError, "a vector of nperseg"),
        (
            lambda x: signal.welch(x, window=np.ones(3), nperseg=4)[1],
            errors.ShapeError,
            "a vector of nperseg",
        ),
        (lambda x: signal.welch(x, scaling="power")[1], errors.OptionError, "scaling is 'power'"),
        (lambda x: signal.welch(x, average="median")[1], errors.OptionError, "average is 'median'"),
        (lambda x: signal.csd(x, x[:4])[1], errors.ShapeError, r"shapes \[6\] and \[4\]"),
        (
            lambda x: signal.stft(x, nperseg=4, boundary="wrap")[2],
            errors.OptionError,
            "boundary is 'wrap'.* odd or",
        ),
    ],
)
def test_errors_say_what_to_do(call, kind, message):
    x = np.ones(6)
    with pytest.raises(kind, match=message):
        call(x)
    with pytest.raises(kind, match=message):
        tape.grad(lambda x: np.sum(tape.ops.abs(call(x))))(x)
