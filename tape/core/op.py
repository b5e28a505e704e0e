"""How an operation is declared and called.

An `Op` holds a forward function with its reverse and forward rules side by side. Called on arrays it
computes; called on Vars, `bind` lets the innermost interpreter among them process the call. What rules mean,
and which follow from which, is in `tape.core.rules`. This file never knows what a Var can do beyond being a
`Handle`, nor which interpreters there are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape.core.batch_rules import BatchRule
from tape.core.calls import shared_call
from tape.core.dispatch import in_bodies, innermost
from tape.core.failures import NUMPY_ERRORS, is_of_a_library, raise_failure
from tape.core.interpreter import OPEN
from tape.core.node import Call, Handle
from tape.core.operands import lift_all, plain_operands
from tape.core.pattern_rules import PatternRule
from tape.core.results import checked_results, is_several, unpack
from tape.core.rules import complete, push
from tape.core.series import TaylorRule
from tape.core.table import implements
from tape.core.users_functions import checked_rules, own_parts, unwritten


def _read(attr: Any) -> Any:
    """Return a static argument with plain integers and bools in place of Vars, which are read."""
    if isinstance(attr, Handle):
        is_read = not attr.ndim and attr.dtype.kind in "biu"  # type: ignore[attr-defined]
        return (bool if attr.dtype == bool else operator.index)(attr) if is_read else attr  # type: ignore
    if type(attr) in (tuple, list) and any(isinstance(part, (Handle, tuple, list)) for part in attr):
        return type(attr)(map(_read, attr))
    return attr


def bind(op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Process an operation: by the innermost interpreter among its operands, or else compute it.

    There is no other way to intercept an operation: recorders take a shorter one only where the innermost
    interpreter is a plain trace, or the recorder of a program.

    Parameters
    ----------
    op : Op
        The operation.
    operands : sequence
        Arrays, numbers and Vars.
    attrs : dict
        The static arguments.

    Returns
    -------
    Var, array or number
    """
    for operand in operands:
        if isinstance(operand, Handle):
            if OPEN and not op.is_linear_in_adjoints:
                operands = in_bodies(operands)
            return innermost(operands).process(op, operands, attrs)
    if OPEN and (lifted := lift_all(operands)) is not None:
        return innermost(lifted).process(op, lifted, attrs)
    return op.compute(plain_operands(operands), attrs)


class Op:
    """One differentiable operation.

    Parameters
    ----------
    forward : callable
        ``forward(*operands, **attrs)`` on plain arrays. Operands are differentiable or data, attrs
        are static and passed by keyword. It must not write to its operands, which rules and other
        operations read later. It may return a tuple of several results: then the operation
        returns one too, ``out`` in the rules is iterable, the adjoint ``g`` is a tuple with None where
        nothing flows, and forward rules return a tuple of tangents or None.
    vjp : sequence of callables, or callable, optional
        The reverse rule. A sequence holds ``rule(g, out, *operands, **attrs)`` for each operand, None
        for one without derivative. A single callable of the same signature returns a contribution
        for every operand at once. Rules are written with operations, so that they can be
        differentiated; promotion of dtypes is undone by the caller. They return the adjoint, a view
        of it, or an array of their own, never one they were given. By default the transpose of
        ``jvp``; without rules in either mode the result is a constant to every derivative.
    jvp : sequence of callables, or callable, optional
        The forward rule. A sequence holds ``rule(t, out, *operands, **attrs)``, what the tangent of
        each operand adds to that of the result. A single callable gets the list of all tangents,
        None where an operand stands still, as its first argument. By default the transpose of ``vjp``.
    linear : bool
        Declare the operation linear in each operand that has a rule in ``vjp``, the others being held:
        its forward rule is the operation itself, with the tangent in place of the operand.
    taylor : callable, optional
        How it acts on whole power series: see `tape.core.series`. By default that of its forward rule.
    batch : callable, optional
        How it runs on a batch of operands at once: see `tape.core.batch_rules`. By default one by one, in
        programs in a loop.
    pattern : callable, optional
        Which elements of the operands each element of the result depends on: see `tape.core.pattern_rules`.
        By default on all.
    lower : callable, optional
        ``lower(b, *operands, **attrs)``: how a `Program` does it, in instructions that the builder ``b``
        makes; see `tape.program.ir.builder`. By default the program calls ``forward``.
    name : str, optional
        By default that of ``forward``.
    numpy : callable, optional
        The NumPy function that should run this when it is given a Var.
    doc : str, optional
        By default that of ``forward``.
    explains_errors : bool, optional
        Whether an error in ``forward`` is explained by the operands. By default where ``forward`` belongs
        to NumPy, SciPy or this library; an error in code of your own is raised as it is, with a note.
    view : callable, optional
        ``view(x, part, *operands, **attrs)``, where the result may be a view of the first operand x: what
        that becomes where the result is written to and becomes ``part``. See `tape.inplace.aliases`.
    widens : bool
        Whether rules get operands of integers and of narrower floats in the dtype of the result: elementwise
        arithmetic in narrow integers would wrap around, that in narrow floats lose digits.
    data_dependent : bool or callable, optional
        Whether the shape or dtype of the result depends on the elements of the operands: a compiled function
        then checks both in every call. Or ``data_dependent(*operands, **attrs)``, which says so of one call.
        By default it is assumed of operations with neither ``lower`` nor ``batch``.

    Raises
    ------
    OptionError
        If rules contradict each other: one mode has a rule for an operand where the other one has None,
        the two are for different numbers of operands, or what is declared linear has a jvp rule or no vjp
        rule.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.core.op import Op
    >>> cube = Op(lambda x: x**3, name="cube", vjp=[lambda g, out, x: g * 3 * x**2])
    >>> tr = tape.Trace()
    >>> x = tr.param(2.0)
    >>> y = cube(x)
    >>> tr.backward_param_grads(y)
    [array(12.)]
    >>> tr.jvp(y, {x: 10.0})  # one rule is enough
    array(120.)
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        *,
        vjp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | None = None,
        jvp: Sequence[Callable[..., Any] | None] | Callable[..., Any] | None = None,
        linear: bool = False,
        taylor: TaylorRule | None = None,
        batch: BatchRule | None = None,
        pattern: PatternRule | None = None,
        lower: Callable[..., Any] | None = None,
        name: str | None = None,
        numpy: Callable[..., Any] | None = None,
        doc: str | None = None,
        explains_errors: bool | None = None,
        view: Callable[..., Any] | None = None,
        widens: bool = False,
        data_dependent: bool | Callable[..., bool] | None = None,
    ) -> None:
        self.forward = forward
        self.data_dependent = lower is None and batch is None if data_dependent is None else data_dependent
        self.view = view
        self.widens = widens
        self.explains_errors = is_of_a_library(forward) if explains_errors is None else explains_errors
        rules = [rule for mode in (vjp, jvp) for rule in ([mode] if callable(mode) else mode or ())]
        self.is_users = not all(rule is None or is_of_a_library(rule) for rule in (forward, *rules))
        self.looks_functions_up = self.is_users  # rules may look up functions they are given, as keys
        self._is_ours = is_of_a_library(forward)
        self.name = name or forward.__name__.strip("_")
        self.vjp = checked_rules(vjp, "vjp", self.name)
        self.jvp = checked_rules(jvp, "jvp", self.name)
        self.taylor = taylor
        self.batch = batch
        self.pattern = pattern
        self.lower = lower
        self.is_constant = False
        self.is_linear_in_adjoints = self.vjp is vjp and self.jvp is jvp  # a user's rule may clip adjoints
        self.read_operands: dict[int, bool] = {}  # whether derivatives may read them: see `tape.core.held`
        self._constant: Op | None = None
        self._calls: dict[Any, Call] = {}  # by which operands are active, and by static arguments
        complete(self, linear)
        self.__name__ = self.name
        self.__doc__ = doc or forward.__doc__
        if numpy is not None:
            implements(numpy)(self)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        for name, value in attrs.items():
            if isinstance(value, (Handle, tuple, list)):
                attrs[name] = _read(value)
        found = bind(self, operands, attrs)
        return tuple(unpack(found)) if self.is_users and is_several(found) else found

    def compute(self, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Run forward on plain arrays; what NumPy raises for the operands becomes an error of ours."""
        try:
            if self._is_ours:
                value = self.forward(*operands, **attrs)
            else:
                value = unwritten(self.forward, f"the forward function of {self.name}", operands, attrs)
        except NUMPY_ERRORS as error:
            self.fail(operands, error)
        if self.explains_errors:
            is_one = type(value) is np.ndarray or isinstance(value, np.generic)
            return value if is_one else checked_results(value, self.name)
        value = own_parts(value) if self.view is None else value
        is_one = type(value) is np.ndarray and value.dtype.kind in "fiubc"
        return value if is_one else checked_results(value, self.name)

    bind = bind  # as methods
    call = shared_call
    fail = raise_failure
    tangent = push

    def without_rules(self) -> Op:
        """Return the same operation, constant to every derivative."""
        if self.vjp is None and self.jvp is None:
            return self
        if self._constant is None:
            same = ("name", "batch", "lower", "explains_errors", "data_dependent")
            self._constant = Op(self.forward, **{key: getattr(self, key) for key in same})
            self._constant.is_constant = True
        return self._constant
