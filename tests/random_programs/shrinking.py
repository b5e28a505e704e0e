"""The smallest program and data sets that still differ, and both as a script to run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.random_programs.programs import Program, Statement, without_dead_statements
from tests.random_programs.running import run
from tests.random_programs.sources import SOURCES, DataSet, shown

__all__ = ["script", "shrunk"]

Subject = tuple[Program, list[DataSet]]


def shrunk(
    program: Program, sets: list[DataSet], ignored: frozenset[str] = frozenset(), *, crashes: bool = False
) -> Subject:
    """The smallest program found that differs in the same way, by leaving out one thing after another.

    Parameters
    ----------
    program : Program
        What is made smaller.
    sets : list of DataSet
        On which it differs.
    ignored : frozenset of str
        As in `run`.
    crashes : bool
        Whether it ends the process: each try is made in a process of its own.
    """
    kind = "" if crashes else run(program, sets, ignored).kind

    def is_alike(subject: Subject) -> bool:
        if crashes:
            return _ends_process(*subject)
        try:
            return run(*subject, ignored).kind == kind
        except Exception:  # what was left out was needed
            return False

    subject = program, sets
    while True:
        smaller = next(filter(is_alike, _smaller(*subject)), None)
        if smaller is None:
            return subject
        subject = smaller


def _ends_process(program: Program, sets: list[DataSet]) -> bool:
    child = os.fork()
    if not child:
        try:
            run(program, sets)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _smaller(program: Program, sets: list[DataSet]) -> Iterator[Subject]:
    """Programs with one thing less, those first that have much less."""
    for count in (2, 3, 4, 6):
        if count < len(sets):
            yield program, sets[:count]
            yield program, sets[-count:]
    for k in range(len(sets) - 1, -1, -1):
        if len(sets) > 1:
            yield program, sets[:k] + sets[k + 1 :]
    for name in program.results:
        if len(program.results) > 1:
            yield without_dead_statements(replace(program, results=(name,), form="list")), sets
    if len(program.results) == 1 and program.form != "single":
        yield replace(program, form="single"), sets
    for statement in program.statements:
        if statement.new not in program.results:
            rest = tuple(one for one in program.statements if one is not statement)
            yield without_dead_statements(replace(program, statements=rest)), sets
    if program.donate:
        yield replace(program, donate=()), sets
    for changed in _statements(program):
        yield without_dead_statements(replace(program, statements=changed)), sets
    for k, one in enumerate(sets):
        if one.alias or one.layout != "C":
            plain = DataSet(one.values)
            yield program, [plain if other is one else other for other in sets]
        for name in program.sources:
            if k and one.values[name] is not sets[0].values[name]:
                values = {**one.values, name: sets[0].values[name]}
                alike = DataSet(values, one.alias, one.layout)
                yield program, [*sets[:k], alike, *sets[k + 1 :]]


def _statements(program: Program) -> Iterator[tuple[Statement, ...]]:
    """With a line less, or with a source in place of a variable."""
    for k, statement in enumerate(program.statements):
        for text in _simpler(program, statement, k):
            yield (*program.statements[:k], replace(statement, text=text), *program.statements[k + 1 :])


def _simpler(program: Program, statement: Statement, number: int) -> Iterator[str]:
    lines = statement.text.split("\n")
    for k in range(1, len(lines)):
        yield "\n".join(lines[:k] + lines[k + 1 :])
    before = {one.new: one.kind for one in program.statements[:number]}
    for name in statement.names:
        if name in before:
            for source in program.sources:
                if SOURCES[source].kind == before[name]:
                    yield statement.text.replace("{" + name + "}", "{" + source + "}")


# ---- as a script ---------------------------------------------------------------------------------


def script(program: Program, sets: list[DataSet]) -> str:
    """Python that shows the difference by itself; only layouts of arguments are comments."""
    lines = ["from copy import deepcopy", "import numpy as np, tape", "nan, inf = np.nan, np.inf"]
    if "opts" in program.sources:
        lines.append("from decimal import Decimal")
    owners = {name.partition(".")[0] for name in program.placed("attribute")}
    lines += [f"class {owner}: pass" for owner in sorted(owners)]
    closed = program.placed("global", "attribute", "default", "cell")
    lines += [f"{name} = {shown(sets[0].values[name])}" for name in closed]
    cells = program.placed("cell")
    lines.append(program.source)
    if cells:
        lines.append(f"f, rebind = make({', '.join(cells)})")
    options = f", donate={program.donated}" * bool(program.donate) + f", max_paths={program.max_paths}"
    lines.append(f"compiled = tape.compile(f{options})")
    for before, one in zip([sets[0], *sets], sets, strict=False):
        changed = [name for name in closed if one.values[name] is not before.values[name]]
        lines += [_change(name, one.values[name]) for name in changed]
        if any(name in cells and SOURCES[name].change == "rebound" for name in changed):
            lines.append(f"rebind({', '.join(cells)})")
        lines += _call(program, one)
    return "\n".join(lines)


def _call(program: Program, one: DataSet) -> list[str]:
    names = program.placed("argument")
    lines = [f"args = [{', '.join(shown(one.values[name]) for name in names)}]"]
    if one.layout != "C":
        lines[0] += f"  # {one.layout}"
    if one.alias and {"x", "y"} <= {*names}:
        x, y = (f"args[{names.index(name)}]" for name in "xy")
        n, dtype = len(one.values["x"]), one.values["x"].dtype
        shift = dtype.itemsize * (one.alias == "shifted buffer" and n > 1)
        if "buffer" in one.alias:
            lines.append(f"raw = bytearray({x}.tobytes() + {x}[:1].tobytes())")
            lines.append(f"{x} = np.frombuffer(raw, {dtype.str!r}, {n})")
            lines.append(f"{y} = np.frombuffer(raw, {dtype.str!r}, {n}, {shift})")
        else:
            lines.append(y + " = " + x + {"same": "", "view": "[:]", "reversed": "[::-1]"}[one.alias])
    keywords = "".join(f", **{shown(one.values[name])}" for name in program.placed("keywords"))
    lines.append(f"print('expected', f(*deepcopy(args){keywords}), 'found', compiled(*args{keywords}))")
    return lines


def _change(name: str, value: Any) -> str:
    """What is closed over, changed as the source says."""
    if SOURCES[name].change == "rebound":
        return f"{name} = {shown(value)}"
    if value.dtype == bool:
        return f"{name}.view(np.uint8)[...] = {value.view(np.uint8).tolist()}"
    return f"{name}[...] = {value.tolist()}"
