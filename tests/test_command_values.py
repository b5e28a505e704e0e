"""Values on the command line: what is written is what is read, and nothing else gets through."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tape import errors
from tape.command.values import assignments, expression_text, is_assignment, pieces, value
from tests.tiers import takes_long

FLOATS = st.floats(allow_nan=False, width=64)


@given(FLOATS)
def test_a_number_is_read_as_it_is_printed(number):
    read = value(repr(number), "a")
    assert read == number
    assert read.dtype == np.float64
    assert read.shape == ()


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4), elements=FLOATS))
def test_nested_lists_are_arrays(array):
    read = value(json.dumps(array.tolist()), "a")
    np.testing.assert_array_equal(read, array, strict=True)


def test_constants_are_expressions():
    assert value("2*pi", "a") == 2 * np.pi
    assert value("[pi/2, sin(0)]", "a").tolist() == [np.pi / 2, 0.0]
    assert np.isnan(value("nan", "a"))
    assert value("1+2j", "a") == 1 + 2j


def test_files_are_read(tmp_path):
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.save(tmp_path / "a.npy", array)
    np.savetxt(tmp_path / "a.csv", array, delimiter=",")
    np.savetxt(tmp_path / "a.txt", array)
    np.save(tmp_path / "whole.npy", np.arange(3))
    np.save(tmp_path / "single.npy", array.astype(np.float32))
    for name in ("a.npy", "a.csv", "a.txt"):
        np.testing.assert_array_equal(value(f"@{tmp_path / name}", "a"), array, strict=True)
    assert value(f"@{tmp_path / 'whole.npy'}", "a").dtype == np.float64
    assert value(f"@{tmp_path / 'single.npy'}", "a").dtype == np.float32


def test_files_that_hold_no_numbers_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(tmp_path / "words.npy", np.array(["a"]))
    (tmp_path / "words.csv").write_text("a,b\n")
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "archive.npy").write_bytes(b"PK\x03\x04 and no more")
    for name in ("objects.npy", "words.npy", "words.csv", "empty.npy", "empty.txt", "archive.npy"):
        with pytest.raises(errors.OptionError, match=name):
            value(f"@{tmp_path / name}", "a")
    with pytest.raises(FileNotFoundError):
        value(f"@{tmp_path / 'none.npy'}", "a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no value"),
        ("b + 1", "has a variable, b"),
        ("1,2", r"Write a=\[1,2\] for an array"),
        ("[1, [2, 3]]", "differ in length"),
        ("[[1, 2], [3]]", "differ in length"),
        ("[" * 40 + "]" * 40, "nested"),
        ("[" * 10_000 + "]" * 10_000, "nested"),
    ],
)
def test_what_is_no_value_is_refused_with_a_reason(text, said):
    with pytest.raises(errors.OptionError, match=said):
        value(text, "a")


@takes_long
@given(st.text(max_size=30))
def test_any_text_is_a_value_or_an_error_of_ours(text):
    if text.startswith("@"):
        return
    try:
        read = value(text, "a")
    except errors.TapeError:
        return
    assert read.dtype.kind in "fc"


@given(st.lists(st.sampled_from(["1", "[1,2]", "f(1, 2)", "[[1,2],[3]]", "x"]), min_size=1))
def test_pieces_are_what_was_joined(parts):
    assert pieces(", ".join(parts)) == parts


def test_assignments_have_a_name_and_a_value_once():
    assert assignments(["a=1", " b = [1, 2] "]) == {"a": "1", "b": "[1, 2]"}
    assert assignments(["δ=1"]) == {"δ": "1"}
    for wrong in (["a"], ["=1"], ["1a=2"], ["a==1"], ["a=1", "a=2"]):
        with pytest.raises(errors.OptionError):
            assignments(wrong)
    assert not is_assignment("a*b")


def test_expressions_come_from_files_and_standard_input(tmp_path, monkeypatch):
    import io

    path = tmp_path / "f.txt"
    path.write_text("b = a * 2\nb * b\n")
    assert expression_text(f"@{path}") == "b = a * 2\nb * b"
    monkeypatch.setattr("sys.stdin", io.StringIO("a + 1\n"))
    assert expression_text("-") == "a + 1"
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(errors.OptionError, match="closed"):
        expression_text("-")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(errors.OptionError, match="UTF-8"):
        expression_text(f"@{path}")
