"""A data-parallel step on the ranks of this machine, measured, and a model of it on thousands of ranks.

    TAPE_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 mpiexec -n 2 --bind-to none python -m benchmarks.distributed

The model takes the times of a step on one rank, one by one, as they were measured, with their outliers; the
time for adding and checking as measured; and latency and bandwidth of a network, which are arguments.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import tape
from tape import distributed
from tape.distributed._agreement import Watched
from tape.distributed._layout import Layout
from tape.distributed._sums import SEGMENT, sum_over_ranks
from tape.distributed._world import world

LAYERS = (784, 512, 512, 10)
SECONDS = 4.0
"""For each thing that is measured."""


def make_params(rng: np.random.Generator) -> list[np.ndarray]:
    """Weights and biases in float32."""
    params = []
    for inputs, outputs in pairwise(LAYERS):
        params.append(rng.normal(0, inputs**-0.5, (inputs, outputs)).astype(np.float32))
        params.append(np.zeros(outputs, np.float32))
    return params


def loss(params: Sequence[Any], x: np.ndarray, labels: np.ndarray) -> Any:
    """Mean cross-entropy of a network with two hidden layers."""
    for w, b in zip(params[:-2:2], params[1:-2:2], strict=True):
        x = np.maximum(x @ w + b, 0)
    return tape.ops.softmax_cross_entropy(x @ params[-2] + params[-1], labels)


def times_of(call: Callable[[], object], seconds: float, most: int = 400) -> np.ndarray:
    """Return the seconds of each of several calls, after one that does not count; as many on each rank."""
    call()
    start = time.perf_counter()
    call()
    count = int(np.clip(seconds / (time.perf_counter() - start), 5, most))
    times = np.empty(distributed.broadcast(count))
    for k in range(len(times)):
        start = time.perf_counter()
        call()
        times[k] = time.perf_counter() - start
    return times


@dataclass
class Measured:
    """Seconds: of a step on one rank, on all ranks, and of parts of it."""

    compute: np.ndarray
    step: np.ndarray
    header: float
    check: float
    exchange: dict[str, dict[int, float]]
    add: float
    pack: float
    size: int


def measure(batch: int, seconds: float, share: float) -> Measured | None:
    """Measure on all ranks, and keep the quickest share; None on all but the root."""
    ranks, rng = world(), np.random.default_rng(0)
    params = make_params(rng)
    x, labels = rng.normal(size=(batch, LAYERS[0])).astype(np.float32), rng.integers(10, size=batch)
    f = tape.compile(tape.value_and_grad(loss))
    step = distributed.data_parallel(f)
    size = sum(p.size for p in params)
    compute, together = np.empty(0), np.empty(0)
    for _ in range(8):  # by turns, since the machine may have other work now and then
        compute = np.append(compute, times_of_root(lambda: f(params, x, labels), seconds / 4))
        together = np.append(together, times_of(lambda: step(params, x, labels), seconds / 4))
    header = _quick(times_of(distributed.barrier, seconds / 4))
    watched = Watched("params")
    check = _quick(times_of_root(lambda: watched.look(params), seconds / 4))
    exchange: dict[str, dict[int, float]] = {"fixed": {}, "mpi": {}}
    for nbytes in (4 << 10, 256 << 10, 4 << 20, 32 << 20):
        vector = np.zeros(nbytes // 4, np.float32)
        for order, by_mpi in [("fixed", False), ("mpi", True)]:
            call = lambda v=vector, m=by_mpi: sum_over_ranks(ranks, v, by_mpi=m)  # noqa: E731
            exchange[order][nbytes] = _quick(times_of(call, seconds / 8, 100))
    a, b = np.zeros(SEGMENT // 4, np.float32), np.zeros(SEGMENT // 4, np.float32)
    add = _quick(times_of_root(lambda: np.add(a, b, out=a), seconds / 8)) / SEGMENT
    leaves, structure = tape.tree.flatten(params)
    layout = Layout(leaves, structure, "gradient")
    pack = _quick(times_of_root(lambda: layout.pack(leaves, 0.5, layout.vectors(), 0), seconds / 8))
    if not distributed.is_root():
        return None
    compute, together = (np.sort(t)[: max(5, round(share * len(t)))] for t in (compute, together))
    return Measured(compute, together, header, check, exchange, add, pack, 4 * size)


def times_of_root(call: Callable[[], object], seconds: float) -> np.ndarray:
    """Return the times of calls on root, while the other ranks wait."""
    times = np.empty(0)
    if distributed.is_root():
        call()
        end = time.perf_counter() + seconds
        found = []
        while time.perf_counter() < end and len(found) < 400:
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
        times = np.array(found)
    distributed.barrier()
    return times


def model(
    measured: Measured,
    ranks: int,
    latency: float,
    bandwidth: float,
    order: str,
) -> tuple[float, float, float]:
    """Return seconds of a step on so many ranks: computing on the slowest one, agreeing, and exchanging.

    Fixed order: each rank sends a slice to each other one, adds what it gets, and sends the sum to all, in
    rounds of one message. By MPI: halving and doubling (Rabenseifner 2004), in a logarithmic number.
    """
    times = np.sort(measured.compute)
    is_below = (np.arange(len(times) + 1) / len(times)) ** ranks  # each of so many draws
    slowest = float(times @ np.diff(is_below)) + measured.check
    if ranks == 1:
        return slowest, 0.0, 0.0
    rounds = math.ceil(math.log2(ranks))
    header = rounds * latency + 32 * ranks / bandwidth
    share = measured.size * (1 - 1 / ranks)
    segments = math.ceil(measured.size / max(SEGMENT, 65536 * ranks))
    messages = 2 * rounds if order == "mpi" else 2 * (ranks - 1) * segments
    return slowest, header, messages * latency + 2 * share / bandwidth + share * measured.add + measured.pack


def report(measured: Measured, latency: float, bandwidth: float) -> None:
    """Print what was measured, and the model for more ranks."""
    count, middle = distributed.size(), np.median(measured.compute)
    together = np.median(measured.step)
    print(f"{measured.size / 1e6:.2f} MB of gradients; ms, medians of {len(measured.step)} steps")
    print(f"step on one rank alone   {1e3 * middle:8.2f}  (quartiles {_quartiles(measured.compute)})")
    print(f"step on {count} ranks at once {1e3 * together:8.2f}  (quartiles {_quartiles(measured.step)})")
    print(f"efficiency               {middle / together:8.0%}")
    print(f"header of a step         {1e3 * measured.header:8.3f}")
    print(f"copy into one vector     {1e3 * measured.pack:8.3f}")
    print(f"check of a block         {1e3 * measured.check:8.3f}")
    for nbytes in measured.exchange["fixed"]:
        fixed, mpi = (1e3 * measured.exchange[order][nbytes] for order in ("fixed", "mpi"))
        print(f"sum of {nbytes >> 10:6d} KiB        {fixed:8.3f}  by MPI {mpi:8.3f}")
    print(f"\nmodel: latency {1e6 * latency:g} us, {bandwidth / 1e9:g} GB/s a rank")
    print("              ms                ms          ms                 ms")
    print(" ranks   compute    agree    fixed   eff.   by MPI   eff.  overlapped   eff.")
    one = sum(model(measured, 1, latency, bandwidth, "mpi"))
    for ranks in (1, 2, 8, 64, 512, 4096):
        slowest, header, fixed = model(measured, ranks, latency, bandwidth, "fixed")
        mpi = model(measured, ranks, latency, bandwidth, "mpi")[2]
        hidden = max(0.0, mpi - slowest * 2 / 3)  # behind the backward part
        cells = [
            f"{1e3 * exchange:8.2f} {one / (slowest + header + exchange):6.0%}"
            for exchange in (fixed, mpi, hidden)
        ]
        print(f"{ranks:6d} {1e3 * slowest:9.2f} {1e3 * header:8.3f} {' '.join(cells)}")


def _quick(times: np.ndarray) -> float:
    return float(np.quantile(times, 0.1)) if len(times) else 0.0  # of other ranks than the root


def _quartiles(times: np.ndarray) -> str:
    return " to ".join(f"{1e3 * q:.2f}" for q in np.quantile(times, [0.25, 0.75]))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure on the ranks that there are, and print the model on root."""
    parser = argparse.ArgumentParser(description="A data-parallel step, measured and modelled.")
    parser.add_argument("--batch", type=int, default=128, help="samples of each rank (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each measurement (%(default)s)")
    parser.add_argument("--latency", type=float, default=2.0, help="us of a message (%(default)s)")
    parser.add_argument("--bandwidth", type=float, default=12.5, help="GB/s of a rank (%(default)s)")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the steps that counts, the quickest (%(default)s)"
    )
    options = parser.parse_args(argv)
    measured = measure(options.batch, options.seconds, options.share)
    if measured is not None:
        report(measured, options.latency * 1e-6, options.bandwidth * 1e9)


if __name__ == "__main__":
    main()
