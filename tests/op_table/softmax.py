"""Softmax and what belongs to it."""

from collections.abc import Callable

from tests.op_table.case import (
    AXES,
    Argument,
    Case,
    Shape,
    call,
    classes,
    joined,
    probabilities,
    real,
    told,
)


def softmaxes(op: str) -> list[Case]:
    """A normalisation, over every kind of axes."""
    return [Case(f"{op} {told(axis=axis)}", call(op, axis=axis), real(2, 3, 2)) for axis in AXES]


def cross_entropy(kind: str, target: Callable[[Shape], Argument]) -> list[Case]:
    """Softmax cross-entropy for every reduction and rank of logits."""
    return [
        Case(f"softmax_cross_entropy {kind} {reduced} {joined([s])}",
             call("softmax_cross_entropy", reduction=reduced), real(*s), target(s))
        for reduced in ("mean", "sum", "none")
        for s in ((4,), (3, 4), (2, 3, 4), (0, 4))
        if reduced != "mean" or 0 not in s
    ]  # fmt: skip


CASES = [
    *softmaxes("softmax"),
    *softmaxes("log_softmax"),
    Case("softmax empty", call("softmax"), real(0, 3)),
    Case("log_softmax empty", call("log_softmax"), real(0, 3)),
    *cross_entropy("indices", lambda s: classes(*s[:-1])),
    *cross_entropy("probabilities", lambda s: probabilities(*s)),
    *cross_entropy("weights", lambda s: real(*s)),
]  # fmt: skip
