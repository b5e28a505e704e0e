"""Many items: results in order, errors that name their item, and processes that die."""

import contextlib
import math
import os
import pickle
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec

import numpy as np
import pytest
import tqdm.auto

from tape import distributed, errors
from tape.distributed import _map
from tests.oracles import message_of
from tests.tiers import is_full


class Dying:
    """A pool whose processes, which are threads of this one, die of some items."""

    fatal = frozenset()
    made = 0

    def __init__(self, count):
        type(self).made += 1
        self.is_broken = False

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def submit(self, call, f, item):
        future = Future()
        self.is_broken |= pickle.loads(item)[0] in self.fatal
        if self.is_broken:  # even what was done before may be lost
            future.set_exception(BrokenProcessPool("died"))
        else:
            future.set_result(call(f, item))
        return future


@pytest.fixture
def in_threads(monkeypatch):
    monkeypatch.setattr(_map, "_pool", ThreadPoolExecutor)


class Unreadable(Exception):
    """Pickled, but not read."""

    def __init__(self, a, b):
        super().__init__(a)


def by_kind(item):
    if item == 2:
        raise ValueError("two")
    if item == 3:
        raise Unreadable("three", 3)
    if item == 4:
        return lambda: 4
    return item**2


def slow_first(item):
    if item == 0:
        assert others_done.wait(10)
    else:
        others_done.set()
    return {"item": item, "array": np.full(2, item)}


others_done = threading.Event()


def test_results_are_in_order_of_the_items(in_threads):
    others_done.clear()
    found = distributed.map(slow_first, range(3), workers=2)
    assert [result["item"] for result in found] == [0, 1, 2]
    assert distributed.map(slow_first, []) == []
    assert distributed.map(lambda a, b: a["x"] + b, [{"x": 1}, {"x": 2}], (10, 20)) == [11, 22]


def test_an_error_names_its_item_and_the_others_results_are_kept(in_threads):
    with pytest.raises(errors.ItemsError) as caught:
        distributed.map(by_kind, range(6))
    error = caught.value
    assert error.results == [0, 1, None, None, None, 25]
    assert sorted(error.failures) == [2, 3, 4]
    assert isinstance(error.failures[2], ValueError)
    assert "map: 3 of 6 items failed: item 2, by_kind(2): ValueError: two; item 3, by_kind(3)" in str(error)
    assert "Unreadable: three" in str(error.failures[3])
    with pytest.raises(errors.ItemsError, match="item 1, by_kind"):
        distributed.map(by_kind, [1, threading.Lock()])


@pytest.mark.parametrize("fatal", [{0}, {2, 4}, {0, 1, 2, 3, 4}])
def test_an_item_whose_process_dies_does_not_cost_the_others(monkeypatch, fatal):
    monkeypatch.setattr(_map, "_pool", Dying)
    monkeypatch.setattr(Dying, "fatal", fatal)
    monkeypatch.setattr(Dying, "made", 0)
    with pytest.raises(errors.ItemsError) as caught:
        distributed.map(math.sqrt, range(5))
    assert set(caught.value.failures) == fatal
    assert all("has died" in str(error) for error in caught.value.failures.values())
    assert caught.value.results == [None if n in fatal else math.sqrt(n) for n in range(5)]
    assert Dying.made <= 2 + len(fatal)


def test_progress_counts_items(in_threads, monkeypatch):
    class Bar(contextlib.nullcontext):
        count = 0

        def __init__(self, desc, total, unit):
            super().__init__(self)
            shown.append((self, desc, total, unit))

        def update(self, count=1):
            self.count += count

    shown = []
    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    distributed.map(math.sqrt, [1.0, 4.0], progress=True)
    ((bar, *said),) = shown
    assert said == ["map(sqrt)", 2, " item"]
    assert bar.count == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: distributed.map(math.hypot, [1.0], [1.0, 2.0]), "iterables of one length; here 1, 2"),
        (lambda: distributed.map(math.hypot), "here none"),
        (lambda: distributed.map(math.sqrt, [1.0], workers=0), "workers is 0"),
        (lambda: distributed.map(math.sqrt, [1.0], workers=2, client=object()), "left out with a client"),
    ],
)
def test_errors_say_what_to_do(call, said):
    assert said in message_of(call)


@pytest.mark.skipif(find_spec("distributed") is None, reason="clients of Dask need dask and distributed")
@pytest.mark.filterwarnings("ignore")
def test_a_client_of_dask_computes_the_same():
    import logging

    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it prints every error
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with Client(**options) as client:
        assert distributed.map(math.sqrt, [9.0, 4.0, 9.0], client=client) == [3.0, 2.0, 3.0]
        with pytest.raises(errors.ItemsError) as caught:
            distributed.map(math.sqrt, [1.0, -1.0, 4.0], client=client)
    assert caught.value.results == [1.0, None, 2.0]
    assert list(caught.value.failures) == [1]


def kill_at_three(item):
    if item == 3:
        os._exit(1)
    return item


if is_full():  # each process imports everything

    def test_processes_that_die_are_replaced():
        with pytest.raises(errors.ItemsError) as caught:
            distributed.map(kill_at_three, range(6), workers=2)
        assert caught.value.results == [0, 1, 2, None, 4, 5]
