"""Defaults of public functions: those of NumPy and SciPy where they have the function, or written here."""

import inspect

import numpy as np
import pytest
from scipy import special

import tape
import tape.nn
import tape.numpy
import tape.ops.late
import tape.scipy
from tape import ops
from tape.core.table import OPERATIONS

UNSAID = {"keepdims": False, "where": True}  # the others are None
"""What NumPy's functions do where their signature says ``<no value>``."""


def defaults(function):
    """The default of each parameter that has one."""
    parameters = inspect.signature(function).parameters.items()
    return {name: one.default for name, one in parameters if one.default is not one.empty}


def differences(function, original):
    """Which parameters have another default than in the original, or none where that has one."""
    ours, theirs = defaults(function), defaults(original)
    found = {}
    for name in inspect.signature(function).parameters.keys() & theirs.keys():
        expected, default = theirs[name], ours.get(name, "none")
        if expected is np._NoValue and default is not expected:
            expected = UNSAID.get(name)
        if repr(default) != repr(expected):
            found[name] = default, expected
    return found


def pairs(ours, theirs, names):
    """Functions of one name in two namespaces, but for those that cannot be looked into."""
    for name in names:
        function, original = getattr(ours, name, None), getattr(theirs, name, None)
        is_other = callable(function) and callable(original) and function is not original
        if is_other and not isinstance(original, np.ufunc | type):
            yield f"{theirs.__name__}.{name}", function, original


PAIRS = [
    *(
        (f"{f.__module__}.{f.__name__}", ours, f)
        for f, ours in OPERATIONS.items()
        if not isinstance(f, np.ufunc) and hasattr(f, "__module__") and f.__module__ != "_operator"
    ),
    *pairs(tape.numpy, np, np.__all__),
    *pairs(tape.numpy.linalg, np.linalg, np.linalg.__all__),
    *pairs(tape.numpy.fft, np.fft, np.fft.__all__),
    *pairs(ops.special, special, ops.special.__all__),
    *pairs(tape.Var, np.ndarray, [name for name in dir(tape.Var) if not name.startswith("_")]),
]


def test_defaults_are_those_of_numpy_and_scipy():
    assert len(PAIRS) > 500
    assert {name: found for name, *pair in PAIRS if (found := differences(*pair))} == {}


@pytest.mark.parametrize("function", [np.cumsum, np.isin, np.trace], ids=lambda f: f.__name__)
def test_another_default_is_noticed(function):
    """The test above can fail."""
    ours = OPERATIONS[function]
    changed = [
        one.replace(default="another") if one.default is not one.empty else one
        for one in inspect.signature(ours).parameters.values()
    ]

    def other(*args, **kwargs):
        raise AssertionError

    other.__signature__ = inspect.Signature(changed)
    assert differences(other, function)


PYTORCH = """
affine_grid: align_corners=False
alpha_dropout: p=0.5, mask=None
avg_pool1d: stride=None, padding=0, ceil_mode=False, count_include_pad=True
avg_pool2d: stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
avg_pool3d: stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
batch_norm: running_mean=None, running_var=None, weight=None, bias=None, training=False, eps=1e-05
batch_norm_statistics: momentum=0.1
bilinear: bias=None
binary_cross_entropy: weight=None, reduction='mean'
binary_cross_entropy_with_logits: weight=None, reduction='mean', pos_weight=None
celu: alpha=1.0
conv1d: bias=None, stride=1, padding=0, dilation=1, groups=1
conv2d: bias=None, stride=1, padding=0, dilation=1, groups=1
conv3d: bias=None, stride=1, padding=0, dilation=1, groups=1
conv_transpose1d: bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
conv_transpose2d: bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
conv_transpose3d: bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
cosine_embedding_loss: margin=0.0, reduction='mean'
cosine_similarity: axis=1, eps=1e-08
cross_entropy: weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0, axis=1
ctc_loss: blank=0, reduction='mean', zero_infinity=False
dropout: p=0.5, mask=None
dropout_mask: p=0.5
elu: alpha=1.0
embedding: padding_idx=None
embedding_bag: mode='mean', per_sample_weights=None, padding_idx=None, offsets=None, include_last_offset=False
fold: dilation=1, padding=0, stride=1
gaussian_nll_loss: full=False, eps=1e-06, reduction='mean'
gelu: approximate='none'
glu: axis=-1
grid_sample: mode='bilinear', padding_mode='zeros', align_corners=False
group_norm: weight=None, bias=None, eps=1e-05
gumbel_softmax: tau=1.0, hard=False, axis=-1
hardshrink: lambd=0.5
hardtanh: min_val=-1.0, max_val=1.0
hinge_embedding_loss: margin=1.0, reduction='mean'
huber_loss: reduction='mean', delta=1.0
instance_norm: weight=None, bias=None, eps=1e-05
interpolate: size=None, scale_factor=None, mode='nearest', align_corners=False
kl_div: reduction='mean', log_target=False
l1_loss: reduction='mean'
layer_norm: weight=None, bias=None, eps=1e-05
leaky_relu: negative_slope=0.01
linear: bias=None
local_response_norm: alpha=0.0001, beta=0.75, k=1.0
logit: eps=None
log_softmax: axis=-1
lp_pool1d: stride=None, ceil_mode=False
lp_pool2d: stride=None, ceil_mode=False
lp_pool3d: stride=None, ceil_mode=False
margin_ranking_loss: margin=0.0, reduction='mean'
max_pool1d: stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
max_pool2d: stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
max_pool3d: stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
max_unpool1d: stride=None, padding=0, output_size=None
max_unpool2d: stride=None, padding=0, output_size=None
max_unpool3d: stride=None, padding=0, output_size=None
mse_loss: reduction='mean'
multi_head_attention: out_proj_bias=None, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None
multi_margin_loss: p=1, margin=1.0, weight=None, reduction='mean'
multilabel_margin_loss: reduction='mean'
multilabel_soft_margin_loss: weight=None, reduction='mean'
nll_loss: weight=None, ignore_index=-100, reduction='mean', axis=1
normalize: p=2.0, axis=1, eps=1e-12
one_hot: dtype=<class 'float'>
pad: mode='constant', value=0.0
pairwise_distance: p=2.0, eps=1e-06, keepdim=False
pdist: p=2.0
poisson_nll_loss: log_input=True, full=False, eps=1e-08, reduction='mean'
rms_norm: weight=None, eps=None
rrelu: lower=0.125, upper=0.3333333333333333, slopes=None
scaled_dot_product_attention: attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, dropout_mask=None
smooth_l1_loss: reduction='mean', beta=1.0
soft_margin_loss: reduction='mean'
softmax: axis=-1
softmin: axis=-1
softplus: beta=1.0, threshold=inf
softshrink: lambd=0.5
triplet_margin_loss: margin=1.0, p=2, eps=1e-06, swap=False, reduction='mean'
triplet_margin_with_distance_loss: distance_function=None, margin=1.0, swap=False, reduction='mean'
unfold: dilation=1, padding=0, stride=1
"""  # noqa: E501
"""As its functional interface has them; what is not in it (axis, masks) is called as elsewhere in tape."""

OURS = """
Program.profile: repeats=20
Trace: name=None, sites=False, check=False, strict=False
Trace.param: name=None
Trace.input: name=None
Trace.backward: seed=None
Trace.backward_param_grads: seed=None, unreached='raise'
Trace.pull_back: consume=False
checkpoint_loop: progress=False
compile: f=None, donate=(), max_paths=64
debug: sites=True, check=False
elementwise_grad: argnums=0
find_nonfinite: derivative=True
fixed_point: solver=None, tol=None, max_steps=10000
gnvp: loss=None
grad: argnums=0, has_aux=False
hessian: argnums=0
hvp: argnums=0
jacobian: argnums=0, mode='auto', holomorphic=False
jvp: has_aux=False
odeint: rtol=1e-08, atol=1e-08, method='RK45', gradient=None, max_steps=None
profile: repeats=None, derivative=True, progress=False
root: solver=None
rop: method='forward'
sparse_hessian: argnums=0, recovery='direct', pattern=None
sparse_jacobian: argnums=0, mode='auto', pattern=None
sparsity: argnums=0, order=1
value_and_grad: argnums=0, has_aux=False
vjp: has_aux=False
scipy.curve_fit: p0=None, sigma=None, absolute_sigma=False, bounds=None, progress=False
scipy.least_squares: args=(), bounds=None, jac_sparsity=None, progress=False
scipy.minimize: args=(), method=None, bounds=None, constraints=(), sparse=False, callback=None, progress=False
scipy.root: args=(), method='hybr', callback=None, progress=False
testing.check_grads: order=2, modes=('fwd', 'rev'), rtol=None, atol=0.0, step=None, seed=0
testing.check_jvp: rtol=None, atol=0.0, step=None, seed=0
testing.check_vjp: rtol=None, atol=0.0, step=None, seed=0
"""


def listed(function):
    return ", ".join(f"{name}={default!r}" for name, default in defaults(function).items())


def resolved(name, namespace):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


@pytest.mark.parametrize(("table", "namespace"), [(PYTORCH, tape.nn), (OURS, tape)], ids=["nn", "tape"])
def test_defaults_are_those_that_are_written_here(table, namespace):
    expected = dict(line.split(": ", 1) for line in table.split("\n") if line)
    assert {name: listed(resolved(name, namespace)) for name in expected} == expected


def test_functions_of_layers_are_all_written_here():
    functions = {name: getattr(tape.nn, name) for name in tape.ops.nn.__all__}
    with_defaults = {name for name, f in functions.items() if inspect.isfunction(f) and defaults(f)}
    assert with_defaults - {"logsumexp", "rotary_embedding"} == {
        line.split(":")[0] for line in PYTORCH.split("\n") if line
    }
