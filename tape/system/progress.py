"""A progress bar for long work, if it is wanted: tqdm's, which is imported only then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tape.system.extras import need

__all__ = ["progress_bar"]


class _Hidden:
    """A bar that nobody sees."""

    def update(self, count: int = 1) -> None:
        """Take no notice."""

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """Take no notice."""


@contextmanager
def progress_bar(is_shown: bool, title: str, total: int | None = None, unit: str = "it") -> Iterator[Any]:
    """Something with tqdm's ``update`` and ``set_postfix_str``.

    Parameters
    ----------
    is_shown : bool
        Whether there is a bar to see.
    title : str
        What stands before it.
    total : int, optional
        How many updates it takes, if that is known.
    unit : str
        What is counted.

    Raises
    ------
    UnsupportedError
        If it shall be shown, and tqdm is not installed.

    Examples
    --------
    >>> from tape.system.progress import progress_bar
    >>> with progress_bar(False, "steps", 3) as bar:
    ...     for _ in range(3):
    ...         bar.update()
    """
    if not is_shown:
        yield _Hidden()
        return
    tqdm = need("tqdm.auto", "progress bars", "examples", "Or leave progress out").tqdm
    with tqdm(desc=title, total=total, unit=f" {unit}") as bar:
        yield bar
