"""Calls of functions of trees as calls with arrays, and the pullbacks of such functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, tree
from tape.transforms import vjp
from tape.transforms._returned import several_as_tuples


class Signature:
    """A call without its arrays: structure, where arrays are, and all other leaves.

    Parameters
    ----------
    args, kwargs : tree
        The arguments.
    is_array : callable
        Tells which leaves are arrays of the other library.

    Attributes
    ----------
    places : tuple of int
        Where the arrays are among all leaves.
    arrays : list
        These arrays, which the signature does not depend on.
    """

    def __init__(self, args: Any, kwargs: Any, is_array: Callable[[Any], bool]) -> None:
        leaves, self._structure = tree.flatten((args, kwargs))
        self.places = tuple(k for k, leaf in enumerate(leaves) if is_array(leaf))
        self.arrays = [leaves[k] for k in self.places]
        self._others = tuple(None if is_array(leaf) else leaf for leaf in leaves)

    def filled(self, arrays: Sequence[Any]) -> tuple[Any, Any]:
        """Return the arguments and keyword arguments, with these arrays."""
        leaves = list(self._others)
        for place, array in zip(self.places, arrays, strict=True):
            leaves[place] = array
        args, kwargs = tree.unflatten(self._structure, leaves)
        return args, kwargs

    @property
    def key(self) -> Any:
        """What is equal for equal signatures, to be hashed; None if some leaf has no hash."""
        key = (self._structure, self.places, tuple(map(_exact, self._others)))
        try:
            hash(key)
        except TypeError:
            return None
        return key


def _exact(leaf: Any) -> Any:
    """Return what is equal for equal leaves: zeros of both signs are not, and NaN is to itself."""
    return type(leaf), repr(leaf) if isinstance(leaf, (float, complex)) else leaf


class Pullbacks:
    """The pullbacks of a function, one for each choice of what to differentiate by.

    Parameters
    ----------
    f : callable
        NumPy code, of trees.
    wrapped : callable
        ``wrapped(pull, places)`` makes a pullback a function of the other library's arrays.
    is_conjugate : bool
        Whether gradients of complex numbers are the conjugates of tape's, as in PyTorch.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        wrapped: Callable[[Callable[..., Any], tuple[int, ...]], Callable[..., Any]],
        *,
        is_conjugate: bool,
    ) -> None:
        self._f = f
        self._wrapped = wrapped
        self._is_conjugate = is_conjugate
        self._known: dict[tuple[int, ...], Callable[..., Any]] = {}

    def of(self, places: tuple[int, ...]) -> Callable[..., Any]:
        """Return ``pull(args, kwargs, cotangents)``, the list of gradients by the leaves at these places.

        There is a cotangent for each leaf of the result that holds floats or complex numbers.
        """
        found = self._known.get(places)
        if found is None:
            found = self._known.setdefault(places, self._wrapped(self._pullback(places), places))
        return found

    def _pullback(self, places: tuple[int, ...]) -> Callable[..., Any]:
        def pull(args: Any, kwargs: Any, cotangents: list[Any]) -> list[Any]:
            leaves, structure = tree.flatten((args, kwargs))

            def of(*moving: Any) -> list[Any]:
                moved = dict(zip(places, moving, strict=True))
                given, keywords = tree.unflatten(
                    structure, [moved.get(k, leaf) for k, leaf in enumerate(leaves)]
                )
                results = tree.leaves(several_as_tuples(self._f(*given, **keywords)))
                return [result for result in results if is_inexact(result)]

            _, back = vjp(of, *[leaves[k] for k in places])
            return [self._turned(g) for g in back([self._turned(g) for g in cotangents])]

        return pull

    def _turned(self, array: Any) -> Any:
        return np.conj(array) if self._is_conjugate and np.result_type(array).kind == "c" else array


def at_ones(f: Callable[..., Any], signature: Signature, kinds: Sequence[tuple[Any, Any]]) -> Any:
    """Return the result of a function at ones, of these shapes and dtypes, which shows its own.

    Raises
    ------
    UnsupportedError
        If the function fails there.
    """
    args, kwargs = signature.filled([np.ones(shape, dtype) for shape, dtype in kinds])
    try:
        return f(*args, **kwargs)
    except Exception as error:
        raise errors.UnsupportedError(
            f"{getattr(f, '__name__', 'a function')} fails at ones, which were to tell the shapes of its "
            f"result: {error}. Pass like="
        ) from error


def leaves_of(result: Any, structure: Any) -> list[Any]:
    """Return the leaves of a result of this structure.

    Raises
    ------
    ConversionError
        If it has another one.
    """
    leaves, found = tree.flatten(several_as_tuples(result))
    if found != structure:
        raise errors.ConversionError(
            f"a result is {tree.describe(found)}, where {tree.describe(structure)} was expected, as at ones "
            "or in like=. Return the same structure for all data"
        )
    return leaves


def of_its_own(leaf: Any, arrays: Sequence[Any]) -> np.ndarray:
    """Return an array that may be written to, and shares no memory with others."""
    array = np.asarray(leaf)
    is_shared = not array.flags.writeable or any(np.may_share_memory(array, other) for other in arrays)
    return array.copy() if is_shared else array


def is_inexact(leaf: Any) -> bool:
    """Return whether a leaf holds floats or complex numbers."""
    return np.result_type(leaf).kind in "fc"
