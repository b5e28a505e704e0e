"""Machine code on disk: what is damaged or foreign is not loaded, and where it is kept."""

import os
import stat
import threading

import numpy as np
import pytest

import tape
from tape import errors
from tape.program import native, objects, promotion


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
    for at in (0, len(native._MAGIC), len(native._MAGIC) + 31, len(native._MAGIC) + 33, len(data) // 2, -1):
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


# ---- where it is kept ----------------------------------------------------------------------------


def test_the_folder_is_what_the_user_says(tmp_path, monkeypatch):
    wanted = tmp_path / "a" / "b"
    monkeypatch.setenv("TAPE_CACHE_DIR", str(wanted))
    assert native.cache_folder() == wanted
    assert wanted.is_dir()


@pytest.mark.skipif(os.name == "nt", reason="another folder there")
def test_the_folder_is_that_of_the_users_caches(tmp_path, monkeypatch):
    monkeypatch.delenv("TAPE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert native.cache_folder() == tmp_path / "tape"
    monkeypatch.setenv("TAPE_CACHE_DIR", "")
    assert native.cache_folder() == tmp_path / "tape"


def test_without_a_folder_nothing_is_kept(kept, monkeypatch):
    """A file is where the folder should be."""
    code, compiled, folder = kept
    (folder / "file").write_bytes(b"")
    monkeypatch.setenv("TAPE_CACHE_DIR", str(folder / "file"))
    assert native.cache_folder() is None
    assert native._objects() == code
    assert native._objects() == code
    assert len(compiled) == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may write anywhere")
def test_a_folder_that_cannot_be_written_to(kept):
    code, compiled, folder = kept
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert native.cache_folder() is None
    assert native._objects() == code
    assert len(compiled) == 1


def test_a_full_disk(kept, monkeypatch):
    """What cannot be kept runs all the same, and nothing half-written is left."""
    code, compiled, folder = kept

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(native.os, "replace", fail)
    assert native._objects() == code
    assert len(compiled) == 1
    assert files(folder) == []


def test_threads_that_write_at_once(kept):
    """The last one wins; there is a whole file at any time."""
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


# ---- where something is not as it is known to be ---------------------------------------------------


def test_unknown_objects_leave_functions_as_they_are(monkeypatch):
    monkeypatch.setattr(objects, "IS_KNOWN", False)
    compiled = tape.compile(lambda x: 2 * x)
    with pytest.warns(errors.NotCompiledWarning, match="plain Python"):
        first = compiled(np.ones(2))
    np.testing.assert_array_equal(first, compiled(np.ones(2)))
    assert not compiled.programs


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
