"""What SciPy's solvers are called with: options, a callback, a progress bar, functions; and their errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.node import Handle
from tape.scipy._operands import operand
from tape.scipy.optimize._implicit import settled
from tape.scipy.optimize._layout import Unknowns
from tape.system.progress import progress_bar


def refuse_derivatives(where: str, given: Iterable[str], exact: Sequence[str]) -> None:
    """Check that no derivatives are among the options."""
    for name in given:
        if name in exact:
            raise errors.OptionError(
                f"{where}: {name} was given, but derivatives are exact already: they come from the tape. "
                f"Leave {name} out; to give a rule of your own for part of the function, use tape.Op"
            )


def refuse_vars(where: str, options: Any) -> None:
    """Check that no option is a Var: solutions are not differentiated by options of the solver."""
    leaves, structure = tree.flatten(options)
    for leaf, name in zip(leaves, tree.names(structure, "options"), strict=True):
        if isinstance(leaf, Handle):
            raise errors.ConversionError(
                f"{where}: {name} is {leaf!r}, and solutions do not depend on options of the solver. Pass "
                "its .value"
            )


def check_options(where: str, given: Iterable[str], allowed: Sequence[str], exact: Sequence[str]) -> None:
    """Check that a solver takes the options."""
    refuse_derivatives(where, given, exact)
    for name in given:
        if name not in allowed:
            advice = "; pass options of the method as options={...}" if "options" in allowed else ""
            raise errors.OptionError(f"{where}: no option {name!r}. It takes {', '.join(allowed)}{advice}")


def with_tree(callback: Callable[..., Any] | None, unknowns: Unknowns) -> Callable[..., Any] | None:
    """Wrap a callback of the tree as one of the vector."""
    if callback is None:
        return None
    signature = inspect.signature(callback)
    if set(signature.parameters) == {"intermediate_result"}:

        def on_result(*, intermediate_result: Any) -> Any:
            result = type(intermediate_result)(intermediate_result)
            return callback(intermediate_result=unknowns.with_trees(result))

        return on_result

    def on_vector(x: np.ndarray, *rest: Any) -> Any:
        try:
            signature.bind(x, *rest)
        except TypeError:  # trust-constr and root pass more than others
            rest = ()
        return callback(unknowns.restore(x), *rest)

    return on_vector


@contextmanager
def reporting(is_shown: bool, title: str) -> Iterator[Callable[[Any], Any]]:
    """Return a function that shows every value of the objective, or all residuals, and returns them."""
    with progress_bar(is_shown, title, unit="evaluations") as bar:

        def seen(value: Any) -> Any:
            if is_shown:
                shown = 0.5 * (value @ value) if np.ndim(value) else value
                bar.set_postfix_str(f"value {shown:.6g}", refresh=False)
                bar.update()
            return value

        yield seen


class Calls:
    """The caller's functions as SciPy calls them; their errors are told apart from SciPy's."""

    def __init__(self) -> None:
        self._raised: Exception | None = None

    def of(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of plain numbers."""
        return self._spied(lambda *args: _plain_value(f(*args)))

    def real_of(self, f: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function of plain real numbers, for a solver that discards imaginary parts."""

        def real(*args: Any) -> Any:
            value = _plain_value(f(*args))
            if value.dtype.kind == "c":
                raise errors.DTypeError(
                    f"{name}: the function returned {errors.describe(value)}. It must be a real number"
                )
            return value

        return self._spied(real)

    def tuple_of(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of plain numbers with several results."""
        return self._spied(lambda *args: tuple(_plain_value(part) for part in f(*args)))

    def _spied(self, f: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            try:
                return f(*args)
            except Exception as error:
                self._raised = error
                raise

        return call

    @contextmanager
    def translating(self, name: str) -> Iterator[None]:
        """Convert SciPy's errors to ours."""
        try:
            yield
        except (ValueError, RuntimeError) as error:
            if error is self._raised or isinstance(error, errors.TapeError):
                raise
            message = f"{name}: {' '.join(str(error).split()).rstrip('.')}. "
            if isinstance(error, ValueError):
                raise errors.OptionError(
                    f"{message}Plot the function, and check bracket, start and tolerances"
                ) from error
            raise errors.ConvergenceError(f"{message}Start closer, or allow more steps by maxiter") from error


def _plain_value(value: Any) -> Any:
    """Return a result of the caller's function as SciPy takes it: numbers as scalars."""
    value = settled(operand(value))
    return value[()] if value.ndim == 0 else value
