"""`Growth`: how many programs a function makes, when another one is worth its time, and warnings of too many.

A program takes as long to make as ten or twenty calls of the plain function. The first kinds of arguments get
theirs at once. A further kind runs as plain Python until it has come so often: so a function that never sees
an argument twice takes about as long as plain Python. It is calls that count, not their time: programs round
otherwise than NumPy, so that time would show in the last digits of results. Where these must not depend on
the calls before, in a training that may be resumed, every call is that of a program: see `repeatable`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tape import errors, tree
from tape.program.calls.binding import Binding
from tape.program.calls.classes import GENERATORS
from tape.program.calls.statics import Form, key_of
from tape.program.specialise import Path, Specialisation

AT_ONCE = 3
"""Number of kinds of arguments for which the first call makes a program."""
CALLS = 16
"""Number of calls as plain Python after which a further kind gets one."""
MANY = 16
"""Number of programs after which a function warns."""


_is_repeatable = ContextVar("is_repeatable", default=False)


@contextmanager
def repeatable() -> Iterator[None]:
    """Let compiled functions return in their first call for arguments alike what later calls would return.

    Otherwise that is what was computed while it was recorded, by NumPy, and may differ in the last digits.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.program.growth import repeatable
    >>> x, variance = np.linspace(0, 1, 40) ** 3, tape.compile(np.var)
    >>> with repeatable():
    ...     first = variance(x)
    >>> bool(first == variance(x))
    True
    """
    token = _is_repeatable.set(True)
    try:
        yield
    finally:
        _is_repeatable.reset(token)


def is_repeatable() -> bool:
    """Return whether calls of this thread must not depend on those before."""
    return _is_repeatable.get()


class Growth:
    """The programs of a function, counted.

    Parameters
    ----------
    name : str
        Name of the function.

    Attributes
    ----------
    kinds : int
        How many kinds of arguments have programs.
    wanted : int
        How many programs there would be if all had been made at once.
    observed : str
        Why calls run as plain Python, if the function observes floating-point errors.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.kinds = 0
        self.wanted = 0
        self.observed = ""
        self._has_warned = False
        self._has_warned_of_many = False

    def drop(self, kinds: int = 0, wanted: int = 0) -> None:
        """Count no longer what is not needed any more."""
        self.kinds -= kinds
        self.wanted -= wanted

    def is_due(self, calls: int) -> bool:
        """Return whether to make the first program for a kind that has run so often as plain Python."""
        return self.kinds < AT_ONCE or calls >= CALLS or is_repeatable()

    @property
    def needs_places(self) -> bool:
        """Whether recordings are to keep the lines where Python reads numbers, for the warning."""
        return self.wanted > MANY // 2

    def want(self, known: Iterable[Specialisation]) -> None:
        """Count a kind of arguments or a path that is new; warn if there are many."""
        self.wanted += 1
        if self.wanted > MANY and not self._has_warned_of_many:
            self._has_warned_of_many = True
            errors.warn(
                f"{self._name} needs more than {MANY} programs: {_difference(list(known))}. Further kinds "
                f"of arguments run as plain Python until they have come {CALLS} times",
                errors.PathLimitWarning,
            )

    # ---- limits ----------------------------------------------------------------------------------

    def warn_of_paths(self, known: Specialisation, most: int) -> None:
        """Warn that no further paths get a program, once for each kind of arguments."""
        if not known.has_warned:
            known.has_warned = True
            errors.warn(
                f"{self._name} has branched in {most} ways for arguments alike: further ones run as plain "
                "Python, which is slow. Choose with np.where in place of if, index a plain array with "
                "np.asarray(X, like=i)[i], or raise max_paths",
                errors.PathLimitWarning,
            )

    def warn_of_caught(self, error: Exception) -> None:
        """Warn that the function catches exceptions of traced values."""
        self._warn_once(
            f"{self._name} has caught {type(error).__name__}: {error}. Whether it is raised may depend on "
            "the numbers, so that calls like this one run as plain Python, which is slow. Test the numbers "
            "with if, before",
            errors.NotCompiledWarning,
        )

    def warn_of_observed(self, how: str) -> None:
        """Warn that the function lets floating-point errors be raised or reported."""
        self.observed = (
            f"{self._name} runs as plain Python, which is slow: by {how} it lets floating-point errors be "
            "raised or reported, and programs do neither. Test the numbers, as with np.isfinite, or set it "
            "outside"
        )
        self._warn_once(self.observed, errors.NotCompiledWarning)

    def warn_of_arguments(self) -> None:
        """Warn that the function changes collections among its arguments, of which programs have copies."""
        self._warn_once(
            f"{self._name} changes a list, a dict or an object among its arguments, of which a program has a "
            "copy: it runs as plain Python, which is slow. Return the new value instead",
            errors.NotCompiledWarning,
        )

    def warn_of_refusal(self, error: Exception) -> None:
        """Warn that a kind of arguments cannot be recorded that has run as plain Python."""
        self._warn_once(
            f"{self._name} cannot be recorded for arguments like these, which run as plain Python: {error}",
            errors.NotCompiledWarning,
        )

    def warn_of_names(self, changed: Binding, most: int) -> None:
        """Warn that a name is rebound so often that no further program is worth it."""
        how = "changed in place" if changed.kind in ("content", "contents") else "bound to something else"
        self._warn_once(
            f"{self._name} reads {changed.key!r}, which has been {how} {most} times: each time there was "
            "another program. From now on plain Python runs, which is slow. Pass it as an "
            "argument",
            errors.PathLimitWarning,
        )

    def warn_of_changes(self, changed: Binding) -> None:
        """Warn that the function changes in each call what it uses, which a program would not do."""
        if isinstance(changed.value, GENERATORS):
            self._warn_once(
                f"{self._name} draws from a generator of random numbers, which a program would not: from now "
                "on it runs as plain Python, which is slow. Draw by tape.random, in the thread of the "
                "function, or draw outside, and pass the numbers",
                errors.NotCompiledWarning,
            )
            return
        is_named = isinstance(changed.key, str) or changed.kind == "contents"
        name = repr(changed.key) if is_named else "a collection, an array or an iterator"
        self._warn_once(
            f"{self._name} uses {name}, and changes it in each call, as a program would not. From now on it "
            "runs as plain Python, which is slow. Pass it as an argument, and return the new value",
            errors.NotCompiledWarning,
        )

    def warn_of_kinds(self, form: Form, most: int) -> None:
        """Warn that no further kinds of arguments get a program."""
        statics = ", ".join(sorted({type(value).__name__ for value in form.fixed.values()}))
        culprit = f" What is static ({statics}) may differ in every call: pass" if statics else " Pass"
        self._warn_once(
            f"{self._name} has programs for {most} kinds of arguments: further ones run as plain Python, "
            f"which is slow.{culprit} numbers as floats or arrays, and arrays padded to few shapes",
            errors.PathLimitWarning,
        )

    def _warn_once(self, message: str, category: type[Warning]) -> None:
        """Warn, unless this function has been the reason of such a warning."""
        if not self._has_warned:
            self._has_warned = True
            errors.warn(message, category)


def _difference(known: Sequence[Specialisation]) -> str:
    """Describe what programs differ in most, with the cure."""
    places: dict[tuple[str, str], dict[Any, str]] = {}  # kind and place -> what was there, by key
    for each in known:
        for kind, place, key, shown in _parts(each):
            places.setdefault((kind, place), {})[key] = shown
    branching = max(known, key=lambda each: len(each.paths))
    (kind, place), found = max(places.items(), key=lambda item: len(item[1]), default=(("", ""), {}))
    if len(branching.paths) >= max(len(found), 2):
        return _of_paths(branching.paths)
    if len(found) < 2:
        return "names that it reads are bound to other objects. Pass what changes as an argument"
    examples = ", ".join(list(found.values())[:3])
    return f"{place} has {len(found)} {kind} ({examples}, ...). {_CURES[kind]}"


_CURES = {
    "values": "Python reads it, as range() and slices do, or it is no number. Pass a float or an array where "
    "it is computed with; for lengths, pad arrays to few shapes, and mask the rest",
    "shapes": "Pad it to few shapes, and mask the rest",
    "types": "Convert it to one type",
    "structures": "Pass one structure",
}


def _parts(known: Specialisation) -> Iterator[tuple[str, str, Any, str]]:
    """Yield what may differ: its kind, its place, a key of it, and a short text."""
    form = known.form
    names = tree.names(form.structure, "(args, kwargs)")
    yield "structures", "the tree of arguments", form.branch, f"of {len(names)} leaves"
    signatures = iter(known.signatures)
    for k, name in enumerate(names):
        place = name.replace("(args, kwargs)[0]", "args").replace("(args, kwargs)[1]", "kwargs")
        if k in form.fixed:
            yield "values", place, key_of(form.fixed[k]), errors.describe(form.fixed[k])
            continue
        kind, dtype, shape = next(signatures)
        yield "types", place, (kind, dtype), kind.__name__ if dtype is None else str(dtype)
        if dtype is not None:
            yield "shapes", place, shape, str(list(shape))


def _of_paths(paths: Sequence[Path]) -> str:
    """Describe where Python reads the numbers in which paths differ."""
    latest, *others = paths
    places: Counter[str] = Counter()
    for other in others:
        pairs = zip(latest.outcomes, other.outcomes, strict=False)
        differing = [k for k, (a, b) in enumerate(pairs) if a != b]
        if differing:
            places[latest.places[differing[0]] or other.places[differing[0]]] += 1
    where = next((f" at {place}" for place, _ in places.most_common() if place), "")
    return (
        f"Python reads numbers{where}, in {len(paths)} ways for arguments alike. Choose with np.where in "
        "place of if, index a plain array with np.asarray(X, like=i)[i], and loop with tape.scan"
    )
