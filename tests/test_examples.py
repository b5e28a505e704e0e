"""The small examples: the figures they reproduce, to the digits that were printed, and their pictures."""

import subprocess
import sys
from importlib import import_module
from math import factorial
from pathlib import Path

import numpy as np
import pytest

import tape
from tests.tiers import some, takes_long

pytest.importorskip("matplotlib", reason="the examples need matplotlib")

ROOT = Path(__file__).parent.parent
SIGNATURE = b"\x89PNG\r\n\x1a\n"
sys.path.append(str(ROOT / "examples"))  # a script finds its neighbours; so must one that is imported

NAMES = [
    "newton",
    "curve_fit",
    "peak_separation",
    "path_smoothing",
    "rosenbrock",
    "tanh_derivatives",
    "taylor_sin",
    "curves",
    "diamond",
    "gaussian",
]
newton, curve_fit, peak_separation, path_smoothing, rosenbrock, tanh_derivatives, taylor_sin = (
    import_module(f"examples.{name}") for name in NAMES[:7]
)
curves, diamond, gaussian = (import_module(f"examples.{name}") for name in NAMES[7:])
descend = import_module("_common").descend


def as_printed(value, printed):
    """A number with as many decimals as the printed one has."""
    return f"{value:.{len(printed.partition('.')[2])}f}"


def assert_prints_as(values, printed):
    values = np.ravel(values)
    assert [as_printed(v, p) for v, p in zip(values, printed, strict=True)] == printed


# ---- the figures ---------------------------------------------------------------------------------


def test_newton():
    visited = newton.newton(newton.f, newton.START, newton.STEPS)
    printed = ["2", "1.4545", "1.1510", "1.0253", "1.00091", "1.0000012", "1.0000000000023"]
    assert_prints_as(visited[:-1], printed)
    assert visited[-1] == 1


@pytest.mark.parametrize("at", [-1.5, 0.0, 0.3, 2.0])
def test_newton_steps_to_the_minimum_of_its_parabola(at):
    slope, curvature = 4 * at**3 - 4 * at, 12 * at**2 - 4
    x = np.linspace(-2, 2, 9)
    expected = newton.f(at) + slope * (x - at) + curvature / 2 * (x - at) ** 2
    np.testing.assert_allclose(newton.parabola(newton.f, at, x), expected, rtol=1e-13, atol=1e-13)
    step_to = newton.newton(newton.f, at, 1)[-1]
    assert step_to == pytest.approx(at - slope / curvature, rel=1e-14)


def test_curve_fit():
    path, losses = descend(curve_fit.loss, curve_fit.START, curve_fit.RATE, curve_fit.EPOCHS)
    np.testing.assert_allclose(
        path[[1, 100]],
        [
            [0.08282536514288522, 0.9603698321454733, 0.7959264404297721],
            [1.1999999630566605, 0.5957563205013943, 0.7452019038775677],
        ],
        rtol=1e-14,  # the last of the printed digits is up to the exp of the machine
    )
    assert losses[0] == pytest.approx(12.044986950543212, rel=1e-14)
    assert losses[99] == pytest.approx(1.57807541308e-4, rel=0, abs=5e-16)


def test_peak_separation():
    path, _ = descend(
        peak_separation.loss, peak_separation.START, peak_separation.RATE, peak_separation.EPOCHS
    )
    assert_prints_as(path[-1], ["-0.33595", "0.77987", "0.67166", "0.60915", "0.49179", "0.76597"])


def test_path_smoothing():
    moved, losses = descend(
        path_smoothing.loss, path_smoothing.START[1:-1], path_smoothing.RATE, path_smoothing.STEPS
    )
    assert_prints_as(losses[-2], ["8.288466481"])
    assert np.all(np.diff(losses) < 0)
    np.testing.assert_allclose(moved[-1], 2 - moved[-1][::-1, ::-1], rtol=1e-13)  # symmetric as at the start


def test_rosenbrock():
    path = rosenbrock.gradient_descent(rosenbrock.START, rosenbrock.RATE, rosenbrock.STEPS)
    assert_prints_as(path[-1], ["0.6837118569", "0.4659526837"])


@pytest.mark.parametrize("start", [(0.0, 2.0), (-1.2, 1.0), (2.0, -1.0)])
@pytest.mark.parametrize("method", [rosenbrock.newton, rosenbrock.trust_region])
def test_second_derivatives_lead_to_the_minimum(method, start):
    path = method(np.array(start))
    np.testing.assert_array_equal(path[0], start)
    np.testing.assert_allclose(path[-1], [1, 1], rtol=1e-9)


def test_tanh_derivatives():
    at_one = [float(tanh_derivatives.derivative(order)(1.0)) for order in range(9)]
    assert_prints_as([at_one[4], at_one[8]], ["0.6650910448", "-277.062135603"])
    np.testing.assert_allclose(at_one, tape.taylor(np.tanh, 1.0, 1.0, 8), rtol=1e-13)


def test_operations_are_counted_once_each_and_apart_from_leaves():
    trace = tape.Trace()
    x, y = trace.param(2.0), trace.param(2.0)
    z = x * x + x * x  # two of the same
    z = z + x * y  # another operand, though of the same value
    _ = z - 3.0, z - 3.0, z - 4.0  # two of the same constant, and another one
    assert tanh_derivatives.operations(trace) == 8
    assert tanh_derivatives.distinct_operations(trace) == 6


def test_series_take_fewer_operations_than_nested_gradients():
    nested = tanh_derivatives.recorded(tanh_derivatives.derivative(8))
    series = tanh_derivatives.recorded(lambda x: tape.taylor(np.tanh, x, 1.0, 8))
    assert tanh_derivatives.operations(series) < tanh_derivatives.distinct_operations(nested)
    assert tanh_derivatives.distinct_operations(nested) < tanh_derivatives.operations(nested)


def test_taylor_polynomials_of_sin_are_as_close_as_the_next_term():
    derivatives = tape.taylor(np.sin, 0.0, 1.0, taylor_sin.ORDERS[-1])
    np.testing.assert_allclose(derivatives, [0, 1, 0, -1, 0, 1, 0, -1, 0, 1, 0, -1, 0, 1], atol=1e-15)
    x = np.linspace(-4, 4, 81)
    for order in taylor_sin.ORDERS:
        error = np.abs(taylor_sin.polynomial(derivatives[: order + 1], x) - np.sin(x))
        assert np.all(error <= np.abs(x) ** (order + 2) / factorial(order + 2) + 1e-14)


def test_curves():
    a = np.linspace(-6, 6, 49)
    slopes = [np.cos(a), np.cos(a) + np.cos(5 * a), 0.25 / np.cosh(a / 2) ** 2]
    for f, slope in zip(curves.CURVES, slopes, strict=True):
        np.testing.assert_allclose(tape.elementwise_grad(f)(a), slope, rtol=1e-12, atol=1e-15)
        trace = curves.record(f)
        (at_one,) = trace.backward_param_grads(trace[-1])
        assert at_one == tape.grad(f)(curves.AT)


def test_contributions_of_both_ways_add_up():
    a = np.linspace(-4, 4, 33)
    by_b, by_c = diamond.contributions(a)
    np.testing.assert_allclose(by_b, np.cos(a) * a**2, atol=1e-15)
    np.testing.assert_allclose(by_c, np.sin(a) * 2 * a, atol=1e-15)
    np.testing.assert_allclose(by_b + by_c, tape.elementwise_grad(diamond.diamond)(a), rtol=1e-15, atol=1e-15)


def test_derivatives_of_the_gaussian_are_exact():
    assert gaussian.X.tolist() == [x / 10 for x in range(-50, 50)]
    for order in range(gaussian.HIGHEST + 1):
        assert np.max(np.abs(gaussian.distance(order))) < 4.5e-16
    trace, slope = gaussian.recorded_slope()
    (second,) = trace.backward_param_grads(slope)
    assert second == pytest.approx(float(gaussian.derivative(2)(gaussian.AT)), rel=1e-15)


# ---- what all of them do -------------------------------------------------------------------------


@takes_long
@pytest.mark.parametrize("name", some(NAMES, every=2))
def test_figures_are_printed_and_the_picture_is_written(name, capsys, tmp_path):
    path = tmp_path / "drawn.png"
    import_module(f"examples.{name}").main(["--output", str(path)])
    printed = capsys.readouterr().out
    for figure in {
        "newton": ["1.0000000000023"],
        "curve_fit": ["12.0449869505", "0.000157807541308", "1.1999999630567", "0.5957563205014"],
        "peak_separation": ["-0.33595", "0.77987"],
        "path_smoothing": ["8.288466481"],
        "rosenbrock": ["(0.6837118569, 0.4659526837)", "(1.0000000000, 1.0000000000)"],
        "tanh_derivatives": ["0.6650910448", "-277.062135603", "2571"],
        "taylor_sin": ["0 1 -0 -1 0 1"],
        "curves": ["0.540302305868", "0.823964491331", "0.196611933241"],
        "diamond": ["-1.664587346189", "3.637189707303", "1.972602361114"],
        "gaussian": ["3.8940039153570  4e-16", "8 nodes"],
    }[name]:
        assert figure in printed
    assert str(path) in printed
    assert path.read_bytes().startswith(SIGNATURE)


@pytest.mark.parametrize(
    ("name", "animations"),
    [
        ("curves", ["curves_mixed_sine", "curves_sigmoid", "curves_sine"]),
        ("diamond", ["diamond_tape"]),
        ("gaussian", ["gaussian_tape"]),
    ],
)
def test_animations_are_written_next_to_the_picture(name, animations, capsys, tmp_path):
    import_module(f"examples.{name}").main(["--output", str(tmp_path / f"{name}.png")])
    written = sorted(path for path in tmp_path.iterdir() if path.suffix == ".svg")
    assert [path.stem for path in written] == animations
    printed = capsys.readouterr().out
    for path in written:
        assert f"animation saved as {path}" in printed
        assert path.read_text().startswith("<svg")


def test_no_picture_if_none_is_wanted(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taylor_sin.main(["--output", ""])
    assert "picture" not in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("output", "message"),
    [("picture.txt", "picture.txt is not the name of"), ("no/such/picture.png", "there is no folder")],
)
def test_a_place_where_no_picture_can_be_is_named_at_once(output, message, capsys):
    with pytest.raises(SystemExit):
        taylor_sin.main(["--output", output])
    printed = capsys.readouterr()
    assert message in printed.err
    assert not printed.out


def test_runs_as_a_script_from_anywhere(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "newton.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "newton.png").read_bytes().startswith(SIGNATURE)
