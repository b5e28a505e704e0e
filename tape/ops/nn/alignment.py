"""Connectionist temporal classification: the probability of a sequence of labels that nobody has aligned.

Graves, Fernandez, Gomez and Schmidhuber, "Connectionist Temporal Classification", ICML 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.nesting import traced
from tape.core.node import Handle, plain
from tape.core.operands import as_operand
from tape.errors import DTypeError, OptionError, OutOfBoundsError, ShapeError, UnsupportedError
from tape.ops.elementwise.selection import maximum, where
from tape.ops.nn.geometry import whole
from tape.ops.nn.losses import Reduction, check_reduction, reals
from tape.ops.reduction.primitives import mean_along, sum_along
from tape.ops.reduction.softmax import logsumexp
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.shape import astype, reshape
from tape.ops.structure.taking import take_along_axis


def _impossible(dtype: Any) -> Any:
    """Return the logarithm of a probability of 0: finite, so that no difference of two of them is NaN."""
    return np.finfo(dtype).min / 4


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> Any:
    """``-log p(targets)``, summed over all alignments: labels may repeat, and blanks stand between them.

    Parameters
    ----------
    log_probs : array_like or Var
        ``(T, N, C)`` or ``(T, C)``: logarithms of the probabilities of labels in each step.
    targets : array_like
        Ints ``(N, S)``, or all labels of the batch behind each other, ``(sum(target_lengths),)``.
    input_lengths, target_lengths : array_like
        Ints ``(N,)`` or ``()``: how many steps and labels of each sequence count.
    blank : int
        The label of nothing.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the sequences; the mean is of losses divided by their numbers of labels.
    zero_infinity : bool
        Whether a sequence that has no alignment, as it is too long, counts 0, with derivative 0, and not inf.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses ``(N,)`` or ``()`` for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If there is no such reduction or blank.
    OutOfBoundsError
        If a label is none, or the blank, or a length is more than there is.
    DTypeError
        If ``log_probs`` is complex, or the others are no ints.

    Notes
    -----
    Each step is a node; a program rolls them up. ``targets`` and lengths are data: the labels may change on
    replay. Lengths of targets that stand behind each other must be plain arrays.

    Examples
    --------
    >>> import numpy as np, tape
    >>> uniform = np.full((2, 1, 2), np.log(0.5))
    >>> loss = tape.nn.ctc_loss(uniform, [[1]], [2], [1])
    >>> round(float(np.exp(-loss)), 6)  # of the four alignments three are this label: 1-, -1 and 11
    0.75
    """
    name = "ctc_loss"
    check_reduction(name, reduction)
    (log_probs,) = reals(name, log_probs)
    if len(log_probs.shape) not in (2, 3) or not log_probs.shape[0]:
        raise ShapeError(
            f"{name}: log_probs has shape {list(log_probs.shape)}. It must be (T, N, C) or (T, C)"
        )
    is_batch = len(log_probs.shape) == 3
    steps, count, classes = log_probs.shape if is_batch else (log_probs.shape[0], 1, log_probs.shape[1])
    log_probs = reshape(
        log_probs if log_probs.dtype.kind == "f" else log_probs * 1.0, (steps, count, classes)
    )
    if whole(name, "blank", blank, 0) >= classes:
        raise OptionError(f"{name}: blank={blank}, with {classes} labels")
    steps_of = _lengths(name, "input_lengths", input_lengths, count, steps)
    labels, labels_of = _labels(name, targets, target_lengths, count, classes, blank)
    losses = -_log_likelihood(log_probs, labels, steps_of, labels_of, blank)
    is_possible = losses < -_impossible(losses.dtype) / 2
    losses = where(is_possible, losses, 0.0 if zero_infinity else np.inf)
    if reduction == "mean":
        shares = losses / astype(maximum(labels_of, 1), log_probs.dtype)
        return mean_along(shares, axis=None, keepdims=False)
    if reduction == "sum":
        return sum_along(losses, axis=None, keepdims=False)
    return losses if is_batch else reshape(losses, ())


def _ints(name: str, what: str, given: Any) -> Any:
    array = as_operand(given)
    array = array if hasattr(array, "dtype") else np.asarray(array)
    if array.dtype.kind not in "iu" and np.size(plain(array)):
        raise DTypeError(f"{name}: {what} must hold ints, not {array.dtype}")
    return astype(array, np.intp)


def _lengths(name: str, what: str, given: Any, count: int, most: int) -> Any:
    lengths = _ints(name, what, given)
    if lengths.shape not in ((count,), ()) or (lengths.shape == () and count != 1):
        raise ShapeError(f"{name}: {what} has shape {list(lengths.shape)}. It must be ({count},)")
    known = traced(lengths)
    if np.any((known < 0) | (known > most)):
        raise OutOfBoundsError(f"{name}: {what} is {plain(lengths)}. All must be within [0, {most}]")
    return reshape(lengths, (count,))


def _labels(name: str, targets: Any, lengths: Any, count: int, classes: int, blank: int) -> tuple[Any, Any]:
    """Return the labels of each sequence (N, S), and how many of them count."""
    targets = _ints(name, "targets", targets)
    is_joined = len(targets.shape) == 1 and np.shape(lengths) not in ((), (1,))
    if len(targets.shape) == 1 and not is_joined:
        targets = reshape(targets, (1, -1))
    if is_joined:
        if isinstance(lengths, Handle):
            raise UnsupportedError(
                f"{name}: target_lengths is a Var, and targets are behind each other. Pass (N, S)"
            )
        sizes = np.asarray(plain(_lengths(name, "target_lengths", lengths, count, targets.shape[0])))
        if sizes.sum() != targets.shape[0]:
            raise ShapeError(
                f"{name}: {targets.shape[0]} targets, and target_lengths that sum to {sizes.sum()}"
            )
        starts = np.cumsum(sizes) - sizes
        within = np.arange(sizes.max(initial=0))
        places = np.minimum(starts[:, None] + within, max(targets.shape[0] - 1, 0))
        targets = getitem(targets, places) if targets.shape[0] else np.zeros((count, 0), np.intp)
    if len(targets.shape) != 2 or targets.shape[0] != count:
        raise ShapeError(f"{name}: targets has shape {list(targets.shape)}. It must be ({count}, S)")
    labels_of = _lengths(name, "target_lengths", lengths, count, targets.shape[1])
    is_label = np.arange(targets.shape[1]) < reshape(labels_of, (count, 1))
    wrong = (targets < 0) | (targets >= classes) | (targets == blank)
    if np.any(traced(wrong & is_label)):
        raise OutOfBoundsError(
            f"{name}: targets is {plain(targets)}. All must be within [0, {classes - 1}], and not the blank, "
            f"{blank}"
        )
    return where(is_label, targets, blank), labels_of


def _log_likelihood(log_probs: Any, labels: Any, steps_of: Any, labels_of: Any, blank: int) -> Any:
    """Return the logarithms of the probabilities of label sequences, by the forward recursion."""
    steps, count, _ = log_probs.shape
    impossible = _impossible(log_probs.dtype)
    most = labels.shape[1]
    blanks = np.full((count, most, 1), blank)
    with_blanks = reshape(concatenate([blanks, reshape(labels, (count, most, 1))], axis=2), (count, 2 * most))
    states = concatenate([with_blanks, np.full((count, 1), blank)], axis=1)  # blank, label, ..., blank
    width = 2 * most + 1
    # A label that is another one than that before may follow it without a blank.
    is_other = states[:, 2:] != states[:, :-2]
    may_skip = concatenate(
        [np.zeros((count, min(2, width)), bool), is_other & (states[:, 2:] != blank)], axis=1
    )
    emitted = take_along_axis(log_probs, reshape(states, (1, count, width)), 2)
    emitted = maximum(emitted, impossible)
    padding = np.full((count, 2), impossible, emitted.dtype)
    alpha = where(np.arange(width) < 2, emitted[0], impossible)
    for t in range(1, steps):
        before = concatenate([padding, alpha], axis=1)
        ways = stack([alpha, before[:, 1:-1], where(may_skip, before[:, :-2], impossible)])
        moved = maximum(logsumexp(ways, axis=0) + emitted[t], impossible)
        alpha = where(t < reshape(steps_of, (count, 1)), moved, alpha)
    last = reshape(2 * labels_of, (count, 1))
    at_blank = take_along_axis(alpha, last, 1)
    at_label = where(last > 0, take_along_axis(alpha, maximum(last - 1, 0), 1), impossible)
    found = logsumexp(concatenate([at_blank, at_label], axis=1), axis=1)
    is_empty = (steps_of == 0) & (labels_of == 0)  # there is one alignment of nothing with nothing
    return where(steps_of > 0, found, where(is_empty, 0.0, 2 * impossible))
