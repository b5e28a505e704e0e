"""Compiling the machine and the kernels, by numba: in another process than that which needs the code.

It is the only module of the package that imports numba, with `tape.kernels.compiled` and the machine.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm
from numba import cfunc, types

from tape import errors
from tape.config import usable_cores
from tape.kernels import shipped
from tape.kernels.compiled import (
    by_rows,
    circular,
    columns,
    convert,
    copies,
    counting,
    differences,
    eager,
    exponentials,
    extremes,
    factors,
    folds,
    indices,
    logarithms,
    matrices,
    normal,
    numpy_loops,
    pairs,
    products,
    scans,
    searching,
    selection,
    sliding,
    small,
    sorting,
    sparse,
    stacks,
    systems,
    transposition,
    weighted,
    windowed,
    writes,
)
from tape.kernels.compiled._jit import FEATURES, OPTIONS, PROCESSOR
from tape.kernels.fingerprint import sources
from tape.kernels.groups import ALL
from tape.kernels.loading import C_FUNCTIONS, MACHINE, UNREACHED, file_of, packed, unpacked
from tape.kernels.making import SECONDS, helper, received, sent
from tape.kernels.registry import GROUPS
from tape.kernels.ufuncs import UFUNC_GROUPS
from tape.program.native import machine, parts, workers
from tape.system import cache

_SILENT = (
    copies.load, copies.store, writes.add_store, convert.cast, convert.select, by_rows.by_rows, pairs.pair,
    folds.fold, machine.scalars, machine.shorts, products.sum_product, numpy_loops.numpy_fold, scans.scan,
)  # fmt: skip
_TELLING = (
    indices.take, indices.scatter_add, writes.ravel_index, writes.read_integer, systems.solve,
    systems.cholesky, systems.triangular_solve, machine.call, machine.run, parts.work,
    workers.serve,
)  # fmt: skip
_OF_KERNELS = (
    columns, counting, differences, extremes, factors, indices, matrices, searching, selection, sliding,
    small, sorting, sparse, stacks, transposition, weighted, windowed,
)  # fmt: skip
_KERNELS = {name: function for module in _OF_KERNELS for name, function in module.KERNELS.items()}
_LOOPS: tuple[Any, ...] = (normal, circular, exponentials, logarithms)

Unit = tuple[Any, bool]
"""A function that is compiled, and whether it returns a number."""

_UNITS: dict[str, dict[str, Unit]] = {
    MACHINE: {
        **{function.__name__: (function, False) for function in _SILENT},
        **{function.__name__: (function, True) for function in _TELLING},
    },
    **{
        group: {name: (function, True) for name, function in functions.items()}
        for group, functions in eager.FUNCTIONS.items()
    },
    **{group: {name: (_KERNELS[name], True) for name in kernels} for group, kernels in GROUPS.items()},
    **{
        group: {
            f"{name} {char}->{char}": (module.LOOPS[name][char], False)
            for name, chars in ufuncs.items()
            for char in chars
        }
        for (group, ufuncs), module in zip(UFUNC_GROUPS.items(), _LOOPS, strict=True)
    },
}
UNITS = {group: _UNITS[group] for group in ALL}
"""The units of each group; groups in the order in which they are compiled."""

_HALF = ("fold", "sum_product", "take", "scatter_add", "cast", "select", "store")
"""Units that take about half of the time that the machine takes to compile."""
_MOST_FILES = 8  # versions of a group that are cached

Part = tuple[str, tuple[str, ...]]
"""A group and some of its units."""


def compile_groups(first: str) -> None:
    """Write the code of all groups to the cache and to the output, a group as soon as it is there.

    What another process has made meanwhile is not compiled again.
    """
    with cache.alone(SECONDS):
        missing = []
        for group in (first, *(group for group in UNITS if group != first)):
            found = _cached(group)
            if found is None:
                missing.append(group)
            else:
                sent(sys.stdout.buffer, group, found)
        _make(missing)


def compile_parts(parts: Sequence[Part]) -> None:
    """Write the code of some units to the output."""
    for group, names in parts:
        sent(sys.stdout.buffer, group, _compiled(group, names))


def _cached(group: str) -> dict[str, tuple[str, bytes]] | None:
    name = file_of(group)
    content = None if name is None else cache.read(name)
    return None if content is None else unpacked(content)


def _make(groups: Sequence[str]) -> None:
    """Compile groups, half of them in another process if there is a second core."""
    mine, theirs = _shares(groups)
    other = None
    if theirs and usable_cores() > 1:
        with suppress(OSError):
            other = helper("compile_parts", theirs)
    found: dict[str, dict[str, tuple[str, bytes]]] = {}
    lock = threading.Lock()

    def keep(group: str, objects: dict[str, tuple[str, bytes]]) -> None:
        with lock:
            found.setdefault(group, {}).update(objects)
            if len(found[group]) == len(UNITS[group]):
                name = file_of(group)
                if name is not None:
                    cache.write(name, packed(found[group]), _MOST_FILES)
                sent(sys.stdout.buffer, group, found[group])

    def receive() -> None:
        try:
            for group, objects in received(other.stdout):  # type: ignore[union-attr]
                keep(group, objects)
        except Exception as error:  # it may have printed anything; what it has not made is made here
            print(f"the second process: {error}", file=sys.stderr)
        finally:
            other.kill()  # type: ignore[union-attr]

    reader = threading.Thread(target=receive, daemon=True)
    if other is not None:
        reader.start()
    for group, names in mine:
        keep(group, _compiled(group, names))
    if other is not None:
        reader.join()
        other.complaint()
    for group, names in theirs:  # all of them, if there is no other process; what it has failed to make
        left = [name for name in names if name not in found.get(group, ())]
        if left:
            keep(group, _compiled(group, left))


def _shares(groups: Sequence[str]) -> tuple[list[Part], list[Part]]:
    """Share groups out among two processes: the machine in halves, of the others every second one."""
    shares: tuple[list[Part], list[Part]] = ([], [])
    for k, group in enumerate(groups):
        names = tuple(UNITS[group])
        if group == MACHINE:
            shares[0].append((group, tuple([name for name in names if name not in _HALF])))
            shares[1].append((group, _HALF))
        else:
            shares[k % 2].append((group, names))
    return shares


def build(folder: str) -> None:
    """Write the code for `PROCESSOR` to a folder, with an index, and the names of groups to the output."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    digests = {}
    for group in UNITS:
        content = packed(_compiled(group, UNITS[group]))
        (target / f"{group}.bin").write_bytes(content)
        digests[group] = sha256(content).hexdigest()
        print(group, flush=True)
    index = {"sources": sources(), "processor": PROCESSOR, "digests": digests}
    (target / shipped.INDEX).write_text(json.dumps(index, indent=1))


def _compiled(group: str, names: Iterable[str]) -> dict[str, tuple[str, bytes]]:
    """Compile some units; return symbol and object code of each."""
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=PROCESSOR, features=FEATURES, opt=3, jit=True, reloc="default", codemodel="jitdefault"
    )
    objects = {}
    for name in names:
        function, returns = UNITS[group][name]
        body = function.py_func
        arguments = [types.int64] * body.__code__.co_argcount
        signature = (types.int64 if returns else types.void)(*arguments)
        compiled: Any = cfunc(signature, **OPTIONS)(body)
        module = compiled._library._final_module
        _check_symbols(name, module)
        objects[name] = (compiled.native_name, target.emit_object(module))
    return objects


def _check_symbols(name: str, module: Any) -> None:
    """Check that LLVM will find everything a kernel refers to."""
    from ctypes import pythonapi

    for symbol in (*module.functions, *module.global_variables):
        is_known = symbol.name in C_FUNCTIONS or symbol.name in UNREACHED or symbol.name.startswith("llvm.")
        if symbol.is_declaration and not is_known and not hasattr(pythonapi, symbol.name):
            raise errors.UnsupportedError(f"the kernel {name} refers to {symbol.name}, which is not known")
