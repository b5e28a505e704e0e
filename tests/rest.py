"""The rest: what of the full tier the plain one has not run, which ``--rest`` runs.

The plain tier notes what it has run, once all of it has passed. The rest leaves out what of that is the same
in both tiers: doctests, tests that do not look at the tier, and of those that are parametrized by it the same
values. A test looks at the tier if anything it names does, in whichever file that is defined. Random examples
are others in each run. Without a note the rest is the full tier.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

__all__ = ["done_by", "left_of"]

_ROOT = Path(__file__).parents[1]
_TIERS = Path(__file__).with_name("tiers.py")
_ADDRESS = " at 0x"  # of an object without a name of its own, which is another one in each process


def done_by(items: Iterable[pytest.Item]) -> list[str]:
    """Return the names of tests, and of the calls of those that have arguments."""
    return [name for item in items for name in (item.nodeid, *_calls(item)) if _ADDRESS not in name]


def left_of(items: Iterable[pytest.Item], done: Iterable[str]) -> list[pytest.Item]:
    """Return the tests that do more than what is done; of several cases they keep those that are left."""
    known = set(done)
    return [item for item in items if _is_left(item, known)]


def _is_left(item: pytest.Item, known: set[str]) -> bool:
    if not isinstance(item, pytest.Function):
        return item.nodeid not in known
    by_tier, chosen = _by_tier(item.path)
    is_random = getattr(item.obj, "is_hypothesis_test", False)
    if is_random or item.cls is not None or not by_tier.isdisjoint([item.originalname, *item.fixturenames]):
        return True
    if item.originalname not in chosen:
        return item.nodeid not in known
    calls = _calls(item)
    if not _has_cases(item):
        return known.isdisjoint(calls)
    pack = item.callspec.params["pack"]
    left = [case for case, call in zip(pack, calls, strict=True) if call not in known]
    item.callspec.params["pack"] = left  # of this test alone: the table that it is made from stays whole
    return bool(left)


def _calls(item: pytest.Item) -> list[str]:
    """Return a name for each call of a test, made of its arguments: an id may stand for others by tier."""
    if not hasattr(item, "callspec"):
        return []
    params: dict[str, Any] = dict(item.callspec.params)
    if not _has_cases(item):
        return [f"{item.nodeid} {params}"]
    test = item.nodeid.partition("[")[0]
    return [f"{test} {case} {params}" for case in params.pop("pack")]


def _has_cases(item: pytest.Item) -> bool:
    """Whether a test was made by `tests.op_table.by_operation`."""
    return hasattr(getattr(item, "function", None), "of_operations")


# ---- who looks at the tier -----------------------------------------------------------------------------


@cache
def _by_tier(path: Path) -> tuple[set[str], set[str]]:
    """Return the names in a file that depend on the tier, and the functions whose decorators do."""
    if _ROOT / "tests" not in path.parents and "tests." not in path.read_text():
        return set(), set()
    statements = ast.parse(path.read_text()).body
    by_tier = {"import_module"}  # of whichever module
    for statement in statements:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            by_tier.update(_imported(statement))
    left = [(_used(statement), statement) for statement in statements]
    while looking := [statement for used, statement in left if not by_tier.isdisjoint(used)]:
        by_tier.update(*map(_bound, looking))
        left = [(used, statement) for used, statement in left if statement not in looking]
    chosen = {
        statement.name
        for statement in statements
        if isinstance(statement, ast.FunctionDef)
        and any(not by_tier.isdisjoint(_used(decorator)) for decorator in statement.decorator_list)
    }
    return by_tier - {"import_module"}, chosen


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The names that an import binds to what looks at the tier."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if _looks(_file(alias.name)):
                yield alias.asname or alias.name.partition(".")[0]
        return
    file = _file(statement.module or "")
    for alias in statement.names:
        name = alias.asname or alias.name
        is_of_tiers = file == _TIERS or (file is not None and alias.name in _by_tier(file)[0])
        if is_of_tiers or _looks(_file(f"{statement.module}.{alias.name}")):
            yield name


def _looks(file: Path | None) -> bool:
    return file is not None and (file == _TIERS or bool(_by_tier(file)[0]))


def _file(module: str) -> Path | None:
    """Return the file of a module of tests."""
    if module.partition(".")[0] != "tests":
        return None
    place = _ROOT.joinpath(*module.split("."))
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if file.exists()), None)


def _used(node: ast.AST) -> set[str]:
    """The names that a statement uses; of a test or a function not those that say how it is called."""
    parts: list[ast.AST] = [node]
    if isinstance(node, ast.FunctionDef):
        is_fixture = any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
        parts = [node.args, *node.body, *(node.decorator_list if is_fixture else [])]
    found = set()
    for part in parts:
        for child in ast.walk(part):
            if isinstance(child, ast.Name):
                found.add(child.id)
            elif isinstance(child, ast.arg):  # which may be a fixture
                found.add(child.arg)
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                found.update({"import_module"} if any(_imported(child)) else ())
    return found


def _bound(node: ast.AST) -> set[str]:
    """The names that a statement may give another meaning."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    parts: list[ast.AST] = []
    if isinstance(node, ast.Expr):  # a call of a method, for one
        parts = [node]
    elif isinstance(node, ast.Assign):
        parts = [*node.targets]
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For)):
        parts = [node.target]
    elif isinstance(node, ast.With):
        parts = [*node.items]
    names = {child.id for part in parts for child in ast.walk(part) if isinstance(child, ast.Name)}
    children = ast.iter_child_nodes(node)
    return names.union(*[_bound(c) for c in children if isinstance(c, (ast.stmt, ast.excepthandler))])
