"""What several test files start from, and how they are shared among processes."""

import gc

import pytest

import tape


@pytest.fixture
def trace():
    return tape.Trace(name="T")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Of several processes each takes whole files: what tests share, such as a browser, is made once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def pytest_collection_finish():
    """What there is by now stays: tests that collect garbage need not look through it each time."""
    gc.collect()
    gc.freeze()
