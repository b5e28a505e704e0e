"""A differential equation fitted to observations: predator and prey, after Lotka and Volterra.

Two states, four parameters, 50 observations, all at tolerances of 1e-8: the mean of squared residuals, and
its gradient with respect to the parameters. Each contender has its own method, and so its own error. That of
JAX is of Dormand and Prince, with the adjoint equation; by hand, SciPy integrates the variational equations
along with the solution, by the same method.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_RTOL = _ATOL = 1e-8
_TRUTH = np.array([1.1, 0.4, 0.4, 0.1])
_START = np.array([1.0, 0.35, 0.45, 0.12])
_STATE = np.array([10.0, 5.0])
_TIMES = np.linspace(0.0, 20.0, 50)


@workload("ode-fit")
def ode_fit(seed: int) -> list[Case]:
    """Lotka-Volterra, 50 observations, rtol 1e-8: value and gradient by four parameters, float64."""
    rng = np.random.default_rng(seed)
    observed = _solved(_TRUTH, "DOP853", 1e-10)[:, :2] + 0.1 * rng.normal(size=(len(_TIMES), 2))
    losses = {"tape compiled": _tape_loss, "tape": _tape_loss, "jax": _jax_loss}
    contenders = {
        "numpy": lambda: partial(_by_hand, _START, observed, "RK45", _RTOL),
        **gradients_by(losses, [_START], [_STATE, _TIMES, observed]),
    }
    reference = partial(_by_hand, _START, observed, "DOP853", 1e-12)
    return [Case("", contenders, reference=reference, tolerance=3e-6, baseline="tape compiled")]


def _tape_loss(tape: Any, params: Any, state: Any, times: Any, observed: Any) -> Any:
    def slope(y: Any, t: Any, params: Any) -> Any:
        birth, eaten, death, growth = params
        prey, hunters = y
        return np.stack([birth * prey - eaten * prey * hunters, growth * prey * hunters - death * hunters])

    solution = tape.odeint(slope, state, times, params, rtol=_RTOL, atol=_ATOL, method="Tsit5")
    return np.mean((solution - observed) ** 2)


def _jax_loss(jax: Any, params: Any, state: Any, times: Any, observed: Any) -> Any:
    from jax.experimental.ode import odeint

    def slope(y: Any, t: Any, params: Any) -> Any:
        birth, eaten, death, growth = params
        prey, hunters = y
        return jax.numpy.stack(
            [birth * prey - eaten * prey * hunters, growth * prey * hunters - death * hunters]
        )

    solution = odeint(slope, state, times, params, rtol=_RTOL, atol=_ATOL)
    return jax.numpy.mean((solution - observed) ** 2)


def _by_hand(params: np.ndarray, observed: np.ndarray, method: str, tolerance: float) -> list[Any]:
    solution = _solved(params, method, tolerance)
    residual = solution[:, :2] - observed
    by_params = solution[:, 2:].reshape(-1, 2, 4)
    return [np.mean(residual**2), 2 * np.einsum("ti,tip->p", residual, by_params) / residual.size]


def _solved(params: np.ndarray, method: str, tolerance: float) -> np.ndarray:
    """Return the solution and its derivatives by the parameters: ten numbers for each time."""
    from scipy.integrate import solve_ivp

    birth, eaten, death, growth = params

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        prey, hunters = y[:2]
        met = prey * hunters
        by_state = np.array(
            [[birth - eaten * hunters, -eaten * prey], [growth * hunters, growth * prey - death]]
        )
        by_params = np.array([[prey, -met, 0.0, 0.0], [0.0, 0.0, -hunters, met]])
        moved = by_state @ y[2:].reshape(2, 4) + by_params
        return np.array([birth * prey - eaten * met, growth * met - death * hunters, *moved.ravel()])

    span, start = (_TIMES[0], _TIMES[-1]), np.array([*_STATE, *np.zeros(8)])
    return solve_ivp(slope, span, start, method, _TIMES, rtol=tolerance, atol=tolerance).y.T
