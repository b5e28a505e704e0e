"""The support table: what every function supports, found by trying. `python -m tape.support` prints it."""

from tape.support.probe import Support, probe
from tape.support.report import functions, markdown, report

__all__ = ["Support", "functions", "markdown", "probe", "report"]
