"""Train a variational autoencoder on handwritten digits, and draw digits that nobody wrote.

    python examples/digits_vae.py --epochs 60 --output digits_vae.png

The encoder returns a normal distribution of the code of an image, the decoder the chance of ink in each
pixel. Trained is the evidence lower bound (ELBO), by gradients through the sample. Needs
``pip install '.[examples]'``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import BLUE, RED, figure_of, picture, save
from digits import number

import tape
from tape import nn, optim, train

BATCH = 64


@dataclass
class Autoencoder:
    """Two networks: from pixels to mean and logarithm of the deviation of a code, and back to logits."""

    encoder: nn.MLP
    decoder: nn.MLP

    def encoded(self, images: Any) -> tuple[Any, Any]:
        """Mean and logarithm of the standard deviation of the codes of images."""
        mean, log_std = np.split(self.encoder(images), 2, axis=-1)
        return mean, log_std

    def decoded(self, codes: Any) -> Any:
        """The chance of ink in each pixel."""
        return tape.ops.sigmoid(self.decoder(codes))


def make_model(codes: int, rng: np.random.Generator) -> Autoencoder:
    """A model of images with 64 pixels."""
    return Autoencoder(
        nn.MLP([64, 256, 128, 2 * codes], nn.gelu, rng=rng), nn.MLP([codes, 128, 256, 64], nn.gelu, rng=rng)
    )


def elbo_of(model: Autoencoder, images: Any, draws: Any) -> Any:
    """The evidence lower bound of each image, in nats, with one sample of each code.

    Kingma and Welling, "Auto-encoding variational Bayes" (2014), appendix B.
    """
    mean, log_std = model.encoded(images)
    noise = draws.standard_normal(mean.shape, dtype=np.float32)
    logits = model.decoder(mean + np.exp(log_std) * noise)
    fit = -np.sum(nn.binary_cross_entropy_with_logits(logits, images, reduction="none"), axis=1)
    divergence = 0.5 * np.sum(mean**2 + np.exp(2 * log_std) - 1 - 2 * log_std, axis=1)
    return fit - divergence


def loss_of(model: Autoencoder, images: Any, draws: Any) -> Any:
    """The mean of minus the ELBO."""
    return -np.mean(elbo_of(model, images, draws))


def fit(data: Sequence[np.ndarray], codes: int, epochs: int, seed: int) -> tuple[Autoencoder, Any]:
    """Train, and return the model and the history."""
    training, test = data
    rng, draws = np.random.default_rng(seed), tape.random.default_rng(seed)
    model = make_model(codes, rng)
    steps = epochs * (len(training) // BATCH)
    rule = optim.adam(lr=optim.schedules.warmup_cosine(3e-3, steps // 20, steps))

    def update(model: Any, moments: Any, images: Any, draws: Any) -> Any:
        loss, gradient = tape.value_and_grad(loss_of)(model, images, draws)
        moments, model = rule.update(gradient, moments, model)
        return (model, moments), {"loss": loss}

    update = tape.compile(update, donate=(0, 1))
    evaluate = tape.compile(loss_of)
    batches = train.DataLoader(training, BATCH, shuffle=rng, drop_last=True)
    (model, _), history = train.fit(
        lambda state, images: update(*state, images, draws),
        (model, rule.init(model)),
        batches,
        epochs=epochs,
        validate=lambda state: {"loss": evaluate(state[0], test, tape.random.default_rng(0))},
        progress=True,
    )
    return model, history


def tiled(images: np.ndarray, columns: int) -> np.ndarray:
    """Images side by side, with lines between."""
    framed = np.pad(images.reshape(-1, columns, 8, 8), ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=0.3)
    return framed.transpose(0, 2, 1, 3).reshape(-1, columns * 9)[:-1, :-1]


def draw(model: Autoencoder, history: Any, test: np.ndarray, codes: int, seed: int) -> Any:
    """The loss; test images above what is left of them; and images of codes that were drawn."""
    figure, panels = figure_of("Minus the ELBO", "Written, and rebuilt", "Drawn from nothing", size=(13, 4.5))
    loss, rebuilt, drawn = panels
    epochs = np.arange(1, len(history.epochs["loss"]) + 1)
    loss.plot(epochs, history.epochs["loss"], color=BLUE, label="training")
    loss.plot(epochs, history.epochs["val_loss"], color=RED, label="test")
    loss.set(xlabel="epoch", ylabel="nats an image")
    loss.legend(frameon=False)
    shown = test[:40]
    again = model.decoded(model.encoded(shown)[0])
    rows = np.stack([shown.reshape(4, 10, 64), again.reshape(4, 10, 64)], axis=1).reshape(80, 64)
    rebuilt.imshow(tiled(rows, 10), cmap="gray_r", vmin=0, vmax=1)
    noise = np.random.default_rng(seed).standard_normal((80, codes)).astype(np.float32)
    drawn.imshow(tiled(model.decoded(noise), 10), cmap="gray_r", vmin=0, vmax=1)
    for axes in (rebuilt, drawn):
        axes.set(xticks=[], yticks=[])
        axes.grid(visible=False)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Train, print the ELBO of held-out images, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--epochs", type=number(int, 1), default=60, help="passes over the data (%(default)s)")
    add("--codes", type=number(int, 1), default=8, help="numbers in a code (%(default)s)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add("--output", type=picture, default="digits_vae.png", help='the picture; "" for none (%(default)s)')
    options = parser.parse_args(argv)

    images = train.data.digits()[0].reshape(-1, 64).astype(np.float32)
    data = train.data.split(images, 0.2, np.random.default_rng(options.seed))
    model, history = fit(data, options.codes, options.epochs, options.seed)
    print("test ELBO {:.2f} nats an image".format(-history.last["val_loss"]))
    if options.output:
        save(draw(model, history, data[1], options.codes, options.seed), options.output)


if __name__ == "__main__":
    main()
