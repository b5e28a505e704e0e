"""`tape plot`: curves where the function is, gaps where it is not, in any terminal."""

import re
import sys

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tape import errors
from tape.command import main
from tape.command.canvas import ASCII, BRAILLE, Canvas
from tape.command.chart import chart, ticks
from tape.command.sampling import Curve, limits, panels, sample
from tests.tiers import rounds


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.delenv("NO_COLOR", raising=False)


def drawn(capsys, *arguments):
    capsys.readouterr()
    assert main(["plot", *arguments]) == 0
    return capsys.readouterr().out


# ---- sampling ----------------------------------------------------------------------------------


def test_curves_are_the_derivatives():
    x = np.linspace(-2.0, 3.0, 50)
    curves = sample(np.sin, x, 3, "sin(x)")
    for curve, expected in zip(
        curves, (np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)), strict=True
    ):
        np.testing.assert_allclose(curve.y, expected(x), atol=1e-14)
    assert [curve.label for curve in curves] == ["f", "f'", "f''", "f'''"]
    assert not any(curve.breaks.any() for curve in curves)


@given(st.floats(-3.0, 3.0), st.integers(20, 400))
def test_a_pole_is_a_break_and_only_there(pole, points):
    x = np.linspace(-4.0, 4.0, points)
    curve = sample(lambda x: 1 / (x - pole), x, 0, "1/(x-p)")[0]
    assume(np.min(np.abs(x - pole)) > 1e-9)
    between = (x[:-1] < pole) & (pole < x[1:])
    np.testing.assert_array_equal(curve.breaks, between)


def test_jumps_are_breaks_and_what_is_undefined_is_nan():
    x = np.linspace(-1.0, 3.0, 101)
    saw = sample(lambda x: x - np.floor(x), x, 0, "saw")[0]
    assert saw.breaks.sum() >= 2
    root = sample(np.sqrt, x, 1, "sqrt(x)")
    np.testing.assert_array_equal(np.isnan(root[0].y), x < 0)


def test_what_is_true_is_drawn_as_one():
    x = np.linspace(-1.0, 1.0, 50)
    curve, slope = sample(lambda x: x > 0, x, 1, "x > 0")
    np.testing.assert_array_equal(curve.y, x > 0)
    assert not slope.y.any()


def test_functions_that_mix_points_are_refused():
    x = np.linspace(0.0, 1.0, 20)
    for mixing in (np.sum, np.cumsum, lambda x: x - np.mean(x)):
        with pytest.raises(errors.OptionError, match="point by point"):
            sample(mixing, x, 1, "f(x)")
    with pytest.raises(errors.OptionError, match="complex"):
        sample(lambda x: x * 1j, x, 1, "f(x)")
    with pytest.raises(errors.TapeError, match="finite nowhere"):
        sample(lambda x: np.log(x - 5), x, 1, "f(x)")


def curve_of(y, order=0):
    y = np.asarray(y, float)
    return Curve(order, np.linspace(0.0, 1.0, len(y)), y, np.zeros(len(y) - 1, bool))


FINITE = st.floats(-1e299, 1e299)


@given(st.lists(FINITE, min_size=2, max_size=40))
def test_limits_hold_most_values_and_have_a_height(y):
    low, high = limits([curve_of(y)])
    assert low < high
    assert np.mean((low <= np.array(y)) & (np.array(y) <= high)) >= 0.8


def test_poles_are_cut_off_and_steep_functions_are_not():
    x = np.linspace(-6.0, 6.0, 801)
    low, high = limits([sample(np.tan, x, 0, "tan")[0]])
    assert -50 < low < high < 50
    assert limits([sample(np.exp, x, 0, "exp")[0]])[1] > np.exp(6.0)


def test_curves_share_a_panel_unless_one_would_be_flat():
    small, large = curve_of([0, 1, 0]), curve_of([0, 100, 0], 1)
    assert panels([small, curve_of([2, 0, 1], 1)]) != [[small]]
    assert [len(panel) for panel in panels([small, large])] == [1, 1]
    assert [len(panel) for panel in panels([small, curve_of([5, 5, 5], 1)])] == [2]


# ---- drawing -----------------------------------------------------------------------------------


@example(0.03, 1e-09, 4)
@example(-0.99999, 1e-09, 2)
@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12), st.integers(2, 8))
def test_ticks_lie_within_and_are_what_they_say(low, height, count):
    high = low + height
    if high - low < 1e-9 * abs(low):
        return
    found = ticks(low, high, count)
    assert 1 <= len(found) <= 3 * count
    assert len({text for _, text in found}) == len(found)
    room = 1e-9 * height + np.spacing(max(abs(low), abs(high)))  # a tick is a decimal, limits are floats
    for value, text in found:
        assert low - room <= value <= high + room
        assert float(text) == pytest.approx(value, rel=1e-9, abs=1e-9 * height)


@given(st.lists(st.tuples(st.floats(0, 19), st.floats(-50, 50)), min_size=2, max_size=10))
def test_a_line_without_dashes_has_no_holes(points):
    x, y = np.array(sorted(points)).T
    canvas = Canvas(20, 12, ASCII)
    canvas.line(x, y, 0)
    rows, columns = np.nonzero(canvas.owners == 0)
    for column in range(int(np.ceil(x[0])), int(x[-1]) + 1):
        height = np.interp(column, x, y)
        if 1 <= height <= 10 and np.sum(np.abs(x - column) < 1) == 0:
            assert column in columns
    assert len(rows) <= canvas.owners.size


@given(
    st.lists(st.one_of(FINITE, st.just(float("nan"))), min_size=2, max_size=60).filter(
        lambda y: np.isfinite(y).any()
    ),
    st.integers(24, 120),
    st.integers(6, 40),
    st.sampled_from([ASCII, BRAILLE]),
)
@settings(max_examples=rounds(60))
def test_a_chart_fits_its_size_whatever_the_values(y, columns, rows, marks):
    lines = chart([curve_of(y)], columns, rows, marks, is_coloured=False)
    assert len(lines) == max(rows, 7)
    assert max(map(len, lines)) <= max(columns, 40)
    assert marks is BRAILLE or all(line.isascii() for line in lines)


def test_colours_change_nothing_else():
    curves = sample(np.tanh, np.linspace(-3.0, 3.0, 200), 2, "tanh(x)")
    plain = chart(curves, 80, 20, BRAILLE, is_coloured=False)
    coloured = chart(curves, 80, 20, BRAILLE, is_coloured=True)
    assert [re.sub(r"\x1b\[\d+m", "", line).rstrip() for line in coloured] == plain
    assert {"\x1b[36m", "\x1b[33m", "\x1b[35m"} <= set(re.findall(r"\x1b\[\d+m", "".join(coloured)))


def test_curves_differ_in_their_dashes_or_marks():
    x = np.linspace(0.0, 79.0, 200)
    for marks, count in ((BRAILLE, 4), (ASCII, 6)):
        texts = set()
        for order in range(count):
            canvas = Canvas(40, 5, marks)
            canvas.line(x / 79 * (canvas.size[0] - 1), np.full(200, canvas.size[1] // 2), order)
            texts.add("\n".join(canvas.text()))
        assert len(texts) == count


# ---- the command -------------------------------------------------------------------------------


def test_a_plot_has_a_title_a_legend_and_fits_the_terminal(capsys):
    lines = drawn(capsys, "sin(x) + 0.2*sin(5*x)", "x=-6.28:6.28").splitlines()
    assert lines[0] == "f(x) = sin(x) + 0.2*sin(5*x)"
    assert "f   " in lines[2]
    assert "f'" in lines[2]
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)


def test_other_variables_are_constants_and_bounds_are_expressions(capsys):
    assert " 2 ┤" in drawn(capsys, "a*sin(x)", "x=-pi:2*pi:50", "a=3")
    assert drawn(capsys, "-x", "x=0:1").startswith("f(x) = -x\n")
    assert drawn(capsys, "2", "x=0:1").startswith("f(x) = 2\n")


def test_plain_characters_where_braille_cannot_be_written(capsys):
    assert drawn(capsys, "x", "x=0:1", "--ascii").isascii()
    assert not drawn(capsys, "x", "x=0:1").isascii()


@pytest.mark.parametrize("name", ["plot.png", "plot.svg", "plot.pdf"])
def test_pictures_are_written(capsys, tmp_path, name):
    pytest.importorskip("matplotlib")
    path = tmp_path / name
    assert main(["plot", "tan(x)", "x=-3:3", "--out", str(path), "--no-terminal"]) == 0
    out, error = capsys.readouterr()
    assert (out, error) == ("", f"wrote {path}\n")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]]
    assert path.read_bytes().startswith(start)


def test_without_matplotlib_it_is_said_what_to_install(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["plot", "x", "x=0:1", "--out", str(tmp_path / "p.png")]) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert "matplotlib, which is not installed: pip install 'tape[viz]'" in error


@pytest.mark.parametrize("name", ["", "missing/p.png", "folder.png"])
def test_files_that_cannot_be_written_are_refused_before_anything_is_drawn(capsys, tmp_path, name):
    (tmp_path / "folder.png").mkdir()
    assert main(["plot", "x", "x=0:1", "--out", str(tmp_path / name)]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "x=1"], "no variable has a range"),
        (["x*y", "x=0:1", "y=0:1"], "2 variables have a range"),
        (["x*a", "x=0:1"], "a has no value"),
        (["x", "x=0:1", "b=2"], "names b"),
        (["x", "y=0:1"], "y=0:1 names y"),
        (["x", "x=1:0"], "up to a larger one"),
        (["x", "x=0:nan"], "up to a larger one"),
        (["x", "x=0:1e308"], "up to a larger one"),
        (["x", "x=0:1:1"], "number of points"),
        (["x", "x=0:1:2:3"], "is not a range"),
        (["x*a", "x=0:1", "a=[1,2]"], "a is an array"),
        (["x", "x=0:1", "--out", "p.gif"], ".png, .svg or .pdf"),
        (["x", "x=0:1", "--no-terminal"], "draws nothing"),
        (["x", "x=0:1", "--order", "21"], "20 derivatives at most"),
        (["x"], "NAME=VALUE"),
        (["sum(x)", "x=0:1"], "point by point"),
    ],
)
def test_mistakes_in_the_command_line_have_status_two(capsys, arguments, said):
    assert main(["plot", *arguments]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("tape plot: ")
    assert said in error


def test_what_cannot_be_drawn_has_status_one(capsys):
    assert main(["plot", "log(x)", "x=-2:-1"]) == 1
    assert main(["plot", "x +", "x=-2:-1"]) == 1
    assert "^" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_has_colours_unless_it_asks_for_none(capsys, monkeypatch, environment, is_coloured):
    monkeypatch.setenv("TERM", "xterm")
    for name, setting in environment.items():
        monkeypatch.setenv(name, setting)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert ("\x1b[" in drawn(capsys, "x", "x=0:1")) is is_coloured
