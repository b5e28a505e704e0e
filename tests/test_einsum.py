"""einsum: every string NumPy accepts, drawn at random; refusals; what Programs make of it."""

import itertools
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors
from tests.naive_program import counts, program_of
from tests.oracles import assert_close, assert_same, inner, jvp, record, uniform, vjp
from tests.tiers import rounds

LENGTHS = dict(zip(ascii_lowercase[:5], (2, 3, 1, 2, 4), strict=True))


@st.composite
def calls(draw):
    """Subscripts and the shapes they are for, some axes of length one, some in an ellipsis."""
    count = draw(st.integers(1, 3))
    common = draw(st.lists(st.sampled_from([1, 2]), max_size=2))
    inputs, shapes = [], []
    for _ in range(count):
        labels = draw(st.lists(st.sampled_from(sorted(LENGTHS)), max_size=3))
        ones = {label: draw(st.booleans()) and draw(st.booleans()) for label in labels}
        shape = [1 if ones[label] else LENGTHS[label] for label in labels]
        part = "".join(labels)
        if common and draw(st.booleans()):
            spread = common[draw(st.integers(0, len(common))) :]
            at = draw(st.integers(0, len(labels)))
            part, shape = part[:at] + "..." + part[at:], [*shape[:at], *spread, *shape[at:]]
        inputs.append(part)
        shapes.append(tuple(shape))
    subscripts = ",".join(inputs)
    if draw(st.booleans()):
        used = sorted(set(subscripts) - set(",."))
        result = draw(st.lists(st.sampled_from(used), unique=True, max_size=3)) if used else []
        subscripts += "->" + ("..." if "." in subscripts else "") + "".join(result)
    return subscripts, shapes


@settings(max_examples=rounds(150))
@given(calls(), st.booleans())
def test_any_einsum_is_that_of_numpy_and_its_modes_are_transposes(call, is_complex):
    subscripts, shapes = call
    rng = np.random.default_rng(0)
    dtype = np.complex128 if is_complex else np.float64
    args = [uniform(rng, np.empty(shape, dtype)) for shape in shapes]

    def f(*args):
        return np.einsum(subscripts, *args)

    expected = f(*args)
    _, _, out = record(f, args)
    assert_same(out.value, expected)
    seed, directions = uniform(rng, np.asarray(expected)), [uniform(rng, a) for a in args]
    pushed, pulled = jvp(f, args, directions), vjp(f, args, seed)
    assert_close(inner([seed], [pushed]), inner(pulled, directions), 1e-12)
    moved = sum(f(*args[:k], t, *args[k + 1 :]) for k, t in enumerate(directions))
    assert_close(pushed, moved, 1e-13)


@settings(max_examples=rounds(40))
@given(calls())
def test_programs_compute_the_same_without_calling_back(call):
    subscripts, shapes = call
    rng = np.random.default_rng(0)
    args = [uniform(rng, np.empty(shape)) for shape in shapes]

    def f(*args):
        return np.einsum(subscripts, *args) * 2.0

    program = program_of(f, *args)
    assert "callback" not in counts(program.ir)
    assert_close(program(*args), f(*args), 1e-13)


@pytest.mark.parametrize(
    ("subscripts", "lengths"),
    [
        ("ikm,ljm,ij->klj", "i2 j3 k2 l1 m2"),
        ("kij,k,ilk,lji->klj", "i2 j5 k3 l5 m3"),
        ("j,mli,jm,ij->lj", "i3 j5 l2 m3"),
        ("lm,jkl,jik,ljm,j->mil", "i5 j3 k2 l5 m2"),
        ("li,mj,,lm,mi->jli", "i3 j2 l2 m5"),
    ],
)
def test_programs_multiply_several_at_once_where_numpy_would(subscripts, lengths):
    """Labels of those that come later in one such product are kept until then."""
    sides = {part[0]: int(part[1]) for part in lengths.split()}
    inputs = subscripts.partition("->")[0].split(",")
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=[sides[label] for label in labels]) for labels in inputs]
    path = np.einsum_path(subscripts, *arrays, optimize="greedy")[0][1:]
    assert max(map(len, path)) > 2
    compiled = tape.compile(lambda *arrays: np.einsum(subscripts, *arrays))
    for _ in range(2):  # the first call records
        assert_close(compiled(*arrays), np.einsum(subscripts, *arrays), 1e-13)


def test_a_plain_contraction_is_one_matrix_product_in_a_program():
    a, b = np.ones((2, 3)), np.ones((3, 4))
    assert counts(program_of(lambda a, b: np.einsum("ij,jk->ki", a, b), a, b).ir) == {"matmul_add": 1}
    a, b = np.ones((5, 2, 3)), np.ones((5, 3, 4))
    assert counts(program_of(lambda a, b: np.einsum("bij,bjk->bik", a, b), a, b).ir) == {"matmul_add": 1}


@pytest.mark.parametrize("subscripts", ["ij->i", "ij->", "i,i->", "ij,j->i", "ij,jk->ik", "ij,jk,k->i"])
def test_sums_of_negative_zeros_are_zero_as_in_numpy(subscripts):
    """NumPy adds what it multiplies to an array of zeros."""
    inputs = subscripts.partition("->")[0].split(",")
    for side in (1, 2, 3):
        args = [np.full((side,) * len(labels), -0.0 if k == 0 else 1.0) for k, labels in enumerate(inputs)]
        compiled = tape.compile(lambda *args: np.einsum(subscripts, *args))
        for _ in range(2):
            assert not np.signbit(compiled(*args)).any()


@pytest.mark.parametrize(
    "options",
    [
        {"optimize": True},
        {"optimize": "optimal"},
        {"optimize": ["einsum_path", (0, 1), (0, 1)]},
        {"dtype": np.float64},
        {"order": "F"},
    ],
    ids=str,
)
def test_options_are_passed_on(options):
    args = [np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 2), np.float32), np.ones(2, np.float32)]

    def f(*args):
        return np.einsum("ij,jk,k->i", *args, **options)

    _, _, out = record(f, args)
    assert_same(out.value, f(*args))
    assert [g.dtype for g in vjp(f, args, np.ones(2, out.dtype))] == [np.float32] * 3


def test_einsum_path_needs_shapes_alone():
    trace = tape.Trace()
    a, b = trace.param(np.ones((2, 3))), trace.param(np.ones((3, 2)))
    assert np.einsum_path("ij,jk", a, b)[0] == ["einsum_path", (0, 1)]
    assert len(trace.nodes) == 2


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij", [(2,)]),
        ("ij,jk", [(2, 3), (2, 3)]),
        ("ii", [(2, 3)]),
        ("ii", [(1, 3)]),
        ("i->j", [(2,)]),
        ("i->ii", [(2,)]),
        ("i->i->i", [(2,)]),
        ("i,j", [(2,)]),
        ("i.", [(2, 2)]),
        ("...i...", [(2, 2)]),
        ("...->", [(2,)]),
        ("i;j", [(2, 2)]),
    ],
)
def test_subscripts_that_do_not_fit_are_refused_and_leave_nothing(subscripts, shapes):
    trace = tape.Trace()
    leaves = [trace.param(np.ones(shape)) for shape in shapes]
    with pytest.raises(errors.ShapeError, match="einsum"):
        np.einsum(subscripts, *leaves)
    assert len(trace.nodes) == len(leaves)


@pytest.mark.parametrize("labels", [[52], [-53], ["a"], None])
def test_lists_hold_numbers_of_letters(labels):
    x = tape.Trace().param(np.ones(2))
    with pytest.raises(errors.ShapeError, match="list of ints"):
        np.einsum(x, labels)


@pytest.mark.parametrize(
    ("subscripts", "small", "path"),
    [
        ("i,->", [[True, True]], "greedy"),
        ("i,i,->", [[True, False], [True, True]], ["einsum_path", (0, 1), (0, 1)]),
        (",,->", [np.int8(100), np.int8(2)], ["einsum_path", (0, 1), (0, 1)]),
    ],
)
def test_what_overflows_before_it_meets_a_float_is_refused(subscripts, small, path):
    trace = tape.Trace()
    x = trace.param(1.0)
    with pytest.raises(errors.UnsupportedError, match="to float"):
        np.einsum(subscripts, *small, x, optimize=path)
    assert len(trace.nodes) == 1
    assert_same(np.einsum(subscripts, *small, x).value, np.einsum(subscripts, *small, x.value))


KINDS = list(itertools.product([float, np.int64, np.int8, bool], repeat=3))
PATHS = [["einsum_path", pair, (0, 1)] for pair in ((0, 1), (0, 2), (1, 2))]


def of_kinds(subscripts, kinds, path):
    """An einsum of a hundred everywhere, in these dtypes, with floats as params; None if it is refused."""
    trace = tape.Trace()
    terms = subscripts.split("->")[0].split(",")
    given = [np.full((2,) * len(term), 100).astype(kind) for term, kind in zip(terms, kinds, strict=True)]
    try:
        out = np.einsum(
            subscripts, *[trace.param(x) if x.dtype == float else x for x in given], optimize=path
        )
    except errors.UnsupportedError:
        return None
    if float in kinds:
        np.testing.assert_array_equal(out.value, np.einsum(subscripts, *given, dtype=float))
    return out


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("subscripts", ["i,i,i->i", "i,j,k->ijk"])
def test_products_are_refused_where_two_small_numbers_meet_before_the_float(subscripts, path):
    for kinds in KINDS:
        first = {kinds[k] for k in path[1]}
        is_refused = float in kinds and first <= {np.int8, bool} and first != {bool}
        assert (of_kinds(subscripts, kinds, path) is None) is is_refused, kinds


@pytest.mark.parametrize("path", [*PATHS, "greedy", True], ids=str)
@pytest.mark.parametrize(
    "subscripts", ["i,i,i->", "i,ij,j->", "ij,jk,k->i", "ij,ij,j->", "ij,i,i->i", "ij,,->i"]
)
def test_sums_in_any_order_of_pairs_are_right_or_refused(subscripts, path):
    computed = [kinds for kinds in KINDS if float in kinds and of_kinds(subscripts, kinds, path) is not None]
    assert set(computed) >= {kinds for kinds in KINDS if float in kinds and {np.int8, bool}.isdisjoint(kinds)}


def test_masks_may_be_optimized_and_are_in_large_derivatives():
    rng = np.random.default_rng(0)
    a, b, x = rng.random((60, 60)) < 0.5, rng.random((60, 60)) < 0.5, rng.random(60)
    counts = a.sum(1) @ b.astype(float)
    assert_close(vjp(lambda x: np.einsum("ij,ik,k->", a, b, x), [x])[0], counts, 1e-12)
    assert_close(vjp(lambda x: np.einsum("ij,j,ik->k", a, x, b, optimize=True), [x])[0], b.sum(1) @ a * 1.0)


def test_what_is_off_a_diagonal_gets_exactly_nothing():
    (gradient,) = vjp(lambda x: np.einsum("ii->i", x), [np.ones((2, 2))], np.array([np.inf, 1.0]))
    assert_same(gradient, np.array([[np.inf, 0.0], [0.0, 1.0]]))


def test_the_taylor_series_of_a_product_of_three():
    """The sum of ``x t (t + x) (t - x)``, which is ``x t**3 - x**3 t``."""
    x = np.array([1.0, 2.0])
    derivatives = tape.taylor(lambda t: np.einsum("i,i,i->", t * x, t + x, t - x), 1.0, 1.0, order=4)
    assert_close(derivatives, [-6.0, 0.0, 18.0, 18.0, 0.0], 1e-12)


@pytest.mark.parametrize("held", [None, 0, 1, 2])
def test_taylor_series_are_those_of_plain_products(held):
    """Of three curves of which all derivatives differ; one may be constant."""
    rng = np.random.default_rng(0)
    a, b, c = (uniform(rng, np.empty(shape)) for shape in ((2, 3), (3, 4), (4,)))

    def curves(t):
        moving = np.exp(t * a), np.sin(t * b + 1), np.cos(t * c)
        return [x if k == held else moved for k, (x, moved) in enumerate(zip((a, b, c), moving, strict=True))]

    def plain(t):
        x, y, z = curves(t)
        return np.sum(np.reshape(x, (2, 3, 1)) * y * z, axis=(1, 2))

    found = tape.taylor(lambda t: np.einsum("ij,jk,k->i", *curves(t)), 0.3, 1.0, order=4)
    assert_close(found, tape.taylor(plain, 0.3, 1.0, order=4), 1e-11)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinities_do_not_cancel_out_in_programs():
    """What one operand alone has is summed after the product, as in NumPy."""
    a, x = np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([np.inf, 1.0])
    compiled = tape.compile(lambda a, x: np.einsum("ij,j->", a, x))
    compiled(a, np.ones(2))
    assert np.isnan(compiled(a, x))
    assert np.isnan(np.einsum("ij,j->", a, x))
