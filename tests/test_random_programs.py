"""Random programs, compiled against eager; ``TAPE_RANDOM_PROGRAMS`` says how many are tried.

A campaign is ``python -m tests.random_programs``.
"""

import os
from collections import Counter

import pytest

from tests.random_programs.programs import random_program
from tests.random_programs.running import run
from tests.random_programs.shrinking import script, shrunk

PROGRAMS = int(os.environ.get("TAPE_RANDOM_PROGRAMS", "300"))
PACK = 50


@pytest.mark.parametrize("first", range(0, PROGRAMS, PACK))
def test_random_programs_give_compiled_what_they_give_eagerly(first):
    kinds = Counter()
    for seed in range(first, min(first + PACK, PROGRAMS)):
        program, sets = random_program(seed)
        verdict = run(program, sets)
        kinds[verdict.kind] += 1
        assert not verdict.is_difference, f"{seed}: {verdict}\n{script(*shrunk(program, sets))}"
    assert kinds["same"] > 0.75 * kinds.total()
