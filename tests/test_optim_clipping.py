"""Clipping of gradients: equal to PyTorch's, and never silent about NaN."""

import numpy as np
import pytest

import tape
from tape import errors, optim
from tests.oracles import pytorch


def grads(scale=1.0):
    rng = np.random.default_rng(0)
    return {"w": scale * rng.normal(size=(3, 4)), "b": (scale * rng.normal(size=4)).astype(np.float32)}


@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_equal_to_torch(how, scale):
    torch = pytorch()
    given = grads(scale)
    tensors = [torch.zeros_like(torch.tensor(given[name])) for name in ("b", "w")]
    for clip, theirs in [
        (lambda g: optim.clip_by_global_norm(g, 1.5), lambda t: torch.nn.utils.clip_grad_norm_(t, 1.5)),
        (lambda g: (optim.clip_by_value(g, 0.7), None), lambda t: torch.nn.utils.clip_grad_value_(t, 0.7)),
    ]:
        for tensor, name in zip(tensors, ("b", "w"), strict=True):
            tensor.grad = torch.tensor(given[name])
        clipped, norm = how(clip)(given)
        expected = theirs(tensors)
        for tensor, name in zip(tensors, ("b", "w"), strict=True):
            np.testing.assert_allclose(clipped[name], tensor.grad.numpy(), rtol=2e-6)
            assert clipped[name].dtype == given[name].dtype
        if norm is not None:
            np.testing.assert_allclose(norm, float(expected), rtol=1e-6)


def test_small_gradients_stay_to_the_bit():
    given = grads(1e-3)
    clipped, norm = optim.clip_by_global_norm(given, 1.0)
    for name in given:
        np.testing.assert_array_equal(clipped[name], given[name])
    assert norm < 1


def test_squares_neither_overflow_nor_vanish_in_low_precision():
    for scale in (1e30, 1e-30):
        given = [np.array([3.0 * scale, 4.0 * scale], np.float32)]
        clipped, norm = optim.clip_by_global_norm(given, scale)
        np.testing.assert_allclose(norm, 5 * scale, rtol=1e-6)
        np.testing.assert_allclose(clipped[0], [0.6 * scale, 0.8 * scale], rtol=1e-6)


@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_norm_that_is_not_finite_is_reported(how, bad):
    clip = how(lambda g: optim.clip_by_global_norm(g, 1.0))
    fine = [np.ones(2), np.ones(3)]
    clip(fine)
    with pytest.raises(errors.NonFiniteError, match="the norm of the gradients is"):
        clip([np.ones(2), np.array([1.0, bad, 1.0])])
    np.testing.assert_allclose(clip(fine)[1], np.sqrt(5))


def test_each_example_is_clipped_by_its_own_norm():
    def loss(params, x):
        return np.sum(np.tanh(x @ params["w"]) ** 2) + np.sum(params["b"]) * x[0]

    def clipped(params, x):
        return optim.clip_by_global_norm(tape.grad(loss)(params, x), 0.5)

    params = {"w": np.random.default_rng(0).normal(size=(3, 2)), "b": np.ones(2, np.float32)}
    x = np.random.default_rng(1).normal(size=(5, 3)) * np.array([1e-3, 1, 1, 10, 0])[:, None]
    expected = [clipped(params, row) for row in x]
    mapped = tape.vmap(clipped, in_axes=(None, 0))
    nested = lambda params, x: tape.vmap(mapped, in_axes=(None, 0))(params, x[None])  # noqa: E731
    for run in (mapped, tape.compile(mapped), nested, tape.compile(nested)):
        for _ in range(2):
            grads, norms = run(params, x)
        assert grads["b"].dtype == np.float32
        for k, (one, norm) in enumerate(expected):
            np.testing.assert_allclose(norms.reshape(5)[k], norm, rtol=1e-12)
            for name, leaf in one.items():
                np.testing.assert_allclose(grads[name].reshape(5, *leaf.shape)[k], leaf, rtol=1e-6)
    x = x[:4]
    by_params = tape.jacobian(lambda w: mapped({**params, "w": w}, x)[0]["w"])(params["w"])
    rows = [
        tape.jacobian(lambda w, row=row: clipped({**params, "w": w}, row)[0]["w"])(params["w"]) for row in x
    ]
    np.testing.assert_allclose(by_params, np.stack(rows), rtol=1e-9, atol=1e-12)
    x = np.concatenate([x, np.zeros((1, 3))])
    total = tape.scan(lambda c, row: (c + mapped(params, row[None])[1][0], None), 0.0, x)[0]
    np.testing.assert_allclose(total, sum(norm for _, norm in expected), rtol=1e-12)


@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
def test_one_example_that_is_not_finite_is_reported(how):
    clip = how(tape.vmap(lambda g: optim.clip_by_global_norm({"w": g}, 1.0)))
    fine = np.ones((3, 2))
    clip(fine)
    with pytest.raises(errors.NonFiniteError, match="the norm of the gradients is"):
        clip(np.array([[1.0, 2.0], [np.nan, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(clip(fine)[1], np.sqrt(2))


def test_zero():
    clipped, norm = optim.clip_by_global_norm([np.zeros(2)], 0.0)
    np.testing.assert_array_equal(clipped[0], 0)
    assert norm == 0
    np.testing.assert_array_equal(optim.clip_by_global_norm([np.ones(2)], 0.0)[0][0], 0)


@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
def test_the_derivative_is_finite_where_all_gradients_are_zero(how):
    def total(part, g):
        clipped, norm = optim.clip_by_global_norm([g, 2 * g], 1.0)
        return np.sum((clipped[0], norm)[part])

    for part, of_one in enumerate((1.0, 0.0)):  # the sum of one gradient, and the norm
        np.testing.assert_array_equal(
            how(tape.grad(lambda g, part=part: total(part, g)))(np.zeros(2)), of_one
        )


def test_settings():
    for act, match in [
        (lambda: optim.clip_by_value([np.ones(1)], -1), "limit is -1"),
        (lambda: optim.clip_by_global_norm([np.ones(1)], np.nan), "max_norm is nan"),
        (lambda: optim.clip_by_global_norm([], 1.0), "empty"),
    ]:
        with pytest.raises(errors.TapeError, match=match):
            act()


@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
def test_complex_gradients(how):
    """A complex number counts by its absolute value; it has no place between two limits."""
    given = [np.array([3 + 4j], np.complex64), np.array([12.0])]
    clipped, norm = how(lambda g: optim.clip_by_global_norm(g, 6.5))(given)
    assert norm == 13
    assert clipped[0].dtype == np.complex64
    np.testing.assert_allclose(clipped[0], [1.5 + 2j])
    np.testing.assert_allclose(clipped[1], [6.0])
    with pytest.raises(errors.DTypeError, match="complex numbers have no order"):
        how(lambda g: optim.clip_by_value(g, 1.0))(given)
