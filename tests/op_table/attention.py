"""Attention, with every kind of mask."""

import numpy as np

from tests.op_table.case import Case, bools, real


def attention(**options):
    return lambda ns, *args: ns.nn.scaled_dot_product_attention(*args, **options)


def heads(**options):
    return lambda ns, q, k, v, *params: ns.nn.multi_head_attention(q, k, v, 2, *params, **options)


def self_attention(ns, x, w, b, out):
    return ns.nn.multi_head_attention(x, x, x, 2, w, b, out, is_causal=True)


def rotary(**options):
    return lambda ns, *args: ns.nn.rotary_embedding(*args, **options)


QKV = (real(2, 3, 2), real(2, 4, 2), real(2, 4, 3))
LEFT_OUT = np.array([[True, False, True, True], [False] * 4, [True] * 4])  # one query attends to no key

CASES = [
    Case("nn.scaled_dot_product_attention", attention(), real(3, 2), real(4, 2), real(4, 3)),
    Case("nn.scaled_dot_product_attention scale", attention(scale=0.3),
         real(2, 3, 2), real(4, 2), real(4, 3)),
    Case("nn.scaled_dot_product_attention causal", attention(is_causal=True), *QKV),
    Case("nn.scaled_dot_product_attention mask", attention(), *QKV, bools(3, 4)),
    Case("nn.scaled_dot_product_attention left out", attention(attn_mask=LEFT_OUT), *QKV),
    Case("nn.scaled_dot_product_attention floats", attention(is_causal=True), *QKV, real(2, 1, 4)),
    Case("nn.scaled_dot_product_attention dropout",
         attention(dropout_p=0.25, dropout_mask=LEFT_OUT[::-1]), *QKV),
    Case("nn.scaled_dot_product_attention gqa", attention(enable_gqa=True),
         real(4, 2, 2), real(2, 3, 2), real(2, 3, 1)),
    Case("nn.scaled_dot_product_attention empty", attention(), real(0, 3, 2), real(0, 4, 2), real(0, 4, 1)),
    Case("nn.multi_head_attention", heads(),
         real(2, 2, 4), real(2, 3, 4), real(2, 3, 4), real(12, 4), real(12), real(4, 4), real(4)),
    Case("nn.rotary_embedding", rotary(), real(2, 3, 4)),
    Case("nn.rotary_embedding positions", rotary(base=50.0), real(2, 3, 4), real(2, 1)),
    Case("nn.rotary_embedding interleaved", rotary(interleaved=True), real(3, 4), real(3)),
    Case("nn.rotary_embedding empty", rotary(), real(2, 0, 4)),
    Case("nn.multi_head_attention self", self_attention, real(2, 3, 4), real(12, 4), real(12), real(4, 4)),
]  # fmt: skip
