"""The page of the stepper: that it is whole, fetches nothing, and tells what the sweeps compute."""

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tape import errors
from tape.core.op import Op
from tape.viz.stepper import html
from tape.viz.stepper.digest import detail_for, digest, shown
from tape.viz.stepper.formula import formula
from tape.viz.stepper.rules import rule_formulas
from tape.viz.stepper.sources import sources
from tape.viz.style import DARK, LIGHT
from tests.odd_traces import network, odd_traces, product, state
from tests.tiers import rounds, takes_long


class Elements(HTMLParser):
    """The tags of a page with their attributes, and what is in its scripts and style sheets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.raw: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.raw.append("")

    def handle_data(self, data):
        if self.cdata_elem:
            self.raw[-1] += data


def data_of(page):
    """What the page's scripts read."""
    return json.loads(Elements(str(page)).raw[1], parse_constant=pytest.fail)


def last_adjoints(data):
    """The adjoints at the end of the backward pass, as the page puts them together."""
    backward, found = data["backward"], {}
    for to, added, total in zip(backward["to"], backward["added"], backward["total"], strict=True):
        found[to] = added if total is None else total
    return found


# ---- the page --------------------------------------------------------------------------------------


def test_the_page_is_whole_and_fetches_nothing():
    trace, root = network()
    page = html(trace, root=root)
    elements = Elements(str(page))
    assert not [
        name for _, attrs in elements.found for name in attrs if name in ("src", "href", "srcset", "style")
    ]
    assert not {tag for tag, _ in elements.found} & {"link", "iframe", "img", "object", "base"}
    assert set(re.findall(r"https?://[^\s\"']+", str(page))) == {"http://www.w3.org/2000/svg"}  # a namespace
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML|import\(", str(page))


def test_the_policy_allows_these_scripts_and_no_others():
    trace, _ = product()
    elements = Elements(str(html(trace)))
    (policy,) = [a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    style, _, script = elements.raw
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


@settings(max_examples=rounds(60))
@given(odd_traces())
def test_whatever_is_on_a_tape_is_only_data_and_stays_as_it_was(trace):
    plain = Elements(str(html(product()[0])))
    before = state(trace)
    page = html(trace)
    assert state(trace) == before
    elements = Elements(str(page))
    assert [tag for tag, _ in elements.found] == [tag for tag, _ in plain.found]
    assert len(data_of(page)["nodes"]["value"]) == len(trace.nodes)
    page.data.decode()


def test_the_reader_may_choose_light_or_dark():
    style = Elements(str(html(product()[0]))).raw[0]
    dark = f"--ground:{DARK.ground}"
    assert f":root{{--ground:{LIGHT.ground}" in style
    assert f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}" in style
    assert f":root[data-theme=dark]{{{dark}" in style


def test_indices_read_as_they_are_written():
    trace = tape.Trace()
    _ = trace.param(np.ones((3, 2)))[0:1, 1:]
    nodes = data_of(html(trace))["nodes"]
    assert nodes["texts"][nodes["attrs"][1]] == "index=[0:1, 1:]"


def test_hostile_names_are_data():
    hostile = "</script><img src=x onerror=alert(1)><!--\u2028{{script}}"
    trace = tape.Trace(name=hostile)
    x = trace.param(1.0, name=hostile)
    Op(lambda x: x, name=hostile, doc=hostile, vjp=[lambda g, out, x: g])(x)
    page = html(trace)
    assert "<img" not in str(page)
    assert "\u2028" not in str(page)
    assert data_of(page)["nodes"]["names"]["0"].startswith("</script><img")


def test_notebooks_show_it_in_a_frame_that_can_do_nothing_else():
    page = html(product()[0])
    ((tag, attrs),) = Elements(page._repr_mimebundle_()["text/html"]).found
    assert tag == "iframe"
    assert attrs["sandbox"] == "allow-scripts"
    assert attrs["srcdoc"] == str(page)
    assert repr(page) == f"<Page html: {len(page.data)} bytes>"


def test_it_is_written_to_a_file(tmp_path):
    page = html(product()[0], tmp_path / "page.html", title="A title")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == str(page)
    assert "<title>A title</title>" in str(page)


def test_what_cannot_be_drawn_is_refused(tmp_path):
    trace, root = product()
    with pytest.raises(errors.OptionError, match="Make it first"):
        html(trace, tmp_path / "missing" / "page.html")
    with pytest.raises(errors.OptionError, match="larger limit"):
        html(trace, limit=2)
    with pytest.raises(errors.TraceMismatchError):
        html(tape.Trace(), root=root)
    z = tape.Trace()
    with pytest.raises(errors.DTypeError, match="complex"):
        html(z, root=z.param(1j) * 2)


# ---- what it tells ---------------------------------------------------------------------------------


@pytest.mark.parametrize("record", [product, network])
def test_the_passes_end_with_what_the_sweeps_compute(record):
    trace, root = record()
    data = data_of(html(trace, root=root))
    adjoints = trace.backward(root)
    assert last_adjoints(data) == {i: shown(a) for i, a in enumerate(adjoints) if a is not None}
    assert data["nodes"]["value"] == [shown(node.value) for node in trace.nodes]
    seeds = {param.id: np.ones_like(param.node.value) for param in trace.params}
    tangents = trace.push_forward(seeds, range(len(trace.nodes)))
    shown_tangents = dict(zip(data["tangent"]["node"], data["tangent"]["total"], strict=True))
    assert shown_tangents == {i: shown(t) for i, t in enumerate(tangents) if t is not None}


def test_adjoints_add_up_step_by_step():
    trace = tape.Trace()
    x = trace.param(3.0)
    data = data_of(html(trace, root=x * x + x))
    assert data["backward"] == {
        "node": [2, 2, 1],
        "offset": [0, 1, 3, 5],
        "to": [2, 1, 0, 0, 0],
        "added": [1.0, 1.0, 1.0, 3.0, 3.0],
        "total": [None, None, None, 4.0, 7.0],
    }


def test_a_sweep_that_was_made_is_shown_with_its_root_and_seed():
    trace = tape.Trace()
    x = trace.param(np.array([1.0, 2.0]))
    y = x * x
    adjoints = trace.backward(y, seed=[10.0, 0.0])
    _ = y.sum()
    assert last_adjoints(data_of(html(trace)))[0] == shown(adjoints[0])


def test_tangents_may_be_given_and_left_out():
    trace = tape.Trace()
    x, y = trace.param(3.0), trace.param(4.0)
    _ = x * y
    assert data_of(html(trace, tangents={y: 2.0}))["tangent"] == {"node": [1, 2], "total": [2.0, 6.0]}
    assert data_of(html(trace, tangents={}))["tangent"] is None
    assert data_of(html(trace, adjoints=False))["backward"] is None


def test_nested_traces_show_plain_numbers_and_record_nothing():
    outer = tape.Trace()
    a = outer.param(2.0)
    inner = tape.Trace()
    x = inner.param(a * 3)
    y = x * a
    before = len(outer)
    data = data_of(html(inner, root=y))
    assert len(outer) == before
    assert data["nodes"]["value"] == [6.0, 12.0]
    assert data["nodes"]["operands"][1] == [0, "Var(2)"]


def empty(trace):
    """Nothing."""


def without_params(trace):
    _ = trace.input(2.0) + 1


def complex_root(trace):
    _ = trace.param(1 + 2j) * 2


def integers(trace):
    _ = trace.input(np.arange(3)) * 2


def refusing_tangents(trace):
    def refuse(t, out, x):
        raise errors.UnsupportedError("no tangents here")

    Op(lambda x: x, name="only_back", vjp=[lambda g, out, x: g], jvp=[refuse])(trace.param(1.0))


@pytest.mark.parametrize(
    ("record", "passes"),
    [
        (empty, []),
        (without_params, []),
        (complex_root, ["tangent"]),
        (integers, []),
        (refusing_tangents, ["backward"]),
    ],
)
def test_passes_that_cannot_be_made_are_left_out(trace, record, passes):
    record(trace)
    data = data_of(html(trace))
    assert [name for name in ("backward", "tangent") if data[name]] == passes
    assert len(data["notes"]) == (record is refusing_tangents)


def test_places_are_shown_with_the_lines_around():
    trace, root = network()
    data = data_of(html(trace, root=root))["sources"]
    (file,) = data["files"]
    assert file["name"] == "odd_traces.py"
    lines = dict(file["lines"])
    expressions = set()
    for place in data["of"]:
        _, line, begin, end, function = data["places"][place]
        assert function == "network"
        expressions.add(lines[line][begin:end])
    assert {"(h - np.ones((4, 3))) ** 2", "h - np.ones((4, 3))"} <= expressions
    scopes = [data_of(html(trace))["nodes"]["texts"][i] for i in data_of(html(trace))["nodes"]["scope"]]
    assert scopes[2] == "layers / first"


def test_long_files_are_cut_to_what_recorded(monkeypatch):
    monkeypatch.setattr("tape.viz.stepper.sources._MOST_LINES", 100)
    text = "\n".join(f"x = x + {k}" for k in range(200))
    scope = {"x": (trace := tape.Trace(sites=True)).param(1.0)}
    exec(compile(text, "<a long one>", "exec"), scope)
    found = sources(node.site for node in trace.nodes)
    assert sum(len(file["lines"]) for file in found["files"]) <= 100


# ---- how large -------------------------------------------------------------------------------------


@takes_long
def test_ten_thousand_nodes_are_a_few_megabytes():
    trace = tape.Trace(sites=True)
    x = trace.param(0.3)
    for _ in range(5000):
        x = np.sin(x) * 1.01
    assert len(html(trace, root=x).data) < 3e6


@takes_long
def test_large_and_many_arrays_are_kept_in_short():
    trace = tape.Trace()
    x = trace.param(np.random.default_rng(0).normal(size=(300, 300)))
    for _ in range(5):
        x = np.sin(x)
    assert len(html(trace, root=x.sum()).data) < 4e5
    many = tape.Trace()
    x = many.param(np.arange(3.0))
    for _ in range(2500):
        x = x * 1.001
    assert len(html(many, root=x.sum()).data) < 6e6


@given(
    hnp.arrays(
        st.sampled_from(["f8", "f4", "f2", "c16", "i8", "u1", "?"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
        elements={"allow_nan": True},
    )
)
@example(np.array([1.0, np.nextafter(1.0, 2.0)]))
@example(np.array([0.0, 5e-324, -5e-324]))
@example(np.array([-1.7e308, 1.7e308]))
@example(np.array([0.0, 1.0, 1.7e308 * (1 + 1j)]))
@example(np.arange(4096.0).reshape(1, 64, 64))
@settings(max_examples=rounds(60))
def test_digests_are_json_and_count_every_element(array):
    found = digest(array, detail_for(1))
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))
    assert len(found["numbers"]) == min(64, array.size)
    counts = dict(found["statistics"])
    with np.errstate(over="ignore"):
        sizes = np.abs(array) if array.dtype.kind == "c" else array  # which may overflow
    assert counts.get("nan", 0) == np.count_nonzero(np.isnan(sizes))
    assert counts.get("inf", 0) + counts.get("-inf", 0) == np.count_nonzero(np.isinf(sizes))
    if "histogram" in found:
        assert sum(found["histogram"]["counts"]) == np.count_nonzero(np.isfinite(sizes))
    if "image" in found:
        image = found["image"]
        assert len(base64.b64decode(image["pixels"])) == image["rows"] * image["columns"] <= 32 * 32


# ---- the rules -------------------------------------------------------------------------------------


def value_of(text: str, names: dict[str, float]) -> float:
    """What a formula comes to."""
    for sign, python in (("·", "*"), ("−", "-"), ("√", "sqrt "), ("^", "**"), ("²", "**2"), ("³", "**3")):
        text = text.replace(sign, python)
    text = re.sub(r"sqrt (\w+)", r"sqrt(\1)", text).replace("sqrt (", "sqrt(")
    text = re.sub(r"\|([^|]*)\|", r"absolute(\1)", text)
    expression, *definitions = re.split(r", where |, (?=[a-z]\d* = )", text)
    known = {**vars(np), **names}
    for definition in definitions:
        name, _, right = definition.partition(" = ")
        known[name] = eval(right.replace(" = ", " == "), known)
    return eval(expression.replace(" = ", " == "), known)


UNARY = [np.sin, np.cos, np.tanh, np.exp, np.log, np.sqrt, np.square, np.negative, np.reciprocal, np.arctan]
POWERS = [lambda x: x**3, lambda x: x**-2.5]
BINARY = [np.add, np.subtract, np.multiply, np.divide]


@settings(max_examples=rounds(100))
@given(st.data())
def test_a_formula_means_what_was_recorded(data):
    trace = tape.Trace()
    names = {"x": 1.25, "y": -0.5, "z": 3.0}
    made = [trace.input(value) for value in names.values()]
    with np.errstate(all="ignore"):
        for _ in range(data.draw(st.integers(1, 7))):
            pick = st.sampled_from(made)
            if data.draw(st.booleans()):
                operands = [data.draw(pick), data.draw(st.one_of(pick, st.sampled_from([2.0, -0.25, 1e-9])))]
                made.append(data.draw(st.sampled_from(BINARY))(*operands))
            else:
                made.append(
                    data.draw(st.sampled_from([*UNARY, lambda x: x**3, lambda x: x**-2.5]))(data.draw(pick))
                )
        text = formula(trace, made[-1], dict(enumerate(names)))
        if text is not None:
            expected = float(made[-1].value)
            assert value_of(text, {k: np.float64(v) for k, v in names.items()}) == pytest.approx(
                expected, rel=1e-4, nan_ok=True
            )


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (np.sqrt, "√x"),
        (lambda x: np.sqrt(x * x), "√(x²)"),
        (lambda x: np.sqrt(x**3), "√(x³)"),
        (lambda x: np.square(np.sqrt(x)), "(√x)²"),
        (lambda x: np.sqrt(np.sqrt(x)), "√(√x)"),
    ],
)
def test_roots_and_powers_are_told_apart(f, expected):
    trace = tape.Trace()
    out = f(trace.param(2.0))
    assert formula(trace, out, {0: "x"}) == expected


@pytest.mark.parametrize("f", [*UNARY, *BINARY, np.power, np.hypot, np.cbrt, tape.ops.relu, tape.ops.sigmoid])
def test_the_formulas_of_rules_compute_what_the_rules_do(f):
    trace = tape.Trace()
    operands = [trace.param(v) for v in (0.75, 1.5)[: 2 if f in (*BINARY, np.power, np.hypot) else 1]]
    out = f(*operands)
    rules = rule_formulas(out.node)
    names = {"g": 2.0, "out": float(out), "x": 0.75, "y": 1.5}
    names = {name: np.float64(value) for name, value in names.items()}
    contributions = [part for _, part in out.node.vjp(np.float64(2.0))]
    found = [value_of(text.split(" += ")[1], names) for text in rules.reverse]
    np.testing.assert_allclose(found, contributions, rtol=1e-5)
    assert value_of(rules.value.split(" = ", 1)[1], {**names, "relu": abs, "sigmoid": tape.ops.sigmoid}) == (
        pytest.approx(float(out))
    )


@pytest.mark.parametrize(
    ("record", "reverse", "tangent"),
    [
        (lambda x, a: np.sin(x), ["x̄ += g · cos(x)"], "ȯut = ẋ · cos(x)"),
        (lambda x, a: x * 2, ["x̄ += g · 2"], "ȯut = ẋ · 2"),
        (lambda x, a: x**2, ["x̄ += g · 2 · x"], "ȯut = ẋ · 2 · x"),
        (lambda x, a: x * np.float64(0.123), ["x̄ += g · y"], "ȯut = ẋ · y"),
        (lambda x, a: a @ a.T, ["x̄ += g @ yᵀ", "ȳ += xᵀ @ g"], "ȯut = ẋ @ y + x @ ẏ"),
        (lambda x, a: a[1:], None, "ȯut = ẋ[1:]"),
        (lambda x, a: a > 1, [], ""),
    ],
)
def test_formulas_read_well(record, reverse, tangent):
    trace = tape.Trace()
    out = record(trace.param(2.0), trace.param(np.ones((2, 3))))
    rules = rule_formulas(out.node)
    if reverse is not None:
        assert list(rules.reverse) == reverse
    assert rules.tangent == tangent
    assert rules.words


def test_rules_that_cannot_run_are_told_in_words_only():
    def strange(g, out, x):
        return np.asarray(memoryview(x))

    trace = tape.Trace()
    out = Op(lambda x: x, name="strange", vjp=[strange], doc="A strange one.\n\nWith details.")(
        trace.param(1.0)
    )
    rules = rule_formulas(out.node)
    assert rules.reverse == ()
    assert rules.words[0] == "A strange one."


def test_an_open_trace_is_left_as_it_is():
    with tape.Trace() as trace:
        _ = np.sin(trace.param(2.0))
        page = html(trace)
    assert data_of(page)["nodes"]["rules"][1]["reverse"] == ["x̄ += g · cos(x)"]
    with tape.Trace(), trace:  # which a trace that others are nested in does not allow
        assert len(trace) == 2


def test_rules_leave_out_operands_that_are_data():
    trace = tape.Trace()
    _ = trace.param(2.0) * trace.input(3.0)
    nodes = data_of(html(trace))["nodes"]
    assert nodes["rules"][nodes["rule"][2]]["reverse"] == ["x̄ += g · y"]


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_numbers_survive(x):
    found = shown(np.float64(x))
    assert found == x if math.isfinite(x) else float(found) == x or math.isnan(x)
