"""The arc drawing: XML whatever is in it, every node and arc there, and nothing lies over text."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors
from tape.viz.arc import arc, arcs
from tests.odd_traces import network, odd_traces, product, state
from tests.tiers import rounds, takes_long

SVG = "{http://www.w3.org/2000/svg}"


def groups(drawing) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawing.data).iter(f"{SVG}g"))


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text for text in element.iter(f"{SVG}text")]


def parents(trace: tape.Trace, i: int) -> set[int]:
    return {parent for parent in trace.nodes[i].parents if parent is not None}


def chain(count: int) -> tape.Trace:
    trace = tape.Trace()
    v = trace.param(1.0, name="start")
    for _ in range(count - 1):
        v = np.sin(v)
    return trace


# ---- geometry ----------------------------------------------------------------------------------------

LINES = st.lists(st.lists(st.integers(0, 10**6), max_size=3), max_size=20).map(
    lambda line: [[parent % k for parent in found] if k else [] for k, found in enumerate(line)]
)


@given(LINES, st.floats(0.5, 50), st.floats(1, 500))
def test_arcs_join_each_parent_with_its_child_once(parents, step, reach):
    drawn = arcs(parents, step=step, reach=reach)
    assert {(a.parent, a.child) for a in drawn} == {(p, k) for k, found in enumerate(parents) for p in found}
    assert len({(a.parent, a.child) for a in drawn}) == len(drawn)
    for a in drawn:
        assert a.top == a.parent * step
        assert a.bottom == a.child * step
        assert 0 < a.reach <= reach * (1 + 1e-12)


@given(LINES)
def test_arcs_over_more_reach_further(parents):
    drawn = sorted(arcs(parents), key=lambda a: a.child - a.parent)
    for a, b in pairwise(drawn):
        assert a.reach <= b.reach + 1e-9


def test_no_arcs():
    assert arcs([]) == []
    assert arcs([[], []]) == []


# ---- what is there -----------------------------------------------------------------------------------


def test_a_picture_of_a_product():
    trace, y = product()
    drawing = arc(trace, root=y)
    body = str(drawing)[str(drawing).index("</style>") :]
    rows = [re.sub(r"<title>.*?</title>|<rect class=\"row\".*?/>", "", row, flags=re.DOTALL)
            for row in re.findall(r"<g.*?</g>", body, re.DOTALL)]  # fmt: skip
    assert rows[0] == (
        '<g class="adjoint" data-id="0"><rect class="dot" x="55.3" y="50" width="10" height="10"/>'
        '<text class="muted" x="78.3" y="59.5">%0</text><text class="name" x="114.5" y="59.5">a</text>'
        '<text class="muted" x="166.9" y="59.5">param</text><text class="value" x="316.5" y="59.5">123</text>'
        '<text class="gradient" x="377" y="59.5">42</text></g>'
    )
    assert rows[4] == (
        '<g class="adjoint root" data-id="4"><path d="M54.3 121C36.7 121 36.7 143 54.3 143"/>'
        '<path d="M54.3 99C19.1 99 19.1 143 54.3 143"/><circle class="dot" cx="60.3" cy="143" r="5"/>'
        '<text class="muted" x="78.3" y="147.5">%4</text>'
        '<text class="call" x="166.9" y="147.5">multiply(%3, %2)</text>'
        '<text class="value" x="316.5" y="147.5">18648</text>'
        '<text class="gradient" x="377" y="147.5">1</text></g>'
    )
    assert [texts(group) for group in groups(drawing)] == [
        ["%0", "a", "param", "123", "42"],
        ["%1", "b", "param", "321", "42"],
        ["%2", "c", "param", "42", "444"],
        ["%3", "add(%0, %1)", "444", "42"],
        ["%4", "multiply(%3, %2)", "18648", "1"],
    ]


def test_scopes_are_named_where_they_change():
    trace, loss = network()
    last = [texts(group)[-1] for group in groups(arc(trace, root=loss))]
    assert [text for text in last if text in ("layers/first", "layers/second", "loss")] == [
        "layers/first",
        "layers/second",
        "loss",
    ]


def test_only_what_the_root_depends_on_is_drawn():
    trace, _ = product()
    sine = np.sin(trace[1])
    assert [group.get("data-id") for group in groups(arc(trace, root=sine))] == ["1", "5"]


def test_arcs_from_parents_outside_of_the_range_start_at_the_top():
    trace = chain(10)
    found = groups(arc(trace, ids=range(5, 8)))
    assert texts(found[0]) == ["...", "earlier nodes"]
    assert [group.get("data-id") for group in found[1:]] == ["5", "6", "7"]
    assert [len(group.findall(f"{SVG}path")) for group in found] == [0, 1, 1, 1]
    assert len(groups(arc(trace, ids=range(3)))) == 3


@pytest.mark.parametrize("step", [None, 3.0, 22.0])
def test_the_last_sweep_and_highlights_show(step):
    trace, y = product()
    states = [group.get("class") for group in groups(arc(trace, step=step))]
    assert states == ["active"] * 5
    trace.backward(y)
    found = groups(arc(trace, highlight=[trace[3], 0], step=step))
    assert [group.get("class") for group in found] == [
        "highlight",
        "adjoint",
        "adjoint",
        "highlight",
        "adjoint root",
    ]


def test_values_and_adjoints_can_be_left_out():
    trace, y = product()
    assert texts(groups(arc(trace, root=y, values=False))[3]) == ["%3", "add(%0, %1)", "42"]
    assert texts(groups(arc(trace, root=y, adjoints=False))[3]) == ["%3", "add(%0, %1)", "444"]


def test_colours_follow_the_system_and_stay_in_the_picture():
    style = ElementTree.fromstring(arc(product()[0]).data).find(f"{SVG}style").text
    assert "prefers-color-scheme:dark" in style
    rules = re.sub(r"@media\([^)]*\)\{(.*?\})\}", r"\1", style)
    for selectors in re.findall(r"([^{}]+)\{", rules):
        assert all(selector.startswith(".tape-arc") for selector in selectors.split(","))


def test_drawing_changes_nothing(tmp_path):
    trace, y = product()
    before = state(trace)
    path = tmp_path / "tape.svg"
    drawing = arc(trace, path, root=y)
    assert state(trace) == before
    assert path.read_text(encoding="utf-8") == str(drawing) == drawing._repr_mimebundle_()["image/svg+xml"]


# ---- size --------------------------------------------------------------------------------------------


@takes_long
@pytest.mark.parametrize("count", [1, 300, 301, 10_000])
def test_tapes_of_any_length(count):
    trace = chain(count)
    drawing = arc(trace, root=trace[-1])
    found = groups(drawing)
    assert len(found) == count
    assert sum(len(group.findall(f"{SVG}path")) for group in found) == count - 1
    assert len(drawing.data) < 600 * count + 10_000
    assert float(ElementTree.fromstring(drawing.data).get("height")) < 16_000
    assert texts(found[-1])[0].startswith(f"%{count - 1}")  # the root is labelled, however small the rest


@pytest.mark.parametrize("step", [1.0, 5.0, 13.0, 14.0, 30.0])
def test_no_text_lies_over_another_one(step):
    trace = chain(60)
    for k in range(5):
        trace.param(float(k), name=f"p{k}")
    root = ElementTree.fromstring(arc(trace, step=step, highlight=[10, 11, 12]).data)
    places = [(float(t.get("x")), float(t.get("y")), t.text) for t in root.iter(f"{SVG}text")]
    lines = sorted({y for _, y, _ in places})
    assert all(below - above >= 13 for above, below in pairwise(lines))
    for line in lines:
        row = sorted((x, text) for x, y, text in places if y == line)
        assert all(x + 7.9 * len(text) <= right for (x, text), (right, _) in pairwise(row))
    assert all(x + 7.9 * len(text) <= float(root.get("width")) for x, _, text in places)


def test_wide_characters_have_room():
    trace = tape.Trace()
    trace.param(1.0, name="名前名前名前")
    ((_, name, call, _),) = [list(group.iter(f"{SVG}text")) for group in groups(arc(trace))]
    assert float(call.get("x")) - float(name.get("x")) >= 12 * 7.9


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step": 0.0}, "from 0.5 to 1000"),
        ({"step": float("nan")}, "from 0.5 to 1000"),
        ({"limit": 4}, "5 nodes are too many.*html"),
        ({"path": "tape.png"}, r"\.svg"),
        ({"path": "no/such/folder/tape.svg"}, "no folder"),
    ],
)
def test_options_that_do_not_fit(options, words):
    with pytest.raises(errors.OptionError, match=words):
        arc(product()[0], **options)


# ---- whatever is in it -------------------------------------------------------------------------------


@given(odd_traces(), st.sampled_from([None, 2.0]))
@settings(max_examples=rounds(60))
def test_it_is_xml_and_complete(trace, step):
    found = groups(arc(trace, step=step))
    assert [int(group.get("data-id")) for group in found] == list(range(len(trace)))
    for i, group in enumerate(found):
        assert len(group.findall(f"{SVG}path")) == len(parents(trace, i))
        assert group.find(f"{SVG}title").text.startswith(f"%{i} ")
    arc(trace, root=trace[-1])


def test_the_empty_tape():
    assert groups(arc(tape.Trace())) == []
