"""Neural networks: what they are made of, as functions. The names and the order of axes are PyTorch's."""

from tape.ops.nn.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from tape.ops.nn.attention import multi_head_attention, scaled_dot_product_attention
from tape.ops.nn.batch_normalization import batch_norm, batch_norm_statistics, instance_norm
from tape.ops.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tape.ops.nn.dropout import dropout, dropout_mask
from tape.ops.nn.embedding import embedding, embedding_bag
from tape.ops.nn.linear import bilinear, linear
from tape.ops.nn.normalization import group_norm, layer_norm, local_response_norm, normalize, rms_norm
from tape.ops.nn.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "batch_norm_statistics",
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "dropout",
    "dropout_mask",
    "embedding",
    "embedding_bag",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "linear",
    "local_response_norm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "multi_head_attention",
    "normalize",
    "rms_norm",
    "scaled_dot_product_attention",
]
