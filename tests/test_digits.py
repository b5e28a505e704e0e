"""The example that trains a network to read digits: how well, how reproducibly, and its picture."""

import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.tiers import some, takes_long

for needed in ("sklearn", "matplotlib", "tqdm"):
    if find_spec(needed) is None:
        pytest.skip(f"the example needs {needed}", allow_module_level=True)

ROOT = Path(__file__).parent.parent
SIGNATURE = b"\x89PNG\r\n\x1a\n"
sys.path.append(str(ROOT / "examples"))  # a script finds its neighbours; so must one that is imported


@cache
def example():
    """The example, imported where it is needed: scikit-learn takes seconds."""
    return import_module("examples.digits")


def run(capsys, *options):
    """What main prints, and the test accuracy in it."""
    example().main([*options])
    printed = capsys.readouterr().out
    return printed, float(re.search(r"test accuracy ([\d.]+)%", printed)[1]) / 100


def test_same_seed_same_numbers(capsys):
    printed, accuracy = run(capsys, "--epochs", "1", "--output", "")
    assert accuracy > 0.9
    assert run(capsys, "--epochs", "1", "--output", "")[0] == printed
    assert run(capsys, "--epochs", "1", "--output", "", "--seed", "1")[0] != printed


def test_trains_to_97_percent(capsys):
    assert run(capsys, "--output", "")[1] >= 0.97


@takes_long
def test_the_picture_is_written(capsys, tmp_path):
    path = tmp_path / "digits.png"
    printed, _ = run(capsys, "--epochs", "1", "--output", str(path))
    assert str(path) in printed
    assert path.read_bytes().startswith(SIGNATURE)


@takes_long
@pytest.mark.parametrize("count", some([31, 0, 30], every=2))
def test_any_number_of_mistakes_can_be_drawn(count):
    labels = np.arange(40) % 10
    predicted = np.where(np.arange(40) < count, 9 - labels, labels)
    history = np.array([[1.0, 0.5, 0.9, 0.6], [0.5, 0.9, 0.6, 0.8]])
    figure = example().draw(history, np.zeros((40, 64)), labels, predicted)
    figure.draw_without_rendering()
    titles = [axes.get_title() for axes in figure.axes if axes.get_visible()]
    assert sum("read as" in title for title in titles) == min(count, 30)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epochs", "0"], "--epochs: 0 is not at least 1"),
        (["--epochs", "many"], "--epochs: invalid int value: 'many'"),
        (["--batch-size", "0"], "--batch-size: 0 is not at least 1"),
        (["--learning-rate", "-0.1"], "--learning-rate: -0.1 is not at least 0"),
        (["--learning-rate", "nan"], "--learning-rate: nan is not at least 0"),
        (["--momentum", "1"], "--momentum: 1 is not at least 0 and below 1"),
        (["--seed", "-1"], "--seed: -1 is not at least 0"),
        (["--output", "digits.txt"], "--output: digits.txt is not the name of"),
        (["--output", "no/such/digits.png"], "--output: there is no folder"),
    ],
)
def test_bad_options_are_named(capsys, options, message):
    with pytest.raises(SystemExit):
        example().main(options)
    assert message in capsys.readouterr().err


def test_runs_as_a_script_from_anywhere(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "digits.py"), "--epochs", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "digits.png").read_bytes().startswith(SIGNATURE)
