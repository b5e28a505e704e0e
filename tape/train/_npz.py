"""Files of arrays: written whole or not at all, and read without pickle.

The format is NumPy's npz, so that any tool opens it. Knows nothing of trees or trainings.
"""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from tape import errors


def write_whole(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under a temporary name, bring it to the disk, and rename it.

    At every moment, also when the process is killed or the power fails, the path holds the whole old file or
    the whole new one.

    Parameters
    ----------
    path : pathlib.Path
        The file; the temporary one lies beside it, under the same name with ``.partial`` at the end.
    write : callable
        It takes the open file.

    Raises
    ------
    FileWriteError
        If the system refuses, such as on a full disk. The old file is untouched.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tape.train._npz import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", lambda file: file.write(b"whole"))
    ...     print([path.name for path in Path(folder).iterdir()])
    ['a.txt']
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        try:
            with open(partial, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise errors.FileWriteError(
            f"{path} could not be written: {reason}. What was there before is untouched. Free some space or "
            "check the permissions, and save again"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk; a rename is not on it before."""
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_npz(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to an open file as npz, uncompressed; equal arrays make equal files.

    `numpy.savez` takes the names as keywords, one of which is its own, and dates the file.

    Parameters
    ----------
    file : binary file
        It need not be seekable.
    arrays : mapping of str to numpy.ndarray
        Of any dtype without Python objects.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of an npz file.

    Returns
    -------
    dict of str to numpy.ndarray

    Raises
    ------
    CheckpointError
        If the file is damaged, is something else, or would need pickle, which runs foreign code.
    FileNotFoundError
        If there is none.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from tape.train._npz import read_npz, write_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "arrays.npz"
    ...     with open(path, "wb") as file:
    ...         write_npz(file, {"w": np.ones(2)})
    ...     read_npz(path)
    {'w': array([1., 1.])}
    """
    try:
        with open(path, "rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise ValueError("one array, and no npz")
            return {name: loaded[name] for name in loaded.files}
    except OSError:
        raise  # about the disk, not about what the file holds
    except Exception as error:  # zipfile, zlib and NumPy raise errors of a dozen kinds on damaged files
        raise errors.CheckpointError(
            f"{path} is not a readable npz file of plain arrays: {type(error).__name__}: {error}. It is "
            "damaged, "
            "or something else"
        ) from error
