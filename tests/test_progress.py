"""Progress bars: what they are called, what they count, how far they get, and which values they show."""

from functools import partial

import numpy as np
import pytest
import tqdm.auto

import tape
import tape.scipy
import tape.viz
from tape.support import report


class Bar:
    """Stands in for tqdm, and notes what it was given."""

    def __init__(self, made, desc, total, unit):
        self.title, self.total, self.unit = desc, total, unit
        self.count = 0
        self.shown = []
        made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.is_closed = True

    def update(self, count=1):
        self.count += count

    def set_postfix_str(self, text, refresh=True):
        assert not refresh  # update does that, not each time
        self.shown.append(text)


@pytest.fixture
def bars(monkeypatch):
    made = []
    monkeypatch.setattr(tqdm.auto, "tqdm", partial(Bar, made))
    return made


def facts(bars):
    assert all(bar.is_closed for bar in bars)
    return [(bar.title, bar.count, bar.total, bar.unit) for bar in bars]


def test_a_loop_counts_its_steps_there_and_back(bars):
    def body(x, step):
        return np.sin(x) + step

    def f(x):
        return np.sum(tape.checkpoint_loop(body, x, 7, 2, progress=True))

    f(np.ones(2))
    assert facts(bars) == [("checkpoint_loop(body)", 7, 7, " steps")]
    bars.clear()
    tape.grad(f)(np.ones(2))
    assert facts(bars) == [
        ("checkpoint_loop(body)", 7, 7, " steps"),
        ("checkpoint_loop(body), backwards", 7, 7, " steps"),
    ]


def test_minimize_shows_the_objective(bars):
    def f(x):
        return np.sum(x**2) + 1

    found = tape.scipy.minimize(f, np.array([2.0, 1.0]), progress=True)
    ((title, count, total, unit),) = facts(bars)
    assert (total, unit) == (None, " evaluations")
    assert title.startswith("minimize")
    assert count == len(bars[0].shown) == found.nfev
    assert bars[0].shown[0] == "value 6"
    assert bars[0].shown[-1] == f"value {found.fun:.6g}"


@pytest.mark.parametrize("solve", [tape.scipy.least_squares, tape.scipy.root], ids=lambda f: f.__name__)
def test_residuals_show_half_the_sum_of_their_squares(bars, solve):
    solve(lambda x: np.stack([x[0] + 3.0, 2.0 * x[1] - 4.0]), np.array([1.0, 4.0]), progress=True)
    ((title, count, total, unit),) = facts(bars)
    assert title.startswith(solve.__name__)
    assert (total, unit) == (None, " evaluations")
    assert count == len(bars[0].shown) > 1
    assert bars[0].shown[0] == "value 16"  # (4**2 + 4**2) / 2
    assert float(bars[0].shown[-1].split()[1]) < 1e-9


def test_curve_fit_shows_the_misfit(bars):
    x = np.array([0.0, 1.0, 2.0])
    tape.scipy.curve_fit(lambda x, p: p[0] * x + p[1], x, 2 * x + 1, np.zeros(2), progress=True)
    assert bars[0].shown[0] == "value 17.5"  # (1 + 9 + 25) / 2
    assert float(bars[0].shown[-1].split()[1]) < 1e-9


def test_what_is_done_several_times_is_counted(bars):
    tape.profile(lambda x: np.sum(x**2), np.ones(2), repeats=3, progress=True)
    report(["np.sum", "np.exp"], progress=True)
    tape.viz.landscape_slice(lambda x: np.sum(x**2), np.ones(2), points=3, dimensions=1, progress=True)
    (profile, functions, landscape) = facts(bars)
    assert profile[1:] == (3, 3, " run")
    assert functions == ("functions", 2, 2, " functions")
    assert landscape == ("landscape", 3, 3, " point")


def test_without_progress_there_is_no_bar(bars):
    tape.checkpoint_loop(lambda x, step: x, 1.0, 2, 1)
    tape.scipy.minimize(lambda x: np.sum(x**2), np.ones(2))
    assert bars == []
