"""An optional progress bar for long work, by tqdm, which is imported only when it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tape.system.extras import need


class _Hidden:
    """A progress bar that shows nothing."""

    def update(self, count: int = 1) -> None:
        """Do nothing."""

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """Do nothing."""


@contextmanager
def progress_bar(is_shown: bool, title: str, total: int | None = None, unit: str = "it") -> Iterator[Any]:
    """Return an object with tqdm's ``update`` and ``set_postfix_str``.

    Parameters
    ----------
    is_shown : bool
        Whether to show a bar.
    title : str
        The text before the bar.
    total : int, optional
        The number of updates, if known.
    unit : str
        The unit that is counted.

    Raises
    ------
    UnsupportedError
        If it is to be shown, and tqdm is not installed.

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
