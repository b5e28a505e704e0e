"""Stage 1: a function runs once, and becomes one flat tape.

Read `recording` first: it runs the function and returns the tape. Then `recorder`, the trace it runs on,
which keeps what Python reads as guards; `traced`, the Var of that trace; `numbers`, Python's arithmetic among
them (its numbers on a tape are in `tape.core.weak`); `proxies` and `reading`, int arguments that are data;
`contents`, arrays read element by element; `fixed`, values on the tape that cannot change between calls.
"""
