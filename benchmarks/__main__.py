"""The command line: ``python -m benchmarks [WORKLOAD ...]``.

Everything that imports NumPy is imported inside the functions, after the threads are limited.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import facts, header, limit_threads, load_warning

if TYPE_CHECKING:
    from benchmarks.harness import Case, CaseResult
    from benchmarks.registry import Workload


_CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class _Plan:
    """A workload with its cases."""

    workload: Workload
    cases: list[Case]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit status: 0, or 1 if a contender's result was wrong, or if something is slower than in the
        earlier run.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        print(_listing())
        return 0
    if options.threads is not None:
        limit_threads(options.threads)
    from benchmarks.harness import MismatchError

    earlier = _earlier(options.against, parser) if options.against else None
    if earlier:
        options.workloads = options.workloads or [found["workload"] for found in earlier["workloads"]]
    plans = _plans(options, parser)
    machine = facts()
    is_json_only = options.save == "-"
    warning = load_warning(machine)
    if warning:
        print(warning, file=sys.stderr if is_json_only else sys.stdout, flush=True)
    if not is_json_only:
        from benchmarks.report import legend

        print(header(machine), legend(), sep="\n\n", flush=True)
    try:
        measured = [_run(plan, options, show=not is_json_only) for plan in plans]
    except MismatchError as error:
        print(f"wrong result: {error}", file=sys.stderr)
        return 1
    if options.save:
        settings = {name: getattr(options, name) for name in ("rounds", "seconds", "clock", "seed")}
        date = datetime.now().astimezone().isoformat(timespec="minutes")
        data = {"date": date, "machine": machine, "settings": settings, "workloads": measured}
        text = json.dumps(data, indent=2)
        if is_json_only:
            print(text)
        else:
            Path(options.save).write_text(text + "\n")
    return _compare(earlier, machine, measured) if earlier else 0


def _earlier(file: Path, parser: argparse.ArgumentParser) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text())
        found["machine"], found["workloads"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.error(f"{file} is no run that --save wrote: {type(error).__name__}: {error}")
    return found


def _compare(earlier: dict[str, Any], machine: dict[str, Any], measured: list[dict[str, Any]]) -> int:
    """Print how this run compares with an earlier one; return 1 if something is slower beyond noise."""
    from benchmarks.earlier import changes

    if earlier["machine"].get("cpu") != machine["cpu"]:
        print(f"The earlier run was on another machine: {earlier['machine'].get('cpu')}")
    found = changes(earlier["workloads"], measured)
    print("\nAgainst the earlier run; times as ratios to the contender beside it in each round\n")
    print("\n".join(str(change) for change in found) or "nothing in common")
    return int(any(change.verdict == "slower" for change in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure tape next to hand-written NumPy, PyTorch, JAX and autograd, in turns.",
    )
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help="by default those --list marks with *"
    )
    parser.add_argument("--list", action="store_true", help="list the workloads and stop")
    parser.add_argument("--rounds", type=_positive(int), default=25, help="turns of each contender, at most")
    parser.add_argument(
        "--seconds", type=_positive(float), default=3.0, help="time for the rounds of each workload"
    )
    parser.add_argument(
        "--only", type=lambda text: text.split(","), metavar="NAME,...", help="contenders to measure"
    )
    parser.add_argument(
        "--threads",
        type=_threads,
        default=1,
        metavar="N",
        help="for every library, or 'default' for what each chooses by itself; 1 if not given",
    )
    parser.add_argument(
        "--clock",
        choices=_CLOCKS,
        default="wall",
        help="cpu counts the time of this process alone, for a machine that others use too; not with more "
        "threads than one",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the data")
    parser.add_argument(
        "--save", metavar="FILE", help="write the results as JSON; - for stdout, without tables"
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="measure the workloads of an earlier run again, and say what has changed beyond noise",
    )
    return parser


def _positive(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def positive(text: str) -> Any:
        number = kind(text)
        if not number > 0:
            raise argparse.ArgumentTypeError(f"{text} is not positive")
        return number

    return positive


def _threads(text: str) -> int | None:
    return None if text == "default" else _positive(int)(text)


def _listing() -> str:
    from benchmarks.registry import all_workloads

    workloads = all_workloads()
    width = max(map(len, workloads))
    return "\n".join(
        f"{'*' if workload.is_default else ' '} {workload.name:{width}}  {workload.summary}"
        for workload in workloads.values()
    )


def _plans(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[_Plan]:
    """Return the workloads that the options name; an unknown name ends the program."""
    from benchmarks.registry import all_workloads

    workloads = all_workloads()
    for name in options.workloads:
        if name not in workloads:
            parser.error(f"there is no workload {name!r}. There are {', '.join(workloads)}")
    names = options.workloads or [name for name, workload in workloads.items() if workload.is_default]
    plans = [_Plan(workloads[name], workloads[name].cases(options.seed)) for name in names]
    known = {name: None for plan in plans for case in plan.cases for name in case.contenders}
    for name in options.only or ():
        if name not in known:
            parser.error(f"there is no contender {name!r} in these workloads. There are {', '.join(known)}")
    return plans


def _run(plan: _Plan, options: argparse.Namespace, *, show: bool) -> dict[str, Any]:
    from benchmarks.contenders import is_traced
    from benchmarks.harness import measure
    from benchmarks.report import as_data, table

    name, summary = plan.workload.name, plan.workload.summary
    results: list[CaseResult] = []
    with _progress(name, len(plan.cases) * options.rounds) as advance:
        for case in plan.cases:
            result = measure(
                case,
                rounds=options.rounds,
                seconds=options.seconds / len(plan.cases),
                only=options.only,
                memory_of=list(filter(is_traced, case.contenders)),
                clock=_CLOCKS[options.clock],
                on_round=advance,
            )
            results.append(result)
    if show:
        print("\n" + table(name, summary, results), flush=True)
    return as_data(name, summary, results)


@contextmanager
def _progress(label: str, total: int) -> Iterator[Callable[[], object]]:
    """Show a progress bar on stderr if that is a terminal and tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda: None
        return
    with tqdm(total=total, desc=label, unit="round", leave=False, disable=None) as bar:
        yield bar.update


if __name__ == "__main__":
    os.environ.setdefault("TAPE_WAIT", "1")  # or NumPy is measured while machine code is compiled
    sys.exit(main())
