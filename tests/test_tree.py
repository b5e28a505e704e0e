"""Trees: what is a branch and what a leaf, what comes back, and what leaves are called."""

import threading
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tape
from tape import tree
from tape.tree import _nested
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


@settings(max_examples=rounds(100))
@given(ANY)
def test_a_tree_taken_apart_and_put_together_is_the_same(value):
    leaves, structure = tree.flatten(value)
    restored = tree.unflatten(structure, leaves)
    assert restored == value
    assert type(restored) is type(value)
    assert tree.flatten(restored) == (leaves, structure)
    assert all(isinstance(leaf, (float, int, str, np.float32)) for leaf in leaves)


@settings(max_examples=rounds(100))
@given(ANY)
def test_names_lead_to_the_leaves(value):
    leaves, structure = tree.flatten(value)
    names = tree.names(structure, "root")
    assert len(set(names)) == len(leaves)
    assert [eval(name, {"root": value}) for name in names] == leaves


def alike(one, other):
    """Equal, and of the same types: for ``==`` a named tuple is a plain one, too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if is_dataclass(one):
        return all(alike(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return one == other


@settings(max_examples=rounds(60))
@given(ANY, ANY)
@example(Point(1.0, None), (1.0, None))
def test_structures_are_equal_for_trees_alike(one, other):
    counted = tree.map(lambda leaf: 0, one)
    assert tree.flatten(counted)[1] == tree.flatten(one)[1]
    same = tree.flatten(one)[1] == tree.flatten(other)[1]
    assert same == alike(counted, tree.map(lambda leaf: 0, other))


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
    assert tree.unflatten(structure, leaves) is leaf
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
    assert tree.unflatten(structure, []) is None
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
    restored = tree.unflatten(structure, leaves)
    assert type(restored) is type(value)
    assert restored == value
    assert list(restored) == list(value)


def test_the_order_of_keys_does_not_matter():
    one, other = {"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}
    assert tree.flatten(one) == tree.flatten(other)
    assert list(tree.unflatten(*reversed(tree.flatten(one)))) == ["b", "a"]


def test_static_fields_belong_to_the_structure():
    leaves, structure = tree.flatten(Frozen(1.0, "one", [2.0]))
    assert leaves == [1.0, 2.0]
    assert tree.unflatten(structure, [3.0, 4.0]) == Frozen(3.0, "one", [4.0])
    assert structure == tree.flatten(Frozen(5.0, "one", [6.0]))[1]
    assert structure != tree.flatten(Frozen(1.0, "other", [2.0]))[1]


def test_static_fields_may_be_arrays():
    one = tree.flatten(Frozen(1.0, np.array([1, 2])))[1]
    assert one == tree.flatten(Frozen(2.0, np.array([1, 2])))[1]
    assert one != tree.flatten(Frozen(2.0, np.array([1, 3])))[1]
    known = {one: "known", tree.structure(Frozen(1.0, "other")): "other"}
    assert known[tree.structure(Frozen(3.0, np.array([1, 2])))] == "known"
    assert tree.structure(Frozen(3.0, np.array([2, 1]))) not in known


def test_putting_together_does_not_run_the_users_code():
    leaves, structure = tree.flatten(Strict(3.0))
    assert leaves == [3.0, 6.0]
    restored = tree.unflatten(structure, ["text", None])
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
    register, results = _nested._register, []

    def register_together(*args):
        both_are_here.wait()
        register(*args)

    def work():
        try:
            results.append(tree.flatten(kind(1.0))[0])
        except ValueError as error:
            results.append(error)

    monkeypatch.setattr(_nested, "_register", register_together)
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
    assert tree.unflatten(structure, leaves) == value


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


# ---- functions of leaves ---------------------------------------------------------------------------


@settings(max_examples=rounds(60))
@given(ANY)
def test_a_map_over_trees_alike_sees_leaves_of_one_place(value):
    leaves = tree.leaves(value)
    numbered = tree.unflatten(tree.structure(value), range(len(leaves)))
    seen = tree.leaves(tree.map(lambda leaf, k, again: (leaf, k, again), value, numbered, value))
    assert seen == [part for k, leaf in enumerate(leaves) for part in (leaf, k, leaf)]
    assert tree.reduce(lambda so_far, leaf: [*so_far, leaf], value, []) == leaves


def test_other_trees_may_be_deeper_than_the_first():
    assert tree.map(lambda leaf, part: part, [1, 2], [(3, 4), {"a": 5}]) == [(3, 4), {"a": 5}]


@pytest.mark.parametrize("other", [[1.0], {"a": 1.0}, [1.0, 2.0, 3.0], None, 1.0], ids=repr)
def test_trees_of_other_structures_are_refused(other):
    with pytest.raises(tape.errors.ShapeError, match="tree 2"):
        tree.map(lambda *leaves: 0, [1.0, 2.0], [3.0, 4.0], other)


@pytest.mark.parametrize(("value", "leaves"), [([1.0, 2.0], [1]), (1.0, []), (1.0, [1, 2]), (None, [1])])
def test_as_many_leaves_as_the_structure_has(value, leaves):
    with pytest.raises(tape.errors.ShapeError, match="leaves for a tree of"):
        tree.unflatten(tree.structure(value), leaves)


def test_all_and_reduce_of_trees_without_leaves():
    assert tree.all([])
    assert not tree.all({"a": np.bool_(True), "b": [np.bool_(False)]})
    assert tree.reduce(max, (), 3) == 3
    with pytest.raises(tape.errors.ShapeError, match="initializer"):
        tree.reduce(max, ())


# ---- vectors ---------------------------------------------------------------------------------------

NUMBERS = st.sampled_from(
    [
        2.5, -3, True, np.float32(0.25), np.ones((), np.float16), np.ones((0, 2)),
        np.arange(6.0).reshape(2, 3), np.arange(3, dtype=np.int8),
        np.ones((1, 2), np.complex64), np.array([1, 2**40]),
    ]
)  # fmt: skip
VECTORS = st.recursive(
    NUMBERS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=rounds(100))
@given(VECTORS)
def test_unravel_is_the_inverse_of_ravel(value):
    vector, unravel = tree.ravel(value)
    leaves = tree.leaves(value)
    assert vector.shape == (sum(np.size(leaf) for leaf in leaves),)
    assert not leaves or vector.dtype == np.result_type(*[np.asarray(leaf).dtype for leaf in leaves])
    back = unravel(vector)
    assert tree.structure(back) == tree.structure(value)
    for found, leaf in zip(tree.leaves(back), leaves, strict=True):
        assert found.dtype == np.asarray(leaf).dtype
        assert isinstance(found, np.ndarray) == isinstance(leaf, np.ndarray)
        np.testing.assert_array_equal(found, leaf, strict=isinstance(leaf, np.ndarray))
    np.testing.assert_array_equal(tree.ravel(back)[0], vector)


def test_neither_way_shares_memory():
    x = np.ones(3)
    vector, unravel = tree.ravel(x)
    assert not np.shares_memory(vector, x)
    assert not np.shares_memory(unravel(vector), vector)


PARAMS = {"w": np.array([[0.5, -1.0], [2.0, 0.25]]), "b": [np.float64(0.75), np.array([1.5])]}


def energy(params):
    return np.sum(np.sin(params["w"])) * params["b"][0] ** 2 + np.prod(np.exp(params["b"][1]))


def test_derivatives_go_through_both_ways():
    vector, unravel = tree.ravel(PARAMS)
    by_tree = tape.grad(energy)(PARAMS)
    by_vector = tape.grad(lambda v: energy(unravel(v)))(vector)
    np.testing.assert_array_equal(by_vector, tree.ravel(by_tree)[0])
    weights = np.arange(1.0, 1 + vector.size)
    of_ravel = tape.grad(lambda params: weights @ np.square(tree.ravel(params)[0]))(PARAMS)
    np.testing.assert_allclose(tree.ravel(of_ravel)[0], 2 * weights * vector, rtol=1e-15)
    tape.testing.check_grads(lambda v: tree.ravel(unravel(np.sin(v)))[0] ** 2, (vector,))


def test_narrow_floats_keep_their_dtype_and_get_gradients_of_it():
    mixed = {"w": np.ones(2, np.float32), "b": 3.0}
    vector, unravel = tree.ravel(mixed)
    assert vector.dtype == np.float64
    gradient = tape.grad(lambda p: np.sum(tree.ravel(p)[0] ** 2))(mixed)
    assert gradient["w"].dtype == np.float32
    kinds = []
    tape.grad(lambda v: kinds.append(unravel(v)["w"].dtype) or np.sum(unravel(v)["w"]))(vector)
    assert kinds == [np.float32]


def test_compiled_like_eager():
    _, unravel = tree.ravel(PARAMS)

    def step(params):
        v, back = tree.ravel(params)
        return back(v - 0.1 * tape.grad(lambda v: energy(unravel(v)))(v))

    compiled = tape.compile(step)
    for scale in (1.0, -2.0):
        params = tree.map(lambda leaf, scale=scale: leaf * scale, PARAMS)
        for a, b in zip(tree.leaves(compiled(params)), tree.leaves(step(params)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_batch_of_trees():
    vector, unravel = tree.ravel(PARAMS)
    rows = np.stack([vector, 2 * vector])
    found = tape.vmap(lambda v: energy(unravel(v)))(rows)
    np.testing.assert_allclose(found, [energy(unravel(row)) for row in rows], rtol=1e-15)


@pytest.mark.parametrize(
    "value", [["text"], [object()], [np.array(["a"])], [np.ma.masked_array([1.0])], [1.0, 2**53 + 1], [2**70]]
)
def test_ravel_refuses_what_a_vector_cannot_hold(value):
    with pytest.raises(tape.errors.DTypeError, match=r"tree\["):
        tree.ravel(value)


@pytest.mark.parametrize(
    ("value", "vector"),
    [
        ([1.0, 2], [1.0, 2.5]),
        ([1.0, 2], [1.0, np.nan]),
        ([1.0, np.int8(2)], [1.0, 300.0]),
        ([1, np.int8(2)], [1, 300]),
        ([1.0, True], [1.0, 2.0]),
        ([1.0, 1j], [1j, 1j]),
    ],
)
def test_unravel_refuses_numbers_that_a_leaf_cannot_hold(value, vector):
    with pytest.raises(tape.errors.DTypeError, match="cannot hold"):
        tree.ravel(value)[1](np.array(vector))


def test_unravel_refuses_to_lose_a_derivative():
    vector, unravel = tree.ravel({"n": 2, "x": 1.5})
    with pytest.raises(tape.errors.DTypeError, match=r"tree\['n'\]"):
        tape.grad(lambda v: unravel(v)["x"])(vector)


@pytest.mark.parametrize("shape", [(), (3,), (5, 1)])
def test_unravel_refuses_other_shapes(shape):
    with pytest.raises(tape.errors.ShapeError, match="Pass one of shape"):
        tree.ravel(PARAMS)[1](np.ones(shape))
