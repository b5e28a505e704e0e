"""Train a convolutional network to read handwritten digits: batch norm, dropout, shifted and turned images.

    python examples/digits_conv.py --epochs 60 --output digits_conv.png

A training step (the running statistics, the gradient, its clipping, AdamW and its schedule) is one compiled
program; `tape.train` goes through the batches. Needs ``pip install '.[examples]'``.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import picture
from digits import draw_mistakes, number
from matplotlib.figure import Figure
from scipy.ndimage import affine_transform

import tape
from tape import nn, optim, train

BATCH = 32


def make_model(rng: np.random.Generator) -> nn.Sequential:
    """A model of images ``(n, 1, 8, 8)`` that returns the score of each digit, ``(n, 10)``."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1, rng=rng),
        nn.BatchNorm(32),
        nn.relu,
        nn.Conv2d(32, 32, 3, padding=1, rng=rng),
        nn.BatchNorm(32),
        nn.relu,
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1, rng=rng),
        nn.BatchNorm(64),
        nn.relu,
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(256, 10, rng=rng),
    )


def augmented(batch: Any, rng: np.random.Generator) -> Any:
    """The batch with each image turned by up to 12 degrees, and moved by up to one pixel each way."""
    images, labels = batch
    moved = np.empty_like(images)
    for k, image in enumerate(images[:, 0]):
        angle, shift = rng.uniform(-0.2, 0.2), rng.uniform(-1, 1, 2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        moved[k, 0] = affine_transform(image, turn, 3.5 - turn @ [3.5, 3.5] + shift, order=1)
    return moved, labels


def loss_of(model: Any, statistics: Any, batch: Any, draws: Any) -> Any:
    """The mean cross-entropy of a batch, and the running statistics after it."""
    images, labels = batch
    scores, statistics = model(images, statistics, train=True, rng=draws)
    return nn.cross_entropy(scores, labels), statistics


def scores_of(model: Any, statistics: Any, images: Any) -> Any:
    """The scores of images, with the running statistics and without dropout."""
    return model(images, statistics)[0]


def fit(data: Sequence[Any], epochs: int, seed: int) -> tuple[Any, Any]:
    """Train, and return the function that gives the scores of images, and the history."""
    training, test = data
    rng = np.random.default_rng(seed)
    model = make_model(rng)
    steps = epochs * (len(training[1]) // BATCH)
    rule = optim.adamw(
        lr=optim.schedules.one_cycle(4e-3, total_steps=steps),
        weight_decay=0.05,
        weight_decay_mask=lambda name: name.endswith("weight"),
    )

    @tape.compile
    def update(model: Any, statistics: Any, moments: Any, batch: Any, draws: Any) -> Any:
        (loss, statistics), gradient = tape.value_and_grad(loss_of, has_aux=True)(
            model, statistics, batch, draws
        )
        gradient, norm = optim.clip_by_global_norm(gradient, 5.0)
        moments, model = rule.update(gradient, moments, model)
        return (model, statistics, moments), {"loss": loss, "norm": norm}

    predict = tape.compile(scores_of)
    draws = tape.random.default_rng(seed)

    def validate(state: Any) -> dict[str, float]:
        scores = predict(*state[:2], test[0])
        return {"loss": nn.cross_entropy(scores, test[1]), "accuracy": np.mean(scores.argmax(1) == test[1])}

    batches = train.DataLoader(training, BATCH, shuffle=rng, drop_last=True, transform=augmented)
    state = model, nn.init_state(model), rule.init(model)
    state, history = train.fit(
        lambda state, batch: update(*state, batch, draws),
        state,
        batches,
        epochs=epochs,
        validate=validate,
        progress=True,
    )
    return lambda images: predict(*state[:2], images), history


def draw(history: Any, images: np.ndarray, labels: np.ndarray, predicted: np.ndarray) -> Figure:
    """Loss and accuracy by epoch on the left, the misread test digits on the right."""
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    left, right = figure.subfigures(1, 2, wspace=0.06)
    loss, accuracy = left.subplots(2, 1, sharex=True)
    epochs = np.arange(1, len(history.epochs["loss"]) + 1)
    loss.plot(epochs, history.epochs["loss"], color="#4477aa", label="training, images moved")
    loss.plot(epochs, history.epochs["val_loss"], color="#cc6644", label="test")
    accuracy.plot(epochs, history.epochs["val_accuracy"], color="#cc6644")
    for axes, title in [(loss, "Loss"), (accuracy, "Accuracy")]:
        axes.set_title(title, loc="left", fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9")
    loss.set_yscale("log")
    loss.legend(frameon=False)
    accuracy.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    accuracy.set_xlabel("epoch")
    draw_mistakes(right, images, labels, predicted)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Train, say how well the held-out digits are read, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--epochs", type=number(int, 1), default=60, help="passes over the data (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)"
    )
    parser.add_argument(
        "--output", type=picture, default="digits_conv.png", help='the picture; "" for none (%(default)s)'
    )
    options = parser.parse_args(argv)

    images, labels = train.data.digits()
    images = images[:, None].astype(np.float32)
    data = train.data.split((images, labels), 0.2, np.random.default_rng(options.seed))
    scores_of_images, history = fit(data, options.epochs, options.seed)
    test_images, test_labels = data[1]
    predicted = scores_of_images(test_images).argmax(axis=1)
    print("test loss {val_loss:.4f}, test accuracy {val_accuracy:.2%}".format(**history.last))
    if options.output:
        draw(history, test_images, test_labels, predicted).savefig(options.output, dpi=150)
        print(f"picture saved as {options.output}")


if __name__ == "__main__":
    main()
