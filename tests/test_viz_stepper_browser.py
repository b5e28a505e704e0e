"""The stepper in a real browser: Debian's Chromium, driven by playwright (pip install playwright).

playwright's own download of a browser is not needed: whichever Chromium is on the path is taken.
"""

import linecache
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import tape
from tape.viz.stepper import html
from tests.odd_traces import network, product
from tests.tiers import takes_long

playwright = pytest.importorskip("playwright.sync_api", reason="drives a browser: pip install playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path: apt install chromium")


@pytest.fixture(scope="module")
def tab():
    """The one page that all tests use: to open another takes longer than most of them."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


@pytest.fixture
def show(tab, tmp_path):
    """Open the page of a trace; in the end, see that it fetched nothing and complained of nothing."""
    complaints, requests, opened = [], [], []
    listeners = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: requests.append(request.url),
    }

    def open_page(trace, *, address="", width=1600, height=900, scheme="light", **options):
        path = tmp_path / f"page{len(opened)}.html"
        html(trace, path, **options)
        opened.append(path.as_uri() + address)
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(color_scheme=scheme)
        tab.goto(opened[-1])
        return tab

    for event, listen in listeners.items():
        tab.on(event, listen)
    yield open_page
    for event, listen in listeners.items():
        tab.remove_listener(event, listen)
    assert complaints == []
    assert [url.split("#")[0] for url in requests] == [url.split("#")[0] for url in opened]


def row(page, i):
    """What a row of the table shows."""
    made = page.locator(f"#row-{i}")
    texts = made.evaluate(
        """row => Object.fromEntries([["classes", row.className],
               ...[...row.querySelectorAll('.cell')].map(cell => [cell.classList[1], cell.textContent])])"""
    )
    return SimpleNamespace(**{**texts, "classes": texts["classes"].split()})


def rows(page):
    """Everything that all rows show."""
    return page.eval_on_selector_all(
        ".rows .row:not([hidden])", "rows => rows.map(r => [r.id, r.className, r.innerText])"
    )


def position(page):
    return int(page.input_value("#slider"))


def sentence(page):
    return page.inner_text("#sentence")


def to(page, step):
    """Drag the slider to a step."""
    page.eval_on_selector("#slider", f"s => {{ s.value = {step}; s.dispatchEvent(new Event('input')) }}")


def wait_until(page, expression):
    """Playwright's own way to wait evaluates texts in the page, which its policy forbids."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"never came true: {expression}")


def test_nothing_is_known_before_the_first_step(show):
    page = show(product()[0])
    assert position(page) == 0
    assert row(page, 0).value == ""
    assert row(page, 0).name == "a"
    assert row(page, 3).made == "add(%0, %1)"
    assert "Press space" in sentence(page)


def test_values_and_adjoints_come_one_by_one(show):
    page = show(product()[0])
    for value in ("123", "321", "42", "444", "18648"):
        page.click("#forward")
        step = position(page) - 1
        assert row(page, step).value == value
        assert {"now", "writes-value"} <= set(row(page, step).classes)
        assert all(row(page, later).value == "" for later in range(step + 1, 5))
    assert "read" in row(page, 3).classes
    assert "multiply(%3, %2) is computed: 18648" in sentence(page)
    page.click("#forward")
    assert "starts at %4" in sentence(page)
    assert row(page, 4).adjoint == "1"
    page.click("#forward")
    assert "passes its adjoint 1 on" in sentence(page)
    assert row(page, 3).adjoint == "42"
    assert "writes-adjoint" in row(page, 3).classes
    assert "x̄ += g · y = 1 · 42 = 42" in page.inner_text("#writes").replace("\n", " ")
    assert row(page, 0).adjoint == ""


def test_contributions_are_added_up_in_the_open(show):
    trace = tape.Trace()
    x = trace.param(3.0, name="x")
    page = show(trace, root=x * x + x)
    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    assert row(page, 0).adjoint == "1"
    page.keyboard.press("ArrowRight")
    assert row(page, 0).adjoint == "1 + 3 + 3 = 7"
    assert re.search(r"4 \+ 3 =\s*7", page.inner_text("#writes"))
    page.keyboard.press("3")
    assert row(page, 0).adjoint == "7"


def test_stepping_back_undoes_a_step(show):
    trace, root = network()
    page = show(trace, root=root)
    total = int(page.get_attribute("#slider", "max"))
    for step in (0, 1, 7, len(trace.nodes), len(trace.nodes) + 3, total - 1):
        to(page, step)
        before = rows(page), sentence(page), page.inner_text("#writes"), page.inner_text("#detail")
        page.keyboard.press("ArrowRight")
        assert position(page) == step + 1
        page.keyboard.press("ArrowLeft")
        assert (rows(page), sentence(page), page.inner_text("#writes"), page.inner_text("#detail")) == before


@pytest.mark.parametrize("make", [product, network])
def test_in_the_end_the_adjoints_are_those_of_the_sweep(show, make):
    trace, root = make()
    page = show(trace, root=root)
    page.keyboard.press("End")
    adjoints = trace.backward(root)
    for i, adjoint in enumerate(adjoints):
        found = row(page, i).adjoint
        if adjoint is None:
            assert found == ""
        elif np.ndim(adjoint) == 0:
            assert float(found) == pytest.approx(float(adjoint), rel=1e-5)
        else:
            largest = found.partition(",")[0].removeprefix("all ").split(" .. ")[-1]
            assert float(largest) == pytest.approx(adjoint.max(), rel=0.01)


def test_playing_and_pausing(show):
    page = show(product()[0])
    page.select_option("#speed", "20")
    page.click("#play")
    assert page.get_attribute("#play", "aria-label") == "Pause"
    wait_until(page, "document.getElementById('slider').value > 2")
    page.keyboard.press("Space")
    stopped = position(page)
    assert 2 < stopped < 13
    page.wait_for_timeout(150)
    assert position(page) == stopped
    page.keyboard.press("Space")
    wait_until(page, "document.getElementById('slider').value == 13")
    wait_until(page, "document.getElementById('play').getAttribute('aria-label') === 'Play'")
    assert page.is_disabled("#forward")


def test_keys(show):
    page = show(product()[0])
    keys = [
        ("End", 13),
        ("ArrowLeft", 12),
        ("Home", 0),
        ("Shift+ArrowRight", 10),
        ("1", 1),
        ("2", 6),
        ("3", 9),
        ("Shift+ArrowLeft", 0),
    ]
    for key, expected in keys:
        page.keyboard.press(key)
        assert position(page) == expected, key
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert "chosen" in row(page, 1).classes
    page.keyboard.press("Escape")
    assert "chosen" not in row(page, 1).classes


def test_a_click_shows_the_rule_and_what_a_node_holds(show):
    trace, root = network()
    page = show(trace, root=root, address="#step=9999")
    page.keyboard.press("End")
    tanh = next(i for i, node in enumerate(trace.nodes) if node.op and node.op.name == "tanh")
    page.click(f"#row-{tanh}")
    panel = page.inner_text("#detail")
    assert "x̄ += g − g · out²" in panel
    assert "ȯut = ẋ − ẋ · out²" in panel
    assert "float64[4, 3]" in panel
    assert f"{trace.nodes[tanh].value.max():.4g}"[:5] in panel
    assert page.locator("#detail .value .histogram rect").count() > 3
    assert page.locator("#detail .adjoint .image canvas").count() == 1
    assert page.locator("#detail .value td").count() == 12
    page.click("#detail .links .link")
    (child,) = [i for i, node in enumerate(trace.nodes) if tanh in node.parents]
    assert "chosen" in row(page, child).classes
    page.click("#row-7")
    assert "y, a constant" in page.inner_text("#detail .constant")
    page.click(f"#row-{child}")
    page.click("#detail .close")
    assert "chosen" not in row(page, child).classes


def test_source_lines_follow_the_steps(show):
    trace, root = network()
    page = show(trace, root=root)
    to(page, 8)
    assert page.inner_text(".line.now mark") == "h - np.ones((4, 3))"
    page.click(".line.recorded:not(.now) >> nth=0")
    assert "chosen" in row(page, 0).classes


def test_source_lines_are_shown_without_their_common_indentation(show, monkeypatch):
    code = "if x:\n" + "    0\n" * 8 + "    if x:\n        y = (x * 2) * 3\n" + "    0\n" * 4
    monkeypatch.setitem(linecache.cache, "deep.py", (len(code), None, code.splitlines(True), "deep.py"))
    scope = {"x": (trace := tape.Trace(sites=True)).param(1.0)}
    exec(compile(code, "deep.py", "exec"), scope)
    page = show(trace, root=scope["y"])
    to(page, 2)
    texts = [page.inner_text(f".line:has(.number:text-is('{line}')) code") for line in (9, 10, 11)]
    assert [text.rstrip() for text in texts] == ["0", "if x:", "    y = (x * 2) * 3"]
    assert page.inner_text(".line.now mark") == "x * 2"


def test_the_source_scrolls_sideways_for_what_is_marked_alone(show):
    trace = tape.Trace(sites=True)
    x = trace.param(1.0)
    y = np.sin(x) + 1.0000000000000000000000000000000000000000000001 * np.cos(x) * 10.0000000000000000001
    page = show(trace, root=y)

    def scrolled():
        return page.evaluate("document.getElementById('source').scrollLeft")

    def right(name):
        return page.evaluate(f"document.querySelector('{name}').getBoundingClientRect().right")

    to(page, 2)
    assert page.inner_text(".line.now mark") == "np.sin(x)"
    assert scrolled() == 0
    to(page, 3)
    assert page.inner_text(".line.now mark") == "np.cos(x)"
    assert scrolled() > 0
    assert right(".line.now mark") <= right("#source")
    for fixed in (".file", ".line.now .gutter"):
        left = page.locator(fixed).bounding_box()["x"]
        assert left == pytest.approx(page.locator("#source").bounding_box()["x"], abs=2)


def test_without_places_the_page_says_how_to_get_them(show):
    page = show(product()[0])
    assert "tape.Trace(sites=True)" in page.inner_text("#source")


def test_search(show):
    trace, root = network()
    page = show(trace, root=root)
    expected = {
        "tanh": [3, 6],
        "%3": [3],
        "layers / second": [4, 5, 6],
        "param": [1, 4],
        "odd_traces.py": range(10),
        "root": [9],
        f"odd_traces.py:{trace.nodes[9].site.line}": [7, 8, 9],
        "nan": [],
        "zzz": [],
    }
    for words, found in expected.items():
        page.keyboard.press("/")
        page.keyboard.insert_text(words)
        assert page.inner_text("#found") == (f"1 / {len(found)}" if found else "none"), words
        for i in found:
            assert {"chosen", "match"} <= set(row(page, i).classes), words
            page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        assert page.inner_text("#found") == ""
        page.keyboard.press("Escape")


def test_search_finds_what_is_not_finite(show):
    trace = tape.Trace()
    x = trace.param(np.array([0.0, 1.0]))
    with np.errstate(all="ignore"):
        y = np.log(x).sum()
    page = show(trace, root=y)
    page.fill("#query", "nan")
    assert page.inner_text("#found") == "1 / 3"  # its adjoint is
    assert page.locator(".cell.nonfinite").count() == 0
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    assert page.locator(".cell.nonfinite").all_inner_texts()[:2] == ["[inf 1.]", "[-inf 0.]"]


def test_the_address_keeps_the_place(show):
    trace, _ = product()
    page = show(trace, address="#step=7&node=2")
    assert position(page) == 7
    assert "chosen" in row(page, 2).classes
    page.keyboard.press("ArrowRight")
    wait_until(page, "location.hash === '#step=8&node=2'")
    assert position(show(trace, address="#step=x&node=99")) == 0


def test_light_and_dark(show):
    def ground(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    page = show(product()[0], scheme="dark")
    dark = ground(page)
    page.click("#theme")
    light = ground(page)
    assert light != dark
    page.keyboard.press("t")
    assert ground(page) == dark
    assert ground(show(product()[0], scheme="light")) == light


def test_a_page_around_it_may_say_light_or_dark(show):
    page = show(product()[0], scheme="light")
    page.keyboard.press("ArrowRight")
    for theme in ("dark", "light"):
        page.evaluate(f"window.postMessage({{ theme: '{theme}' }}, '*')")  # without a frame its own parent
        wait_until(page, f"document.documentElement.dataset.theme === '{theme}'")
    page.evaluate("window.postMessage({ theme: 'pink' }, '*'); window.postMessage(null, '*')")
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert position(page) == 1


def test_the_title_of_the_panel_is_whole(show):
    page = show(product()[0], width=870)
    page.keyboard.press("ArrowRight")
    title = page.locator("#detail .pane-title h2")
    assert title.evaluate("title => title.scrollWidth <= title.clientWidth")


def test_rows_can_be_zoomed(show):
    page = show(product()[0])

    def height():
        return page.locator("#row-0").bounding_box()["height"]

    usual = height()
    page.keyboard.press("+")
    assert height() > usual
    page.click("#zoom-out")
    page.click("#zoom-out")
    assert height() < usual


def test_narrow_windows_stack_the_panes(show):
    trace, root = network()
    page = show(trace, root=root, width=420, height=800)
    boxes = [page.locator(f"#{name}").bounding_box() for name in ("tape", "source", "detail")]
    assert all(box["width"] <= 420 for box in boxes)
    assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_an_empty_tape_has_a_page(show):
    page = show(tape.Trace())
    assert "empty" in sentence(page)
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")


def test_hostile_names_stay_texts(show):
    hostile = "</script><img src=x onerror=document.body.remove()>"
    trace = tape.Trace(name=hostile)
    _ = trace.param(1.0, name=hostile) * 2
    page = show(trace)
    page.keyboard.press("End")
    page.click("#row-0")
    assert row(page, 0).name == hostile
    assert page.locator("img").count() == 0


@takes_long
def test_ten_thousand_nodes_are_stepped_through_without_waiting(show):
    trace = tape.Trace(sites=True)
    x = a = trace.param(0.5, name="a")
    while len(trace) < 10_000:
        x = np.sin(x) * a + x
    page = show(trace, root=x)
    changes = page.evaluate(
        """() => {
          const slider = document.getElementById('slider'), button = document.getElementById('forward');
          const observer = new MutationObserver(() => {});
          const all = { subtree: true, childList: true, attributes: true, characterData: true };
          observer.observe(document.body, all);
          const changes = (act) => {
            observer.takeRecords();
            act();
            return observer.takeRecords().reduce((sum, one) => sum + 1 + one.addedNodes.length, 0);
          };
          const to = (step) => { slider.value = step; slider.dispatchEvent(new Event('input')); };
          to(15000);
          const steps = Array.from({ length: 50 }, () => changes(() => button.click()));
          const jumps = Array.from({ length: 50 }, (_, k) => changes(() => to((k * 7919) % 29000)));
          return [Math.max(...steps), Math.max(...jumps)];
        }"""
    )
    assert min(changes) > 0
    assert max(changes) < 1000  # of the page, whatever the length of the tape
    assert page.locator(".rows .row").count() < 100
    page.keyboard.press("End")
    to(page, 20_000)
    page.fill("#query", "%9999")
    assert "chosen" in row(page, 9999).classes
