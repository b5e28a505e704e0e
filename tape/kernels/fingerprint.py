"""What machine code depends on: sources, versions, processor."""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_KERNELS = Path(__file__).parent
_MACHINE = _KERNELS.parent / "program" / "native"


@cache
def sources() -> str | None:
    """Return a hash of all sources that are compiled; None where there are none, as in a zip file."""
    digest = hashlib.sha256()
    paths = [*sorted(_KERNELS.glob("*.py")), *sorted((_KERNELS / "compiled").glob("*.py"))]
    paths += [_MACHINE / f"{name}.py" for name in ("binding", "machine", "opcodes")]
    try:
        for path in paths:
            digest.update(path.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()[:24] if len(paths) > 3 else None


@cache
def fingerprint() -> str | None:
    """Return a hash of all that code which is compiled here depends on; None where there are no sources."""
    from llvmlite import binding as llvm  # which takes long to import

    made_of = sources()
    if made_of is None:
        return None
    try:
        numba = version("numba")
    except PackageNotFoundError:
        numba = "none"
    about = (made_of, numba, sys.version, platform.machine(), llvm.get_host_cpu_name())
    features = llvm.get_host_cpu_features().flatten()
    return hashlib.sha256(repr((about, features)).encode()).hexdigest()[:24]
