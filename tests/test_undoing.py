"""Collections and objects hold again what they held, whatever has been done to them."""

import decimal
import mmap
import multiprocessing
import os
import queue
import threading
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any
from unittest.mock import MagicMock, Mock
from xml.etree import ElementTree

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


@pytest.mark.parametrize("size", [3, 2**13])
def test_arrays(size):
    value = np.arange(float(size))
    undo = undo_of(value)
    undo()  # nothing is written to what holds it: another thread may read
    value *= 2
    undo()
    assert value.tolist() == [*range(size)]


def test_an_array_that_holds_what_it_held_is_not_written_to():
    value = np.arange(3.0)
    undo = undo_of(value)
    value.flags.writeable = False
    undo()


def test_memory():
    held = bytearray(b"abcdefgh")
    undo = undo_of(memoryview(held).cast("d"))
    held[:] = b"ABCDEFGH"
    undo()
    assert held == b"abcdefgh"
    with mmap.mmap(-1, 4) as mapped:
        mapped[:] = b"abcd"
        undo = undo_of(mapped)
        undo()
        mapped[1:3] = b"xx"
        undo()
        assert mapped[:] == b"abcd"


def test_memory_is_put_back_up_to_a_size():
    """Of more than 64 kB of a file nothing is, not even a part."""
    for size in (2**16, 2**16 + 1):
        with mmap.mmap(-1, size) as mapped:
            undo = undo_of(mapped)
            mapped[0], mapped[-1] = 7, 8
            undo()
            assert (mapped[0], mapped[-1]) == ((0, 0) if size == 2**16 else (7, 8))
    held = bytearray(2**16)
    undo = undo_of(memoryview(held))
    held[-1] = 7
    undo()
    assert not any(held)


def test_exceptions_and_contexts():
    error = ValueError(1, 2)
    undo = undo_of(error)
    error.args = (3,)
    undo()
    assert error.args == (1, 2)
    lost = OSError(2, "no file")
    undo = undo_of(lost)
    lost.errno, lost.filename = 5, "name"
    undo()
    assert (lost.errno, lost.filename) == (2, None)
    context = decimal.Context(prec=7)
    undo = undo_of(context)
    context.prec, context.rounding = 3, decimal.ROUND_UP
    undo()
    assert (context.prec, context.rounding) == (7, decimal.Context().rounding)


@pytest.mark.parametrize("module", [threading, multiprocessing])
def test_events(module):
    stop = module.Event()
    undo = undo_of(stop)
    stop.set()
    undo()
    assert not stop.is_set()
    stop.set()
    undo = undo_of(stop)
    stop.clear()
    undo()
    assert stop.is_set()


def test_the_environment(monkeypatch):
    monkeypatch.setenv("TAPE_A", "a")
    monkeypatch.setenv("TAPE_B", "b")
    monkeypatch.delenv("TAPE_C", raising=False)
    undo = undo_of(os.environ)
    before = dict(os.environ)
    os.environ.update(TAPE_A="x", TAPE_C="c")
    del os.environ["TAPE_B"]
    undo()
    assert dict(os.environ) == before
    assert [os.getenv(f"TAPE_{name}") for name in "ABC"] == ["a", "b", None]


def test_locks():
    lock = threading.Lock()
    undo = undo_of(lock)
    undo()
    lock.acquire()
    undo()
    assert not lock.locked()
    lock.acquire()
    undo = undo_of(lock)
    undo()
    lock.release()
    undo()
    assert lock.locked()


@pytest.mark.parametrize("change", [-2, -1, 0, 1, 2])
def test_semaphores(change):
    semaphore = threading.Semaphore(3)
    undo = undo_of(semaphore)
    for _ in range(abs(change)):
        semaphore.release() if change > 0 else semaphore.acquire()
    undo()
    taken = [semaphore.acquire(blocking=False) for _ in range(4)]
    assert taken == [True, True, True, False]


def test_queues_lose_what_was_put_into_them():
    tasks = queue.SimpleQueue()
    tasks.put("a")
    tasks.put("b")
    undo = undo_of(tasks)
    undo()
    tasks.put("c")
    undo()
    assert [tasks.get_nowait() for _ in range(tasks.qsize())] == ["a", "b"]
    undo()
    assert tasks.empty()


def test_elements_of_xml():
    root = ElementTree.fromstring('<a k="1">text<b>b</b>tail<c/></a>')
    before = ElementTree.tostring(root)
    undo = undo_of(root)
    root[0].text, root[0].tail, root.text = "x", "y", "z"
    root.set("k", "2")
    root.set("l", "3")
    root[1].append(ElementTree.Element("d"))
    root.remove(root[0])
    undo()
    assert ElementTree.tostring(root) == before


@pytest.mark.parametrize("kind", [Mock, MagicMock])
def test_mocks(kind):
    mocked = kind(return_value=1)
    mocked.child.return_value = 2
    undo = undo_of(mocked)
    mocked.return_value, mocked.side_effect = 3, [4]
    mocked.child.return_value = 5
    undo()
    assert (mocked(), mocked.child()) == (1, 2)
    mocked.child.other.side_effect = [6, 7]
    undo = undo_of(mocked)
    mocked.child.other.side_effect = [8]
    undo()
    assert mocked.child.other() == 6


def test_what_cannot_be_put_back():
    assert undo_of(3.0) is None
    assert undo_of("text") is None
    assert undo_of(np.zeros(2**13 + 1)) is None
    assert undo_of(np.frombuffer(b"abcdefgh")) is None
    assert undo_of(memoryview(b"abcdefgh")) is None
    assert undo_of(memoryview(bytearray(2**16 + 1))) is None
