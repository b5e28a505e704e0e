"""Runs of operations on few numbers: one row, sorted by operation, computes what rows of their own would."""

import numpy as np
import pytest

import tape
from tape.kernels.codes import SCALARS
from tape.program.native.opcodes import WIDTH, opcode
from tape.program.plan import planner
from tape.program.runtime import encode_arrays, encode_elementwise, encode_numbers
from tests.compiled import check
from tests.naive_program import program_of
from tests.tiers import rounds

UNARY = [name for name, signature in SCALARS if signature == "f->f" and hasattr(np, name)]
BINARY = [
    name for name, signature in SCALARS if signature == "ff->f" and isinstance(getattr(np, name, 0), np.ufunc)
]
COMPARISONS = [name for name, signature in SCALARS if signature == "ff->b"]
LOGIC = ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"]
ODD = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, 710.0]


def kinds(program):
    return program.code[: program.rows * WIDTH : WIDTH].tolist()


def random_function(seed, length=60):
    """A function of floats, ints and bools of one shape: operations on random earlier ones of them."""

    def f(x, n):
        rng = np.random.default_rng(seed)
        shape = x.shape[1:]
        floats, ints, bools = [x[k] for k in range(len(x))], [n[k] for k in range(len(n))], [x[0] > x[1]]

        def any_of(values):
            value = values[rng.integers(len(values))]
            form = rng.integers(6) if len(shape) == 2 else 5
            return value.T if form == 0 and shape[0] == shape[1] else value[:1] if form == 1 else value

        for _ in range(length):
            form = rng.integers(12)
            a, b = any_of(floats), any_of(floats)
            if form < 3:
                floats.append(np.broadcast_to(getattr(np, rng.choice(UNARY))(a), shape))
            elif form < 5:
                floats.append(np.broadcast_to(getattr(np, rng.choice(BINARY))(a, b), shape))
            elif form == 5:
                floats.append(np.broadcast_to(np.where(any_of(bools), a, b), shape))
            elif form == 6:
                bools.append(np.broadcast_to(getattr(np, rng.choice(COMPARISONS))(a, b), shape))
            elif form == 7:
                one, other = any_of(bools), any_of(bools)
                one = np.logical_not(one) if rng.random() < 0.3 else one
                bools.append(np.broadcast_to(getattr(np, rng.choice(LOGIC))(one, other), shape))
            elif form == 8:
                i, j = any_of(ints), any_of(ints)
                name = rng.choice(["add", "subtract", "multiply", "maximum", "minimum", "where"])
                made = np.where(any_of(bools), i, j) if name == "where" else getattr(np, name)(i, j)
                ints.append(np.broadcast_to(made, shape))
            elif form == 9:
                ints.append(
                    np.broadcast_to(getattr(np, rng.choice(["negative", "absolute"]))(any_of(ints)), shape)
                )
            elif form == 10:
                source = any_of(ints) if rng.random() < 0.5 else any_of(bools)
                floats.append(np.broadcast_to(source, shape) * 1.0)
            else:
                total = np.sum(a, axis=0) if shape else a
                floats.append(np.broadcast_to(total + (np.sum(a * b) if rng.random() < 0.5 else 0.0), shape))
        return floats[len(x) :], ints[len(n) :], bools

    return f


def assert_same_bits(found, expected):
    for one, other in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)
        if np.asarray(other).dtype.kind == "f":
            is_number = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one) & is_number, np.signbit(other) & is_number)


def without_scalar_code(patch):
    """Compute everything by rows of their own."""
    for module in (planner, encode_elementwise):
        patch.setattr(module, "code_of", lambda *args: None)
    patch.setattr(encode_arrays, "is_short_sum", lambda *args: False)
    patch.setattr(encode_numbers, "FEW", 0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (2, 2), (1, 3), (5,)], ids=str)
def test_one_row_computes_what_many_do(shape, monkeypatch):
    """The last digit may differ: loops of NumPy's have an exp of their own, and sums another order."""
    for seed in range(rounds(40, 4)):
        rng = np.random.default_rng(seed)
        args = rng.choice([*ODD, *rng.normal(size=9)], (6, *shape)), rng.integers(-9, 9, (3, *shape))
        results = []
        for window in (1, 7, 2048):
            with monkeypatch.context() as patch:
                patch.setattr(planner, "_WINDOW", window)
                program = program_of(random_function(seed), *args)
                assert opcode("scalars") in kinds(program) or shape == (5,)
                results.append(program(*args))
        for other in results[1:]:
            assert_same_bits(other, results[0])
        with monkeypatch.context() as patch:
            without_scalar_code(patch)
            program = program_of(random_function(seed), *args)
            assert not {opcode("scalars"), opcode("scalar")} & set(kinds(program))
            expected = program(*args)
        for one, other in zip(tape.tree.leaves(results[0]), tape.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-300)


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
