"""The loop of a training: what it calls, what it returns, how it ends, and how it goes on."""

import csv
import json
import operator
import os
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import tape
from tape import errors, optim
from tape.train import (
    Checkpoints,
    CSVLog,
    DataLoader,
    EarlyStopping,
    History,
    JSONLinesLog,
    TensorBoardLog,
    Windows,
    evaluate,
    fit,
)
from tape.train._captured import forgotten
from tests.oracles import pytorch


def halve(w, batch):
    return w / 2, {"loss": w, "batch": float(batch)}


class Moments:
    """Notes each moment."""

    def __init__(self):
        self.seen = []

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda run: self.seen.append((name[3:], run.epoch, run.batch, run.step))


def test_the_moments_are_in_order():
    moments, function = Moments(), []
    fit(halve, 1.0, [0, 1], epochs=2, callbacks=[moments, lambda run: function.append(run.epoch_metrics)])
    assert moments.seen == [
        ("start", 0, 0, 0), ("step", 0, 1, 1), ("step", 0, 2, 2), ("epoch", 0, 2, 2),
        ("step", 1, 1, 3), ("step", 1, 2, 4), ("epoch", 1, 2, 4), ("end", 2, 0, 4),
    ]  # fmt: skip
    assert function == [
        {"step": 2.0, "loss": 0.75, "batch": 0.5},
        {"step": 4.0, "loss": 0.1875, "batch": 0.5},
    ]


def test_the_history_has_all_steps_and_epochs():
    w, history = fit(halve, 1.0, lambda epoch: iter(range(epoch + 1)), epochs=3, validate=lambda w: {"w": w})
    assert w == 0.5**6
    np.testing.assert_array_equal(history.steps["loss"], 0.5 ** np.arange(6))
    np.testing.assert_array_equal(history.epochs["step"], [1, 3, 6])
    np.testing.assert_array_equal(history.epochs["val_w"], [0.5, 0.125, 0.015625])
    assert history.last == {"loss": 0.5**5, "batch": 2.0, "val_w": 0.015625}
    assert history.stopped == ""
    assert repr(history).startswith("History(6 steps, 3 epochs, last loss=0.03125")
    again = History()
    again.load_state_dict(history.state_dict())
    assert repr(again) == repr(history)


@pytest.mark.parametrize(
    "number", [True, 3, np.True_, np.int8(3), np.uint8(3), np.float16(0.5), np.array(2), np.array(False)]
)
def test_metrics_are_real_numbers_of_any_kind(number):
    _, history = fit(lambda w, b: (w, {"m": number}), 1.0, [0])
    assert history.steps["m"].tolist() == [float(number)]
    assert evaluate(lambda w, b: {"m": number}, 1.0, [0]) == {"m": float(number)}


@pytest.mark.parametrize("value", ["3", None, 1j, np.complex64(1), np.ones(1), np.str_("3"), [3.0]])
def test_metrics_that_are_no_real_numbers_are_errors_that_name_them(value):
    with pytest.raises(errors.DTypeError, match=r"'m' is .* real numbers"):
        fit(lambda w, b: (w, {"m": value}), 1.0, [0])


def test_a_folder_is_no_checkpoints(tmp_path):
    for given in (tmp_path, str(tmp_path)):
        with pytest.raises(
            errors.OptionError, match=r"fit: checkpoints=.*Pass tape.train.Checkpoints\(folder\)"
        ):
            fit(halve, 1.0, [1], checkpoints=given)


def test_metrics_that_come_late_are_nan_before():
    _, history = fit(lambda k, b: (k + 1, {"a": k} | ({"b": 1} if k else {})), 0, range(3))
    np.testing.assert_array_equal(history.steps["b"], [np.nan, 1, 1])


def test_a_compiled_step_is_that_of_pytorch():
    torch = pytorch()
    draw = np.random.default_rng(0)
    data = {"x": draw.normal(size=(40, 3)), "y": draw.normal(size=40)}

    def loss(params, batch):
        return np.mean((np.tanh(batch["x"] @ params["w"]) @ params["v"] - batch["y"]) ** 2)

    @tape.compile
    def step(params, batch):
        value, gradient = tape.value_and_grad(loss)(params, batch)
        return tape.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    begin = {"w": draw.normal(size=(3, 4)), "v": draw.normal(size=4)}
    params, history = fit(step, begin, DataLoader(data, 16, shuffle=np.random.default_rng(1)), epochs=3)

    theirs = {name: torch.tensor(p, requires_grad=True) for name, p in begin.items()}
    optimizer = torch.optim.SGD(theirs.values(), lr=0.1)
    losses = []
    loader = DataLoader(data, 16, shuffle=np.random.default_rng(1))
    for _ in range(3):
        for batch in loader:
            x, y = torch.tensor(batch["x"]), torch.tensor(batch["y"])
            value = ((torch.tanh(x @ theirs["w"]) @ theirs["v"] - y) ** 2).mean()
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            losses.append(value.item())
    np.testing.assert_allclose(history.steps["loss"], losses, rtol=1e-12)
    np.testing.assert_allclose(params["w"], theirs["w"].detach().numpy(), rtol=1e-12)


# ---- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_nonfinite_metric_is_an_error_with_step_and_name(tmp_path, bad):
    def step(w, batch):
        return w + 1, {"loss": 0.5, "norm": bad if w == 3 else 1.0}

    checkpoints = Checkpoints(tmp_path, every=1)
    with pytest.raises(
        errors.NonFiniteError, match=rf"'norm' is {bad} in step 3 \(epoch 1, batch 1\); it was 1 "
    ):
        fit(step, 0, [0, 1], epochs=3, checkpoints=checkpoints)
    assert checkpoints.files()[-1].name == "step-0000000003.npz"  # and none with the step that failed
    w, history = fit(step, 0, [0, 1], epochs=3, nonfinite="continue")
    assert w == 6
    assert not np.isfinite(history.steps["norm"][3])
    with pytest.raises(errors.NonFiniteError, match=r"'val_loss' is nan after step 2"):
        fit(halve, 1.0, [0, 1], validate=lambda w: float("nan"))


@pytest.mark.parametrize(
    ("every", "steps"), [(None, [3, 6, 9]), (1, [*range(1, 10)]), (2, [2, 4, 6, 8, 9]), (100, [9])]
)
def test_checkpoints_are_written_after_every_epoch_or_so_many_steps_and_at_the_end(tmp_path, every, steps):
    checkpoints = Checkpoints(tmp_path, keep=100, every=every)
    fit(halve, 1.0, [0, 1, 2], epochs=3, checkpoints=checkpoints)
    assert [file.name for file in checkpoints.files()] == [f"step-{step:010}.npz" for step in steps]


def test_early_stopping_keeps_the_best_state():
    losses = iter([3.0, 1.0, 2.0, 0.99, 5.0])
    stopping = EarlyStopping(patience=2, min_delta=0.1)

    def step(state, batch):
        state["w"] += 1  # in place: the best state must be a copy
        return state, 0.0

    state, history = fit(
        step, {"w": np.zeros(1)}, [0], epochs=9, validate=lambda s: next(losses), callbacks=[stopping]
    )
    assert (state["w"].item(), stopping.best_state["w"].item(), stopping.best, stopping.best_epoch) == (
        4,
        2,
        1,
        1,
    )
    assert history.stopped == "val_loss was best in epoch 1: 1"
    scores = iter([0.1, float("nan"), 0.3, 0.2])
    stopping = EarlyStopping("val_accuracy", patience=1, mode="max")
    fit(halve, 1.0, [0], epochs=2, validate=lambda w: {"accuracy": next(scores)}, callbacks=[stopping],
        nonfinite="continue")  # fmt: skip
    assert stopping.best == 0.1
    with pytest.raises(errors.OptionError, match=r"no metric 'val_los'.*Did you mean val_loss"):
        fit(halve, 1.0, [0], validate=lambda w: 1.0, callbacks=[EarlyStopping("val_los")])


def interrupted_at(k):
    def step(w, batch):
        if w == k:
            os.kill(os.getpid(), signal.SIGINT)
        return w + 1, 0.0

    return step


@pytest.fixture
def as_in_a_terminal():
    """Ctrl-C raises KeyboardInterrupt, which processes that a shell has put in the background do not do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("as_in_a_terminal")
def test_ctrl_c_ends_after_the_step_and_loses_nothing(tmp_path, capsys):
    handler = signal.getsignal(signal.SIGINT)
    moments = Moments()
    w, history = fit(
        interrupted_at(5), 0, range(4), epochs=3, callbacks=[moments], checkpoints=Checkpoints(tmp_path)
    )
    assert (w, history.stopped, len(history.steps["loss"])) == (6, "interrupted", 6)
    assert moments.seen[-1] == ("end", 1, 2, 6)
    assert "ends after this step" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is handler
    w, history = fit(interrupted_at(-1), 0, range(4), epochs=3, checkpoints=Checkpoints(tmp_path))
    assert (w, history.stopped) == (12, "")


@pytest.mark.usefixtures("as_in_a_terminal")
def test_a_second_ctrl_c_ends_at_once(capsys):
    def step(w, batch):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return w, 0.0

    with pytest.raises(KeyboardInterrupt):
        fit(step, 0, range(4))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_other_handlers_are_left_alone():
    results = []
    thread = threading.Thread(target=lambda: results.append(fit(halve, 1.0, [0])[0]))
    thread.start()
    thread.join()
    assert results == [0.5]
    mine = []
    before = signal.signal(signal.SIGINT, lambda *_: mine.append(1))
    try:
        w, _ = fit(interrupted_at(1), 0, range(4))
    finally:
        signal.signal(signal.SIGINT, before)
    assert (w, mine) == (4, [1])


def test_an_error_in_a_step_says_where_and_ends_callbacks():
    moments = Moments()

    def step(w, batch):
        return w + 1, 1 / (1 - w)

    with pytest.raises(ZeroDivisionError) as caught:
        fit(step, 0, range(4), callbacks=[moments])
    assert caught.value.__notes__ == ["raised in step 1 (epoch 0, batch 1) of tape.train.fit"]
    assert moments.seen[-1][0] == "end"


# ---- goes on -------------------------------------------------------------------------------------


class Stop(Exception):
    """Ends a training as a kill would."""


def bomb(at):
    def on_step(run):
        if run.step == at:
            raise Stop

    return type("Bomb", (), {"on_step": staticmethod(on_step)})()


def noisy(rng, at, folder=None, every=2, **source):
    """A training by a shared generator and momentum in place; it ends at a step."""
    momentum = np.zeros(3)
    data = np.arange(21.0).reshape(7, 3)

    def step(w, batch):
        x = batch[0][:, 0] if isinstance(batch, tuple) else batch
        momentum[...] = 0.9 * momentum + np.sum(x, axis=0) * rng.normal(size=3)
        return w - 0.01 * momentum, {"loss": float(np.sum(w))}

    batches = {
        "loader": lambda: DataLoader(data, 2, shuffle=rng, prefetch=1),
        "windows": lambda: Windows(data, 2),
        "list": lambda: [data[:3], data[3:]],
        "function": lambda: lambda epoch: iter([data[epoch:], data[:epoch]]),
    }[source["source"]]()
    log = JSONLinesLog(folder / "log.jsonl")
    rows = CSVLog(folder / "log.csv")
    return fit(
        step, np.zeros(3), batches, epochs=4, validate=lambda w: np.sum(w**2),
        also={"m": momentum, "rng": rng},
        callbacks=[log, rows, EarlyStopping(patience=99), bomb(at)],
        checkpoints=Checkpoints(folder / "run", every=every),
    )  # fmt: skip


@pytest.mark.parametrize("every", [None, 1, 3])
@pytest.mark.parametrize("source", ["loader", "windows", "list", "function"])
def test_a_resumed_training_is_the_same_bit_by_bit(tmp_path, source, every):
    """Ended at several steps one after the other: state, history, logs, the generator."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    rng = np.random.default_rng(0)
    expected, history = noisy(rng, -1, tmp_path / "a", every, source=source)
    for at in (1, 3, 4, 7):
        with pytest.raises(Stop):
            noisy(np.random.default_rng(0), at, tmp_path / "b", every, source=source)
    again = np.random.default_rng(0)
    w, resumed = noisy(again, -1, tmp_path / "b", every, source=source)
    assert w.tobytes() == expected.tobytes()
    for ours, theirs in ((resumed.steps, history.steps), (resumed.epochs, history.epochs)):
        assert list(ours) == list(theirs)
        assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)
    assert rng.normal() == again.normal()
    for name in ("log.jsonl", "log.csv"):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_a_finished_training_returns_at_once_and_may_have_more_epochs(tmp_path):
    calls = []

    def step(w, batch):
        calls.append(w)
        return w + 1, 0.0

    for epochs, expected in ((2, 4), (2, 4), (3, 6)):
        w, history = fit(step, 0, [0, 1], epochs=epochs, checkpoints=Checkpoints(tmp_path))
        assert w == expected
        assert len(history.epochs["loss"]) == epochs
    assert len(calls) == 6


def test_a_training_that_stopped_early_stays_stopped(tmp_path):
    def train():
        stopping = EarlyStopping("loss", patience=1)
        return *fit(lambda w, b: (w + 1, w), 0, [0], epochs=9, callbacks=[stopping],
                    checkpoints=Checkpoints(tmp_path)), stopping  # fmt: skip

    w, history, _ = train()
    again, resumed, stopping = train()
    assert (again, resumed.stopped) == (w, history.stopped) == (2, "loss was best in epoch 0: 0")
    assert stopping.best_state == 1


def test_batches_that_became_fewer_are_an_error(tmp_path):
    with pytest.raises(Stop):
        fit(halve, 1.0, [0, 1, 2], callbacks=[bomb(3)], checkpoints=Checkpoints(tmp_path, every=2))
    with pytest.raises(errors.CheckpointError, match="epoch 0 has 1 batches, and 2 were used"):
        fit(halve, 1.0, [0], checkpoints=Checkpoints(tmp_path))


# ---- checks, logs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"epochs": 0}, errors.OptionError, "epochs=0"),
        ({"nonfinite": "ignore"}, errors.OptionError, "'raise' or 'continue'"),
        ({"batches": 3}, errors.OptionError, "batches is 3"),
        ({"batches": []}, errors.OptionError, "no batches in epoch 0"),
        ({"batches": iter([0]), "epochs": 2}, errors.OptionError, "no batches in epoch 1"),
        ({"callbacks": [3]}, errors.OptionError, "3 is no callback"),
        ({"callbacks": [EarlyStopping]}, errors.OptionError, "is no callback"),
        ({"callbacks": EarlyStopping()}, errors.OptionError, "must be a list"),
        ({"step": lambda w, b: w}, errors.DTypeError, "must return a pair"),
        ({"step": lambda w, b: (w, {"loss": np.ones(2)})}, errors.DTypeError, r"'loss' is float64\[2\]"),
        ({"step": lambda w, b: (w, "low")}, errors.DTypeError, "'loss' is 'low'"),
        ({"step": lambda w, b: (w, {"step": 1})}, errors.OptionError, "'step' has a name that"),
        ({"step": lambda w, b: (w, {"val_loss": 1})}, errors.OptionError, "'val_loss' has a name that"),
        ({"step": lambda w, b: (w, 1j)}, errors.DTypeError, "real numbers"),
        ({"step": lambda w, b: (w, tape.Trace().param(np.ones(())))}, errors.ConversionError, "'loss' is"),
    ],
)
def test_what_is_wrong_is_said(change, kind, said):
    options = {"step": halve, "batches": [0], "state": 1.0} | change
    with pytest.raises(kind, match=said):
        fit(options.pop("step"), options.pop("state"), options.pop("batches"), **options)


@pytest.mark.parametrize("options", [{"patience": 0}, {"min_delta": -1.0}, {"mode": "least"}])
def test_options_of_early_stopping_are_checked(options):
    with pytest.raises(errors.OptionError, match=next(iter(options))):
        EarlyStopping(**options)


def test_evaluate_weighs_batches_by_rows():
    x = np.random.default_rng(0).normal(size=10)
    found = evaluate(lambda w, b: np.mean((b - w) ** 2), 0.5, DataLoader(x, 4))
    np.testing.assert_allclose(found["loss"], np.mean((x - 0.5) ** 2))
    with pytest.raises(errors.OptionError, match="no batches"):
        evaluate(lambda w, b: 0.0, 0.5, [])
    with pytest.raises(errors.OptionError, match=r"\['b'\], and those before \['a'\]"):
        evaluate(lambda w, b: {b: 0.0}, 0.5, ["a", "b"])


def test_logs_hold_what_the_history_holds(tmp_path):
    _, history = fit(
        halve, 1.0, [0, 1], epochs=2, validate=lambda w: {"w": w, "x": np.nan}, nonfinite="continue",
        callbacks=[CSVLog(tmp_path / "a.csv"), JSONLinesLog(tmp_path / "a.jsonl", every=2)],
    )  # fmt: skip
    with open(tmp_path / "a.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["val_w"]) for row in rows] == history.epochs["val_w"].tolist()
    assert rows[0]["val_x"] == ""
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 2, 4, 4]
    assert lines[1] == {
        "step": 2,
        "epoch": 0,
        "epoch loss": 0.75,
        "epoch batch": 0.5,
        "val_w": 0.25,
        "val_x": "nan",
    }


def test_a_log_goes_on_where_a_training_was_killed(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = ['{"step": 1, "loss": 5.0}', '{"step": 2, "loss": 4.0}', '{"step": 3, "lo']
    path.write_text("\n".join(lines))
    run = SimpleNamespace(step=3, epoch=0)
    JSONLinesLog(path).on_start(run)
    assert path.read_text() == "".join(f"{line}\n" for line in lines[:2])
    run.step = 1
    JSONLinesLog(path).on_start(run)
    assert path.read_text() == f"{lines[0]}\n"
    run.step = 0
    JSONLinesLog(path).on_start(run)
    assert path.read_text() == ""


def test_steps_that_are_no_functions_are_taken_as_they_are():
    step = operator.methodcaller("__add__", 1)
    assert forgotten(step, []) == []
    assert forgotten(max, []) == []


def test_a_log_that_cannot_be_written_is_an_error(tmp_path):
    log = JSONLinesLog(tmp_path)
    with pytest.raises(errors.FileWriteError, match="Free some space, and run again"):
        log._append({"step": 1})


@pytest.mark.usefixtures("as_in_a_terminal")
def test_ctrl_c_after_the_last_step_of_an_epoch_ends_it(tmp_path):
    """While it is validated, when no more batch of the epoch comes."""
    seen = []

    def validate(w):
        seen.append(w)
        os.kill(os.getpid(), signal.SIGINT)
        return w

    w, history = fit(halve, 1.0, [0, 1], epochs=3, validate=validate, checkpoints=Checkpoints(tmp_path))
    assert (w, seen, history.stopped) == (0.25, [0.25], "interrupted")
    assert len(history.epochs["val_loss"]) == 1


def test_tensorboard_gets_events(tmp_path):
    pytest.importorskip("tensorboardX", reason="writes events")
    fit(halve, 1.0, [0, 1], callbacks=[TensorBoardLog(tmp_path)])
    (path,) = tmp_path.iterdir()
    assert b"step/loss" in path.read_bytes()
    assert b"epoch/loss" in path.read_bytes()


def events_in(path):
    """The events of a file, each between 12 bytes, of which the first 8 are its length, and 4."""
    from tensorboardX.proto.event_pb2 import Event

    data, start = path.read_bytes(), 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 8], "little")
        yield Event.FromString(data[start + 12 : start + 12 + size])
        start += size + 16


def test_tensorboard_gets_each_metric_at_its_step_and_hides_what_is_done_again(tmp_path):
    pytest.importorskip("tensorboardX", reason="writes events")
    found = []
    for epochs in (2, 3):
        folder = tmp_path / str(epochs)
        log = TensorBoardLog(folder, every=2)
        fit(halve, 1.0, [5, 6, 7], epochs=epochs, callbacks=[log], checkpoints=Checkpoints(tmp_path / "kept"))
        (path,) = folder.iterdir()
        events = list(events_in(path))
        found += [(v.tag, e.step, v.simple_value) for e in events for v in e.summary.value if "loss" in v.tag]
        hidden_from = [event.step for event in events if event.HasField("session_log")]
        assert hidden_from == ([] if epochs == 2 else [7])
    steps = [("step/loss", step, 0.5 ** (step - 1)) for step in (2, 4, 6, 8)]
    means = [("epoch/loss", step, 0.5**step * 14 / 3) for step in (3, 6, 9)]
    assert sorted(found) == [(tag, step, pytest.approx(value)) for tag, step, value in sorted(steps + means)]


def test_a_picture_and_a_bar(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="draws")
    pytest.importorskip("tqdm", reason="shows a bar")
    _, history = fit(halve, 1.0, [0, 1], epochs=2, validate=lambda w: w, progress=True)
    shown = capsys.readouterr().err
    assert "training" in shown
    assert "4/4" in shown
    assert "samples/s" in shown
    figure = history.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()
    assert [text.get_text().split(":")[0] for text in figure.legends[0].get_texts()] == ["loss", "val_loss"]
    with pytest.raises(errors.OptionError, match="Did you mean loss"):
        history.plot(metric="los")


def test_a_generator_that_no_checkpoint_holds_is_a_warning(tmp_path):
    rng = np.random.default_rng(0)

    @tape.compile
    def shift(w, by):
        return w + by

    def step(w, batch):
        return shift(w, rng.normal()), 0.0

    def train(folder, **options):
        return fit(step, 0.0, [0], checkpoints=Checkpoints(tmp_path / folder), **options)

    with pytest.warns(errors.CheckpointWarning, match=r"uses rng, .*Pass also=\(rng,\)"):
        train("a")
    train("b", also=rng)
    fit(step, 0.0, DataLoader(np.ones(2), 1, shuffle=rng), checkpoints=Checkpoints(tmp_path / "c"))


def test_a_checkpoint_of_accumulated_gradients_holds_the_optimizer(tmp_path):
    w = [np.zeros(2)]
    optimizer = optim.SGD(w, lr=0.1)
    sums = optim.Accumulated(optimizer, 2)

    def step(w, batch):
        sums.step([np.ones(2)])
        optimizer.lr *= 0.5
        return w, 0.0

    fit(step, w, [0], checkpoints=Checkpoints(tmp_path), also=sums)
