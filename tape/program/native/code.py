"""Machine code: compiled by numba once, cached on disk, loaded in milliseconds.

Numba's own cache would do, but reading it imports numba's whole type system, a third of a second in every
process. `tape.system.cache` keeps object code with one symbol a function, which LLVM loads as it is. A file
is for one version of the sources, of numba and of Python, and for one kind of processor.

`native` is the one way to machine code, and `is_available` the one check: programs run only if it says so.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba import cfunc, types

from tape import errors
from tape.config import usable_cores
from tape.kernels import (
    availability,
    circular,
    columns,
    convert,
    copies,
    counting,
    exponentials,
    factors,
    folds,
    headers,
    indices,
    kernel,
    lanes,
    logarithms,
    matrices,
    normal,
    numpy_loops,
    pointers,
    products,
    scalars,
    scans,
    searching,
    selection,
    sliding,
    small,
    sorting,
    sparse,
    sums,
    systems,
    tiles,
    vectors,
    windowed,
    writes,
)
from tape.kernels._jit import OPTIONS
from tape.kernels.availability import Unavailable, give_up, require
from tape.kernels.registry import GROUPS, REGISTRY
from tape.program.native import binding, machine, opcodes
from tape.system import cache

UFUNC_GROUPS: dict[str, dict[str, dict[str, Any]]] = {
    "normal": normal.LOOPS, "circular": circular.LOOPS, "exponentials": exponentials.LOOPS,
    "logarithms": logarithms.LOOPS,
}  # fmt: skip
"""Loops of ufuncs of our own, by the names of the ufuncs and the dtype."""
_UFUNC_LOOPS = {
    group: {f"{name} {char}->{char}": loop for name in ufuncs for char, loop in ufuncs[name].items()}
    for group, ufuncs in UFUNC_GROUPS.items()
}
_SILENT = (
    copies.load, copies.store, writes.add_store, convert.cast, convert.select, folds.fold,
    scalars.scalar_op, machine.scalars, products.sum_product, numpy_loops.numpy_fold, scans.scan,
)  # fmt: skip
_TELLING = (
    indices.take, indices.scatter_add, writes.ravel_index, writes.read_integer, systems.solve,
    systems.cholesky, systems.triangular_solve, machine.call, machine.run, machine.work,
)  # fmt: skip
_UNITS: dict[str, tuple[Any, bool]] = {
    **{function.__name__: (function, False) for function in _SILENT},
    **{function.__name__: (function, True) for function in _TELLING},
    **{name: (entry.function, True) for name, entry in REGISTRY.items()},
    **{name: (loop, False) for loops in _UFUNC_LOOPS.values() for name, loop in loops.items()},
}
"""Functions that are compiled, and whether they return a number."""

_MACHINE = "machine"
_GROUPS = {
    _MACHINE: tuple([function.__name__ for function in (*_SILENT, *_TELLING)]),
    **{group: tuple(loops) for group, loops in _UFUNC_LOOPS.items()},
    **{group: tuple(kernels) for group, kernels in GROUPS.items()},
}
"""Units that are compiled together and cached in one file: one group for all programs, others for few."""

_SOURCES = (
    circular, columns, convert, copies, counting, exponentials, factors, folds, headers, indices, kernel,
    lanes, logarithms, matrices, normal, numpy_loops, pointers, products, scalars, scans, searching,
    selection, sliding, small, sorting, sparse, sums, systems, tiles, vectors, windowed, writes, binding,
    machine, opcodes,
)  # fmt: skip
_C_NAMES = "memcpy memmove memset exp expm1 log log1p pow sqrt sin cos tan tanh atan fmod floor ceil trunc"
_C_FUNCTIONS = frozenset(_C_NAMES.split())
"""Functions of the C library that the code may call."""
_NUMBA_NAMES = (
    "NRT_Free NRT_MemInfo_call_dtor numba_do_raise numba_gil_ensure numba_gil_release numba_unpickle "
    "numba_runtime_build_excinfo_struct"
)
_UNREACHED = frozenset(_NUMBA_NAMES.split())
"""Functions that would be called if a kernel raised, which none does. LLVM must know them all the same, or it
does not resolve other addresses either."""
_MOST_FILES = 8  # versions of the code that are cached
_SECONDS = 600  # after which a helper is killed
_METH_FASTCALL = 0x80


class _MethodDefinition(ctypes.Structure):
    """PyMethodDef in Python's methodobject.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Native:
    """Machine code that is loaded.

    Attributes
    ----------
    addresses : dict of str to int
        Address of each function.
    call : callable or None
        The machine as a Python function, if it is in this group: see `tape.program.native.machine`.
    """

    def __init__(self, objects: dict[str, tuple[str, bytes]]) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        for _, code in objects.values():
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self.addresses = {
            name: self._engine.get_function_address(symbol) for name, (symbol, _) in objects.items()
        }
        self._definitions: list[Any] = []
        self.call: Any = self._as_python("call") if "call" in self.addresses else None

    def _as_python(self, name: str) -> Callable[..., Any]:
        """Make a Python function of this code, which takes its arguments as an array of objects."""
        definition = _MethodDefinition(name.encode(), self.addresses[name], _METH_FASTCALL, None)
        self._definitions.append(definition)
        create = ctypes.pythonapi.PyCFunction_NewEx
        create.restype = ctypes.py_object
        create.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        return create(ctypes.addressof(definition), None, None)


def _name_symbols() -> None:
    """Register the functions that the code refers to with LLVM."""
    libraries = [ctypes.pythonapi, ctypes.CDLL(None)]
    with suppress(OSError):
        libraries.append(ctypes.CDLL("libm.so.6"))
    for name in _C_FUNCTIONS:
        function = next(getattr(lib, name) for lib in libraries if hasattr(lib, name))
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    for name in _UNREACHED:
        if llvm.address_of_symbol(name) is None:  # numba names them when it first compiles something
            llvm.add_symbol(name, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value)


def _check_symbols(name: str, module: Any) -> None:
    """Check that LLVM will find everything a kernel refers to."""
    for symbol in (*module.functions, *module.global_variables):
        is_known = symbol.name in _C_FUNCTIONS or symbol.name in _UNREACHED or symbol.name.startswith("llvm.")
        if symbol.is_declaration and not is_known and not hasattr(ctypes.pythonapi, symbol.name):
            raise errors.UnsupportedError(f"the kernel {name} refers to {symbol.name}, which is not known")


_lock = threading.Lock()
_loaded: dict[str, Native] = {}


def native(group: str = _MACHINE) -> Native:
    """Return the machine code of a group, compiled if necessary, with a message.

    Parameters
    ----------
    group : str
        One of `tape.kernels.registry.GROUPS` or of `UFUNC_GROUPS`; if not given, what every program needs.

    Raises
    ------
    Unavailable
        If it cannot be compiled or loaded: from then on everything runs on plain NumPy.
    """
    if group not in _loaded:
        with _lock:
            if group not in _loaded:
                _loaded[group] = _load(group)
    return _loaded[group]


def is_available() -> bool:
    """Return whether programs can run here; at the first call, load the machine."""
    try:
        native()
    except Unavailable:
        return False
    return availability.is_available()


def is_ready() -> bool:
    """Return whether the machine is loaded, or is on disk: to run a program, nothing has to be compiled."""
    if _MACHINE not in _loaded:
        fingerprint = _fingerprint()
        if fingerprint is None or cache.read(f"{_MACHINE}-{fingerprint}.bin") is None:
            return False
    return is_available()


def _load(group: str) -> Native:
    require()
    try:
        _name_symbols()  # before half a minute is spent on code that cannot be loaded
        return Native(_objects(group))
    except Exception as error:  # any reason why there is no machine code
        give_up(f"the code of {group} cannot be made ({type(error).__name__}: {error})")
        raise Unavailable(group) from error


def _objects(group: str = _MACHINE) -> dict[str, tuple[str, bytes]]:
    """Return symbol and object code of every unit of a group, from the cache or compiled."""
    fingerprint = _fingerprint()
    if fingerprint is None:
        return _compiled(group)
    name = f"{group}-{fingerprint}.bin"
    kept = _kept(name, group)
    if kept is not None:
        return kept
    with cache.alone(_SECONDS):
        kept = _kept(name, group)  # another process may just have compiled it
        if kept is not None:
            return kept
        compiled = _compiled(group)
        cache.write(name, _packed(compiled), _MOST_FILES)
    return compiled


def _kept(name: str, group: str) -> dict[str, tuple[str, bytes]] | None:
    """The code of a group as a file has it; None if there is none, or it is not all of it."""
    content = cache.read(name)
    objects = None if content is None else _unpacked(content)
    return objects if objects is not None and set(objects) == set(_GROUPS[group]) else None


def _fingerprint() -> str | None:
    """Return a hash of all that the code depends on; None where there is no source, as in a zip file."""
    digest = hashlib.sha256()
    try:
        for module in _SOURCES:
            digest.update(Path(str(module.__file__)).read_bytes())
    except OSError:
        return None
    about = (numba.__version__, sys.version, platform.machine(), llvm.get_host_cpu_name())
    digest.update(repr((about, llvm.get_host_cpu_features().flatten())).encode())
    return digest.hexdigest()[:24]


_HALF = ("fold", "sum_product", "take", "scatter_add", "cast", "select", "store")
"""Units that take about half of the compile time of the group that every program needs."""


def _compiled(group: str) -> dict[str, tuple[str, bytes]]:
    """Compile the units of a group, half of them in another process if there is a second core."""
    names = _GROUPS[group]
    half = _HALF if group == _MACHINE else names[1::2]
    of, time = ("", "half a minute") if group == _MACHINE else (f" of {group}", f"{2 * len(names)} seconds")
    print(
        f"tape: compiling {len(names)} kernels{of} for this processor, once; it takes about {time}",
        file=sys.stderr,
        flush=True,
    )
    with _helped(half) if usable_cores() > 1 else nullcontext() as other:
        objects = _compile([name for name in names if name not in half])
        theirs = None if other is None else _made_by(other, half)
    objects |= _compile(half) if theirs is None else theirs
    return {name: objects[name] for name in names}


_HELPER = """
import faulthandler, os, sys, threading, time

def end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)

sys.path[:] = {path!r}
faulthandler.dump_traceback_later({limit}, exit=True)
if hasattr(os, "getppid"):
    threading.Thread(target=end_with, args=({parent},), daemon=True).start()

from tape.program.native.code import _compile, _packed

sys.stdout.buffer.write(_packed(_compile({names!r})))
"""


@contextmanager
def _helped(names: Sequence[str]) -> Iterator[subprocess.Popen[bytes] | None]:
    """Start another Python that compiles some units and writes the code to its output; None if none starts.

    It ends with this context, with its parent however that ends, and after `_SECONDS`.
    """
    python = Path(sys.executable or "")
    if not python.name.startswith("python"):  # embedded in a program that does something else
        yield None
        return
    code = _HELPER.format(path=sys.path, limit=_SECONDS, parent=os.getpid(), names=tuple(names))
    try:
        helper = subprocess.Popen(
            [python, "-c", code],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError):
        yield None
        return
    try:
        yield helper
    finally:
        helper.kill()  # which does nothing to one that has ended
        helper.wait()
        assert helper.stdout is not None
        helper.stdout.close()


def _made_by(helper: subprocess.Popen[bytes], names: Sequence[str]) -> dict[str, tuple[str, bytes]] | None:
    """Return what the other Python has compiled; None if that is something else, or takes too long."""
    try:
        objects = _unpacked(helper.communicate(timeout=_SECONDS)[0])
    except subprocess.TimeoutExpired:
        return None
    return objects if objects is not None and set(objects) == set(names) else None


def _compile(names: Iterable[str]) -> dict[str, tuple[str, bytes]]:
    """Compile some units; return symbol and object code of each."""
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        jit=True,
        reloc="default",
        codemodel="jitdefault",
    )
    objects = {}
    for name in names:
        function, returns = _UNITS[name]
        body = function.py_func
        arguments = [types.int64] * body.__code__.co_argcount
        signature = (types.int64 if returns else types.void)(*arguments)
        compiled: Any = cfunc(signature, **OPTIONS)(body)
        module = compiled._library._final_module
        _check_symbols(name, module)
        code = target.emit_object(module)
        objects[name] = (compiled.native_name, code)
    return objects


def _packed(objects: dict[str, tuple[str, bytes]]) -> bytes:
    """Serialize code: an index, then the code."""
    index = [(name, symbol, len(code)) for name, (symbol, code) in objects.items()]
    head = json.dumps(index).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(code for _, code in objects.values())


def _unpacked(content: bytes) -> dict[str, tuple[str, bytes]] | None:
    """Deserialize code; None if it is something else."""
    start = 8 + int.from_bytes(content[:8], "little")
    objects = {}
    try:
        for name, symbol, length in json.loads(content[8:start]):
            objects[name] = (symbol, content[start : start + length])
            start += length
    except (ValueError, TypeError):
        return None
    return objects if start == len(content) else None
