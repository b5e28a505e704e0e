"""Layers at the edges of their arguments: loops or formulas, derivatives, programs, batches, and refusals."""

from functools import partial

import numpy as np
import pytest

import tape
from tape import errors, ops
from tests import naive
from tests.edges import check

nn = ops.nn
X = np.array([[0.3, -1.2, 2.5, 0.9], [1.7, 0.4, -0.6, 2.2], [-0.8, 1.1, 0.7, -1.9]])
Y = np.cos(X) + 0.1
P = 0.5 + np.sin(7 * np.arange(12.0)).reshape(3, 4) / 8
S = 1 / (1 + np.exp(-X))
SIGNS = np.array([[1, -1, 1, 1], [-1, 1, 1, -1], [-1, -1, 1, 1]])
W = np.array([0.5, 1.5, 2.0, 1.0])
FAR = np.array([-60.0, -12.5, -3.7, -0.7, 0.2, 2.4, 9.6, 45.0])
IMAGE = np.random.default_rng(2).permutation(60).reshape(1, 2, 5, 6) * 0.13 - 4.1
WAVE = np.random.default_rng(3).permutation(36).reshape(2, 2, 9) * 0.17 - 3.3
KERNEL = np.sin(np.arange(36.0)).reshape(4, 1, 3, 3)
LABELS = np.array([1, 0, 3])
GRID = np.random.default_rng(8).uniform(-1.35, 1.35, (1, 4, 5, 2))

ACTIVATIONS = {
    "gelu": nn.gelu, "gelu tanh": partial(nn.gelu, approximate="tanh"), "silu": nn.silu, "mish": nn.mish,
    "elu": partial(nn.elu, alpha=0.7), "celu": partial(nn.celu, alpha=1.6), "selu": nn.selu,
    "logsigmoid": nn.logsigmoid, "softsign": nn.softsign, "tanhshrink": nn.tanhshrink,
    "hardswish": nn.hardswish, "softplus": partial(nn.softplus, beta=1.5),
    "softplus with threshold": partial(nn.softplus, beta=2.0, threshold=7.0),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes_of_activations_have_the_slopes_of_differences_also_far_out(name):
    check(tape.elementwise_grad(ACTIVATIONS[name]), FAR, program=False, batch=False)
    check(tape.compile(tape.elementwise_grad(ACTIVATIONS[name])), FAR, program=False, batch=False)


def by_naive(name, *args, **options):
    """A row of the table: a layer and its loop, called with arrays, then with options."""
    arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
    rest = args[len(arrays) :]
    return lambda ns, *arrays: getattr(ns.nn, name)(*arrays, *rest, **options), *arrays


LAYERS = {
    "leaky_relu": by_naive("leaky_relu", X, 0.3),
    "prelu": by_naive("prelu", X, W), "prelu of one": by_naive("prelu", X, np.array([0.4])),
    "prelu of planes": by_naive("prelu", IMAGE, W[:2]),
    "prelu of a number": by_naive("prelu", X, np.array(0.4)),
    "glu": by_naive("glu", X), "glu first": by_naive("glu", IMAGE, axis=1),
    "softmin": by_naive("softmin", X, axis=0),
    "hardtanh": by_naive("hardtanh", X, -0.5, 2.0), "hardshrink": by_naive("hardshrink", X, 0.5),
    "softshrink": by_naive("softshrink", X, 0.5), "threshold": by_naive("threshold", X, 0.2, -3.0),
    "rrelu": by_naive("rrelu", X, 0.1, 0.3),
    "gumbel_softmax": (lambda ns, x, n, t: ns.nn.gumbel_softmax(x, n, tau=t, axis=0), X, Y, np.array(0.7)),
    "gumbel_softmax of several temperatures": (
        lambda ns, x, n, t: ns.nn.gumbel_softmax(x, n, tau=t), X, Y[:1], np.array([[0.7], [1.2], [2.0]])),
    "alpha_dropout": (lambda ns, x: ns.nn.alpha_dropout(x, 0.3, SIGNS > 0), X),
    "mse_loss": by_naive("mse_loss", X, Y, reduction="none"),
    "l1_loss": by_naive("l1_loss", X, Y, reduction="sum"),
    "huber_loss": by_naive("huber_loss", X, Y, reduction="sum", delta=0.7),
    "kl_div": by_naive("kl_div", X, S),
    "kl_div of the batch": by_naive("kl_div", X, S, reduction="batchmean"),
    "kl_div of logarithms": by_naive("kl_div", X, Y, reduction="sum", log_target=True),
    "poisson": by_naive("poisson_nll_loss", X, np.exp(Y)),
    "poisson of rates": by_naive("poisson_nll_loss", S, S + 2, log_input=False, eps=1e-3),
    "poisson in full": by_naive("poisson_nll_loss", X, np.exp(2 * Y), full=True, reduction="none"),
    "gaussian": by_naive("gaussian_nll_loss", X, Y, S + 0.1), "gaussian in full": by_naive(
        "gaussian_nll_loss", X, Y, S + 0.1, full=True, reduction="sum"),
    "gaussian with a variance for each row": by_naive(
        "gaussian_nll_loss", X, Y, S[:, :1] + 0.1, reduction="none"),
    "binary cross entropy": (
        lambda ns, p, t: ns.nn.binary_cross_entropy(p, t, reduction="sum"), P, P[::-1].copy()),
    "binary cross entropy weighed": (
        lambda ns, p, t, w: ns.nn.binary_cross_entropy(p, t, w), P, P[::-1].copy(), W),
    "binary cross entropy of logits": (
        lambda ns, x, t, w, v: ns.nn.binary_cross_entropy_with_logits(x, t, w, "none", v), X, S, W, W + 1),
    "nll_loss": (lambda ns, x, w: ns.nn.nll_loss(x, LABELS, w), X, W),
    "nll_loss of planes": (
        lambda ns, x: ns.nn.nll_loss(x, np.array([[1, 0], [0, 1], [1, 1]])),
        np.stack([X[:, :2], Y[:, :2]], 1)),
    "cross_entropy": (lambda ns, x: ns.nn.cross_entropy(x, LABELS, reduction="none"), X),
    "cross_entropy weighed": (lambda ns, x, w: ns.nn.cross_entropy(x, LABELS, w), X, W),
    "cross_entropy smoothed": (lambda ns, x: ns.nn.cross_entropy(x, LABELS, label_smoothing=0.2), X),
    "cross_entropy smoothed and weighed": (
        lambda ns, x, w: ns.nn.cross_entropy(x, LABELS, w, label_smoothing=0.2), X, W),
    "cross_entropy smoothed, weighed, each": (
        lambda ns, x, w: ns.nn.cross_entropy(x, LABELS, w, label_smoothing=0.2, reduction="none"), X, W),
    "cross_entropy of shares": (lambda ns, x, t: ns.nn.cross_entropy(x, t, reduction="sum"), X, S),
    "cross_entropy of shares, smoothed and weighed": (
        lambda ns, x, t, w: ns.nn.cross_entropy(x, t, w, label_smoothing=0.3), X, S, W),
    "cosine_similarity": by_naive("cosine_similarity", X, Y, axis=0),
    "cosine_similarity of one with all": by_naive("cosine_similarity", X, Y[:1], axis=1),
    "cosine_embedding_loss": (
        lambda ns, x, y: ns.nn.cosine_embedding_loss(x, y, SIGNS[:, 0], 0.1, "sum"), X, Y),
    "hinge_embedding_loss": (
        lambda ns, x: nn.hinge_embedding_loss(x, SIGNS, 0.5, "sum"), X,
        {"oracle": lambda ns, x: np.sum(np.where(SIGNS == 1, x, np.maximum(0, 0.5 - x)))}),
    "margin_ranking_loss": (
        lambda ns, x, y: nn.margin_ranking_loss(x, y, SIGNS, 0.6, "none"), X, Y,
        {"oracle": lambda ns, x, y: np.maximum(0, 0.6 - SIGNS * (x - y))}),
    "soft_margin_loss": (lambda ns, x: ns.nn.soft_margin_loss(x, SIGNS, reduction="sum"), X),
    "triplet_margin_loss": (lambda ns, x, y, z: ns.nn.triplet_margin_loss(x, y, z, 3.0, swap=True), X, Y, S),
    "triplet_margin_loss of another norm": (
        lambda ns, x, y, z: ns.nn.triplet_margin_loss(x, y, z, 2.0, p=3, reduction="none"), X, Y + 2, S - 2),
    "multi_margin_loss": (lambda ns, x: ns.nn.multi_margin_loss(x, LABELS, reduction="none"), X),
    "multi_margin_loss squared": (lambda ns, x, w: ns.nn.multi_margin_loss(x, LABELS, 2, 0.6, w), X, W),
    "multilabel_margin_loss": (
        lambda ns, x: ns.nn.multilabel_margin_loss(x, np.array([[3, 0, -1, 1], [-1, 2, 0, 1], [0, 1, 2, 3]])),
        X),
    "multilabel_soft_margin_loss": (
        lambda ns, x, t, w: ns.nn.multilabel_soft_margin_loss(x, t, w, "none"), X, S, W),
    "pairwise_distance": by_naive("pairwise_distance", X, Y, p=3.0, keepdim=True),
    "pairwise_distance of one": by_naive("pairwise_distance", X, Y[0], p=1.0),
    "pdist": by_naive("pdist", X, p=2.0), "pdist of another norm": by_naive("pdist", X, p=3.0),
    "layer_norm of two axes": (lambda ns, x, w, b: ns.nn.layer_norm(x, (3, 4), w, b), np.stack([X, Y]), X, Y),
    "group_norm": (lambda ns, x, w, b: ns.nn.group_norm(x, 2, w, b), X, W, W * W),
    "instance_norm": (lambda ns, x, w, b: ns.nn.instance_norm(x, w, b, 1e-2), WAVE, W[:2], W[2:]),
    "batch_norm": (lambda ns, x, m, v, w, b: ns.nn.batch_norm(x, m, v, w, b), X, W, W * W, W + 1, -W),
    "batch_norm without weights": (
        lambda ns, x, m, v, b: ns.nn.batch_norm(x, m, v, None, b), WAVE, W[:2], W[2:], -W[:2]),
    "batch_norm in training": (
        lambda ns, x, w, b: ns.nn.batch_norm(x, None, None, w, b, True, 1e-3), WAVE, W[:2], -W[:2]),
    "local_response_norm": by_naive("local_response_norm", WAVE, 2, alpha=0.3, beta=0.6, k=1.5),
    "pad": by_naive("pad", WAVE, (1, 2)), "pad and cut": by_naive("pad", WAVE, (-1, 2, 1, -1)),
    "pad with a value": by_naive("pad", X, (2, 0, 0, 1), value=0.3),
    "pad circular": by_naive("pad", X, (2, 1), "circular"), "pad reflect": by_naive("pad", WAVE, (3, 2),
    "reflect"),
    "pixel_shuffle": by_naive("pixel_shuffle", np.random.default_rng(0).normal(size=(1, 8, 2, 3)), 2),
    "pixel_unshuffle": by_naive("pixel_unshuffle", IMAGE[..., :4, :], 2),
    "channel_shuffle": by_naive("channel_shuffle", np.random.default_rng(0).normal(size=(1, 6, 2)), 3),
}  # fmt: skip

WINDOWS = {
    "conv1d": (
        lambda ns, x, w, b: ns.nn.conv1d(x, w, b, 2, 1), WAVE, KERNEL[:2, :, 0].reshape(1, 2, 3), W[:1]),
    "conv2d in groups": (
        lambda ns, x, w, b: ns.nn.conv2d(x, w, b, (2, 1), ((1, 0), (0, 2)), (1, 2), 2), IMAGE, KERNEL, W),
    "conv2d same": (
        lambda ns, x, w: ns.nn.conv2d(x, w, None, padding="same", groups=2, dilation=(2, 1)), IMAGE,
                    KERNEL[..., :2]),
    "conv2d of one image": (lambda ns, x, w: ns.nn.conv2d(x, w, groups=2), IMAGE[0], KERNEL),
    "conv_transpose2d": (
        lambda ns, x, w, b: ns.nn.conv_transpose2d(x, w, b, (2, 3), (1, 0), (1, 2), 2),
        IMAGE, KERNEL[:2], W[:2]),
    "conv_transpose1d dilated": (
        lambda ns, x, w: ns.nn.conv_transpose1d(x, w, None, 1, 0, 2, 1, 3), WAVE, KERNEL[:2, :, 0]),
    "unfold": by_naive("unfold", IMAGE, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)),
    "fold": (
        lambda ns, x: ns.nn.fold(x, (3, 4), (2, 2), 1, (0, 1), (1, 2)),
        np.random.default_rng(0).normal(size=(1, 8, 6))),
    "max_pool1d": by_naive("max_pool1d", WAVE, 3, 2, 1), "max_pool1d rounded up": by_naive(
        "max_pool1d", WAVE, 2, 2, ceil_mode=True),
    "max_pool2d": by_naive("max_pool2d", IMAGE, (2, 3), (2, 1), (1, 1), dilation=(1, 2)),
    "avg_pool1d": by_naive("avg_pool1d", WAVE, 4, 3, 2, ceil_mode=True, count_include_pad=False),
    "avg_pool1d with padding": by_naive("avg_pool1d", WAVE, 4, 3, 2, ceil_mode=True),
    "avg_pool2d": by_naive("avg_pool2d", IMAGE, (2, 3), (2, 1), (1, 1), count_include_pad=False),
    "avg_pool2d divided": by_naive("avg_pool2d", IMAGE, 2, divisor_override=3),
    "lp_pool1d": (lambda ns, x: ns.nn.lp_pool1d(x, 3.0, 2, 3), np.abs(WAVE)),
    "adaptive_avg_pool1d": by_naive("adaptive_avg_pool1d", WAVE, 4), "adaptive_avg_pool1d evenly": by_naive(
        "adaptive_avg_pool1d", WAVE, 3),
    "adaptive_avg_pool2d": by_naive("adaptive_avg_pool2d", IMAGE, (2, None)),
    "adaptive_avg_pool2d of all": by_naive("adaptive_avg_pool2d", IMAGE, 1),
    "adaptive_max_pool2d": by_naive("adaptive_max_pool2d", IMAGE, (3, 4)),
    **{f"interpolate {mode}": by_naive("interpolate", WAVE, size=5, mode=mode)
       for mode in ("nearest", "nearest-exact", "linear", "area")},
    **{f"interpolate {mode} aligned": by_naive(
        "interpolate", IMAGE, size=(1, 9), mode=mode, align_corners=True)
       for mode in ("bilinear", "bicubic")},
    "interpolate bicubic": by_naive("interpolate", IMAGE, scale_factor=(0.7, 1.9), mode="bicubic"),
    **{f"grid_sample {mode} {padding} {corners}": (
        lambda ns, x, g, mode=mode, padding=padding, corners=corners:
        ns.nn.grid_sample(x, g, mode, padding, corners),
        IMAGE, GRID, {"slopes": False})
       for mode, padding, corners in (("bilinear", "reflection", True), ("bicubic", "reflection", False),
                                      ("bicubic", "zeros", True), ("nearest", "border", False))},
    "affine_grid": by_naive("affine_grid", np.sin(np.arange(6.0)).reshape(1, 2, 3), (1, 2, 3, 1)),
    "affine_grid aligned": by_naive("affine_grid", np.sin(np.arange(12.0)).reshape(1, 3, 4), (1, 2, 3, 1, 2),
                                    align_corners=True),
}  # fmt: skip

ALL = {
    f"{family}: {name}": call
    for family, calls in {"layers": LAYERS, "windows": WINDOWS}.items()
    for name, call in calls.items()
}

OTHERWISE = {"grid_sample": {"each getitem"}}
"""Operations without a rule for batches, by layers that call them."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_edges_of_layers(name):
    f, *args = ALL[name]
    options = args.pop() if isinstance(args[-1], dict) else {}
    oracle = partial(options.pop("oracle", f), naive)
    assert check(partial(f, ops), *args, oracle=oracle, **options) <= OTHERWISE.get(name.split()[1], set())


WRONG = {
    "noise of another shape": (
        lambda: nn.gumbel_softmax(X, Y[:2]), errors.ShapeError, "gumbel_softmax: noise .*2, 4"),
    "temperatures of another shape": (
        lambda: nn.gumbel_softmax(X, Y, W[:3]), errors.ShapeError, "gumbel_softmax: tau has shape .3"),
    "a temperature of 0": (
        lambda: nn.gumbel_softmax(X, Y, 0.0), errors.OptionError, "gumbel_softmax: tau=0.0"),
    "no axis": (lambda: nn.gumbel_softmax(X, Y, axis=2), errors.ShapeError, "gumbel_softmax.*axis 2"),
    "slopes of another shape": (lambda: nn.rrelu(X, slopes=Y[:2]), errors.ShapeError, "rrelu: slopes"),
    "odd heights": (lambda: nn.pixel_unshuffle(IMAGE, 2), errors.ShapeError, "pixel_unshuffle: 5 by 6"),
    "odd widths": (lambda: nn.pixel_unshuffle(IMAGE[..., :4, :5], 2), errors.ShapeError, "4 by 5"),
    "channels in 0 groups": (
        lambda: nn.channel_shuffle(IMAGE, 0), errors.OptionError, "channel_shuffle: groups=0.*at least 1"),
    "no steps": (
        lambda: nn.ctc_loss(np.zeros((0, 3)), [1], 0, 1), errors.ShapeError, "ctc_loss: log_probs .*0, 3"),
    "one axis of steps": (
        lambda: nn.ctc_loss(np.zeros(3), [1], 1, 1), errors.ShapeError, "ctc_loss: log_probs"),
    "grids of one axis": (
        lambda: nn.affine_grid(np.zeros((1, 1, 2)), (1, 1, 3)), errors.ShapeError, "affine_grid: theta"),
    "grids of other images": (
        lambda: nn.affine_grid(np.zeros((2, 2, 3)), (1, 1, 3, 4)), errors.ShapeError, "affine_grid: theta"),
    "the same with strides": (
        lambda: nn.conv1d(WAVE, KERNEL[:2, :, 0].reshape(1, 2, 3), stride=2, padding="same"),
        errors.OptionError,
        "padding='same' needs stride 1"),
    "padding by another word": (
        lambda: nn.conv1d(WAVE, KERNEL[:2, :, 0].reshape(1, 2, 3), padding="other"),
        errors.OptionError, "'other'"),
    "more output padding than the stride": (
        lambda: nn.conv_transpose1d(WAVE, KERNEL[:2, :, 0], output_padding=1),
        errors.OptionError, "output_padding"),
    "a mode of another rank": (
        lambda: nn.interpolate(WAVE, 4, mode="bilinear"), errors.OptionError, "mode='bilinear' with 1 axes"),
    "corners of the nearest": (
        lambda: nn.interpolate(WAVE, 4, align_corners=True), errors.OptionError, "no align_corners"),
    "both sizes": (lambda: nn.interpolate(WAVE, 4, 2.0), errors.OptionError, "size=4 and scale_factor=2.0"),
    "neither size": (lambda: nn.interpolate(WAVE), errors.OptionError, "size=None and scale_factor=None"),
    "nothing left": (lambda: nn.interpolate(WAVE, scale_factor=0.1), errors.OptionError, "leaves nothing"),
    "infinitely many": (lambda: nn.interpolate(WAVE, scale_factor=np.inf), errors.OptionError, "positive"),
    "too much reflected": (lambda: nn.pad(WAVE, (9, 0), "reflect"), errors.ShapeError, "more than x has"),
    "too much around": (lambda: nn.pad(WAVE, (0, 10), "circular"), errors.ShapeError, "more than x has"),
    "too much cut off": (lambda: nn.pad(WAVE, (-5, -5)), errors.ShapeError, "than is there"),
    "cut off in another mode": (
        lambda: nn.pad(WAVE, (-1, 0), "replicate"), errors.OptionError, "is negative"),
    "an odd number of widths": (lambda: nn.pad(WAVE, (1, 2, 3)), errors.OptionError, "two for each axis"),
    "a variance of another shape": (
        lambda: nn.gaussian_nll_loss(X, Y, W), errors.ShapeError, "gaussian_nll_loss: var has shape .4"),
    "a negative variance": (
        lambda: nn.gaussian_nll_loss(X, Y, -S), errors.OptionError, "gaussian_nll_loss: var is"),
    "no batch": (lambda: nn.kl_div(1.0, 2.0, "batchmean"), errors.ShapeError, "kl_div: .*first axis"),
    "one element in each channel": (
        lambda: nn.batch_norm(X[:1], training=True), errors.ShapeError, "batch_norm: .*one element"),
    "no statistics": (lambda: nn.batch_norm(X, running_mean=W), errors.OptionError, "running_var"),
    "a momentum above 1": (
        lambda: nn.batch_norm_statistics(X, W, W, 1.1), errors.OptionError, "momentum=1.1"),
    "odd positions": (lambda: nn.rotary_embedding(X, W), errors.ShapeError, "rotary_embedding: positions"),
    "an odd width": (lambda: nn.rotary_embedding(X[:, :3]), errors.ShapeError, "even number"),
    "a base of 0": (lambda: nn.rotary_embedding(X, base=0.0), errors.OptionError, "base=0.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told_by_name(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()


FITTING = {
    "as much reflected as there is": (lambda: nn.pad(WAVE, (8, 0), "reflect"), (2, 2, 17)),
    "as much around as there is": (lambda: nn.pad(WAVE, (0, 9), "circular"), (2, 2, 18)),
    "all cut off": (lambda: nn.pad(WAVE, (-4, -5)), (2, 2, 0)),
    "a momentum of 1": (lambda: nn.batch_norm_statistics(X, W, W, 1)[0], (4,)),
    "a momentum of 0": (lambda: nn.batch_norm_statistics(X, W, W, 0)[1], (4,)),
    "no width": (lambda: nn.rotary_embedding(X[:, :0]), (3, 0)),
    "two elements in each channel": (lambda: nn.batch_norm(X[:2], training=True), (2, 4)),
    "no pixels": (lambda: nn.pixel_unshuffle(np.zeros((4, 0, 2)), 2), (16, 0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", FITTING)
def test_what_just_fits_is_taken(name):
    call, shape = FITTING[name]
    assert call().shape == shape
