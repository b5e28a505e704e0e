"""`Maker`: how a compiled function records a call, and makes a program of that.

A recording runs the user's code, which may change what it uses. If it is of use, these changes are kept, with
plain values; if the code is to run again, they are put back. And there is a program only where it would do
what the code does: see `Maker._is_hindered`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from tape import errors, tree
from tape.core.dispatch import recorder
from tape.core.streams import Scope, Undeclared
from tape.kernels.loading import NotReady, is_ready, waiting, without_waiting
from tape.program.calls.arrays import Arrays, is_telling, place_of
from tape.program.calls.binding import Binding
from tape.program.calls.names import Bindings
from tape.program.calls.state import State
from tape.program.drawing import check_returned
from tape.program.growth import Growth
from tape.program.kinds import Kinds
from tape.program.layouts import Layout, are_same, in_c_order, layout_of, overlap_themselves
from tape.program.program import Program
from tape.program.python import Plain
from tape.program.record.collections import contents_of
from tape.program.record.reading import IntRead
from tape.program.record.recorder import NumbersNeeded, Outcome
from tape.program.record.recording import Recorded, native, record
from tape.program.runtime.run import Flip, Rerun
from tape.program.specialise import Path, Results, Specialisation
from tape.transforms._record import name_of
from tape.transforms._watched import StateChanged

_MAX_BEGINNINGS = 1024
"""Number of beginnings of paths that calls are counted for, while they wait for a program."""

_MOST_CHANGES = 3  # calls in which a function may change what it uses, as one that fills a cache does
_MOST_INT_PATHS = 16
"""Number of paths from which on ints that paths depend on are static."""

# Raised because values are traced: the plain function would not raise them.
_REFUSALS = (
    errors.UnsupportedError,
    errors.ConversionError,
    errors.InPlaceError,
    errors.MissingAttributeError,
    errors.TraceMismatchError,
    errors.TraceDroppedError,
)


class _InVain(Exception):
    """Raised where a recording is of no use, and the code runs again.

    Attributes
    ----------
    has_ints : bool
        Whether the reason may be that ints are data: then it is recorded with ints that are static.
    error : TapeError or None
        What is raised in the end, if plain Python does not raise its own error before.
    """

    def __init__(self, has_ints: bool = False, error: errors.TapeError | None = None) -> None:
        self.has_ints = has_ints
        self.error = error


@contextmanager
def _kept_or_put_back(state: State) -> Iterator[None]:
    """Keep what a recording changes, unless the code runs again: that finds everything as it was."""
    try:
        yield
    except (_InVain, IntRead, NumbersNeeded, Undeclared, errors.TapeError):
        state.restore()
        raise
    except BaseException:  # the user's, or an interrupt: as in plain Python, what was changed by then stays
        state.settle()
        raise
    state.settle()


class Maker:
    """The part of a compiled function that makes its programs; parameters as of `Compiled`."""

    def __init__(self, f: Callable[..., Any], donate: frozenset[int], max_paths: int) -> None:
        self._f = f
        self._plain = Plain(f)
        self._name = name_of(f)
        self._max_paths = max_paths
        self._growth = Growth(self._name)
        self._kinds = Kinds(self._name, donate, max_paths, self._growth)
        self._latest: Specialisation | None = None
        self._has_run = False  # as plain Python, while there was no machine code
        self._writes = False  # to arrays that it closes over
        self._postpones = True  # loops: it asks for no numbers that depend on one

    def _found(
        self,
        known: Specialisation | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_due: bool = False,
    ) -> Any:
        """Return the result of a call by the program for its arguments, which is looked for anew."""
        raise NotImplementedError

    def _made(
        self,
        known: Specialisation,
        begin: tuple[Outcome, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_due: bool = False,
    ) -> Any:
        """Return the result of a call for which there is no path, which begins with these outcomes."""
        ints = known.form.ints
        if ints and known.reads_ints and len(known.paths) >= min(_MOST_INT_PATHS, self._max_paths):
            self._keep_static(known, ints)
            return self._found(None, args, kwargs)
        if len(known.paths) >= self._max_paths:
            self._growth.warn_of_paths(known, self._max_paths)
            return self._plain(args, kwargs)
        if (
            self._writes
            or known.is_plain
            or (known.awaits is not None and not is_due and not is_ready(known.awaits))
        ):
            return self._plain(args, kwargs)
        calls = known.waiting.get(begin)
        if calls is None:
            if len(known.waiting) >= _MAX_BEGINNINGS:
                known.waiting.clear()
            calls = known.waiting[begin] = 0
            self._growth.want(self._kinds.all())
        if not (is_due or known.paths or self._growth.is_due(calls)):
            known.waiting[begin] = calls + 1
            return self._plain(args, kwargs)
        try:
            with nullcontext() if is_due else without_waiting():
                return self._recorded(known, args, kwargs)
        except IntRead as read:
            self._keep_static(known, read.leaves)
            return self._found(None, args, kwargs, is_due)
        except Exception as error:
            if ints or not (calls or self._has_run) or not isinstance(error, _REFUSALS):
                known.waiting.pop(begin, None)
                self._growth.drop(wanted=1)
                raise
            known.is_plain = True  # it has run so far, and goes on to do so
            self._growth.warn_of_refusal(error)
            return self._plain(args, kwargs)

    # ---- a recording -----------------------------------------------------------------------------

    def _recorded(
        self, known: Specialisation, args: tuple[Any, ...], kwargs: dict[str, Any], wants_result: bool = True
    ) -> Any:
        """Record the call as a path of its own, and return the result, or None if nobody wants it."""
        try:
            try:
                return self._with_a_path(known, args, kwargs, wants_result)
            except NumbersNeeded:
                self._postpones = False
                return self._with_a_path(known, args, kwargs, wants_result)
        except _InVain as why:
            has_ints, error = why.has_ints, why.error
        if has_ints:
            return self._with_static_ints(known, args, kwargs)
        result = self._plain(args, kwargs)
        if error is not None:
            raise error
        return result

    def _with_a_path(
        self, known: Specialisation, args: tuple[Any, ...], kwargs: dict[str, Any], wants_result: bool
    ) -> Any:
        """Return the result of a call that is recorded; there is a path of it, if nothing hinders one.

        Raises
        ------
        _InVain
            If it has to run again.
        """
        before = Bindings(self._f, known.form.statics())
        if before.iterators:
            self._writes_to(before.iterators[0])
            raise _InVain
        if known.form.ints and before.tells_types:
            raise IntRead(known.form.ints)
        state, arrays = before.state(), Arrays(before.arrays)
        with _kept_or_put_back(state):
            recorded = self._recording(known, state, args, kwargs)
            self._check_use(known, recorded)
            is_in_c_order = not recorded.reads_layout or self._is_in_c_order(known, state, args, kwargs)
        leaves = None if recorded.has_postponed else recorded.values()
        if not is_in_c_order:
            return Results(recorded).restore(leaves or recorded.values())
        is_as_before = before.is_what_a_search_finds()
        names = before if is_as_before else Bindings(self._f, known.form.statics())
        if self._is_hindered(known, state, before, names, arrays):
            return Results(recorded).restore(leaves or recorded.values())
        try:
            program = Program(recorded, known.donated, self._name, known.form)
        except NotReady as missing:
            known.awaits = str(missing)
            return Results(recorded).restore(leaves or recorded.values())
        path = self._kept(known, recorded, program, before, names, arrays)
        if not wants_result:  # arguments that are donated are still needed
            return None
        return self._run(path, known, args, kwargs) if leaves is None else path.restore(leaves)

    def _run(self, path: Path, known: Specialisation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call by the path that was made for it."""
        taken = known.take(args, kwargs)
        assert taken is not None
        try:
            out = path.run(tuple(map(native, taken)))
        except Rerun:
            return self._plain(args, kwargs)
        return self._plain(args, kwargs) if isinstance(out, Flip) else path.restore(out)

    def _recording(
        self, known: Specialisation, state: State, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Recorded:
        """Record a call; explain what it raises."""
        ints = known.form.ints

        def recordable(*args: Any, **kwargs: Any) -> Any:
            out = self._recordable(*args, **kwargs)
            program = recorder()
            if program is not None and program.has_postponed and state.changed() is not None:
                program.need_numbers()  # there are placeholders among what it has put there
            return out

        try:
            return record(
                recordable,
                args,
                kwargs,
                self._name,
                ints,
                keeps_places=self._growth.needs_places,
                postpones=self._postpones,
            )
        except StateChanged as change:
            known.is_plain = True
            self._growth.warn_of_changes(change.binding)
            raise _InVain from None
        except errors.TapeError as error:
            if ints:
                raise _InVain(has_ints=True) from None
            error.add_note(f"while {self._name} was recorded by tape.compile")
            if not isinstance(error, _REFUSALS):
                raise _InVain(error=error) from None  # that of plain Python is about plain arrays
            raise
        except Exception:
            # What it has put into collections among its arguments by then is there for the caller.
            if ints or contents_of((*args, *kwargs.values())):
                raise _InVain(has_ints=bool(ints)) from None
            raise

    def _recordable(self, *args: Any, **kwargs: Any) -> Any:
        with Scope() as scope, waiting():
            out = self._f(*args, **kwargs)
        for leaf in tree.leaves(out):
            check_returned(leaf, scope)
        return out

    def _check_use(self, known: Specialisation, recorded: Recorded) -> None:
        """Check that a recording holds for other calls.

        Raises
        ------
        _InVain
            If it does not.
        """
        if recorded.observed:
            known.is_plain = True
            self._growth.warn_of_observed(recorded.observed)
            raise _InVain
        if recorded.changes_arguments:
            known.is_plain = self._plain.changes_arguments = True
            self._growth.warn_of_arguments()
            raise _InVain
        if recorded.caught is not None:
            if not known.form.ints:
                self._growth.warn_of_caught(recorded.caught)
            raise _InVain(has_ints=bool(known.form.ints))

    def _is_in_c_order(
        self, known: Specialisation, state: State, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Return whether arguments are in C order, as those of a program of what depends on their layout.

        If they are not, and there is no path, make the one for C order.
        """
        known.layouts = known.layouts or {}
        leaves = tree.leaves((args, kwargs))
        if overlap_themselves(leaves):
            raise _InVain
        if layout_of(leaves) is None:
            return True
        if not known.paths:
            state.restore()
            in_order, named = in_c_order((args, kwargs))
            self._recorded(known, in_order, named, wants_result=False)
            raise _InVain
        return False

    def _is_hindered(
        self, known: Specialisation, state: State, before: Bindings, names: Bindings, arrays: Arrays
    ) -> bool:
        """Return whether a program would not do what a call has done, as it has changed what it uses."""
        if (changed := state.changed()) is not None:
            known.changes += 1
            if known.changes > _MOST_CHANGES:
                known.is_plain = True
                self._growth.warn_of_changes(changed)
            return True
        if not names.agree_with(before):  # another thread has bound a name meanwhile: which was read?
            return True
        if (changed := before.written() or arrays.changed()) is not None:
            self._writes_to(changed)
            return True
        return False

    def _kept(
        self,
        known: Specialisation,
        recorded: Recorded,
        program: Program,
        before: Bindings,
        names: Bindings,
        arrays: Arrays,
    ) -> Path:
        """Make a path of a program, which later calls take."""
        results = recorded.plain_results([array.value for array in before.arrays])
        unread = {id(b.value) for b in before.valued() if not recorded.has_read(b.value)}
        path = Path(recorded, program)
        with self._kinds.lock:
            if all(path.outcomes != other.outcomes for other in known.paths):  # no thread was faster
                self._growth.kinds += not known.paths
                self._note_contents(known, path, names, unread, results, arrays.contents)
                known.use(path, names)
                known.layouts = None if known.layouts is None else {}
            known.reads_ints = known.reads_ints or bool(recorded.ints_guarded)
            self._latest = known
            self._kinds.drop_covered(known)
        return path

    def _note_contents(
        self,
        known: Specialisation,
        path: Path,
        names: Bindings,
        unread: set[int],
        results: Sequence[Any],
        held: dict[int, Binding],
    ) -> None:
        """Note the arrays whose content a new path may depend on: by results of NumPy, or of Python.

        Those that conditions depend on, whatever the evidence: a path may be the same for long.
        """
        decisive, conditions = names.decisive() | unread, names.decisive(conditions=True)
        if known.replaces is not None:
            before, changed = known.replaces
            place = place_of(changed)
            numbers = {number for number, content in held.items() if place_of(content) == place}
            is_same = any(path.is_same_as(other) for other in before.paths)
            is_certain = not numbers & decisive and all(map(is_telling, results))
            if not numbers & conditions:
                self._kinds.note_content(changed, is_same, is_certain)
            known.replaces = None
        for number, content in held.items():
            is_evident = number not in conditions and self._kinds.is_independent_of(content)
            if (results or number in decisive) and not is_evident:
                known.contents.setdefault(place_of(content), content)
        names.extend(known.contents.values())

    def _writes_to(self, changed: Binding) -> None:
        """Run as plain Python from now on: the function writes to an array that it uses, or uses an iterator.

        Its programs so far, of calls that left the array as it was, rely on what it holds.
        """
        self._growth.warn_of_changes(changed)
        with self._kinds.lock:
            self._writes = True
            self._latest = None
            self._kinds.clear()

    def _in_layout(
        self, known: Specialisation, layout: Layout, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return the result for arguments that lie in memory like this for the first time.

        The call is recorded, and the recording compared with that of the path for C order. With several paths
        such calls run as plain Python.
        """
        if overlap_themselves(tree.leaves((args, kwargs))):
            known.layouts = {**(known.layouts or {}), layout: False}
            return self._plain(args, kwargs)
        state = Bindings(self._f, known.form.statics()).state()
        made = None
        with suppress(_InVain), _kept_or_put_back(state):
            made = self._tried(known, args, kwargs)
        if made is None:
            return self._plain(args, kwargs)
        recorded, program = made
        outcomes = tuple(guard.outcome for guard in recorded.guards)
        path = known.paths[0]
        is_same = outcomes == path.outcomes and are_same(program.ir, path.program.ir)
        if known.layouts is not None:
            known.layouts[layout] = is_same and len(known.paths) == 1 and state.changed() is None
        return Results(recorded).restore(recorded.values())

    def _tried(
        self, known: Specialisation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Recorded, Program]:
        """Return a recording of a call, and its program.

        Raises
        ------
        _InVain
            If there is none for any reason; if it is the user's, plain Python raises that.
        """
        try:
            recorded = record(self._recordable, args, kwargs, self._name, known.form.ints)
            if recorded.caught is None and not recorded.observed and not recorded.changes_arguments:
                return recorded, Program(recorded, known.donated, self._name, known.form)
        except (Exception, IntRead, StateChanged):
            pass
        raise _InVain

    def _keep_static(self, known: Specialisation, ints: frozenset[int]) -> None:
        """Make ints static that were data in this specialisation, which is not used any more."""
        with self._kinds.lock:
            if self._latest is known:
                self._latest = None
        self._kinds.keep_static(known, ints)

    def _with_static_ints(self, known: Specialisation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call whose ints, being data, may be the reason of an error."""
        ints = known.form.ints
        self._kinds.integers.keep_static(known.form, ints)
        try:
            out = self._found(None, args, kwargs, is_due=True)
        except Exception:  # they are not
            self._kinds.integers.make_data(known.form, ints)
            raise
        self._keep_static(known, ints)
        return out
