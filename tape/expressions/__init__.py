"""Expressions: functions written as text, for texts that come from outside of the program.

`expression` turns ``"sin(a) + 0.2*sin(5*a)"`` into a function that records, differentiates and compiles
like any other. A text can do nothing but arithmetic: `scan` refuses every character and word that has no
place in it, `parse` walks over what Python's own parser makes of the rest and writes a flat list of steps,
and each step names a function of the table in `functions`. Nothing is evaluated or compiled by Python.

Relies on `tape.ops`.
"""

from tape.expressions.expression import Expression, expression

__all__ = ["Expression", "expression"]
