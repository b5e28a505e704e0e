"""Losses: what is ignored or weighted, what does not fit, degenerate points, and PyTorch."""

from itertools import product

import numpy as np
import pytest

import tape
from tape import ops
from tape.errors import DTypeError, OptionError, OutOfBoundsError, ShapeError
from tape.ops import nn
from tests.oracles import assert_close, assert_same, derivative, pytorch, record, vjp
from tests.test_nn_activations import assert_as_in_torch

RNG = np.random.default_rng(3)
LOGITS = RNG.normal(size=(6, 4))
TARGET = np.array([0, 3, 1, 2, 2, 0])
HOLED = np.array([0, -100, 1, 2, -100, 0])
WEIGHT = np.array([0.5, 2.0, 1.0, 1.5])


# ---- cross-entropy -------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_the_last_axis_is_the_fused_operation(reduction):
    def fused(x):
        return ops.softmax_cross_entropy(x, TARGET, reduction)

    traces = [tape.Trace(), tape.Trace()]
    for trace, f in zip(
        traces, (fused, lambda x: nn.cross_entropy(x, TARGET, reduction=reduction)), strict=True
    ):
        f(trace.param(LOGITS))
    assert [node.op for node in traces[1].nodes] == [node.op for node in traces[0].nodes]
    assert_same(nn.cross_entropy(LOGITS, TARGET, reduction=reduction), fused(LOGITS))


@pytest.mark.parametrize("dtype", ["u1", "u4", "i2", "i8"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_labels_are_of_any_integers_in_programs_too(reduction, dtype):
    def f(x, target):
        return ops.softmax_cross_entropy(x, target, reduction)

    compiled = tape.compile(f)
    for turn in range(3):
        target = np.roll(TARGET, turn).astype(dtype)
        np.testing.assert_allclose(compiled(LOGITS, target), f(LOGITS, target), rtol=1e-13)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_indices_are_rows_with_a_single_one(weight, smoothing):
    def by_index(x):
        return nn.cross_entropy(x, TARGET, weight, reduction="none", label_smoothing=smoothing)

    def by_rows(x):
        rows = nn.one_hot(TARGET, 4)
        return nn.cross_entropy(x, rows, weight, reduction="none", label_smoothing=smoothing)

    assert_close(by_index(LOGITS), by_rows(LOGITS), 1e-14)
    assert_close(vjp(by_index, [LOGITS])[0], vjp(by_rows, [LOGITS])[0], 1e-14)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("loss", [nn.cross_entropy, nn.nll_loss])
def test_what_is_ignored_is_as_if_it_were_not_there(loss, weight, smoothing):
    options = {"label_smoothing": smoothing} if loss is nn.cross_entropy else {}
    is_there = HOLED != -100

    def whole(x):
        return loss(x, HOLED, weight, **options)

    def part(x):
        return loss(x[is_there], HOLED[is_there], weight, **options)

    assert_close(whole(LOGITS), part(LOGITS), 1e-14)
    assert_close(vjp(whole, [LOGITS])[0], vjp(part, [LOGITS])[0], 1e-14)
    other = np.where(is_there, HOLED, 7)  # any number may be the one
    assert_same(loss(LOGITS, other, weight, ignore_index=7, **options), whole(LOGITS))


def test_a_class_may_be_the_ignored_one():
    assert_close(
        nn.cross_entropy(LOGITS, TARGET, ignore_index=2),
        nn.cross_entropy(LOGITS[TARGET != 2], TARGET[TARGET != 2]),
    )


@pytest.mark.parametrize("loss", [nn.cross_entropy, nn.nll_loss])
def test_where_everything_is_ignored_the_mean_is_nan_and_the_gradient_zero(loss):
    nothing = np.full(6, -100)
    assert np.isnan(loss(LOGITS, nothing))
    assert loss(LOGITS, nothing, reduction="sum") == 0
    np.testing.assert_array_equal(vjp(lambda x: loss(x, nothing), [LOGITS])[0], 0)


@pytest.mark.parametrize("loss", [nn.cross_entropy, nn.nll_loss])
def test_programs_and_replays_take_other_targets(loss):
    """Also ones that are ignored, where none was when they were recorded."""
    compiled = tape.compile(tape.value_and_grad(loss))
    trace = tape.Trace()
    x, target = trace.param(LOGITS), trace.input(TARGET)
    out = loss(x, target)
    for labels in (TARGET, HOLED, TARGET[::-1].copy()):
        value, gradient = compiled(LOGITS, labels)
        expected = loss(LOGITS, labels)
        assert_close(value, expected, 1e-14)
        assert_close(gradient, vjp(lambda x, labels=labels: loss(x, labels), [LOGITS])[0], 1e-14)
        trace.set(target, labels)
        trace.replay()
        assert_close(out.value, expected, 1e-14)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks
    for wrong in (4, -1, -7):
        labels = np.where(TARGET == 3, wrong, TARGET)
        with pytest.raises(OutOfBoundsError):
            compiled(LOGITS, labels)
        trace.set(target, labels)
        with pytest.raises(OutOfBoundsError):
            trace.replay()


def test_one_hot_in_programs_refuses_what_is_no_class():
    compiled = tape.compile(lambda x: nn.one_hot(x, 3))
    np.testing.assert_array_equal(compiled(np.array([2, 0])), np.eye(3)[[2, 0]])
    for wrong in (3, -1):
        with pytest.raises(OutOfBoundsError):
            compiled(np.array([wrong, 0]))


# ---- errors, at the call and without a trace of it ----------------------------------------------

PAIRWISE = [
    nn.mse_loss, nn.l1_loss, nn.smooth_l1_loss, nn.huber_loss, nn.poisson_nll_loss, nn.binary_cross_entropy,
    nn.binary_cross_entropy_with_logits, nn.kl_div, nn.hinge_embedding_loss, nn.soft_margin_loss,
]  # fmt: skip


def refuses(f, error, words):
    trace = tape.Trace()
    x = trace.param(LOGITS)
    with pytest.raises(error, match=words):
        f(x)
    assert len(trace.nodes) == 1


@pytest.mark.parametrize("loss", PAIRWISE)
def test_input_and_target_are_not_broadcast(loss):
    name = loss.__name__
    refuses(lambda x: loss(x, np.ones(4)), ShapeError, rf"{name}: input has shape \[6, 4\], target \[4\]")
    refuses(lambda x: loss(x, np.ones((6, 1))), ShapeError, "reshape")
    refuses(lambda x: loss(x, np.ones((6, 4)), reduction="average"), OptionError, "'none'")
    if loss not in (nn.l1_loss, nn.poisson_nll_loss):
        refuses(lambda x: loss(x, np.ones((6, 4)) * 1j), DTypeError, "real numbers")


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (
            lambda x: nn.cross_entropy(x, TARGET + 1),
            OutOfBoundsError,
            r"class 4 at position \(1,\).* 4 classes",
        ),
        (lambda x: nn.cross_entropy(x, TARGET - 1), OutOfBoundsError, r"class -1 at position \(0,\)"),
        (
            lambda x: nn.nll_loss(x, np.where(TARGET == 3, 9, -100)),
            OutOfBoundsError,
            "class 9 .*ignore_index=-100",
        ),
        (lambda x: nn.cross_entropy(x, TARGET[:5]), ShapeError, r"target has shape \[5\].*\[6\]"),
        (lambda x: nn.cross_entropy(x, np.ones((6, 3))), ShapeError, r"probabilities \[6, 3\]"),
        (lambda x: nn.cross_entropy(x, TARGET == 0), DTypeError, "ints"),
        (lambda x: nn.nll_loss(x, np.ones(6)), DTypeError, "ints"),
        (lambda x: nn.nll_loss(np.ones((6, 4), int), TARGET), DTypeError, "floats"),
        (lambda x: nn.cross_entropy(np.ones((6, 0)), TARGET), ShapeError, "no classes"),
        (lambda x: nn.cross_entropy(x, TARGET, axis=2), ShapeError, "axis 2"),
        (lambda x: nn.cross_entropy(np.float64(1), 0), ShapeError, "axis"),
        (lambda x: nn.cross_entropy(x, TARGET, np.ones(3)), ShapeError, r"one for each class: \[4\]"),
        (lambda x: nn.cross_entropy(x, TARGET, label_smoothing=1.5), OptionError, "label_smoothing=1.5"),
        (lambda x: nn.cross_entropy(x, TARGET, ignore_index="x"), OptionError, "ignore_index"),
        (lambda x: nn.one_hot([[0, 3]], 3), OutOfBoundsError, r"class 3 at position \(0, 1\).* 3 classes"),
        (lambda x: nn.one_hot([0.0], 3), DTypeError, "ints"),
        (lambda x: nn.one_hot([0], 0), OptionError, "positive int"),
        (lambda x: nn.one_hot([0], 2.5), OptionError, "positive int"),
        (lambda x: nn.one_hot([0], 3, dtype="number"), DTypeError, "one_hot"),
        (lambda x: nn.binary_cross_entropy(x, x), OptionError, r"at position \(\d, \d\).*within \[0, 1\]"),
        (lambda x: nn.binary_cross_entropy_with_logits(x, x, np.ones((2, 6, 4))), ShapeError, "weight"),
        (
            lambda x: nn.binary_cross_entropy_with_logits(x, x, pos_weight=np.ones(3)),
            ShapeError,
            "pos_weight",
        ),
        (lambda x: nn.huber_loss(x, x, delta=0), OptionError, "positive"),
        (lambda x: nn.smooth_l1_loss(x, x, beta=-1), OptionError, "must not be negative"),
        (lambda x: nn.gaussian_nll_loss(x, x, np.ones(4)), ShapeError, "var"),
        (lambda x: nn.gaussian_nll_loss(x, x, np.full(6, -1.0)), OptionError, "var is -1.0"),
        (lambda x: nn.kl_div(1.0, 1.0, "batchmean"), ShapeError, "first axis"),
        (lambda x: nn.cosine_similarity(x, np.ones(3)), ShapeError, "broadcast"),
        (lambda x: nn.cosine_similarity(x, x, axis=2), ShapeError, "axis 2"),
        (lambda x: nn.cosine_embedding_loss(x, x, np.ones((6, 4))), ShapeError, r"\(N, D\)"),
        (lambda x: nn.margin_ranking_loss(x, x, np.ones(4)), ShapeError, "target"),
        (lambda x: nn.triplet_margin_loss(x, x, np.ones(4)), ShapeError, "target"),
        (lambda x: nn.triplet_margin_loss(x, x, x, p=0), OptionError, "positive"),
        (lambda x: nn.triplet_margin_loss(1.0, 1.0, 1.0), ShapeError, "vectors"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_so(f, error, words):
    refuses(f, error, words)


# ---- degenerate points and dtypes -----------------------------------------------------------------


def test_derivatives_at_kinks():
    zeros = np.zeros(3)
    for loss in (
        nn.l1_loss,
        nn.huber_loss,
        nn.smooth_l1_loss,
        lambda x, t: nn.smooth_l1_loss(x, t, beta=0.0),
    ):
        np.testing.assert_array_equal(vjp(lambda x, loss=loss: loss(x, zeros), [zeros])[0], 0)
    ones = np.ones(3)
    np.testing.assert_array_equal(vjp(lambda x: nn.hinge_embedding_loss(x, -ones), [ones])[0], 0)
    np.testing.assert_array_equal(vjp(lambda x: nn.margin_ranking_loss(x, ones, ones), [ones])[0], 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_huber_loss_is_right_on_both_sides_of_delta_and_far_out(dtype):
    errors = np.array([-np.inf, -1e30, -2, -0.5, -0.25, 0, 0.25, 0.5, 2, 1e30, np.inf], dtype)
    size = np.abs(errors)
    inner = np.minimum(size, 0.5)
    expected = np.where(size < 0.5, inner**2 / 2, 0.5 * (size - 0.25))
    zeros = np.zeros_like(errors)

    def loss(x):
        return nn.huber_loss(x, zeros, "none", delta=0.5)

    for f in (loss, tape.compile(loss)):
        np.testing.assert_array_equal(f(errors), expected)
    for f in (derivative(loss, 1), tape.compile(derivative(loss, 1))):
        np.testing.assert_array_equal(f(errors), np.clip(errors, -0.5, 0.5))
    assert_close(nn.smooth_l1_loss(errors[2:-2], zeros[2:-2], "none", beta=0.5), 2 * expected[2:-2], 1e-15)


def test_a_probability_of_0_adds_nothing_to_a_divergence():
    logs, target, seed = np.log(np.full(3, 0.5)), np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0])
    trace, _, losses = record(lambda t: nn.kl_div(logs, t, "none"), [target])
    assert_close(losses.value, [0, np.log(2), 0], 1e-15)
    (gradient,) = trace.backward_param_grads(losses, seed)  # also where the derivative is not asked for
    np.testing.assert_array_equal(gradient, [0, 1 + np.log(2), -np.inf])


@pytest.mark.parametrize(
    "loss",
    [
        nn.huber_loss, nn.smooth_l1_loss, nn.binary_cross_entropy, nn.binary_cross_entropy_with_logits,
        nn.kl_div, nn.soft_margin_loss, nn.poisson_nll_loss,
    ],
)  # fmt: skip
def test_what_takes_time_in_a_program_has_vector_instructions(loss):
    compiled = tape.compile(lambda x, t: tape.value_and_grad(lambda x: loss(x, t))(x))
    x = np.linspace(0.25, 0.75, 512, dtype=np.float32)
    compiled(x, x)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks
    names = {instruction.op for instruction in program.plan.instructions}
    assert not {name for name in names if name.startswith("special") or name == "logaddexp"}


def test_vectors_of_zeros_have_cosine_zero_and_a_finite_gradient():
    x, y = np.zeros((2, 3)), np.ones((2, 3))
    np.testing.assert_array_equal(nn.cosine_similarity(x, y), 0)
    for gradient in vjp(nn.cosine_similarity, [x, y]):
        assert np.isfinite(gradient).all()
    for gradient in vjp(lambda x, y: nn.cosine_embedding_loss(x, y, [1, -1]), [x, y]):
        assert np.isfinite(gradient).all()


def test_probabilities_0_and_1_have_finite_losses_and_gradients():
    p, target = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(nn.binary_cross_entropy(p, target, reduction="none"), [0, 100, 100, 0])
    for gradient in vjp(nn.binary_cross_entropy, [p, target]):
        assert np.isfinite(gradient).all()


def test_logits_far_out_have_all_digits():
    x, target = np.array([40.0, -40.0, 800.0, -800.0]), np.array([1.0, 0.0, 0.0, 1.0])
    losses = nn.binary_cross_entropy_with_logits(x, target, reduction="none")
    np.testing.assert_allclose(losses, [np.exp(-40), np.exp(-40), 800, 800], rtol=1e-15)


def test_an_infinite_logit_takes_all():
    x = np.array([[0.0, -np.inf, 0.0]])
    assert nn.cross_entropy(x, np.array([0])) == np.log(2)
    np.testing.assert_array_equal(vjp(lambda x: nn.cross_entropy(x, np.array([0])), [x])[0], [[-0.5, 0, 0.5]])


@pytest.mark.parametrize("loss", [*PAIRWISE, nn.cosine_similarity])
def test_labels_of_ints_or_bools_leave_float32_as_it_is(loss):
    x = np.full((2, 3), 0.5, np.float32)
    for target in (np.ones((2, 3), int), np.ones((2, 3), bool)):
        if loss is not nn.cosine_similarity:
            assert loss(x, target).dtype == np.float32


def test_cosines_of_all_pairs():
    x, y = RNG.normal(size=(3, 5)), RNG.normal(size=(4, 5))
    unit = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (x, y)]
    assert_close(nn.cosine_similarity(x[:, None], y, axis=2), unit[0] @ unit[1].T, 1e-14)
    assert_close(nn.cosine_similarity(x[0], y), nn.cosine_similarity(x[:1], y), 1e-14)


# ---- PyTorch ---------------------------------------------------------------------------------------

REDUCTIONS = ("mean", "sum", "none")
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def functional():
    return pytorch()


def compare(torch, name, dtype, arguments, data=(), **options):
    """A function of float arguments, then of data, against that of the same name."""
    tensors = [torch.tensor(d) for d in data]
    for reduction in REDUCTIONS:
        assert_as_in_torch(
            torch,
            lambda *args, r=reduction: getattr(nn, name)(*args, *data, reduction=r, **options),
            lambda *args, r=reduction: getattr(torch.nn.functional, name)(
                *args, *tensors, reduction=r, **options
            ),
            dtype,
            *arguments,
        )


def compare_classes(torch, name, dtype, arguments, labels, weight, options):
    """The same for classes that have weights, given as indices or else among the arguments."""
    indices = () if labels is None else (labels,)

    def ours(*args):
        return getattr(nn, name)(*args, *indices, weight=weight, **options)

    def theirs(*args):
        weights = None if weight is None else torch.tensor(weight)
        return getattr(torch.nn.functional, name)(
            *args, *map(torch.tensor, indices), weight=weights, **options
        )

    assert_as_in_torch(torch, ours, theirs, dtype, *arguments)


@DTYPES
@pytest.mark.parametrize(
    ("shape", "target"), [((4,), ()), ((6, 4), (6,)), ((2, 4, 3), (2, 3)), ((2, 4, 3, 2), (2, 3, 2))]
)
def test_class_indices_are_those_of_pytorch(shape, target, dtype):
    torch = functional()
    x, labels = RNG.normal(size=shape), RNG.integers(0, 4, target)
    for some, weight in product((False, True), (None, WEIGHT.astype(dtype))):
        if some and target:
            labels = np.where(RNG.uniform(size=target) < 0.3, -100, labels)
        for reduction, smoothing in product(REDUCTIONS, (0.0, 0.2)):
            options = {"reduction": reduction, "label_smoothing": smoothing}
            compare_classes(torch, "cross_entropy", dtype, (x,), labels, weight, options)
        for reduction in REDUCTIONS:
            compare_classes(torch, "nll_loss", dtype, (x,), labels, weight, {"reduction": reduction})


@DTYPES
@pytest.mark.parametrize("shape", [(4,), (6, 4), (2, 4, 3)])
def test_class_probabilities_are_those_of_pytorch(shape, dtype):
    torch = functional()
    x, target = RNG.normal(size=shape), RNG.uniform(size=shape)
    for weight, smoothing in product((None, WEIGHT.astype(dtype)), (0.0, 0.2)):
        for reduction in REDUCTIONS:
            options = {"reduction": reduction, "label_smoothing": smoothing}
            compare_classes(torch, "cross_entropy", dtype, (x, target), None, weight, options)


@DTYPES
def test_regression_losses_are_those_of_pytorch(dtype):
    torch = functional()
    x, y, counts = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 5)), RNG.uniform(0.5, 4, (3, 5))
    for name in ("mse_loss", "l1_loss"):
        compare(torch, name, dtype, (x, y))
    for size in (0.3, 1.0):
        compare(torch, "huber_loss", dtype, (x, y), delta=size)
        compare(torch, "smooth_l1_loss", dtype, (x, y), beta=size)
    compare(torch, "smooth_l1_loss", dtype, (x, y), beta=0.0)
    for full in (False, True):
        compare(torch, "poisson_nll_loss", dtype, (x, counts), full=full)
        compare(torch, "poisson_nll_loss", dtype, (counts, counts[::-1].copy()), full=full, log_input=False)
        for var in (counts, counts[:, :1].copy(), counts[:, 0].copy()):
            compare(torch, "gaussian_nll_loss", dtype, (x, y, var), full=full)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_losses_and_distances_of_complex_numbers_are_those_of_pytorch(dtype):
    torch = functional()
    x, y, z = (RNG.normal(size=(4, 5)) + 1j * RNG.normal(size=(4, 5)) for _ in range(3))
    counts = RNG.uniform(0.5, 4, (4, 5))
    for target in (y, counts, np.where(counts > 2, x, y)):  # some errors are 0
        compare(torch, "l1_loss", dtype, (x, target))
        compare(torch, "smooth_l1_loss", dtype, (x, target), beta=0.0)
        compare(torch, "poisson_nll_loss", dtype, (x, target))
        compare(torch, "gaussian_nll_loss", dtype, (x, target, counts), full=True)
    compare(torch, "poisson_nll_loss", dtype, (x, counts), log_input=False, full=True)
    for p, swap in product((1.0, 2.0, 3.5), (False, True)):
        compare(torch, "triplet_margin_loss", dtype, (x, y, z), p=p, swap=swap, margin=3.0)
        for other in (y, y[0], counts):
            assert_as_in_torch(
                torch,
                lambda a, b, p=p: nn.pairwise_distance(a, b, p, keepdim=True),
                lambda a, b, p=p: torch.nn.functional.pairwise_distance(a, b, p, keepdim=True),
                dtype,
                x,
                other,
            )
    compare(torch, "triplet_margin_with_distance_loss", dtype, (x, y, z), margin=3.0)
    with pytest.raises(DTypeError, match="full=True takes real numbers"):
        nn.poisson_nll_loss(x, y, full=True)
    with pytest.raises(DTypeError, match="gaussian_nll_loss takes real numbers"):
        nn.gaussian_nll_loss(x, y, z)


@pytest.mark.filterwarnings("ignore:reduction")  # of kl_div, which PyTorch means to change
@DTYPES
def test_losses_of_probabilities_are_those_of_pytorch(dtype):
    torch = functional()
    x, p, target = RNG.normal(size=(3, 5)), RNG.uniform(0.05, 0.95, (3, 5)), RNG.uniform(0.05, 0.95, (3, 5))
    compare(torch, "binary_cross_entropy", dtype, (p, target))
    compare(torch, "binary_cross_entropy_with_logits", dtype, (8 * x, target))
    for shape, pos_shape in (((3, 5), (5,)), ((5,), (3, 1))):
        weight, pos_weight = (RNG.uniform(0.5, 2, s).astype(dtype) for s in (shape, pos_shape))
        compare(torch, "binary_cross_entropy", dtype, (p, target), (weight,))
        assert_as_in_torch(
            torch,
            lambda x, t, w=weight, v=pos_weight: nn.binary_cross_entropy_with_logits(x, t, w, pos_weight=v),
            lambda x, t, w=weight, v=pos_weight: torch.nn.functional.binary_cross_entropy_with_logits(
                x, t, torch.tensor(w), pos_weight=torch.tensor(v)
            ),
            dtype,
            x,
            target,
        )
    logs = np.log(target)
    compare(torch, "kl_div", dtype, (x, target))
    compare(torch, "kl_div", dtype, (x, logs), log_target=True)
    for log_target in (False, True):
        assert_as_in_torch(
            torch,
            lambda x, t, o=log_target: nn.kl_div(x, t, "batchmean", o),
            lambda x, t, o=log_target: torch.nn.functional.kl_div(x, t, reduction="batchmean", log_target=o),
            dtype,
            x,
            logs if log_target else target,
        )


@DTYPES
def test_margins_and_similarities_are_those_of_pytorch(dtype):
    torch = functional()
    x, y, z = (RNG.normal(size=(6, 4)) for _ in range(3))
    signs = np.array([1, -1, 1, -1, -1, 1])
    columns = np.repeat(signs[:, None], 4, axis=1)
    for margin in (0.0, 0.4):
        compare(torch, "cosine_embedding_loss", dtype, (x, y), (signs,), margin=margin)
        compare(torch, "margin_ranking_loss", dtype, (x, y), (columns,), margin=margin)
        compare(torch, "hinge_embedding_loss", dtype, (x,), (columns,), margin=margin)
    compare(torch, "cosine_embedding_loss", dtype, (x[0], y[0]), (signs[0],))
    compare(torch, "soft_margin_loss", dtype, (x,), (columns,))
    for swap, p in product((False, True), (1.0, 2.0, 3.0)):
        compare(torch, "triplet_margin_loss", dtype, (x, y, z), swap=swap, p=p, margin=2.0)
    compare(torch, "triplet_margin_loss", dtype, (x[0], y[0], z[0]))
    cosine = torch.nn.functional.cosine_similarity
    for axis, first, second in ((1, x, y), (0, x, y), (-1, x[:, None], y), (0, x[0], y[0])):
        assert_as_in_torch(
            torch,
            lambda a, b, axis=axis: nn.cosine_similarity(a, b, axis),
            lambda a, b, axis=axis: cosine(a, b, dim=axis),
            dtype,
            first,
            second,
        )


# ---- several labels, distances ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_margins_and_distances_are_those_of_pytorch(reduction, dtype):
    torch = pytorch()
    functions, options = torch.nn.functional, {"reduction": reduction}
    labels = np.array([[0, 2, -1, 1], [-1, 0, 1, 2], [3, 1, 0, 2]])
    several = np.array([[0.0, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]])
    weight = WEIGHT.astype(dtype)
    rows, others, third = LOGITS[:3], LOGITS[3:], LOGITS[::2]

    def check(ours, theirs, *args):
        assert_as_in_torch(torch, ours, theirs, dtype, *args)

    for p, margin in product((1, 2), (0.5, 3.0)):
        settings = {"p": p, "margin": margin, **options}
        check(
            lambda x, settings=settings: nn.multi_margin_loss(x, TARGET, weight=weight, **settings),
            lambda x, settings=settings: functions.multi_margin_loss(
                x, torch.tensor(TARGET), weight=torch.tensor(weight), **settings
            ),
            LOGITS,
        )
    check(
        lambda x: nn.multilabel_margin_loss(x, labels, **options),
        lambda x: functions.multilabel_margin_loss(x, torch.tensor(labels), **options),
        rows,
    )
    check(
        lambda x: nn.multilabel_soft_margin_loss(x, several.astype(dtype), weight, **options),
        lambda x: functions.multilabel_soft_margin_loss(
            x, torch.tensor(several.astype(dtype)), torch.tensor(weight), **options
        ),
        rows,
    )
    for swap in (False, True):
        settings = {"swap": swap, "margin": 1.5, **options}
        check(
            lambda *args, settings=settings: nn.triplet_margin_with_distance_loss(*args, **settings),
            lambda *args, settings=settings: functions.triplet_margin_with_distance_loss(*args, **settings),
            rows, others, third,
        )  # fmt: skip
    for p in (1.0, 2.0, 3.5, np.inf):
        check(
            lambda x, y, p=p: nn.pairwise_distance(x, y, p, keepdim=True),
            lambda x, y, p=p: functions.pairwise_distance(x, y, p, keepdim=True),
            rows, others,
        )  # fmt: skip
        check(lambda x, p=p: nn.pdist(x, p), lambda x, p=p: functions.pdist(x, p), LOGITS)


def test_the_distance_of_order_zero_counts_components():
    assert nn.pairwise_distance(np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.0]), 0, eps=0.0) == 2


def test_equal_vectors_have_distance_zero_with_derivative_zero():
    x = np.ones((3, 2))
    assert np.array_equal(vjp(nn.pdist, [x])[0], np.zeros((3, 2)))
    assert np.array_equal(nn.pdist(np.ones((1, 4))), np.zeros(0))


def test_labels_and_distances_that_do_not_fit_are_refused():
    with pytest.raises(OutOfBoundsError, match=r"multi_margin_loss: the target is 4 at position \(5,\)"):
        nn.multi_margin_loss(LOGITS, np.array([0, 1, 2, 3, 0, 4]))
    with pytest.raises(DTypeError, match="must hold ints"):
        nn.multilabel_margin_loss(LOGITS, LOGITS)
    with pytest.raises(ShapeError, match="weight has shape"):
        nn.multi_margin_loss(LOGITS, TARGET, weight=WEIGHT[:3])
    with pytest.raises(OptionError, match="p=3"):
        nn.multi_margin_loss(LOGITS, TARGET, p=3)
    with pytest.raises(OptionError, match="is negative"):
        nn.pdist(LOGITS, -1.0)
    with pytest.raises(ShapeError, match="do not broadcast"):
        nn.pairwise_distance(LOGITS, LOGITS[:4, :3])
    with pytest.raises(ShapeError, match="vectors along the last axis, not scalars"):
        nn.pairwise_distance(1.0, 2.0)
    with pytest.raises(ShapeError, match="along the last axis, not a scalar"):
        nn.multilabel_soft_margin_loss(1.0, 1.0)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_slopes_by_logits_move_with_the_probabilities_of_the_target(mode):
    rng = np.random.default_rng(5)
    logits, target = rng.normal(size=(3, 4)), rng.dirichlet(np.ones(4), 3)

    def slope(target):
        return tape.grad(lambda logits: nn.cross_entropy(logits, target))(logits)

    found = tape.jacobian(slope, mode=mode)(target)
    for index in np.ndindex(target.shape):
        step = np.zeros_like(target)
        step[index] = 1e-4
        expected = (slope(target + step) - slope(target - step)) / 2e-4
        np.testing.assert_allclose(found[..., *index], expected, atol=1e-9)
