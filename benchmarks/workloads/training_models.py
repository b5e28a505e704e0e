"""Whole training steps of larger models: forward, backward, clipping and Adam, with layers as a user would.

The same weights go to PyTorch by name. Compared are the losses of the first steps: a parameter whose gradient
is nothing but rounding, as that of the bias of keys, moves by it in Adam.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_STEPS = 3  # a call
_RATE, _LARGEST = 1e-3, 1.0
_BATCH, _LENGTH, _CHARACTERS = 16, 64, 96
_WIDTH, _HEADS, _DEPTH = 128, 4, 4
_HIDDEN = 256
_IMAGES = 32


@dataclass(frozen=True)
class _Problem:
    """A model for both frameworks, and a batch."""

    of_tape: Callable[[], Any]
    of_torch: Callable[[Any], Any]
    inputs: np.ndarray
    labels: np.ndarray


@workload("train-transformer")
def train_transformer(seed: int) -> list[Case]:
    """A step of the character transformer, 4 layers, width 128, T = 64, batch 16: clipping, Adam; float32."""
    return [_case(_Problem(partial(_writer, seed), _torch_writer, *_characters(seed)))]


@workload("train-lstm")
def train_lstm(seed: int) -> list[Case]:
    """A step of a character LSTM, width 256, T = 64, batch 16: clipping, Adam; float32."""
    return [_case(_Problem(partial(_reader, seed), _torch_reader, *_characters(seed)))]


@workload("train-conv")
def train_conv(seed: int) -> list[Case]:
    """A step of the digits' convolutional network, batch norm, batch 32: clipping, Adam; float32."""
    rng = np.random.default_rng(seed)
    images, labels = rng.random((_IMAGES, 1, 8, 8), np.float32), rng.integers(0, 10, _IMAGES)
    return [_case(_Problem(partial(_convolutions, seed), _torch_convolutions, images, labels))]


def _characters(seed: int) -> tuple[np.ndarray, np.ndarray]:
    codes = np.random.default_rng(seed).integers(0, _CHARACTERS, (_BATCH, _LENGTH + 1))
    return codes[:, :-1], codes[:, 1:]


def _case(problem: _Problem) -> Case:
    contenders: dict[str, Callable[[], Call]] = {
        "tape": partial(_with_tape, problem),
        "torch": partial(_with_torch, problem),
        "torch 1 thread": partial(_with_torch, problem, threads=1),
    }
    eager = partial(_with_tape, problem, is_compiled=False)
    return Case("", contenders, reference=lambda: eager()(), tolerance=1e-4, unit="step", units=_STEPS)


# ---- the steps -------------------------------------------------------------------------------------


def _with_tape(problem: _Problem, is_compiled: bool = True) -> Call:
    tape = load("tape")
    nn, optim = tape.nn, tape.optim
    model, rule = problem.of_tape(), optim.adam(lr=_RATE)

    def loss(model: Any, state: Any, inputs: Any, labels: Any) -> Any:
        scores, state = nn.call(model, inputs, state, train=True)
        return nn.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels.reshape(-1)), state

    def step(model: Any, moments: Any, state: Any, inputs: Any, labels: Any) -> Any:
        (value, state), gradient = tape.value_and_grad(loss, has_aux=True)(model, state, inputs, labels)
        gradient, _ = optim.clip_by_global_norm(gradient, _LARGEST)
        moments, model = rule.update(gradient, moments, model)
        return model, moments, state, value

    if is_compiled:
        step = tape.compile(step, donate=(0, 1))
    held = [model, rule.init(model), nn.init_state(model)]

    def call() -> list[Any]:
        losses = []
        for _ in range(_STEPS):
            *held[:], value = step(*held, problem.inputs, problem.labels)
            losses.append(value)
        return [np.array(losses)]

    return call


def _with_torch(problem: _Problem, threads: int | None = None) -> Call:
    tape, torch = load("tape"), load("torch")
    model = problem.of_torch(torch)
    weights = tape.nn.state_dict(problem.of_tape())
    model.load_state_dict({name: torch.tensor(array) for name, array in weights.items()}, strict=False)
    optimiser = torch.optim.Adam(model.parameters(), lr=_RATE)
    x, y = torch.tensor(problem.inputs), torch.tensor(problem.labels)

    def call() -> list[Any]:
        losses, before = [], torch.get_num_threads()
        torch.set_num_threads(before if threads is None else threads)
        for _ in range(_STEPS):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), _LARGEST)
            optimiser.step()
            losses.append(loss.item())
        torch.set_num_threads(before)
        return [np.array(losses, np.float32)]

    return call


# ---- a transformer of characters -------------------------------------------------------------------


def _writer(seed: int) -> Any:
    nn, rng = load("tape").nn, np.random.default_rng(seed)

    @dataclass
    class Writer:
        embedding: Any
        positions: Any
        blocks: Any
        norm: Any

        def __call__(self, codes: Any) -> Any:
            x = self.embedding(codes) + self.positions
            for block in self.blocks:
                x = block(x, is_causal=True)
            return self.norm(x) @ self.embedding.weight.T

    embedding = nn.Embedding(_CHARACTERS, _WIDTH, rng=rng)
    embedding.weight *= np.float32(_WIDTH**-0.5)
    positions = nn.initializers.normal(rng, (_LENGTH, _WIDTH), 0.0, 0.02, np.float32)
    blocks = [
        nn.TransformerBlock(_WIDTH, _HEADS, 4 * _WIDTH, 0.0, nn.gelu, norm_first=True, rng=rng)
        for _ in range(_DEPTH)
    ]
    return Writer(embedding, positions, blocks, nn.LayerNorm(_WIDTH))


def _torch_writer(torch: Any) -> Any:
    nn = torch.nn

    class Writer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(_CHARACTERS, _WIDTH)
            self.positions = nn.Parameter(torch.zeros(_LENGTH, _WIDTH))
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(
                    _WIDTH, _HEADS, 4 * _WIDTH, 0.0, "gelu", norm_first=True, batch_first=True
                )
                for _ in range(_DEPTH)
            )
            self.norm = nn.LayerNorm(_WIDTH)
            self.mask = nn.Transformer.generate_square_subsequent_mask(_LENGTH)

        def forward(self, codes: Any) -> Any:
            x = self.embedding(codes) + self.positions
            for block in self.blocks:
                x = block(x, src_mask=self.mask, is_causal=True)
            return self.norm(x) @ self.embedding.weight.T

    return Writer()


# ---- an LSTM of characters -------------------------------------------------------------------------


def _reader(seed: int) -> Any:
    nn, rng = load("tape").nn, np.random.default_rng(seed)

    @dataclass
    class Reader:
        embedding: Any
        lstm: Any
        linear: Any

        def __call__(self, codes: Any) -> Any:
            return self.linear(self.lstm(self.embedding(codes))[0])

    return Reader(
        nn.Embedding(_CHARACTERS, _HIDDEN, rng=rng),
        nn.LSTM(_HIDDEN, _HIDDEN, batch_first=True, rng=rng),
        nn.Linear(_HIDDEN, _CHARACTERS, rng=rng),
    )


def _torch_reader(torch: Any) -> Any:
    nn = torch.nn

    class Reader(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(_CHARACTERS, _HIDDEN)
            self.lstm = nn.LSTM(_HIDDEN, _HIDDEN, batch_first=True)
            self.linear = nn.Linear(_HIDDEN, _CHARACTERS)

        def forward(self, codes: Any) -> Any:
            return self.linear(self.lstm(self.embedding(codes))[0])

    return Reader()


# ---- convolutions of digits ------------------------------------------------------------------------


def _convolutions(seed: int) -> Any:
    nn, rng = load("tape").nn, np.random.default_rng(seed)
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1, rng=rng), nn.BatchNorm(32), nn.relu,
        nn.Conv2d(32, 32, 3, padding=1, rng=rng), nn.BatchNorm(32), nn.relu, nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1, rng=rng), nn.BatchNorm(64), nn.relu, nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 10, rng=rng),
    )  # fmt: skip


def _torch_convolutions(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip
