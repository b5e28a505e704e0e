"""Checkpoints: all that is saved comes back bit by bit, and nothing damaged is ever loaded."""

import json
import os
import resource
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import pytest

import tape
from tape import errors, train
from tape.train import Checkpoints, _checkpoints, _npz

BIT_GENERATORS = [
    np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64,
]  # fmt: skip


@dataclass
class Model:
    w: np.ndarray
    b: np.ndarray
    name: str = field(default="m", metadata={"static": True})


class Counter:
    """An object with a state."""

    def __init__(self):
        self.count = 0

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def blank(tree):
    """The tree with other numbers."""
    return tape.tree.map(lambda x: np.zeros_like(x) if isinstance(x, np.ndarray) else x, tree)


LEAVES = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    np.float32([[np.nan, -0.0, np.inf]]),
    np.array(5, np.int8),
    np.zeros((0, 3), np.complex64),
    np.array([True, False]),
    np.array(["a", "bcd"]),
    np.arange(3, dtype=">f8"),
    np.array([(1, 2.0)], [("a", int), ("b", float)]),
    np.array(["2020-01-01"], "datetime64[D]"),
]


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: f"{leaf.dtype}{leaf.shape}")
def test_arrays_come_back_with_bits_dtype_and_order_of_axes(tmp_path, leaf):
    Checkpoints(tmp_path).save(1, {"x": leaf})
    step, found = Checkpoints(tmp_path).restore({"x": np.zeros_like(leaf)})
    x = found["x"]
    assert step == 1
    assert (x.dtype, x.shape, x.tobytes()) == (leaf.dtype, leaf.shape, leaf.tobytes())
    if leaf.size:
        assert np.argsort(x.strides).tolist() == np.argsort(leaf.strides).tolist()
    assert x.flags.writeable


@pytest.mark.parametrize(
    "number", [3, -(2**100), 0.1, -0.0, float("inf"), True, 1 + 2j, "text", np.float32(0.1)]
)
def test_numbers_and_strings_come_back_with_their_type(tmp_path, number):
    Checkpoints(tmp_path).save(1, number)
    _, found = Checkpoints(tmp_path).restore(type(number)())
    assert type(found) is type(number)
    assert repr(found) == repr(number)


@pytest.mark.parametrize("generator", [np.random.Generator, tape.random.Generator])
@pytest.mark.parametrize("kind", BIT_GENERATORS, ids=lambda kind: kind.__name__)
def test_generators_go_on_in_place(tmp_path, kind, generator):
    rng = generator(kind(1))
    rng.integers(5, dtype=np.int32)  # leaves half of a number behind
    Checkpoints(tmp_path).save(0, {"rng": rng})
    expected = [rng.normal(), int(rng.integers(100, dtype=np.int32))]
    other = generator(kind(2))
    _, found = Checkpoints(tmp_path).restore({"rng": other})
    assert found["rng"] is other
    assert [other.normal(), int(other.integers(100, dtype=np.int32))] == expected


@pytest.mark.parametrize("module", [np.random, tape.random])
def test_a_generator_of_another_kind_is_refused(tmp_path, module):
    Checkpoints(tmp_path).save(0, module.default_rng(0))
    with pytest.raises(errors.CheckpointError, match=r"MT19937, and .* a PCG64"):
        Checkpoints(tmp_path).restore(module.Generator(np.random.MT19937(0)))


def test_dataclasses_and_objects_with_a_state_come_back(tmp_path):
    counter, again = Counter(), Counter()
    counter.count = 7
    Checkpoints(tmp_path).save(3, (Model(np.ones(2), np.zeros(1)), counter, None))
    _, (model, found, none) = Checkpoints(tmp_path).restore(
        (Model(np.zeros(2), np.ones(1), "m2"), again, None)
    )
    assert found is again
    assert again.count == 7
    assert none is None
    np.testing.assert_array_equal(model.w, [1, 1])
    assert model.name == "m2"  # static fields are the code's


def test_an_array_in_two_places_is_one_array_again(tmp_path):
    w = np.ones(3)
    Checkpoints(tmp_path).save(0, {"a": w, "b": w, "c": w.copy()})
    _, found = Checkpoints(tmp_path).restore({name: np.zeros(3) for name in "abc"})
    assert found["a"] is found["b"]
    assert found["a"] is not found["c"]


def test_what_is_updated_in_place_stays_in_place_and_nothing_else_is_written_to(tmp_path):
    begin = {"inside": np.zeros(2), "replaced": np.zeros(2)}
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.restore(begin) is None
    begin["inside"] += 1
    checkpoints.save(1, {"inside": begin["inside"], "replaced": begin["replaced"] + 1})
    again = {"inside": np.zeros(2), "replaced": np.zeros(2)}
    checkpoints = Checkpoints(tmp_path)
    _, found = checkpoints.restore(again)
    assert found["inside"] is again["inside"]
    np.testing.assert_array_equal(again["inside"], [1, 1])
    np.testing.assert_array_equal(found["replaced"], [1, 1])
    np.testing.assert_array_equal(again["replaced"], [0, 0])
    checkpoints.save(2, {**found, "replaced": found["replaced"] * 1})  # and after the next resume too
    third = {"inside": np.zeros(2), "replaced": np.zeros(2)}
    _, found = Checkpoints(tmp_path).restore(third)
    assert found["inside"] is third["inside"]


def test_an_array_updated_in_place_is_one_with_its_other_places(tmp_path):
    w = np.zeros(2)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.restore({"w": w, "seen": np.zeros(2)})
    w += 1
    checkpoints.save(1, {"w": w, "seen": w})
    _, found = Checkpoints(tmp_path).restore({"w": np.zeros(2), "seen": np.zeros(2)})
    assert found["w"] is found["seen"]


def test_only_the_newest_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path / "deep" / "folder", keep=2)
    for step in (1, 5, 20, 300):
        checkpoints.save(step, {"w": np.zeros(1)})
    (checkpoints.folder / "step-0000000301.npz.partial").write_bytes(b"left by a kill")
    (checkpoints.folder / "notes.txt").write_text("mine")
    checkpoints.save(400, {"w": np.zeros(1)})
    assert [path.name for path in checkpoints.files()] == ["step-0000000300.npz", "step-0000000400.npz"]
    assert sorted(path.suffix for path in checkpoints.folder.iterdir()) == [".npz", ".npz", ".txt"]


def test_equal_states_make_equal_files(tmp_path):
    tree = {"w": np.ones(3), "rng": np.random.default_rng(0)}
    assert (
        Checkpoints(tmp_path / "a").save(1, tree).read_bytes()
        == Checkpoints(tmp_path / "b").save(1, tree).read_bytes()
    )


# ---- damage --------------------------------------------------------------------------------------


def two(folder):
    """Two checkpoints, and what damages the second one."""
    for step in (1, 2):
        Checkpoints(folder).save(step, {"w": np.full(50, float(step))})
    return folder / "step-0000000002.npz"


def test_every_damaged_byte_and_every_cut_is_noticed(tmp_path):
    """A flip of any byte makes an error, or leaves what is loaded as it was (dates in the zip directory)."""
    path = two(tmp_path)
    whole = path.read_bytes()
    draw = np.random.default_rng(0)
    noticed = 0
    for k in draw.choice(len(whole), 250, replace=False):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ (1 << draw.integers(8))]) + whole[k + 1 :])
        try:
            _, (array,) = _checkpoints._read(path)
        except errors.CheckpointError:
            noticed += 1
        else:
            np.testing.assert_array_equal(array, np.full(50, 2.0))
    assert noticed > 150
    for k in [0, 1, *draw.choice(len(whole) - 1, 30)]:
        path.write_bytes(whole[:k])
        with pytest.raises(errors.CheckpointError):
            _checkpoints._read(path)


def test_a_damaged_newest_file_is_set_aside_and_the_one_before_loaded(tmp_path):
    path = two(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    checkpoints = Checkpoints(tmp_path, keep=1)
    with pytest.warns(errors.CheckpointWarning, match=r"set aside, and step-0000000001.npz loaded"):
        step, found = checkpoints.restore({"w": np.zeros(50)})
    assert step == 1
    np.testing.assert_array_equal(found["w"], np.ones(50))
    assert path.with_name(path.name + ".damaged").exists()
    checkpoints.save(2, found)
    assert checkpoints.restore({"w": np.zeros(50)})[0] == 2


def test_no_whole_file_is_an_error_and_not_a_new_start(tmp_path):
    two(tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"PK")
    for _ in range(2):
        with pytest.raises(errors.CheckpointError, match="none of 2 checkpoints"):
            Checkpoints(tmp_path).restore({"w": np.zeros(50)})


def test_pickles_are_not_loaded(tmp_path):
    path = two(tmp_path)
    np.savez(path, header=np.array([print], object))
    with pytest.raises(errors.CheckpointError, match="readable npz"):
        _checkpoints._read(path)


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_full_disk_keeps_the_last_good_file(tmp_path):
    """The system refuses to write more than so many bytes to a file."""
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(1, {"w": np.ones(10)})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(errors.FileWriteError, match="could not be written: File too large"):
            checkpoints.save(2, {"w": np.ones(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["step-0000000001.npz"]
    assert checkpoints.restore({"w": np.zeros(10)})[0] == 1


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_refusal_at_the_end_keeps_the_last_good_file(tmp_path, monkeypatch, function):
    def refuse(*args):
        raise OSError(28, "No space left on device")

    checkpoints = Checkpoints(tmp_path)
    before = checkpoints.save(1, {"w": np.ones(1)}).read_bytes()
    monkeypatch.setattr(_npz.os, function, refuse)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoints.save(1, {"w": np.zeros(1)})
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


# ---- what does not fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("like", "said"),
    [
        ({"w": np.zeros(3)}, r"also holds \['b'\]"),
        ({"w": np.zeros(3), "b": np.zeros(1), "c": 0}, r"lacks \['c'\]"),
        ({"w": np.zeros(4), "b": np.zeros(1)}, r"\['w'\] began as float64\[3\], and is float64\[4\] now"),
        ({"w": np.zeros(3, "f4"), "b": np.zeros(1)}, r"and is float32\[3\] now"),
        (np.zeros(3), "lacks one array"),
    ],
)
def test_another_tree_is_refused_with_names(tmp_path, like, said):
    Checkpoints(tmp_path).save(1, {"w": np.zeros(3), "b": np.zeros(1)})
    with pytest.raises(errors.CheckpointError, match=said):
        Checkpoints(tmp_path).restore(like)


def test_a_leaf_may_change_its_shape_during_a_training(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.restore({"h": 0.0})
    checkpoints.save(1, {"h": np.ones(3)})
    for size in (4, 5):  # also after several resumes
        checkpoints = Checkpoints(tmp_path)
        _, found = checkpoints.restore({"h": 0.0})
        np.testing.assert_array_equal(found["h"], np.ones(size - 1))
        checkpoints.save(size, {"h": np.ones(size)})


@pytest.mark.parametrize(
    ("leaf", "kind", "said"),
    [
        (object(), errors.DTypeError, r"\['x'\] is object .* state_dict"),
        (np.array([None]), errors.DTypeError, "ndarray"),
        (np.ma.masked_array([1.0], [1]), errors.DTypeError, "MaskedArray"),
        (tape.Trace().param(np.ones(1)), errors.ConversionError, r"Save its \.value"),
    ],
)
def test_leaves_that_cannot_be_saved_are_named(tmp_path, leaf, kind, said):
    with pytest.raises(kind, match=said):
        Checkpoints(tmp_path).save(1, {"x": leaf})
    with pytest.raises(kind, match=r"^the state is "):
        Checkpoints(tmp_path).save(1, leaf)
    assert not list(tmp_path.iterdir())


def test_another_version_is_a_warning(tmp_path, monkeypatch):
    Checkpoints(tmp_path).save(1, 0.0)
    monkeypatch.setattr(_checkpoints.np, "__version__", "9.9")
    with pytest.warns(errors.CheckpointWarning, match=r"numpy .* \(now 9.9\)"):
        Checkpoints(tmp_path).restore(0.0)


def test_a_file_of_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_checkpoints, "_FORMAT", 2)
    path = Checkpoints(tmp_path).save(1, 0.0)
    monkeypatch.undo()
    with pytest.raises(errors.CheckpointError, match="format 2"):
        _checkpoints._read(path)
    assert json.loads(np.load(path)["header"].tobytes())["format"] == 2  # NumPy alone reads it


def rewritten(folder, change):
    """The path of a checkpoint whose header somebody has changed, with a digest that fits."""
    path = Checkpoints(folder).save(1, {"w": np.ones(2), "rng": np.random.default_rng(0)})
    packed = _npz.read_npz(path)
    header = change(packed["header"].tobytes().decode())
    packed["header"] = np.frombuffer(header.encode(), np.uint8)
    del packed["digest"]
    np.savez(path, **packed, digest=_checkpoints._digest(packed))
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"array"', '"arrow"', "unknown kind 'arrow'"),
        ("PCG64", "SeedSequence", "unknown generator 'SeedSequence'"),
        ("PCG64", "default_rng", "unknown generator 'default_rng'"),
    ],
)
def test_headers_that_no_version_wrote_are_refused(tmp_path, old, new, said):
    state = {"w": np.zeros(2), "rng": np.random.default_rng(1)}
    rewritten(tmp_path, lambda header: header)
    _, found = Checkpoints(tmp_path).restore(state)
    np.testing.assert_array_equal(found["w"], [1.0, 1.0])
    path = rewritten(tmp_path, lambda header: header.replace(old, new, 1))
    with pytest.raises(errors.CheckpointError, match=f"no checkpoint of this version: {said}") as caught:
        Checkpoints(tmp_path).restore(state)
    assert str(path) in str(caught.value)


def test_an_array_that_was_changed_is_noticed_by_the_digest(tmp_path):
    path = two(tmp_path)
    packed = _npz.read_npz(path)
    np.savez(path, **packed | {"0": packed["0"] + 1})
    with pytest.raises(errors.CheckpointError, match="not a whole checkpoint: its digest differs"):
        _checkpoints._read(path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.FileWriteError, match=r"file.a cannot be made: .*Choose another one"):
        Checkpoints(tmp_path / "file" / "a").save(1, 0.0)
    assert repr(Checkpoints("a", 2, 5)) == "Checkpoints('a', keep=2, every=5)"


@pytest.mark.parametrize("options", [{"keep": 0}, {"every": 0}, {"keep": True}, {"every": 2.5}])
def test_options_are_checked(tmp_path, options):
    with pytest.raises(errors.OptionError, match=next(iter(options))):
        Checkpoints(tmp_path, **options)
    with pytest.raises(errors.OptionError, match="step"):
        Checkpoints(tmp_path).save(-1, 0.0)


# ---- resumed trainings -------------------------------------------------------------------------------


def normalised(w, b):
    x = np.outer(b, w)
    return np.sum(((x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-3) + np.exp(-x)) ** 2)


@pytest.mark.parametrize("every", [None, 1])
def test_resumed_trainings_of_compiled_steps_have_the_same_bits(tmp_path, every):
    """The first call of a compiled function is computed by NumPy as it is recorded, later ones are not."""
    batches = [np.linspace(0.1, 1.0, n) for n in (3, 4, 5, 6, 7)]  # more shapes than get programs at once

    def run(folder, epochs, stop=None):
        @tape.compile
        def step(w, b):
            value, slope = tape.value_and_grad(normalised)(w, b)
            return w - 0.01 * slope, {"loss": value}

        class Stopping:
            def on_step(self, run):
                if run.step == stop:
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError) if stop else nullcontext():
            return train.fit(
                step, np.linspace(1, 2, 40), batches, epochs=epochs, callbacks=[Stopping()],
                checkpoints=Checkpoints(folder, every=every),
            )  # fmt: skip

    whole, history = run(tmp_path / "whole", 3)
    run(tmp_path / "parts", 1)
    if every:
        run(tmp_path / "parts", 3, stop=8)
    resumed, again = run(tmp_path / "parts", 3)
    np.testing.assert_array_equal(whole, resumed)
    np.testing.assert_array_equal(history.steps["loss"], again.steps["loss"])
