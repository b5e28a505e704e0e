"""The machine, and the machine code that it consists of; nothing here knows of programs.

Read `opcodes` (the format of the instruction array), `machine` (the loop over it, with `parts` for rows that
have many, `loops` for loop rows, and `frames`, by which all of them read numbers and addresses) and `binding`
(from Python objects to addresses). `compiling` compiles them, with all kernels, in another process;
`tape.kernels.loading` reads what it makes, and `warming` waits for all of it. `functions` has the table of C
functions that rows name by number, `ufuncs` the ufuncs among them. `workers` (compiled) shares a row among
threads, `threads` has what these need of the process.
"""
