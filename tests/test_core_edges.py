"""Edges of the core: seeds, contributions to adjoints, models as params, empty batches, patterns of zeros."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import streams
from tape.core.cotangents import check_cotangent
from tape.core.fitting import fit, widened

# ---- seeds and tangents ------------------------------------------------------------------------------------


def checked(given, value):
    return check_cotangent(tape.Trace(), given, value, "the seed")


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "c8"])
@pytest.mark.parametrize(
    "given",
    [
        2.0, 3, True, np.float32(0.5), np.int8(-1), np.array(7), np.array([1.5, -2.0]), [1, 2], (0.5, True),
        np.array([1, 0], bool), np.array([1.0, 2], ">f8"), np.array([1, 2, 3, 4])[::2],
    ],
)  # fmt: skip
def test_seeds_become_arrays_of_the_dtype_of_what_they_are_for(given, dtype):
    value = np.zeros(np.shape(given), dtype)[()]
    found = checked(given, value)
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    assert isinstance(found, np.ndarray) is bool(found.ndim)
    np.testing.assert_array_equal(found, np.asarray(given).astype(dtype))


def test_a_seed_that_fits_is_taken_as_it_is():
    for dtype in ("f8", "f4", "c16"):
        seed = np.ones(3, dtype)
        assert checked(seed, np.zeros(3, dtype)) is seed
        assert checked(np.ones(3, "f2"), np.zeros(3, dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("given", "value", "words"),
    [
        (1.0, np.int64(3), "the seed cannot be: int64 has no derivative"),
        (1.0, np.bool_(True), "the seed cannot be: bool has no derivative"),
        (np.ones(2), np.zeros(3), r"has shape \[2\]; without broadcasting, it needs \[3\]"),
        (np.ones((1, 3)), np.zeros(3), r"has shape \[1, 3\]"),
        (1.0, np.zeros(1), r"has shape \[\]"),
        (1j, np.float64(2), "is complex128, which does not convert to float64"),
        (np.ones(2, "c8"), np.zeros(2, "f4"), "is complex64, which does not convert to float32"),
        ("text", np.float64(1), "the seed is"),
        (None, np.float64(1), "the seed is"),
        (np.array([None, 1]), np.zeros(2), "the seed is object"),
        (np.nan, np.float64(1), "holds NaN"),
        (complex(0, np.nan), np.complex128(1), "holds NaN"),
        (np.float32(np.nan), np.float64(1), "holds NaN"),
    ],
)
def test_seeds_that_do_not_fit(given, value, words):
    with pytest.raises(errors.SeedError, match=words):
        checked(given, value)


@pytest.mark.parametrize("size", [1, 2, 9_999, 10_000, 10_001, 20_000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_one_nan_anywhere_is_seen(dtype, size):
    seed, value = np.ones(size, dtype), np.zeros(size, dtype)
    for place in {0, size // 2, size - 1}:
        seed[place] = np.nan
        with pytest.raises(errors.SeedError, match="holds NaN"):
            checked(seed, value)
        seed[place] = 1e30
        assert checked(seed, value) is seed
        if dtype != "c16":
            seed[place] = -np.inf
            assert checked(seed, value) is seed


def test_a_seed_on_the_trace_that_is_swept_is_refused_and_one_of_an_outer_trace_is_converted():
    trace, outer = tape.Trace(), tape.Trace()
    x, y = trace.param(np.ones(2)), outer.param(np.ones(2, np.float32))
    with pytest.raises(errors.TraceMismatchError, match="the seed is on the trace it is swept over"):
        check_cotangent(trace, x, np.zeros(2), lambda: "the seed")
    found = check_cotangent(trace, y, np.zeros(2), "the seed")
    assert (type(found), found.dtype) == (type(y), np.float64)
    same = check_cotangent(trace, y, np.zeros(2, np.float32), "the seed")
    y[0] = 5.0
    np.testing.assert_array_equal(same.value, [1.0, 1.0])
    with pytest.raises(errors.SeedError, match=r"has shape \[2\]"):
        check_cotangent(trace, y, np.zeros(3), "the seed")


# ---- contributions to adjoints -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "like"),
    [
        ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), (2, 1)), ((2, 3), ()), ((4, 2, 3), (2, 1)),
        ((4, 2, 3), (1, 1, 1)), ((0, 3), (3,)), ((0, 3), (1, 3)), ((2, 0), (2, 1)), ((1, 3), (3,)),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("given", "wanted"), [("f8", "f8"), ("f8", "f4"), ("c16", "f8"), ("i8", "f8"), ("f4", "f8")]
)
def test_contributions_are_summed_to_what_they_are_for(shape, like, given, wanted):
    contribution = (np.arange(np.prod(shape)).reshape(shape) % 5).astype(given)
    if given == "c16":
        contribution = contribution + 2j
    found = fit(contribution, np.zeros(like, wanted))
    expected = np.zeros(like, given)
    for index in np.ndindex(shape):
        place = index[len(shape) - len(like) :]
        expected[tuple(k if n > 1 else 0 for k, n in zip(place, like, strict=True))] += contribution[index]
    assert (found.shape, found.dtype) == (like, np.dtype(wanted))
    np.testing.assert_array_equal(found, np.real(expected) if given == "c16" else expected)


@pytest.mark.parametrize(
    ("operand", "out", "wanted"),
    [
        ("f4", "f8", "f8"), ("f8", "f4", "f8"), ("f8", "f8", "f8"), ("f2", "f4", "f4"), ("i4", "f8", "f8"),
        ("u1", "f4", "f4"), ("c8", "c16", "c16"), ("c16", "c8", "c16"), ("f4", "c16", "f4"), ("?", "f8", "?"),
        ("i8", "c16", "c16"), ("f8", "c8", "f8"),
    ],
)  # fmt: skip
def test_operands_are_as_wide_as_the_result(operand, out, wanted):
    x = np.ones(2, operand)
    found = widened(x, np.ones(2, out))
    assert found.dtype == wanted
    assert (found is x) == (operand == wanted)
    assert widened(1.5, np.ones(2, out)) == 1.5
    assert type(widened(np.float32(1.5), np.float64(1))) is np.float64


# What a rule of a user returns for the operands of a sum, of shapes [2, 3] and [3], and whether that fits.
RETURNED = {
    "own": (lambda g: (g, g.sum(0)), True),
    "of the result": (lambda g: (g, g), True),
    "a row": (lambda g: (g[:1], g), False),
    "a number": (lambda g: (g, 3.0), False),
    "a stack": (lambda g: (g, g[None]), False),
    "too long": (lambda g: (g, np.ones(4)), False),
    "turned": (lambda g: (g.T, g), False),
    "too many axes": (lambda g: (np.ones((2, 2, 3)), g), False),
    "longer in an axis that no operand has": (lambda g: (g, np.ones((5, 3))), False),
    "text": (lambda g: (g, np.array(["a", "b", "c"])), None),
}  # fmt: skip


@pytest.mark.parametrize("name", RETURNED)
def test_rules_of_users_return_what_broadcasting_has_made_of_an_operand(name):
    rule, fits = RETURNED[name]
    add = tape.Op(lambda x, y: x + y, vjp=lambda g, out, x, y: rule(g), name="my_add")
    trace = tape.Trace()
    x, y = trace.param(np.ones((2, 3))), trace.param(np.ones(3))
    out = add(x, y)
    if fits:
        found = trace.backward_param_grads(out, np.full((2, 3), 1.5))
        assert [g.shape for g in found] == [(2, 3), (3,)]
        expected = rule(np.full((2, 3), 1.5))
        np.testing.assert_allclose(found[0], np.broadcast_to(expected[0], (2, 3)))
        return
    with pytest.raises(
        errors.DTypeError if fits is None else errors.ShapeError, match="the vjp rule of my_add"
    ):
        trace.backward_param_grads(out, np.full((2, 3), 1.5))


# ---- models as params --------------------------------------------------------------------------------------


def test_gradients_have_the_structure_of_the_model_whatever_it_holds():
    trace, w, n = tape.Trace(), np.array([1.0, 2.0]), np.arange(3)
    given = {
        "w": w,
        "name": "a",
        "n": n,
        "flag": True,
        "k": 3,
        "none": None,
        "again": [w, 2.5],
        "z": 1j,
        "f": abs,
    }
    model = trace.params(given)
    assert len(trace.params) == 3
    assert model["w"] is model["again"][0]
    assert (model["name"], model["flag"], model["k"], model["none"]) == ("a", True, 3, None)
    assert model["n"] is n
    loss = np.sum(model["w"] ** 2) * model["again"][1] + np.real(model["z"] * (2 + 1j)) * model["k"]
    found = trace.param_grads(loss)
    np.testing.assert_array_equal(found["w"], 5.0 * w)
    np.testing.assert_array_equal(found["again"][0], 5.0 * w)
    assert found["again"][1] == 5.0
    assert found["z"] == 3 * (2 + 1j)
    np.testing.assert_array_equal(found["n"], [0, 0, 0])
    assert (found["flag"], found["k"], found["name"], found["none"]) == (False, 0, "a", None)
    assert found["f"] is abs
    assert found["n"].dtype == n.dtype


# ---- batches of nothing ------------------------------------------------------------------------------------

SEVERAL = {
    "eigh": (lambda x: np.linalg.eigh(x + x.T), (3, 3)),
    "qr": (np.linalg.qr, (3, 2)),
    "svd": (np.linalg.svd, (2, 3)),
    "slogdet": (np.linalg.slogdet, (2, 2)),
    "modf": (np.modf, (2,)),
    "frexp": (np.frexp, (2,)),
    "divmod": (lambda x: np.divmod(x, 2.0), (2,)),
    "split": (lambda x: np.split(x, 2), (4,)),
    "one": (lambda x: np.exp(x), (4,)),
    "sum": (lambda x: np.sum(x), (4, 2)),
    "comparison": (lambda x: x > 0, (4,)),
    "argmax": (lambda x: np.argmax(x), (4,)),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_operations_on_an_empty_batch_have_empty_results(name):
    f, shape = SEVERAL[name]
    g = lambda x: [*f(x)] if isinstance(f(x), tuple) else f(x)  # noqa: E731
    with np.errstate(all="ignore"):
        one, none = g(np.zeros(shape)), tape.vmap(g)(np.zeros((0, *shape)))
    one, none = ([*x] if isinstance(x, (list, tuple)) else [x] for x in (one, none))
    assert [(x.shape, x.dtype) for x in none] == [((0, *np.shape(x)), np.result_type(x)) for x in one]


# ---- where code runs ---------------------------------------------------------------------------------------


def test_code_is_watched_in_programs_batches_and_scopes():
    seen = []

    def f(x):
        seen.append(streams.is_watched())
        return x * 2.0

    f(1.0)
    tape.grad(f)(1.0)
    tape.compile(f)(1.0)
    tape.vmap(f)(np.ones(2))
    tape.grad(lambda x: np.sum(tape.vmap(f)(x)))(np.ones(2))
    with streams.Scope():
        f(1.0)
    f(1.0)
    assert seen == [False, False, True, True, True, True, False]


# ---- sparsity --------------------------------------------------------------------------------------------

PATTERNS = {
    "zeros among constants": (lambda x: x * np.array([1.0, 0.0, -2.0]), [[1, 0, 0], [0, 0, 0], [0, 0, 1]]),
    "zeros before": (lambda x: np.array([0.0, 1.0, 0.0]) * x, [[0, 0, 0], [0, 1, 0], [0, 0, 0]]),
    "infinities among constants": (
        lambda x: x * np.array([np.inf, 0.0, np.nan]), [[1, 0, 0], [0, 0, 0], [0, 0, 1]]),
    "a product": (lambda x: x * x[::-1], [[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
    "a matrix": (lambda x: np.array([[1.0, 0, 2], [0, 0, 0]]) @ x, [[1, 0, 1], [0, 0, 0]]),
    "a choice": (lambda x: np.where([True, False, True], x, 2.0), [[1, 0, 0], [0, 0, 0], [0, 0, 1]]),
    "a choice of both": (
        lambda x: np.where([True, False, True], x, x[::-1]), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "a choice turned": (
        lambda x: np.where([True, False, False], x, x[::-1]), [[1, 0, 0], [0, 1, 0], [1, 0, 0]]),
    "a choice by x": (lambda x: np.where(x > 0, x, x[::-1]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
    "a running sum": (lambda x: np.cumsum(x), [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
    "a running product": (lambda x: np.cumprod(x[:2]), [[1, 0, 0], [1, 1, 0]]),
    "a sum": (lambda x: np.sum(x[1:]), [[0, 1, 1]]),
    "reading": (lambda x: x[np.array([2, 0])], [[0, 0, 1], [1, 0, 0]]),
    "rolled": (lambda x: np.roll(x, 1), [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    "sorted": (lambda x: np.sort(x), [[1, 1, 1]] * 3),
    "normalised": (lambda x: x / np.sum(x), [[1, 1, 1]] * 3),
    "a constant": (lambda x: np.ones(2) + 0 * np.sum(x[:1]), [[0, 0, 0], [0, 0, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_of_derivatives(name):
    f, expected = PATTERNS[name]
    found = tape.sparsity(f)(np.array([0.3, -1.2, 2.0])).toarray()
    np.testing.assert_array_equal(found.astype(int), expected)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float16])
def test_contributions_are_summed_in_the_dtype_of_the_operand(dtype):
    ones = np.ones((200, 3), dtype)
    added = tape.Op(lambda x, y: x + y, vjp=lambda g, out, x, y: (g, ones), name="added")
    tr = tape.Trace()
    x, y = tr.param(np.ones((200, 3))), tr.param(np.ones(3))
    np.testing.assert_array_equal(tr.backward_param_grads(added(x, y), np.ones((200, 3)))[1], [200.0] * 3)


def test_complex_seeds_may_be_infinite_but_hold_no_nan():
    _, pull = tape.vjp(lambda z: z + 0, np.ones(2, complex))
    (pulled,) = pull(np.array([complex(np.inf, 0), 1]))
    assert pulled[0] == complex(np.inf, 0)
    with pytest.raises(errors.SeedError, match="NaN"):
        pull(np.array([complex(np.inf, np.nan), 1]))
