"""`tape.vmap` of code that writes in place, and of indices that differ between examples, equals a loop."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tests.oracles import assert_close
from tests.test_vmap import SIZE, WAYS, W, X, assert_same, stacked
from tests.tiers import rounds

# ---- writing in place ------------------------------------------------------------------------------


def through_views(x):
    y = x * 1.0
    tail = y[1:]
    tail += 2 * x[:-1]
    middle = tail[:1]
    middle *= y[0]
    y[0] = 3.0
    return y, y[1:]


def to_new_arrays(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] ** 2
    z = np.zeros((2, 3), like=x)
    z[:, 1] = x[0]
    np.add(z, x, out=z)
    z.sort(axis=1)
    return y, z


def by_index(x):
    y, i = x.copy(), np.argmin(x)
    y[i] = 0.0
    y[np.array([0, 0])] = x[:2]
    return y, ops.getitem(W, i) * x[i]


def to_the_argument(x):
    x[0] = 7.0
    x[1:] += 1.0
    return x * 2


def through_a_shape(x):
    y = (x * np.ones((2, 1))).reshape(-1)
    for row in y.reshape(2, 3):
        row += x[0]
    y.reshape(2, 3).T[1] *= 2
    return y


def an_element_to_its_row(x):
    y = x * np.ones((2, 1))
    y[0] = y[0, 1]
    return y


def to_a_part_of_a_row_by_index(x):
    y, i = x * np.array([[1.0], [2.0]]), np.argmin(x) % 2
    y[i, 1:] += x[1:]
    y[i, 0] *= 3.0
    y[1, i] -= x[2]
    return y


WRITING = (
    through_views, to_new_arrays, by_index, to_the_argument, through_a_shape, an_element_to_its_row,
    to_a_part_of_a_row_by_index,
)  # fmt: skip


@pytest.mark.parametrize("f", WRITING)
def test_code_that_writes(f):
    expected = stacked(lambda x: f(x.copy()), X)
    twice = tape.tree.map(lambda leaf: np.stack([leaf, leaf]), expected)
    nested = tape.vmap(lambda xs: tape.vmap(f)(xs))
    for way in (tape.vmap(tape.vmap(f)), nested, tape.compile(nested)):
        with suppress(errors.InPlaceError):  # where a view would be stale, or may be none
            assert_same(way(np.stack([X, X])), twice)
    for way in WAYS.values():
        given = X.copy()
        assert_same(way(tape.vmap(f))(given), expected)
        np.testing.assert_array_equal(given, X)

    def total(x):
        return sum(np.sum(np.sin(leaf)) for leaf in tape.tree.flatten(f(x * 1.0))[0])

    gradient = stacked(tape.grad(total), X)
    assert_same(tape.vmap(tape.grad(total))(X), gradient)
    assert_same(tape.grad(lambda xs: np.sum(tape.vmap(total)(xs)))(X), gradient)


def test_what_cannot_be_written():
    def into_shared(x):
        shared = np.zeros(3)
        shared[1:] = x[1:]
        return shared

    with pytest.raises(errors.ConversionError, match=r"np\.zeros_like"):
        tape.vmap(into_shared)(X)

    def differentiated(w):
        def f(x):
            x[0] = w
            return np.sum(x)

        return np.sum(tape.vmap(f)(X))

    with pytest.raises(errors.InPlaceError, match="not differentiated"):
        tape.grad(differentiated)(1.0)
    with pytest.raises(errors.InPlaceError, match="read-only"):
        tape.vmap(lambda x: np.broadcast_to(x, (2, 3)).__setitem__(0, 1.0))(X)


# ---- indices that differ within a batch ------------------------------------------------------------


@st.composite
def indexed(draw):
    """A shape, and an index with arrays, that may differ within a batch, among slices, ints and so on."""
    shape = tuple(draw(st.lists(st.integers(2, 3), min_size=1, max_size=4)))
    block = draw(st.sampled_from([(), (2,), (3, 2)]))
    parts: list[Any] = []
    axis, has_ellipsis = 0, False
    while axis < len(shape):
        kind = draw(st.sampled_from(["array", "array", "int", "slice", "None", "...", "end"]))
        if kind == "end" and not has_ellipsis:  # parts after it count from the last axis
            break
        if kind == "array":
            own = block[draw(st.integers(0, len(block))) :]
            own = tuple(1 if draw(st.booleans()) else length for length in own)
            parts.append((own, shape[axis], draw(st.booleans())))
        elif kind == "int":
            parts.append(draw(st.integers(-shape[axis], shape[axis] - 1)))
        elif kind == "slice":
            parts.append(draw(st.sampled_from([slice(None), slice(1, None), slice(None, None, -1)])))
        elif kind == "None":
            parts.append(None)
            continue
        elif kind == "end" or has_ellipsis:
            continue
        else:
            has_ellipsis = True
            parts.append(...)
            axis += draw(st.integers(0, len(shape) - axis)) - 1
        axis += 1
    return Indexed(shape, parts, np.random.default_rng(draw(st.integers(0, 999))))


@dataclass
class Indexed:
    shape: tuple[int, ...]
    parts: list[Any]
    rng: Any = field(repr=False)

    def arrays(self):
        """The array of each part that is one, for all examples."""
        found = {}
        for k, part in enumerate(self.parts):
            if isinstance(part, tuple):
                lengths, stop, differs = part
                values = self.rng.integers(-stop, stop, (SIZE, *lengths))
                found[k] = values if differs else np.broadcast_to(values[:1], values.shape)
        return found

    def filled(self, arrays):
        return tuple(arrays.get(k, part) for k, part in enumerate(self.parts))


@settings(max_examples=rounds(150))
@given(indexed(), st.booleans(), st.booleans(), st.booleans())
def test_reading_and_writing_at_indices_of_a_batch(case, x_differs, v_differs, v_is_number):
    arrays = case.arrays()
    x = case.rng.normal(size=(SIZE, *case.shape))
    read = x[0][case.filled({k: array[0] for k, array in arrays.items()})]
    v = case.rng.normal(size=(SIZE, *(() if v_is_number else read.shape)))
    axes = ({k: 0 if case.parts[k][2] else None for k in arrays}, 0 if x_differs else None)
    given_arrays = {k: array if case.parts[k][2] else array[0] for k, array in arrays.items()}
    columns = (given_arrays, x if x_differs else x[0], v if v_differs else v[0])
    in_axes = (*axes, 0 if v_differs else None)
    if not arrays or all(axis is None for axis in (*in_axes[0].values(), *in_axes[1:])):
        return

    def f(arrays, x, v):
        index = case.filled(arrays)
        return ops.getitem(x, index), ops.set_at(x, v, index), ops.add_at(x, v, index)

    expected = [
        f(
            {k: array[i if case.parts[k][2] else 0] for k, array in arrays.items()},
            x[i if x_differs else 0],
            v[i if v_differs else 0],
        )
        for i in range(SIZE)
    ]
    found = tape.vmap(f, in_axes)(*columns)
    for one, column in zip(found, zip(*expected, strict=True), strict=True):
        assert_close(one, np.stack(column), 1e-13)

    def total(x, v):
        return sum(np.sum(np.sin(part)) for part in tape.vmap(f, in_axes)(given_arrays, x, v))

    def total_of_loop(x, v):
        parts = [
            f(
                {k: array[i if case.parts[k][2] else 0] for k, array in arrays.items()},
                x[i] if x_differs else x,
                v[i] if v_differs else v,
            )
            for i in range(SIZE)
        ]
        return sum(np.sum(np.sin(part)) for row in parts for part in row)

    assert_same(
        list(tape.grad(total, (0, 1))(*columns[1:])), list(tape.grad(total_of_loop, (0, 1))(*columns[1:]))
    )
