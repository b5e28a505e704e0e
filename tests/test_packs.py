"""Packs run all that they hold, and say which of it failed."""

from types import SimpleNamespace

import pytest

from tests import packs


@pytest.mark.parametrize(("x", "y"), [(1, 2), (3, 4)])
@pytest.mark.parametrize("z", [5, 6])
def test_what_needs_arguments_alone_is_found(request, x, y, z):
    assert packs._declared(request.node) == {"x", "y", "z"}
    assert packs._function_of_arguments(request.node) is None  # a fixture is wanted, too


def calls_of(test, *values):
    return [
        SimpleNamespace(name=f"test[{x}]", obj=test, callspec=SimpleNamespace(params={"x": x}))
        for x in values
    ]


def test_all_of_a_pack_run_and_what_is_skipped_stops_nothing():
    ran = []

    def test(x):
        if x == 2:
            pytest.skip("two")
        ran.append(x)

    packs._Pack(calls_of(test, 1, 2, 3))()
    assert ran == [1, 3]
    with pytest.raises(pytest.skip.Exception, match="two"):
        packs._Pack(calls_of(test, 2, 2))()


def test_what_fails_is_named():
    def test(x):
        assert x < 3, "too large"

    with pytest.raises(AssertionError, match="too large") as caught:
        packs._Pack(calls_of(test, 1, 3))()
    assert caught.value.__notes__ == ["in test[3]"]
