"""Views at indices that are data: which other views a write shows in differs from call to call.

Each function runs as it is and compiled, on data that make views coincide or not, in any order; a program may
raise an `InPlaceError`, but not return anything else than NumPy.
"""

import itertools

import numpy as np
import pytest

import tape
from tape.errors import InPlaceError
from tests.tiers import some, takes_long

M = np.arange(12.0).reshape(3, 4) ** 2


def pivot(m, i, j):
    m = m.copy()
    row = m[0].copy()
    m[0] = m[i]
    m[i] = row
    return m


def column(m, i, j):
    m = m.copy()
    m[:, 0] = m[:, i]
    return m


def row_read_before(m, i, j):
    m = m.copy()
    row = m[i]
    m[0] = 0.0
    return row * 1.0


def two_rows(m, i, j):
    m = m.copy()
    a, b = m[i], m[j]
    a += 1.0
    b += 1.0
    return m


def other_row_of_two(m, i, j):
    m = m.copy()
    a, b = m[i], m[j]
    a += 1.0
    return b * 2.0


def parts_of_a_row(m, i, j):
    m = m.copy()
    row = m[i]
    a, b = row[:2], row[2:]
    a += 1.0
    return b * 1.0 + a


def copied_to(m, i, j):
    m = m.copy()
    a, b = m[i], m[1]
    np.copyto(a, 7.0)
    return b * 1.0


def out(m, i, j):
    m = m.copy()
    b = m[1]
    np.add(b, 1.0, out=m[i])
    return m


def swapped(m, i, j):
    m = m.copy()
    m[i], m[j] = m[j].copy(), m[i].copy()
    return m


def added(m, i, j):
    m = m.copy()
    m[i] += 1.0
    m[j] += m[i]
    return m


def loop(m, i, j):
    def body(c, k):
        c = c.copy()
        c[0] = c[k]
        return c, c[1] * 1.0

    return tape.scan(body, m, np.arange(3))[0]


def loop_with_views(m, i, j):
    def body(c, k):
        c = c.copy()
        a, b = c[k], c[2]
        a += 1.0
        return c, b * 1.0

    return tape.scan(body, m, np.arange(3))[1]


FUNCTIONS = [pivot, column, row_read_before, two_rows, other_row_of_two, parts_of_a_row, copied_to, out,
             swapped, added, loop, loop_with_views]  # fmt: skip
NEVER_REFUSED = [pivot, column, parts_of_a_row, swapped, added, loop]
KINDS = {"int": int, "integer of NumPy": np.int64}


def results(f, argument):
    """What comes out for plain code, or "refused"."""
    try:
        return f(*argument)
    except InPlaceError:
        return "refused"


@takes_long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_programs_do_what_numpy_does(f, kind):
    every = list(itertools.product(range(3), repeat=2))[::2]
    for pairs in some(itertools.permutations(every, 3), every=13):
        value = tape.compile(f)
        gradient = tape.compile(tape.grad(lambda m, i, j: np.sum(f(m, i, j) ** 2)))
        for pair in pairs:
            argument = (M, *map(KINDS[kind], pair))
            found = results(value, argument)
            if not isinstance(found, str):
                np.testing.assert_array_equal(found, f(*argument))
            else:
                assert f not in NEVER_REFUSED
            eager = results(tape.grad(lambda m, i, j: np.sum(f(m, i, j) ** 2)), argument)
            found = results(gradient, argument)
            if not isinstance(found, str):
                assert not isinstance(eager, str)
                np.testing.assert_allclose(found, eager, rtol=1e-14)


def test_pivoting_is_one_program():
    """Nothing depends on which rows are exchanged, if no view is used after a write."""

    @tape.compile
    def eliminated(a):
        a = a.copy()
        for i in range(len(a)):
            p = i + np.argmax(np.abs(a[i:, i]))
            row = a[i].copy()
            a[i] = a[p]
            a[p] = row
            for k in range(i + 1, len(a)):
                a[k] -= a[i] * (a[k, i] / a[i, i])
        return a

    rng = np.random.default_rng(0)
    for _ in range(5):
        a = rng.normal(size=(4, 4))
        found = eliminated(a)
        np.testing.assert_allclose(np.abs(np.prod(np.diag(found))), abs(np.linalg.det(a)), rtol=1e-12)
    assert len(eliminated.programs) == 1


# ---- batches ---------------------------------------------------------------------------------------


def row_written(c, k):
    c[k][0] = 7.0
    return c


def row_scaled(c, k):
    row = c[k]
    row *= 0.0
    return c


def column_written(c, k):
    c[:, k][...] = 3.0
    return c


def part_of_row(c, k):
    part = c[k][1:2]
    part += 4.0
    return c


def row_copied_to(c, k):
    np.copyto(c[k], 5.0)
    return c


def row_as_out(c, k):
    np.add(c[k], 1.0, out=c[k])
    return c


def row_of_a_view(c, k):
    c[1:][k % 2] += 1.0
    return c


def row_twice(c, k):
    c[k] *= c[k]
    c[k] -= 1.0
    return c


def row_kept(c, k):
    row = c[k]
    c[k] += 1.0
    return row * 1.0


def row_beside_another(c, k):
    row, other = c[k], c[1]
    other += 1.0
    return row * 1.0


KEPT = [row_kept, row_beside_another]
ROWS = [row_written, row_scaled, column_written, part_of_row, row_copied_to, row_as_out, row_of_a_view,
        row_twice, *KEPT]  # fmt: skip


@pytest.mark.parametrize("f", ROWS, ids=lambda f: f.__name__)
def test_a_row_of_each_element_of_a_batch(f):
    batch, rows = np.random.default_rng(1).normal(size=(4, 3, 3)), np.array([0, 2, 1, 2])

    def one(m, k):
        return f(m * 1.0, k)

    expected = np.stack([one(m, k) for m, k in zip(batch, rows, strict=True)])
    for transform in (tape.vmap(one), tape.compile(tape.vmap(one))):
        found = results(transform, (batch, rows))
        if not isinstance(found, str):
            np.testing.assert_array_equal(found, expected)
        else:
            assert f in KEPT
    if f not in KEPT:
        slope = tape.grad(lambda m, k: np.sum(one(m, k)))
        slopes = np.stack([slope(m, k) for m, k in zip(batch, rows, strict=True)])
        found = tape.grad(lambda m: np.sum(tape.vmap(one)(m, rows)))(batch)
        np.testing.assert_allclose(found, slopes, rtol=1e-14)


def test_a_row_of_what_is_the_same_for_a_batch_is_not_written_to():
    def one(table, k):
        table = table * 1.0
        row = table[k]
        row += 1.0
        return table

    with pytest.raises(InPlaceError, match="from an array that does not"):
        tape.compile(tape.vmap(one, (None, 0)))(M, np.array([0, 2]))
