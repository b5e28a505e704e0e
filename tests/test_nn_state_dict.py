"""State dicts: PyTorch's names in both directions, shared weights, what does not fit."""

from typing import NamedTuple

import numpy as np
import pytest

import tape
from tape import errors, nn
from tests.oracles import assert_close, pytorch
from tests.test_nn_layers_trees import assert_same_trees


def test_weights_go_to_torch_and_back():
    torch = pytorch()
    rng = np.random.default_rng(0)
    ends = nn.Conv2d(1, 2, 3, rng=rng), nn.Linear(8, 3, rng=rng)
    model = nn.Sequential(ends[0], nn.BatchNorm(2), nn.relu, nn.Flatten(), ends[1])
    state, x = nn.init_state(model), rng.normal(size=(5, 1, 4, 4)).astype(np.float32)
    for _ in range(2):
        y, state = model(x, state, train=True)
    ends = torch.nn.Conv2d(1, 2, 3), torch.nn.Linear(8, 3)
    theirs = torch.nn.Sequential(
        ends[0], torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(), ends[1]
    )
    theirs.load_state_dict({name: torch.tensor(array) for name, array in nn.state_dict(model, state).items()})
    theirs.eval()
    y, _ = model(x, state)
    assert_close(y, theirs(torch.tensor(x)).detach().numpy(), 1e-5)
    back, back_state = nn.load_state_dict(model, theirs.state_dict(), state)
    assert_same_trees((back, back_state), (model, state), 0)
    assert [leaf.dtype for leaf in tape.tree.leaves(back)] == [leaf.dtype for leaf in tape.tree.leaves(model)]


def test_fields_of_named_tuples_are_names():
    class Pair(NamedTuple):
        first: np.ndarray
        rest: list

    pair = Pair(np.ones(2), [np.zeros(1), np.ones(3)])
    assert list(nn.state_dict(pair)) == ["first", "rest.0", "rest.1"]
    loaded = nn.load_state_dict(pair, {"first": [5.0, 6.0], "rest.0": [7.0], "rest.1": np.arange(3.0)})
    assert type(loaded) is Pair
    np.testing.assert_array_equal(loaded.first, [5.0, 6.0])
    np.testing.assert_array_equal(loaded.rest[1], np.arange(3.0))
    arrays = nn.state_dict(pair)
    with pytest.raises(errors.ConversionError, match="compiled function"):
        tape.compile(lambda x: nn.load_state_dict(pair, arrays | {"first": x}).first)(np.ones(2))


def test_state_dicts_are_copies():
    layer = nn.Linear(2, 2, rng=np.random.default_rng(0))
    arrays = nn.state_dict(layer)
    loaded = nn.load_state_dict(layer, arrays)
    arrays["weight"][:] = 7
    assert not (layer.weight == 7).any()
    assert not (loaded.weight == 7).any()


def test_what_is_shared_stays_shared():
    rng = np.random.default_rng(0)
    model = [nn.Linear(3, 3, rng=rng), nn.Linear(3, 3, rng=rng)]
    model[1].weight = model[0].weight
    arrays = nn.state_dict(model)
    assert list(arrays) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    loaded = nn.load_state_dict(model, arrays)
    assert loaded[0].weight is loaded[1].weight
    arrays["1.weight"] = arrays["1.weight"] + 1
    with pytest.raises(errors.OptionError, match=r"0\.weight and 1\.weight are one array in the model"):
        nn.load_state_dict(model, arrays)


def test_state_dicts_that_do_not_fit_are_errors_that_name_the_arrays():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 4, rng=rng), nn.BatchNorm(4))
    state, arrays = nn.init_state(model), nn.state_dict(model)
    with pytest.raises(
        errors.OptionError, match=r"missing: 0\.bias; unexpected: 0\.biass\. Did you mean 0\.bias"
    ):
        nn.load_state_dict(model, {("0.biass" if k == "0.bias" else k): v for k, v in arrays.items()})
    with pytest.raises(errors.OptionError, match="Running statistics are a state"):
        nn.load_state_dict(model, nn.state_dict(model, state))
    with pytest.raises(errors.OptionError, match=r"missing: 1\.running_mean"):
        nn.load_state_dict(model, arrays, state)
    with pytest.raises(
        errors.ShapeError, match=r"0\.weight has shape \[3, 4\], and not \[4, 3\]; 1\.bias has"
    ):
        nn.load_state_dict(model, arrays | {"0.weight": arrays["0.weight"].T, "1.bias": 1.0})
    with pytest.raises(errors.DTypeError, match=r"0\.bias is complex128"):
        nn.load_state_dict(model, arrays | {"0.bias": np.ones(4) * 1j})
    with pytest.raises(errors.DTypeError, match=r"0\.bias"):
        nn.load_state_dict(model, arrays | {"0.bias": np.array(["a"] * 4)})


def test_tensors_that_record_are_loaded_and_others_explained():
    torch = pytorch()
    layer = nn.Linear(2, 1, rng=np.random.default_rng(0))
    weight = torch.ones(1, 2, requires_grad=True)
    loaded = nn.load_state_dict(layer, {"weight": weight, "bias": torch.zeros(1, dtype=torch.float64)})
    assert_close(loaded.weight, np.ones((1, 2)))
    assert loaded.bias.dtype == np.float32
    with pytest.raises(errors.DTypeError, match="weight cannot be converted to an array"):
        nn.load_state_dict(layer, {"weight": weight.to(torch.bfloat16), "bias": torch.zeros(1)})


def test_the_state_dict_of_a_traced_model_is_an_error():
    model = tape.Trace().params(nn.Linear(2, 1, rng=np.random.default_rng(0)))
    with pytest.raises(errors.ConversionError, match="weight is a Var"):
        nn.state_dict(model)
