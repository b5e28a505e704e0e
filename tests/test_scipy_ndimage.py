"""Images beside SciPy's: all modes of extension, windows, orders; derivatives, and what is refused."""

import numpy as np
import pytest
from scipy import ndimage as original

import tape
from tape import errors
from tape.scipy import ndimage
from tests.op_table.scipy_ndimage import ALL
from tests.oracles import assert_close
from tests.scipy_checks import check_compiled, check_derivatives, check_value
from tests.tiers import grid, some

MODES = ["reflect", "mirror", "nearest", "constant", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
SHAPES = [(5,), (4, 5), (3, 4, 5), (1,), (1, 4)]


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
    """The results of both modules, as alike as their rounding."""
    ours, theirs = (getattr(module, name)(*args, **options) for module in (ndimage, original))
    assert ours.dtype == theirs.dtype
    assert_close(ours, theirs, 1e-6 if ours.dtype == np.float32 else 1e-13)


@grid(mode=MODES, shape=SHAPES, size=[1, 2, 3, 4, 7])
def test_windows(mode, shape, size):
    rng = np.random.default_rng(size)
    x, w = rng.normal(size=shape), rng.normal(size=size)
    for origin in range(-(size // 2), (size - 1) // 2 + 1):
        both("correlate1d", x, w, 0, None, mode, 0.7, origin)
        if -(size // 2) <= -origin - (1 - size % 2):
            both("convolve1d", x, w, 0, None, mode, 0.7, origin)
    window = rng.normal(size=(size, 3, 2)[: len(shape)])
    for name in ("correlate", "convolve"):
        both(name, x, window, None, mode, 0.7)
        both(name, x.astype(np.float32), window, None, mode, 0.7)
        both(name, x, w, None, mode, 0.7, axes=(x.ndim - 1,))
    both("uniform_filter", x, size, None, mode, 0.7)


@grid(mode=MODES, shape=SHAPES)
def test_smoothing_and_differences(mode, shape):
    x = np.random.default_rng(len(shape)).normal(size=shape)
    sigma = [0.5, 1.2, 0.7][: x.ndim]
    for order in range(4):
        both("gaussian_filter", x, sigma, order, None, mode, 0.3)
    both("gaussian_filter", x, 0.0, mode=mode)
    for name in ("sobel", "prewitt"):
        both(name, x, 0, None, mode, 0.3)
    both("laplace", x, None, mode, 0.3)
    for name in ("gaussian_laplace", "gaussian_gradient_magnitude"):
        both(name, x, 0.8, None, mode, 0.3)


@grid(mode=MODES, shape=SHAPES, order=range(6))
@pytest.mark.filterwarnings("ignore:It is recommended")
def test_between_pixels(mode, shape, order):
    rng = np.random.default_rng(order)
    x, d = rng.normal(size=shape), len(shape)
    places = np.concatenate([rng.uniform(-12, 16, (d, 30)), rng.integers(-3, 6, (d, 10))], 1)
    steps, matrix = rng.uniform(-3, 3, d), rng.normal(size=(d, d))
    for prefilter in (True, False):
        both("map_coordinates", x, places, None, order, mode, 0.7, prefilter)
        both("shift", x, steps, None, order, mode, 0.7, prefilter)
    for grid_mode in (True, False):
        both("zoom", x, 1.7, None, order, mode, 0.7, grid_mode=grid_mode)
    for m in (matrix, matrix[0], np.concatenate([matrix, steps[:, None]], 1)):
        both("affine_transform", x, m, steps, None, None, order, mode, 0.7)
    both("map_coordinates", x.astype(np.float32), places, None, order, mode, 0.7)
    if order > 1:
        both("spline_filter", x, order, mode=mode)
        both("spline_filter1d", x, order, 0, mode=mode)
    both("uniform_filter1d", x, 3, -1, mode=mode)


# ---- derivatives -----------------------------------------------------------------------------------


@grid(mode=MODES, order=[2, 3, 5], size=[1, 2, 5, 30])
def test_reverse_mode_is_the_transpose_of_the_filter(mode, order, size):
    """SciPy's filter for reflection is not symmetric when there are few pixels."""
    f = lambda x: ndimage.shift(x, 0.3, order=order, mode=mode)  # noqa: E731
    rng = np.random.default_rng(size)
    x, t, g = rng.normal(size=(3, size))
    _, pull = tape.vjp(f, x)
    assert_close(np.sum(pull(g) * t), np.sum(g * tape.jvp(f, (x,), (t,))[1]), 1e-13)


def test_the_nearest_pixel_does_not_move():
    at = lambda c: np.sum(ndimage.map_coordinates(np.arange(5.0), c, order=0))  # noqa: E731
    assert not tape.grad(at)(np.array([[1.2, 3.4]])).any()


def test_a_flat_image_has_a_gradient_of_length_zero_and_no_derivative():
    f = lambda x: np.sum(ndimage.gaussian_gradient_magnitude(x, 1.0))  # noqa: E731
    assert not tape.grad(f)(np.zeros((4, 4))).any()


def test_the_window_of_another_sigma_in_a_program():
    f = lambda x, sigma: ndimage.gaussian_filter1d(x, sigma)  # noqa: E731
    compiled, x = tape.compile(f), np.random.default_rng(0).normal(size=9)
    for sigma in (0.3, 1.0, 2.2, 1.05):
        assert_close(compiled(x, sigma), original.gaussian_filter1d(x, sigma), 1e-13)


NOTHING = np.zeros((0, 4))


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("correlate", (NOTHING, np.ones((2, 2))), {}),
        ("convolve", (NOTHING, np.ones((2, 2))), {}),
        ("correlate1d", (NOTHING, np.ones(3)), {}),
        ("gaussian_filter", (NOTHING, 1.0), {}),
        ("map_coordinates", (NOTHING, [[0.0, 1.0, -2.0], [1.0, 1.0, 1.0]], None, 3, "constant", 2.0), {}),
        ("map_coordinates", (NOTHING, [[0.0, 1.0], [1.0, 1.0]], None, 1, "grid-constant", 2.0), {}),
        ("zoom", (NOTHING, 2.0), {}),
        ("zoom", (np.eye(3, 4), (0, 2)), {}),
        ("zoom", (np.eye(3, 4), (1, 2)), {}),
        ("zoom", (np.eye(3, 4), 1.0), {}),
        ("zoom", (np.eye(3, 4), 1.0), {"prefilter": False}),
        ("spline_filter", (NOTHING,), {}),
        ("spline_filter1d", (NOTHING,), {}),
        ("spline_filter1d", (np.eye(3, 4), 1), {}),
        ("laplace", (np.eye(3, 4),), {"axes": ()}),
        ("gaussian_laplace", (np.eye(3, 4), 1.0), {"axes": ()}),
        ("gaussian_gradient_magnitude", (-np.eye(3, 4), 1.0), {"axes": ()}),
    ],
)  # fmt: skip
def test_images_without_elements_axes_or_change(name, args, options):
    both(name, *args, **options)


def test_an_image_of_the_same_size_is_a_copy():
    x = np.eye(3)
    assert not np.shares_memory(ndimage.zoom(x, 1.0), x)


def test_images_in_batches():
    x = np.random.default_rng(1).normal(size=(3, 4, 5))
    for f in (ndimage.laplace, lambda x: ndimage.shift(x, 0.4, mode="mirror")):
        assert_close(tape.vmap(f)(x), [f(image) for image in x], 1e-14)


# ---- what is left to SciPy, and errors -------------------------------------------------------------


def test_images_of_ints_and_outputs_are_scipys():
    x = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(ndimage.uniform_filter(x, 2), original.uniform_filter(x, 2))
    out = np.zeros((3, 4))
    assert ndimage.sobel(x, output=out) is out
    assert ndimage.label(x > 3)[1] == 1
    with pytest.raises(errors.UnsupportedError, match="output"):
        tape.grad(lambda x: np.sum(ndimage.sobel(x, output=out)))(out)
    with pytest.raises(errors.UnsupportedError, match=r"median_filter.*gaussian_filter"):
        tape.grad(lambda x: np.sum(ndimage.median_filter(x, 3)))(out)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: ndimage.correlate1d(x, np.ones(3), origin=2), errors.OptionError, "origin"),
        (lambda x: ndimage.correlate(x, np.ones(3)), errors.ShapeError, "axis for each"),
        (lambda x: ndimage.sobel(x, 5), errors.ShapeError, "no axis 5"),
        (lambda x: ndimage.sobel(x, mode="far"), errors.OptionError, "mode"),
        (lambda x: ndimage.gaussian_filter(x, [1.0, 2.0, 3.0]), errors.ShapeError, "3 elements for 2 axes"),
        (lambda x: ndimage.map_coordinates(x, np.ones((3, 2))), errors.ShapeError, "coordinates"),
        (lambda x: ndimage.shift(x, 1.0, order=6), errors.OptionError, "order"),
        (lambda x: ndimage.affine_transform(x, np.ones((3, 2))), errors.ShapeError, "matrix"),
        (
            lambda x: ndimage.affine_transform(x, np.eye(2), [1, 2, 3]),
            errors.ShapeError,
            r"\[3\] numbers for 2",
        ),
        (lambda x: ndimage.zoom(x, -1.0), errors.OptionError, "zoom is -1.0. It must not be negative"),
        (lambda x: ndimage.gaussian_filter1d(x, 1j), errors.DTypeError, "sigma is 1j"),
        (lambda x: ndimage.gaussian_filter1d(x, [1.0, 2.0]), errors.DTypeError, r"sigma is \[1.0, 2.0\]"),
        (lambda x: ndimage.gaussian_filter1d(x, 1.0, order=-1), errors.OptionError, "the order is -1"),
        (lambda x: ndimage.gaussian_filter1d(x, 1.0, order=1.5), errors.OptionError, "the order is 1.5"),
        (lambda x: ndimage.spline_filter1d(x, 6), errors.OptionError, r"spline_filter1d: the order is 6"),
        (
            lambda x: ndimage.spline_filter1d(x, mode="far"),
            errors.OptionError,
            "spline_filter1d: mode is 'far'",
        ),
        (lambda x: ndimage.spline_filter1d(x, output=np.float32), errors.OptionError, "must be np.float64"),
    ],
)
def test_errors_say_what_to_do(call, kind, message):
    x = np.ones((4, 4))
    with pytest.raises(kind, match=message):
        call(x)
    with pytest.raises(kind, match=message):
        tape.grad(lambda x: np.sum(call(x)))(x)


WITH_ORIGIN = {
    "correlate1d": lambda n: np.arange(1.0, n + 1), "convolve1d": lambda n: np.arange(1.0, n + 1),
    "uniform_filter1d": lambda n: n, "uniform_filter": lambda n: (n, 2),
    "correlate": lambda n: np.arange(2.0 * n).reshape(n, 2),
    "convolve": lambda n: np.arange(2.0 * n).reshape(n, 2),
}  # fmt: skip


def refuses(call):
    try:
        call()
    except (errors.TapeError, ValueError):
        return True
    return False


@pytest.mark.parametrize("name", WITH_ORIGIN)
def test_origins_are_inside_of_the_window(name):
    """Windows of all sizes may be moved as far as SciPy moves them, and no further."""
    x = np.random.default_rng(8).normal(size=(5, 6))
    for n in (1, 2, 3, 4, 5):
        for origin in range(-3, 4):
            given = (origin, 0) if name in ("uniform_filter", "correlate", "convolve") else origin
            window = WITH_ORIGIN[name](n)
            ours, theirs = (
                lambda m=m, w=window, o=given: getattr(m, name)(x, w, origin=o) for m in (ndimage, original)
            )
            assert refuses(ours) == refuses(theirs), (n, origin)
            if not refuses(theirs):
                assert_close(ours(), theirs(), 1e-13)
            else:
                with pytest.raises(errors.OptionError, match="origin"):
                    ours()


@pytest.mark.parametrize("radius", [0, 1, 4, -1, 1.5])
def test_radii_of_windows_are_whole_numbers(radius):
    x = np.random.default_rng(9).normal(size=(5, 6))
    for name in ("gaussian_filter1d", "gaussian_filter"):
        ours, theirs = (
            lambda m=m, name=name: getattr(m, name)(x, 1.2, radius=radius) for m in (ndimage, original)
        )
        assert refuses(ours) == refuses(theirs) == (radius in (-1, 1.5))
        if not refuses(theirs):
            assert_close(ours(), theirs(), 1e-13)


WITH_AXES = {
    "correlate": (np.ones((2, 2)),), "convolve": (np.ones((2, 2)),), "uniform_filter": (3,),
    "gaussian_filter": (1.0,), "gaussian_laplace": (1.0,), "gaussian_gradient_magnitude": (1.0,),
    "laplace": (),
}  # fmt: skip
WITH_AXIS = {
    "correlate1d": (np.ones(2),), "convolve1d": (np.ones(2),), "uniform_filter1d": (3,),
    "gaussian_filter1d": (1.0,), "sobel": (), "prewitt": (), "spline_filter1d": (),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_AXES | WITH_AXIS)
def test_axes_count_from_either_end_and_are_there_once(name):
    x, args = np.random.default_rng(4).normal(size=(4, 3, 5)), (WITH_AXES | WITH_AXIS)[name]
    f = getattr(ndimage, name)
    if name in WITH_AXIS:
        for axis in (0, 1, -1, -3):
            both(name, x, *args, axis=axis)
        wrong = [{"axis": 3}, {"axis": -4}, {"axis": 0.5}]
    else:
        for axes in ((0, 1), (2, 0), (-1, 1), (1, -3)):
            if name != "gaussian_gradient_magnitude":  # see below
                both(name, x, *args, axes=axes)
        wrong = [{"axes": axes} for axes in ((0, 3), (0, -4), (1, 1), (1, -2), (0, 0.5))]
    for options in wrong:
        call = lambda x, options=options: np.sum(f(x, *args, **options))  # noqa: E731
        for each in (call, tape.grad(call)):
            with pytest.raises(errors.ShapeError, match=r"axes are .* of 3 axes|there is no axis"):
                each(x)


WITH_MODE = {
    **WITH_AXES, **WITH_AXIS, "shift": (0.5,), "zoom": (1.5,), "map_coordinates": (np.ones((2, 3)),),
    "affine_transform": (np.eye(2),), "spline_filter": (),
}  # fmt: skip
WITH_ORDER = ["shift", "zoom", "map_coordinates", "affine_transform", "spline_filter", "spline_filter1d"]


@pytest.mark.parametrize("name", WITH_MODE)
def test_modes_orders_and_images_that_there_are_not_are_errors_that_name_the_function(name):
    """Modes by the function that extends the image."""
    f, x = getattr(ndimage, name), np.ones((4, 4))
    inner = {"spline_filter": "spline_filter1d"}.get(name, name)
    inner = "gaussian_filter" if name in ("gaussian_laplace", "gaussian_gradient_magnitude") else inner
    with pytest.raises(errors.OptionError, match=rf"^ndimage\.{inner}: mode is 'around'\. Take .*, wrap"):
        f(x, *WITH_MODE[name], mode="around")
    if name in WITH_ORDER:
        for order in (-1, 6, 1.5, *[0, 1] * (name == "spline_filter")):
            with pytest.raises(errors.OptionError, match=rf"^ndimage\.{name}: the order is {order}\."):
                f(x, *WITH_MODE[name], order=order)
    if "spline" not in name:
        with pytest.raises(errors.DTypeError, match=rf"^ndimage\.{name}: the image is "):
            f(1.5, *WITH_MODE[name])


@pytest.mark.parametrize("name", ["shift", "zoom", "affine_transform", "correlate", "uniform_filter",
                                  "gaussian_filter", "laplace", "sobel"])  # fmt: skip
def test_as_many_numbers_as_axes_or_an_error_that_names_the_function(name):
    x, three = np.ones((4, 4)), [1, 1, 1]
    calls = {
        "shift": lambda: ndimage.shift(x, three),
        "zoom": lambda: ndimage.zoom(x, three),
        "affine_transform": lambda: ndimage.affine_transform(x, np.eye(2), three),
        "correlate": lambda: ndimage.correlate(x, np.ones((2, 2)), origin=three),
        "uniform_filter": lambda: ndimage.uniform_filter(x, three),
        "gaussian_filter": lambda: ndimage.gaussian_filter(x, three),
        "laplace": lambda: ndimage.laplace(x, mode=["wrap"] * 3),
        "sobel": lambda: ndimage.sobel(x, mode=["wrap"] * 3),
    }
    with pytest.raises(errors.ShapeError, match=rf"^ndimage\.{name}: .*3.* for 2 axes"):
        calls[name]()


def test_the_length_of_a_gradient_along_some_axes_is_that_of_each_image():
    """SciPy's smooths along the other axes, too."""
    x = np.random.default_rng(5).normal(size=(2, 4, 5))
    found = ndimage.gaussian_gradient_magnitude(x, [1.0, 0.5], axes=(1, 2))
    for image, expected in zip(x, found, strict=True):
        assert_close(original.gaussian_gradient_magnitude(image, [1.0, 0.5]), expected, 1e-13)


def test_windows_of_different_sizes_in_a_batch_are_refused():
    x = np.ones((4, 4))
    with pytest.raises(errors.UnsupportedError, match="radius"):
        tape.vmap(lambda s: ndimage.gaussian_filter(x, s))(np.array([1.0, 2.0]))
