"""Signal processing as in `scipy.signal`, differentiable by signals and by coefficients.

`convolve`, `correlate`, `fftconvolve`, `oaconvolve`, `convolve2d`, `correlate2d`; `lfilter`, `sosfilt`,
`filtfilt`, `sosfiltfilt` and the states `lfilter_zi` and `sosfilt_zi`; `savgol_filter`, `detrend`, `hilbert`;
`stft`, `istft`, `welch`, `csd` and `periodogram`. All other names are SciPy's own, for plain numbers.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy import signal
>>> x, wanted = np.eye(6)[0], 0.8 ** np.arange(6)
>>> loss = lambda pole: np.sum((signal.lfilter([1.0], np.stack([1.0, -pole]), x) - wanted) ** 2)
>>> abs(float(tape.grad(loss)(0.8))) < 1e-12
True
"""

from scipy import signal as _signal

from tape.scipy._operands import refusing
from tape.scipy.signal._both_ways import filtfilt, sosfiltfilt
from tape.scipy.signal._convolution import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from tape.scipy.signal._filters import lfilter, lfilter_zi, sosfilt, sosfilt_zi
from tape.scipy.signal._smoothing import detrend, hilbert, savgol_filter
from tape.scipy.signal._spectra import csd, istft, periodogram, stft, welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "istft",
    "lfilter",
    "lfilter_zi",
    "oaconvolve",
    "periodogram",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "stft",
    "welch",
]

__getattr__, __dir__ = refusing(
    _signal,
    globals(),
    "scipy.signal",
    "convolve, correlate, lfilter, sosfilt, filtfilt, savgol_filter, detrend, hilbert, stft, istft, welch "
    "and their like",
)
