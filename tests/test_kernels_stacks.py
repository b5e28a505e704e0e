"""Products of stacks of tiny matrices: lengths, layouts, totals, portions, memory, and what is not finite."""

import ctypes
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape.kernels.codes import DTYPE_CODES
from tape.kernels.loading import native
from tape.kernels.matrices import APART, IN_PLACE, NOTHING, product_parameters
from tape.kernels.registry import REGISTRY, needs_of
from tape.kernels.stacks import are_tiny
from tests.naive_program import compiled_for
from tests.oracles import assert_close

DTYPES = [np.float64, np.float32]
MARGIN = 40  # numbers around the memory of a result


def strides(x, shape):
    return [step // x.itemsize for step in np.broadcast_to(x, shape).strides]


def computed(a, b, out, factor, adds, total, parts):
    """Run the kernel, its tasks in so many portions from the last to the first."""
    lengths, dtype = (*out.shape, a.shape[-1]), a.dtype
    (*stack, m, n), k = out.shape, a.shape[-1]
    parameters = product_parameters(
        lengths, factor, adds, strides(a, (*stack, m, k)), strides(b, (*stack, k, n)),
        strides(out, out.shape), strides(total, out.shape),
    )  # fmt: skip
    needs, table = needs_of("products_of_stack", parameters), np.array(parameters)
    address = native("products of stacks").addresses["products_of_stack"]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 10)(address)
    x, y, z, at = (array.ctypes.data for array in (a, b, total, out))
    for start, stop in reversed(list(pairwise(np.linspace(0, needs.tasks, parts + 1).astype(int)))):
        assert function(0, DTYPE_CODES[dtype], table.ctypes.data, start, stop, x, y, z, 0, at) == 1
    return out


@given(
    dtype=st.sampled_from(DTYPES), outer=st.sampled_from([1, 2, 7]), inner=st.sampled_from([1, 9, 100]),
    m=st.integers(1, 9), n=st.integers(2, 4), k=st.integers(1, 9), is_turned=st.booleans(),
    spread=st.sampled_from(["", "a", "b", "total"]), adds=st.sampled_from([NOTHING, IN_PLACE, APART]),
    parts=st.integers(1, 4), seed=st.integers(0, 99),
)  # fmt: skip
def test_products_are_those_of_numpy(dtype, outer, inner, m, n, k, is_turned, spread, adds, parts, seed):
    rng = np.random.default_rng(seed)

    def numbers(name, *shape):
        stack = (1, inner) if name == spread else (outer, inner)
        special = rng.choice([np.nan, np.inf, -np.inf], (*stack, *shape))
        x = rng.integers(-3, 4, (*stack, *shape))  # sums of them are exact in any order
        return np.where(rng.random(x.shape) < 0.01, special, x).astype(dtype)

    a, b, total = numbers("a", m, k), numbers("b", k, n), numbers("total", m, n)
    if is_turned:
        a = a.swapaxes(2, 3).copy().swapaxes(2, 3)
    whole = np.full(outer * inner * m * n + 2 * MARGIN, 7, dtype)
    out = whole[MARGIN:-MARGIN].reshape(outer, inner, m, n)
    out[...] = total if adds == IN_PLACE else 7
    computed(a, b, out, -0.5, adds, total, parts)
    with np.errstate(invalid="ignore"):
        expected = -0.5 * (a @ b) + (total if adds != NOTHING else 0)
    np.testing.assert_array_equal(out, expected)
    assert (whole[:MARGIN] == 7).all()
    assert (whole[-MARGIN:] == 7).all()


def test_more_columns_than_a_vector_has_or_columns_apart_are_refused():
    fields = ((2, 3, 3, 4, 3), 1.0, NOTHING, (27, 9, 3, 1), (36, 12, 4, 1), (36, 12, 4, 1))
    assert needs_of("products_of_stack", product_parameters(*fields)).operands == (54, 72)
    wide = ((2, 3, 3, 5, 3), 1.0, NOTHING, (27, 9, 3, 1), (45, 15, 5, 1), (45, 15, 5, 1))
    turned = (*fields[:4], (36, 12, 1, 3), fields[5])
    for words in (wide, turned):
        with pytest.raises(ValueError, match="columns"):
            needs_of("products_of_stack", product_parameters(*words))
    assert REGISTRY["products_of_stack"].blas == ""


def test_few_products_and_large_ones_are_not_tiny():
    assert are_tiny(8, 3, 3, 3)
    assert not are_tiny(7, 3, 3, 3)
    assert not are_tiny(100, 5, 5, 5)
    assert not are_tiny(100, 3, 1, 3)


STACKS = {
    "both": lambda a, b: a @ b,
    "one for all": lambda a, b: a[:1] @ b,
    "sums": lambda a, b: a @ b + b @ a + a[0],
    "gradients": lambda a, b: tape.grad(lambda a, b: np.sum(np.sin(a @ b @ a)), argnums=(0, 1))(a, b),
    "jacobians": lambda a, b: tape.vmap(tape.jacobian(lambda a: a @ b[0] @ a))(a),
    "transposed": lambda a, b: a.swapaxes(1, 2) @ b.swapaxes(1, 2),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("name", STACKS)
def test_programs_of_tiny_matrices(name, order, dtype):
    rng = np.random.default_rng(order)
    a, b = rng.normal(size=(2, 150, order, order)).astype(dtype)
    compiled, _ = compiled_for(STACKS[name], a, b)
    for result, expected in zip(
        tape.tree.leaves(compiled(a, b)), tape.tree.leaves(STACKS[name](a, b)), strict=True
    ):
        assert_close(result, expected, 200 * np.finfo(dtype).eps)
