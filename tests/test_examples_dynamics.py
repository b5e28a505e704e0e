"""The examples that steer what moves: the figures they reproduce, their physics, and their pictures."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import tape
from tests.oracles import difference
from tests.tiers import takes_long

for needed in ("matplotlib", "tqdm"):
    pytest.importorskip(needed, reason=f"the examples need {needed}")

ROOT = Path(__file__).parent.parent
SIGNATURE = b"\x89PNG\r\n\x1a\n"
sys.path.append(str(ROOT / "examples"))  # a script finds its neighbours; so must one that is imported

NAMES = ["cannon", "two_shells", "orbit", "missile"]
cannon, two_shells, orbit, missile = (import_module(f"examples.{name}") for name in NAMES)
descend = import_module("_common").descend


@pytest.fixture(scope="module")
def flown():
    """The whole flight of the missile, which takes seconds."""
    return missile.guide(missile.SEED)


# ---- the figures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("example", "first", "last"),
    [
        (cannon, "153.93", "1.5e-04"),
        (two_shells, "2.940", "2.3e-04"),
        (orbit, "1.0516", "2.1e-03"),
    ],
    ids=["cannon", "two_shells", "orbit"],
)
def test_loss_after_the_first_and_the_last_iteration(example, first, last):
    path, losses = descend(example.loss, example.START, example.RATE, example.ITERATIONS)
    decimals = len(first.partition(".")[2])
    assert (f"{losses[1]:.{decimals}f}", f"{losses[-1]:.1e}") == (first, last)
    assert np.all(np.diff(losses) < 0)
    np.testing.assert_array_equal(path[0], example.START)
    assert losses[-1] == example.loss(path[-1])


@takes_long
def test_missile_comes_close_within_the_limits_of_its_thrust(flown):
    assert flown.missile.shape == (missile.STEPS, 2)
    assert flown.plans.shape == (missile.STEPS, missile.HORIZON + 1, 2)
    assert flown.distances[0] == pytest.approx(np.hypot(20, 5))
    assert flown.distances.min() < 0.3
    assert flown.controls[:, 0].min() >= 0
    assert flown.controls[:, 0].max() <= 0.11


# ---- the physics ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "at"),
    [
        (cannon.loss, np.array([0.55, 0.45])),
        (two_shells.loss, np.array([(0.5, 0.55), (-0.45, 0.5)])),
        (orbit.loss, np.array([0.01, 0.17])),
        (lambda control: missile.loss(control, np.zeros(2), np.full(2, 0.3), 3), np.array([0.1, 0.8])),
    ],
    ids=NAMES,
)
def test_gradients_are_those_of_differences(loss, at):
    direction = np.random.default_rng(0).uniform(-0.2, 0.2, at.shape)
    along = np.sum(tape.grad(loss)(at) * direction)
    assert along == pytest.approx(difference(loss, [at], [direction]), rel=1e-8)


def test_shells_fly_side_by_side_as_alone():
    together = cannon.flight(two_shells.CANNONS, two_shells.START, 20)
    assert together.shape == (21, 2, 2)
    for shell in range(2):
        alone = cannon.flight(two_shells.CANNONS[shell], two_shells.START[shell], 20)
        np.testing.assert_allclose(together[:, shell], alone, rtol=1e-14)


def test_a_shell_shot_the_other_way_flies_the_mirrored_way():
    right, left = (cannon.flight(np.zeros(2), np.array([vx, 0.5]), 30) for vx in (0.4, -0.4))
    np.testing.assert_array_equal(right, left * [-1, 1])


def test_the_gradient_of_the_closest_moment_is_that_of_the_smallest_distance():
    flights = two_shells.flight(two_shells.CANNONS, two_shells.START, two_shells.FLIGHT)
    moment = int(np.argmin(two_shells.squared_distances(flights)))
    assert 0 < moment < two_shells.FLIGHT

    def distance_then(velocities):
        return two_shells.squared_distances(two_shells.flight(two_shells.CANNONS, velocities, moment))[-1]

    expected = tape.value_and_grad(distance_then)(two_shells.START)
    actual = tape.value_and_grad(two_shells.loss)(two_shells.START)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_gravity_falls_with_the_square_of_the_distance():
    near, far = orbit.gravity(np.array([(0.6, -0.8), (1.2, -1.6)]))
    np.testing.assert_allclose(near, [-0.6 * orbit.GM, 0.8 * orbit.GM], rtol=1e-14)
    np.testing.assert_allclose(far, near / 4, rtol=1e-14)


def test_orbits_turn_with_their_start():
    quarter = np.array([(0, -1), (1, 0)])
    way = orbit.orbit(orbit.POSITION, orbit.START, orbit.FLIGHT)
    turned = orbit.orbit(quarter @ orbit.POSITION, quarter @ orbit.START, orbit.FLIGHT)
    np.testing.assert_allclose(turned, way @ quarter.T, rtol=1e-12, atol=1e-14)


def test_a_plan_is_flown_as_predicted_if_the_air_is_calm():
    control, position, velocity = np.array([0.1, 0.6]), np.array([1.0, 2.0]), np.array([0.3, 0.1])
    predicted = missile.predict(control, position, velocity)
    np.testing.assert_array_equal(predicted[0], position)
    for expected in predicted[1:]:
        position, velocity = missile.moved(position, velocity, missile.force(control))
        np.testing.assert_allclose(position, expected, rtol=1e-14)


@pytest.mark.parametrize("time", [0, 10, 20])
def test_planning_improves_the_plan(time):
    situation = missile.POSITION, np.full(2, 0.2), time
    before = missile.loss(missile.CONTROL, *situation)
    assert missile.loss(missile.plan(missile.CONTROL, *situation), *situation) < before


def test_gusts_are_the_only_surprise(flown):
    surprise = flown.missile[1:] - flown.plans[:-1, 1]
    assert np.all(np.abs(surprise) <= missile.GUSTS / 4 + 1e-14)  # half a gust, over half a step squared
    assert np.all(np.any(surprise != 0, axis=1))


# ---- what all of them do -------------------------------------------------------------------------


@takes_long
@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("cannon", ["153.93 after 1 iteration", "1.5e-04 after 30"]),
        ("two_shells", ["2.940 after 1 iteration", "2.3e-04 after 30"]),
        ("orbit", ["1.0516 after 1 iteration", "2.1e-03 after 30"]),
        ("missile", ["distance 20.62 at first", "0.19 at step 27", "thrust 0.11"]),
    ],
)
def test_figures_are_printed_and_the_picture_is_written(name, figures, flown, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(missile, "guide", lambda seed: flown)
    path = tmp_path / "drawn.png"
    import_module(f"examples.{name}").main(["--output", str(path)])
    printed = capsys.readouterr().out
    for figure in [*figures, str(path)]:
        assert figure in printed
    assert path.read_bytes().startswith(SIGNATURE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "picture.txt"], "--output: picture.txt is not the name of"),
        (["--output", "no/such/picture.png"], "--output: there is no folder"),
        (["--speed", "3"], "unrecognized arguments: --speed 3"),
    ],
)
def test_bad_options_are_named_at_once(name, options, message, capsys):
    with pytest.raises(SystemExit):
        import_module(f"examples.{name}").main(options)
    printed = capsys.readouterr()
    assert message in printed.err
    assert not printed.out


def test_runs_as_a_script_from_anywhere(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "two_shells.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "two_shells.png").read_bytes().startswith(SIGNATURE)
