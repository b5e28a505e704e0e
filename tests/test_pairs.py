"""Two operations at once: the same bits, fewer rows, and only where nothing else needs what is between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.kernels.codes import MOST_SHORT, PAIRS
from tests.naive_program import compiled_for
from tests.test_operands import rows_of
from tests.tiers import rounds, takes_long

SECOND = {
    "add": lambda between, z: between + z,
    "subtract": lambda between, z: between - z,
    "subtract_from": lambda between, z: z - between,
    "multiply": lambda between, z: between * z,
}


def ops(program):
    return [of.op for of in program.plan.instructions]


def numbers(count, seed, dtype):
    """Such as differ where a result is rounded once instead of twice."""
    return np.random.default_rng(seed).uniform(0.1, 9.0, count).astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("count", [MOST_SHORT + 1, 1000, 9001])
@pytest.mark.parametrize(("first", "second", "form"), PAIRS)
def test_pairs_of_all_kinds_round_as_numpy_does(first, second, form, count, dtype):
    """In groups and alone."""
    given = [numbers(count if letter == "a" else (), k, dtype) for k, letter in enumerate(form)]

    def f(x, y, z):
        return SECOND[second](getattr(np, first)(x, y), z)

    compiled, program = compiled_for(f, *given)
    assert ops(program).count("pair") == 1
    assert not {"add", "subtract", "multiply"} & {*ops(program)}
    np.testing.assert_array_equal(compiled(*given), f(*given))


@pytest.mark.parametrize("count", [MOST_SHORT + 1, 9001])
def test_numbers_that_are_factors_are_not_multiplied_first(count):
    """Once before all elements: a small array times two large numbers would be infinite."""
    x, large = np.full(count, 1e-300), np.float64(1e200)
    compiled, program = compiled_for(lambda x, y, z: x * y * z, x, large, large)
    assert ops(program).count("pair") == 1
    np.testing.assert_array_equal(compiled(x, large, large), x * large * large)


@pytest.mark.parametrize("number", [2.0, np.float64(3.0)])
@pytest.mark.parametrize("f", [
    lambda x, y, c: c * x + y, lambda x, y, c: y + x * c, lambda x, y, c: y - c * x,
    lambda x, y, c: (c - x) * y, lambda x, y, c: (x - c) * c, lambda x, y, c: c - (c - x),
])  # fmt: skip
def test_numbers_may_be_any_operand(f, number):
    x, y = numbers(500, 0, float), numbers(500, 1, float)
    compiled, program = compiled_for(lambda x, y: f(x, y, number), x, y)
    assert ops(program).count("pair") == 1
    np.testing.assert_array_equal(compiled(x, y), f(x, y, number))


ALONE = {
    "read twice": lambda x, y: (p := x * y) + np.cumsum(p),
    "returned": lambda x, y: ((p := x * y), p + x),
    "twice in one": lambda x, y: (p := x * y) - np.abs(p),
    "another function": lambda x, y: np.maximum(x * y, x),
    "a quotient": lambda x, y: x / y + x,
    "repeated": lambda x, y: (x[:1] * y[:1]) + x,
    "read backwards": lambda x, y: x[::-1] * y + x,
    "added backwards": lambda x, y: (x * y)[::-1] + x,
    "integers": lambda x, y: (x > y) * 3 + np.arange(len(x)),
    "short": lambda x, y: x[:100] * y[:100] + x[:100],
}


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("count", [400, 5000])
def test_other_operations_stay_alone(name, count):
    x, y = numbers(count, 0, float), numbers(count, 1, float)
    compiled, program = compiled_for(ALONE[name], x, y)
    assert "pair" not in ops(program)
    for found, wanted in zip(np.atleast_2d(compiled(x, y)), np.atleast_2d(ALONE[name](x, y)), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_what_is_changed_in_place_is_not_read_later():
    """The product would keep the array that it reads from being written to."""

    def f(x, y):
        total = np.exp(y)
        product = total * x
        changed = tape.ops.add_at(total, x[3:9], slice(3, 9))
        return product + np.sin(changed), changed

    x, y = numbers(400, 0, float), numbers(400, 1, float)
    compiled, program = compiled_for(f, x, y)
    for found, wanted in zip(compiled(x, y), f(x, y), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert ops(program).count("copy") == 0


def test_the_state_of_a_loop_is_overwritten_all_the_same():
    def f(x, y):
        def step(_, state):
            a, b = state
            product = a * y
            return a + 1.0, product - b

        return tape.fori_loop(0, 5, step, (x, y))

    x, y = numbers(400, 0, float), numbers(400, 1, float)
    compiled, program = compiled_for(f, x, y)
    (body,) = program.bodies
    assert len(body.plan.donations) == 2
    for found, wanted in zip(compiled(x, y), f(x, y), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_groups_count_both_operations_of_a_pair():
    """They decide on how many threads share it."""
    x = numbers(9000, 0, float)
    (group,) = rows_of(compiled_for(lambda x, y: (x * 2.0 + y) / y, x, x)[0], "blocks")
    assert (group["rows"], group["operations"]) == (2, 3)


@st.composite
def polynomials(draw):
    """Sums, differences and products of three arrays and of each other, any of them returned."""
    steps = draw(st.lists(
        st.tuples(st.sampled_from(["add", "subtract", "multiply"]), st.integers(0, 99), st.integers(0, 99)),
        min_size=2, max_size=12,
    ))  # fmt: skip
    return steps, draw(st.sets(st.integers(0, len(steps) - 1), min_size=1, max_size=3))


@takes_long
@settings(max_examples=rounds(300, plain=40))
@given(
    polynomials(), st.sampled_from([MOST_SHORT - 1, MOST_SHORT + 9, 1000, 4500]),
    st.sampled_from(["f8", "f4"]), st.booleans(),
)  # fmt: skip
def test_chains_of_operations_have_the_bits_of_numpy(chain, count, dtype, is_loop):
    steps, wanted = chain

    def once(x, y, factor):
        values = [x, y]
        for name, a, b in steps:
            values.append(getattr(np, name)(values[a % len(values)], values[b % len(values)]) * factor)
        return [values[2 + k] + x for k in sorted(wanted)]

    def f(x, y, factor):
        if not is_loop:
            return once(x, y, factor)
        return tape.fori_loop(0, 3, lambda _, state: [y + once(*state, y, factor)[0] * factor], [x])

    x, y = (numbers(count, k, dtype) - 4 for k in range(2))
    factor = x.dtype.type(0.3)
    compiled, _ = compiled_for(f, x, y, factor)
    with np.errstate(all="ignore"):
        for found, expected in zip(compiled(x, y, factor), f(x, y, factor), strict=True):
            np.testing.assert_array_equal(found, expected)


# ---- sums with a part, and products that two read --------------------------------------------------------


def added(total, values, start, step=1):
    """Such as `total[start:] += values`."""
    return tape.ops.add_at(total, values, slice(start, start + step * len(values), step))


def differs(f, *args):
    """Return the instructions of a program whose results are those of NumPy."""
    compiled, program = compiled_for(f, *args)
    with np.errstate(all="ignore"):
        for found, expected in zip(compiled(*args), f(*args), strict=True):
            np.testing.assert_array_equal(found, expected)
    return ops(program)


@pytest.mark.parametrize("first", ["add", "multiply", "subtract"])
@pytest.mark.parametrize("form", ["aa", "an", "na"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_an_operation_gives_is_added_to_a_part(first, form, dtype):
    u, v = (numbers(300 if letter == "a" else (), k, dtype) for k, letter in enumerate(form))
    f = lambda x, u, v: [added(np.sqrt(x), getattr(np, first)(u, v), 7)]  # noqa: E731
    found = differs(f, numbers(400, 2, dtype), u, v)
    assert found.count("pair_at") == 1
    assert not {"add_at", "copy", first} & {*found}


UNLIKE = {
    "every second element": lambda x, u, v: [added(x * x, u * v, 1, 2)],
    "short": lambda x, u, v: [added(x * x, u[:100] * v[:100], 7)],
    "returned": lambda x, u, v: [added(x * x, product := u * v, 7), product],
    "of columns": lambda x, u, v: [tape.ops.add_at(
        x.reshape(20, 50) * 3.0, u[:200].reshape(20, 10) * v[:200].reshape(20, 10), (slice(None), slice(10))
    )],
    "read by three": lambda x, u, v: [
        added(x * x, product := u * v, 7), product + u, product - v
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", UNLIKE)
def test_what_is_added_elsewhere_is_written_before(name):
    found = differs(UNLIKE[name], numbers(1000, 0, float), numbers(300, 1, float), numbers(300, 2, float))
    assert "pair_at" not in found


@pytest.mark.parametrize("start", [0, 1, 7])
def test_operands_may_be_parts_of_the_array_itself(start):
    """Which is not overwritten before they have been read."""

    def f(x, y):
        total = np.sqrt(x)
        return [added(total, total[:300] * y, start)]

    differs(f, numbers(400, 0, float), numbers(300, 1, float))


def test_two_compute_the_same_product():
    x, y = numbers(300, 0, float), numbers(300, 1, float)
    roots = lambda *arrays: list(map(np.cbrt, arrays))  # noqa: E731
    assert "multiply" not in differs(lambda x, y: roots((p := x * y) + x, y - p), x, y)
    assert "multiply" in differs(lambda x, y: roots((p := x * y) + x, y - p, p - x), x, y)
    assert "multiply" in differs(lambda x, y: roots((p := x * y) + x, p), x, y)
    assert "multiply" not in differs(lambda x, y: roots(added(x, p := x * y, 0), p - y), x, y)
    assert "multiply" in differs(lambda x, y: roots(added(x, (p := x * y)[:200], 3), p - y), x, y)


@st.composite
def writings(draw):
    """Products of parts of arrays, each of which is added to a part, to an array, or both."""
    part, where = st.integers(0, 60), st.integers(0, 99)
    step = st.tuples(
        st.sampled_from(["add", "subtract", "multiply"]), where, part, where, part, where, part, st.booleans()
    )
    return draw(st.lists(step, min_size=1, max_size=6)), draw(st.integers(0, 99))


@takes_long
@settings(max_examples=rounds(300, plain=40))
@given(
    writings(), st.sampled_from([MOST_SHORT + 1, 300, 1000]), st.sampled_from([float, np.float32]),
    st.booleans(),
)  # fmt: skip
def test_chains_of_sums_with_parts_have_the_bits_of_numpy(chain, count, dtype, is_loop):
    steps, last = chain

    def once(x, y):
        values = [x, y * y]
        for name, a, start, b, other, c, place, is_shared in steps:
            u, v, total = (values[k % len(values)] for k in (a, b, c))
            product = getattr(np, name)(u[start : start + count], v[other : other + count])
            values.append(added(total, product, place))
            if is_shared:
                values.append(added(x, product - y[:count], 0))
        return [values[-1], values[last % len(values)]]

    def f(x, y):
        if not is_loop:
            return once(x, y)
        return tape.fori_loop(0, 3, lambda _, state: once(*state), [x, y])

    differs(f, *(numbers(count + 60, k, dtype) - dtype(4) for k in range(2)))
