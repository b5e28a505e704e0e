"""Batches whose rows are equal but for a few places: each place is computed once, not once for every row.

A Jacobian is computed for a batch of one-hot vectors. As long as what is computed from them has a place of
its own for each, almost all of the batch is zero. Rows that differ from a common row in different places are
put together into one, like columns of a sparse Jacobian that one product finds (A. R. Curtis, M. J. D. Powell
and J. K. Reid, "On the estimation of sparse Jacobian matrices", 1974): an instruction has a row for each
colour in place of ``count``, and the common row, to which no vector belongs. That row is computed like any
other, so infinities and NaNs spread as they do in the batch: nothing is taken for zero.

`Batches` decides which values are such batches, `tape.program.ir.compressed` writes the instructions.
"""

from __future__ import annotations

from collections.abc import Container
from functools import reduce
from typing import Any

import numpy as np

from tape.program.ir.compressed import Compressing
from tape.program.ir.costs import QUICK
from tape.program.ir.instructions import IR, Instruction
from tape.program.ir.regions import Regions
from tape.program.ir.table import ELEMENTWISE, INSTRUCTIONS, VIEWS

__all__ = ["Batches", "compress"]

_FEWEST_ROWS, _MOST_ROWS = 6, 1 << 10
"""Of a batch."""
_SHARE = 3
"""There is one row for each three of a batch, at most."""
_MOST_ELEMENTS, _MOST_IN_ALL = 1 << 22, 1 << 28
"""Of an array whose places are followed, and of all of them, a byte each."""
_MOST_PAIRS = 1 << 22
"""Of rows that have a place in common, counted for each place."""
_WORTH_IT = 2000.0
"""Nanoseconds that are saved in a run."""
_QUICK, _SLOW = 0.15, 1.0
"""Nanoseconds for each element of arithmetic that vector registers do, block by block, and of functions."""
_COPYING, _SPREADING, _SPREADING_FAR = 0.3, 1.0, 5.0
"""For each element of a batch of which rows are copied, or that is spread, within the cache or out of it."""
_FAR = 1 << 17
"""Elements of a batch that is not in the cache."""
_MOST_RANGES = 32
_DEPTH = 50  # instructions on rows that are all the same

_GIVEN = VIEWS | {"constant"}

Shape = tuple[int, ...]


def compress(ir: IR, fixed: Container[int]) -> tuple[int, int]:
    """Compute batches whose rows are equal but for a few places without computing equal places again.

    Parameters
    ----------
    ir : IR
        Changed in place, without dead instructions.
    fixed : container of int
        The constants, by number, that nothing can change.

    Returns
    -------
    added, compressed : int
        Number of instructions added, and of those that are computed for fewer rows.
    """
    seeds = {
        of.attrs[0]: of.shape[0]
        for of in ir.instructions
        if of.op == "constant" and of.attrs[0] in fixed and _is_sparse(ir.constants[of.attrs[0]])
    }
    if not seeds:
        return 0, 0
    before, known, compressed = len(ir.instructions), len(ir.constants), 0
    for count in sorted(set(seeds.values()), reverse=True):
        batches = Batches(ir, count, seeds)
        if batches.places:
            compressed += sum([ir.instructions[id].op not in _GIVEN for id in batches.places])
            Compressing(batches).build()
    if len(ir.constants) > known:
        _drop_constants(ir)
    return len(ir.instructions) - before, compressed


def _is_sparse(array: np.ndarray) -> bool:
    """Return whether few elements of each column of a matrix are not zero."""
    if array.ndim < 2 or array.dtype.kind != "f" or not 0 < array.size <= _MOST_ELEMENTS:
        return False
    if not _FEWEST_ROWS <= len(array) <= _MOST_ROWS:
        return False
    most = int(np.count_nonzero(array, axis=0).max())
    return (most + 1) * _SHARE <= len(array) and not (np.signbit(array) & (array == 0)).any()


def _drop_constants(ir: IR) -> None:
    """Drop the constants that nothing reads any more, and number the others anew."""
    read = sorted({of.attrs[0] for of in ir.instructions if of.op == "constant"})
    numbers = {old: new for new, old in enumerate(read)}
    for of in ir.instructions:
        if of.op == "constant":
            of.attrs = (numbers[of.attrs[0]],)
    ir.constants = [ir.constants[number] for number in read]


class Batches:
    """What is a batch of ``count`` rows, each computed from the same row of operands and from others whole.

    The rows of an array are along its first axis, or are as many blocks of it.

    Parameters
    ----------
    ir : IR
    count : int
    seeds : container of int
        The constants, by number, that batches begin with.

    Attributes
    ----------
    places : dict of int to numpy.ndarray
        Of each batch that is worth it, where its rows may differ from the common one: bool, of its shape.
    spread : dict of int to int
        Values whose rows are all the common one, and how many instructions have made them of one row.
    """

    def __init__(self, ir: IR, count: int, seeds: Container[int]) -> None:
        self.ir, self.count, self.seeds, self.old = ir, count, seeds, ir.instructions
        self.places: dict[int, np.ndarray] = {}
        self.spread: dict[int, int] = {}
        self._left = _MOST_IN_ALL
        self._regions = Regions()  # batches that have something in common share a colouring
        self._conflicts: dict[int, np.ndarray] = {}  # by the root
        self._colours: dict[int, np.ndarray] = {}
        for id, of in enumerate(self.old):
            if of.shape and of.shape[0] % count == 0 and 0 < of.size <= _MOST_ELEMENTS:
                places = self._places_of(id, of)
                if places is not None:
                    self._add(id, of, places)
        self._drop_what_is_not_worth_it()

    def colours_of(self, id: int) -> np.ndarray:
        """Return which row stands for each row of a batch: 0 is the common one."""
        return self._colours[self._regions.root(id)]

    def length_of(self, id: int) -> int:
        """Return how many rows stand for those of a batch."""
        return int(self.colours_of(id).max()) + 1

    # ---- which values --------------------------------------------------------------------------------

    def _places_of(self, id: int, of: Instruction) -> np.ndarray | None:
        """Return where the rows of a result may differ from a common one; None if it does not have rows."""
        if of.op == "constant":
            (number,) = of.attrs
            return self.ir.constants[number] != 0 if number in self.seeds else None
        if of.op == "broadcast" and self._is_one_row(of):
            self.spread[id] = 0
            return None
        are_known = all(self.is_by_rows(of, k) or self._is_whole(of, k) for k in range(len(of.operands)))
        masks = [self.places[x] for x in of.operands if x in self.places]
        if not are_known or not (of.op in ELEMENTWISE or of.op in _PLACES):
            return None
        if not masks:
            depths = [self.spread[x] for k, x in enumerate(of.operands) if self.is_by_rows(of, k)]
            if depths and max(depths) < _DEPTH:
                self.spread[id] = max(depths) + 1
            return None
        if of.op in ELEMENTWISE:
            if masks[0].shape == of.shape and all(mask is masks[0] for mask in masks):
                return masks[0]
            return _as(reduce(np.logical_or, masks), of.shape)
        places: np.ndarray = _PLACES[of.op](of, [self._mask(x) for x in of.operands])
        return places

    def _is_one_row(self, of: Instruction) -> bool:
        """Return whether all rows of what is broadcast are the same one."""
        (x,) = of.operands
        core = self.old[x]
        return x not in self.places and (len(core.shape) < len(of.shape) or core.shape[0] == 1)

    def _mask(self, x: int) -> np.ndarray:
        return self.places[x] if x in self.places else np.broadcast_to(False, self.old[x].shape)

    def is_by_rows(self, of: Instruction, k: int) -> bool:
        """Return whether each row of a result depends on the same row of an operand alone."""
        x = of.operands[k]
        if x not in self.places and x not in self.spread:
            return False
        op, attrs, shape = of.op, of.attrs, self.old[x].shape
        is_aligned = len(shape) == len(of.shape) and shape[0] == of.shape[0]
        if op == "matmul":
            return is_aligned and not attrs and (k == 0 or len(shape) > 2)
        if op == "take":
            return k == 0 and attrs[0] > 0
        if op == "fold":
            return 0 not in attrs[1]
        if op == "concatenate":
            return is_aligned and attrs[0] > 0
        if op == "transpose":
            return attrs[0][0] == 0
        if op in ("slice", "put", "add_at"):
            return is_aligned and len(attrs) == 2 and attrs[0][0] == 0 and attrs[1][0] == 1
        if op == "broadcast" or op in ELEMENTWISE:
            return is_aligned
        return op == "reshape"

    def _is_whole(self, of: Instruction, k: int) -> bool:
        """Return whether all rows of a result depend on an operand, which is no batch, in the same way."""
        x, op = of.operands[k], of.op
        if x in self.places:
            return False
        if op == "take" or (op == "matmul" and len(of.shape) == 2):
            return k == 1
        shape = self.old[x].shape
        return (op in ELEMENTWISE or op == "matmul") and (len(shape) < len(of.shape) or shape[0] == 1)

    # ---- which rows go together ----------------------------------------------------------------------

    def _add(self, id: int, of: Instruction, places: np.ndarray) -> None:
        """Take a value for a batch, unless too many of its rows have places in common."""
        roots = {self._regions.root(x) for x in of.operands if x in self.places}
        known = [self._conflicts[root] for root in roots]
        is_told = len(roots) == 1 and (
            (of.op in VIEWS and of.op != "broadcast")
            or any(self.places.get(x) is places for x in of.operands)
        )
        if is_told:
            (conflicts,) = known
        else:
            found = self._conflicts_of(places)
            if found is None:
                return
            conflicts = reduce(np.logical_or, known, found)
        same = next((root for root in roots if np.array_equal(self._conflicts[root], conflicts)), None)
        colours = _coloured(conflicts) if same is None else self._colours[same]
        if places.base is None and not is_told:
            self._left -= places.size
        if (colours.max() + 1) * _SHARE > self.count or self._left < 0:
            return
        self.places[id] = places
        for root in roots:
            del self._conflicts[root], self._colours[root]
        self._regions.add(id, roots)
        self._conflicts[id], self._colours[id] = conflicts, colours

    def _conflicts_of(self, places: np.ndarray) -> np.ndarray | None:
        """Return which rows have places in common, and which have any: on the diagonal. None if too many."""
        rows = places.reshape(self.count, -1)
        owners = rows.sum(axis=0)
        if (owners.max(initial=0) + 1) * _SHARE > self.count or owners @ owners > _MOST_PAIRS:
            return None
        conflicts = _overlapping(rows[:, owners > 1])
        np.fill_diagonal(conflicts, rows.any(axis=1))
        return conflicts

    # ---- whether that is worth it ----------------------------------------------------------------------

    def _drop_what_is_not_worth_it(self) -> None:
        spread = self._read_as_a_whole()
        saved = dict.fromkeys(map(self._regions.root, self.places), 0.0)
        for id in self.places:
            of, root = self.old[id], self._regions.root(id)
            if of.op not in _GIVEN:
                saved[root] += self._time_of(of) * (1 - self.length_of(id) / self.count)
            if id in spread:
                spreading = _SPREADING if of.size <= _FAR else _SPREADING_FAR
                saved[root] -= of.size * (_COPYING if self.are_rows_alone(id) else spreading)
        worthy = {root for root, time in saved.items() if time >= _WORTH_IT}
        self.places = {id: places for id, places in self.places.items() if self._regions.root(id) in worthy}

    def _time_of(self, of: Instruction) -> float:
        cost = INSTRUCTIONS[of.op].cost
        if of.op in ELEMENTWISE:
            return of.size * (_QUICK if cost is QUICK else _SLOW)
        return cost.typical(of, self.old)

    def _read_as_a_whole(self) -> set[int]:
        """Return the batches that something reads all rows of."""
        read = set(self.ir.outputs)
        for id, of in enumerate(self.old):
            if id not in self.places and self.ranges_of(of) is None:
                read.update(of.operands)
        return {id for id in read if id in self.places and self.old[id].op != "constant"}

    def are_rows_alone(self, id: int) -> bool:
        """Return whether each row of a batch is a whole row of those that stand for them."""
        return bool((np.bincount(self.colours_of(id))[1:] == 1).all())

    def ranges_of(self, of: Instruction) -> tuple[list[int], list[int]] | None:
        """Return the ranges along an axis if this is a sum over it in which each row has one; else None.

        Returns
        -------
        bounds : list of int
            Where each range begins, and the length of the axis.
        numbers : list of int
            The range of each row outside of which it is the common one; -1 for none.
        """
        if of.op != "fold" or of.attrs[0] != "sum" or of.operands[0] not in self.places:
            return None
        (x,), axis = of.operands, of.attrs[1][0]
        places = self.places[x]
        if axis == 0 or len(places) != self.count:
            return None
        others = tuple([k for k in range(1, places.ndim) if k != axis])
        has = np.asarray(places.any(axis=others))
        is_any = np.asarray(has.any(axis=1))
        first, end = has.argmax(axis=1), has.shape[1] - has[:, ::-1].argmax(axis=1)
        bounds, reached = [0], 0
        for start, stop in sorted(set(zip(first[is_any].tolist(), end[is_any].tolist(), strict=True))):
            if 0 < reached <= start:
                bounds.append(start)
            reached = max(reached, stop)
        numbers = np.searchsorted(bounds, first, side="right") - 1
        members = list(zip(numbers[is_any].tolist(), self.colours_of(x)[is_any].tolist(), strict=True))
        if not 2 <= len(bounds) <= _MOST_RANGES or len(set(members)) < len(members):
            return None
        numbers[~is_any] = -1
        return [*bounds, places.shape[axis]], numbers.tolist()


def _overlapping(rows: np.ndarray) -> np.ndarray:
    """Return which rows have a place in common with each other."""
    owners, places = rows.nonzero()
    order = np.argsort(places, kind="stable")
    owners, places = owners[order], places[order]
    overlapping = np.zeros((len(rows), len(rows)), bool)
    for k in range(1, len(rows)):  # each owner of a place and the k-th after it
        is_same = places[k:] == places[:-k]
        if not is_same.any():
            break
        overlapping[owners[:-k][is_same], owners[k:][is_same]] = True
    return overlapping | overlapping.T


def _coloured(conflicts: np.ndarray) -> np.ndarray:
    """Return a colour for each row that has places, another one than those it has places in common with."""
    colours = np.zeros(len(conflicts), np.int64)
    for row, others in enumerate(conflicts):
        if others[row]:
            is_taken = np.zeros(row + 2, bool)
            is_taken[0] = True
            is_taken[colours[:row][others[:row]]] = True
            colours[row] = is_taken.argmin()
    return colours


# ---- places of results, given those of operands ------------------------------------------------------


def _as(places: Any, shape: Shape) -> np.ndarray:
    """Return places, those of several elements at a time broadcast to a shape."""
    return places if places.shape == shape else np.broadcast_to(places, shape)


def _of_matmul(of: Instruction, masks: list[np.ndarray]) -> np.ndarray:
    a, b = masks
    return _as(a.any(axis=-1, keepdims=True) | b.any(axis=-2, keepdims=True), of.shape)


def _of_put(of: Instruction, masks: list[np.ndarray]) -> np.ndarray:
    total, values = masks
    places, part = total.copy(), _part(of, values.shape)
    places[part] = values if of.op == "put" else places[part] | values
    return places


def _of_slice(of: Instruction, masks: list[np.ndarray]) -> np.ndarray:
    return masks[0][_part(of, of.shape)]


def _part(of: Instruction, shape: Shape) -> Any:
    """Return the index of a part, given its start, step and count along each axis."""
    return np.ix_(*[range(a, a + step * n, step) for a, step, n in zip(*of.attrs, shape, strict=True)])


def _of_take(of: Instruction, masks: list[np.ndarray]) -> np.ndarray:
    return _as(masks[0].any(axis=of.attrs[0], keepdims=True), of.shape)


_PLACES: dict[str, Any] = {
    "fold": lambda of, masks: masks[0].any(axis=of.attrs[1]),
    "matmul": _of_matmul,
    "concatenate": lambda of, masks: np.concatenate(masks, axis=of.attrs[0]),
    "put": _of_put,
    "add_at": _of_put,
    "take": _of_take,
    "slice": _of_slice,
    "reshape": lambda of, masks: masks[0].reshape(of.shape),
    "transpose": lambda of, masks: masks[0].transpose(of.attrs[0]),
    "broadcast": lambda of, masks: _as(masks[0], of.shape),
}
