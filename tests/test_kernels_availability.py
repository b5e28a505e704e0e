"""Whether compiled code can run: whatever is missing, everything runs on plain NumPy, and says so once."""

import ctypes
import mmap
import warnings

import numpy as np
import pytest
from scipy.special import ndtr

import tape
from tape import errors
from tape.kernels import availability, headers, loading, making
from tape.kernels.availability import give_up, is_available
from tape.kernels.cross_entropy import indexed_losses
from tape.kernels.eager import is_avoided
from tape.program.ir import promotion
from tape.program.native import functions
from tape.program.program import Program
from tape.program.record.recording import record
from tests.unloaded import unloaded


@pytest.fixture
def untried(monkeypatch):
    """A process in which nothing has been tried out, and no code has been loaded."""
    before = list(availability._reasons)
    availability._reasons[:] = []
    monkeypatch.setattr(availability, "_is_system_known", False)
    with unloaded():
        yield monkeypatch
    availability._reasons[:] = before


def fail(*_, **__):
    raise OSError("not here")


def no_library(patch):
    """As on Windows, and where the interpreter is linked statically."""
    library = ctypes.CDLL

    def load(name, *args, **kwargs):
        if name is None:
            raise TypeError("bad argument type for built-in operation")
        return library(name, *args, **kwargs)

    patch.setattr(ctypes, "CDLL", load)
    loading._name_symbols.cache_clear()


def nothing_on_disk(patch):
    patch.setattr(loading.shipped, "read", lambda group: None)
    patch.setattr(loading.cache, "read", lambda name: None)
    patch.setattr(loading, "_maker", None)


def no_process(patch):
    nothing_on_disk(patch)
    patch.setattr(making, "_python", fail)
    patch.setenv("TAPE_WAIT", "1")


def failing_process(patch):
    """As with a version of numba that calls something else."""
    nothing_on_disk(patch)
    patch.setattr(making, "_HELPER", "raise RuntimeError('an unknown symbol')")
    patch.setenv("TAPE_WAIT", "1")


def other_layout(offset, value):
    return lambda patch: patch.setattr(headers, offset, value)


LACKS = {
    "no C library": no_library,
    "no code": lambda patch: patch.setattr(loading, "_objects", fail),
    "code that does not load": lambda patch: patch.setattr(loading, "Native", fail),
    "no process to compile in": no_process,
    "a process that fails": failing_process,
    "no executable memory": lambda patch: patch.setattr(mmap, "mmap", fail),
    "another Python": lambda patch: patch.setattr(headers.sys.implementation, "name", "graalpy"),
    "no global lock": lambda patch: patch.setattr(headers.sysconfig, "get_config_var", lambda name: 1),
    "larger heads of tuples": other_layout("TUPLE", headers.TUPLE + 8),
    "longer heads": other_layout("SCALAR", headers.SCALAR + 8),
    "another place for the data": other_layout("ARRAY_DATA", headers.ARRAY_DATA + 8),
    "another place for the lengths": other_layout("ARRAY_DIMS", headers.ARRAY_DIMS + 16),
    "another place for the dtype": other_layout("ARRAY_DTYPE", headers.ARRAY_DTYPE - 8),
    "another place for the flags": other_layout("ARRAY_FLAGS", headers.ARRAY_FLAGS - 4),
    "no pipes": lambda patch: patch.setattr(headers.os, "pipe", fail),
}


@pytest.mark.filterwarnings("always::tape.errors.NotCompiledWarning")
@pytest.mark.parametrize("lack", LACKS.values(), ids=LACKS)
def test_whatever_is_missing_everything_runs_on_plain_numpy(untried, lack):
    x = np.linspace(-3.0, 3.0, 3000)
    lack(untried)
    with warnings.catch_warnings(record=True) as caught:
        trace = tape.Trace()
        root = np.sum(trace.param(np.full(3, 2.0)) * trace.input(np.arange(3.0)))
        value, (gradient,) = trace.compile(root).run()  # waits, if there is anything to wait for
        compiled = tape.compile(tape.grad(lambda x: np.sum(np.sin(x) * tape.nn.gelu(x))))
        found = [compiled(x), compiled(x)]
        gelu, slope = tape.nn.gelu(x), tape.grad(lambda x: np.sum(tape.nn.gelu(x)))(x)
        largest = tape.grad(lambda x: np.sum(np.where(x > 0, x, 2 * x)))(x)
        losses = indexed_losses(np.zeros((4, 3)), np.arange(4) % 3)[0]
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(gelu, x * ndtr(x), rtol=1e-13)
    np.testing.assert_allclose(slope, ndtr(x) + x * density, rtol=1e-11, atol=1e-15)
    for out in found:
        expected = np.cos(x) * x * ndtr(x) + np.sin(x) * (ndtr(x) + x * density)
        np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(largest, np.where(x > 0, 1.0, 2.0))
    assert value == 6.0
    np.testing.assert_array_equal(gradient, np.arange(3.0))
    np.testing.assert_allclose(losses, np.log(3))
    told = [warning for warning in caught if warning.category is errors.NotCompiledWarning]
    assert len(told) == 1
    assert "plain NumPy" in str(told[0].message)
    assert told[0].filename == __file__
    assert not compiled.programs


def test_a_program_runs_on_numpy_without_a_machine_and_cannot_be_profiled(untried):
    untried.setattr(loading, "_objects", fail)
    with pytest.warns(errors.NotCompiledWarning):
        program = Program(record(lambda x: 2 * x, (np.ones(3),), {}, "f"))
    np.testing.assert_array_equal(program(np.arange(3.0)), [0.0, 2.0, 4.0])
    with pytest.raises(errors.UnsupportedError, match="Call the function itself"):
        program.profile(np.ones(3))


def test_there_is_one_warning_and_it_names_the_first_reason(untried):
    assert is_available()
    with pytest.warns(errors.NotCompiledWarning, match="the first reason"):
        give_up("the first reason")
    give_up("another")
    assert not is_available()
    assert is_avoided()
    assert not loading.is_ready()
    assert not loading.wait()
    with pytest.raises(availability.Unavailable, match="the first reason"):
        availability.require()


def test_a_warning_that_is_an_error_is_raised_once(untried):
    untried.setattr(mmap, "mmap", fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.NotCompiledWarning):
            is_available()
        assert not is_available()


# ---- layouts -----------------------------------------------------------------------------------------


def test_the_layouts_of_this_python_are_known():
    assert headers.why_unknown() is None


@pytest.mark.parametrize("address", [0, 8, 1 << 47, 1 << 62, (1 << 64) - 8, -8])
def test_reading_where_there_is_no_memory_is_no_crash(address):
    assert headers.memory_at(address, 8) is None


def test_memory_is_what_it_holds():
    x = np.arange(300, dtype=np.int64)
    assert headers.memory_at(x.ctypes.data, x.nbytes) == x.tobytes()


@pytest.mark.parametrize("offset", ["TUPLE", "TUPLE_SIZE", "SCALAR", "TYPE", "REFERENCES", "ARRAY_DATA",
                                    "ARRAY_NDIM", "ARRAY_DIMS", "ARRAY_DTYPE", "ARRAY_FLAGS"])  # fmt: skip
@pytest.mark.parametrize("shift", [-8, 4, 8, 16, 24])
def test_no_other_layout_passes_and_none_crashes(monkeypatch, offset, shift):
    """As the hash of tuples in Python 3.14, which lies where the first item was: no address at all."""
    monkeypatch.setattr(headers, offset, max(0, getattr(headers, offset) + shift))
    if getattr(headers, offset) == 0 and offset == "REFERENCES":
        return
    assert headers.why_unknown() is not None


def test_a_tuple_with_a_hash_is_laid_out_as_its_size_says(monkeypatch):
    """The head of 3.14: the items are where ``__basicsize__`` ends, whatever stands before them."""
    items = (1.5, "text")
    array = np.zeros(16, np.uint64)
    array[:4] = 1, id(tuple), len(items), 0xDEAD_BEEF_DEAD_BEEF  # a hash, which is no address
    array[4:6] = [id(item) for item in items]
    assert headers.memory_at(int(array[3]), 8) is None
    assert tuple.__basicsize__ == headers.TUPLE
    assert object.__basicsize__ == headers.TUPLE_SIZE


def test_a_ufunc_that_is_laid_out_otherwise_has_no_loop(monkeypatch):
    """Its name and numbers are compared before an address in it is used."""
    double = np.dtype(float)
    assert functions._inner_loop(np.sin, "d->d")
    fields = functions._UFunc._fields_
    for shift in range(1, 4):
        padding = [(f"padding{k}", ctypes.c_void_p) for k in range(shift)]
        for at in (0, 2, 6, 8, len(fields) - 1):
            moved = type("_UFunc", (ctypes.Structure,), {"_fields_": [*fields[:at], *padding, *fields[at:]]})
            monkeypatch.setattr(functions, "_UFunc", moved)
            found = functions._inner_loop(np.sin, "d->d")
            assert found is None
    monkeypatch.undo()
    assert functions.loop_number("sin", (double, double)) is not None


# ---- a NumPy with other loops -----------------------------------------------------------------------


def test_unknown_loops_become_callbacks(monkeypatch):
    monkeypatch.setattr(promotion, "loop_number", lambda name, dtypes: None)
    promotion.loop_dtypes.cache_clear()
    try:
        compiled = tape.compile(lambda x: np.sin(x) * x)
        for x in (np.ones(2), np.array([1.0, 2.0])):
            np.testing.assert_array_equal(compiled(x), np.sin(x) * x)
        (program,) = compiled.programs.values()
        assert "sin" in str(program.explain())
        assert len(program) == 2
    finally:
        promotion.loop_dtypes.cache_clear()
