"""`tape.inspect.watching`: what watches are told, and that nothing is different for it."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tape
from tape.inspect import watching
from tape.inspect.watching import BLOCKS, Watch, Watching, watched
from tests.op_table import TWO_OF_EACH, by_operation, lightly
from tests.oracles import is_float, record, unit_directions


class _Diary(Watch):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str | None]] = []

    def _note(self, event, node):
        self.events.append((event, node.op and node.op.name))

    def recorded(self, node, id):
        self._note("recorded", node)

    def pulling(self, node):
        self._note("pulling", node)

    def pulled(self, node, adjoint, contributions, trace):
        assert all(parent in node.parents for parent, _ in contributions)
        self._note("pulled", node)

    def pushing(self, node):
        self._note("pushing", node)

    def pushed(self, node, incoming, tangent, trace):
        self._note("pushed", node)


def _f(x):
    return np.sum(np.sin(x) * x)


def test_nodes_are_a_plain_list_unless_watched() -> None:
    assert type(tape.Trace().nodes) is list
    with tape.debug():
        assert isinstance(tape.Trace().watching, Watching)
    assert type(tape.Trace().nodes) is list
    assert not BLOCKS


def test_a_watch_is_told_of_both_sweeps() -> None:
    diary = _Diary()
    with watched(diary):
        tr = tape.Trace()
    x = tr.param(np.ones(2))
    y = _f(x)
    tr.backward_param_grads(y)
    tr.jvp(y, {x: np.ones(2)})
    names = ["sin", "multiply", "sum"]
    assert diary.events == [
        ("recorded", None),
        *[("recorded", name) for name in names],
        *[(event, name) for name in reversed(names) for event in ("pulling", "pulled")],
        *[(event, name) for name in names for event in ("pushing", "pushed")],
    ]


@pytest.mark.parametrize(
    "transform",
    [
        tape.grad,
        lambda f: lambda x: tape.jvp(f, (x,), (x,)),
        tape.hessian,
        lambda f: tape.grad(lambda x: tape.grad(f)(x) @ x),
        tape.jacobian,
        lambda f: lambda x: tape.taylor(f, x, np.ones(3), 3),
        lambda f: tape.grad(tape.checkpoint(f)),
        lambda f: tape.compile(tape.grad(f)),
    ],
)
def test_results_are_the_same_watched_or_not(transform) -> None:
    x = np.array([0.3, -1.2, 2.0])
    plain = transform(_f)(x)
    with tape.debug(check=True):
        found = transform(_f)(x)
    for a, b in zip(np.atleast_1d(plain), np.atleast_1d(found), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_a_watch_raises_leaves_the_tape_as_it_was() -> None:
    class Refusing(Watch):
        def recorded(self, node, id):
            if node.op is not None:
                raise KeyError("no")

    with watched(Refusing()):
        tr = tape.Trace()
    x = tr.param(1.0)
    with pytest.raises(KeyError):
        np.sin(x)
    assert len(tr) == 1


def test_contexts_nest_and_end_in_any_order() -> None:
    first, second = watched(_Diary()), watched(_Diary())
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert isinstance(tape.Trace().watching, Watching)
    second.__exit__(None, None, None)
    assert type(tape.Trace().nodes) is list


@pytest.mark.parametrize("options", [{"sites": 1}, {"check": "yes"}])
def test_options_are_true_or_false(options) -> None:
    with pytest.raises(tape.errors.OptionError, match="True or False"), tape.debug(**options):
        pass


@by_operation(lightly(TWO_OF_EACH))
def test_no_operation_is_different_for_being_watched_and_none_is_blamed(case) -> None:
    def both_sweeps():
        args = case.args()
        trace, _, root = record(case.on(tape.ops), args)
        if not isinstance(root, tape.Var) or not is_float(root.value):
            return [root]
        directions = unit_directions(case.rng(), args)
        tangent = trace.jvp(root, dict(zip(trace.params, directions, strict=True)))
        return [root.value, tangent, *trace.pull_back({root.id: np.ones_like(root.value)})]

    plain = both_sweeps()
    with tape.debug(check=True):
        watched = both_sweeps()
    for one, other in zip(watched, plain, strict=True):
        np.testing.assert_array_equal(tape.core.node.plain(one), tape.core.node.plain(other))


@pytest.mark.parametrize("is_checked", [False, True])
def test_dropping_a_watched_trace_frees_it_at_once(is_checked) -> None:
    gc.disable()  # reference counts alone must do
    try:
        trace = tape.Trace(sites=True, check=is_checked)
        x = trace.param(np.ones(3))
        y = np.sum(np.exp(x))
        trace.backward_param_grads(y)
        trace.jvp(y, {x: np.ones(3)})
        intermediate = weakref.ref(np.sin(y * x).node.value)
        assert intermediate() is not None
        del trace
        assert intermediate() is None
    finally:
        gc.enable()


def test_a_block_in_a_generator_ends_on_whichever_thread_closes_it() -> None:
    def watching():
        with tape.debug():
            yield

    generator = watching()
    next(generator)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(generator.close).result()
    assert type(tape.Trace().nodes) is list
    assert not BLOCKS


def test_blocks_do_not_pile_up():
    before = watching._around.get()
    for _ in range(3):
        with tape.debug():
            assert len(watching._around.get()) == len(before) + 1
            with tape.debug(check=True):
                assert len(watching._around.get()) == len(before) + 2
    assert watching._around.get() == before
