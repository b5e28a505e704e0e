"""The pure form of L-BFGS: the steps of PyTorch's, one at a time; compiled, donated, mapped, looped."""

import numpy as np
import pytest

import tape
from tape import errors, optim
from tests.oracles import pytorch
from tests.test_optim_lbfgs import rosenbrock, starts


def stepper(rule, loss=rosenbrock):
    return lambda state, params: rule.update(tape.grad(loss)(params), state, params)


def assert_near(found, expected, tolerance):
    for a, b in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("how", [lambda f: f, tape.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize(("history_size", "lr"), [(10, 0.05), (3, 0.05), (1, 0.02)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_are_those_of_torch(history_size, lr, dtype, how):
    torch = pytorch()
    params = starts(dtype)
    theirs = [torch.tensor(p, requires_grad=True) for p in params]
    reference = torch.optim.LBFGS(theirs, lr=lr, max_iter=1, history_size=history_size)
    rule = optim.lbfgs(lr, history_size)
    state, step = rule.init(params), how(stepper(rule))

    def closure():
        reference.zero_grad()
        loss = rosenbrock(theirs, torch.sin)
        loss.backward()
        return loss

    for _ in range(15 if dtype == np.float64 else 5):
        reference.step(closure)
        state, params = step(state, params)
        assert_near(params, [t.detach().numpy() for t in theirs], 1e-9 if dtype == np.float64 else 1e-4)
    if hasattr(step, "programs"):
        assert len(step.programs) == 1


def test_it_finds_a_minimum():
    params = {"p": tuple(starts())}
    rule = optim.lbfgs(lr=optim.schedules.warmup_cosine(0.5, warmup_steps=20, total_steps=2000))
    step = tape.compile(stepper(rule, lambda p: rosenbrock(p["p"])))
    state = rule.init(params)
    for _ in range(300):
        state, params = step(state, params)
    for slope in tape.grad(rosenbrock)(params["p"]):
        np.testing.assert_allclose(slope, 0, atol=1e-5)
    assert state.step == 300
    assert len(step.programs) == 1  # the state before the first step has the types of those after it


def test_a_quadratic_takes_as_many_steps_as_it_has_curvatures():
    """Not so without a line search, but soon after: far sooner than descent along the gradient."""
    hessian = np.diag([1.0, 10.0, 100.0, 1000.0])
    loss = lambda w: 0.5 * w @ hessian @ w  # noqa: E731
    rule = optim.lbfgs()
    w, step = np.ones(4), tape.compile(stepper(rule, loss))
    state = rule.init(w)
    for _ in range(25):
        state, w = step(state, w)
    assert loss(w) < 1e-12


def test_a_step_with_donated_arguments_in_a_loop_under_vmap():
    rule = optim.lbfgs(lr=0.05, history_size=4)
    params = starts()
    step = stepper(rule)
    state, expected = rule.init(params), params
    for _ in range(6):
        state, expected = step(state, expected)
    donating = tape.compile(step, donate=(0, 1))
    state, found = rule.init(params), [p.copy() for p in params]
    for _ in range(6):
        state, found = donating(state, found)
    assert_near(found, expected, 1e-10)
    looped = tape.compile(lambda s, p: tape.scan(lambda c, _: (step(*c), None), (s, p), length=6)[0])
    assert_near(looped(rule.init(params), params)[1], expected, 1e-10)
    several = [np.stack([p, 0.5 * p, -p]) for p in params]
    mapped = tape.vmap(lambda p: looped(rule.init(p), p)[1])(several)
    assert_near([m[0] for m in mapped], expected, 1e-10)


def test_what_is_frozen_stays_and_dtypes_are_kept():
    params = {"w": np.ones(3, np.float32), "half": np.ones(2, np.float16), "fixed": np.arange(3)}
    rule = optim.lbfgs(lr=0.5, frozen={"w": False, "half": False, "fixed": True})
    state = rule.init(params)
    assert state.slots["turns"]["fixed"] is None
    assert state.slots["turns"]["half"].shape == (10, 2)
    assert state.slots["turns"]["half"].dtype == np.float32
    for _ in range(12):
        grads = {"w": 2 * params["w"], "half": 4 * (params["half"] - 2), "fixed": None}
        state, params = rule.update(grads, state, params)
    assert params["w"].dtype == np.float32
    assert params["half"].dtype == np.float16
    np.testing.assert_allclose(params["w"], 0, atol=1e-3)
    np.testing.assert_allclose(params["half"], 2, atol=2e-3)
    np.testing.assert_array_equal(params["fixed"], np.arange(3))


def test_a_step_of_no_positive_curvature_is_not_learned_from():
    rule, w = optim.lbfgs(lr=0.1), np.array([0.5])
    step = stepper(rule, lambda w: -np.sum(w**2))  # a hill: the curvature is negative everywhere
    state = rule.init(w)
    for _ in range(3):
        before = w
        state, w = step(state, w)
        assert w > before
    np.testing.assert_array_equal(state.scalars["rates"], 0)
    state, w = rule.update(np.zeros(1), state, w)  # where nothing pulls, nothing moves
    assert rule.update(np.zeros(1), state, w)[1] == w


def test_with_accumulated_gradients_and_another_learning_rate():
    params, plain = [np.array([3.0, -1.0])], [np.array([3.0, -1.0])]
    rule, other = optim.accumulated(optim.lbfgs(lr=0.3), every=2), optim.lbfgs(lr=0.3)
    state, reference = rule.init(params), other.init(plain)
    for _ in range(4):
        for noise in (0.5, -0.5):
            state, params = rule.update([params[0] + noise], state, params)
        reference, plain = other.update([plain[0]], reference, plain)
    np.testing.assert_allclose(params[0], plain[0], rtol=1e-12)
    still = other.update([plain[0]], reference.with_lr(0.0), plain)[1]
    np.testing.assert_array_equal(still[0], plain[0])


def test_a_state_of_another_rule_or_size_is_an_error():
    params = [np.ones(2)]
    rule = optim.lbfgs(history_size=3)
    for state, error, words in [
        (optim.adam().init(params), errors.OptionError, "the state is none of LBFGSRule"),
        (optim.lbfgs(history_size=4).init(params), errors.OptionError, "another history_size"),
        (rule.init([np.ones(3)]), errors.ShapeError, r"'gradient' of the state has shape \[3\]"),
        (rule.init([np.ones(2, np.float32)]), errors.DTypeError, "'gradient' of the state is float32"),
    ]:
        with pytest.raises(error, match=words):
            rule.update([np.ones(2)], state, params)
    with pytest.raises(errors.UnsupportedError, match=r"history_size=3.* has no formula for one parameter"):
        _ = rule.formula
    for options in ({"history_size": 0}, {"lr": -1.0}):
        with pytest.raises(errors.OptionError):
            optim.lbfgs(**options)
