"""Reading elements."""

from typing import Any

import numpy as np

from tests.op_table.case import Case, classes, real


def getitem(told: str, index: Any, *shape: int) -> Case:
    """Reading by a static index."""
    return Case(f"getitem {told}", lambda ns, x: ns.getitem(x, index), real(*shape))


CASES = [
    getitem("int", 1, 3),
    getitem("negative int", -1, 3, 2),
    getitem("to 0d", (1, 0), 3, 2),
    getitem("of 0d", ()),
    getitem("ellipsis of 0d", ...),
    getitem("None of 0d", None),
    getitem("slice", slice(1, None), 4, 2),
    getitem("steps", (slice(None, None, 2), slice(None, None, -1)), 5, 3),
    getitem("empty slice", slice(2, 2), 4, 2),
    getitem("None, Ellipsis", (None, ..., slice(0, 1)), 2, 3),
    getitem("Ellipsis", (..., 1), 2, 3, 4),
    getitem("list with repeats", [0, 2, 2, -1], 4),
    getitem("2-d ints with repeats", np.array([[0, 1], [1, 1]]), 3, 2),
    getitem("two int arrays", (np.array([0, 1, 1]), np.array([2, 0, 0])), 2, 3),
    getitem("broadcast int arrays", (np.array([[0], [1]]), np.array([2, 0, 0])), 2, 3),
    getitem("split int arrays", (np.array([0, 1, 1]), slice(None), np.array([2, 0, 0])), 2, 2, 3),
    getitem("no ints", [], 3, 2),
    getitem("mask", np.array([True, False, True]), 3, 2),
    getitem("full mask", np.array([[True, False], [True, True]]), 2, 2),
    getitem("all False", np.array([False, False]), 2, 2),
    getitem("mask, slice", (np.array([True, False, True]), slice(None, None, -1)), 3, 2),
    getitem("mask, int", (np.array([True, False, True]), 1), 3, 2),
    getitem("slice, ints, None", (slice(0, 2), np.array([1, 1]), None), 3, 2),
    getitem("True", True, 2),
    getitem("NumPy int", np.int32(1), 3),
    Case("getitem by data", lambda ns, x, i: ns.getitem(x, i), real(4, 2), classes(2, 3)),
    Case("getitem by data, slice", lambda ns, x, i: ns.getitem(x, (slice(1, 3), i)), real(4, 5), classes(3)),
    Case("getitem chained", lambda ns, x: ns.getitem(ns.getitem(x, [0, 0, 2]), slice(1, None)), real(3)),
]  # fmt: skip
