"""What a search for names knows of classes, whatever these say of themselves."""

import collections
import sys
import weakref

import numpy as np

import tape
from tape.program.calls.classes import Class, Classes


class _Alike(type):
    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 1


def test_classes_are_told_apart_however_they_compare():
    one = _Alike("One", (), {"__slots__": ("w",), "__module__": __name__})
    other = _Alike("Other", (list,), {"__module__": "collections"})
    classes = Classes(lambda: None)
    for _ in range(2):
        assert classes.slots_of(one) == {"w"}
        assert classes.slots_of(other) == frozenset()
        assert classes.is_users(one)
        assert not classes.is_users(other)
        assert not classes.about(one()).is_plain
        assert classes.about(one()) is not classes.about(other())


def test_functions_that_use_such_classes_are_compiled():
    holder = _Alike("Holder", (), {"__module__": __name__})()
    holder.scale = 2.0
    f = tape.compile(lambda x: x * holder.scale)
    for scale in (2.0, 2.0, 3.0):
        holder.scale = scale
        np.testing.assert_array_equal(f(np.ones(2)), np.full(2, scale))


def test_what_says_itself_what_it_is_is_asked_each_time():
    class Chameleon:
        shown = int

        @property
        def __class__(self):
            return self.shown

    class Asked:
        def __getattribute__(self, name):
            return float if name == "__class__" else object.__getattribute__(self, name)

    classes, chameleon, asked = Classes(lambda: None), Chameleon(), Asked()
    assert classes.about(chameleon).is_value
    chameleon.shown = list
    assert not classes.about(chameleon).is_value
    assert not Class(asked, True).is_certain
    target = collections.UserList([1])
    assert not Class(weakref.proxy(target), False).is_certain
    assert Class(target, False).is_certain
    assert Class(sys, False).is_certain


def test_a_class_that_is_gone_is_not_taken_for_another():
    classes = Classes(lambda: None)
    found = []
    for k in range(50):
        kind = type("Kind", (), {"__slots__": (f"w{k}",), "__module__": __name__})
        found.append((k, classes.slots_of(kind), classes.about(kind()).is_users))
        del kind
    assert all(slots == {f"w{k}"} and is_users for k, slots, is_users in found)
