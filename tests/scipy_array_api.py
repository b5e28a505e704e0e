"""SciPy's own functions on Vars, in its mode for arrays of other libraries: derivatives against differences.

Run by `tests.test_scipy_array_api` with ``SCIPY_ARRAY_API=1``, which SciPy reads when it is imported. Prints
the name of each function, and the largest errors of its Jacobian: recorded in both modes, and compiled.
"""

import warnings

import numpy as np
from scipy import fft, integrate, optimize, signal, special, stats
from scipy.spatial.transform import Rotation

import tape

X = np.array([1.0, 2.5, 0.5, 4.0, 3.0])

FUNCTIONS = {
    "special.logsumexp": special.logsumexp,
    "special.softmax": special.softmax,
    "special.log_softmax": special.log_softmax,
    "stats.zscore": stats.zscore,
    "stats.skew": stats.skew,
    "stats.kurtosis": stats.kurtosis,
    "stats.moment": lambda x: stats.moment(x, 3),
    "stats.gmean": stats.gmean,
    "stats.hmean": stats.hmean,
    "stats.pmean": lambda x: stats.pmean(x, 2),
    "stats.sem": stats.sem,
    "stats.trim_mean": lambda x: stats.trim_mean(x, 0.2),
    "stats.differential_entropy": stats.differential_entropy,
    "stats.circmean": stats.circmean,
    "integrate.trapezoid": integrate.trapezoid,
    "integrate.cumulative_trapezoid": integrate.cumulative_trapezoid,
    "signal.hilbert": lambda x: np.abs(signal.hilbert(x)),
    "signal.resample": lambda x: signal.resample(x, 8),
    "fft.fft": lambda x: np.abs(fft.fft(x)),
    "fft.fht": lambda x: fft.fht(x, 0.1, 0.5),
    "optimize.rosen": optimize.rosen,
    "spatial.transform.Rotation": lambda x: Rotation.from_rotvec(x[:3]).as_matrix(),
}


def differences(f, step=1e-3):
    """The Jacobian by five points."""
    columns = []
    for unit in np.eye(len(X)):
        at = [np.asarray(f(X + k * step * unit)) for k in (1, -1, 2, -2)]
        columns.append((8 * (at[0] - at[1]) - (at[2] - at[3])) / (12 * step))
    return np.stack(columns, axis=-1)


def main() -> None:
    """Print a line for each function."""
    warnings.simplefilter("ignore")
    for name, f in FUNCTIONS.items():
        expected = differences(f)
        size = 1 + np.max(np.abs(expected))
        found = [tape.jacobian(f, mode="fwd")(X), tape.jacobian(f, mode="rev")(X)]
        compiled = tape.compile(tape.jacobian(f, mode="rev"))
        compiled(X[::-1].copy())
        found.append(compiled(X))
        print(name, *[f"{np.max(np.abs(one - expected)) / size:.1e}" for one in found])


if __name__ == "__main__":
    main()
