"""Each operation as the first thing that a process does with tape."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import is_full, some

PARTS = 24


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.parametrize("part", some(range(PARTS), every=12))
def test_nothing_else_need_be_imported_before(part):
    command = [sys.executable, "-m", "tests.first_calls", str(part), str(PARTS), *["--full"] * is_full()]
    folder = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
