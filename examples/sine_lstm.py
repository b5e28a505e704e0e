"""Train a recurrent network to go on along a noisy sine, and let it follow a cosine that it never saw.

    python examples/sine_lstm.py --epochs 200 --output sine_lstm.png

The curve of Saito, "Deep learning from scratch 3" (DeZero), steps 59 and 60. It is cut in pieces: the state
of the network goes on from one to the next, and derivatives stay inside of each. Needs
``pip install '.[examples]'``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, picture, save
from digits import number

import tape
from tape import nn, optim, train

POINTS, STREAMS, LENGTH = 1000, 10, 33


@dataclass
class Follower:
    """A network that returns the next number after each number of sequences ``(length, n, 1)``."""

    lstm: nn.LSTM
    linear: nn.Linear

    def __call__(self, x: Any, carry: Any = None) -> tuple[Any, Any]:
        hidden, carry = self.lstm(x, carry)
        return self.linear(hidden), carry


def make_model(hidden: int, rng: np.random.Generator) -> Follower:
    """A model with so many hidden numbers."""
    return Follower(nn.LSTM(1, hidden, rng=rng), nn.Linear(hidden, 1, rng=rng))


def curve(rng: np.random.Generator) -> np.ndarray:
    """One period of a sine, each number off by up to 0.05."""
    x = np.sin(np.linspace(0, 2 * np.pi, POINTS)) + rng.uniform(-0.05, 0.05, POINTS)
    return x.astype(np.float32)[:, None]


def cosine() -> np.ndarray:
    """Two periods of a cosine."""
    return np.cos(np.linspace(0, 4 * np.pi, POINTS, dtype=np.float32))[:, None, None]


def loss_of(model: Any, carry: Any, window: Any) -> tuple[Any, Any]:
    """The mean squared error of the next numbers in a window, and the state after it."""
    predicted, carry = model(window["x"], tape.stop_gradient(carry))
    return nn.mse_loss(predicted, window["next"]), carry


def fit(series: np.ndarray, hidden: int, epochs: int, seed: int) -> tuple[Follower, Any]:
    """Train, and return the model and the history."""
    rng = np.random.default_rng(seed)
    model = make_model(hidden, rng)
    windows = train.Windows({"x": series[:-1], "next": series[1:]}, LENGTH, STREAMS)
    rule = optim.adam(lr=optim.schedules.cosine(1e-2, epochs * len(windows)))

    @tape.compile
    def update(model: Any, moments: Any, carry: Any, window: Any) -> Any:
        (loss, carry), gradient = tape.value_and_grad(loss_of, has_aux=True)(model, carry, window)
        gradient, _ = optim.clip_by_global_norm(gradient, 1.0)
        moments, model = rule.update(gradient, moments, model)
        return (model, moments, carry), {"loss": loss}

    def step(state: Any, batch: Any) -> Any:
        window, keep = batch  # 0.0 where the streams begin again
        carry = tape.tree.map(lambda array: np.float32(keep) * array, state[2])
        return update(*state[:2], carry, window)

    evaluate = tape.compile(error_of)
    zeros = np.zeros((1, STREAMS, hidden), np.float32)
    (model, *_), history = train.fit(
        step,
        (model, rule.init(model), (zeros, zeros)),
        windows,
        epochs=epochs,
        validate=lambda state: {"loss": evaluate(state[0], cosine())},
        progress=True,
    )
    return model, history


def error_of(model: Any, series: Any) -> Any:
    """The mean squared error along a series, from the first number to the last."""
    return nn.mse_loss(model(series[:-1])[0], series[1:])


def draw(model: Follower, history: Any, series: np.ndarray) -> Any:
    """The loss; the sine that is learned; and the cosine, with what the network says of each next number."""
    figure, panels = figure_of("Mean squared error", "Learned", "Followed", size=(13, 4))
    loss, learned, followed = panels
    epochs = np.arange(1, len(history.epochs["loss"]) + 1)
    loss.semilogy(epochs, history.epochs["loss"], color=BLUE, label="of the noisy sine, in training")
    loss.semilogy(epochs, history.epochs["val_loss"], color=RED, label="of the cosine")
    loss.set_xlabel("epoch")
    loss.legend(frameon=False)
    learned.plot(series, color=BLUE, linewidth=0.8)
    test = cosine()
    followed.plot(test[1:, 0, 0], color=GREY, linewidth=3, alpha=0.5, label="cosine")
    followed.plot(model(test[:-1])[0][:, 0, 0], color=RED, label="predicted from the numbers before")
    followed.legend(frameon=False)
    for axes in (learned, followed):
        axes.set_ylim(-1.4, 1.4)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Train, print the error along the cosine, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--epochs", type=number(int, 1), default=200, help="passes over the sine (%(default)s)")
    add("--hidden", type=number(int, 1), default=100, help="numbers in the state (%(default)s)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add("--output", type=picture, default="sine_lstm.png", help='the picture; "" for none (%(default)s)')
    options = parser.parse_args(argv)

    series = curve(np.random.default_rng(options.seed))
    model, history = fit(series, options.hidden, options.epochs, options.seed)
    print("error of the sine {loss:.5f}, of the cosine {val_loss:.5f}".format(**history.last))
    if options.output:
        save(draw(model, history, series), options.output)


if __name__ == "__main__":
    main()
