"""Machine code before it is needed: waiting for it, and making it a part of an installation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tape import errors
from tape.kernels import shipped
from tape.kernels.availability import Unavailable, require
from tape.kernels.groups import ALL
from tape.kernels.loading import native
from tape.kernels.making import helper
from tape.system.progress import progress_bar


def warm_up(progress: bool = False) -> bool:
    """Wait until all machine code is there, so that nothing runs without it from now on.

    It is compiled once on a computer, in about a minute, by another process; until then compiled functions
    run as plain Python, and operations by NumPy. This is for images of containers, for measurements, and for
    runs that are to repeat to the last digit from the first call on. An installation that was built with
    ``python -m tape build-kernels`` has the code already.

    Parameters
    ----------
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    bool
        Whether there is machine code: not where none can run, of which a warning tells.

    Raises
    ------
    UnsupportedError
        If a bar is to be shown, and tqdm is not installed.

    Examples
    --------
    >>> import tape
    >>> tape.warm_up()
    True
    """
    with progress_bar(progress, "compiling tape's kernels", len(ALL), "group") as bar:
        for group in ALL:
            try:
                native(group)
            except Unavailable:
                return False
            bar.update()
    return True


def levels_here() -> tuple[str, ...]:
    """Return the levels of processors that code can be built for on this kind of machine."""
    return tuple([level for level in shipped.LEVELS if shipped.is_of_machine(level)])


def build_kernels(levels: Sequence[str], progress: bool = False) -> list[Path]:
    """Compile all machine code for levels of processors, into the package, and return the folders.

    Wheels that are built of the package afterwards have it, and never compile.

    Parameters
    ----------
    levels : sequence of str
        Of `levels_here`.
    progress : bool
        Whether to show a progress bar.

    Raises
    ------
    OptionError
        If a level is not one of this kind of machine.
    UnsupportedError
        If it cannot be compiled here.
    """
    unknown = [level for level in levels if level not in levels_here()]
    if unknown:
        raise errors.OptionError(f"{unknown[0]!r} is no level here. There are {', '.join(levels_here())}")
    try:
        require()
    except Unavailable as reason:
        raise errors.UnsupportedError(f"there is no machine code here: {reason}") from None
    folders = [shipped.folder_of(level) for level in levels]
    with progress_bar(progress, "compiling tape's kernels", len(levels) * len(ALL), "group") as bar:
        for level, folder in zip(levels, folders, strict=True):
            for _ in _built(level, folder):
                bar.update()
    return folders


def _built(level: str, folder: Path) -> Iterator[str]:
    _, processor, features = shipped.LEVELS[level]
    environment = {
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in sorted(features)),
    }
    process = helper("build", str(folder), environment=environment)
    assert process.stdout is not None
    for line in process.stdout:
        yield line.decode().strip()
    complaint = process.complaint()
    if process.returncode:
        with suppress(OSError):
            (folder / shipped.INDEX).unlink()
        raise errors.UnsupportedError(f"the code for {level} cannot be compiled: {complaint}")
