"""Which objects of libraries a compiled function compares in each call, how far, and which it does not."""

import fractions
import functools
import logging
import pathlib
import queue
import re
import threading
import types
import warnings
from contextlib import ExitStack
from unittest.mock import MagicMock

import numpy as np
import pytest

import tape
from tape import errors
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
