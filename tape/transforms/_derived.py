"""The functions that transforms return: copied and pickled like those they were made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, Concatenate, NoReturn, ParamSpec

from tape import errors
from tape.system.pickling import reduced
from tape.transforms._record import check_callable, name_of

__all__ = ["Derived", "WithTape", "derived"]

_Options = ParamSpec("_Options")


def derived(
    make: Callable[Concatenate[Callable[..., Any], _Options], Callable[..., Any]],
) -> Callable[Concatenate[Callable[..., Any], _Options], Callable[..., Any]]:
    """Let what a transform makes of a function be copied and pickled; it refuses what is not callable.

    Parameters
    ----------
    make : callable
        The transform: of a function and options, it returns a function.

    Returns
    -------
    callable
        The transform, returning a `Derived`.

    Examples
    --------
    >>> import numpy as np, pickle, tape
    >>> gradient = pickle.loads(pickle.dumps(tape.grad(np.sin)))
    >>> gradient, float(gradient(0.0))
    (<grad(sin)>, 1.0)
    """

    @wraps(make)
    def transform(f: Callable[..., Any], *args: _Options.args, **kwargs: _Options.kwargs) -> Derived:
        check_callable(f, make.__name__)
        return Derived(make(f, *args, **kwargs), transform, f, args, kwargs)

    return transform


class Derived:
    """A function that a transform made of another one.

    Parameters
    ----------
    call : callable
        What it does.
    transform : callable
        ``transform(f, *args, **kwargs)`` made it.
    f, args, kwargs
        The arguments of that call.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        call: Callable[..., Any],
        transform: Callable[..., Any],
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        update_wrapper(self, call)
        if getattr(call, "__wrapped__", None) is not f:  # it is another function, not the same in another way
            self.__name__ = f"{transform.__name__}({name_of(f)})"
        self.__module__ = getattr(f, "__module__", None) or call.__module__
        self.__qualname__ = getattr(f, "__qualname__", self.__name__)
        self._call = call
        self._parts = (transform, f, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function returns."""
        return self._call(*args, **kwargs)

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name  # by which pickle looks for bound methods

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __reduce__(self) -> Any:
        return reduced(self, _again, *self._parts)


def _again(transform: Callable[..., Any], f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return transform(f, *args, **kwargs)


class WithTape:
    """A function that goes along a tape it holds, recorded at one point.

    Parameters
    ----------
    call : callable
        What it does.
    name : str
        What it is called.
    """

    __name__: str

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        update_wrapper(self, call)
        self.__name__ = name
        self._call = call

    def __call__(self, *args: Any) -> Any:
        """What the function returns."""
        return self._call(*args)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __deepcopy__(self, memo: Any) -> WithTape:
        return self  # as functions are; nothing in it changes

    def __copy__(self) -> WithTape:
        return self

    def __reduce__(self) -> NoReturn:
        raise errors.UnsupportedError(
            f"{self!r} cannot be pickled: it holds a tape. Pickle the function and its arguments, and record "
            "again where it is needed"
        )
