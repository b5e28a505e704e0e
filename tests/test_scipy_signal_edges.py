"""Signals at their edges: of one sample or a few, windows as long as they are, batches of filters."""

import warnings

import numpy as np
import pytest
from scipy import signal as original

import tape
from tape import errors
from tape.scipy import signal
from tests.tiers import takes_long

RNG = np.random.default_rng(0)
SOS = np.array([[1.0, 0.5, 0.2, 1.0, -0.3, 0.1], [0.5, -0.2, 0.0, 1.0, 0.4, 0.0]])


def outcome(call):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call()
        except Exception as error:
            return error
    return [np.asarray(part) for part in (found if isinstance(found, tuple) else (found,))]


def assert_same_outcome(call, name):
    """The same values and shapes, or an error that begins with the name."""
    found, expected = (outcome(lambda m=m: call(m)) for m in (signal, original))
    if isinstance(found, Exception):
        assert isinstance(found, errors.TapeError), found
        assert isinstance(expected, Exception), (found, expected)
        assert str(found).startswith(name), found
        return
    assert not isinstance(expected, Exception), (found, expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


SIZES = [1, 2, 4, 9]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_any_sizes(n, mode):
    for m in (1, 2, 5):
        a, b = RNG.normal(size=(2, n)), RNG.normal(size=(2, m))
        for name in ("convolve", "correlate"):
            for method in ("auto", "direct", "fft"):
                assert_same_outcome(lambda s: getattr(s, name)(a[0], b[0], mode, method), name)  # noqa: B023
        for name in ("fftconvolve", "oaconvolve"):
            assert_same_outcome(lambda s: getattr(s, name)(a[0], b[0], mode), name)  # noqa: B023
            assert_same_outcome(lambda s: getattr(s, name)(a, b, mode, axes=1), name)  # noqa: B023
        for name in ("convolve2d", "correlate2d"):
            for boundary in ("fill", "wrap", "symm"):
                if n >= m:  # otherwise SciPy turns them, and needs both axes to agree
                    assert_same_outcome(lambda s: getattr(s, name)(a, b, mode, boundary, 2.0), name)  # noqa: B023


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: signal.convolve(x, x, "most"), "convolve: mode"),
        (lambda x: signal.correlate(x, x, "most"), "correlate: mode"),
        (lambda x: signal.fftconvolve(x, x, "most"), "fftconvolve: mode"),
        (lambda x: signal.convolve2d(x, x, "most"), "convolve2d: mode"),
        (lambda x: signal.convolve(x, x, method="fast"), "convolve: method"),
        (lambda x: signal.convolve2d(x, x, boundary="round"), "convolve2d: boundary"),
        (lambda x: signal.correlate2d(x, x, boundary="round"), "correlate2d: boundary"),
        (lambda x: signal.convolve2d(x[0], x[0]), "convolve2d"),
        (lambda x: signal.fftconvolve(x, x, axes=5), "fftconvolve"),
        (lambda x: signal.lfilter([], [1.0], x), "lfilter: coefficients"),
        (lambda x: signal.lfilter([1.0], [], x), "lfilter: coefficients"),
        (lambda x: signal.lfilter([1.0], [1.0, 0.5], x, zi=np.ones((4, 2))), "lfilter: zi"),
        (lambda x: signal.sosfilt(SOS[:, :5], x), "sosfilt: sos"),
        (lambda x: signal.sosfiltfilt(SOS[:, :5], x), "sosfiltfilt: sos"),
        (lambda x: signal.sosfilt_zi(SOS[:, :5]), "sosfilt_zi: sos"),
        (lambda x: signal.sosfiltfilt(SOS, x, padtype="up"), "sosfiltfilt: padtype"),
        (lambda x: signal.sosfiltfilt(SOS, x, axis=2), "sosfiltfilt: there is no axis 2"),
        (lambda x: signal.filtfilt([1.0], [1.0, 0.5], x, padtype="up"), "filtfilt: padtype"),
        (lambda x: signal.filtfilt([1.0], [1.0, 0.5], x, padlen=9), "filtfilt: the signal has 9 samples"),
        (lambda x: signal.sosfiltfilt(SOS, x, padlen=9), "sosfiltfilt: the signal has 9 samples"),
        (lambda x: signal.filtfilt([1.0], [1.0, 0.5], x, method="gust"), "filtfilt: method"),
        (lambda x: signal.savgol_filter(x, 5, 5), "savgol_filter: the degree"),
        (lambda x: signal.savgol_filter(x, 5, 2, mode="up"), "savgol_filter: mode"),
        (lambda x: signal.savgol_filter(x, 11, 2), "savgol_filter: 9 samples are fewer"),
        (lambda x: signal.detrend(x, type="bent"), "detrend: type"),
        (lambda x: signal.detrend(x, bp=[10]), "detrend: breakpoints"),
        (lambda x: signal.detrend(x, bp=[-1]), "detrend: breakpoints"),
        (lambda x: signal.hilbert(x, 0), "hilbert: N is 0"),
        (lambda x: signal.hilbert(1j * x), "hilbert: the signal"),
        (lambda x: signal.welch(x, nperseg=4, noverlap=4), "welch: segments"),
        (lambda x: signal.welch(x, nperseg=4, nfft=3), "welch: segments"),
        (lambda x: signal.welch(x, scaling="none"), "welch: scaling"),
        (lambda x: signal.welch(x, average="median"), "welch: average"),
        (lambda x: signal.welch(x, window=np.ones((2, 2))), "welch: the window"),
        (lambda x: signal.csd(x, x, average="median"), "csd: average"),
        (lambda x: signal.csd(x, x[:, :5]), "csd: signals"),
        (lambda x: signal.csd(x, np.ones((3, 9))), "csd: signals"),
        (lambda x: signal.periodogram(x, scaling="none"), "periodogram: scaling"),
        (lambda x: signal.stft(x, nperseg=4, boundary="up"), "stft: boundary"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_by_name(call, said):
    with pytest.raises(errors.TapeError, match=rf"^{said}"):
        call(RNG.normal(size=(2, 9)))


@takes_long
@pytest.mark.parametrize("n", [0, *SIZES])
@pytest.mark.parametrize(
    ("b", "a"),
    [
        ([0.5], [1.0]), ([1.0, 0.5], [2.0]), ([2.0], [1.0, -0.5]), ([1.0, 0.5, 0.2], [2.0, 0.3, -0.1]),
        ([1.0], [1.0, 0.1, 0.2, 0.05]),
    ],
)  # fmt: skip
def test_filters_of_signals_of_any_length(n, b, a):
    x = RNG.normal(size=(2, n))
    zi = RNG.normal(size=(2, max(len(a), len(b)) - 1))
    if n:
        assert_same_outcome(lambda s: s.lfilter(b, a, x), "lfilter")
        assert_same_outcome(lambda s: s.lfilter(b, a, x.T, axis=0), "lfilter")
        assert_same_outcome(lambda s: s.lfilter(b, a, x, zi=zi), "lfilter")
        assert_same_outcome(lambda s: s.sosfilt(SOS, x), "sosfilt")
        assert_same_outcome(lambda s: s.sosfilt(SOS, x, zi=np.ones((2, 2, 2))), "sosfilt")
    assert signal.lfilter(b, a, x).shape == x.shape
    for padlen in (None, 0, 1, 3):
        for padtype in ("odd", "even", "constant", None):
            if n and len(a) > 1:  # others SciPy does not take
                assert_same_outcome(lambda s: s.filtfilt(b, a, x, padtype=padtype, padlen=padlen), "filtfilt")  # noqa: B023
            if n and len(a) == 4:  # once
                assert_same_outcome(lambda s: s.sosfiltfilt(SOS, x, -1, padtype, padlen), "sosfiltfilt")  # noqa: B023


def test_filters_of_batches_are_those_of_each_of_its_filters_and_signals():
    """Batches of coefficients, of signals, of both, and of none."""
    b, x = np.array([1.0, 0.2]), RNG.normal(size=(3, 7))
    a = np.array([[1.0, 0.3, 0.1], [1.0, -0.5, 0.2], [1.0, 0.1, -0.4]])

    def f(a, x):
        return signal.lfilter(b, a, x)

    expected = np.stack([original.lfilter(b, one, row) for one, row in zip(a, x, strict=True)])
    np.testing.assert_allclose(tape.vmap(f)(a, x), expected, rtol=1e-12)
    np.testing.assert_allclose(tape.vmap(f, (None, 0))(a[0], x), original.lfilter(b, a[0], x), rtol=1e-12)
    expected = np.stack([original.lfilter(b, one, x) for one in a])
    np.testing.assert_allclose(tape.vmap(f, (0, None))(a, x), expected, rtol=1e-12)
    assert tape.vmap(f, (0, None))(a[:0], x).shape == (0, 3, 7)
    slopes = tape.vmap(tape.grad(lambda a, x: np.sum(np.sin(f(a, x)))))(a, x)
    for k in range(3):
        np.testing.assert_allclose(
            slopes[k], tape.grad(lambda a, k=k: np.sum(np.sin(f(a, x[k]))))(a[k]), rtol=1e-11
        )


@pytest.mark.parametrize("n", [0, *SIZES])
def test_smoothing_of_signals_of_any_length(n):
    x = RNG.normal(size=(2, n))
    if not n:
        return
    for window, degree in ((1, 0), (3, 2), (5, 2), (4, 1), (9, 3)):
        for mode in ("interp", "mirror", "constant", "nearest", "wrap"):
            for deriv in (0, 1, 3):
                call = lambda s: s.savgol_filter(x, window, degree, deriv, 0.5, mode=mode, cval=1.0)  # noqa: B023, E731
                if n >= window or mode in ("constant", "nearest"):
                    assert_same_outcome(call, "savgol_filter")
    for kind in ("linear", "constant"):
        for breaks in (0, [n // 2], [0, n], [1, 2]):
            assert_same_outcome(lambda s: s.detrend(x, -1, kind, breaks), "detrend")  # noqa: B023
            assert_same_outcome(lambda s: s.detrend(x.T, 0, kind, breaks), "detrend")  # noqa: B023
    for length in (None, 1, 2, n + 3, max(n - 2, 1)):
        assert_same_outcome(lambda s: s.hilbert(x, length), "hilbert")  # noqa: B023


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9])
@pytest.mark.parametrize("is_complex", [False, True])
def test_spectra_of_signals_of_any_length(n, is_complex):
    x = RNG.normal(size=(2, n)) + (1j * RNG.normal(size=(2, n)) if is_complex else 0.0)
    y = RNG.normal(size=(1, n))
    for options in (
        {}, {"nperseg": 4}, {"nperseg": 4, "noverlap": 0}, {"nperseg": 4, "noverlap": 3, "nfft": 7},
        {"nperseg": 5, "scaling": "spectrum"}, {"nperseg": 4, "detrend": False},
        {"window": np.array([1.0, 2.0, 1.0])}, {"window": "boxcar", "fs": 3.0, "nperseg": 3},
        {"nperseg": 4, "detrend": "linear", "return_onesided": False}, {"nperseg": 1, "noverlap": 0},
        {"window": ("tukey", 0.5), "nperseg": n},
    ):  # fmt: skip
        assert_same_outcome(lambda s: s.welch(x, **{"window": "hamming"} | options), "welch")  # noqa: B023
        assert_same_outcome(lambda s: s.csd(x, y, **{"window": "hamming"} | options), "csd")  # noqa: B023
        if "scaling" not in options:
            assert_same_outcome(lambda s: s.stft(x, **{"window": "hamming"} | options), "stft")  # noqa: B023
    for options in (
        {},
        {"nfft": n + 3},
        {"window": None},
        {"detrend": False, "axis": 1},
    ):
        assert_same_outcome(lambda s: s.periodogram(x, **options), "periodogram")  # noqa: B023
    for options in (
        {"nperseg": 4},
        {"nperseg": 4, "padded": False},
        {"nperseg": 4, "boundary": None},
        {"nperseg": 4, "boundary": "even", "scaling": "psd"},
        {"nperseg": 3, "noverlap": 2, "nfft": 8},
    ):
        assert_same_outcome(lambda s: s.stft(x, **{"window": "hamming"} | options), "stft")  # noqa: B023


@pytest.mark.parametrize("n", [8, 9, 16])
@pytest.mark.parametrize("onesided", [True, False])
def test_signals_come_back_from_their_short_time_transforms(n, onesided):
    x = RNG.normal(size=(2, n))
    for nperseg, noverlap, nfft in ((4, 2, None), (4, 3, 6), (5, 3, None), (6, 4, 9)):
        _, _, z = original.stft(
            x, nperseg=nperseg, noverlap=noverlap, nfft=nfft, return_onesided=onesided, window="hamming"
        )
        # The times of SciPy are as many as the first axis is long
        for options in ({}, {"boundary": False}, {"scaling": "psd"}):

            def back(s, z=z, given=(nperseg, noverlap, nfft, onesided), options=options):
                return s.istft(z, 2.0, "hamming", *given, **options)[1]

            assert_same_outcome(back, "istft")

        def turned(s, z=z, given=(nperseg, noverlap, nfft, onesided)):
            return s.istft(np.moveaxis(z, (-2, -1), (0, 1)), 1.0, "hamming", *given, True, 1, 0)[1]

        assert_same_outcome(turned, "istft")
        np.testing.assert_allclose(
            signal.istft(z, 2.0, "hamming", nperseg, noverlap, nfft, onesided)[1][..., :n], x, atol=1e-12
        )
    times = signal.istft(original.stft(x, nperseg=4)[2], 2.0, "hann", 4)[0]
    np.testing.assert_allclose(times, np.arange(len(times)) / 2)


@pytest.mark.parametrize("nfft", [1, 3, 4, 5, 8, None])
@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_a_periodogram_is_of_as_many_samples_as_its_transform(nfft, shape):
    x = np.random.default_rng(0).normal(size=shape)
    found, expected = signal.periodogram(x, nfft=nfft), original.periodogram(x, nfft=nfft)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, strict=True)
