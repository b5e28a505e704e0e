"""A campaign: ``python -m tests.random_programs --count 100000 --seed 0 --processes 2``.

Programs run in processes of their own, some thousands in each. One that crashes or hangs is known by its
seed, and the campaign goes on behind it. What differs is shrunk and printed, as Python to be run.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator

from tests.random_programs.programs import FEATURES, USUAL, random_program
from tests.random_programs.running import HARMLESS, run
from tests.random_programs.shrinking import script, shrunk

CHUNK = 2000
"""Programs of one process."""


def main() -> int:
    """Run a campaign, or the programs of one of its processes."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first one; go on with another after a stop")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one program")
    parser.add_argument(
        "--only", default="", help=f"features, separated by commas, of: {', '.join(FEATURES)}"
    )
    parser.add_argument("--without", default="", help="features that are left out")
    parser.add_argument("--ignore", default="", help="kinds of differences that count as none")
    parser.add_argument("--most", type=int, default=20, help="differences to be shrunk and printed")
    parser.add_argument("--log", help="a file for a line of JSON for each program that is not the same")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crashed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    only, without = ({*filter(None, text.split(","))} for text in (options.only, options.without))
    if unknown := (only | without) - {*FEATURES}:
        parser.error(f"there is no feature {', '.join(sorted(unknown))}")
    features = frozenset(only or USUAL) - without
    return work(options, features) if options.worker else Campaign(options, features).run()


def work(options: argparse.Namespace, features: frozenset[str]) -> int:
    """Run programs one after the other, with a line for each: its seed first, and then what became of it."""
    ignored = frozenset(options.ignore.split(","))
    if options.crashed:
        print(script(*shrunk(*random_program(options.seed, features), crashes=True)))
        return 0
    for seed in range(options.seed, options.seed + options.count):
        print(seed, flush=True)
        program, sets = random_program(seed, features)
        verdict = run(program, sets, ignored)
        told = {"seed": seed, "kind": verdict.kind, "detail": verdict.detail}
        if verdict.is_difference and options.most > 0:
            options.most -= 1
            told["script"] = script(*shrunk(program, sets, ignored))
        print(json.dumps(told), flush=True)
    return 0


class Campaign:
    """All programs of a campaign, by processes that take one chunk after the other.

    Parameters
    ----------
    options : argparse.Namespace
        Those of the command.
    features : frozenset of str
        Of which programs consist.
    """

    def __init__(self, options: argparse.Namespace, features: frozenset[str]) -> None:
        self.options, self.features = options, features
        self.end = options.seed + options.count
        self.chunks = iter(range(options.seed, self.end, CHUNK))
        self.told: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.kinds: collections.Counter[str] = collections.Counter()
        self.details: collections.Counter[str] = collections.Counter()
        self.shown = 0

    def run(self) -> int:
        """Run them all, with a progress bar; 1 if any differs."""
        from tqdm import tqdm

        for _ in range(self.options.processes):
            threading.Thread(target=self._run_chunks, daemon=True).start()
        log = open(self.options.log, "a") if self.options.log else None  # noqa: SIM115
        bar = tqdm(total=self.options.count, unit="program", smoothing=0.05, mininterval=0.5)
        try:
            for _ in range(self.options.count):
                one = self.told.get()
                bar.update()
                self._note(one, bar)
                if log and one["kind"] != "same":
                    print(json.dumps(one), file=log, flush=True)
        except KeyboardInterrupt:
            print(f"\nstopped after {bar.n} of {self.options.count} programs", file=sys.stderr)
        bar.close()
        self._summarise(bar.n)
        return int(any(kind not in HARMLESS for kind in self.kinds))

    def _note(self, one: dict[str, str], bar: object) -> None:
        kind = one["kind"]
        self.kinds[kind] += 1
        if kind in ("refused", "eager refuses"):
            self.details[f"{kind}: {one['detail'].partition(':')[0]}"] += 1
        differences = sum(n for known, n in self.kinds.items() if known not in HARMLESS)
        bar.set_postfix(differences=differences, refresh=False)  # type: ignore[attr-defined]
        if kind not in HARMLESS and self.shown < self.options.most:
            self.shown += 1
            bar.write(f"\n# program {one['seed']}: {kind}: {one['detail']}\n{one.get('script', '')}")  # type: ignore[attr-defined]

    def _summarise(self, count: int) -> None:
        for kind, times in self.kinds.most_common():
            print(f"{times:8d} {times / max(count, 1):7.2%}  {kind}")
        for detail, times in self.details.most_common(20):
            print(f"{times:17d}  {detail}")

    def _run_chunks(self) -> None:
        while True:
            with self.lock:
                start = next(self.chunks, None)
            if start is None:
                return
            end = min(start + CHUNK, self.end)
            while start < end:
                start = self._run_process(start, end)

    def _run_process(self, start: int, end: int) -> int:
        """Run programs up to one that ends the process, or all; the seed behind the last one."""
        process = subprocess.Popen(
            self._command(start, end - start),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
        reader.start()
        seed, is_done = start, True
        for line in self._lines(process):
            if line.startswith("{"):
                self.told.put(json.loads(line))
                is_done = True
            elif line.strip().isdigit():  # LAPACK prints lines of its own
                seed, is_done = int(line), False
        code = process.wait()
        reader.join()
        if is_done and code == 0:
            return end
        kind = "hangs" if code == -9 else "crash" if code < 0 else "broken"
        text = random_program(seed, self.features)[0].source
        if kind == "crash":
            command = [*self._command(seed, 1), "--crashed"]
            text = subprocess.run(command, capture_output=True, text=True).stdout or text
        detail = f"exit code {code}\n{''.join(errors[-30:])}"
        self.told.put({"seed": str(seed), "kind": kind, "detail": detail, "script": text})
        return seed + 1

    def _command(self, start: int, count: int) -> list[str]:
        return [
            *(sys.executable, "-X", "faulthandler", "-m", "tests.random_programs", "--worker"),
            *("--seed", str(start), "--count", str(count), "--only", ",".join(self.features)),
            *("--ignore", self.options.ignore, "--most", str(max(self.options.most - self.shown, 0))),
        ]

    def _lines(self, process: subprocess.Popen[str]) -> Iterator[str]:
        """Lines that a process prints; it is ended if there is none for too long."""
        assert process.stdout is not None
        for _ in iter(int, 1):
            timer = threading.Timer(self.options.timeout, process.kill)
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line:
                return
            yield line


if __name__ == "__main__":
    sys.exit(main())
