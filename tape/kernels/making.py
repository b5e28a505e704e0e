"""Another process that makes machine code: how it is started, what it sends, how it ends.

It runs `tape.program.native.compiling`, and starts when code is needed that no file has: most processes do
not import this.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tape.kernels.loading import POLL, packed, unpacked

SECONDS = 600
"""After which a process that compiles is killed."""

_HELPER = """
import faulthandler, os, sys, threading, time

def end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)

sys.path[:] = {path!r}
faulthandler.dump_traceback_later({limit}, exit=True)
if hasattr(os, "getppid"):
    threading.Thread(target=end_with, args=({parent},), daemon=True).start()

from tape.program.native.compiling import {function}

{function}(*{arguments!r})
"""


class Helper(subprocess.Popen[bytes]):
    """Another Python: what it prints is read from its output, what it complains of is `complaint`.

    Complaints are read all the time: it would stop for ever once a pipe is full, as it soon is where Python
    is told to list its imports.
    """

    def __init__(self, command: Sequence[str | Path], environment: dict[str, str]) -> None:
        super().__init__(
            command, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._last: deque[bytes] = deque(maxlen=1)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.stderr is not None
        with self.stderr, suppress(OSError, ValueError):
            self._last.extend(line for line in self.stderr if line.strip())

    def complaint(self) -> str:
        """Wait until it has ended; return the last line that it has complained of, or its exit status."""
        assert self.stdout is not None
        with self.stdout:
            self.stdout.read()
        self.wait()
        self._listener.join(1.0)
        return self._last[0].decode(errors="replace").strip() if self._last else f"status {self.returncode}"


def helper(function: str, *arguments: Any, environment: dict[str, str] | None = None) -> Helper:
    """Start another Python that runs a function of `tape.program.native.compiling`.

    It ends with this process, however that ends, and after `SECONDS`.

    Parameters
    ----------
    function : str
        Its name.
    *arguments
        Literals.
    environment : dict, optional
        Variables beside those of this process.

    Raises
    ------
    OSError
        If none can be started.
    """
    code = _HELPER.format(
        path=sys.path, limit=SECONDS, parent=os.getpid(), function=function, arguments=arguments
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return Helper([_python(), "-c", code], {**kept, **(environment or {})})


def _python() -> Path:
    """Return the interpreter, also where Python is embedded in a program that does something else."""
    candidates = [Path(sys.executable or "")]
    version = ".".join(platform.python_version_tuple()[:2])
    candidates += [Path(sys.exec_prefix) / "bin" / f"python{version}", Path(sys.exec_prefix) / "python.exe"]
    for python in candidates:
        if python.name.startswith("python") and python.exists():
            return python
    raise OSError("there is no Python beside this program to compile with: run `python -m tape warm-up` once")


class Maker:
    """Another process, which compiles all groups, one after the other.

    Parameters
    ----------
    first : str
        The group that is needed first.
    """

    def __init__(self, first: str) -> None:
        self._owner = os.getpid()
        self._looked: dict[str, float] = {}
        self._made: dict[str, dict[str, tuple[str, bytes]]] = {}
        self._failure: str | None = None
        self._process = helper("compile_groups", first)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for group, objects in received(self._process.stdout):
                self._made[group] = objects
            self._failure = self._process.complaint()
        except Exception as error:  # it may have printed anything
            self._process.kill()
            self._process.complaint()
            self._failure = f"{type(error).__name__}: {error}"

    def is_of_another_process(self) -> bool:
        """Return whether this process has been forked from the one that reads what is made."""
        return self._owner != os.getpid()

    def is_due(self, group: str) -> bool:
        """Return whether it is time to look for a group again."""
        now = time.monotonic()
        if group not in self._made and self._failure is None and now < self._looked.get(group, 0.0) + POLL:
            return False
        self._looked[group] = now
        return True

    def objects(self, group: str) -> dict[str, tuple[str, bytes]] | None:
        """Return the code of a group; None if it is not there yet."""
        failure = self._failure
        found = self._made.get(group)
        if found is None and failure is not None:
            raise OSError(failure)
        return found


# ---- what it sends -----------------------------------------------------------------------------------


def sent(stream: Any, name: str, objects: dict[str, tuple[str, bytes]]) -> None:
    """Write code to a stream, with a name."""
    content = packed(objects)
    stream.write(json.dumps([name, len(content)]).encode() + b"\n" + content)
    stream.flush()


def received(stream: Any) -> Iterator[tuple[str, dict[str, tuple[str, bytes]]]]:
    """Read what `sent` has written, until the stream ends or holds something else."""
    for line in stream:
        name, size = json.loads(line)
        objects = unpacked(stream.read(size))
        if objects is None:
            return
        yield name, objects
