"""The loops over tiles that `tape.program.ir.tiling` has decided on, and the rest of the IR around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.ir.extremes import share_extremes
from tape.program.ir.instructions import IR, Appending, Instruction
from tape.program.ir.loops import BYTES, Loop
from tape.program.ir.turning import is_worth_turning, turned

if TYPE_CHECKING:
    from tape.program.ir.tiling import Tiling

__all__ = ["TileLoops"]

_FLOAT64 = np.dtype(np.float64)
_SHARE_OF_TURNED = 2
"""Turned tiles have half as many rows: larger values are computed in blocks, which copy what is broadcast."""


class TileLoops(Appending):
    """IR with loops in place of regions of instructions.

    Parameters
    ----------
    tiling : Tiling
        What is in the loops.

    Attributes
    ----------
    new : list of Instruction
    place : dict of int to int
        Where in ``new`` a value of the old IR is.
    """

    def __init__(self, tiling: Tiling) -> None:
        self.tiling, self.old, self.count = tiling, tiling.old, tiling.count
        super().__init__()
        self.place: dict[int, int] = {}
        self._looped = {id for members in tiling.loops.values() for id in members}

    def build(self) -> None:
        """Append all instructions: those of a level, and then its loop."""
        loops = self.tiling.loops
        waiting = sorted(loops, reverse=True)
        for level, id in sorted((level, id) for id, level in enumerate(self._levels())):
            while waiting and waiting[-1] < level:
                self._loop(loops[waiting.pop()])
            if id not in self._looped:
                of = self.old[id]
                self.place[id] = self.push_again(of, self.place)
        while waiting:
            self._loop(loops[waiting.pop()])

    def _levels(self) -> list[int]:
        """Return the level of each instruction, now that it is known which are in loops."""
        tiling, looped = self.tiling, self._looped
        levels = [0] * len(self.old)
        for id, of in enumerate(self.old):
            if id in looped:
                levels[id] = tiling.levels[id]
            else:
                levels[id] = max([levels[x] + (x in looped) for x in of.operands], default=0)
        return levels

    def _loop(self, members: list[int]) -> None:
        """Append the loop of a region, what is left over after the last whole tile, and their results."""
        tiling = self.tiling
        items = tiling.items(members)
        arrays, whole = tiling.outside(members)
        totals = [id for id in members if tiling.is_total(id)]
        escaping = sorted(tiling.escaping(members))
        body = self._body(members, items, totals + escaping)
        if is_worth_turning(body, items):
            items = tiling.items(members, _SHARE_OF_TURNED)
            body = turned(self._body(members, items, totals + escaping), items)
        share_extremes(body)
        steps = self.count // items
        left = self.count - steps * items
        loop = Loop(body, steps, len(whole), len(totals), False)
        zero = self.push("literal", (), (_FLOAT64.char, bytes(8)), (), _FLOAT64)
        operands = [self.place[x] for x in whole]
        operands += [self.push("broadcast", (zero,), (), self.old[id].shape, _FLOAT64) for id in totals]
        operands += [self._tiles(x, items, steps) for x in arrays]
        block = self.push("loop", operands, (loop,), (loop.block.size,), BYTES)
        tail = None
        if left:
            tail = _Tail(self, members, left, steps * items)
            tail.fill()
        for id, part in zip([*totals, *escaping], loop.block.parts, strict=False):
            at = self.push("part", (block,), (part.offset,), part.shape, part.dtype)
            self.place[id] = self._result(id, at, items * steps, tail)

    def _body(self, members: list[int], items: int, results: list[int]) -> IR:
        """Return the body of the loop of a region, for so many rows."""
        tiling = self.tiling
        arrays, whole = tiling.outside(members)
        body = _Body(self, members, items)
        for x in whole:
            body.whole[x] = body.input(self.old[x].shape, self.old[x].dtype)
        states = {id: body.input(self.old[id].shape, _FLOAT64) for id in results if tiling.is_total(id)}
        for x in arrays:
            body.rows[x] = body.input(tiling.rows_of(x, items), self.old[x].dtype)
        body.fill()
        body.ir.outputs = [body.added(states[id], id) if id in states else body.place[id] for id in results]
        return body.ir

    def _result(self, id: int, at: int, items: int, tail: _Tail | None) -> int:
        """Return a total or rows of all tiles, given those of the loop and of what was left over."""
        of, tiling = self.old[id], self.tiling
        if tiling.is_total(id):
            if tail is not None:
                at = tail.added(at, id)
            return at if of.dtype == _FLOAT64 else self.push("cast", (at,), (), of.shape, of.dtype)
        at = self.push("reshape", (at,), (), tiling.rows_of(id, items), of.dtype)
        if tail is None:
            return at
        return self.push("concatenate", (at, tail.place[id]), (0,), of.shape, of.dtype)

    def _tiles(self, x: int, items: int, steps: int) -> int:
        """Append views of a value: its whole tiles along an axis of their own."""
        of, at = self.old[x], self.head(x, 0, items * steps)
        return self.push("reshape", (at,), (), (steps, *self.tiling.rows_of(x, items)), of.dtype)

    def head(self, x: int, start: int, items: int) -> int:
        """Append a view of some of the rows of a value."""
        of, at = self.old[x], self.place[x]
        if items == self.count:
            return at
        ndim = len(of.shape)
        starts = (of.shape[0] // self.count * start, *(0,) * (ndim - 1))
        return self.push("slice", (at,), (starts, (1,) * ndim), self.tiling.rows_of(x, items), of.dtype)


class _Copies:
    """A region's instructions for so many rows, appended to a list."""

    def __init__(self, loops: TileLoops, members: list[int], items: int) -> None:
        self.loops, self.members, self.items = loops, members, items
        self.place: dict[int, int] = {}  # of members
        self.rows: dict[int, int] = {}  # of values from outside that are read by rows
        self.whole: dict[int, int] = {}  # and as a whole

    def push(self, op: str, operands: Any, attrs: tuple[Any, ...], shape: Any, dtype: Any) -> int:
        raise NotImplementedError

    def fill(self) -> None:
        """Append all members."""
        old, tiling = self.loops.old, self.loops.tiling
        for id in self.members:
            of = old[id]
            operands = [self._operand(id, k, x) for k, x in enumerate(of.operands)]
            shape = of.shape if tiling.is_total(id) else tiling.rows_of(id, self.items)
            attrs = tiling.attrs_of(id, self.items)
            self.place[id] = self.push(of.op, operands, attrs, shape, of.dtype)

    def _operand(self, id: int, k: int, x: int) -> int:
        if x in self.place:
            return self.place[x]
        return self._rows(x) if self.loops.tiling.is_read_by_rows(id, k) else self._whole(x)

    def _rows(self, x: int) -> int:
        """Return the rows of a value from outside, or of a view of one."""
        tiling, of = self.loops.tiling, self.loops.old[x]
        if x in self.rows:
            return self.rows[x]
        if tiling.is_spread(x):
            at = self.push("broadcast", (self._whole(of.operands[0]),), (), *self._type(x))
        elif not tiling.kinds[x] and not tiling.is_in_order(x):
            at = self.push(of.op, (self._rows(of.operands[0]),), of.attrs, *self._type(x))
        else:
            at = self.loops.head(x, *self.span())
        self.rows[x] = at
        return at

    def _type(self, x: int) -> tuple[Any, Any]:
        return self.loops.tiling.rows_of(x, self.items), self.loops.old[x].dtype

    def _whole(self, x: int) -> int:
        of = self.loops.old[x]
        if x not in self.whole:
            is_literal = of.op == "literal"
            self.whole[x] = (
                self.push(of.op, (), of.attrs, of.shape, of.dtype) if is_literal else self.loops.place[x]
            )
        return self.whole[x]

    def span(self) -> tuple[int, int]:
        """Return the first row, and how many there are."""
        raise NotImplementedError

    def added(self, total: int, id: int) -> int:
        """Append the sum of a total so far and that of these rows."""
        of, part = self.loops.old[id], self.place[id]
        if of.dtype != _FLOAT64:
            part = self.push("cast", (part,), (), of.shape, _FLOAT64)
        return self.push("add", (total, part), (), of.shape, _FLOAT64)


class _Body(_Copies):
    """The body of a loop: values from outside are its inputs."""

    def __init__(self, loops: TileLoops, members: list[int], items: int) -> None:
        super().__init__(loops, members, items)
        self.ir = IR()

    def push(self, op: str, operands: Any, attrs: tuple[Any, ...], shape: Any, dtype: Any) -> int:
        self.ir.instructions.append(Instruction(op, tuple(operands), attrs, shape, dtype))
        return len(self.ir.instructions) - 1

    def input(self, shape: Any, dtype: Any) -> int:
        """Append an input: a value from outside, or a state."""
        at = self.push("input", (), (len(self.ir.inputs),), shape, dtype)
        self.ir.inputs.append(at)
        return at


class _Tail(_Copies):
    """The rows that are left over after the last whole tile, computed without a loop."""

    def __init__(self, loops: TileLoops, members: list[int], items: int, start: int) -> None:
        super().__init__(loops, members, items)
        self.start = start

    def push(self, op: str, operands: Any, attrs: tuple[Any, ...], shape: Any, dtype: Any) -> int:
        return self.loops.push(op, operands, attrs, shape, dtype)

    def span(self) -> tuple[int, int]:
        return self.start, self.items
