"""Products that sum over chosen axes, and those that sum over none."""

from typing import Any

from tests.op_table.case import Case, call, complexes, joined, real


def tensordot(axes: Any, *shapes: tuple[int, ...]) -> Case:
    return Case(f"tensordot {axes} {joined(shapes)}".replace(", ", ","),
                call("tensordot", axes=axes), *(real(*shape) for shape in shapes))  # fmt: skip


def multi_dot(ns: Any, *args: Any) -> Any:
    return ns.linalg.multi_dot(args)


CASES = [
    *(Case(f"dot {joined(pair)}", call("dot"), real(*pair[0]), real(*pair[1]))
      for pair in (((), (2, 3)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)),
                   ((5, 2, 3), (3,)), ((5, 2, 3), (3, 4)), ((3,), (2, 3, 4)), ((5, 2, 3), (2, 3, 4)),
                   ((2, 0), (2, 0, 3)))),
    Case("dot complex", call("dot"), complexes(2, 3), complexes(2, 3, 2)),
    *(Case(f"inner {joined(pair)}", call("inner"), real(*pair[0]), real(*pair[1]))
      for pair in (((), (2, 3)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (5, 4, 3)),
                   ((0, 3), (2, 3)))),
    Case("inner complex", call("inner"), complexes(2, 3), complexes(4, 3)),
    tensordot(2, (2, 3, 4), (3, 4, 2)),
    tensordot(0, (2, 3), (2,)),
    tensordot(1, (3,), (3,)),
    tensordot((0, 1), (3, 2), (2, 3)),
    tensordot(((-1, 0), (0, 1)), (3, 4, 2), (2, 3, 2)),
    tensordot(1, (2, 0), (0, 3)),
    Case("tensordot complex", call("tensordot", axes=([0], [1])), complexes(3, 2), complexes(2, 3)),
    Case("linalg.multi_dot chain", multi_dot, real(2, 5), real(5, 3), real(3, 4), real(4, 2)),
    Case("linalg.multi_dot vectors", multi_dot, real(2), real(2, 3), real(3)),
    Case("linalg.multi_dot row", multi_dot, real(2), real(2, 3), real(3, 2)),
    Case("linalg.multi_dot two", multi_dot, real(2, 3), real(3)),
    Case("linalg.multi_dot complex", multi_dot, complexes(2, 3), complexes(3, 2), complexes(2)),
]  # fmt: skip
