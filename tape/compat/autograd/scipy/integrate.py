"""``odeint`` with the arguments and the numbers of `scipy.integrate.odeint`, as autograd's."""

from __future__ import annotations

from tape.scipy.integrate import odeint

__all__ = ["odeint"]
