"""Functions of `scipy.linalg` whose results have no derivative: refused with Vars, SciPy's on arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from scipy import linalg

from tape.core.node import Handle
from tape.errors import UnsupportedError
from tape.numpy._conversion import holds_vars

__all__ = ["REFUSED"]

_NAMES = """
cdf2rdf cossin hessenberg
interpolative ldl ordqz qr_delete qr_insert qr_multiply qr_update qz rq rsf2csf schur
solve_continuous_are solve_discrete_are
"""

_ADVICE: dict[str, str] = {}


def _refusing(name: str) -> Callable[..., Any]:
    original = getattr(linalg, name)

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Handle) or holds_vars(x) for x in (*args, *kwargs.values())):
            advice = _ADVICE.get(name, "Pass arrays, or declare a rule of your own with tape.custom_vjp")
            raise UnsupportedError(f"scipy.linalg.{name} has no derivative rule. {advice}")
        return original(*args, **kwargs)

    return call


REFUSED = {name: _refusing(name) for name in _NAMES.split() if callable(getattr(linalg, name, None))}
"""What takes no Vars, by name."""
