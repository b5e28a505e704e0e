"""Losses of `tape.nn`, and what they are made of."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.op_table.case import (
    Case,
    _domain,
    call,
    classes,
    complexes,
    grid,
    nonzero,
    other_grid,
    positive,
    probabilities,
    real,
    upper,
)

shares = _domain(lambda rng, s: rng.uniform(0.35, 0.65, s))
signs = _domain(lambda rng, s: rng.choice([-1, 1], s))
counts = _domain(lambda rng, s: rng.choice([0.5, 2.0, 3.0], s))
labels = _domain(lambda rng, s: rng.choice([0, 1, 2, 3, -100], s))
apart = _domain(lambda rng, s: rng.choice([-2.5, -0.6, 0.4, 1.7], s))  # errors away from 0 and 1
tags = _domain(lambda rng, s: rng.permuted(np.broadcast_to([0, -1, 3, 2], s), axis=-1))
words = _domain(lambda rng, s: rng.integers(1, 4, s))
syllables = _domain(lambda rng, s: rng.integers(0, 3, s))
away = _domain(lambda rng, s: 3 + rng.uniform(-0.3, 0.3, s))  # of a pair, further than any margin here


def nn(op: str, **options: Any) -> Callable[..., Any]:
    return lambda ns, *args: call(op, **options)(ns.nn, *args)


def of_pairs(op: str, *domains: Any) -> list[Case]:
    """A loss of operands of one shape, for every reduction."""
    return [
        *(Case(f"nn.{op} {reduction}", nn(op, reduction=reduction), *(d(2, 3) for d in domains))
          for reduction in ("mean", "sum", "none")),
        Case(f"nn.{op} empty", nn(op, reduction="none"), *(d(0, 3) for d in domains)),
    ]  # fmt: skip


def small(ns: Any, *args: Any) -> list[Any]:
    """Triplets closer to each other than the margin."""
    return [0.2 * x for x in args]


CASES = [
    Case("nn.one_hot", nn("one_hot", num_classes=4), classes(2, 3), has_derivative=False),
    Case("nn.one_hot ints", nn("one_hot", num_classes=5, dtype=np.int64), classes(3), has_derivative=False),
    Case("nn.one_hot ()", nn("one_hot", num_classes=4), classes(), has_derivative=False),
    Case("nn.one_hot empty", nn("one_hot", num_classes=4), classes(0), has_derivative=False),
    *(Case(f"nn.cross_entropy {reduction}", nn("cross_entropy", reduction=reduction), real(3, 4), classes(3))
      for reduction in ("mean", "sum", "none")),
    Case("nn.cross_entropy one", nn("cross_entropy"), real(4), classes()),
    Case("nn.cross_entropy planes", nn("cross_entropy"), real(2, 4, 3), classes(2, 3)),
    Case("nn.cross_entropy axis=-1", nn("cross_entropy", axis=-1), real(2, 3, 4), classes(2, 3)),
    Case("nn.cross_entropy empty", nn("cross_entropy", reduction="sum"), real(0, 4), classes(0)),
    *(Case(f"nn.cross_entropy ignored {smoothed} {reduction}",
           nn("cross_entropy", reduction=reduction, label_smoothing=smoothed), real(7, 4), labels(7))
      for smoothed, reduction in ((0.0, "mean"), (0.0, "none"), (0.25, "mean"), (0.25, "sum"))),
    *(Case(f"nn.cross_entropy weight {smoothed}", nn("cross_entropy", label_smoothing=smoothed),
           real(5, 4), labels(5), positive(4)) for smoothed in (0.0, 0.25)),
    Case("nn.cross_entropy probabilities", nn("cross_entropy", axis=-1),
         real(2, 3, 4), probabilities(2, 3, 4)),
    Case("nn.cross_entropy probabilities weight", nn("cross_entropy", label_smoothing=0.25, reduction="none"),
         real(3, 4), probabilities(3, 4), positive(4)),
    Case("nn.nll_loss", nn("nll_loss"), real(3, 4), classes(3)),
    Case("nn.nll_loss one", nn("nll_loss", reduction="none"), real(4), classes()),
    Case("nn.nll_loss planes", nn("nll_loss", reduction="sum"), real(2, 4, 3), labels(2, 3)),
    Case("nn.nll_loss weight", nn("nll_loss"), real(7, 4), labels(7), positive(4)),
    Case("nn.nll_loss empty", nn("nll_loss", reduction="none"), real(0, 4), classes(0)),
    *of_pairs("binary_cross_entropy", shares, shares),
    Case("nn.binary_cross_entropy weight", nn("binary_cross_entropy"),
         shares(2, 3), shares(2, 3), positive(3)),
    *of_pairs("binary_cross_entropy_with_logits", real, shares),
    Case("nn.binary_cross_entropy_with_logits weights",
         lambda ns, x, t, w, v: ns.nn.binary_cross_entropy_with_logits(x, t, w, pos_weight=v),
         real(2, 3), shares(2, 3), positive(2, 1), positive(3)),
    *of_pairs("kl_div", real, shares),
    Case("nn.kl_div log_target", nn("kl_div", log_target=True), real(2, 3), real(2, 3)),
    Case("nn.kl_div batchmean", nn("kl_div", reduction="batchmean"), real(2, 3), shares(2, 3)),
    *of_pairs("mse_loss", real, real),
    *of_pairs("l1_loss", grid, other_grid),
    *(Case(f"nn.l1_loss complex {reduction}",
           lambda ns, e, t, r=reduction: ns.nn.l1_loss(e + t, t, reduction=r), upper(2, 3), complexes(2, 3))
      for reduction in ("mean", "none")),
    Case("nn.smooth_l1_loss complex", lambda ns, e, t: ns.nn.smooth_l1_loss(e + t, t, beta=0.0),
         upper(2, 3), real(2, 3)),
    *(Case(f"nn.smooth_l1_loss {beta}",
           lambda ns, e, t, beta=beta: ns.nn.smooth_l1_loss(e + t, t, beta=beta), apart(2, 3), real(2, 3))
      for beta in (0.0, 1.0, 2.0)),
    *(Case(f"nn.huber_loss {reduction}",
           lambda ns, e, t, r=reduction: ns.nn.huber_loss(e + t, t, r, 2.0), apart(2, 3), real(2, 3))
      for reduction in ("mean", "none")),
    *of_pairs("poisson_nll_loss", real, counts),
    Case("nn.poisson_nll_loss full", nn("poisson_nll_loss", full=True), real(2, 3), counts(2, 3)),
    Case("nn.poisson_nll_loss counts", nn("poisson_nll_loss", log_input=False), positive(2, 3), counts(2, 3)),
    Case("nn.poisson_nll_loss complex", nn("poisson_nll_loss"), complexes(2, 3), complexes(2, 3)),
    Case("nn.poisson_nll_loss complex counts", nn("poisson_nll_loss", log_input=False, full=True),
         upper(2, 3), counts(2, 3)),
    Case("nn.gaussian_nll_loss complex", nn("gaussian_nll_loss"),
         complexes(2, 3), complexes(2, 3), positive(2, 3)),
    *of_pairs("gaussian_nll_loss", real, real, positive),
    Case("nn.gaussian_nll_loss full", nn("gaussian_nll_loss", full=True),
         real(2, 3), real(2, 3), positive(2)),
    Case("nn.gaussian_nll_loss kept", nn("gaussian_nll_loss"), real(2, 3), real(2, 3), positive(2, 1)),
    Case("nn.cosine_similarity", nn("cosine_similarity"), nonzero(2, 3), nonzero(2, 3)),
    Case("nn.cosine_similarity axis=0", nn("cosine_similarity", axis=0), nonzero(3, 1), nonzero(3, 2)),
    Case("nn.cosine_similarity pairs", lambda ns, x, y: ns.nn.cosine_similarity(x[:, None], y, axis=-1),
         nonzero(2, 3), nonzero(4, 3)),
    Case("nn.cosine_similarity empty", nn("cosine_similarity"), nonzero(0, 3), nonzero(0, 3)),
    *(Case(f"nn.cosine_embedding_loss {reduction}",
           nn("cosine_embedding_loss", margin=-2.0, reduction=reduction),
           nonzero(4, 3), nonzero(4, 3), signs(4)) for reduction in ("mean", "none")),
    Case("nn.cosine_embedding_loss one", nn("cosine_embedding_loss", margin=2.0),
         nonzero(3), nonzero(3), signs()),
    *of_pairs("hinge_embedding_loss", grid, signs),
    *of_pairs("margin_ranking_loss", grid, other_grid, signs),
    *of_pairs("soft_margin_loss", real, signs),
    Case("nn.triplet_margin_loss", lambda ns, *args: ns.nn.triplet_margin_loss(*small(ns, *args)),
         real(4, 3), real(4, 3), real(4, 3)),
    Case("nn.triplet_margin_loss p=3", lambda ns, *args: ns.nn.triplet_margin_loss(*args, p=3, margin=20.0),
         real(4, 3), real(4, 3), away(4, 3)),
    Case("nn.triplet_margin_loss swap",
         lambda ns, x, y, z: ns.nn.triplet_margin_loss(-x, y, z, swap=True, margin=20.0, reduction="none"),
         away(4, 3), real(4, 3), away(4, 3)),
    Case("nn.triplet_margin_loss complex", nn("triplet_margin_loss", margin=20.0, swap=True),
         upper(4, 3), complexes(4, 3), complexes(4, 3)),
    *(Case(f"nn.multi_margin_loss p={p} {reduction}",
           nn("multi_margin_loss", p=p, margin=20.0, reduction=reduction), real(3, 4), classes(3))
      for p, reduction in ((1, "mean"), (2, "none"), (2, "sum"))),
    Case("nn.multi_margin_loss weight", lambda ns, x, t, w: ns.nn.multi_margin_loss(x, t, weight=w),
         grid(3, 4), classes(3), positive(4)),
    Case("nn.multi_margin_loss one", nn("multi_margin_loss", p=2, margin=30.0), real(4), classes()),
    *(Case(f"nn.multilabel_margin_loss {reduction}",
           lambda ns, x, t, r=reduction: ns.nn.multilabel_margin_loss(0.05 * x, t, r), real(5, 4), tags(5, 4))
      for reduction in ("mean", "none")),
    Case("nn.multilabel_margin_loss one", lambda ns, x, t: ns.nn.multilabel_margin_loss(0.05 * x, t),
         real(4), tags(4)),
    *of_pairs("multilabel_soft_margin_loss", real, shares),
    Case("nn.multilabel_soft_margin_loss weight", nn("multilabel_soft_margin_loss"),
         real(2, 3), shares(2, 3), positive(3)),
    *(Case(f"nn.pairwise_distance p={p}", nn("pairwise_distance", p=p), grid(2, 3), other_grid(2, 3))
      for p in (1.0, 2.0, 3.5)),
    Case("nn.pairwise_distance keepdim", nn("pairwise_distance", keepdim=True), nonzero(3), away(2, 3)),
    *(Case(f"nn.pairwise_distance complex p={p}",
           lambda ns, e, y, p=p: ns.nn.pairwise_distance(e + y, y, p), upper(2, 3), complexes(3))
      for p in (1.0, 2.0, 3.5)),
    *(Case(f"nn.pdist p={p}", nn("pdist", p=p), grid(4, 3)) for p in (1.0, 2.0, 3.0)),
    Case("nn.pdist one", nn("pdist"), real(1, 3)),
    Case("nn.triplet_margin_with_distance_loss", nn("triplet_margin_with_distance_loss", margin=20.0),
         nonzero(4, 3), away(4, 3), nonzero(4, 3)),
    Case("nn.triplet_margin_with_distance_loss complex", nn("triplet_margin_with_distance_loss", margin=20.0),
         upper(4, 3), complexes(4, 3), complexes(4, 3)),
    Case("nn.triplet_margin_with_distance_loss own",
         lambda ns, a, p, n: ns.nn.triplet_margin_with_distance_loss(
             a, p, n, lambda x, y: np.sum((x - y) ** 2, -1), 90.0, True, "none"),
         real(4, 3), real(4, 3), away(4, 3)),
    *(Case(f"nn.ctc_loss {reduction}",
           lambda ns, x, t, r=reduction: ns.nn.ctc_loss(
               x, t, np.array([5, 3, 5]), np.array([2, 1, 0]), reduction=r),
           real(5, 3, 4), words(3, 2)) for reduction in ("mean", "sum", "none")),
    Case("nn.ctc_loss joined", lambda ns, x, t: ns.nn.ctc_loss(
        x, t, np.array([4, 4]), np.array([2, 1]), blank=3, zero_infinity=True), real(4, 2, 4), syllables(3)),
    Case("nn.ctc_loss one", lambda ns, x, t: ns.nn.ctc_loss(x, t, 4, 2, reduction="none"),
         real(4, 4), words(2)),
]  # fmt: skip
