"""Several ranks under MPI: the numbers of one process, and the end of all where one fails."""

import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import ranks
from tests.tiers import is_full

MPIEXEC = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
)
pytestmark = pytest.mark.skipif(
    MPIEXEC is None or find_spec("mpi4py") is None, reason="several ranks need mpi4py and mpiexec"
)
SECONDS = 10.0
"""In which all ranks have to end when one has."""


def launch(count, folder, *names):
    """Run scenarios of `tests.ranks` on so many ranks."""
    return run_ranks(count, ranks.__file__, folder, *names)


def run_ranks(count, *script):
    """Run a script, with its arguments, on so many ranks."""
    surroundings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }
    command = [MPIEXEC, "-n", str(count), sys.executable, *map(str, script)]
    return subprocess.run(
        command, env=os.environ | surroundings, capture_output=True, text=True, timeout=180, check=False
    )


def resumed(folder):
    """The state that was saved last, and the parameters at the end of a run that goes on from it here."""
    number, params = pickle.loads((folder / "state").read_bytes())
    return number, ranks.run(folder, number, params)


def assert_ended_in_time(folder):
    """The others did so after the rank that noted when it died."""
    assert time.time() - float((folder / "time").read_text()) < SECONDS


def assert_the_state_before_the_failure_was_saved(done, folder):
    assert done.returncode != 0
    assert re.search(r"rank 1 of \d failed:\nTraceback", done.stderr)
    assert re.search(r"rank 0 of \d stops: rank 1 failed: ValueError: a sample of rank 1", done.stderr)
    number, params = resumed(folder)
    assert number == ranks.FAILS_AT - 1
    ranks.assert_near(params, ranks.run(folder, 0, ranks.model()), least=1e-6)


def test_numbers_are_those_of_one_process_and_a_rank_that_fails_and_dies_ends_all(tmp_path):
    done = launch(3, tmp_path, "numbers", "fail_and_die")
    assert "numbers agree" in done.stdout, done.stderr
    assert_ended_in_time(tmp_path)
    assert_the_state_before_the_failure_was_saved(done, tmp_path)


def test_a_rank_that_hangs_ends_all_after_the_time_limit(tmp_path):
    done = launch(3, tmp_path, "wait_in_time", "hang_in_step")
    assert done.returncode != 0
    assert_ended_in_time(tmp_path)
    said = r"RankError: rank 1 did not come to step within 3 seconds, for which rank [02] has waited"
    assert re.search(said, done.stderr), done.stderr
    number, params = resumed(tmp_path)
    assert number == ranks.FAILS_AT - 1  # the state before the step in which it hangs
    ranks.assert_near(params, ranks.run(tmp_path, 0, ranks.model()), least=1e-6)


if is_full():  # a launch each

    def test_a_rank_that_hangs_at_the_end_is_not_waited_for(tmp_path):
        done = launch(3, tmp_path, "hang_at_the_end")
        assert done.returncode != 0
        assert_ended_in_time(tmp_path)
        assert "rank 1 did not come to the end within 1 seconds" in done.stderr

    @pytest.mark.parametrize("count", [2, 4])
    def test_the_state_of_every_so_many_steps_survives_a_killed_rank(count, tmp_path):
        done = launch(count, tmp_path, "numbers", "kill")
        assert "numbers agree" in done.stdout, done.stderr
        assert done.returncode != 0
        assert_ended_in_time(tmp_path)
        number, params = resumed(tmp_path)
        assert number == ranks.FAILS_AT - 1 - (ranks.FAILS_AT - 1) % ranks.SAVED_EVERY
        ranks.assert_near(params, ranks.run(tmp_path, 0, ranks.model()), least=1e-6)

    def test_a_run_goes_on_on_another_number_of_ranks(tmp_path):
        done = launch(2, tmp_path, "fail_in_step")
        assert_the_state_before_the_failure_was_saved(done, tmp_path)
        (tmp_path / "state").write_bytes(pickle.dumps((0, ranks.model())))
        again = launch(3, tmp_path, "resume")
        assert again.returncode == 0, again.stderr
        found = pickle.loads((tmp_path / "final").read_bytes())
        ranks.assert_near(found, ranks.run(tmp_path, 0, ranks.model()), least=1e-6)

    @pytest.mark.parametrize(
        ("scenario", "said"),
        [
            ("fail_outside", "rank 0 of 3 stops: rank 1 failed: ValueError: a sample of rank 1"),
            ("end_early", "RankError: rank 1 has ended, while rank 2 waits for it in barrier"),
            ("differ", "RankError: params: the numbers of rank 2 are not those of rank 0"),
        ],
    )
    def test_no_rank_waits_for_ever(scenario, said, tmp_path):
        start = time.time()
        done = launch(3, tmp_path, scenario)
        assert time.time() - start < SECONDS + 20  # for the start
        assert done.returncode != 0
        assert said in done.stderr
        assert done.stderr.count("Traceback") == 1
