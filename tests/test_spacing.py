"""Numbers between two ends, and arrays filled with one: NumPy's values, options, and what does not fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tests.oracles import assert_same, record, vjp
from tests.tiers import rounds

quick = settings(max_examples=rounds(60))
ENDS = st.floats(0.25, 4.0)


@quick
@given(ENDS, ENDS, st.integers(0, 5), st.booleans(), st.sampled_from([None, np.float32, complex, int]))
def test_values_are_those_of_numpy(start, stop, num, endpoint, dtype):
    for space in (np.linspace, np.logspace, np.geomspace):
        for ends in (
            (np.array(start), stop),
            (np.array([start, 1.0]), np.float32(stop)),
            (start, np.array(stop)),
        ):

            def spaced(*ends, space=space):
                return space(*ends, num, endpoint=endpoint, dtype=dtype)

            assert_same(
                record(spaced, [np.asarray(end) for end in ends])[2].value, spaced(*map(np.asarray, ends))
            )


@quick
@given(ENDS, ENDS, st.integers(1, 5), st.booleans())
def test_the_ends_share_the_derivative(start, stop, num, endpoint):
    weights = np.linspace(0, 1, num, endpoint)
    for k, expected in enumerate([1 - weights, weights]):
        rows = [
            vjp(lambda *ends, i=i: np.linspace(*ends, num, endpoint)[i], [np.array(start), np.array(stop)])[k]
            for i in range(num)
        ]
        np.testing.assert_allclose(rows, expected, atol=1e-15)


def test_the_distance_is_returned_too():
    x, step = ops.linspace(0.0, 1.0, 5, retstep=True)
    assert step == 0.25 == np.linspace(0.0, 1.0, 5, retstep=True)[1] == x[1]
    assert np.isnan(ops.linspace(0.0, 1.0, 1, retstep=True)[1])
    for num, endpoint in ((2, True), (1, False), (2, False), (3, True)):
        step = ops.linspace(0.0, 3.0, num, endpoint, retstep=True)[1]
        assert step == np.linspace(0.0, 3.0, num, endpoint, retstep=True)[1] == 3.0 / (num - endpoint)
    assert np.isnan(ops.linspace(0.0, 3.0, 0, retstep=True)[1])
    assert np.isnan(ops.linspace(0.0, 3.0, 0, False, retstep=True)[1])
    assert vjp(lambda a: ops.linspace(a, 1.0, 5, retstep=True)[1], [np.array(0.0)])[0] == -0.25


def test_what_is_filled_with_a_var():
    trace = tape.Trace()
    v = trace.param([1.0, 2.0])
    assert_same(np.full_like(v, v[0]).value, np.array([1.0, 1.0]))
    assert_same(np.full_like(v, v, shape=(2, 2)).value, np.array([[1.0, 2.0]] * 2))
    assert_same(np.full_like(v, 3.0), np.array([3.0, 3.0]))
    assert_same(ops.full_like(np.zeros(2, np.float32), v).value, np.float32([1.0, 2.0]))
    assert not ops.full_like(np.zeros(2, int), v).node.is_active
    assert ops.full_like(np.ones((2, 3), order="F"), 1.0).flags.f_contiguous


def test_powers_are_multiplied_as_numpy_does():
    x = np.array([0.0, -1.5, 3.0])
    for n in (0, 1, 2, 7, None):
        for increasing in (False, True):
            assert_same(
                record(lambda v, n=n, i=increasing: np.vander(v, n, i), [x])[2].value,
                np.vander(x, n, increasing),
            )
    np.testing.assert_array_equal(vjp(lambda v: np.vander(v, 3), [x])[0], 2 * x + 1)  # at zero too
    for increasing in (False, True):
        nothing = vjp(lambda v, i=increasing: np.vander(v, 0, i), [x], np.zeros((len(x), 0)))
        np.testing.assert_array_equal(nothing[0], 0 * x)


def test_grids_in_every_form():
    x, y, z = np.arange(2.0), np.arange(3.0), np.array(5.0)
    for options in (
        {},
        {"indexing": "ij"},
        {"sparse": True},
        {"copy": False},
        {"sparse": True, "copy": False},
    ):
        for vectors in ((x,), (x, y), (x, y, z), ()):
            trace = tape.Trace()
            recorded = ops.meshgrid(*map(trace.param, vectors), **options)
            plain = ops.meshgrid(*vectors, **options)
            assert type(recorded) is type(plain) is type(np.meshgrid(*vectors, **options))
            for one, other, third in zip(np.meshgrid(*vectors, **options), plain, recorded, strict=True):
                assert_same(other, one)
                assert_same(third.value, one)


@pytest.mark.parametrize(
    ("f", "error", "told"),
    [
        (lambda v: np.linspace(v, np.ones(3)), errors.ShapeError, "linspace"),
        (lambda v: np.linspace(v, 1.0, -1), errors.ShapeError, "negative"),
        (lambda v: np.linspace(v, 1.0, 2.5), errors.DTypeError, "linspace"),
        (lambda v: np.linspace(v, 1.0, axis=2), errors.ShapeError, "axis 2"),
        (lambda v: np.linspace(v, 1.0, dtype="U1"), errors.DTypeError, "linspace"),
        (lambda v: np.logspace(v, 1.0, base=np.ones(3)), errors.ShapeError, "logspace"),
        (lambda v: np.geomspace(v, 0.0), errors.ShapeError, "zero"),
        (lambda v: np.meshgrid(v, indexing="yx"), errors.OptionError, "'ij'"),
        (lambda v: np.vander(v, 2.5), errors.DTypeError, "vander"),
        (lambda v: np.vander(v, -1), errors.ShapeError, "vander"),
        (lambda v: ops.full_like(np.ones(3), v), errors.ShapeError, "broadcast"),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_nothing_behind(f, error, told):
    trace = tape.Trace()
    v = trace.param(np.ones(2))
    with pytest.raises(error, match=told):
        f(v)
    assert len(trace.nodes) == 1


@pytest.mark.parametrize("space", [np.linspace, np.geomspace])
@pytest.mark.parametrize(("start", "stop"), [(1e16, 1.0), (1.0, 3.0), (2.0, 1e-300), (0.1, 0.3)])
def test_the_last_number_is_the_end_in_programs_too(space, start, stop):
    compiled = tape.compile(lambda a, b: space(a, b, 7))
    for _ in range(2):
        found = compiled(start, stop)
        assert found[-1] == stop
        np.testing.assert_allclose(found, space(start, stop, 7), rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "good", "bad"),
    [
        (lambda a: np.geomspace(a, 10.0, 3), 1.0, 0.0),
        (lambda a: np.geomspace(1.0, a, 3), 2.0, -0.0),
        (lambda a: np.geomspace(a, 10, 3, dtype=int), 1.0, 0.0),
        (lambda a: np.geomspace(1.0, a, 3, axis=1), np.array([1.0, 2.0]), np.array([1.0, 0.0])),
        (tape.grad(lambda a: np.sum(np.geomspace(a, 10.0, 3))), 1.0, 0.0),
    ],
    ids=["start", "stop", "ints", "arrays", "gradient"],
)
def test_a_program_refuses_zero_as_numpy_does(f, good, bad):
    compiled = tape.compile(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(good), f(good), rtol=1e-14)
        with pytest.raises(ValueError, match="Geometric sequence cannot include zero"):
            compiled(bad)
