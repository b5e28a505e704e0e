"""The schedule of snapshots that reverses a loop with the fewest repeated steps.

Griewank and Walther, "Algorithm 799: revolve" (ACM TOMS 26, 2000): with s states in memory, of which
the first is one, ``binomial(s + r, s)`` steps can be reversed running none of them forwards more than
r times.
"""

from __future__ import annotations

from math import comb


def repetitions(steps: int, states: int) -> int:
    """Return the smallest r for which ``binomial(states + r, states) >= steps``.

    Examples
    --------
    >>> from tape.transforms._revolve import repetitions
    >>> repetitions(10_000, 20)
    4
    """
    r = 0
    while comb(states + r, states) < steps:
        r += 1
    return r


def forward_steps(steps: int, states: int) -> int:
    """Return the fewest forward steps that reverse a loop, the first pass included and recording not.

    Tests and benchmarks compare `checkpoint_loop` with this bound.

    Examples
    --------
    >>> from tape.transforms._revolve import forward_steps
    >>> forward_steps(10_000, 20), forward_steps(4, 1)
    (37976, 6)
    """
    r = repetitions(steps, states)
    return r * steps - comb(states + r, states + 1)


def split(steps: int, states: int) -> int:
    """Return how many of two or more steps to run before the next snapshot; two or more states are free.

    The steps before it are reversed with as many states, those after it with one less.
    """
    r = repetitions(steps, states)
    most = comb(states + r - 1, states)  # steps before it that r - 1 repetitions can reverse
    return max(1, min(most, steps - comb(states + r - 2, states - 1), steps - 1))
