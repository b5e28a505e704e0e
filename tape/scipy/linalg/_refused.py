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

_NAMES = ("cossin", "interpolative", "ordqz", "qz")

_ADVICE = {
    "cossin": "Its factors are not unique. Use svd of the blocks, or subspace_angles",
    "ordqz": "Use schur of solve(b, a), with sort=, if b has full rank",
    "qz": "Use schur of solve(b, a), or eig(a, b), if b has full rank",
}


def _refusing(name: str) -> Callable[..., Any]:
    original = getattr(linalg, name)

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Handle) or holds_vars(x) for x in (*args, *kwargs.values())):
            advice = _ADVICE.get(name, "Pass arrays, or declare a rule of your own with tape.custom_vjp")
            raise UnsupportedError(f"scipy.linalg.{name} has no derivative rule. {advice}")
        return original(*args, **kwargs)

    return call


REFUSED = {name: _refusing(name) for name in _NAMES if callable(getattr(linalg, name, None))}
"""What takes no Vars, by name."""
