"""Rules beside the derivatives: where one is missing things are slow, and nothing is wrong.

So no result would tell; the lists here do.
"""

from collections import Counter

import numpy as np
import pytest

from tape import Trace, ops
from tape.core import rules
from tape.inspect.costs import flops
from tape.interpreters.batching import Lanes
from tests.op_table import CASES, TWO_OF_EACH
from tests.oracles import is_float
from tests.test_program import gradient
from tests.tiers import takes_long

ONE_BY_ONE = """
argwhere bincount bins_of convolve correlate extreme_positions flatnonzero hashing_order histogram
histogram_bin_edges histogramdd interp interpolation intersect1d leading_vectors lexsort
linear_sum_assignment lmbda_slopes lmbda_values lqmn_slopes lqmn_values lqn_slopes lqn_values lstsq
matrix_rank nonzero null_basis of_conjugates of_full_rank pbdn_seq_slopes pbdn_seq_values
pbdv_seq_slopes pbdv_seq_values pbvv_seq_slopes pbvv_seq_values qr_delete qr_insert qr_update
range_basis rank real_if_all_are residuals riccati_jn_slopes riccati_jn_values riccati_yn_slopes
riccati_yn_values singular_values span stays trimmed unique unravel_index
"""
"""Operations that do a batch one element at a time."""
GROWING = """
all_pole argwhere bincount convolve correlate dot embedding flatnonzero getitem hashing_order histogram
histogram_bin_edges histogramdd interp intersect1d isin leading_vectors lexsort linear_sum_assignment
lmbda_slopes lmbda_values lqmn_slopes lqmn_values lqn_slopes lqn_values lstsq matrix_rank nanmax nanmin
nanquantile nanstd nanvar nonzero null_basis of_full_rank pbdn_seq_slopes pbdn_seq_values
pbdv_seq_slopes pbdv_seq_values pbvv_seq_slopes pbvv_seq_values percentile prod qr_delete qr_insert
qr_update quantile range_basis rank real_if_all_are residuals riccati_jn_slopes riccati_jn_values
riccati_yn_slopes riccati_yn_values searchsorted singular_values solve_banded span sparse_product
spsolve sum trimmed unique unravel_index var
"""
"""Operations that some batches take more of the more elements they have."""
THROUGH_RULES = """
agm airy_ai airy_aip airy_bi airy_bip airye_eai airye_eaip airye_ebi airye_ebip all_pole angle apply
arccos arccosh arcsin arcsinh arctan2 arctanh assoc_legendre_p bdtr bdtrc bdtri bdtrik bdtrin bei beip
ber berp besselpoly beta beta_by_parameters beta_density_mixture beta_mixture betainc betaincc
betainccinv betaincinv betaln binary_cross_entropy binary_cross_entropy_with_logits binom boxcox
boxcox1p btdtria btdtrib cbrt chdtr chdtrc chdtri chdtriv chndtr chndtridf chndtrinc chndtrix cholesky
cholesky_of_bands cholesky_pullback cofactors complex_schur_form complex_schur_vectors
continuous_riccati cosdg cosh cosm1 cotdg cumprod d_of_ldl dawsn det discrete_riccati eigenvalues
eigenvectors eigvals eigvals_of_bands eigvalsh ellipe ellipeinc ellipj_cn ellipj_dn ellipj_ph ellipj_sn
ellipk ellipkinc ellipkm1 elliprc elliprd elliprf elliprg elliprj elliptic_integral elu elu_slope entr
erfc erfcinv erfcx erfi erfinv eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_gegenbauer
eval_genlaguerre eval_hermite eval_hermitenorm eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt
eval_sh_chebyu eval_sh_jacobi eval_sh_legendre exp1 exp10 exp2 expi expit expm expm1 expn exprel
exprel_derivative fdtr fdtrc fdtri fdtridfd float_power fresnel_c fresnel_s gamma gamma_by_parameter
gamma_density_mixture gamma_mixture gammainc gammaincc gammainccinv gammaincinv gammaln gdtr gdtrc
gdtria gdtrib gdtrix gelu gelu_slope gelu_tanh geomspace hankel1 hankel1e hankel2 hankel2e hardswish
hardswish_slope hazard hessenberg_basis hessenberg_form huber huber_loss huber_loss_slope hyp0f1 hyp1f1
hyp2f1 hyperu hypot i0 i0e i1 i1e independent interp interpolation inv inv_boxcox inv_boxcox1p
inverse_of_basis inverse_or_zero it2i0k0_ii0 it2i0k0_ik0 it2j0y0_ij0 it2j0y0_iy0 it2struve0 itairy_ant
itairy_apt itairy_bnt itairy_bpt iti0k0_ii0 iti0k0_ik0 itj0y0_ij0 itj0y0_iy0 itmodstruve0 itstruve0 iv
ive j0 j1 jv jve k0 k0e k1 k1e kei keip kelvin_be kelvin_bep kelvin_ke kelvin_kep ker kerp kl_div kn
kolmogi kolmogorov kv kve l_of_ldl lambertw leading_vectors left_singular_vectors lmbda_slopes
lmbda_values log10 log1p log2 log_expit log_ndtr log_odds_against log_wright_bessel logabsdet logaddexp
logaddexp2 logcumsumexp loggamma logistic logit logm logsigmoid logsigmoid_slope lpmv lqmn_slopes
lqmn_values lqn_slopes lqn_values lstsq mathieu_cem_slope mathieu_cem_value mathieu_modcem1_slope
mathieu_modcem1_value mathieu_modcem2_slope mathieu_modcem2_value mathieu_modsem1_slope
mathieu_modsem1_value mathieu_modsem2_slope mathieu_modsem2_value mathieu_sem_slope mathieu_sem_value
median mish mish_slope modfresnelm_fm modfresnelm_km modfresnelp_fp modfresnelp_kp modstruve
multigammaln nanmedian nanpercentile nanquantile nanstd nanvar nbdtr nbdtrc nbdtri nbdtrik nbdtrin
ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc nctdtrit ndtr ndtri ndtri_exp
negative_entropy nonzero_spectrum norm nrdtrimn nrdtrisd null_basis obl_ang1_cv_slope obl_ang1_cv_value
obl_ang1_slope obl_ang1_value obl_rad1_cv_slope obl_rad1_cv_value obl_rad1_slope obl_rad1_value
obl_rad2_cv_slope obl_rad2_cv_value obl_rad2_slope obl_rad2_value over owens_t packed_lu pbdn_seq_slopes
pbdn_seq_values pbdv_d pbdv_dp pbdv_seq_slopes pbdv_seq_values pbvv_seq_slopes pbvv_seq_values pbvv_v
pbvv_vp pbwa_w pbwa_wp pdtr pdtrc pdtri pdtrik percentile pinv poch polygamma polyval positive_factor
powm1 prelu pro_ang1_cv_slope pro_ang1_cv_value pro_ang1_slope pro_ang1_value pro_rad1_cv_slope
pro_rad1_cv_value pro_rad1_slope pro_rad1_value pro_rad2_cv_slope pro_rad2_cv_value pro_rad2_slope
pro_rad2_value prod pseudo_huber psi q_of_qr quantile r_of_qr radian range_basis recurrence rel_entr
residuals rgamma riccati_jn_slopes riccati_jn_values riccati_yn_slopes riccati_yn_values riemann_zeta
right_singular_vectors rms_normalized rms_normalized_scale sampled_product schur_form schur_turn
schur_vectors shichi_chi shichi_shi sici_ci sici_si sign sign_of_slogdet signm silu silu_slope sinc
sindg singular_values sinh smirnov smirnov_by_x smirnovi softmax_cross_entropy_mean
softmax_cross_entropy_none softmax_cross_entropy_sum softmax_excess softsign softsign_slope solve_banded
solve_bands solve_triangular sparse_product spence sph_harm_y sph_legendre_p spherical_in spherical_jn
spherical_kn spherical_yn spsolve sqrtm standardized standardized_scale std stdtr stdtridf stdtrit
struve student_by_df student_mean svdvals sylvester tandg tklmbda unitary_factor vander var
voigt_profile vonmises_ppf wofz wright_bessel wrightomega xlog1py xlogy y0 y1 yn yv yve zeta zetac
"""
"""Operations whose power series come from their forward rule."""
VIEWS = """
broadcast_to diagonal einsum expand_dims getitem imag real reshape squeeze swapaxes transpose trimmed
"""
"""Operations whose results may be views."""
OF_DATA = """
argwhere bincount eig eig_like eigvals flatnonzero getitem hashing_order histogram histogram_bin_edges
intersect1d leading_vectors nonzero null_basis of_conjugates range_basis real_if_all_are residuals span
trimmed unique
"""
"""Operations of which some calls make shapes or dtypes that depend on elements."""
BY_CALLBACK = """
all_pole apply argpartition assoc_legendre_p balance balance_order beta_by_parameters
beta_density_mixture beta_mixture chndtridf chndtrinc chndtrix cholesky_of_bands complex_schur
continuous_riccati discrete_riccati eig eig_like eig_of_bands eigenvalue_partners eigvals
eigvals_of_bands elliptic_integral exprel_derivative gamma_by_parameter gamma_density_mixture
gamma_mixture hashing_order hessenberg inverse_of_basis it2i0k0_ik0 itairy_ant itairy_apt itairy_bnt
itairy_bpt ldl ldl_order leading_vectors linear_sum_assignment linspace lmbda_slopes lmbda_values logm
lqmn_slopes lqmn_values lqn_slopes lqn_values lu_order lu_pivots modfresnelm_fm modfresnelp_fp ncfdtri
ncfdtridfd ncfdtridfn ncfdtrinc nctdtridf nctdtrinc nctdtrit negligible_beside nonzero_spectrum norm
null_basis of_conjugates packed_lu pbdn_seq_slopes pbdn_seq_values pbdv_seq_slopes pbdv_seq_values
pbvv_seq_slopes pbvv_seq_values positive_factor qr_delete qr_insert qr_update range_basis
real_if_all_are riccati_jn_slopes riccati_jn_values riccati_yn_slopes riccati_yn_values schur schur_turn
selected_count signm smirnov_by_x solve_banded solve_bands sph_harm_y sph_legendre_p spline_filter
spsolve sqrtm student_by_df student_mean sylvester unitary_factor vanishing_spectrum vonmises_ppf
"""
"""Operations that programs call Python for."""
TRANSPOSED = """

"""
"""Operations whose forward rule is the transpose of the reverse one."""
FORWARDS = """

"""
"""Operations whose reverse rule is the transpose of the forward one."""
UNEXPLAINED = """
alike apply independent nonzero_spectrum positive_factor
"""
"""Operations whose errors stay what they are."""
FREE = """
beside broadcast_to choose complex_schur_form complex_schur_vectors concatenate cond copy d_of_ldl
diagonal eigenvalues eigenvectors embedded_diagonal embedding expand_dims fftshift gathered getitem
hessenberg_basis hessenberg_form ifftshift imag l_of_ldl left_singular_vectors logabsdet matrix_power
one_hot pick place put_along_axis q_of_qr r_of_qr rank real reshape residuals resized
right_singular_vectors roll rows schur_form schur_vectors set_at sign_of_slogdet singular_values squeeze
stack stop_gradient swapaxes take take_along_axis transpose unfold
"""
"""Operations that only move elements, or that unpack results."""
COSTLY = """
add_along_axis add_at all all_pole any argmax argmin argpartition argsort bincount cholesky_of_bands
cholesky_pullback continuous_riccati conv conv_input conv_weight convolve correlate count_nonzero det
digitize discrete_riccati dot eig eig_of_bands eigh eigvals eigvals_of_bands eigvalsh einsum expm fft
flatnonzero fold hessenberg histogram ifft interp intersect1d interval inv irfft isin lexsort
log_softmax logm logsumexp lstsq matmul matrix_rank max max_pool max_pool_vjp mean median min nanargmax
nanargmin nanmax nanmean nanmedian nanmin nanpercentile nanquantile nanstd nanvar norm null_basis
packed_lu percentile pinv polyval prod qr quantile range_basis rfft rms_normalized sampled_product
scatter schur searchsorted signm slogdet softmax softmax_cross_entropy_mean softmax_cross_entropy_none
softmax_cross_entropy_sum solve solve_banded solve_bands solve_triangular sort sparse_product
spline_filter spsolve sqrtm standardized std sum sum_pool sum_pool_vjp sum_to svd svdvals sylvester
unique unitary_factor var vecdot
"""
"""Operations with calls that take more than one floating-point operation for each element of the result."""
CHEAP = """
add_along_axis add_at argwhere cholesky ldl nonzero scatter unique
"""
"""Operations whose calls together take less, but something."""


@pytest.fixture(scope="module")
def declared():
    """All operations that the table runs, and what their gradients run, with their costs, by their names."""
    found = {}
    with_gradient = {case for case in TWO_OF_EACH if case.has_derivative}
    for case in CASES:
        for f in (case.on(ops), gradient(case)) if case in with_gradient else (case.on(ops),):
            trace = Trace()
            f(*[trace.param(a) if is_float(a) else trace.input(a) for a in case.args()])
            for node in trace.nodes:
                if node.op is not None:
                    name, work = node.call.op.name.replace(" ", "_"), flops(node)
                    found.setdefault(name, []).append((node.call.op, work, np.size(node.value)))
    return found


@takes_long
@pytest.mark.parametrize(
    ("expected", "lacks"),
    [
        (ONE_BY_ONE, lambda op: op.batch is None),
        (THROUGH_RULES, lambda op: op.taylor is None and (op.jvp is not None or op.vjp is not None)),
        (VIEWS, lambda op: op.view is not None),
        (OF_DATA, lambda op: op.data_dependent is not False),
        (BY_CALLBACK, lambda op: op.lower is None),
        (FORWARDS, lambda op: op.jvp is not None and op.vjp is None),
        (TRANSPOSED, lambda op: getattr(op.jvp, "func", None) is rules._transposed_vjp),
        (UNEXPLAINED, lambda op: not op.explains_errors),
    ],
    ids=["batch", "taylor", "view", "data_dependent", "lower", "vjp", "jvp", "explains_errors"],
)
def test_rules_are_declared(declared, expected, lacks):
    found = {name for name, calls in declared.items() if any(lacks(op) for op, _, _ in calls)}
    assert found == set(expected.split())


@pytest.mark.parametrize(
    ("expected", "is_such"),
    [
        (FREE, lambda calls: all(work == 0 for _, work, _ in calls)),
        (COSTLY, lambda calls: any(work > size for _, work, size in calls)),
        (CHEAP, lambda calls: 0 < sum(work for _, work, _ in calls) < sum(size for _, _, size in calls)),
    ],
    ids=["free", "costly", "cheap"],
)
def test_costs_are_declared(declared, expected, is_such):
    """Where none is, an operation costs one for each element of its result."""
    assert {name for name, calls in declared.items() if is_such(calls)} == set(expected.split())


@takes_long
@pytest.mark.filterwarnings("ignore")
def test_batches_of_any_size_take_as_many_operations():
    found = set()
    for case in TWO_OF_EACH:
        counts = []
        for size in (2, 4):
            trace = Trace()
            stacked = [np.stack([a] * size) for a in case.args()]
            args = [trace.param(a) if is_float(a) else trace.input(a) for a in stacked]
            with Lanes(size) as lanes, np.errstate(all="ignore"):
                case.on(ops)(*[lanes.batch(a) for a in args])
            counts.append(Counter(node.op.name for node in trace.nodes if node.op is not None))
        found |= set(counts[1] - counts[0])
    assert found == set(GROWING.split())
