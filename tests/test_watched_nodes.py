"""Traces that note lines, or check numbers, each alone and both together."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.program.report.intermediates import intermediates
from tests.naive_program import program_of


@pytest.mark.parametrize("sites", [False, True])
@pytest.mark.parametrize("check", [False, True])
def test_lines_are_noted_and_numbers_checked_where_it_is_asked_for(sites, check):
    trace = tape.Trace(sites=sites, check=check)
    x = trace.param(np.array([-1.0]))
    y = x * 2.0
    assert ("test_watched_nodes.py" in str(y.node.site)) == (sites or check)
    if check:
        with pytest.raises(errors.NonFiniteError), np.errstate(invalid="ignore"):
            np.log(y)
    else:
        with np.errstate(invalid="ignore"):
            assert np.isnan(np.log(y).value).all()


def test_values_of_a_program_with_guards():
    """Of every instruction but those that only look."""
    program = program_of(lambda x: x * 2.0 if np.sum(x) > 0 else x, np.ones(3))
    found = intermediates(program, (np.ones(3),))
    shown = {step.op for id, step in enumerate(program.plan.instructions) if id in found}
    assert "guard" not in shown
    assert any(np.array_equal(value, np.full(3, 2.0)) for value in found.values())
    with pytest.raises(errors.UnsupportedError):
        intermediates(program, (-np.ones(3),))


def test_a_program_that_stops_at_its_numbers_has_no_values():
    program = program_of(lambda x, i: tape.ops.take(x, i) * 2.0, np.ones(3), np.array([0, 2]))
    with pytest.raises(errors.UnsupportedError, match="the machine stops at take: an index is out of range"):
        intermediates(program, (np.ones(3), np.array([0, 3])))
