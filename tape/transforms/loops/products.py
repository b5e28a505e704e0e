"""Contributions to constants of a loop that are products of two matrices in each step.

To add the products in each step would read and write the whole sum there, which takes longer than a product
of few rows. Their factors are collected, and multiplied after the loop: all steps in one product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tape import ops
from tape.core.node import Handle
from tape.ops.products.products import matmul_op
from tape.ops.structure.axes import transpose_op
from tape.transforms.loops.body import BodyTrace
from tape.transforms.loops.steps import Steps

_FEW_ROWS = 64
"""Length of the axis along which a product sums, up to which products of all steps become one."""

_ADD = getattr(ops.add, "op", None)


@dataclass(frozen=True)
class Term:
    """A product of two matrices in each step, ``left.T @ right``, whose sum is a contribution to a constant.

    Attributes
    ----------
    factors : pair of int
        The nodes of left and right; after `placed`, where they are found.
    are_given : pair of bool
        Whether they are found among the arrays of the loop in the other direction, or among its results.
    is_turned : bool
        Whether the contribution is the transposed product.
    """

    factors: tuple[int, int]
    are_given: tuple[bool, bool] = (False, False)
    is_turned: bool = False

    def product(self, given: Sequence[Any], found: Sequence[Any]) -> Any:
        """Return the sum over all steps, as one product."""
        left, right = (
            ops.reshape(array, (array.shape[0] * array.shape[1], array.shape[2]))
            for array in (
                (given if is_given else found)[place]
                for place, is_given in zip(self.factors, self.are_given, strict=True)
            )
        )
        product = ops.transpose(left) @ right
        return ops.transpose(product) if self.is_turned else product


def products_of(steps: Steps, trace: BodyTrace, contributions: Mapping[int, Any]) -> dict[int, list[Term]]:
    """Return which constants get products of two matrices in each step, and these products.

    A loop that is to save memory, or whose steps are not known in number, adds them.
    """
    if steps.is_recomputed or steps.ends_by != "length":
        return {}
    found = {
        k: _terms(trace, contribution.id)
        for k, contribution in contributions.items()
        if isinstance(contribution, Handle) and contribution.trace_ref is trace.ref
    }
    return {k: terms for k, terms in found.items() if terms}


def _terms(trace: BodyTrace, id: int) -> list[Term]:
    """Return the products that a value is the sum of; none if it is something else."""
    found: list[Term] = []
    waiting = [(id, False)]
    while waiting:
        id, is_turned = waiting.pop()
        node = trace.nodes[id]
        op, parents = node.call.op, node.inputs[::2]
        if op is None or np.ndim(node.value) != 2 or None in parents:
            return []
        shapes = [np.shape(trace.nodes[parent].value) for parent in parents]
        if op is _ADD and shapes[0] == shapes[1]:
            waiting += [(parent, is_turned) for parent in parents]
        elif op is transpose_op:
            waiting.append((parents[0], not is_turned))
        elif op is matmul_op and shapes[1][0] <= _FEW_ROWS:
            left = trace.nodes[parents[0]]
            is_back = left.call.op is transpose_op and left.inputs[0] is not None
            base = left.inputs[0] if is_back else trace.output(ops.transpose(trace[parents[0]]))
            found.append(Term((base, parents[1]), is_turned=is_turned))
        else:
            return []
    return found


def placed(
    factors: Mapping[int, list[Term]], stacked: Sequence[int], by_arrays: Sequence[int]
) -> tuple[list[int], dict[int, list[Term]]]:
    """Return what the loop collects for products beside the rest, and the products with all places."""
    collected = [*by_arrays]
    found: dict[int, list[Term]] = {}
    for k, terms in factors.items():
        found[k] = []
        for term in terms:
            collected += [id for id in dict.fromkeys(term.factors) if id not in (*stacked, *collected)]
            places = [(stacked if id in stacked else collected).index(id) for id in term.factors]
            left, right = term.factors
            found[k].append(
                replace(term, factors=(places[0], places[1]), are_given=(left in stacked, right in stacked))
            )
    return collected[len(by_arrays) :], found
