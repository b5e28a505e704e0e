"""Checks of derivatives: `check_grads`, `check_jvp` and `check_vjp` compare them with differences.

The function under test is a `_subject`; `_comparisons` compares its derivatives with `_differences` and with
each other; `_report` locates an error. These checks use the public transforms only, and must never know a
rule.
"""

from tape.testing._checks import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
