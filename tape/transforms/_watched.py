"""Whether code that a program holds once, for many runs, changes what it uses: a count of its calls, say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

from tape import errors
from tape.conversion.foreign import module_of
from tape.core.dispatch import recorder
from tape.core.reached import Reaching, content
from tape.core.table import INTERNAL


class StateChanged(BaseException):
    """Raised where code that a program runs changes what it uses: no function takes it for its own error.

    Parameters
    ----------
    binding : Binding
        What is changed.
    """

    def __init__(self, binding: Any) -> None:
        super().__init__(binding)
        self.binding = binding


class Watched:
    """What a function uses, as it is now, to see what it changes.

    What it changes in its first run alone, as one does that fills a cache, is no change: `check` is for a run
    after that.

    Parameters
    ----------
    f : callable
        It may be a function of this package that calls some of the user.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self._uses = None if recorder() is None else INTERNAL["uses"](functions_of(f))

    def has_changed(self) -> bool:
        """Return whether the function has changed something."""
        return self._uses is not None and self._uses.changed() is not None

    def check(self) -> None:
        """Raise `StateChanged` if the function has changed something."""
        changed = None if self._uses is None else self._uses.changed()
        if changed is not None:
            raise StateChanged(changed)


def functions_of(f: Callable[..., Any]) -> Iterator[Any]:
    """Yield a function, and those of the user that objects and functions of this package hold for it."""
    waiting: list[Any] = [f]
    seen: dict[int, Any] = {}
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, MethodType):
            waiting += [one.__self__, one.__func__]
        elif isinstance(one, Reaching):
            yield one
        elif isinstance(one, FunctionType):
            yield one
            if errors.is_foreign(one.__code__.co_filename):
                waiting += map(content, one.__closure__ or ())
        elif module_of(type(one)).startswith(_OF_FUNCTIONS):
            waiting += getattr(one, "__dict__", {}).values()


_OF_FUNCTIONS = ("tape.transforms.", "tape.scipy.")
"""Modules of objects that hold functions of the user."""
