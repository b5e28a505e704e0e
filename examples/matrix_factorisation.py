"""Fill in the missing pixels of handwritten digits, by a matrix of small rank.

    python examples/matrix_factorisation.py --rank 20 --output matrix_factorisation.png

The table has an image in each row, and 40 % of its entries are hidden. Each image and each pixel gets a few
numbers, whose products are the entries: as recommenders do it with users, films and stars. Needs
``pip install '.[examples]'``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, picture, save
from digits import number
from digits_vae import tiled

import tape
from tape import nn, optim, train

HIDDEN, BATCH = 0.4, 1024


@dataclass
class Factors:
    """Numbers for each row and each column, and what to add for each."""

    rows: nn.Embedding
    columns: nn.Embedding
    row_offsets: nn.Embedding
    column_offsets: nn.Embedding

    def __call__(self, row: Any, column: Any) -> Any:
        """The entries at some places."""
        products = np.sum(self.rows(row) * self.columns(column), axis=-1)
        return products + self.row_offsets(row)[..., 0] + self.column_offsets(column)[..., 0]


def make_model(shape: tuple[int, int], rank: int, rng: np.random.Generator) -> Factors:
    """A model of a table of this shape; all its entries are near zero at first."""
    parts = [nn.Embedding(count, width, rng=rng) for width in (rank, 1) for count in shape]
    return tape.tree.map(lambda array: array * np.float32(0.1), Factors(*parts))


def error_of(model: Any, entries: Any) -> Any:
    """The mean squared error of entries."""
    row, column, value = entries
    return nn.mse_loss(model(row, column), value)


def loss_of(model: Any, entries: Any, penalty: float) -> Any:
    """The error, and a penalty on the numbers that the entries are computed from.

    Koren, Bell and Volinsky, "Matrix factorization techniques for recommender systems" (2009), equation 5.
    """
    row, column, _ = entries
    sizes = np.sum(model.rows(row) ** 2, axis=-1) + np.sum(model.columns(column) ** 2, axis=-1)
    return error_of(model, entries) + penalty * np.mean(sizes)


def hide(table: np.ndarray, rng: np.random.Generator) -> tuple[Any, Any]:
    """The entries that are known, and those that are hidden: rows, columns and values."""
    is_hidden = rng.random(table.shape) < HIDDEN
    return tuple((*np.nonzero(chosen), table[chosen]) for chosen in (~is_hidden, is_hidden))  # type: ignore[return-value]


def fit(known: Any, hidden: Any, shape: tuple[int, int], options: argparse.Namespace) -> tuple[Any, Any]:
    """Train, and return the model and the history."""
    rng = np.random.default_rng(options.seed)
    model = make_model(shape, options.rank, rng)
    batches = train.DataLoader(known, BATCH, shuffle=rng, drop_last=True)
    steps = options.epochs * len(batches)
    rule = optim.adam(lr=optim.schedules.cosine(3e-2, steps))

    @tape.compile(donate=(0, 1))
    def update(model: Any, moments: Any, entries: Any) -> Any:
        loss, gradient = tape.value_and_grad(loss_of)(model, entries, options.penalty)
        moments, model = rule.update(gradient, moments, model)
        return (model, moments), {"loss": loss}

    (model, _), history = train.fit(
        lambda state, entries: update(*state, entries),
        (model, rule.init(model)),
        batches,
        epochs=options.epochs,
        validate=lambda state: {"error": error_of(state[0], known), "hidden": error_of(state[0], hidden)},
        progress=True,
    )
    return model, history


def baseline_of(known: Any, hidden: Any, count: int) -> float:
    """The mean squared error of each pixel's mean, for the hidden entries."""
    totals = np.bincount(known[1], known[2], count)
    means = totals / np.maximum(np.bincount(known[1], minlength=count), 1)
    return float(np.mean((means[hidden[1]] - hidden[2]) ** 2))


def draw(model: Any, history: Any, table: np.ndarray, hidden: Any, baseline: float) -> Any:
    """The error by epoch; images without the hidden pixels, above what is filled in."""
    figure, (error, images) = figure_of("Error", "Known pixels, and filled in", size=(11, 4.5))
    epochs = np.arange(1, len(history.epochs["loss"]) + 1)
    error.plot(epochs, np.sqrt(history.epochs["val_error"]), color=BLUE, label="known pixels")
    error.plot(epochs, np.sqrt(history.epochs["val_hidden"]), color=RED, label="hidden pixels")
    error.axhline(baseline**0.5, color=GREY, linestyle="--", label="hidden pixels, by their mean")
    error.set(xlabel="epoch", ylabel="root of the mean square")
    error.legend(frameon=False)
    shown = np.array(table[:40])
    filled = shown.copy()
    here = hidden[0] < len(shown)
    row, column = hidden[0][here], hidden[1][here]
    shown[row, column] = 0.4
    filled[row, column] = model(row, column)
    rows = np.stack([shown.reshape(4, 10, 64), filled.reshape(4, 10, 64)], axis=1).reshape(80, 64)
    images.imshow(tiled(rows, 10), cmap="gray_r", vmin=0, vmax=1)
    images.set(xticks=[], yticks=[])
    images.grid(visible=False)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Train, print the error of the hidden pixels, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--epochs", type=number(int, 1), default=30, help="passes over the known entries (%(default)s)")
    add("--rank", type=number(int, 1), default=20, help="numbers for each image and pixel (%(default)s)")
    add("--penalty", type=number(float, 0), default=0.015, help="on the size of the numbers (%(default)s)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add(
        "--output",
        type=picture,
        default="matrix_factorisation.png",
        help='the picture; "" for none (%(default)s)',
    )
    options = parser.parse_args(argv)

    table = train.data.digits()[0].reshape(-1, 64).astype(np.float32)
    known, hidden = hide(table, np.random.default_rng(options.seed))
    model, history = fit(known, hidden, table.shape, options)
    baseline = baseline_of(known, hidden, table.shape[1])
    found = history.last["val_hidden"]
    print(f"error of hidden pixels {found**0.5:.4f}, of their mean {baseline**0.5:.4f}")
    if options.output:
        save(draw(model, history, table, hidden, baseline), options.output)


if __name__ == "__main__":
    main()
