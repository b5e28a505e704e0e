"""What ranks do in `tests/test_distributed_ranks.py`: ``mpiexec -n 3 python tests/ranks.py FOLDER numbers``.

Each scenario runs on all ranks and checks on each of them; an assertion that fails ends the run.
"""

import os
import pickle
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tape
from tape import distributed, errors
from tape.distributed import _failures, _sums
from tape.distributed._world import world

TOLERANCES = {"e": 1e-3, "f": 2e-6, "d": 1e-12, "D": 1e-12, "g": 1e-15}
LONG = np.longdouble(1) / 3
STEPS, SAVED_EVERY, FAILS_AT = 6, 2, 4


@dataclass
class Model:
    """Parameters of two dtypes, one of them without an axis."""

    w: np.ndarray
    b: np.ndarray


def model():
    rng = np.random.default_rng(1)
    return Model(rng.normal(size=(5, 3)).astype(np.float32), np.array(0.25))


def data(count=23):
    rng = np.random.default_rng(2)
    return rng.normal(size=(count, 5)), rng.normal(size=(count, 3))


def loss(params, x, y):
    error = np.tanh(x @ params.w) + params.b - y
    return np.mean(error**2), {
        "error": np.mean(np.abs(error)),
        "half": np.float16(0.5),
        "turn": 1 + 2j,
        "long": LONG,
    }


whole = tape.value_and_grad(loss, has_aux=True)


def assert_near(found, expected, least=0.0):
    for a, b in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        tolerance = max(
            least, {"e": 1e-3, "f": 2e-6, "d": 1e-12, "D": 1e-12, "g": 1e-15}[np.asarray(b).dtype.char]
        )
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def gradients_are_those_of_the_global_batch():
    params, everything = model(), data()
    for threads in (1, 2):
        step = distributed.data_parallel(whole, threads=threads)
        for size in (8, 2, 23):  # of 2 a rank has no sample, in the first call of a function, too
            fresh = distributed.data_parallel(whole, threads=threads)
            parts = list(distributed.batches(everything, size, seed=3))
            globals_ = list(distributed.batches(everything, size, seed=3, rank=0, size=1))
            for part, batch in zip(parts, globals_, strict=True):
                result = step(params, *part)
                assert_near(result, whole(params, *batch))
                assert isinstance(result[1], Model)
                distributed.check_same(result)
                distributed.check_same((result, step(params, *part)))
            assert_near(fresh(params, *parts[-1]), whole(params, *globals_[-1]))


def order_does_not_depend_on_how_messages_are_cut():
    vectors = [
        np.random.default_rng(rank).normal(size=1001).astype(np.float32) for rank in range(world().size)
    ]
    expected = np.empty(1001, np.float32)
    _sums.ordered_sum(np.array(vectors), expected)
    with pytest.MonkeyPatch.context() as patch:
        for segment, small in [(1 << 22, 1 << 13), (1 << 22, 0), (64, 0), (400, 1 << 13)]:
            patch.setattr(_sums, "SEGMENT", segment)
            patch.setattr(_sums, "_SMALL", small)
            patch.setattr(_sums, "_SLICE", 16)
            mine = vectors[world().rank].copy()
            _sums.sum_over_ranks(world(), mine)
            np.testing.assert_array_equal(mine, expected)
    by_mpi = distributed.data_parallel(lambda p, x: x.sum(0), order="mpi")(0.0, vectors[world().rank][None])
    np.testing.assert_allclose(by_mpi, expected / world().size, rtol=1e-5, atol=1e-6)


def weights_may_count_other_things_than_samples():
    x, _ = data(7)
    mask = x[:, 0] > 0.3

    def masked_mean(params, x, mask):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sum(x[:, 1] * mask) / np.sum(mask)  # NaN where all is masked

    mine, mask_of_mine = distributed.shard((x, mask))
    if distributed.is_root():
        mask_of_mine = mask_of_mine & False
    everything = np.concatenate([np.zeros(len(mine), bool), mask[len(mine) :]]) if world().rank == 0 else None
    everything = distributed.broadcast(everything)
    step = distributed.data_parallel(masked_mean, weight=lambda params, x, mask: np.sum(mask))
    assert step(0.0, mine, mask_of_mine) == pytest.approx(masked_mean(0.0, x, everything), rel=1e-13)


def trees_are_broadcast_and_gathered():
    mine = world().rank
    sent = {
        "model": model(),
        "generator": np.random.default_rng(5),
        "optimizer": tape.optim.Adam([np.ones(3)]),
        "names": ("a", None),
        "empty": np.zeros((0, 2)),
        "turned": np.arange(6.0).reshape(2, 3).T,
    }
    last = world().size - 1
    got = distributed.broadcast(sent if mine == last else None, root=last)
    np.testing.assert_array_equal(got["model"].w, model().w)
    np.testing.assert_array_equal(got["turned"], sent["turned"])
    assert got["generator"].random() == np.random.default_rng(5).random()
    assert got["names"] == ("a", None)
    assert got["empty"].shape == (0, 2)
    everything = np.arange(14).reshape(7, 2)
    gathered = distributed.gather((distributed.shard(everything), mine, everything[:mine]))
    np.testing.assert_array_equal(gathered[0], everything)
    np.testing.assert_array_equal(gathered[1], range(world().size))
    assert len(gathered[2]) == sum(range(world().size))
    value = np.nan if mine == 0 else np.float32(mine)
    with np.errstate(all="raise"):
        found = distributed.mean(np.float32(value), weight=mine)
    assert found == pytest.approx((2 * world().size - 1) / 3, rel=1e-6)


def adam(p, g, state):
    """In the arithmetic of each dtype."""
    m, v, step = state
    step += 1
    kind = p.dtype.type
    m = kind(0.9) * m + kind(0.1) * g
    v = kind(0.999) * v + kind(0.001) * g**2
    return p - kind(0.01 / (1 - 0.9**step)) * m / (np.sqrt(v / kind(1 - 0.999**step)) + kind(1e-8)), (
        m,
        v,
        step,
    )


def adam_state(p):
    return np.zeros_like(p), np.zeros_like(p), 0


def sharded_updates_are_the_same_to_the_last_bit():
    params = model()
    alone = {name: (leaf, adam_state(leaf)) for name, leaf in vars(params).items()}
    optimizer = distributed.ShardedOptimizer(adam_state, adam, params)
    rng = np.random.default_rng(4)
    for number in range(4):
        gradient = tape.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(leaf.dtype), params)
        params = optimizer.step(params, gradient)
        for name in alone:
            p, state = alone[name]
            alone[name] = adam(p, getattr(gradient, name), state)
            np.testing.assert_array_equal(getattr(params, name), alone[name][0], strict=True)
        if number == 1:
            saved = optimizer.state()
            np.testing.assert_array_equal(saved["float32"][0], alone["w"][1][0].ravel())
            optimizer = distributed.ShardedOptimizer(adam_state, adam, params)
            optimizer.restore(saved)
    assert sum(leaf.size for leaf in tape.tree.leaves(optimizer._states["f"])[:1]) < params.w.size


def ranks_that_differ_are_named():
    mine, (x, y) = world().rank, distributed.shard(data())
    last = world().size - 1
    odd = model()
    if mine == last:
        odd.b = np.zeros(2)
    expected = rf"rank 0 has params\.b: float64\[\], rank {last} has params\.b: float64\[2\]"
    with pytest.raises(errors.RankError, match=expected):
        distributed.data_parallel(lambda p, x, y: np.mean(x))(odd, x, y)
    extra = {"loss": 1.0, "more": 2.0} if mine == last else {"loss": 1.0}
    with pytest.raises(
        errors.RankError, match=rf"rank 0 has no more, rank {last} has result\['more'\]: float"
    ):
        distributed.data_parallel(lambda p, x, y: extra)(0.0, x, y)
    drifting = model()
    step = distributed.data_parallel(lambda p, x, y: np.mean(x))
    step(drifting, x, y)
    if mine == last:
        drifting.w[3, 1] += 1e-6
    with pytest.raises(errors.RankError, match=rf"params: the numbers of rank {last} are not"):
        step(drifting, x, y)
    with pytest.raises(errors.RankError, match=r"the ranks do different things: .* in broadcast"):
        distributed.barrier() if mine == last else distributed.broadcast(None)
    with pytest.raises(errors.RankError, match="different roots"):
        distributed.broadcast(None, root=int(mine == last))
    with pytest.raises(errors.RankError, match=r"value: float64\[n, 2\], rank \d has value: float64\[n, 3\]"):
        distributed.gather(np.zeros((2, 2 + (mine == last))))
    with pytest.raises(errors.ShapeError, match="no samples on any rank"):
        distributed.data_parallel(whole)(model(), x[:0], y[:0])


def numbers(folder):
    gradients_are_those_of_the_global_batch()
    order_does_not_depend_on_how_messages_are_cut()
    weights_may_count_other_things_than_samples()
    trees_are_broadcast_and_gathered()
    sharded_updates_are_the_same_to_the_last_bit()
    ranks_that_differ_are_named()
    if distributed.is_root():
        print("numbers agree")


# ---- failures ------------------------------------------------------------------------------------


def run(folder, start, params, fails=lambda number: None):
    """The steps of a run that keeps its state, from one of them on."""
    number = start

    def gradient(params, x, y):
        fails(number)
        return whole(params, x, y)

    def save(number, state):
        path = folder / "state"
        path.with_suffix(".new").write_bytes(pickle.dumps((number, state)))
        path.with_suffix(".new").rename(path)

    step = distributed.data_parallel(gradient)
    batch = distributed.shard(data())
    with distributed.Keeper(save, every=SAVED_EVERY) as keep:
        for number in range(start + 1, STEPS + 1):
            _, gradients = step(params, *batch)
            params = tape.tree.map(lambda p, g: p - g.dtype.type(0.1) * g, params, gradients)
            keep(number, params)
    return params


def failing(how):
    def fails(number):
        if number == FAILS_AT and world().rank == 1:
            how()

    return fails


def raising():
    raise ValueError("a sample of rank 1 cannot be read")


def killed():
    (Path(sys.argv[1]) / "time").write_text(str(time.time()))
    os.kill(os.getpid(), signal.SIGKILL)


def fail_in_step(folder):
    run(folder, 0, model(), failing(raising))


def kill(folder):
    run(folder, 0, model(), failing(killed))


def fail_and_die(folder):
    """Fail, and die where the others wait for the rank that failed to end the run."""
    if world().rank == 1:
        world().failures._abort = killed
    fail_in_step(folder)


def fail_outside(folder):
    if world().rank == 1:
        raising()
    distributed.barrier()


def hanging():
    (Path(sys.argv[1]) / "time").write_text(str(time.time()))
    time.sleep(600)


def hang_in_step(folder):
    """The other ranks wait for rank 1 for some seconds."""
    with distributed.time_limit(3.0):
        run(folder, 0, model(), failing(hanging))


def hang_at_the_end(folder):
    """With the limit of the environment, where no rank waits in an operation."""
    world().failures.limit = 1.0
    distributed.barrier()
    if world().rank == 1:
        hanging()


def wait_in_time(folder):
    """Ranks that come late, but within the limit, and limits that end with their block."""
    with distributed.time_limit(30.0):
        if world().rank == 1:
            time.sleep(0.3)
        distributed.barrier()
        with distributed.time_limit(None):
            assert world().failures.limit is None
    assert world().failures.limit is None
    with pytest.MonkeyPatch.context() as patch:  # all ask at once, and all answer
        patch.setattr(_failures, "_ANSWERING", 30.0)
        world().failures._give_up("nothing", 0.2, set(range(world().size)) - {world().rank})
        distributed.barrier()


def end_early(folder):
    if world().rank != 1:
        distributed.barrier()


def differ(folder):
    params = model()
    params.w += world().rank // 2
    run(folder, 0, params)


def resume(folder):
    params = run(folder, *pickle.loads((folder / "state").read_bytes()))
    if distributed.is_root():
        (folder / "final").write_bytes(pickle.dumps(params))


if __name__ == "__main__":
    sys.modules["tests.ranks"] = sys.modules["__main__"]  # where pickled classes are found
    Model.__module__ = "tests.ranks"
    for name in sys.argv[2:]:
        globals()[name](Path(sys.argv[1]))
