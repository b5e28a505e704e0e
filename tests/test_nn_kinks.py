"""Points where activations and losses have no derivative, or where one formula takes over from another.

Values are continuous there, and derivatives are one of the two from either side or their mean: which one is
written here, for other parameters than the default ones as well. PyTorch's are the same where it says so.
"""

import numpy as np
import pytest

import tape
import tape.nn as nn
from tests.oracles import assert_same, jvp, vjp

ACTIVATIONS = {
    # function, point, derivative there, from below, from above
    "relu": (nn.relu, 0.0, 0.0, 0.0, 1.0),
    "relu6 at 0": (nn.relu6, 0.0, 0.0, 0.0, 1.0),
    "relu6 at 6": (nn.relu6, 6.0, 0.0, 1.0, 0.0),
    "leaky_relu": (lambda x: nn.leaky_relu(x, 0.25), 0.0, 0.25, 0.25, 1.0),
    "leaky_relu, negative": (lambda x: nn.leaky_relu(x, -2.0), 0.0, -2.0, -2.0, 1.0),
    "prelu": (lambda x: nn.prelu(x, 0.5), 0.0, 0.5, 0.5, 1.0),
    "elu": (lambda x: nn.elu(x, 0.5), 0.0, 0.5, 0.5, 1.0),
    "elu, large": (lambda x: nn.elu(x, 3.0), 0.0, 3.0, 3.0, 1.0),
    "elu, negative": (lambda x: nn.elu(x, -1.5), 0.0, -1.5, -1.5, 1.0),
    "selu": (nn.selu, 0.0, 1.7580993408473766, 1.7580993408473766, 1.0507009873554805),
    "celu": (lambda x: nn.celu(x, 0.5), 0.0, 1.0, 1.0, 1.0),
    "hardtanh below": (lambda x: nn.hardtanh(x, -0.5, 2.0), -0.5, 0.0, 0.0, 1.0),
    "hardtanh above": (lambda x: nn.hardtanh(x, -0.5, 2.0), 2.0, 0.0, 1.0, 0.0),
    "hardsigmoid below": (nn.hardsigmoid, -3.0, 0.0, 0.0, 1 / 6),
    "hardsigmoid above": (nn.hardsigmoid, 3.0, 0.0, 1 / 6, 0.0),
    "hardswish below": (nn.hardswish, -3.0, 0.0, 0.0, -0.5),
    "hardswish above": (nn.hardswish, 3.0, 1.0, 1.5, 1.0),
    "hardshrink below": (lambda x: nn.hardshrink(x, 0.75), -0.75, 0.0, 1.0, 0.0),
    "hardshrink above": (lambda x: nn.hardshrink(x, 0.75), 0.75, 0.0, 0.0, 1.0),
    "softshrink below": (lambda x: nn.softshrink(x, 0.75), -0.75, 0.0, 1.0, 0.0),
    "softshrink above": (lambda x: nn.softshrink(x, 0.75), 0.75, 0.0, 0.0, 1.0),
    "threshold": (lambda x: nn.threshold(x, 0.25, 9.0), 0.25, 0.0, 0.0, 1.0),
    "softsign": (nn.softsign, 0.0, 1.0, 1.0, 1.0),
    "abs": (np.abs, 0.0, 0.0, -1.0, 1.0),
}


def slopes(f, x):
    """The derivative in both modes, and that of a program."""
    x = np.array([x, x])
    (back,) = vjp(f, [x])
    ahead = jvp(f, [x], [np.ones(2)])
    compiled = tape.compile(lambda x: vjp(f, [x])[0])
    np.testing.assert_array_equal(ahead, back)
    np.testing.assert_array_equal(compiled(x), back)
    np.testing.assert_array_equal(compiled(x), back)
    assert back[0] == back[1]
    return float(back[0])


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_at_and_beside_a_kink(name):
    f, x, at, below, above = ACTIVATIONS[name]
    tiny = 1e-9
    assert slopes(f, x) == pytest.approx(at, rel=1e-12)
    assert slopes(f, x - tiny) == pytest.approx(below, rel=1e-6, abs=1e-6)
    assert slopes(f, x + tiny) == pytest.approx(above, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "name", [name for name in ACTIVATIONS if "shrink" not in name and name != "threshold"]
)
def test_values_are_continuous(name):
    f, x, *_ = ACTIVATIONS[name]
    low, at, high = f(np.array([np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)]))
    assert low == pytest.approx(at, abs=1e-14)
    assert high == pytest.approx(at, abs=1e-14)


def test_values_at_kinks_are_those_of_one_side():
    assert_same(nn.hardshrink(np.array([-0.75, 0.75]), 0.75), np.zeros(2))
    assert_same(nn.threshold(np.array([0.25]), 0.25, 9.0), np.array([9.0]))


Z = np.zeros(1)
LOSSES = {
    # function of the difference, point, derivative there, from below, from above
    "l1": (lambda d: nn.l1_loss(d, Z), 0.0, 0.0, -1.0, 1.0),
    "smooth_l1": (lambda d: nn.smooth_l1_loss(d, Z, beta=0.5), 0.5, 1.0, 1.0, 1.0),
    "smooth_l1 of 0": (lambda d: nn.smooth_l1_loss(d, Z, beta=0.0), 0.0, 0.0, -1.0, 1.0),
    "huber": (lambda d: nn.huber_loss(d, Z, delta=0.5), 0.5, 0.5, 0.5, 0.5),
    "huber below": (lambda d: nn.huber_loss(d, Z, delta=2.0), -2.0, -2.0, -2.0, -2.0),
    "hinge_embedding": (lambda d: nn.hinge_embedding_loss(d, -np.ones(1), margin=0.5), 0.5, 0.0, -1.0, 0.0),
    "margin_ranking": (lambda d: nn.margin_ranking_loss(d, Z, np.ones(1), margin=0.5), 0.5, 0.0, -1.0, 0.0),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_at_and_beside_a_kink(name):
    f, x, at, below, above = LOSSES[name]
    tiny = 1e-9
    found = [float(vjp(f, [np.array([x + step])])[0][0]) for step in (0.0, -tiny, tiny)]
    assert found == pytest.approx([at, below, above], rel=1e-6, abs=1e-6)


def test_second_derivatives_at_kinks_are_those_of_the_side_taken():
    for name, (f, x, *_) in ACTIVATIONS.items():
        second = vjp(lambda x, f=f: vjp(f, [x])[0], [np.array([x])])[0]
        assert np.isfinite(second).all(), name
