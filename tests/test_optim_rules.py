"""The pure form of optimizers: equal to that in place; eager, compiled, donated, looped, differentiated."""

import inspect
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

import tape
from tape import errors, optim
from tests.oracles import pytorch
from tests.tiers import grid, some, takes_long

RULES = {
    "SGD": {"lr": 0.05},
    "SGD momentum": {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1},
    "SGD nesterov": {"lr": 0.05, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.05, "weight_decay": 0.1},
    "Adam amsgrad": {"lr": 0.05, "amsgrad": True},
    "AdamW": {"lr": 0.05},
    "Adamax": {"lr": 0.05},
    "NAdam": {"lr": 0.05, "decoupled_weight_decay": True, "weight_decay": 0.1},
    "RMSprop": {"lr": 0.05, "momentum": 0.5, "centered": True, "eps": 1e-3},
    "Adagrad": {"lr": 0.05, "lr_decay": 0.01},
    "Adadelta": {},
    "Lion": {"lr": 0.05, "weight_decay": 0.1},
    "Muon": {"lr": 0.05},
}
every_rule = pytest.mark.parametrize("name", RULES)


def both(name, params, **more):
    """The optimizer in place, on copies, and the rule."""
    kind, options = name.split()[0], RULES[name] | more
    return getattr(optim, kind)(params, **options), getattr(optim, kind.lower())(**options)


def make_params(rng, dtype=np.float64):
    return {
        "layers": [rng.normal(size=(3, 4)).astype(dtype), rng.normal(size=4).astype(np.float32)],
        "scale": rng.normal(size=1).astype(dtype),
    }


def loss(params, x):
    return np.mean((np.tanh(x @ params["layers"][0] + params["layers"][1]) * params["scale"] - 0.5) ** 2)


def assert_near(actual, expected, tolerance=2e-5):
    for a, e in zip(tape.tree.leaves(actual), tape.tree.leaves(expected), strict=True):
        assert a.dtype == e.dtype
        np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


@grid(name=RULES, dtype=[np.float64, np.float32, np.float16], ids=str)
def test_equal_to_the_optimizer_in_place(name, dtype):
    rng = np.random.default_rng(0)
    held = make_params(rng, dtype)
    params = tape.tree.map(np.copy, held)
    optimizer, rule = both(name, held)
    state = rule.init(params)
    for _ in range(10):
        grads = tape.tree.map(lambda p: rng.normal(size=p.shape).astype(p.dtype), params)
        optimizer.step(grads)
        state, params = rule.update(grads, state, params)
    assert_near(params, held, 2e-2 if dtype == np.float16 else 2e-5)
    assert state.step == 10


@every_rule
def test_no_decay_of_an_infinite_parameter_is_no_nan(name):
    """Zero times infinity is NaN: without decay, PyTorch computes no such product."""
    held = [np.array([np.inf, 1.0, -np.inf])]
    params = [held[0].copy()]
    optimizer, rule = both(name, held, **({} if name == "Adadelta" else {"weight_decay": 0.0}))
    state = rule.init(params)
    for _ in range(3):
        optimizer.step([np.array([1.0, -2.0, 3.0])])
        state, params = rule.update([np.array([1.0, -2.0, 3.0])], state, params)
    for found in (held[0], params[0]):
        np.testing.assert_array_equal(np.isinf(found), [True, False, True])


@pytest.mark.parametrize("name", some(RULES, every=4))
def test_compiled_training_step_equals_the_eager_one(name):
    rng = np.random.default_rng(1)
    start, x = make_params(rng), rng.normal(size=(5, 3))
    held = tape.tree.map(np.copy, start)
    optimizer, rule = both(name, held)

    def train(params, state, x):
        value, grads = tape.value_and_grad(loss)(params, x)
        grads, _ = optim.clip_by_global_norm(grads, 0.1)
        state, params = rule.update(grads, state, params)
        return params, state, value

    compiled = tape.compile(train, donate=(0, 1))
    params, state = tape.tree.map(np.copy, start), rule.init(start)
    eager, its_state = start, rule.init(start)
    for step in range(10):
        grads, _ = optim.clip_by_global_norm(tape.grad(loss)(held, x), 0.1)
        optimizer.step(grads)
        params, state, value = compiled(params, state, x)
        eager, its_state, its_value = train(eager, its_state, x)
        np.testing.assert_allclose(value, its_value, rtol=1e-5)
        if step == 5:
            optimizer.lr = 0.01
            state, its_state = state.with_lr(0.01), its_state.with_lr(0.01)
    assert_near(params, eager)
    assert_near(params, held)
    assert state.step == 10
    assert len(compiled.programs) == 1


def test_memory_of_donated_params_and_state_is_used_again():
    params = [np.ones(1000), np.ones((20, 20))]
    rule = optim.adam()
    step = tape.compile(lambda grads, state, params: rule.update(grads, state, params), donate=(1, 2))
    grads = [np.ones(1000), np.ones((20, 20))]
    state, params = step(grads, rule.init(params), params)
    addresses = [a.ctypes.data for a in tape.tree.leaves((state.slots, params))]
    for _ in range(3):
        state, params = step(grads, state, params)
    assert addresses == [a.ctypes.data for a in tape.tree.leaves((state.slots, params))]


def test_steps_in_a_loop():
    rule, x = optim.adam(lr=0.05), np.random.default_rng(2).normal(size=(5, 3))
    start = make_params(np.random.default_rng(3))

    def body(carry, _):
        params, state = carry
        state, params = rule.update(tape.grad(loss)(params, x), state, params)
        return (params, state), loss(params, x)

    (params, state), losses = tape.compile(
        lambda params, state: tape.scan(body, (params, state), None, length=10)
    )(start, rule.init(start))
    expected, its_state = start, rule.init(start)
    for value in losses:
        its_state, expected = rule.update(tape.grad(loss)(expected, x), its_state, expected)
        np.testing.assert_allclose(value, loss(expected, x), rtol=1e-6)
    assert_near(params, expected)
    assert state.step == 10


def test_the_learning_rate_has_a_derivative():
    rule, x = optim.sgd(lr=0.1, momentum=0.9), np.random.default_rng(4).normal(size=(5, 3))
    start = make_params(np.random.default_rng(5))

    def after_training(lr):
        params, state = start, rule.init(start).with_lr(lr)
        for _ in range(3):
            state, params = rule.update(tape.grad(loss)(params, x), state, params)
        return loss(params, x)

    slope = (after_training(0.1 + 1e-3) - after_training(0.1 - 1e-3)) / 2e-3
    np.testing.assert_allclose(tape.grad(after_training)(0.1), slope, rtol=1e-3)


def test_a_schedule_sees_the_steps_before():
    seen = optim.sgd(lr=lambda step: 1.0 / (step + 1))
    params, state = np.zeros(1), seen.init(np.zeros(1))
    step = tape.compile(lambda state, params: seen.update(np.ones(1), state, params))
    for _ in range(3):
        state, params = step(state, params)
    np.testing.assert_allclose(params, -(1 + 1 / 2 + 1 / 3))
    assert state.lr is None
    with pytest.raises(errors.OptionError, match="has a schedule"):
        state.with_lr(0.1)


@every_rule
def test_pickled_states_go_on_to_the_same_bits(name):
    rng = np.random.default_rng(6)
    params = make_params(rng)
    _, rule = both(name, tape.tree.map(np.copy, params))
    grads = [tape.tree.map(lambda p: rng.normal(size=p.shape).astype(p.dtype), params) for _ in range(4)]
    state = rule.init(params)
    for gradient in grads[:2]:
        state, params = rule.update(gradient, state, params)
    rule2, state2, params2 = pickle.loads(pickle.dumps((rule, state, params)))
    for gradient in grads[2:]:
        state, params = rule.update(gradient, state, params)
        state2, params2 = rule2.update(gradient, state2, params2)
    for ours, theirs in zip(
        tape.tree.leaves((state, params)), tape.tree.leaves((state2, params2)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@dataclass(frozen=True)
class Model:
    weight: np.ndarray
    scale: float


def test_numbers_and_dataclasses_are_trees():
    rule = optim.sgd(lr=0.5, momentum=0.5)
    state, model = Model(np.ones(2), 1.0), None
    state, model = rule.update(Model(np.ones(2), 2.0), rule.init(state), state)
    np.testing.assert_array_equal(model.weight, 0.5)
    assert model.scale == 0
    assert state.slots["velocity"].scale == 2.0


# ---- masks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mask",
    [{"layers": [True, False], "scale": False}, lambda name: name == "params['layers'][0]"],
    ids=["tree", "function"],
)
@pytest.mark.parametrize("name", ["SGD momentum", "AdamW", "Muon"])
def test_weight_decay_of_some(name, mask):
    held = make_params(np.random.default_rng(7))
    start = tape.tree.map(np.copy, held)
    optimizer, rule = both(name, held, weight_decay=0.1, weight_decay_mask=mask)
    grads = tape.tree.map(np.ones_like, held)
    _, params = rule.update(grads, rule.init(start), start)
    optimizer.step(grads)
    assert_near(params, held)
    for weight_decay, layer in ((0.1, 0), (0.0, 1)):
        expected = tape.tree.map(np.copy, start)
        both(name, expected, weight_decay=weight_decay)[0].step(grads)
        np.testing.assert_array_equal(held["layers"][layer], expected["layers"][layer])


@pytest.mark.parametrize("frozen", [{"layers": True, "scale": False}, lambda name: "layers" in name])
@pytest.mark.parametrize("name", ["Adam", "Muon", "SGD"])
def test_frozen_parts_have_no_state_and_need_no_gradient(name, frozen):
    held = make_params(np.random.default_rng(8))
    start = tape.tree.map(np.copy, held)
    optimizer, rule = both(name, held, frozen=frozen)
    grads = {"layers": [None, None], "scale": np.ones(1)}
    state, params = rule.update(grads, rule.init(start), start)
    optimizer.step(grads)
    pickle.loads(pickle.dumps(optimizer)).step(grads)  # evaluated functions need not be pickled
    assert_near(params, held)
    assert params["layers"][0] is start["layers"][0]
    assert params["scale"] != start["scale"]
    assert all(slot["layers"] == [None, None] for slot in state.slots.values())
    compiled = tape.compile(lambda state, params: rule.update({**params, "scale": np.ones(1)}, state, params))
    assert_near(compiled(rule.init(start), start)[1], params)


# ---- errors ------------------------------------------------------------------------------------------


def test_errors_name_the_leaf():
    rule, params = optim.adam(), {"w": np.ones(2), "b": np.ones(1)}
    state = rule.init(params)
    for error, match, grads in [
        (errors.ShapeError, "the gradients are", {"w": np.ones(2)}),
        (errors.ShapeError, "the gradients are", {"w": np.ones(2), "b": None}),
        (errors.ShapeError, r"grads\['w'\] has shape \[3\]", {"w": np.ones(3), "b": np.ones(1)}),
        (errors.DTypeError, r"grads\['b'\] is float32", {"w": np.ones(2), "b": np.ones(1, np.float32)}),
        (errors.DTypeError, r"grads\['b'\] is str", {"w": np.ones(2), "b": "x"}),
    ]:
        with pytest.raises(error, match=match):
            rule.update(grads, state, params)
    for error, match, bad in [
        (errors.TapeError, "empty", []),
        (errors.DTypeError, r"params\[1\] is ndarray int64\[2\]", [np.ones(2), np.ones(2, np.int64)]),
        (errors.DTypeError, r"params\[0\] is complex128.*real and imag", [np.ones(2, complex)]),
        (errors.DTypeError, r"params\['n'\] is int", {"n": 3}),
    ]:
        with pytest.raises(error, match=match):
            rule.init(bad)


def test_a_state_of_another_rule_or_other_params():
    params, halves = [np.ones(2)], [np.ones(2, np.float16)]
    with pytest.raises(errors.OptionError, match=r"no 'mean' for params\[0\]"):
        optim.adam().update(params, optim.sgd(lr=0.1).init(params), params)
    with pytest.raises(errors.OptionError, match="not one of this rule"):
        optim.adam().update(params, optim.adam(lr=lambda step: 0.1).init(params), params)
    with pytest.raises(errors.OptionError, match="not one of this rule"):
        optim.adam().update(params, {}, params)
    with pytest.raises(errors.ShapeError, match="slots 'mean' of the state"):
        optim.adam().update(params * 2, optim.adam().init(params), params * 2)
    with pytest.raises(
        errors.ShapeError, match=r"'mean' of the state has shape \[2\], and params\[0\] \[3, 2\]"
    ):
        optim.adam().update([np.ones((3, 2))], optim.adam().init(params), [np.ones((3, 2))])
    with pytest.raises(errors.DTypeError, match=r"'mean' of the state is float64, .* float32"):
        optim.adam().update(halves, optim.adam().init(params), halves)


def test_a_state_that_holds_more_is_of_another_rule():
    params = [np.ones(2)]
    with pytest.raises(errors.OptionError, match=r"'velocity' for params\[0\], which is of another rule"):
        optim.sgd(lr=0.1).update(params, optim.sgd(lr=0.1, momentum=0.9).init(params), params)
    with pytest.raises(errors.OptionError, match=r"'mean' .* of another rule"):
        optim.rmsprop().update(params, optim.adam().init(params), params)
    with pytest.raises(errors.OptionError, match=r"the scalars \['momenta'\], not \[\]"):
        optim.adam().update(params, optim.nadam().init(params), params)


def test_settings_out_of_range():
    params = [np.ones(2)]
    for make, match in [
        (lambda: optim.adam(lr=-1), "lr is -1"),
        (lambda: optim.adam(lr=None), "lr must be a number"),
        (lambda: optim.sgd(lr=0.1, nesterov=True), "needs a positive momentum"),
        (lambda: optim.rmsprop(alpha=1.0), "alpha is 1.0"),
        (lambda: optim.adagrad(lr_decay=-1), "lr_decay is -1"),
        (lambda: optim.adadelta(rho=2), "rho is 2"),
        (lambda: optim.lion(betas=0.9), "betas must be a pair"),
        (lambda: optim.nadam(momentum_decay=-1), "momentum_decay is -1"),
        (lambda: optim.adam().init(params).with_lr(-1), "lr is -1"),
        (lambda: optim.Adam(params, lr=lambda step: 0.1), "lr must be a number"),
        (lambda: optim.adam(frozen={"w": True}).init(params), "frozen is"),
        (lambda: optim.adam(frozen=["yes"]).init(params), r"frozen says 'yes' of params\[0\]"),
        (lambda: optim.Adam(params, weight_decay_mask=lambda name: 1), r"weight_decay_mask says 1 of"),
    ]:
        with pytest.raises(errors.TapeError, match=match):
            make()
    with pytest.raises(errors.ConversionError, match="lr is Var"):
        tape.grad(lambda lr: replace(optim.adam(), lr=lr).lr)(0.1)


def test_rules_print_their_settings():
    assert str(optim.sgd(lr=0.1, momentum=0.5)).startswith("SGDRule(lr=0.1, weight_decay=0.0")
    assert "momentum=0.5" in repr(optim.SGD([np.ones(1)], lr=0.1, momentum=0.5))


def test_a_rule_may_be_an_argument_of_a_compiled_function():
    step = tape.compile(lambda rule, grads, state, params: rule.update(grads, state, params))
    params, masked = [np.ones(2)], optim.sgd(lr=0.1, weight_decay=0.5, weight_decay_mask=[False])
    for rule in (
        optim.sgd(lr=0.1),
        optim.sgd(lr=0.1, weight_decay=0.5),
        masked,
        optim.muon(),
        optim.sgd(lr=0.1),
    ):
        state = rule.init(params)
        _, expected = rule.update([np.ones(2)], state, params)
        np.testing.assert_array_equal(step(rule, [np.ones(2)], state, params)[1][0], expected[0])


KINDS = [
    optim.SGD, optim.Adam, optim.AdamW, optim.Adamax, optim.NAdam, optim.RMSprop, optim.Adagrad,
    optim.Adadelta, optim.Lion, optim.Muon, optim.LBFGS,
]  # fmt: skip


@takes_long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_defaults_are_those_of_both_forms_and_of_torch(kind):
    def defaults(function):
        found = inspect.signature(function).parameters.items()
        return {name: one.default for name, one in found if name not in ("self", "params")}

    ours = defaults(kind)
    if kind is not optim.LBFGS:
        assert defaults(getattr(optim, kind.__name__.lower())) == ours
    theirs = getattr(pytorch().optim, kind.__name__, None)
    if theirs is not None:
        shared = {name: value for name, value in defaults(theirs).items() if name in ours}
        wanted = {name: ours[name] for name in shared}
        assert wanted | ({"lr": shared["lr"]} if kind is optim.SGD else {}) == shared
        assert len(shared) >= 4


def wrong_values(name, default):
    """Values out of the range of a setting, and what the error calls them."""
    if isinstance(default, tuple):
        first, *others = default
        yield from ((one, name) for one in (first, None, (first,), (*others, first, first, first)))
        if "coefficients" in name:
            yield from (((*others, one), rf"{name}\[2\]") for one in (np.nan, -np.inf, "x"))
        if "betas" in name:
            wrong_at = ((-0.5, *others), 0), ((first, 1.0), 1), ((first, np.nan), 1)
            yield from ((one, rf"{name}\[{k}\]") for one, k in wrong_at)
    elif isinstance(default, int):
        yield from ((one, name) for one in (0, -1, 1.5, True, "2", None))
    else:
        is_share = name in ("momentum", "alpha", "rho")
        yield from ((one, name) for one in (-0.5, np.nan, np.inf, "x", 1j, *[1.0] * is_share))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_setting_has_its_range_and_errors_name_it(kind):
    """In both forms."""
    needed = {"lr": 0.1}
    for make, args in ((kind, ([np.ones((2, 2))],)), (getattr(optim, kind.__name__.lower()), ())):
        for name, parameter in inspect.signature(make).parameters.items():
            default = 0.1 if name == "lr" else parameter.default
            if isinstance(default, bool) or not isinstance(default, int | float | tuple):
                continue
            assert make(*args, **needed, **{} if name == "lr" else {name: default}) is not None
            for value, said in wrong_values(name, default):
                with pytest.raises(errors.OptionError, match=rf"^{said} "):
                    make(*args, **needed | {name: value})
