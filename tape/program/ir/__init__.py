"""Stage 2: the tape becomes IR, a short list of typed instructions.

Read in this order. What an instruction is: `instructions` (the data structure), `table` (one entry for each,
and how to add one), `types` and `rules` (their result types), `costs`, `check`. How they are made: `values`
and `builder` (one method for each; `promotion`, `folding`, `matrices`, `indexing` and `parts` are its longer
methods), `identities` (algebra). How a tape becomes IR: `rewrite`, and at its end `contract`, which puts
products and what surrounds them into one instruction.
"""
