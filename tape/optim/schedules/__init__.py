"""Schedules: the learning rate as a function of the number of steps taken so far.

Each function here returns a `Schedule`, which takes a step 0, 1, 2, ... and returns a learning rate: a float
for an int, as in ``optimizer.lr = schedule(step)``; a Var for a Var, so that a rule such as
``tape.optim.adam(lr=schedule)`` computes it inside a program. Schedules are frozen, equal if their settings
are, and pickle. `Plateau` is none: it looks at losses, and lives outside of programs.
"""

from tape.optim.schedules._cosines import cosine, cosine_restarts, one_cycle
from tape.optim.schedules._decays import constant, exponential, linear, multi_step, step
from tape.optim.schedules._plateau import Plateau
from tape.optim.schedules._schedule import Schedule
from tape.optim.schedules._sequences import joined, warmup_cosine

__all__ = [
    "Plateau",
    "Schedule",
    "constant",
    "cosine",
    "cosine_restarts",
    "exponential",
    "joined",
    "linear",
    "multi_step",
    "one_cycle",
    "step",
    "warmup_cosine",
]
