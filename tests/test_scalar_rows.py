"""Runs of single numbers: one row, sorted by operation, computes what rows of their own would."""

import numpy as np
import pytest

import tape
from tape.kernels.codes import SCALARS
from tape.program.native.opcodes import WIDTH, opcode
from tape.program.plan import planner
from tape.program.runtime import encode
from tests.compiled import check
from tests.naive_program import program_of
from tests.tiers import rounds

UNARY = [name for name in SCALARS if getattr(np, name).nin == 1]
BINARY = [name for name in SCALARS if getattr(np, name).nin == 2]
ODD = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, 710.0]


def kinds(program):
    return program.code[: program.rows * WIDTH : WIDTH].tolist()


def random_function(seed, length=60):
    """A function of a vector: operations on random earlier numbers, and branches among them."""

    def f(x):
        rng = np.random.default_rng(seed)
        numbers = [x[k] for k in range(len(x))]
        for _ in range(length):
            a, b = (numbers[rng.integers(len(numbers))] for _ in range(2))
            form = rng.integers(8)
            if form == 0:
                numbers.append(np.where(a > b, a, b))
            elif form < 4:
                numbers.append(getattr(np, rng.choice(UNARY))(a))
            else:
                numbers.append(getattr(np, rng.choice(BINARY))(a, b))
        return numbers[len(x) :]

    return f


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("window", [1, 7, 2048])
def test_one_row_computes_the_bits_of_many(window, monkeypatch):
    for seed in range(rounds(40, 4)):
        rng = np.random.default_rng(seed)
        x = rng.choice([*ODD, *rng.normal(size=9)], 6)
        with monkeypatch.context() as patch:
            patch.setattr(planner, "_WINDOW", window)
            joined = program_of(random_function(seed), x)
            patch.setattr(planner, "_WINDOW", 1)
            patch.setattr(encode, "_FEW_SCALARS", 1 << 30)
            apart = program_of(random_function(seed), x)
        assert opcode("scalars") in kinds(joined)
        assert opcode("scalars") not in kinds(apart)
        found, expected = np.array(joined(x)), np.array(apart(x))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def many(x, count=400):
    values = [x[k] for k in range(len(x))]
    for k in range(count):
        at = k % len(x)
        values[at] = values[at] * values[(3 * k + 1) % len(x)] + 0.5 if k % 2 else np.sin(values[at])
    return np.stack(values)


def test_a_function_of_numbers_is_one_row_that_reads_and_writes_elements_of_arrays():
    x = np.linspace(0.1, 0.9, 8)
    program = program_of(many, x)
    assert kinds(program) == [opcode("scalars")]
    assert len(program.joined[0]) >= 400
    np.testing.assert_allclose(program(x), many(x), rtol=1e-12)


def test_numbers_lie_side_by_side_in_memory():
    program = program_of(many, np.linspace(0.1, 0.9, 8))
    assert program.plan.slots[0] <= 64 * 20


def test_steps_of_one_operation_come_one_after_the_other():
    """Finding out what to do next takes longer than to do it."""
    program = program_of(lambda x: [np.sin(x[k]) * x[k] + 1 for k in range(8)], np.linspace(0.5, 7.5, 8))
    steps = [program.plan.instructions[step.members[0]] for step in program.plan.steps]
    names = [instruction.op for instruction in steps if not instruction.shape]
    assert names == ["sin"] * 8 + ["multiply"] * 8 + ["add"] * 8


def test_arrays_guards_and_loops_among_numbers():
    def f(x, s):
        for _ in range(6):
            s = np.sin(s) * 1.5 + s * s / (1 + s * s)
        y = x * s
        total = y.sum()
        if total > 0:
            total = np.exp(-total) + total * s
        for k in range(40):
            total = np.where(total > 1, total / 2, total * 1.5 + s * s - s / 3 + np.sqrt(s * s + k % 3))
        return total, y, total > 1

    for s in (0.3, -0.3):
        check(f, (np.ones(5), s))
        check(tape.grad(lambda x, s: f(x, s)[0], (0, 1)), (np.ones(5), s))
