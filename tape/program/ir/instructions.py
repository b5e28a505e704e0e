"""What a Program is made of: a flat list of instructions on arrays whose shapes are known.

An instruction names its operands by their position in the list, which always comes before its own.
There are few kinds, and each is something the machine can do: elementwise arithmetic, folds over and
scans along axes, views, products, systems of equations, reading and adding by index, joining, and calls
back into Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape.kernels.normal import LOOPS
from tape.ops.special.scipy_ufuncs import DECLARED, PREFIX, ufunc_named
from tape.program.runtime.ufuncs import own_ufunc

__all__ = ["ELEMENTWISE", "VIEWS", "Guard", "Instruction", "Listing"]

_UFUNCS = """
    absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or
    bitwise_xor cbrt ceil copysign cos cosh deg2rad degrees divide equal exp exp2 expm1 fabs
    float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot invert
    isfinite isinf isnan lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp
    logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum multiply negative
    nextafter not_equal power rad2deg radians reciprocal remainder right_shift rint sign signbit sin
    sinh spacing sqrt square subtract tan tanh trunc
"""


class _Ufuncs(dict[str, Any]):
    """Ufuncs by name; SciPy's and our own are None until one is looked up, for the sake of import time."""

    def __getitem__(self, name: str) -> np.ufunc:
        found = super().__getitem__(name)
        if found is None:
            find = own_ufunc if name in LOOPS else ufunc_named
            found = self[name] = find(name.removeprefix(PREFIX))
        return found


ELEMENTWISE = _Ufuncs({name: getattr(np, name) for name in _UFUNCS.split()})
"""Elementwise instructions that are a ufunc; ``where`` and ``cast`` are elementwise too."""
ELEMENTWISE.update(dict.fromkeys(LOOPS))
ELEMENTWISE.update({PREFIX + name: None for name, of in DECLARED.items() if len(of.op.vjp or ()) <= 2})

VIEWS = frozenset({"reshape", "transpose", "broadcast", "slice"})
"""Instructions that only look at their operand in another way."""


@dataclass(slots=True)
class Instruction:
    """One step of a Program.

    Attributes
    ----------
    op : str
        What it does: a name in `ELEMENTWISE`, ``"where"``, ``"cast"``, one of `VIEWS`, ``"fold"``,
        ``"scan"`` (x, or x and factors), ``"sum_product"``, ``"matmul"``, ``"matmul_add"`` (total, a, b),
        ``"solve"`` and ``"triangular_solve"`` (a, rows: right-hand sides, as the result has the solutions),
        ``"cholesky"``, ``"take"``, ``"add_at"``, ``"put"``, ``"ravel_index"``, ``"concatenate"``, ``"copy"``,
        ``"kernel"`` (one of `tape.kernels.registry`: name, parameters), ``"callback"`` (its number, and that
        of a guard if its type depends on data), ``"guard"``; or where the value comes from:
        ``"input"``, ``"constant"``, ``"literal"``.
    operands : tuple of int
        Positions in the list.
    attrs : tuple
        What else it needs, depending on the op.
    shape : tuple of int
        Of the result.
    dtype : numpy.dtype
        Of the result.
    """

    op: str
    operands: tuple[int, ...]
    attrs: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def number(self) -> Any:
        """The number of a literal."""
        char, data = self.attrs
        return np.frombuffer(data, char)[0]

    @property
    def guard(self) -> int | None:
        """The number of the guard that this checks, if it checks one."""
        if self.op == "guard":
            return self.attrs[0]
        return self.attrs[1] if self.op == "callback" and len(self.attrs) > 1 else None

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result is made of one element of every operand."""
        return self.op in ELEMENTWISE or self.op in ("where", "cast")


@dataclass(slots=True)
class Guard:
    """The outcome of a branch while the function was recorded, or the dtype and shape of a value."""

    kind: str
    """``"bool"``, ``"int"`` or ``"type"``."""
    outcome: Any


@dataclass
class Listing:
    """A flat list of instructions, with what goes in and what comes out.

    Attributes
    ----------
    instructions : list of Instruction
    inputs : list
        The position of each dynamic leaf; None for those that nothing depends on.
    constants : list of numpy.ndarray
        Arrays that the function closed over, by reference.
    outputs : list
        The position of each leaf of the result.
    guards : list of Guard
        In the order of the instructions that check them.
    callbacks : list of tuple
        Operation, operands (None for those that are instructions) and attributes of each callback.
    effects : dict of str to int
        What became of the recording; see `tape.program.ir.rewrite.rewrite`. Empty if there was none.
    """

    instructions: list[Instruction] = field(default_factory=list)
    inputs: list[int | None] = field(default_factory=list)
    constants: list[np.ndarray] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    callbacks: list[Any] = field(default_factory=list)
    effects: dict[str, int] = field(default_factory=dict)

    def uses(self) -> list[int]:
        """How often each value is read, or is an output."""
        uses = [0] * len(self.instructions)
        for instruction in self.instructions:
            for operand in instruction.operands:
                uses[operand] += 1
        for id in self.outputs:
            uses[id] += 1
        return uses

    def drop_dead(self) -> None:
        """Drop what no output and no guard depends on, and number the rest anew."""
        old = self.instructions
        alive = bytearray(len(old))
        for id in self.outputs:
            alive[id] = 1
        for id in range(len(old) - 1, -1, -1):
            if alive[id] or old[id].guard is not None:
                alive[id] = 1
                for operand in old[id].operands:
                    alive[operand] = 1
        place = [-1] * len(old)
        self.instructions = []
        for id, instruction in enumerate(old):
            if alive[id]:
                place[id] = len(self.instructions)
                instruction.operands = tuple([place[operand] for operand in instruction.operands])
                self.instructions.append(instruction)
        self.inputs = [None if id is None or place[id] < 0 else place[id] for id in self.inputs]
        self.outputs = [place[id] for id in self.outputs]
