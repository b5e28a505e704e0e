"""The protocol of GradBench: messages and answers in JSON, one a line."""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from benchmarks.gradbench.evaluation import Function

__all__ = ["EVALUATIONS", "answer", "functions", "serve"]

EVALUATIONS = (
    "hello",
    "llsq",
    "lse",
    "gmm",
    "det",
    "ode",
    "kmeans",
    "lstm",
    "ba",
    "ht",
    "particle",
    "saddle",
)
"""The names of the evaluations, which are those of this package's modules."""

_SECOND = 1_000_000_000  # of the clock

Clock = Callable[[], int]


def functions(module: str) -> Mapping[str, Function]:
    """Return the functions of an evaluation by name.

    Raises
    ------
    LookupError
        If there is no such evaluation.
    """
    if module not in EVALUATIONS:
        raise LookupError(f"there is no evaluation {module!r}; there are {', '.join(EVALUATIONS)}")
    found: Mapping[str, Function] = importlib.import_module(f"benchmarks.gradbench.{module}").FUNCTIONS
    return found


def serve(messages: Iterable[str], answers: TextIO) -> None:
    """Answer each message.

    Parameters
    ----------
    messages : iterable of str
        A file, or lines.
    answers : text file
        Flushed after each line: the evaluation waits for it.
    """
    for line in messages:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


def answer(message: Mapping[str, Any], clock: Clock = time.perf_counter_ns) -> dict[str, Any]:
    """Return the answer to a message.

    A message of a kind that needs no answer (``analysis``, or one that later versions of the protocol add) is
    acknowledged. An error in a function is an answer, too: the evaluation goes on.
    """
    acknowledged = {"id": message["id"]}
    try:
        return acknowledged | _ANSWERS.get(message["kind"], _acknowledge)(message, clock)
    except Exception:
        return acknowledged | {"success": False, "error": traceback.format_exc()}


def _acknowledge(message: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    return {}


def _start(message: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    return {"tool": "tape"}


def _define(message: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    functions(message["module"])
    return {"success": True}


def _evaluate(message: Mapping[str, Any], clock: Clock) -> dict[str, Any]:
    """Run a function as often, and for as long, as the message asks for."""
    known = functions(message["module"])
    if message["function"] not in known:
        raise LookupError(f"{message['module']} has {', '.join(known)}, but no {message['function']}")
    function, data = known[message["function"]], message["input"]
    wanted = data if isinstance(data, Mapping) else {}
    runs, seconds = wanted.get("min_runs", 1), wanted.get("min_seconds", 0)
    start = clock()
    arguments = function.prepare(data)
    timings = [_timing("prepare", clock() - start)]
    elapsed, result = 0, None
    while len(timings) <= max(runs, 1) or elapsed < seconds * _SECOND:
        start = clock()
        result = function.compute(*arguments)
        spent = clock() - start
        timings.append(_timing("evaluate", spent))
        elapsed += spent
    return {"success": True, "output": function.report(result), "timings": timings}


def _timing(name: str, nanoseconds: int) -> dict[str, Any]:
    return {"name": name, "nanoseconds": nanoseconds}


_ANSWERS: Mapping[str, Callable[[Mapping[str, Any], Clock], dict[str, Any]]] = {
    "start": _start,
    "define": _define,
    "evaluate": _evaluate,
}
