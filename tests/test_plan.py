"""Where values are placed: nothing overlaps that is needed at the same time, and little memory is used."""

from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import tape
from tape import tree
from tape.program.ir.table import VIEWS
from tape.program.native.opcodes import ARENA, REGISTERS
from tape.program.plan.layouts import ALIGNMENT
from tests.naive_program import compiled_for, program_of
from tests.oracles import assert_close
from tests.test_program_random import LARGE, SMALL, gradients_of, groups_above, programs, random_checks
from tests.tiers import takes_long

NO_COMPUTATION = VIEWS | {"input", "constant", "literal", "guard"}


def extent(instruction, place):
    """The first byte of a value, and the one behind its last."""
    first = last = place.offset
    for length, stride in zip(instruction.shape, place.strides, strict=True):
        if not length:
            return place.offset, place.offset
        first += min(0, (length - 1) * stride)
        last += max(0, (length - 1) * stride)
    return first, last + instruction.dtype.itemsize


def viewed(plan):
    """For each value the one that it is a view of, or itself."""
    found = []
    for id, instruction in enumerate(plan.instructions):
        is_view = instruction.op in VIEWS
        found.append(found[instruction.operands[0]] if is_view else id)
    return found


def roots(plan):
    """For each value the one that owns its memory: of a part of an array that is joined, the whole."""
    found, wholes = viewed(plan), {}
    for id, instruction in enumerate(plan.instructions):
        if instruction.op == "concatenate":
            first, last = extent(instruction, plan.places[id])
            for part in {found[x] for x in instruction.operands}:
                place, one = plan.places[part], plan.instructions[part]
                is_inside = place.slot == plan.places[id].slot and first <= place.offset
                is_inside = is_inside and extent(one, place)[1] <= last
                if is_inside and one.size and one.op not in NO_COMPUTATION:
                    wholes[part] = id
    while any(root in wholes for root in found):
        found = [wholes.get(root, root) for root in found]
    return found


def lifetimes(plan):
    """For each value that is computed, (step, turn in the step) of when it is made and last read."""
    root = roots(plan)
    lives = {}
    for at, step in enumerate(plan.steps):
        for turn, id in enumerate(step.members):
            begin, _ = lives.setdefault(root[id], [(at, turn), (at, turn)])
            lives[root[id]] = [begin, (at, turn)]
            for operand in plan.instructions[id].operands:
                if root[operand] in lives:
                    lives[root[operand]][1] = (at, turn)
    for out in plan.outputs:
        lives[root[out]][1] = (len(plan.steps), 0)
    return lives


def check_places(plan):
    """Values whose lives overlap have disjoint memory, but for what is written over its own operand."""
    lives, root = lifetimes(plan), roots(plan)
    in_groups = {root[id] for step in plan.steps if step.block for id in step.members}
    for slot in (ARENA, REGISTERS):
        placed = [id for id in lives if plan.places[id] is not None and plan.places[id].slot == slot]
        spans = []
        for id in placed:
            begin, end = lives[id]
            first, last = extent(plan.instructions[id], plan.places[id])
            if slot == REGISTERS:  # blocks are of any of the group's elements
                first, last = plan.places[id].offset, plan.places[id].offset + 1
            assert first >= 0
            assert last <= plan.slots[slot]
            spans.append((begin, end, first, last, id))
        for k, (begin, end, first, last, id) in enumerate(spans):
            for other_begin, other_end, other_first, other_last, other in spans[k + 1 :]:
                # What ends where the other begins is its operand, and may be written over. Within a group
                # that runs block by block, the memory of values that leave it is needed for all of the step.
                if slot == ARENA and id in in_groups and other in in_groups and begin[0] == other_begin[0]:
                    is_apart = False
                else:
                    is_apart = end <= other_begin or other_end <= begin
                assert is_apart or last <= other_first or other_last <= first, (id, other)


def check_operands_come_first(plan):
    """Every step reads what earlier steps, or earlier members of it, have made."""
    root = viewed(plan)
    made = {id for id, one in enumerate(plan.instructions) if one.op in ("input", "constant", "literal")}
    for step in plan.steps:
        for id in step.members:
            assert {root[operand] for operand in plan.instructions[id].operands} <= made
            made.add(id)
    assert set(plan.outputs) <= made
    computed = [id for id, one in enumerate(plan.instructions) if one.op not in NO_COMPUTATION]
    assert sorted(id for step in plan.steps for id in step.members if id in set(computed)) == computed


def check_alignment_and_size(plan):
    root = roots(plan)
    for id, place in enumerate(plan.places):
        if place is not None and place.slot in (ARENA, REGISTERS) and root[id] == id:
            is_number = plan.instructions[id].size * plan.instructions[id].dtype.itemsize <= 8
            is_joined = id in {root[x] for x in plan.instructions[id].operands}  # its longest part is aligned
            unit = plan.instructions[id].dtype.itemsize if is_joined else 8 if is_number else ALIGNMENT
            assert place.offset % unit == 0
    count = len([id for step in plan.steps for id in step.members])
    assert plan.slots[ARENA] <= plan.value_bytes + count * ALIGNMENT


def check_plan(f, *args, **options):
    plan = program_of(f, *args, **options).plan
    check_operands_come_first(plan)
    check_places(plan)
    check_alignment_and_size(plan)
    return plan


@takes_long
@random_checks
@given(programs(SMALL, most_steps=25))
def test_small_values(steps):
    note(repr(steps))
    check_plan(steps, *steps.args(np.float64, 1))
    check_plan(gradients_of(steps), *steps.args(np.float64, 1))


@random_checks
@given(programs(LARGE, most_steps=20), st.sampled_from([64, 2**14]))
def test_large_values_in_groups(steps, size):
    note(repr(steps))
    with groups_above(size):
        check_plan(gradients_of(steps), *steps.args(np.float32, 1))


@random_checks
@given(programs(SMALL, most_steps=15), st.integers(0, 3))
def test_donated_leaves(steps, leaf):
    """A donated leaf is written to only when nobody reads it any more."""
    note(repr(steps))
    leaf %= len(steps.leaves)
    plan = check_plan(gradients_of(steps), *steps.args(np.float64, 1), donate=leaf)
    root = roots(plan)
    for k, donated in plan.donations.items():
        source, out = plan.inputs[donated], plan.outputs[k]
        order = [id for step in plan.steps for id in step.members]
        readers = [
            order.index(id) for id in order for x in plan.instructions[id].operands if root[x] == source
        ]
        assert max(readers, default=-1) <= order.index(out)


def test_a_chain_needs_two_places():
    """However long it is: each value takes the place of the one before."""

    def chain(x):
        for _ in range(50):
            x = np.sin(x[::-1] * 1.5)
        return x

    plan = check_plan(chain, np.ones(100))
    assert plan.slots[ARENA] <= 3 * 832


@pytest.mark.parametrize("batch", [128, 256])
def test_training_of_a_large_network_takes_little_memory(batch):
    """At most 60 % of what all values together take."""
    sizes = [784, 256, 128, 10]
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=pair).astype(np.float32) for pair in pairwise(sizes)]

    def loss(weights, x, y):
        for w in weights[:-1]:
            x = np.maximum(x @ w, 0)
        return tape.ops.softmax_cross_entropy(x @ weights[-1], y)

    def step(weights, x, y):
        return [w - 0.1 * g for w, g in zip(weights, tape.grad(loss)(weights, x, y), strict=True)]

    x, y = rng.normal(size=(batch, 784)).astype(np.float32), rng.integers(0, 10, batch)
    plan = check_plan(step, weights, x, y)
    assert plan.slots[ARENA] + plan.slots[REGISTERS] <= 0.6 * plan.value_bytes


VIEWED = {
    "transposed": lambda x: x.transpose(2, 0, 1),
    "turned": lambda x: x[::-1, :, ::-1],
    "every other": lambda x: x[1::2, ::3, 2],
    "one element": lambda x: x[2:3, 1:2, 4:5],
    "repeated": lambda x: np.broadcast_to(x[:, :1], (7, *x.shape)),
    "flat": lambda x: x.reshape(-1),
    "split": lambda x: x.reshape(2, 2, 3, 5, 1),
    "joined of a slice": lambda x: x[1:3].reshape(6, 5),
    "split of transposed": lambda x: x.transpose(2, 0, 1).reshape(5, 2, 2, 3),
    "turned and split": lambda x: x[::-1].reshape(2, 2, 3, 5),
    "transposed slice of repeated": lambda x: np.broadcast_to(x, (2, *x.shape))[:, 1:, ::2].transpose(
        3, 2, 1, 0
    ),
}


@pytest.mark.parametrize("name", VIEWED)
def test_views_lie_where_those_of_numpy_do(name):
    """They are read where they are: as many bytes from the first element, and with the same strides."""
    view, x = VIEWED[name], np.random.default_rng(0).normal(size=(4, 3, 5))
    compiled = tape.compile(lambda x: np.sum(view(x)[..., None] * np.ones(3)) + np.max(view(x)))
    assert_close(compiled(x), np.sum(view(x)[..., None] * np.ones(3)) + np.max(view(x)), 1e-13)
    plan = program_of(lambda x: (np.sin(view(x)), view(x) @ np.ones(view(x).shape[-1])), x).plan
    expected = view(x)
    first = expected.__array_interface__["data"][0] - x.__array_interface__["data"][0]
    places = {
        (place.offset, tuple(s for s, n in zip(place.strides, instruction.shape, strict=True) if n > 1))
        for instruction, place in zip(plan.instructions, plan.places, strict=True)
        if instruction.op in VIEWS and instruction.size == expected.size
    }
    assert (first, tuple(s for s, n in zip(expected.strides, expected.shape, strict=True) if n > 1)) in places


def sums_so_far(x):
    return tape.scan(lambda total, row: (total + row, total), x[0], x)[1]


JOINED = {  # with the number of parts that have to be copied
    "two results": (lambda x: np.concatenate([np.sin(x), np.cos(x)]), 0),
    "a number first": (lambda x: np.concatenate([np.ones(1), np.sin(x)]), 1),
    "an argument": (lambda x: np.concatenate([x, np.cos(x)]), 1),
    "one twice": (lambda x: np.concatenate([y := np.sin(x), y]), 1),
    "read before and later": (
        lambda x: np.concatenate([y := np.sin(x), np.cumsum(y)]) * np.sum(np.tanh(y)),
        0,
    ),
    "read when the whole is gone": (
        lambda x: np.cumsum(np.concatenate([y := np.sin(x), np.exp(x)])[::-1])[:3] + np.cumsum(y)[-3:],
        0,
    ),
    "returned as well": (lambda x: (np.concatenate([y := np.sin(x), np.exp(x)]), y), 1),
    "of two wholes": (
        lambda x: (np.concatenate([y := np.sin(x), np.exp(x)]), np.concatenate([np.cos(x), y])),
        1,
    ),
    "stacked": (lambda x: np.stack([np.sin(x), np.cos(x), np.exp(x)]) * 2.0, 0),
    "in another order": (lambda x: np.stack([np.sin(x), np.cos(x)], axis=1) * 2.0, 2),
    "nested": (lambda x: np.stack([np.concatenate([np.sin(x), np.exp(x)]), np.tile(np.cos(x), 2)]), 0),
    "reshaped": (lambda x: np.concatenate([np.sin(x).reshape(3, -1), np.exp(x).reshape(3, -1)]), 0),
    "reversed": (lambda x: np.concatenate([np.sin(x)[::-1], np.exp(x)]), 0),  # by a copy, written there
    "a product": (lambda x: np.concatenate([np.outer(x, x) @ x, np.sin(x)]), 0),
    "added to": (lambda x: tape.ops.add_at(np.concatenate([np.sin(x), np.exp(x)]), x[:3], slice(2, 5)), 0),
    "padded": (tape.grad(lambda x: np.sum(np.sin(x[3:-2] ** 2))), 2),
}


@pytest.mark.parametrize("size", [9, 300, 9000])
@pytest.mark.parametrize("options", [{}, {"donate": 0}], ids=["kept", "donated"])
@pytest.mark.parametrize("name", JOINED)
def test_results_are_written_where_they_are_joined(name, options, size):
    f, copied = JOINED[name]
    rng = np.random.default_rng(0)
    if name == "a product" and size > 300:
        return
    compiled, program = compiled_for(f, rng.normal(size=size), **options)
    check_places(program.plan)
    for x in rng.normal(size=(3, size)):
        expected = tree.leaves(f(x.copy()))
        for result, wanted in zip(tree.leaves(compiled(x.copy())), expected, strict=True):
            assert_close(result, wanted, 1e-12)
    plan = program.plan
    root, elsewhere = viewed(plan), 0
    for id, instruction in enumerate(plan.instructions):
        at = plan.places[id] and plan.places[id].offset
        for x in instruction.operands if instruction.op == "concatenate" else ():
            elsewhere += (plan.places[x].slot, plan.places[x].offset) != (plan.places[id].slot, at)
            elsewhere -= plan.instructions[root[x]].op == "literal"
            axis = instruction.attrs[0]
            at += plan.instructions[x].shape[axis] * plan.places[id].strides[axis]
    if not options:
        assert elsewhere == copied - (name in ("a number first", "padded")) * copied


def test_long_chains_of_joined_arrays_are_planned():
    """Each of them is part of the next one, and read by itself as well."""

    def f(x, v):
        total = 0.0
        for k in range(1500):
            x = np.append(x, v * (1.0 + k))
            total = total + np.sum(x[-3:])
        return x * 1.0, total

    x, v = np.arange(3.0), np.ones(1)
    compiled, _ = compiled_for(f, x, v)
    for found, wanted in zip(compiled(x, v + 1), f(x, v + 1), strict=True):
        assert_close(found, wanted, 1e-12)


@pytest.mark.parametrize("others", [20000, 5])
def test_small_parts_that_are_read_late_do_not_keep_the_whole(others):
    """But a part that is most of it may."""

    def f(x, big):
        total, small = 0.0, []
        for k in range(40):
            part = np.tanh(x * (1 + 0.01 * k))
            small.append(part)
            whole = np.concatenate([part, big])
            total = total + np.dot(whole, np.cumsum(whole))
        for part in small:
            total = total + np.dot(part, np.cumsum(part))
        return total

    x, big = np.random.default_rng(0).normal(size=10), np.ones(others)
    compiled, program = compiled_for(f, x, big)
    assert_close(compiled(x + 1, big), f(x + 1, big), 1e-11)
    assert program.plan.slots[ARENA] < 8 * (3 * others + 4000)


def test_derivatives_of_columns_take_little_memory():
    f = tape.grad(lambda x: np.sum(x[:, 3:4] ** 2))
    x = np.random.default_rng(0).normal(size=(2000, 100))
    compiled, program = compiled_for(f, x)
    assert_close(compiled(x), f(x), 1e-14)
    assert program.plan.slots[ARENA] < x.nbytes / 10


def test_states_of_loops_that_are_added_to_stay_where_they_are():
    """However many additions there are, and not if the state is read in between."""

    def added(x, n, is_read=False):
        def step(i, total):
            before = total
            for k in range(n):
                total = tape.ops.add_at(total, np.sin(x[k : k + 50] * i), slice(k, k + 50))
            return total + before if is_read else total

        return tape.fori_loop(0, 4, step, np.zeros(100))

    x = np.random.default_rng(0).normal(size=100)
    for n in (1, 2, 5):
        for is_read in (False, True):
            f = partial(added, n=n, is_read=is_read)
            compiled, program = compiled_for(f, x)
            assert_close(compiled(x), f(x), 1e-13)
            (body,) = program.bodies
            plan = body.plan
            assert len(plan.donations) == 1
            added_to = [plan.places[id] for id, of in enumerate(plan.instructions) if of.op == "add_at"]
            assert (len({place.slot for place in added_to}) == 1) or is_read
            assert all(place.slot == plan.input_slots[plan.donations[0]] for place in added_to) != is_read


RESHAPED = {  # with the number of results that have to be copied
    "sorted rows": (lambda x: np.sort(x, axis=1).T.T.ravel(), 0),
    "flat product": (lambda x: (x @ x.T).ravel(), 0),
    "of a scalar": (lambda x: np.sum(x).reshape(1, 1), 0),
    "to a scalar": (lambda x: np.sum(x, axis=(0, 1), keepdims=True).reshape(()), 0),
    "elementwise": (lambda x: (np.exp(x) + 1).reshape(3, -1), 0),
    "read once more": (lambda x: ((y := x + 1).ravel(), np.cumsum(y, axis=0)), 0),
    "of a loop": (lambda x: sums_so_far(x).ravel(), 1),
    "transposed": (lambda x: (np.exp(x) + 1).T, 1),
    "a part": (lambda x: (np.exp(x) + 1)[1:].ravel(), 0),
    "a part of what is read": (lambda x: ((y := np.exp(x) + 1)[1:].ravel(), np.sum(y)), 1),
    "the argument": (lambda x: x.ravel(), 1),
    "twice": (lambda x: (y := x + 1, y.ravel(), y.reshape(3, -1)), 2),
}


@pytest.mark.parametrize("options", [{}, {"donate": 0}], ids=["kept", "donated"])
@pytest.mark.parametrize("rows", [4, 600])
@pytest.mark.parametrize("name", RESHAPED)
def test_a_result_of_another_shape_is_written_where_it_is_returned(name, rows, options):
    """Nothing is copied that has memory of its own, and no two results share any."""
    f, copies = RESHAPED[name]
    rng = np.random.default_rng(0)
    compiled, program = compiled_for(f, rng.normal(size=(rows, 3)), **options)
    kept = []
    for x in rng.normal(size=(3, rows, 3)):
        expected = tree.leaves(f(x.copy()))
        kept.append((tree.leaves(compiled(x.copy())), expected))
    for results, expected in kept:
        for result, wanted in zip(results, expected, strict=True):
            assert_close(result, wanted, 1e-13)
    arrays = [result for results, _ in kept for result in results if np.ndim(result)]
    assert not any(np.shares_memory(one, other) for one, other in combinations(arrays, 2))
    assert all(array.flags.owndata or options for array in arrays)
    copied = sum(instruction.op == "copy" for instruction in program.plan.instructions)
    assert copied == copies or (options and copied > copies)
