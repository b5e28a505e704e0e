"""Training pictures: every input has a picture without a warning, and the numbers in it are right."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tape import errors

pytest.importorskip("matplotlib", reason="training pictures are drawn by matplotlib")

from tape.viz.curve import curve
from tape.viz.histograms import histograms
from tape.viz.landscape import landscape
from tape.viz.slices import landscape_slice
from tests.tiers import grid, takes_long

quick = settings(max_examples=8)
losses = st.lists(st.floats(-1e100, 1e100) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0]), min_size=1)
dtypes = st.sampled_from(["f2", "f4", "f8", "g", "c8", "c16", "i4", "?"])


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def bowl(params):
    return np.sum(params["w"] ** 2) + 3 * np.sum(np.asarray(params["b"]) ** 2)


BOWL = {"w": np.array([[3.0, 4.0], [0.0, 2.0]]), "b": 1.5}


# ---- curve ---------------------------------------------------------------------------------------


@takes_long
@quick
@given(losses, st.sampled_from([True, False, "auto"]), st.sampled_from([None, 1, 3]))
@example(values=[9.99999999999997e99], log=True, smooth=None)
def test_any_losses_have_a_curve(values, log, smooth):
    curve(values, log=log, smooth=smooth).draw_without_rendering()


@given(losses)
@quick
def test_the_legend_names_the_minimum_and_the_first_step_that_broke(values):
    lines = legend(curve(values, log=False))
    array = np.array(values)
    finite = np.isfinite(array)
    if finite.any():
        least = int(np.where(finite, array, np.inf).argmin())
        assert lines[0].endswith(f"at step {least}")
    if not finite.all():
        assert f"at step {int((~finite).argmax())}" in lines[1]


def test_losses_are_drawn_as_they_are_and_smoothed_over_it():
    values = np.random.default_rng(0).normal(size=200)
    raw, strong = curve(values, smooth=5).axes[0].lines[:2]
    np.testing.assert_array_equal(raw.get_ydata(), values)
    assert strong.get_ydata()[100] == pytest.approx(values[98:103].mean())


def test_the_mean_on_a_logarithmic_axis_is_geometric():
    values = 10.0 ** np.array([0.0, -3.0, -6.0])
    axes = curve(values, smooth=3).axes[0]
    assert axes.get_yscale() == "log"
    assert axes.lines[1].get_ydata()[1] == pytest.approx(1e-3)


def test_the_outline_of_a_long_curve_keeps_its_extremes():
    values = np.random.default_rng(0).normal(size=300_000)
    drawn = curve(values).axes[0].lines[0].get_ydata()
    assert len(drawn) < 5000
    assert (drawn.min(), drawn.max()) == (values.min(), values.max())


def test_several_curves_each_at_its_own_steps():
    lines = legend(curve({"training": [3.0, 2.0, 1.0], "validation": {2: np.float32(1.5), 0: 4.0}}))
    assert lines[0].startswith("training: last 1")
    assert lines[1] == "validation: last 1.5 · min 1.5 at step 2"


def test_vars_can_be_drawn():
    trace = tape.Trace()
    assert legend(curve([trace.param(2.0), trace.param(1.0)])) == ["loss: last 1 · min 1 at step 1"]


@pytest.mark.parametrize(
    "wrong", [[], {}, {"a": []}, [[1.0, 2.0]], ["x"], [1j], 3.0, [[1.0], [1.0, 2.0]], {"a": {}}], ids=repr
)
def test_what_is_no_curve_is_refused(wrong):
    with pytest.raises(errors.OptionError, match="curve"):
        curve(wrong)


# ---- histograms ----------------------------------------------------------------------------------


@takes_long
@quick
@given(st.data())
def test_any_gradients_have_histograms(data):
    count = data.draw(st.sampled_from([1, 2, 30]))
    arrays = dtypes.flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
    )
    gradients = data.draw(st.lists(arrays, min_size=count, max_size=count))
    histograms(gradients, log=data.draw(st.sampled_from([True, "auto"]))).draw_without_rendering()


@pytest.mark.parametrize("log", [True, False])
@given(values=hnp.arrays("f8", st.integers(1, 300), elements=st.floats(allow_nan=True, allow_infinity=True)))
@quick
def test_bars_count_every_finite_element(values, log):
    (axes,) = histograms([values], log=log).axes
    assert sum(bar.get_height() for bar in axes.patches) == np.isfinite(values).sum()
    assert ("NaN" in axes.get_title(loc="right")) == np.isnan(values).any()
    assert ("infinite" in axes.get_title(loc="right")) == np.isinf(values).any()


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-3, 1.0, 1e200, 1e308])
def test_captions_hold_at_any_magnitude(scale):
    (axes,) = histograms([np.array([0.0, 1.0, 1.0, 1.0]) * scale]).axes
    mean, _, zeros = axes.texts[0].get_text().split(" · ")
    assert float(mean.removeprefix("mean ").replace("−", "-")) == pytest.approx(0.75 * scale, rel=0.01)
    assert zeros == "25% zeros"


def test_names_come_from_the_trace_the_tree_or_the_caller():
    trace = tape.Trace()
    w, b = trace.param(np.ones(3), name="w"), trace.param(2.0)
    gradients = trace.backward_param_grads(np.sum(w * b))

    def titles(*args, **kwargs):
        return [axes.get_title(loc="left") for axes in histograms(*args, **kwargs).axes]

    assert titles(gradients, trace=trace) == ["w  3", "%1  scalar"]
    assert titles(gradients, names=["one", "two"]) == ["one  3", "two  scalar"]
    assert titles({"layer": [np.ones((2, 3))]}) == ["layer[0]  2×3"]
    assert titles(np.ones(2)) == ["gradient  2"]


def test_many_params_are_rows_of_quantiles():
    gradients = [np.full(9, 10.0**-k) for k in range(200)] + [np.array([np.nan, 0.0])]
    left, right = histograms(gradients).axes
    np.testing.assert_allclose(left.lines[0].get_xdata()[:200], -np.arange(200.0), atol=1e-9)
    assert right.texts[0].get_text() == "1 NaN"


@pytest.mark.parametrize("wrong", [[], ["a"], [object()], np.array(["a"])])
def test_what_is_no_gradient_is_refused(wrong):
    with pytest.raises(errors.OptionError, match="histograms"):
        histograms(wrong)


def test_another_number_of_names_is_refused():
    with pytest.raises(errors.OptionError, match="1 names for 2"):
        histograms([np.ones(2), np.ones(2)], names=["w"])


def test_names_and_traces_are_what_they_should_be():
    for options, words in (
        ({"names": 3}, "list of str, not 3"),
        ({"names": "w"}, "list of str, not 'w'"),
        ({"trace": 3}, "expected a Trace, got 3"),
    ):
        with pytest.raises(errors.OptionError, match=words):
            histograms([np.ones(2)], **options)


# ---- slices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_loss_is_that_at_the_point_shown(dimensions):
    found = landscape_slice(bowl, BOWL, dimensions=dimensions, points=5, span=0.5)
    first, second = found.directions[0], found.directions[-1]
    for j, b in enumerate(found.beta):
        for i, a in enumerate(found.alpha):
            point = {k: BOWL[k] + a * first[k] + (b * second[k] if dimensions == 2 else 0) for k in BOWL}
            assert found.loss[j, i] == pytest.approx(bowl(point), rel=1e-12)
    assert found.loss[len(found.beta) // 2, 2] == bowl(BOWL)


@pytest.mark.parametrize("axis", [0, -1])
def test_random_directions_have_the_norms_of_the_filters(axis):
    rng = np.random.default_rng(0)
    params = [
        rng.normal(size=(3, 2, 5)).astype("f4"),
        rng.normal(size=4),
        np.zeros(3),
        1 + 2j * rng.normal(size=(2, 2)),
    ]
    found = landscape_slice(lambda p: 0.0, params, points=2, filter_axis=axis)

    def filters(array):
        rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1) if array.ndim > 1 else array[None]
        return np.linalg.norm(rows, axis=1)

    for direction in found.directions:
        for part, param in zip(direction, params, strict=True):
            assert part.dtype == param.dtype
            np.testing.assert_allclose(filters(part), filters(param), rtol=1e-5)


def test_a_seed_gives_the_same_slice_again():
    first, again, other = (landscape_slice(bowl, BOWL, points=3, seed=seed).loss for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_trajectory_in_a_plane_is_drawn_without_loss():
    rng = np.random.default_rng(0)
    plane, coordinates = rng.normal(size=(2, 7)), rng.normal(size=(6, 2))
    centre = rng.normal(size=7)
    found = landscape_slice(np.sum, centre, trajectory=list(centre + coordinates @ plane), points=3)
    first, second = found.directions
    np.testing.assert_allclose([first @ first, second @ second, first @ second], [1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(found.trajectory @ np.stack([first, second]), coordinates @ plane)
    assert sum(found.explained) == pytest.approx(1)
    for k, along in enumerate((found.alpha, found.beta)):
        assert along[0] < found.trajectory[:, k].min() <= found.trajectory[:, k].max() < along[-1]


def test_what_does_not_move_arrives_as_it_was():
    seen = []
    params = {"x": np.float32(2.0), "n": 3, "flags": np.array([True])}
    landscape_slice(lambda p: seen.append(p) or p["x"], params, dimensions=1, points=3)
    assert all(p["n"] is params["n"] and p["flags"] is params["flags"] for p in seen)
    assert {type(p["x"]) for p in seen} == {np.float32}


def test_neither_params_nor_snapshots_are_written_to():
    params = np.arange(1.0, 5.0)
    snapshots = [np.zeros(4), np.ones(4)]
    for array in (params, *snapshots):
        array.flags.writeable = False
    landscape_slice(np.sum, params, trajectory=snapshots, points=2)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"points": 1}, errors.OptionError, "points must be a whole number, at least 2, not 1"),
        ({"points": 2.5}, errors.OptionError, "at least 2, not 2.5"),
        ({"span": -1.0}, errors.OptionError, "span must be a positive number, not -1.0"),
        ({"span": np.nan}, errors.OptionError, "not nan"),
        ({"dimensions": 3}, errors.OptionError, "dimensions must be 1 or 2, not 3"),
        ({"filter_axis": 2}, errors.OptionError, "filter_axis=2"),
        ({"filter_axis": "a"}, errors.OptionError, "filter_axis must be 0 or -1, not 'a'"),
        ({"seed": "a"}, errors.OptionError, "seed must be a whole number, at least 0, not 'a'"),
        ({"trajectory": 3}, errors.OptionError, "trajectory is 3"),
        ({"directions": [BOWL]}, errors.OptionError, "list of 2"),
        ({"directions": BOWL}, errors.OptionError, "list of 2"),
        ({"directions": [np.ones(2), BOWL]}, errors.ShapeError, "directions[0]"),
        ({"directions": [{"w": np.ones(2), "b": 1.0}, BOWL]}, errors.ShapeError, "float64[2]"),
        ({"trajectory": [BOWL]}, errors.OptionError, "two snapshots"),
        ({"trajectory": [BOWL, {"w": BOWL["w"], "b": np.nan}]}, errors.OptionError, "not finite"),
        ({"trajectory": [BOWL, BOWL], "dimensions": 1}, errors.OptionError, "its own two directions"),
    ],
    ids=str,
)
def test_options_that_make_no_slice_are_refused(options, error, says):
    with pytest.raises(error) as caught:
        landscape_slice(bowl, BOWL, **options)
    assert says in str(caught.value)
    assert str(caught.value).startswith("landscape_slice: ")


@pytest.mark.parametrize("params", [np.zeros(3), 3, [], np.zeros((0, 2))], ids=repr)
def test_params_that_cannot_move_are_refused(params):
    with pytest.raises(errors.OptionError, match=r"all zero|no float"):
        landscape_slice(np.sum, params)


@pytest.mark.parametrize("out", [np.ones(2), 1j, None, "low"], ids=repr)
def test_a_loss_is_one_real_number(out):
    with pytest.raises(errors.ShapeError, match="A loss must be one real number"):
        landscape_slice(lambda p: out, BOWL)


# ---- landscape -----------------------------------------------------------------------------------

SHAPES = {
    "steep": lambda p: np.exp(20 * p["b"]),
    "flat": lambda p: 1.0,
    "zero": lambda p: 0.0,
    "negative": lambda p: -bowl(p),
    "broken": lambda p: np.log(p["b"] - 1.0),
    "all broken": lambda p: np.nan,
    "compiled": tape.compile(lambda p: np.sum(p["w"] ** 2) * p["b"]),
}


@takes_long
@grid(shape=SHAPES, kind=["contour", "surface", "line"])
def test_any_loss_has_a_landscape(shape, kind):
    for log in (True, "auto") if kind == "contour" else ("auto",):
        landscape(SHAPES[shape], BOWL, kind=kind, points=5, log=log).draw_without_rendering()


@pytest.mark.parametrize("kind", ["contour", "surface"])
def test_a_path_that_stands_still_or_is_straight_is_drawn(kind):
    straight = [{"w": BOWL["w"], "b": b} for b in (4.0, 3.0, 2.0)]
    for path in ([BOWL, BOWL], straight):
        landscape(bowl, BOWL, kind=kind, trajectory=path, points=5).draw_without_rendering()


def test_the_caption_tells_the_least_loss_and_what_is_not_finite():
    unit = {"w": np.zeros((2, 2)), "b": 1.0}
    figure = landscape(lambda p: np.sqrt(p["b"] - 1.5), BOWL, kind="line", directions=[unit], points=5)
    assert figure.get_suptitle() == "min 0 at (0) · max 1 · 2 of 5 points not finite"


# ---- all of them ---------------------------------------------------------------------------------

DRAWN = {
    "curve": lambda **options: curve([2.0, 1.0], **options),
    "histograms": lambda **options: histograms([np.arange(9.0)], **options),
    "landscape": lambda **options: landscape(bowl, BOWL, points=4, **options),
}
every_picture = pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)


STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@grid(ids=str, draw=DRAWN, ending=STARTS)
def test_pictures_are_saved_by_their_ending(draw, ending, tmp_path):
    path = tmp_path / f"picture.{ending}"
    figure = DRAWN[draw](path=path)
    assert path.read_bytes().startswith(STARTS[ending])
    assert figure._repr_png_().startswith(b"\x89PNG")


@every_picture
def test_wrong_options_are_refused_before_anything_is_drawn(draw, tmp_path):
    with pytest.raises(errors.OptionError, match=r"\.png, \.svg or \.pdf"):
        draw(path=tmp_path / "picture.bmp")
    with pytest.raises(errors.OptionError, match="there is no folder"):
        draw(path=tmp_path / "missing" / "picture.png")
    with pytest.raises(errors.OptionError, match="log='yes'"):
        draw(log="yes")


def test_matplotlib_is_only_imported_to_draw_and_pyplot_never():
    code = """
import sys
from tape.viz.curve import curve
from tape.viz.histograms import histograms
from tape.viz.landscape import landscape
assert "matplotlib" not in sys.modules
curve([1.0])
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(errors.UnsupportedError, match=r"matplotlib.*pip install 'tape\[viz\]'"):
        curve([1.0])
