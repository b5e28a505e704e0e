"""Train a small network to tell the three arms of a spiral apart, and draw where it draws the lines.

    python examples/spiral.py --epochs 300 --output spiral.png

The data and the network of Saito, "Deep learning from scratch 3" (DeZero), steps 48 and 49: ten hidden
numbers, batches of 30, descent with a rate of 1. Needs ``pip install '.[examples]'``.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREEN, RED, figure_of, picture, save
from digits import number

import tape
from tape import nn, optim, train

BATCH, RATE = 30, 1.0
COLORS = (BLUE, RED, GREEN)


def make_model(hidden: int, rng: np.random.Generator) -> nn.MLP:
    """A model of points ``(n, 2)`` that returns the score of each arm, ``(n, 3)``."""
    return nn.MLP([2, hidden, 3], nn.sigmoid, rng=rng, dtype=np.float64)


def loss_of(model: Any, batch: Any) -> Any:
    """The mean cross-entropy of a batch."""
    points, labels = batch
    return nn.cross_entropy(model(points), labels)


def accuracy_of(model: Any, data: Any) -> Any:
    """The fraction of points whose highest score is that of their arm."""
    points, labels = data
    return np.mean(np.argmax(model(points), axis=1) == labels)


def fit(data: Any, test: Any, hidden: int, epochs: int, seed: int) -> tuple[Any, Any]:
    """Train, and return the model and the history."""
    rng = np.random.default_rng(seed)
    model = make_model(hidden, rng)
    rule = optim.sgd(lr=RATE)

    @tape.compile
    def update(model: Any, moments: Any, batch: Any) -> Any:
        loss, gradient = tape.value_and_grad(loss_of)(model, batch)
        moments, model = rule.update(gradient, moments, model)
        return (model, moments), {"loss": loss}

    (model, _), history = train.fit(
        lambda state, batch: update(*state, batch),
        (model, rule.init(model)),
        train.DataLoader(data, BATCH, shuffle=rng),
        epochs=epochs,
        validate=lambda state: {"loss": loss_of(state[0], test), "accuracy": accuracy_of(state[0], test)},
        progress=True,
    )
    return model, history


def draw(model: Any, history: Any, data: Any, test: Any) -> Any:
    """The loss by epoch, and the regions of the three arms, with the points that were learned."""
    figure, (loss, plane) = figure_of("Loss", "Regions", size=(10, 4.5))
    epochs = np.arange(1, len(history.epochs["loss"]) + 1)
    loss.plot(epochs, history.epochs["loss"], color=BLUE, label="training")
    loss.plot(epochs, history.epochs["val_loss"], color=RED, label="test")
    loss.set_xlabel("epoch")
    loss.legend(frameon=False)
    line = np.linspace(-1.1, 1.1, 300)
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    regions = np.argmax(model(grid.reshape(-1, 2)), axis=1).reshape(300, 300)
    plane.contourf(line, line, regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=COLORS, alpha=0.25)
    for points, labels, marker in ((*data, "o"), (*test, "x")):
        for arm, color in enumerate(COLORS):
            plane.scatter(*points[labels == arm].T, s=12, color=color, marker=marker, linewidth=0.8)
    plane.set_aspect("equal")
    plane.grid(visible=False)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Train, say how many test points are told apart, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--epochs", type=number(int, 1), default=300, help="passes over the points (%(default)s)")
    add("--hidden", type=number(int, 1), default=10, help="hidden numbers (%(default)s)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add("--output", type=picture, default="spiral.png", help='the picture; "" for none (%(default)s)')
    options = parser.parse_args(argv)

    rng = np.random.default_rng(options.seed)
    data, test = train.data.spiral(rng), train.data.spiral(rng)
    model, history = fit(data, test, options.hidden, options.epochs, options.seed)
    print("test loss {val_loss:.4f}, test accuracy {val_accuracy:.2%}".format(**history.last))
    if options.output:
        save(draw(model, history, data, test), options.output)


if __name__ == "__main__":
    main()
