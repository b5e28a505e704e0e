"""What functions use that a program holds once for many runs of them, to see whether a run changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tape.core.table import INTERNAL
from tape.program.calls.arrays import Arrays
from tape.program.calls.binding import Binding
from tape.program.calls.names import Bindings


class Uses:
    """What some functions use, as it is now.

    Parameters
    ----------
    functions : iterable of callable

    Attributes
    ----------
    ints : list
        What they use that is an int, or computed from ints, which a program that is being recorded takes as
        data.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        bindings = Bindings(lambda: None, functions)
        self._state = bindings.state()
        self._arrays = Arrays(bindings.arrays)
        self.ints = [value for value in bindings.values() if hasattr(type(value), "__tape_index__")]

    def changed(self) -> Binding | None:
        """Return what a run of the functions has changed, if there is something."""
        return self._state.changed() or self._arrays.changed()


INTERNAL["uses"] = Uses
