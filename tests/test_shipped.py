"""Machine code that comes with the installation: used where it fits, and by a process without numba."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from llvmlite import binding as llvm

from tape.kernels import loading, shipped
from tape.kernels.fingerprint import sources
from tape.kernels.groups import ALL
from tape.system import cache

GROUP = "sliding"
ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shipped.level() is None, reason="no level for this processor")


def forget():
    shipped._chosen.cache_clear()
    shipped.level.cache_clear()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation with code for this processor's level, which is that of the cache."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "objects")
    forget()
    yield fill(shipped.folder_of(shipped.level()), ALL)
    forget()


def fill(folder, groups):
    folder.mkdir(parents=True)
    contents = {group: loading.packed(loading._on_disk(group)) for group in groups}
    for group, content in contents.items():
        (folder / f"{group}.bin").write_bytes(content)
    digests = {group: sha256(content).hexdigest() for group, content in contents.items()}
    (folder / shipped.INDEX).write_text(json.dumps({"sources": sources(), "digests": digests}))
    forget()
    return folder


def changed(folder, **fields):
    index = json.loads((folder / shipped.INDEX).read_text())
    (folder / shipped.INDEX).write_text(json.dumps({**index, **fields}))
    forget()


def test_code_is_read_as_it_was_written(installed):
    for group in ALL:
        assert shipped.read(group) == (installed / f"{group}.bin").read_bytes()
    assert shipped.read("another") is None


def test_code_of_the_installation_goes_before_the_cache(installed, monkeypatch):
    monkeypatch.setattr(cache, "read", lambda name: pytest.fail("the cache was read"))
    assert loading._on_disk(GROUP) == loading.unpacked(shipped.read(GROUP))


def test_there_may_be_none(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "missing")
    forget()
    assert shipped.read(GROUP) is None
    (tmp_path / "missing").mkdir()
    forget()
    assert shipped.read(GROUP) is None
    forget()


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b""])
def test_a_damaged_file_is_not_used_and_the_others_are(installed, damage):
    path = installed / f"{GROUP}.bin"
    path.write_bytes(damage(path.read_bytes()))
    assert shipped.read(GROUP) is None
    assert loading._on_disk(GROUP) is not None  # of the cache
    assert shipped.read("writing") is not None


def test_a_missing_file_is_not_used_and_the_others_are(installed):
    (installed / f"{GROUP}.bin").unlink()
    assert shipped.read(GROUP) is None
    assert shipped.read("writing") is not None


def test_code_of_other_sources_is_not_used(installed):
    changed(installed, sources="0" * 24)
    assert shipped.read(GROUP) is None


def test_code_without_sources_is_not_used(installed, monkeypatch):
    monkeypatch.setattr(shipped, "sources", lambda: None)
    forget()
    assert shipped.read(GROUP) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"sources": 3}', "\xff", "null"])
def test_an_index_that_is_none_is_not_used(installed, text):
    (installed / shipped.INDEX).write_text(text, encoding="latin1")
    forget()
    assert shipped.read(GROUP) is None


def test_a_file_that_the_index_does_not_name_is_not_used(installed):
    changed(installed, digests={"writing": "0"})
    assert shipped.read(GROUP) is None
    assert shipped.read("writing") is None


def test_code_for_another_python_is_not_used(installed, monkeypatch):
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    forget()
    assert shipped.read(GROUP) is None
    monkeypatch.undo()
    monkeypatch.setattr(shipped, "FOLDER", installed.parent)
    monkeypatch.setattr(sys, "platform", "another")
    forget()
    assert shipped.read(GROUP) is None


def with_features(patch, missing=()):
    features = {name: name not in missing for *_, needed in shipped.LEVELS.values() for name in needed}
    patch.setattr(llvm, "get_host_cpu_features", lambda: SimpleNamespace(get=features.get))
    forget()


@pytest.mark.skipif(not shipped.is_of_machine("x86-64-v3"), reason="levels of x86-64")
def test_a_processor_gets_the_best_level_that_it_has_all_features_of(monkeypatch):
    for missing, level in (
        ((), "x86-64-v4"), (("avx512f",), "x86-64-v3"), (("fma",), "x86-64-v2"), (("sse4.2",), None),
    ):  # fmt: skip
        with_features(monkeypatch, missing)
        assert shipped.level() == level
    monkeypatch.setattr(shipped.platform, "machine", lambda: "riscv64")
    forget()
    assert shipped.level() is None
    assert shipped.read(GROUP) is None
    monkeypatch.undo()
    forget()


@pytest.mark.skipif(not shipped.is_of_machine("x86-64-v3"), reason="levels of x86-64")
def test_code_is_that_of_the_best_level_there_is_and_never_of_a_better_one(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    with_features(monkeypatch)
    folders = {}
    for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
        folders[level] = fill(shipped.folder_of(level), (GROUP,))
        assert shipped._chosen()[0] == folders[level]
    with_features(monkeypatch, ("avx512f",))
    assert shipped._chosen()[0] == folders["x86-64-v3"]
    changed(folders["x86-64-v3"], sources="other")
    assert shipped._chosen()[0] == folders["x86-64-v2"]
    with_features(monkeypatch, ("sse3",))
    assert shipped._chosen() is None
    monkeypatch.undo()
    forget()


# ---- fresh processes ---------------------------------------------------------------------------------

GRADIENT = """
    import sys
    from pathlib import Path
    import numpy as np
    import tape
    from tape.kernels import loading, making, shipped

    def refuse(*_, **__):
        raise AssertionError("a process was started")

    if len(sys.argv) > 1:
        shipped.FOLDER = Path(sys.argv[1])
    making.helper = refuse
    assert "numba" not in sys.modules, "import tape has imported numba"
    gradient = tape.compile(tape.grad(lambda x: np.sum(tape.nn.gelu(x) * np.tanh(x)) + np.sum(x**2)))
    x = np.linspace(-1, 1, 5)
    first = gradient(x)
    assert len(gradient.programs) == 1, "there was no machine code"
    assert (gradient(x) == first).all()
    trace = tape.Trace()
    b = trace.param(np.ones(50))
    (slope,) = trace.backward_param_grads((np.ones((40, 50)) * b).sum())
    assert (slope == 40).all()
    assert "numba" not in sys.modules, "a gradient has imported numba"
"""


def run(*arguments, **environment):
    command = [sys.executable, "-P", "-W", "error", "-c", textwrap.dedent(GRADIENT), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_compiled_gradient_neither_imports_numba_nor_starts_a_process():
    """With code in the cache."""
    run()


def test_an_installation_with_code_needs_no_cache(installed, tmp_path):
    (tmp_path / "file").touch()
    run(str(installed.parent), TAPE_CACHE_DIR=str(tmp_path / "file"))
    run(str(installed.parent), TAPE_CACHE_DIR=str(tmp_path / "cache"))
    assert list((tmp_path / "cache").glob("*")) == []


def test_a_copy_of_the_package_with_code_needs_nothing_else(installed, tmp_path):
    """As a wheel that is installed: the folder is found where it is."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "tape", site / "tape", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(installed.parent, site / "tape" / "kernels" / "objects", dirs_exist_ok=True)
    (tmp_path / "file").touch()
    run(PYTHONPATH=str(site), TAPE_CACHE_DIR=str(tmp_path / "file"))
