"""`Workspace`: the memory of one run of a program, which no other run uses at the same time.

`Frame` is the part of it that the machine sees; the body of a loop has one of its own.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from tape.program.native.functions import DATA_TABLE, FUNCTION_TABLE
from tape.program.native.opcodes import (
    ARENA,
    BODIES,
    CODE,
    DATA,
    FRAME_BYTES,
    FUNCTIONS,
    LITERALS,
    MOST_THREADS,
    OTHERS,
    PLACES,
    REGISTERS,
    ROWS,
    SLOTS,
    SPEC,
    STARTING,
    THREADS,
)
from tape.program.native.threads import places
from tape.program.plan.layouts import ALIGNMENT

if TYPE_CHECKING:
    from tape.program.runtime.routine import Routine
    from tape.program.runtime.run import Runner

_KEPT_BYTES = 1 << 26
"""Arrays for results are kept for reuse, up to this size."""


class Frame:
    """The memory of a routine: what the machine needs to run it.

    Parameters
    ----------
    routine : Routine
    starting : int
        The worth from which on a row starts threads.

    Attributes
    ----------
    frame : numpy.ndarray
        int64: the frame of the machine, see `tape.program.native.opcodes`.
    owners : list
        The array behind each slot; None for those that are bound when it runs.
    bodies : list of Frame
        Those of its loops.
    """

    __slots__ = ("_addresses", "_threads", "bodies", "frame", "owners")

    def __init__(self, routine: Routine, starting: int) -> None:
        sizes = routine.plan.slots
        self.frame = np.zeros(SLOTS + len(sizes), np.int64)
        self.owners: list[Any] = [None] * len(sizes)
        frame = self.frame
        frame[FUNCTIONS], frame[DATA] = FUNCTION_TABLE.ctypes.data, DATA_TABLE.ctypes.data
        frame[CODE], frame[ROWS] = routine.running.ctypes.data, routine.rows
        self.own(ARENA, memory_of(sizes[ARENA]))
        self.own(REGISTERS, memory_of(sizes[REGISTERS]))
        self.own(LITERALS, routine.literals)
        for array, slot in zip(routine.plan.constants, routine.plan.constant_slots, strict=True):
            self.own(slot, array)
            lowest = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0)
            frame[SLOTS + slot] += lowest
        self.bodies = [Frame(body, starting) for body in routine.bodies]
        self._addresses = np.array([body.frame.ctypes.data for body in self.bodies], np.int64)
        frame[BODIES] = self._addresses.ctypes.data
        frame[STARTING] = starting
        self._prepare_threads(routine.threads, sizes[REGISTERS])

    def _prepare_threads(self, count: int, registers: int) -> None:
        """Allocate a frame and registers for every thread but the caller's."""
        width, count = len(self.frame), min(count, 1 + MOST_THREADS)
        others = np.zeros((count - 1, width), np.int64)
        self._threads = [others]
        for frame in others:
            memory = memory_of(registers)
            self._threads.append(memory)
            frame[SLOTS + REGISTERS] = memory.ctypes.data
        where = places() if count > 1 else None
        self.frame[PLACES] = 0 if where is None else where.ctypes.data
        self.frame[THREADS], self.frame[OTHERS], self.frame[FRAME_BYTES] = (
            count,
            others.ctypes.data,
            8 * width,
        )

    def own(self, slot: int, array: np.ndarray) -> None:
        """Make a slot refer to an array."""
        self.owners[slot] = array
        self.frame[SLOTS + slot] = array.ctypes.data

    def bound(self, slot: int, size: int) -> Any:
        """Return the memory that a slot is bound to now, as a buffer of so many bytes."""
        return (ctypes.c_char * size).from_address(int(self.frame[SLOTS + slot]))


class Workspace(Frame):
    """The memory of a run.

    Parameters
    ----------
    runner : Runner

    Attributes
    ----------
    scalars : list of numpy.ndarray
        Memory of results without axes.
    ring : tuple of tuple of numpy.ndarray
        Sets of arrays for results. A set is reused when only the ring refers to it.
    """

    __slots__ = ("_makers", "ring", "scalars")

    def __init__(self, runner: Runner) -> None:
        super().__init__(runner, runner.starting)
        self.frame[SPEC] = runner.spec.ctypes.data
        for slot in runner.scalar_inputs:
            self.own(slot, memory_of(8))
        self.scalars = []
        for slot, dtype in runner.scalar_outputs:
            memory = memory_of(dtype.itemsize)
            self.own(slot, memory)
            self.scalars.append(memory[: dtype.itemsize].view(dtype).reshape(()))

        self._makers = runner.makers
        self.ring: tuple[tuple[np.ndarray, ...], ...] = ()
        self.new_arrays()

    def new_arrays(self) -> None:
        """Put a new set of arrays at the front of the ring."""
        arrays = tuple([np.empty(shape, dtype) for shape, dtype in self._makers])
        size = sum([array.nbytes for array in arrays])
        self.ring = (arrays, *self.ring[: 1 if size <= _KEPT_BYTES else 0])


def memory_of(size: int) -> np.ndarray:
    """Return aligned memory of this many bytes."""
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]
