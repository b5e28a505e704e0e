"""Arithmetic on short arrays: entries of one row compute what NumPy does, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.kernels.codes import MOST_SHORT, SHORT
from tape.program.native.opcodes import WIDTH, opcode
from tape.program.runtime import encode_elementwise
from tests.compiled import check
from tests.naive_program import program_of
from tests.tiers import rounds

ODD = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, 1e300, -7.0]
UNARY = sorted({name for name, _, form in SHORT if (name, "f", "first") not in SHORT})
BINARY = sorted({name for name, _, form in SHORT if form == "first"})
SHAPES = st.one_of(
    st.tuples(st.integers(1, MOST_SHORT + 2)),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
)
quick = settings(max_examples=rounds(60))


def kinds(program):
    return program.code[: program.rows * WIDTH : WIDTH].tolist()


def random_function(seed, length=25):
    """Operations on random earlier values: whole, transposed, a column of them, a row, or a single number."""

    def f(x):
        rng = np.random.default_rng(seed)
        values = [x[k] for k in range(len(x))]

        def any_of():
            value = values[rng.integers(len(values))]
            form = rng.integers(12)
            if form == 0 and value.shape == value.T.shape:
                return value.T
            first = value[..., :1] if form == 1 else value[:1] if form == 2 else value
            return value.reshape(-1)[rng.integers(value.size)] if form == 3 else first

        for _ in range(length):
            if rng.random() < 0.3:
                made = getattr(np, rng.choice(UNARY))(any_of())
            else:
                made = getattr(np, rng.choice(BINARY))(any_of(), any_of())
            values.append(np.broadcast_to(made, x.shape[1:]))
        return values[len(x) :]

    return f


def by_numpys_loops(patch, f, *args):
    """Return a program whose short arrays have rows of their own, which NumPy's loops compute."""
    with patch.context() as patch:
        patch.setattr(encode_elementwise, "short_code", lambda *args: None)
        program = program_of(f, *args)
    assert not {opcode("short"), opcode("shorts")} & set(kinds(program))
    return program


def assert_same_bits(found, expected):
    for one, other in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        is_number = ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(one) & is_number, np.signbit(other) & is_number)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@quick
@given(SHAPES, st.sampled_from([np.float64, np.float32]), st.integers(0, 2**32 - 1))
def test_programs_compute_what_numpys_loops_do(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.choice([*ODD, *rng.normal(size=9)], (3, *shape)).astype(dtype)
    f = random_function(seed)
    assert_same_bits(program_of(f, x)(x), by_numpys_loops(pytest.MonkeyPatch, f, x)(x))


def chain(x, y):
    for _ in range(20):
        x = x * 0.5 - y / 4.0
        y = 1.0 / (2.0 + y * y) - np.sqrt(np.abs(x))
    return x, y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [5, 8, 14, 33, MOST_SHORT])
def test_neighbours_are_one_row(size, dtype):
    x, y = np.linspace(0.1, 0.9, size, dtype=dtype), np.linspace(1.2, 1.9, size, dtype=dtype)
    program = program_of(chain, x, y)
    assert kinds(program) == [opcode("shorts")]
    assert len(program.joined[0]) >= 100
    check(chain, (x, y))


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (np.multiply, (np.arange(6), np.arange(6))),
        (np.subtract, (np.ones(6) + 0j, np.ones(6) + 0j)),
        (np.add, (np.ones(MOST_SHORT + 1), np.ones(MOST_SHORT + 1))),
        (lambda x, y: x[::2] + y, (np.ones(12), np.ones(6))),
        (np.maximum, (np.ones(6), np.ones(6))),
        (np.absolute, (np.ones(6) + 0j,)),
        (np.absolute, (np.ones(6, np.complex64),)),
    ],
    ids=["ints", "complex", "long", "strided", "maximum", "absolute", "absolute of complex64"],
)
def test_other_arrays_have_rows_of_their_own(f, args):
    assert not {opcode("short"), opcode("shorts")} & set(kinds(program_of(f, *args)))
    check(f, args)


def test_a_cell_and_its_gradient_have_the_same_bits(monkeypatch):
    x, y = np.random.default_rng(0).normal(size=(2, 2, 14))

    def f(x, y):
        gates = 1 / (1 + np.exp(-(x * y + 0.5)))
        return np.sum(gates * np.tanh(y - x), axis=0) / x, np.square(gates) - np.reciprocal(y)

    whole = tape.value_and_grad(lambda x, y: np.sum(f(x, y)[0] * f(x, y)[1]), (0, 1))
    program = program_of(whole, x, y)
    assert opcode("shorts") in kinds(program)
    assert_same_bits(program(x, y), by_numpys_loops(monkeypatch, whole, x, y)(x, y))


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 7])
def test_states_that_short_rows_change_step_by_step(length):
    """States change places, are overwritten, or are collected; the last step writes to the result."""

    def f(x, y, rates):
        def step(state, rate):
            x, y = state
            return (y * rate - x, x + 0.5), (x * y, y)

        state, collected = tape.scan(step, (x, y), rates)
        total = tape.fori_loop(0, length, lambda k, z: z * 0.5 + x, y)
        return state, collected, total

    args = np.linspace(-1, 1, 7), np.linspace(0.5, 2, 7), np.linspace(0.9, 1.1, length)
    check(f, args)
    check(tape.grad(lambda *args: sum(np.sum(x * x) for x in tape.tree.leaves(f(*args))), (0, 1, 2)), args)
