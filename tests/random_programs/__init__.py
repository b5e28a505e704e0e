"""Random programs as users write them, compiled against eager, on data sets that change what they may.

=============  =====================================================================================
ingredients    what statements there are, one line each; more in breadth, loops and instructions
sources        arguments and what is closed over; data sets for them
programs       random programs, as Python
running        compiled and eager calls, and how their results differ
shrinking      the smallest program that differs, as a script
__main__       campaigns: ``python -m tests.random_programs --count 100000 --seed 0 --processes 2``
=============  =====================================================================================
"""
