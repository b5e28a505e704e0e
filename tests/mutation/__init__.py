"""Mutation testing: do the tests notice when a line of `tape` is changed?

Run from the root of the repository::

    python -m tests.mutation --sample 200 --seed 1 --processes 2
    python -m tests.mutation --sample 200 --seed 1 --processes 2 --budget 600   # the survivors, for longer
    python -m tests.mutation --sample 200 --seed 1 --processes 2 --full 300     # with tests of the full tier
    python -m tests.mutation --at tape/inplace/writing.py:78   # all changes of one line

1. `coverage_map` runs every test of the plain tier (`tests.tiers`) once and notes which lines each executes;
   it is kept until a source changes, and of test files only those are run again that have changed.
2. `operators` lists the mutants of every module, of which `sample` draws some at random; another seed,
   another sample. Modules that are compiled (`tape.kernels`, the machine) take a minute each to compile anew,
   so only one mutant in twenty is theirs; coverage does not see inside of them, so all tests that use the
   module are tried, and those of kernels, programs and loops. Nor does it see who relies on what a cache
   keeps; where there are caches, all tests of the same files are tried. Nor who reads a table; where
   something is declared, the tests that read the table are tried first.
3. `selection` says which tests are tried, and in which order: files that mirror the module first, quick tests
   and those that execute few modules first, a little of each file before more of any, and longer where many
   tests execute the line.
4. `campaign` gives each mutant a copy of the repository with that one change, and a process forked from one
   that has imported NumPy, SciPy, llvmlite and pytest already (`workplace`), which imports the changed `tape`
   and runs these tests (`session`) until one fails. A test that takes ten times as long as it did, a crash,
   or an error at import, counts as noticed. Each test that noticed something is tried again without the
   mutant; one that fails then, too, does not count, and the mutant is tried without it.
   With ``--full`` what survives is tried with all cases that the full tier has of these tests.
5. `report` lists the survivors with file, line and diff. Which of them change nothing that anybody can see
   is for a person to say.

Everything is kept in ``build/mutation``, so a campaign that was interrupted goes on where it was: mutants
that were noticed are not tried again, nor are survivors unless tests have changed or may take longer.

Of the existing libraries none fits: mutmut changes functions by wrapping all of them at once, which compiled
kernels and places in errors do not survive, and leaves alone what stands outside of functions, which is where
rules are declared; pytest-gremlins rewrites whole sources with a switch for each mutant in them, which slows
down and changes what is compiled; cosmic-ray runs all tests for each mutant; mutatest draws samples, but does
not choose tests either, and is no longer kept up.
"""
