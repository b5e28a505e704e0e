"""Muon: equal to the published formula, and to PyTorch as far as bfloat16 goes."""

import numpy as np
import pytest

from tape import errors, optim
from tests.oracles import pytorch

SHAPES = [(3, 4), (6, 2), (1, 5), (5,), (), (4, 0), (2, 3, 2)]


def orthogonal(x, coefficients=(3.4445, -4.775, 2.0315), steps=5, eps=1e-7):
    """Jordan et al. (2024), by way of the singular values: each goes through the polynomial by itself."""
    if not x.size:
        return x
    a, b, c = coefficients
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    s = s / max(np.linalg.norm(s), eps)
    for _ in range(steps):
        s = a * s + b * s**3 + c * s**5
    return (u * s) @ vt


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("adjust", [None, "match_rms_adamw"])
def test_matrices_follow_the_singular_values(nesterov, adjust):
    rng = np.random.default_rng(0)
    params = [rng.normal(size=shape) for shape in SHAPES]
    others = [p.copy() for p in params if p.ndim != 2]
    expected = [p.copy() for p in params if p.ndim == 2]
    velocities = [np.zeros_like(p) for p in expected]
    ours = optim.Muon(params, lr=0.05, nesterov=nesterov, adjust_lr_fn=adjust)
    adamw = optim.AdamW(others, lr=0.05, weight_decay=0.1)
    for _ in range(30):
        grads = [0.3 * p + rng.normal(size=p.shape) for p in params]
        grads = [np.asarray(g) for g in grads]
        ours.step(grads)
        adamw.step([g for g in grads if g.ndim != 2])
        for k, g in enumerate([g for g in grads if g.ndim == 2]):
            velocities[k] += 0.05 * (g - velocities[k])
            ahead = 0.95 * velocities[k] + 0.05 * g if nesterov else velocities[k]
            rows, columns = g.shape
            factor = 0.2 * max(rows, columns) ** 0.5 if adjust else max(1, rows / max(columns, 1)) ** 0.5
            expected[k] = (1 - 0.05 * 0.1) * expected[k] - 0.05 * factor * orthogonal(ahead)
    for actual, wanted in zip([p for p in params if p.ndim == 2], expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-10, atol=1e-11)
    for actual, wanted in zip([p for p in params if p.ndim != 2], others, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def test_near_torch():
    torch = pytorch()
    rng = np.random.default_rng(1)
    params = [rng.normal(size=shape).astype(np.float32) for shape in SHAPES[:3]]
    theirs = [torch.tensor(p) for p in params]
    ours, reference = optim.Muon(params, lr=0.05), torch.optim.Muon(theirs, lr=0.05)
    for _ in range(10):
        grads = [rng.normal(size=p.shape).astype(np.float32) for p in params]
        for tensor, grad in zip(theirs, grads, strict=True):
            tensor.grad = torch.tensor(grad)
        ours.step(grads)
        reference.step()
    for actual, tensor in zip(params, theirs, strict=True):
        np.testing.assert_allclose(actual, tensor.numpy(), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_dtypes_and_layouts(dtype):
    rng = np.random.default_rng(2)
    start, grads = rng.normal(size=(4, 6)), rng.normal(size=(5, 4, 6))
    layouts = [np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]]
    plain = start.copy()
    params = [layout(start.astype(dtype)) for layout in layouts]
    one, many = optim.Muon([plain], lr=0.05), optim.Muon(params, lr=0.05)
    for grad in grads:
        one.step([grad])
        many.step([layout(grad.astype(dtype)) for layout in layouts])
    for param in params:
        tolerance = {np.float16: 2e-2, np.float32: 1e-4, np.longdouble: 1e-10}[dtype]
        np.testing.assert_allclose(param.astype(float), plain, rtol=tolerance, atol=tolerance)
        assert param.dtype == dtype


def test_zero_gradients_move_nothing():
    param = np.ones((2, 3))
    optim.Muon([param], weight_decay=0.0).step([np.zeros((2, 3))])
    np.testing.assert_array_equal(param, 1)


def test_settings():
    for options, match in [
        ({"ns_coefficients": (1.0, 2.0)}, "three numbers"),
        ({"ns_coefficients": (1.0, "2", "two")}, r"ns_coefficients\[2\] must be a number, not 'two'"),
        ({"ns_coefficients": (1.0, -float("inf"), 2.0)}, r"ns_coefficients\[1\] is -inf; it must be finite"),
        ({"ns_steps": 0}, "ns_steps is 0"),
        ({"adjust_lr_fn": "none"}, "adjust_lr_fn is 'none'; it must be None or 'original'"),
        ({"momentum": 1.0}, "momentum is 1.0"),
        ({"adamw_betas": 0.9}, "adamw_betas must be a pair"),
    ]:
        with pytest.raises(errors.OptionError, match=match):
            optim.Muon([np.ones((2, 2))], **options)
