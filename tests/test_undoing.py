"""Collections and objects hold again what they held, whatever has been done to them."""

import threading
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest

from tape.program.calls.undoing import undo_of


class OfUser(dict):
    """A dict of the user's, whose own methods are not to be called."""

    def __delitem__(self, key: Any) -> None:
        raise AssertionError

    def clear(self) -> None:
        """Raise."""
        raise AssertionError

    def update(self, *_: Any) -> None:
        """Raise."""
        raise AssertionError


class Items(list):
    """A list of the user's."""

    def extend(self, *_: Any) -> None:
        """Raise."""
        raise AssertionError


MAPPINGS = {
    "dict": lambda: {"a": 1, "b": 2, "c": 3},
    "OrderedDict": lambda: OrderedDict(a=1, b=2, c=3),
    "defaultdict": lambda: defaultdict(int, a=1, b=2, c=3),
    "Counter": lambda: Counter(a=1, b=2, c=3),
    "of the user": lambda: OfUser(a=1, b=2, c=3),
}
MAPPING_CHANGES = {
    "a value": lambda d: d.__setitem__("b", 7),
    "a new key": lambda d: d.__setitem__("z", 7),
    "no keys": lambda d: [dict.pop(d, key) if type(d) is OfUser else d.pop(key) for key in [*d]],
    "another order": lambda d: d.__setitem__("a", d.pop("a")),
    "nothing": lambda d: None,
}


@pytest.mark.parametrize("change", MAPPING_CHANGES)
@pytest.mark.parametrize("kind", MAPPINGS)
def test_mappings(kind, change):
    value, expected = MAPPINGS[kind](), MAPPINGS[kind]()
    undo = undo_of(value)
    for _ in range(2):
        MAPPING_CHANGES[change](value)
        undo()
        assert [*value.items()] == [*expected.items()]
        assert value == expected
        assert [*reversed(value)] == [*reversed(expected)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [1, 2, 3],
        lambda: Items([1, 2, 3]),
        lambda: deque([1, 2, 3], maxlen=4),
        lambda: {1, 2, 3},
        lambda: bytearray(b"abc"),
        lambda: array("d", [1, 2, 3]),
    ],
)
def test_collections_without_keys(make):
    value = make()
    undo = undo_of(value)
    for change in ("append", "add", "pop", "clear", "reverse"):
        if hasattr(value, change):
            getattr(value, change)(*[9] * (change in ("append", "add")))
            undo()
            assert value == make()


def test_arrays_and_events():
    values, stop = np.arange(3.0), threading.Event()
    undo_values, undo_stop = undo_of(values), undo_of(stop)
    values *= 2
    stop.set()
    undo_values()
    undo_stop()
    assert values.tolist() == [0, 1, 2]
    assert not stop.is_set()


def test_what_cannot_be_put_back():
    assert undo_of(3.0) is None
    assert undo_of("text") is None
