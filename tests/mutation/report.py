"""What came of a campaign, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.mutation.campaign import Result
from tests.mutation.operators import Mutant

__all__ = ["report"]


def report(results: Sequence[Result], root: Path) -> str:
    """The counts, and of each survivor the place, the diff, and how many tests have tried.

    Parameters
    ----------
    results : sequence of Result
        What `Campaign.run` returns.
    root : Path
        The repository.
    """
    verdicts = Counter(result["verdict"] for result in results)
    noticed = sum(verdicts.values()) - verdicts["survived"] - verdicts["untested"]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    share = f"{noticed / len(results):.1%} were noticed" if results else "none were drawn"
    seconds = f", in {median(result['seconds'] for result in results):.1f} s (median)" if results else ""
    lines = [f"{len(results)} mutants: {counts}. {share}{seconds}."]
    for result in results:
        if result["verdict"] in ("survived", "untested"):
            mutant = Mutant(**{**result["mutant"], "statement": tuple(result["mutant"]["statement"])})
            tried = f"{result['ran']} of {result['of']} tests that execute the line have run"
            heading = (
                f"{mutant.path}:{mutant.line}: {mutant.kind}; {tried if result['of'] else 'no test does'}"
            )
            lines += ["", heading, mutant.diff((root / mutant.path).read_text()).rstrip()]
    return "\n".join(lines)
