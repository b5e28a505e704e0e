"""The cache folder of compiled code, which must belong to the user.

Loaded code runs with all rights of the user. So the folder and every file that is read must belong to the
user and be writable by nobody else; files are written under unpredictable names, and links are not followed.
Each file begins with a digest: a truncated or damaged one counts as missing.

A failure makes the next process slower, and is never an error.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_MAGIC = b"tape code 2\n"
_BEGIN = len(_MAGIC) + hashlib.sha256().digest_size
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_OLD = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_TEMPORARY = ".part"
_ABANDONED = 3600  # seconds after which an unfinished file is abandoned
_POLL = 0.05  # seconds between attempts to take the lock


def cache_folder() -> Path | None:
    """Return the folder of compiled code, created if necessary; None if there is none to trust.

    It is ``TAPE_CACHE_DIR``, else ``tape`` in the user's cache folder. It is not trusted if it belongs to
    another user, or if others may write to it.
    """
    folder = _wanted()
    if folder is None:
        return None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=stat.S_IRWXU)
        folder = folder.resolve()
        found = os.lstat(folder)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle
        return None
    return folder if stat.S_ISDIR(found.st_mode) and _is_private(found) else None


def _wanted() -> Path | None:
    given = os.environ.get("TAPE_CACHE_DIR")
    if given:
        return Path(given)
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "tape"
    caches = os.environ.get("XDG_CACHE_HOME")
    if caches:
        return Path(caches) / "tape"
    try:
        return Path.home() / ".cache" / "tape"
    except (RuntimeError, KeyError):  # neither HOME nor an entry in the table of users
        return None


def _is_private(found: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user and is writable by nobody else."""
    if not hasattr(os, "geteuid"):  # on Windows the user's folder is private
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE


def read(name: str) -> bytes | None:
    """Return the content of a file; None if it is missing or not to be trusted.

    Parameters
    ----------
    name : str
        The name of a file in the folder.
    """
    folder = cache_folder()
    if folder is None:
        return None
    try:
        with open(os.open(folder / name, _OLD), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _is_private(found):
                return None
            data = file.read()
    except (OSError, ValueError):
        return None
    content = data[_BEGIN:]
    return content if data[:_BEGIN] == _head(content) else None


def write(name: str, content: bytes, most: int) -> None:
    """Write a file if possible, atomically also with concurrent writers.

    Parameters
    ----------
    name : str
        The name of a file in the folder: an identity, a last ``-``, and a version.
    content : bytes
        The content.
    most : int
        The number of versions to keep, the latest ones.
    """
    folder = cache_folder()
    if folder is None:
        return
    temporary = folder / f"{name}.{secrets.token_hex(8)}{_TEMPORARY}"
    try:
        with open(os.open(temporary, _NEW, stat.S_IRUSR | stat.S_IWUSR), "wb") as file:
            file.write(_head(content))
            file.write(content)
        temporary.replace(folder / name)
        _delete_old(folder, name.rpartition("-")[0], most)
    except (OSError, ValueError):  # for instance a full disk: the code is compiled again next time
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def alone(seconds: float) -> Iterator[None]:
    """Hold the folder while compiling: another process that needs the same code waits, and then reads it.

    The lock ends with the process, however that ends. Where there is no folder or no lock to be had, and
    after the given time, nothing is held: the same code is then compiled twice.

    Parameters
    ----------
    seconds : float
        How long to wait for other processes.
    """
    descriptor = None
    with suppress(OSError):
        descriptor = _locked(seconds)
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked process may have a copy of the descriptor
            os.close(descriptor)


def _locked(seconds: float) -> int | None:
    """Return a descriptor of the folder that holds its lock; None if there is no folder, or no locks."""
    folder = cache_folder()
    if folder is None or sys.platform == "win32":
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL)
            else:
                return descriptor
    except BaseException:
        os.close(descriptor)
        raise


def _head(content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(content).digest()


def _delete_old(folder: Path, what: str, most: int) -> None:
    """Delete old versions, and unfinished files of killed processes."""
    versions = []
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):  # another process may delete it first
            changed = entry.stat(follow_symlinks=False).st_mtime
            if entry.name.endswith(_TEMPORARY):
                if changed < time.time() - _ABANDONED:
                    os.unlink(entry)
            elif entry.name.rpartition("-")[0] == what:
                versions.append((changed, entry.name))
    for _, old in sorted(versions)[:-most]:
        (folder / old).unlink(missing_ok=True)
