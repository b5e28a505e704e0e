"""The one way kernels are compiled: to disk, without the GIL, dividing by zero as NumPy does.

The only liberty kernels may take is adding in another order ("reassoc"), which lets LLVM use SIMD
for sums. NaN, infinity and signed zero keep their meaning.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import config as numba_config
from numba.core.caching import NullCache
from numba.core.compiler import Compiler, CompileResult
from numba.core.serialize import dumps

from tape.system import cache

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc"}}

KERNEL_DTYPES = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
"""What the kernels are compiled for; not the other byte order."""


class _Kept(NullCache):
    """Numba's cache of a kernel: a file for each combination of types, in the folder of `tape.system.cache`.

    Numba's own cache would lie next to the package, whose folder it outlives, or where ``NUMBA_CACHE_DIR``
    says, which is for the user's functions; and it would be read whoever had written it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    @property
    def cache_path(self) -> str | None:
        folder = cache.cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        name = self._name(sig, target_context.codegen())
        data = None if name is None else cache.read(name)
        if data is None:
            return None
        with suppress(Exception):  # the file is whole, and numba's own: it may be of a patched version
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        name = self._name(sig, data.codegen)
        if name is not None and not data.lifted and not data.library.has_dynamic_globals:
            cache.write(name, dumps(data._reduce()), _MOST_VERSIONS)

    def _name(self, types: Any, codegen: Any) -> str | None:
        """The file for some types: of this source, versions and processor. None if there is no source."""
        digest = hashlib.sha256()
        try:
            digest.update(_sources())
            digest.update(Path(inspect.getfile(self._function)).read_bytes())
            code, cells = self._function.__code__, self._function.__closure__ or ()
            digest.update(code.co_code + dumps(tuple([cell.cell_contents for cell in cells])))
        except Exception:  # of a zip file, typed in, or closing over what cannot be pickled
            return None
        about = (numba.__version__, np.__version__, sys.version, codegen.magic_tuple(), code.co_firstlineno)
        digest.update(repr((about, [str(kind) for kind in types])).encode())
        return f"kernel-{self._function.__name__}-{digest.hexdigest()[:32]}.bin"


_MOST_VERSIONS = 32  # of a kernel: types, times versions of the code


@lru_cache(maxsize=1)
def _sources() -> bytes:
    """A digest of all kernels: they take code in from each other."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call for each combination of types, and keep the result on disk."""
    return _kept(function, OPTIONS)


def in_order(function: Callable[..., Any]) -> Any:
    """As `kernel`, but all is added in the order written: rounding as NumPy's loops do."""
    return _kept(function, {**OPTIONS, "fastmath": False})


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    dispatcher: Any = numba.njit(**options)(function)
    if hasattr(dispatcher, "_cache"):  # else numba is switched off
        dispatcher._cache = _Kept(function)
    return dispatcher


class _Unoptimised(Compiler):
    """Numba's compiler without LLVM's optimisation: the kernel that takes the code in is optimised whole.

    Otherwise all code is optimised once for each function that contains it, half of the time in all. Numba
    compiles one function at a time, holding a lock, so nothing else is compiled with this setting.
    """

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        config: Any = numba_config
        level = config.OPT
        config.OPT = type(level)(0)
        try:
            return super().compile_extra(function)
        finally:
            config.OPT = level


_INNER_OPTIONS: dict[str, Any] = {
    **OPTIONS, "forceinline": True, "pipeline_class": _Unoptimised,
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip


def inner(function: Callable[..., Any]) -> Any:
    """Compile as a part of kernels that call it: they are kept on disk and contain it; Python cannot call it.

    Each call is another copy of the code. Arguments that are literals make versions of their own; a
    number of NumPy's does not.
    """
    return numba.njit(**_INNER_OPTIONS)(function)


def exact(function: Callable[..., Any]) -> Any:
    """As `inner`, but all is added in the order written: what rounding takes can be found out."""
    return numba.njit(**{**_INNER_OPTIONS, "fastmath": False})(function)
