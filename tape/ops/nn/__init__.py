"""Functions of neural networks, with PyTorch's names and order of axes."""

from tape.ops.elementwise.elementary import relu, sigmoid, tanh
from tape.ops.nn.activations import (
    celu,
    elu,
    gelu,
    glu,
    logit,
    logsigmoid,
    mish,
    selu,
    silu,
    softmin,
    softplus,
    softsign,
    tanhshrink,
)
from tape.ops.nn.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from tape.ops.nn.alignment import ctc_loss
from tape.ops.nn.attention import multi_head_attention, scaled_dot_product_attention
from tape.ops.nn.batch_normalization import batch_norm, batch_norm_statistics, instance_norm
from tape.ops.nn.classification import cross_entropy, nll_loss, one_hot
from tape.ops.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tape.ops.nn.distances import pairwise_distance, pdist, triplet_margin_with_distance_loss
from tape.ops.nn.dropout import dropout, dropout_mask
from tape.ops.nn.embedding import embedding, embedding_bag
from tape.ops.nn.linear import bilinear, linear
from tape.ops.nn.lp_pooling import lp_pool1d, lp_pool2d, lp_pool3d
from tape.ops.nn.margins import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from tape.ops.nn.multilabel import multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss
from tape.ops.nn.noise import alpha_dropout, gumbel_softmax, rrelu
from tape.ops.nn.normalization import group_norm, layer_norm, local_response_norm, normalize, rms_norm
from tape.ops.nn.piecewise import (
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    prelu,
    relu6,
    softshrink,
    threshold,
)
from tape.ops.nn.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from tape.ops.nn.probabilities import binary_cross_entropy, binary_cross_entropy_with_logits, kl_div
from tape.ops.nn.rearranging import channel_shuffle, pad, pixel_shuffle, pixel_unshuffle
from tape.ops.nn.regression import (
    gaussian_nll_loss,
    huber_loss,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from tape.ops.nn.resampling import affine_grid, grid_sample, interpolate
from tape.ops.nn.rotary import rotary_embedding
from tape.ops.nn.unfolding import fold, unfold
from tape.ops.nn.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from tape.ops.reduction.softmax import log_softmax, logsumexp, softmax
from tape.ops.special.normal import erf

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "batch_norm_statistics",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout_mask",
    "elu",
    "embedding",
    "embedding_bag",
    "erf",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logit",
    "logsigmoid",
    "logsumexp",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rotary_embedding",
    "rrelu",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
]
