"""Operators of functions of several arguments, from operators of functions of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from tape import errors
from tape.transforms._record import check_callable, name_of

Argnum = int | tuple[int, ...] | list[int]


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator with a choice of the argument that it is about.

    Parameters
    ----------
    operator : callable
        ``operator(f, x, *options)``, where ``f`` is a function of one argument.

    Returns
    -------
    callable
        ``(f, argnum=0, *options)`` returns a function with the arguments of ``f``. If ``argnum`` is a tuple,
        ``x`` is one, too.

    Raises
    ------
    OptionError
        If ``argnum`` is neither an int nor a tuple of ints.
    OutOfBoundsError
        When called, if there are fewer arguments.

    Examples
    --------
    >>> import tape
    >>> from tape.compat.autograd.wrap_util import unary_to_nary
    >>> doubled = unary_to_nary(lambda f, x: f(2 * x))
    >>> doubled(lambda x, y: (x, y), 1)(3, 4)
    (3, 8)
    """

    def with_argnum(fun: Callable[..., Any], argnum: Argnum = 0, *options: Any, **settings: Any) -> Any:
        check_callable(fun, name_of(operator))

        def call(*args: Any, **kwargs: Any) -> Any:
            f, x = of_argument(fun, argnum, args, kwargs)
            return operator(f, x, *options, **settings)

        checked_argnum(argnum)
        call.__name__ = f"{name_of(operator)}({name_of(fun)})"
        call.__doc__ = f"Apply {name_of(operator)} to {name_of(fun)}, with respect to argument {argnum}."
        return call

    return update_wrapper(with_argnum, operator)


def of_argument(
    fun: Callable[..., Any], argnum: Argnum, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[[Any], Any], Any]:
    """Return a function of one of its arguments, the others held, and that argument: a tuple for several."""
    positions = checked_argnum(argnum)
    for position in positions:
        if not -len(args) <= position < len(args):
            raise errors.OutOfBoundsError(
                f"argnum is {argnum}, and {name_of(fun)} was called with {len(args)} positional arguments. "
                "They are counted from 0"
            )
    is_single = isinstance(argnum, int)

    def unary(x: Any) -> Any:
        moved = list(args)
        for position, part in zip(positions, [x] if is_single else x, strict=True):
            moved[position] = part
        return fun(*moved, **kwargs)

    unary.__name__ = name_of(fun)
    return unary, args[positions[0]] if is_single else tuple([args[position] for position in positions])


def checked_argnum(argnum: Any) -> list[int]:
    """Return the positions that an ``argnum`` names."""
    positions = list(argnum) if isinstance(argnum, (tuple, list)) else [argnum]
    if not positions or any(not isinstance(p, int) or isinstance(p, bool) for p in positions):
        raise errors.OptionError(f"argnum is {argnum!r}. It must be an int, or a tuple of ints")
    return positions
