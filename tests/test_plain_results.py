"""What plain NumPy computes of arrays that are closed over follows them when they are changed in place."""

import functools
import math
import warnings

import numpy as np
import pytest

import tape
from tape import errors
from tape.program.calls.arrays import Arrays, is_all_new, place_of
from tape.program.calls.binding import Binding
from tests.tiers import takes_long

LARGE = (60, 50)


def _in_a_loop(x, k):
    part = np.cos(k[:3])
    return tape.scan(lambda carry, row: (carry * part + row, carry), x, np.ones((3, 3)))[0]


def _gradient(x, k):
    return tape.grad(lambda x: np.sum(np.tanh(x * np.exp(-(k[:3] ** 2)))))(x)


FORMS = {
    "elements": lambda x, k: x * np.sin(k).ravel()[:3],
    "an item": lambda x, k: x * k.flat[0] if k.ndim > 1 else x * k[0],
    "a sum": lambda x, k: x * k.sum(),
    "a norm": lambda x, k: x / np.linalg.norm(k),
    "an axis": lambda x, k: x * np.std(k, axis=0)[..., None],
    "a mask": lambda x, k: np.where(np.sin(k.ravel()[:3]) > 0, x, 2 * x),
    "indices": lambda x, k: x[np.argsort(np.sin(5 * k.ravel()[:3]))],
    "a result": lambda x, k: (x * 2, np.abs(k) + 1, k.sum()),
    "beside it": lambda x, k: x @ np.eye(3) * k.ravel()[:3] + np.abs(k).max(),
    "a loop of Python": lambda x, k: sum([x * part for part in k.ravel()[:3]]),
    "a body": lambda x, k: tape.while_loop(lambda s: s[0] < 9, lambda s: s + np.abs(k.ravel()[:3]) + 1, x),
    "a branch": lambda x, k: tape.cond(x[0] > 0, lambda x: x * np.square(k.ravel()[:3]), lambda x: x, x),
    "a batch": lambda x, k: tape.vmap(lambda e: e * np.sin(k.ravel()[:3]))(x),
    "a loop": lambda x, k: _in_a_loop(x, k.ravel()),
    "a gradient": lambda x, k: _gradient(x, k.ravel()),
}


@takes_long
@pytest.mark.parametrize("layout", ["small", "large", "a column", "read-only view"])
@pytest.mark.parametrize("name", FORMS)
def test_results_of_plain_numpy_follow_arrays_that_are_changed_in_place(name, layout):
    base = np.random.default_rng(3).normal(size=(3,) if layout == "small" else LARGE)
    k = base[:, 2] if layout == "a column" else base.view()
    k.flags.writeable = layout != "read-only view"
    form, x = FORMS[name], np.array([1.0, -1.0, 2.0])
    compiled = tape.compile(lambda x: form(x, k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PathLimitWarning)
        for step in range(6):
            for _ in range(2):
                found, expected = compiled(x + step), form(x + step, k)
                for a, b in zip(
                    *[out if isinstance(out, tuple) else (out,) for out in (found, expected)], strict=True
                ):
                    np.testing.assert_allclose(a, b, rtol=1e-12)
            base += [0.5, 1.0, -2.0][step % 3]


def number_of_python(k):
    return lambda x: x * float(k.sum()) + int(np.abs(k).max())


def branch_of_python(k):
    return lambda x: x * 2 if k.sum() > 0 else x * 3


def branch_by_another_name(k):
    def f(x):
        held = k
        if held[0] > 0 and x.ndim:
            return x * 2
        return x

    return f


def steps_of_python(k):
    def f(x):
        largest = 0
        while np.abs(k).max() > largest:
            x, largest = x * 1.5, largest + 1
        return x

    return f


def only_on_one_path(k):
    return lambda x: x * np.exp(k) if x[0] > 5 else x


def number_of_math(k):
    return lambda x: x * math.exp(k[0]) + k.item(1)


def branch_by_what_was_computed(k):
    def f(x):
        total = k.sum()
        return x if total > 0 else -x

    return f


def branch_on_each(k):
    def f(x):
        for part in k:
            if part > 0:
                x = x * 2
        return x

    return f


def index(k):
    return lambda x: x[int(abs(k[0])) % 2] * np.arange(2.0)[np.argsort(k)]


def integers_of_an_array(k):
    return lambda x: x + sum([x * i for i in range(round(abs(k[1])))])


def one_of_several_elements(k):
    return lambda x: x * k[1] + np.maximum(k, 0) + np.sign(k[0])


def in_a_dict(k):
    held = {"k": k}
    return lambda x: x - float(held["k"][0]) * x


def in_a_tuple(k):
    held = (k, 1)
    return lambda x: 2 * x if held[0][0] > 0 else x


def in_a_partial(k):
    return functools.partial(lambda k, x: x * np.sin(k), k)


READERS = [
    number_of_python, branch_of_python, branch_by_another_name, steps_of_python, only_on_one_path,
    number_of_math, branch_by_what_was_computed, branch_on_each, index, integers_of_an_array,
    one_of_several_elements, in_a_dict, in_a_tuple, in_a_partial,
]  # fmt: skip


@takes_long
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_what_python_reads_of_an_array_by_its_name_follows_it(reader, frozen):
    """Also of one that cannot be written to while it is recorded; one element may change, or all."""
    k, x = np.array([0.5, -2.0]), np.array([1.0, 3.0])
    f = reader(k)
    compiled, slope = tape.compile(f), tape.compile(tape.grad(lambda x: np.sum(f(x))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PathLimitWarning)
        for step in range(12):
            k.flags.writeable = not frozen
            for _ in range(2):
                np.testing.assert_allclose(compiled(x + step), f(x + step), rtol=1e-12)
                np.testing.assert_allclose(slope(x), tape.grad(lambda x: np.sum(f(x)))(x), rtol=1e-12)
            k.flags.writeable = True
            k[[0, 1, slice(None)][step % 3]] += [0.5, 1.5, -1.7, -1.0][step % 4]


ROUNDED = {
    "int": lambda k, x: x * (int(k[0]) // 10),
    "float": lambda k, x: x + float(k[0] > 10.0),
    "index": lambda k, x: x[int(k[0]) // 10],
}


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("times", [3, 5])
def test_a_number_of_python_that_stays_a_few_times_is_no_evidence(name, times):
    k, x = np.array([0.5, 2.5]), np.array([1.0, 3.0])
    f = lambda x: ROUNDED[name](k, x)  # noqa: E731
    compiled = tape.compile(f)
    for draw in np.random.default_rng(0).uniform(1.0, 9.0, (times, 2)):
        np.testing.assert_array_equal(compiled(x), f(x))
        k[...] = draw
    np.testing.assert_array_equal(compiled(x), f(x))
    k += [10.0, 3.0]
    np.testing.assert_array_equal(compiled(x), f(x))


def test_arrays_that_nothing_was_computed_of_need_one_program():
    w = np.ones((3, 3))
    scaled = tape.compile(lambda x: w @ x * np.sqrt(2.0))
    plain = tape.compile(lambda x: np.tanh(w @ x) * 2.0 if w.ndim == 2 else x)
    x = np.array([1.0, 2.0, 3.0])
    for step in range(40):
        np.testing.assert_allclose(scaled(x), w @ x * np.sqrt(2.0))
        np.testing.assert_allclose(plain(x), np.tanh(w @ x) * 2.0)
        w -= 0.01 * (step + 1) * np.sin(np.arange(1, 10).reshape(3, 3))
    assert [len(c.programs) for c in (scaled, plain)] == [1, 1]


INVARIANCES = {
    "signs": (lambda k: np.exp(-np.abs(k)), lambda k, step: -k),
    "one sign": (lambda k: np.exp(-np.abs(k[:1])), lambda k, step: -k),
    "squares": (lambda k: np.linalg.norm(k), lambda k, step: k * [1, -1, -1, 1][step % 4]),
    "order": (lambda k: np.array([k.mean(), k.max()]), lambda k, step: np.roll(k, 1)),
    "sorted": (np.sort, lambda k, step: np.roll(k, 1)),
    "shift": (np.diff, lambda k, step: k + 1.0),
    "spread": (np.ptp, lambda k, step: k + (step + 1)),
    "scale": (lambda k: k / k.sum(), lambda k, step: k * 2),
    "unit": (lambda k: k / np.linalg.norm(k), lambda k, step: k * 2.0 ** (step % 3 + 1)),
    "complex": (lambda k: np.abs(np.exp(1j * k)) * np.max(np.abs(k)), lambda k, step: -k),
}


@pytest.mark.parametrize("name", INVARIANCES)
def test_a_change_that_plain_numpy_often_does_not_see_says_nothing(name):
    result, change = INVARIANCES[name]
    k = np.array([0.5, 2.0, -1.25, 4.0])
    f = lambda x: x * result(k)  # noqa: E731
    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PathLimitWarning)
        for step in range(14):
            np.testing.assert_allclose(compiled(1.5), f(1.5), rtol=1e-12)
            k[...] = change(k, step)
        for factor in (1.1, -0.3):
            k *= np.array([1.0, 2.0, 3.0, 4.0]) * factor
            np.testing.assert_allclose(compiled(1.5), f(1.5), rtol=1e-12)


def test_masks_of_constants_and_branches_on_data_need_few():
    w = np.ones((3, 3))
    masked = tape.compile(lambda x: (np.tri(3) * x) @ w)
    branching = tape.compile(lambda x: x @ w if np.sum(x @ w) > 0 else -x)
    x = np.array([1.0, 2.0, 3.0])
    for step in range(40):
        np.testing.assert_allclose(masked(x), (np.tri(3) * x) @ w)
        np.testing.assert_allclose(branching(x), x @ w if np.sum(x @ w) > 0 else -x)
        w += 0.01 * (step + 1) * np.cos(np.arange(9).reshape(3, 3) / 8)
    assert [len(c.programs) for c in (masked, branching)] == [1, 1]


def test_arrays_that_change_in_every_call_are_a_warning_in_the_end():
    k = np.ones(2)
    compiled = tape.compile(lambda x: x * np.exp(k), max_paths=4)

    def calls():
        for _ in range(120):
            np.testing.assert_array_equal(compiled(2.0), 2.0 * np.exp(k))
            np.add(k, 0.01, out=k)

    with pytest.warns(errors.PathLimitWarning, match="reads 'k', which has been changed in place 4 times"):
        calls()


def test_what_is_known_of_an_array_is_not_taken_for_another_one_in_its_place():
    k = np.zeros(3)
    one, other = (
        Arrays([Binding("global", {name: k}, name, k)]).contents[id(k)] for name in ("one", "other")
    )
    assert place_of(one) != place_of(other)


def test_a_nan_that_stays_is_no_change():
    k = np.array([np.nan, 1.0])
    content = Arrays([Binding("global", {"k": k}, "k", k)]).contents[id(k)]
    k[1] = 2.0
    assert not content.holds()
    assert not is_all_new(content)
    k[0] = 3.0
    assert is_all_new(content)
