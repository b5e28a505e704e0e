"""Train a transformer or an LSTM to write text, character by character, and let it write.

    python examples/characters.py --model transformer --steps 2000 --output characters.png

The text is at hand: the topics of Python's own ``help()``. A training step is one compiled program, and so is
a step of writing, which keeps what the model remembers: keys and values, or a carry. Needs
``pip install '.[examples]'``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _common import picture
from digits import number

import tape
from tape import nn, optim, train


@dataclass
class Writer:
    """A transformer that returns the scores of the next character."""

    embedding: nn.Embedding
    positions: np.ndarray
    blocks: list[nn.TransformerBlock]
    norm: nn.LayerNorm

    def __call__(self, codes: Any, rng: Any = None) -> Any:
        """The scores after each character: ``(n, length)`` to ``(n, length, characters)``."""
        x = self.embedding(codes) + self.positions[: codes.shape[-1]]
        for block in self.blocks:
            x = block(x, is_causal=True, rng=rng)
        return self.norm(x) @ self.embedding.weight.T  # shared by use

    def begin(self) -> tuple[Any, int]:
        """What is kept at the start of a text, and after how many characters that is full."""
        room = len(self.positions)
        return [block.self_attn.init_cache(room) for block in self.blocks], room

    def following(self, code: Any, position: Any, caches: Any) -> tuple[Any, Any]:
        """The scores after one more character, and what is kept for the next."""
        x = self.embedding(code)[None] + self.positions[position][None]
        kept = []
        for block, cache in zip(self.blocks, caches, strict=True):
            x, cache = block(x, cache=cache)
            kept.append(cache)
        return (self.norm(x) @ self.embedding.weight.T)[0], kept


@dataclass
class Recurrent:
    """The same by an LSTM, which takes texts of any length."""

    embedding: nn.Embedding
    layers: nn.LSTM
    head: nn.Linear

    def __call__(self, codes: Any, rng: Any = None) -> Any:
        """The scores after each character: ``(n, length)`` to ``(n, length, characters)``."""
        outputs, _ = self.layers(self.embedding(codes), rng=rng)
        return self.head(outputs)

    def begin(self) -> tuple[Any, None]:
        """The carry at the start of a text; it is never full."""
        zeros = np.zeros((self.layers.num_layers, 1, self.layers.hidden_size), np.float32)
        return (zeros, zeros), None

    def following(self, code: Any, position: Any, carry: Any) -> tuple[Any, Any]:
        """The scores after one more character, and the carry for the next."""
        outputs, carry = self.layers(self.embedding(code)[None, None], carry)
        return self.head(outputs)[0, 0], carry


def make_model(
    characters: int, length: int, width: int, depth: int, dropout: float, rng: np.random.Generator
) -> Writer:
    """A transformer for windows of so many characters."""
    blocks = [
        nn.TransformerBlock(width, max(1, width // 32), 4 * width, dropout, nn.gelu, norm_first=True, rng=rng)
        for _ in range(depth)
    ]
    embedding = nn.Embedding(characters, width, rng=rng)
    embedding.weight *= np.float32(width**-0.5)
    positions = nn.initializers.normal(rng, (length, width), 0.0, 0.02, np.float32)
    return Writer(embedding, positions, blocks, nn.LayerNorm(width))


def make_recurrent(
    characters: int, width: int, depth: int, dropout: float, rng: np.random.Generator
) -> Recurrent:
    """An LSTM of so many layers."""
    layers = nn.LSTM(width, width, num_layers=depth, batch_first=True, dropout=dropout, rng=rng)
    return Recurrent(nn.Embedding(characters, width, rng=rng), layers, nn.Linear(width, characters, rng=rng))


def loss_of(model: Any, window: Any, draws: Any = None) -> Any:
    """The mean cross-entropy of each next character, in nats."""
    scores = model(window[:, :-1], draws)
    return nn.cross_entropy(scores.reshape(-1, scores.shape[-1]), window[:, 1:].reshape(-1))


def fit(codes: np.ndarray, model: Any, options: argparse.Namespace) -> tuple[Any, Any]:
    """Train on windows from everywhere but the last tenth of the text, on which it is tested."""
    rng, draws = np.random.default_rng(options.seed), tape.random.default_rng(options.seed)
    rule = optim.adamw(
        lr=optim.schedules.warmup_cosine(
            options.learning_rate, options.steps // 20, options.steps, 0.1 * options.learning_rate
        ),
        weight_decay=0.1,
        weight_decay_mask=lambda name: name.endswith("weight"),
    )

    @tape.compile(donate=(0, 1))
    def update(model: Any, moments: Any, window: Any, draws: Any) -> Any:
        loss, gradient = tape.value_and_grad(loss_of)(model, window, draws)
        gradient, _ = optim.clip_by_global_norm(gradient, 1.0)
        moments, model = rule.update(gradient, moments, model)
        return (model, moments), {"loss": loss}

    count, length = len(codes) * 9 // 10, options.length + 1
    places = np.arange(length)
    test = codes[count:]
    held_out = test[: len(test) // length * length].reshape(-1, length)[: 16 * options.batch_size]
    evaluate = tape.compile(loss_of)

    def batches(epoch: int) -> Any:
        for _ in range(min(options.steps - epoch * 100, 100)):
            starts = rng.integers(0, count - length, options.batch_size)
            yield codes[starts[:, None] + places]

    def validate(state: Any) -> dict[str, float]:
        parts = np.split(held_out, range(options.batch_size, len(held_out), options.batch_size))
        return {
            "loss": np.mean([evaluate(state[0], part) for part in parts if len(part) == options.batch_size])
        }

    (model, _), history = train.fit(
        lambda state, window: update(*state, window, draws),
        (model, rule.init(model)),
        batches,
        epochs=-(-options.steps // 100),
        validate=validate,
        progress=True,
    )
    return model, history


def write(
    model: Any, start: np.ndarray, count: int, temperature: float, rng: np.random.Generator
) -> list[int]:
    """So many characters after a start, each drawn by its probability."""
    following = tape.compile(type(model).following)
    written = start.tolist()
    kept, room = model.begin()
    position = 0
    for k in range(len(start) + count - 1):
        if position == room:  # go on from the last half
            kept, _ = model.begin()
            for position, code in enumerate(written[k - room // 2 : k]):
                _, kept = following(model, np.int64(code), np.int64(position), kept)
            position += 1
        scores, kept = following(model, np.int64(written[k]), np.int64(position), kept)
        position += 1
        if k >= len(start) - 1:
            gumbel = -np.log(-np.log(rng.random(len(scores))))
            written.append(int(np.argmax(scores / temperature + gumbel)))
    return written[len(start) :]


def main(argv: Sequence[str] | None = None) -> None:
    """Train, write, and save the picture of the loss."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--model", choices=["transformer", "lstm"], default="transformer", help="what writes (%(default)s)")
    add("--steps", type=number(int, 1), default=2000, help="of the training (%(default)s)")
    add("--batch-size", type=number(int, 1), default=16, help="windows in a step (%(default)s)")
    add("--length", type=number(int, 2), default=64, help="characters in a window (%(default)s)")
    add("--width", type=number(int, 1), default=128, help="numbers for a character (%(default)s)")
    add("--depth", type=number(int, 1), default=4, help="blocks, or layers (%(default)s)")
    add("--dropout", type=number(float, 0, 1), default=0.0, help="probability (%(default)s)")
    add("--learning-rate", type=number(float, 0), default=2e-3, help="the highest (%(default)s)")
    add("--write", type=number(int, 0), default=400, help="characters to write at the end (%(default)s)")
    add("--temperature", type=number(float, 0.01), default=0.8, help="below 1: likelier ones (%(default)s)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add("--output", type=picture, default="characters.png", help='the picture; "" for none (%(default)s)')
    options = parser.parse_args(argv)

    codes, alphabet = train.data.encode_text(train.data.text())
    rng = np.random.default_rng(options.seed)
    model: Writer | Recurrent
    if options.model == "lstm":
        model = make_recurrent(len(alphabet), options.width, options.depth, options.dropout, rng)
    else:
        model = make_model(len(alphabet), options.length, options.width, options.depth, options.dropout, rng)
    count = sum(leaf.size for leaf in tape.tree.leaves(model))
    print(f"{len(codes)} characters of {len(alphabet)} kinds, {count} parameters")
    model, history = fit(codes, model, options)
    print("training loss {loss:.3f}, test loss {val_loss:.3f} nats a character".format(**history.last))
    if options.write:
        start = codes[len(codes) * 9 // 10 :][: options.length // 2]
        written = write(model, start, options.write, options.temperature, rng)
        print("".join(alphabet[code] for code in start), end="|")
        print("".join(alphabet[code] for code in written))
    if options.output:
        history.plot(options.output)
        print(f"picture saved as {options.output}")


if __name__ == "__main__":
    main()
