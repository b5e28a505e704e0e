"""Colourings of random patterns against their definitions, and matrices that are read by them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tape.kernels.eager import avoided
from tape.sparse import colouring
from tape.sparse.structure import coloured, normal
from tests import naive_colouring as naive
from tests.tiers import rounds


def patterns(count, *, symmetric):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        rows, columns = rng.integers(1, 14, 2)
        share = rng.choice([0.05, 0.15, 0.3, 0.8])
        if symmetric:
            yield naive.random_symmetric_pattern(rng, rows, share)
        else:
            yield naive.random_pattern(rng, rows, columns, share)


def test_columns_of_one_colour_share_no_row():
    for pattern in patterns(rounds(1000, 60), symmetric=False):
        found = colouring.by_columns(csr_array(pattern))
        assert naive.separates_columns(pattern, found.colours)
        assert found.count == max(found.colours, default=-1) + 1
        assert found.count >= pattern.sum(1).max(initial=0)
        assert np.array_equal(found.colours >= 0, pattern.any(0))


def test_rows_of_one_colour_share_no_column():
    for pattern in patterns(rounds(300, 50), symmetric=False):
        assert naive.separates_columns(pattern.T, colouring.by_rows(csr_array(pattern)).colours)


@pytest.mark.parametrize(
    ("colour", "holds"), [(colouring.symmetric, naive.is_star), (colouring.acyclic, naive.is_acyclic)]
)
def test_symmetric_colourings_are_what_they_are_called(colour, holds):
    for pattern in patterns(rounds(2000, 80), symmetric=True):
        assert holds(pattern, colour(csr_array(pattern)).colours)


@pytest.mark.parametrize("recovery", ["direct", "indirect"])
def test_a_symmetric_matrix_is_read_from_its_products(recovery):
    for k, pattern in enumerate(patterns(rounds(1000, 60), symmetric=True)):
        values = np.random.default_rng(k).normal(size=pattern.shape) * pattern
        matrix = values + values.T
        structure = coloured(normal(csr_array(pattern), is_symmetric=True), "fwd", recovery)
        compressed = structure.colouring.seeds(0, structure.colours, float) @ matrix
        flat = compressed.ravel()
        places = structure.colouring.places
        found = structure.matrix(flat if places is None else flat[places])
        np.testing.assert_allclose(found.toarray(), matrix, rtol=0, atol=1e-12)
        assert (found != found.T).nnz == 0


@pytest.mark.parametrize("mode", ["fwd", "rev", "auto"])
def test_a_matrix_is_read_from_its_products(mode):
    for k, pattern in enumerate(patterns(rounds(300, 60), symmetric=False)):
        matrix = np.random.default_rng(k).normal(size=pattern.shape) * pattern
        structure = coloured(normal(csr_array(pattern), is_symmetric=False), mode, None)
        seeds = structure.colouring.seeds(0, structure.colours, float)
        compressed = seeds @ (matrix.T if structure.mode == "fwd" else matrix)
        assert np.array_equal(
            structure.matrix(compressed.ravel()[structure.colouring.places]).toarray(), matrix
        )


@pytest.mark.parametrize(
    ("colour", "colours"), [(colouring.by_columns, 3), (colouring.symmetric, 3), (colouring.acyclic, 2)]
)
def test_three_diagonals_take_the_known_number_of_colours(colour, colours):
    pattern = np.abs(np.subtract.outer(np.arange(50), np.arange(50))) < 2
    assert colour(csr_array(pattern)).count == colours


@pytest.mark.parametrize("colour", [colouring.symmetric, colouring.acyclic])
def test_an_arrow_takes_two_colours_also_where_its_hub_is_left_out(colour, monkeypatch):
    pattern = np.eye(40, dtype=bool)
    pattern[0] = pattern[:, 0] = True
    assert colour(csr_array(pattern)).count == 2
    monkeypatch.setattr(colouring, "_HUB", 10)
    found = colour(csr_array(pattern))
    assert found.count == 2
    assert naive.is_star(pattern, found.colours)


def test_colouring_runs_without_compiled_code():
    pattern = csr_array(naive.random_symmetric_pattern(np.random.default_rng(0), 12, 0.3))
    expected = [colour(pattern) for colour in (colouring.by_columns, colouring.symmetric, colouring.acyclic)]
    with avoided():
        for before, colour in zip(
            expected, (colouring.by_columns, colouring.symmetric, colouring.acyclic), strict=True
        ):
            assert np.array_equal(colour(pattern).colours, before.colours)
