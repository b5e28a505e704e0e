"""The BLAS behind compiled programs: its kernels, functions and threads. Decisions are tested on facts."""

import _ctypes
import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tape.errors import UnsupportedError
from tape.system import blas

UNKNOWN_CPU = {
    "cpu_flags": blas.AVX512_FLAGS | {"avx2", "fma"},
    "kernels_by_default": "Haswell",
    "is_loaded": False,
    "environment": {},
}
REASONS_AGAINST = [
    *({"cpu_flags": blas.AVX512_FLAGS - {flag}} for flag in sorted(blas.AVX512_FLAGS)),
    {"cpu_flags": frozenset()},
    {"kernels_by_default": None},
    {"kernels_by_default": "SkylakeX"},
    {"kernels_by_default": "Sapphirerapids"},
    {"kernels_by_default": "a newer one"},
    {"is_loaded": True},
    {"environment": {"OPENBLAS_CORETYPE": "Haswell"}},
    {"environment": {"OPENBLAS_CORETYPE": ""}},
    {"environment": {"TAPE_BLAS_CORETYPE": "0"}},
]

needs_own_openblas = pytest.mark.skipif(
    blas._scipy_openblas_path() is None or "avx2" not in blas.cpu_flags(),
    reason="only x86 with AVX2, and a SciPy with its own OpenBLAS",
)

AS_ON_AN_UNKNOWN_CPU = """
import ctypes, os
from tape.system import blas

{first}
os.environ["TAPE_BLAS_CORETYPE"] = "{setting}"  # "0" until here: importing tape has done nothing yet
before = dict(os.environ)
blas.cpu_flags = lambda: blas.AVX512_FLAGS
blas.numpy_library = lambda: blas.Library("OpenBLAS", "Haswell", 1)
blas.AVX512_KERNELS = "Nehalem"  # every x86 CPU can run them, none would choose them
blas.choose_kernels.cache_clear()
is_done = blas.choose_kernels()

libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
assert dict(os.environ) == before
assert libc.getenv(b"OPENBLAS_CORETYPE") == os.environb.get(b"OPENBLAS_CORETYPE")
import scipy.linalg
print(is_done, blas.products_library().kernels)
"""


def on_an_unknown_cpu(first="", setting="", **environment):
    """Whether a fresh interpreter chose the kernels there, and which are used: two words."""
    inherited = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", AS_ON_AN_UNKNOWN_CPU.format(first=first, setting=setting)],
        env={**inherited, "TAPE_BLAS_CORETYPE": "0", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("kernels", ["Haswell", "haswell", "Zen", "SANDYBRIDGE"])
def test_older_kernels_on_an_avx512_cpu_are_replaced(kernels):
    assert blas.kernels_to_request(**{**UNKNOWN_CPU, "kernels_by_default": kernels}) == "SkylakeX"


@pytest.mark.parametrize("reason", REASONS_AGAINST)
def test_one_reason_against_it_is_enough(reason):
    assert blas.kernels_to_request(**{**UNKNOWN_CPU, **reason}) is None


@needs_own_openblas
def test_what_the_user_asks_for_is_used():
    assert on_an_unknown_cpu(OPENBLAS_CORETYPE="Haswell") == ["False", "Haswell"]


@needs_own_openblas
def test_the_choice_reaches_the_library_and_the_environment_stays():
    assert on_an_unknown_cpu() == ["True", "Nehalem"]


@needs_own_openblas
def test_a_library_that_is_loaded_is_left_alone():
    is_done, kernels = on_an_unknown_cpu(first="import scipy.linalg")
    assert is_done == "False"
    assert kernels != "Nehalem"


@needs_own_openblas
def test_it_can_be_turned_off():
    is_done, kernels = on_an_unknown_cpu(setting="0")
    assert is_done == "False"
    assert kernels != "Nehalem"


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert blas.choose_kernels.__wrapped__() is False


def test_a_scipy_without_a_copy_of_its_own_is_left_alone(monkeypatch, tmp_path):
    class Spec:
        origin = str(tmp_path / "scipy" / "__init__.py")

    monkeypatch.setattr(blas, "find_spec", lambda name: Spec)
    assert blas.choose_kernels.__wrapped__() is False


@pytest.mark.parametrize("spec", [None, SimpleNamespace(origin=None)])
def test_without_files_of_scipy_there_is_no_library_of_its_own(monkeypatch, spec):
    monkeypatch.setattr(blas.sys, "platform", "linux")
    monkeypatch.setattr(blas, "find_spec", lambda name: spec)
    assert blas._scipy_openblas_path() is None


def test_libraries_are_loaded_or_not_and_asked_for_kernels(monkeypatch, tmp_path):
    loaded, missing = Path(_ctypes.__file__), tmp_path / "libnone.so"
    assert blas._is_loaded(loaded)
    assert not blas._is_loaded(missing)
    seen = []
    monkeypatch.setattr(
        blas.ctypes, "CDLL", lambda path: seen.append((path, os.environ["OPENBLAS_CORETYPE"]))
    )
    assert blas._load_with_kernels(missing, "Zen") is True
    assert seen == [(str(missing), "Zen")]
    assert "OPENBLAS_CORETYPE" not in os.environ


def test_a_library_that_cannot_be_loaded_is_left_to_scipy(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    broken = tmp_path / "libopenblas.so"
    broken.write_bytes(b"not a library")
    assert blas._load_with_kernels(broken, "SkylakeX") is False
    assert "OPENBLAS_CORETYPE" not in os.environ


def test_blas_functions_compute_products():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    out = np.empty((3, 2))
    gemm = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(blas.blas_function("dgemm"))
    no, one, zero = ctypes.c_char(b"N"), ctypes.c_double(1), ctypes.c_double(0)
    two, three, four = (ctypes.c_int(n) for n in (2, 3, 4))
    columns_first = (no, no, two, three, four, one, b.ctypes, two, a.ctypes, four, zero, out.ctypes, two)
    gemm(*(x.data if hasattr(x, "data") else ctypes.addressof(x) for x in columns_first))
    np.testing.assert_allclose(out, a @ b, rtol=1e-13)


def test_lapack_functions_solve():
    a, b = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    expected = np.linalg.solve(a, b)
    pivots, info = np.empty(2, np.int32), ctypes.c_int(-1)
    two, one = ctypes.c_int(2), ctypes.c_int(1)
    solve = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)(blas.lapack_function("dgesv"))
    size, count, found = (ctypes.addressof(n) for n in (two, one, info))
    solve(size, count, a.ctypes.data, size, pivots.ctypes.data, b.ctypes.data, size, found)
    assert info.value == 0
    np.testing.assert_allclose(b, expected, rtol=1e-13)


@pytest.mark.parametrize("find", [blas.blas_function, blas.lapack_function])
def test_functions_that_are_not_there_are_named(find):
    with pytest.raises(UnsupportedError, match=r"cython_\w+ has no function 'sgemmm'.*Check the name"):
        find("sgemmm")


def test_another_blas_is_named_and_left_alone(monkeypatch):
    monkeypatch.setattr(blas, "_NUMPY_MODULE", "numba._dispatcher")  # linked to no BLAS
    monkeypatch.setattr(blas, "_SCIPY_MODULE", "numba._dispatcher")
    monkeypatch.setattr(blas, "_is_numpys", lambda: False)
    library = blas.products_library()
    assert library.name
    assert (library.kernels, library.threads) == (None, None)
    assert str(library) == library.name


def test_a_module_that_is_missing_is_no_error():
    library = blas._library("numpy._core.not_there", "numpy")
    assert (library.kernels, library.threads) == (None, None)


@pytest.mark.parametrize("package", ["numpy", "scipy"])
@pytest.mark.parametrize(
    ("details", "name"),
    [
        ({"name": "mkl-sdl", "version": "2023.1"}, "mkl-sdl 2023.1"),
        ({"name": "accelerate", "version": None}, "accelerate"),
        ({"name": "blas"}, "blas"),
        ({}, "unknown"),
        (None, "unknown"),
    ],
)
def test_a_blas_that_cannot_be_asked_has_the_name_it_was_built_with(monkeypatch, package, details, name):
    found = details and {"Build Dependencies": {"blas": details, "lapack": {"name": "other"}}}
    monkeypatch.setattr(f"{package}.show_config", lambda mode: found if mode == "dicts" else None)
    assert str(blas._library("numpy._core.not_there", package)) == name


def test_agrees_with_threadpoolctl():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    reported = {
        (info["architecture"], info["num_threads"])
        for info in threadpoolctl.threadpool_info()
        if info["internal_api"] == "openblas"
    }
    libraries = [blas.numpy_library(), blas.products_library()]
    assert {(lib.kernels, lib.threads) for lib in libraries if lib.kernels} <= reported


# ---- facts of a machine that this one need not be ------------------------------------------------------


@pytest.fixture
def machine(monkeypatch):
    """Where there is something to choose: what was loaded, and facts that can be changed."""
    loaded = []
    facts = {
        "_scipy_openblas_path": "/lib/openblas.so",
        "cpu_flags": blas.AVX512_FLAGS,
        "numpy_library": blas.Library("OpenBLAS", "Haswell", 1),
    }
    for name in facts:
        monkeypatch.setattr(blas, name, lambda name=name: facts[name])
    monkeypatch.setattr(blas, "_is_loaded", lambda path: False)
    monkeypatch.setattr(blas, "_load_with_kernels", lambda *args: loaded.append(args) or True)
    for name in ("OPENBLAS_CORETYPE", "TAPE_BLAS_CORETYPE"):
        monkeypatch.delenv(name, raising=False)
    return facts, loaded


def test_kernels_are_chosen_where_everything_speaks_for_it(machine):
    _, loaded = machine
    assert blas.choose_kernels.__wrapped__() is True
    assert loaded == [("/lib/openblas.so", "SkylakeX")]


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("_scipy_openblas_path", None),
        ("cpu_flags", frozenset()),
        ("cpu_flags", blas.AVX512_FLAGS - {min(blas.AVX512_FLAGS)}),
        ("numpy_library", blas.Library("OpenBLAS", "SkylakeX", 1)),
        ("numpy_library", blas.Library("MKL", None, None)),
    ],
)
def test_nothing_is_loaded_if_one_fact_speaks_against_it(machine, fact, value):
    facts, loaded = machine
    facts[fact] = value
    assert blas.choose_kernels.__wrapped__() is False
    assert loaded == []


def test_libraries_say_what_they_are():
    assert str(blas.Library("OpenBLAS 0.3", "Haswell", 1)) == "OpenBLAS 0.3, Haswell kernels, 1 thread"
    assert str(blas.Library("OpenBLAS 0.3", None, 4)) == "OpenBLAS 0.3, 4 threads"


@needs_own_openblas
def test_an_openblas_is_asked_through_the_module_that_is_linked_to_it():
    for library in (blas.numpy_library(), blas.products_library()):
        assert library.kernels
        assert library.threads >= 1
