"""Rules beside the derivatives: where one is missing things are slow, and nothing is wrong.

So no result would tell; the lists here do.
"""

import pytest

from tape import Trace, ops
from tests.op_table import TWO_OF_EACH
from tests.oracles import is_float
from tests.test_program import gradient

ONE_BY_ONE = """
argwhere bincount bins_of convolve correlate extreme_positions flatnonzero hashing_order histogram
histogram_bin_edges histogramdd interp interpolation intersect1d lexsort lstsq matrix_rank nonzero
of_full_rank rank residuals singular_values softmax_cross_entropy_mean softmax_cross_entropy_none
softmax_excess span stays trimmed unique unravel_index
"""
"""Operations that do a batch one element at a time."""
THROUGH_RULES = """
angle apply arccos arccosh arcsin arcsinh arctan2 arctanh beta betainc betaincc betaincinv betaln
binary_cross_entropy binary_cross_entropy_with_logits binom boxcox boxcox1p cbrt cholesky cofactors cosh
cosm1 cumprod dawsn det eigenvalues eigenvectors eigvals eigvalsh elu elu_slope entr erfc erfcinv erfcx
erfi erfinv exp1 exp10 exp2 expi expit expm expm1 exprel exprel_derivative float_power gamma gammainc
gammaincc gammainccinv gammaincinv gammaln gelu gelu_slope geomspace hardswish hardswish_slope hazard
huber huber_loss huber_loss_slope hypot i0 i0e i1 i1e interp interpolation inv inv_boxcox inv_boxcox1p
inverse_of_basis iv ive j0 j1 jv jve k0 k0e k1 k1e kl_div kn kv kve left_singular_vectors log10 log1p log2
log_expit log_ndtr log_odds_against logabsdet logaddexp logaddexp2 logcumsumexp loggamma logistic logit
logsigmoid logsigmoid_slope lstsq median mish mish_slope multigammaln nanmedian nanpercentile nanquantile
nanstd nanvar ndtr ndtri ndtri_exp negative_entropy norm over percentile pinv poch polygamma polyval prelu
prod pseudo_huber psi q_of_qr quantile r_of_qr recurrence rel_entr residuals rgamma right_singular_vectors
rms_normalized rms_normalized_scale sign silu silu_slope sinc singular_values sinh
softmax_cross_entropy_mean softmax_cross_entropy_none softmax_excess softsign softsign_slope
solve_triangular standardized standardized_scale std svdvals vander var xlog1py xlogy y0 y1 yn yv yve zeta
"""
"""Operations whose power series come from their forward rule."""
VIEWS = """
broadcast_to diagonal einsum expand_dims getitem imag real reshape squeeze swapaxes transpose trimmed
"""
"""Operations whose results may be views."""
OF_DATA = """
argwhere bincount eig eig_like eigvals flatnonzero getitem hashing_order histogram histogram_bin_edges
intersect1d nonzero residuals span trimmed unique
"""
"""Operations of which some calls make shapes or dtypes that depend on elements."""


@pytest.fixture(scope="module")
def declared():
    """All operations that the table runs, and what their gradients run, by their names."""
    found = {}
    for case in TWO_OF_EACH:
        for f in (case.on(ops), gradient(case)) if case.has_derivative else (case.on(ops),):
            trace = Trace()
            f(*[trace.param(a) if is_float(a) else trace.input(a) for a in case.args()])
            for node in trace.nodes:
                if node.op is not None:
                    found.setdefault(node.call.op.name.replace(" ", "_"), []).append(node.call.op)
    return found


@pytest.mark.parametrize(
    ("expected", "lacks"),
    [
        (ONE_BY_ONE, lambda op: op.batch is None),
        (THROUGH_RULES, lambda op: op.taylor is None and (op.jvp is not None or op.vjp is not None)),
        (VIEWS, lambda op: op.view is not None),
        (OF_DATA, lambda op: op.data_dependent is not False),
    ],
    ids=["batch", "taylor", "view", "data_dependent"],
)
def test_rules_are_declared(declared, expected, lacks):
    assert {name for name, found in declared.items() if any(map(lacks, found))} == set(expected.split())
