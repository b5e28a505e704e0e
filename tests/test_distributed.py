"""One process: shards, threads, sharded updates and keepers compute what there is without them."""

import copy
import math
import os
import pickle
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import tape
from tape import distributed
from tape.distributed import _sums, _world
from tape.distributed._agreement import Watched, checksum
from tape.distributed._layout import Layout
from tests.oracles import message_of, pytorch
from tests.tiers import grid, rounds

rng = np.random.default_rng(0)


def loss(params, x, y):
    return np.mean((np.tanh(x @ params["w"]) @ params["v"] - y) ** 2)


def problem(count, dtype=np.float64):
    params = {"w": rng.normal(size=(4, 5)), "v": rng.normal(size=5)}
    x, y = rng.normal(size=(count, 4)), rng.normal(size=count)
    return tape.tree.map(lambda a: a.astype(dtype), (params, x, y))


# ---- shards --------------------------------------------------------------------------------------


@grid(count=[0, 1, 5, 16, 17], size=[1, 2, 3, 16])
def test_shards_are_the_whole_in_order_and_differ_by_one_sample_at_most(count, size):
    parts = [distributed.shard(count, rank, size) for rank in range(size)]
    assert [i for part in parts for i in range(count)[part]] == list(range(count))
    lengths = [part.stop - part.start for part in parts]
    assert max(lengths) - min(lengths) <= 1
    x = rng.normal(size=(count, 2))
    np.testing.assert_array_equal(np.concatenate([distributed.shard(x, r, size) for r in range(size)]), x)


@grid(count=[0, 6, 7, 9], size=[1, 2, 4], drop_last=[False, True], seed=[None, 3, (3, 1)])
def test_batches_of_all_ranks_make_up_those_of_one(count, size, drop_last, seed):
    data = {"x": np.arange(count), "y": np.arange(2.0 * count).reshape(count, 2)}
    options = {"seed": seed, "drop_last": drop_last}
    whole = list(distributed.batches(data, 3, **options))
    ranks = [list(distributed.batches(data, 3, rank=rank, size=size, **options)) for rank in range(size)]
    assert {len(parts) for parts in ranks} == {len(whole)} == {count // 3 if drop_last else -(-count // 3)}
    for batch, *parts in zip(whole, *ranks, strict=True):
        for name in data:
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), batch[name])
    seen = np.concatenate([batch["x"] for batch in whole]) if whole else np.arange(0)
    if not drop_last:
        np.testing.assert_array_equal(np.sort(seen), data["x"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: distributed.shard(3, 2, 2), "ranks are counted from 0 to 1"),
        (lambda: distributed.shard(-1, 0, 2), "-1 samples"),
        (lambda: distributed.shard((np.ones(3), np.ones(2)), 0, 2), "data[0] of 3, data[1] of 2"),
        (lambda: distributed.shard({"x": np.array(1.0)}, 0, 2), "data['x'] is float64[], which has no axis"),
        (lambda: distributed.batches(np.ones(3), 0), "batch_size is 0"),
        (lambda: distributed.broadcast(1.0, root=1), "There are 1 ranks"),
        (lambda: distributed.gather({"x": np.array([None])}), "value['x'] is ndarray object[1], and only"),
        (lambda: distributed.mean(1, 1.0), "value is int 1, and only floats have a mean"),
        (lambda: distributed.mean(np.ma.masked_array([1.0, 2.0], [0, 1]), 1.0), "is MaskedArray "),
        (lambda: distributed.mean(1.0, -1.0), "weight is -1.0"),
        (lambda: distributed.mean(1.0, 0.0), "there is no mean"),
        (lambda: distributed.Keeper(print, every=0), "every is 0"),
        (lambda: distributed.Keeper(print, every=True), "every is True"),
        (lambda: distributed.Keeper(print, every=2.5), "every is 2.5"),
        (lambda: distributed.data_parallel(loss, threads=0), "threads is 0"),
        (lambda: distributed.data_parallel(loss, batch=0), "batch is 0"),
        (lambda: distributed.data_parallel(loss, order="any"), "order is 'any'"),
        (lambda: distributed.data_parallel(tape.compile(loss, donate=0), threads=2), "overwrites arguments"),
        (lambda: distributed.data_parallel(loss)({}), "no argument 1 with samples"),
        (lambda: distributed.data_parallel(lambda p, x: len(x))(1.0, np.ones(3)), "result is int 3"),
        (lambda: distributed.data_parallel(loss, batch=3)(*problem(3)), "no argument 3"),
        (lambda: distributed.data_parallel(loss)(*problem(0)), "no samples on any rank"),
        (lambda: distributed.data_parallel(loss, weight=lambda *_: -1)(*problem(2)), "weight returned -1"),
        (
            lambda: tape.grad(
                lambda w: distributed.data_parallel(lambda w, x: np.mean(w * x))(w, np.ones(3))
            )(1.0),
            "sums over ranks are not differentiable",
        ),
    ],
)
def test_errors_say_what_to_do(call, said):
    assert said in message_of(call)


def test_without_mpi_there_is_one_rank():
    assert (distributed.rank(), distributed.size(), distributed.is_root()) == (0, 1, True)
    value = {"w": np.ones(2)}
    assert distributed.broadcast(value) is value
    distributed.check_same(value)
    distributed.barrier()


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"])
def test_ranks_that_were_launched_need_mpi(monkeypatch, name):
    monkeypatch.setenv(name, "3")
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    assert "several ranks need mpi4py" in message_of(_world.world.__wrapped__)
    _world.forget_launcher()
    assert name not in os.environ


def test_ranks_that_would_each_run_alone_are_an_error(monkeypatch):
    import sys

    alone = SimpleNamespace(COMM_WORLD=SimpleNamespace(Get_size=lambda: 1))
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", alone)
    assert "3 ranks were launched, and mpi4py sees 1" in message_of(_world.world.__wrapped__)


# ---- threads -------------------------------------------------------------------------------------


@grid(threads=[1, 2, 3, 8], count=[1, 2, 9], dtype=[np.float32, np.float64])
def test_threads_compute_the_gradient_of_the_whole_batch(threads, count, dtype):
    f = tape.value_and_grad(loss)
    step = distributed.data_parallel(tape.compile(f), threads=threads)
    args = problem(count, dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    expected = tape.tree.leaves(f(*args))
    for _ in range(2):
        found = tape.tree.leaves(step(*args))
        for a, b in zip(found, expected, strict=True):
            assert (type(a), a.dtype, np.shape(a)) == (type(b), b.dtype, np.shape(b))
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    again = tape.tree.leaves(step(*args))
    assert all(np.array_equal(a, b) for a, b in zip(again, found, strict=True))


def test_gradients_are_those_of_pytorch():
    torch = pytorch()
    params, x, y = problem(7)
    w, v = (torch.tensor(params[name], requires_grad=True) for name in ("w", "v"))
    ((torch.tanh(torch.tensor(x) @ w) @ v - torch.tensor(y)) ** 2).mean().backward()
    _, gradient = distributed.data_parallel(tape.value_and_grad(loss), threads=3)(params, x, y)
    np.testing.assert_allclose(gradient["w"], w.grad.numpy(), rtol=1e-12)
    np.testing.assert_allclose(gradient["v"], v.grad.numpy(), rtol=1e-12)


def test_results_of_a_call_are_not_changed_by_the_next():
    step = distributed.data_parallel(tape.value_and_grad(loss), threads=2)
    first = step(*problem(6))[1]
    before = copy.deepcopy(first)
    step(*problem(6))
    assert tape.tree.all(tape.tree.map(np.array_equal, first, before))


def test_every_kind_of_float_keeps_its_type():
    def f(p, x):
        m = np.mean(x)
        return {
            "float": float(m),
            "complex": complex(m, 1),
            "half": np.float16(m),
            "halves": np.full(2, m, np.float16),
            "none": None,
            "scalar": np.array(m, np.float32),
            "swapped": np.full(2, m, ">f4"),
            "empty": np.zeros((0, 3)),
        }

    x = np.array([1.0, 3.0, 8.0])
    found, expected = distributed.data_parallel(f, threads=2)(0.0, x), f(0.0, x)
    assert tape.tree.structure(found) == tape.tree.structure(expected)
    for name, b in expected.items():
        a = found[name]
        assert type(a) is type(b)
        if b is not None:
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_allclose(a, b)


def test_parts_run_in_different_threads_and_keep_the_settings_of_the_caller():
    def f(p, x):
        meeting.wait(10)
        threads.add(threading.get_ident())
        settings.append(np.geterr()["over"])
        return np.mean(x)

    threads, settings, meeting = set(), [], threading.Barrier(3)
    with np.errstate(over="call"):
        assert distributed.data_parallel(f, threads=3)(0.0, np.arange(5.0)) == pytest.approx(2.0)
    assert len(threads) == 3
    assert settings == ["call"] * 3


def test_other_arguments_are_passed_whole():
    def f(p, x, scale, *, power):
        return np.mean(scale[:, None] * x**power)

    x, scale = np.arange(8.0).reshape(4, 2), np.array([2.0, 2.0])
    step = distributed.data_parallel(lambda p, x, s, *, power: np.mean(s[0] * x**power), batch=1, threads=2)
    assert step(0.0, x, scale, power=2) == pytest.approx(f(0.0, x, scale[[0, 0, 0, 0]], power=2))


def test_an_error_in_a_thread_is_raised_when_all_are_done():
    done = []

    def f(p, x):
        if x[0] == 2:
            raise ValueError("the third sample")
        done.append(x[0])
        return np.mean(x)

    with pytest.raises(ValueError, match="the third sample"):
        distributed.data_parallel(f, threads=4)(0.0, np.arange(4.0))
    assert sorted(done) == [0, 1, 3]
    assert "different results" in message_of(
        distributed.data_parallel(lambda p, x: x, threads=2), 0.0, np.arange(3.0)
    )


def test_the_wrapped_function_keeps_its_name_and_is_pickled_without_threads():
    step = distributed.data_parallel(math.fsum, threads=2)
    assert step.__name__ == "fsum"
    assert repr(pickle.loads(pickle.dumps(step))) == repr(step)


@pytest.mark.parametrize("count", range(1, 8))
def test_ordered_sums_are_the_same_for_any_cut(count):
    rows = rng.normal(size=(count, 100)).astype(np.float32)
    out, cut = np.empty(100, np.float32), np.empty(100, np.float32)
    _sums.ordered_sum(rows.copy(), out)
    np.testing.assert_allclose(out, rows.sum(0), rtol=1e-5, atol=1e-5)
    for start in range(0, 100, 33):
        part = slice(start, start + 33)
        _sums.ordered_sum(rows[:, part].copy(), cut[part])
    np.testing.assert_array_equal(out, cut)
    _sums.ordered_sum(rows[:, :1].copy(), cut[:1])
    assert cut[0] == out[0]


# ---- what ranks compare --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(rounds(6)))
def test_any_change_of_parameters_is_seen_within_one_round_of_blocks(seed):
    draw = np.random.default_rng(seed)
    params = {
        "w": draw.normal(size=(100, 90)),
        "t": draw.normal(size=(70, 80)).T,
        "n": np.arange(3),
        "s": 1.0,
    }
    ours, theirs = Watched("params"), Watched("params")
    assert ours.look(params) == theirs.look(copy.deepcopy(params))
    assert all(ours.look(params) == theirs.look(copy.deepcopy(params)) for _ in range(9))
    other = copy.deepcopy(params)
    leaf = other[("w", "t", "n")[seed % 3]]
    leaf[tuple(draw.integers(n) for n in leaf.shape)] += 1
    assert any(ours.look(params) != theirs.look(other) for _ in range(6))
    assert checksum(tape.tree.leaves(params)) != checksum(tape.tree.leaves(other))


def test_layouts_tell_apart_names_dtypes_and_shapes():
    trees = [{"a": 1.0}, {"b": 1.0}, [1.0], {"a": np.float32(1)}, {"a": np.array(1.0)}, {"a": np.ones(1)}, ()]
    digests = {Layout(*tape.tree.flatten(t), "p").digest for t in trees}
    assert len(digests) == len(trees)
    for value in trees:
        layout = Layout(*tape.tree.flatten(value), "p")
        assert Layout.unpickled(layout.pickled()).digest == layout.digest
        assert [layout.fits(*tape.tree.flatten(other)) for other in trees].count(True) == 1


# ---- sharded updates and keepers -----------------------------------------------------------------


def test_a_sharded_optimizer_refuses_other_trees():
    optimizer = distributed.ShardedOptimizer(np.zeros_like, lambda p, g, s: (p - g, s), {"w": np.ones(3)})
    assert "gradients are gradients['w']: float64[2]" in message_of(
        optimizer.step, {"w": np.ones(3)}, {"w": np.ones(2)}
    )
    assert "for 3 parameters of float64" in message_of(optimizer.restore, {"float64": np.ones(4)})
    assert "a state for float32" in message_of(optimizer.restore, {"float32": np.ones(3)})
    assert "init returned float64[2]" in message_of(
        lambda: distributed.ShardedOptimizer(lambda p: np.ones(2), None, np.ones(3))
    )
    shrinking = distributed.ShardedOptimizer(np.zeros_like, lambda p, g, s: (p[:1], s), np.ones(3))
    assert "update returned float64[1]" in message_of(shrinking.step, np.ones(3), np.ones(3))


def test_a_sharded_step_writes_to_no_argument():
    def update(p, g, s):
        p -= g
        s += 1
        return p, s

    params, gradient = {"w": np.ones(3)}, {"w": np.full(3, 0.5)}
    optimizer = distributed.ShardedOptimizer(np.zeros_like, update, params)
    found = optimizer.step(params, gradient)
    np.testing.assert_array_equal(params["w"], 1.0)
    np.testing.assert_array_equal(found["w"], 0.5)


def test_a_keeper_saves_what_was_before_the_step_that_failed():
    def f(p, x):
        if p == 3:
            raise ValueError("three")
        return np.mean(x)

    saved = []
    step = distributed.data_parallel(f)
    p = 0

    def train(after):
        nonlocal p
        with distributed.Keeper(lambda number, state: saved.append((number, state)), every=2) as keep:
            for p in range(1, 5):
                after(p, step(p, np.ones(2)))
                keep(p, f"state {p}")

    with pytest.raises(ValueError, match="three"):
        train(lambda p, result: None)
    assert saved == [(2, "state 2")]  # it is that of every second step: not again
    with pytest.raises(ZeroDivisionError):
        train(lambda p, result: 1 / (p - 2))  # in the middle of an update
    assert saved == [(2, "state 2")]


def test_time_limits_are_positive_and_end_with_their_block(monkeypatch):
    with distributed.time_limit(5):
        assert _world.world().failures.limit == 5.0
        distributed.barrier()
    assert _world.world().failures.limit is None
    for seconds in (0, -1.0, "soon", np.nan):
        with pytest.raises(tape.errors.OptionError, match="seconds is"), distributed.time_limit(seconds):
            pass
    monkeypatch.setenv("TAPE_RANK_TIMEOUT", "90")
    assert _world.World().failures.limit == 90.0
    monkeypatch.setenv("TAPE_RANK_TIMEOUT", "a while")
    with pytest.raises(tape.errors.OptionError, match="TAPE_RANK_TIMEOUT is 'a while'"):
        _world.World()
