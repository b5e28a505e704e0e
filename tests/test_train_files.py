"""Files of trees: what is saved is loaded, and what does not fit is listed by name."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import tape
from tape import errors
from tape.train import load, save
from tests.oracles import pytorch

SUFFIXES = [".npz", ".safetensors"]


@dataclass
class Layer:
    weight: np.ndarray
    bias: np.ndarray
    name: str = field(default="linear", metadata={"static": True})


def model(seed):
    rng = np.random.default_rng(seed)
    layers = [
        Layer(rng.normal(size=(3, 2)).T, np.zeros(0)),
        Layer(np.float32(rng.normal(size=2)), np.array(seed)),
    ]
    return {"layers": layers, "file": np.array([True]), "lr": 0.1 * seed, "steps": seed, "none": None}


def target(tmp_path, suffix):
    if suffix == ".safetensors":
        pytest.importorskip("safetensors", reason="writes files of it")
    return tmp_path / f"model{suffix}"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_tree_comes_back(tmp_path, suffix):
    path = target(tmp_path, suffix)
    save(path, model(3))
    like = model(4)
    found = load(path, like)
    assert found["layers"][0].name == "linear"
    assert (found["lr"], type(found["lr"]), type(found["steps"])) == (0.1 * 3, float, int)
    ours, theirs = tape.tree.leaves(found), tape.tree.leaves(model(3))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    np.testing.assert_array_equal(like["layers"][0].weight, model(4)["layers"][0].weight)
    names = {"file", "layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight", "lr", "steps"}
    assert set(load(path)) == names
    assert [path.name for path in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_lone_array_comes_back(tmp_path, suffix):
    path = target(tmp_path, suffix)
    save(path, np.arange(3.0))
    np.testing.assert_array_equal(load(path, np.zeros(3)), np.arange(3.0))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_byte_order_is_not_lost(tmp_path, suffix):
    path = target(tmp_path, suffix)
    save(path, {"x": np.arange(3, dtype=">f8")})
    for dtype in ("<f8", ">f8"):
        np.testing.assert_array_equal(
            load(path, {"x": np.zeros(3, dtype)})["x"], np.arange(3, dtype=dtype), strict=True
        )


def test_pytorch_reads_the_same_safetensors(tmp_path):
    pytorch()
    library = pytest.importorskip("safetensors.torch", reason="PyTorch reads our files")
    path = tmp_path / "model.safetensors"
    weights = {"w": np.arange(6.0).reshape(2, 3), "b": {"c": np.float32([1, 2])}}
    save(path, weights)
    found = library.load_file(path)
    np.testing.assert_array_equal(found["w"].numpy(), weights["w"])
    library.save_file({name: 2 * tensor for name, tensor in found.items()}, path)
    np.testing.assert_array_equal(load(path, weights)["b"]["c"], np.float32([2, 4]), strict=True)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_does_not_fit_is_listed(tmp_path, suffix):
    path = target(tmp_path, suffix)
    save(path, {"a": np.zeros(2), "b": np.zeros(2), "c": np.zeros(2), "d": np.zeros(2)})
    like = {"a": np.zeros(2), "b": np.zeros(3), "c": np.zeros(2, "f4"), "e": np.zeros(1)}
    with pytest.raises(errors.CheckpointError) as caught:
        load(path, like)
    for said in (
        "missing: e;",
        "unexpected: d;",
        "b is float64[2] instead of float64[3]",
        "c is float64[2] instead of float32[2]",
    ):
        assert said in str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_are_refused(tmp_path, suffix):
    path = target(tmp_path, suffix)
    save(path, {"a": np.arange(100.0)})
    whole = path.read_bytes()
    for k in (0, 3, 50, len(whole) - 1):
        path.write_bytes(whole[:k])
        with pytest.raises(errors.CheckpointError, match="damaged"):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(path.with_name(f"none{suffix}"))


def test_pickles_are_not_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.array([print], object))
    with pytest.raises(errors.CheckpointError, match="allow_pickle"):
        load(tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", np.zeros(3))
    (tmp_path / "b.npy").rename(tmp_path / "b.npz")
    with pytest.raises(errors.CheckpointError, match="one array"):
        load(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("tree", "kind", "said"),
    [
        ({"x": {"y": object()}}, errors.DTypeError, "x.y is object"),
        ({"x": "text"}, errors.DTypeError, "x is str 'text'"),
        ({"x": np.array([None])}, errors.DTypeError, "x is ndarray"),
        ({"x": tape.Trace().param(np.ones(1))}, errors.ConversionError, r"Pass its \.value"),
        ({"a": {"b": 1.0}, "a.b": 2.0}, errors.OptionError, "two leaves would have the name 'a.b'"),
        ({"": 1.0}, errors.OptionError, "no name"),
    ],
)
def test_trees_that_cannot_be_saved_are_refused(tmp_path, tree, kind, said):
    with pytest.raises(kind, match=said):
        save(tmp_path / "a.npz", tree)
    assert not list(tmp_path.iterdir())


def test_a_path_must_end_in_a_format(tmp_path):
    for function in (lambda path: save(path, 1.0), load):
        with pytest.raises(errors.OptionError, match=r"must end in \.npz or \.safetensors"):
            function(tmp_path / "a.pkl")


def test_what_safetensors_cannot_hold_is_said(tmp_path):
    path = target(tmp_path, ".safetensors")
    with pytest.raises(errors.DTypeError, match=r"cannot hold.*Save as \.npz"):
        save(path, {"x": np.array(["a"])})
