"""What tape runs on, and what holds it back: the table, the number of threads, and each kind of advice."""

import dataclasses
import os
import subprocess
import sys

import pytest

from tape import config
from tape.config import Config, num_threads, show_config, usable_cores
from tape.errors import OptionError
from tape.system.blas import AVX512_FLAGS, Library

OLD, NEW = Library("OpenBLAS 1", "Haswell", 2), Library("OpenBLAS 1", "SkylakeX", 2)
OTHER = Library("mkl 2025", None, None)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    for name in ("TAPE_NUM_THREADS", "OMP_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def shown():
    return show_config()


def test_the_table_shows_every_field(shown):
    table = str(shown)
    assert repr(shown) == table
    for field in dataclasses.fields(Config):
        value = getattr(shown, field.name)
        if field.name == "keeps_freed":
            for keeps_freed, words in ((True, "kept for the next arrays"), (False, "left to the system")):
                table = str(dataclasses.replace(shown, keeps_freed=keeps_freed))
                assert f"freed memory       {words}" in table
        elif field.name == "holding_back":
            assert all(advice in table for advice in value)
        else:
            assert str(value or "none") in table


def test_nothing_to_hold_it_back_is_said(shown):
    table = str(dataclasses.replace(shown, holding_back=()))
    assert table.endswith("holding speed back:\n  nothing")


def test_every_advice_is_listed(shown):
    table = str(dataclasses.replace(shown, holding_back=("one: do this", "two: do that")))
    assert table.endswith("holding speed back:\n  - one: do this\n  - two: do that")


def test_it_cannot_be_changed(shown):
    with pytest.raises(dataclasses.FrozenInstanceError):
        shown.cores = 100


def test_importing_it_finds_nothing_out():
    code = "import sys, tape.config; sys.exit('scipy.linalg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"TAPE_NUM_THREADS": "3"}, 3),
        ({"TAPE_NUM_THREADS": " 3 "}, 3),
        ({"TAPE_NUM_THREADS": "3", "OMP_NUM_THREADS": "1"}, 3),
        ({"OMP_NUM_THREADS": "5"}, 5),
        ({"OMP_NUM_THREADS": "5,2"}, 5),
    ],
)
def test_threads_as_set(monkeypatch, settings, expected):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert num_threads() == expected


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "1.5"])
def test_threads_that_are_no_number_are_refused(monkeypatch, value):
    monkeypatch.setenv("TAPE_NUM_THREADS", value)
    with pytest.raises(OptionError, match=r"TAPE_NUM_THREADS=.*not a positive number\. Set it to"):
        num_threads()


@pytest.mark.parametrize("value", ["", "0", "auto"])
def test_other_peoples_settings_are_ignored_where_they_make_no_sense(monkeypatch, value):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert num_threads() == min(usable_cores(), 8)


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 2), (8, 8), (64, 8)])
def test_threads_follow_the_cores_up_to_eight(monkeypatch, cores, threads):
    monkeypatch.setattr(config, "usable_cores", lambda: cores)
    assert num_threads() == threads


@pytest.mark.parametrize(
    ("affinity", "quota", "cores"), [(4, None, 4), (4, 8.0, 4), (4, 2.0, 2), (4, 1.5, 2), (4, 0.2, 1)]
)
def test_cores_are_bounded_by_affinity_and_quota(monkeypatch, affinity, quota, cores):
    monkeypatch.setattr(config, "_affinity", lambda: affinity)
    monkeypatch.setattr(config, "_cpu_quota", lambda cgroups: quota)
    assert usable_cores() == cores


def test_systems_without_affinity_count_their_cores(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert config._affinity() == 6


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "nonsense"}, None),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "50000\n"}, None),
    ],
)
def test_quota_of_both_versions_of_control_groups(tmp_path, files, quota):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert config._cpu_quota(tmp_path) == quota


def test_a_quota_that_changes_is_seen_after_a_second(tmp_path, monkeypatch):
    seconds = iter([10.0, 10.9, 11.0])
    monkeypatch.setattr(config.time, "monotonic", lambda: next(seconds))
    found = []
    for quota in ("150000", "300000", "300000"):
        (tmp_path / "cpu.max").write_text(f"{quota} 100000\n")
        found.append(config._cpu_quota(tmp_path))
    monkeypatch.undo()
    assert found == [1.5, 1.5, 3.0]


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [
        ({"baseline": ["X86_V2"], "found": ["X86_V3", "X86_V4"], "not found": ["AVX512_SPR"]}, "AVX-512"),
        ({"baseline": ["X86_V2"], "found": ["X86_V3"]}, "AVX2"),
        ({"baseline": ["SSE", "SSE2", "SSE3"], "found": ["AVX2", "AVX512_SKX"]}, "AVX512_SKX"),
        ({"baseline": ["NEON", "ASIMD"]}, "ASIMD"),
        ({}, "unknown"),
    ],
)
def test_simd_is_the_widest_numpy_uses(monkeypatch, extensions, expected):
    monkeypatch.setattr("numpy.show_config", lambda mode: {"SIMD Extensions": extensions})
    assert config._simd() == expected


@pytest.mark.parametrize(
    ("flags", "products", "numpy_products"),
    [(AVX512_FLAGS, NEW, NEW), (AVX512_FLAGS, OTHER, OTHER), ({"avx2"}, OLD, OLD), (set(), OLD, OLD)],
)
def test_blas_without_fault(flags, products, numpy_products):
    assert config._blas_advice(frozenset(flags), products, numpy_products, {}) == []


@pytest.mark.parametrize(
    ("products", "numpy_products", "environment", "words"),
    [
        (OLD, OLD, {}, ["compiled programs (Haswell) and NumPy (Haswell)", "import tape before"]),
        (OLD, OLD, {"TAPE_BLAS_CORETYPE": "0"}, ["unset TAPE_BLAS_CORETYPE"]),
        (OLD, OLD, {"OPENBLAS_CORETYPE": "Haswell"}, ["OPENBLAS_CORETYPE is Haswell", "set it to SkylakeX"]),
        (NEW, OLD, {}, ["of NumPy (Haswell)", "start Python with OPENBLAS_CORETYPE=SkylakeX"]),
        (OLD, NEW, {}, ["of compiled programs (Haswell)", "start Python with OPENBLAS_CORETYPE=SkylakeX"]),
    ],
)
def test_older_blas_kernels_are_told_with_the_remedy_that_works(products, numpy_products, environment, words):
    (advice,) = config._blas_advice(AVX512_FLAGS, products, numpy_products, environment)
    assert all(word in advice for word in ["AVX-512", *words])


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ((4, 4, 4, NEW, NEW), []),
        ((2, 4, 2, NEW, NEW), ["allows 2 of 4 cores"]),
        ((1, 1, 1, OTHER, NEW), ["OPENBLAS_NUM_THREADS=1"]),
        ((2, 2, 3, OTHER, OTHER), ["TAPE_NUM_THREADS=2"]),
        ((1, 1, 1, OTHER, OTHER), []),  # of which nobody knows how many threads they use
        ((1, 4, 3, NEW, OTHER), ["allows 1 of 4", "OPENBLAS_NUM_THREADS=1", "TAPE_NUM_THREADS=1"]),
    ],
)
def test_advice_on_threads(facts, words):
    advice = config._thread_advice(*facts)
    assert len(advice) == len(words)
    assert all(word in line for word, line in zip(words, advice, strict=True))


def test_advice_on_kernels(tmp_path):
    assert config._kernel_advice(str(tmp_path)) == []
    for cache in (None, str(tmp_path / "missing")):
        (advice,) = config._kernel_advice(cache)
        assert "TAPE_CACHE_DIR" in advice


@pytest.mark.parametrize(
    "kernels",
    [
        "Prescott", "Core2", "Penryn", "Nehalem", "Sandybridge", "Haswell", "Barcelona", "Bulldozer",
        "Piledriver", "Steamroller", "Excavator", "Zen",
    ],
)  # fmt: skip
def test_every_kernel_set_without_avx512_is_told(kernels):
    library = Library("OpenBLAS 1", kernels, 2)
    (advice,) = config._blas_advice(AVX512_FLAGS, library, library, {})
    assert "has AVX-512" in advice
    assert config._blas_advice(frozenset(), library, library, {}) == []
    assert config._blas_advice(AVX512_FLAGS, NEW, NEW, {}) == []


def test_advice_on_simd():
    assert config._simd_advice(frozenset({"avx2"}), {}) == []
    assert config._simd_advice(frozenset(), {}) == []  # not known
    (advice,) = config._simd_advice(frozenset({"sse4_2"}), {})
    assert "no AVX2" in advice
    (advice,) = config._simd_advice(frozenset({"avx2"}), {"NPY_DISABLE_CPU_FEATURES": "X86_V4"})
    assert "unset NPY_DISABLE_CPU_FEATURES" in advice


def test_advice_on_the_process():
    assert config._process_advice(False, {}) == []
    both = config._process_advice(True, {"TAPE_KEEP_FREED": "0"})
    assert all(word in line for word, line in zip(("TAPE_KEEP_FREED", "compileall"), both, strict=True))


def test_bytecode_that_is_kept_is_no_fault(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert config._compiles_its_source() is False


def test_the_kernel_cache_is_where_kernels_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path))
    assert config._kernel_cache() == str(tmp_path)
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path / "file" / "below"))
    (tmp_path / "file").touch()
    assert config._kernel_cache() is None
