"""Conversions: from a Var to a plain number, and from the arrays of other libraries to operands."""
