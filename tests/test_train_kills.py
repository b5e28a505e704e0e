"""Trainings killed at random moments end with the bits of one that was not; see `tests.kills_training`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import rounds


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_killed_trainings_end_with_the_same_bits():
    found = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.kills_training", str(rounds(200, 3))],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "all ended with" in found.stdout
