"""Schedules: equal to PyTorch's, in Python and in programs."""

import pickle
import warnings

import numpy as np
import pytest

import tape
from tape import errors, optim
from tape.optim import schedules
from tests.oracles import pytorch
from tests.tiers import takes_long

STEPS = 60
CASES = [
    (lambda: schedules.step(0.5, 7, 0.3), "StepLR", {"step_size": 7, "gamma": 0.3}),
    (lambda: schedules.multi_step(0.5, [3, 9, 9, 20]), "MultiStepLR", {"milestones": [3, 9, 9, 20]}),
    (lambda: schedules.exponential(0.5, 0.9), "ExponentialLR", {"gamma": 0.9}),
    (lambda: schedules.linear(0.5), "LinearLR", {}),
    (
        lambda: schedules.linear(0.5, 11, 0.1, 0.8),
        "LinearLR",
        {"total_iters": 11, "start_factor": 0.1, "end_factor": 0.8},
    ),
    (lambda: schedules.cosine(0.5, 25, 0.01), "CosineAnnealingLR", {"T_max": 25, "eta_min": 0.01}),
    (
        lambda: schedules.cosine_restarts(0.5, 7, eta_min=0.01),
        "CosineAnnealingWarmRestarts",
        {"T_0": 7, "eta_min": 0.01},
    ),
    (lambda: schedules.cosine_restarts(0.5, 3, 2), "CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2}),
    (lambda: schedules.cosine_restarts(0.5, 1, 3), "CosineAnnealingWarmRestarts", {"T_0": 1, "T_mult": 3}),
    (lambda: schedules.one_cycle(0.5, 60), "OneCycleLR", {"max_lr": 0.5, "total_steps": 60}),
    (
        lambda: schedules.one_cycle(0.5, 60, 0.4, "linear", 5.0, 10.0, True),
        "OneCycleLR",
        {
            "max_lr": 0.5,
            "total_steps": 60,
            "pct_start": 0.4,
            "anneal_strategy": "linear",
            "div_factor": 5.0,
            "final_div_factor": 10.0,
            "three_phase": True,
        },
    ),
]
every_case = pytest.mark.parametrize(
    ("make", "name", "options"), CASES, ids=[f"{name} {options}" for _, name, options in CASES]
)


def rates_of_torch(make):
    torch = pytorch()
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.5)
    rates = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SequentialLR warns of itself
        scheduler = make(torch, optimizer)
        for _ in range(STEPS):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
    return rates


@takes_long
@every_case
def test_equal_to_torch(make, name, options):
    schedule = make()
    expected = rates_of_torch(lambda torch, sgd: getattr(torch.optim.lr_scheduler, name)(sgd, **options))
    rates = [schedule(step) for step in range(STEPS)]
    assert all(type(rate) is float for rate in rates)
    np.testing.assert_allclose(rates, expected, rtol=1e-12, atol=1e-15)


@every_case
def test_a_program_computes_every_step(make, name, options):
    schedule = make()
    compiled = tape.compile(lambda step: schedule(step))
    rates = [compiled(np.int64(step)) for step in range(STEPS)]
    np.testing.assert_allclose(rates, [schedule(step) for step in range(STEPS)], rtol=1e-12, atol=1e-15)
    assert len(compiled.programs) == 1
    assert pickle.loads(pickle.dumps(schedule)) == schedule


def test_warm_up_and_cosine():
    def make(torch, sgd):
        of = torch.optim.lr_scheduler
        parts = [of.LinearLR(sgd, start_factor=0.1, total_iters=10), of.CosineAnnealingLR(sgd, T_max=50)]
        return of.SequentialLR(sgd, parts, milestones=[10])

    schedule = schedules.warmup_cosine(0.5, 10, 60, start_factor=0.1)
    expected = rates_of_torch(make)
    np.testing.assert_allclose([schedule(t) for t in range(STEPS)], expected, rtol=1e-12, atol=1e-15)
    assert schedule(60) == schedule(1000) == 0


def test_restarts_are_exact():
    """Where the rounding of a logarithm would put them a step late."""
    schedule = schedules.cosine_restarts(1.0, 1, 3)
    restarts = [(3**n - 1) // 2 for n in range(1, 30)]
    assert [schedule(step) for step in restarts] == [1.0] * len(restarts)
    assert all(schedule(step - 1) < 1 for step in restarts[1:])


def test_rules_take_schedules():
    schedule = schedules.warmup_cosine(0.1, 3, 20)
    held, params = np.ones(3), np.ones(3)
    optimizer, rule = optim.Adam([held]), optim.adam(lr=schedule)
    state = rule.init(params)
    update = tape.compile(lambda grads, state, params: rule.update(grads, state, params))
    for step in range(25):
        grads = np.sin(np.arange(3.0) + step)
        optimizer.lr = schedule(step)
        optimizer.step([grads])
        state, params = update(grads, state, params)
    np.testing.assert_allclose(params, held, rtol=1e-12)
    assert len(update.programs) == 1


LOSSES = [
    5,
    4,
    3,
    3,
    3,
    3,
    2.9999,
    2.9999,
    np.nan,
    2,
    2,
    2,
    2,
    2,
    1.9,
    1.9,
    1.9,
    1.9,
    1.9,
    1.9,
    1.9,
    1.9,
    1.9,
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"patience": 1, "factor": 0.5, "cooldown": 2},
        {"patience": 0, "threshold_mode": "abs", "threshold": 0.01, "min_lr": 0.02},
        {"patience": 2, "mode": "max"},
        {"patience": 1, "threshold_mode": "abs", "threshold": 1.0},
        {"patience": 1, "threshold": 0.0},
        {"patience": 2, "mode": "max", "threshold_mode": "abs", "threshold": 0.1},
    ],
    ids=str,
)
def test_plateau_equals_torch(options):
    torch = pytorch()
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.5)
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    plateau = schedules.Plateau(0.5, **options)
    for loss in LOSSES:
        plateau = pickle.loads(pickle.dumps(plateau))
        reference.step(loss)
        assert plateau.step(loss) == plateau.lr == optimizer.param_groups[0]["lr"]


def test_what_is_joined_is_not_the_list_that_was_given():
    parts = [schedules.constant(0.8), schedules.constant(0.4)]
    rate = schedules.joined(parts, [2])
    parts[1] = schedules.constant(9.0)
    assert [rate(step) for step in range(4)] == [0.8, 0.8, 0.4, 0.4]
    assert isinstance(hash(rate), int)


def test_settings_out_of_range():
    for make, match in [
        (lambda: schedules.step(0.1, 0), "step_size is 0"),
        (lambda: schedules.step(-0.1, 5), "lr is -0.1"),
        (lambda: schedules.multi_step(0.1, 3), "milestones must be a list"),
        (lambda: schedules.multi_step(0.1, [2.5]), r"milestones\[0\] is 2.5"),
        (lambda: schedules.cosine(0.1, True), "T_max is True"),
        (lambda: schedules.one_cycle(0.1, 10, anneal_strategy="steps"), "must be 'cos' or 'linear'"),
        (lambda: schedules.one_cycle(0.1, 10, pct_start=0.0), "pct_start is 0.0 of 10 steps"),
        (lambda: schedules.one_cycle(0.1, 10, pct_start=1.0), "pct_start is 1.0 of 10 steps"),
        (lambda: schedules.one_cycle(0.1, 10, div_factor=0.0), "div_factor is 0.0; it must be positive"),
        (lambda: schedules.joined([schedules.constant(0.1)], [3]), r"milestones are \[3\] for 1 schedules"),
        (lambda: schedules.joined([schedules.constant(0.1)] * 3, [3, 3]), "rising"),
        (lambda: schedules.warmup_cosine(0.1, 5, 5), "above warmup_steps, 5"),
        (lambda: schedules.Plateau(0.1, mode="least"), "mode is 'least'"),
        (lambda: schedules.Plateau(0.1, factor=1.0), "factor is 1.0"),
        (lambda: schedules.Plateau(0.1).step("low"), "the loss must be a number"),
        (lambda: schedules.constant(0.1)(2.5), "an int, not"),
    ]:
        with pytest.raises(errors.OptionError, match=match):
            make()
    with pytest.raises(errors.ConversionError, match="the loss is Var"):
        schedules.Plateau(0.1).step(tape.Trace().param(1.0))
