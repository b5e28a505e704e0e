"""Numba kernels, each behind a plain function that takes any array and falls back to NumPy.

Lowest floor of the package: kernels know arrays and nothing else.
"""
