"""From the arguments of a call to the numbers that a program takes, and back to a result.

Read `statics` (keys for arguments that are not numbers), `calling` (arguments to leaves, leaves to a result),
`generators` (states of generators of random numbers among them), `names` with `reached`, `bytecode`,
`expressions` and `flows` (the names that a function reads, checked at each call, and what the elements of
their arrays decide), `state` (what a run leaves changed), and last `shortcuts` (the same as generated Python
code, for speed).
"""
