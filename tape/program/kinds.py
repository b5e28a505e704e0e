"""The kinds of arguments that a compiled function has been called with: a specialisation for each.

A kind is the structure of the arguments, what is static among them, and shapes and dtypes of the rest.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors, tree
from tape.program.calls.arrays import is_all_new, place_of
from tape.program.calls.binding import Binding
from tape.program.calls.integers import Integers, covers
from tape.program.calls.statics import Form, is_stable
from tape.program.growth import Growth
from tape.program.record.recording import is_dynamic
from tape.program.specialise import Specialisation, signature_of, static_leaf
from tape.system.locks import lock_across_forks

_MAX_KINDS = 1024
"""Number of kinds of arguments that get programs: each holds memory for all its values, for good."""

_ENOUGH, _TELLING = 8, 3
"""Number of programs that were the same after which the content of an array is not looked at any more, and of
how many one counts which would hardly be the same by chance."""

_MOST_CONTENTS = 8
"""Number of contents of arrays that get programs of their own: after that plain Python runs."""

_FORMER = 3
"""Number of sets of bindings that are kept beside the present one, for each kind of arguments."""

_LOCK = lock_across_forks()


class Kinds:
    """The specialisations of a compiled function.

    Parameters
    ----------
    name : str
        That of the function, for messages.
    donate : frozenset of int
        Positions of arguments whose arrays may be overwritten.
    max_rebindings : int
        Number of rebindings of a name up to which there are specialisations for the new ones.
    growth : Growth
        Counts them, and warns of many.

    Attributes
    ----------
    integers : Integers
        Which ints are data, and which are static.
    lock : RLock
        Held while specialisations come and go, not while a function is recorded: it may start threads. It is
        that of all compiled functions, and one that a signal handler may take again.
    """

    def __init__(self, name: str, donate: frozenset[int], max_rebindings: int, growth: Growth) -> None:
        self._name = name
        self._donate = donate
        self._max_rebindings = max_rebindings
        self._growth = growth
        self._known: dict[Any, Specialisation] = {}
        self._former: dict[Any, deque[Specialisation]] = {}  # for other bindings of names
        self._rebindings = 0
        self._contents = 0  # like them, of arrays that have changed in place
        self._same: Counter[Any] = Counter()  # programs that were the same, by the place of what had changed
        self.integers = Integers()
        self.lock = _LOCK

    def all(self) -> list[Specialisation]:
        """Return the present specialisations, in the order in which they were made."""
        return [*self._known.values()]

    def clear(self) -> None:
        """Drop all specialisations."""
        self._known.clear()

    def form(self, structure: Any, leaves: Sequence[Any]) -> Form:
        """Return the form of arguments.

        Raises
        ------
        UnsupportedError
            If one is no array and cannot be hashed.
        """
        fixed = {}
        for k, leaf in enumerate(leaves):
            if is_dynamic(leaf):
                continue
            if is_stable(leaf):
                fixed[k] = static_leaf(leaf)
            else:
                static_leaf(leaf)
                place = tree.names(structure, "(args, kwargs)")[k]
                raise errors.UnsupportedError(
                    f"{self._name}: {place} is {errors.describe(leaf)}, of {type(leaf)}, which is no array "
                    "and cannot be hashed. Make it hashable, or close over it"
                )
        return self.integers.form_of(Form(structure, fixed))

    def of(self, form: Form, leaves: Sequence[Any], args: tuple[Any, ...]) -> Specialisation | None:
        """Return the specialisation for arguments, new if necessary; None if there are too many."""
        signatures = tuple([signature_of(leaf) for leaf in leaves])
        known = self._known.get((form, signatures))
        if known is not None:
            return known
        if len(self._known) >= _MAX_KINDS:
            self._growth.warn_of_kinds(form, _MAX_KINDS)
            return None
        donated = self._donated_leaves(form, args) if self._donate else frozenset()
        new = Specialisation(form, signatures, donated)
        with self.lock:
            return self._known.setdefault((form, signatures), new)

    def bound_anew(self, old: Specialisation, changed: Binding) -> Specialisation | None:
        """Return a specialisation for these arguments and the present bindings; None if there are too many.

        A few for other bindings are kept, as they may come back.
        """
        key = old.form, old.signatures
        latest = self._known.get(key)
        if latest is not None and latest is not old and latest.rebound() is None:
            return latest
        former = self._former.setdefault(key, deque(maxlen=_FORMER))
        for known in former:
            if known.rebound() is None:
                break
        else:
            if changed.kind == "content":
                self._contents += 1
            else:
                self._rebindings += 1
            most = min(_MOST_CONTENTS, self._max_rebindings)
            for count, limit in ((self._rebindings, self._max_rebindings), (self._contents, most)):
                if count > limit:
                    self._growth.warn_of_names(changed, limit)
                    return None
            known = Specialisation(old.form, old.signatures, old.donated)
            known.replaces = (old, changed) if changed.kind == "content" else None
        with self.lock:
            if known in former:
                former.remove(known)
            former.append(old)
            self._known[key] = known
        return known

    def note_content(self, content: Binding, is_same: bool, is_telling: bool) -> None:
        """Note whether a program is the same though an array holds something else.

        Parameters
        ----------
        content : Binding
            Of the array, with what it held before.
        is_same : bool
            Whether the program is the same.
        is_telling : bool
            Whether it would hardly be, if it depended on the array.
        """
        place = place_of(content)
        if not is_same:
            self._same[place] = 0
        elif is_all_new(content):
            self._same[place] += _TELLING if is_telling else 1
            self._contents -= 1

    def is_independent_of(self, content: Binding) -> bool:
        """Return whether programs are the same whatever an array holds, but for what they read themselves."""
        return self._same[place_of(content)] >= _ENOUGH

    def drop_covered(self, known: Specialisation) -> None:
        """Drop the programs for single ints that one for all of them makes superfluous."""
        if known.form.ints:
            for key, other in [*self._known.items()]:
                if covers(known.form, other.form):
                    del self._known[key]
                    self._growth.drop(kinds=bool(other.paths), wanted=len(other.waiting))

    def keep_static(self, known: Specialisation, ints: frozenset[int]) -> None:
        """Make ints static that were data in this specialisation, which is not used any more."""
        self.integers.keep_static(known.form, ints)
        with self.lock:
            if self._known.pop((known.form, known.signatures), None) is not None:
                self._growth.drop(kinds=bool(known.paths), wanted=len(known.waiting))

    def _donated_leaves(self, form: Form, args: tuple[Any, ...]) -> frozenset[int]:
        """Return the dynamic leaves that are arrays of donated arguments."""
        if max(self._donate) >= len(args):
            raise errors.OptionError(
                f"{self._name} was called with {len(args)} positional arguments, and donates argument "
                f"{max(self._donate)}, counted from 0. Pass it by position"
            )
        places = [(position, leaf) for position, arg in enumerate(args) for leaf in tree.flatten(arg)[0]]
        dynamic = [place for k, place in enumerate(places) if k not in form.fixed]
        return frozenset(
            [
                number
                for number, (position, leaf) in enumerate(dynamic)
                if position in self._donate and type(leaf) is np.ndarray
            ]
        )
