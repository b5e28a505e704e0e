"""Reductions with all their options together: NumPy's values and dtypes, also compiled, and derivatives."""

from itertools import product

import numpy as np
import pytest

import tape
from tests.oracles import assert_close, is_float, record
from tests.tiers import grid, takes_long

MASK = np.array([[True, False, True], [True, True, True]])
OF_NUMBERS = ["sum", "prod", "mean", "var", "std", "nansum", "nanprod", "nanmean", "nanvar", "nanstd"]
EXTREMES = ["max", "min", "nanmax", "nanmin"]
RUNNING = ["cumsum", "cumprod", "nancumsum", "nancumprod"]
DTYPES = "fdil"


def options_of(name, dtype):
    """All combinations of the options of a function, for an array with two axes."""
    masks = [None] if name in RUNNING else [None, MASK]
    axes = [{}, {"axis": 0}, {"axis": -1} if name in RUNNING else {"axis": -1, "keepdims": True}]
    for axis, mask, into in product(axes, masks, [None] if name in EXTREMES else [None, "f", "d"]):
        options = dict(axis)
        if into is not None:
            options["dtype"] = np.dtype(into)
        if mask is not None:
            options["where"] = mask
            if name in EXTREMES:
                options["initial"] = np.dtype(dtype).type(2)
        if name in ("var", "std", "nanvar", "nanstd") and options.get("axis") != 0:
            options["ddof"] = 1
        yield options


def argument(dtype, name):
    x = (np.arange(6).reshape(2, 3) * 5 % 7 + 1).astype(dtype)
    if dtype in "fd":
        x = x / x.dtype.type(7)
        if name.startswith("nan"):
            x[1, 2] = np.nan
    return x


@takes_long
@grid(name=[*OF_NUMBERS, *EXTREMES, *RUNNING], dtype=DTYPES, times=2)
def test_options_mean_what_they_mean_in_numpy(name, dtype):
    f, x = getattr(np, name), argument(dtype, name)
    for options in options_of(name, dtype):

        def call(x, options=options):
            return f(x, **options)

        expected = f(x, **options)
        _, _, out = record(call, [x])
        compiled = tape.compile(call)
        for found in (out.value, compiled(x), compiled(x)):
            assert np.result_type(found) == np.result_type(expected), options
            # NumPy rounds the distances of nanvar to the dtype of the argument; programs do not.
            is_rounded = np.result_type(expected) == np.float32 or (
                name in ("nanvar", "nanstd") and dtype == "f"
            )
            assert_close(found, expected, 1e-6 if is_rounded else 1e-14)


@pytest.mark.parametrize("name", [*OF_NUMBERS, *EXTREMES, *RUNNING])
def test_derivatives_with_options_are_those_of_differences_and_alike_in_programs(name):
    f, x = getattr(np, name), argument("d", name)
    for options in options_of(name, "d"):
        if options.get("dtype") == np.float32:
            continue  # in which differences say nothing

        def total(x, options=options):
            out = f(x, **options)
            return np.sum(out * np.cos(np.arange(out.size)).reshape(out.shape))

        gradient = tape.grad(total)
        compiled = tape.compile(gradient)
        found = gradient(x)
        for _ in range(2):  # the first call records
            assert_close(compiled(x), found, 1e-13)
        for place in np.ndindex(x.shape):
            if np.isnan(x[place]):
                assert found[place] == 0
                continue
            step = np.zeros_like(x)
            step[place] = 1e-6
            slope = (total(x + step) - total(x - step)) / 2e-6
            assert found[place] == pytest.approx(slope, abs=1e-7), options
        assert is_float(found)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*OF_NUMBERS, *EXTREMES])
def test_nan_counts_where_the_mask_lets_it_unless_it_is_skipped(name):
    f, x = getattr(np, name), np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 6.0]])
    for axis, mask in product((None, 0, 1), (True, MASK, ~np.isnan(x), np.isnan(x))):
        options = {"axis": axis, "where": mask, **({"initial": 2.0} if name in EXTREMES else {})}

        def call(x, options=options):
            return f(x, **options)

        compiled = tape.compile(call)
        expected = f(x, **options)
        _, _, out = record(call, [x])
        for found in (out.value, compiled(x), compiled(x)):
            np.testing.assert_allclose(found, expected, rtol=1e-14)
