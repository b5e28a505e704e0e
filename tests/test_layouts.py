"""Memory layout of arguments: compiled functions do what plain ones do for each, in any order of calls."""

from itertools import permutations
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape import errors
from tape.ops.structure.layout import slowest_read_first
from tests.tiers import some, takes_long


def writes_to_a_raveled_one(x):
    y = x * 1.0
    v = y.ravel()  # a view, or a copy
    v += 1
    return y * 1


def writes_to_a_reshaped_copy(x):
    y = np.copy(x)
    y.reshape(-1)[0] = 9
    return y


def writes_to_a_transposed_one(x):
    y = x + 0.0
    y.T.reshape(-1)[:3] = 7
    return y


def looks_for_a_view(x):
    try:
        return (x * 1).reshape(-1, copy=False)
    except ValueError:
        return x * 2


def sums_of_part(x):
    total = np.zeros(3, like=x)
    total[1:] += x[0, :2]
    return total


def branches(x):
    y = x * 1.0
    y.ravel()[0] = 9  # a view, or a copy
    if np.sum(x) > 0:
        return y * 2
    return y.reshape(-1) - 1


FUNCTIONS = {
    "branches": branches,
    "ravel K": lambda x: x.ravel("K"),
    "ravel K of a transposed one": lambda x: (x.T * 1).ravel("K"),
    "flatten A": lambda x: (x * 2).flatten("A"),
    "reshape A": lambda x: (x * 2).reshape(3, 2, order="A"),
    "gradient of ravel K": tape.grad(lambda x: x.ravel("K") @ np.arange(6.0)),
    "gradient of a write": tape.grad(lambda x: np.sum(writes_to_a_raveled_one(x) ** 2)),
    "write to a raveled one": writes_to_a_raveled_one,
    "write to a reshaped copy": writes_to_a_reshaped_copy,
    "write to a transposed one": writes_to_a_transposed_one,
    "view or not": looks_for_a_view,
    "write to what is no argument": sums_of_part,
    "no write": lambda x: np.sin(x).reshape(-1) * 2,
}
WHOLE = np.arange(48.0).reshape(4, 12)
LAYOUTS = {
    "C": np.arange(6.0).reshape(2, 3),
    "F": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": WHOLE[::2, 1:10:3],
    "turned": WHOLE[1:3, 2:5][::-1],
    "rows repeated": np.broadcast_to(np.arange(3.0), (2, 3)),
    "columns repeated": np.broadcast_to(np.arange(2.0)[:, None], (2, 3)),
    "F turned": np.asfortranarray(np.arange(6.0).reshape(2, 3))[::-1, ::-1],
}


@given(st.data())
def test_elements_are_taken_as_numpy_does(data):
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    steps = [data.draw(st.sampled_from([1, 2, -1, -2])) for _ in shape]
    whole = np.arange(float(np.prod([2 * n for n in shape]))).reshape([2 * n for n in shape])
    x = np.ascontiguousarray(whole.transpose(data.draw(st.permutations(range(whole.ndim)))))
    x = x.transpose(data.draw(st.permutations(range(x.ndim))))[tuple(slice(None, None, k) for k in steps)]
    repeated = [data.draw(st.booleans()) for _ in shape]
    x = np.broadcast_to(x[tuple(slice(0, 1) if each else slice(None) for each in repeated)], x.shape)
    np.testing.assert_array_equal(x.transpose(slowest_read_first(x)).reshape(-1), x.ravel("K"))
    with tape.Trace() as trace:
        np.testing.assert_array_equal(trace.input(x).ravel("K").value, x.ravel("K"))


@takes_long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_in_any_order_do_what_plain_ones_do(name):
    f = FUNCTIONS[name]
    for order in some(permutations(LAYOUTS, 3), every=17):
        compiled = tape.compile(f)
        for key in (*order, *order):
            for x in (LAYOUTS[key], -LAYOUTS[key]):
                np.testing.assert_array_equal(compiled(x), f(x), err_msg=f"{key} of {order}")


@pytest.mark.parametrize("name", ["write to what is no argument", "no write"])
def test_where_it_makes_no_difference_all_layouts_share_a_program(name):
    run = Mock()

    def f(x):
        run()
        return FUNCTIONS[name](x)

    compiled = tape.compile(f)
    for x in LAYOUTS.values():
        compiled(x)
    assert len(compiled.programs) == 1
    once = run.call_count
    for x in LAYOUTS.values():
        np.testing.assert_array_equal(compiled(x), FUNCTIONS[name](x))
    assert run.call_count == once  # without Python


def test_programs_by_themselves_refuse_other_layouts(tmp_path):
    compiled = tape.compile(writes_to_a_raveled_one)
    compiled(LAYOUTS["C"])
    (program,) = compiled.programs.values()
    program.save(tmp_path / "f.tape")
    for one in (program, tape.load(tmp_path / "f.tape")):
        np.testing.assert_array_equal(one(LAYOUTS["C"]), writes_to_a_raveled_one(LAYOUTS["C"]))
        with pytest.raises(errors.UnsupportedError, match="lie in memory"):
            one(LAYOUTS["F"])


def test_memory_maps_lie_in_memory_as_arrays_do(tmp_path):
    compiled = tape.compile(writes_to_a_raveled_one)
    compiled(LAYOUTS["C"])
    x = np.memmap(tmp_path / "x", float, "w+", shape=(2, 3), order="F")
    x[:] = LAYOUTS["C"]
    np.testing.assert_array_equal(compiled(x), writes_to_a_raveled_one(LAYOUTS["F"]))
    (program,) = compiled.programs.values()
    with pytest.raises(errors.UnsupportedError, match="lie in memory"):
        program(x)


@pytest.mark.parametrize("mode", ["fwd", "rev", "auto"])
def test_jacobians_lie_in_memory_alike_in_both_modes_and_in_programs(mode):
    def written_to(x):
        slopes = tape.jacobian(lambda v: tape.scan(lambda s, e: (s + e, s * e), 0.5, v)[1], mode=mode)(x)
        slopes.ravel()[:] += 0.25  # of a view
        return slopes

    x = np.array([-0.75, 2.0, 0.0])
    assert tape.jacobian(np.outer, mode=mode)(x, x).flags.c_contiguous
    compiled = tape.compile(written_to)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), written_to(x))


def test_whether_arguments_share_memory_is_no_part_of_a_program():
    x = np.ones(3)
    compiled = tape.compile(lambda a, b: a * 2 if np.shares_memory(a, b) else a)
    with pytest.raises(errors.UnsupportedError, match="shares_memory"):
        compiled(x, x)


def written_first(x):
    x[0] = 7.0
    return x * 1


def added_at(x):
    np.add.at(x, (slice(None), 0), 1.0)
    return x * 2


@pytest.mark.parametrize("f", [written_first, added_at])
def test_writes_to_arrays_that_overlap_themselves_are_those_of_numpy(f):
    windows = lambda: np.lib.stride_tricks.as_strided(np.arange(8.0), (4, 3), (8, 8))  # noqa: E731
    plain = lambda: np.arange(12.0).reshape(4, 3)  # noqa: E731
    for order in ((windows, windows, plain, windows), (plain, windows, plain, windows)):
        compiled = tape.compile(f)
        for make in order:
            np.testing.assert_array_equal(compiled(make()), f(make()))
