"""What functions reach by their names, piece by piece: names in code, constants, changes, copies."""

from contextlib import contextmanager
from functools import partial
from types import FunctionType, MethodType

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import reached
from tape.core.held import Kept
from tape.core.reached import Copies, Reach, constants_of, rebound

# ---- names in code -------------------------------------------------------------------------------------


def made(source, **names):
    """The function f of a source, whose globals are these names."""
    exec(source, names)
    return names["f"]


CODE = {
    # globals that are read, and assigned to, and whether all are needed
    "reads": ("f = lambda x: c * x", {"c"}, set(), False),
    "reads attributes": ("f = lambda x: x.c + y.d", {"y"}, set(), False),
    "assigns": ("def f(x):\n    global n\n    n = x", set(), {"n"}, False),
    "deletes": ("def f(x):\n    global n\n    del n", set(), {"n"}, False),
    "both": ("def f(x):\n    global n\n    n += x", {"n"}, {"n"}, False),
    "evaluates": ("f = lambda x: eval(x)", {"eval"}, set(), True),
    "executes": ("f = lambda x: exec(x)", {"exec"}, set(), True),
    "looks up": ("f = lambda x: globals()[x]", {"globals"}, set(), True),
    "looks at its own": ("f = lambda x: locals()", {"locals"}, set(), False),
    "a class": ("def f(x):\n    class A: k = c", {"c"}, set(), True),
    "inside": ("f = lambda x: lambda: c + x", {"c"}, set(), False),
    "assigns inside": (
        "def f(x):\n    def g():\n        global n\n        n = 1\n    return g", set(), {"n"}, False),
    "evaluates inside": ("f = lambda x: lambda: eval('c')", {"eval"}, set(), True),
    "local": ("def f(x):\n    c = 1\n    return c", set(), set(), False),
    "nothing": ("f = lambda x: 1", set(), set(), False),
}  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_names_in_code(name):
    source, read, assigned, needs_all = CODE[name]
    f = made(source)
    found = reached._names(f.__code__)
    assert found.globals - {"__name__"} == read
    assert found.assigned_globals == reached.assigned_globals(f) == assigned
    assert found.assigned == set()
    assert found.is_users is True
    assert found.needs_all is needs_all
    assert reached._names(f.__code__) is found


def test_free_variables_that_are_assigned_to():
    first = second = third = 1.0

    def assigns():
        nonlocal first
        first = 2.0
        own = 3.0  # a cell that is not free
        return lambda: own + second

    def deletes():
        nonlocal third
        del third

    def inside():
        def more():
            nonlocal first
            first = 4.0

        return more

    for f, expected in (
        (assigns, {"first"}),
        (deletes, {"third"}),
        (inside, {"first"}),
        (lambda: first, set()),
    ):
        assert reached._names(f.__code__).assigned == expected


def test_names_of_libraries_are_not_read():
    for f in (np.linalg.norm.__wrapped__, tape.grad, pytest.approx):
        found = reached._names(f.__code__)
        assert (found.is_users, found.globals) == (False, frozenset())


def test_names_are_forgotten_where_there_are_very_many(monkeypatch):
    monkeypatch.setattr(reached, "_MOST_KNOWN", 2)
    monkeypatch.setattr(reached, "_names_by_id", {})
    functions = [made(f"f = lambda x: c{k} * x") for k in range(5)]
    counts = []
    for k, f in enumerate(functions):
        assert reached._names(f.__code__).globals == {f"c{k}"}
        counts.append(len(reached._names_by_id))
    assert counts == [1, 2, 3, 1, 2]


# ---- constants -------------------------------------------------------------------------------------------


def with_cell(value):
    return lambda: value


def unbound():
    f = lambda: value  # noqa: E731
    if f is None:
        value = 1
    return f


CONSTANT = {
    "global": (made("f = lambda x: c * x", c=2.0), [2.0]),
    "two globals": (made("f = lambda x: c * d", c=2.0, d=None), [2.0, None]),
    "module": (made("f = lambda x: np.sin", np=np), [np]),
    "function of NumPy": (made("f = lambda x: s", s=np.sum), [np.sum]),
    "ufunc and number": (made("f = lambda x: s(t)", s=np.sin, t=np.float64(2)), [np.sin, np.float64(2)]),
    "class": (made("f = lambda x: k", k=dict), [dict]),
    "cell": (with_cell("text"), ["text"]),
    "no names": (made("f = lambda x: x"), []),
    "not there": (made("f = lambda x: c"), [reached._EMPTY]),
    "array": (made("f = lambda x: c", c=np.ones(2)), None),
    "list": (made("f = lambda x: c", c=[]), None),
    "one of two": (made("f = lambda x: c + d", c=2.0, d=[]), None),
    "function": (made("f = lambda x: c", c=with_cell), None),
    "cell of an array": (with_cell(np.ones(1)), None),
    "cell that is empty": (unbound(), None),
    "default": (made("f = lambda x=1: c", c=2.0), None),
    "keyword": (made("f = lambda *, x=1: c", c=2.0), None),
    "needs all": (made("f = lambda x: eval('c')", c=2.0), None),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANT)
def test_constants_of_functions(name):
    f, expected = CONSTANT[name]
    found = constants_of(f)
    if expected is None:
        assert found is None
    else:
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_constants_that_are_bound_to_something_else():
    cell = 1.5

    def f():
        return cell + c  # noqa: F821

    space = {"c": 2.5}
    f = FunctionType(f.__code__, space, "f", None, f.__closure__)
    constants = constants_of(f)
    assert rebound(f, constants) == {}
    space["c"] = 3.5
    assert rebound(f, constants) == {(id(space), "c"): 2.5}
    cell = 4.5
    assert rebound(f, constants) == {(id(space), "c"): 2.5, id(f.__closure__[0]): 1.5}
    space["c"] = constants[1]
    assert rebound(f, constants) == {id(f.__closure__[0]): 1.5}
    del space["c"]
    assert rebound(f, constants)[id(space), "c"] == 2.5


# ---- what is reached -------------------------------------------------------------------------------------


def test_functions_and_arrays_that_are_reached():
    """By variables, globals, defaults, tuples, partial functions and methods, but not by lists."""
    named = {name: np.full(1, float(k)) for k, name in enumerate("abcdefgh")}
    inner = {name: with_cell(array) for name, array in named.items()}

    class Model:
        def method(self):
            return named_method()

    named_method = inner["a"]
    f = made(
        "def f(x, g=given, *, h=keyword): return glob(x) + one[0](x) + part(x) + bound() + hidden[0]",
        given=inner["b"], keyword=inner["c"], glob=inner["d"], one=(1, (inner["e"],)),
        part=partial(inner["f"], 1, k=inner["g"]), bound=Model().method, hidden=[inner["h"]],
    )  # fmt: skip
    reach = Reach(f)
    assert {id(function) for function in inner.values()} & set(reach.functions) == {
        id(inner[name]) for name in "abcdefg"
    }
    assert set(map(id, named.values())) & set(reach.arrays) == {id(named[name]) for name in "abcdefg"}
    assert id(f) in reach.functions
    assert [type(one) for one in reach.all_functions()].count(MethodType) == 1


def test_keyword_defaults_alone_are_reached():
    array = np.ones(1)
    assert set(Reach(made("f = lambda x, *, g=given: g()", given=with_cell(array))).arrays) == {id(array)}


def test_variables_of_functions_of_libraries_are_passed_over_but_what_they_are_bound_to_is_not():
    array = np.ones(1)

    def rows():
        yield array

    wrapped = contextmanager(rows)
    reach = Reach(wrapped)
    assert set(reach.functions) == {id(wrapped), id(rows)}
    assert set(reach.cells) == {id(rows.__closure__[0])}
    assert set(reach.arrays) == {id(array)}


def test_arrays_of_objects_and_items_far_behind_are_left_out():
    objects, far, near = np.array([None]), np.zeros(1), np.ones(1)
    reach = Reach(made("f = lambda x: a + b", a=objects, b=(*[0] * 63, near, far)))
    assert set(reach.arrays) == {id(near)}


def test_what_is_assigned_to_is_not_noted():
    state, kept = 1.0, 2.0

    def f():
        nonlocal state
        global _COUNT
        _COUNT = state = 3.0
        return _COUNT + state + kept

    reach = Reach(f)
    cells = dict(zip(f.__code__.co_freevars, map(id, f.__closure__), strict=True))
    assert reach.assigned == {cells["state"], (id(f.__globals__), "_COUNT")}
    assert set(reach.cells) == {cells["kept"]}
    assert not reach.globals


_COUNT = 0.0


def test_what_has_changed_and_what_it_was():
    trace = tape.Trace()
    var, cell, gone = trace.param(np.ones(2)), 1.5, 2.5

    def f(x):
        return cell * x * glob * lost * var + gone  # noqa: F821

    space = {"glob": 3.5, "lost": 4.5}
    f = FunctionType(f.__code__, space, "f", None, f.__closure__)
    cells = dict(zip(f.__code__.co_freevars, map(id, f.__closure__), strict=True))

    def reach_after(change, key, was):
        reach = Reach(f)
        assert not reach.is_changed()
        assert reach.changed() == {}
        change()
        assert reach.is_changed()
        found = reach.changed()
        assert set(found) == {key}
        assert was is None or found[key] == was
        reach.forget_changed()
        assert not reach.is_changed()
        assert key in reach.assigned

    def rebind_cell():
        nonlocal cell
        cell = 9.0

    def unbind_cell():
        nonlocal gone
        del gone

    def write():
        nonlocal var
        var *= 2

    reach_after(rebind_cell, cells["cell"], 1.5)
    reach_after(unbind_cell, cells["gone"], 2.5)
    gone = 2.5
    reach_after(lambda: space.update(glob=9.0), (id(space), "glob"), 3.5)
    reach_after(lambda: space.pop("lost"), (id(space), "lost"), 4.5)
    before = var.value.tolist()
    reach = Reach(f)
    assert set(reach.vars) == {cells["var"]}
    assert list(reach.all_vars()) == [var]
    write()
    assert reach.is_changed()
    (old,) = reach.changed().values()
    assert old.value.tolist() == before


# ---- values made anew ------------------------------------------------------------------------------------


class Thing:
    def method(self):
        return 1

    def other(self):
        return 2


def test_values_made_of_others_stay_the_same_if_these_do():
    thing = Thing()
    same = lambda part: part  # noqa: E731
    long = (with_cell, *range(70))
    for value in (thing.method, (1, "a"), (), long, partial(with_cell, 1, k=2), partial(with_cell)):
        assert reached._rebuilt(value, same) is value


def test_values_made_of_others():
    thing = Thing()
    swap = {with_cell: unbound, Thing.method: Thing.other, 2: 20}
    change = lambda part: swap.get(part, part) if part.__hash__ else part  # noqa: E731
    made_method = reached._rebuilt(thing.method, change)
    assert made_method() == 2
    assert made_method.__self__ is thing
    assert reached._rebuilt((1, 2, with_cell), change) == (1, 20, unbound)
    assert reached._rebuilt((2, *range(1, 64), 2, 2), change) == (20, 1, 20, *range(3, 64), 2, 2)
    for given, expected in (
        (partial(with_cell, 1, k=3), (unbound, (1,), {"k": 3})),
        (partial(max, 1, k=2), (max, (1,), {"k": 20})),
    ):
        found = reached._rebuilt(given, change)
        assert (found.func, found.args, found.keywords) == expected
    inner = partial(max, 2)
    found = reached._rebuilt(inner, lambda part: (20,) if part == (2,) else part)
    assert (found.func, found.args) == (max, (20,))


def test_copies_of_those_functions_that_depend_on_what_has_changed():
    """By a global, by another function, by a default; others stay what they are."""
    space = {"c": 1.0}
    exec(
        "def plain(x): return 2 * x\n"
        "def direct(x): return c * x\n"
        "def called(x): return direct(x) + plain(x)\n"
        "def default(x, g=direct): return g(x)\n"
        "def keyword(x, *, g=(direct,)): return g[0](x)\n"
        "def f(x): return called(x) + default(x) + keyword(x) + plain(x)\n",
        space,
    )
    reach = Reach(space["f"])
    space["c"] = 100.0
    copies = Copies(reach, reach.changed(), {})
    assert copies.is_lasting
    for name in ("direct", "called", "default", "keyword", "f"):
        copied = copies.mapped(space[name])
        assert copied is not space[name]
        assert copied.__name__ == copied.__qualname__ == name
    assert copies.mapped(space["plain"]) is space["plain"]
    assert copies.mapped(space["f"])(1.0) == (1.0 + 2.0) + 1.0 + 1.0 + 2.0
    assert space["f"](1.0) == 304.0
    assert copies.mapped(5) == 5
    assert copies.mapped((space["direct"], 3))[0](2.0) == 2.0
    space["plain"] = lambda x: 0.0
    assert copies.mapped(space["f"])(1.0) == 3.0  # other globals are as they are now


def test_copies_of_functions_one_of_which_looks_names_up():
    space = {"c": 1.0}
    exec(
        "def looks(x): return eval('c') + c\n"
        "def reads(x): return c\n"
        "def f(x, pair=(reads, looks, 3)): return pair[0](x) + pair[1](x) * pair[2]\n",
        space,
    )
    reach = Reach(space["f"])
    space["c"] = 100.0
    copies = Copies(reach, reach.changed(), {})
    assert not copies.is_lasting
    assert copies.mapped(space["f"])(0.0) == 1.0 + 2.0 * 3


@pytest.mark.parametrize("needs_all", [False, True])
def test_copies_with_all_globals_do_not_last(needs_all):
    read = "eval('c')" if needs_all else "c"
    f = made(f"def f(x):\n    global count\n    count = x\n    return {read} * x + c", c=2.0, count=0.0)
    space = f.__globals__
    reach = Reach(f)
    space["c"] = 5.0
    copies = Copies(reach, reach.changed(), {})
    assert copies.is_lasting is not needs_all
    copied = copies.mapped(f)
    assert type(copied.__globals__) is (dict if needs_all else reached._Space)
    assert copied(3.0) == 8.0
    assert space["count"] == 0.0
    copies.finish()
    assert space["count"] == 3.0


def test_arrays_of_copies_are_those_that_were_held():
    scale = np.array([2.0, 3.0])
    f = with_cell(scale)
    reach = Reach(f)
    kept = Kept(scale)
    scale[:] = 0.0
    copies = Copies(reach, {}, {id(scale): kept})
    assert copies.mapped(f)().tolist() == [2.0, 3.0]
    copies.finish()
    copies.mapped(f)()[0] = 7.0
    with pytest.raises(errors.InPlaceError, match="was written into after a function that closes over it"):
        copies.finish()
    assert scale.tolist() == [0.0, 0.0]


def test_globals_of_copies_are_those_around_but_for_their_own():
    around = {"__name__": "here", "a": 1, "b": None}
    space = reached._Space(around)
    assert dict(space) == {"__name__": "here"}
    space["a"] = 2
    around["c"] = 3
    assert (space["a"], space["b"], space["c"]) == (2, None, 3)
    assert (space.get("a"), space.get("b", 5), space.get("d"), space.get("d", 5)) == (2, None, None, 5)
    with pytest.raises(KeyError):
        space["d"]


def test_objects_that_users_have_made_callable():
    class Mine:
        def __call__(self):
            return 1

    class Inherited(Mine):
        pass

    class Borrowed:
        __call__ = np.linalg.norm.__wrapped__

    for kind, expected in ((Mine, True), (Inherited, True), (Borrowed, False), (Thing, False), (int, False)):
        assert bool(reached.is_users_object(kind)) is expected
