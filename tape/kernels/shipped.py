"""Machine code that is part of the installation, for levels of processors.

`python -m tape build-kernels` makes it. There is a folder for each kind of Python and each level, with a file
for each group, and an index of their digests. Code of other sources, of another Python, or damaged, counts as
missing.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from functools import cache
from pathlib import Path

from tape.kernels.fingerprint import sources

FOLDER = Path(__file__).with_name("objects")
INDEX = "index.json"

_V2 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
_V4 = f"{_V3} avx512bw avx512cd avx512dq avx512f avx512vl"
LEVELS: dict[str, tuple[str, str, frozenset[str]]] = {
    "x86-64-v4": ("x86_64", "x86-64-v4", frozenset(_V4.split())),
    "x86-64-v3": ("x86_64", "x86-64-v3", frozenset(_V3.split())),
    "x86-64-v2": ("x86_64", "x86-64-v2", frozenset(_V2.split())),
    "aarch64": ("aarch64", "generic", frozenset({"neon"})),
}
"""Levels, the best ones first: machine, LLVM's name, and the features that a processor must have."""
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def folder_of(level: str) -> Path:
    """Return the folder of the code for a level and this Python."""
    return FOLDER / f"{sys.implementation.cache_tag}-{sys.platform}-{level}"


def read(group: str) -> bytes | None:
    """Return the code of a group for this processor; None if the installation has none that can be used."""
    found = _chosen()
    if found is None:
        return None
    folder, digests = found
    try:
        content = (folder / f"{group}.bin").read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == digests.get(group) else None


@cache
def level() -> str | None:
    """Return the best level of this processor; None for a processor of another kind."""
    from llvmlite import binding as llvm  # which takes long to import

    has = llvm.get_host_cpu_features()
    for name, (_, _, needed) in LEVELS.items():
        if is_of_machine(name) and all(has.get(feature) for feature in needed):
            return name
    return None


def is_of_machine(level: str) -> bool:
    """Return whether a level is one of this kind of machine."""
    machine = platform.machine().lower()
    return LEVELS[level][0] == _MACHINES.get(machine, machine)


@cache
def _chosen() -> tuple[Path, dict[str, str]] | None:
    """Return folder and digests of the best code that is of these sources."""
    if not FOLDER.is_dir():
        return None
    best = level()
    if best is None:
        return None
    names = list(LEVELS)
    for name in names[names.index(best) :]:
        folder = folder_of(name)
        try:
            index = json.loads((folder / INDEX).read_bytes())
            if is_of_machine(name) and index["sources"] == sources():
                return folder, dict(index["digests"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
