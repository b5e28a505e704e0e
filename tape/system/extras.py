"""Optional dependencies: imported on use, with an error that names the missing package.

This file must never know their uses.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from tape import errors

_DISTRIBUTIONS = {"PIL": "Pillow"}
"""The names of packages for pip, where they differ from the names to import."""


def need(module: str, what: str, extra: str | None = None, otherwise: str = "") -> ModuleType:
    """Import a module of a package that may not be installed.

    Parameters
    ----------
    module : str
        The name to import, such as ``"rich.table"``.
    what : str
        The feature that needs it, in the plural: the subject of the message.
    extra : str, optional
        The extra of tape that installs the package.
    otherwise : str
        An alternative, for the end of the message.

    Returns
    -------
    module

    Raises
    ------
    UnsupportedError
        If it is not installed; the message says how to install it.

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
