"""Which groups of machine code there are, in the order in which they are compiled."""

from __future__ import annotations

from tape.kernels.eager import COLOURING, EAGER, FORMULAS
from tape.kernels.loading import MACHINE
from tape.kernels.registry import GROUPS
from tape.kernels.ufuncs import UFUNC_GROUPS

ALL = (MACHINE, EAGER, *UFUNC_GROUPS, *GROUPS, FORMULAS, COLOURING)
"""What all programs need, what operations call, ufuncs, kernels of programs, and what few users need."""
