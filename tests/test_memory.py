"""Freed memory is kept for reuse: done at import, bounded, and turned off from outside."""

import os
import subprocess
import sys

import pytest

from tape.system.memory import keep_freed

FAULTS = """
import resource
import numpy as np
import tape

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def churn():
    arrays = [np.ones(300_000) for _ in range(20)]  # 48 MB: above what glibc keeps by itself

churn()
before = faults()
for _ in range(10):
    churn()
print(faults() - before)
"""


def faults(**environment):
    done = subprocess.run(
        [sys.executable, "-c", FAULTS],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not keep_freed(), reason="only Linux with glibc, without settings of its own")
def test_memory_is_reused_without_page_faults():
    left_alone = faults(TAPE_KEEP_FREED="0")
    if left_alone < 10_000:  # 10 x 48 MB are 120,000 pages of 4 kB
        pytest.skip("memory comes in huge pages here")
    assert faults() < left_alone / 50


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TAPE_KEEP_FREED", "0"),
        ("MALLOC_TRIM_THRESHOLD_", "131072"),
        ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=131072"),
    ],
)
def test_settings_from_outside_are_respected(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert keep_freed() is False


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert keep_freed() is False


class Libc:
    """A C library that notes what it is asked for."""

    def __init__(self, answer=1):
        self.asked = []
        self._answer = answer

    def gnu_get_libc_version(self):
        raise AssertionError

    def mallopt(self, option, value):
        self.asked.append((option, value))
        return self._answer


@pytest.fixture
def on_linux(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    for name in os.environ:
        if name.startswith(("MALLOC_", "GLIBC_", "TAPE_KEEP")):
            monkeypatch.delenv(name)


def test_glibc_is_asked_to_keep_256_megabytes_in_arrays_of_32(on_linux, monkeypatch):
    libc = Libc()
    monkeypatch.setattr("ctypes.CDLL", lambda name: libc)
    assert keep_freed() is True
    assert libc.asked == [(-3, 32 * 2**20), (-1, 256 * 2**20)]  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD


def test_another_c_library_is_left_alone(on_linux, monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert keep_freed() is False


def test_a_refusal_is_reported(on_linux, monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda name: Libc(0))
    assert keep_freed() is False
