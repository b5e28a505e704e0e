"""Calls of functions of trees as calls of functions of lists of arrays, and their pullbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import tree
from tape.program import compile
from tape.transforms import vjp


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
    arrays : list
        These arrays, which the signature does not depend on.
    """

    def __init__(self, args: Any, kwargs: Any, is_array: Callable[[Any], bool]) -> None:
        leaves, self._structure = tree.flatten((args, kwargs))
        self._places = tuple(k for k, leaf in enumerate(leaves) if is_array(leaf))
        self.arrays = [leaves[k] for k in self._places]
        self._others = tuple(None if is_array(leaf) else leaf for leaf in leaves)

    def filled(self, arrays: Sequence[Any]) -> tuple[Any, Any]:
        """Return the arguments and keyword arguments, with these arrays."""
        leaves = list(self._others)
        for place, array in zip(self._places, arrays, strict=True):
            leaves[place] = array
        args, kwargs = tree.unflatten(self._structure, leaves)
        return args, kwargs

    @property
    def key(self) -> Any:
        """What is equal for equal signatures, to be hashed; None if some leaf has no hash."""
        others = tuple((type(other), other) for other in self._others)
        key = (self._structure, self._places, others)
        try:
            hash(key)
        except TypeError:
            return None
        return key


def pullback_of(
    f: Callable[..., Any], signature: Signature, wrt: Sequence[int], *, is_conjugate: bool
) -> Callable[[list[Any], list[Any]], list[Any]]:
    """Return the pullback of a function of trees, as a function of lists.

    Parameters
    ----------
    f : callable
        NumPy code.
    signature : Signature
        How it is called.
    wrt : sequence of int
        The arrays to differentiate by.
    is_conjugate : bool
        Whether gradients of complex numbers are the conjugates of tape's, as in PyTorch.

    Returns
    -------
    callable
        ``pull(arrays, cotangents)``: the arrays of the call, and a cotangent for each leaf of the result that
        holds floats or complex numbers. Returns the gradients.
    """

    def pull(arrays: list[Any], cotangents: list[Any]) -> list[Any]:
        def of(*moving: Any) -> list[Any]:
            moved = dict(zip(wrt, moving, strict=True))
            args, kwargs = signature.filled([moved.get(k, array) for k, array in enumerate(arrays)])
            leaves = tree.flatten(f(*args, **kwargs))[0]
            return [leaf for leaf in leaves if is_inexact(leaf)]

        _, back = vjp(of, *[arrays[k] for k in wrt])
        seeds = [_conjugate(g) for g in cotangents] if is_conjugate else cotangents
        found = back(list(seeds))
        return [_conjugate(g) if is_conjugate else g for g in found]

    return pull


def is_inexact(leaf: Any) -> bool:
    """Return whether a leaf holds floats or complex numbers."""
    return np.result_type(leaf).kind in "fc"


def _conjugate(array: Any) -> Any:
    return np.conj(array) if np.result_type(array).kind == "c" else array


class Pullbacks:
    """The pullbacks of a function, one for each signature and choice of arrays, compiled."""

    def __init__(self, f: Callable[..., Any], *, is_conjugate: bool) -> None:
        self._f = f
        self._is_conjugate = is_conjugate
        self._known: dict[Any, Callable[..., Any]] = {}

    def of(self, signature: Signature, wrt: tuple[int, ...]) -> Callable[..., Any]:
        """Return the pullback, of which one is kept for equal signatures."""
        key = None if signature.key is None else (signature.key, wrt)
        if key is not None and key in self._known:
            return self._known[key]
        pull = pullback_of(self._f, signature, wrt, is_conjugate=self._is_conjugate)
        if key is None:
            return pull
        return self._known.setdefault(key, compile(pull))
