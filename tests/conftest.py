"""What several test files start from, which tier of them runs, and how they are shared among processes."""

import gc
import os
from importlib.util import find_spec
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # each process has a core of its own: BLAS's threads would take turns
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

import tape
from tape.program import growth
from tape.program.native.warming import warm_up
from tests import packs, rest, tiers
from tests.mutation.coverage_map import digest

ROOT = Path(__file__).parents[1]
PASSED = "tape/plain"
"""Where the cache of pytest's has what the plain tier has run."""
OF_MAINTAINERS = ("test_contributing.py", "test_docs_site.py", "test_mutation.py")
"""What only those who work on tape use is tried in the full tier alone."""
EXAMPLES_OF = {"_torch.py": "torch", "_jax.py": "jax", "_pytensor.py": "pytensor"}
"""What the examples in docstrings of `tape.interop` need."""
_MANY = 2000  # tests: of so many, not all calls are run in the plain tier
done = pytest.StashKey()


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="run all combinations and long campaigns")
    parser.addoption(
        "--rest",
        action="store_true",
        help="run what of --full the plain tier, if it has just passed, has not run",
    )


@pytest.hookimpl(trylast=True)  # after hypothesis has chosen a profile
def pytest_configure(config):
    tiers.choose(full=config.getoption("--full") or config.getoption("--rest"))
    settings.register_profile("tier", settings(), max_examples=tiers.rounds(100, plain=20), deadline=None)
    settings.load_profile("tier")


def pytest_ignore_collect(collection_path, config):
    is_left_out = collection_path.name in OF_MAINTAINERS and not tiers.is_full()
    return True if is_left_out else None  # which leaves it to others


def pytest_sessionstart(session):
    """Compile before tests run, once for all processes: they look at programs after the first call."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        warm_up()


def sources():
    """A hash of everything that tests run."""
    folders = ("tape", "tests", "examples", "benchmarks")
    return digest(ROOT, "*.md", "docs/*.md", *(f"{folder}/**/*.py" for folder in folders))


def passed(config):
    """What the plain tier has run of these very sources; nothing if it has failed, or has no cache."""
    note = config.cache.get(PASSED, {}) if hasattr(config, "cache") else {}
    return note["done"] if note and note["sources"] == sources() else []


def pytest_report_header(config):
    if config.getoption("--rest"):
        return f"tier: full, without what the plain tier has passed: {len(passed(config))} names"
    return "tier: full" if tiers.is_full() else "tier: plain; --full runs all combinations and long campaigns"


@pytest.fixture(autouse=True, scope="session")
def programs_at_once():
    """Compiled functions make as many programs as they need, at once; see `tests/test_growth.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "AT_ONCE", 10**6)
        patch.setattr(growth, "MANY", 10**6)
        yield


@pytest.fixture
def trace():
    return tape.Trace(name="T")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each of several processes takes a part in order, and then half of what another one has not begun.

    So few files are shared by two, and what their tests have in common, such as a browser, is mostly made
    once; and at the end nobody waits for a long file.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(trylast=True)  # after others have selected and ordered
def pytest_collection_modifyitems(config, items):
    for item in items:
        module = EXAMPLES_OF.get(item.path.name) if isinstance(item, pytest.DoctestItem) else None
        if module and not find_spec(module):
            item.add_marker(pytest.mark.skip(reason=f"{module} is not installed"))
    if not tiers.is_full() and len(items) > _MANY:
        items[:] = tiers.thinned(items)
    if config.getoption("--rest"):
        items[:] = rest.left_of(items, passed(config))
    elif not tiers.is_full() and getattr(config, "workerinput", {}).get("workerid", "gw0") == "gw0":
        config.stash[done] = rest.done_by(items)
    if hasattr(config, "workerinput"):
        items[:] = packs.packed(items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    if found := getattr(node, "workeroutput", {}).get("done"):
        node.config.stash[done] = found


def pytest_sessionfinish(session, exitstatus):
    """Note what the plain tier has run, if all has passed."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["done"] = config.stash.get(done, [])
    elif not tiers.is_full() and not config.option.collectonly and hasattr(config, "cache"):
        names = config.stash.get(done, []) if exitstatus == 0 else []
        config.cache.set(PASSED, {"sources": sources(), "done": names})


def pytest_collection_finish():
    """What there is by now stays: tests that collect garbage need not look through it each time."""
    gc.collect()
    gc.freeze()
