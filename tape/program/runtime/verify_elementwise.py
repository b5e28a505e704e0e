"""Checks of elementwise rows, and of the blocks that run them."""

from __future__ import annotations

import numpy as np

from tape.kernels.codes import BY_ROWS, CAST_CODES, CAST_ITEMSIZES, COPY_ITEMSIZES, PAIRS, has_cast
from tape.program.runtime.checks import COPIED, LAST_ELEMENTWISE, MOST, Checks, need_spread, ufunc_loops
from tape.program.runtime.extents import Rows

__all__ = ["binary", "blocks", "by_rows", "cast", "pair", "select", "unary"]

_CASTABLE = np.array([[has_cast(source, target) for target in CAST_CODES] for source in CAST_CODES])

_PAIR_STEPS = np.array([[letter == "a" for letter in form] for *_, form in PAIRS])


def blocks(v: Checks, group: Rows) -> None:
    kinds = v.words[:, 0]
    rows = group.between("rows", 0, v.rows - 1 - group.numbers)
    # A block may work in registers alone: no memory limits how long it runs.
    count = group.between("count", 1, v.claims.sizes.max(initial=0))
    block = group.between("block", 1, MOST)
    group.between("portion", 1, MOST)
    group.between("once", 0, rows)
    group.between("operations", 0, MOST)
    for k, at in enumerate(group.numbers + 1):
        inside = slice(at, at + rows[k])
        if (kinds[inside] > LAST_ELEMENTWISE).any():
            group.refuse(k, "rows", "includes rows that are not elementwise")
        if (v.elements[inside] != count[k]).any():
            group.refuse(k, "count", f"is {count[k]}, but rows of the block have another count")
        v.near[inside] = min(count[k], block[k])


def _ufunc(v: Checks, group: Rows, operands: str) -> None:
    loops = ufunc_loops()
    counts, *rest = loops[group.between("function", 0, len(loops) - 1)].T
    sizes, units = rest[:3], rest[3:]
    group.need(counts == len(operands.split()), "function", f"It is not a loop of a {group.name} row")
    for field, size, unit in zip(operands.split(), sizes, units, strict=False):
        step, is_out = group[f"stride_{field}"], field == "out"
        if is_out:
            need_spread(group, "stride_out", step, size)
        count = v.count(group, field)
        v.claims.add(group, field, unit, count, step=step, part=size, is_written=is_out)


def unary(v: Checks, group: Rows) -> None:
    _ufunc(v, group, "x out")


def binary(v: Checks, group: Rows) -> None:
    _ufunc(v, group, "x y out")


def cast(v: Checks, group: Rows) -> None:
    first, last = (group.between(field, 0, len(CAST_ITEMSIZES) - 1) for field in ("from", "to"))
    group.need(_CASTABLE[first, last], "to", "No such conversion")
    source, target = CAST_ITEMSIZES[first], CAST_ITEMSIZES[last]
    v.claims.add(group, "x", source, v.count(group, "x"))
    v.claims.add(group, "out", target, v.count(group, "out"), is_written=True)


def select(v: Checks, group: Rows) -> None:
    size = group.one_of("itemsize", COPY_ITEMSIZES)
    unit = np.minimum(size, COPIED)
    v.claims.add(group, "condition", 1, v.count(group, "condition"))
    for field in ("x", "y"):
        step = group[f"stride_{field}"]
        group.need((step == 0) | (step == size), f"stride_{field}", "It must be 0 or the itemsize")
        v.claims.add(group, field, unit, v.count(group, field), step=step, part=size)
    count = v.count(group, "out")
    v.claims.add(group, "out", unit, count, step=size, part=size, is_written=True)


def by_rows(v: Checks, group: Rows) -> None:
    group.between("kind", 0, max(BY_ROWS.values()))
    size, columns = group.one_of("itemsize", (4, 8)), group.between("columns", 1, MOST)
    rows = -(-v.elements[group.numbers] // columns)  # all of them, in a block too: they are read in place
    v.claims.add(group, "x", size, v.count(group, "x"))
    v.claims.add(group, "y", size, rows, step=group["stride"], part=size)
    v.claims.add(group, "out", size, v.count(group, "out"), is_written=True)


def pair(v: Checks, group: Rows) -> None:
    kind = group.between("kind", 0, len(_PAIR_STEPS) - 1)
    size = group.one_of("itemsize", (4, 8))
    for field, steps in zip("xyz", _PAIR_STEPS[kind].T, strict=True):
        step = group[f"stride_{field}"]
        group.need(step == steps * size, f"stride_{field}", "It must be the itemsize, or 0 for a number")
        v.claims.add(group, field, size, v.count(group, field), step=step, part=size)
    v.claims.add(group, "out", size, v.count(group, "out"), is_written=True)
