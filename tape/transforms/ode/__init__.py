"""Runge-Kutta methods as operations on a tape: `tableaus` has their coefficients, `runge_kutta` the steps."""
