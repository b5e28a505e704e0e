"""What the examples share: gradient descent, the option --output, and the look of their pictures.

They find this file because it lies next to them, where Python looks first when a script is run.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import tape

__all__ = ["BLUE", "GREEN", "GREY", "RED", "descend", "figure_of", "output_of", "picture", "save"]

BLUE, RED, GREEN, GREY = "#4477aa", "#cc6644", "#559955", "#999999"


def descend(
    loss: Callable[[Any], Any], point: np.ndarray, rate: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """The points before the first step against the gradient and after each, and the loss at each."""
    loss_and_gradient = tape.value_and_grad(loss)
    path, losses = [point], []
    for _ in range(steps):
        value, gradient = loss_and_gradient(path[-1])
        path.append(path[-1] - rate * gradient)
        losses.append(value)
    return np.array(path), np.array([*losses, loss(path[-1])])


def picture(text: str) -> Path | None:
    """An argparse type: where a picture can be saved; empty for nowhere."""
    if not text:
        return None
    path = Path(text)
    if path.suffix.lower() not in (".png", ".pdf", ".svg") or path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not the name of a .png, .pdf or .svg file")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


def output_of(argv: Sequence[str] | None, documentation: str | None, default: str) -> Path | None:
    """Where the picture goes, by the only option there is; the documentation's first line is the help."""
    parser = argparse.ArgumentParser(description=(documentation or "").partition("\n")[0])
    parser.add_argument(
        "--output", type=picture, default=default, help='the picture; "" for none (%(default)s)'
    )
    return parser.parse_args(argv).output


def figure_of(*titles: str, rows: int = 1, size: tuple[float, float] = (10, 4.5)) -> tuple[Figure, list[Any]]:
    """A figure with a panel for every title, row by row."""
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(rows, len(titles) // rows, squeeze=False).flat)
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left", fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    return figure, panels


def save(figure: Figure, output: Path | None) -> None:
    """Save the picture, unless it goes nowhere, and say so."""
    if output:
        figure.savefig(output, dpi=150)
        print(f"picture saved as {output}")
