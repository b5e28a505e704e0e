"""Checkpoints: numbered files that each hold all of a training, from which it goes on bit by bit the same.

Relies on `tape.train._encoding` for what is in a file and on `tape.train._npz` for the file itself. Knows
nothing of steps, data or callbacks: what they have to keep is a tree.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tape import errors
from tape import tree as trees
from tape.train._encoding import Decoder, Encoder, Stateful, restore_generator
from tape.train._npz import read_npz, write_npz, write_whole

_NAME = re.compile(r"step-(\d{10,})\.npz(\.partial)?")
_FORMAT = 1


class Checkpoints:
    """A folder of checkpoints of one training.

    Each is one npz file, written under a temporary name, brought to the disk and renamed: a process that is
    killed at any moment leaves whole files. It holds a tree, with the states of generators, the versions of
    tape, NumPy and Python, and a SHA-256 digest of all.

    Parameters
    ----------
    folder : path-like
        Made when the first file is written. One folder for one training.
    keep : int
        How many files are kept, the newest ones; at least 1.
    every : int, optional
        `fit` saves after so many steps, and when it ends; by default at the end of each epoch.

    Raises
    ------
    OptionError
        If ``keep`` or ``every`` is not a positive whole number.

    Notes
    -----
    A tree that is restored has the structure of one given for it, and its own numbers. A leaf that still was
    the very array that `restore` had returned (or was given, if there was no file) when it was saved is one
    that is updated in place; its numbers are written into the array that stands there now, so that an
    optimizer that holds this array works on it. All other arrays are new. Generators, and objects with
    ``state_dict`` and ``load_state_dict``, take over their state in place.

    Results are bit by bit the same on the same machine with the same versions. Arrays keep the order of their
    axes in memory, but not gaps between elements.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from tape.train import Checkpoints
    >>> folder = tempfile.mkdtemp()
    >>> rng = np.random.default_rng(0)
    >>> path = Checkpoints(folder).save(10, {"w": np.ones(2), "rng": rng, "lr": 0.1})
    >>> path.name
    'step-0000000010.npz'
    >>> expected = rng.uniform()
    >>> step, state = Checkpoints(folder).restore({"w": np.zeros(2), "rng": rng, "lr": 0.0})
    >>> step, state["w"], state["lr"], rng.uniform() == expected
    (10, array([1., 1.]), 0.1, True)
    """

    def __init__(self, folder: str | os.PathLike[str], keep: int = 3, every: int | None = None) -> None:
        self.folder = Path(folder)
        self.keep = _count("keep", keep)
        self.every = None if every is None else _count("every", every)
        self._first: list[Any] | None = None  # the leaves at the start of this process
        self._kinds: list[Any] = []  # those of the tree that they were restored for

    def __repr__(self) -> str:
        return f"Checkpoints({str(self.folder)!r}, keep={self.keep}, every={self.every})"

    def files(self) -> list[Path]:
        """Return the whole files, oldest first."""
        if not self.folder.is_dir():
            return []
        found = [(match, path) for path in self.folder.iterdir() if (match := _NAME.fullmatch(path.name))]
        return [path for _, path in sorted((int(m[1]), path) for m, path in found if m[2] is None)]

    def save(self, step: int, tree: Any) -> Path:
        """Write a checkpoint, and then delete those that are older than the ``keep`` newest.

        Parameters
        ----------
        step : int
            The number of the file, zero or positive. One of the same number is replaced.
        tree : tree
            Leaves are arrays, NumPy scalars, numbers, strings, generators of `numpy.random`, and objects with
            ``state_dict`` and ``load_state_dict``.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        FileWriteError
            If the system refuses, such as on a full disk. All older files are still there.
        DTypeError
            If a leaf is something else.
        ConversionError
            If a leaf is a Var.
        """
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step < 0:
            raise errors.OptionError(
                f"Checkpoints.save: step={errors.describe(step)}. Pass a whole number from 0"
            )
        arrays = _packed(int(step), tree, self._first, self._kinds)
        path = self.folder / f"step-{step:010d}.npz"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.FileWriteError(
                f"the folder {self.folder} cannot be made: {error.strerror}. Choose another one"
            ) from error
        write_whole(path, lambda file: write_npz(file, arrays))
        self._delete_older(path)
        return path

    def restore(self, like: Any) -> tuple[int, Any] | None:
        """Load the newest checkpoint that is whole.

        Damaged ones are set aside under the name ``....damaged``, with a warning.

        Parameters
        ----------
        like : tree
            A tree as it was before the first step: it gives the structure, and the objects that take over
            states in place.

        Returns
        -------
        step : int
        tree : tree
            None instead of both if there is no checkpoint.

        Raises
        ------
        CheckpointError
            If no file is whole, or the file holds another tree: names that are missing or unexpected, another
            shape or dtype.

        Warns
        -----
        CheckpointWarning
            If a damaged file was skipped, or the versions of tape, NumPy or Python are others.
        """
        leaves, structure = trees.flatten(like)
        self._kinds = [_kind(leaf) for leaf in leaves]
        newest = self._newest()
        if newest is None:
            self._first = leaves
            return None
        path, header, arrays = newest
        restored = _unpacked(path, header, arrays, leaves, trees.names(structure, ""))
        _warn_of_versions(path, header["versions"])
        self._first = restored
        return header["step"], trees.unflatten(structure, restored)

    def _newest(self) -> tuple[Path, Any, list[np.ndarray]] | None:
        damaged: list[tuple[Path, str]] = []
        for path in reversed(self.files()):
            try:
                header, arrays = _read(path)
            except errors.CheckpointError as error:
                damaged.append((path, str(error)))
                continue
            for bad, why in damaged:
                with contextlib.suppress(OSError):  # a folder that is not ours to write to
                    bad.rename(bad.with_name(f"{bad.name}.damaged"))
                errors.warn(f"{why}. It is set aside, and {path.name} loaded", errors.CheckpointWarning)
            return path, header, arrays
        if damaged:
            raise errors.CheckpointError(
                f"none of {len(damaged)} checkpoints in {self.folder} is whole: {damaged[0][1]}. To start "
                "over, "
                "choose another folder or delete this one"
            )
        return None

    def _delete_older(self, written: Path) -> None:
        """Delete files beyond the newest, and what killed processes left."""
        kept = {written, *self.files()[-self.keep :]}
        for path in list(self.folder.iterdir()):
            if _NAME.fullmatch(path.name) and path not in kept:
                with contextlib.suppress(OSError):  # someone looks at it; the next time
                    path.unlink()


def _count(name: str, number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise errors.OptionError(
            f"Checkpoints: {name}={errors.describe(number)}. It must be a positive whole number"
        )
    return int(number)


# ---- what is in a file ---------------------------------------------------------------------------


def _packed(step: int, tree: Any, first: Sequence[Any] | None, kinds: list[Any]) -> dict[str, np.ndarray]:
    """Return a tree as arrays by name: of its leaves, of the JSON that says what they are, of the digest."""
    leaves, structure = trees.flatten(tree)
    names = trees.names(structure, "")
    encoder = Encoder()
    entries = []
    if first is None or len(first) != len(leaves):
        first, kinds = [None] * len(leaves), [_kind(leaf) for leaf in leaves]
    for i, (name, leaf) in enumerate(zip(names, leaves, strict=True)):
        entries.append(
            {
                "name": name,
                "value": encoder.encode(leaf, name or "the state"),
                "kind": kinds[i],
                "in_place": first[i] is leaf and isinstance(leaf, np.ndarray),
            }
        )
    header = {"format": _FORMAT, "step": step, "versions": _versions(), "leaves": entries}
    packed = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    packed |= {str(i): array for i, array in enumerate(encoder.arrays)}
    return packed | {"digest": _digest(packed)}


def _read(path: Path) -> tuple[Any, list[np.ndarray]]:
    """Return the header and the arrays of a file, once its digest has been found right."""
    packed = read_npz(path)
    try:
        digest = packed.pop("digest")
        if not np.array_equal(digest, _digest(packed)):
            raise ValueError("its digest differs")
        header = json.loads(packed["header"].tobytes())
        arrays = [packed[str(i)] for i in range(len(packed) - 1)]
        if header["format"] != _FORMAT:
            raise ValueError(f"it has format {header['format']!r}, and this version reads {_FORMAT}")
    except (KeyError, ValueError) as error:
        raise errors.CheckpointError(f"{path} is not a whole checkpoint: {error}") from error
    return header, arrays


def _digest(packed: dict[str, np.ndarray]) -> np.ndarray:
    """Return the SHA-256 of names, dtypes, shapes and bytes."""
    digest = hashlib.sha256()
    for name, array in packed.items():
        digest.update(f"{name} {np.lib.format.dtype_to_descr(array.dtype)} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return np.frombuffer(digest.digest(), np.uint8)


def _unpacked(
    path: Path, header: Any, arrays: list[np.ndarray], leaves: list[Any], names: list[str]
) -> list[Any]:
    """Return the leaves of a checkpoint for the places of those of a tree."""
    saved = [entry["name"] for entry in header["leaves"]]
    if saved != names:
        missing = [name or "one array" for name in names if name not in saved]
        unexpected = [name or "one array" for name in saved if name not in names]
        parts = [
            f"{what} {', '.join(found[:5])}{' ...' if len(found) > 5 else ''}"
            for what, found in (("it lacks", missing), ("it also holds", unexpected))
            if found
        ] or ["its leaves have another order"]
        raise errors.CheckpointError(
            f"{path} holds another state: {'; '.join(parts)}. Build the state as it was, or choose another "
            "folder"
        )
    decoder = Decoder(arrays)
    try:
        values = [decoder.decode(entry["value"]) for entry in header["leaves"]]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise errors.CheckpointError(f"{path} is no checkpoint of this version: {error}") from error
    for name, entry, leaf in zip(names, header["leaves"], leaves, strict=True):
        if entry["kind"] != _kind(leaf):
            raise errors.CheckpointError(
                f"{path}: {name or 'the state'} began as {_said(entry['kind'])}, and is "
                f"{_said(_kind(leaf))} now. "
                "Build the state as it was, or choose another folder"
            )
    placed: dict[int, np.ndarray] = {}  # other places of an array that is updated in place are that array
    for entry, leaf, value in zip(header["leaves"], leaves, values, strict=True):
        if entry["in_place"] and leaf.shape == value.shape and leaf.flags.writeable:
            leaf[...] = value
            placed[id(value)] = leaf
    return [
        placed[id(value)] if id(value) in placed else _taken_over(leaf, value, name)
        for name, leaf, value in zip(names, leaves, values, strict=True)
    ]


def _taken_over(leaf: Any, value: Any, name: str) -> Any:
    """Return the object that stands in the place of a leaf with the saved state, or the saved value."""
    if isinstance(leaf, np.random.Generator) and isinstance(value, np.random.Generator):
        restore_generator(leaf, value, name)
        return leaf
    if isinstance(leaf, Stateful) and not isinstance(leaf, np.ndarray):
        leaf.load_state_dict(value)
        return leaf
    return value


def _kind(leaf: Any) -> list[Any]:
    """Return what must be alike in a leaf that is saved and the one that it is restored for."""
    if isinstance(leaf, np.ndarray):
        return [leaf.dtype.str, list(leaf.shape)]
    if isinstance(leaf, (bool, int, float, complex, np.generic)):
        return ["number"]
    return [type(leaf).__name__]


def _said(kind: list[Any]) -> str:
    return f"{np.dtype(kind[0])}{kind[1]}" if len(kind) == 2 else kind[0]


def _versions() -> dict[str, str]:
    # an import of the package itself would be one of all floors
    return {
        "tape": sys.modules["tape"].__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _warn_of_versions(path: Path, saved: dict[str, str]) -> None:
    here = _versions()
    changed = [
        f"{name} {saved.get(name)} (now {here[name]})" for name in here if saved.get(name) != here[name]
    ]
    if changed:
        errors.warn(
            f"{path.name} was written with {', '.join(changed)}: results may differ in their last bits",
            errors.CheckpointWarning,
        )
