"""The machine, and the machine code that it consists of; nothing here knows of programs.

Read `opcodes` (the format of the instruction array), `machine` (the loop over it) and `binding` (from Python
objects to addresses). `compiling` compiles them in another process, and alone imports numba;
`tape.kernels.loading` reads what it makes, `warming` waits for all of it. `functions`
`ufuncs` the ufuncs among them, `placing` says on which processor threads start.
"""
