"""Graphs through Graphviz: what is drawn is what was asked for, and what to do without it."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tape
from tape import errors
from tape.viz.drawing import Drawing
from tape.viz.graph import graph
from tests.odd_traces import network, product

GRAPHVIZ = pytest.mark.skipif(
    shutil.which("dot") is None, reason="Graphviz is not installed: apt install graphviz"
)


@GRAPHVIZ
def test_svg_has_a_group_for_each_node_and_edge():
    trace, loss = network()
    drawing = graph(trace, root=loss)
    root = ElementTree.fromstring(drawing.data)
    classes = [group.get("class") for group in root.iter("{http://www.w3.org/2000/svg}g")]
    assert classes.count("node") == len(trace)
    assert classes.count("edge") == sum(p is not None for node in trace.nodes for p in node.parents)
    assert classes.count("cluster") == 4
    assert drawing._repr_mimebundle_() == {"image/svg+xml": str(drawing)}


@GRAPHVIZ
@pytest.mark.parametrize(("format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_extension_says_the_format(tmp_path, format, start):
    trace, y = product()
    path = tmp_path / f"product.{format}"
    drawing = graph(trace, path, root=y, direction="LR", highlight=3)
    assert drawing.format == format
    assert path.read_bytes() == drawing.data
    assert drawing.data.startswith(start)
    assert graph(trace, format=format).data.startswith(start)


def test_without_graphviz_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    trace, _ = product()
    with pytest.raises(errors.UnsupportedError, match=r"apt install graphviz.*brew.*winget.*tape\.viz\.arc"):
        graph(trace)


def fake(monkeypatch, run):
    monkeypatch.setattr(shutil, "which", lambda name: "/somewhere/dot")
    monkeypatch.setattr(subprocess, "run", run)


def test_a_layout_that_takes_too_long(monkeypatch):
    def run(command, timeout, **ignored):
        raise subprocess.TimeoutExpired(command, timeout)

    fake(monkeypatch, run)
    with pytest.raises(errors.OptionError, match=r"not done after 0\.5 s.*root="):
        graph(product()[0], timeout=0.5)


def test_a_failure_of_graphviz_is_told(monkeypatch):
    fake(monkeypatch, lambda command, **ignored: subprocess.CompletedProcess(command, 1, b"", b"no fonts"))
    with pytest.raises(errors.UnsupportedError, match="Graphviz failed: no fonts"):
        graph(product()[0])


@pytest.mark.parametrize(
    ("path", "format", "words"),
    [
        ("tape.pdf", None, r"\.svg or \.png"),
        ("tape.png", "svg", r"\.svg"),
        ("no/such/folder/tape.svg", None, "no folder"),
        (None, "gif", "'svg' or 'png'"),
    ],
)
def test_files_that_cannot_be(path, format, words):
    with pytest.raises(errors.OptionError, match=words):
        graph(product()[0], path, format=format)


def test_a_drawing_is_saved_under_its_own_extension_only(tmp_path: Path):
    drawing = Drawing(b"<svg/>", "svg")
    drawing.save(tmp_path / "a.SVG")
    assert (tmp_path / "a.SVG").read_bytes() == b"<svg/>"
    with pytest.raises(errors.OptionError):
        drawing.save(tmp_path / "a.png")
    assert str(Drawing(b"\x89PNG", "png")) == "<Drawing png: 4 bytes>"


def test_options_are_those_of_dot():
    with pytest.raises(errors.OptionError, match="limit=0"):
        graph(product()[0], limit=0)
    with pytest.raises(errors.TapeError):
        graph(tape.Trace(), precision=0)
