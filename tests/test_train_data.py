"""Data sets at hand, and readers of files."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tape import errors
from tape.train import data


def test_the_digits_are_those_of_scikit_learn():
    pytest.importorskip("sklearn", reason="holds the digits")
    images, labels = data.digits()
    assert (images.shape, images.dtype, images.min(), images.max()) == ((1797, 8, 8), np.float64, 0.0, 1.0)
    assert np.bincount(labels).min() > 170


def test_random_data_repeat_with_the_generator():
    for make in (data.spiral, data.sine):
        first, again = (make(np.random.default_rng(3)) for _ in range(2))
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)
    x, labels = data.spiral(np.random.default_rng(0), 50, 4)
    assert x.shape == (200, 2)
    assert np.all(np.hypot(*x.T) < 1)
    np.testing.assert_array_equal(np.bincount(labels), [50] * 4)
    with pytest.raises(errors.OptionError, match="points=0"):
        data.spiral(np.random.default_rng(0), 0)


def test_a_text_becomes_numbers_and_back():
    for text in (data.text()[:5000], "a\N{GREEK SMALL LETTER ALPHA}\N{PILE OF POO}a", ""):
        codes, alphabet = data.encode_text(text)
        assert "".join(alphabet[k] for k in codes) == text
        assert alphabet == "".join(sorted(set(text)))


def test_a_text_is_that_of_all_topics(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", SimpleNamespace(topics={"b": "two", "a": "one"}))
    assert data.text() == "one\n\ntwo"
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(errors.UnsupportedError, match="Read a text of your own"):
        data.text()


def test_parts_have_all_rows_once():
    rows = {"x": np.arange(10), "y": 2 * np.arange(10)}
    first, second = data.split(rows, 0.3, np.random.default_rng(0))
    assert (len(first["x"]), len(second["x"])) == (7, 3)
    np.testing.assert_array_equal(2 * first["x"], first["y"])
    assert sorted([*first["x"], *second["x"]]) == list(range(10))
    with pytest.raises(errors.OptionError, match="fraction=2"):
        data.split(rows, 2, np.random.default_rng(0))


def test_columns_of_a_table_have_the_dtype_that_loses_nothing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        'i,f,s,big,odd\n-1,0.1,"a,b",99999999999999999999,1_0\n\n2,,c,1,2\n', encoding="utf-8-sig"
    )
    found = data.read_csv(path)
    assert {name: column.dtype.kind for name, column in found.items()} == {
        "i": "i",
        "f": "f",
        "s": "U",
        "big": "U",
        "odd": "U",
    }
    np.testing.assert_array_equal(found["f"], [0.1, np.nan])
    assert found["s"].tolist() == ["a,b", "c"]
    assert list(data.read_csv(path, ["f", "i"])) == ["f", "i"]
    with pytest.raises(errors.OptionError, match=r"no column 'ff'\. Did you mean f"):
        data.read_csv(path, ["ff"])


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "first line"), ("a,a\n1,2\n", "first line"), ("a,b\n1,2\n3\n", "line 3 has 1 fields")],
)
def test_tables_that_are_none_are_refused(tmp_path, text, said):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(errors.ShapeError, match=said):
        data.read_csv(tmp_path / "a.csv")


def test_images_are_scaled_and_have_their_channels_first(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="reads images")
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    image.fromarray(pixels).save(tmp_path / "a.png")
    image.new("L", (3, 2), 51).save(tmp_path / "b.png")
    found = data.read_images([tmp_path / "a.png"])
    np.testing.assert_array_equal(
        found, np.float32(pixels.transpose(2, 0, 1)[None]) / np.float32(255), strict=True
    )
    both = data.read_images([tmp_path / "a.png", tmp_path / "b.png"], size=(2, 3), gray=True)
    assert both.shape == (2, 1, 2, 3)
    np.testing.assert_array_equal(both[1], np.float32(0.2))
    with pytest.raises(errors.ShapeError, match=r"b.png has \[2, 3\] pixels, and .*a.png \[4, 6\]"):
        data.read_images([tmp_path / "a.png", tmp_path / "b.png"])
    with pytest.raises(errors.ShapeError, match="no paths"):
        data.read_images([])
