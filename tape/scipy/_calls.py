"""What else a caller hands to a solver: options, a callback, the wish to see how far it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape import errors
from tape.scipy._layout import Unknowns
from tape.system.progress import progress_bar


def refuse_derivatives(where: str, given: Iterable[str], exact: Sequence[str]) -> None:
    """Raise if derivatives are among what is given."""
    for name in given:
        if name in exact:
            raise errors.OptionError(
                f"{where}: {name} was given, but derivatives are exact already: they come from the tape. "
                f"Leave {name} out; to give a rule of your own for part of the function, use tape.Op"
            )


def check_options(where: str, given: Iterable[str], allowed: Sequence[str], exact: Sequence[str]) -> None:
    """Raise if there are options a solver does not take."""
    refuse_derivatives(where, given, exact)
    for name in given:
        if name not in allowed:
            advice = "; settings of the method go into options={...}" if "options" in allowed else ""
            raise errors.OptionError(f"{where}: no option {name!r}. It takes {', '.join(allowed)}{advice}")


def with_tree(callback: Callable[..., Any] | None, unknowns: Unknowns) -> Callable[..., Any] | None:
    """A callback of the vector that passes on the tree."""
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
        except TypeError:  # trust-constr and root have more to say than others
            rest = ()
        return callback(unknowns.restore(x), *rest)

    return on_vector


@contextmanager
def watched(is_shown: bool, title: str) -> Iterator[Callable[[Any], Any]]:
    """Something to call with every value of the objective, or all residuals; it returns them."""
    with progress_bar(is_shown, title, unit="evaluations") as bar:

        def seen(value: Any) -> Any:
            if is_shown:
                shown = 0.5 * (value @ value) if np.ndim(value) else value
                bar.set_postfix_str(f"value {shown:.6g}", refresh=False)
                bar.update()
            return value

        yield seen
