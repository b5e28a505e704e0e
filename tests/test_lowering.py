"""Rules of lowering: which operands are traced and which constants makes no difference but for speed."""

import itertools

import numpy as np
import pytest

from tape import ops
from tests.naive_program import compiled_for
from tests.op_table import CASES, TWO_OF_EACH, by_operation
from tests.op_table.special import ORDERED
from tests.test_program import assert_equal

OF_SEVERAL = [case for case in TWO_OF_EACH if len(case.arguments) > 1]
OF_NUMBERS = [
    case for case in CASES if len(case.arguments) > 1 and all(one.shape == () for one in case.arguments)
]


def callbacks(program):
    return {op.name for op, *_ in program.listing.callbacks}


def as_constant(array):
    """A number of Python's, if it is a single one."""
    return array if array.ndim else array.item()


def some_traced(case, args, traced):
    """A case as a function of some of its arguments, the others being constants, and what these are."""
    constants = [as_constant(a) for a in args]

    def f(*given):
        remaining = iter(given)
        return case.on(ops)(*[next(remaining) if k in traced else c for k, c in enumerate(constants)])

    return f, [args[k] for k in traced]


@by_operation({repr(case): case for case in (*OF_SEVERAL, *OF_NUMBERS)}.values())
def test_constants_in_the_place_of_arguments(case):
    """Each argument alone is traced, and each alone is not; nothing runs in Python that would not else."""
    args = case.args()
    count = len(args)
    allowed = callbacks(compiled_for(case.on(ops), *args)[1])
    subsets = {(k,) for k in range(count)} | set(itertools.combinations(range(count), count - 1))
    for traced in subsets:
        f, given = some_traced(case, args, traced)
        compiled, program = compiled_for(f, *given)
        expected = f(*given)
        assert_equal(compiled(*given), expected)
        assert callbacks(program) <= allowed, traced


@pytest.mark.parametrize("name", ORDERED)
def test_orders_of_special_functions_are_operands_like_others(name):
    """Traced, one for each element or one for all, beside numbers that are traced or are not."""
    f, (order, domain) = getattr(ops.special, name), ORDERED[name]
    argument = domain(2, 3)
    x = argument.draw(np.random.default_rng(3), argument.shape)
    orders = np.full(x.shape, order)
    for function, args in (
        (lambda n: f(n, x), (orders,)),
        (lambda n: f(n, 0.6), (orders,)),
        (lambda x: f(orders, x), (x,)),
        (lambda n, x: f(n, x), (orders[0, 0], x)),
    ):
        compiled, program = compiled_for(function, *args)
        assert_equal(compiled(*args), function(*args))
        assert not callbacks(program)
