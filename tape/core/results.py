"""The results of an operation that has several, as the value of one node; `part` takes one of them.

The node of such an operation holds a `Results`, its adjoint and its tangent are `Results`, and nodes of
`part` follow it on the tape: the list stays flat, and sweeps know nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core.node import Handle, plain
from tape.core.table import INTERNAL


class Results(tuple[Any, ...]):
    """Several results; or their adjoints or tangents, with None where nothing flows.

    To those who ask for its type, it is one object without axes. The sum of two is taken part by part.

    Examples
    --------
    >>> from tape.core.results import Results
    >>> Results((1.0, None, 2.0)) + Results((None, None, 3.0))
    Results(1.0, None, 5.0)
    """

    __slots__ = ()

    shape: ClassVar[tuple[int, ...]] = ()
    dtype: ClassVar[np.dtype[Any]] = np.dtype(object)
    ndim: ClassVar[int] = 0
    size: ClassVar[int] = 1

    def __repr__(self) -> str:
        return f"Results({', '.join(map(repr, self))})"

    def __add__(self, other: Any) -> Results:
        pairs = zip(self, other, strict=True)
        return Results([b if a is None else a if b is None else a + b for a, b in pairs])


def checked_results(value: Any, name: str) -> Any:
    """Return what the forward function of an operation has returned as an array, a scalar, or several."""
    if not isinstance(value, (tuple, list)):
        return _checked(value, name)
    for one in value:
        if isinstance(one, (tuple, list)):
            raise errors.UnsupportedError(f"a result of {name} is a {type(one).__name__}. Return arrays")
    return Results([_checked(one, name) for one in value])


def _checked(value: Any, name: str) -> Any:
    """Return one result as an array or a NumPy scalar."""
    if (wrong := complaint(value)) is not None:
        raise errors.DTypeError(f"{name} returned {wrong}")
    array = np.asarray(value)
    if array.dtype.kind not in "fiubc":
        raise errors.DTypeError(
            f"{name} returned {errors.describe(value)}, which is no array of numbers. Return an array or a "
            "number, or a tuple of these"
        )
    return array if isinstance(value, np.ndarray) else array[()]


def is_several(value: Any) -> bool:
    """Return whether a value, or that of a Var at any depth, is several results."""
    return type(plain(value)) is Results


def unpack(value: Any) -> Sequence[Any]:
    """Return several results one by one, as Vars if they are on a tape; of one result, a list with it."""
    if not isinstance(value, Handle):
        return value if type(value) is Results else [value]
    several = plain(value)
    if type(several) is not Results:
        return [value]
    part = INTERNAL["part"]
    return [part(value, index=k) for k in range(len(several))]


def flattened(values: Iterable[Any]) -> list[Any]:
    """Return plain values, several results one by one."""
    return [one for value in values for one in (value if type(value) is Results else [value])]


def pack(parts: Sequence[Any], like: Any) -> Any:
    """Return what `unpack` makes a list of: several results if ``like`` is, else the one that there is."""
    return Results(parts) if is_several(like) else parts[0]
