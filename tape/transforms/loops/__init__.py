"""Loops and branches as functions, and loops that are found on a tape, as one operation.

=============================  =========================================================================
scan, while_loop, mapping      the functions; `branches` has those without a loop
carry, capacity                what a loop hands from step to step; how many steps it has room for
body                           a step, recorded once
steps, operation               a loop as an operation, `reversal` and `forward` being its rules
rolling                        loops of Python, found on a tape: `columns`, `periods`, `likeness`,
                               `sources`, `elements` and `assembly` are its parts
deferring, catching_up         steps of such loops that are compared with the one before, and recorded
                               later; `repeats` finds where they begin, `expectation` compares
trimming                       loops of which only early steps are read
=============================  =========================================================================
"""
