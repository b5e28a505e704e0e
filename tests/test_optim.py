"""Optimizers: equal to the formulas and to PyTorch, in place, without allocation, all or nothing."""

import pickle
import subprocess
import sys
import tracemalloc
from collections import namedtuple
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tape
from tape import errors
from tape.optim import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Lion, Muon, NAdam, RMSprop
from tests.oracles import pytorch
from tests.tiers import grid, rounds, some

SETTINGS = [
    (SGD, {"lr": 0.05}),
    (SGD, {"lr": 0.05, "weight_decay": 0.1}),
    (SGD, {"lr": 0.05, "momentum": 0.9}),
    (SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    (SGD, {"lr": 0.05, "momentum": 0.7, "weight_decay": 0.1, "nesterov": True}),
    (Adam, {}),
    (Adam, {"lr": 0.05, "betas": (0.5, 0.9), "eps": 1e-3}),
    (Adam, {"lr": 0.05, "weight_decay": 0.1}),
    (Adam, {"lr": 0.05, "betas": (0.0, 0.0)}),
]
OTHERS = [
    (Adam, {"lr": 0.05, "amsgrad": True}),
    (AdamW, {"lr": 0.05, "weight_decay": 0.1}),
    (AdamW, {"lr": 0.05, "amsgrad": True}),
    (Adamax, {"lr": 0.05, "weight_decay": 0.1}),
    (NAdam, {"lr": 0.05, "weight_decay": 0.1}),
    (NAdam, {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    (RMSprop, {"weight_decay": 0.1}),
    (RMSprop, {"lr": 0.05, "momentum": 0.5}),
    (RMSprop, {"lr": 0.05, "centered": True, "eps": 1e-3}),
    (RMSprop, {"lr": 0.05, "centered": True, "momentum": 0.5, "eps": 1e-3}),
    (Adagrad, {"lr": 0.05, "lr_decay": 0.01, "initial_accumulator_value": 0.1}),
    (Adadelta, {"weight_decay": 0.1}),
]
WITHOUT_TORCH = [(Lion, {"lr": 0.05, "weight_decay": 0.1}), (Muon, {})]  # whose Muon has bfloat16 in it
SHAPES = [(3, 4), (5,), (), (0,), (2, 1, 3)]
TOLERANCE = {np.float64: 1e-12, np.float32: 2e-5, np.float16: 2e-2, np.longdouble: 1e-12}

every_setting = pytest.mark.parametrize(
    ("kind", "options"), SETTINGS, ids=[f"{kind.__name__} {options}" for kind, options in SETTINGS]
)


class Naive:
    """The published formulas on fresh arrays, always in long doubles."""

    def __init__(self, kind, params, options):
        self.kind, self.options, self.steps = kind, options, 0
        self.params = [np.array(p, np.longdouble) for p in params]
        self.first = [np.zeros_like(p) for p in self.params]
        self.second = [np.zeros_like(p) for p in self.params]

    def step(self, grads):
        self.steps += 1
        rule = self.sgd if self.kind is SGD else self.adam
        for k, grad in enumerate(grads):
            decayed = grad.astype(np.longdouble) + self.options.get("weight_decay", 0) * self.params[k]
            rule(k, decayed, **{key: v for key, v in self.options.items() if key != "weight_decay"})

    def sgd(self, k, g, lr, momentum=0.0, nesterov=False):
        self.first[k] = momentum * self.first[k] + g
        self.params[k] = self.params[k] - lr * (g + momentum * self.first[k] if nesterov else self.first[k])

    def adam(self, k, g, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.first[k] = betas[0] * self.first[k] + (1 - betas[0]) * g
        self.second[k] = betas[1] * self.second[k] + (1 - betas[1]) * g**2
        mean = self.first[k] / (1 - np.longdouble(betas[0]) ** self.steps)
        square = self.second[k] / (1 - np.longdouble(betas[1]) ** self.steps)
        self.params[k] = self.params[k] - lr * mean / (np.sqrt(square) + eps)


def make_arrays(rng, dtype, shapes=SHAPES):
    return [np.asarray(rng.normal(size=shape)).astype(dtype) for shape in shapes]


def gradients_at(params, noise):
    """Of a made-up loss, so that errors of one step reach the next."""
    return [np.asarray(0.3 * p + n, p.dtype) for p, n in zip(params, noise, strict=True)]


def assert_near(actual, expected, dtype):
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(
            a.astype(np.longdouble), e.astype(np.longdouble), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
        )


# ---- numbers -----------------------------------------------------------------------------------------


any_setting = pytest.mark.parametrize(
    ("kind", "options"),
    [*SETTINGS, *OTHERS, *WITHOUT_TORCH],
    ids=[f"{kind.__name__} {options}" for kind, options in [*SETTINGS, *OTHERS, *WITHOUT_TORCH]],
)


@grid(setting=[*SETTINGS, *OTHERS], dtype=[np.float64, np.float32], ids=str)
def test_equal_to_torch(setting, dtype, monkeypatch):
    kind, options = setting
    torch = pytorch()
    monkeypatch.setattr(torch, "get_default_dtype", lambda: torch.float64)  # of NAdam's product of momenta
    rng = np.random.default_rng(0)
    params = make_arrays(rng, dtype)
    theirs = [torch.tensor(p) for p in params]
    optimizer = kind(params, **options)
    reference = getattr(torch.optim, kind.__name__)(theirs, **options)
    for _ in range(rounds(100)):
        grads = gradients_at(params, make_arrays(rng, dtype))
        for tensor, grad in zip(theirs, grads, strict=True):
            tensor.grad = torch.tensor(grad)
        optimizer.step(grads)
        reference.step()
    assert_near(params, [tensor.numpy() for tensor in theirs], dtype)


@every_setting
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.longdouble])
def test_equal_to_the_formulas(kind, options, dtype):
    rng = np.random.default_rng(1)
    params = make_arrays(rng, dtype)
    optimizer, oracle = kind(params, **options), Naive(kind, params, options)
    for _ in range(5 if dtype == np.float16 else rounds(100)):
        grads = gradients_at(params, make_arrays(rng, dtype))
        optimizer.step(grads)
        oracle.step(grads)
    assert_near(params, oracle.params, dtype)
    assert all(p.dtype == dtype for p in params)


def strided(array):
    return np.repeat(array[..., None], 3, axis=-1)[..., 1]


def unaligned(array):
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    view = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "reversed": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": unaligned,
    "swapped": lambda array: array.astype(array.dtype.newbyteorder()),
}
LAYOUT_PAIRS = [  # another byte order is another dtype, which a gradient must share
    (p, g) for p, g in product(LAYOUTS, LAYOUTS) if (p == "swapped") == (g == "swapped")
]


@grid(setting=[*SETTINGS, *OTHERS, *WITHOUT_TORCH], layouts=LAYOUT_PAIRS, ids=str)
def test_layouts_change_nothing(setting, layouts):
    (kind, options), (of_param, of_grad) = setting, layouts
    rng = np.random.default_rng(2)
    start, grads = rng.normal(size=(101, 90)), rng.normal(size=(3, 101, 90))  # more than a block of nditer
    plain, param = start.copy(), LAYOUTS[of_param](start.copy())
    optimizers = [kind([plain], **options), kind([param], **options)]
    for grad in grads:
        optimizers[0].step([grad])
        optimizers[1].step([LAYOUTS[of_grad](grad)])
    np.testing.assert_allclose(param, plain, rtol=1e-13, atol=1e-13)


def test_what_lies_between_strides_is_untouched():
    whole = np.arange(12.0).reshape(3, 4)
    SGD([whole[:, ::2]], lr=1.0).step([np.ones((3, 2))])
    np.testing.assert_array_equal(whole, np.arange(12.0).reshape(3, 4) - [1, 0, 1, 0])


@settings(max_examples=rounds(60))
@given(
    st.sampled_from(SETTINGS),
    st.lists(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4), min_size=1, max_size=4),
    st.sampled_from([np.float64, np.float32]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_any_shapes(setting, shapes, dtype, in_fortran_order, seed):
    (kind, options), rng = setting, np.random.default_rng(seed)
    params = make_arrays(rng, dtype, shapes)
    if in_fortran_order:
        params = [np.array(p, order="F") for p in params]
    optimizer, oracle = kind(params, **options), Naive(kind, params, options)
    for _ in range(3):
        grads = make_arrays(rng, dtype, shapes)
        optimizer.step(grads)
        oracle.step(grads)
    assert_near(params, oracle.params, dtype)


@pytest.mark.parametrize("kind", [SGD, Adam])
def test_learning_rate_may_change(kind):
    param = np.ones(3)
    optimizer = kind([param], lr=0.1)
    optimizer.lr = 0.0
    optimizer.step([np.ones(3)])
    np.testing.assert_array_equal(param, 1)
    optimizer.lr = 0.25
    optimizer.step([np.ones(3)])
    np.testing.assert_allclose(param, 0.75)
    assert "lr=0.25" in repr(optimizer)


def test_zero_gradients_move_nothing():
    param = np.ones(3)
    Adam([param]).step([np.zeros(3)])
    np.testing.assert_array_equal(param, 1)


# ---- trees, places, memory ---------------------------------------------------------------------------

Layer = namedtuple("Layer", "weight bias")


def test_trees():
    params = {"layers": [Layer(np.ones((2, 3)), np.ones(3)), (np.ones(1),)], "scale": np.array(1.0)}
    grads = {"scale": np.float64(4.0), "layers": [Layer(np.ones((2, 3)), 2 * np.ones(3)), (3 * np.ones(1),)]}
    SGD(params, lr=1.0).step(grads)
    np.testing.assert_array_equal(params["layers"][0].weight, 0)
    np.testing.assert_array_equal(params["layers"][0].bias, -1)
    np.testing.assert_array_equal(params["layers"][1][0], -2)
    assert params["scale"] == -3


@dataclass
class Affine:
    weight: np.ndarray
    bias: np.ndarray
    name: str = field(default="affine", metadata={"static": True})

    def __call__(self, x):
        return x @ self.weight + self.bias


@dataclass(frozen=True)
class Network:
    layers: list[Affine]
    scale: np.ndarray


@pytest.mark.parametrize("make", [lambda p: SGD(p, lr=0.1, momentum=0.5), lambda p: Adam(p, lr=0.05)])
def test_dataclasses_train(make):
    """As a list of their arrays does."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 1))
    layers = [
        Affine(rng.normal(size=(3, 4)) / 2, np.zeros(4)),
        Affine(rng.normal(size=(4, 1)) / 2, np.zeros(1)),
    ]
    model = Network(layers, np.array(1.0))

    def loss(model):
        first, last = model.layers
        return np.mean((model.scale * last(np.tanh(first(x))) - y) ** 2)

    arrays = [array.copy() for array in leaves_of(model)]
    by_tree, by_list = make(model), make(arrays)
    before = loss(model)
    for _ in range(50):
        grads = tape.grad(loss)(model)
        by_tree.step(grads)
        by_list.step(leaves_of(grads))
    assert loss(model) < before / 2
    assert model.layers[0].name == "affine"
    for ours, theirs in zip(leaves_of(model), arrays, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def leaves_of(model):
    return [array for layer in model.layers for array in (layer.weight, layer.bias)] + [
        np.asarray(model.scale)
    ]


def test_dataclasses_in_errors():
    model = Network([Affine(np.ones((3, 4)), np.zeros(4))], np.array(1.0))
    optimizer = SGD(model, lr=0.1)
    with pytest.raises(errors.ShapeError, match=r"grads\.layers\[0\]\.bias has shape \[2\]"):
        optimizer.step(Network([Affine(np.ones((3, 4)), np.zeros(2))], np.array(1.0)))
    with pytest.raises(errors.ShapeError, match="same structure"):
        optimizer.step(Network([Affine(np.ones((3, 4)), np.zeros(4), name="other")], np.array(1.0)))
    with pytest.raises(errors.ShapeError, match=r"the gradients are one array, and the parameters .*Network"):
        optimizer.step(np.ones(3))
    with pytest.raises(errors.ShapeError, match="same structure"):
        SGD(np.ones(3), lr=0.1).step(model)
    with pytest.raises(errors.DTypeError, match=r"params\.bias is int"):
        SGD(Affine(np.ones(3), 3), lr=0.1)


def test_lists_do_without_optree():
    code = (
        "import sys, numpy as np, tape; w = [np.ones(2)]; tape.optim.SGD(w, lr=1.0).step([np.ones(2)]);"
        "print(w[0].sum(), 'optree' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["0.0", "False"]


def test_a_single_array_is_a_tree():
    param = np.ones(2)
    SGD(param, lr=1.0).step(np.ones(2))
    np.testing.assert_array_equal(param, 0)


def test_a_tuple_takes_the_list_a_trace_returns():
    params = (np.ones(2), np.ones(1))
    trace = tape.Trace()
    first, second = (trace.param(p) for p in params)
    SGD(params, lr=1.0).step(trace.backward_param_grads((first * second).sum()))
    np.testing.assert_array_equal(params[0], [0, 0])
    np.testing.assert_array_equal(params[1], [-1])


@pytest.mark.parametrize(("kind", "options"), some([*SETTINGS, *OTHERS, *WITHOUT_TORCH], every=2), ids=str)
def test_updates_are_in_place(kind, options):
    params = [np.ones((2, 3)), np.ones(4, np.float32).reshape(2, 2).T]
    addresses = [p.ctypes.data for p in params]
    optimizer = kind(params, **options)
    optimizer.step([np.ones((2, 3)), np.ones((2, 2), np.float32)])
    assert [p.ctypes.data for p in params] == addresses
    assert all((p != 1).all() for p in params)


def test_subclasses_are_written_through(tmp_path):
    param = np.memmap(tmp_path / "weights", np.float64, "w+", shape=(2, 3))
    SGD([param], lr=1.0).step([np.ones((2, 3))])
    param.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "weights"), -np.ones(6))


@pytest.mark.parametrize(("kind", "options"), some([*SETTINGS, *OTHERS, *WITHOUT_TORCH], every=2), ids=str)
def test_gradients_are_only_read(kind, options):
    for param in (np.ones((3, 2)), np.ones((2, 3)).T):
        grad = np.arange(6.0).reshape(3, 2)
        grad.flags.writeable = False
        kind([param], **options).step([grad])
        np.testing.assert_array_equal(grad, np.arange(6.0).reshape(3, 2))


@any_setting
def test_pickled_in_the_middle_they_go_on_to_the_same_bits(kind, options):
    rng = np.random.default_rng(4)
    params = {
        "w": rng.normal(size=(3, 4)),
        "b": [rng.normal(size=4).astype(np.float32), np.ones((4, 6))[:, ::2]],
    }
    grads = [tape.tree.map(lambda p: rng.normal(size=p.shape).astype(p.dtype), params) for _ in range(4)]
    optimizer = kind(params, **options, weight_decay_mask=lambda name: "w" in name)
    optimizer.step(grads[0])
    optimizer.step(grads[1])
    others, other = pickle.loads(pickle.dumps((params, optimizer)))
    other.lr = optimizer.lr = 0.01
    for gradient in grads[2:]:
        optimizer.step(gradient)
        other.step(gradient)
    for ours, theirs in zip(tape.tree.leaves(params), tape.tree.leaves(others), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@any_setting
@pytest.mark.parametrize("as_tree", [list, lambda params: dict(enumerate(params))], ids=["list", "dict"])
def test_a_step_allocates_no_array(kind, options, as_tree):
    params = [np.ones((100, 100)), np.ones(50_000, np.float32)]
    grads = as_tree([0.1 * p for p in params])
    optimizer = kind(as_tree(params), **options)
    optimizer.step(grads)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(10):
            optimizer.step(grads)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 8_000  # a tenth of the smaller array


# ---- errors ------------------------------------------------------------------------------------------


def case(error, match, grads):
    return pytest.param(error, match, grads, id=match)


@pytest.mark.parametrize(
    ("error", "match", "grads"),
    [
        case(errors.ShapeError, "1 gradients for 2 parameters", lambda: [np.ones(2)]),
        case(errors.ShapeError, "Pass a list with a gradient for each", lambda: {"a": np.ones(2)}),
        case(errors.ShapeError, r"grads\[1\] has shape \[3, 1\]", lambda: [np.ones(2), np.ones((3, 1))]),
        case(errors.DTypeError, r"grads\[1\] is float32", lambda: [np.ones(2), np.ones(3, np.float32)]),
        case(errors.DTypeError, r"grads\[1\] is int64", lambda: [np.ones(2), np.ones(3, np.int64)]),
        case(errors.DTypeError, r"grads\[1\] is list", lambda: [np.ones(2), [1.0, 1.0, 1.0]]),
        case(errors.DTypeError, r"grads\[1\] is NoneType", lambda: [np.ones(2), None]),
        case(errors.DTypeError, r"grads\[1\] is MaskedArray", lambda: [np.ones(2), np.ma.ones(3)]),
        case(errors.ConversionError, r"grads\[1\] is Var", lambda: [np.ones(2), VAR]),
    ],
)
@every_setting
def test_after_an_error_nothing_has_changed(kind, options, error, match, grads):
    params = [np.ones(2), np.ones(3)]
    untroubled = [np.ones(2), np.ones(3)]
    optimizer, reference = kind(params, **options), kind(untroubled, **options)
    with pytest.raises(error, match=match):
        optimizer.step(grads())
    np.testing.assert_array_equal(params[0], 1)
    for _ in range(2):  # nor has the state
        optimizer.step([np.ones(2), np.ones(3)])
        reference.step([np.ones(2), np.ones(3)])
    np.testing.assert_array_equal(params[0], untroubled[0])
    np.testing.assert_array_equal(params[1], untroubled[1])


TRACE = tape.Trace()
VAR = TRACE.param(np.ones(3))


def test_a_param_is_no_gradient():
    a, b = np.ones(2), np.ones(2)
    with pytest.raises(errors.TapeError, match=r"grads\[0\] is the array of a parameter"):
        SGD([a, b], lr=0.1).step([b, -a])  # the saddle a * b
    np.testing.assert_array_equal(b, 1)


def test_errors_in_trees_name_the_leaf():
    params = {"layer": [np.ones(2)], "bias": np.ones(1)}
    optimizer = SGD(params, lr=0.1)
    with pytest.raises(errors.ShapeError, match=r"grads\['layer'\]\[0\] has shape \[3\]"):
        optimizer.step({"layer": [np.ones(3)], "bias": np.ones(1)})
    with pytest.raises(errors.ShapeError, match="same structure"):
        optimizer.step({"layer": np.ones(2), "bias": np.ones(1)})
    with pytest.raises(errors.ShapeError, match="same structure"):
        optimizer.step({"layer": [None], "bias": np.ones(1)})
    with pytest.raises(errors.DTypeError, match=r"params\['layer'\]\[0\] is int"):
        SGD({"layer": [3]}, lr=0.1)


@pytest.mark.parametrize("kind", [SGD, Adam])
def test_params_that_cannot_be_updated(kind):
    frozen = np.ones(2)
    frozen.flags.writeable = False
    whole = np.ones((4, 4))
    for error, match, params in [
        (errors.TapeError, "empty", []),
        (errors.DTypeError, r"params\[1\] is ndarray int64\[2\]", [np.ones(2), np.ones(2, np.int64)]),
        (errors.DTypeError, r"params\[0\] is complex128.*real and imag", [np.ones(2, complex)]),
        (errors.DTypeError, r"params\[0\] is MaskedArray", [np.ma.ones(2)]),
        (errors.DTypeError, r"params\[0\] is float64", [np.float64(1.0)]),
        (errors.DTypeError, "params is generator", (p for p in [np.ones(2)])),
        (errors.InPlaceError, r"params\[1\] is read-only", [np.ones(2), frozen]),
        (errors.ConversionError, r"params\[0\] is Var.*\.value", [VAR]),
        (errors.TapeError, r"params\[0\] and params\[2\] share memory", [whole, np.ones(2), whole]),
        (errors.TapeError, r"params\[0\] and params\[1\] share memory", [whole[:, 1], whole[2]]),
        (errors.TapeError, r"params\['a'\] and params\['b'\]\[0\] share", {"a": whole[:2], "b": [whole[1:]]}),
    ]:
        with pytest.raises(error, match=match):
            kind(params, lr=0.1)


def test_interleaved_params_do_not_share_memory():
    whole = np.zeros((4, 6))
    params = [whole[:, ::2], whole[:, 1::2]]
    SGD(params, lr=1.0).step([np.ones((4, 3)), -np.ones((4, 3))])
    np.testing.assert_array_equal(whole, np.tile([-1, 1], (4, 3)))


@pytest.mark.parametrize(
    ("kind", "options", "match"),
    [
        (SGD, {"lr": -0.1}, "lr is -0.1"),
        (SGD, {"lr": np.nan}, "lr is nan"),
        (SGD, {"lr": np.inf}, "finite"),
        (SGD, {"lr": "fast"}, "lr must be a number, not 'fast'"),
        (SGD, {"lr": None}, "lr must be a number"),
        (SGD, {"lr": 0.1, "momentum": 1.0}, "momentum is 1.0; it must be at least 0 and below 1"),
        (SGD, {"lr": 0.1, "momentum": -0.1}, "momentum"),
        (SGD, {"lr": 0.1, "weight_decay": -0.1}, "weight_decay"),
        (SGD, {"lr": 0.1, "nesterov": True}, "needs a positive momentum"),
        (Adam, {"lr": -1}, "lr"),
        (Adam, {"betas": (0.9, 1.0)}, r"betas\[1\] is 1.0"),
        (Adam, {"betas": (-0.1, 0.9)}, r"betas\[0\]"),
        (Adam, {"betas": 0.9}, "pair"),
        (Adam, {"betas": (0.9, 0.9, 0.9)}, "pair"),
        (Adam, {"eps": -1e-8}, "eps"),
        (Adam, {"weight_decay": -1}, "weight_decay"),
    ],
)
def test_settings_out_of_range(kind, options, match):
    with pytest.raises(errors.TapeError, match=match):
        kind([np.ones(2)], **options)


def test_a_setting_is_no_var():
    with pytest.raises(errors.ConversionError, match="lr is Var"):
        SGD([np.ones(2)], lr=TRACE.param(0.1))


def test_a_refused_learning_rate_changes_nothing():
    optimizer = Adam([np.ones(2)], lr=0.5)
    with pytest.raises(errors.TapeError, match="lr is -1"):
        optimizer.lr = -1
    assert optimizer.lr == 0.5
