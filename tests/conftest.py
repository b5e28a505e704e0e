"""What several test files start from."""

import pytest

import tape


@pytest.fixture
def trace():
    return tape.Trace(name="T")
