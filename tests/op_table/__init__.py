"""Every operation, one line each: its name, the function, the arguments it is well conditioned at.

A function takes the namespace that runs it first: `tape.ops` on arrays or on Vars, NumPy on Vars, or
`tests.naive` as the oracle. `tests.test_ops` derives all its checks from `CASES`. The first word of a
case's name is the operation; adding one means adding its line to the file of its family, which has the
name of the file in ``tape/ops``.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import islice
from operator import attrgetter
from pkgutil import iter_modules

import pytest

from tape import ops
from tests.op_table.case import Case
from tests.tiers import is_full

FAMILIES = [name for _, name, _ in iter_modules(__path__) if name != "case"]
CASES: list[Case] = [case for family in FAMILIES for case in import_module(f"tests.op_table.{family}").CASES]


def two_of_each(cases: Iterable[Case]) -> list[Case]:
    """For each operation its case with the most elements and, if another, the one with the most arguments."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.op, []).append(case)
    largest = [max(group, key=lambda case: case.size) for group in groups.values()]
    richest = [max(group, key=lambda case: (len(case.arguments), case.size)) for group in groups.values()]
    return [case for group in groups.values() for case in group if case in largest or case in richest]


TWO_OF_EACH = two_of_each(CASES)
"""What stands for all cases where an operation as such is looked at, and not its rules."""


def in_ops(case: Case) -> bool:
    """Whether a case is one of `tape.ops`, and not of functions made of those, such as `tape.scipy.stats`."""
    try:
        attrgetter(case.op)(ops)
    except AttributeError:
        return False
    return True


_OF_SCIPY = ("special.", "scipy.", "stats.")


def lightly(cases: Iterable[Case]) -> list[Case]:
    """Return all cases in the full tier; in the plain tier those of every third of SciPy's functions.

    These have rules of one or two kinds, which are looked at in each of them when all tests run.
    """
    wanted = list(cases)
    if is_full():
        return wanted
    names = dict.fromkeys(case.op for case in CASES if case.op.startswith(_OF_SCIPY))
    left = set(list(names)[::3])
    return [case for case in wanted if case.op in left or case.op not in names]


def few_of_each(cases: Iterable[Case]) -> list[Case]:
    """Return all cases in the full tier, `two_of_each` operation in the plain tier."""
    wanted = list(cases)
    return wanted if is_full() else two_of_each(wanted)


def one_of_each(cases: Iterable[Case]) -> list[Case]:
    """Return all cases in the full tier; in the plain tier one of each operation, `lightly`."""
    wanted = lightly(cases)
    return wanted if is_full() else list({case.op: case for case in wanted}.values())


def a_third(cases: Iterable[Case], part: int) -> list[Case]:
    """Return all cases in the full tier; in the plain tier those of every third operation.

    Tests that take long look at parts 0, 1 and 2 of the operations: each operation is in some of them.
    """
    wanted = list(cases)
    if is_full():
        return wanted
    present = {case.op for case in wanted}
    names = list(dict.fromkeys(case.op for case in CASES if case.op in present))
    chosen = set(names[part::3])
    return [case for case in wanted if case.op in chosen]


def spread(cases: Iterable[Case]) -> list[Case]:
    """Return all cases in the full tier; in the plain tier `two_of_each` operation, and one more.

    Which one that is changes from operation to operation, so that of a family all kinds are there.
    """
    wanted = list(cases)
    if is_full():
        return wanted
    chosen = two_of_each(wanted)
    others: dict[str, list[Case]] = {}
    for case in wanted:
        others.setdefault(case.op, []).extend([case] if case not in chosen else [])
    chosen += [group[k % len(group)] for k, group in enumerate(others.values()) if group]
    return [case for case in wanted if case in chosen]


_TOGETHER = 8
"""How many operations make one test: each test takes milliseconds to manage."""


def by_operation(cases: Iterable[Case]) -> Callable[[Callable[[Case], None]], Callable[[list[Case]], None]]:
    """Make a test of a case a few tests of all cases, named after the operations: ``-k matmul`` finds one."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.op, []).append(case)
    packs = list(batched(groups, _TOGETHER))

    def decorate(test: Callable[[Case], None]) -> Callable[[list[Case]], None]:
        @pytest.mark.parametrize(
            "pack", [[case for op in pack for case in groups[op]] for pack in packs], ids=map("+".join, packs)
        )
        def test_all(pack: list[Case]) -> None:
            for case in pack:
                try:
                    test(case)
                except BaseException as error:
                    error.add_note(f"case {case}")
                    raise

        test_all.__name__, test_all.__doc__ = test.__name__, test.__doc__
        test_all.of_operations = True  # type: ignore[attr-defined]  # for `tests.packs`
        return test_all

    return decorate


def batched(items: Iterable[str], size: int) -> Iterable[tuple[str, ...]]:
    """Packs of so many, the last one with what is left."""
    remaining = iter(items)
    while pack := tuple(islice(remaining, size)):
        yield pack
