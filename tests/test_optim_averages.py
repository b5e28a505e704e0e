"""Averages of parameters: equal to their definitions and to PyTorch's."""

import pickle

import numpy as np
import pytest

import tape
from tape import errors, optim
from tests.oracles import pytorch


def path(count=12):
    rng = np.random.default_rng(0)
    return [{"w": rng.normal(size=(2, 3)), "b": rng.normal(size=2).astype(np.float32)} for _ in range(count)]


def averaged(average, points):
    state = average.init(points[0])
    update = tape.compile(lambda state, params: average.update(state, params))
    for params in points:
        state, eager = update(state, params), average.update(state, params)
        state = pickle.loads(pickle.dumps(state))
        for ours, theirs in zip(tape.tree.leaves(state), tape.tree.leaves(eager), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
            assert ours.dtype == theirs.dtype
    assert len(update.programs) == 1
    value = average.value(state)
    assert value["w"].dtype == np.float64
    assert value["b"].dtype == np.float32
    compiled = tape.compile(lambda state: average.value(state))(state)
    np.testing.assert_allclose(compiled["w"], value["w"], rtol=1e-12)
    return value["w"]


def test_ema_weighs_by_its_law():
    points = path()
    weights = 0.8 ** np.arange(len(points))[::-1]
    expected = sum(weight * p["w"] for weight, p in zip(weights, points, strict=True)) / weights.sum()
    np.testing.assert_allclose(averaged(optim.ema(0.8), points), expected, rtol=1e-12)


def test_polyak_is_the_mean():
    points = path()
    np.testing.assert_allclose(
        averaged(optim.polyak(), points), np.mean([p["w"] for p in points], axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(
        averaged(optim.polyak(start=3, every=4), points),
        np.mean([p["w"] for p in points[3::4]], axis=0),
        rtol=1e-12,
    )


@pytest.mark.parametrize("kind", ["ema", "polyak"])
def test_equal_to_torch(kind):
    torch = pytorch()
    points = path()
    model = torch.nn.Linear(3, 2, bias=False, dtype=torch.float64)
    of = torch.optim.swa_utils
    choice = {"multi_avg_fn": of.get_ema_multi_avg_fn(0.8)} if kind == "ema" else {}
    reference = of.AveragedModel(model, **choice)
    for params in points:
        with torch.no_grad():
            model.weight.copy_(torch.tensor(params["w"]))
        reference.update_parameters(model)
    average = optim.ema(0.8, bias_correction=False) if kind == "ema" else optim.polyak()
    expected = reference.module.weight.detach().numpy()
    np.testing.assert_allclose(averaged(average, points), expected, rtol=1e-12)


def test_what_is_left_out_may_be_nan():
    average = optim.polyak(start=1)
    state = average.update(average.init(np.ones(2)), np.full(2, np.nan))
    np.testing.assert_array_equal(average.value(average.update(state, np.ones(2))), 1)


def test_errors():
    average = optim.ema(0.9)
    state = average.init([np.ones(2)])
    for error, match, act in [
        (errors.OptionError, "the average is empty", lambda: average.value(state)),
        (errors.OptionError, "decay is 1.0", lambda: optim.ema(1.0)),
        (errors.OptionError, "every is 0", lambda: optim.polyak(every=0)),
        (
            errors.ShapeError,
            r"of params\[0\] has shape \[2\]",
            lambda: average.update(state, [np.ones((3, 2))]),
        ),
        (errors.ShapeError, "the averages of the state", lambda: average.update(state, np.ones(2))),
        (errors.DTypeError, r"params\[0\] is ndarray int64", lambda: average.init([np.ones(2, np.int64)])),
    ]:
        with pytest.raises(error, match=match):
            act()
