"""Where the limits of sweeping by programs are: at each number itself, and one beyond it."""

from itertools import count

import numpy as np
import pytest

import tape
from tape.kernels.loading import native
from tape.program import sweeps
from tape.system import float_flags
from tests.tiers import rounds


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """The tapes that are known, none at first; programs are made at the second sweep, and kept."""
    native()
    monkeypatch.setattr(sweeps, "_mode", "always")
    monkeypatch.setattr(sweeps, "_known", {})
    monkeypatch.setattr(sweeps, "_missed", [0])
    clock = count()
    monkeypatch.setattr(sweeps, "perf_counter", lambda: next(clock) ** 0.5)  # what comes later takes less
    return sweeps._known


@pytest.fixture
def by_hand(monkeypatch):
    """How many nodes each tape had that was swept node by node."""
    found = []
    sweep = tape.Trace.pull_back_by_nodes

    def noted(trace, *args, **kwargs):
        found.append(len(trace))
        return sweep(trace, *args, **kwargs)

    monkeypatch.setattr(tape.Trace, "pull_back_by_nodes", noted)
    return found


def chain(nodes, x=0.5):
    """A tape of so many nodes, swept; its gradient is checked."""
    tr = tape.Trace()
    y = w = tr.param(np.full(3, x))
    for _ in range(nodes - 1):
        y = y * w
    (gradient,) = tr.backward_param_grads(y, seed=np.ones(3))
    np.testing.assert_allclose(gradient, np.full(3, nodes * x ** (nodes - 1)))


def only(known):
    """The one structure, and what is known of its one kind of values."""
    (structure,) = known.values()
    (entry,) = structure.kinds.values()
    return structure, entry


def test_the_longest_tape(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_LONGEST", 10)
    for nodes in (11, 12):
        chain(nodes)
        assert not known
    chain(10)
    assert len(known) == 1


def test_only_the_nodes_up_to_the_root_count(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_LONGEST", 3)
    for k in range(4):
        tr = tape.Trace()
        x = tr.param(np.full(2, 1.0 + k))
        root = np.sin(x * x)
        _ = np.exp(root) * root
        (gradient,) = tr.backward_param_grads(root, seed=np.ones(2))
        np.testing.assert_allclose(gradient, np.cos(np.full(2, 1.0 + k) ** 2) * 2 * (1.0 + k))
    assert only(known)[1].program is not None


def test_the_first_sweeps_are_by_hand_and_the_others_by_the_program(known, by_hand):
    for _ in range(6):
        chain(4)
    assert by_hand == [4, 4]  # with "always", the second one is worth a program


def test_a_program_is_made_once_sweeping_has_taken_longer_than_its_price(known, by_hand, monkeypatch):
    clock = count(step=4.0)  # a sweep takes 4.0
    monkeypatch.setattr(sweeps, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(sweeps, "_mode", "1")
    monkeypatch.setattr(sweeps, "_SECONDS", 6.0)
    monkeypatch.setattr(sweeps, "_SECONDS_A_NODE", 2.0)
    for sweep in range(1, 6):  # 12.0 of them are the price of three nodes, and not more than it
        chain(3)
        _, entry = only(known)
        assert entry.seconds == 4.0 * sweep
        assert entry.is_given_up == (sweep == 5)  # as soon as it is tried: it takes as long, and is no faster
    chain(3)
    assert by_hand == [3] * 6
    assert entry.seconds == 20.0


def test_a_program_that_is_no_faster_is_tried_a_few_times_and_given_up(known, monkeypatch):
    runs = []
    run = sweeps.SweepProgram.gradients
    monkeypatch.setattr(
        sweeps.SweepProgram, "gradients", lambda self, values: runs.append(1) or run(self, values)
    )
    monkeypatch.setattr(sweeps, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(sweeps, "_price", lambda count: -1.0)
    chain(3)
    assert only(known)[1].is_given_up
    assert only(known)[1].program is None
    assert len(runs) == 1 + sweeps._TRIALS


@pytest.mark.parametrize(
    "wrong",
    [lambda found: found * (1 + 2.0**-52), lambda found: None, lambda found: found.astype(np.float32)],
    ids=["the last bit", "nothing", "another dtype"],
)
def test_a_program_that_returns_anything_else_is_given_up(known, monkeypatch, wrong):
    run = sweeps.SweepProgram.gradients
    monkeypatch.setattr(
        sweeps.SweepProgram,
        "gradients",
        lambda self, values: [found if k else wrong(found) for k, found in enumerate(run(self, values))],
    )
    for _ in range(4):
        tr = tape.Trace()
        x, y = tr.param(np.full(2, 1.5)), tr.param(np.full(2, 0.5))
        first, second = tr.backward_param_grads(x * y, seed=np.ones(2))
        np.testing.assert_array_equal(first, np.full(2, 0.5))
        np.testing.assert_array_equal(second, np.full(2, 1.5))
    assert only(known)[1].is_given_up


def test_a_program_is_given_up_after_refusals_in_succession_only(known):
    """Here where NumPy warns, which a program leaves to the sweep node by node."""

    def sweep(x):
        tr = tape.Trace()
        root = np.sum(np.sqrt(tr.param(np.array([x, 1.0]))))
        if x:
            assert tr.backward_param_grads(root)[0][0] == 0.5 / np.sqrt(x)
            return
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert tr.backward_param_grads(root)[0][0] == np.inf

    def refusals():
        return only(known)[1].refusals, only(known)[1].program is not None

    sweep(1.0)
    sweep(4.0)
    assert refusals() == (0, True)
    for most in range(1, sweeps._REFUSALS):
        for number in range(most):
            sweep(0.0)
            assert refusals() == (number + 1, True)
        sweep(1.0)
        assert refusals() == (0, True)
    for _ in range(sweeps._REFUSALS):
        assert refusals()[1]
        sweep(0.0)
    assert refusals() == (sweeps._REFUSALS, False)
    assert only(known)[1].is_given_up


def test_what_is_given_up_is_counted_and_kinds_that_are_not_begin_anew(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_MISSES", 5)
    op = tape.Op(lambda x: 3 * x, name="tripled", vjp=[lambda g, out, x: 3 * g])

    def sweep(length):
        tr = tape.Trace()
        np.testing.assert_array_equal(
            tr.backward_param_grads(op(tr.param(np.ones(length))), seed=np.ones(length))[0], [3.0] * length
        )
        (structure,) = known.values()
        return structure.failures

    assert [sweep(2) for _ in range(5)] == [0, 0, 1, 2, 3]  # the second sweep gives it up
    assert sweep(1) == 0
    assert [sweep(2) for _ in range(7)] == [1, 2, 3, 4, 5, 5, 5]
    assert sweep(4) == 5  # not looked at any more


def test_tapes_that_never_come_again_and_the_one_in_so_many_that_is_looked_at(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_MISSES", 3)
    monkeypatch.setattr(sweeps, "_GLANCE", 4)
    looked_at = []
    for nodes in range(2, 20):
        before = len(known)
        chain(nodes, 1.0)
        looked_at.append(len(known) > before)
    # three at once; then each that is looked at counts as a miss of its own
    assert looked_at[:4] == [True, True, True, True]
    assert [k for k, is_looked_at in enumerate(looked_at) if is_looked_at] == [0, 1, 2, 3, 6, 9, 12, 15]


@pytest.mark.parametrize("name", ["_LARGEST", "_LARGEST_IN_ALL"])
def test_the_memory_of_a_program_may_be_as_large_as_the_limit(known, monkeypatch, name):
    def size(length):
        for _ in range(2):
            tr = tape.Trace()
            x = tr.param(np.ones(length))
            tr.backward_param_grads(np.sum(np.sin(x) * x))
        return sum(sweeps._sizes())

    whole = size(300)
    assert whole > 0
    for limit, is_kept in ((whole, True), (whole - 1, False)):
        known.clear()
        monkeypatch.setattr(sweeps, name, limit)
        assert size(300) == (whole if is_kept else 0)
        if is_kept and name == "_LARGEST_IN_ALL":
            assert size(301) == whole  # the next one is one too many


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_oldest_are_forgotten(most):
    for length in range(6):
        entries = dict.fromkeys(range(length))
        sweeps._forget(entries, most)
        assert list(entries) == list(range(length))[-most:]


# ---- what is handed to a program -----------------------------------------------------------------------

NUMBERS = [1, True, 1.0, np.float64(1), np.int64(1), np.True_, 1 + 0j, np.float32(1), np.ones(()), np.ones(1)]


def test_numbers_of_every_type_are_kinds_of_their_own():
    kinds = [sweeps._kind(value) for value in NUMBERS]
    for k, one in enumerate(kinds):
        assert one is not None
        assert [other for other in kinds if other == one and type(other) is type(one)] == [one], NUMBERS[k]
    assert sweeps._kind(2) != sweeps._kind(1)  # what Python reads of it may matter
    assert sweeps._kind(2.0) == sweeps._kind(1.0)
    assert sweeps._kind("x") is None
    assert sweeps._kind(tape.Trace().param(1.0)) is None


def test_arguments_are_those_that_vary():
    a = np.arange(6.0).reshape(2, 3)
    values = [a, 2, True, 0.5, a.T]
    arguments = sweeps.Arguments(values)
    assert arguments.fixed == {1: 2, 2: True}
    assert arguments.leaves == [0, 3, 4]
    assert arguments.turned == [2]
    leaves = arguments.of(values)
    assert leaves[0] is a
    assert leaves[1] == 0.5
    assert leaves[2].flags.c_contiguous
    again = list(arguments.values(leaves))
    for one, other in zip(again, values, strict=True):
        np.testing.assert_array_equal(one, other)
    for k, other in ((1, 3), (1, 2.0), (2, False), (2, 1)):
        assert arguments.of([*values[:k], other, *values[k + 1 :]]) is None


def test_arrays_in_no_order_are_compared_and_not_read():
    a = np.arange(24.0).reshape(2, 3, 4)
    scattered = a.transpose(1, 0, 2)[:, :, ::2]
    arguments = sweeps.Arguments([a, scattered])
    assert (arguments.turned, list(arguments.unread)) == ([], [1])
    _, given = arguments.of([a, scattered + 1])
    assert given.flags.c_contiguous
    np.testing.assert_array_equal(given, scattered)
    assert arguments.of([a, scattered.astype(np.float32)]) is None
    assert arguments.of([a, scattered[:1]]) is None


SAME = np.array([1.0, 0.0, np.nan])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (SAME, SAME.copy(), True),
        (SAME, np.array([1.0, -0.0, np.nan]), False),
        (SAME, np.array([1.0, 0.0, 1.0]), False),
        (np.array([1.0, 0.0, 1.0]), SAME, False),
        (SAME, np.array([2.0, 0.0, np.nan]), False),
        (SAME, SAME[:2], False),
        (SAME[:1], np.array([1.0, 1.0]), False),
        (SAME[:1], SAME[:1].astype(np.float32), False),
        (SAME[:1].astype(np.float32), SAME[:1], False),
        (SAME, None, False),
        (None, SAME, False),
        (None, None, True),
        (np.float64(1), np.float64(1), True),
        (np.float64(1), np.array(1.0), False),
        (np.array([complex(1, 0.0)]), np.array([complex(1, -0.0)]), False),
        (np.array([1j]), np.array([1j]), True),
        (np.ones((3, 2)), np.ones((2, 3)).T, False),  # it lies in memory the other way round
        (np.ones((2, 6))[:, ::2].copy(), np.ones((2, 6))[:, ::2], False),
    ],
)
def test_gradients_are_the_same_to_the_bit_or_not(one, other, expected):
    assert sweeps._are_same(one, other) is expected


@pytest.mark.parametrize("seed", range(rounds(12)))
def test_gradients_are_those_of_the_sweep_whatever_number_of_params_is_reached(seed, known):
    rng = np.random.default_rng(seed)
    chosen = rng.random(4) < 0.5
    chosen[seed % 4] = True
    for _ in range(4):
        tr = tape.Trace()
        params = [tr.param(rng.standard_normal(k + 1)) for k in range(4)]
        root = sum([np.sum(p * p) for p, is_chosen in zip(params, chosen, strict=True) if is_chosen])
        found = tr.backward_param_grads(root, unreached="zero")
        for p, gradient, is_chosen in zip(params, found, chosen, strict=True):
            np.testing.assert_array_equal(gradient, 2 * p.value * is_chosen)
    assert only(known)[1].program is not None


def test_the_flags_of_every_machine_are_those_of_invalid_operations_divisions_and_overflows():
    """Bits of fenv.h, which differ between processors."""
    assert float_flags._FLAGS["x86_64"] == float_flags._FLAGS["amd64"] == 0x01 | 0x04 | 0x08
    assert float_flags._FLAGS["aarch64"] == float_flags._FLAGS["arm64"] == 0x01 | 0x02 | 0x04
    assert float_flags._c_function("no such function")(0x04) == 0
