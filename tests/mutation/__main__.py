"""The command: ``python -m tests.mutation --help``."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tests.mutation import __doc__ as description
from tests.mutation.campaign import Campaign
from tests.mutation.report import report
from tests.mutation.sample import at, draw


def main() -> None:
    """Measure the map if need be, draw a sample, try it, and report."""
    parser = argparse.ArgumentParser(
        "python -m tests.mutation",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sample", type=int, default=200, help="how many mutants are drawn (200)")
    parser.add_argument("--seed", type=int, default=0, help="another one, another sample (0)")
    parser.add_argument(
        "--under", nargs="*", default=[], metavar="PATH", help="files or folders to draw from"
    )
    parser.add_argument(
        "--rare", type=int, metavar="N", help="only mutants that at most so many tests may notice"
    )
    parser.add_argument(
        "--at", nargs="*", default=[], metavar="FILE:LINE", help="all mutants of lines instead"
    )
    parser.add_argument("--tests", nargs="*", default=[], metavar="FILE", help="only tests of these files")
    parser.add_argument("--processes", type=int, default=2, help="at the same time (2)")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests that any mutant gets (60)")
    parser.add_argument(
        "--full", type=float, default=0, metavar="SECONDS", help="tests of the full tier that a survivor gets"
    )
    parser.add_argument("--folder", type=Path, default=Path("build/mutation"), help="where all is kept")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that processes at work are ended as well
    root = Path.cwd()
    if not (root / "tape").is_dir() or not (root / "tests").is_dir():
        parser.error("run it from the root of the repository")
    campaign = Campaign(root, options.folder.resolve(), options.processes, options.budget)
    coverage = campaign.measure(options.tests)
    if options.at:
        mutants = [mutant for place in options.at for mutant in at(root, place)]
    else:
        most = options.rare
        is_wanted = lambda mutant: most is None or campaign.tests_for(mutant, coverage) <= most  # noqa: E731
        mutants = draw(root, options.sample, options.seed, options.under, is_wanted)
    results = campaign.run(mutants, coverage)
    if options.full:
        results = campaign.run_in_full(results, coverage, options.full)
    text = report(results, root)
    (options.folder / "report.txt").write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
