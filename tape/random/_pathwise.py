"""Samples with derivatives: operations whose value is a sample that was drawn, and whose rules move it.

`sample` draws and returns such a one; `whole_numbers` draws what has no derivative, and refuses one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tape import errors, ops
from tape.core import batch_rules, streams
from tape.core.dispatch import resolve
from tape.core.nesting import traced
from tape.core.node import Handle
from tape.core.op import Op
from tape.random import _flows
from tape.random._draws import Options, Size, data, depends, numbers

Flow = Callable[..., Any]
"""From the sample and the parameters to the derivative of the sample by one of them."""


def _same(sample: Any, *operands: Any) -> Any:
    """Return the sample, drawn with the first half of the operands, if the second half is the same."""
    count = len(operands) // 2
    for before, now in zip(operands[:count], operands[count:], strict=True):
        if before is not now and not np.all((before == now) | ((before != before) & (now != now))):
            raise errors.UnsupportedError(
                "a recorded sample was to be computed again with other parameters, and cannot be: it was "
                "drawn with those of the recording. Run the function again, or compile it with "
                "tape.compile, which draws anew"
            )
    return sample


def _pathwise(name: str, *flows: Flow) -> Op:
    """Declare the operation of a distribution, elementwise, with a flow for each parameter."""
    count = len(flows)

    def rule(flow: Flow) -> Callable[..., Any]:
        return lambda d, out, sample, *operands: d * flow(out, *operands[count:])

    rules = [None] * (1 + count) + [rule(flow) for flow in flows]
    return Op(
        _same,
        vjp=rules,
        jvp=rules,
        batch=batch_rules.elementwise,
        name=name,
        widens=True,
        data_dependent=False,
        doc=f"A sample of {name}, which moves with its parameters.",
    )


_gamma = _pathwise("standard_gamma", lambda x, a: _flows.gamma_flow(a, x))
_beta = _pathwise(
    "beta", lambda x, a, b: _flows.beta_flow_by_a(a, b, x), lambda x, a, b: _flows.beta_flow_by_b(a, b, x)
)
_t = _pathwise("standard_t", lambda x, df: _flows.t_flow(df, x))
_f = _pathwise("f", lambda x, m, n: _flows.f_flows(m, n, x)[0], lambda x, m, n: _flows.f_flows(m, n, x)[1])
_wald = _pathwise(
    "wald",
    lambda x, mean, scale: _flows.wald_flows(mean, scale, x)[0],
    lambda x, mean, scale: _flows.wald_flows(mean, scale, x)[1],
)
_vonmises = _pathwise(
    "vonmises", lambda x, mu, kappa: 1.0, lambda x, mu, kappa: _flows.vonmises_flow(kappa, x - mu)
)


# The Dirichlet distribution: given x_j, the others over 1 - x_j do not depend on alpha_j, so that only x_j
# moves as a sample of the beta distribution does, and the others share the rest as before.


def _weights(x: Any, alpha: Any) -> Any:
    """Return ``(dx_j / d alpha_j) / (1 - x_j)`` for each j."""
    k = np.shape(x)[-1]
    others = 1.0 - np.eye(k)
    floor = np.where(x < 1e-300, 1e-300 - x, 0.0)  # a constant: samples may be rounded to 0
    odds = ops.log(x + floor) - ops.log(ops.matmul(x, others) + 1e-300)
    rest = ops.matmul(ops.broadcast_to(alpha, np.shape(x)), others)
    return x * _flows.logit_flow(alpha, rest, odds)


def _dirichlet_vjp(g: Any, out: Any, sample: Any, drawn: Any, alpha: Any) -> Any:
    return _weights(out, alpha) * (g - ops.sum(g * out, axis=-1, keepdims=True))


def _dirichlet_jvp(t: Any, out: Any, sample: Any, drawn: Any, alpha: Any) -> Any:
    moved = _weights(out, alpha) * t
    return moved - out * ops.sum(moved, axis=-1, keepdims=True)


_dirichlet = Op(
    _same,
    vjp=[None, None, _dirichlet_vjp],
    jvp=[None, None, _dirichlet_jvp],
    batch=batch_rules.elementwise,
    name="dirichlet",
    data_dependent=False,
)

_OPS = {
    "standard_gamma": _gamma,
    "beta": _beta,
    "standard_t": _t,
    "f": _f,
    "wald": _wald,
    "vonmises": _vonmises,
    "dirichlet": _dirichlet,
}


def sample(
    source: streams.Source, method: str, parameters: Sequence[Any], size: Size, options: Options = ()
) -> Any:
    """Draw from a distribution that has a flow for each parameter.

    Parameters
    ----------
    source : Source
        The generator.
    method : str
        Of `numpy.random.Generator`.
    parameters : sequence
        Arrays, numbers and Vars.
    size, options
        As for `numbers`.

    Returns
    -------
    numpy.ndarray, NumPy scalar or Var
        A Var that is differentiable by the parameters if there is one among these.
    """
    given = [resolve(parameter) for parameter in parameters]
    is_one = method == "dirichlet"
    out = numbers(source, method, given, size, options, has_examples=is_one)
    if not any(isinstance(parameter, Handle) for parameter in given):
        return out
    values = [parameter if isinstance(parameter, Handle) else np.asarray(parameter) for parameter in given]
    return _OPS[method](out, *[data(value) for value in values], *values)


# ---- without a derivative ------------------------------------------------------------------------------


def _no_derivative(*_: Any, method: str, why: str) -> NoReturn:
    raise errors.UnsupportedError(f"{method}: {why}")


def _without_of_batch(
    op: Op, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Any:
    out, *parameters = operands
    if not is_batched[0]:
        out = ops.broadcast_to(out, (size, *np.shape(out)))
    return op(out, *parameters, **attrs)


_without = Op(
    lambda sample, *parameters, method, why: sample,
    vjp=_no_derivative,
    jvp=_no_derivative,
    batch=_without_of_batch,
    lower=lambda b, sample, *parameters, method, why: sample,
    name="draw_without_derivative",
    doc="A sample that has no derivative by its parameters: to ask for one is an error.",
)

_DISCRETE = (
    "whole numbers are drawn, which do not move with the parameters: there is no derivative along the "
    "sample. Pass tape.stop_gradient(parameter) and add the score function's term, (f(x) - baseline) * "
    "log_prob(x, parameter) with the factor stopped too, or draw from a relaxation, as gumbel_softmax"
)
_MISSING = (
    "the derivative of a sample by the parameters is not implemented. Pass tape.stop_gradient(parameter), "
    "or compose the sample of distributions that have one, as chisquare and normal"
)


def whole_numbers(
    source: streams.Source,
    method: str,
    parameters: Sequence[Any],
    size: Size = None,
    options: Options = (),
    *,
    has_examples: bool = False,
    is_discrete: bool = True,
) -> Any:
    """Draw from a distribution whose samples have no derivative.

    Raises
    ------
    UnsupportedError
        If a parameter depends on what is being differentiated.
    """
    why = _DISCRETE if is_discrete else _MISSING
    given = [resolve(parameter) for parameter in parameters]
    if any(map(depends, given)):
        _no_derivative(method=method, why=why)
    out = numbers(source, method, given, size, options, has_examples=has_examples)
    # In the body of a loop it is not known what is differentiated: there a rule refuses.
    variables = [one for one in map(traced, given) if isinstance(one, Handle)]
    return _without(out, *variables, method=method, why=why) if variables else out
