"""Machine code: what is damaged or foreign is not loaded, and who helps to compile it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import tape
from tape.program.ir import promotion
from tape.program.native import code as native
from tape.system import cache


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache folder of one's own, with a count of compilations, which give the code that there is."""
    code = native._objects()
    compiled = []

    def compile_again(group):
        compiled.append(1)
        return code

    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(native, "_compiled", compile_again)
    return code, compiled, tmp_path


def files(folder):
    return sorted(folder.iterdir())


def test_code_is_compiled_once(kept):
    code, compiled, folder = kept
    assert [native._objects(), native._objects(), native._objects()] == [code] * 3
    assert len(compiled) == 1
    assert len(files(folder)) == 1


def test_kept_code_runs(kept):
    native._objects()
    loaded = native.Native(native._objects())
    assert set(loaded.addresses) == set(kept[0])
    assert all(loaded.addresses.values())
    assert len(kept[1]) == 1


@pytest.mark.parametrize("group", native._GROUPS)
def test_no_two_kernels_have_the_same_symbol(group):
    """Code from two processes is put together: one would run for the other."""
    code = native._objects(group)
    assert set(code) == set(native._GROUPS[group])
    assert len({symbol for symbol, _ in code.values()}) == len(code)


def damages(data):
    yield b""
    yield data[:10]
    yield data[:-1]
    yield data + b"\0"
    yield bytes(len(data))
    yield b"another file" + data
    for at in (0, len(cache._MAGIC), len(cache._MAGIC) + 31, len(cache._MAGIC) + 33, len(data) // 2, -1):
        changed = bytearray(data)
        changed[at] ^= 1
        yield bytes(changed)


def test_damaged_code_is_compiled_again(kept):
    """Nothing of it is loaded, and the file is whole afterwards."""
    code, compiled, folder = kept
    native._objects()
    (path,) = files(folder)
    data = path.read_bytes()
    for count, damaged in enumerate(damages(data), start=2):
        path.write_bytes(damaged)
        assert native._objects() == code
        assert len(compiled) == count
        assert path.read_bytes() == data
    assert files(folder) == [path]


def test_code_of_other_sources_is_not_used(kept, monkeypatch):
    _, compiled, folder = kept
    native._objects()
    monkeypatch.setattr(native, "_fingerprint", lambda: "0" * 24)
    native._objects()
    assert len(compiled) == 2
    assert len(files(folder)) == 2


def test_the_fingerprint_depends_on_sources_processor_and_versions(monkeypatch):
    found = {native._fingerprint()}
    assert native._fingerprint() in found
    monkeypatch.setattr(native, "_SOURCES", native._SOURCES[1:])
    found.add(native._fingerprint())
    monkeypatch.setattr(native.llvm, "get_host_cpu_name", lambda: "another")
    found.add(native._fingerprint())
    monkeypatch.setattr(native.numba, "__version__", "0.0")
    found.add(native._fingerprint())
    assert len(found) == 4


def test_every_source_is_in_the_fingerprint():
    """The modules that compiled functions come from."""
    modules = {function.py_func.__module__ for function, *_ in native._UNITS.values()}
    assert modules <= {module.__name__ for module in native._SOURCES}


def test_code_that_is_whole_but_of_another_make_is_compiled_again(kept):
    """A digest says who has written it, not what."""
    code, compiled, folder = kept
    native._objects()
    (path,) = files(folder)
    some = dict(list(code.items())[1:])
    for content in (b"", b"\xff" * 40, native._packed(code)[:-1], b"\0" * 8, native._packed(some)):
        cache.write(path.name, content, 8)
        assert cache.read(path.name) == content
        assert native._objects() == code
    assert len(compiled) == 6


def test_without_a_folder_nothing_is_kept(kept, monkeypatch):
    """A file is where the folder should be."""
    code, compiled, folder = kept
    (folder / "file").write_bytes(b"")
    monkeypatch.setenv("TAPE_CACHE_DIR", str(folder / "file"))
    assert native._objects() == code
    assert native._objects() == code
    assert len(compiled) == 2


def test_without_sources_nothing_is_kept(kept, monkeypatch):
    """As where the package is imported from a zip file."""
    code, compiled, folder = kept
    monkeypatch.setattr(cache, "__file__", "/nowhere/cache.py")
    monkeypatch.setattr(native, "_SOURCES", (*native._SOURCES, cache))
    assert native._fingerprint() is None
    assert native._objects() == code
    assert len(compiled) == 1
    assert files(folder) == []


def test_a_full_disk(kept, monkeypatch):
    """What cannot be kept runs all the same, and nothing half-written is left."""
    code, compiled, folder = kept

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    assert native._objects() == code
    assert len(compiled) == 1
    assert files(folder) == []


def test_who_needs_the_same_code_at_once_waits_for_it(kept):
    """Each thread opens the folder by itself, as each process does."""
    code, compiled, folder = kept
    found = []
    threads = [threading.Thread(target=lambda: found.append(native._objects())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [code] * 6
    assert len(compiled) == 1
    assert len(files(folder)) == 1


def test_threads_that_write_at_once(kept, monkeypatch):
    """The last one wins; there is a whole file at any time."""
    monkeypatch.setattr(native.cache, "alone", lambda seconds: nullcontext())
    code, _, folder = kept
    found = []
    threads = [threading.Thread(target=lambda: found.append(native._objects())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [code] * 6
    assert len(files(folder)) == 1


def test_the_machine_answers_in_a_process_that_only_loads():
    """No name in the code is left without an address: each kind of kernel runs."""
    x, n = np.arange(12.0).reshape(3, 4), np.array([0, 2])

    def f(x, n, a):
        y = np.where(x > a, np.sin(x), x) + np.sum(x, axis=0) * a**1.5
        z = tape.ops.getitem(y, n) @ y.T + tape.ops.solve(np.eye(3) + 0 * a, y).sum()
        return [np.concatenate([z, z.astype(np.float32)[::-1]]), np.tanh(a), x, a]

    compiled = tape.compile(f)
    for a in (0.5, 0.5, 1.5):
        for found, expected in zip(compiled(x, n, a), f(x, n, np.float64(a)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---- the Python that helps ---------------------------------------------------------------------------


def is_alive(pid):
    """Whether a process still runs; one that has ended and that nobody asked about does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def ends(pid, seconds=30):
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def test_a_helper_compiles_what_it_is_asked_for():
    with native._helped(["store"]) as helper:
        made = native._made_by(helper, ["store"])
    assert list(made) == ["store"]


def test_a_helper_that_says_something_else_is_not_listened_to(monkeypatch):
    for code in ("print(1)", "import os; os.write(1, b'\\xff' * 100)", "raise SystemExit(1)", ""):
        monkeypatch.setattr(native, "_HELPER", code)
        with native._helped(["store"]) as helper:
            assert native._made_by(helper, ["store"]) is None


def test_a_helper_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(native, "_HELPER", "import time; time.sleep(600)")
    monkeypatch.setattr(native, "_SECONDS", 0.2)
    with native._helped(["store"]) as helper:
        assert native._made_by(helper, ["store"]) is None
    assert helper.returncode is not None


def test_a_helper_ends_with_an_exception():
    with pytest.raises(KeyboardInterrupt), native._helped(["fold"]) as helper:
        raise KeyboardInterrupt
    assert helper.returncode is not None


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_a_helper_ends_with_its_parent():
    """However that ends."""
    code = """
        import time
        from tape.program.native import code as native
        native._HELPER = native._HELPER.partition("from tape")[0] + "time.sleep(600)"
        with native._helped(["fold"]) as helper:
            print(helper.pid, flush=True)
            time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        helper = int(parent.stdout.readline())
        try:
            assert is_alive(helper)
        finally:
            parent.send_signal(signal.SIGKILL)
    assert ends(helper)


@pytest.mark.parametrize("executable", ["", "/usr/bin/blender", "/nowhere/python3"])
def test_without_a_second_python_the_first_compiles_all(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    with native._helped(["store"]) as helper:
        assert helper is None


# ---- where something is not as it is known to be ---------------------------------------------------


def test_unknown_loops_become_callbacks(monkeypatch):
    monkeypatch.setattr(promotion, "loop_number", lambda name, dtypes: None)
    promotion.loop_dtypes.cache_clear()
    try:
        compiled = tape.compile(lambda x: np.sin(x) * x)
        for x in (np.ones(2), np.array([1.0, 2.0])):
            np.testing.assert_array_equal(compiled(x), np.sin(x) * x)
        (program,) = compiled.programs.values()
        assert "sin" in str(program.explain())
        assert len(program) == 2
    finally:
        promotion.loop_dtypes.cache_clear()
