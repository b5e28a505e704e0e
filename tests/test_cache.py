"""Where compiled code is kept: who may write there, and that nothing that goes wrong is an error."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tape
from tape.system import cache
from tests.kills import kills
from tests.tiers import rounds

pytestmark = pytest.mark.skipif(os.name == "nt", reason="users and modes of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    monkeypatch.setenv("TAPE_CACHE_DIR", str(folder))
    return folder


def test_the_folder_is_what_the_user_says(folder):
    assert cache.cache_folder() == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_folder_is_that_of_the_users_caches(tmp_path, monkeypatch):
    monkeypatch.delenv("TAPE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache.cache_folder() == tmp_path / "caches" / "tape"
    monkeypatch.setenv("TAPE_CACHE_DIR", "")
    assert cache.cache_folder() == tmp_path / "caches" / "tape"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.cache_folder() == tmp_path / "home" / ".cache" / "tape"


def test_a_user_without_a_home_has_no_folder(monkeypatch):
    for name in ("TAPE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert cache.cache_folder() is None
    cache.write("a-1.bin", b"content", 8)
    assert cache.read("a-1.bin") is None


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(folder, mode):
    folder.mkdir()
    cache.write("a-1.bin", b"content", 8)
    folder.chmod(mode)
    assert cache.cache_folder() is None
    assert cache.read("a-1.bin") is None
    cache.write("b-1.bin", b"content", 8)
    assert [path.name for path in folder.iterdir()] == ["a-1.bin"]


def test_what_belongs_to_another_user_is_refused(folder, monkeypatch):
    cache.write("a-1.bin", b"content", 8)
    another = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    assert cache.cache_folder() is None
    monkeypatch.setattr(cache, "cache_folder", lambda: folder)
    assert cache.read("a-1.bin") is None  # the file's owner is asked for, too


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to_is_not_read(folder, mode):
    cache.write("a-1.bin", b"content", 8)
    assert stat.S_IMODE((folder / "a-1.bin").stat().st_mode) == 0o600
    (folder / "a-1.bin").chmod(mode)
    assert cache.read("a-1.bin") is None


def test_links_and_pipes_are_not_followed(folder, tmp_path):
    cache.write("a-1.bin", b"content", 8)
    (folder / "b-1.bin").symlink_to(folder / "a-1.bin")
    os.mkfifo(folder / "c-1.bin")
    (folder / "d-1.bin").mkdir()
    for name in ("b-1.bin", "c-1.bin", "d-1.bin", "missing", "../kept/missing", "a\0b"):
        assert cache.read(name) is None
    cache.write("b-1.bin", b"other", 8)  # takes the place of the link
    assert cache.read("a-1.bin") == b"content"
    assert not (folder / "b-1.bin").is_symlink()


def test_temporary_files_have_names_of_their_own(folder, monkeypatch):
    """One that is there already, such as a link planted by somebody, is not written through."""
    folder.mkdir(mode=0o700)
    victim = folder.parent / "victim"
    victim.write_bytes(b"precious")
    monkeypatch.setattr(cache.secrets, "token_hex", lambda _: "guessed")
    (folder / f"a-1.bin.guessed{cache._TEMPORARY}").symlink_to(victim)
    cache.write("a-1.bin", b"content", 8)
    assert victim.read_bytes() == b"precious"
    assert cache.read("a-1.bin") is None
    monkeypatch.undo()


DAMAGES = {
    "cut": lambda data: data[:-1],
    "empty": lambda data: b"",
    "first byte": lambda data: b"x" + data[1:],
    "last byte": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "longer": lambda data: data + b"x",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_counts_as_missing(folder, damage):
    cache.write("a-1.bin", b"content", 8)
    path = folder / "a-1.bin"
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read("a-1.bin") is None


def test_old_versions_and_what_was_left_unfinished_go(folder):
    for k in range(5):
        cache.write(f"a-{k}.bin", b"content", 8)
        os.utime(folder / f"a-{k}.bin", (k, k))
    cache.write("b-0.bin", b"content", 1)
    left, fresh = folder / f"a-0.bin.0{cache._TEMPORARY}", folder / f"a-0.bin.1{cache._TEMPORARY}"
    left.touch()
    fresh.touch()
    os.utime(left, (time.time() - 2 * cache._ABANDONED,) * 2)
    cache.write("a-5.bin", b"content", 3)
    kept = ["a-0.bin.1.part", "a-3.bin", "a-4.bin", "a-5.bin", "b-0.bin"]
    assert sorted(path.name for path in folder.iterdir()) == kept


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_no_error(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(cache.os, "open", lambda *_: os.dup(full))
    with open("/dev/full", "wb") as file:
        full = file.fileno()
        cache.write("a-1.bin", b"content" * 10_000, 8)
    monkeypatch.undo()
    assert list(folder.iterdir()) == []


def test_a_folder_that_vanishes_is_no_error(folder, monkeypatch):
    monkeypatch.setattr(cache, "cache_folder", lambda: folder / "gone")
    cache.write("a-1.bin", b"content", 8)
    assert cache.read("a-1.bin") is None


# ---- one process at a time ---------------------------------------------------------------------------


def held_in_a_thread(begun, seconds):
    """A thread that takes the lock after another one; it opens the folder by itself, as a process does."""

    def wait():
        with cache.alone(seconds):
            begun.set()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_who_comes_second_waits_for_the_first(folder):
    begun = threading.Event()
    with cache.alone(60):
        thread = held_in_a_thread(begun, 60)
        assert not begun.wait(0.3)
    thread.join()
    assert begun.is_set()
    assert list(folder.iterdir()) == []


def test_nobody_waits_longer_than_asked_for(folder):
    begun = threading.Event()
    with cache.alone(60):
        thread = held_in_a_thread(begun, 0.2)
        assert begun.wait(60)
    thread.join()


HOLDING = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import cache  # alone: it takes seconds to import all

with cache.alone(60):
    child = os.fork() if sys.argv[2] == "forked" else 0
    if child == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("which", ["killed", "forked"])
def test_the_lock_ends_with_its_process(folder, which):
    """However that ends, and even if another one that it has forked in the meantime does not."""
    command = [sys.executable, "-c", HOLDING, str(Path(cache.__file__).parent), which]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        sleeping = int(process.stdout.readline())
        begun = threading.Event()
        if which == "killed":
            thread = held_in_a_thread(begun, 600)
            assert not begun.wait(0.2)
            process.kill()
        else:
            assert process.wait() == 0
            thread = held_in_a_thread(begun, 600)
            assert begun.wait(60)
            os.kill(sleeping, signal.SIGKILL)
        thread.join()


def test_without_a_folder_or_locks_nobody_waits(folder, monkeypatch):
    def fail(*_):
        raise OSError("no locks available")

    for patch in (
        lambda: monkeypatch.setattr(cache.fcntl, "flock", fail),
        lambda: monkeypatch.setattr(cache, "cache_folder", lambda: None),
        lambda: monkeypatch.setattr(cache, "cache_folder", lambda: folder / "gone"),
    ):
        patch()
        with cache.alone(600), cache.alone(600):
            pass


# ---- what is left behind ---------------------------------------------------------------------------------


def test_running_leaves_nothing_in_the_package_but_bytecode(tmp_path):
    """What pip has installed, it can uninstall: else an empty package stays, which shadows others."""
    package = tmp_path / "site" / "tape"
    shutil.copytree(Path(tape.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = set(package.rglob("*"))
    (tmp_path / "tests").mkdir()
    shutil.copy(Path(__file__).with_name("few_units.py"), tmp_path / "tests")
    code = (
        "import numpy as np, tape; from tests.few_units import only; from tape.kernels import eager, loading;"
        "only(eager=['sum_rows d']); tr = tape.Trace(); b = tr.param(np.ones(50));"
        "tr.backward((np.ones((40, 50)) * b).sum()); assert loading.wait('eager');"
        "print(tape.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "TAPE_CACHE_DIR": str(tmp_path / "kept")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path))
    left = {path for path in package.rglob("*") if not path.is_dir()} - before
    assert {path.suffix for path in left} <= {".pyc"}
    assert [path.name.partition("-")[0] for path in (tmp_path / "kept").iterdir()] == ["eager"]


# ---- processes that are killed -----------------------------------------------------------------------


def test_after_a_process_that_was_killed_the_next_one_works():
    kills(rounds(2), seed=1)
