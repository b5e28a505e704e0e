"""L-BFGS: the steps of PyTorch's, with and without line search; all or nothing."""

import pickle

import numpy as np
import pytest

import tape
from tape import errors, optim
from tape.optim._line_search import Point, _minimum, strong_wolfe
from tests.oracles import pytorch


def rosenbrock(params, sin=np.sin):
    a, b = params
    return ((1 - a) ** 2).sum() + 10 * ((b - a**2) ** 2).sum() + 0.1 * (sin(3 * a) * b).sum()


def starts(dtype=np.float64):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(2, 3)).astype(dtype), rng.normal(size=(2, 3)).astype(dtype)]


@pytest.mark.parametrize(
    "options",
    [
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7},
        {"line_search_fn": "strong_wolfe", "max_eval": 3, "lr": 0.5},
        {"lr": 0.05, "max_iter": 6},
        {"lr": 0.05, "history_size": 1, "max_iter": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_to_torch(options, dtype):
    torch = pytorch()
    params = starts(dtype)
    theirs = [torch.tensor(p, requires_grad=True) for p in params]
    reference, optimizer = torch.optim.LBFGS(theirs, **options), optim.LBFGS(params, **options)

    def closure():
        reference.zero_grad()
        loss = rosenbrock(theirs, torch.sin)
        loss.backward()
        return loss

    for _ in range(10 if dtype == np.float64 else 2):  # in float32 rounding errors grow with every step
        before = reference.step(closure).item()
        np.testing.assert_allclose(optimizer.step(tape.value_and_grad(rosenbrock)), before, rtol=2e-5)
        for actual, tensor in zip(params, theirs, strict=True):
            tolerance = 1e-9 if dtype == np.float64 else 1e-3
            np.testing.assert_allclose(actual, tensor.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_minimum():
    params = {"p": tuple(starts())}
    optimizer = optim.LBFGS(params, max_iter=200, tolerance_change=0, line_search_fn="strong_wolfe")
    optimizer.step(tape.compile(tape.value_and_grad(lambda p: rosenbrock(p["p"]))))
    for slope in tape.grad(rosenbrock)(params["p"]):
        np.testing.assert_allclose(slope, 0, atol=1e-5)


def test_a_bracket_that_no_number_lies_in_ends_the_search():
    """Rounding errors make the loss of neighbours rise and fall: the bracket shrinks to one number."""

    def at(t):
        return Point(t, 1.0 - t * (t < 0.3), np.zeros(1), -1.0 if t < 0.3 else 1.0)

    found, evaluations = strong_wolfe(at, at(0.0), 1.0, 1.0, 0.0, 10**4)
    assert found.t == np.nextafter(0.3, 0)
    assert evaluations < 10**3


def test_a_bracket_without_length_ends_the_search():
    """Where rounding hides every fall, with no tolerance to stop at."""
    x = np.array([1.0])
    optimizer = optim.LBFGS(x, max_iter=30, max_eval=500, tolerance_change=0, line_search_fn="strong_wolfe")
    for _ in range(3):
        optimizer.step(lambda x: (1e3 + (x[0] - 2) ** 2 * 1e-12, 2e-5 * (x - 2)))
    assert np.isfinite(x).all()
    still = optim.LBFGS(np.ones(2), lr=0.0, line_search_fn="strong_wolfe")
    assert still.step(lambda w: (np.sum(w**2), 2 * w)) == 2.0


def test_a_bracket_that_has_turned_is_divided_further():
    """Its lower end is the right one first, then the left one."""

    def at(t):
        return Point(t, max(-t, 2 * t - 2.4), np.zeros(1), -1.0 if t < 0.8 else 2.0)

    found, evaluations = strong_wolfe(at, at(0.0), 1.0, 1.0, 1e-9, 100)
    assert found.t == pytest.approx(0.8, abs=1e-8)
    assert evaluations < 60


@pytest.mark.parametrize(("end", "expected"), [(np.inf, 5.505), (2.0, 0.0)])
def test_a_search_that_may_not_go_on_returns_the_lower_of_its_start_and_its_last_point(end, expected):
    def at(t):
        return Point(t, -t if t < end else 5.0, np.zeros(1), -1.0)

    found, evaluations = strong_wolfe(at, at(0.0), 1.0, 1.0, 1e-9, 1)
    assert (found.t, evaluations) == (pytest.approx(expected), 2)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((0.0, 0.0, 0.0), (1.0, 1.0, 2.0), 0.0),  # of t**2, flat at the one end
        ((1.0, 1.0, 2.0), (0.0, 0.0, 0.0), 0.0),
        ((2.0, -4.0, 0.0), (1.0, -3.0, -2.0), 2.0),  # of t * (t - 4), beyond the bounds 1.5
        ((0.0, 1.0, np.inf), (1.0, 0.0, -1.0), 0.25),
        ((0.0, 1.0, -1.0), (1.0, 0.0, np.inf), 0.25),
        ((0.0, np.nan, -1.0), (1.0, 0.0, 1.0), 0.25),
        ((0.0, 0.0, -1.0), (1.0, np.inf, 1.0), 0.25),
        ((1.0, 0.0, -1.0), (1.0, 0.0, -1.0), 0.25),
        ((0.0, 0.0, -1.0), (1.0, -1.0, -1.0), 0.25),  # of a line
    ],
)
def test_the_least_of_a_cubic_is_inside_of_bounds_and_the_middle_where_there_is_none(a, b, expected):
    def point(t, loss, slope):
        return Point(t, loss, np.zeros(1), slope)

    assert _minimum(point(*a), point(*b), (-1.0, 1.5)) == min(expected, 1.5)


def test_a_step_from_a_minimum_and_one_of_nothing_move_nothing():
    x = np.array([1.0, -2.0])
    assert optim.LBFGS(x, tolerance_grad=1e-3).step(lambda x: (2.5, np.array([0.5e-3, -1e-3]))) == 2.5
    np.testing.assert_array_equal(x, [1.0, -2.0])
    assert optim.LBFGS([np.zeros((0, 3))]).step(lambda x: (1.5, [np.zeros((0, 3))])) == 1.5


def test_strides_mixed_dtypes_and_frozen_leaves():
    x, y, z = np.zeros((3, 4))[:, ::2], np.zeros(2, np.float16), np.ones(1)
    optimizer = optim.LBFGS([x, y, z], lr=0.5, frozen=[False, False, True])
    for _ in range(5):
        optimizer.step(
            lambda p: (np.sum((x - 1) ** 2) + np.sum((y - 2) ** 2), [2 * (x - 1), 2 * (y - 2), None])
        )
    np.testing.assert_allclose(x, 1, atol=1e-3)
    np.testing.assert_allclose(y, 2, atol=1e-2)
    assert z == 1


def test_walls_are_searched_back_from():
    """A loss that is not finite beyond its domain, where the first step lands."""
    x = np.array([0.5])
    optimizer = optim.LBFGS(
        x, lr=100.0, tolerance_change=0, line_search_fn="strong_wolfe", max_iter=50, max_eval=200
    )
    with np.errstate(invalid="ignore"):
        optimizer.step(lambda x: (-np.log(x[0]) - np.log(2 - x[0]) + x[0], -1 / x + 1 / (2 - x) + 1))
    np.testing.assert_allclose(x, 2 - np.sqrt(2), rtol=1e-6)


def test_pickled_in_the_middle_it_goes_on_to_the_same_bits():
    params = starts()
    optimizer = optim.LBFGS(params, max_iter=3, history_size=4, line_search_fn="strong_wolfe")
    optimizer.step(tape.value_and_grad(rosenbrock))
    others, other = pickle.loads(pickle.dumps((params, optimizer)))
    for _ in range(3):
        optimizer.step(tape.value_and_grad(rosenbrock))
        other.step(tape.value_and_grad(rosenbrock))
    for ours, theirs in zip(params, others, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_after_an_error_nothing_has_changed():
    params, untroubled = starts(), starts()
    optimizer, reference = (
        optim.LBFGS(p, max_iter=3, line_search_fn="strong_wolfe") for p in (params, untroubled)
    )
    for one in (optimizer, reference):
        one.step(tape.value_and_grad(rosenbrock))
    held = [p.copy() for p in params]

    def failing(after, result):
        calls = []

        def loss_and_grad(p):
            calls.append(0)
            return result if len(calls) > after else tape.value_and_grad(rosenbrock)(p)

        return loss_and_grad

    grads = [np.ones((2, 3)), np.ones((2, 3))]
    for error, match, after, result in [
        (errors.NonFiniteError, "the loss is nan", 0, (np.nan, grads)),
        (errors.NonFiniteError, "gradient not finite", 0, (1.0, [grads[0], np.full((2, 3), np.inf)])),
        (errors.ShapeError, r"grads\[1\] has shape", 2, (1.0, [grads[0], np.ones(3)])),
        (errors.TapeError, "is the array of a parameter", 1, (1.0, [params[0], grads[1]])),
        (errors.OptionError, "not a loss and gradients", 1, 1.0),
        (errors.OptionError, "the loss must be a number", 1, ("low", grads)),
        (errors.ConversionError, "the loss is Var", 1, (tape.Trace().param(1.0), grads)),
    ]:
        with pytest.raises(error, match=match):
            optimizer.step(failing(after, result))
        for p, h in zip(params, held, strict=True):
            np.testing.assert_array_equal(p, h)
    for one in (optimizer, reference):
        one.step(tape.value_and_grad(rosenbrock))
    np.testing.assert_array_equal(params[0], untroubled[0])


def test_settings():
    for options, match in [
        ({"max_iter": 0}, "max_iter is 0"),
        ({"history_size": 1.5}, "history_size is 1.5"),
        ({"line_search_fn": "armijo"}, "line_search_fn is 'armijo'; it must be None or 'strong_wolfe'"),
        ({"tolerance_grad": -1}, "tolerance_grad is -1"),
        ({"lr": -1}, "lr is -1"),
    ]:
        with pytest.raises(errors.OptionError, match=match):
            optim.LBFGS([np.ones(2)], **options)
    assert "line_search_fn=None" in repr(optim.LBFGS([np.ones(2)]))
