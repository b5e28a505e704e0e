"""The diamond: one value is used twice, so two contributions to its adjoint are added up.

    python examples/diamond.py --output diamond.png

From a, two ways lead to y = sin(a) * a**2. The derivative is the sum over both; what each of them
contributes is the derivative with the other one held still, by `tape.stop_gradient`. The animation,
``diamond_tape.svg``, shows the sweep that adds them up. Needs ``pip install '.[examples]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREEN, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
from tape.viz.animate import animate

AT = 2.0


def keep(x: Any) -> Any:
    """Nothing happens to a way that is left as it is."""
    return x


def diamond(a: Any, above: Callable[[Any], Any] = keep, below: Callable[[Any], Any] = keep) -> Any:
    """One value, two ways, one result; ``above`` and ``below`` are applied on the two ways."""
    b = above(np.sin(a))
    c = below(a**2)
    return b * c


def contributions(a: Any) -> tuple[Any, Any]:
    """What each way adds to the derivative."""
    by_b = tape.elementwise_grad(lambda a: diamond(a, below=tape.stop_gradient))(a)
    by_c = tape.elementwise_grad(lambda a: diamond(a, above=tape.stop_gradient))(a)
    return by_b, by_c


def draw(a: np.ndarray) -> Figure:
    """The function; and its derivative with the two parts it is the sum of."""
    figure, (left, right) = figure_of("y = sin(a) * a**2", "Its derivative is the sum over both ways")
    left.plot(a, diamond(a), color=BLUE, linewidth=2)
    left.plot(AT, diamond(AT), "o", color=RED)
    by_b, by_c = contributions(a)
    right.plot(a, by_b, "--", color=BLUE, label="by way of b = sin(a)")
    right.plot(a, by_c, "--", color=GREEN, label="by way of c = a**2")
    right.plot(a, tape.elementwise_grad(diamond)(a), color=RED, linewidth=2, label="both")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set(xlabel="a")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tape and the sum that is the derivative, and save the picture and the animation."""
    output = output_of(argv, __doc__, "diamond.png")
    trace = tape.Trace(name="diamond")
    y = diamond(trace.param(AT, name="a"))
    print(trace)
    (slope,) = trace.backward_param_grads(y)
    by_b, by_c = contributions(AT)
    print(f"by way of b {by_b:.12f}\nby way of c {by_c:.12f}\nderivative  {slope:.12f}")
    if output:
        moving = output.with_name(f"{output.stem}_tape.svg")
        animate(trace, moving, root=y)
        print(f"animation saved as {moving}")
    save(draw(np.linspace(-4, 4, 401)), output)


if __name__ == "__main__":
    main()
