"""The frameworks: loading each, and computing a value and its gradients with each.

A loss is a function ``loss(framework, *params, *data)`` in the idiom of its framework, which gets the
loaded module as its first argument: a workload can be read, and listed, without importing anything.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.harness import Call, NotAvailableError
from benchmarks.machine import thread_limit

__all__ = ["gradients_by", "is_rival", "is_traced", "load", "require"]

_RIVALS = frozenset({"torch", "jax", "autograd", "casadi"})
_OWN_ALLOCATORS = frozenset({"torch", "jax", "casadi"})

Loss = Callable[..., Any]


def is_rival(contender: str) -> bool:
    """Return whether a contender is another framework; its name begins with that of the framework."""
    return contender.partition(" ")[0] in _RIVALS


def is_traced(contender: str) -> bool:
    """Return whether `tracemalloc` sees its arrays; torch and XLA have allocators of their own."""
    return contender.partition(" ")[0] not in _OWN_ALLOCATORS


def require(name: str) -> None:
    """Raise `NotAvailableError` unless the module ``name`` can be imported."""
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # the parent of a dotted name
        found = None
    if found is None:
        raise NotAvailableError(f"{name} is not installed")


def load(name: str) -> ModuleType:
    """Import a framework and set it up for a fair comparison.

    Raises
    ------
    NotAvailableError
        If it is not installed.
    """
    require(name)
    module = importlib.import_module(name)
    threads = thread_limit()
    if name == "torch" and threads is not None:
        module.set_num_threads(threads)
    elif name == "jax":
        module.config.update("jax_enable_x64", True)  # float32 stays float32; float64 becomes possible
    elif name == "autograd":
        importlib.import_module("autograd.scipy.special")  # and autograd.numpy
    return module


def gradients_by(
    losses: Mapping[str, Loss], params: Sequence[np.ndarray], data: Sequence[np.ndarray]
) -> dict[str, Callable[[], Call]]:
    """Return contenders whose call computes a loss and its gradients with respect to all params.

    Parameters
    ----------
    losses : mapping of str to callable
        For each framework ``loss(framework, *params, *data)``, a scalar. ``"tape"`` records it on a
        `Trace` at every call, ``"tape value_and_grad"`` by that transform, ``"tape compiled"`` at the
        first call only; ``"torch 1 thread"`` keeps to one where the others may use more.
    params, data : sequence of numpy.ndarray
        Handed over as the framework's own arrays, converted beforehand.

    Returns
    -------
    dict of str to callable
        As `Case.contenders`. A call returns ``[value, *gradients]``.
    """
    return {name: partial(_ADAPTERS[name], loss, params, data) for name, loss in losses.items()}


def _with_tape(loss: Loss, params: Sequence[np.ndarray], data: Sequence[np.ndarray]) -> Call:
    tape = load("tape")

    def call() -> list[Any]:
        trace = tape.Trace()
        root = loss(tape, *[trace.param(param) for param in params], *data)
        return [root.value, *trace.backward_param_grads(root)]

    return call


def _with_value_and_grad(loss: Loss, params: Sequence[np.ndarray], data: Sequence[np.ndarray]) -> Call:
    tape = load("tape")
    function = tape.value_and_grad(partial(loss, tape), argnums=tuple(range(len(params))))

    def call() -> list[Any]:
        value, gradients = function(*params, *data)
        return [value, *gradients]

    return call


def _with_compiled_tape(loss: Loss, params: Sequence[np.ndarray], data: Sequence[np.ndarray]) -> Call:
    tape = load("tape")
    function = tape.compile(tape.value_and_grad(partial(loss, tape), argnums=tuple(range(len(params)))))

    def call() -> list[Any]:
        value, gradients = function(*params, *data)
        return [value, *gradients]

    return call


def _with_torch(loss: Loss, params: Sequence[np.ndarray], data: Sequence[np.ndarray]) -> Call:
    torch = load("torch")
    leaves = [torch.tensor(param, requires_grad=True) for param in params]
    tensors = [torch.tensor(array) for array in data]

    def call() -> list[Any]:
        root = loss(torch, *leaves, *tensors)
        return [root.detach(), *torch.autograd.grad(root, leaves)]

    return call


def _with_torch_in_one_thread(loss: Loss, params: Sequence[np.ndarray], data: Sequence[np.ndarray]) -> Call:
    """Limit PyTorch to one thread: more gain nothing on small arrays, and may lose a lot."""
    call = _with_torch(loss, params, data)
    torch = load("torch")
    threads = torch.get_num_threads()

    def limited() -> Sequence[Any]:
        torch.set_num_threads(1)
        try:
            return call()
        finally:
            torch.set_num_threads(threads)

    return limited


def _with_jax(loss: Loss, params: Sequence[np.ndarray], data: Sequence[np.ndarray]) -> Call:
    jax = load("jax")
    function = jax.jit(jax.value_and_grad(partial(loss, jax), argnums=tuple(range(len(params)))))
    arguments = [jax.numpy.asarray(array) for array in (*params, *data)]

    def call() -> list[Any]:
        value, gradients = function(*arguments)
        value.block_until_ready()  # one executable: all its results are ready together
        return [value, *gradients]

    return call


def _with_autograd(loss: Loss, params: Sequence[np.ndarray], data: Sequence[np.ndarray]) -> Call:
    autograd = load("autograd")
    function = autograd.value_and_grad(partial(loss, autograd), tuple(range(len(params))))

    def call() -> list[Any]:
        value, gradients = function(*params, *data)
        return [value, *gradients]

    return call


_ADAPTERS: dict[str, Callable[[Loss, Sequence[np.ndarray], Sequence[np.ndarray]], Call]] = {
    "tape": _with_tape,
    "tape value_and_grad": _with_value_and_grad,
    "tape compiled": _with_compiled_tape,
    "torch": _with_torch,
    "torch 1 thread": _with_torch_in_one_thread,
    "jax": _with_jax,
    "autograd": _with_autograd,
}
