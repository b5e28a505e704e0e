"""Loaders: each row once an epoch, the same batches from a position, and errors that name the row."""

import gc
import threading
import time
import weakref
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors
from tape.program.growth import is_repeatable, repeatable
from tape.train import DataLoader, Windows
from tape.train._prefetch import prefetched
from tests.oracles import pytorch


def rng(seed=0):
    return np.random.default_rng(seed)


@dataclass
class Pair:
    x: np.ndarray
    y: np.ndarray


class Squares:
    """A data set of rows that are made when asked for."""

    def __init__(self, rows, bad=None):
        self.rows, self.bad = rows, bad

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        if i == self.bad:
            raise OSError("the file is gone")
        return {"x": np.full(2, float(i)), "y": i * i}


@settings(deadline=None)  # threads wait for a core
@given(
    rows=st.integers(1, 20), size=st.integers(1, 8), drop=st.booleans(), shuffled=st.booleans(),
    prefetch=st.integers(0, 3),
)  # fmt: skip
def test_each_row_is_there_once_an_epoch(rows, size, drop, shuffled, prefetch):
    loader = DataLoader(
        np.arange(rows), size, drop_last=drop, shuffle=rng() if shuffled else None, prefetch=prefetch
    )
    for _ in range(2):
        batches = list(loader)
        assert len(batches) == len(loader)
        assert all(len(batch) == size for batch in (batches if drop else batches[:-1]))
        found = np.concatenate(batches).tolist() if batches else []
        assert len(set(found)) == len(found) == (rows - rows % size if drop else rows)
        assert shuffled or found == sorted(found)


@settings(deadline=None)  # threads wait for a core
@given(at=st.integers(0, 12), prefetch=st.integers(0, 2), as_rows=st.booleans(), seed=st.integers(0, 99))
def test_from_a_position_the_same_batches_follow(at, prefetch, as_rows, seed):
    """Also transforms, the epochs after, and the generator, which others use as well."""

    def loader(generator, prefetch):
        return DataLoader(
            Squares(9) if as_rows else {"x": np.ones((9, 2)), "y": np.arange(9)}, 2, shuffle=generator,
            prefetch=prefetch, transform=lambda batch, rng: {**batch, "noise": rng.normal()},
        )  # fmt: skip

    def endless(loader, generator):
        while True:
            for batch in loader:
                yield loader.epoch, batch["y"].tolist(), batch["noise"], generator.normal()

    mine = rng(seed)
    first = loader(mine, prefetch)
    batches = endless(first, mine)
    for _ in range(at):
        next(batches)
    position = first.state_dict()
    expected = [next(batches) for _ in range(12)]
    other = rng(seed + 1)
    second = loader(other, 2 - prefetch)
    second.load_state_dict(position)
    batches_again = endless(second, other)
    assert [next(batches_again) for _ in range(12)] == expected
    batches.close()
    batches_again.close()


def test_the_order_does_not_depend_on_prefetching():
    orders = [
        [b.tolist() for _ in range(2) for b in DataLoader(np.arange(9), 2, shuffle=rng(), prefetch=k)]
        for k in (0, 1, 4)
    ]
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("shuffled", [False, True])
def test_batches_are_contiguous_arrays_of_their_own(tmp_path, shuffled):
    mapped = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (6, 2))
    mapped[...] = np.arange(12).reshape(6, 2)
    turned = np.arange(12.0).reshape(2, 6).T
    for data in (mapped, turned):
        before = np.array(data)
        for batch in DataLoader(data, 4, shuffle=rng() if shuffled else None):
            assert type(batch) is np.ndarray
            assert batch.flags.c_contiguous
            assert batch.flags.owndata
            assert batch.dtype == data.dtype
            batch[...] = -1
        np.testing.assert_array_equal(data, before)


def test_fields_of_a_dataclass_are_columns():
    @dataclass
    class Data:
        x: np.ndarray
        y: np.ndarray

    loader = DataLoader(Data(np.arange(5.0), np.arange(10).reshape(5, 2)), 2)
    batches = list(loader)
    assert all(type(batch) is Data for batch in batches)
    np.testing.assert_array_equal(np.concatenate([batch.x for batch in batches]), np.arange(5.0))
    np.testing.assert_array_equal(batches[1].y, [[4, 5], [6, 7]])
    with pytest.raises(errors.DTypeError, match="data is type"):
        DataLoader(Data, 2)


def test_loaders_and_windows_print_how_much_they_hold():
    assert repr(DataLoader(np.ones(7), 3)) == "DataLoader(7 rows, batch_size=3, 3 batches)"
    assert repr(DataLoader(np.ones(7), 3, drop_last=True)) == "DataLoader(7 rows, batch_size=3, 2 batches)"
    assert repr(Windows(np.ones(13), 2, 3)) == "Windows(13 rows, length=2, streams=3, 2 windows)"


def test_trees_of_columns_keep_their_structure():
    data = (Pair(np.zeros((3, 2)), np.arange(3)), {"z": [np.ones((3, 1), np.int8)]})
    pair, rest = next(iter(DataLoader(data, 2)))
    assert isinstance(pair, Pair)
    assert (pair.x.shape, pair.y.tolist(), rest["z"][0].dtype) == ((2, 2), [0, 1], np.int8)


def test_rows_are_collated_as_in_pytorch():
    torch = pytorch()
    ours = list(DataLoader(Squares(5), 2))
    theirs = list(torch.utils.data.DataLoader(Squares(5), 2))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        for name in "xy":
            np.testing.assert_array_equal(a[name], b[name].numpy(), strict=True)
    rows = DataLoader([("a", 1.5, True), ("bc", 2.5, False)], 2)
    names, numbers, flags = next(iter(rows))
    assert (names.tolist(), numbers.dtype, flags.dtype) == (["a", "bc"], np.float64, np.bool_)
    ragged = DataLoader([np.ones(1), np.ones(2)], 2, collate=lambda rows: [row.tolist() for row in rows])
    assert list(ragged) == [[[1.0], [1.0, 1.0]]]


@pytest.mark.parametrize(
    ("rows", "kind", "said"),
    [
        ([np.ones(2), np.ones(3)], errors.ShapeError, r"row 1 has shape \[3\], and row 0 \[2\]\. Pad or cut"),
        ([{"x": 1.0}, {"x": np.ones(1)}], errors.ShapeError, r"row 1: \['x'\] has shape \[1\]"),
        ([{"x": 1.0}, {"y": 1.0}], errors.ShapeError, "row 1 is {'y': .*}, and row 0 {'x'"),
        ([{"x": 1.0}, {"x": 1}], errors.DTypeError, r"row 1: \['x'\] is int64, and row 0 float64"),
        ([np.float32(1.0), 1.0], errors.DTypeError, "row 1 is float64, and row 0 float32"),
        ([1.0, object()], errors.DTypeError, "row 1 is object"),
        ([np.ones(1), np.array([None])], errors.DTypeError, "row 1 holds Python objects"),
    ],
)
@pytest.mark.parametrize("prefetch", [0, 2])
def test_rows_that_differ_are_named(rows, kind, said, prefetch):
    with pytest.raises(kind, match=said):
        list(DataLoader(rows, 2, prefetch=prefetch))


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (
            {"x": np.ones(5), "y": np.ones(4)},
            errors.ShapeError,
            r"data\['y'\] has 4 rows, and data\['x'\] 5: row 4 to 4 have no partner",
        ),
        (
            (np.ones(3), np.ones(3), np.ones(6)),
            errors.ShapeError,
            r"data\[2\] has 6 rows, and data\[0\] 3: row 3 to 5 have no partner",
        ),
        ((np.ones(5), np.ones(())), errors.ShapeError, r"data\[1\] is one number"),
        ((), errors.ShapeError, "the tree of data is empty"),
        (np.ones((0, 2)), errors.ShapeError, "no rows"),
        ([], errors.ShapeError, "no rows"),
        ({"x": [1.0, 2.0]}, errors.DTypeError, r"data\['x'\]\[0\] is 1.0"),
        (np.array([[1], [1, 2]], object), errors.DTypeError, "rows of different lengths"),
        (np.ma.masked_array([1.0], [1]), errors.DTypeError, "a masked array"),
        (3, errors.DTypeError, "data is int 3"),
        ("text", errors.DTypeError, "data is str"),
        ((tape.Trace().param(np.ones(2)),), errors.ConversionError, "is "),
    ],
)
def test_data_that_are_no_rows_are_refused(data, kind, said):
    with pytest.raises(kind, match=said):
        DataLoader(data, 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 2.0}, "batch_size=2.0"),
        ({"shuffle": True}, "Pass a generator"),
        ({"prefetch": -1}, "prefetch=-1"),
    ],
)
def test_options_are_checked(options, said):
    with pytest.raises(errors.OptionError, match=said):
        DataLoader(np.ones(3), **{"batch_size": 2} | options)


def test_a_position_of_other_data_is_refused():
    position = DataLoader(np.ones(5), 2).state_dict()
    for loader, said in (
        (DataLoader(np.ones(6), 2), "rows is 6, and was 5"),
        (DataLoader(np.ones(5), 3), "batch_size is 3"),
        (DataLoader(np.ones(5), 2, shuffle=rng()), "is shuffled is True"),
    ):
        with pytest.raises(errors.CheckpointError, match=said):
            loader.load_state_dict(position)
    with pytest.raises(errors.CheckpointError, match="length is 2, and was 1"):
        Windows(np.ones(5), 2).load_state_dict(Windows(np.ones(5), 1).state_dict())


def test_a_loop_that_is_left_begins_anew():
    loader = DataLoader(np.arange(4), 1)
    for batch in loader:
        if batch == 1:
            break
    assert [batch.item() for batch in loader] == [0, 1, 2, 3]
    assert loader.epoch == 2


# ---- the thread ----------------------------------------------------------------------------------


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def test_errors_in_the_thread_come_at_their_place():
    batches = iter(DataLoader(Squares(9, bad=5), 2, prefetch=3))
    assert [next(batches)["y"].tolist() for _ in range(2)] == [[0, 1], [4, 9]]
    with pytest.raises(OSError, match="the file is gone") as caught:
        next(batches)
    assert caught.value.__notes__ == [
        "raised for row 5 of the data set Squares",
        "raised for batch 2 of epoch 0 of a tape.train.DataLoader",
        "raised in the thread 'prefetch of a DataLoader'",
    ]
    assert not threads()


def test_the_thread_ends_with_the_loop():
    loader = DataLoader(Squares(99), 2, prefetch=2)
    for _ in loader:
        assert len(threads()) == 1
        break
    gc.collect()
    assert not threads()
    batches = iter(loader)
    next(batches)
    batches.close()
    assert not threads()
    with pytest.raises(ZeroDivisionError):
        any(1 / 0 for _ in loader)
    gc.collect()
    assert not threads()
    whole = weakref.ref(loader)
    del loader, batches
    gc.collect()
    assert whole() is None


def test_no_more_is_made_ahead_than_asked_for():
    made = []

    def items():
        for k in range(20):
            made.append(k)
            yield k

    ahead = prefetched(items(), 3, "prefetch")
    assert next(ahead) == 0
    deadline = time.monotonic() + 5
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(made) == 4
    assert list(ahead) == list(range(1, 20))


# ---- windows -------------------------------------------------------------------------------------


@settings(deadline=None)  # threads wait for a core
@given(rows=st.integers(1, 40), length=st.integers(1, 5), streams=st.integers(1, 4))
def test_windows_put_together_are_the_streams(rows, length, streams):
    data = {"x": np.arange(rows), "y": np.arange(3 * rows).reshape(rows, 3)}
    if rows < length * streams:
        with pytest.raises(errors.ShapeError, match="less than one window"):
            Windows(data, length, streams)
        return
    windows = Windows(data, length, streams)
    found, carries = zip(*windows, strict=True)
    assert carries == (0.0,) + (1.0,) * (len(windows) - 1)
    x, y = (np.concatenate([window[name] for window in found]) for name in "xy")
    stride = rows // streams
    for k in range(streams):
        np.testing.assert_array_equal(x[:, k], np.arange(stride)[: len(x)] + k * stride)
    np.testing.assert_array_equal(y[..., 0], 3 * x)
    assert found[0]["y"].flags.c_contiguous


@pytest.mark.parametrize("make", [lambda: Windows(np.arange(11), 2, 1), lambda: DataLoader(np.arange(10), 2)])
def test_a_position_says_how_much_was_handed_out_and_the_next_loop_goes_on_there(make):
    """Before a loop and after it that is nothing."""
    every = [str(batch) for batch in make()]
    for count in range(len(every) + 1):
        data, other = make(), make()
        loop = iter(data) if count else ()
        handed_out = [str(batch) for _, batch in zip(range(count), loop, strict=False)]
        assert handed_out == every[:count]
        state = data.state_dict()
        assert state["batch"] == count
        other.load_state_dict(state)
        assert [str(batch) for batch in other] == every[count:]
        assert [str(batch) for batch in other] == every
        assert other.state_dict()["batch"] == make().state_dict()["batch"] == 0


def test_a_thread_that_prefetches_has_the_context_of_the_loop():
    with repeatable():
        loader = DataLoader({"x": np.arange(4.0)}, 2, prefetch=2, transform=lambda *_: is_repeatable())
        assert list(loader) == [True, True]
    assert list(loader) == [False, False]
