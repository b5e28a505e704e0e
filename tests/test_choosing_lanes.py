"""Code for some elements of a batch, and views within a batch: what is seen inside, shared, and refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.interpreters import sharing
from tape.interpreters.batching import Lanes
from tape.interpreters.choosing import Chosen, element_at, holds_for_some, of_some, sum_at

SOME = np.array([False, True, False, True])
VALUES = np.array([-1.0, 4.0, -9.0, 16.0])


# ---- some elements ------------------------------------------------------------------------------------


def test_elements_that_are_left_out_see_the_first_of_the_others():
    with Lanes(4) as lanes:
        x, y = lanes.batch(VALUES), lanes.batch(2 * VALUES)
        with Chosen(lanes, SOME) as region:
            assert lanes.around == [region]
            assert lanes.values(region.inside(x)).tolist() == [4.0, 4.0, 4.0, 16.0]
            root = np.sqrt(x)
            assert lanes.values(root * y).tolist() == [16.0, 16.0, 16.0, 128.0]
            assert region.inside(x) is region.inside(x)
            assert region.inside(root) is root
            assert region.inside(3.0) == 3.0
        assert lanes.around == []
        assert lanes.values(x).tolist() == VALUES.tolist()


def test_what_is_inside():
    trace = tape.Trace()
    before = trace.param(np.ones(2))
    with Lanes(4) as lanes:
        x = lanes.batch(VALUES)
        with Chosen(lanes, SOME) as region:
            assert not region.is_inside(x)
            assert region.is_inside(x * 2)
            assert not region.is_inside(before)
            assert region.is_inside(before * 2)
            assert region.resolve(before) is before
            assert region.is_inside(tape.Trace().param(1.0))


def test_what_is_outside_may_not_be_written_to():
    with Lanes(4) as lanes:
        x = lanes.batch(np.ones((4, 2)))
        with Chosen(lanes, SOME):
            y = x * 2.0
            y[0] = 5.0
            assert lanes.values(y).tolist() == [[5.0, 2.0]] * 4
            with pytest.raises(errors.InPlaceError, match=r"comes from outside of a branch, or a step"):
                x[0] = 5.0
        x[0] = 5.0
        assert lanes.values(x).tolist() == [[5.0, 1.0]] * 4


def test_a_region_that_fails_is_left():
    with Lanes(4) as lanes:
        with pytest.raises(ZeroDivisionError), Chosen(lanes, SOME):
            raise ZeroDivisionError
        assert lanes.around == []
        assert lanes.values(lanes.batch(VALUES) * 1.0).tolist() == VALUES.tolist()


def test_conditions_of_batches_hold_for_some():
    assert holds_for_some(True) is True
    assert holds_for_some(np.bool_(False)) is False
    with Lanes(2) as outer:
        for values, expected in (([False, False], False), ([False, True], True), ([True, True], True)):
            condition = outer.batch(np.array(values))
            assert holds_for_some(condition) is expected
            with Lanes(3) as inner:
                assert holds_for_some(inner.batch(np.array([False] * 3)) | condition) is expected
                assert holds_for_some(inner.batch(np.array([False] * 3)) & condition) is False


def test_functions_for_all_elements_see_all():
    seen = []

    def f(x, p):
        seen.append((x, p["a"]))
        return {"root": np.sqrt(x), "same": p["a"]}

    with Lanes(4) as lanes:
        x, a = lanes.batch(np.abs(VALUES)), lanes.batch(VALUES)
        of_some(lanes.batch(SOME | True), f, x, {"a": a})
        first, second = seen.pop()
        assert first is x
        assert second is a
        found = of_some(lanes.batch(SOME), f, x, {"a": a})
        (inside, _) = seen.pop()
        assert inside is not x
        assert lanes.values(found["root"]).tolist() == [2.0, 2.0, 2.0, 4.0]
        assert lanes.values(found["same"]).tolist() == [4.0, 4.0, 4.0, 16.0]


def test_all_elements_are_passed_as_they_are():
    with Lanes(4) as lanes:
        x = lanes.batch(VALUES)
        assert of_some(lanes.batch(SOME | True), lambda x: x, x) is x
        assert of_some(lanes.batch(SOME), lambda x: x, x) is not x


def test_elements_at_places_and_sums_of_them():
    places = np.array([3, 1, 1, 0])
    with Lanes(4) as lanes:
        x = lanes.batch(VALUES)
        assert lanes.values(element_at(x, places, lanes)).tolist() == VALUES[places].tolist()
        assert element_at(2.0, places, lanes) == 2.0
        assert lanes.values(sum_at(x, places, lanes)).tolist() == [16.0, 4.0 - 9.0, 0.0, -1.0]
        assert lanes.values(sum_at(2.0, places, lanes)).tolist() == [2.0, 4.0, 0.0, 2.0]
        with Lanes(2) as inner:
            y = inner.batch(np.array([1.0, 10.0])) * x
            found = lanes.values(inner.values(element_at(y, places, lanes)))
            assert found.tolist() == [[v, 10 * v] for v in VALUES[places]]


@pytest.mark.parametrize("way", [lambda f: f, tape.compile])
def test_derivatives_of_branches_that_some_elements_take(way):
    """The logarithm of those that are negative is not looked at."""
    f = lambda x: tape.cond(x > 0, lambda x: np.log(x), lambda x: x * x, x)  # noqa: E731
    slopes = way(tape.vmap(tape.grad(f)))
    bent = way(tape.vmap(tape.grad(tape.grad(f))))
    for values in (VALUES, -np.abs(VALUES), np.abs(VALUES)):
        positive = values > 0
        np.testing.assert_allclose(slopes(values), np.where(positive, 1 / values, 2 * values))
        np.testing.assert_allclose(bent(values), np.where(positive, -1 / values**2, 2.0))


# ---- views --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "expected"),
    [((0, 1), False), ((0, None), True), ((..., 0), True), ((0, slice(1)), True), ((), False)],
)
def test_indices_that_leave_axes(index, expected):
    assert sharing._has_axes(index) is expected


@pytest.mark.parametrize(
    ("operands", "attrs", "expected"),
    [
        ((np.ones(3), 1), {"index": (0,)}, True),
        ((np.ones(3), np.int64(1), 2), {"index": (0,)}, True),
        ((np.ones(3),), {"index": (0,)}, True),
        ((np.ones(3), np.array([1])), {"index": (0,)}, False),
        ((np.ones(3), 1, np.array([1])), {"index": (0,)}, False),
        ((np.ones(3), True), {"index": (0,)}, False),
        ((np.ones(3), np.bool_(True)), {"index": (0,)}, False),
        ((np.ones(3), 1), {}, False),
    ],
)
def test_rows_are_read_at_numbers(operands, attrs, expected):
    assert sharing.is_row(operands, attrs) is expected


def test_owners_of_memory():
    whole = np.arange(12.0)
    assert sharing._owner(whole) is whole
    assert sharing._owner(whole.reshape(3, 4)[1:, ::2]) is whole
    assert sharing._owner(3.0) is None
    read = np.frombuffer(bytes(16))
    assert sharing._owner(read[1:]) is read
    assert sharing._is_contiguous(whole.reshape(3, 4))
    assert sharing._is_contiguous(3.0)
    assert not sharing._is_contiguous(whole.reshape(3, 4).T)


@pytest.mark.parametrize("order", ["C", "F"])
def test_views_move_together(order):
    whole = np.array(np.arange(12.0).reshape(3, 4), order=order)
    views = [whole, whole[1:], whole[1:, ::-2], whole.T[2]]
    expected = [view.copy() for view in views]
    moved = sharing._moved(views)
    for one, other in zip(moved, expected, strict=True):
        assert one.tolist() == other.tolist()
        assert not np.shares_memory(one, whole)
    moved[2][0] = [70.0, 80.0]
    expected[0][1, ::-2] = [70.0, 80.0]
    assert moved[0].tolist() == expected[0].tolist()
    assert moved[1][0].tolist() == expected[0][1].tolist()
    assert moved[3][1] == expected[0][1, 2]
    assert whole.tolist() == np.arange(12.0).reshape(3, 4).tolist()


def test_a_row_is_there_until_something_else_is_written():
    """Writing a row to where it was read changes nothing."""
    with Lanes(2) as lanes:
        x = lanes.batch(np.arange(12.0).reshape(2, 3, 2))
        i, j = lanes.batch(np.array([0, 2])), lanes.batch(np.array([0, 2]))
        row = x[i]
        assert sharing.is_there(x, i, row)
        assert sharing.is_there(x, (i,), row)
        assert not sharing.is_there(x, j, row)
        assert not sharing.is_there(x, (i, 0), row)
        assert not sharing.is_there(x * 1.0, i, row)
        assert not sharing.is_there(x, i, row * 1.0)
        assert not sharing.is_there(x, i, 3.0)
        assert not sharing.is_there(x, i, SimpleNamespace(memory=None))
        x[0, 0] = 5.0
        assert not sharing.is_there(x, i, row)


def test_writing_to_views_within_a_batch_reaches_all_of_them():
    with Lanes(2) as lanes:
        given = np.arange(8.0).reshape(2, 4)
        x = lanes.batch(given) * 1.0
        tail, last = x[1:], x[1:][-1:]
        tail *= 10.0
        assert lanes.values(x).tolist() == [[0, 10, 20, 30], [4, 50, 60, 70]]
        last[0] = -1.0
        assert lanes.values(tail).tolist() == [[10, 20, -1], [50, 60, -1]]
        assert lanes.values(x)[:, -1].tolist() == [-1, -1]
        number = x[0]
        x[0] = 3.0
        assert lanes.values(number).tolist() == [0, 4]
        whole = x[...]
        whole[1] = 2.0
        assert lanes.values(x)[:, 1].tolist() == [2, 2]
        apart = x.reshape(2, 2).copy()
        apart[0] = 9.0
        assert lanes.values(x)[:, :2].tolist() == [[3, 2], [3, 2]]
        shaped = x.reshape(2, 2)
        shaped[1, 1] = 8.0
        assert lanes.values(x)[:, 3].tolist() == [8, 8]
        assert given.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_one_view_and_what_it_is_a_view_of():
    with Lanes(2) as lanes:
        x = lanes.batch(np.arange(4.0).reshape(2, 2)) * 1.0
        tail = x[1:]
        tail[0] = 7.0
        assert lanes.values(x).tolist() == [[0, 7], [2, 7]]
        alone = lanes.batch(np.arange(2.0).reshape(2, 1)) * 1.0
        for number in (alone.reshape(()), alone[0, ...]):
            number[...] = number + 5.0
        assert lanes.values(alone).tolist() == [[10], [11]]


@pytest.mark.parametrize("way", [lambda f: f, tape.compile])
def test_views_within_a_batch_are_differentiated(way):
    """Of an array that is recorded, views of views, and rows."""

    def f(x, i):
        y = x * 1.0
        tail = y[1:][1:]
        tail *= x[0]
        y[1] = tail[0] * 2.0
        return np.sum(y * np.arange(4.0)) + y[i]

    xs, at = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), np.array([2, 1])
    found = way(tape.vmap(tape.grad(f)))(xs, at)
    for x, i, slope in zip(xs, at, found, strict=True):
        a, _, c, d = x
        expected = np.array([2 * c + 2 * c + 3 * d, 0.0, 4 * a, 3 * a])  # of 2 a c + 2 a c + 3 a d
        expected += np.array([c, 0.0, a, 0.0]) * (1 if i == 2 else 2)
        np.testing.assert_allclose(slope, expected)


def test_views_whose_layout_is_not_known_are_refused():
    """What an index of arrays has read may be in any order, so that reshape may copy it or not."""
    with Lanes(2) as lanes:
        x = lanes.batch(np.arange(16.0).reshape(2, 2, 4))
        i = lanes.batch(np.array([0, 1]))
        shaped = ops.reshape(x[:, i[None]], (2,))
        with pytest.raises(errors.InPlaceError, match="depends on the layout in memory"):
            shaped[0] = 1.0
        transposed = ops.reshape((x * 1.0).T, (8,))
        with pytest.raises(errors.InPlaceError, match="depends on the layout in memory"):
            transposed[0] = 1.0
        plain = ops.reshape(x * 1.0, (8,))
        plain[0] = 1.0
        assert lanes.values(plain)[:, 0].tolist() == [1, 1]


def test_rows_of_an_array_that_all_elements_share():
    table = np.arange(6.0).reshape(3, 2)
    with Lanes(2) as lanes:
        row = ops.getitem(table, lanes.batch(np.array([0, 2])))
        with pytest.raises(errors.InPlaceError, match="from an array that does not"):
            row[0] = 1.0
        own = row * 1.0
        own[0] = 1.0
        assert lanes.values(own).tolist() == [[1, 1], [1, 5]]


def test_rows_that_are_written_to_reach_what_they_were_read_of():
    with Lanes(2) as lanes:
        x = lanes.batch(np.zeros((2, 3, 2))) * 1.0
        i = lanes.batch(np.array([0, 2]))
        row, other = x[i], x[i]
        row[1] = 5.0
        expected = np.zeros((2, 3, 2))
        expected[[0, 1], [0, 2], 1] = 5.0
        assert lanes.values(x).tolist() == expected.tolist()
        assert lanes.values(row).tolist() == [[0, 5], [0, 5]]
        with pytest.raises(errors.InPlaceError):
            lanes.values(other * 1.0)
