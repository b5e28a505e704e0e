"""Machine code before it is needed: waiting for all of it, and building it into an installation."""

import json
from hashlib import sha256

import pytest

from tape import errors
from tape.command import main
from tape.kernels import loading, making, shipped
from tape.kernels.availability import Unavailable
from tape.kernels.fingerprint import sources
from tape.kernels.groups import ALL
from tape.program.native import warming
from tape.program.native.warming import build_kernels, levels_here, warm_up
from tests.few_units import template


def test_warming_up_loads_every_group():
    assert warm_up()
    assert set(ALL) <= set(loading._loaded)


def test_groups_are_waited_for_in_the_order_in_which_they_are_compiled(monkeypatch):
    asked = []
    monkeypatch.setattr(warming, "native", asked.append)
    assert warm_up()
    assert asked == list(ALL)


def test_warming_up_shows_a_bar(capsys):
    pytest.importorskip("tqdm")
    assert warm_up(progress=True)
    assert f"{len(ALL)}/{len(ALL)}" in capsys.readouterr().err


def test_warming_up_is_false_where_none_can_run(monkeypatch, capsys):
    def fail(group):
        raise Unavailable(group)

    monkeypatch.setattr(warming, "native", fail)
    assert not warm_up()


# ---- builds ------------------------------------------------------------------------------------------


@pytest.fixture
def few(tmp_path, monkeypatch):
    """Real compilation, of two units."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "objects")
    monkeypatch.setattr(warming, "ALL", ("machine", "eager"))
    small = template(making._HELPER, machine=["add_store"], eager=["sum_rows d"])
    monkeypatch.setattr(making, "_HELPER", small)
    return tmp_path / "objects"


needs_level = pytest.mark.skipif(shipped.level() is None, reason="no level for this processor")


@needs_level
def test_a_build_is_used_by_the_installation_that_it_is_in(few, monkeypatch):
    level = shipped.level()
    (folder,) = build_kernels([level])
    assert folder == shipped.folder_of(level)
    assert folder.parent == few
    index = json.loads((folder / shipped.INDEX).read_text())
    assert index["sources"] == sources()
    assert index["processor"] == shipped.LEVELS[level][1]
    contents = {path.stem: path.read_bytes() for path in folder.glob("*.bin")}
    assert set(contents) == {"machine", "eager"}
    assert index["digests"] == {group: sha256(content).hexdigest() for group, content in contents.items()}
    shipped._chosen.cache_clear()
    try:
        content = shipped.read("eager")
    finally:
        monkeypatch.undo()
        shipped._chosen.cache_clear()
    native = loading.Native(loading.unpacked(content))
    assert set(native.addresses) == {"sum_rows d"}


@needs_level
def test_a_build_that_fails_leaves_no_index_and_says_why(few, monkeypatch):
    folder = shipped.folder_of(shipped.level())
    folder.mkdir(parents=True)
    (folder / shipped.INDEX).write_text("{}")
    monkeypatch.setattr(making, "_HELPER", "raise OSError('the disk is full')")
    with pytest.raises(errors.UnsupportedError, match="the disk is full"):
        build_kernels([shipped.level()])
    assert not (folder / shipped.INDEX).exists()


def test_levels_of_other_machines_are_refused():
    others = [level for level in shipped.LEVELS if level not in levels_here()]
    for level in (*others, "x86-64-v9"):
        with pytest.raises(errors.OptionError, match="is no level here"):
            build_kernels([level])


def test_nothing_is_built_where_nothing_can_run(monkeypatch):
    def fail():
        raise Unavailable("no executable memory")

    monkeypatch.setattr(warming, "require", fail)
    with pytest.raises(errors.UnsupportedError, match="no executable memory"):
        build_kernels(levels_here()[:1])


def test_the_commands(monkeypatch, capsys):
    from tape.command import kernels

    assert main(["warm-up"]) == 0
    assert "machine code is there" in capsys.readouterr().out
    monkeypatch.setattr(kernels, "warm_up", lambda progress: False)
    assert main(["warm-up"]) == 1
    built = []
    monkeypatch.setattr(kernels, "build_kernels", lambda levels, progress: built.extend(levels) or ["there"])
    assert main(["build-kernels"]) == 0
    assert tuple(built) == levels_here()
    assert capsys.readouterr().out.endswith("there\n")
