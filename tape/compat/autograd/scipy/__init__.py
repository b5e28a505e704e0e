"""The names of `autograd.scipy`: those of `tape.scipy`, and autograd's own ``convolve`` and ``odeint``."""

from tape.compat.autograd.scipy import integrate, linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]
