"""Images and sequences in `tape.nn`: PyTorch's values and gradients, limits, and what is refused."""

from itertools import product

import numpy as np
import pytest

import tape
from tape import errors
from tape.ops import nn
from tests.oracles import assert_close, pytorch, vjp
from tests.test_nn_activations import assert_as_in_torch
from tests.tiers import some

RNG = np.random.default_rng(5)
every_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def as_in_torch(name, dtype, *args, **options):
    torch = pytorch()
    theirs = getattr(torch.nn.functional, name)
    assert_as_in_torch(
        torch,
        lambda *args: getattr(nn, name)(*args, **options),
        lambda *args: theirs(*args, **options),
        dtype,
        *args,
    )


# ---- elements moved ------------------------------------------------------------------------------------

PADS = {
    "constant": [(1, 2), (0, 0, 3, 1), (-1, 2, 1, -2)],
    "reflect": [(1, 2, 0, 0), (2, 0, 1, 1)],
    "replicate": [(4, 2, 0, 1), (2, 0, 0, 5)],
    "circular": [(3, 4, 0, 0), (2, 0, 1, 3)],
}


@every_dtype
@pytest.mark.parametrize("mode", PADS)
def test_padding_is_that_of_pytorch(mode, dtype):
    for pad in PADS[mode]:
        as_in_torch("pad", dtype, RNG.normal(size=(2, 3, 3, 4)), pad=pad, mode=mode)


@every_dtype
def test_pixels_and_channels_are_those_of_pytorch(dtype):
    as_in_torch("pixel_shuffle", dtype, RNG.normal(size=(2, 3, 18, 2, 3)), upscale_factor=3)
    as_in_torch("pixel_unshuffle", dtype, RNG.normal(size=(3, 2, 6, 4)), downscale_factor=2)
    as_in_torch("channel_shuffle", dtype, RNG.normal(size=(2, 6, 2, 3)), groups=3)


def test_shuffles_undo_each_other():
    x = RNG.normal(size=(2, 8, 3, 5))
    assert np.array_equal(nn.pixel_unshuffle(nn.pixel_shuffle(x, 2), 2), x)
    assert np.array_equal(nn.channel_shuffle(nn.channel_shuffle(x, 2), 4), x)


# ---- other points --------------------------------------------------------------------------------------

INTERPOLATED = [
    (mode, shape, size, corners)
    for mode, shape, sizes in (
        ("nearest", (5,), [3, 11]), ("nearest", (3, 4), [(5, 3), 1]), ("nearest-exact", (4, 3), [(7, 2)]),
        ("linear", (5,), [1, 3, 12]), ("bilinear", (4, 3), [(3, 7), (1, 1)]),
        ("bicubic", (4, 5), [(6, 3), 2]),
        ("trilinear", (2, 4, 3), [(3, 2, 5)]), ("area", (5, 4), [(3, 3)]), ("area", (7,), [3]),
    )
    for size in sizes
    for corners in ([True, False] if "linear" in mode or mode == "bicubic" else [False])
]  # fmt: skip


@every_dtype
@pytest.mark.parametrize(("mode", "shape", "size", "corners"), INTERPOLATED)
def test_images_of_another_size_are_those_of_pytorch(mode, shape, size, corners, dtype):
    options = {"align_corners": True} if corners else {}
    as_in_torch("interpolate", dtype, RNG.normal(size=(2, 2, *shape)), size=size, mode=mode, **options)


@pytest.mark.parametrize("factor", [0.6, 1.5, 2, (2.0, 0.75)])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_images_scaled_by_a_factor_are_those_of_pytorch(mode, factor):
    as_in_torch("interpolate", np.float64, RNG.normal(size=(1, 2, 4, 5)), scale_factor=factor, mode=mode)


GRIDS = some(
    [
        pytest.param(*options, id="-".join(map(str, options)))
        for options in product(
            ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (True, False)
        )
    ],
    every=2,
)


@pytest.mark.parametrize(("mode", "padding_mode", "align_corners"), GRIDS)
def test_reading_at_points_is_that_of_pytorch(mode, padding_mode, align_corners):
    options = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    for scale in (0.9, 4.0):
        grid = scale * RNG.uniform(-1, 1, size=(2, 5, 7, 2))
        as_in_torch("grid_sample", np.float64, RNG.normal(size=(2, 3, 4, 5)), grid, **options)
    if mode != "bicubic":
        grid = 1.5 * RNG.uniform(-1, 1, size=(1, 2, 3, 4, 3))
        as_in_torch("grid_sample", np.float64, RNG.normal(size=(1, 2, 3, 4, 2)), grid, **options)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (1, 2, 1, 5), (2, 1, 2, 3, 4)])
def test_affine_grids_are_those_of_pytorch(size, align_corners):
    theta = RNG.normal(size=(size[0], len(size) - 2, len(size) - 1))
    as_in_torch("affine_grid", np.float64, theta, size=size, align_corners=align_corners)


def test_an_image_is_read_back_at_its_own_pixels():
    x = RNG.normal(size=(2, 3, 4, 5))
    same = np.broadcast_to(np.eye(2, 3), (2, 2, 3))
    for corners in (True, False):
        assert_close(
            nn.grid_sample(x, nn.affine_grid(same, x.shape, corners), align_corners=corners), x, 1e-12
        )


def test_points_that_are_nan_are_outside():
    x, grid = np.ones((1, 1, 2, 2)), np.full((1, 1, 1, 2), np.nan)
    assert nn.grid_sample(x, grid).item() == 0


@every_dtype
def test_p_norms_of_windows_are_those_of_pytorch(dtype):
    for p, options in ((2.0, {}), (3.0, {"stride": 1}), (1.5, {"ceil_mode": True})):
        for rank in (1, 2, 3):
            x = RNG.uniform(0.1, 1, size=(2, 3, *(5, 4, 3)[:rank]))
            as_in_torch(f"lp_pool{rank}d", dtype, x, norm_type=p, kernel_size=2, **options)


def test_the_p_norm_of_zeros_has_derivative_zero():
    (found,) = vjp(lambda x: nn.lp_pool1d(x, 2, 2), [np.zeros((1, 1, 4))])
    assert np.array_equal(found, np.zeros((1, 1, 4)))


# ---- sequences -----------------------------------------------------------------------------------------


def sequences(steps, count, classes, most):
    logits = RNG.normal(size=(steps, count, classes))
    return logits, RNG.integers(1, classes, size=(count, most))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_temporal_classification_is_that_of_pytorch(reduction):
    torch = pytorch()
    logits, targets = sequences(12, 4, 5, 4)
    lengths, sizes = np.array([12, 7, 9, 4]), np.array([4, 2, 0, 1])
    for labels in (targets, np.concatenate([row[:n] for row, n in zip(targets, sizes, strict=True)])):
        assert_as_in_torch(
            torch,
            lambda x, labels=labels: nn.ctc_loss(
                nn.log_softmax(x, -1), labels, lengths, sizes, reduction=reduction
            ),
            lambda x, labels=labels: torch.nn.functional.ctc_loss(
                x.log_softmax(-1), *map(torch.tensor, (labels, lengths, sizes)), reduction=reduction
            ),
            np.float64,
            logits,
        )


def test_long_sequences_do_not_underflow():
    torch = pytorch()
    logits, targets = sequences(400, 2, 6, 60)
    lengths, sizes = np.array([400, 350]), np.array([60, 45])
    options = {"reduction": "none"}
    theirs = torch.nn.functional.ctc_loss(
        torch.tensor(30 * logits).log_softmax(-1), *map(torch.tensor, (targets, lengths, sizes)), **options
    )
    ours = nn.ctc_loss(nn.log_softmax(30 * logits, -1), targets, lengths, sizes, **options)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_labels_that_do_not_fit_cost_everything_or_nothing():
    x = nn.log_softmax(RNG.normal(size=(3, 1, 4)), -1)
    twice = np.array([[1, 1, 2]])  # a repeated label needs a blank in between

    def loss(x, zero_infinity):
        return nn.ctc_loss(x, twice, [3], [3], zero_infinity=zero_infinity)

    assert loss(x, False) == np.inf
    assert loss(x, True) == 0
    assert np.array_equal(vjp(lambda x: loss(x, True), [x])[0], np.zeros(x.shape))


@pytest.mark.parametrize("size", [2, [2]])
def test_labels_of_one_sequence_may_be_padded(size):
    x = nn.log_softmax(RNG.normal(size=(5, 1, 4)), -1)
    padded, alone = (nn.ctc_loss(x, np.array(labels), [5], size) for labels in ([1, 2, 3, 3], [1, 2]))
    assert padded == alone


def test_a_program_of_sequences_takes_other_labels_and_lengths():
    logits, targets = sequences(6, 3, 4, 2)

    def loss(x, targets, lengths, sizes):
        return nn.ctc_loss(nn.log_softmax(x, -1), targets, lengths, sizes)

    compiled = tape.compile(tape.value_and_grad(loss))
    for k in range(4):
        rows = np.roll(targets, k, axis=0)
        lengths, sizes = np.array([6, 5, 4 + k % 2]), np.array([2, k % 2, 1])
        value, gradient = compiled(logits, rows, lengths, sizes)
        expected, slope = tape.value_and_grad(loss)(logits, rows, lengths, sizes)
        assert_close(value, expected, 1e-13)
        assert_close(gradient, slope, 1e-13)
    with pytest.raises(errors.OutOfBoundsError, match="ctc_loss: targets"):
        compiled(logits, np.full((3, 2), 9), lengths, sizes)


def test_reflection_between_one_pixel_and_itself_stays_there():
    points = np.array([[[[0.3, -5.0], [-1.0, 0.2], [2.5, 7.0]]]])
    for image in (np.array([[[[2.0, 3.0]]]]), np.array([[[[2.0], [3.0]]]])):
        grid = points if image.shape[3] == 2 else points[..., ::-1]
        found = nn.grid_sample(image, grid, padding_mode="reflection", align_corners=True)
        np.testing.assert_allclose(found, [[[[2.65, 2.0, 2.25]]]], rtol=1e-12)


# ---- refusals ------------------------------------------------------------------------------------------

X, IMAGE = np.ones((2, 3)), np.ones((1, 1, 2, 2))
LOGS, ONES = np.zeros((4, 2, 3)), np.ones((2, 1), int)
REFUSED = [
    (lambda: nn.pad(X, (1,)), errors.OptionError, "two for each axis"),
    (lambda: nn.pad(X, (1, 1), "other"), errors.OptionError, "'replicate'"),
    (lambda: nn.pad(X, (-1, 0), "reflect"), errors.OptionError, "Only mode='constant'"),
    (lambda: nn.pad(X, (-2, -2)), errors.ShapeError, "cuts more off"),
    (lambda: nn.pad(X, (3, 0), "reflect"), errors.ShapeError, "more than x has"),
    (lambda: nn.pad(X, (1,) * 6), errors.ShapeError, "3 pairs"),
    (lambda: nn.pixel_shuffle(np.ones((3, 1, 1)), 2), errors.ShapeError, "multiple of 2"),
    (lambda: nn.pixel_unshuffle(np.ones((1, 3, 4)), 2), errors.ShapeError, "squares"),
    (lambda: nn.channel_shuffle(X, 2), errors.ShapeError, "groups=2"),
    (lambda: nn.interpolate(X, 2), errors.ShapeError, "1 to 3 axes"),
    (lambda: nn.interpolate(IMAGE, 2, mode="linear"), errors.OptionError, "bilinear"),
    (lambda: nn.interpolate(IMAGE), errors.OptionError, "One of them"),
    (lambda: nn.interpolate(IMAGE, 2, 2.0), errors.OptionError, "One of them"),
    (lambda: nn.interpolate(IMAGE, scale_factor=0.2), errors.OptionError, "leaves nothing"),
    (lambda: nn.interpolate(IMAGE, scale_factor=-1.0), errors.OptionError, "must be positive"),
    (lambda: nn.interpolate(IMAGE, scale_factor=(2, "a")), errors.OptionError, "must be positive, one or"),
    (lambda: nn.interpolate(IMAGE, scale_factor=(2.0,)), errors.OptionError, "one for each axis"),
    (lambda: nn.interpolate(IMAGE, scale_factor=np.inf), errors.OptionError, "must be positive"),
    (lambda: nn.interpolate(IMAGE[:, :, :0], 3), errors.ShapeError, r"nothing in \[0, 2\]"),
    (lambda: nn.interpolate(IMAGE, 3, align_corners=True), errors.OptionError, "no align_corners"),
    (lambda: nn.affine_grid(np.ones((1, 2, 3)), (2, 1, 3, 3)), errors.ShapeError, "theta"),
    (lambda: nn.grid_sample(IMAGE, np.ones((1, 2, 2, 3))), errors.ShapeError, "grid"),
    (lambda: nn.grid_sample(IMAGE, np.ones((1, 2, 2, 2)), "linear"), errors.OptionError, "mode='linear'"),
    (lambda: nn.grid_sample(IMAGE, np.ones((1, 2, 2, 2)), padding_mode="wrap"), errors.OptionError, "wrap"),
    (lambda: nn.grid_sample(IMAGE[..., :0], np.ones((1, 2, 2, 2))), errors.ShapeError, r"in \[2, 0\]"),
    (lambda: nn.lp_pool1d(X, 0, 2), errors.OptionError, "must be positive"),
    (lambda: nn.ctc_loss(LOGS, ONES, [4, 5], [1, 1]), errors.OutOfBoundsError, "input_lengths"),
    (lambda: nn.ctc_loss(LOGS, ONES, [4, 4], [1, 2]), errors.OutOfBoundsError, "target_lengths"),
    (lambda: nn.ctc_loss(LOGS, np.zeros((2, 1), int), [4, 4], [1, 1]), errors.OutOfBoundsError, "the blank"),
    (lambda: nn.ctc_loss(LOGS, np.ones((2, 1)), [4, 4], [1, 1]), errors.DTypeError, "ints"),
    (lambda: nn.ctc_loss(LOGS, np.ones(3, int), [4, 4], [1, 1]), errors.ShapeError, "sum to 2"),
    (lambda: tape.compile(nn.ctc_loss)(LOGS, np.ones(2, int), [4, 4], np.array([1, 1])),
     errors.UnsupportedError, r"target_lengths is a Var.*\(N, S\)"),
    (lambda: nn.ctc_loss(LOGS, ONES, [4, 4], [1, 1], blank=3), errors.OptionError, "blank=3"),
    (lambda: nn.ctc_loss(LOGS, np.ones((3, 1), int), [4, 4], [1, 1]), errors.ShapeError, r"\(2, S\)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "said"), REFUSED)
def test_what_does_not_fit_is_refused(call, kind, said):
    with pytest.raises(kind, match=said):
        call()
