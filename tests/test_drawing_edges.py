"""Compiled functions that draw, piece by piece: which generators they know, and what stands for them."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.bit_states import kind_of
from tape.program import drawing
from tape.program.calls.generators import Argument
from tape.program.drawing import Drawing, _replaced, check_returned
from tape.random import Generator, default_rng


def make(seed):
    return default_rng(seed)


class Counted(Drawing):
    """One that counts how often it has begun anew."""

    def __init__(self):
        self.made = 0
        super().__init__(lambda: 0.0, self._counted)

    def _counted(self, f):
        self.made += 1
        return f


@pytest.mark.parametrize(("anew", "kept"), [(0, 16), (8, 16), (9, 18), (20, 40)])
def test_generators_of_other_calls_are_dropped_where_there_are_very_many(anew, kept):
    """Those of this very call stay; there may be twice as many before."""
    one, of_call = Counted(), [make(k) for k in range(anew)]
    sources = [make(k) for k in range(kept + 1)]
    for k, source in enumerate(sources[:kept]):
        one._declare(source, of_call)
        assert one._closed_over == sources[: k + 1]
    assert one.made == 1
    one._declare(sources[kept], of_call)
    assert one._closed_over == [*of_call, sources[kept]]
    assert one.made == 2


def test_functions_draw_from_generators_that_are_bound_anew():
    """More of them than are kept: all numbers are those of plain Python."""
    current = [make(0)]
    f = tape.compile(lambda x: x * current[0].normal())
    for k in range(20):
        current[0] = make(k)
        assert [f(2.0), f(2.0)] == [2.0 * z for z in make(k).normal(size=2)]


def test_several_generators_that_one_call_declares():
    many = [make(k) for k in range(20)]
    f = tape.compile(lambda x: x * sum([rng.normal() for rng in many]))
    plain = [make(k) for k in range(20)]
    for _ in range(2):
        assert f(2.0) == pytest.approx(2.0 * sum(rng.normal() for rng in plain), rel=1e-14)


def test_generators_that_are_made_in_each_call_are_refused(monkeypatch):
    monkeypatch.setattr(drawing, "_MOST_ANEW", 2)
    declared = []
    original = Drawing._declare
    monkeypatch.setattr(Drawing, "_declare", lambda self, *args: declared.append(1) or original(self, *args))
    bits = np.random.PCG64(3)
    f = tape.compile(lambda x: x * Generator(bits.jumped()).normal())
    with pytest.raises(errors.UnsupportedError, match="draws from a generator that is another one each time"):
        f(2.0)
    assert len(declared) == 3


def test_what_stands_for_generators():
    closed, given = [make(0), make(1)], [make(2), Generator(np.random.Philox(3))]
    sources = list(closed)
    found = [_replaced(sources, 2, leaf) for leaf in (closed[1], given[0], given[1], given[0])]
    assert all(isinstance(one, Argument) for one in found)
    assert [(one.number, one.kind, one.is_closed_over) for one in found] == [
        (1, "PCG64", True),
        (2, "PCG64", False),
        (3, "Philox", False),
        (2, "PCG64", False),
    ]
    assert found[1] is found[3]
    assert sources == [*closed, *given]
    assert kind_of(sources[3].bits) == "Philox"
    for other in (3.0, None, np.ones(2)):
        assert _replaced(sources, 2, other) is other
    assert len(sources) == 4


def test_generators_that_a_function_made_are_not_returned():
    f = tape.compile(lambda x, rng: (x * rng.normal(), default_rng(5)))
    with pytest.raises(errors.UnsupportedError, match="returned a generator of random numbers that it made"):
        f(1.0, make(0))
    scope = object()
    check_returned(3.0, scope)
    check_returned(make(0), scope)


@pytest.mark.parametrize("is_argument", [False, True])
def test_generators_that_are_returned_have_moved_on(is_argument):
    closed, plain = make(7), make(7)

    def f(x, rng):
        own = rng if is_argument else closed
        return {"value": x * own.normal(), "rng": own, "again": [own]}

    compiled, passed = tape.compile(f), (make(7) if is_argument else make(9))
    for _ in range(3):
        found = compiled(2.0, passed)
        assert found["value"] == 2.0 * plain.normal()
        assert found["rng"] is found["again"][0]
        assert found["rng"] is (passed if is_argument else closed)
    assert found["rng"].normal() == plain.normal()


def test_a_generator_that_is_returned_is_that_of_the_call():
    f = tape.compile(lambda x, rng: (x * rng.normal(), rng))
    for k in (1, 2, 3):
        given = make(k)
        value, returned = f(2.0, given)
        assert returned is given
        assert value == 2.0 * make(k).normal()


def test_generators_that_share_their_bits_draw_one_after_the_other():
    bits, plain = np.random.PCG64(1), np.random.Generator(np.random.PCG64(1))
    one, other = Generator(bits), Generator(bits)
    f = tape.compile(lambda x, a, b: [x * a.normal(), x * b.normal(), x * a.normal()])
    for _ in range(2):
        assert f(2.0, one, other) == [2.0 * z for z in plain.normal(size=3)]
    sources = [one]
    assert _replaced(sources, 0, other).number == 0
    assert sources == [one]


def test_programs_of_functions_that_draw_can_be_called():
    rng, given = make(1), make(2)
    compiled = tape.compile(lambda x, own: x * own.normal() + rng.normal())
    compiled(2.0, make(0))
    (program,) = compiled.programs.values()
    state = make(1)
    state.normal()
    assert program(2.0, given) == 2.0 * make(2).normal() + state.normal()
    generators = program.generators
    (again,) = compiled.programs.values()
    assert again.generators is generators


def test_functions_that_return_a_generator_without_drawing_from_it():
    rng = make(1)
    f = tape.compile(lambda x, own: (x * 2, own, rng))
    given = make(2)
    for _ in range(2):
        value, own, other = f(3.0, given)
        assert (value, own is given, other is rng) == (6.0, True, True)
    assert given.normal() == make(2).normal()


def test_measuring_leaves_generators_as_they_are():
    rng, given = make(1), make(2)
    f = tape.compile(lambda x, own: x * own.normal() + rng.normal())
    f.profile(np.ones(3), given, repeats=2)
    assert given.normal() == make(2).normal()
    assert rng.normal() == make(1).normal()
