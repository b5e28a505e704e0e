"""Random programs: the machine equals the interpreter, and both equal eager, in value and gradient."""

from collections import Counter
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import tape
from tape import ops
from tape.program.plan import memory, pairs, planner
from tests import naive_program
from tests.oracles import assert_close
from tests.tiers import rounds, takes_long

random_checks = settings(
    max_examples=rounds(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

SMALL, LARGE = (1, 2, 3, 4), (33, 48, 70)
MOST = 30_000
"""Elements of an array."""

UNARY = {
    "sin": ops.sin,
    "tanh": ops.tanh,
    "exp": lambda x: ops.exp(-ops.square(x)),
    "sqrt": lambda x: ops.sqrt(1 + x * x),
    "sigmoid": ops.sigmoid,
    "relu": lambda x: ops.relu(x - 0.3),
    "softplus": ops.softplus,
    "negative": ops.negative,
    "cube": lambda x: ops.tanh(x) ** 3,
    "scaled": lambda x: 0.5 * x - 2.0,
    "reciprocal": lambda x: 1 / (1.5 + x * x),
    "clipped": lambda x: ops.clip(x, -0.7, 0.9),
    "softmax": lambda x: ops.softmax(x, axis=-1) if x.ndim else x,
}
BINARY = {
    "add": ops.add,
    "subtract": ops.subtract,
    "multiply": lambda x, y: ops.multiply(x, ops.tanh(y)),
    "divide": lambda x, y: x / (1.5 + y * y),
    "where": lambda x, y: ops.where(x > 0.3, x, 2 * y),
    "where alone": lambda x, y: ops.where(y < 0.3, x, 0.0),
}
FOLDS = ("sum", "mean", "max", "min", "prod", "logsumexp", "argmax")


class Steps:
    """A program as a list of steps; called with a list of leaves, it computes what no step has used.

    Parameters
    ----------
    leaves : list of tuple of int
        Their shapes.
    index_length : int
        Of the last argument, integers to read rows by; they are valid for every length.
    """

    def __init__(self, leaves: list[tuple[int, ...]], index_length: int) -> None:
        self.leaves = leaves
        self.index_length = index_length
        self.steps: list[tuple[Any, ...]] = []

    def __repr__(self) -> str:
        return "\n".join([f"leaves {self.leaves}, {self.index_length} indices", *map(str, self.steps)])

    def args(self, dtype: Any, salt: int) -> list[np.ndarray]:
        """Leaves, and indices."""
        rng = np.random.default_rng([salt, len(self.steps)])
        floats = [rng.normal(size=shape).astype(dtype) for shape in self.leaves]
        return [*floats, rng.integers(-1, 1, self.index_length)]

    def __call__(self, *args: Any) -> list[Any]:
        values = list(args[:-1])
        used: set[int] = set()
        for step in self.steps:
            name, operands, *rest = step
            values.append(apply(name, [values[k] for k in operands], rest, args[-1]))
            used.update(operands)
        return [value for k, value in enumerate(values) if k not in used]

    def loss(self, *args: Any) -> Any:
        """A number that depends on all results."""
        return sum((ops.sum(ops.sin(value)) for value in self(*args)), start=0.0)


def apply(name: str, x: list[Any], rest: list[Any], index: Any) -> Any:
    """One step on arrays or Vars."""
    if name in UNARY:
        return UNARY[name](x[0])
    if name in BINARY:
        return BINARY[name](x[0], x[1])
    if name in FOLDS:
        options = {} if name == "argmax" else {"keepdims": rest[1]}
        result = getattr(ops, name)(ops.sin(x[0]), axis=rest[0], **options)
        if name == "sum":
            return result / np.size(x[0])
        return ops.mean(x[0]) + 0.01 * result if name == "argmax" else result
    if name == "matmul":
        return ops.matmul(x[0], x[1]) / x[0].shape[-1]
    if name == "matmul.T":
        return ops.matmul(x[0], ops.swapaxes(x[1], -1, -2)) / x[0].shape[-1]
    if name == "T.matmul":
        return ops.matmul(ops.swapaxes(x[0], -1, -2), x[1]) / x[0].shape[-2] - 0.5
    if name == "take":
        return ops.getitem(x[0], (*[slice(None)] * rest[0], index))
    if name == "join":
        return ops.concatenate([x[0], 2 * x[1], x[0]], axis=rest[0])
    if name == "stack":
        return ops.stack(x, axis=rest[0])
    if name == "cast":
        return ops.astype(ops.astype(x[0], rest[0]) * 1.5, x[0].dtype)
    return getattr(ops, name)(x[0], *rest)


def drawn_slice(draw: Any, length: int) -> slice:
    start = draw(st.integers(0, max(length - 1, 0)))
    step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
    return slice(start, None, step)


@st.composite
def programs(draw: Any, lengths: tuple[int, ...], most_steps: int = 12) -> Steps:
    """Random directed acyclic graphs. Values stay small: sines of large ones are ill-conditioned."""
    n, m = draw(st.sampled_from(lengths)), draw(st.sampled_from(lengths))
    known = [(n, m), (m,), (n, 1), (m, n), (2, n, m), (), (n, m)]
    leaves = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
    steps = Steps(leaves, draw(st.integers(1, 5)))
    shapes = list(leaves)
    for _ in range(draw(st.integers(1, most_steps))):
        # What is new is taken more often, so that chains become long.
        k = draw(st.sampled_from([*range(len(shapes)), *[len(shapes) - 1] * 3]))
        step = drawn_step(draw, k, shapes)
        if step is None:
            continue
        name, operands, *rest = step
        zeros = [np.broadcast_to(0.0, shapes[k]) for k in operands]
        value = apply(name, zeros, rest, np.zeros(steps.index_length, int))
        if value.size <= MOST and value.ndim <= 4:
            steps.steps.append(step)
            shapes.append(value.shape)
    return steps


def drawn_step(draw: Any, k: int, shapes: list[Any]) -> tuple[Any, ...] | None:
    """A step that reads value ``k``, and perhaps others; None if there is no fitting one."""
    shape = shapes[k]
    kind = draw(st.sampled_from(["unary"] * 3 + ["binary"] * 3 + ["fold", "view", "view", "matmul", "more"]))
    axis = draw(st.integers(0, max(len(shape) - 1, 0)))
    if kind == "unary":
        return (draw(st.sampled_from(sorted(UNARY))), (k,))
    if kind == "binary":
        others = [i for i, other in enumerate(shapes) if broadcasts(shape, other)]
        pair = draw(st.permutations([k, draw(st.sampled_from(others))]))
        return (draw(st.sampled_from(sorted(BINARY))), tuple(pair))
    if not shape:
        return None
    if kind == "fold":
        name = draw(st.sampled_from(FOLDS))
        axes = draw(st.sampled_from([axis, None, (0, len(shape) - 1)]))
        if axes == (0, 0) or (name == "argmax" and axes is not None):
            axes = 0
        return (name, (k,), axes, draw(st.booleans()))
    if kind == "matmul":
        pairs = {
            "matmul": [i for i, other in enumerate(shapes) if fits(shape, other, -1, -2)],
            "matmul.T": [i for i, other in enumerate(shapes) if fits(shape, other, -1, -1)],
            "T.matmul": [i for i, other in enumerate(shapes) if fits(shape, other, -2, -2)],
        }
        possible = [(name, (k, i)) for name, others in pairs.items() for i in others]
        return draw(st.sampled_from(possible)) if possible else None
    if kind == "view":
        return drawn_view(draw, k, shape)
    alike = [i for i, other in enumerate(shapes) if other == shape]
    return draw(
        st.sampled_from(
            [
                ("take", (k,), axis),
                ("join", (k, draw(st.sampled_from(alike))), axis),
                ("stack", (k, draw(st.sampled_from(alike))), axis),
                ("cast", (k,), np.float32),
                ("cast", (k,), np.float64),
            ]
        )
    )


def drawn_view(draw: Any, k: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
    name = draw(
        st.sampled_from(["transpose", "reshape", "getitem", "getitem", "broadcast_to", "expand_dims"])
    )
    if name == "transpose":
        return (name, (k,), tuple(draw(st.permutations(range(len(shape))))))
    if name == "reshape":
        size = int(np.prod(shape))
        first = draw(st.sampled_from([i for i in (1, 2, 3, *shape) if i and size % i == 0]))
        return (name, (k,), draw(st.sampled_from([(size,), (first, size // first), (size // first, first)])))
    if name == "getitem":
        return (name, (k,), tuple([drawn_slice(draw, length) for length in shape]))
    if name == "broadcast_to":
        return (name, (k,), (2, *shape))
    return (name, (k,), draw(st.integers(0, len(shape))))


def broadcasts(a: Any, b: Any) -> bool:
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False))


def fits(a: Any, b: Any, i: int, j: int) -> bool:
    return len(a) >= 2 and len(b) >= 2 and a[i] == b[j] and broadcasts(a[:-2], b[:-2])


# ---- the checks ----------------------------------------------------------------------------------


def assert_alike(found: Any, expected: Any, dtype: Any) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert_close(one, other, 2**12 * np.finfo(dtype).eps)


def check(f: Any, steps: Steps, dtype: Any) -> None:
    """Machine, interpreter and eager agree, for the numbers of the recording and for others."""
    note(repr(steps))
    compiled, program = naive_program.compiled_for(f, *steps.args(dtype, 3))
    coarse = np.float32 if np.float32 in {rest for name, _, *rest in steps.steps for rest in rest[:1]
                                          if name == "cast"} else dtype  # fmt: skip
    for salt in (1, 2):
        args = steps.args(dtype, salt)
        expected = [np.asarray(value) for value in f(*args)]
        assert_alike(compiled(*args), expected, coarse)
        assert_alike(program.run(tuple(args)), expected, coarse)
        assert_alike(naive_program.run(program.ir, args), expected, coarse)


def gradients_of(steps: Steps) -> Any:
    """The loss, and its derivatives by all leaves."""
    positions = tuple(range(len(steps.leaves)))

    def f(*args: Any) -> list[Any]:
        value, gradients = tape.value_and_grad(steps.loss, positions)(*args)
        return [value, *gradients]

    return f


@takes_long
@random_checks
@given(programs(SMALL))
def test_small(steps):
    check(steps, steps, np.float64)
    check(gradients_of(steps), steps, np.float64)


@takes_long
@random_checks
@given(programs(SMALL))
def test_small_in_float32(steps):
    check(steps, steps, np.float32)
    check(gradients_of(steps), steps, np.float32)


@takes_long
@random_checks
@given(programs(LARGE))
def test_large(steps):
    check(steps, steps, np.float64)
    check(gradients_of(steps), steps, np.float64)


@contextmanager
def groups_above(size):
    """Elementwise results of more than so many bytes (eight at least) are computed in groups, by blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "GROUPED_BYTES", size)
        patch.setattr(pairs, "_LONG_BYTES", size)
        yield


@takes_long
@random_checks
@given(programs(SMALL), st.sampled_from([np.float64, np.float32]), st.sampled_from([8, 24]))
def test_groups_of_small_arrays(steps, dtype, size):
    with groups_above(size):
        check(steps, steps, dtype)
        check(gradients_of(steps), steps, dtype)


@random_checks
@given(programs(LARGE), st.sampled_from([128, 192, 640]))
def test_groups_in_many_blocks(steps, near):
    """Blocks of few elements: the last one is rarely full, and rows of a view end within blocks."""
    with groups_above(64), pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_NEAR_BYTES", near)
        check(gradients_of(steps), steps, np.float32)


@takes_long
@random_checks
@given(programs(SMALL), st.booleans(), st.data())
def test_donated_leaves_change_no_result(steps, is_grouped, data):
    """Results are the same; each donated array is either given back as one, or of no further use."""
    note(repr(steps))
    count = len(steps.leaves)
    donate = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True))
    for f in (steps, gradients_of(steps)):
        with groups_above(8 if is_grouped else 2**14):
            compiled, _ = naive_program.compiled_for(f, *steps.args(np.float64, 4), donate=tuple(donate))
            for salt in (1, 2, 3):
                args = steps.args(np.float64, salt)
                expected = f(*[arg.copy() for arg in args])
                kept = [arg.copy() for arg in args]
                found = compiled(*args)
                assert_alike(found, [np.asarray(value) for value in expected], np.float32)
                for k, (before, after) in enumerate(zip(kept, args, strict=True)):
                    if k not in donate:
                        np.testing.assert_array_equal(before, after)
                assert len({id(value) for value in found if isinstance(value, np.ndarray)}) == sum(
                    isinstance(value, np.ndarray) for value in found
                )
                given = {id(args[k]) for k in donate}
                for value in found:
                    if isinstance(value, np.ndarray) and id(value) not in given:
                        assert not any(np.may_share_memory(value, arg) for arg in args)


@takes_long
@random_checks
@given(programs(LARGE, most_steps=30))
def test_what_is_computed_once_is_listed_once(steps):
    """No two instructions are the same, and all are of use."""
    note(repr(steps))
    program = naive_program.program_of(gradients_of(steps), *steps.args(np.float64, 1))
    instructions = program.ir.instructions
    keys = Counter(
        (one.op, one.operands, one.attrs, one.shape, one.dtype)
        for one in instructions
        if one.op not in ("input", "callback", "guard")
    )
    assert [key for key, times in keys.items() if times > 1] == []
    read = {operand for one in instructions for operand in one.operands} | set(program.ir.outputs)
    read |= {k for k, one in enumerate(instructions) if one.op in ("guard",)}
    assert set(range(len(instructions))) == read
