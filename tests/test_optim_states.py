"""States of optimizers in place: taken over in the middle, in checkpoints of trainings, or refused."""

import numpy as np
import pytest

import tape
from tape import errors, optim, train

PARAMS = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": np.array([0.1, 0.2])}

KINDS = {
    "SGD": lambda params: optim.SGD(params, lr=0.05, momentum=0.9),
    "Adam": lambda params: optim.Adam(params, lr=0.05, amsgrad=True),
    "AdamW": lambda params: optim.AdamW(params, lr=0.05),
    "Adamax": lambda params: optim.Adamax(params, lr=0.05),
    "NAdam": lambda params: optim.NAdam(params, lr=0.05),
    "RMSprop": lambda params: optim.RMSprop(params, lr=0.05, momentum=0.5),
    "Adagrad": lambda params: optim.Adagrad(params, lr=0.05),
    "Adadelta": lambda params: optim.Adadelta(params),
    "Lion": lambda params: optim.Lion(params, lr=0.05),
    "Muon": lambda params: optim.Muon(params, lr=0.05),
    "frozen": lambda params: optim.Adam(params, lr=0.05, frozen={"w": False, "b": True}),
    "Accumulated": lambda params: optim.Accumulated(optim.Adam(params, lr=0.05), every=2),
    "LBFGS": lambda params: optim.LBFGS(params, lr=0.5, max_iter=2),
}

loss_and_grad = tape.value_and_grad(lambda p: np.sum((p["w"] @ p["b"] - 1) ** 2) + np.sum(p["w"] ** 4))


def moved(optimizer, params):
    optimizer.step(loss_and_grad if isinstance(optimizer, optim.LBFGS) else loss_and_grad(params)[1])


def copied(params):
    return {name: array.copy() for name, array in params.items()}


@pytest.mark.parametrize("name", KINDS)
def test_a_state_taken_over_in_the_middle_goes_on_to_the_same_bits(name):
    params = copied(PARAMS)
    optimizer = KINDS[name](params)
    for _ in range(3):
        moved(optimizer, params)
    getattr(optimizer, "optimizer", optimizer).lr = 0.02
    others = copied(params)
    other = KINDS[name](others)
    other.load_state_dict(optimizer.state_dict())
    for _ in range(3):
        moved(optimizer, params)
        moved(other, others)
    for key in params:
        np.testing.assert_array_equal(params[key], others[key])


@pytest.mark.parametrize("name", KINDS)
def test_a_state_of_other_parameters_is_refused_and_changes_nothing(name):
    params = copied(PARAMS)
    optimizer, other = KINDS[name](params), KINDS[name]({"w": np.ones((3, 2)), "b": np.ones(2)})
    grads = {"w": np.ones((3, 2)), "b": np.ones(2)}
    other.step((lambda _: (1.0, grads)) if name == "LBFGS" else grads)
    before = repr(optimizer.state_dict())
    for state in (
        other.state_dict(),
        {},
        None,
        KINDS["SGD" if name == "LBFGS" else "LBFGS"](params).state_dict(),
    ):
        with pytest.raises(errors.ShapeError, match="belongs to other parameters"):
            optimizer.load_state_dict(state)
    assert repr(optimizer.state_dict()) == before


@pytest.mark.parametrize("name", ["Adam", "Accumulated"])
def test_a_training_that_was_interrupted_goes_on_from_its_checkpoint(name, tmp_path):
    def trained(folder, stop):
        params = copied(PARAMS)
        optimizer = KINDS[name](params)

        def step(params, batch):
            if stop is not None and batch[0] == stop:
                raise RuntimeError("stopped")
            value, gradient = loss_and_grad(params)
            optimizer.step(gradient)
            return params, {"loss": value}

        batches = [np.array([k]) for k in range(7)]
        checkpoints = train.Checkpoints(folder, every=1)
        return train.fit(step, params, batches, checkpoints=checkpoints, also=optimizer)[0]

    expected = trained(tmp_path / "whole", None)
    with pytest.raises(RuntimeError):
        trained(tmp_path / "parts", 4)
    found = trained(tmp_path / "parts", None)
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key])
