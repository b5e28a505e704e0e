"""What machine code depends on: sources, versions, processor."""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_KERNELS = Path(__file__).parent
_MACHINE = _KERNELS.parent / "program" / "native"
COMPILED = ("binding", "frames", "loops", "machine", "opcodes", "parts", "workers")
"""The files of `tape.program.native` that are compiled."""
_ABOUT_FILES = (
    "availability",
    "fingerprint",
    "loading",
    "making",
    "shipped",
)  # which no kernel has anything of


@cache
def sources() -> str | None:
    """Return a hash of all sources that are compiled; None where there are none, as in a zip file."""
    digest = hashlib.sha256()
    paths = [path for path in sorted(_KERNELS.glob("*.py")) if path.stem not in _ABOUT_FILES]
    paths += sorted((_KERNELS / "compiled").glob("*.py"))
    paths += [_MACHINE / f"{name}.py" for name in COMPILED]
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
    about = (made_of, version_of("numba"), sys.version, platform.machine(), llvm.get_host_cpu_name())
    features = llvm.get_host_cpu_features().flatten()
    return hashlib.sha256(repr((about, features)).encode()).hexdigest()[:24]


def version_of(package: str) -> str:
    """Return the version of a package, "none" if there is none.

    It is in the name of the folder beside it that has its metadata. `importlib.metadata`, which finds that
    anywhere, takes longer to import than all of this to run.
    """
    spec = find_spec(package)
    if spec is not None and spec.origin is not None:
        folders = list(Path(spec.origin).parents[1].glob(f"{package}-[0-9]*.dist-info"))
        if len(folders) == 1:
            return folders[0].stem.removeprefix(f"{package}-")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
