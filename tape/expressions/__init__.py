"""Expressions: functions written as text, also for texts from untrusted sources.

`expression` turns ``"sin(a) + 0.2*sin(5*a)"`` into a function that records, differentiates and compiles like
any other. A text can do nothing but arithmetic: `scan` admits only its characters and words, `parse` walks
over the syntax tree of Python's parser and writes a flat list of steps, and each step names a function of
the table in `functions`, or one the caller passed. Nothing of the text is evaluated or compiled by Python.

Relies on `tape.ops`.
"""

from tape.expressions.expression import Expression, expression

__all__ = ["Expression", "expression"]
