"""Compiled functions that draw from generators that programs know nothing of: each call draws anew."""

import random
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import tape
from tape import errors


def drawing_from_numpy():
    rng = np.random.default_rng(0)
    return lambda: rng.normal()


def drawing_from_the_generator_of_numpy():
    np.random.seed(0)  # noqa: NPY002
    return lambda: np.random.normal()  # noqa: NPY002


def drawing_from_that_of_python():
    random.seed(0)
    return lambda: random.gauss(0.0, 1.0)


def drawing_from_a_bound_method():
    return random.Random(0).random


def drawing_from_an_attribute():
    class Noise:
        def __init__(self):
            self.state = np.random.RandomState(0)

        def __call__(self):
            return self.state.rand()

    return Noise()


def drawing_in_another_thread():
    rng, pool = tape.random.default_rng(0), ThreadPoolExecutor(1)
    return lambda: pool.submit(lambda: rng.normal()).result()


def drawing_from_a_generator_of_tape():
    rng = tape.random.default_rng(0)
    return lambda: rng.normal()


def drawing_by_imports_inside():
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002

    def draw():
        import random as from_python

        import numpy.random as from_numpy
        from numpy.random import normal

        return from_python.random() + normal() + from_numpy.rand()  # noqa: NPY002

    return draw


def drawing_by_scipy():
    np.random.seed(0)  # noqa: NPY002
    return lambda: stats.norm.rvs()


DRAWING = [make for name, make in list(globals().items()) if name.startswith("drawing_")]


@pytest.mark.parametrize("again", [lambda n: n, range])
@pytest.mark.parametrize("make", DRAWING)
def test_random_numbers_are_those_of_plain_python(make, again):
    def drawn(wrap):
        draw = make()
        f = wrap(lambda x, n: x * draw() + (again(n) is None))
        return [f(np.ones(2), n) for n in (1, 2, 1, 2, 3, 4)]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", errors.NotCompiledWarning)
        found = drawn(tape.compile)
    if again is not range:  # of which each number has a program
        is_warned = any("draws from a generator" in str(one.message) for one in caught)
        assert is_warned == (make is not drawing_from_a_generator_of_tape)
    np.testing.assert_array_equal(found, drawn(lambda f: f))
