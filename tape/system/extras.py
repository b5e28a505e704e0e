"""What is not installed with tape by itself: imported when it is used, and asked for by name if missing.

Knows nothing of what it is used for.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from tape import errors

__all__ = ["need"]

_DISTRIBUTIONS = {"PIL": "Pillow"}
"""What packages are called where they are installed from, unless it is as they are imported."""


def need(module: str, what: str, extra: str | None = None, otherwise: str = "") -> ModuleType:
    """Import a module of a package that may not be installed.

    Parameters
    ----------
    module : str
        As it is imported, such as ``"rich.table"``.
    what : str
        What it is needed for, in the plural: the subject of the message.
    extra : str, optional
        The extra of tape that brings the package.
    otherwise : str
        What else could be done, for the end of the message.

    Returns
    -------
    module

    Raises
    ------
    UnsupportedError
        If it is not installed, with how to install it.

    Examples
    --------
    >>> from tape.system.extras import need
    >>> need("math", "roots").sqrt(4.0)
    2.0
    >>> need("no_such_package", "miracles", "viz")
    Traceback (most recent call last):
    tape.errors.UnsupportedError: miracles need no_such_package, which is not installed: pip install ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        name = _DISTRIBUTIONS.get(package, package)
        command = f"pip install {name.lower()}" if extra is None else f"pip install 'tape[{extra}]'"
        raise errors.UnsupportedError(
            f"{what} need {name}, which is not installed: {command}{f'. {otherwise}' if otherwise else ''}"
        ) from error
