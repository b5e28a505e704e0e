"""The functions that transforms return: they copy and pickle like the functions they derive from."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, Concatenate, NoReturn, ParamSpec

from tape import errors
from tape.core.reached import made_of_functions
from tape.system.pickling import reduced
from tape.transforms._record import check_callable, name_of

_Options = ParamSpec("_Options")


def derived(
    make: Callable[Concatenate[Callable[..., Any], _Options], Callable[..., Any]],
) -> Callable[Concatenate[Callable[..., Any], _Options], Callable[..., Any]]:
    """Make the results of a transform copyable and picklable, and check that its argument is callable.

    Parameters
    ----------
    make : callable
        The transform: it takes a function and options, and returns a function.

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


@made_of_functions
class Derived:
    """A function that a transform derived from another one.

    Parameters
    ----------
    call : callable
        The implementation.
    transform : callable
        The function is the result of ``transform(f, *args, **kwargs)``.
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
        if getattr(call, "__wrapped__", None) is not f:  # otherwise it computes the same as f
            self.__name__ = f"{transform.__name__}({name_of(f)})"
        self.__module__ = getattr(f, "__module__", None) or call.__module__
        self.__qualname__ = getattr(f, "__qualname__", self.__name__)
        self._call = call
        self._parts = (transform, f, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._call(*args, **kwargs)

    def with_functions(self, change: Callable[[Any], Any]) -> Any:
        """Return what the transform returns for another function: see `tape.core.reached`."""
        transform, f, args, kwargs = self._parts
        other = change(f)
        return self if other is f else transform(other, *args, **kwargs)

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name  # pickle looks bound methods up by it

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __reduce__(self) -> Any:
        return reduced(self, _again, *self._parts)


def _again(transform: Callable[..., Any], f: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return transform(f, *args, **kwargs)


class WithTape:
    """A function that sweeps over a tape it holds, recorded at one point.

    Parameters
    ----------
    call : callable
        The implementation.
    name : str
        Its name in messages.
    """

    __name__: str

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        update_wrapper(self, call)
        self.__name__ = name
        self._call = call

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self._call(*args)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __deepcopy__(self, memo: Any) -> WithTape:
        return self  # as for functions: it has no state that changes

    def __copy__(self) -> WithTape:
        return self

    def __reduce__(self) -> NoReturn:
        raise errors.UnsupportedError(
            f"{self!r} cannot be pickled: it holds a tape. Pickle the function and its arguments, and record "
            "again where it is needed"
        )
