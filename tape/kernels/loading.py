"""Machine code: read from the disk in milliseconds, compiled by another process where there is none.

Code is loaded a group at a time. A group comes from a file: one that is part of the installation, if there is
one for this processor (`tape.kernels.shipped`), or one in the folder of `tape.system.cache`. A file is for
one version of the sources, of numba and of Python, and for one kind of processor. It holds object code with
one symbol a function, which LLVM loads as it is, so that no process that finds one needs numba.

Otherwise another process makes it, which ends with this one (`tape.kernels.making`). Meanwhile
`find` returns None, and callers compute without machine code; `native` waits, with a message.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache as once
from typing import TYPE_CHECKING, Any

from tape.kernels import shipped
from tape.kernels.availability import Unavailable, give_up, is_available, require
from tape.kernels.fingerprint import fingerprint
from tape.system import cache
from tape.system.collector import collector_paused
from tape.system.locks import lock_across_forks

if TYPE_CHECKING:
    from tape.kernels.making import Maker

MACHINE = "machine"
"""The group that every program needs."""

_C_NAMES = "memcpy memmove memset exp expm1 log log1p pow sqrt sin cos tan tanh atan fmod floor ceil trunc"
C_FUNCTIONS = frozenset(_C_NAMES.split())
"""Functions of the C library that the code may call."""
_NUMBA_NAMES = (
    "NRT_Free NRT_MemInfo_call_dtor numba_do_raise numba_gil_ensure numba_gil_release numba_unpickle "
    "numba_runtime_build_excinfo_struct"
)
UNREACHED = frozenset(_NUMBA_NAMES.split())
"""Functions that would be called if a kernel raised, which none does. LLVM must know them all the same, or it
does not resolve other addresses either."""

POLL = 0.1
"""Seconds between looks for code that is being made, by any process."""
_NOTED = 0.5  # seconds of waiting after which a message says so
_METH_FASTCALL = 0x80


class NotReady(Exception):
    """The code is being compiled: the caller does without it, and asks again later."""


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
    """

    def __init__(self, objects: dict[str, tuple[str, bytes]]) -> None:
        from llvmlite import binding as llvm  # 30 ms, and not needed where no machine code runs

        _name_symbols(llvm)
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
        self._functions: dict[str, Callable[..., Any]] = {}
        # Functions refer to definitions and code by address, and at exit Python drops objects in any order.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def as_python(self, name: str) -> Callable[..., Any]:
        """Return a Python function of this code, which takes its arguments as an array of objects."""
        if name in self._functions:
            return self._functions[name]
        definition = _MethodDefinition(name.encode(), self.addresses[name], _METH_FASTCALL, None)
        self._definitions.append(definition)
        create = ctypes.pythonapi.PyCFunction_NewEx
        create.restype = ctypes.py_object
        create.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        function = self._functions[name] = create(ctypes.addressof(definition), None, None)
        return function


@once
def _name_symbols(llvm: Any) -> None:
    """Register the functions that the code refers to with LLVM."""
    libraries = [ctypes.pythonapi, ctypes.CDLL(None)]
    with suppress(OSError):
        libraries.append(ctypes.CDLL("libm.so.6"))
    for name in C_FUNCTIONS:
        function = next(getattr(lib, name) for lib in libraries if hasattr(lib, name))
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    for name in UNREACHED:
        if llvm.address_of_symbol(name) is None:  # numba names them when it first compiles something
            llvm.add_symbol(name, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value)


# ---- groups ------------------------------------------------------------------------------------------

_lock = lock_across_forks()
_loaded: dict[str, Native] = {}
_maker: Maker | None = None
_waits: ContextVar[bool] = ContextVar("waits", default=True)


def find(group: str) -> Native | None:
    """Return the machine code of a group; None while it is being compiled, which this starts.

    Parameters
    ----------
    group : str
        `MACHINE`, one of `tape.kernels.registry.GROUPS` or of `tape.kernels.ufuncs.UFUNC_GROUPS`, or that of
        `tape.kernels.eager`.

    Raises
    ------
    Unavailable
        If it cannot be compiled or loaded: from then on everything runs on plain NumPy.
    """
    found = _loaded.get(group)
    if found is not None:
        return found
    with _lock, collector_paused():
        if group not in _loaded:
            require()
            try:
                objects = _objects(group)
                if objects is None:
                    return None
                _loaded[group] = Native(objects)
            except Exception as error:  # any reason why there is no machine code
                give_up(f"the code of {group} cannot be made ({type(error).__name__}: {error})")
                raise Unavailable(group) from error
        return _loaded[group]


def _objects(group: str) -> dict[str, tuple[str, bytes]] | None:
    """Return the code of a group; None while it is being compiled, which this starts."""
    global _maker
    if _maker is not None and not _maker.is_due(group):
        return None
    found = _on_disk(group)
    if found is None:
        if _maker is None or _maker.is_of_another_process():
            from tape.kernels.making import Maker  # which takes long to import

            _maker = Maker(group)
        found = _maker.objects(group)
    return found


def native(group: str = MACHINE) -> Native:
    """Return the machine code of a group; wait for it with a message, unless in `without_waiting`.

    Parameters
    ----------
    group : str
        As for `find`.

    Raises
    ------
    NotReady
        In `without_waiting`, while it is being compiled.
    Unavailable
        As for `find`.
    """
    found = _loaded.get(group) or find(group)
    if found is None:
        if not _waits.get():
            raise NotReady(group)
        found = _waited_for(group)
    return found


def must_wait() -> bool:
    """Return whether the user wants nothing to run without machine code: TAPE_WAIT=1 is set."""
    return os.environ.get("TAPE_WAIT") == "1"


@contextmanager
def without_waiting() -> Iterator[None]:
    """A context in which `native` raises `NotReady` instead of waiting, unless TAPE_WAIT=1 is set."""
    token = _waits.set(must_wait())
    try:
        yield
    finally:
        _waits.reset(token)


@contextmanager
def waiting() -> Iterator[None]:
    """A context for code of the user within `without_waiting`, which knows nothing of `NotReady`."""
    token = _waits.set(True)
    try:
        yield
    finally:
        _waits.reset(token)


def is_ready(group: str = MACHINE) -> bool:
    """Return whether a group is loaded, or is on disk: nothing has to be waited for, unless `must_wait`."""
    if must_wait():
        return wait(group)
    try:
        return find(group) is not None and is_available()
    except Unavailable:
        return False


def wait(group: str = MACHINE) -> bool:
    """Wait for a group; return whether it is there: not where none can run."""
    try:
        native(group)
    except Unavailable:
        return False
    return is_available()


def _waited_for(group: str) -> Native:
    begin, is_noted = time.monotonic(), False
    while (found := find(group)) is None:
        if not is_noted and time.monotonic() > begin + _NOTED:
            print(
                f"tape: waiting for machine code ({group}), which is compiled for this processor once",
                file=sys.stderr,
                flush=True,
            )
            is_noted = True
        time.sleep(POLL / 2)
    return found


def _on_disk(group: str) -> dict[str, tuple[str, bytes]] | None:
    """Return symbol and object code of every unit of a group; None if no file has them."""
    content = shipped.read(group)
    if content is None:
        name = file_of(group)
        content = None if name is None else cache.read(name)
    return None if content is None else unpacked(content)


def file_of(group: str) -> str | None:
    """Return the name of the file of a group in the cache; None where there are no sources to hash."""
    made_of = fingerprint()
    return None if made_of is None else f"{group}-{made_of}.bin"


# ---- files -------------------------------------------------------------------------------------------


def packed(objects: dict[str, tuple[str, bytes]]) -> bytes:
    """Serialize code: an index, then the code."""
    index = [(name, symbol, len(code)) for name, (symbol, code) in objects.items()]
    head = json.dumps(index).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(code for _, code in objects.values())


def unpacked(content: bytes) -> dict[str, tuple[str, bytes]] | None:
    """Deserialize code; None if it is something else, or nothing."""
    start = 8 + int.from_bytes(content[:8], "little")
    objects = {}
    try:
        for name, symbol, length in json.loads(content[8:start]):
            objects[name] = (symbol, content[start : start + length])
            start += length
    except (ValueError, TypeError):
        return None
    return objects if objects and start == len(content) else None
