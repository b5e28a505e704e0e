"""Benchmarks: `tape` next to hand-written NumPy, PyTorch, JAX and autograd. Run ``python -m benchmarks``."""
