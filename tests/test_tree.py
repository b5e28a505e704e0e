"""Trees: what is a branch and what a leaf, what comes back, and what leaves are called."""

import threading
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, make_dataclass
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import tree
from tests.tiers import rounds

Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Frozen:
    a: Any
    kind: str = field(default="k", metadata={"static": True})
    b: Any = None


@dataclass(slots=True)
class Slotted:
    a: Any
    b: Any


@dataclass
class Strict:
    """One that would refuse what transforms put in its place."""

    a: float
    doubled: float = field(init=False)

    def __post_init__(self):
        self.doubled = 2 * float(self.a)


@dataclass
class Base:
    a: Any


@dataclass
class Derived(Base):
    b: Any


LEAVES = st.sampled_from([1.0, 2, np.float32(3), "text"])
KEYS = st.text("abc", min_size=1, max_size=2)
ANY = st.recursive(
    LEAVES | st.none(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.builds(Point, inner, inner),
        st.builds(Frozen, inner, KEYS, inner),
        st.builds(Slotted, inner, inner),
        st.builds(Derived, inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=rounds(100), deadline=None)
@given(ANY)
def test_a_tree_taken_apart_and_put_together_is_the_same(value):
    leaves, structure = tree.flatten(value)
    restored = tree.restore(structure, leaves)
    assert restored == value
    assert type(restored) is type(value)
    assert tree.flatten(restored) == (leaves, structure)
    assert all(isinstance(leaf, (float, int, str, np.float32)) for leaf in leaves)


@settings(max_examples=rounds(100), deadline=None)
@given(ANY)
def test_names_lead_to_the_leaves(value):
    leaves, structure = tree.flatten(value)
    names = tree.names(structure, "root")
    assert len(set(names)) == len(leaves)
    assert [eval(name, {"root": value}) for name in names] == leaves


@settings(max_examples=rounds(60), deadline=None)
@given(ANY, ANY)
def test_structures_are_equal_for_trees_alike(one, other):
    counted = tree.map_leaves(lambda leaf: 0, one)
    assert tree.flatten(counted)[1] == tree.flatten(one)[1]
    same = tree.flatten(one)[1] == tree.flatten(other)[1]
    assert same == (counted == tree.map_leaves(lambda leaf: 0, other))


@pytest.mark.parametrize(
    "leaf",
    [1.0, 1, True, np.float64(1), np.float32(1), np.ones(2), "a", 1j, {1}, Frozen, len, range(2)],
    ids=repr,
)
def test_what_is_no_container_is_a_leaf(leaf):
    leaves, structure = tree.flatten(leaf)
    assert structure is tree.LEAF
    assert len(leaves) == 1
    assert leaves[0] is leaf
    assert tree.restore(structure, leaves) is leaf
    assert tree.names(structure, "root") == ["root"]
    inside, structure = tree.flatten([leaf])
    assert inside[0] is leaf
    assert tree.names(structure, "root") == ["root[0]"]


def test_a_var_is_a_leaf():
    v = tape.Trace().param(np.ones(3))
    assert tree.flatten(v) == ([v], tree.LEAF)
    assert tree.flatten([v])[0][0] is v
    assert tree.flatten(np.ones(3))[1] == tree.flatten(v)[1]


def test_none_is_a_tree_without_leaves():
    leaves, structure = tree.flatten(None)
    assert leaves == []
    assert structure is not tree.LEAF
    assert tree.restore(structure, []) is None
    assert tree.names(structure, "root") == []


@pytest.mark.parametrize(
    "value",
    [
        OrderedDict(b=1.0, a=2.0),
        defaultdict(list, a=1.0),
        deque([1.0, 2.0]),
        {2: 1.0, 1: 2.0},
        {1: 1.0, "a": 2.0},
    ],
    ids=repr,
)
def test_other_containers_keep_their_type(value):
    leaves, structure = tree.flatten(value)
    restored = tree.restore(structure, leaves)
    assert type(restored) is type(value)
    assert restored == value
    assert list(restored) == list(value)


def test_the_order_of_keys_does_not_matter():
    one, other = {"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}
    assert tree.flatten(one) == tree.flatten(other)
    assert list(tree.restore(*reversed(tree.flatten(one)))) == ["b", "a"]


def test_static_fields_belong_to_the_structure():
    leaves, structure = tree.flatten(Frozen(1.0, "one", [2.0]))
    assert leaves == [1.0, 2.0]
    assert tree.restore(structure, [3.0, 4.0]) == Frozen(3.0, "one", [4.0])
    assert structure == tree.flatten(Frozen(5.0, "one", [6.0]))[1]
    assert structure != tree.flatten(Frozen(1.0, "other", [2.0]))[1]


def test_static_fields_may_be_arrays():
    one = tree.flatten(Frozen(1.0, np.array([1, 2])))[1]
    assert one == tree.flatten(Frozen(2.0, np.array([1, 2])))[1]
    assert one != tree.flatten(Frozen(2.0, np.array([1, 3])))[1]


def test_putting_together_does_not_run_the_users_code():
    leaves, structure = tree.flatten(Strict(3.0))
    assert leaves == [3.0, 6.0]
    restored = tree.restore(structure, ["text", None])
    assert (restored.a, restored.doubled) == ("text", None)


def test_subclasses_are_their_own_kind():
    _, structure = tree.flatten([Derived(1.0, 2.0), Base(3.0)])
    assert tree.names(structure, "t") == ["t[0].a", "t[0].b", "t[1].a"]
    assert tree.flatten(Base(1.0))[1] != tree.flatten(Derived(1.0, None))[1]


def test_dataclasses_registered_with_optree_by_others_are_left_alone():
    kind = make_dataclass("Foreign", ["a", "b"])
    optree.register_pytree_node(kind, lambda v: ([v.a], v.b), lambda b, a: kind(*a, b), namespace="theirs")
    assert tree.flatten(kind(1.0, 2.0))[0] == [1.0, 2.0]
    assert optree.tree_leaves(kind(1.0, 2.0), namespace="theirs") == [1.0]


def test_threads_may_meet_a_dataclass_at_the_same_time(monkeypatch):
    """Two threads find it unknown before either has registered it."""
    kind = make_dataclass("Shared", ["a"])
    both_are_here = threading.Barrier(2, timeout=5)
    register, results = tree._register, []

    def register_together(*args):
        both_are_here.wait()
        register(*args)

    def work():
        try:
            results.append(tree.flatten(kind(1.0))[0])
        except ValueError as error:
            results.append(error)

    monkeypatch.setattr(tree, "_register", register_together)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[1.0], [1.0]]


def test_deep_trees():
    value: Any = 1.0
    for _ in range(300):
        value = [value]
    leaves, structure = tree.flatten(value)
    assert leaves == [1.0]
    assert tree.restore(structure, leaves) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, True),
        ((1.0, [2.0, {"a": 3.0}]), True),
        (None, True),
        (OrderedDict(a=1.0), True),
        (Point(1.0, [2.0]), True),
        ((1.0, deque([2.0])), False),
        (deque([1.0, 2.0]), False),
    ],
)
def test_trees_of_known_branches_are_plain(value, expected):
    assert tree.is_plain(tree.flatten(value)[1]) is expected
