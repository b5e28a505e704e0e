"""The derivatives of the evaluations in C, written by hand and compiled by this computer's compiler.

The flags are those of GradBench's tool "manual", which these functions follow: ``-O3 -march=native``. Each
maker takes the arguments of the evaluation's function and returns a call without any, ready to be measured.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Call, NotAvailableError

__all__ = ["CALLS"]

_SOURCES = Path(__file__).parent / "c"


@cache
def _library() -> ctypes.CDLL:
    """Compile the sources.

    Raises
    ------
    NotAvailableError
        If there is no C compiler.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotAvailableError("there is no C compiler (cc)")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "by_hand.so")
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        sources = map(str, sorted(_SOURCES.glob("*.c")))
        subprocess.run([compiler, *flags, *sources, "-o", str(built), "-lm"], check=True)
        return ctypes.CDLL(str(built))


def _call(name: str, arguments: list[Any], results: list[np.ndarray]) -> Call:
    """Return a call of a C function on numbers and arrays, the last of which are its results."""
    function = getattr(_library(), name)
    function.restype = None
    kept = [np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value for value in arguments]
    converted = [_converted(value) for value in (*kept, *results)]

    def call() -> list[np.ndarray]:
        function(*converted)
        return results

    call.arrays = kept  # type: ignore[attr-defined]  # the pointers do not own them
    return call


def _converted(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if value is None:
        return ctypes.c_void_p()
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_ssize_t(value)


def _llsq(x: np.ndarray, n: int) -> Call:
    return _call("llsq_gradient", [n, len(x), x], [np.empty_like(x)])


def _lse(x: np.ndarray) -> Call:
    return _call("lse_gradient", [len(x), x], [np.empty_like(x)])


def _gmm(params: dict[str, np.ndarray], x: np.ndarray, gamma: float, m: int) -> Call:
    arrays = [params[name] for name in ("alpha", "mu", "q", "l")]
    (n, d), k = x.shape, len(params["alpha"])
    arguments = [d, k, n, *arrays, x, gamma, float(m)]
    return _call("gmm_gradient", arguments, [np.empty_like(array) for array in arrays])


def _det(matrix: np.ndarray) -> Call:
    return _call("det_gradient", [len(matrix), matrix], [np.empty_like(matrix)])


def _ode(x: np.ndarray, s: int) -> Call:
    return _call("ode_gradient", [len(x), s, x], [np.empty_like(x)])


def _kmeans(centroids: np.ndarray, points: np.ndarray) -> Call:
    arguments = [*points.shape[:1], *centroids.shape, points, centroids]
    return _call("kmeans_direction", arguments, [np.empty_like(centroids)])


def _lstm(main: np.ndarray, extra: np.ndarray, state: np.ndarray, sequence: np.ndarray) -> Call:
    arguments = [len(main) // 2, *sequence.shape, main, extra, state, sequence]
    return _call("lstm_gradient", arguments, [np.empty_like(main), np.empty_like(extra)])


def _ba(
    cameras: np.ndarray, points: np.ndarray, weights: np.ndarray, features: np.ndarray, seen: np.ndarray
) -> Call:
    values = np.empty(31 * len(seen))
    return _call("ba_jacobian", [len(seen), cameras, points, weights, features, seen], [values])


def _ht(theta: np.ndarray, us: np.ndarray, data: dict[str, Any]) -> Call:
    model, count = data["model"], len(data["points"])
    arrays = [
        model[name] for name in ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    ]
    indices = [np.array(model["parents"]), model["triangles"], data["correspondences"]]
    vertices, bones = model["weights"].shape
    places = us if len(us) else None
    arguments = [count, vertices, bones, theta, places, *arrays, *indices, int(model["is_mirrored"])]
    return _call("ht_jacobian", arguments, [np.empty((3 * count, len(theta) + (2 if len(us) else 0)))])


def _particle(w: np.ndarray) -> Call:
    function = _library().particle
    function.restype, number = ctypes.c_double, ctypes.c_double(w[0])
    return lambda: [function(number)]


def _saddle(start: np.ndarray) -> Call:
    return _call("saddle", [start], [np.empty(4)])


CALLS: Mapping[str, Callable[..., Call]] = {
    "llsq": _llsq,
    "lse": _lse,
    "gmm": _gmm,
    "det": _det,
    "ode": _ode,
    "kmeans": _kmeans,
    "lstm": _lstm,
    "ba": _ba,
    "ht": _ht,
    "particle": _particle,
    "saddle": _saddle,
}
"""By evaluation."""
