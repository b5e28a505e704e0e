"""`Integers`: which int arguments of a function are data, and which are static."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tape.program.calls.shortcuts import may_be_data
from tape.program.calls.statics import Form

_MOST = 1024
"""Number of structures of arguments of which something is remembered."""
_DATA, _STATIC = object(), object()


class Integers:
    """What is known of the int arguments of a function.

    An int is static as long as it is the same, as most are. Once it differs it is data, unless Python has
    read it: then it is static for good.

    Examples
    --------
    >>> from tape import tree
    >>> from tape.program.calls.integers import Integers
    >>> from tape.program.calls.statics import Form
    >>> integers, structure = Integers(), tree.flatten(((1.0, 3), {}))[1]
    >>> [sorted(integers.form_of(Form(structure, {1: i})).ints) for i in (3, 3, 4, 3)]
    [[], [], [1], [1]]
    >>> form = integers.form_of(Form(structure, {1: 4}))
    >>> integers.keep_static(form, form.ints)
    >>> sorted(integers.form_of(Form(structure, {1: 5})).ints)
    []
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, dict[int, Any]] = {}  # the first value of each leaf, or what it is now

    def form_of(self, form: Form) -> Form:
        """Return the form of arguments in which some ints are data, given that in which all are static."""
        ints = {k: value for k, value in form.fixed.items() if type(value) is int}
        if not ints:
            return form
        key = form.branch, tuple(ints)
        if key not in self._known and len(self._known) >= _MOST:
            return form
        known = self._known.setdefault(key, {})
        data = set()
        for k, value in ints.items():
            first = known.setdefault(k, value)
            if first is not _STATIC and first is not _DATA and first != value:
                first = known[k] = _DATA
            if first is _DATA and may_be_data(value):
                data.add(k)
        return form.with_ints(frozenset(data)) if data else form

    def keep_static(self, form: Form, leaves: frozenset[int]) -> None:
        """Make ints static for good."""
        self._known[_key(form)].update(dict.fromkeys(leaves, _STATIC))

    def make_data(self, form: Form, leaves: frozenset[int]) -> None:
        """Make ints data again."""
        self._known[_key(form)].update(dict.fromkeys(leaves, _DATA))


def _key(form: Form) -> Hashable:
    static = {k for k, value in form.fixed.items() if type(value) is int}
    return form.branch, tuple(sorted(static | form.ints))


def covers(form: Form, other: Form) -> bool:
    """Return whether a form with ints that are data is that of all arguments of another one, too."""
    return all(may_be_data(other.fixed.get(k)) for k in form.ints) and form == other.with_ints(form.ints)
