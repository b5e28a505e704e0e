"""Train a small neural network to read handwritten digits, and draw how that went.

    python examples/digits.py --epochs 30 --output digits.png

The model is plain NumPy code. Given Vars it records itself on a tape, and a backward sweep over the
tape returns the gradients; given arrays it just predicts. Needs ``pip install '.[examples]'``.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import picture
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import tape
from tape.optim import SGD

HIDDEN = 256


def make_params(rng: np.random.Generator) -> list[np.ndarray]:
    """Weights and biases of two layers; each keeps the size of what goes through it."""
    params = []
    for inputs, outputs in [(64, HIDDEN), (HIDDEN, 10)]:
        params.append(rng.normal(0, inputs**-0.5, (inputs, outputs)).astype(np.float32))
        params.append(np.zeros(outputs, np.float32))
    return params


def model(params: Sequence[Any], images: np.ndarray) -> Any:
    """The score of each digit for each image: ``(n, 64)`` to ``(n, 10)``."""
    w1, b1, w2, b2 = params
    return np.maximum(images @ w1 + b1, 0) @ w2 + b2


def loss_of(
    trace: tape.Trace, params: Sequence[np.ndarray], images: np.ndarray, labels: np.ndarray
) -> tuple[tape.Var, np.ndarray]:
    """Record the mean cross-entropy of a batch; the scores come along for the accuracy."""
    scores = model([trace.param(array) for array in params], images)
    return tape.ops.softmax_cross_entropy(scores, labels), scores.value


def accuracy_of(scores: np.ndarray, labels: np.ndarray) -> float:
    """The fraction of images whose highest score is that of the true digit."""
    return float(np.mean(scores.argmax(axis=1) == labels))


def train(data: Sequence[np.ndarray], options: argparse.Namespace) -> tuple[list[np.ndarray], np.ndarray]:
    """The trained parameters; and by epoch: training loss and accuracy, test loss and accuracy."""
    images, test_images, labels, test_labels = data
    rng = np.random.default_rng(options.seed)
    params = make_params(rng)
    optimizer = SGD(params, options.learning_rate, momentum=options.momentum)
    history = []
    for epoch in (progress := trange(options.epochs, unit="epoch")):
        optimizer.lr = options.learning_rate * (1 - epoch / options.epochs)
        order = rng.permutation(len(images))
        sums = np.zeros(2)
        for start in range(0, len(order), options.batch_size):
            batch = order[start : start + options.batch_size]
            trace = tape.Trace()
            loss, scores = loss_of(trace, params, images[batch], labels[batch])
            optimizer.step(trace.backward_param_grads(loss))
            sums += len(batch) * np.array([loss.value, accuracy_of(scores, labels[batch])])
        scores = model(params, test_images)  # plain arrays: nothing is recorded
        test = tape.ops.softmax_cross_entropy(scores, test_labels), accuracy_of(scores, test_labels)
        history.append([*sums / len(order), *test])
        progress.set_postfix_str("loss {:.4f}, accuracy {:.1%}".format(*history[-1]))
    return params, np.array(history)


def draw(history: np.ndarray, images: np.ndarray, labels: np.ndarray, predicted: np.ndarray) -> Figure:
    """Loss and accuracy by epoch on the left, the misread test digits on the right."""
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    left, right = figure.subfigures(1, 2, wspace=0.06)
    draw_history(left, history)
    draw_mistakes(right, images, labels, predicted)
    return figure


def draw_history(figure: Any, history: np.ndarray) -> None:
    """Two panels: loss and accuracy, each in training and in the test."""
    epochs = np.arange(1, len(history) + 1)
    loss, accuracy = figure.subplots(2, 1, sharex=True)
    for first, label, color in [(0, "training", "#4477aa"), (2, "test", "#cc6644")]:
        for axes, values in [(loss, history[:, first]), (accuracy, history[:, first + 1])]:
            axes.plot(epochs, values, color=color, label=label, marker="." if len(epochs) < 10 else None)
    for axes, title in [(loss, "Loss"), (accuracy, "Accuracy")]:
        axes.set_title(title, loc="left", fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9")
    loss.set_yscale("log")
    loss.legend(frameon=False)
    accuracy.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    accuracy.set_xlim(0.5, len(history) + 0.5)
    accuracy.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    accuracy.set_xlabel("epoch")


def draw_mistakes(
    figure: Any, images: np.ndarray, labels: np.ndarray, predicted: np.ndarray, limit: int = 30
) -> None:
    """The test images that were misread, each with its true digit and what was read instead."""
    wrong = np.flatnonzero(labels != predicted)
    shown = wrong[:limit]
    title = f"{len(wrong)} of {len(labels)} test digits misread"
    figure.suptitle(
        title + (f", here {limit}" if len(wrong) > limit else ""), fontweight="bold", fontsize="large"
    )
    columns = max(4, math.ceil(math.sqrt(len(shown))))
    rows = max(3, math.ceil(len(shown) / columns))
    for k, axes in enumerate(figure.subplots(rows, columns).flat):
        axes.set(xticks=[], yticks=[], visible=k < len(shown))
        axes.spines[:].set_color("0.8")
        if k < len(shown):
            axes.imshow(images[shown[k]].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axes.set_title(f"{labels[shown[k]]} read as {predicted[shown[k]]}", fontsize="small")


def number(kind: Callable[[str], Any], low: float, below: float = math.inf) -> Callable[[str], Any]:
    """An argparse type: an int or float with ``low <= value < below``."""

    def parse(text: str) -> Any:
        value = kind(text)
        if not low <= value < below:
            limit = f"below {below}" if below < math.inf else "finite"
            raise argparse.ArgumentTypeError(f"{text} is not at least {low} and {limit}")
        return value

    parse.__name__ = kind.__name__  # for argparse's own message: invalid int value
    return parse


def main(argv: Sequence[str] | None = None) -> None:
    """Train, say how well the held-out digits are read, and save the picture."""
    parser = argparse.ArgumentParser(description="Train a neural network to read handwritten digits.")
    add = parser.add_argument
    add("--epochs", type=number(int, 1), default=30, help="passes over the data (%(default)s)")
    add("--batch-size", type=number(int, 1), default=32, help="images in a step (%(default)s)")
    add(
        "--learning-rate",
        type=number(float, 0),
        default=0.2,
        help="of the first step; falls to 0 (%(default)s)",
    )
    add(
        "--momentum",
        type=number(float, 0, 1),
        default=0.9,
        help="what lasts of a step in the next (%(default)s)",
    )
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add("--output", type=picture, default="digits.png", help='the picture; "" for none (%(default)s)')
    options = parser.parse_args(argv)

    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    data = train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=options.seed)
    params, history = train(data, options)

    _, test_images, _, test_labels = data
    predicted = model(params, test_images).argmax(axis=1)
    print("test loss {2:.6f}, test accuracy {3:.2%}".format(*history[-1]))
    if not np.isfinite(history).all():
        parser.exit(1, f"training diverged: try a --learning-rate below {options.learning_rate:g}\n")
    if options.output:
        draw(history, test_images, test_labels, predicted).savefig(options.output, dpi=150)
        print(f"picture saved as {options.output}")


if __name__ == "__main__":
    main()
