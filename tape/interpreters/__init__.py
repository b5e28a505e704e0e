"""Interpreters of operations besides recording."""
