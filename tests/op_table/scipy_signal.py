"""Signals as in `scipy.signal`: convolutions, recursive filters, smoothing, spectra."""

from typing import Any

import numpy as np
from scipy import signal

import tape
from tests import naive
from tests.op_table.case import Argument, Case, complexes, real
from tests.tiers import is_full

poles = Argument((3,), lambda rng, shape: np.array([2.0, -0.5, 0.4]) + rng.uniform(-0.1, 0.1, shape))
pole = Argument((2,), lambda rng, shape: np.array([2.0, -0.9]) + rng.uniform(-0.1, 0.1, shape))


def module(ns: Any) -> Any:
    return signal if ns is naive else tape.scipy.signal


def of(name: str, *arguments: Any, note: str = "", part: int | None = None, **options: Any) -> Case:
    def call(ns: Any, *args: Any) -> Any:
        out = getattr(module(ns), name)(*args, **options)
        return out if part is None else out[part]

    return Case(f"scipy.signal.{name}{note}", call, *arguments)


def in_sections(ns: Any, numerators: Any, x: Any) -> Any:
    behind = np.array([[1.0, -0.5, 0.2], [1.0, 0.3, 0.1]], numerators.dtype)
    sos = np.concatenate([numerators, behind], 1)
    return module(ns).sosfilt(sos, x, axis=0)


def moved(ns: Any, b: Any, a: Any, x: Any, zi: Any) -> Any:
    y, final = module(ns).lfilter(b, a, x, zi=zi)
    return np.concatenate([y, final], axis=-1)


PLAIN = [
    of("convolve", real(4, 3), real(2, 2), note=" same", mode="same"),
    of("lfilter", real(2), poles, real(2, 5), note=" of second order"),
]
ALL = [
    *PLAIN,
    of("convolve", real(3), real(5), note=" valid", mode="valid"),
    of("convolve", complexes(4), real(2), note=" complex"),
    of("convolve", real(5), real(3), note=" by transforms wide", method="fft"),
    of("fftconvolve", real(2, 4), real(1, 3), note=" axes wide", axes=1, mode="same"),
    of("correlate", real(3, 2), real(2, 3)),
    of("correlate", complexes(3), complexes(4), note=" complex", mode="same"),
    of("convolve2d", real(3, 4), real(2, 3), note=" wrap", mode="same", boundary="wrap"),
    of("correlate2d", real(3, 4), real(2, 3), note=" symm", boundary="symm"),
    of("lfilter", real(3), pole, real(5, 2), note=" of first order", axis=0),
    Case("scipy.signal.lfilter with a state", moved, real(4), poles, real(2, 5), real(2, 3)),
    Case("scipy.signal.sosfilt", in_sections, real(2, 3), real(5, 2)),
    of("lfilter_zi", real(3), poles),
    of("filtfilt", real(2), pole, real(9), note=" even", padtype="even", padlen=3),
    of("savgol_filter", real(2, 7), note=" interp", window_length=5, polyorder=2),
    of("savgol_filter", real(7), note=" nearest", window_length=4, polyorder=3, deriv=1, mode="nearest"),
    of("detrend", real(2, 5), note=" breakpoints", bp=[2]),
    of("hilbert", real(5), note=" complex"),
    of("welch", real(9), note=" power wide", part=1, nperseg=4, detrend="linear"),
    of("csd", real(9), real(9), note=" complex", part=1, nperseg=4),
    of("stft", real(9), note=" complex", part=2, nperseg=4),
    of("istft", complexes(3, 4), note=" complex", part=1),
]

# Transforms of float16 are of float32, and products of complex constants round otherwise in programs.
TABLED = [case for case in ALL if not {"complex", "wide"} & set(case.name.split())]
CASES = TABLED if is_full() else PLAIN
