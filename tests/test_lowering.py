"""Rules of lowering: which operands are traced and which constants makes no difference but for speed."""

import itertools

import numpy as np
import pytest

from tape import ops
from tape.program.ir.builder import ALL_NATIVE, NATIVE_DTYPES
from tape.program.ir.dtypes import is_of_all_dtypes
from tests.compiled import alike
from tests.naive_program import compiled_for
from tests.op_table import CASES, TWO_OF_EACH, a_third, by_operation
from tests.op_table.special import ORDERED
from tests.tiers import some

_IN_PYTHON = """
all_pole apply argpartition balance balance_order beta_by_parameters certificate cholesky_of_bands
complex_schur continuous_riccati discrete_riccati eig eig_like eig_of_bands eigenvalue_partners eigvals
eigvals_of_bands elliprd exprel_derivative gamma_by_parameter hashing_order hessenberg inverse_of_basis ldl
ldl_order leading_vectors linear_sum_assignment linprog linspace logm lsq_linear lu_order lu_pivots
negligible_beside nnls nonzero_spectrum null_basis packed_lu positive_factor qr_delete qr_insert qr_update
range_basis real_if_all_are schur schur_turn selected_count signm solve_banded solve_bands spline_filter
spsolve sqrtm student_by_df sylvester unitary_factor vanishing_spectrum vonmises_ppf
"""
_SPECIAL_IN_PYTHON = """
assoc_legendre_p beta_density_mixture beta_mixture chndtridf chndtrinc chndtrix elliptic_integral
gamma_density_mixture gamma_mixture it2i0k0_ik0 itairy_ant itairy_apt itairy_bnt itairy_bpt lmbda_slopes
lmbda_values lqmn_slopes lqmn_values lqn_slopes lqn_values modfresnelm_fm modfresnelp_fp ncfdtri ncfdtridfd
ncfdtridfn ncfdtrinc nctdtridf nctdtrinc nctdtrit pbdn_seq_slopes pbdn_seq_values pbdv_seq_slopes
pbdv_seq_values pbvv_seq_slopes pbvv_seq_values riccati_jn_slopes riccati_jn_values riccati_yn_slopes
riccati_yn_values smirnov_by_x sph_harm_y sph_legendre_p student_mean
"""
WITHOUT_INSTRUCTIONS = frozenset([*_IN_PYTHON.split(), *_SPECIAL_IN_PYTHON.split()])
"""Operations that programs run in Python, wherever they occur."""
RUN_IN_PYTHON = {
    "getitem all False": {"scatter"},
    "getitem True": {"getitem"},
    "set_at mask, int": {"set_at"},
    "add_at mask, int": {"add_at"},
    **{f"unique {what}": {"unique"} for what in ("axis=1", "empty", "inverse axis=0")},
    "linalg.pinv empty": {"pinv"},
    "linalg.norm zero-th": {"norm"},
    "nn.cross_entropy empty": {"softmax_cross_entropy_none", "softmax_excess"},
    "softmax_cross_entropy indices none (0,4)": {"softmax_cross_entropy_none", "softmax_excess"},
    "softmax_cross_entropy indices sum (0,4)": {"softmax_cross_entropy_sum", "softmax_excess"},
}  # fmt: skip
"""Operations that have instructions, but none for these cases: bools, nothing, distinct slices."""


def callbacks(program):
    """The operations that run in Python though there are instructions for them, and for their dtypes."""
    found = set()
    for instruction in program.ir.instructions:
        if instruction.op == "callback":
            dtypes = [program.ir.instructions[k].dtype for k in instruction.operands]
            name = program.ir.callbacks[instruction.attrs[0]][0].name
            if {instruction.dtype, *dtypes} <= (NATIVE_DTYPES if is_of_all_dtypes(name) else ALL_NATIVE):
                found.add(name)
    return found - WITHOUT_INSTRUCTIONS


# ---- constants among operands ----------------------------------------------------------------------

OF_SEVERAL = [case for case in TWO_OF_EACH if len(case.arguments) > 1]
OF_NUMBERS = [
    case for case in CASES if len(case.arguments) > 1 and all(one.shape == () for one in case.arguments)
]


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


@by_operation(some(a_third({repr(case): case for case in (*OF_SEVERAL, *OF_NUMBERS)}.values(), 0), every=2))
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
        alike(compiled(*given), expected)
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
        alike(compiled(*args), function(*args))
        assert not callbacks(program)
