"""Embeddings, alone and in bags."""

import numpy as np

from tests.op_table.case import Case, classes, grid, real


def bag(**options):
    return lambda ns, index, weight: ns.nn.embedding_bag(index, weight, **options)


CASES = [
    Case("nn.embedding", lambda ns, index, weight: ns.nn.embedding(index, weight), classes(5), real(4, 3)),
    Case("nn.embedding two axes", lambda ns, index, weight: ns.nn.embedding(index, weight),
         classes(2, 3), real(4, 2)),
    Case("nn.embedding empty", lambda ns, index, weight: ns.nn.embedding(index, weight),
         classes(0, 2), real(4, 2)),
    Case("nn.embedding_bag mean", bag(), classes(3, 4), real(4, 2)),
    Case("nn.embedding_bag mean padded", bag(padding_idx=1), classes(3, 4), real(4, 2)),
    Case("nn.embedding_bag sum padded", bag(mode="sum", padding_idx=2), classes(3, 4), real(4, 2)),
    Case("nn.embedding_bag max", bag(mode="max"), classes(2, 3), grid(4, 2)),
    Case("nn.embedding_bag max padded", bag(mode="max", padding_idx=0), classes(3, 2), grid(4, 2)),
    Case("nn.embedding_bag weighted",
         lambda ns, index, weight, each: ns.nn.embedding_bag(index, weight, "sum", each),
         classes(3, 4), real(4, 2), real(3, 4)),
    *(Case(f"nn.embedding_bag offsets {mode} {padding}",
           lambda ns, index, weight, mode=mode, padding=padding: ns.nn.embedding_bag(
               index, weight, mode, padding_idx=padding, offsets=np.array([0, 2, 2, 5])),
           classes(7), real(4, 2)) for mode in ("mean", "sum") for padding in (None, 1)),
    Case("nn.embedding_bag offsets weighted",
         lambda ns, index, weight, each: ns.nn.embedding_bag(
             index, weight, "sum", each, offsets=np.array([0, 2, 5]), include_last_offset=True),
         classes(5), real(4, 2), real(5)),
]  # fmt: skip
