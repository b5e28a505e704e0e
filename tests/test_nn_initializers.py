"""Initialisers: moments and bounds of what they draw, PyTorch's defaults of layers, errors."""

import numpy as np
import pytest
from scipy import stats

import tape
from tape import errors, nn
from tape.nn import initializers
from tests.oracles import pytorch

SHAPE = (40, 30, 3)
FAN_IN, FAN_OUT = 90, 120

# name -> arguments, standard deviation, bound if there is one
DRAWS = {
    "uniform": ((-1.0, 3.0), 4 / 12**0.5, None),
    "normal": ((0.0, 0.3), 0.3, None),
    "truncated_normal": ((), 0.8796256610342398, 2.0),
    "xavier_uniform": ((2.0,), 2 * (2 / (FAN_IN + FAN_OUT)) ** 0.5, 2 * (6 / (FAN_IN + FAN_OUT)) ** 0.5),
    "xavier_normal": ((), (2 / (FAN_IN + FAN_OUT)) ** 0.5, None),
    "kaiming_uniform": ((5**0.5,), (1 / 3 / FAN_IN) ** 0.5, FAN_IN**-0.5),
    "kaiming_normal": ((0.0, "fan_out", "relu"), (2 / FAN_OUT) ** 0.5, None),
    "lecun_uniform": ((), FAN_IN**-0.5, (3 / FAN_IN) ** 0.5),
    "lecun_normal": ((), FAN_IN**-0.5, 2 * FAN_IN**-0.5 / 0.8796256610342398),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("make", [np.random.default_rng, tape.random.default_rng])
def test_draws_have_their_mean_deviation_and_bound(name, make):
    args, deviation, bound = DRAWS[name]
    draw = getattr(initializers, name)
    found = draw(make(4), SHAPE, *args)
    assert found.dtype == np.float32
    assert found.shape == SHAPE
    assert abs(np.mean(found) - (1.0 if name == "uniform" else 0.0)) < 5 * deviation / found.size**0.5
    assert abs(np.std(found) / deviation - 1) < 0.04
    if bound is not None:
        assert 0.95 * bound < np.abs(found).max() <= np.float32(bound)
    np.testing.assert_array_equal(found, draw(np.random.default_rng(4), SHAPE, *args))
    assert draw(make(4), SHAPE, *args, dtype=np.float64).dtype == np.float64


def test_a_truncated_normal_distribution_is_that_of_scipy():
    found = initializers.truncated_normal(np.random.default_rng(0), 4000, 1.0, 2.0, 0.0, 2.5, np.float64)
    assert stats.kstest(found, stats.truncnorm(-0.5, 0.75, 1.0, 2.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (3, 2, 2), (1, 1)])
def test_orthogonal_rows_or_columns(shape):
    found = initializers.orthogonal(np.random.default_rng(0), shape, 2.0, np.float64)
    matrix = found.reshape(shape[0], -1)
    product = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


@pytest.mark.parametrize("name", ["linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"])
def test_gains_are_those_of_torch(name):
    torch = pytorch()
    assert initializers.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))


LAYERS = {
    "linear": (lambda rng: nn.Linear(50, 60, rng=rng), lambda t: t.nn.Linear(50, 60)),
    "bilinear": (lambda rng: nn.Bilinear(20, 30, 10, rng=rng), lambda t: t.nn.Bilinear(20, 30, 10)),
    "conv": (lambda rng: nn.Conv2d(8, 60, 3, groups=2, rng=rng), lambda t: t.nn.Conv2d(8, 60, 3, groups=2)),
    "transpose": (
        lambda rng: nn.ConvTranspose1d(60, 8, 5, groups=2, rng=rng),
        lambda t: t.nn.ConvTranspose1d(60, 8, 5, groups=2),
    ),
    "embedding": (lambda rng: nn.Embedding(60, 20, 3, rng=rng), lambda t: t.nn.Embedding(60, 20, 3)),
    "lstm": (lambda rng: nn.LSTM(20, 30, rng=rng), lambda t: t.nn.LSTM(20, 30)),
    "attention": (
        lambda rng: nn.MultiHeadAttention(32, 4, rng=rng),
        lambda t: t.nn.MultiheadAttention(32, 4),
    ),
    "layer_norm": (lambda rng: nn.LayerNorm(30), lambda t: t.nn.LayerNorm(30)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_start_from_the_distributions_of_torch(name):
    torch = pytorch()
    torch.manual_seed(0)
    make, make_theirs = LAYERS[name]
    ours, theirs = nn.state_dict(make(np.random.default_rng(0))), make_theirs(torch).state_dict()
    assert list(ours) == list(theirs)
    for key, array in ours.items():
        other = theirs[key].numpy()
        assert array.dtype == other.dtype
        if np.std(other) == 0:
            np.testing.assert_array_equal(array, other)
        else:
            assert stats.ks_2samp(array.ravel(), other.ravel()).pvalue > 1e-3, key


def test_constants_draw_nothing():
    for make, number in ((initializers.zeros, 0), (initializers.ones, 1)):
        for dtype in (np.float32, np.float64):
            found = make(None, (2, 3), dtype)
            np.testing.assert_array_equal(found, np.full((2, 3), number, dtype), strict=True)
        assert make(None, 2).dtype == np.float32


@pytest.mark.parametrize(
    "name", ["xavier_uniform", "xavier_normal", "lecun_normal", "lecun_uniform", "orthogonal"]
)
def test_shapes_without_two_axes_are_refused_by_name(name):
    with pytest.raises(errors.ShapeError, match=f"^{name}:"):
        getattr(initializers, name)(np.random.default_rng(0), (3,))


@pytest.mark.parametrize(
    ("draw", "error"),
    [
        (lambda rng: initializers.uniform(3, 2), errors.OptionError),
        (lambda rng: initializers.normal(None, 2), errors.OptionError),
        (lambda rng: initializers.truncated_normal(rng, 2, low=1.0, high=0.0), errors.OptionError),
        (lambda rng: initializers.xavier_uniform(rng, 3), errors.ShapeError),
        (lambda rng: initializers.orthogonal(rng, (3,)), errors.ShapeError),
        (lambda rng: initializers.lecun_normal(rng, (3, 0)), errors.ShapeError),
        (lambda rng: initializers.kaiming_normal(rng, (3, 2), mode="in"), errors.OptionError),
        (lambda rng: initializers.kaiming_uniform(rng, (3, 2), nonlinearity="rellu"), errors.OptionError),
    ],
)
def test_wrong_arguments_are_errors(draw, error):
    with pytest.raises(error):
        draw(np.random.default_rng(0))
