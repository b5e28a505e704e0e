"""Summaries of models: layers, shapes, weights that are shared, arithmetic, notebooks."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tape
from tape import errors, nn

RNG = np.random.default_rng(0)


def rows(summary):
    return {layer.name: layer for layer in summary.layers}


def test_layers_have_the_names_of_state_dicts_and_the_arithmetic_of_their_calls():
    model = nn.Sequential(nn.Linear(8, 4, rng=RNG), nn.relu, nn.MLP([4, 6, 2], rng=RNG))
    summary = nn.summary(model, np.ones((5, 8)))
    found = rows(summary)
    assert list(found) == ["model", "0", "1", "2", "2.layers.0", "2.layers.1"]
    assert found["0"].flops == 5 * (2 * 8 * 4 + 4)
    assert found["0"].params == 8 * 4 + 4
    assert (found["1"].kind, found["1"].output, found["1"].params) == ("relu", "[5, 4]", 0)
    assert found["2"].output == "[5, 2]"
    assert (
        found["model"].params == summary.params == sum(array.size for array in nn.state_dict(model).values())
    )
    assert found["model"].flops == summary.flops
    assert sum(found[name].flops for name in ("0", "1", "2")) == summary.flops
    assert summary.bytes == 4 * summary.params


def test_shared_weights_count_once():
    first, second = nn.Linear(4, 4, rng=RNG), nn.Linear(4, 4, rng=RNG)
    second.weight = first.weight
    summary = nn.summary(nn.Sequential(first, second), np.ones(4))
    assert summary.params == rows(summary)["model"].params == 16 + 8
    assert rows(summary)["1"].params == 20


@dataclass(eq=False)
class Twice:
    layer: Any
    other: Any
    unused: Any

    def __call__(self, x, *, rng=None):
        return self.layer(self.layer(x)) + x @ self.other.weight.T


def test_calls_of_one_layer_add_up_and_layers_that_are_not_called_have_no_row():
    model = Twice(*(nn.Linear(4, 4, rng=RNG) for _ in range(3)))
    found = rows(nn.summary(model, np.ones((3, 4))))
    assert list(found) == ["model", "layer"]
    assert found["layer"].flops == 2 * 3 * (2 * 16 + 4)
    assert found["model"].params == 3 * 20
    assert type(model.layer) is nn.Linear


def test_models_with_state_randomness_sequences_and_indices():
    model = nn.Sequential(
        nn.Embedding(7, 4, rng=RNG), nn.GRU(4, 3, rng=RNG), Last(), nn.BatchNorm(3), nn.Dropout(0.5)
    )
    index = RNG.integers(0, 7, (6, 5))
    found = rows(nn.summary(model, index, nn.init_state(model), train=True, rng=RNG))
    assert found["0"].output == "[6, 5, 4]"
    assert found["1"].output == "[6, 5, 3], [1, 5, 3]"
    assert found["3"].output == "[5, 3], [3], [3]"
    assert found["4"].flops > 0
    with pytest.raises(errors.OptionError, match="needs its state"):
        nn.summary(model, index)


@dataclass(eq=False)
class Last:
    def __call__(self, x):
        return x[0][-1]


def test_layers_in_a_dict_have_its_keys_for_names():
    @dataclass
    class Model:
        parts: dict

        def __call__(self, x):
            return self.parts["last"](np.tanh(self.parts["first"](x)))

    model = Model({"first": nn.Linear(3, 4, rng=RNG), "last": nn.Linear(4, 2, rng=RNG)})
    found = rows(nn.summary(model, np.ones((5, 3))))
    assert list(found) == ["model", "parts.first", "parts.last"]
    assert [found[name].output for name in found] == ["[5, 2]", "[5, 4]", "[5, 2]"]
    assert [found[name].params for name in found] == [26, 16, 10]


def test_notebooks_get_a_table():
    html = nn.summary(nn.Sequential(nn.Linear(2, 3, rng=RNG), lambda x: x), np.ones(2))._repr_html_()
    assert "<td>0</td><td>Linear</td>" in html
    assert "&lt;lambda&gt;" in html


def test_what_is_no_layer_is_refused():
    for model in (np.tanh, [nn.relu], nn.Linear):
        with pytest.raises(errors.OptionError, match="is no layer"):
            nn.summary(model, np.ones(2))


def test_the_summary_is_that_of_the_costs_of_a_trace():
    model = nn.Sequential(nn.Conv2d(1, 2, 3, rng=RNG), nn.gelu, nn.Flatten(), nn.Linear(32, 3, rng=RNG))
    x = np.ones((2, 1, 6, 6))
    trace = tape.Trace()
    trace.params(model)(trace.input(x))
    assert nn.summary(model, x).flops == trace.summary().flops


class Pair(NamedTuple):
    scale: float
    layer: Any


@dataclass(eq=False)
class OfAPair:
    pair: Pair

    def __call__(self, x: Any) -> Any:
        return self.pair.layer(x) * self.pair.scale


def test_layers_in_named_tuples_have_rows():
    model = OfAPair(Pair(1.5, nn.Linear(3, 2, rng=np.random.default_rng(0))))
    assert "pair.layer" in str(nn.summary(model, np.ones((4, 3))))
