"""Numbers at which compiled functions do something else, and what they do on either side of each."""

import numpy as np
import pytest

import tape
from tape import errors

X = np.ones(2)


def counting_up(x, n):
    k = 0
    while k < n:
        k += 1
    return x * k


def comparing(times):
    return lambda x, n: x * sum(n > k for k in range(times))


def stepping(x, n):
    return tape.while_loop(lambda s: s[1] < n, lambda s: (np.sin(s[0]), s[1] + 1), (x, 0))[0]


def of_buckets(x, n):
    return x + next(k for k in range(30) if n < 10 * k)


# A function of an array and a number, the numbers of its calls, and how many programs there are after each.
CALLS = {
    "ints": (
        lambda x, n: x * n, [3, 4, 5, -7, 2**31 - 1, 1 - 2**31, 2**31, 2**31 + 1, -(2**31)],
        [1, 1, 1, 1, 1, 1, 2, 3, 4],
    ),
    "powers of ints": (lambda x, n: x * n**64, [0, 1, -1, 0], [1, 1, 1, 1]),
    "higher powers of ints": (lambda x, n: x * n**65, [0, 1, -1, 0], [1, 2, 3, 3]),
    "comparisons": (comparing(64), [1000, 1001, 1002, 1003], [1, 1, 1, 1]),
    "more comparisons": (comparing(65), [1000, 1001, 1002, 1003], [1, 2, 3, 4]),
    "counting up": (counting_up, [3, 4, 5, 6, 62, 63, 64, 65, 66], [1, 1, 2, 3, 4, 5, 1, 2, 3]),
    "paths": (
        of_buckets, [*[10 * k + 5 for k in range(17)], *[10 * k + 6 for k in range(3)]],
        [1, *range(1, 17), 1, 2, 3],
    ),
    "steps": (
        stepping, [3.0, 63.0, 64.0, 65.0, 256.0, 257.0, 1024.0, 1025.0, 2.0], [1, 1, 1, 2, 2, 3, 3, 4, 4],
    ),
    "derivatives of steps": (
        lambda x, n: tape.grad(lambda x: np.sum(stepping(x, n)))(x),
        [3.0, 63.0, 64.0, 65.0, 256.0, 257.0, 2.0], [1, 1, 1, 2, 2, 3, 3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_how_many_programs_there_are(name):
    f, given, expected = CALLS[name]
    compiled, found = tape.compile(f), []
    for n in given:
        np.testing.assert_allclose(compiled(X, n), f(X, n), rtol=1e-13)
        found.append(len(compiled.programs))
    assert found == expected


@pytest.mark.parametrize("kind", [tuple, list, dict])
@pytest.mark.parametrize("depth", [1, 49, 50, 51, 120, 250])
def test_results_may_be_deep(kind, depth):
    """Deeper than what Python reads as one expression, too."""

    def f(x):
        result = (x, 2 * x[0])
        for _ in range(depth):
            result = {"a": result} if kind is dict else kind([result])
        return result

    compiled = tape.compile(f)
    for n in (2.0, 3.0, 4.0):
        found = compiled(n * X)
        for _ in range(depth):
            assert type(found) is kind
            assert len(found) == 1
            found = found["a"] if kind is dict else found[0]
        np.testing.assert_array_equal(found[0], n * X)
        assert found[1] == 2 * n
    assert len(compiled.programs) == 1


def test_keys_of_programs_say_what_they_are_for():
    def f(x, n, flag, more, *, k=2.0):
        if x[0] > 0 and int(np.sum(x)) > 1:
            x = x * 2
        return x * n + k + more["a"] if flag else x

    compiled = tape.compile(f)
    wide = np.ones((1, 2), "f4")
    compiled(X, 3, True, {"a": 1.5, "b": ["t", None]})
    for n in (4, 5):
        compiled(X, n, True, {"a": np.float32(1.5), "b": ["t", None]}, k=wide)
    compiled(-X, 5, False, {"a": 1j, "b": ["t", None]})
    assert [*map(repr, compiled.programs)] == [
        "f(float64[2], 3, True, {'a': float, 'b': ['t', None]}) reading True, 2",
        "f(float64[2], int, True, {'a': float32, 'b': ['t', None]}, k=float32[1, 2]) reading True, 2",
        "f(float64[2], int, False, {'a': complex, 'b': ['t', None]}) reading False",
    ]
    key = next(iter(compiled.programs))
    with pytest.raises(errors.MissingAttributeError, match="a key of programs has no 'flops'"):
        key.flops  # noqa: B018
    assert not hasattr(key, "_flops")
    plain = tape.compile(lambda x: x + 1)
    plain(X)
    assert [*map(repr, plain.programs)] == ["<lambda>(float64[2])"]


def test_integers_beside_complex_numbers_go_through_vectors():
    tree = {"i": np.arange(3), "z": 1j}
    vector, unravel = tape.tree.ravel(tree)
    np.testing.assert_array_equal(vector, [0, 1, 2, 1j])
    found = unravel(2 * vector)
    np.testing.assert_array_equal(found["i"], [0, 2, 4])
    assert (found["i"].dtype, found["z"]) == (np.arange(3).dtype, 2j)
    with pytest.raises(errors.DTypeError, match="complex128 rounds"):
        tape.tree.ravel({"i": np.array([2**53 + 1]), "z": 1j})
    for wrong in (vector + 0.5, vector + 1j):
        with pytest.raises(errors.DTypeError, match=r"tree\['i'\] is of int64, which cannot hold"):
            unravel(wrong)
