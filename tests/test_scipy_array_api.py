"""SciPy's own functions take Vars in its mode for arrays of other libraries."""

import os
import subprocess
import sys

import pytest

from tape.conversion.callers import counterpart_of
from tests.scipy_array_api import FUNCTIONS


@pytest.fixture(scope="module")
def found():
    """The largest errors of each function's Jacobian, forward, in reverse and compiled, in such a process."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.scipy_array_api"],
        env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert not run.returncode, run.stderr
    return {name: list(map(float, errors)) for name, *errors in map(str.split, run.stdout.splitlines())}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipys_own_functions_take_vars(name, found):
    assert len(found[name]) == 3
    assert max(found[name]) < 1e-10


def test_messages_tell_so():
    assert counterpart_of("scipy.stats.zscore") == (
        "Start Python with SCIPY_ARRAY_API=1, by which many of SciPy's functions take Vars"
    )
    assert counterpart_of("scipy.linalg.expm") == "Call tape.scipy.linalg.expm, which records"
