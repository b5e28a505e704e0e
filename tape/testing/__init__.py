"""Checks of derivatives: `check_grads`, `check_jvp` and `check_vjp` compare them with differences.

The function checked is a `_subject`; its derivatives are compared with others in `_comparisons`, among
them `_differences`; `_report` finds where one went wrong. Everything is public API of `tape.transforms`;
nothing here knows a rule.
"""

from tape.testing._checks import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
