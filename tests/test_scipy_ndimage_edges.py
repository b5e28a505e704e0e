"""Images between their pixels and filtered at their edges: all modes, sizes from one pixel on, and errors."""

import numpy as np
import pytest
from scipy import ndimage as original

import tape
from tape import errors
from tape.scipy import ndimage

MODES = ["reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap"]
PLACES = np.array([
    -9.0, -7.3, -4.0, -3.5, -2.6, -1.0, -0.6, -0.5, -0.2, 0.0, 0.3, 0.5, 1.0, 1.7, 2.0, 2.5, 2.9, 3.0, 3.2,
    3.5, 4.0, 4.6, 5.5, 6.0, 8.0, 11.7,
])  # fmt: skip
RNG = np.random.default_rng(0)


def assert_same(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert np.shape(found) == np.shape(expected)
    assert np.result_type(found) == np.result_type(expected)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_coordinates_inside_and_far_outside_of_images_of_any_size(size, mode, order):
    x = RNG.normal(size=size)
    places = PLACES + 0.01 if order == 0 else PLACES  # where no pixel is the nearest one by a hair
    if order > 1 and size == 1:
        return
    found, expected = (
        module.map_coordinates(x, [places], order=order, mode=mode, cval=2.5)
        for module in (ndimage, original)
    )
    assert_same(found, expected)
    if order == 0:
        return
    by_values = tape.jvp(lambda x: ndimage.map_coordinates(x, [places], order=order, mode=mode), (x,), (x,))[
        1
    ]
    assert_same(by_values, original.map_coordinates(x, [places], order=order, mode=mode))  # it is linear


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shift", [0.0, 0.4, -1.3, 5.0, (0.5, -2.2)])
def test_shifted_images(shift, mode):
    x = RNG.normal(size=(4, 5))
    for order in (1, 3):
        found, expected = (m.shift(x, shift, order=order, mode=mode, cval=1.0) for m in (ndimage, original))
        assert_same(found, expected)
    unfiltered = [m.shift(x, shift, order=2, mode=mode, prefilter=False) for m in (ndimage, original)]
    assert_same(*unfiltered)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("grid_mode", [False, True])
@pytest.mark.parametrize("factor", [1, 2, 0.5, 1.7, (2, 0.6), 0.2])
def test_zoomed_images(factor, grid_mode):
    x = RNG.normal(size=(4, 5))
    for mode in ("constant", "nearest", "grid-constant", "reflect"):
        options = {"order": 1, "mode": mode, "grid_mode": grid_mode, "cval": 0.5}
        with np.errstate(all="ignore"):
            assert_same(*(m.zoom(x, factor, **options) for m in (ndimage, original)))


MATRICES = {
    "diagonal": np.array([0.7, 1.2]),
    "square": np.array([[0.9, -0.3], [0.2, 1.1]]),
    "with a column": np.array([[0.9, -0.3, 0.5], [0.2, 1.1, -0.25]]),
    "homogeneous": np.array([[0.9, -0.3, 0.5], [0.2, 1.1, -0.25], [0.0, 0.0, 1.0]]),
}


@pytest.mark.parametrize("output_shape", [None, (3, 6), [2, 2]])
@pytest.mark.parametrize("name", MATRICES)
def test_affine_transforms(name, output_shape):
    x, matrix = RNG.normal(size=(4, 5)), MATRICES[name]
    for offset in (0.0, 0.3, [0.5, -0.5]):
        for mode in ("constant", "mirror"):
            options = {"offset": offset, "output_shape": output_shape, "order": 1, "mode": mode}
            if output_shape is not None:
                options["output_shape"] = tuple(output_shape)
            assert_same(*(m.affine_transform(x, matrix, **options) for m in (ndimage, original)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: ndimage.affine_transform(x, np.ones(3)), r"affine_transform: a matrix of shape \[3\]"),
        (lambda x: ndimage.affine_transform(x, np.eye(2), output_shape=(3,)), "to a result of 1. It must be"),
        (lambda x: ndimage.affine_transform(x, np.ones((3, 3))), "affine_transform: the last row"),
        (lambda x: ndimage.affine_transform(x, np.eye(2), np.ones(3)), "affine_transform: .* for 2 axes"),
        (lambda x: ndimage.shift(x, [1.0, 2.0, 3.0]), "shift: .*for 2 axes"),
        (lambda x: ndimage.zoom(x, [1.0, 2.0, 3.0]), "zoom: .*for 2 axes"),
        (lambda x: ndimage.shift(x, 1.0, order=6), "shift: the order is 6"),
        (lambda x: ndimage.shift(x, 1.0, order=-1), "shift: the order is -1"),
        (lambda x: ndimage.shift(x, 1.0, mode="round"), "shift: mode"),
        (lambda x: ndimage.zoom(x, 2.0, mode="round"), "zoom: mode"),
        (lambda x: ndimage.map_coordinates(x, np.ones((2, 3)), mode="round"), "map_coordinates: mode"),
        (lambda x: ndimage.affine_transform(x, np.eye(2), mode="round"), "affine_transform: mode"),
        (lambda x: ndimage.gaussian_filter(x, [1.0, 2.0, 3.0]), "gaussian_filter: "),
        (lambda x: ndimage.uniform_filter(x, 3, axes=(0, 0)), "uniform_filter: "),
        (lambda x: ndimage.uniform_filter(x, 3, axes=2), "uniform_filter: "),
        (lambda x: ndimage.uniform_filter(x, (3, 3, 3)), "uniform_filter: "),
        (lambda x: ndimage.correlate(x, np.ones((0, 2))), "correlate: weights"),
        (lambda x: ndimage.correlate(x, np.ones(2)), "correlate: weights"),
        (lambda x: ndimage.correlate(x, np.ones((2, 2)), origin=3), "correlate: origin"),
        (lambda x: ndimage.correlate1d(x, np.ones(3), origin=2), "correlate1d: weights"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_by_name(call, said):
    with pytest.raises(errors.TapeError, match=rf"^ndimage\.{said}" if not said.startswith("to a") else said):
        call(RNG.normal(size=(4, 5)))


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_filters_of_images_smaller_than_their_window(size, mode):
    x = RNG.normal(size=(size, 3))
    for call in (
        lambda m: m.gaussian_filter(x, 1.5, mode=mode, cval=0.5),
        lambda m: m.gaussian_filter1d(x, 1.0, axis=0, order=1, mode=mode, truncate=2.0),
        lambda m: m.gaussian_filter(x, (0.0, 1.0), mode=mode, radius=(1, 2)),
        lambda m: m.uniform_filter(x, (3, 2), mode=mode, cval=0.5, origin=(1, 0)),
        lambda m: m.uniform_filter1d(x, 4, axis=0, mode=mode, origin=-1),
        lambda m: m.correlate1d(x, [1.0, 2.0, 4.0], axis=0, mode=mode, origin=1, cval=0.5),
        lambda m: m.convolve1d(x, [1.0, 2.0, 4.0, 8.0], axis=0, mode=mode, origin=1, cval=0.5),
        lambda m: m.correlate(x, np.arange(6.0).reshape(2, 3), mode=mode, origin=(-1, 1), cval=0.5),
        lambda m: m.convolve(x, np.arange(6.0).reshape(3, 2), mode=mode, origin=(1, 0), cval=0.5),
        lambda m: m.sobel(x, 0, mode=mode),
        lambda m: m.prewitt(x, 0, mode=mode),
        lambda m: m.laplace(x, mode=mode),
        lambda m: m.gaussian_laplace(x, 1.0, mode=mode),
        lambda m: m.gaussian_gradient_magnitude(x, 1.0, mode=mode),
    ):
        assert_same(call(ndimage), call(original), 1e-9)
