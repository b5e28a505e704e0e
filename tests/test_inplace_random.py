"""Writing in place: programs of slices, views, updates and reads do what NumPy does to plain arrays.

What NumPy's views would show and a tape cannot raises. ``TAPE_RANDOM_PROGRAMS`` says how many programs are
tried.
"""

import os

import numpy as np

import tape
from tape import errors
from tests.oracles import assert_close, assert_same
from tests.tiers import takes_long

PROGRAMS = int(os.environ.get("TAPE_RANDOM_PROGRAMS", "600"))
SHAPES = [(4,), (3, 4), (2, 3, 2), (5,)]


# ---- random programs -----------------------------------------------------------------------------


def index_of(rng, shape):
    """Something that stands between brackets: ints, slices of all kinds, lists, None, Ellipsis."""
    parts = []
    for length in shape:
        kind = rng.integers(0, 7)
        if kind == 0:
            parts.append(int(rng.integers(-length, length)) if length else slice(None))
        elif kind == 1:
            parts.append(slice(None, None, -1))
        elif kind == 2:
            start, stop = sorted(rng.integers(0, length + 1, 2).tolist())
            parts.append(slice(start, stop))
        elif kind == 3:
            parts.append(slice(None, None, 2))
        elif kind == 4 and length:
            parts.append(rng.integers(0, length, rng.integers(1, 4)).tolist())
        else:
            parts.append(slice(None))
        if rng.random() < 0.3:
            break
    if rng.random() < 0.1:
        parts.append(...)
    if rng.random() < 0.1:
        parts.insert(0, None)
    return parts[0] if len(parts) == 1 else tuple(parts)


def element(a, rng):
    return a[index_of(rng, np.shape(a))]


def assign(a, index, value):
    """Write a value that does not overlap with what it is written to, or only lies one step away.

    NumPy reads what it has just written in others: ``a[::2] = a[:3]`` of 0, 1, 2, 3, 4 makes 1 of the 4.
    """
    a[index] = value


def add_to(a, index, value):
    a[index] += value


def add_in_place(a, b, arrays):
    result = a
    result += b
    if result is not a:  # of numbers, which are not changed
        arrays.append(result)


def rows_in_place(a):
    for row in a:
        row *= 0.9


READS = [
    *[element] * 4,
    lambda a, rng: a.reshape(-1),
    lambda a, rng: a.T,
    lambda a, rng: np.ravel(a),
    lambda a, rng: np.swapaxes(a, 0, -1),
    lambda a, rng: np.squeeze(a),
    lambda a, rng: a.copy(),
    lambda a, rng: a.flatten(),
    lambda a, rng: a[::-1],
    lambda a, rng: np.expand_dims(a, 0),
    lambda a, rng: a * 1.5,
    lambda a, rng: np.sin(a),
]
WRITES = [
    *[lambda a, b, rng, arrays: assign(a, index_of(rng, np.shape(a)), np.copy(element(b, rng)))] * 3,
    lambda a, b, rng, arrays: assign(a, slice(1, None), a[:-1]),
    lambda a, b, rng, arrays: assign(a, slice(None, -1), a[1:]),
    lambda a, b, rng, arrays: assign(a, index_of(rng, np.shape(a)), float(rng.normal())),
    lambda a, b, rng, arrays: add_to(a, index_of(rng, np.shape(a)), float(rng.normal())),
    lambda a, b, rng, arrays: add_to(a, index_of(rng, np.shape(a)), 0.1 * b.sum()),
    lambda a, b, rng, arrays: add_in_place(a, b, arrays),
    lambda a, b, rng, arrays: np.multiply(a, 0.5, out=a),
    lambda a, b, rng, arrays: np.add.at(a, rng.integers(0, len(a), 3), 0.5),
    lambda a, b, rng, arrays: np.copyto(a, b),
    lambda a, b, rng, arrays: np.put(a, [0, -1, 0], b),
    lambda a, b, rng, arrays: rows_in_place(a),
    lambda a, b, rng, arrays: a.sort() if rng.random() < 0.2 else a.fill(0.25),
]


def run(seed, x):
    """All arrays that a program has made, up to the step that NumPy refuses, and which that is."""
    steps = np.random.default_rng(seed)
    arrays = [x]
    for step in range(steps.integers(3, 14)):
        rng = np.random.default_rng(steps.integers(1 << 30))
        a, b = (arrays[rng.integers(len(arrays))] for _ in range(2))
        try:
            if rng.random() < 0.45:
                arrays.append(READS[rng.integers(len(READS))](a, rng))
            else:
                WRITES[rng.integers(len(WRITES))](a, b, rng, arrays)
        except errors.InPlaceError:
            raise
        except (ValueError, IndexError, TypeError, AttributeError):
            return arrays, step
    return arrays, None


def total(arrays):
    return sum((k + 1) * (a * a).sum() for k, a in enumerate(arrays))


def start_of(seed):
    x = np.random.default_rng([seed, 1]).normal(size=SHAPES[seed % 4])
    return np.asfortranarray(x) if seed % 5 == 0 else x


def result_of(f, *args):
    """What a function returns; None if it says that it cannot follow NumPy."""
    try:
        return f(*args)
    except errors.InPlaceError as error:
        if any(text in str(error) for text in ("Take the view again", "is a number", "layout in memory")):
            return None
        raise


def is_stale(array):
    return result_of(lambda: array.node.value) is None


@takes_long
def test_random_programs_do_what_numpy_does_or_say_that_they_cannot():
    ran = differentiated = 0
    for seed in range(PROGRAMS):
        x = start_of(seed)
        expected, refused_at = run(seed, x.copy("K"))
        trace, given = tape.Trace(), x.copy("K")
        found = result_of(run, seed, trace.param(given))
        if found is None:
            continue
        arrays, stopped_at = found
        assert (stopped_at, len(arrays)) == (refused_at, len(expected))
        for array, value in zip(arrays, expected, strict=True):
            if not is_stale(array):
                assert np.allclose(array.value, value, rtol=0, atol=1e-9), f"program {seed}"
        assert_same(given, x)  # nobody wrote to it
        if any(is_stale(array) for array in arrays):
            continue
        ran += 1
        root = total(arrays)
        if seed % 2 or not root.node.is_active:
            continue
        differentiated += 1
        direction = np.random.default_rng([seed, 2]).normal(size=x.shape)
        direction = np.array(direction, order="F" if seed % 5 == 0 else "C")
        moved = [x + step * direction for step in (1e-5, -1e-5)]
        up, down = (total(run(seed, end)[0]) for end in moved)
        (gradient,) = trace.backward_param_grads(root, unreached="zero")
        tangent = trace.jvp(root, {trace.params[0]: direction})
        assert_close(tangent, np.sum(gradient * direction), 1e-12)
        np.testing.assert_allclose(tangent, (up - down) / 2e-5, rtol=1e-5, atol=1e-5 * abs(up))
    assert ran > 0.4 * PROGRAMS
    assert differentiated > 0.15 * PROGRAMS


def run_of_batch(seed, xs):
    """What `run` makes of each example of a batch, and where it stopped."""
    stops = []

    def example(x):
        arrays, stopped_at = run(seed, x)
        stops.append(stopped_at)
        return arrays

    return tape.vmap(example)(xs), stops[0]


@takes_long
def test_random_programs_do_the_same_to_each_example_of_a_batch():
    ran = 0
    for seed in range(PROGRAMS // 2):
        xs = np.ascontiguousarray([start_of(seed) + k for k in range(3)])
        given = xs.copy()
        alone, stops = zip(*[run(seed, x.copy()) for x in xs], strict=True)
        for is_differentiated in (False, True):
            if is_differentiated:
                trace = tape.Trace()
                found = result_of(run_of_batch, seed, trace.param(given))
            else:
                found = result_of(run_of_batch, seed, given)
            if found is None or found[1] != stops[0]:  # more indices fit for a batch
                continue
            ran += 1
            for array, *values in zip(found[0], *alone, strict=True):
                if not (isinstance(array, tape.Var) and is_stale(array)):
                    array = array.value if isinstance(array, tape.Var) else array
                    assert np.allclose(array, np.stack(values), rtol=0, atol=1e-9), f"program {seed}"
            assert_same(given, xs)
    assert ran > 0.5 * PROGRAMS
