"""Stage 4: the plan becomes an array of integers, which is verified and run.

Read `encode` with `writer`, `encode_arrays` and `encode_matrices` (rows of the machine for each instruction),
`pauses` (where they stop for signals); then `verify` with `extents` (no row touches memory outside its
slots); then `run` with `workspace` (arguments in, the machine, results out).
"""
