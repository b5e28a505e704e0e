"""Sweeps over known tapes: what a program computes is what the sweep node by node does, whatever varies."""

import os
import subprocess
import sys
import threading
from itertools import count

import numpy as np
import pytest

import tape
from tape import errors
from tape.kernels.loading import native
from tape.program import sweeps
from tests.op_table import CASES, a_third, by_operation, few_of_each, lightly
from tests.tiers import is_full, rounds, some


@pytest.fixture(scope="module", autouse=True)
def machine():
    """Programs are made where nothing has to be compiled for them."""
    native()


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """The tapes that are known, none at first; programs are made at the second sweep, and kept."""
    monkeypatch.setattr(sweeps, "_mode", "always")
    monkeypatch.setattr(sweeps, "_known", {})
    monkeypatch.setattr(sweeps, "_missed", [0])
    clock = count()
    monkeypatch.setattr(sweeps, "perf_counter", lambda: next(clock) ** 0.5)  # what comes later takes less
    return sweeps._known


def programs(known):
    return [entry.program for entry in entries(known) if entry.program is not None]


def entries(known):
    return [entry for structure in known.values() for entry in structure.kinds.values()]


def both(record, *, times=3):
    """Record and sweep several times; each time gradients are those of the sweep node by node, to the bit."""
    for _ in range(times):
        trace, root = record()
        found = trace.backward_param_grads(root, unreached="zero")
        seed = np.ones(root.shape, root.dtype)[()]
        expected = trace.pull_back_by_nodes({root.id: seed})
        for gradient, other, param in zip(found, expected, trace.params, strict=True):
            other = np.zeros(param.shape, param.dtype) if other is None else other
            assert gradient.dtype == param.dtype
            assert gradient.shape == param.shape
            np.testing.assert_array_equal(gradient, other)
            if not np.iscomplexobj(other):
                signs = [np.signbit(x)[~np.isnan(x)] for x in (gradient, other)]
                np.testing.assert_array_equal(*signs)


def rng(seed=0):
    return np.random.default_rng(seed)


def layers(x, w, y):
    z = np.tanh(x @ w) @ w.T
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.sum((z - np.log(np.exp(z).sum(1, keepdims=True))) * y, axis=1))


def test_a_tape_that_comes_again_is_swept_by_a_program(known):
    r = rng()

    def record():
        tr = tape.Trace()
        w = tr.param(r.standard_normal((5, 4)))
        return tr, layers(r.standard_normal((3, 5)), w, r.standard_normal((3, 5)))

    both(record, times=5)
    assert len(programs(known)) == 1


def test_transforms_use_them_too(known):
    r = rng()
    f = tape.value_and_grad(layers, argnums=(1, 2))
    for _ in range(4):
        x, w, y = r.standard_normal((3, 5)), r.standard_normal((5, 4)), r.standard_normal((3, 5))
        value, (dw, dy) = f(x, w, y)
        tr = tape.Trace()
        ws, ys = tr.param(w), tr.param(y)
        expected = tr.pull_back_by_nodes({layers(x, ws, ys).id: np.float64(1)})
        np.testing.assert_allclose(dw, expected[0], rtol=1e-12)
        np.testing.assert_allclose(dy, expected[1], rtol=1e-12)
        assert value == layers(x, w, y)
    assert programs(known)


VARIED = {
    "lengths": lambda k: [(rng(k).standard_normal((2 + k % 3, 4)),), lambda x: np.sum(x * x.sum(0))],
    "dtypes": lambda k: [(rng(k).standard_normal(4).astype("fd"[k % 2]),), lambda x: np.sum(x * 2.0 / x)],
    "dtypes of constants": lambda k: [
        (rng(k).standard_normal(4).astype("f"),),
        lambda x: np.sum(x * np.ones(4, "fd"[k % 2]) * k),
    ],
    "python floats": lambda k: [(rng(k).standard_normal(4),), lambda x: np.sum(x * (0.5 + k)) ** 2],
    "signs of zero": lambda k: [(np.ones(3),), lambda x: np.sum(1 / (x * (0.0 if k % 2 else -0.0) + 1.0))],
    "signs of zero, part by part": lambda k: [
        (rng(k).standard_normal(3),),
        lambda x: sum([e * (1.0 if k < 4 else -0.0) for e in x]),
    ],
    "python ints": lambda k: [(rng(k).standard_normal(4),), lambda x: np.sum(x ** (k % 3 + 1))],
    "bools": lambda k: [(rng(k).standard_normal(4),), lambda x: np.sum(x * bool(k % 2))],
    "static arguments": lambda k: [(rng(k).standard_normal((3, 3)),), lambda x: np.sum(x.sum(k % 2) ** 2)],
    "operands exchanged": lambda k: [
        (rng(k).standard_normal(4), rng(k + 9).standard_normal(4)),
        lambda x, y: np.sum((x - y if k % 2 else y - x) * y),
    ],
    "indices": lambda k: [(rng(k).standard_normal(6),), lambda x: np.sum(x[k % 4] * x[k % 3 : 5])],
    "arrays as indices": lambda k: [
        (rng(k).standard_normal(6),),
        lambda x: np.sum(x[rng(k).integers(0, 6, 4)] ** 2),
    ],
    "masks": lambda k: [(rng(k).standard_normal(6),), lambda x: np.sum(x[rng(k).random(6) > 0.5] ** 2)],
    "masks of the values": lambda k: [(rng(k).standard_normal(6),), lambda x: np.sum(x[x > 0] ** 2)],
    "layouts": lambda k: [
        (np.asarray(rng(k).standard_normal((6, 8)), order="CF"[k % 2])[:: 1 + k % 3],),
        lambda x: np.sum(np.sin(x) * x),
    ],
    "ties": lambda k: [
        (rng(k).integers(0, 2, 5).astype(float),),
        lambda x: x.max() * np.sum(np.maximum(x, 1)),
    ],
    "NaN": lambda k: [
        (np.array([1.0, np.nan if k % 2 else 2.0, -1.0]),),
        lambda x: np.sum(np.maximum(x, 0) * x),
    ],
    "complex": lambda k: [(rng(k).standard_normal(3) * (1 + 1j),), lambda x: np.sum(np.abs(x * x))],
    "float16": lambda k: [(rng(k).standard_normal(3).astype("e"),), lambda x: np.sum(x * x)],
    "numbers": lambda k: [(float(k + 1),), lambda x: x * x / (x + 1)],
    "branches": lambda k: [(rng(k).standard_normal(3),), lambda x: np.sum(x * x if k % 2 else np.exp(x) * x)],
}


@pytest.mark.parametrize("name", VARIED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_whatever_varies_between_sweeps(name):
    numbers = count()

    def record():
        arrays, f = VARIED[name](next(numbers))
        tr = tape.Trace()
        return tr, f(*map(tr.param, arrays))

    both(record, times=13)


def test_tapes_that_take_turns_are_swept_by_their_programs(known, monkeypatch):
    """As the last batch of each epoch, which is smaller than the others."""
    sweeps_by_hand = []
    by_hand = tape.Trace.pull_back_by_nodes

    def counted(trace, *args, **kwargs):
        sweeps_by_hand.append(trace)
        return by_hand(trace, *args, **kwargs)

    monkeypatch.setattr(tape.Trace, "pull_back_by_nodes", counted)
    for k in range(12):
        x = rng(k).standard_normal((2 + k % 2, 4))
        tr = tape.Trace()
        (gradient,) = tr.backward_param_grads(np.sum(np.exp(tr.param(x)) * x))
        np.testing.assert_allclose(gradient, np.exp(x) * x)
        if k == 5:
            sweeps_by_hand.clear()
    assert len(programs(known)) == 2
    assert not sweeps_by_hand


@pytest.mark.parametrize("chosen", some(["0", None, "always"], every=2))
def test_the_environment_turns_programs_on_and_off(chosen):
    rest = {key: value for key, value in os.environ.items() if key != "TAPE_SWEEP_PROGRAMS"}
    given = {} if chosen is None else {"TAPE_SWEEP_PROGRAMS": chosen}
    code = "from tape.program import sweeps; print(sweeps._mode)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=rest | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (chosen or "1")


def test_roots_and_params_are_part_of_the_structure():
    values = rng().standard_normal((2, 3))
    for k in range(8):
        tr = tape.Trace()
        x, y = (
            (tr.input(values[0]), tr.param(values[1]))
            if k % 2
            else (tr.param(values[0]), tr.param(values[1]))
        )
        a = np.sum(x * y)
        b = np.sum(np.sin(y) * x)
        root = (a, b)[k // 2 % 2]
        expected = tr.pull_back_by_nodes({root.id: np.float64(1)})
        for found, other in zip(tr.backward_param_grads(root), expected, strict=True):
            np.testing.assert_allclose(found, other, rtol=1e-12)


def test_seeds_are_arguments():
    x = rng().standard_normal(3)
    for k in range(5):
        tr = tape.Trace()
        (gradient,) = tr.backward_param_grads(np.sin(tr.param(x)), seed=np.arange(3.0) * k)
        np.testing.assert_allclose(gradient, np.cos(x) * np.arange(3.0) * k)


def test_gradients_share_memory_with_nothing():
    x = rng().standard_normal((2, 3))
    found = []
    for _ in range(4):
        tr = tape.Trace()
        a, b = tr.param(x), tr.param(x)
        found += tr.backward_param_grads(a + b + 0 * a, seed=x)
    for k, one in enumerate(found):
        assert one.flags.writeable
        assert not np.shares_memory(one, x)
        assert not any(np.shares_memory(one, other) for other in found[:k])


def test_a_param_that_is_not_reached_is_named_or_zero():
    for _ in range(4):
        tr = tape.Trace()
        x = tr.param(np.ones(2))
        tr.param(np.ones(3), name="idle")
        root = np.sum(x * x)
        with pytest.raises(errors.UnreachableParamError, match="idle"):
            tr.backward_param_grads(root)
        np.testing.assert_array_equal(tr.backward_param_grads(root, unreached="zero")[1], np.zeros(3))


def test_leaves_that_are_set_count_once_the_tape_is_replayed():
    tr = tape.Trace()
    x = tr.param(np.array([1.0, 2.0]))
    root = np.sum(x * x)
    for _ in range(3):
        np.testing.assert_allclose(tr.backward_param_grads(root), [[2.0, 4.0]])
    tr.set(x, np.array([3.0, 4.0]))
    np.testing.assert_allclose(tr.backward_param_grads(root), [[2.0, 4.0]])  # as it was recorded
    tr.replay()
    np.testing.assert_allclose(tr.backward_param_grads(root), [[6.0, 8.0]])


def test_arrays_that_were_written_into_after_their_last_use(known):
    x, factors = np.array([0.3, 0.5]), np.array([1.0, 2.0])
    for _ in range(4):
        tr, scale = tape.Trace(), factors.copy()
        y = np.sum(np.sin(tr.param(x)) * scale)
        scale[:] = -7
        np.testing.assert_allclose(tr.backward_param_grads(y), [np.cos(x) * factors])
    assert programs(known)


def test_code_that_writes_in_place(known):
    r = rng()

    def record():
        tr = tape.Trace()
        x = tr.param(r.standard_normal((3, 4)))
        y = x * 1.0
        y[1:] *= 2
        y[0] = np.sin(y[2])
        view = y.T
        view += 1
        return tr, np.sum(y * y)

    both(record, times=4)


@pytest.mark.parametrize("function", [lambda x: 3 * x, np.sin])  # their own, and one of NumPy's
def test_rules_of_users_may_read_what_changes(known, function):
    scale = [1.0]
    op = tape.Op(function, name="scaled", vjp=[lambda g, out, x: g * scale[0]])
    for k in range(5):
        scale[0] = float(k)
        tr = tape.Trace()
        (gradient,) = tr.backward_param_grads(np.sum(op(tr.param(np.ones(2)))))
        np.testing.assert_array_equal(gradient, [k, k])
    assert not programs(known)


def test_rules_by_hand_run_in_every_sweep():
    scale = [1.0]
    tr = tape.Trace()
    x = tr.param(np.ones(2))
    root = np.sum(tr.append(np.ones(2), [x], lambda g: [g * scale[0]]) * 2)
    for k in range(5):
        scale[0] = float(k)
        np.testing.assert_array_equal(tr.backward_param_grads(root), [[2 * k, 2 * k]])


def test_functions_of_users_run_in_every_sweep():
    scale, runs = [1.0], []

    def doubled(x):
        runs.append(None)
        return x * x * scale[0]

    x = np.array([1.0, 2.0])
    tr = tape.Trace()
    w = tr.param(x)
    root = np.sum(tape.checkpoint(doubled)(w)) + np.sum(tape.apply(w, np.sin, lambda a: np.cos(a) * scale[0]))
    for k in range(4):
        scale[0] = float(k)
        count = len(runs)
        np.testing.assert_allclose(tr.backward_param_grads(root)[0], k * (2 * x + np.cos(x)))
        assert len(runs) == count + 1


def test_errors_that_numpy_raises_are_raised():
    x = np.array([0.0, 1.0])
    for _ in range(4):
        tr = tape.Trace()
        root = np.sum(np.sqrt(tr.param(x)))
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            tr.backward_param_grads(root)
        with np.errstate(divide="ignore"):
            assert tr.backward_param_grads(root)[0][0] == np.inf


def test_numpy_warns_as_it_does_node_by_node(known):
    for k in range(8):
        tr = tape.Trace()
        root = np.sum(np.sqrt(tr.param(np.array([k % 2, 1.0]))))
        if k % 2:
            assert tr.backward_param_grads(root)[0][0] == 0.5
        else:
            with pytest.warns(RuntimeWarning, match="divide by zero"):
                assert tr.backward_param_grads(root)[0][0] == np.inf
    assert programs(known)


def test_programs_are_given_up_where_numpy_always_warns(known):
    for _ in range(8):
        tr = tape.Trace()
        root = np.sum(np.sqrt(tr.param(np.zeros(2))))
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            tr.backward_param_grads(root)
    assert not programs(known)


def test_higher_orders(known):
    x = rng().standard_normal(3)
    f = tape.grad(lambda x: np.sum(tape.grad(lambda y: np.sum(np.sin(y) * y))(x) ** 2))
    first = f(x)
    for _ in range(4):
        np.testing.assert_allclose(f(x), first, rtol=1e-12)


def test_singular_matrices_are_found():
    for k in range(5):
        tr = tape.Trace()
        a = tr.param(np.eye(2) * (k + 1.0))
        np.testing.assert_allclose(
            tr.backward_param_grads(np.sum(np.linalg.inv(a)))[0], -np.ones((2, 2)) / (k + 1.0) ** 2
        )


def test_threads_sweep_at_once():
    r = rng()
    xs = r.standard_normal((4, 6, 5))
    wrong = []

    def work(x):
        for _ in range(60):
            tr = tape.Trace()
            (gradient,) = tr.backward_param_grads(np.sum(np.tanh(tr.param(x)) ** 2))
            expected = 2 * np.tanh(x) * (1 - np.tanh(x) ** 2)
            if not np.allclose(gradient, expected, rtol=1e-9):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in xs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_whose_arrays_lie_in_memory_differently(known):
    """A square matrix and its transpose look alike to a program."""
    r = rng()
    arrays = [(r.standard_normal((5, 5)), r.standard_normal((5, 5))) for _ in range(4)]
    wrong, start = [], threading.Barrier(4)

    def work(k, w, x):
        expected = 2 * x.T @ (x @ w)
        start.wait()
        for _ in range(40):
            tr = tape.Trace()
            (gradient,) = tr.backward_param_grads(
                np.sum((x @ tr.param(np.asarray(w, order="CF"[k % 2]))) ** 2)
            )
            if not np.allclose(gradient, expected, rtol=1e-9):
                wrong.append(k)

    for _ in range(rounds(9)):
        known.clear()
        threads = [threading.Thread(target=work, args=(k, w, x)) for k, (w, x) in enumerate(arrays)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_programs_wait_until_they_pay(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_mode", "1")
    entry = None
    for _ in range(5000):
        if entry is not None and entry.program is not None:
            break
        tr = tape.Trace()
        tr.backward_param_grads(np.sum(np.sin(tr.param(np.ones(3)))))
        (entry,) = entries(known)
    assert entry.program is not None
    assert entry.seconds > sweeps._SECONDS


def test_programs_are_made_once_there_is_machine_code(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_LATER", 4.0)  # the clock runs a little in each sweep
    monkeypatch.setattr(sweeps, "is_ready", lambda: False)

    def sweep(times):
        for _ in range(times):
            tr = tape.Trace()
            tr.backward_param_grads(np.sum(np.sin(tr.param(np.ones(3)))))

    sweep(4)
    assert not programs(known)
    monkeypatch.setattr(sweeps, "is_ready", lambda: True)
    sweep(60)
    assert len(programs(known)) == 1


def test_it_can_be_turned_off(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_mode", "0")
    for _ in range(5):
        tr = tape.Trace()
        tr.backward_param_grads(np.sum(np.sin(tr.param(np.ones(3)))))
    assert not known


def test_tapes_that_do_not_come_again_are_forgotten(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_MOST", 5)
    for k in range(20):
        tr = tape.Trace()
        x = y = tr.param(np.ones(3))
        for _ in range(k):
            y = y * x
        tr.backward_param_grads(np.sum(y))
    assert len(known) == 5


def test_kinds_that_do_not_come_again_are_forgotten(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_MOST_KINDS", 5)
    for k in range(20):
        tr = tape.Trace()
        x = tr.param(np.ones(k + 1))
        tr.backward_param_grads(np.sum(x * x))
    assert len(entries(known)) == 5


def test_tapes_that_never_come_again_are_looked_at_less(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_MISSES", 4)
    monkeypatch.setattr(sweeps, "_GLANCE", 4)

    def sweep(length):
        tr = tape.Trace()
        x = y = tr.param(np.ones(3))
        for _ in range(length):
            y = y * x
        np.testing.assert_array_equal(tr.backward_param_grads(np.sum(y))[0], np.full(3, length + 1.0))

    for length in range(24):
        sweep(length)
    assert 4 < len(known) < 12
    for _ in range(12):  # one that comes again is known soon, and others are looked at again
        sweep(50)
    assert len(programs(known)) == 1
    before = len(known)
    sweep(60)
    assert len(known) == before + 1


def test_tapes_that_have_been_given_up_are_looked_at_no_more(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_MISSES", 4)
    op = tape.Op(lambda x: 3 * x, name="tripled", vjp=[lambda g, out, x: 3 * g])
    for _ in range(12):
        tr = tape.Trace()
        np.testing.assert_array_equal(tr.backward_param_grads(np.sum(op(tr.param(np.ones(2)))))[0], [3, 3])
    (structure,) = known.values()
    assert structure.failures == 4


def test_programs_together_keep_a_limited_amount_of_memory(known, monkeypatch):
    def sweep(length):
        for _ in range(3):
            tr = tape.Trace()
            x = tr.param(np.ones(length))
            tr.backward_param_grads(np.sum(np.sin(x) * x))

    for length in (100, 200, 300):
        sweep(length)
    assert len(programs(known)) == 3
    monkeypatch.setattr(sweeps, "_LARGEST_IN_ALL", sum(sweeps._sizes()))
    sweep(400)
    assert len(programs(known)) == 3


def test_long_tapes_are_swept_node_by_node(known, monkeypatch):
    monkeypatch.setattr(sweeps, "_LONGEST", 50)
    for length in (49, 50):
        for _ in range(3):
            tr = tape.Trace()
            y = x = tr.param(0.5)
            for _ in range(length):
                y = y * 0.9 + x
            np.testing.assert_allclose(tr.backward_param_grads(y)[0], sum(0.9**k for k in range(length + 1)))
    assert not known


@by_operation(a_third(few_of_each(lightly(CASES)), 0))
def test_programs_of_all_operations_round_as_numpy_does(case):
    """On numbers that the program was not made with, in the layouts that rules make of them."""
    salts, dtype = count(), np.float64

    def record():
        args = case.args(dtype, salt=next(salts))
        tr = tape.Trace()
        leaves = [tr.param(x) if x.dtype.kind in "fc" else x for x in args]
        out = case.function(tape.ops, *leaves)
        root = np.sum(np.abs(out * out))
        return tr, root

    if case.has_derivative:
        both(record, times=4)
        if is_full() or case.op == "nn.local_response_norm":  # whose powers of float32 round in two ways
            dtype = np.float32
            both(record, times=6)
