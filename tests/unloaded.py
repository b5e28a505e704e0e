"""A process in which machine code has not been loaded yet, or not all of it, within this one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tape.kernels import eager, loading
from tape.kernels.groups import ALL
from tape.kernels.registry import GROUPS
from tape.program.native import functions, ufuncs
from tape.program.native.opcodes import KERNELS

_STILL_CALLED: list[Any] = []  # code that the table of functions and programs refer to: it must not be freed


@contextmanager
def unloaded(groups: tuple[str, ...] = ALL) -> Iterator[None]:
    """A context in which groups have to be found again; afterwards all is as it was.

    Parameters
    ----------
    groups : tuple of str
        Which.
    """
    loaded, numbers = dict(loading._loaded), dict(functions._numbers)
    tables = {name: dict(table) for name, table in eager._tables.items()}
    absent, is_avoided = set(eager._absent), eager._ABSENT in eager.AVOIDED
    table = functions.FUNCTION_TABLE.copy()
    _forget(groups)
    try:
        yield
    finally:
        _STILL_CALLED.extend(loading._loaded.values())
        loading._loaded.clear()
        loading._loaded.update(loaded)
        eager._absent.clear()
        eager._absent.update(absent)
        for name, kernels in eager._tables.items():
            kernels.clear()
            kernels.update(tables.get(name, {}))
        _set_avoided(is_avoided)
        functions.FUNCTION_TABLE[: len(KERNELS)] = table[: len(KERNELS)]
        functions._numbers.update(numbers)
        _forget_ufuncs(tuple(ufuncs.UFUNC_GROUPS))


def _forget(groups: tuple[str, ...]) -> None:
    for group in groups:
        found = loading._loaded.pop(group, None)
        if found is not None:
            _STILL_CALLED.append(found)
        if group in (eager.EAGER, eager.FORMULAS, eager.COLOURING):
            for unit in found.addresses if found is not None else ():
                eager.machine_code(unit.rpartition(" ")[0]).clear()
            eager._absent.add(group)
        for name in GROUPS.get(group, ()):
            functions.FUNCTION_TABLE[KERNELS.index(name)] = 0
    if eager.EAGER in groups:
        _set_avoided(True)
    _forget_ufuncs(tuple(group for group in ufuncs.UFUNC_GROUPS if group in groups))


def _forget_ufuncs(groups: tuple[str, ...]) -> None:
    ufuncs.own_ufunc.cache_clear()
    for group in groups:
        for name in ufuncs.UFUNC_GROUPS[group]:
            ufuncs.UFUNCS[name] = None
            for key in [key for key in functions._numbers if key[0] == name]:
                del functions._numbers[key]


def _set_avoided(is_avoided: bool) -> None:
    while eager._ABSENT in eager.AVOIDED:
        eager.AVOIDED.remove(eager._ABSENT)
    if is_avoided:
        eager.AVOIDED.append(eager._ABSENT)
