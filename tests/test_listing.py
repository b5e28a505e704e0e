"""The tape as text, as a table of rich, and as HTML."""

import contextlib
import io
import re
import sys
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import tape
from tape.inspect.listing import call_text, listing, listing_html, listing_table
from tape.inspect.listing._sheet import Column, Sheet, sheet_of
from tape.inspect.listing._text import widths_in
from tape.inspect.words import brief, columns_of, cut, digest, duration, number, one_line, short
from tests.tiers import rounds

LINE = 110
HOSTILE = "<script>alert(1)</script> [bold]&amp; \"'\n\t\x1b[31m名前\u202e\u2028" + "x" * 300


# ---- random tapes and values -------------------------------------------------------------------------


DTYPES = [
    np.float16,
    np.float32,
    np.float64,
    np.longdouble,
    np.complex64,
    np.complex128,
    np.int8,
    np.uint64,
    bool,
]
VALUES = st.sampled_from(DTYPES).flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
)
NAMES = st.none() | st.text(max_size=30) | st.just(HOSTILE)


@st.composite
def tapes(draw):
    """A trace of a few leaves and operations that take any values, swept or not, nested or not."""
    trace = tape.Trace(draw(NAMES))
    outer = tape.Trace("outer")
    handles = []
    for _ in range(draw(st.integers(1, 4))):
        value, name = draw(VALUES), draw(NAMES)
        if draw(st.booleans()):
            value = outer.input(value)
        add = trace.param if value.dtype.kind in "fc" and draw(st.booleans()) else trace.input
        handles.append(add(value, name=name))
    with np.errstate(all="ignore"):
        for _ in range(draw(st.integers(0, 8))):
            handle = draw(st.sampled_from(handles))
            operation = draw(st.sampled_from([np.ravel, np.negative, np.exp, lambda x: x[..., None], np.sum]))
            if handle.dtype.kind == "b" and operation is np.negative:
                continue
            handles.append(operation(handle))
        if handles[-1].dtype.kind in "fc" and draw(st.booleans()):
            root = handles[-1]
            trace.backward(root, seed=np.ones(root.shape, root.dtype))
    return trace


def on_screen(line):
    """A character for each column of a terminal."""
    return "".join([char + "\0" * (columns_of(char) - 1) for char in line if columns_of(char)])


@settings(max_examples=rounds(60))
@given(tapes())
def test_every_node_has_one_short_line_and_columns_are_aligned(trace):
    lines = [on_screen(line) for line in listing(trace).splitlines()]
    rows = [line for line in lines[1:] if line.startswith("%")]
    assert [row.split()[0].rstrip("*·") for row in rows] == [f"%{id}" for id in range(len(trace))]
    assert len(lines) - len(rows) <= 3  # title, titles of columns, legend
    assert all(len(line) <= LINE and line == line.rstrip() for line in lines)
    types = [tape.errors.describe(node.value)[:7] for node in trace.nodes]
    where = {match.start() for match in re.finditer(re.escape(types[0]), rows[0])}
    assert any(all(row[at:].startswith(of) for row, of in zip(rows, types, strict=True)) for at in where)
    if lines[1].startswith("id "):
        starts = [match.start() for match in re.finditer(r"\S+", lines[1])]
        assert all(row.ljust(at)[at - 2 : at] == "  " for row in rows for at in starts[1:])


@settings(max_examples=rounds(60))
@given(tapes(), st.sampled_from([20, 40, 80, 120, None]))
def test_the_table_of_rich_fits_any_terminal(trace, width):
    console = pytest.importorskip("rich.console", reason="needs rich")
    cells = pytest.importorskip("rich.cells", reason="needs rich")
    screen = console.Console(width=width or 300, force_terminal=True, file=io.StringIO())
    with screen.capture() as capture:
        screen.print(listing_table(trace, width))
    lines = re.sub(r"\x1b\[[\d;]*m", "", capture.get()).splitlines()
    assert all(cells.cell_len(line) <= (width or 300) for line in lines)
    titles = max(k for k, line in enumerate(lines) if line.startswith("id"))
    rows = [line for line in lines[titles:] if line.startswith("%")]
    assert [row.split()[0].rstrip("*·") for row in rows] == [f"%{id}" for id in range(len(trace))]


@settings(max_examples=rounds(60))
@given(tapes())
def test_html_is_balanced_and_shows_the_cells(trace):
    page = Page(listing_html(trace))
    assert not page.open
    assert page.tags <= {"div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert len(page.rows) == 1 + len(trace)
    assert all(len(row) == len(page.rows[0]) for row in page.rows)


@settings(max_examples=rounds(300))
@given(VALUES, st.integers(12, 40))
def test_a_digest_is_one_short_line_for_any_value(value, width):
    text = digest(value, width)
    assert 0 < len(text) <= width
    assert text.isprintable()
    assert len(short(value, width)) <= max(width, 40)
    if value.dtype.kind in "fc" and value.ndim:  # a scalar says so in itself
        assert ("nan" in text) or not np.isnan(value).any() or np.isinf(value).any()
        assert ("inf" in text) or not np.isinf(value).any() or len(text) + 10 > width or "nan" in text


class Page(HTMLParser):
    """Which tags there are, which are not closed, and the text of each cell."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows = [], set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


# ---- what it looks like ------------------------------------------------------------------------------


def test_a_short_tape():
    trace = tape.Trace("demo")
    a, b, c = (trace.param(value, name=name) for value, name in ((123.0, "a"), (321.0, "b"), (42.0, "c")))
    y = (a + b) * c
    assert listing(trace) == (
        "<Trace demo: 5 nodes, 3 params>\n"
        "%0  a  param             float64[]  123.0\n"
        "%1  b  param             float64[]  321.0\n"
        "%2  c  param             float64[]  42.0\n"
        "%3     add(%0, %1)       float64[]  444.0\n"
        "%4     multiply(%3, %2)  float64[]  18648.0"
    )
    trace.backward(y)
    assert listing(trace) == (
        "<Trace demo: 5 nodes, 3 params>\n"
        "id   name  operation         type       value    adjoint\n"
        "%0   a     param             float64[]  123.0    42.0\n"
        "%1   b     param             float64[]  321.0    42.0\n"
        "%2   c     param             float64[]  42.0     444.0\n"
        "%3         add(%0, %1)       float64[]  444.0    42.0\n"
        "%4*        multiply(%3, %2)  float64[]  18648.0  1.0\n"
        "* root"
    )


def test_arrays_nan_and_what_depends_on_no_param():
    trace = tape.Trace("layer")
    x = trace.input(np.arange(24.0, dtype=np.float32).reshape(8, 3), name="x")
    w = trace.param(np.ones((3, 2), np.float32), name="w")
    scaled = x / np.abs(x).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        y = np.log((scaled @ w)[1:, :1] * 0).sum() + np.array([1.0, np.nan])
        before = listing(trace)
        trace.backward(y)
    assert before == (
        "<Trace layer: 11 nodes, 1 param>\n"
        "%0   x  input                           float32[8, 3]  0 .. 23, mean 11.5\n"
        "%1   w  param                           float32[3, 2]  [[1. 1.] [1. 1.] [1. 1.]]\n"
        "%2·     absolute(%0)                    float32[8, 3]  0 .. 23, mean 11.5\n"
        "%3·     max(%2, axis=1, keepdims=True)  float32[8, 1]  2 .. 23, mean 12.5\n"
        "%4·     divide(%0, %3)                  float32[8, 3]  0 .. 1, mean 0.8575\n"
        "%5      matmul(%4, %1)                  float32[8, 2]  1.5 .. 2.87, mean 2.573\n"
        "%6      getitem(%5, index=[1:, :1])     float32[7, 1]  2.4 .. 2.87, mean 2.726\n"
        "%7      multiply(%6, 0)                 float32[7, 1]  all 0\n"
        "%8      log(%7)                         float32[7, 1]  7 -inf\n"
        "%9      sum(%8)                         float32[]      -inf\n"
        "%10     add(%9, [1. nan])               float64[2]     [-inf nan]\n"
        "· depends on no param"
    )
    assert listing(trace) == (
        "<Trace layer: 11 nodes, 1 param>\n"
        "id    name  operation                       type           value                    adjoint\n"
        "%0    x     input                           float32[8, 3]  0 .. 23, mean 11.5\n"
        "%1    w     param                           float32[3, 2]  all 1                    3 nan, all 0\n"
        "%2·         absolute(%0)                    float32[8, 3]  0 .. 23, mean 11.5\n"
        "%3·         max(%2, axis=1, keepdims=True)  float32[8, 1]  2 .. 23, mean 12.5\n"
        "%4·         divide(%0, %3)                  float32[8, 3]  0 .. 1, mean 0.8575\n"
        "%5          matmul(%4, %1)                  float32[8, 2]  1.5 .. 2.87, mean 2.573  7 nan, all 0\n"
        "%6          getitem(%5, index=[1:, :1])     float32[7, 1]  2.4 .. 2.87, mean 2.726  7 nan\n"
        "%7          multiply(%6, 0)                 float32[7, 1]  all 0                    7 inf\n"
        "%8          log(%7)                         float32[7, 1]  7 -inf                   all 2\n"
        "%9          sum(%8)                         float32[]      -inf                     2.0\n"
        "%10*        add(%9, [1. nan])               float64[2]     [-inf nan]               [1. 1.]\n"
        "* root, · depends on no param"
    )


def test_nested_traces_show_the_plain_value_and_say_so():
    outer, inner = tape.Trace("outer"), tape.Trace("inner")
    a = outer.param(2.0, name="a")
    u = inner.param(a, name="u")
    inner.backward(u * u * outer.input(np.array([0.5, 0.25])))
    assert listing(inner) == (
        "<Trace inner: 3 nodes, 1 param>\n"
        "id   name  operation                      type        value         adjoint\n"
        "%0   u     param                          float64[]   Var(2.0)      Var(3.0)\n"
        "%1         multiply(%0, %0)               float64[]   Var(4.0)      Var(0.75)\n"
        "%2*        multiply(%1, Var([0.5 0.25]))  float64[2]  Var([2. 1.])  [1. 1.]\n"
        "* root"
    )


def test_sites_have_a_column_of_their_own():
    with tape.debug():
        trace = tape.Trace("T")
        _ = trace.param(1.0) * 2
    line = listing(trace).splitlines()[-1]
    assert re.fullmatch(r"%1  multiply\(%0, 2\)  float64\[\]  2\.0    test_listing\.py:\d+", line), line


def test_a_long_listing_leaves_out_the_middle_and_never_looks_at_it(trace):
    v = trace.param(1.0)
    for _ in range(500):
        v = v + 1.0
    trace.nodes[100].value = object()
    lines = str(trace).splitlines()
    assert len(lines) == 1 + 40 + 1 + 20
    assert lines[41] == "... 441 nodes ..."
    assert lines[-1].startswith("%500")
    page = Page(listing_html(trace))
    assert len(page.rows) == 1 + 40 + 1 + 20
    assert page.rows[41] == ["... 441 nodes ..."]


@pytest.mark.parametrize("count", [39, 40, 41, 59, 60, 61, 62, 100])
def test_all_nodes_are_shown_or_forty_and_twenty(count):
    trace = tape.Trace("T")
    x = trace.param(1.0)
    for _ in range(count - 1):
        x = x * 2.0
    shown = list(range(count)) if count <= 60 else [*range(40), *range(count - 20, count)]
    expected = [f"%{k}" for k in shown]
    gap = f"... {count - 60} nodes ..."
    if count > 60:
        expected.insert(40, gap)
    assert [line if line == gap else line.split()[0] for line in listing(trace).splitlines()[1:]] == expected
    rows = Page(listing_html(trace)).rows[1:]
    assert [row[0] for row in rows] == expected
    lines = in_terminal(listing_table(trace)).splitlines()
    where = next(k for k, line in enumerate(lines) if line.startswith("%0"))
    ids = [gap if gap in line else line.split()[0] for line in lines[where:]]
    assert ids == expected


def in_terminal(shown, width=100):
    """What a terminal without colours shows."""
    console = pytest.importorskip("rich.console", reason="needs rich")
    screen = console.Console(width=width, file=io.StringIO())
    screen.print(shown)
    return "\n".join(line.rstrip() for line in screen.file.getvalue().splitlines())


@pytest.mark.parametrize("width", [20, 24, 30, 40])
def test_ids_are_whole_on_the_narrowest_terminal(width):
    trace = tape.Trace("T")
    x = trace.input(1.0)
    for _ in range(11):
        x = x + 1.0
    trace.backward(trace.param(2.0) * x)
    shown = in_terminal(listing_table(trace, width), width)
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("%")] == [
        "%0", *[f"%{k}·" for k in range(1, 12)], "%12", "%13*",
    ]  # fmt: skip


def test_a_table_in_a_terminal(trace):
    trace = tape.Trace("demo")
    a, b = trace.param(123.0, name="a"), trace.param(321.0, name="b")
    trace.backward((a + b) * 2.0)
    assert in_terminal(trace, 80) == (
        "<Trace demo: 4 nodes, 2 params>\n"
        "id   name  operation          type       value  adjoint\n"
        "───────────────────────────────────────────────────────\n"
        "%0   a     param              float64[]  123.0  2.0\n"
        "%1   b     param              float64[]  321.0  2.0\n"
        "%2         add(%0, %1)        float64[]  444.0  2.0\n"
        "%3*        multiply(%2, 2.0)  float64[]  888.0  1.0\n"
        "* root"
    )


def test_tables_in_colours_mark_params_inputs_roots_and_numbers_that_are_not_finite():
    pytest.importorskip("rich.console", reason="needs rich")
    trace = tape.Trace("nan")
    a, x = trace.param(np.array([1.0, 0.0]), name="nan"), trace.input(2.0, name="inf")
    with np.errstate(all="ignore"):
        trace.backward(np.sum(np.log(a) * (x * 3.0)))
    table = listing_table(trace)
    assert [row.style for row in table.rows] == ["bold green", "cyan", "", "dim", "", ""]
    styles = {
        column.header: [
            [(cell.plain[s.start : s.end], s.style) for s in cell.spans] for cell in column._cells
        ]
        for column in table.columns
    }
    assert styles.pop("id") == [*[[]] * 5, [("%5*", "bold magenta")]]
    red = lambda *words: [(word, "bold red") for word in words]  # noqa: E731
    assert styles.pop("value") == [[], [], red("-inf"), [], red("-inf"), red("-inf")]
    assert styles.pop("adjoint") == [red("inf"), *[[]] * 5]
    assert not any(spans for cells in styles.values() for spans in cells)


@pytest.mark.parametrize(
    ("has_adjoints", "has_sites", "width"),
    [(False, False, 32), (False, True, 32), (True, False, 24), (True, True, 20)],
)
def test_columns_are_as_wide_as_this_and_no_wider(has_adjoints, has_sites, width):
    scales = 10.0 ** np.random.default_rng(0).integers(-9, 9, (55, 3, 1))
    values = [scale * np.linspace(1 / 3, 2, 20) - (k % 4) * scale[0] / 7 for k, scale in enumerate(scales)]
    with tape.debug() if has_sites else contextlib.nullcontext():
        trace = tape.Trace("T")
        for value in values:
            trace.param(value, name="n" * 50)
        x = trace.param(np.ones((1,) * 20), name="x")
        y = tape.ops.sum(x, axis=tuple(range(19)), keepdims=True)
    if has_adjoints:
        trace.backward(y, seed=np.ones(y.shape))
        trace.adjoints[:55] = values
    sheet = sheet_of(trace)
    widest = {"id": 12, "name": 16, "operation": 64, "type": 28, "value": 32, "adjoint": 32, "site": 28}
    cells = [row.cells for row in sheet.rows]
    natural = [max(map(len, column)) for column in zip(*cells, strict=True)]
    titles = [column.title for column in sheet.columns]
    assert widths_in(sheet, cells, 1000) == [min(n, widest[t]) for n, t in zip(natural, titles, strict=True)]
    narrow = widths_in(sheet, cells, 1)
    assert narrow == [natural[0], *(1 if title == "operation" else 0 for title in titles[1:])]
    assert all(natural[titles.index(title)] > widest[title] for title in ("name", "operation", "type"))
    for title in ("value", "adjoint")[: 1 + has_adjoints]:
        shown = [row[titles.index(title)] for row in cells[:55]]
        assert shown == [digest(value, width) for value in values]
        assert all(shown != [digest(value, width + more) for value in values] for more in (-8, 8))


def test_nothing_in_a_tape_is_printed_for_an_empty_one():
    assert listing(tape.Trace("T")) == "<Trace T: 0 nodes, 0 params>"
    assert Page(listing_html(tape.Trace("T"))).rows == [["id", "operation", "type", "value"]]


def test_print_options_of_the_user_change_nothing(trace):
    _ = trace.param(np.array([1.0, 2 / 3, np.nan])) * np.linspace(0, 1, 60).reshape(20, 3)
    before = listing(trace), listing_html(trace)
    with np.printoptions(
        precision=1, threshold=1, linewidth=5, nanstr="?", sign="+", formatter={"all": lambda x: "!\n"}
    ):
        assert (listing(trace), listing_html(trace)) == before


def test_text_of_the_user_is_escaped(trace):
    _ = trace.param(1.0, name=HOSTILE) * 2.0
    text = listing_html(trace)
    assert "<script" not in text
    assert Page(text).rows[1][1] == unescape(cut(one_line(HOSTILE), 200).replace("&amp;", "&amp;amp;"))
    pytest.importorskip("rich.console", reason="needs rich")
    assert "[bold]" in listing_table(trace).columns[1]._cells[0].plain


def test_rich_missing_is_an_error_that_says_so(trace, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(tape.errors.UnsupportedError, match=r"pip install 'tape\[viz\]'"):
        listing_table(trace)


# ---- words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1"),
        (0.1 + 0.2, "0.3"),
        (1e300, "1e+300"),
        (np.float16(65504), "65500.0"),
        (-0.0, "-0.0"),
        (complex("nan+infj"), "nan+infj"),
        (np.longdouble("1e4000") if np.finfo(np.longdouble).maxexp > 16000 else np.inf, None),
        (True, "True"),
        (-(2**63), "-9223372036854775808"),
    ],
)
def test_numbers_in_a_few_digits(value, text):
    assert number(value) == text or text is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([]), "empty"),
        (np.full((30, 4), 1e308), "all 1e+308"),
        (np.array([1e308, 1.5e308] * 10), "1e+308 .. 1.5e+308, mean 1.25e+308"),
        (np.array([np.inf, -np.inf, np.nan, 1.0, 3.0] * 2), "2 nan, 2 inf, 2 -inf, 1 .. 3, mean 2"),
        (np.arange(8) % 2 == 0, "4 of 8 true"),
        (np.arange(100) < 30, "30 of 100 true"),
        (np.arange(100, dtype=np.uint8), "0 .. 99, mean 49.5"),
        (np.full(20, 3 + 4j), "abs all 5"),
        (np.full(20, np.nan), "20 nan"),
        (np.array([[1.0, 2.0], [3.0, 4.5]]), "[[1. 2.] [3. 4.5]]"),
    ],
)
def test_digests(value, text):
    assert digest(value, 40) == text


@settings(max_examples=rounds(200))
@given(VALUES, st.integers(1, 17))
def test_precision_is_how_many_digits_there_are(value, precision):
    text = digest(value, 80, precision)
    assert 0 < len(text) <= 80
    if value.dtype.kind == "f" and not value.ndim and np.isfinite(value):
        exact, told = np.longdouble(value), np.longdouble(text)
        # As many digits as asked for, or as tell it from its neighbours: fewer for subnormal numbers.
        assert abs(told - exact) <= max(abs(exact) * 10.0 ** (1 - precision), 2 * np.spacing(abs(value) / 2))
        digits = re.sub(r"e.*|[-.]", "", text).strip("0")
        assert len(digits) <= max(precision, 6)


@given(st.floats(-1e308, 1e308), st.integers(1, 17))
def test_numbers_are_what_they_say(value, digits):
    assert float(number(value, digits)) == float(brief(value, digits))
    assert float(number(value, digits)) == pytest.approx(value, rel=10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(18648.0, 4, "18648"), (18648.7, 4, "18649"), (1e6, 4, "1e+06"), (1 / 3, 2, "0.33"), (-7.0, 4, "-7")],
)
def test_numbers_without_points(value, digits, text):
    assert brief(value, digits) == digest(value, precision=digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3 - 4j, "3-4j"),
        (1.5 + 2j, "1.5+2j"),
        (complex(0.25, 1 / 3), "0.25+0.3333j"),
        (np.complex64(-1j), "-0-1j"),
    ],
)
def test_complex_numbers_without_points(value, text):
    assert brief(value) == text


@pytest.mark.parametrize(
    "ends", [(0.0, np.inf), (-np.inf, 0.0), (-np.inf, np.inf), (np.nan, 0.0), (0.0, 0.0)]
)
def test_what_is_not_finite_is_counted_at_either_end(ends):
    middle = np.linspace(1, 3, 20)
    array = np.concatenate([ends[:1], middle, ends[1:]])
    parts = [f"1 {word}" for end, word in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf"))
             if any(np.array_equal(end, e, equal_nan=True) for e in ends)]  # fmt: skip
    finite = array[np.isfinite(array)]
    parts += [f"{brief(finite.min())} .. {brief(finite.max())}", f"mean {brief(finite.mean())}"]
    for width in range(8, 60):  # as many as fit, the most important first
        shown = digest(array, width)
        kept = [", ".join(parts[:k]) for k in range(1, len(parts) + 1)]
        assert shown == max(
            (text for text in kept if len(text) <= width), key=len, default=cut(kept[0], width)
        )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint64, bool])
def test_the_mean_of_small_numbers_is_that_of_large_ones(dtype):
    array = (np.arange(100) % 11 * 11 + 1).astype(dtype)
    if dtype is bool:
        assert digest(array) == "100 of 100 true"
    else:
        assert digest(array) == digest(array.astype(float)) == "1 .. 111, mean 55.45"
        tenths = np.linspace(2500, 3510, 37).astype(np.float16)
        assert digest(tenths) == digest(tenths.astype(float))


def test_the_mean_is_left_out_where_nobody_wants_it():
    array = np.append(np.linspace(-1, 4, 100), np.nan)
    assert digest(array) == "1 nan, -1 .. 4, mean 1.5"
    assert digest(array, mean=False) == "1 nan, -1 .. 4"


def test_calls_say_indices_as_they_are_written(trace):
    x = trace.param(np.arange(24.0).reshape(4, 6), name="x")
    calls = {
        "getitem(%0, index=[0:1, 1:])": x[0:1, 1:],
        "getitem(%0, index=[1:])": x[1:],
        "getitem(%0, index=[..., 0])": x[..., 0],
        "getitem(%0, index=[::2])": x[::2],
        "getitem(%0, index=[-1:0:-2, None])": x[-1:0:-2, None],
        "sum(%0, axis=0)": x.sum(axis=0),
        "max(%0, axis=1, keepdims=True)": x.max(axis=(1,), keepdims=True),
        "sum(%0, axis=(0, 1))": x.sum(axis=(0, 1)),
        "multiply(%0, [[1.] [2.] [3.] [4.]])": x * np.arange(1.0, 5.0)[:, None],
        "add(%0, float64[6])": x + np.arange(6.0),
        "reshape(%0, shape=(24,))": np.reshape(x, (24,)),
        "roll(%0, shift=(1, 2), axis=(0, 1))": np.roll(x, (1, 2), (0, 1)),
        "multiply(%0, 2.0)": x * 2.0,
    }
    assert [str(call_text(made.node)) for made in calls.values()] == list(calls)
    assert call_text((x * 2.0).node, precision=4).operands == ("%0", "2")
    assert call_text(x.node) == ("param", (), (), True)


@given(st.text())
def test_text_on_one_line_stays_there(text):
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in line)
    line.encode()  # no lone surrogates
    assert columns_of(cut(line, 10)) <= 10


@pytest.mark.parametrize(
    "text", ["", "a", "plain text", "e\u0301te\u0301", "名前は長い", "a名b前c", "x" * 50]
)
def test_what_is_cut_is_as_long_as_there_is_room_for(text):
    widths = [columns_of(char) for char in text]
    for width in range(14):
        line = cut(text, width)
        if sum(widths) <= width:
            assert line == text
            continue
        dots = min(3, width)
        kept = line[: len(line) - dots]
        assert line == kept + "." * dots
        assert text.startswith(kept)
        if width > 3:  # the next character has no room
            assert columns_of(kept) <= width - 3 < columns_of(kept) + widths[len(kept)]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ns"), (3e-9, "3 ns"), (999e-9, "999 ns"), (1e-6, "1.0 us"), (0.0125, "12.5 ms"),
     (0.9994, "999.4 ms"), (1.0, "1.00 s"), (75.5, "75.50 s")],
)  # fmt: skip
def test_times_have_a_unit_that_fits(seconds, text):
    assert duration(seconds) == text


@given(
    st.lists(
        st.sampled_from(["id", "name", "operation", "type", "value", "adjoint", "site"]),
        min_size=1, unique=True,
    ).filter(lambda titles: "operation" in titles),
    st.data(),
)  # fmt: skip
def test_columns_get_the_room_that_they_need_or_that_there_is(titles, data):
    """The widest columns shrink first, and the least important go if that does not help."""
    sizes = st.integers(1, 40)
    columns = [
        Column(title, data.draw(st.integers(0, 12)), data.draw(st.integers(12, 40))) for title in titles
    ]
    table = [["x" * data.draw(sizes) for _ in titles] for _ in range(2)]
    sheet = Sheet("", tuple(columns), [], 0, [], (), False)
    natural = [min(max(map(len, cells)), c.widest) for c, *cells in zip(columns, *table, strict=True)]
    least = [min(n, c.narrowest or n) for n, c in zip(natural, columns, strict=True)]

    def total(widths):
        return sum(widths) + 2 * (sum(width > 0 for width in widths) - 1)

    assert widths_in(sheet, table, total(natural)) == natural
    line = data.draw(st.integers(1, total(natural)))
    widths = widths_in(sheet, table, line)
    order = [titles.index(title) for title in ("type", "site", "name", "adjoint", "value") if title in titles]
    gone = order[: sum(not width for width in widths)]
    assert all(not widths[k] for k in gone)
    if gone:  # the last of them had no room
        before = [0 if k in gone[:-1] else n for k, n in enumerate(least)]
        assert total(before) > line
    least = [0 if k in gone else n for k, n in enumerate(least)]
    if total(least) > line:  # operations go on to shrink
        assert len(gone) == len(order)
        least[titles.index("operation")] = 1
        assert widths == least or total(widths) == line
    else:
        assert total(widths) == line or widths == [n if k not in gone else 0 for k, n in enumerate(natural)]
    slack = [w - n for w, n in zip(widths, least, strict=True)]
    shrunk = [k for k, w in enumerate(widths) if 0 < w < natural[k]]
    assert all(s >= 0 for s in slack)
    assert all(w <= n for w, n in zip(widths, natural, strict=True))
    assert all(slack[k] >= max(slack) - 1 for k in shrunk)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("名前", 4), ("e\u0301", 1), ("Wé", 2), ("Fü名", 4), ("\uff21b", 3), ("", 0)],
)
def test_characters_fill_the_columns_of_a_terminal(text, columns):
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\u202eb\u200bc", "abc"),  # of formatting
        ("a\x00b\x9fc", "a?b?c"),
        ("lone \ud800", "lone ?"),
        ("un\u0378assigned", "un?assigned"),
        (" two \n\t words\u2028here ", "two words here"),
        ("é名", "é名"),
    ],
)
def test_characters_that_a_terminal_would_obey_are_replaced(text, line):
    assert one_line(text) == line


def test_what_the_tables_of_notebooks_hold():
    trace = tape.Trace("T<")
    x, z = trace.param(np.array([1.0, np.nan]), name="n" * 40), trace.input(2.0, name="m" * 41)
    np.abs(z)
    trace.backward(x * z, seed=np.ones(2))
    columns = "".join(
        f'<th scope="col">{title}</th>' for title in ("id", "name", "operation", "type", "value", "adjoint")
    )
    _, table = listing_html(trace).split("</style>\n")
    assert table.splitlines() == [
        f"<table><caption>&lt;Trace T&lt;: 4 nodes, 1 param&gt;</caption><thead><tr>{columns}</tr></thead>",
        "<tbody>",
        f'<tr class="param"><td>%0</td><td>{"n" * 40}</td><td>param</td><td>float64[2]</td>'
        '<td class="alarm">[1. nan]</td><td>[2. 2.]</td></tr>',
        f'<tr class="input"><td>%1</td><td title="{"m" * 41}">{"m" * 41}</td><td>input</td>'
        "<td>float64[]</td><td>2.0</td><td></td></tr>",
        '<tr class="inactive"><td>%2·</td><td></td><td>absolute(%1)</td><td>float64[]</td><td>2.0</td>'
        "<td></td></tr>",
        '<tr class="active root"><td>%3*</td><td></td><td>multiply(%0, %1)</td><td>float64[2]</td>'
        '<td class="alarm">[2. nan]</td><td>[1. 1.]</td></tr>',
        '</tbody></table><div class="legend">* root, · depends on no param</div></div>',
    ]
    table = trace.summary()._repr_html_()
    assert '<th scope="col">operation</th><th scope="col" class=number>nodes</th>' in table
    assert "<tr><td>multiply</td><td class=number>1</td><td class=number>2</td>" in table
    assert (
        '<div class="legend">nodes: 4: 1 param of 2 elements, 1 input, 2 operations, 1 on no param; longest '
        "chain: 2 nodes; memory: 48 B in values; work: 3 FLOPs forwards</div></div>"
    ) in table
