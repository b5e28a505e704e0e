"""What several test files start from, which tier of them runs, and how they are shared among processes."""

import gc

import pytest

import tape
from tests import tiers


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="all combinations and long campaigns, some minutes more")


def pytest_configure(config):
    tiers.choose(full=config.getoption("--full"))


def pytest_report_header(config):
    return "tier: full" if tiers.is_full() else "tier: plain; --full runs all combinations and long campaigns"


@pytest.fixture
def trace():
    return tape.Trace(name="T")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each of several processes takes a part in order, and then half of what another one has not begun.

    A file is shared among two only then, so what its tests have in common is hardly made twice; and at the end
    nobody waits for a long file.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_collection_finish():
    """What there is by now stays: tests that collect garbage need not look through it each time."""
    gc.collect()
    gc.freeze()
