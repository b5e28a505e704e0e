"""Loops and branches as functions, with plain NumPy code in their bodies.

`scan` and what is made of it run step by step on arrays and Vars. A program has them as one instruction:
`body` records a step, `steps` is the operation, with its rules in both modes.
"""
