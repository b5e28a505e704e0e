"""DOT text: well formed whatever is in it, complete, coloured as it says; Graphviz agrees."""

import html
import re
import shutil
import subprocess
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors
from tape.core.sites import name_scope
from tape.viz.dot import dot
from tape.viz.style import DARK, LIGHT, STATES
from tests.odd_traces import network, odd_traces, product, state
from tests.tiers import rounds, takes_long

GRAPHVIZ = pytest.mark.skipif(
    shutil.which("dot") is None, reason="Graphviz is not installed: apt install graphviz"
)

TOKEN = re.compile(
    r"""\s+ | (?P<string>"(?:[^"\\]|\\.)*") | (?P<arrow>->) | (?P<sign>[{}\[\]=]) | (?P<word>[\w.]+)""",
    re.VERBOSE | re.DOTALL,
)


def tokens(text: str) -> list[str]:
    """The tokens of DOT text; what is between < and > is one."""
    found, at = [], 0
    while at < len(text):
        if text[at] == "<":
            depth, start = 0, at
            while True:
                depth += {"<": 1, ">": -1}.get(text[at], 0)
                at += 1
                if not depth:
                    break
            found.append(text[start:at])
            continue
        match = TOKEN.match(text, at)
        assert match, f"no token at {text[at : at + 40]!r}"
        at = match.end()
        if match.lastgroup:
            found.append(match.group())
    return found


def parse(text: str) -> tuple[dict[str, dict[str, str]], list[tuple[str, str]], list[str]]:
    """Nodes with their attributes, edges, and labels of clusters."""
    words = tokens(text)
    assert words[0] == "digraph"
    assert words.count("{") == words.count("}")
    assert words.count("[") == words.count("]")
    nodes, edges, k = {}, [], 3
    while k < len(words):
        if re.fullmatch(r"n\d+", words[k]) and words[k + 1] == "->":
            edges.append((words[k], words[k + 2]))
            k += 3
        elif re.fullmatch(r"n\d+", words[k]) and words[k + 1] == "[":
            end = words.index("]", k)
            inside = words[k + 2 : end]
            assert inside[1::3] == ["="] * (len(inside) // 3)
            nodes[words[k]] = dict(zip(inside[0::3], inside[2::3], strict=True))
            k = end + 1
        else:
            k += 1
    return nodes, edges, re.findall(r"subgraph cluster_\d+ \{ label=(\"(?:[^\"\\]|\\.)*\")", text)


def parents(trace: tape.Trace) -> list[tuple[str, str]]:
    return [(f"n{p}", f"n{i}") for i, node in enumerate(trace.nodes) for p in node.parents if p is not None]


def laid_out(text: str) -> bytes:
    """What Graphviz makes of it, which must be without a word of complaint."""
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout


# ---- what is there -----------------------------------------------------------------------------------


def test_a_picture_of_a_product():
    trace, y = product()
    small, adjoint = f'COLOR="{LIGHT.muted}" POINT-SIZE="10"', f'COLOR="{LIGHT.adjoint_ink}" POINT-SIZE="12"'
    look = f'fillcolor="{LIGHT.adjoint}" color="{LIGHT.adjoint_line}"'
    param = 'shape=box style="filled" penwidth=1.75'
    text = dot(trace, y)
    for long, short in (
        (" penwidth=2.5", " ROOT"),
        (small, "S"),
        (adjoint, "A"),
        (look, "LOOK"),
        (param, "PARAM"),
    ):
        text = text.replace(long, short)
    assert "\n".join(re.sub(r" tooltip=\"[^\"]*\"", "", text).splitlines()[4:]) == (
        """\
  n0 [label=<<B>a</B><BR/><FONT S>%0 · param</FONT><BR/>123<BR/><FONT A>∂ 42</FONT>> LOOK PARAM]
  n1 [label=<<B>b</B><BR/><FONT S>%1 · param</FONT><BR/>321<BR/><FONT A>∂ 42</FONT>> LOOK PARAM]
  n2 [label=<<B>c</B><BR/><FONT S>%2 · param</FONT><BR/>42<BR/><FONT A>∂ 444</FONT>> LOOK PARAM]
  n3 [label=<<B>add</B>(%0, %1)<BR/><FONT S>%3</FONT><BR/>444<BR/><FONT A>∂ 42</FONT>> LOOK]
  n4 [label=<<B>multiply</B>(%3, %2)<BR/><FONT S>%4</FONT><BR/>18648<BR/><FONT A>∂ 1</FONT>> LOOK ROOT]
  n0 -> n3
  n1 -> n3
  n3 -> n4
  n2 -> n4
}"""
    )


def test_tooltips_tell_everything():
    trace, loss = network()
    tooltip = parse(dot(trace, loss))[0]["n3"]["tooltip"]
    assert re.fullmatch(
        r'"%3 tanh\(%2\)\\nfloat64\[4, 3\]\\nvalue .* \.\. .*, mean .*\\nadjoint .*'
        r'\\nin layers / first\\n.*odd_traces.py:\d+\\n.*"',
        tooltip,
    )


def test_a_sigmoid_shows_constants_in_the_calls():
    trace = tape.Trace()
    x = trace.param(0.0, name="x")
    nodes, edges, _ = parse(dot(trace, 1 / (1 + np.exp(-x))))
    titles = [re.sub(r"<.*?>", "", node["label"].split("<BR/>")[0][1:]) for node in nodes.values()]
    assert titles == ["x", "negative(%0)", "exp(%1)", "add(1, %2)", "divide(1, %3)"]
    assert edges == parents(trace)


def test_indices_read_as_they_are_written():
    trace = tape.Trace()
    _ = trace.param(np.ones((3, 2)))[0:1, 1:]
    label = parse(dot(trace))[0]["n1"]["label"]
    assert "<B>getitem</B>(%0, index=[0:1, 1:])" in html.unescape(label)


def test_only_what_the_root_depends_on_is_drawn():
    trace, y = product()
    sine = np.sin(trace[0])
    assert set(parse(dot(trace, sine))[0]) == {"n0", "n5"}
    assert set(parse(dot(trace, y))[0]) == {"n0", "n1", "n2", "n3", "n4"}
    assert len(parse(dot(trace))[0]) == len(trace)


def test_parents_outside_of_the_range_are_named():
    trace, _ = product()
    nodes, edges, _ = parse(dot(trace, ids=range(3, 5)))
    assert edges == parents(trace)
    assert {key for key, node in nodes.items() if node.get("shape") == "plain"} == {"n0", "n1", "n2"}


def test_colours_say_the_state():
    trace, _ = product()
    trace.input(1.0)

    def fills(**options) -> list[str]:
        return [node["fillcolor"].strip('"') for node in parse(dot(trace, **options))[0].values()]

    assert fills() == [LIGHT.active] * 5 + [LIGHT.inactive]
    assert fills(highlight=[trace[0], 4]) == [
        LIGHT.highlight, *[LIGHT.active] * 3, LIGHT.highlight, LIGHT.inactive,
    ]  # fmt: skip
    assert fills(highlight=trace[-1])[-1] == LIGHT.highlight
    trace.backward(trace[4])
    assert fills() == [LIGHT.adjoint] * 5 + [LIGHT.inactive]
    assert fills(adjoints=False) == [LIGHT.active] * 5 + [LIGHT.inactive]
    assert fills(root=trace[3]) == [LIGHT.adjoint] * 3  # a sweep of its own, from there
    assert "∂ 42" not in dot(trace, trace[3])


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_text_can_be_read_on_every_fill(palette):
    def luminance(colour: str) -> float:
        parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    def contrast(a: str, b: str) -> float:  # as WCAG 2.1 defines it
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    for state_ in STATES:
        assert contrast(palette.ink, getattr(palette, state_)) >= 7
    for ink in (palette.ink, palette.muted, palette.adjoint_ink):
        assert contrast(ink, palette.ground) >= 4.5
    assert contrast(palette.adjoint_ink, palette.adjoint) >= 4.5


def test_scopes_are_nested_clusters():
    trace, loss = network()
    text = dot(trace, loss)
    assert parse(text)[2] == ['"layers"', '"first"', '"second"', '"loss"']
    inner = text[text.index('"first"') : text.index('"second"')]
    assert set(re.findall(r"^ *(n\d+) \[", inner, re.MULTILINE)) == {"n1", "n2", "n3"}
    assert not parse(dot(trace, loss, clusters=False))[2]
    assert set(parse(dot(trace, loss, clusters=False))[0]) == set(parse(text)[0])


def test_extra_edges_are_dashed():
    trace, y = product()
    text = dot(trace, y, edges=[(trace[0], y), (1, 2)])
    assert [line.split(" [")[0].strip() for line in text.splitlines() if "dashed" in line] == [
        "n0 -> n4",
        "n1 -> n2",
    ]


def test_direction_values_and_precision():
    trace, y = product()
    assert "rankdir=LR" in dot(trace, direction="LR")
    assert "<BR/>18648<" in dot(trace, y)
    assert "<BR/>18648<" not in dot(trace, y, values=False)
    ninth = trace[0] / 900.0
    assert "<BR/>0.1367<" in dot(trace, ninth)
    assert "<BR/>0.14<" in dot(trace, ninth, precision=2)


def test_drawing_changes_nothing():
    trace, y = product()
    before = state(trace)
    dot(trace, y, highlight=y)
    assert state(trace) == before


def test_drawing_a_nested_trace_records_nothing_on_the_outer_one():
    outer = tape.Trace()
    a = outer.param(3.0, name="a")
    inner = tape.Trace()
    y = np.sin(inner.param(a, name="x")) * a
    count = len(outer)
    text = dot(inner, y)
    assert len(outer) == count
    assert f"∂ {3 * np.cos(3.0):.4g}" in text


def test_roots_without_derivative_have_no_adjoints():
    trace = tape.Trace()
    z = trace.param(1.0) * (1 + 1j)
    is_large = trace.param(2.0) > 1.0
    assert "∂" not in dot(trace, z)
    assert "∂" not in dot(trace, is_large)
    assert "∂" not in dot(trace, trace.input(1.0))


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"direction": "UP"}, errors.OptionError, "TB"),
        ({"precision": 0}, errors.OptionError, "digits"),
        ({"limit": 4}, errors.OptionError, "5 nodes are too many.*arc"),
        ({"highlight": 17}, errors.OutOfBoundsError, "from 0 to 4"),
        ({"highlight": ["a"]}, errors.OptionError, "Vars or ids"),
        ({"edges": [3]}, errors.OptionError, "pairs"),
        ({"edges": [(0, 9)]}, errors.OutOfBoundsError, "no node 9"),
        ({"ids": [1, 2]}, errors.OptionError, "range"),
        ({"ids": range(3, 9)}, errors.OutOfBoundsError, "beyond"),
        ({"ids": range(2), "highlight": 4}, errors.OptionError, "not in the picture"),
    ],
)
def test_options_that_do_not_fit(options, error, words):
    trace, _ = product()
    with pytest.raises(error, match=words):
        dot(trace, **options)


def test_what_is_drawn_is_a_trace():
    y = tape.Trace().param(1.0)
    for other, words in ((y, "Pass the .trace of a Var"), ([y], r"got \[Var"), (3, "got 3")):
        with pytest.raises(errors.OptionError, match=words):
            dot(other)


def test_vars_of_another_trace():
    trace, _ = product()
    _, other = product()
    for options in ({"root": other}, {"highlight": other}, {"edges": [(0, other)]}):
        with pytest.raises(errors.TraceMismatchError):
            dot(trace, **options)


# ---- whatever is in it -------------------------------------------------------------------------------


@given(odd_traces(), st.booleans())
@settings(max_examples=rounds(60))
def test_text_is_well_formed_and_complete(trace, is_clustered):
    nodes, edges, _ = parse(dot(trace, trace[-1], clusters=is_clustered))
    assert f"n{len(trace) - 1}" in nodes
    nodes, edges, _ = parse(dot(trace, clusters=is_clustered))
    assert set(nodes) == {f"n{i}" for i in range(len(trace))}
    assert sorted(edges) == sorted(parents(trace))


@GRAPHVIZ
@given(st.lists(odd_traces(), min_size=4, max_size=4), st.sampled_from(["TB", "LR"]))
@settings(max_examples=12)
def test_graphviz_takes_it(traces, direction):
    # Several graphs in one run: starting the program is what takes the time.
    laid_out("\n".join(dot(trace, direction=direction, highlight=0) for trace in traces))


def test_the_empty_tape():
    assert parse(dot(tape.Trace())) == ({}, [], [])


@takes_long
def test_long_chains_and_deep_scopes_overflow_nothing():
    trace = tape.Trace(sites=True)
    v = trace.param(1.0)
    with ExitStack() as stack:
        for _ in range(1500):
            stack.enter_context(name_scope("deeper"))
        v = v + 1.0
    for _ in range(5000):
        v = v + 1.0
    assert dot(trace, v, limit=10**6).count("->") == 5001
    assert dot(trace, v, ids=range(2), limit=10**6).count("subgraph") == 1500
