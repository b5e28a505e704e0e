"""One-dimensional signals."""

import numpy as np

from tests.op_table.case import Argument, Case, Domain, call, complexes, real


def _at_offset(offset: float, spread: float) -> Domain:
    """Whole numbers in random order, each moved by so much, and by a random amount besides."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        count = int(np.prod(shape))
        whole = rng.permutation(count).reshape(shape)
        return np.asarray(whole + offset + rng.uniform(-spread, spread, shape))

    return lambda *shape: Argument(shape, draw)


between = _at_offset(-0.5, 0.1)  # of the knots: the first before all of them
knots = Argument((4,), lambda rng, shape: np.arange(4) + rng.uniform(-0.1, 0.1, shape))
shuffled_knots = _at_offset(0.0, 0.1)
phases = Argument((2, 4), lambda rng, s: rng.uniform(0.5, 2.5, s) + rng.integers(-1, 2, s) * 2 * np.pi)

# "ints" marks what NumPy computes in double precision whatever comes in.

CASES = [
    *(Case(f"convolve {mode} {n},{m}", call("convolve", mode=mode), real(n), real(m))
      for mode, n, m in (("full", 4, 3), ("full", 2, 5), ("same", 5, 2), ("same", 3, 4), ("valid", 5, 3),
                         ("valid", 2, 4), ("full", 1, 1))),
    Case("convolve complex", call("convolve"), complexes(3), complexes(2)),
    Case("convolve complex by real valid", call("convolve", mode="valid"), complexes(4), real(2)),
    *(Case(f"correlate {mode} {n},{m}", call("correlate", mode=mode), real(n), real(m))
      for mode, n, m in (("full", 4, 3), ("full", 2, 5), ("same", 5, 2), ("same", 3, 4), ("valid", 5, 3),
                         ("valid", 2, 4))),
    Case("convolve 0d", call("convolve"), real(), real(2)),
    Case("correlate complex", call("correlate", mode="full"), complexes(3), complexes(2)),
    Case("correlate complex same", call("correlate", mode="same"), complexes(2), complexes(4)),
    Case("correlate complex valid", call("correlate"), complexes(4), complexes(2)),
    Case("interp like ints", call("interp"), between(5), knots, real(4)),
    Case("interp (2,3) like ints", call("interp"), between(2, 3), knots, real(4)),
    Case("interp 0d like ints", lambda ns, x, fp: ns.interp(x + 1, [0.0, 1.0], fp), between(), real(2)),
    Case("interp ends like ints", lambda ns, x, xp, fp, end: ns.interp(x, xp, fp, end, 2.0),
         between(5), knots, real(4), real()),
    Case("interp period like ints", lambda ns, *args: ns.interp(*args, period=4.0),
         between(3), shuffled_knots(4), real(4)),
    Case("interp one knot like ints", lambda ns, x, fp: ns.interp(x, [0.25], fp), between(3), real(1)),
    Case("interp empty like ints", lambda ns, x, fp: ns.interp(x, [0.0, 1.0], fp), real(0), real(2)),
    Case("interp complex like ints", call("interp"), between(5), knots, complexes(4)),
    Case("unwrap", call("unwrap"), phases),
    Case("unwrap axis=0", lambda ns, x: ns.unwrap(x, axis=0), phases),
    Case("unwrap period", lambda ns, x: ns.unwrap(x, 3.5, period=5.0), phases),
]  # fmt: skip
