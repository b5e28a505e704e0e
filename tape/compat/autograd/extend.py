"""Functions with rules of the user: `primitive`, and rules in autograd's form, ``rule(ans, *args)(g)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, update_wrapper
from itertools import count
from typing import Any, NoReturn

import numpy as np

from tape import errors, transforms, tree
from tape.compat.autograd._internals import refusing
from tape.core.node import Handle
from tape.transforms._record import check_callable, name_of

__all__ = [
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
]

__getattr__ = refusing(__name__)

Rule = Callable[..., Any]


class _Rules:
    """The rules of a primitive; None until they are given."""

    vjp: Rule | None = None  # (argnums, ans, args, kwargs) -> (g -> contributions)
    jvp: Rule | None = None  # (argnums, tangents, ans, args, kwargs) -> tangent
    calls_itself = False  # whether the forward rule calls the primitive, and so has no transpose


def primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is recorded as one node, with the rules that `defvjp` and `defjvp` give it.

    It runs on plain arrays. One rule is enough, as the other mode uses its transpose. Keyword arguments are
    constant.

    Parameters
    ----------
    f_raw : callable
        It need not be NumPy code. Arguments and result may be dicts, lists and tuples.

    Returns
    -------
    callable

    Raises
    ------
    UnsupportedError
        When called with Vars, if there is no rule for them, or some among keyword arguments.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def logsumexp(x):
    ...     top = np.max(x)
    ...     return top + np.log(np.sum(np.exp(x - top)))
    >>> defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
    >>> grad(logsumexp)(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """
    check_callable(f_raw, "primitive")
    rules = _Rules()

    def call(*args: Any, **kwargs: Any) -> Any:
        moving = [k for k, arg in enumerate(args) if _holds_var(arg)]
        if not moving and not _holds_var(kwargs):
            return f_raw(*args, **kwargs)
        if _holds_var(kwargs):
            raise errors.UnsupportedError(
                f"{name_of(f_raw)} got a Var as a keyword argument, where its rules do not see it. Pass it "
                "by position"
            )
        return _recorded(f_raw, rules, moving, args, kwargs)(*[args[k] for k in moving])

    wrapped: Any = update_wrapper(call, f_raw)
    wrapped.__name__ = name_of(f_raw)
    wrapped.fun = f_raw
    wrapped.rules = rules
    for name in ("defgrad", "defvjp", "defvjp_is_zero"):
        setattr(wrapped, name, partial(_refuse_old, name))
    return wrapped


def _holds_var(argument: Any) -> bool:
    return any(isinstance(leaf, Handle) for leaf in tree.leaves(argument))


def _recorded(
    f_raw: Callable[..., Any], rules: _Rules, moving: list[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """Return a primitive as a function of those arguments that hold Vars, with its rules."""

    def all_args(values: Sequence[Any]) -> tuple[Any, ...]:
        filled = list(args)
        for k, value in zip(moving, values, strict=True):
            filled[k] = value
        return tuple(filled)

    def f(*values: Any) -> Any:
        return f_raw(*all_args(values), **kwargs)

    def vjp(g: Any, ans: Any, *values: Any) -> Any:
        if rules.vjp is None:
            raise errors.UnsupportedError(
                f"{name_of(f_raw)} is linear by its forward rule, which calls it again and so has no "
                f"transpose. Give it a reverse rule, too: defvjp({name_of(f_raw)}, ...)"
            )
        found = tuple(rules.vjp(tuple(moving), ans, all_args(values), kwargs)(g))
        return found[0] if len(moving) == 1 else found

    def jvp(tangents: Sequence[Any], ans: Any, *values: Any) -> Any:
        assert rules.jvp is not None
        return rules.jvp(tuple(moving), tuple(tangents), ans, all_args(values), kwargs)

    f.__name__ = name_of(f_raw)
    if rules.vjp is None and rules.jvp is None:
        raise errors.UnsupportedError(
            f"{name_of(f_raw)} was called with a Var, and has no rule. Give it one: "
            f"defvjp({name_of(f_raw)}, lambda ans, *args: lambda g: ...)"
        )
    forwards = transforms.custom_jvp(f)
    forwards.defjvp(jvp)
    if rules.vjp is None and not rules.calls_itself:
        return forwards
    backwards = transforms.custom_vjp(f)
    backwards.defvjp(vjp)
    if rules.jvp is not None:
        backwards.other = forwards
    return backwards


def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called with plain values in place of Vars, and whose result is constant.

    Raises
    ------
    UnsupportedError
        When called in a compiled function or in a batch, where a Var stands for other values, too.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.extend import notrace_primitive
    >>> sign = notrace_primitive(lambda x: 1.0 if x > 0 else -1.0)
    >>> float(grad(lambda x: x * sign(x))(-3.0))
    -1.0
    """
    from tape.compat.autograd.tracer import getval

    def call(*args: Any, **kwargs: Any) -> Any:
        return f_raw(*[tree.map(getval, arg) for arg in args], **kwargs)

    return update_wrapper(call, f_raw)


# ---- reverse rules ---------------------------------------------------------------------------------


def defvjp_argnums(fun: Any, vjpmaker: Rule) -> None:
    """Give a primitive its reverse rule: ``vjpmaker(argnums, ans, args, kwargs)(g)``, one for all arguments.

    It returns a sequence of contributions, one for each position in ``argnums``.

    Examples
    --------
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.extend import defvjp_argnums, primitive
    >>> product = primitive(lambda x, y: x * y)
    >>> defvjp_argnums(product, lambda ks, ans, args, kwargs: lambda g: [g * args[1 - k] for k in ks])
    >>> float(grad(product, 1)(3.0, 4.0))
    3.0
    """
    _rules_of(fun, "defvjp_argnums").vjp = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Rule) -> None:
    """Give a primitive its reverse rule: ``vjpmaker(argnum, ans, args, kwargs)(g)``, for any argument.

    Examples
    --------
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.extend import defvjp_argnum, primitive
    >>> total = primitive(lambda *numbers: sum(numbers))
    >>> defvjp_argnum(total, lambda argnum, ans, args, kwargs: lambda g: g)
    >>> float(grad(total, 2)(1.0, 2.0, 3.0))
    1.0
    """

    def together(argnums: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Rule:
        makers = [vjpmaker(argnum, ans, args, kwargs) for argnum in argnums]
        return lambda g: [maker(g) for maker in makers]

    _rules_of(fun, "defvjp_argnum").vjp = together


def defvjp(fun: Any, *vjpmakers: Rule | None, argnums: Iterable[int] | None = None) -> None:
    """Give a primitive its reverse rules: ``vjpmaker(ans, *args, **kwargs)(g)`` for each argument.

    Parameters
    ----------
    fun : callable
        A `primitive`.
    *vjpmakers : callable or None
        None where the derivative is zero.
    argnums : iterable of int, optional
        The arguments they belong to; by default the first ones.

    Raises
    ------
    UnsupportedError
        If ``fun`` is no primitive. In a sweep, if an argument has no rule.

    Examples
    --------
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.extend import defvjp, primitive
    >>> power = primitive(lambda x, k: x**k)
    >>> defvjp(power, lambda ans, x, k: lambda g: g * k * x ** (k - 1), None)
    >>> float(grad(power)(2.0, 3))
    12.0
    """
    by_argnum = dict(zip(count() if argnums is None else argnums, vjpmakers, strict=False))

    def together(wanted: Sequence[int], ans: Any, args: Any, kwargs: Any) -> Rule:
        makers = [_given(by_argnum, argnum, fun, "vjp") for argnum in wanted]
        rules = [None if maker is None else maker(ans, *args, **kwargs) for maker in makers]
        return lambda g: [None if rule is None else rule(g) for rule in rules]

    _rules_of(fun, "defvjp").vjp = together


# ---- forward rules ---------------------------------------------------------------------------------


def defjvp_argnums(fun: Any, jvpmaker: Rule) -> None:
    """Give a primitive its forward rule: ``jvpmaker(argnums, tangents, ans, args, kwargs)``, the tangent."""
    rules = _rules_of(fun, "defjvp_argnums")
    rules.jvp, rules.calls_itself = jvpmaker, False


def defjvp_argnum(fun: Any, jvpmaker: Rule) -> None:
    """Give a primitive its forward rule: ``jvpmaker(argnum, tangent, ans, args, kwargs)``, what it adds."""

    def together(argnums: Sequence[int], tangents: Sequence[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        pairs = zip(argnums, tangents, strict=True)
        return _sum([jvpmaker(argnum, tangent, ans, args, kwargs) for argnum, tangent in pairs])

    defjvp_argnums(fun, together)


def defjvp(fun: Any, *jvpfuns: Rule | str | None, argnums: Iterable[int] | None = None) -> None:
    """Give a primitive its forward rules: ``jvpfun(tangent, ans, *args, **kwargs)`` for each argument.

    Parameters
    ----------
    fun : callable
        A `primitive`.
    *jvpfuns : callable, "same" or None
        ``"same"`` where the primitive is linear, None where the derivative is zero.
    argnums : iterable of int, optional
        The arguments they belong to; by default the first ones.

    Raises
    ------
    UnsupportedError
        If ``fun`` is no primitive. In a sweep, if an argument has no rule.

    Examples
    --------
    >>> from tape.compat.autograd import make_jvp
    >>> from tape.compat.autograd.extend import defjvp, primitive
    >>> scaled = primitive(lambda a, x: a * x)
    >>> defjvp(scaled, None, "same")
    >>> float(make_jvp(scaled, 1)(3.0, 4.0)(1.0)[1])
    3.0
    """
    by_argnum = dict(zip(count() if argnums is None else argnums, jvpfuns, strict=False))
    for rule in by_argnum.values():
        if rule is not None and rule != "same" and not callable(rule):
            raise errors.OptionError(f"defjvp: a rule is {rule!r}. It must be a function, 'same' or None")

    def one(argnum: int, tangent: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        rule = _given(by_argnum, argnum, fun, "jvp")
        if rule is None:
            return _zeros(ans)
        if rule == "same":
            return fun(*args[:argnum], tangent, *args[argnum + 1 :], **kwargs)
        return rule(tangent, ans, *args, **kwargs)

    defjvp_argnum(fun, one)
    fun.rules.calls_itself = "same" in by_argnum.values()


def def_linear(fun: Any) -> None:
    """Declare that a primitive is linear in each of its arguments, forwards; `defvjp` does the rest."""
    defjvp_argnum(
        fun, lambda k, tangent, ans, args, kwargs: fun(*args[:k], tangent, *args[k + 1 :], **kwargs)
    )
    fun.rules.calls_itself = True


# ---- helpers ---------------------------------------------------------------------------------------


def _refuse_old(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise errors.UnsupportedError(
        f"f.{name}(...) is an interface of autograd before its version 1.2. Use defvjp(f, lambda ans, *args: "
        "lambda g: ...), from autograd.extend"
    )


def _rules_of(fun: Any, what: str) -> _Rules:
    rules = getattr(fun, "rules", None)
    if not isinstance(rules, _Rules):
        raise errors.UnsupportedError(
            f"{what}: {name_of(fun)} is no primitive. Rules of NumPy's functions are built in; wrap a "
            "function of your own in primitive(...), or declare a tape.Op with numpy="
        )
    return rules


def _given(by_argnum: dict[int, Any], argnum: int, fun: Any, kind: str) -> Any:
    if argnum not in by_argnum:
        raise errors.UnsupportedError(
            f"{name_of(fun)} has no {kind} rule for argument {argnum}. Give it one in def{kind}, or None if "
            "the derivative is zero"
        )
    return by_argnum[argnum]


def _zeros(value: Any) -> Any:
    return tree.map(np.zeros_like, value)


def _sum(parts: Sequence[Any]) -> Any:
    total, *others = parts
    for part in others:
        total = tree.map(lambda a, b: a + b, total, part)
    return total
