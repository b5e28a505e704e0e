"""The cost of recording an operation over NumPy's own call, and of its node in a sweep over the rule by hand.

Arrays are small, so that the overhead of a node dominates. A call records 20 times, on a tape of its own; the
time of a sweep over no node at all is measured beside each sweep and subtracted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.operations import DATA, OPERATIONS, Operation, operands
from benchmarks.registry import workload

_REPEATS = 20  # of an operation in one call, so that making a tape does not count
_RECORDING = "recording: time of one call, and its ratio to NumPy's call on plain arrays"
_SWEEPING = "sweeping: time of one node, and its ratio to the rule written by hand"


@workload("operations", is_default=False)
def operations(seed: int) -> list[Case]:
    """The most used operations on arrays of 32 x 10: recording, and sweeping, one node of each.

    A case has few milliseconds of the usual three seconds: give it ``--seconds 40``.
    """
    arrays = operands(seed)
    tasks = [_Task(operation, arrays) for operation in OPERATIONS]
    return [*map(_recording, tasks), *map(_sweeping, tasks)]


class _Task:
    """An operation with its operands.

    Attributes
    ----------
    params, data : list of numpy.ndarray
        The operands that are differentiated, and those after them that are not.
    result : numpy.ndarray
    seed : numpy.ndarray
        An adjoint of the result.
    """

    def __init__(self, operation: Operation, arrays: dict[str, np.ndarray]) -> None:
        self.operation = operation
        names = list(inspect.signature(operation.function).parameters)[1:]
        self.params = [arrays[name] for name in names if name not in DATA]
        self.data = [arrays[name] for name in names if name in DATA]
        self.result = np.asarray(operation.function(np, *self.params, *self.data))
        self.seed = np.random.default_rng(0).standard_normal(self.result.shape)

    def rule(self) -> Call:
        """Return the rule by hand, as a function without arguments."""
        takes_result = "out" in inspect.signature(self.operation.rule).parameters
        given = [self.seed, *([self.result] if takes_result else []), *self.params, *self.data]
        return partial(self.operation.rule, *given)


# ---- recording -------------------------------------------------------------------------------------


def _recording(task: _Task) -> Case:
    makers = {
        "numpy": _call_numpy,
        "tape": _record_with_tape,
        "torch": _record_with_torch,
        "autograd": _record_with_autograd,
    }
    return Case(
        task.operation.name,
        {name: partial(make, task) for name, make in makers.items() if name != task.operation.missing_in},
        units=_REPEATS,
        memory="none",
        baseline="numpy",
        table=_RECORDING,
    )


def _call_numpy(task: _Task) -> Call:
    function, arguments = task.operation.function, (np, *task.params, *task.data)

    def call() -> list[Any]:
        for _ in repeat(None, _REPEATS):
            out = function(*arguments)
        return [out]

    return call


def _record_with_tape(task: _Task) -> Call:
    tape = load("tape")
    function = task.operation.tape or task.operation.function

    def call() -> list[Any]:
        trace = tape.Trace()
        arguments = (np, *[trace.param(param) for param in task.params], *task.data)
        for _ in repeat(None, _REPEATS):
            out = function(*arguments)
        return [out.value]

    return call


def _record_with_torch(task: _Task) -> Call:
    torch = load("torch")
    function, arguments = _of_torch(torch, task)

    def call() -> list[Any]:
        for _ in repeat(None, _REPEATS):
            out = function(torch, *arguments)
        return [out.detach()]

    return call


def _record_with_autograd(task: _Task) -> Call:
    autograd = load("autograd")
    core, tracer = autograd.core, autograd.tracer
    function = task.operation.autograd or task.operation.function

    def call() -> list[Any]:
        with tracer.trace_stack.new_trace() as level:
            boxes = [tracer.new_box(param, level, core.VJPNode.new_root()) for param in task.params]
            arguments = (autograd.numpy, *boxes, *task.data)
            for _ in repeat(None, _REPEATS):
                out = function(*arguments)
        return [tracer.getval(out)]

    return call


# ---- sweeping --------------------------------------------------------------------------------------


def _sweeping(task: _Task) -> Case:
    by_hand = task.rule()

    def seed() -> list[Any]:
        return [task.seed]

    contenders: dict[str, Callable[[], Call]] = {"numpy": lambda: by_hand}
    overhead = {}
    reference: dict[str, Call] = {"numpy": by_hand}
    for name, sweep, empty in (
        ("tape", _sweep_with_tape, _empty_sweep_with_tape),
        ("torch", _sweep_with_torch, _empty_sweep_with_torch),
        ("autograd", _sweep_with_autograd, _empty_sweep_with_autograd),
    ):
        if name == task.operation.missing_in:
            continue
        overhead[name] = f"{name} without a node"
        contenders |= {name: partial(sweep, task), overhead[name]: partial(empty, task)}
        reference |= {name: by_hand, overhead[name]: seed}
    return Case(
        task.operation.name,
        contenders,
        reference=reference,
        memory="none",
        baseline="numpy",
        overhead=overhead,
        table=_SWEEPING,
    )


def _sweep_with_tape(task: _Task) -> Call:
    trace = load("tape").Trace()
    function = task.operation.tape or task.operation.function
    root = function(np, *[trace.param(param) for param in task.params], *task.data)
    return lambda: trace.backward_param_grads(root, task.seed)


def _empty_sweep_with_tape(task: _Task) -> Call:
    trace = load("tape").Trace()
    root = trace.param(task.result)
    return lambda: trace.backward_param_grads(root, task.seed)


def _sweep_with_torch(task: _Task) -> Call:
    torch = load("torch")
    function, arguments = _of_torch(torch, task)
    root, seed = function(torch, *arguments), torch.tensor(task.seed)
    leaves = arguments[: len(task.params)]
    return lambda: torch.autograd.grad(root, leaves, seed, retain_graph=True)


def _empty_sweep_with_torch(task: _Task) -> Call:
    torch = load("torch")
    root, seed = torch.tensor(task.result, requires_grad=True), torch.tensor(task.seed)
    return lambda: torch.autograd.grad(root, root, seed, retain_graph=True)


def _of_torch(torch: Any, task: _Task) -> tuple[Callable[..., Any], list[Any]]:
    leaves = [torch.tensor(param, requires_grad=True) for param in task.params]
    return task.operation.torch or task.operation.function, [*leaves, *map(torch.tensor, task.data)]


def _sweep_with_autograd(task: _Task) -> Call:
    autograd = load("autograd")
    function = task.operation.autograd or task.operation.function
    return _autograd_sweep(autograd, partial(function, autograd.numpy), task.params, task.data, task.seed)


def _empty_sweep_with_autograd(task: _Task) -> Call:
    return _autograd_sweep(load("autograd"), lambda x: x, [task.result], [], task.seed)


def _autograd_sweep(
    autograd: Any, function: Callable[..., Any], params: list[Any], data: list[Any], seed: Any
) -> Call:
    """Return its backward pass alone; that returns one gradient only, so the leaves store theirs."""
    core, tracer = autograd.core, autograd.tracer
    gradients: list[Any] = [None] * len(params)
    with tracer.trace_stack.new_trace() as level:
        boxes = []
        for i, param in enumerate(params):
            leaf = core.VJPNode.new_root()
            leaf.vjp = partial(_keep, gradients, i)
            boxes.append(tracer.new_box(param, level, leaf))
        root = function(*boxes, *data)._node

    def call() -> list[Any]:
        core.backward_pass(seed, root)
        return gradients

    return call


def _keep(gradients: list[Any], i: int, gradient: Any) -> tuple[()]:
    gradients[i] = gradient
    return ()
