"""Edges of training: names and ranges of options, orders of files, what is empty, and what began anew."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from tape import errors, train
from tape.train import (
    Checkpoints,
    DataLoader,
    EarlyStopping,
    History,
    JSONLinesLog,
    Windows,
    data,
    fit,
)

ROWS = np.arange(12.0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda n: DataLoader(ROWS, n), "DataLoader: batch_size"),
        (lambda n: Windows(ROWS, n), "Windows: length"),
        (lambda n: Windows(ROWS, 1, n), "Windows: streams"),
        (lambda n: JSONLinesLog("log", n), "JSONLinesLog: every"),
        (lambda n: Checkpoints("folder", n), "Checkpoints: keep"),
        (lambda n: Checkpoints("folder", 3, n), "Checkpoints: every"),
        (lambda n: EarlyStopping(patience=n), "EarlyStopping: patience"),
        (lambda n: data.sine(np.random.default_rng(0), n), "sine: points"),
        (lambda n: data.spiral(np.random.default_rng(0), n), "spiral: points"),
        (lambda n: data.spiral(np.random.default_rng(0), 2, n), "spiral: classes"),
    ],
)
def test_counts_are_whole_numbers_from_one_on(make, name):
    assert make(1) is not None
    assert make(np.int64(2)) is not None
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(errors.OptionError, match=rf"^{name}="):
            make(wrong)


@pytest.mark.parametrize("prefetch", [-1, 0.5, True, "1"])
def test_batches_ahead_are_a_whole_number_from_zero_on(prefetch):
    assert len(list(DataLoader(ROWS, 5, prefetch=0))) == 3
    with pytest.raises(errors.OptionError, match=r"^DataLoader: prefetch="):
        DataLoader(ROWS, 5, prefetch=prefetch)


@pytest.mark.parametrize("rows", [1, 4, 5, 6, 10, 11])
@pytest.mark.parametrize("drop_last", [False, True])
def test_the_last_batch_is_shorter_or_left_out(rows, drop_last):
    loader = DataLoader(np.arange(rows), 5, drop_last=drop_last)
    expected = [np.arange(k, min(k + 5, rows)) for k in range(0, rows, 5)]
    expected = [batch for batch in expected if len(batch) == 5 or not drop_last]
    found = list(loader)
    assert len(loader) == len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("rows", "length", "streams"), [(12, 3, 4), (12, 4, 2), (11, 2, 3), (2, 2, 1), (5, 1, 5)]
)
def test_windows_go_through_streams_side_by_side(rows, length, streams):
    windows = Windows(np.arange(rows), length, streams)
    stride = rows // streams
    assert len(windows) == stride // length
    for k, (window, carry) in enumerate(windows):
        expected = [[s * stride + k * length + i for s in range(streams)] for i in range(length)]
        np.testing.assert_array_equal(window, expected)
        assert carry == (0.0 if k == 0 else 1.0)
    with pytest.raises(
        errors.ShapeError, match=rf"^Windows: {rows} rows are less than one window of {rows + 1}"
    ):
        Windows(np.arange(rows), rows + 1)


# ---- metrics and steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["valid", "val", "steps", "epochs", "value", "stepval_"])
def test_metrics_may_have_names_that_only_resemble_those_of_logs(name):
    _, history = fit(lambda w, batch: (w, {name: 2.0}), 0, [None])
    assert history.last == {name: 2.0}
    for taken in ("step", "epoch", "val_", "val_loss"):
        with pytest.raises(errors.OptionError, match=rf"^fit: the step's metric '{taken}' has a name"):
            fit(lambda w, batch: (w, {taken: 2.0}), 0, [None])  # noqa: B023


@pytest.mark.parametrize("result", [3.0, (1, 2.0, 3), (1,), [1, 2.0], None])
def test_a_step_returns_a_pair(result):
    with pytest.raises(errors.DTypeError, match=r"^fit: the step returned .*It must return a pair"):
        fit(lambda w, batch: result, 0, [None])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0), (True, 1.0), (np.float32(1.5), 1.5), (np.array(2), 2.0), (np.bool(True), 1.0),
        (np.uint8(3), 3.0), (np.ones(1), None), (np.array(1j), None), ("1", None), (None, None), (1j, None),
        (np.array("a"), None),
    ],
)  # fmt: skip
def test_metrics_are_real_numbers_without_axes(value, expected):
    if expected is None:
        with pytest.raises(errors.DTypeError, match=r"^metrics: 'a' is .*Return a dict of real numbers"):
            train.evaluate(lambda w, batch: {"a": value}, 0, [ROWS])
        return
    assert train.evaluate(lambda w, batch: {"a": value}, 0, [ROWS]) == {"a": expected}
    assert train.evaluate(lambda w, batch: value, 0, [ROWS]) == {"loss": expected}


def test_means_weigh_batches_by_their_rows():
    batches = [np.ones(3), {"x": np.zeros((1, 2)), "y": np.ones(1)}, [np.float64(1.0)], None]
    sizes = [3, 1, 1, 1]
    values = iter([1.0, 2.0, 3.0, 4.0])
    found = train.evaluate(lambda w, batch: next(values), 0, batches)["loss"]
    assert found == pytest.approx(np.average([1.0, 2.0, 3.0, 4.0], weights=sizes))
    with pytest.raises(errors.OptionError, match="there are no batches"):
        train.evaluate(lambda w, batch: 0.0, 0, [])
    names = iter([{"a": 1.0}, {"b": 1.0}])
    with pytest.raises(errors.OptionError, match=r"a batch has metrics \['b'\], and those before \['a'\]"):
        train.evaluate(lambda w, batch: next(names), 0, [ROWS, ROWS])


def test_a_history_without_steps_is_empty_and_one_with_gaps_has_nan():
    history = History()
    assert history.last == {}
    assert history.steps == {}
    history.add_step({"a": 1.0})
    history.add_step({"b": 2.0})
    np.testing.assert_array_equal(history.steps["a"], [1.0, np.nan])
    np.testing.assert_array_equal(history.steps["b"], [np.nan, 2.0])
    history.add_epoch({"step": 2, "val_a": 5.0, "a": 7.0})
    assert history.last["val_a"] == 5.0
    assert np.isnan(history.last["a"])
    assert history.means(1)["b"] == 2.0
    other = History()
    other.load_state_dict({"steps": {}, "epochs": {"step": np.zeros(0)}, "stopped": None})
    assert other.last == {}
    with pytest.raises(errors.OptionError, match="there is no metric 'loss' of steps, only none"):
        other.plot()


def test_plots_have_validations_at_their_steps(monkeypatch):
    curve, drawn = importlib.import_module("tape.viz.curve"), []
    monkeypatch.setattr(curve, "curve", lambda curves, path, **options: drawn.append((curves, path, options)))
    _, history = fit(lambda w, batch: (w + 1, float(w)), 0, [None] * 3, epochs=2, validate=lambda w: 10.0 + w)
    history.plot("a.png", smooth=3)
    ((curves, path, options),) = drawn
    assert (path, options) == ("a.png", {"label": "loss", "smooth": 3})
    np.testing.assert_array_equal(curves["loss"], np.arange(6.0))
    assert curves["val_loss"] == {3: 13.0, 6: 16.0}


def test_early_stopping_begins_anew_with_each_training():
    stopping = EarlyStopping(patience=1)
    assert (stopping.best_epoch, stopping.best_state) == (-1, None)
    assert stopping.state_dict()["leaves"] == []
    for losses in ([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]):
        fit(
            lambda w, batch: (w + 1, 0.0),
            0,
            [None],
            epochs=3,
            validate=lambda w, losses=losses: losses[w - 1],
            callbacks=[stopping],
        )
        assert (stopping.best, stopping.best_epoch, stopping.best_state) == (losses[0], 0, 1)


@pytest.mark.parametrize(("mode", "sign"), [("min", 1), ("max", -1)])
def test_early_stopping_counts_gains_that_are_large_enough(mode, sign):
    """A gain of exactly the least one is none, and NaN is no best loss."""
    for losses, best in (([np.nan, 2.0, 2.5, 1.5], 1), ([2.0, 1.25, 1.0], 1), ([2.0, 1.75, 1.25, 0.5], 3)):
        stopping = EarlyStopping(patience=9, min_delta=0.5, mode=mode)
        fit(
            lambda w, batch: (w + 1, 0.0),
            0,
            [None],
            epochs=len(losses),
            validate=lambda w, losses=losses: sign * losses[w - 1],
            nonfinite="continue",
            callbacks=[stopping],
        )
        assert stopping.best_epoch == best
        assert stopping.best == sign * losses[best]


# ---- files -------------------------------------------------------------------------------------------------


def test_checkpoints_are_in_the_order_of_their_numbers(tmp_path):
    """Also of those that have more digits than names are padded to."""
    steps = [10**10, 9, 10**10 - 1, 100]
    kept = Checkpoints(str(tmp_path), keep=9)
    assert isinstance(kept.folder, Path)
    for step in steps:
        kept.save(step, {"w": np.ones(1) * step})
    assert [int(path.stem[5:]) for path in kept.files()] == sorted(steps)
    step, state = kept.restore({"w": np.zeros(1)})
    assert (step, state["w"]) == (10**10, 10**10)
    assert Checkpoints(tmp_path / "none").files() == []
    for wrong in (-1, 1.5, True, "3", None):
        with pytest.raises(errors.OptionError, match=r"^Checkpoints\.save: step="):
            kept.save(wrong, {})


def test_states_that_differ_are_described(tmp_path):
    kept = Checkpoints(tmp_path)
    kept.save(1, {"a": 1.0, "b": 2.0})
    for like, said in [
        ({"a": 1.0}, r"it also holds \['b'\]"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, r"it lacks \['c'\]"),
        (1.0, "it lacks one array; it also holds"),
    ]:
        with pytest.raises(errors.CheckpointError, match=said):
            kept.restore(like)
    kept.save(2, 1.0)
    with pytest.raises(errors.CheckpointError, match=r"it lacks .*; it also holds one array"):
        kept.restore({"a": 1.0})


def test_made_data_are_formulas_of_what_numpy_draws():
    rng = np.random.default_rng(5)
    x, y = data.sine(np.random.default_rng(5), 7, 0.25)
    expected = rng.uniform(size=(7, 1))
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_allclose(
        y, np.sin(2 * np.pi * expected) + 0.25 * rng.standard_normal((7, 1)), rtol=1e-14
    )
    assert data.sine(np.random.default_rng(5))[0].shape == (100, 1)


@pytest.mark.parametrize(("fraction", "rows"), [(0.5, 4), (0.25, 4), (0.1, 10), (0.9, 10), (0.5, 3)])
def test_parts_are_disjoint_and_of_the_wanted_sizes(fraction, rows):
    first, second = data.split(np.arange(rows), fraction, np.random.default_rng(0))
    assert abs(len(second) - fraction * rows) <= 0.5
    assert sorted([*first, *second]) == list(range(rows))
