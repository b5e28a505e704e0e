"""Many machines: data-parallel training under MPI and in threads, and sweeps over processes.

A program started by ``mpiexec -n 4 python program.py`` runs as four ranks; started without, it is the only
rank, and the same code computes the same, but for rounding. See ``docs/distributed.md``.
"""

from tape.distributed._agreement import check_same
from tape.distributed._collect import broadcast, gather, mean
from tape.distributed._keeper import Keeper
from tape.distributed._map import map
from tape.distributed._parallel import DataParallel, data_parallel
from tape.distributed._sharded import ShardedOptimizer
from tape.distributed._shards import batches, shard
from tape.distributed._world import barrier, is_root, rank, size, time_limit

__all__ = [
    "DataParallel",
    "Keeper",
    "ShardedOptimizer",
    "barrier",
    "batches",
    "broadcast",
    "check_same",
    "data_parallel",
    "gather",
    "is_root",
    "map",
    "mean",
    "rank",
    "shard",
    "size",
    "time_limit",
]
