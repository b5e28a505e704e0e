"""The machine, and the machine code that it consists of; nothing here knows of programs.

Read `opcodes` (the format of the instruction array), `machine` (the loop over it) and `binding` (from Python
objects to addresses). Then `code`, which compiles them and keeps the code on disk, behind `is_available`: the
one check of whether programs can run here. `functions` has the table of C functions that rows name by number,
`ufuncs` the ufuncs among them, `placing` says on which processor threads start.
"""
