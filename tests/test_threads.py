"""Threads start on another processor than the caller's, and where they cannot the caller does it all."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

from tape.program.native.threads import places

pytestmark = pytest.mark.skipif(places() is None, reason="the C library knows of no processors")


def mask_of(attributes):
    mask = np.zeros(128, np.uint8)
    get = ctypes.CDLL(None).pthread_attr_getaffinity_np
    assert (
        get(ctypes.c_void_p(attributes.ctypes.data), ctypes.c_size_t(128), ctypes.c_void_p(mask.ctypes.data))
        == 0
    )
    return set(np.flatnonzero(np.unpackbits(mask, bitorder="little")).tolist())


def test_a_thread_may_start_anywhere_but_where_the_caller_is():
    table, usable = places(), os.sched_getaffinity(0)
    assert table[0, 0] == max(usable) + 1
    mask = np.frombuffer(ctypes.string_at(int(table[0, 2]), int(table[0, 1])), np.uint8)
    assert set(np.flatnonzero(np.unpackbits(mask, bitorder="little")).tolist()) == usable
    for cpu in usable:
        assert mask_of(table[1 + cpu]) == usable - {cpu}


def test_work_is_done_where_no_thread_can_start():
    """On one processor, with two threads asked for."""
    code = """
import os
import numpy as np
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["TAPE_NUM_THREADS"] = "2"
import tape
x = np.linspace(0, 1, 300_000)
f = tape.compile(lambda x: np.exp(np.sin(x)) * 2)
f(x)
np.testing.assert_allclose(f(x), np.exp(np.sin(x)) * 2, rtol=1e-14)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


@pytest.mark.parametrize("usable", [{0}, {0, 9, 100}, {3, 63, 64, 65}, {0, 1023}])
def test_any_number_of_processors(monkeypatch, usable):
    """As many as a mask of the C library has bits."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: usable)
    table = places()
    assert table[0, 0] == max(usable) + 1 == len(table) - 1
    for cpu in usable:
        assert mask_of(table[1 + cpu]) == usable - {cpu}


def test_more_processors_than_a_mask_has_bits(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1024})
    assert places() is None


def test_a_library_that_knows_of_no_processors(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 2, 77})  # of which nothing is known yet
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert places() is None
