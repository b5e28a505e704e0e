"""Real compilation in seconds: the process that compiles is told to make a few units only."""

from collections.abc import Sequence

from tape.kernels import making

_CALL = "\n{function}(*{arguments!r})"
_PREPARED = """
from tape.program.native import compiling

wanted = %r
compiling.UNITS = {g: {n: compiling.UNITS[g][n] for n in names} for g, names in wanted.items()}
compiling._HALF = wanted.get("machine", ())[1:]
"""


def only(**units: Sequence[str]) -> None:
    """Let processes that this one starts from now on compile these units, and nothing else.

    Parameters
    ----------
    **units : sequence of str
        Names of units by group. Of the machine, the first unit is compiled by one process and the others by
        a second one, if there are two cores.
    """
    making._HELPER = template(making._HELPER, **units)


def template(before: str, **units: Sequence[str]) -> str:
    """Return what `tape.kernels.making` starts Python with, changed as by `only`."""
    assert _CALL in before
    wanted = {group: tuple(names) for group, names in units.items()}
    prepared = (_PREPARED % wanted).replace("{", "{{").replace("}", "}}")
    return before.replace(_CALL, prepared + _CALL)
