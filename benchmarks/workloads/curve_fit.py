"""The curve fit that rustograd uses as its benchmark: a whole fit, made of small operations.

80 points of 0.75 exp(-(x - 1.2)^2 / 0.35), the model scale * exp(-(x - mu)^2 / sigma^2), the sum of
squared residuals, 100 steps of gradient descent. Every contender must arrive at the same parameters.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case, NotAvailableError
from benchmarks.registry import workload

_EPOCHS = 100
_RATE = 0.01
_START = (0.0, 1.0, 1.0)  # mu, sigma, scale
_FITTED = (1.1999999630566605, 0.5957563205013943, 0.7452019038775677)
_X = np.arange(-40, 40) * 0.1
_Y = 0.75 * np.exp(-((_X - 1.2) ** 2) / 0.35)


@workload("curve-fit")
def curve_fit(seed: int) -> list[Case]:
    """The curve fit of rustograd: 80 points, 100 epochs, three parameters, float64; the whole fit."""
    contenders = {
        "tape compiled": _with_compiled_tape,
        "tape": _with_tape,
        "numpy": lambda: _by_hand,
        "numba by hand": _with_numba,
        "C by hand": _with_c,
        "torch": _with_torch,
        "jax": _with_jax,
        "autograd": _with_autograd,
    }
    reference = partial(list, _FITTED)
    return [Case("", contenders, reference=reference, tolerance=1e-12, unit="fit", baseline="tape compiled")]


def _by_hand() -> list[Any]:
    mu, sigma, scale = _START
    for _ in range(_EPOCHS):
        u = (_X - mu) / sigma
        bell = np.exp(-(u * u))
        weighted = (scale * bell - _Y) * bell
        pull = weighted * u
        factor = 4 * scale / sigma
        mu, sigma, scale = (
            mu - _RATE * factor * pull.sum(),
            sigma - _RATE * factor * (pull @ u),
            scale - _RATE * 2 * weighted.sum(),
        )
    return [mu, sigma, scale]


def _fit_in_one_loop(x: Any, y: Any, mu: float, sigma: float, scale: float) -> tuple[float, float, float]:
    """Run the fit as one scalar loop over the points in each epoch, as one would write it in C or Rust."""
    for _ in range(_EPOCHS):
        sum_mu = sum_sigma = sum_scale = 0.0
        inverse = 1 / sigma
        for i in range(len(x)):
            u = (x[i] - mu) * inverse
            bell = math.exp(-u * u)
            weighted = (scale * bell - y[i]) * bell
            sum_mu += weighted * u
            sum_sigma += weighted * u * u
            sum_scale += weighted
        factor = 4 * scale * inverse
        mu -= _RATE * factor * sum_mu
        sigma -= _RATE * factor * sum_sigma
        scale -= _RATE * 2 * sum_scale
    return mu, sigma, scale


def _with_numba() -> Call:
    fit = load("numba").njit(_fit_in_one_loop)
    return lambda: fit(_X, _Y, *_START)


_IN_C = """
#include <math.h>
void fit(const double *x, const double *y, int points, int epochs, double rate, double *params) {
    double mu = params[0], sigma = params[1], scale = params[2];
    for (int epoch = 0; epoch < epochs; epoch++) {
        double sum_mu = 0, sum_sigma = 0, sum_scale = 0, inverse = 1 / sigma;
        for (int i = 0; i < points; i++) {
            double u = (x[i] - mu) * inverse, bell = exp(-u * u);
            double weighted = (scale * bell - y[i]) * bell;
            sum_mu += weighted * u;
            sum_sigma += weighted * u * u;
            sum_scale += weighted;
        }
        double factor = 4 * scale * inverse;
        mu -= rate * factor * sum_mu;
        sigma -= rate * factor * sum_sigma;
        scale -= rate * 2 * sum_scale;
    }
    params[0] = mu, params[1] = sigma, params[2] = scale;
}
"""


def _with_c() -> Call:
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotAvailableError("there is no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/fit.so"
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-lm"]
        subprocess.run(command, input=_IN_C.encode(), check=True)
        fit = ctypes.CDLL(library).fit
    params = np.empty(len(_START))
    given = [ctypes.c_void_p(_X.ctypes.data), ctypes.c_void_p(_Y.ctypes.data), len(_X), _EPOCHS]
    given += [ctypes.c_double(_RATE), ctypes.c_void_p(params.ctypes.data)]

    def call() -> list[Any]:
        params[:] = _START
        fit(*given)
        return list(params)

    return call


def _loss(mu: Any, sigma: Any, scale: Any) -> Any:
    return np.sum((_Y - scale * np.exp(-((_X - mu) ** 2) / sigma / sigma)) ** 2)


def _with_compiled_tape() -> Call:
    tape = load("tape")

    def fit(*params: Any) -> list[Any]:
        for _ in range(_EPOCHS):
            gradients = tape.grad(_loss, (0, 1, 2))(*params)
            params = tuple(
                param - _RATE * gradient for param, gradient in zip(params, gradients, strict=True)
            )
        return list(params)

    compiled = tape.compile(fit)
    return lambda: compiled(*_START)


def _with_tape() -> Call:
    tape = load("tape")

    def call() -> list[Any]:
        params = [np.float64(start) for start in _START]
        for _ in range(_EPOCHS):
            trace = tape.Trace()
            gradients = trace.backward_param_grads(_loss(*map(trace.param, params)))
            params = [param - _RATE * gradient for param, gradient in zip(params, gradients, strict=True)]
        return params

    return call


def _with_torch() -> Call:
    torch = load("torch")
    x, y = torch.tensor(_X), torch.tensor(_Y)

    def call() -> list[Any]:
        params = [torch.tensor(start, dtype=torch.float64, requires_grad=True) for start in _START]
        mu, sigma, scale = params
        for _ in range(_EPOCHS):
            loss = torch.sum((y - scale * torch.exp(-((x - mu) ** 2) / sigma / sigma)) ** 2)
            gradients = torch.autograd.grad(loss, params)
            with torch.no_grad():
                for param, gradient in zip(params, gradients, strict=True):
                    param.sub_(gradient, alpha=_RATE)
        return [param.detach() for param in params]

    return call


def _with_jax() -> Call:
    jax = load("jax")

    def loss(params: Any, x: Any, y: Any) -> Any:
        mu, sigma, scale = params
        return jax.numpy.sum((y - scale * jax.numpy.exp(-((x - mu) ** 2) / sigma / sigma)) ** 2)

    def update(epoch: Any, params: Any, x: Any, y: Any) -> Any:
        gradients = jax.grad(loss)(params, x, y)
        return [param - _RATE * gradient for param, gradient in zip(params, gradients, strict=True)]

    @jax.jit
    def fit(params: Any, x: Any, y: Any) -> Any:
        return jax.lax.fori_loop(0, _EPOCHS, partial(update, x=x, y=y), params)

    x, y = jax.numpy.asarray(_X), jax.numpy.asarray(_Y)
    start = [jax.numpy.asarray(number, dtype=float) for number in _START]
    return lambda: jax.block_until_ready(fit(start, x, y))


def _with_autograd() -> Call:
    autograd = load("autograd")

    def loss(mu: Any, sigma: Any, scale: Any) -> Any:
        residual = _Y - scale * autograd.numpy.exp(-((_X - mu) ** 2) / sigma / sigma)
        return autograd.numpy.sum(residual**2)

    gradient_of_loss = autograd.grad(loss, (0, 1, 2))

    def call() -> list[Any]:
        params = list(_START)
        for _ in range(_EPOCHS):
            gradients = gradient_of_loss(*params)
            params = [param - _RATE * gradient for param, gradient in zip(params, gradients, strict=True)]
        return params

    return call
