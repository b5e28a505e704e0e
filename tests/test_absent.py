"""Attributes that arrays or numbers have and Vars have not."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.absent import lacking
from tape.program.record.traced import Traced
from tape.transforms.loops.body import BodyVar


class Base:
    inherited = 1


@lacking(["own", "inherited", "other", "_private"], lambda name: f"no {name}. Nothing")
class Sub(Base):
    own = 2


def test_only_public_names_that_a_class_lacks_raise():
    one = Sub()
    assert (one.own, one.inherited) == (2, 1)
    with pytest.raises(errors.MissingAttributeError, match="no other"):
        _ = one.other
    assert not hasattr(Sub, "other")
    with pytest.raises(AttributeError) as caught:
        _ = one._private
    assert not isinstance(caught.value, errors.TapeError)


@pytest.mark.parametrize("name", ["tobytes", "strides", "detach", "nonsense"])
def test_neither_vars_nor_their_class_have_it(name):
    x = tape.Trace().param([1.0])
    assert not hasattr(x, name)
    assert not hasattr(tape.Var, name)
    assert name not in dir(x)


def lacking_arrays(v):
    """Return the public attributes of arrays that a Var lacks, each of which says so."""
    names = [name for name in dir(np.ndarray) if not name.startswith("_") and name not in dir(v)]
    for name in names:
        with pytest.raises(errors.MissingAttributeError, match=rf"has no '{name}'\. [A-Z]"):
            getattr(v, name)
    return names


def test_every_attribute_of_arrays_is_there_or_says_what_to_do():
    found = []

    @tape.compile
    def f(v):
        found.append(lacking_arrays(v))
        return v

    f(np.ones(2))
    assert lacking_arrays(tape.Trace().param([1.0])) == found[0]
    assert "tobytes" in found[0]


@pytest.mark.parametrize("kind", [tape.Var, Traced, BodyVar])
def test_vars_read_their_attributes_without_a_detour(kind):
    """With `__getattr__` in any class of theirs, CPython 3.11 reads each attribute ten times as slowly."""
    assert not hasattr(kind, "__getattr__")
