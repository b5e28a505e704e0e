"""Which operands make a Python loop one operation, why others do not, and what becomes of its states."""

import numpy as np
import pytest

import tape
from tape.transforms.loops import rolling

X = np.full(3, 0.3)
CONSTANTS = "there is another number or plain array in each step"
INDEX = "an index moves otherwise than by one distance along the first axis"
ELSEWHERE = "a step reads values that are neither of an earlier one nor elements of an array"


@pytest.fixture(autouse=True)
def short_loops(monkeypatch):
    """Roll up loops that are too short to be worth it."""
    monkeypatch.setattr(rolling, "LEAST_NODES", 64)


def looped(f, *args):
    """How many loops the program of a function has, and what it says of those that are none."""
    compiled = tape.compile(f)
    for _ in range(2):
        found, expected = compiled(*args), f(*args)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5 if expected.dtype.char in "fF" else 1e-12)
    (program,) = compiled.programs.values()
    return len(program.bodies), " ".join(program.notes)


# What is added in each step, and of which dtypes of the rest this makes a loop.
ADDED = {
    "floats": (lambda k: 0.1 * k, "fd"), "ints": (lambda k: k, "fd"), "one float": (lambda k: 0.7, "fdD"),
    "bools": (lambda k: bool(k % 2), ""), "one bool": (lambda k: True, "fdD"),
    "complex": (lambda k: 0.1j * k, ""),
    "doubles": (lambda k: np.float64(0.1 * k), "fdD"), "singles": (lambda k: np.float32(0.1 * k), "fdD"),
    "integers": (lambda k: np.int64(k), "fdD"), "two kinds": (lambda k: k if k % 2 else 0.5, ""),
    "two kinds of floats": (lambda k: np.float64(k) if k % 2 else 0.1 * k, ""),
    "arrays": (lambda k: np.full(3, 0.1 * k), "fdD"), "two shapes": (lambda k: np.ones(3 - 2 * (k % 2)), ""),
    "two dtypes": (lambda k: np.full(3, 0.1 * k, "fd"[k % 2]), ""),
}  # fmt: skip


@pytest.mark.parametrize("char", "fdD")
@pytest.mark.parametrize("name", ADDED)
def test_numbers_of_the_steps_are_elements_of_one_array_if_they_are_of_one_type(name, char):
    """Numbers of Python do not widen the rest, so that they are floats among floats alone."""
    number, chars = ADDED[name]

    def f(x):
        for k in range(40):
            x = np.tanh(x * 0.5 + number(k))
        return x

    count, told = looped(f, X.astype(char))
    assert count == (char in chars)
    assert bool(told) == (char not in chars)
    if told:
        assert CONSTANTS in told


def lagging(lag, steps):
    """Each state is that of so many steps before, to begin with of numbers before the loop."""

    def f(x):
        states = [x * (k + 1.0) for k in range(lag)]
        for _ in range(steps):
            states.append(np.tanh(states[-lag] * 0.9 + 0.1))
        return states[-1] + states[-lag]

    return f


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_states_of_several_steps_before(lag):
    assert looped(lagging(lag, 40), X) == (1, "")
    assert looped(tape.grad(lambda x: np.sum(lagging(lag, 40)(x))), X)[0] >= 2


@pytest.mark.parametrize(("first", "step"), [(0, 1), (0, 2), (79, -1), (79, -2), (-1, -1), (-80, 1), (3, 1)])
def test_elements_at_one_distance_are_those_of_one_array(first, step):
    def f(x, array):
        for k in range(38):
            x = np.tanh(x + array[first + k * step])
        return x

    array = np.sin(np.arange(240.0)).reshape(80, 3)
    assert looped(f, X, array) == (1, "")


@pytest.mark.parametrize(
    ("index", "is_loop"),
    [
        (lambda k: 5, True), (lambda k: (k, 1), True), (lambda k: (k, slice(0, 1)), True),
        (lambda k: (1, k % 2), False), (lambda k: (k, k % 2), False), (lambda k: k * k, False),
        (lambda k: k + (k == 20), False), (lambda k: k % 2, False),
    ],
)  # fmt: skip
def test_indices_move_by_one_distance_along_the_first_axis(index, is_loop):
    def f(x, array):
        for k in range(40):
            x = np.tanh(x + array[index(k)])
        return x

    count, told = looped(f, X, np.sin(np.arange(4800.0)).reshape(1600, 3))
    assert count == is_loop
    assert (INDEX in told) != is_loop


def test_shapes_that_data_decide_are_in_no_loop():
    def f(x):
        for _ in range(40):
            x = np.tanh(x + np.sum(x[x > 0.1]))
        return x

    count, told = looped(f, X)
    assert count == 0
    assert "the shape of what getitem returns depends on data" in told


def test_a_step_that_reads_what_an_earlier_one_has_computed_by_chance_is_in_no_loop():
    def f(x):
        seen = [x, x * 2.0]
        for k in range(40):
            seen.append(np.tanh(seen[-1] + seen[k * 7 % len(seen)]))
        return seen[-1]

    count, told = looped(f, X)
    assert count == 0
    assert ELSEWHERE in told


# ---- stacks of states ------------------------------------------------------------------------------------

BLOCKS = [4 * block + k for block in (0, 2, 4, 6, 8, 1, 3, 5, 7, 9) for k in range(4)]
STACKS = {
    "in order": (range(40), 0), "backwards": (range(39, -1, -1), 1), "every other": (range(0, 40, 2), 1),
    "some behind the others": (range(20, 40), 1), "ten pieces": (BLOCKS, 10),
    "eleven pieces": ([*BLOCKS[:-1], 0], None),
}  # fmt: skip
"""Which of forty states are stacked, and of how many slices this is then; None of each state."""


@pytest.mark.parametrize("axis", [0, -2, 1, -1])
@pytest.mark.parametrize("name", STACKS)
def test_stacks_of_states_are_slices_of_the_array_that_the_loop_collects(name, axis):
    """Along the first axis, if four states follow each other in the mean."""
    order, slices = STACKS[name]

    def f(x):
        states = []
        for _ in range(40):
            x = np.tanh(x * 0.9 + 0.1)
            states.append(x)
        return np.stack([states[k] for k in order], axis=axis)

    compiled = tape.compile(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(X), f(X), rtol=1e-14)
    (program,) = compiled.programs.values()
    found = sum(of.op == "slice" for of in program.ir.instructions)
    assert len(program.bodies) == 1
    if slices is None or axis in (1, -1):
        assert found >= len(order) - 1
    else:
        assert found == slices
