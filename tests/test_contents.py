"""Contents: integers and bools convert freely, and become guards in programs."""

import numpy as np
import pytest

import tape
from tape import errors
from tests.oracles import message_of

TABLE = np.array([1.0, 3.0, 9.0, 27.0])


def looked_up(x):
    return np.sum(x * TABLE[np.floor(x).astype(int)])


def masked(x):
    c = np.zeros(3)
    c[x > 1.5] = 1
    return np.sum(x * c)


def alive(x):
    kept = np.ones(3, bool)
    kept &= x < 2
    kept &= x > 0.5
    return np.sum(np.where(kept, x * x, 0.0))


def counted(x):
    n = np.zeros(3)
    n += x > 1.5
    n += x > 0.5
    return np.sum(x * n)


def put(x):
    out = np.ones(5)
    np.put(out, np.floor(x).astype(int), 2.0)
    np.add.at(out, np.floor(x).astype(int), 1.0)
    np.logical_or(out[:3] > 2, x > 1, out=(flags := np.zeros(3, bool)))
    return np.sum(x * out[:3] * flags)


def scalars(x):
    order = np.argsort(x)
    return (
        x[order[0]]
        * TABLE[order[1]]
        * [2.0, 3.0, 5.0][order[2]]
        * float(np.sum(x > 1))
        * 2 ** np.argmax(x).item()
    )


def taken(x):
    return np.sum(x * np.take(TABLE, np.floor(x).astype(int)) * np.eye(4)[np.floor(x).astype(int)][:, 1])


def as_list(x):
    return sum(x[i] * k for k, i in enumerate(np.asarray(np.argsort(x))))


@pytest.mark.parametrize("f", [looked_up, masked, alive, counted, put, scalars, taken, as_list])
def test_nothing_is_lost_by_integers_and_bools(f):
    """Eager, in both modes and twice; and in programs, whatever they are called with later."""
    xs = [np.array(x) for x in ([0.3, 1.2, 2.7], [1.1, 1.9, 0.2], [2.6, 0.4, 1.3], [0.3, 1.2, 2.7])]
    compiled, gradient = tape.compile(f), tape.compile(tape.grad(f))
    for x in xs:
        tape.testing.check_grads(f, (x,), order=2)
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)
        np.testing.assert_allclose(gradient(x), tape.grad(f)(x), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.int8, bool])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (40, 3), (0,), (2, 0)])
def test_plain_arrays_are_indexed_by_traced_ones(dtype, shape):
    """The index is an argument of the program, and the table is closed over."""
    table = np.arange(400.0).reshape(200, 2)
    draw = np.random.default_rng(1)
    high = 2 if dtype is bool else 120

    def f(i):
        return table[i], np.eye(200)[i], np.asarray(i).sum()

    compiled = tape.compile(f)
    indices = [np.asarray(draw.integers(0, high, shape).astype(dtype)) for _ in range(4)]
    for i in (*indices, *indices):
        if dtype is bool and i.ndim != 1:
            continue
        if dtype is bool:
            i = np.resize(i, 200) if i.size else np.zeros(200, bool)
        for found, expected in zip(compiled(i), f(i), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
    assert len(compiled.programs) <= 4


def test_any_content_is_told_from_any_other():
    """Numbers that are far apart, negative, or the largest there are."""
    extremes = np.array([-(2**63), 2**63 - 1, -1, 0, 1, 2**40, -(2**33)])
    compiled = tape.compile(lambda i: float(sum(int(k) % 97 for k in np.asarray(i))))
    draw = np.random.default_rng(2)
    for _ in range(30):
        i = draw.choice(extremes, 5)
        assert compiled(i) == float(sum(int(k) % 97 for k in i))
    with pytest.raises(errors.ConversionError, match="64 bits"):
        tape.compile(lambda i: np.asarray(i).sum())(np.array([2**64 - 1, 1], np.uint64))


def test_a_large_index_is_refused_with_what_records():
    table = np.arange(3000.0)
    i = np.arange(3000)[::-1].copy()
    for f in (lambda i: table[i], lambda i: np.take(table, i)):
        message = message_of(tape.compile(f), i)
        assert "np.asarray(X, like=i)[i]" in message
        assert "tape.ops.getitem(X, i)" in message
    for f in (lambda i: np.asarray(table, like=i)[i], lambda i: tape.ops.getitem(table, i)):
        compiled = tape.compile(f)
        for index in (i, i // 2):
            np.testing.assert_array_equal(compiled(index), table[index])
        assert len(compiled.programs) == 1


def test_arrays_that_are_handed_out_cannot_be_written_to():
    trace = tape.Trace()
    n = trace.input(np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(n)[0] = 5
    copied = np.array(n)
    copied[0] = 5
    assert n.value[0] == 0


@pytest.mark.parametrize("base", [2, 3, 10, 256, 2**31, 2**62])
def test_every_element_is_read_whatever_the_range_is(base):
    """Several elements are packed into one number, as many as fit."""
    weights = np.arange(1.0, 71.0)

    def f(x, i):
        return x * sum(float(w) * (v % 1009) for w, v in zip(weights, np.asarray(i).tolist(), strict=True))

    compiled = tape.compile(f, max_paths=12)
    first = np.random.default_rng(0).integers(0, base, size=70)
    first[:2] = 0, base - 1
    for place in (None, 0, 2, 7, 8, 30, 61, 62, 63, 69):
        i = first.copy()
        if place is not None:
            i[place] = (i[place] + 1) % base
        assert compiled(1.0, i) == f(1.0, i), place


@pytest.mark.parametrize(
    ("content", "guards"),
    [
        ([], 0),
        ([7], 1),
        ([[-3]], 1),
        ([True], 1),
        ([True, False, True], 1),
        ([4, 4, 4], 2),  # of the smallest and of the largest
        ([0, 1, 2], 3),
        ([True] * 63, 2),
        ([0, 2**40], 4),
    ],
)
def test_few_guards_say_all_of_a_content(content, guards):
    """As many elements as fit are digits of one number."""
    array = np.array(content, bool if content[:1] == [True] else int)
    compiled = tape.compile(lambda n: np.asarray(n).size + n)
    np.testing.assert_array_equal(compiled(array), array.size + array)
    (program,) = compiled.programs.values()
    assert program.explain().guards == guards
