"""Tape of this checkout next to that of another one, in turns: ``python -m benchmarks.against CHECKOUT``.

Both run the workloads of this checkout, each turn in a process of its own, so that neither has an advantage
from what the other one has compiled or from when it ran.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

_HERE = Path(__file__).resolve().parent.parent

_PROGRAM = """
import sys
here, checkout, *arguments = sys.argv[1:]
sys.path.insert(0, here)
from benchmarks.machine import limit_threads
limit_threads(1)
sys.path.insert(0, checkout)
import tape
assert tape.__file__.startswith(checkout), tape.__file__
from benchmarks.__main__ import main
sys.exit(main(arguments))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit status: 1 if something is slower by more than ``--limit``, or does not run.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("checkout", type=Path, help="folder of the other repository, which holds tape/")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="by default those marked with *")
    parser.add_argument("--turns", type=int, default=5, help="of each checkout")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn")
    parser.add_argument("--limit", type=float, default=1.03, help="a ratio above it is marked")
    options = parser.parse_args(arguments)
    checkout = options.checkout.resolve()
    if not (checkout / "tape" / "__init__.py").exists():
        parser.error(f"{checkout} holds no tape")
    status = 0
    print(f"{'here / there':>12}  {'pairs from .. to':>16}  workload, case, contender", flush=True)
    for workload in options.workloads or _defaults():
        times: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        for turn in range(options.turns):
            pair = {}
            for folder in (_HERE, checkout) if turn % 2 else (checkout, _HERE):
                found = _measured(folder, workload, options.seconds)
                if isinstance(found, str):
                    print(f"{workload} does not run in {folder}: {found}", flush=True)
                    break
                pair[folder] = found
            if len(pair) < 2:
                status = 1
                break
            for key, here in pair[_HERE].items():
                if key in pair[checkout]:
                    times[key].append((here, pair[checkout][key]))
        for key, pairs in times.items():
            ratios = [here / there for here, there in pairs]
            ratio = min(here for here, _ in pairs) / min(there for _, there in pairs)
            # Of noise, the fastest turns have least, and the median is not led by one of them.
            is_slow = min(ratio, median(ratios)) > options.limit
            status |= is_slow
            print(
                f"{ratio:11.3f}{'!' if is_slow else ' '}  {min(ratios):7.3f} ..{max(ratios):7.3f}  "
                f"{' · '.join(part for part in (workload, *key) if part)}",
                flush=True,
            )
    return status


def _defaults() -> Iterator[str]:
    from benchmarks.registry import all_workloads

    return (name for name, workload in all_workloads().items() if workload.is_default)


def _measured(checkout: Path, workload: str, seconds: float) -> dict[tuple[str, str], float] | str:
    """Return seconds a unit by case and contender, or why there are none."""
    names = _contenders(workload)
    done = subprocess.run(
        [
            sys.executable, "-c", _PROGRAM, _HERE, checkout,
            workload, "--threads", "default", "--clock", "cpu", "--seconds", str(seconds),
            "--only", ",".join(names), "--save", "-",
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "TAPE_WAIT": "1"},
    )  # fmt: skip
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return {
        (case["case"], contender["name"]): contender["seconds_per_unit"]
        for results in json.loads(done.stdout)["workloads"]
        for case in results["cases"]
        for contender in case["contenders"]
    }


def _contenders(workload: str) -> list[str]:
    """Return those that are tape, and those that may be, such as two of its transforms."""
    from benchmarks.contenders import is_rival
    from benchmarks.registry import all_workloads

    names = [name for case in all_workloads()[workload].cases(0) for name in case.contenders]
    others = [name for name in names if is_rival(name) or name.partition(" ")[0] == "numpy"]
    return [name for name in dict.fromkeys(names) if name not in others]


if __name__ == "__main__":
    sys.exit(main())
