"""The BLAS of compiled programs: the kernels it uses, and the addresses of its functions.

Products of compiled programs call BLAS without Python. In most installations there are two copies of
OpenBLAS, NumPy's and SciPy's. OpenBLAS chooses its kernels for the CPU once, when it is loaded; on AVX-512
CPUs that it does not know it takes those for AVX2, and matrix products take 1.7 (large) to 3 times (small)
as long. If NumPy's copy, which is loaded first, has the right kernels, programs use it. If not,
`choose_kernels` loads SciPy's copy with the right kernels while that is still possible, and programs use that
one. This file must never know traces or programs.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tape.errors import UnsupportedError

AVX512_FLAGS = frozenset({"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"})
"""The CPU flags, as in /proc/cpuinfo, that the SkylakeX kernels need."""

AVX512_KERNELS = "SkylakeX"

_INTEL = {"prescott", "core2", "penryn", "nehalem", "sandybridge", "haswell"}
_AMD = {"barcelona", "bulldozer", "piledriver", "steamroller", "excavator", "zen"}
OLDER_KERNELS = frozenset(_INTEL | _AMD)
"""OpenBLAS's kernel sets for x86 without AVX-512. Any other name may be newer, and is kept."""

_WITH_SMALL_KERNELS = frozenset({"skylakex", "cooperlake", "sapphirerapids"})

_OPENBLAS_NAMES = tuple(
    f"{prefix}openblas_{{}}{suffix}" for prefix in ("scipy_", "") for suffix in ("", "64_", "_64")
)
_NUMPY_MODULE, _SCIPY_MODULE = "numpy._core._multiarray_umath", "scipy.linalg.cython_blas"
_FORTRAN_NAMES = ("scipy_{}_64_", "scipy_{}_", "{}_64_", "{}_")


@dataclass(frozen=True)
class Library:
    """A BLAS library in this process.

    Attributes
    ----------
    name : str
        The name with the version: ``"OpenBLAS 0.3.30"``.
    kernels : str or None
        The kernel set, such as ``"Haswell"``; None if unknown (only OpenBLAS reports it).
    threads : int or None
        The largest number of threads; None if unknown.
    """

    name: str
    kernels: str | None
    threads: int | None

    def __str__(self) -> str:
        kernels = f", {self.kernels} kernels" if self.kernels else ""
        threads = f", {self.threads} thread{'s' * (self.threads != 1)}" if self.threads else ""
        return f"{self.name}{kernels}{threads}"


@functools.cache
def choose_kernels() -> bool:
    """Load SciPy's OpenBLAS with the best kernels for this CPU, if it would choose older ones.

    Runs when tape is imported, and takes 0.3 ms, or 5 ms if it loads the library. That is loaded without the
    rest of SciPy; a later import of `scipy.linalg` finds it. The environment is unchanged afterwards.
    OPENBLAS_CORETYPE, or TAPE_BLAS_CORETYPE=0, in the environment leaves the choice to OpenBLAS.

    Returns
    -------
    bool
        Whether it loaded the library.

    Examples
    --------
    >>> from tape.system.blas import choose_kernels
    >>> choose_kernels() in (True, False)
    True
    """
    path = _scipy_openblas_path()
    if path is None or not cpu_flags() >= AVX512_FLAGS:  # the cheap checks first
        return False
    kernels = kernels_to_request(
        cpu_flags=cpu_flags(),
        kernels_by_default=numpy_library().kernels,
        is_loaded=_is_loaded(path),
        environment=os.environ,
    )
    return kernels is not None and _load_with_kernels(path, kernels)


def kernels_to_request(
    *,
    cpu_flags: Collection[str],
    kernels_by_default: str | None,
    is_loaded: bool,
    environment: Mapping[str, str],
) -> str | None:
    """Return the kernel set to request from OpenBLAS, or None to keep its own choice.

    Parameters
    ----------
    cpu_flags : collection of str
        The flags of the CPU, as in /proc/cpuinfo.
    kernels_by_default : str or None
        The kernel set that OpenBLAS chooses itself on this machine.
    is_loaded : bool
        Whether the library is loaded already, with its kernels chosen.
    environment : mapping
        The environment variables.

    Examples
    --------
    >>> from tape.system.blas import AVX512_FLAGS, kernels_to_request
    >>> facts = {"cpu_flags": AVX512_FLAGS, "is_loaded": False, "environment": {}}
    >>> kernels_to_request(kernels_by_default="Haswell", **facts)
    'SkylakeX'
    >>> kernels_to_request(kernels_by_default="Cooperlake", **facts)
    """
    if is_loaded or "OPENBLAS_CORETYPE" in environment or environment.get("TAPE_BLAS_CORETYPE") == "0":
        return None
    if not AVX512_FLAGS.issubset(cpu_flags) or not are_older(kernels_by_default):
        return None
    return AVX512_KERNELS


def are_older(kernels: str | None) -> bool:
    """Return whether these kernels are known not to use AVX-512."""
    return kernels is not None and kernels.lower() in OLDER_KERNELS


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Return the flags of the CPU in /proc/cpuinfo; empty on other systems than Linux."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    return frozenset()


def blas_function(name: str) -> int:
    """Return the address of a BLAS function, with Fortran's calling convention: every argument by reference.

    Parameters
    ----------
    name : str
        The name in the reference BLAS: ``"sgemm"``, ``"ddot"``.

    Raises
    ------
    UnsupportedError
        If SciPy does not have this function.

    Examples
    --------
    >>> from tape.system.blas import blas_function
    >>> blas_function("sgemm") != blas_function("dgemm")
    True
    """
    return _address("scipy.linalg.cython_blas", name)


def lapack_function(name: str) -> int:
    """Return the address of a LAPACK function, with Fortran's calling convention: arguments by reference.

    Parameters
    ----------
    name : str
        The name in the reference LAPACK: ``"dpotrf"``.

    Raises
    ------
    UnsupportedError
        If SciPy does not have this function.

    Examples
    --------
    >>> from tape.system.blas import lapack_function
    >>> lapack_function("dgesv") > 0
    True
    """
    return _address("scipy.linalg.cython_lapack", name)


def openblas_function(name: str) -> int:
    """Return the address of a function of the OpenBLAS that computes products; 0 for another library.

    Parameters
    ----------
    name : str
        The name without prefix: ``"set_num_threads"``.

    Examples
    --------
    >>> from tape.system.blas import openblas_function
    >>> openblas_function("no_such_function")
    0
    """
    function = _openblas_function(_products_module(), name)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def openblas_threads() -> int:
    """Return how many threads OpenBLAS had when this was first asked for; 0 for another library.

    Examples
    --------
    >>> from tape.system.blas import openblas_threads
    >>> openblas_threads() >= 0
    True
    """
    return _ask(_products_module(), "get_num_threads", ctypes.c_int) or 0


@functools.cache
def _address(module: str, name: str) -> int:
    """Return the address in NumPy's OpenBLAS, else in SciPy's, whose import takes about 0.3 s."""
    if _is_numpys():
        handle = _handle(_NUMPY_MODULE)
        for pattern in _FORTRAN_NAMES:
            if hasattr(handle, pattern.format(name)):
                return ctypes.cast(getattr(handle, pattern.format(name)), ctypes.c_void_p).value or 0
    from numba.extending import get_cython_function_address

    choose_kernels()
    try:
        return int(get_cython_function_address(module, name))
    except (ImportError, ValueError) as error:
        raise UnsupportedError(
            f"{module} has no function {name!r}: {error}. Check the name, or install a newer SciPy."
        ) from error


@functools.cache
def _is_numpys() -> bool:
    """Return whether products use NumPy's OpenBLAS: it is loaded, and mostly newer than SciPy's.

    Its kernels can no longer be chosen. If they are older than the CPU, SciPy's copy is better.
    """
    kernels = numpy_library().kernels
    return kernels is not None and not (cpu_flags() >= AVX512_FLAGS and are_older(kernels))


def _products_module() -> str:
    return _NUMPY_MODULE if _is_numpys() else _SCIPY_MODULE


@functools.cache
def has_small_kernels() -> bool:
    """Return whether the OpenBLAS that computes products has kernels for small matrices.

    Examples
    --------
    >>> from tape.system.blas import has_small_kernels
    >>> has_small_kernels() in (True, False)
    True
    """
    return (products_library().kernels or "").lower() in _WITH_SMALL_KERNELS


@functools.cache
def has_older_kernels() -> bool:
    """Return whether products are computed by an OpenBLAS that is known not to use AVX-512.

    Examples
    --------
    >>> from tape.system.blas import has_older_kernels, has_small_kernels
    >>> has_older_kernels() and has_small_kernels()
    False
    """
    return are_older(products_library().kernels)


def numpy_library() -> Library:
    """Return the BLAS that NumPy's own products use, in code that is not compiled."""
    return _library(_NUMPY_MODULE, "numpy")


def products_library() -> Library:
    """Return the BLAS that products of compiled programs use.

    Examples
    --------
    >>> from tape.system.blas import products_library
    >>> len(products_library().name) > 0
    True
    """
    choose_kernels()
    return _library(_products_module(), "numpy" if _is_numpys() else "scipy")


def _library(module: str, package: str) -> Library:
    config = _ask(module, "get_config", ctypes.c_char_p)
    if config is None:
        return Library(_name_when_built(package), None, None)
    kernels = _ask(module, "get_corename", ctypes.c_char_p)
    return Library(
        name=" ".join(config.decode().split()[:2]),
        kernels=kernels.decode() if kernels else None,
        threads=_ask(module, "get_num_threads", ctypes.c_int),
    )


def _name_when_built(package: str) -> str:
    """Return the BLAS that NumPy or SciPy was built with; the loaded one may be another implementation."""
    details = importlib.import_module(package).show_config(mode="dicts")
    blas = (details or {}).get("Build Dependencies", {}).get("blas", {})
    return " ".join(filter(None, (blas.get("name"), blas.get("version")))) or "unknown"


def _ask(module: str, name: str, kind: type[Any]) -> Any:
    function = _openblas_function(module, name)
    if function is None:
        return None
    function.argtypes, function.restype = (), kind
    return function()


def _openblas_function(module: str, name: str) -> Any:
    """Return a function of the OpenBLAS that an extension module is linked to, with any prefix.

    A lookup through the extension module is exact: the system searches the libraries that it is linked to,
    and no others. File names would be guesses, and could not distinguish copies.
    """
    handle = _handle(module)
    names = (pattern.format(name) for pattern in _OPENBLAS_NAMES)
    return next((getattr(handle, name) for name in names if hasattr(handle, name)), None)


@functools.cache
def _handle(module: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(importlib.import_module(module).__file__))
    except (ImportError, OSError):
        return None


def _scipy_openblas_path() -> Path | None:
    """Return the path of SciPy's own OpenBLAS; only in wheels for Linux can it still be configured."""
    if not sys.platform.startswith("linux"):
        return None
    spec = find_spec("scipy")
    if spec is None or spec.origin is None:
        return None
    found = list(Path(spec.origin).parent.with_name("scipy.libs").glob("*openblas*.so*"))
    return found[0] if len(found) == 1 else None


def _is_loaded(path: Path) -> bool:
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


def _load_with_kernels(path: Path, kernels: str) -> bool:
    os.environ["OPENBLAS_CORETYPE"] = kernels  # Python sets it in the C library too, where OpenBLAS reads it
    try:
        ctypes.CDLL(str(path))
    except OSError:  # the import of SciPy will raise a better error
        return False
    finally:
        del os.environ["OPENBLAS_CORETYPE"]
    return True
