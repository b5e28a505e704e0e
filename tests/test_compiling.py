"""Compiling in another process: what is made, by whom, and what becomes of it."""

import io
import os
import subprocess
import sys
import textwrap
import threading
from hashlib import sha256
from importlib import import_module, metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tape import errors
from tape.kernels import fingerprint, loading, making
from tape.kernels.groups import ALL
from tape.kernels.making import received, sent
from tape.program.native import compiling, opcodes
from tape.system import cache
from tests.tiers import takes_long


class Made:
    """Compilation that takes no time: what has been compiled, and what was sent.

    Attributes
    ----------
    units : list of tuple of str
        Group and name, in order.
    """

    def __init__(self):
        self.units = []
        self.stream = io.BytesIO()

    def compiled(self, group, names):
        self.units += [(group, name) for name in names]
        return {name: (f"symbol of {name}", f"{group} {name}".encode()) for name in names}

    def sent(self):
        return dict(received(io.BytesIO(self.stream.getvalue())))


UNITS = {"machine": dict.fromkeys("abc"), "one": dict.fromkeys("de"), "two": dict.fromkeys("f")}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Three groups, an empty cache, and one core."""
    made = Made()
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiling, "UNITS", UNITS)
    monkeypatch.setattr(compiling, "_HALF", ("b",))
    monkeypatch.setattr(compiling, "_compiled", made.compiled)
    monkeypatch.setattr(compiling, "usable_cores", lambda: 1)
    monkeypatch.setattr(compiling, "sent", lambda _, *what: sent(made.stream, *what))
    return made


def all_units():
    return sorted((group, name) for group, names in UNITS.items() for name in names)


def test_all_groups_are_made_once_sent_and_kept(made):
    compiling.compile_groups("machine")
    assert sorted(made.units) == all_units()
    assert set(made.sent()) == set(UNITS)
    for group, objects in made.sent().items():
        assert set(objects) == set(UNITS[group])
        assert compiling._cached(group) == objects
    before = made.sent()
    made.stream.truncate(0)
    made.stream.seek(0)
    made.units.clear()
    compiling.compile_groups("two")
    assert not made.units  # all are in the cache
    assert made.sent() == before
    assert next(iter(made.sent())) == "two"


@pytest.mark.parametrize("first", UNITS)
def test_the_group_that_is_needed_first_is_made_first(made, first):
    compiling.compile_groups(first)
    assert made.units[0][0] == first


def test_what_is_damaged_is_made_again_and_the_rest_is_not(made):
    compiling.compile_groups("machine")
    (cache.cache_folder() / loading.file_of("one")).write_bytes(b"damaged")
    made.units.clear()
    compiling.compile_groups("machine")
    assert made.units == [("one", "d"), ("one", "e")]
    assert compiling._cached("one") is not None


def test_threads_that_need_the_same_at_once_compile_it_once(made):
    """Each opens the folder by itself, as each process does."""
    threads = [threading.Thread(target=compiling.compile_groups, args=("machine",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made.units) == all_units()


def test_without_a_cache_all_is_sent(made, monkeypatch):
    monkeypatch.setattr(compiling, "file_of", lambda group: None)
    for _ in range(2):
        compiling.compile_groups("machine")
    assert sorted(made.units) == sorted(2 * all_units())
    assert set(made.sent()) == set(UNITS)


def test_a_full_disk_is_no_error(made, monkeypatch):
    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    compiling.compile_groups("machine")
    assert set(made.sent()) == set(UNITS)
    assert list(cache.cache_folder().iterdir()) == []


# ---- two processes -----------------------------------------------------------------------------------


def test_shares_are_all_units_once():
    mine, theirs = compiling._shares(ALL)
    units = [(group, name) for share in (mine, theirs) for group, names in share for name in names]
    assert sorted(units) == sorted(
        (group, name) for group, names in compiling.UNITS.items() for name in names
    )
    assert set(compiling._HALF) < set(compiling.UNITS["machine"])


def second_process(monkeypatch, content):
    """A second process that writes these bytes."""

    def start(function, parts):
        code = f"import os; os.write(1, {content!r})"
        return making.Helper([sys.executable, "-I", "-S", "-c", code], dict(os.environ))

    monkeypatch.setattr(compiling, "usable_cores", lambda: 2)
    monkeypatch.setattr(compiling, "helper", start)


def test_what_a_second_process_makes_is_taken_from_it(made, monkeypatch):
    theirs = compiling._shares(tuple(UNITS))[1]
    stream = io.BytesIO()
    for group, names in theirs:
        sent(stream, group, made.compiled(group, names))
    made.units.clear()
    second_process(monkeypatch, stream.getvalue())
    compiling.compile_groups("machine")
    assert sorted(made.units + [(group, name) for group, names in theirs for name in names]) == all_units()
    assert {group: set(objects) for group, objects in made.sent().items()} == {
        group: set(names) for group, names in UNITS.items()
    }


@pytest.mark.parametrize("content", [b"", b"1\n", b"\xff" * 50, b"text\n", b'["machine", 3]\nxyz'], ids=repr)
def test_what_a_second_process_fails_to_make_is_made_by_the_first(made, monkeypatch, content):
    second_process(monkeypatch, content)
    compiling.compile_groups("machine")
    assert sorted(made.units) == all_units()
    assert set(made.sent()) == set(UNITS)


def test_a_second_process_that_complains_at_length_does_not_hang(made, monkeypatch):
    def start(function, parts):
        return real("compile_parts", parts)

    real = compiling.helper
    without = making._HELPER.partition("from tape")[0]
    monkeypatch.setattr(making, "_HELPER", without + "sys.stderr.write('import ...\\n' * 100_000)")
    monkeypatch.setattr(making, "SECONDS", 60)
    monkeypatch.setattr(compiling, "usable_cores", lambda: 2)
    monkeypatch.setattr(compiling, "helper", start)
    compiling.compile_groups("machine")
    assert set(made.sent()) == set(UNITS)


def test_no_second_process_can_be_started(made, monkeypatch):
    def fail(*_):
        raise OSError("no more processes")

    monkeypatch.setattr(compiling, "usable_cores", lambda: 2)
    monkeypatch.setattr(compiling, "helper", fail)
    compiling.compile_groups("machine")
    assert set(made.sent()) == set(UNITS)


# ---- what is compiled --------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ALL)
def test_code_on_disk_is_that_of_all_units_and_no_two_have_the_same_symbol(group):
    """Code from two processes is put together: one would run for the other."""
    objects = loading._on_disk(group)
    assert set(objects) == set(compiling.UNITS[group])
    assert len({symbol for symbol, _ in objects.values()}) == len(objects)


def test_the_groups_are_those_that_are_asked_for():
    assert list(compiling.UNITS) == list(ALL)
    names = [name for group, units in compiling.UNITS.items() if group != "machine" for name in units]
    assert len(set(names)) == len(names)


def test_a_function_that_llvm_would_not_find_is_refused():
    """As in a version of numba that calls something else; LLVM ends the process for it."""

    def module(*names):
        symbols = [SimpleNamespace(name=name, is_declaration=True) for name in names]
        return SimpleNamespace(functions=symbols, global_variables=[])

    compiling._check_symbols("fold", module("exp", "llvm.exp.f64", "PyFloat_FromDouble", "numba_do_raise"))
    with pytest.raises(errors.UnsupportedError, match="fold refers to numba_novelty"):
        compiling._check_symbols("fold", module("exp", "numba_novelty"))


@takes_long
def test_a_unit_is_compiled_to_code_that_runs():
    """Really, in this process."""
    objects = compiling._compiled("eager", ["sum_rows d"])
    out = np.empty(2)
    native = loading.Native(objects)
    native.as_python("sum_rows d")(np.arange(6.0).reshape(3, 2), out)
    np.testing.assert_array_equal(out, [6, 9])


END_TO_END = """
    import sys
    import numpy as np
    from tape.kernels import loading, making
    from tape.kernels.eager import EAGER, is_avoided, is_loaded
    from tape.kernels.reduce import sum_to_shape
    from tests.few_units import only

    only(machine=["add_store", "read_integer"], eager=["sum_rows d"])
    x = np.arange(6.0).reshape(3, 2)
    assert loading.find(EAGER) is None
    assert is_avoided()
    first = sum_to_shape(x, (2,))
    assert loading.wait(EAGER)
    assert is_loaded(EAGER)
    assert not is_avoided()
    assert (sum_to_shape(x, (2,)) == first).all()
    machine = loading.native()
    assert set(machine.addresses) == {"add_store", "read_integer"}, machine.addresses
    loading._maker._process.wait()
    assert "numba" not in sys.modules
"""


def test_from_nothing_to_code_that_runs_without_a_cache(tmp_path):
    """Processes that really compile; there is no folder to keep anything in."""
    (tmp_path / "file").touch()
    root = Path(__file__).parents[1]
    environment = {**os.environ, "TAPE_CACHE_DIR": str(tmp_path / "file"), "PYTHONPATH": str(root)}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(END_TO_END)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=500)
    lines = done.stderr.splitlines()
    assert done.returncode == 0, lines
    assert all(line.startswith("tape: waiting for machine code") for line in lines), lines


# ---- builds ------------------------------------------------------------------------------------------


def test_a_build_has_an_index_of_all_that_it_is_made_of(made, tmp_path, monkeypatch, capsys):
    said = []
    monkeypatch.setattr(compiling, "print", lambda group, flush: said.append(group), raising=False)
    compiling.build(str(tmp_path / "objects" / "level"))
    folder = tmp_path / "objects" / "level"
    index = compiling.json.loads((folder / "index.json").read_bytes())
    assert index["sources"] == fingerprint.sources()
    assert index["digests"] == {
        group: sha256((folder / f"{group}.bin").read_bytes()).hexdigest() for group in UNITS
    }
    assert said == list(UNITS)


# ---- what code depends on ----------------------------------------------------------------------------


def compiled_modules():
    """Files that machine code comes from: those of functions that numba has compiled or takes in."""
    found = set()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "tape":
            continue
        for value in vars(module).values():
            function = getattr(value, "py_func", None)
            if function is not None:
                found.add(function.__module__)
    found |= {body.__module__ for group in compiling.eager.KERNELS.values() for body, *_ in group.values()}
    return {name for name in map(str, found) if name.startswith("tape.")} | {opcodes.__name__}


def test_every_compiled_source_is_in_the_fingerprint(tmp_path, monkeypatch):
    package = Path(fingerprint.__file__).parents[1]
    names = sorted(compiled_modules())
    assert len(names) > 25
    paths = [Path(import_module(name).__file__) for name in names]
    for folder in ("kernels", "kernels/compiled", "program/native"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for path in (package / folder).glob("*.py"):
            (tmp_path / folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(fingerprint, "_KERNELS", tmp_path / "kernels")
    monkeypatch.setattr(fingerprint, "_MACHINE", tmp_path / "program" / "native")
    before = fingerprint.sources.__wrapped__()
    assert before == fingerprint.sources()
    for path in paths:
        copy = tmp_path / path.relative_to(package)
        content = copy.read_bytes()
        copy.write_bytes(content + b"#")
        assert fingerprint.sources.__wrapped__() != before, path
        copy.write_bytes(content)
    assert fingerprint.sources.__wrapped__() == before


def test_the_fingerprint_depends_on_sources_versions_and_processor(monkeypatch):
    from llvmlite import binding as llvm

    found = {fingerprint.fingerprint.__wrapped__()}
    assert found == {fingerprint.fingerprint()}
    for owner, name, other in (
        (fingerprint, "sources", lambda: "other"),
        (fingerprint, "version_of", lambda package: "0.0"),
        (sys, "version", "0.0"),
        (fingerprint.platform, "machine", lambda: "another"),
        (llvm, "get_host_cpu_name", lambda: "another"),
        (llvm, "get_host_cpu_features", lambda: SimpleNamespace(flatten=lambda: "+none")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, other)
            found.add(fingerprint.fingerprint.__wrapped__())
    assert len(found) == 7


@pytest.mark.parametrize("package", ["numba", "numpy", "pytest"])
def test_versions_are_those_of_the_metadata(monkeypatch, package):
    assert fingerprint.version_of(package) == metadata.version(package)
    monkeypatch.setattr(fingerprint, "find_spec", lambda package: None)  # it is somewhere else
    assert fingerprint.version_of(package) == metadata.version(package)


def test_without_sources_or_without_numba_there_is_an_answer(monkeypatch, tmp_path):
    assert fingerprint.version_of("no-such-package") == "none"
    monkeypatch.setattr(fingerprint, "version_of", lambda package: "none")
    assert fingerprint.fingerprint.__wrapped__()
    monkeypatch.setattr(fingerprint, "_KERNELS", tmp_path)
    monkeypatch.setattr(fingerprint, "_MACHINE", tmp_path)
    assert fingerprint.sources.__wrapped__() is None
    monkeypatch.setattr(fingerprint, "sources", lambda: None)
    assert fingerprint.fingerprint.__wrapped__() is None
