"""The animation: what is seen in which frame, that it is XML and GIF, and that it tells what sweeps do."""

import re
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors
from tape.viz.animate import animate
from tape.viz.view import value_text
from tests.odd_traces import network, odd_traces, product, state
from tests.tiers import rounds, takes_long

SVG = "{http://www.w3.org/2000/svg}"
GRAPHVIZ = pytest.mark.skipif(
    shutil.which("dot") is None, reason="Graphviz is not installed: apt install graphviz"
)
LAYOUTS = pytest.mark.parametrize("layout", [pytest.param("graph", marks=GRAPHVIZ), "arc"])


def opacity(svg: str, name: str, at: float) -> float:
    """What the keyframes of a name come to at a part of the whole time."""
    rules = re.search(rf"@keyframes {name}{{(.*?}})}}", svg)[1]
    stops = [
        (1.0 if t == "to" else float(t[:-1]) / 100, int(o))
        for t, o in re.findall(r"([\d.e-]+%|to){opacity:(\d)}", rules)
    ]
    jumps = "step-end" in re.search(rf"\.{name}{{animation:(.*?)}}", svg)[1]
    for (start, before), (end, after) in pairwise(stops):
        if start <= at < end:
            return before if jumps else before + (after - before) * (at - start) / (end - start)
    return stops[-1][1]


def seen(animation, frame: int, seconds: float = 0.8) -> list[ElementTree.Element]:
    """All shapes that are seen in the middle of a frame."""
    svg = animation.data.decode()
    at = (frame + 0.5) * seconds / animation.seconds
    found = []
    for element in ElementTree.fromstring(svg):
        if element.tag != f"{SVG}g":
            found.append(element)
        elif opacity(svg, element.get("class"), at) == 1:
            found += element
    return found


def texts(shapes) -> list[str]:
    return [shape.text for shape in shapes if shape.tag == f"{SVG}text"]


def looks(shapes, look: str) -> int:
    return sum(look in shape.get("class", "").split() for shape in shapes)


def rows(animation, frame: int) -> dict[int, list[str]]:
    """What the rows of the layout "arc" show of each node: its title, its value, its adjoint, ..."""
    found: dict[float, list[tuple[float, str]]] = {}
    for shape in seen(animation, frame):
        if shape.tag == f"{SVG}text":
            found.setdefault(round(float(shape.get("y"))), []).append((float(shape.get("x")), shape.text))
    lines = [[text for _, text in sorted(line)] for line in found.values()]
    return {int(line[0][1:]): line[1:] for line in lines if re.fullmatch(r"%\d+", line[0])}


# ---- what is told ------------------------------------------------------------------------------------


@LAYOUTS
def test_values_come_first_then_adjoints(layout):
    trace, y = product()
    animation = animate(trace, root=y, layout=layout)
    assert animation.frames == len(trace) + 1 + 2 + 1  # each value, the seed, two rules, the end
    for frame, value in enumerate(["123", "321", "42", "444", "18648"]):
        assert value in texts(seen(animation, frame))
        assert frame == 0 or value not in texts(seen(animation, frame - 1))
    assert "back through multiply(%3, %2): %3 gains 42, c gains 444" in texts(seen(animation, 6))
    assert "gradient of %4: a 42, b 42, c 444" in texts(seen(animation, 8))


@settings(max_examples=rounds(50))
@given(odd_traces())
def test_the_end_shows_what_a_sweep_gives(trace):
    before = state(trace)
    with np.errstate(all="ignore"):
        animation = animate(trace, layout="arc")
        assert state(trace) == before
        shown = rows(animation, animation.frames - 1)
        last = trace[-1]
        swept = last.node.is_active and last.dtype.kind == "f"
        adjoints = trace.backward(last, np.ones_like(last.value)) if swept else [None] * len(trace)
    for i, node in enumerate(trace.nodes):
        said = [value_text(node.value, 4)] + ([] if adjoints[i] is None else [value_text(adjoints[i], 4)])
        assert shown[i][1:] == said or "" in said  # what has no characters is not found as text


@pytest.mark.parametrize("passes", [["backward"], ["tangent"], ["tangent", "backward", "forward"]])
@LAYOUTS
def test_passes_in_any_order(passes, layout):
    trace, y = network()
    animation = animate(trace, root=y, passes=passes, layout=layout)
    at_end = texts(seen(animation, animation.frames - 1))
    for i, adjoint in enumerate(trace.backward(y)):
        assert value_text(trace.nodes[i].value, 4) in at_end
        if adjoint is not None and "backward" in passes:
            assert value_text(adjoint, 4) in at_end


def test_tangents_are_those_of_a_jvp():
    trace, y = product()
    a, b, _ = trace.params
    tangents = {a: 2.0, b: -1.0}
    animation = animate(trace, tangents=tangents, layout="arc")
    assert rows(animation, animation.frames - 1)[4] == [
        "multiply(%3, %2)",
        "18648",
        value_text(trace.jvp(y, tangents), 4),
    ]
    assert "%4 moves by 42" in texts(seen(animation, animation.frames - 1))


def test_sums_are_shown_as_sums_and_then_as_what_they_come_to():
    trace = tape.Trace()
    x = trace.param(3.0, name="x")
    y = x * x - 7.0 * x
    animation = animate(trace, root=y, layout="arc")
    shown = [rows(animation, k)[0][2:] for k in range(4, animation.frames)]
    assert shown == [[], [], ["-7"], ["-7 + 3 + 3 = -1"], ["-1"]]


def test_sums_of_steps_in_a_row():
    trace = tape.Trace()
    x = trace.param(3.0, name="x")
    y = (x * 1 + x * 2) + x * 4
    animation = animate(trace, root=y, layout="arc")
    shown = [rows(animation, k)[0][2:] for k in range(animation.frames - 6, animation.frames)]
    assert shown == [[], ["4"], ["4"], ["4 + 2 = 6"], ["6 + 1 = 7"], ["7"]]
    svg = animation.data.decode()
    for stops in re.findall(r"@keyframes movie-\S+?{(.*?})}", svg):
        times = [float(t) for t in re.findall(r"([\d.e-]+)%", stops)]
        assert times == sorted(times)


def test_a_sum_is_not_written_out_where_it_is_too_long():
    trace = tape.Trace()
    x = trace.param(np.linspace(0, 1, 9), name="x")
    y = (x * x).sum()
    animation = animate(trace, root=y, layout="arc")
    assert rows(animation, animation.frames - 2)[0][2:] == ["0 .. 2"]


def test_the_seed_is_where_the_adjoints_start():
    trace, y = product()
    assert "gradient of %4: a 84, b 84, c 888" in texts(seen(animate(trace, seed=2.0, root=y), 8))


# ---- what is seen ------------------------------------------------------------------------------------


@LAYOUTS
def test_one_frame_at_a_time(layout):
    trace, y = product()
    animation = animate(trace, root=y, layout=layout)
    for k in range(animation.frames):
        shapes = seen(animation, k)
        assert [text for text in texts(shapes) if " / " in text] == [f"{k + 1} / {animation.frames}"]
        assert looks(shapes, "visited") == (k < animation.frames - 1)
        # Whose operands or adjoints are used is marked, and so are the edges on the way.
        assert looks(shapes, "read") == {3: 2, 4: 2, 6: 2, 7: 2}.get(k, 0)
        assert looks(shapes, "active-edge") == {3: 2, 4: 2}.get(k, 0)
        assert looks(shapes, "adjoint-edge") == {6: 2, 7: 2}.get(k, 0)
        assert looks(shapes, "adjoint") == {5: 1, 6: 3}.get(k, 5 if k > 6 else 0)


def test_without_animation_the_end_is_seen():
    trace, y = product()
    svg = animate(trace, root=y).data.decode()
    groups = list(ElementTree.fromstring(svg).iter(f"{SVG}g"))
    for group in groups:
        assert (group.get("opacity") is None) == (opacity(svg, group.get("class"), 0.999) == 1)
    still = texts(shape for group in groups if group.get("opacity") is None for shape in group)
    assert "gradient of %4: a 42, b 42, c 444" in still
    assert "prefers-reduced-motion" in svg
    assert "prefers-color-scheme:dark" in svg


@GRAPHVIZ
def test_inactive_nodes_are_grey_and_get_no_adjoint():
    trace = tape.Trace()
    y = trace.param(2.0) * np.sin(trace.input(1.0, name="data"))
    animation = animate(trace, root=y)
    shapes = seen(animation, animation.frames - 1)
    assert (looks(shapes, "inactive"), looks(shapes, "adjoint")) == (2, 2)
    assert texts(shapes).count("adjoint") == 2


def test_root_and_ids_say_what_is_drawn():
    trace, y = product()
    z = np.exp(-trace[3])
    assert {*rows(animate(trace, layout="arc", passes=["forward"]), 0)} == {*range(7)}
    assert {*rows(animate(trace, root=y, layout="arc"), 0)} == {*range(5)}
    assert {*rows(animate(trace, root=z, layout="arc"), 0)} == {0, 1, 3, 5, 6}
    part = animate(trace, root=y, ids=range(2, 5), layout="arc")
    assert rows(part, part.frames - 1) == {
        2: ["c", "42", "444"],
        3: ["add(%0, %1)", "444", "42"],
        4: ["multiply(%3, %2)", "18648", "1"],
    }


def test_nested_traces_show_what_is_below_and_stay_as_they_are():
    outer = tape.Trace()
    inner = tape.Trace()
    x = inner.param(outer.param(3.0), name="x")
    y = x * x
    before = state(inner), len(outer)
    animation = animate(inner, root=y, layout="arc", passes=["forward", "backward", "tangent"])
    assert rows(animation, animation.frames - 1) == {
        0: ["x", "3", "6", "1"],
        1: ["multiply(%0, %0)", "9", "1", "6"],
    }
    assert (state(inner), len(outer)) == before


@LAYOUTS
@settings(max_examples=rounds(25))
@given(trace=odd_traces(), direction=st.sampled_from(["TB", "LR"]))
def test_whatever_is_in_it_it_is_xml(layout, trace, direction):
    with np.errstate(all="ignore"):
        animation = animate(trace, layout=layout, direction=direction)
    svg = ElementTree.fromstring(animation.data)
    for element in svg.iter():
        assert all(x == x and abs(x) < 1e6 for x in map(float, re.findall(r"-?[\d.]+", element.get("d", ""))))
    width, height = float(svg.get("width")), float(svg.get("height"))
    for box in svg.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= width
        assert float(box.get("y", 0)) + float(box.get("height")) <= height


def test_two_in_one_page_leave_each_other_alone():
    (trace, y), (other, z) = product(), network()
    first, second = (animate(t, root=root).data.decode() for t, root in ((trace, y), (other, z)))
    names = [set(re.findall(r"@keyframes (movie-\S+?){", svg)) for svg in (first, second)]
    assert all(names)
    assert not names[0] & names[1]
    assert first == animate(trace, root=y).data.decode()


# ---- GIFs --------------------------------------------------------------------------------------------


@takes_long
@pytest.mark.parametrize(
    ("make", "layout"), [pytest.param(network, "graph", marks=GRAPHVIZ), (product, "arc")]
)
def test_gif_has_all_frames_and_their_times(make, layout, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="GIFs need Pillow: pip install pillow")
    pytest.importorskip("matplotlib", reason="GIFs need matplotlib: pip install matplotlib")
    trace, y = make()
    path = tmp_path / "tape.gif"
    animation = animate(trace, path, root=y, layout=layout, seconds=0.5, pause=2.0)
    assert path.read_bytes() == animation.data
    assert len(animation.data) < 250_000
    with image.open(path) as gif:
        assert gif.n_frames == animation.frames
        assert gif.info["loop"] == 0
        frames, durations = [], []
        for k in range(gif.n_frames):
            gif.seek(k)
            frames.append(np.asarray(gif.convert("RGB")).copy())
            durations.append(gif.info["duration"])
    assert durations == [500] * (animation.frames - 1) + [2500]
    assert sum(durations) / 1000 == animation.seconds
    for before, after in pairwise(frames):
        assert (before != after).any()
    assert (frames[0][0, 0] == 255).all()


@takes_long
@settings(max_examples=5)
@given(odd_traces())
def test_gifs_of_odd_traces(trace):
    pytest.importorskip("PIL", reason="GIFs need Pillow: pip install pillow")
    pytest.importorskip("matplotlib", reason="GIFs need matplotlib: pip install matplotlib")
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        assert animate(trace, Path(folder) / "odd.gif").data.startswith(b"GIF89a")


@pytest.mark.parametrize(("module", "name"), [("PIL", "Pillow"), ("matplotlib", "matplotlib")])
def test_a_gif_without_an_extra_says_what_to_install(monkeypatch, tmp_path, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    trace, y = product()
    with pytest.raises(errors.UnsupportedError, match=rf"{name}.*pip install 'tape\[viz\]'.*\.svg"):
        animate(trace, tmp_path / "tape.gif", root=y)
    assert animate(trace, tmp_path / "tape.svg", root=y).format == "svg"


# ---- without Graphviz --------------------------------------------------------------------------------


def test_without_graphviz_rows_are_drawn_unless_a_graph_is_asked_for(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    trace, y = product()
    assert animate(trace, root=y).data == animate(trace, root=y, layout="arc").data
    with pytest.raises(errors.UnsupportedError, match=r"apt install graphviz.*layout='arc'"):
        animate(trace, root=y, layout="graph")


# ---- what can go wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "tape.png"}, "does not end in .svg or .gif"),
        ({"path": "no/such/tape.svg"}, "there is no folder"),
        ({"layout": "circle"}, "'graph' or 'arc', not 'circle'"),
        ({"direction": "RL"}, "'TB' or 'LR', not 'RL'"),
        ({"passes": []}, "passes must be a list of"),
        ({"passes": "forward"}, "passes must be a list of"),
        ({"passes": ["forward", "forward"]}, "passes must be a list of"),
        ({"passes": ["sideways"]}, "passes must be a list of"),
        ({"seconds": 0}, "seconds must be a number of seconds, from"),
        ({"seconds": float("nan")}, "seconds must be a number of seconds, from"),
        ({"pause": -1}, "pause must be a number of seconds"),
        ({"precision": 0}, "precision must be a number of digits"),
        ({"limit": 4}, "5 nodes are too many for this picture .* tape.viz.html"),
        ({"ids": range(0)}, "nothing to draw"),
    ],
)
def test_options_out_of_range(options, message):
    trace, _ = product()
    with pytest.raises(errors.OptionError, match=message):
        animate(trace, **options)


def test_an_empty_tape_has_nothing_to_draw():
    with pytest.raises(errors.OptionError, match="nothing to draw"):
        animate(tape.Trace())


def test_without_a_param_only_values_are_shown():
    trace = tape.Trace()
    y = trace.input(1.0) + 1.0
    assert animate(trace).frames == 3
    with pytest.raises(errors.OptionError, match="nothing to differentiate"):
        animate(trace, passes=["forward", "backward"])
    with pytest.raises(errors.TraceMismatchError):
        animate(tape.Trace(), root=y)


def test_a_gif_that_would_be_huge_is_refused_at_once(tmp_path):
    trace = tape.Trace()
    x = trace.param(1.0)
    for _ in range(250):
        x = x + trace.param(1.0)
    with pytest.raises(errors.OptionError, match=r"too many for a GIF. Save as .svg"):
        animate(trace, tmp_path / "tape.gif", root=x, limit=1000)
