"""Trees of arrays in files, by the names of their leaves: npz, and safetensors by its library.

Neither format can hold code. Files are written whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tape import errors
from tape import tree as trees
from tape.conversion.foreign import complaint
from tape.core.node import Handle
from tape.system.extras import need
from tape.train._npz import read_npz, write_npz, write_whole

_SUFFIXES = (".npz", ".safetensors")


def save(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree of arrays to a file, each under its name, such as ``layers.0.weight``.

    Parameters
    ----------
    path : path-like
        Ends in .npz, or in .safetensors, which needs the package safetensors.
    tree : tree
        Leaves are arrays and numbers. Structure and static fields are not saved: `load` takes a tree.

    Raises
    ------
    OptionError
        If the path ends otherwise, or two leaves would have one name.
    DTypeError
        If a leaf is something else, or the format has no such dtype.
    FileWriteError
        If the system refuses. A file of this name that was there before is untouched.
    UnsupportedError
        If safetensors is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from tape import train
    >>> path = tempfile.mkdtemp() + "/model.npz"
    >>> train.save(path, {"layers": [{"w": np.ones((2, 2))}, {"w": np.zeros(2)}]})
    >>> list(train.load(path))
    ['layers.0.w', 'layers.1.w']
    >>> train.load(path, like={"layers": [{"w": np.zeros((2, 2))}, {"w": np.ones(2)}]})
    {'layers': [{'w': array([[1., 1.],
           [1., 1.]])}, {'w': array([0., 0.])}]}
    """
    target = _checked_path(path, "save")
    leaves, structure = trees.flatten(tree)
    names = _names(structure, "save")
    arrays = {name: _as_array(leaf, name, "save") for name, leaf in zip(names, leaves, strict=True)}
    if target.suffix == ".npz":
        write_whole(target, lambda file: write_npz(file, arrays))
        return
    library = need("safetensors.numpy", "files of safetensors", "train", "Or save as .npz")
    native = {name: _native(array) for name, array in arrays.items()}
    try:
        content = library.save(native)
    except Exception as error:  # its errors are of several kinds, by version
        kinds = ", ".join(sorted({str(array.dtype) for array in native.values()}))
        raise errors.DTypeError(
            f"save: safetensors cannot hold these arrays ({kinds}): {error}. Save as .npz"
        ) from error
    write_whole(target, lambda file: file.write(content))


def load(path: str | os.PathLike[str], like: Any = None) -> Any:
    """Read a tree of arrays from a file that `save`, or another program, wrote.

    Parameters
    ----------
    path : path-like
        Ends in .npz, or in .safetensors.
    like : tree, optional
        A tree of the structure to return; its leaves say shapes and dtypes, and are not changed.

    Returns
    -------
    tree
        Of new arrays. Where ``like`` has a number of Python, a number. Without ``like`` a dict from names to
        arrays.

    Raises
    ------
    CheckpointError
        If the file is damaged, or lacks names, holds others, or an array has another shape or dtype: all of
        them are listed.
    FileNotFoundError
        If there is none.
    OptionError
        If the path ends otherwise.
    UnsupportedError
        If safetensors is not installed.
    """
    target = _checked_path(path, "load")
    found = read_npz(target) if target.suffix == ".npz" else _read_safetensors(target)
    if like is None:
        return found
    leaves, structure = trees.flatten(like)
    names = _names(structure, "load")
    expected = {name: _as_array(leaf, name, "load") for name, leaf in zip(names, leaves, strict=True)}
    _check_fit(target, found, expected)
    return trees.unflatten(
        structure, [_as_leaf(found[name], leaf) for name, leaf in zip(names, leaves, strict=True)]
    )


def _check_fit(path: Path, found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    missing = [name for name in expected if name not in found]
    unexpected = [name for name in found if name not in expected]
    differing = [
        f"{name} is {errors.describe(found[name])} instead of {errors.describe(array)}"
        for name, array in expected.items()
        if name in found and (found[name].shape, _order_of(found[name])) != (array.shape, _order_of(array))
    ]
    complaints = [
        f"{what}: {', '.join(which[:8])}{f' and {len(which) - 8} more' if len(which) > 8 else ''}"
        for what, which in (("missing", missing), ("unexpected", unexpected), ("different", differing))
        if which
    ]
    if complaints:
        raise errors.CheckpointError(
            f"{path} does not fit the tree; {'; '.join(complaints)}. Load without like= for a dict of its "
            "arrays"
        )


def _order_of(array: np.ndarray) -> np.dtype:
    """Return the dtype in the byte order of this machine: the same numbers are the same dtype."""
    return array.dtype.newbyteorder("=")


def _as_leaf(array: np.ndarray, like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return array.astype(like.dtype, copy=False)
    return type(like)(array[()]) if isinstance(like, np.generic) else array.item()


def _checked_path(path: str | os.PathLike[str], function: str) -> Path:
    checked = Path(path)
    if checked.suffix not in _SUFFIXES:
        raise errors.OptionError(f"{function}: {str(checked)!r} must end in {' or '.join(_SUFFIXES)}")
    return checked


def _names(structure: Any, function: str) -> list[str]:
    """Return names of leaves as other libraries write them, with dots."""
    if structure is trees.LEAF:
        return ["array"]
    names = [".".join(map(str, path)) for path in structure.paths()]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or "" in names:
        raise errors.OptionError(
            f"{function}: two leaves would have the name {twice[0]!r}. Rename a key"
            if twice
            else f"{function}: a leaf would have no name. Rename the empty key"
        )
    return names


def _as_array(leaf: Any, name: str, function: str) -> np.ndarray:
    if isinstance(leaf, Handle):
        raise errors.ConversionError(f"{function}: {name} is {leaf!r}. Pass its .value")
    is_number = isinstance(leaf, (bool, int, float, complex, np.number, np.bool_))
    if is_number or (isinstance(leaf, np.ndarray) and complaint(leaf) is None):
        array = np.asarray(leaf)
        if not array.dtype.hasobject:
            return array
    raise errors.DTypeError(
        f"{function}: {name} is {type(leaf).__name__} {errors.describe(leaf)}. Leaves are arrays and numbers"
    )


def _native(array: np.ndarray) -> np.ndarray:
    """Return an array as safetensors takes it: contiguous, in the byte order of this machine."""
    return np.ascontiguousarray(array, _order_of(array)).reshape(array.shape)


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    library = need("safetensors.numpy", "files of safetensors", "train", "Or use .npz")
    content = path.read_bytes()
    try:
        return {name: np.array(array) for name, array in sorted(library.load(content).items())}
    except Exception as error:  # its errors are of several kinds, by version
        raise errors.CheckpointError(
            f"{path} is not a readable file of safetensors: {error}. It is damaged, or something else"
        ) from error
