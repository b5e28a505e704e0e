"""Recorders: calls alike record what the function itself would, whatever varies between them."""

import numpy as np
import pytest

import tape
from tape import ops
from tape.core.node import Handle, plain
from tape.core.specialise import _bound
from tape.inplace.aliases import memory_of
from tape.ops.structure.shape import _in_c_order


def rng(seed=0):
    return np.random.default_rng(seed)


DIRECT = {
    "sum": (ops.sum, lambda x: x.sum(axis=1)),
    "mean": (ops.mean, lambda x: np.mean(x, 0)),
    "max": (ops.max, lambda x: x.max(axis=1, keepdims=True)),
    "min": (ops.min, lambda x: np.min(x)),
    "prod": (ops.prod, lambda x: x.prod(0)),
    "reshape": (_in_c_order, lambda x: x.reshape(-1, 2)),
    "transpose": (ops.transpose, lambda x: x.T),
    "swapaxes": (ops.swapaxes, lambda x: x.swapaxes(0, 1)),
    "moveaxis": (ops.moveaxis, lambda x: np.moveaxis(x, 0, 1)),
    "flip": (ops.flip, lambda x: np.flip(x, 0)),
    "roll": (ops.roll, lambda x: np.roll(x, 1, 0)),
    "expand_dims": (ops.expand_dims, lambda x: np.expand_dims(x, 1)),
    "squeeze": (ops.squeeze, lambda x: np.squeeze(x)),
    "broadcast_to": (ops.broadcast_to, lambda x: np.broadcast_to(x, (2, *x.shape))),
    "diagonal": (ops.diagonal, lambda x: x.diagonal()),
    "getitem": (ops.getitem, lambda x: x[1:, None]),
    "getitem with an array": (ops.getitem, lambda x: x[np.array([0, 1])]),
    "concatenate": (ops.concatenate, lambda x: np.concatenate([x, x, np.ones((1, 4))], axis=0)),
    "stack": (ops.stack, lambda x: np.stack([x, x])),
    "vstack": (ops.vstack, lambda x: np.vstack([x, x])),
    "hstack": (ops.hstack, lambda x: np.hstack([x, x])),
    "dot": (ops.dot, lambda x: x.dot(np.ones(4))),
    "einsum": (ops.einsum, lambda x: np.einsum("ij,kj->ik", x, x)),
    "norm": (ops.linalg.norm, lambda x: np.linalg.norm(x)),
    "cumsum": (ops.cumsum, lambda x: np.cumsum(x, axis=0)),
    "cumprod": (ops.cumprod, lambda x: np.cumprod(x, axis=0)),
    "var": (ops.var, lambda x: np.var(x, axis=0)),
    "std": (ops.std, lambda x: np.std(x, axis=0)),
    "softmax": (ops.softmax, lambda x: ops.softmax(x, axis=1)),
    "log_softmax": (ops.log_softmax, lambda x: ops.log_softmax(x)),
    "logsumexp": (ops.logsumexp, lambda x: ops.logsumexp(x, axis=1)),
}


@pytest.mark.parametrize("name", DIRECT)
def test_calls_alike_record_the_same_operation(name):
    function, call = DIRECT[name]
    tr = tape.Trace()
    x = tr.param(rng().standard_normal((3, 4)))
    first = call(x)
    known = len(function.known)
    assert known  # or it does not help to have it specialised
    second = call(x)
    assert len(function.known) == known
    assert second.node.call is first.node.call
    assert second.node.inputs[::2] == first.node.inputs[::2]
    np.testing.assert_array_equal(second.value, first.value)


VARIED = [
    lambda x: x.sum(0),
    lambda x: x.sum(1),
    lambda x: x.sum(-1),
    lambda x: x.sum((0, 1)),
    lambda x: x.sum(axis=0, keepdims=True),
    lambda x: x.sum(axis=0, keepdims=False),
    lambda x: x.sum(axis=(0,), dtype=np.float32),
    lambda x: x.sum(axis=(0,), dtype="f4"),
    lambda x: x.sum(initial=1.0, where=True),
    lambda x: x[0],
    lambda x: x[False],
    lambda x: x[None],
    lambda x: x[0:1],
    lambda x: x[0, 1],
    lambda x: x[(0, 1),],
    lambda x: x[[0, 1]],
    lambda x: x[True],
    lambda x: x[1],
    lambda x: x[np.int64(1)],
    lambda x: x[..., 0],
    lambda x: x[np.array([0, 1])],
    lambda x: x[np.array([True, False])],
    lambda x: x[x[:, 0] > 0],
    lambda x: np.concatenate([x, x]),
    lambda x: np.concatenate([x, x], 1),
    lambda x: np.concatenate((x, x), axis=1),
    lambda x: np.concatenate([x, 2 * x]),
    lambda x: np.concatenate([2 * x, x]),
    lambda x: np.concatenate([x, np.ones((1, 2))]),
    lambda x: np.concatenate([x, np.zeros((1, 2))]),
    lambda x: np.concatenate([np.ones((1, 2), int), x]),
    lambda x: np.stack([x, x * x], axis=-1),
    lambda x: np.stack([x[0], x[1]]),
    lambda x: np.stack([x[1], x[0]]),
    lambda x: np.dot(x, x),
    lambda x: np.dot(x, x[0]),
    lambda x: np.dot(2.0, x),
    lambda x: np.dot(x, 3.0),
    lambda x: np.einsum("ij,jk", x, x),
    lambda x: np.einsum("ij,kj", x, x),
    lambda x: np.linalg.norm(x, axis=0),
    lambda x: np.linalg.norm(x, 1.0),
    lambda x: np.linalg.norm(x, 2.0),
    lambda x: np.linalg.norm(x, np.inf),
    lambda x: np.linalg.norm(x, -np.inf),
    lambda x: np.var(x, ddof=1.0),
    lambda x: np.var(x, ddof=0.0),
    lambda x: np.where(x > 0, x, 0.0),
    lambda x: np.where(x > 0, x, -0.0),
    lambda x: np.where(x > 0, 1.0, x),
    lambda x: np.reshape(x, (4, 1)),
    lambda x: np.reshape(x, (1, 4)),
    lambda x: np.reshape(x, 4),
    lambda x: x.reshape(2, 2, order="F"),
    lambda x: x.T.reshape(4),
    lambda x: np.reshape(x, 4, order="A"),
    lambda x: np.reshape(x.T, 4, order="A"),
    lambda x: np.reshape(x, 4, order="F"),
    lambda x: np.ravel(x, order="K"),
    lambda x: np.ravel(x, order="A"),
]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_whatever_varies_between_calls(dtype):
    """In any order, and after each other, calls have the values, dtypes and gradients of NumPy's function."""
    random = rng(3)
    for k in random.permutation(np.repeat(np.arange(len(VARIED)), 4)):
        x = random.standard_normal((2, 2)).astype(dtype)
        if k % 3 == 0:
            x = np.asfortranarray(x)
        tr = tape.Trace()
        v = (tr.param if random.random() < 0.7 else tr.input)(x)
        found, expected = VARIED[k](v), VARIED[k](x)
        assert found.dtype == expected.dtype, k
        np.testing.assert_array_equal(found.value, expected, err_msg=str(k))
        np.testing.assert_array_equal(np.signbit(found.value), np.signbit(expected), err_msg=str(k))
        assert found.node.is_active == (v.node.is_param and v.node is not None) or found.dtype.kind != "f"
        if v.node.is_param and found.size and found.dtype == x.dtype:
            (gradient,) = tr.backward_param_grads(np.sum(found * found), unreached="zero")
            step = 1e-2 if dtype == "f4" else 1e-6
            moved = [np.sum(np.square(VARIED[k](x + s * step), dtype=np.float64)) for s in (1, -1)]
            slope = (moved[0] - moved[1]) / (2 * step)
            if np.isfinite(slope):
                np.testing.assert_allclose(gradient.sum(), slope, rtol=0.05, atol=0.1, err_msg=str(k))


BAD = [
    lambda x: x.sum(1.0),
    lambda x: x.sum((0, 1.0)),
    lambda x: x.sum(5),
    lambda x: x.reshape((2.0, 2)),
    lambda x: x.reshape(3, 3),
    lambda x: x[1.0],
    lambda x: x[0:1.0],
    lambda x: x[9],
    lambda x: np.concatenate([x, x], 1.0),
    lambda x: np.concatenate(x, (x, 0)),
    lambda x: np.concatenate([x, x[0]]),
    lambda x: np.stack([x, x[0]]),
    lambda x: np.dot(x, np.ones(5)),
]


@pytest.mark.parametrize("call", BAD)
def test_what_is_refused_is_refused_after_what_is_alike(call):
    trace = tape.Trace()
    x = trace.param(np.ones((2, 2)))
    for _ in range(2):
        x.sum(1), x.sum((0, 1)), x.reshape((2, 2)), x[1], x[0:1], np.concatenate([x, x], 1)
        with pytest.raises((tape.errors.TapeError, TypeError)):
            call(x)


def test_traces_and_levels_are_kept_apart():
    a, b = tape.Trace(), tape.Trace()
    x, y = a.param(np.ones((2, 2))), b.param(np.ones((2, 2)))
    for _ in range(2):
        np.concatenate([x, x])
        with pytest.raises(tape.errors.TraceMismatchError):
            np.concatenate([x, y])
    with a:
        inner = tape.Trace()
        z = inner.param(x)
        out = np.sum(z.sum(0) ** 2)
    assert isinstance(inner.backward_param_grads(out)[0], tape.Var)


def test_no_grad_and_watches_see_every_call():
    trace = tape.Trace()
    x = trace.param(np.ones((2, 2)))
    x.sum(0)
    with tape.no_grad():
        assert not x.sum(0).node.is_active
    with tape.debug():
        tr = tape.Trace()
    y = tr.param(np.ones((2, 2))).sum(0)
    assert y.node.site is not None


LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1, ::-1],
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
}


def test_what_is_recorded_does_not_depend_on_the_calls_before():
    """Watched traces record by the long way: the nodes are the same, in any order of calls and layouts."""
    random = rng(5)
    views = [lambda v: v, lambda v: v.T, lambda v: v[::-1], lambda v: v * 1.0]
    for k in random.permutation(np.repeat(np.arange(len(VARIED)), 12)):
        x = LAYOUTS[random.choice(list(LAYOUTS))](random.standard_normal((2, 2)))
        view = views[random.integers(len(views))]
        recorded = []
        for watched in (False, True):
            tr = tape.Trace(sites=watched)
            with np.errstate(all="ignore"):
                out = VARIED[k](view(tr.param(x)))
            nodes = [(n.op, repr(n.attrs), n.parents, n.is_active, n.value.strides) for n in tr.nodes]
            recorded.append((nodes, memory_of(out).strides))
        assert recorded[0] == recorded[1], k


def _with_keywords(x, *arrays, axis, keepdims=False):
    return x, arrays, axis, keepdims


def _with_a_default(x, axis=0):
    return x, axis


def _with_any(x, **attrs):
    return x, attrs


@pytest.mark.parametrize(
    ("forward", "attrs"),
    [
        (_with_keywords, {"axis": 1}),
        (_with_keywords, {"axis": 1, "keepdims": True}),
        (_with_a_default, {"axis": 1}),
        (_with_a_default, {}),
        (_with_any, {"axis": 1}),
        (lambda x, *, axis, offset=3: (x, axis, offset), {"axis": 1}),
        (np.add.reduce, {"axis": 0, "keepdims": True}),
    ],
)
def test_static_arguments_are_bound_whatever_kind_of_parameter_takes_them(forward, attrs):
    x = np.ones((2, 3))
    for expected, found in zip(forward(x, **attrs), _bound(forward, attrs)(x), strict=True):
        assert np.all(found == expected)


def test_numbers_among_operands_are_not_taken_for_what_is_known_of_vars():
    trace = tape.Trace()
    x, y = trace.param(np.array([1.0, 2.0])), trace.input(np.array([5.0, 6.0]))
    calls = [
        lambda: np.where(y > 5, x, y),
        lambda: np.where(y > 5, x, x),
        lambda: np.where(y > 5, 1, x),
        lambda: np.where(y > 5, 0, x),
        lambda: np.where(y > 5, y, x),
        lambda: np.where(y > 5, 1, y),
        lambda: np.where(y > 5, True, x),
        lambda: np.where(y > 5, x, False),
    ]
    expected = [[5, 2], [1, 2], [1, 1], [1, 0], [1, 6], [5, 1], [1, 1], [0, 2]]
    for k in range(3):
        for call, numbers in zip(calls, expected, strict=True):
            known = len(ops.where.known)
            np.testing.assert_array_equal(call().value, numbers)
            assert k == 0 or len(ops.where.known) == known


# ---- the tapes of programs ---------------------------------------------------------------------------

CALLS = {
    "an element": lambda x: x[0],
    "a slice": lambda x: x[1:, ::-1],
    "a sum": lambda x: np.sum(x, axis=1, keepdims=True),
    "a transpose": lambda x: x.T,
    "several": lambda x: np.concatenate([x, x[:1]], axis=0),
    "a number": lambda x: np.mean(x),
    "sorting": lambda x: np.sort(x, axis=0),
    "a shape": lambda x: np.reshape(x, (3, 2)),
    "axes": lambda x: np.sum(x, axis=(0, 1)),
}


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_calls_alike_make_the_same_nodes_in_programs(name, depth):
    """The first one runs the function, the next ones append nodes."""

    def nodes_of(var):
        found = []
        while isinstance(var, Handle):
            node = var.node
            found.append((node.op, node.attrs, node.parents, node.call.pull is None, plain(var).tolist()))
            var = node.value
        return found

    def f(x):
        def body(x):
            vars_made = [CALLS[name](x) for _ in range(3)]
            seen.extend(map(nodes_of, vars_made))
            return np.sum(np.sin(vars_made[-1]) * vars_made[0].sum())

        for _ in range(depth):
            body = tape.elementwise_grad(body)
        return body(x)

    seen = []
    compiled = tape.compile(f)
    x = np.arange(6.0).reshape(2, 3) + 1
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)
    first, *others = seen[:3]
    if name != "several":  # whose second node has the first one among its parents
        assert all(other == first for other in others)
    assert len(first) == depth + 1
    np.testing.assert_allclose(compiled(x[:, ::-1] * 2), f(x[:, ::-1] * 2), rtol=1e-13)


def test_calls_alike_decide_nothing_anew_in_programs(monkeypatch):
    from tape.ops.structure import indexing

    asked = []
    parsed = indexing.parsed
    monkeypatch.setattr(indexing, "parsed", lambda index: asked.append(index) or parsed(index))
    compiled = tape.compile(tape.grad(lambda x: sum(x[1] for _ in range(50)).sum()))
    np.testing.assert_array_equal(compiled(np.ones((2, 7))), [[0.0] * 7, [50.0] * 7])
    assert len(asked) < 10


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tuples_and_lists_that_vary_between_calls_are_other_calls_in_programs(dtype):
    ways = [
        lambda x: np.reshape(x, (3, 2)), lambda x: np.reshape(x, (2, 3)), lambda x: np.reshape(x, [6, 1]),
        lambda x: np.reshape(x, (-1, 2)), lambda x: np.reshape(x, (6,)), lambda x: x.transpose((1, 0)),
        lambda x: x.transpose((0, 1)), lambda x: np.sum(x, axis=(0,)), lambda x: np.sum(x, axis=(1,)),
        lambda x: np.take(x, [1, 0], axis=0), lambda x: np.take(x, [0, 1], axis=0),
        lambda x: np.tile(x, (1, 2)), lambda x: np.tile(x, (2, 1)),
    ]  # fmt: skip

    def f(x):
        total = 0.0
        for turn in range(3):
            for k, way in enumerate(ways):
                out = way(x)
                total = total + np.sum(out * np.cos(np.arange(out.size, dtype=dtype).reshape(out.shape) * k))
                x = x + dtype(turn)
        return total

    compiled = tape.compile(tape.value_and_grad(f))
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    for scale in (1, 2, 3):
        for found, expected in zip(
            compiled(x * dtype(scale)), tape.value_and_grad(f)(x * scale), strict=True
        ):
            assert found.dtype == expected.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype is np.float32 else 1e-12)


def test_calls_with_a_shape_decide_nothing_anew_in_programs(monkeypatch):
    from tape.ops.structure import shape

    asked = []
    as_shape = shape.as_shape
    monkeypatch.setattr(shape, "as_shape", lambda given: asked.append(given) or as_shape(given))
    compiled = tape.compile(tape.grad(lambda x: sum(x.reshape((7, 2)) for _ in range(50)).sum()))
    np.testing.assert_array_equal(compiled(np.ones((2, 7))), np.full((2, 7), 50.0))
    assert len(asked) < 10
