"""What all pictures share: results that are alike, paths and options checked first, and a light import."""

import base64
import subprocess
import sys
from dataclasses import is_dataclass

import numpy as np
import pytest

import tape
from tape import errors, viz
from tape.viz.drawing import Drawing, checked_path
from tests.odd_traces import product


def pictures():
    """Each function that draws a trace or a profile into a file, and an extension it takes."""
    trace, y = product()
    profile = tape.profile(lambda x: np.sum(np.sin(x)), np.ones(3))
    return {
        "arc": (lambda *path: viz.arc(trace, *path, root=y), "svg"),
        "graph": (lambda *path: viz.graph(trace, *path, root=y), "svg"),
        "animate": (lambda *path: viz.animate(trace, *path, root=y), "svg"),
        "html": (lambda *path: viz.html(trace, *path, root=y), "html"),
        "flame": (lambda *path: viz.flame(profile, *path), "svg"),
        "curve": (lambda *path: viz.curve([1.0, 2.0], *path), "png"),
        "histograms": (lambda *path: viz.histograms([np.ones(3)], *path), "png"),
        "landscape": (lambda *path: viz.landscape(np.sum, np.ones(3), *path, points=2), "png"),
    }


every_picture = pytest.mark.parametrize("name", list(pictures()))


# ---- paths -------------------------------------------------------------------------------------------


@every_picture
def test_paths_are_refused_before_anything_is_drawn(name, tmp_path, monkeypatch):
    draw, extension = pictures()[name]
    for module in ("matplotlib.figure", "PIL"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / f"folder.{extension}").mkdir()
    for path, words in (
        (tmp_path / "picture.txt", "does not end in"),
        (tmp_path / "missing" / f"picture.{extension}", "there is no folder"),
        (tmp_path / f"folder.{extension}", "is a folder"),
        (product()[1], "a path must be a str .* pass root=y"),
        (3, "a path must be a str"),
    ):
        with pytest.raises(errors.OptionError, match=words):
            draw(path)
    assert [path.name for path in tmp_path.iterdir()] == [f"folder.{extension}"]


def test_paths_are_texts_or_paths(tmp_path):
    assert checked_path(None) is None
    assert checked_path(str(tmp_path / "a.SVG"), ("svg",)) == tmp_path / "a.SVG"
    assert checked_path(tmp_path / "any.thing") == tmp_path / "any.thing"


# ---- results -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arc", "animate", "html", "flame"])
def test_results_are_alike(name, tmp_path):
    draw, extension = pictures()[name]
    path, again = tmp_path / f"a.{extension}", tmp_path / f"b.{extension}"
    drawing = draw(path)
    drawing.save(again)
    assert isinstance(drawing, Drawing)
    assert is_dataclass(drawing)
    assert drawing.format == extension
    assert path.read_bytes() == again.read_bytes() == drawing.data
    assert str(drawing).encode() == drawing.data
    assert repr(drawing).startswith(f"<{type(drawing).__name__} {extension}: ")
    ((kind, shown),) = drawing._repr_mimebundle_().items()
    assert kind == {"svg": "image/svg+xml", "html": "text/html"}[extension]
    assert isinstance(shown, str)
    for wrong in (None, tmp_path / "a.txt", tmp_path):
        with pytest.raises(errors.OptionError):
            drawing.save(wrong)


@pytest.mark.parametrize("format", ["png", "gif"])
def test_images_go_to_notebooks_as_base64(format):
    drawing = Drawing(b"\x89bytes", format)
    ((kind, shown),) = drawing._repr_mimebundle_().items()
    assert kind == f"image/{format}"
    assert base64.b64decode(shown) == drawing.data
    assert str(drawing) == repr(drawing) == f"<Drawing {format}: 6 bytes>"


# ---- options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "options"),
    [
        (viz.dot, {"precision": True}),
        (viz.dot, {"precision": 4.0}),
        (viz.dot, {"limit": "a"}),
        (viz.dot, {"direction": ["TB"]}),
        (viz.dot, {"highlight": 3.5}),
        (viz.dot, {"edges": 3}),
        (viz.arc, {"step": "a"}),
        (viz.arc, {"limit": None}),
        (viz.graph, {"timeout": "a"}),
        (viz.graph, {"format": 3}),
        (viz.animate, {"seconds": "a"}),
        (viz.animate, {"pause": None}),
        (viz.animate, {"passes": 3}),
        (viz.animate, {"passes": [["forward"]]}),
        (viz.html, {"limit": "a"}),
    ],
)
def test_options_of_a_wrong_kind_are_named(draw, options):
    ((option, given),) = options.items()
    with pytest.raises(errors.OptionError) as caught:
        draw(product()[0], **options)
    assert option in str(caught.value) or option == "highlight"
    assert errors.describe(given) in str(caught.value)


@pytest.mark.parametrize("draw", [viz.dot, viz.arc, viz.graph, viz.animate, viz.html])
def test_what_is_no_trace_is_refused(draw):
    with pytest.raises(errors.OptionError, match=r"expected a Trace, got 3\.0"):
        draw(3.0)
    with pytest.raises(errors.OptionError, match=r"Pass the \.trace of a Var"):
        draw(product()[1])


def test_limits_may_be_infinite():
    trace, _ = product()
    assert viz.dot(trace, limit=float("inf")) == viz.dot(trace)


# ---- importing ---------------------------------------------------------------------------------------


def test_importing_the_pictures_imports_nothing_that_draws():
    code = """
import sys, tape.viz, tape.command
heavy = {"scipy.interpolate", "matplotlib", "PIL", "ssl", "rich", "tqdm"} & {*sys.modules}
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)
