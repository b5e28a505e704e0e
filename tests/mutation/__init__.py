"""Mutation testing: do the tests notice when a line of `tape` is changed?

Run from the root of the repository::

    python -m tests.mutation --sample 200 --seed 1 --processes 2

1. `coverage_map` runs every test once and notes which lines each executes; kept until a source changes.
2. `operators` lists the mutants of every module, of which a random sample is drawn; another seed, another
   sample. Modules that are compiled (`tape.kernels`, the machine) take a minute each to compile anew, so
   only one mutant in twenty is theirs; their tests are chosen by name, since coverage does not see inside.
3. `campaign` gives each mutant a copy of the repository with that one change, and a process forked from one
   that has imported NumPy, SciPy, numba and pytest already, which imports the changed `tape` and runs the
   tests that execute the line (`session`): files that mirror the module first, quick tests first, until
   one fails. A test that takes ten times as long as it did, a crash, or an error at import, counts as
   noticed. Each test that noticed something is tried again without the mutant, alone.
4. The report lists the survivors with file, line and diff. Which of them change nothing that anybody can
   see is for a person to say.

Everything is kept in ``build/mutation``, so a campaign that was interrupted goes on where it was.

Of the existing libraries none fits: mutmut and pytest-gremlins change functions by wrapping or rewriting all
of them at once, which compiled kernels and places in errors do not survive, and mutmut leaves alone what
stands outside of functions, which is where rules are declared; cosmic-ray runs all tests for each mutant;
mutatest draws samples, but does not choose tests either, and is no longer kept up.
"""
