"""Edges of optimizers: where iterations end, defaults, ranges and names of settings, masks, and memory."""

import inspect

import numpy as np
import pytest

import tape
from tape import errors, optim
from tape.optim import schedules
from tape.tree import leaves
from tests.oracles import pytorch

RULES = {
    name: getattr(optim, name)
    for name in ("sgd", "adam", "adamw", "adamax", "nadam", "rmsprop", "adagrad", "adadelta", "lion", "muon")
} | {"lbfgs": optim.lbfgs}
every_rule = pytest.mark.parametrize("name", RULES)


# ---- L-BFGS: what ends its iterations -----------------------------------------------------------------

ENDS = {
    "a gradient at its tolerance": (
        {"tolerance_grad": 0.5, "tolerance_change": 0},
        [(5, 1), (4, 0.5), (3, 0.4), (2, 0.3)],
    ),
    "a gradient above its tolerance": (
        {"tolerance_grad": 0.5, "tolerance_change": 0, "max_iter": 4},
        [(5, 1), (4, 0.75), (3, 0.625), (2, 0.3), (1, 0.2)],
    ),
    "a gradient of the other sign": (
        {"tolerance_grad": 0.5, "tolerance_change": 0, "max_iter": 4},
        [(5, 1), (4, -0.75), (3, 0.625), (2, -0.5), (1, 0.2)],
    ),
    "a change at its tolerance": (
        {"tolerance_grad": 0, "tolerance_change": 0.25, "lr": 0.25},
        [(5, 1), (4, 0.75), (3, 0.7), (2, 0.6)],
    ),
    "a change of the loss below its tolerance": (
        {"tolerance_grad": 0, "tolerance_change": 0.25, "lr": 0.5},
        [(5, 1), (4.875, 0.75), (3, 0.7), (2, 0.6)],
    ),
    "a change of the loss at its tolerance": (
        {"tolerance_grad": 0, "tolerance_change": 0.25, "lr": 0.5, "max_iter": 3},
        [(5, 1), (4.75, 0.9), (3, 0.85), (2, 0.8)],
    ),
    "a loss that rises by less": (
        {"tolerance_grad": 0, "tolerance_change": 0.25, "lr": 0.5},
        [(5, 1), (5.125, 0.75), (3, 0.7), (2, 0.6)],
    ),
    "a slope at the tolerance": (
        {"tolerance_grad": 0, "tolerance_change": 1.0, "lr": 4.0, "max_iter": 2},
        [(5, 1), (3, -2.0), (1, 0.5)],
    ),
    "a slope below the tolerance": (
        {"tolerance_grad": 0, "tolerance_change": 1.5, "lr": 4.0},
        [(5, 1), (3, -2.0), (1, 0.5)],
    ),
    "evaluations": ({"max_eval": 3, "tolerance_change": 0}, [(5 - k, 1 - k / 8) for k in range(6)]),
    "iterations": ({"max_iter": 3, "tolerance_change": 0}, [(5 - k, 1 - k / 8) for k in range(6)]),
    "evaluations unless given": (
        {"max_iter": 8, "tolerance_change": 0},
        [(20 - k, 1 - k / 16) for k in range(14)],
    ),
    "the first gradient": ({"tolerance_grad": 1.0}, [(5, 1), (4, 0.5)]),
    "defaults, by the gradient": ({}, [(5, 1), (4, 1e-7), (3, 0.5)]),
    "defaults, not yet by the gradient": ({"max_iter": 3}, [(5, 1), (4, 1.1e-4), (3, 0.9e-7), (2, 0.1)]),
}


@pytest.mark.parametrize("name", ENDS)
def test_iterations_of_lbfgs_end_where_those_of_torch_do(name):
    """Whatever the parameters, losses and gradients are those of a list, in order."""
    torch = pytorch()
    options, script = ENDS[name]
    ours, theirs = np.array([3.0]), torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    calls = {"ours": 0, "theirs": 0}

    def scripted(who):
        loss, gradient = script[calls[who] % len(script)]
        calls[who] += 1
        return float(loss), np.array([gradient], float)

    def closure():
        loss, gradient = scripted("theirs")
        theirs.grad = torch.tensor(gradient)
        return torch.tensor(loss)

    optimizer, reference = optim.LBFGS(ours, **options), torch.optim.LBFGS([theirs], **options)
    # After a slope that is too flat, PyTorch's learns from a step that was not made
    for _ in range(1 if name == "a slope below the tolerance" else 2):
        assert optimizer.step(lambda w: scripted("ours")) == float(reference.step(closure))
        assert calls["ours"] == calls["theirs"]
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-14)


@pytest.mark.parametrize("max_eval", [1, 2, 3, 5, None])
@pytest.mark.parametrize("lr", [0.01, 1.0, 30.0])
def test_line_searches_take_as_many_evaluations_as_those_of_torch(lr, max_eval):
    torch = pytorch()
    options = {"lr": lr, "max_iter": 4, "max_eval": max_eval, "line_search_fn": "strong_wolfe"}
    ours, theirs = np.array([2.0, -1.0]), torch.tensor([2.0, -1.0], dtype=torch.float64, requires_grad=True)
    calls = []

    def loss(w, cosh, scale):
        return (cosh(w) * scale).sum() + 0.1 * (w[0] - w[1]) ** 4

    def counted(w):
        calls.append(w.copy())
        return tape.value_and_grad(lambda w: loss(w, np.cosh, np.array([1.0, 3.0])))(w)

    def closure():
        reference.zero_grad()
        value = loss(theirs, torch.cosh, torch.tensor([1.0, 3.0], dtype=torch.float64))
        value.backward()
        calls.append(theirs.detach().numpy().copy())
        return value

    optim.LBFGS(ours, **options).step(counted)
    found, calls = calls, []
    reference = torch.optim.LBFGS([theirs], **options)
    reference.step(closure)
    np.testing.assert_allclose(found, calls, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-9)


# ---- defaults, ranges, names ----------------------------------------------------------------------------


@every_rule
def test_the_class_of_a_rule_has_the_defaults_of_its_function_and_no_leaves(name):
    """So that a rule, as an argument of a compiled function, is structure alone."""
    made = RULES[name](lr=0.25)
    plain = type(made)(0.25)
    assert plain.weight_decay == 0
    for setting in inspect.signature(RULES[name]).parameters:
        if setting != "weight_decay":
            assert getattr(made, setting) == getattr(plain, setting), setting
    assert tape.tree.leaves(made) == []
    with pytest.raises(AttributeError, match="cannot assign"):
        made.lr = 1.0
    average = optim.ema(0.5)
    assert tape.tree.leaves([average, optim.polyak(), optim.accumulated(made, 2)]) == []


@every_rule
def test_settings_are_kept_as_numbers_and_tuples_that_have_a_hash(name):
    """Whatever numbers and lists they were given as."""
    for setting, parameter in inspect.signature(RULES[name]).parameters.items():
        default = parameter.default
        if isinstance(default, tuple):
            given, kept = [np.float32(0.5)] * len(default), (0.5,) * len(default)
        elif isinstance(default, bool):
            given, kept = 1, True
        elif isinstance(default, int):
            given, kept = np.int8(3), 3
        elif isinstance(default, float) or setting == "lr":
            given, kept = np.array(0.5), 0.5
        else:
            continue
        others = {"momentum": 0.5} if setting == "nesterov" else {}
        rule = RULES[name](**{"lr": 0.1, setting: given} | others)
        found = getattr(rule, setting)
        assert found == kept
        assert type(found) is type(kept)
        assert hash(rule) == hash(RULES[name](**{"lr": 0.1, setting: kept} | others))
        assert repr(kept) in repr(rule)


def test_what_no_matrix_is_takes_the_settings_of_adamw():
    """Of the rule, which shows them, and with an eps that matters."""
    rule = optim.muon(lr=0.5, weight_decay=0.25, adamw_betas=(0.5, 0.75), adamw_eps=2.0)
    assert (rule.adamw_betas, rule.adamw_eps) == ((0.5, 0.75), 2.0)
    other = optim.adamw(lr=0.5, weight_decay=0.25, betas=(0.5, 0.75), eps=2.0)
    moved, expected = [np.array([1.0, -3.0])], [np.array([1.0, -3.0])]
    state, reference = rule.init(moved), other.init(expected)
    for gradient in ([np.array([2.0, 1.0])], [np.array([-1.0, 0.5])]):
        state, moved = rule.update(gradient, state, moved)
        reference, expected = other.update(gradient, reference, expected)
    np.testing.assert_array_equal(moved[0], expected[0])


SCHEDULES = {
    "step": (0.1, 5, 0.5), "multi_step": (0.1, [3, 5], 0.5), "exponential": (0.1, 0.5),
    "linear": (0.1, 5, 0.5, 0.75), "constant": (0.1,), "cosine": (0.1, 5, 0.01),
    "cosine_restarts": (0.1, 5, 2, 0.01), "one_cycle": (0.1, 20, 0.3, "cos", 25.0, 1e4, True),
    "warmup_cosine": (0.1, 3, 10, 0.5, 0.01), "Plateau": (0.1, "min", 0.5, 2, 0.1, "rel", 1, 0.01, 1e-8),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_setting_of_a_schedule_has_its_range_and_errors_name_it(name):
    make, args = getattr(schedules, name), SCHEDULES[name]
    names = list(inspect.signature(make).parameters)
    assert len(names) == len(args)
    assert make(*args) is not None
    for k, setting in enumerate(names):
        value, said = args[k], setting
        if isinstance(value, bool):
            continue
        if isinstance(value, str):
            wrong = ["x", None]
        elif isinstance(value, list):
            wrong = [3, None, "ab"]
        elif isinstance(value, int):
            wrong = [-1, 1.5, True, "2", None]
        else:
            wrong = [-0.5, np.inf, np.nan, "x", None]
        for bad in wrong:
            with pytest.raises(errors.OptionError, match=rf"^{said} "):
                make(*args[:k], bad, *args[k + 1 :])


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: schedules.step(0.0, 1, 0.0)(3), 0.0),
        (lambda: schedules.multi_step(0.5, [])(3), 0.5),
        (lambda: schedules.multi_step(0.5, [0], 0.5)(0), 0.25),
        (lambda: schedules.multi_step(0.5, (0, 0), 0.5)(np.int8(1)), 0.125),
        (lambda: schedules.step(0.5, 1)(1), 0.05),
        (lambda: schedules.multi_step(0.5, [1])(1), 0.05),
        (lambda: schedules.exponential(0.5, 0.5)(np.array(2)), 0.125),
        (lambda: schedules.linear(0.6)(0), 0.2),
        (lambda: schedules.linear(0.6)(4), 0.52),
        (lambda: schedules.linear(0.6)(5), 0.6),
        (lambda: schedules.linear(0.6, 1, 0.0, 0.5)(1), 0.3),
        (lambda: schedules.cosine(0.6, 1)(1), 0.0),
        (lambda: schedules.cosine(0.6, 1)(2), 0.6),
        (lambda: schedules.cosine_restarts(0.6, 1)(7), 0.6),
        (lambda: schedules.joined([schedules.constant(0.5), schedules.constant(0.25)], [0])(0), 0.25),
        (lambda: schedules.joined([schedules.exponential(0.5, 0.5)], [])(1), 0.25),
        (lambda: schedules.warmup_cosine(0.8, 1, 2)(0), 0.0),
        (lambda: schedules.warmup_cosine(0.8, 1, 2)(1), 0.8),
        (lambda: schedules.warmup_cosine(0.8, 1, 2, eta_min=0.1)(2), 0.1),
    ],
)
def test_schedules_of_the_fewest_steps(call, value):
    assert call() == pytest.approx(value, abs=1e-16)


def test_defaults_of_schedules_are_those_of_torch():
    theirs = pytorch().optim.lr_scheduler
    pairs = {
        "step": "StepLR", "multi_step": "MultiStepLR", "cosine": "CosineAnnealingLR", "linear": "LinearLR",
        "cosine_restarts": "CosineAnnealingWarmRestarts", "one_cycle": "OneCycleLR",
        "Plateau": "ReduceLROnPlateau",
    }  # fmt: skip
    for ours, name in pairs.items():
        other = inspect.signature(getattr(theirs, name)).parameters
        for setting, one in inspect.signature(getattr(schedules, ours)).parameters.items():
            if one.default is not inspect.Parameter.empty:
                assert one.default == pytest.approx(other[setting].default), (ours, setting)


PLATEAUS = [
    {"patience": 0, "eps": 0.25, "factor": 0.5},
    {"patience": 0, "eps": 0.2, "factor": 0.5},
    {"patience": 0, "threshold": 0.25, "factor": 0.5},
    {"patience": 0, "threshold": 1.0, "threshold_mode": "abs", "factor": 0.5},
    {"patience": 0, "threshold": 0.25, "factor": 0.5, "mode": "max"},
    {"patience": 0, "threshold": 0.5, "threshold_mode": "abs", "factor": 0.5, "mode": "max"},
    {"patience": 1, "cooldown": 1, "factor": 0.5, "min_lr": 0.2},
    {"patience": 0, "cooldown": 3, "factor": 0.0},
    {"factor": 0.5},
]


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_a_plateau_equals_that_of_torch_at_its_thresholds(options):
    """Of losses that are exactly so much better, and of changes that are exactly so small."""
    torch = pytorch()
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.5)
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    plateau = schedules.Plateau(0.5, **options)
    for loss in [4.0, 3.0, 2.25, 2.25, 2.0, 2.5, 3.125, 3.625, 4.0, 5.0, 5.5, *[5.0] * 13, 0.0, 0.0]:
        reference.step(loss)
        assert plateau.step(loss) == optimizer.param_groups[0]["lr"]


# ---- masks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "chosen"),
    [
        (None, [True, True, True]),
        (True, [True, True, True]),
        (False, [False, False, False]),
        (np.bool(False), [False, False, False]),
        ({"a": np.bool(False), "b": True}, [False, True, True]),
        ({"a": True, "b": [np.bool(True), False]}, [True, True, False]),
        (lambda name: name == "params['b'][1]", [False, False, True]),
        (lambda name: np.bool("a" in name and "b" not in name.replace("params", "")), [True, False, False]),
    ],
)
def test_masks_select_leaves(mask, chosen):
    """What decays, and what is not frozen, in both forms."""
    start = {"a": np.ones(2), "b": [np.full(1, 2.0), np.full((1, 1), 4.0)]}
    zeros = tape.tree.map(np.zeros_like, start)
    held = tape.tree.map(np.copy, start)
    options = {"lr": 0.5, "weight_decay": 0.5, "weight_decay_mask": mask}
    optim.SGD(held, **options).step(zeros)
    rule = optim.sgd(**options)
    _, moved = rule.update(zeros, rule.init(start), start)
    for before, one, other, is_chosen in zip(*map(leaves, (start, held, moved)), chosen, strict=True):
        np.testing.assert_array_equal(one, before * (0.75 if is_chosen else 1.0))
        np.testing.assert_array_equal(other, one)
    if mask is None:
        return
    held = tape.tree.map(np.copy, start)
    ones = tape.tree.map(np.ones_like, start)
    optim.SGD(held, lr=0.5, frozen=mask).step(ones)
    rule = optim.sgd(lr=0.5, frozen=mask)
    _, moved = rule.update(ones, rule.init(start), start)
    for before, one, other, is_chosen in zip(*map(leaves, (start, held, moved)), chosen, strict=True):
        np.testing.assert_array_equal(one, before - (0.0 if is_chosen else 0.5))
        np.testing.assert_array_equal(other, one)


# ---- memory and gradients that do not fit -----------------------------------------------------------------


def test_arrays_that_lie_between_one_another_are_parameters_and_those_that_overlap_are_named():
    whole, other = np.zeros(10), np.zeros(3)
    optim.SGD([whole[::2], whole[1::2]], lr=1.0).step([np.ones(5), np.ones(5)])
    optim.SGD([whole[:5], whole[5:]], lr=1.0).step([np.ones(5), np.ones(5)])
    np.testing.assert_array_equal(whole, -2.0)
    optim.SGD([whole[3:3], whole], lr=1.0)
    for params, names in [
        ([whole[4:], other, whole[:5]], r"params\[0\] and params\[2\] share"),
        ([other, whole[::2], whole[1::2], whole[9:]], r"params\[2\] and params\[3\] share"),
        ([whole, whole], r"params\[0\] and params\[1\] share"),
        ({"a": whole[:3], "b": whole[2:]}, r"params\['a'\] and params\['b'\] share"),
    ]:
        with pytest.raises(errors.TapeError, match=names):
            optim.SGD(params, lr=1.0)


READ_ONLY = np.ones(2)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ([np.ones(2), READ_ONLY], errors.InPlaceError, r"^params\[1\] is read-only"),
        ({"w": np.ones(2, int)}, errors.DTypeError, r"^params\['w'\] is ndarray int64\[2\]"),
        ({"w": 1.0}, errors.DTypeError, r"^params\['w'\] is float"),
        ([np.ones(2, complex)], errors.DTypeError, r"^params\[0\] is complex128\[2\]\. Optimize the real"),
        (np.ones(2, bool), errors.DTypeError, r"^params is ndarray bool\[2\]"),
        ([np.ma.ones(2)], errors.DTypeError, r"^params\[0\] is MaskedArray"),
        ([], errors.TapeError, "the tree of parameters is empty"),
        ({}, errors.TapeError, "the tree of parameters is empty"),
    ],
)
def test_what_is_no_parameter_is_named(params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params, lr=1.0)
    if leaves(params):
        given = {"held": params, "x": np.ones(1)}
        optim.SGD(given, lr=1.0, frozen={"held": True, "x": False}).step({"held": params, "x": np.ones(1)})
        assert given["x"] == 0


@pytest.mark.parametrize(
    ("grads", "error", "message"),
    [
        ([np.ones(2)], errors.ShapeError, r"^1 gradients for 2 parameters"),
        (np.ones(2), errors.ShapeError, "the parameters are a list of 2 arrays, and the gradients"),
        ([np.ones(2), np.ones((1, 3))], errors.ShapeError, r"^grads\[1\] has shape \[1, 3\].*\[3\]"),
        ([np.ones(2, "f4"), np.ones(3)], errors.DTypeError, r"^grads\[0\] is float32.*float64"),
        ([np.ones(2), [1.0, 2.0, 3.0]], errors.DTypeError, r"^grads\[1\] is list"),
        ([np.ones(2), None], errors.DTypeError, r"^grads\[1\] is NoneType"),
    ],
)
def test_gradients_that_do_not_fit_are_named_and_change_nothing(grads, error, message):
    params = [np.zeros(2), np.zeros(3)]
    optimizer = optim.SGD(params, lr=1.0, momentum=0.5)
    with pytest.raises(error, match=message):
        optimizer.step(grads)
    assert not any(p.any() for p in params)
    assert optimizer.state_dict()["steps"] == 0


# ---- clipping and averages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grads", "max_norm", "norm", "factor"),
    [
        ([np.array([3.0]), np.array([4.0])], 5.0, 5.0, 1.0),
        ([np.array([3.0]), np.array([4.0])], 4.0, 5.0, 0.8),
        ([np.array([3.0]), np.array([4.0])], 0.0, 5.0, 0.0),
        ([np.zeros(2)], 0.0, 0.0, 1.0),
        ([np.zeros((0, 2)), np.array(2.0)], 1.0, 2.0, 0.5),
        ([np.array([3.0 + 4.0j])], 2.5, 5.0, 0.5),
        ([np.full(4, 1e-30, np.float32)], 1e-30, 2e-30, 0.5),
        ([np.full(4, 1e30, np.float32)], 1e30, 2e30, 0.5),
        ([np.full(4, 8.0, np.float16), np.zeros(1)], 8.0, 16.0, 0.5),
        ({"a": 3.0, "b": (4.0j,)}, 1.0, 5.0, 0.2),
    ],
)
def test_gradients_are_scaled_only_if_their_norm_is_above_the_most(grads, max_norm, norm, factor):
    compiled = tape.compile(lambda grads, most: optim.clip_by_global_norm(grads, max_norm))
    for clip in (optim.clip_by_global_norm, compiled):
        clipped, found = clip(grads, max_norm)
        assert found == pytest.approx(norm, rel=1e-6)
        for one, given in zip(leaves(clipped), leaves(grads), strict=True):
            is_half = np.result_type(given) == np.float16
            np.testing.assert_allclose(one, np.multiply(given, factor), rtol=1e-3 if is_half else 1e-6)
            assert np.result_type(one) == np.result_type(given)
    assert np.result_type(found) == np.float64


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_norms_that_are_not_finite_raise_in_any_part(bad):
    for grads in ([np.array([bad, 1.0])], [np.ones(2), np.array(bad)], [np.array([1 + bad * 1j])]):
        with pytest.raises(errors.NonFiniteError, match="the norm of the gradients is"):
            optim.clip_by_global_norm(grads, 1.0)
    with pytest.raises(errors.TapeError, match="empty"):
        optim.clip_by_global_norm([], 1.0)
    clipped = optim.clip_by_value([np.array([bad, -5.0, 2.0])], 2.0)[0]
    np.testing.assert_array_equal(clipped, [np.clip(bad, -2, 2), -2.0, 2.0])


@pytest.mark.parametrize(("start", "every"), [(0, 1), (0, 3), (2, 1), (1, 2), (3, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_means_take_every_so_many_parameters_from_the_first_that_counts(start, every, dtype):
    values = [np.array([k**2, -k], dtype) for k in range(9)]
    average = optim.polyak(start, every)
    for update in (average.update, tape.compile(average.update)):
        state = average.init(values[0])
        with pytest.raises(errors.OptionError, match="the average is empty"):
            average.value(state)
        for calls, value in enumerate(values, 1):
            state = update(state, value)
            taken = values[start:calls:every]
            assert (state.calls, state.count) == (calls, len(taken))
            if taken:
                expected = np.mean(np.array(taken, float), axis=0)
                np.testing.assert_allclose(average.value(state), expected, rtol=1e-5)
        assert state.sums.dtype == (np.float32 if dtype == np.float16 else dtype)


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.875])
@pytest.mark.parametrize("bias_correction", [True, False])
def test_exponential_averages_weigh_all_parameters_by_one_law(decay, bias_correction):
    values = [np.array([k**2, -k], float) for k in range(1, 6)]
    average = optim.ema(decay, bias_correction=bias_correction)
    state = average.init(values[0])
    for t, value in enumerate(values, 1):
        state = average.update(state, value)
        weights = np.array([(1 - decay) * decay ** (t - k) for k in range(1, t + 1)])
        if bias_correction:
            weights /= weights.sum()
        else:
            weights[0] = decay ** (t - 1)
        np.testing.assert_allclose(average.value(state), weights @ np.array(values[:t]), rtol=1e-14)
