"""Filters and interpolation of images as in `scipy.ndimage`."""

from typing import Any

import numpy as np
from scipy import ndimage

import tape
from tests import naive
from tests.op_table.case import Argument, Case, complexes, real
from tests.tiers import is_full

places = Argument((2, 5), lambda rng, shape: rng.integers(-1, 4, shape) + rng.uniform(0.2, 0.4, shape))
steps = Argument((2,), lambda rng, shape: rng.integers(-1, 2, shape) + rng.uniform(0.2, 0.4, shape))
turns = Argument(
    (2, 2), lambda rng, shape: np.array([[1.0, 0.02], [-0.02, 0.98]]) + rng.uniform(-0.005, 0.005, shape)
)
widths = Argument((), lambda rng, shape: rng.uniform(0.76, 0.84, shape))


def module(ns: Any) -> Any:
    return ndimage if ns is naive else tape.scipy.ndimage


def of(name: str, *arguments: Any, note: str = "", **options: Any) -> Case:
    def call(ns: Any, *args: Any) -> Any:
        return getattr(module(ns), name)(*args, **options)

    return Case(f"scipy.ndimage.{name}{note}", call, *arguments)


# "ints" marks what is computed in double precision whatever comes in.

PLAIN = [
    of("correlate1d", real(2, 4), real(3), note=" axis=0", axis=0),
    of("map_coordinates", real(4, 3), places, note=" mirror ints", mode="mirror"),
]
ALL = [
    *PLAIN,
    of("convolve1d", real(5), real(2), note=" nearest", mode="nearest"),
    of("correlate", real(3, 4), real(2, 3), note=" wrap", mode="wrap", origin=(0, 1)),
    of("correlate", complexes(3, 4), complexes(1, 3), note=" complex", mode="constant"),
    of("convolve", real(2, 3, 2), real(1, 2, 2), mode="mirror"),
    of("convolve", real(2, 1, 2, 3), real(1, 1, 2, 2), note=" of four axes"),
    of("gaussian_filter1d", real(5), widths, note=" ints", radius=3),
    of("gaussian_filter", real(4, 3), widths, note=" order ints", order=(1, 2), mode="mirror", radius=2),
    of("gaussian_laplace", real(4, 3), note=" ints", sigma=0.7),
    of("gaussian_gradient_magnitude", real(4, 3), note=" ints", sigma=0.7),
    of("uniform_filter", real(4, 3), note=" size=2", size=2),
    of("sobel", real(4, 3), axis=0),
    of("laplace", real(4, 3), mode="wrap"),
    of("map_coordinates", real(4, 3), places, note=" nearest pixel ints", order=0, mode="reflect"),
    of("map_coordinates", real(4, 3), places, note=" linear ints", order=1),
    of("map_coordinates", real(4, 3), places, note=" nearest ints", mode="nearest"),
    of("map_coordinates", complexes(4, 3), places, note=" complex ints", mode="grid-wrap", order=2),
    of("shift", real(4, 3), steps, note=" ints", mode="grid-constant", cval=0.5),
    of("shift", real(4, 3), steps, note=" linear ints", mode="wrap", order=1),
    of("zoom", real(3, 2), note=" ints", zoom=1.6, mode="reflect"),
    of("affine_transform", real(4, 3), turns, steps, note=" ints", order=2, mode="mirror"),
    of("spline_filter", real(4, 3), note=" ints"),
]  # fmt: skip

# Products of complex constants round otherwise in programs.
CASES = [case for case in ALL if "complex" not in case.name.split()] if is_full() else PLAIN
