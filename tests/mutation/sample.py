"""Which mutants are tried: a random sample of all, or those of a line."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tape.kernels.fingerprint import COMPILED
from tests.mutation.operators import Mutant, mutants_of

__all__ = ["at", "draw", "is_compiled"]

_SHOWN = (
    "tape/command", "tape/inspect/costs.py", "tape/inspect/listing", "tape/inspect/profiling.py",
    "tape/inspect/shown.py", "tape/inspect/words.py",
    "tape/support", "tape/system/progress.py", "tape/viz",
)  # fmt: skip
"""What is only made to be looked at: mutants are drawn from it only if it is named.

Not in the list is what a program may read, however it is shown: the values of expressions, verdicts of
`tape.testing`, settings, reports of programs with numbers as attributes.
"""
_SHARE_OF_COMPILED = 0.05


def is_compiled(path: str) -> bool:
    """Whether a module becomes machine code, all of which is compiled anew when it changes."""
    parts = Path(path).parts
    is_of_machine = parts[1:3] == ("program", "native") and Path(path).stem in COMPILED
    return parts[1] == "kernels" or is_of_machine


def draw(
    root: Path,
    count: int,
    seed: int,
    under: Sequence[str] = (),
    is_wanted: Callable[[Mutant], bool] = lambda mutant: True,
) -> list[Mutant]:
    """A random sample of mutants, at most one a line; of compiled modules no more than one in twenty.

    Parameters
    ----------
    root : Path
        The repository.
    count : int
        How many.
    seed : int
        Another one, another sample.
    under : sequence of str
        Files or folders to draw from, of compiled modules as many as come; if there are none, from all but
        what is made to be looked at.
    is_wanted : callable, optional
        Tells of a mutant whether it may be drawn; all may.

    Returns
    -------
    list of Mutant
    """
    sources = {path: (root / path).read_text() for path in _modules(root, under)}
    every = [mutant for path, source in sources.items() for mutant in mutants_of(path, source)]
    random.Random(seed).shuffle(every)
    most_compiled = count if under else round(count * _SHARE_OF_COMPILED)
    drawn: dict[tuple[str, int], Mutant] = {}
    for mutant in every:
        if len(drawn) == count:
            break
        place, compiled = (mutant.path, mutant.line), is_compiled(mutant.path)
        if place in drawn or (compiled and not most_compiled) or not is_wanted(mutant):
            continue
        if mutant.compiles(sources[mutant.path]):
            drawn[place] = mutant
            most_compiled -= compiled
    return list(drawn.values())


def at(root: Path, place: str) -> list[Mutant]:
    """All mutants of a line that is given as ``file:line``."""
    path, _, line = place.rpartition(":")
    source = (root / path).read_text()
    return [
        mutant
        for mutant in mutants_of(path, source)
        if mutant.line <= int(line) <= mutant.last_line and mutant.compiles(source)
    ]


def _modules(root: Path, under: Sequence[str]) -> Iterator[str]:
    for file in sorted(root.glob("tape/**/*.py")):
        path = file.relative_to(root)
        if any(map(path.is_relative_to, under or _SHOWN)) == bool(under):
            yield path.as_posix()
