"""The example that trains on several ranks: the same numbers on any number of ranks and threads."""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.test_distributed_ranks import MPIEXEC, run_ranks
from tests.tiers import is_full, takes_long

for needed in ("sklearn", "matplotlib", "tqdm"):
    if find_spec(needed) is None:
        pytest.skip(f"the example needs {needed}", allow_module_level=True)

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "examples"))  # a script finds its neighbours; so must one that is imported


@cache
def example():
    """The example, imported where it is needed: scikit-learn takes seconds."""
    return import_module("examples.digits_parallel")


def result(printed):
    """The line with loss and accuracy."""
    (line,) = [line for line in printed.splitlines() if line.startswith("test loss")]
    return line


@takes_long
def test_threads_get_the_same_numbers_and_the_picture_is_written(capsys, tmp_path):
    example().main(["--epochs", "1", "--output", str(tmp_path / "digits.png")])
    alone = result(capsys.readouterr().out)
    example().main(["--epochs", "1", "--output", "", "--threads", "2"])
    assert result(capsys.readouterr().out) == alone
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


if is_full():

    def test_one_process_gets_the_recorded_result(capsys):
        example().main(["--output", ""])
        assert result(capsys.readouterr().out) in example().__doc__

    @pytest.mark.skipif(
        MPIEXEC is None or find_spec("mpi4py") is None, reason="several ranks need mpi4py and mpiexec"
    )
    @pytest.mark.parametrize("count", [2, 4])
    def test_ranks_get_the_recorded_result(count, tmp_path):
        done = run_ranks(count, ROOT / "examples" / "digits_parallel.py", "--output", tmp_path / "digits.png")
        assert done.returncode == 0, done.stderr
        assert result(done.stdout) in example().__doc__
        assert f"picture saved as {tmp_path / 'digits.png'}" in done.stdout
