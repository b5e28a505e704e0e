"""What every function can do: tried out, not claimed. `python -m tape.support` prints it as a table."""

from tape.support.probe import Support, probe
from tape.support.report import functions, markdown, report

__all__ = ["Support", "functions", "markdown", "probe", "report"]
