"""`Layout`: a tree of floats in one vector for each dtype, and the description that ranks compare."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors, tree
from tape.conversion.foreign import complaint
from tape.core.node import Handle

_WIDER = {"e": "f"}
"""Codes of dtypes that are added in a wider one."""


class Layout:
    """The places of the leaves of a tree of floats in vectors, one for each dtype.

    Parameters
    ----------
    leaves : list
        Arrays, NumPy scalars and numbers, all of them floats or complex.
    structure
        The structure of the tree.
    root : str
        What the tree is called in messages.

    Raises
    ------
    ConversionError
        If a leaf is a Var.
    DTypeError
        If a leaf is not of floats.
    """

    def __init__(self, leaves: Sequence[Any], structure: Any, root: str) -> None:
        self.structure, self.root = structure, root
        for i, leaf in enumerate(leaves):
            self._check(i, leaf)
        self.key = key_of(leaves)
        arrays = [np.asarray(leaf) for leaf in leaves]
        self._types = [np.ndarray if isinstance(leaf, np.ndarray) else type(leaf) for leaf in leaves]
        self._shapes = [array.shape for array in arrays]
        self._dtypes = [array.dtype for array in arrays]
        self.sizes: dict[str, int] = {}
        self._places: list[tuple[str, slice]] = []
        for array in arrays:
            char = _WIDER.get(array.dtype.char, array.dtype.char)
            start = self.sizes.get(char, 0)
            self.sizes[char] = start + array.size
            self._places.append((char, slice(start, start + array.size)))

    def fits(self, leaves: Sequence[Any], structure: Any) -> bool:
        """Return whether another tree has the same leaves, but for their numbers."""
        return structure == self.structure and key_of(leaves) == self.key

    @functools.cached_property
    def description(self) -> list[str]:
        """A line for each leaf: its place in the tree, dtype and shape."""
        return describe(self.structure, self.key, self.root)

    @functools.cached_property
    def digest(self) -> int:
        """A number of 62 bits, above 0, for the description."""
        return digest_of(self.description)

    def vectors(self, parts: int = 1) -> dict[str, np.ndarray]:
        """Return uninitialized memory for so many parts: by dtype, of shape ``(parts, n)``."""
        return {char: np.empty((parts, size), char) for char, size in self.sizes.items()}

    def pack(self, leaves: Sequence[Any], scale: float, vectors: dict[str, np.ndarray], part: int) -> None:
        """Write leaves times a factor into a part of vectors."""
        for leaf, shape, (char, place) in zip(leaves, self._shapes, self._places, strict=True):
            out = vectors[char][part, place].reshape(shape)
            if scale == 1.0:
                out[...] = leaf
            else:
                np.multiply(leaf, scale, out=out, dtype=out.dtype)

    def slice_of(self, leaves: Sequence[Any], char: str, start: int, stop: int) -> np.ndarray:
        """Return elements of the vector of a dtype, as an array of its own."""
        out = np.empty(stop - start, char)
        for leaf, (kind, place) in zip(leaves, self._places, strict=True):
            first, last = max(start, place.start), min(stop, place.stop)
            if kind == char and first < last:
                part = np.asarray(leaf).flat[first - place.start : last - place.start]
                out[first - start : last - start] = part
        return out

    def unpack(self, vectors: dict[str, np.ndarray]) -> Any:
        """Return the tree of vectors of shape ``(n,)``; its arrays are views of them."""
        leaves: list[Any] = []
        for kind, dtype, shape, (char, place) in zip(
            self._types, self._dtypes, self._shapes, self._places, strict=True
        ):
            array = vectors[char][place].reshape(shape)
            if array.dtype != dtype:
                array = array.astype(dtype)
            leaves.append(array if kind is np.ndarray else kind(array[()]))
        return tree.unflatten(self.structure, leaves)

    def pickled(self) -> bytes:
        """Return what `unpickled` makes an equal layout of, on another rank."""
        zeros = {char: np.zeros(size, char) for char, size in self.sizes.items()}
        return pickle.dumps((self.unpack(zeros), self.root), protocol=5)

    @classmethod
    def unpickled(cls, text: bytes) -> Layout:
        """Return the layout of another rank."""
        zeros, root = pickle.loads(text)
        return cls(*tree.flatten(zeros), root)

    def _check(self, i: int, leaf: Any) -> None:
        if isinstance(leaf, Handle):
            raise errors.ConversionError(
                f"{self._name(i)} is {leaf!r}, and sums over ranks are not differentiable. Take gradients "
                "inside of the function: data_parallel(tape.value_and_grad(f))"
            )
        is_number = isinstance(leaf, (np.ndarray, np.generic, float, complex)) and complaint(leaf) is None
        if not is_number or np.asarray(leaf).dtype.kind not in "fc":
            raise errors.DTypeError(
                f"{self._name(i)} is {type(leaf).__name__} {errors.describe(leaf)}, and only floats have a "
                "mean. Return fractions instead of counts, or use gather"
            )

    def _name(self, i: int) -> str:
        return tree.names(self.structure, self.root)[i]


def key_of(leaves: Sequence[Any]) -> list[Any]:
    """Return type, dtype and shape of leaves."""
    return [
        (np.ndarray, leaf.dtype, leaf.shape) if isinstance(leaf, np.ndarray) else (type(leaf), None, ())
        for leaf in leaves
    ]


def describe(structure: Any, key: Sequence[Any], root: str) -> list[str]:
    """Return a line for each leaf of a tree: its place, dtype and shape."""
    return [
        f"{name}: {kind.__name__ if dtype is None else f'{dtype}{list(shape)}'}"
        for name, (kind, dtype, shape) in zip(tree.names(structure, root), key, strict=True)
    ]


def digest_of(lines: Sequence[str]) -> int:
    """Return a number of 62 bits, above 0, for lines."""
    code = hashlib.blake2b("\n".join(lines).encode(), digest_size=8).digest()
    return int.from_bytes(code, "little") >> 2 | 1
