"""Filters and interpolation of images as in `scipy.ndimage`, differentiable by images, weights and places.

`convolve`, `correlate`, `convolve1d`, `correlate1d`; `gaussian_filter`, `gaussian_filter1d`,
`gaussian_laplace`, `gaussian_gradient_magnitude`, `uniform_filter`, `uniform_filter1d`, `sobel`, `prewitt`,
`laplace`; `map_coordinates`, `shift`, `zoom`, `affine_transform`, `spline_filter` and `spline_filter1d`. All
modes and origins are there. Images of ints, and results that are written to ``output=``, are SciPy's, and so
are all other names, for plain numbers.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy import ndimage
>>> image = np.eye(5)
>>> blur = lambda sigma: np.sum(ndimage.gaussian_filter(image, sigma) ** 2)
>>> bool(tape.grad(blur)(1.0) < 0)
True
"""

from scipy import ndimage as _ndimage

from tape.scipy._operands import refusing
from tape.scipy.ndimage._filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from tape.scipy.ndimage._gaussians import (
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
)
from tape.scipy.ndimage._interpolation import (
    affine_transform,
    map_coordinates,
    shift,
    zoom,
)
from tape.scipy.ndimage._splines import spline_filter, spline_filter1d

__all__ = [
    "affine_transform",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "laplace",
    "map_coordinates",
    "prewitt",
    "shift",
    "sobel",
    "spline_filter",
    "spline_filter1d",
    "uniform_filter",
    "uniform_filter1d",
    "zoom",
]

__getattr__, __dir__ = refusing(
    _ndimage,
    globals(),
    "scipy.ndimage",
    "convolve, correlate, gaussian_filter, uniform_filter, sobel, prewitt, laplace, their like along one "
    "axis, map_coordinates, shift, zoom, affine_transform and spline_filter",
)
