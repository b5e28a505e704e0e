"""Which objects of libraries a compiled function compares in each call, how far, and which it does not."""

import configparser
import ctypes
import fractions
import functools
import hashlib
import logging
import mmap
import multiprocessing
import pathlib
import queue
import random
import re
import threading
import types
import warnings
from collections import deque
from contextlib import ExitStack
from decimal import Decimal
from unittest.mock import MagicMock
from xml.etree import ElementTree

import numpy as np
import pytest

import tape
from tape import errors
from tape.program.calls.contents import Contents, is_compared
from tape.program.calls.names import Bindings
from tests.test_names_of_libraries import Losses, X


def test_attributes_of_the_user_that_no_code_reads_do_not_count():
    held = Losses()
    compiled = tape.compile(lambda x: x + held.qsize())
    for k in range(5):
        held.reads = k
        assert compiled(1.0) == 1.0
    assert len(compiled.programs) == 1


# ---- attributes alone, or all of it ------------------------------------------------------------------------


@pytest.mark.parametrize("read", [lambda x: x * TASKS.maxsize, lambda x: x * OWNER.tasks.maxsize])
def test_of_attributes_that_code_reads_by_name_nothing_else_is_compared(read):
    """What others put into a queue is none of a function that asks for its size alone."""
    TASKS.maxsize = 3
    compiled = tape.compile(read)
    for k in range(8):
        np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, 3.0))
        TASKS.put(k) if k % 2 else TASKS.queue.clear()
    assert len(compiled.programs) == 1
    TASKS.maxsize = 7
    np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, 7.0))


def by_another_name(x):
    tasks = OWNER.tasks
    return x * tasks.qsize()


def passed_on(x):
    return x * len_of(OWNER.tasks)


def len_of(tasks):
    return tasks.qsize()


TASKS: queue.Queue[int] = queue.Queue()
OWNER = types.SimpleNamespace(tasks=TASKS)
SIZE = TASKS.qsize


@pytest.mark.parametrize(
    "read",
    [
        by_another_name,
        passed_on,
        lambda x: x * SIZE(),
        lambda x: x * OWNER.tasks.qsize() * (TASKS.maxsize + 1),
        lambda x: x * getattr(TASKS, "qsize")(),  # noqa: B009
        lambda x: x * [OWNER.tasks][0].qsize(),
        lambda x: x * len(TASKS.queue),
    ],
)
def test_a_queue_whose_items_are_read_by_whatever_way_is_compared(read):
    TASKS.maxsize = 0
    TASKS.queue.clear()
    compiled = tape.compile(read)
    for k in range(6):
        np.testing.assert_array_equal(compiled(np.ones(2)), read(np.ones(2)))
        TASKS.put(k)


def nested(levels):
    """A list in lists."""
    return [nested(levels - 1)] if levels else [1.0]


def innermost(held, levels):
    for _ in range(levels):
        held = held[0]
    return held


# What a queue holds, what is read of it, and how that changes.
HELD = {
    "array": (np.ones(10**4), lambda held: held[3], lambda held: held.__iadd__(1.0)),
    "memory": (bytearray(b"1" * 10**5), lambda held: held[3], lambda held: np.asarray(held).__iadd__(1)),
    "view of memory": (
        memoryview(bytearray(10**5)),
        lambda held: 1.0 + held[3],
        lambda held: np.asarray(held).__iadd__(1),
    ),
    "lists": (nested(1), lambda held: held[0][0], lambda held: held[0].__setitem__(0, 5.0)),
    "many lists": (
        [nested(0) for _ in range(1000)],
        lambda held: len(held[3]),
        lambda held: held.__setitem__(3, [1.0, 2.0]),
    ),
    "of the most levels": (
        nested(3),
        lambda held: innermost(held, 3)[0],
        lambda held: innermost(held, 2).__setitem__(0, [5.0]),
    ),
}


@pytest.mark.parametrize("case", HELD)
def test_what_a_queue_holds_is_that_of_the_call(case):
    held, read, change = HELD[case]
    tasks = queue.Queue()
    tasks.put(held)
    compiled = tape.compile(lambda x: x * read(tasks.queue[0]) * tasks.qsize())
    for _ in range(2):
        for _ in range(3):
            np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, read(held), float))
        change(held)
    assert compiled.programs


def test_a_queue_that_holds_itself_is_compared():
    tasks = queue.Queue()
    tasks.put(tasks)
    tasks.put(1.0)
    compiled = tape.compile(lambda x: x * tasks.queue[1] * (tasks.qsize() - 1))
    for k in (1.0, 2.0, 2.0, 3.0):
        tasks.queue[1] = k
        assert compiled(1.0) == k


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: functools.partial(f), lambda f: [f]])
def test_a_method_of_a_queue_as_an_argument(wrap):
    """The queue has a name, by which an attribute alone is read."""
    TASKS.maxsize = 0
    TASKS.queue.clear()

    def f(x, size):
        return x * (size[0] if isinstance(size, list) else size)() + TASKS.maxsize

    compiled = tape.compile(f)
    for k in range(6):
        np.testing.assert_array_equal(compiled(np.ones(2), wrap(SIZE)), np.full(2, float(k)))
        TASKS.put(k)


class Odd:
    """An object that raises whatever it is asked for."""

    k = 3.0

    def __getattr__(self, name):
        raise RuntimeError(name)


def test_objects_that_raise_are_asked_for_nothing():
    odd, tasks = Odd(), queue.Queue(maxsize=2)
    compiled = tape.compile(lambda x: x * odd.k * tasks.maxsize)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, 6.0))


class Worker(threading.Thread):
    """A thread with a method that reads what the class of Python's holds."""

    def doubled(self, x):
        return x * len(self.name)


def test_a_method_of_an_object_that_derives_from_a_library():
    worker = Worker(name="a")
    compiled = tape.compile(worker.doubled)
    for name in ("a", "a", "bb", "bb", "a"):
        worker.name = name
        np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, float(len(name))))


def test_an_argument_that_holds_itself_is_compared_by_what_is_read():
    class Leaf:
        pass

    leaf = Leaf()
    leaf.k, leaf.parent = 2.0, Leaf()
    leaf.parent.child = leaf
    compiled = tape.compile(lambda x, leaf: x * leaf.parent.child.k)
    for k in (2.0, 2.0, 3.0, 2.0):
        leaf.k = k
        np.testing.assert_array_equal(compiled(np.ones(2), leaf), np.full(2, k))
    mocked = MagicMock()
    mocked.__getitem__.return_value = 2.0
    compiled = tape.compile(lambda x, mocked: x * mocked["k"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)  # it counts its calls
        for _ in range(6):
            np.testing.assert_array_equal(compiled(np.ones(2), mocked), np.full(2, 2.0))


# ---- one look ----------------------------------------------------------------------------------------------


class Base:
    """Says that it is of Python's own library, which holds what its attributes hold."""

    __module__ = "xml.made"
    __slots__ = ("__dict__", "__weakref__", "_cached", "of_slot")


def attributes_of(holder, **own):
    made = holder()
    for name, value in own.items():
        setattr(made, name, value)
    return made


def nested(levels):
    """Objects in each other, the innermost last."""
    found = [Base()]
    for _ in range(levels):
        found.insert(0, attributes_of(Base, part=found[0]))
    return found


def element():
    return ElementTree.fromstring("<a k='1'><b>text</b>tail</a>")


def pointed():
    number = ctypes.c_int(3)
    return ctypes.pointer(number)


def parser():
    made = configparser.ConfigParser()
    made.read_string("[DEFAULT]\nk = 1\n[part]\nb = 2")
    return made


CHANGES = [
    # what makes an object, what changes it, and the names that code reads
    (lambda: [1], lambda one: one.append(1), ""),
    (lambda: ctypes.c_double(1.0), lambda one: setattr(one, "value", 2.0), ""),
    (pointed, lambda one: setattr(one, "contents", ctypes.c_int(3)), ""),
    (lambda: mmap.mmap(-1, 9), lambda one: one.write(b"a"), ""),
    (element, lambda one: setattr(one, "text", "a"), ""),
    (element, lambda one: setattr(one, "tag", "c"), ""),
    (element, lambda one: setattr(one[0], "tail", "a"), ""),
    (element, lambda one: one[0].set("k", "2"), ""),
    (element, lambda one: one[0].append(element()), ""),
    (parser, lambda one: one.set("part", "b", "3"), ""),
    (parser, lambda one: one["DEFAULT"].update(k="2"), ""),
    (parser, lambda one: setattr(one, "default_section", "part"), ""),
    (threading.Event, lambda one: one.set(), ""),
    (lambda: threading.Thread(name="a"), lambda one: setattr(one, "name", "b"), ""),
    (multiprocessing.Event, lambda one: one.set(), ""),
    (queue.SimpleQueue, lambda one: one.put(1), ""),
    (queue.Queue, lambda one: one.put(1), ""),
    (hashlib.sha256, lambda one: one.update(b"a"), ""),
    (MagicMock, lambda one: setattr(one, "return_value", 2), ""),
    (MagicMock, lambda one: setattr(one, "side_effect", 2), ""),
    (lambda: MagicMock(**{"a.return_value": 1}), lambda one: setattr(one.a, "return_value", 2), ""),
    (threading.Lock, lambda one: one.acquire(), "locked"),
    (threading.Lock, lambda one: one.acquire(), "acquire"),
    (lambda: threading.Semaphore(2), lambda one: one.acquire(), "_value"),
    (lambda: multiprocessing.Semaphore(2), lambda one: one.acquire(), "acquire"),
    (lambda: ValueError(1), lambda one: setattr(one, "args", (2,)), ""),
    (Base, lambda one: setattr(one, "a", 1), ""),
    (Base, lambda one: setattr(one, "of_slot", 1), ""),
    (lambda: attributes_of(Base, a=0.0), lambda one: setattr(one, "a", -0.0), ""),
    (lambda: attributes_of(Base, a=1), lambda one: setattr(one, "a", True), ""),
    (lambda: attributes_of(Base, a=np.float64(0)), lambda one: setattr(one, "a", np.float64(-0.0)), ""),
    (lambda: attributes_of(Base, a=np.float64(0)), lambda one: setattr(one, "a", np.int64(0)), ""),
    (lambda: attributes_of(Base, a=np.zeros(3)), lambda one: one.a.fill(1), ""),
    (lambda: attributes_of(Base, a=np.zeros(4)), lambda one: setattr(one.a, "shape", (2, 2)), ""),
    (lambda: attributes_of(Base, a=np.array([[], 1], object)), lambda one: one.a[0].append(1), ""),
    (lambda: attributes_of(Base, a=range(2)), lambda one: setattr(one, "a", range(3)), ""),
    (lambda: attributes_of(Base, a=deque([1, 2])), lambda one: one.a.rotate(), ""),
    (lambda: attributes_of(Base, a={1: 2}), lambda one: one.a.update({1: 3}), ""),
    (lambda: attributes_of(Base, a={1}), lambda one: one.a.add(2), ""),
    (lambda: attributes_of(Base, a=bytearray(3)), lambda one: one.a.append(1), ""),
    (lambda: attributes_of(Base, a=memoryview(bytearray(2**16))), lambda one: one.a.__setitem__(7, 1), ""),
    (lambda: attributes_of(Base, a=np.poly1d([1, 2])), lambda one: one.a.__setitem__(0, 9), ""),
    (lambda: attributes_of(Base, a=Decimal(1)), lambda one: setattr(one, "a", Decimal("1.0")), ""),
]
UNSEEN = [
    (lambda: ValueError(1), lambda one: setattr(one, "__cause__", KeyError()), ""),
    (threading.Lock, lambda one: one.acquire(), ""),
    (lambda: threading.Semaphore(2), lambda one: one.acquire(), "locks"),
    (lambda: multiprocessing.Semaphore(2), lambda one: one.acquire(), ""),
    (MagicMock, lambda one: one(), ""),
    (MagicMock, lambda one: one.part, ""),
    (Base, lambda one: setattr(one, "cache_of_numbers", 1), ""),
    (Base, lambda one: setattr(one, "_cached", 1), ""),
    (Base, lambda one: setattr(one, "_hash", 1), ""),
    (threading.Condition, lambda one: one.acquire(), "acquire"),
    (lambda: random.Random(1), lambda one: one.random(), ""),
    (np.random.default_rng, lambda one: one.random(), ""),
]


@pytest.mark.parametrize(("make", "change", "names"), CHANGES)
def test_a_look_at_an_object_sees_what_changes_it(make, change, names):
    value = make()
    contents = Contents(value, {*names.split()})
    assert contents(value) == contents.now != ()
    change(value)
    assert contents(value) != contents.now


@pytest.mark.parametrize(("make", "change", "names"), UNSEEN)
def test_a_look_at_an_object_does_not_see_what_has_no_meaning(make, change, names):
    value = make()
    contents = Contents(value, {*names.split()})
    assert contents(value) == contents.now
    change(value)
    assert contents(value) == contents.now


def test_objects_in_each_other_are_looked_into_four_levels_deep():
    for level in range(6):
        every = nested(6)
        contents = Contents(every[0], set())
        every[level].number = 3.0
        assert (contents(every[0]) != contents.now) == (level < 4)
    every = nested(6)
    contents = Contents(every[0], set())
    assert any(one is every[4] for one in contents.held)
    assert all(one is not every[5] for one in contents.held)
    every[3].part = Base()  # of which the identity counts
    assert contents(every[0]) != contents.now


def test_of_long_collections_the_first_items_are_compared():
    for make in (list, deque, lambda items: dict(enumerate(items)), lambda items: np.array([*items], object)):
        for place, is_seen in ((0, True), (255, True), (256, False), (299, False)):
            value = attributes_of(Base, items=make(range(300)))
            contents = Contents(value, set())
            value.items[place] = -1
            assert (contents(value) != contents.now) == is_seen
    value = attributes_of(Base, items=[*range(300)])
    contents = Contents(value, set())
    value.items.append(1)
    assert contents(value) != contents.now


def test_objects_with_many_parts_are_looked_into_less_deep():
    """Those of libraries that are not Python's own sooner."""
    for holder, most in ((Base, 1024), (lambda: np.poly1d([1.0]), 256)):
        for count, is_seen in ((most // 4 - 8, True), (most // 4 + 8, False)):
            rows = [[1, 2] for _ in range(count)]  # four parts each: the class, the length and two items
            value = attributes_of(holder, rows=[rows[k : k + 200] for k in range(0, count, 200)])
            contents = Contents(value, set())
            rows[5][1] = 3
            assert (contents(value) != contents.now) == is_seen
            value.rows.append([])
            assert contents(value) != contents.now


def test_of_much_memory_a_sample_is_compared():
    held = bytearray(2**16 + 8)
    value = attributes_of(Base, a=memoryview(held))
    contents = Contents(value, set())
    held[8 * 3] = 1
    assert contents(value) == contents.now
    held[:] = bytes([1]) * len(held)
    assert contents(value) != contents.now
    value.a = memoryview(bytes(held) + b"more")
    assert len(contents(value)) == len(contents.now)
    assert contents(value) != contents.now


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        (threading.Event, True), (np.vectorize, True), (Base, True), (type(threading.Lock()), False),
        (threading.Condition, False), (type(iter([])), False), (random.Random, False), (float, True),
        (np.ndarray, True), (type, False), (fractions.Fraction, True), (pathlib.PurePosixPath, False),
    ],
)  # fmt: skip
def test_which_classes_of_libraries_are_compared(kind, is_one):
    assert is_compared(kind) is is_one


def test_objects_that_raise_hold_nothing_that_is_known():
    class Raising(Base):
        __module__ = "xml.made"

        def __getattribute__(self, name):
            raise ZeroDivisionError

    value = attributes_of(Base, first=Raising(), second=1)
    contents = Contents(value, set())
    value.second = 2
    assert contents(value) != contents.now
    assert repr(contents) == "an object of xml.made.Base"


# ---- what costs nothing ------------------------------------------------------------------------------------


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens a file of a name, until the test ends."""
    with ExitStack() as files:
        yield lambda name: files.enter_context((tmp_path / name).open("w"))


def logs(opened):
    log = logging.getLogger("tape_under_test")
    log.propagate = False
    log.addHandler(logging.StreamHandler(opened("log")))
    return lambda x: (log.warning("a step"), x * 2.0)[1]


def locks(opened):
    lock = threading.Lock()

    def f(x):
        with lock:
            return x * 2.0

    return f


def locks_again(opened):
    lock = threading.RLock()

    def f(x):
        with lock:
            return x * 2.0

    return f


def waits_for_its_turn(opened):
    turn = threading.Condition()

    def f(x):
        with turn:
            turn.notify_all()
            return x * 2.0

    return f


def shows_progress(opened):
    bar = pytest.importorskip("tqdm").tqdm(total=8, file=opened("bar"))
    return lambda x: (bar.update(), x * 2.0)[1]


def writes_to_a_file(opened):
    file = opened("file")
    return lambda x: (file.write("a step"), x * 2.0)[1]


def matches(opened):
    pattern = re.compile("a(.)")
    return lambda x: x * float(pattern.match("a2")[1])


def reads_a_path(opened):
    path = pathlib.Path("a")
    return lambda x: x * 2.0 if path.name else x


def reads_a_fraction(opened):
    half = fractions.Fraction(4, 2)
    return lambda x: x * float(half)


def caches(opened):
    cached = functools.lru_cache(lambda k: k + 1.0)
    return lambda x: x * cached(1.0)


def reads_limits(opened):
    limits = np.finfo(float)
    return lambda x: x * 2.0 + limits.tiny * 0.0


@pytest.mark.parametrize(
    "make",
    [
        logs, locks, locks_again, waits_for_its_turn, shows_progress, writes_to_a_file, matches, reads_a_path,
        reads_a_fraction, caches, reads_limits,
    ],
    ids=lambda make: make.__name__,
)  # fmt: skip
def test_what_does_not_change_numbers_is_not_compared(make, opened):
    f = make(opened)
    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.NotCompiledWarning)
        warnings.simplefilter("error", errors.PathLimitWarning)
        for _ in range(8):
            np.testing.assert_array_equal(compiled(X), X * 2.0)
    assert len(compiled.programs) == 1
    assert all(binding.kind != "contents" for binding in Bindings(f, []).found)


def test_another_thread_that_holds_a_lock_is_no_reason_to_record_again():
    lock = threading.RLock()
    turn = threading.Lock()
    compiled = tape.compile(lambda x: x * 2.0 if lock and turn else x)
    assert compiled(1.0) == 2.0
    with lock, turn:
        assert compiled(1.0) == 2.0
    assert len(compiled.programs) == 1
