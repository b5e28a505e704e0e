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
    """

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        bindings = Bindings(lambda: None, functions)
        self._state = bindings.state()
        self._arrays = Arrays(bindings.arrays)

    def changed(self) -> Binding | None:
        """Return what a run of the functions has changed, if there is something."""
        return self._state.changed() or self._arrays.changed()


INTERNAL["uses"] = Uses
