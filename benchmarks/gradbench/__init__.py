"""The evaluations of GradBench (https://gradben.ch), written with tape as its documentation teaches.

One module an evaluation. Each has ``example(seed, ...)``, an input as GradBench sends it, and
``FUNCTIONS``, the functions that GradBench calls by name. ``python -m benchmarks.gradbench`` is a tool that
GradBench can run; the workload ``gradbench`` measures the same functions beside hand-written C and JAX.
"""
