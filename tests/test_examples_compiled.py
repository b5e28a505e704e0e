"""The examples of compiled functions: the same numbers as without, their programs, their pictures."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the examples need matplotlib")

ROOT = Path(__file__).parent.parent
SIGNATURE = b"\x89PNG\r\n\x1a\n"
sys.path.append(str(ROOT / "examples"))  # a script finds its neighbours; so must one that is imported

NAMES = ["compiled_training", "compiled_branches"]
training, branches = (import_module(f"examples.{name}") for name in NAMES)


@pytest.fixture(scope="module")
def solved():
    """Kepler's equation at every place, and the function that solved it."""
    solve = branches.compiled_anomaly()
    return solve, branches.survey(solve, branches.SEED)


# ---- training ------------------------------------------------------------------------------------


def test_compiled_steps_are_the_eager_ones():
    eager, compiled = (training.train(step, 60, 1) for step in (training.step, training.compiled_step))
    np.testing.assert_allclose(compiled.losses, eager.losses, rtol=1e-12)
    for found, expected in zip(compiled.params, eager.params, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert np.all(np.diff(compiled.seconds) >= 0)
    assert training.rate_of(compiled) > 0


def test_the_network_learns_both_spirals():
    run = training.train(training.compiled_step, 3000, 0)
    assert training.accuracy_of(run.params, 0) == 1
    assert run.losses[-50:].mean() < 0.01 * run.losses[0]


def test_parameters_stay_where_they_are():
    rng = np.random.default_rng(0)
    points, labels = training.make_spirals(rng)
    params = training.make_params(rng)
    velocities = [np.zeros_like(array) for array in params]
    batch, donated = np.arange(training.BATCH), len(params) + len(velocities)
    training.compiled_step(
        [*params], [*velocities], points, labels, batch, 0.1
    )  # recorded, if by no one before
    before = [array.copy() for array in params]
    found = training.compiled_step(params, velocities, points, labels, batch, 0.1)
    assert all(new is old for new, old in zip((*found[0], *found[1]), (*params, *velocities), strict=True))
    assert not any(np.array_equal(new, old) for new, old in zip(params, before, strict=True))
    (program,) = training.compiled_step.programs.values()
    assert program.explain().donated == donated
    assert not program.explain().callbacks


def test_smoothing_is_the_mean_of_what_came_before():
    values = np.random.default_rng(0).normal(size=30)
    expected = [values[max(0, k - 6) : k + 1].mean() for k in range(30)]
    np.testing.assert_allclose(training.smoothed(values, 7), expected, rtol=1e-12)


# ---- branches ------------------------------------------------------------------------------------


def test_keplers_equation_is_solved(solved):
    _, found = solved
    eccentricities = branches.ECCENTRICITIES[:, None]
    means = found.angles - eccentricities * np.sin(found.angles)
    np.testing.assert_allclose(means, np.broadcast_to(branches.MEANS, means.shape), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.slopes, 1 / (1 - eccentricities * np.cos(found.angles)), rtol=1e-9)


def test_there_is_a_program_for_each_start_and_number_of_steps(solved):
    solve, found = solved
    is_low = np.broadcast_to(branches.ECCENTRICITIES[:, None] < 0.8, found.steps.shape)
    ways = set(zip(is_low.ravel().tolist(), found.steps.ravel().tolist(), strict=True))
    read = {(start, *[True] * (steps - 1), False) for start, steps in ways}
    assert {key.outcomes for key in solve.programs} == read
    assert np.all(np.diff(found.programs) >= 0)
    assert found.programs[-1] == len(ways)


def test_steps_are_those_of_the_plain_function(solved):
    _, found = solved
    for i in range(0, len(branches.ECCENTRICITIES), 7):
        for j in range(0, len(branches.MEANS), 9):
            angle, steps = branches.anomaly(branches.MEANS[j], branches.ECCENTRICITIES[i])
            assert found.steps[i, j] == steps
            assert found.angles[i, j] == pytest.approx(angle, rel=1e-13)


def test_a_grid_of_any_seed_is_solved_alike(solved):
    _, found = solved
    again = branches.survey(branches.compiled_anomaly(), branches.SEED + 1)
    np.testing.assert_array_equal(again.angles, found.angles)
    np.testing.assert_array_equal(again.steps, found.steps)


# ---- what both of them do ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "figures"),
    [
        (
            "compiled_training",
            ["--steps", "200"],
            ["eager: ", "compiled: ", "steps a second", "callbacks     0"],
        ),
        ("compiled_branches", [], ["4550 calls, 15 programs", "guard(", "reading True, False", "arena"]),
    ],
)
def test_figures_are_printed_and_the_picture_is_written(name, options, figures, capsys, tmp_path):
    path = tmp_path / "drawn.png"
    import_module(f"examples.{name}").main([*options, "--output", str(path)])
    printed = capsys.readouterr().out
    for figure in [*figures, str(path)]:
        assert figure in printed
    assert path.read_bytes().startswith(SIGNATURE)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("compiled_training", ["--steps", "1"], "--steps: 1 is not at least 2"),
        ("compiled_training", ["--steps", "many"], "--steps: invalid int value: 'many'"),
        ("compiled_training", ["--seed", "-1"], "--seed: -1 is not at least 0"),
        ("compiled_training", ["--output", "picture.txt"], "--output: picture.txt is not the name of"),
        ("compiled_branches", ["--output", "no/such/picture.png"], "--output: there is no folder"),
        ("compiled_branches", ["--speed", "3"], "unrecognized arguments: --speed 3"),
    ],
)
def test_bad_options_are_named_at_once(name, options, message, capsys):
    with pytest.raises(SystemExit):
        import_module(f"examples.{name}").main(options)
    printed = capsys.readouterr()
    assert message in printed.err
    assert not printed.out


def test_runs_as_a_script_from_anywhere(tmp_path):
    script = ROOT / "examples" / "compiled_training.py"
    command = [sys.executable, "-W", "error", str(script), "--steps", "20"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "compiled_training.png").read_bytes().startswith(SIGNATURE)
