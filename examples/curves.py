"""Three curves and their derivatives: a sine, a mix of two sines, the sigmoid; and the tape behind each.

    python examples/curves.py --output curves.png

Each function is plain NumPy. `tape.elementwise_grad` gives its derivative at all points at once. At one point
its tape is animated, ``curves_sine.svg`` and so on: open them in a browser to see how values are computed
forwards, and adjoints backwards. Needs ``pip install '.[examples]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
from tape.viz.animate import animate

AT = 1.0  # where the tapes are recorded


def sine(a: Any) -> Any:
    """The derivative is the cosine."""
    return np.sin(a)


def mixed_sine(a: Any) -> Any:
    """A small fast ripple on a large slow wave: in the derivative they are equally large."""
    return np.sin(a) + 0.2 * np.sin(5 * a)


def sigmoid(a: Any) -> Any:
    """The derivative is greatest, a quarter, where the value is a half."""
    return 1 / (1 + np.exp(-a))


CURVES: dict[Callable[[Any], Any], str] = {
    sine: "sin(a)",
    mixed_sine: "sin(a) + 0.2 sin(5a)",
    sigmoid: "1 / (1 + exp(-a))",
}


def record(f: Callable[[Any], Any]) -> tape.Trace:
    """The tape of one curve at one point."""
    trace = tape.Trace(name=f.__name__)
    f(trace.param(AT, name="a"))
    return trace


def draw(a: np.ndarray) -> Figure:
    """Each curve above its derivative."""
    figure, panels = figure_of(*CURVES.values(), size=(11, 3.8))
    for f, axes in zip(CURVES, panels, strict=True):
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.plot(a, f(a), color=BLUE, linewidth=2, label="value")
        axes.plot(a, tape.elementwise_grad(f)(a), color=RED, label="derivative")
        axes.set(xlabel="a")
    panels[-1].legend(frameon=False, loc="upper left")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Print each tape with its derivative, and save the picture and the animations."""
    output = output_of(argv, __doc__, "curves.png")
    for f in CURVES:
        trace = record(f)
        (slope,) = trace.backward_param_grads(trace[-1])
        print(trace)
        print(f"derivative {slope:.12f}\n")
        if output:
            moving = output.with_name(f"{output.stem}_{f.__name__}.svg")
            animate(trace, moving)
            print(f"animation saved as {moving}\n")
    save(draw(np.linspace(-2 * np.pi, 2 * np.pi, 401)), output)


if __name__ == "__main__":
    main()
