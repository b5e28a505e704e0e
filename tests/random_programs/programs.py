"""Random programs: statements of `ingredients` on values of `sources`, and their text as Python."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tests.random_programs.ingredients import EXPRESSIONS, HELPERS, INGREDIENTS
from tests.random_programs.sources import SOURCES, DataSet, data_sets

__all__ = ["FEATURES", "USUAL", "Program", "Statement", "random_program"]

FEATURES = (
    *INGREDIENTS,
    "rebound", "exceptional", "orders", "odd bytes", "aliases", "layouts", "donation", "float32", "shapes",
    "dtypes",
)  # fmt: skip
"""What can be chosen by name: groups of ingredients, and ways in which data sets vary."""

USUAL = frozenset(FEATURES) - {"limits"}
"""Those that must never make a difference."""

_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_NAME = re.compile(r"\{([\w.]+)\}")
_UNDETERMINED = re.compile(
    r"@|linear\(|linalg|einsum|tensordot|polyval|sum\(\[e |max|min|ptp|clip|sort|unique|intersect1d"
    r"|median|scan|fori|map|while_loop"
)
_OVERWRITTEN = re.compile(r"\.fill\(|\[(\.\.\.|:)\] = |out=")
_LOOP = re.compile(r"tape\.(scan|fori_loop|map)\(")
_DERIVATIVE = re.compile(
    r"tape\.(\w*grad|jvp|vjp|hvp|jacobian|hessian|linearize|taylor|divergence|laplacian)\("
)
_SECOND = re.compile(r"tape\.(hessian|hvp|laplacian|taylor)\(")
_FORMS = {"tuple": "{}, ", "list": "[{}]", "dict": "dict({})", "single": "{}"}
_NUMBERLIKE = ("any", "count", "index", "int", "axis", "static", "text")


@dataclass(frozen=True)
class Statement:
    """One ingredient, with variables for what it is made of.

    Attributes
    ----------
    new : str
        The variable that it makes.
    kind : str
        Of that variable.
    text : str
        Python; variables are in braces.
    is_recorded : bool
        Whether the value is never a plain one.
    """

    new: str
    kind: str
    text: str
    is_recorded: bool

    @property
    def names(self) -> list[str]:
        """The variables that it reads."""
        return [name for name in dict.fromkeys(_NAME.findall(self.text)) if name != self.new]

    def __str__(self) -> str:
        return _NAME.sub(r"\1", self.text)


@dataclass(frozen=True)
class Program:
    """A function as a list of statements.

    Attributes
    ----------
    seed : int
        What it was made from.
    sources : tuple of str
        The values it may read, from `SOURCES`.
    statements : tuple of Statement
    results : tuple of str
        The variables that it returns.
    form : str
        How: tuple, list, dict or single.
    donate : tuple of str
        Arguments whose memory may be overwritten.
    """

    seed: int
    sources: tuple[str, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]
    form: str
    donate: tuple[str, ...] = ()

    def placed(self, *places: str) -> list[str]:
        """The sources of some places."""
        return [name for name in self.sources if SOURCES[name].place in places]

    @property
    def donated(self) -> tuple[int, ...]:
        """Positions of donated arguments."""
        return tuple(self.placed("argument").index(name) for name in self.donate)

    @property
    def max_paths(self) -> int:
        """How many paths it may have until it runs as plain Python: few in some programs."""
        return {0: 1, 1: 2}.get(self.seed % 8, 64)

    @property
    def has_dead_statements(self) -> bool:
        """Whether there may be a statement that the results do not need, or what is written over."""
        is_shorter = len(without_dead_statements(self).statements) < len(self.statements)
        return is_shorter or bool(_OVERWRITTEN.search(self.source))

    @property
    def has_determined_zeros(self) -> bool:
        """Whether the signs of zeros are laid down.

        They are not of BLAS, of the larger zero, of what is sorted (sets, too: which of two zeros NumPy's
        vector instructions find first differs between processors), of adjoints of elements read one by
        one, also in loops.
        """
        return not _UNDETERMINED.search(self.source)

    @property
    def has_second_loop_derivatives(self) -> bool:
        """Whether a loop may be differentiated twice: zeros flow where in a loop of Python nothing does."""
        return any(
            _LOOP.search(one.text) and (_SECOND.search(one.text) or len(_DERIVATIVE.findall(one.text)) > 1)
            for one in self.statements
        )

    @property
    def has_state(self) -> bool:
        """Whether it changes what it closes over, and so what later calls find there."""
        return "STATE" in self.source

    @property
    def source(self) -> str:
        """The function ``f``, and what rebinds its cells if there are any, as Python."""
        arguments = self.placed("argument")
        arguments += [f"{name}={name}" for name in self.placed("default")]
        arguments += ["**kwargs"] * len(self.placed("keywords"))
        lines = [f"def f({', '.join(arguments)}):"]
        for statement in self.statements:
            lines += ["    " + line for line in str(statement).split("\n")]
        keys = self.form == "dict"
        listed = ", ".join(f"r{k}={name}" if keys else name for k, name in enumerate(self.results))
        lines.append(f"    return {_FORMS[self.form].format(listed)}")
        cells = self.placed("cell")
        if cells:
            names = ", ".join(cells)
            lines = [f"def make({names}):", *("    " + line for line in lines)]
            lines += [f"    def rebind({names}_new):" if len(cells) == 1 else "    def rebind(*new):"]
            lines += [f"        nonlocal {names}"]
            lines += [f"        {names} = {names}_new" if len(cells) == 1 else f"        {names} = new"]
            lines += ["    return f, rebind"]
        text = "\n".join(lines) + "\n"
        return "".join(helper for name, helper in HELPERS.items() if name in text) + text


class _Scope:
    """The variables there are so far, by kind."""

    def __init__(self, names: list[str]) -> None:
        self.variables: dict[str, list[tuple[str, bool]]] = {}
        for name in names:
            source = SOURCES[name]
            self.add(name, source.kind, source.change == "given" and not source.is_static)

    def add(self, name: str, kind: str, is_recorded: bool) -> None:
        self.variables.setdefault(kind, []).append((name, is_recorded))

    def of(self, kind: str, is_recorded: bool) -> list[tuple[str, bool]]:
        known = self.variables.get(kind, [])
        return [one for one in known if one[1]] if is_recorded and kind[:5] != "kept_" else known


class _Unfillable(Exception):
    """There is no variable of a kind that an ingredient needs."""


def _filled(text: str, rng: random.Random, features: frozenset[str]) -> str:
    """Text in which expressions are written out, so that only variables remain to be chosen."""
    while True:
        kinds = [found.group(1) for found in _PLACEHOLDER.finditer(text)]
        if not any(kind in EXPRESSIONS for kind in kinds):
            return text

        def expand(found: re.Match[str]) -> str:
            if found.group(1) not in EXPRESSIONS:
                return found.group(0)
            return rng.choice(_expressions(found.group(1), features))

        text = _PLACEHOLDER.sub(expand, text)


@cache
def _expressions(kind: str, features: frozenset[str]) -> list[str]:
    known = [text for feature, text in EXPRESSIONS[kind] if not feature or feature in features]
    if not known:
        raise _Unfillable(kind)
    return known


@cache
def _ingredients(features: frozenset[str]) -> list[list[tuple[str, str]]]:
    return [lines for feature, lines in INGREDIENTS.items() if feature in features]


def _statement(new: str, scope: _Scope, rng: random.Random, features: frozenset[str]) -> Statement:
    """A random ingredient with random variables of what there is."""
    kind, text = rng.choice(rng.choice(_ingredients(features)))
    text = _filled(text, rng, features)
    beside_kept = "{kept_" in text
    chosen: dict[str, str] = {}
    are_recorded = kind[-1] != "~"

    def choose(found: re.Match[str]) -> str:
        nonlocal are_recorded
        kind, label = found.groups()
        if kind == "new":
            return "{new}"
        known = chosen.get(found.group(0)) if label else None
        if known is None:
            possible = scope.of(kind, beside_kept)
            if not possible:
                raise _Unfillable(kind)
            # What is new is taken more often, so that chains become long.
            known, is_recorded = rng.choice([*possible, *possible[-2:]])
            if kind[:5] != "kept_" and kind not in _NUMBERLIKE:
                are_recorded &= is_recorded
            chosen[found.group(0)] = known
        return "{" + known + "}"

    text = _PLACEHOLDER.sub(choose, text)
    if "{new}" not in text:
        text = "{new} = " + text
    return Statement(new, kind.rstrip("~"), text.replace("{new}", "{" + new + "}"), are_recorded)


def random_program(seed: int, features: frozenset[str] = USUAL) -> tuple[Program, list[DataSet]]:
    """The program of a seed, and the data sets it is called on, in order."""
    rng = random.Random(seed)
    features -= {feature for feature, chance in _SELDOM.items() if rng.random() > chance}
    names = ["x", *(name for name, source in _optional(features) if rng.random() < _CHANCE[source.place])]
    if "nesting" in features:
        names += [name for name, source in SOURCES.items() if source.kind == "callable"]
    scope = _Scope(names)
    statements: list[Statement] = []
    wanted = rng.choice([3, 4, 5, 6, 7, 8, 10, 12, rng.randrange(12, 30)])
    for _ in range(8 * wanted):
        if len(statements) == wanted:
            break
        try:
            one = _statement(f"v{len(statements)}", scope, rng, features)
        except _Unfillable:
            continue
        statements.append(one)
        scope.add(one.new, one.kind, one.is_recorded)
    made = [statement.new for statement in statements] or ["x"]
    results = tuple(dict.fromkeys([*rng.sample(made, min(rng.randrange(1, 5), len(made))), made[-1]]))
    form = rng.choice(list(_FORMS)) if len(results) == 1 else rng.choice(["tuple", "list", "dict"])
    donate = ()
    if "donation" in features and rng.random() < 0.3:
        donate = tuple(name for name in ("x", "y", "A") if name in names and rng.random() < 0.6)
    program = needed(Program(seed, tuple(names), tuple(statements), results, form, donate))
    dtype = "f4" if "float32" in features and rng.random() < 0.15 else "f8"
    n = rng.choice([1, 2, 3, 3, 4])
    return program, data_sets(rng, list(program.sources), n, dtype, features)


_SELDOM = {"hashing": 0.2, "solvers": 0.08, "views": 0.3, "state": 0.1}
"""In how many programs a feature is used at all that is mostly refused, or slow."""

_CHANCE = {"argument": 0.4, "keywords": 0.15, "global": 0.25, "cell": 0.2, "attribute": 0.2, "default": 0.2}


def _optional(features: frozenset[str]) -> Iterator[tuple[str, Any]]:
    for name, source in SOURCES.items():
        is_on = source.change == "given" or ("rebound" if source.change == "rebound" else "kept") in features
        if name != "x" and source.kind != "callable" and is_on:
            yield name, source


def needed(program: Program) -> Program:
    """The program without sources that it does not read; the first argument stays."""
    text = program.source
    read = {name for statement in program.statements for name in statement.names} | set(program.results)
    if "helper" in text:
        read |= {name for name, source in SOURCES.items() if source.kind == "callable"}
    sources = tuple(name for name in program.sources if name in read)
    if not any(SOURCES[name].place == "argument" for name in sources):
        sources = (program.sources[0], *sources)
    donate = tuple(name for name in program.donate if name in sources)
    return replace(program, sources=sources, donate=donate)


def without_dead_statements(program: Program) -> Program:
    """The program without statements that its results do not need."""
    read, kept = set(program.results), []
    for statement in reversed(program.statements):
        if statement.new in read:
            kept.append(statement)
            read.update(statement.names)
    return needed(replace(program, statements=tuple(kept[::-1])))
