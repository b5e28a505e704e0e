"""Train a network of residual blocks to read handwritten digits.

    python examples/digits_residual.py --epochs 40 --output digits_residual.png

A block adds to its argument what two convolutions make of it: a class of this file, which `tape.nn` takes as
it takes its own layers, running statistics included. Needs ``pip install '.[examples]'``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import picture
from digits import number
from digits_conv import BATCH, augmented, draw

import tape
from tape import nn, optim, train


@dataclass
class Residual:
    """``relu(x + convolutions(x))``; where shapes differ, a convolution of one pixel takes x across.

    He et al., "Deep residual learning for image recognition" (2015), figure 2.
    """

    body: nn.Sequential
    across: nn.Sequential | None

    def init_state(self) -> Any:
        """The running statistics before the first batch."""
        return {"body": nn.init_state(self.body), "across": nn.init_state(self.across)}

    def __call__(self, x: Any, state: Any, *, train: bool = False) -> tuple[Any, Any]:
        y, body = self.body(x, state["body"], train=train)
        across = state["across"]
        if self.across is not None:
            x, across = self.across(x, across, train=train)
        return nn.relu(x + y), {"body": body, "across": across}


def make_block(inputs: int, outputs: int, stride: int, rng: np.random.Generator) -> Residual:
    """A block; with a stride of 2 its result has half of the height and width."""
    body = nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False, rng=rng),
        nn.BatchNorm(outputs),
        nn.relu,
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False, rng=rng),
        nn.BatchNorm(outputs),
    )
    if inputs == outputs and stride == 1:
        return Residual(body, None)
    across = nn.Conv2d(inputs, outputs, 1, stride, bias=False, rng=rng)
    return Residual(body, nn.Sequential(across, nn.BatchNorm(outputs)))


def make_model(width: int, rng: np.random.Generator) -> nn.Sequential:
    """A model of images ``(n, 1, 8, 8)`` that returns the score of each digit, ``(n, 10)``."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1, bias=False, rng=rng),
        nn.BatchNorm(width),
        nn.relu,
        make_block(width, width, 1, rng),
        make_block(width, 2 * width, 2, rng),
        make_block(2 * width, 4 * width, 2, rng),
        nn.Lambda(lambda x: np.mean(x, axis=(2, 3))),
        nn.Linear(4 * width, 10, rng=rng),
    )


def loss_of(model: Any, statistics: Any, batch: Any) -> Any:
    """The mean cross-entropy of a batch, and the running statistics after it."""
    images, labels = batch
    scores, statistics = model(images, statistics, train=True)
    return nn.cross_entropy(scores, labels), statistics


def fit(data: Sequence[Any], width: int, epochs: int, seed: int) -> tuple[Any, Any]:
    """Train, and return the function that gives the scores of images, and the history."""
    training, test = data
    rng = np.random.default_rng(seed)
    model = make_model(width, rng)
    steps = epochs * (len(training[1]) // BATCH)
    rule = optim.sgd(
        lr=optim.schedules.one_cycle(0.1, total_steps=steps),
        momentum=0.9,
        nesterov=True,
        weight_decay=5e-4,
    )

    @tape.compile
    def update(model: Any, statistics: Any, moments: Any, batch: Any) -> Any:
        (loss, statistics), gradient = tape.value_and_grad(loss_of, has_aux=True)(model, statistics, batch)
        gradient, norm = optim.clip_by_global_norm(gradient, 5.0)
        moments, model = rule.update(gradient, moments, model)
        return (model, statistics, moments), {"loss": loss, "norm": norm}

    predict = tape.compile(lambda model, statistics, images: model(images, statistics)[0])

    def validate(state: Any) -> dict[str, float]:
        scores = predict(*state[:2], test[0])
        return {"loss": nn.cross_entropy(scores, test[1]), "accuracy": np.mean(scores.argmax(1) == test[1])}

    state, history = train.fit(
        lambda state, batch: update(*state, batch),
        (model, nn.init_state(model), rule.init(model)),
        train.DataLoader(training, BATCH, shuffle=rng, drop_last=True, transform=augmented),
        epochs=epochs,
        validate=validate,
        progress=True,
    )
    return lambda images: predict(*state[:2], images), history


def main(argv: Sequence[str] | None = None) -> None:
    """Train, say how well the held-out digits are read, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--epochs", type=number(int, 1), default=40, help="passes over the data (%(default)s)")
    add("--width", type=number(int, 1), default=16, help="channels of the first block (%(default)s)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add(
        "--output", type=picture, default="digits_residual.png", help='the picture; "" for none (%(default)s)'
    )
    options = parser.parse_args(argv)

    images, labels = train.data.digits()
    images = images[:, None].astype(np.float32)
    data = train.data.split((images, labels), 0.2, np.random.default_rng(options.seed))
    scores_of, history = fit(data, options.width, options.epochs, options.seed)
    test_images, test_labels = data[1]
    print("test loss {val_loss:.4f}, test accuracy {val_accuracy:.2%}".format(**history.last))
    if options.output:
        predicted = scores_of(test_images).argmax(axis=1)
        draw(history, test_images, test_labels, predicted).savefig(options.output, dpi=150)
        print(f"picture saved as {options.output}")


if __name__ == "__main__":
    main()
