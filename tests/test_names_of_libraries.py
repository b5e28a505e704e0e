"""Objects of libraries: what they hold is that of the call, and what is done to them is done in each."""

import asyncio
import configparser
import ctypes
import decimal
import email.message
import hashlib
import mmap
import multiprocessing
import queue
import string
import threading
import types
import warnings
import xml.etree.ElementTree as ET
from collections import UserString
from concurrent.futures import Future
from contextlib import suppress
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import tape
from tape import errors
from tape.core.node import Handle
from tape.program.calls.statics import is_stable
from tests.tiers import takes_long

X = np.array([1.0, 2.0])


class Pair(ctypes.Structure):
    _fields_ = [("k", ctypes.c_double), ("n", ctypes.c_int)]


class Stop(threading.Event):
    pass


class Losses(queue.Queue):
    """A queue of the user's, which counts something that its base does not know."""

    reads = 0


class Failed(ValueError):
    pass


class Holder:
    def __init__(self, held):
        self.held = held


def toggle(event):
    if event.is_set():
        event.clear()
    else:
        event.set()


def toggle_lock(lock):
    if lock.locked():
        lock.release()
    else:
        lock.acquire()


def config():
    made = configparser.ConfigParser()
    made.read_string("[train]\nscale=1")
    return made


def scale_up(section):
    section["scale"] = str(float(section["scale"]) + 1)


def pointed_at():
    return ctypes.pointer(ctypes.c_double(1.0))


def add_to_contents(pointer):
    pointer.contents.value += 1


def memory():
    return mmap.mmap(-1, 8)


def add_to_item(items):
    items[0] += 1


def add_to_value(held):
    held.value += 1


def add_to_field(held):
    held.k += 1


def mock():
    made = Mock()
    made.get.return_value = 1.0
    return made


def add_to_returned(made):
    made.get.return_value += 1.0


def element():
    return ET.fromstring("<a k='1'><b n='1'>1</b></a>")


def add_to_text(root):
    child = root.find("b")
    child.text = str(float(child.text) + 1)


def add_to_attribute(root):
    root.set("k", str(float(root.get("k")) + 1))


def add_to_attrib(root):
    root[0].attrib["n"] = str(float(root[0].attrib["n"]) + 1)


def add_child(root):
    ET.SubElement(root, "b")


def add_to_args(error):
    error.args = (error.args[0] + 1,)


def add_to_cell(cell):
    cell.cell_contents += 1


def add_to_precision(context):
    context.prec += 1


def add_to_template(template):
    template.template = "1" + template.template


def message():
    made = email.message.Message()
    made["scale"] = "1"
    return made


def replace_header(made):
    made.replace_header("scale", str(float(made["scale"]) + 1))


def spline():
    return CubicSpline(np.arange(4.0), np.array([0.0, 1.0, 4.0, 2.0]))


def add_to_coefficients(made):
    made.c[-1, 0] += 1.0


def add_to_data(text):
    text.data += "1"


def take(semaphore):
    """Take one of many, as `threading.Semaphore` allows without waiting."""
    semaphore.acquire(blocking=False)


def finished():
    made = Future()
    made.set_result([1.0])
    return made


CASES = {
    "event": (threading.Event, lambda o: 2.0 if o.is_set() else 1.0, toggle),
    "event of the user's": (Stop, lambda o: 2.0 if o.is_set() else 1.0, toggle),
    "event of processes": (multiprocessing.Event, lambda o: 2.0 if o.is_set() else 1.0, toggle),
    "event of a loop": (asyncio.Event, lambda o: 2.0 if o.is_set() else 1.0, toggle),
    "queue of a loop": (asyncio.Queue, lambda o: 1.0 + o.qsize(), lambda o: o.put_nowait(1.0)),
    "lock": (threading.Lock, lambda o: 2.0 if o.locked() else 1.0, toggle_lock),
    "semaphore": (lambda: threading.Semaphore(100), lambda o: o._value, take),
    "queue": (queue.Queue, lambda o: 1.0 + o.qsize(), lambda o: o.put(1.0)),
    "queue of the user's": (Losses, lambda o: 1.0 + o.qsize(), lambda o: o.put(1.0)),
    "queue in C": (queue.SimpleQueue, lambda o: 1.0 + o.qsize(), lambda o: o.put(1.0)),
    "config": (config, lambda o: float(o["train"]["scale"]), lambda o: scale_up(o["train"])),
    "get of a config": (config, lambda o: o.getfloat("train", "scale"), lambda o: scale_up(o["train"])),
    "section": (lambda: config()["train"], lambda o: o.getfloat("scale"), scale_up),
    "structure": (lambda: Pair(1.0, 1), lambda o: o.k, add_to_field),
    "number in C": (lambda: ctypes.c_double(1.0), lambda o: o.value, add_to_value),
    "array in C": (lambda: (ctypes.c_double * 3)(1.0), lambda o: o[0], add_to_item),
    "pointer": (pointed_at, lambda o: o[0], add_to_contents),
    "shared value": (lambda: multiprocessing.Value("d", 1.0), lambda o: o.value, add_to_value),
    "shared array": (lambda: multiprocessing.Array("d", [1.0]), lambda o: o[0], add_to_item),
    "shared memory": (lambda: multiprocessing.RawArray("d", [1.0]), lambda o: o[0], add_to_item),
    "mapped memory": (memory, lambda o: 1.0 + o[0], add_to_item),
    "mock": (mock, lambda o: o.get(), add_to_returned),
    "text of an element": (element, lambda o: float(o[0].text), add_to_text),
    "found element": (element, lambda o: float(o.findtext("b")), add_to_text),
    "get of an element": (element, lambda o: float(o.get("k")), add_to_attribute),
    "attrib of an element": (element, lambda o: float(o[0].attrib["n"]), add_to_attrib),
    "length of an element": (element, len, add_child),
    "tree": (lambda: ET.ElementTree(element()), lambda o: len(o.getroot()), lambda o: add_child(o.getroot())),
    "error": (lambda: ValueError(1.0), lambda o: o.args[0], add_to_args),
    "error of the user's": (lambda: Failed(1.0), lambda o: o.args[0], add_to_args),
    "cell": (lambda: types.CellType(1.0), lambda o: o.cell_contents, add_to_cell),
    "context": (decimal.Context, lambda o: o.prec, add_to_precision),
    "template": (lambda: string.Template("$k"), lambda o: float(o.substitute(k=1)), add_to_template),
    "message": (message, lambda o: float(o["scale"]), replace_header),
    "hash": (hashlib.sha256, lambda o: float(int(o.hexdigest()[:8], 16)), lambda o: o.update(b"1")),
    "text": (lambda: UserString("1"), lambda o: float(str(o)), add_to_data),
    "item of a polynomial": (lambda: np.poly1d([1.0, 2.0]), lambda o: o[0], add_to_item),
    "polynomial": (lambda: np.poly1d([1.0, 2.0]), lambda o: float(o(0.5)), add_to_item),
    "spline": (spline, lambda o: float(o(0.5)), add_to_coefficients),
    "result": (finished, lambda o: o.result()[0], lambda o: add_to_item(o.result())),
}
HASHED = [
    case
    for case, (make, _, _) in CASES.items()
    if is_stable(made := make()) and type(made).__eq__ is object.__eq__
]


def closed_over(held, read):
    return lambda x: x * read(held)


def in_a_list(held, read):
    kept = [held]
    return lambda x: x * read(kept[0])


def in_a_tuple_in_a_dict(held, read):
    kept = {"k": (1.0, held)}
    return lambda x: x * read(kept["k"][1])


def attribute(held, read):
    holder = Holder(held)
    return lambda x: x * read(holder.held)


def method(held, read):
    class Model(Holder):
        def __call__(self, x):
            return x * read(self.held)

    return Model(held)


WAYS = [closed_over, in_a_list, in_a_tuple_in_a_dict, attribute, method]


@takes_long
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("case", CASES)
def test_what_an_object_of_a_library_holds_is_that_of_the_call(case, way):
    make, read, change = CASES[case]
    held = make()
    f = way(held, read)
    slope = tape.grad(lambda x: np.sum(f(x) ** 2))
    compiled, compiled_slope = tape.compile(f), tape.compile(slope)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            before = f(X)
            for _ in range(2):
                np.testing.assert_array_equal(compiled(X), f(X))
                np.testing.assert_array_equal(compiled_slope(X), slope(X))
            change(held)
            assert not np.array_equal(f(X), before)
        np.testing.assert_array_equal(compiled(X), f(X))
    assert compiled.programs
    assert compiled_slope.programs


@pytest.mark.parametrize("case", HASHED)
def test_what_an_argument_of_a_library_holds_is_that_of_the_call(case):
    make, read, change = CASES[case]
    held = make()
    f = lambda x, k: x * read(k)  # noqa: E731
    slope = tape.grad(lambda x, k: np.sum(f(x, k) ** 2))
    compiled, compiled_slope = tape.compile(f), tape.compile(slope)
    for _ in range(3):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X, held), f(X, held))
            np.testing.assert_array_equal(compiled_slope(X, held), slope(X, held))
        change(held)
    np.testing.assert_array_equal(compiled(X, held), f(X, held))
    assert compiled.programs


def is_plain(warned):
    """Return whether there was one warning, that a function runs as plain Python."""
    (warning,) = warned
    is_it = "changes it in each call" in str(warning.message)
    return is_it and warning.category is errors.NotCompiledWarning


@takes_long
@pytest.mark.parametrize("way", [closed_over, in_a_list, attribute], ids=lambda way: way.__name__)
@pytest.mark.parametrize("case", CASES)
def test_what_a_function_does_to_an_object_of_a_library_is_done_in_each_call(case, way):
    make, read, change = CASES[case]

    def change_and_read(held):
        change(held)
        return read(held)

    held, other = make(), make()
    f, plain = way(held, change_and_read), way(other, change_and_read)
    compiled = tape.compile(f)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(8):
            np.testing.assert_array_equal(compiled(X), plain(X))
    assert is_plain(warned)
    assert read(held) == read(other)


@pytest.mark.parametrize("case", HASHED)
def test_what_a_function_does_to_an_argument_of_a_library_is_done_in_each_call(case):
    make, read, change = CASES[case]

    def f(x, held):
        change(held)
        return x * read(held)

    held, other = make(), make()
    compiled = tape.compile(f)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(8):
            np.testing.assert_array_equal(compiled(X, held), f(X, other))
    assert is_plain(warned)
    assert read(held) == read(other)


# ---- traced values -----------------------------------------------------------------------------------------


def numbers_in(items):
    """Return the numbers of some items, none of which is of a trace within a trace."""
    for item in items:
        assert not (isinstance(item, Handle) and isinstance(item.value, Handle))
    return [float(item) for item in items]


PUTS = {
    "queue": (queue.Queue, lambda q, loss: q.put(loss), lambda q: [*q.queue]),
    "queue of the user's": (Losses, lambda q, loss: q.put(loss), lambda q: [*q.queue]),
    "last in, first out": (queue.LifoQueue, lambda q, loss: q.put(loss), lambda q: [*q.queue]),
    "pairs": (
        queue.PriorityQueue,
        lambda q, loss: q.put((q.qsize(), loss)),
        lambda q: [loss for _, loss in sorted(q.queue, key=lambda pair: pair[0])],
    ),
    "list in a result": (
        finished,
        lambda future, loss: future.result().append(loss),
        lambda future: future.result()[1:],
    ),
}


@pytest.mark.parametrize("case", PUTS)
def test_losses_in_an_object_of_a_library_are_numbers_and_those_of_all_calls(case):
    make, put, items = PUTS[case]
    held = make()

    def loss(w):
        found = np.sum(w * w)
        put(held, found)
        return found

    compiled = tape.compile(tape.grad(loss))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for k in range(6):
            np.testing.assert_array_equal(compiled(np.full(2, float(k))), np.full(2, 2.0 * k))
    assert is_plain(warned)
    assert numbers_in(items(held)) == [2.0 * k * k for k in range(6)]


@takes_long
@pytest.mark.parametrize("again", ["int", "errstate", "error"])
@pytest.mark.parametrize("case", [case for case in CASES if case != "hash"])  # which cannot be put back
def test_an_object_of_a_library_is_changed_once_where_a_function_runs_twice(case, again):
    """It runs again, with ints that are static, or as plain Python."""
    make, read, change = CASES[case]

    def function(held):
        def f(x, n):
            change(held)
            by = read(held)
            if again == "int":
                return np.sum(x[:n]) * by
            if again == "errstate":
                with np.errstate(divide="raise"):
                    return x * by
            with suppress(errors.TapeError):
                return x * float(np.sum(x)) * by
            return x

        return f

    held, other = make(), make()
    compiled, plain = tape.compile(function(held)), function(other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for k in range(5):
            x, n = np.full(3, k + 1.0), k % 2 + 1
            np.testing.assert_array_equal(compiled(x, n), plain(x, n))
            assert read(held) == read(other)


def test_an_event_that_a_branch_sets_is_set_whenever_it_is_taken():
    stop, other = threading.Event(), threading.Event()

    def f(x, stop=stop):
        if np.sum(x) > 10.0:
            stop.set()
        return x * 2.0

    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for k in range(12):
            x = X * (10.0 if k % 3 == 2 else 1.0)
            np.testing.assert_array_equal(compiled(x), f(x, other))
            assert stop.is_set() == other.is_set()
            if k % 2:
                stop.clear(), other.clear()


def counted(total, c):
    total.value += 1
    return c * total.value


LOOPS = {
    "scan": lambda total, x: tape.scan(lambda c, _: (counted(total, c), None), x, None, 3)[0],
    "fori_loop": lambda total, x: tape.fori_loop(0, 3, lambda i, c: counted(total, c), x),
    "checkpoint": lambda total, x: tape.checkpoint(lambda c: counted(total, c))(x),
    "vmap": lambda total, x: tape.vmap(lambda c: counted(total, c))(x),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_steps_of_loops_that_change_an_object_of_a_library(loop):
    total, other = multiprocessing.Value("d", 0.0), multiprocessing.Value("d", 0.0)
    compiled = tape.compile(lambda x: LOOPS[loop](total, x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for _ in range(6):
            np.testing.assert_array_equal(compiled(X), LOOPS[loop](other, X))
    assert total.value == other.value


def test_a_thread_that_ends():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    compiled = tape.compile(lambda x: x * (2.0 if thread.is_alive() else 1.0))
    assert [compiled(1.0), compiled(1.0)] == [2.0, 2.0]
    stop.set()
    thread.join()
    assert [compiled(1.0), compiled(1.0)] == [1.0, 1.0]


def test_mapped_memory_can_be_closed():
    held = memory()
    compiled = tape.compile(lambda x: x + held[0])
    assert [compiled(1.0), compiled(1.0)] == [1.0, 1.0]
    held.close()
    with pytest.raises(ValueError, match="closed"):
        compiled(1.0)


def test_a_large_config_is_compared_to_its_end():
    held = configparser.ConfigParser()
    held.read_dict({f"part {k}": {f"key {i}": "1" for i in range(100)} for k in range(4)})
    compiled = tape.compile(lambda x: x * float(held["part 3"]["key 99"]))
    for k in range(3):
        held["part 3"]["key 99"] = str(k)
        assert [compiled(1.0), compiled(1.0)] == [k, k]


def test_a_function_that_an_object_of_a_library_holds():
    rate = [1.0]
    scaled = np.vectorize(lambda k: k * rate[0])
    compiled = tape.compile(lambda x: x * float(scaled(2.0)))
    for rate[0] in (1.0, 3.0):
        assert [compiled(1.0), compiled(1.0)] == [2.0 * rate[0]] * 2


@pytest.mark.parametrize("name", ["a", "b"])
def test_tables_of_pandas(name):
    table = pytest.importorskip("pandas").DataFrame({"a": [1.0, 2.0], "b": ["1", "2"]})
    compiled = tape.compile(lambda x: x * float(table.loc[1, name]))
    for value in (2.0, 3.0, 5.0):
        table.loc[1, name] = value if name == "a" else str(value)
        assert [compiled(1.0), compiled(1.0)] == [value, value]
    assert compiled.programs
