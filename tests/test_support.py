"""The table of what functions can do: it is tried out, complete, and the one in the documentation is it."""

import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
import scipy

import tape
from tape.core.table import OPERATIONS
from tape.inspect.samples import SAMPLES
from tape.support import markdown, probe, report, scipy_modules
from tape.support.samples import arguments
from tests.op_table import CASES, in_ops

DOCUMENT = Path(__file__).parent.parent / "examples" / "functions.md"


@pytest.fixture(scope="module")
def found():
    with np.errstate(all="ignore"):
        return {one.name: one for one in report()}


def test_every_function_of_numpy_is_listed(found):
    for namespace, title in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
        listed = {id(resolved(name)) for name in found if name.startswith(f"{title}.")}
        for name, function in vars(namespace).items():
            if isinstance(function, (np.ufunc, type(np.sum))):
                assert id(function) in listed, name


def resolved(name):
    value = np
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def test_every_function_with_an_operation_has_a_sample():
    sampled = {resolved(name) for name in SAMPLES if name.startswith("np.")}
    namespaces = {np, np.linalg, np.fft}
    known = {f for f in OPERATIONS if any(f in vars(space).values() for space in namespaces)}
    assert known <= sampled
    named = {name.rpartition(".special.")[2] for name in SAMPLES if ".special." in name}
    assert named == set(tape.ops.special.__all__)


def test_every_sampled_function_with_an_operation_is_in_the_table_of_operations():
    def operation(function):
        return getattr(function, "op", function)

    in_table = {id(operation(attrgetter(case.op)(tape.ops))) for case in CASES if in_ops(case)}
    for name in SAMPLES:
        _, _, own = name.replace("scipy.", "tape.ops.").partition("tape.")
        function = attrgetter(own)(tape) if own else OPERATIONS.get(resolved(name))
        assert function is None or id(operation(function)) in in_table, name


def test_whatever_has_a_derivative_has_it_in_both_modes_and_at_second_order(found):
    derived = [one for one in found.values() if one.status == "derivative"]
    assert [one.name for one in derived if not (one.vjp and one.jvp and one.second)] == []
    assert [one.name for one in found.values() if one.is_complex is False] == []
    assert [one.name for one in found.values() if one.program == "wrong"] == []
    assert len(derived) > 250


def test_what_is_refused_is_refused_at_the_call_and_says_so(found):
    for one in found.values():
        if one.sample and one.status == "none":
            assert one.name.rpartition(".")[2] in one.detail
    assert {one.name for one in found.values() if one.status == "none"} == {
        "np.busday_count", "np.busday_offset", "np.datetime_as_string", "np.is_busday", "np.isnat",
        "np.packbits", "np.unpackbits",
    }  # fmt: skip


def test_the_table_in_the_documentation_is_the_one_that_is_found(found):
    table = markdown(list(found.values()))
    assert table in DOCUMENT.read_text(), "run python -m tape.support --markdown, and replace the table by it"


def test_a_wrong_rule_is_found_out(monkeypatch):
    """Derivatives count only where they are those of differences."""
    wrong = tape.Op(np.exp, vjp=[lambda g, out, x: g * x], jvp=[lambda t, out, x: t * out])
    monkeypatch.setitem(OPERATIONS, np.exp, wrong)
    one = probe("np.exp(x)")
    assert (one.status, one.vjp, one.jvp) == ("derivative", False, True)


def test_a_wrong_value_is_found_out(monkeypatch):
    monkeypatch.setitem(OPERATIONS, np.exp, tape.Op(np.expm1, name="exp"))
    assert probe("np.exp(x)").status == "none"


def test_samples_work_at_other_sizes():
    big = arguments(5, 7)
    assert big["x"].shape == (5, 7)
    assert len(np.unique(big["x"])) == 35


def test_the_command_prints_what_was_asked_for_and_knows_near_names():
    def run(*names):
        command = [sys.executable, "-m", "tape.support", *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    told = run("np.cumsum", "np.argmax")
    assert told.returncode == 0
    assert [line.split()[0] for line in told.stdout.splitlines()] == ["function", "np.argmax", "np.cumsum"]
    refused = run("np.cumsun")
    assert refused.returncode == 2
    assert "np.cumsum" in refused.stderr


# ---- SciPy's modules -------------------------------------------------------------------------------------


@pytest.mark.skipif(not scipy.__version__.startswith("1.17."), reason="the lists are those of SciPy 1.17")
def test_the_lists_in_the_documentation_are_those_that_are_found():
    told = scipy_modules.text([scipy_modules.coverage(module) for module in scipy_modules.MODULES])
    written = (DOCUMENT.parent / "scipy.md").read_text()
    assert told in written, "run python -m tape.support scipy, and replace the lists by what it prints"


@pytest.mark.parametrize("module", scipy_modules.MODULES)
def test_what_is_written_for_vars_is_tested(module):
    """In the table of operations, or where results are no arrays by name in tests of the module."""
    in_table = {case.op for case in CASES}
    own = (DOCUMENT.parent.parent / "tests").glob(f"test_scipy_{module.partition('.')[0]}*.py")
    by_name = "".join(path.read_text() for path in own)
    for name in scipy_modules.coverage(module).there:
        short = name.partition(".")[0]
        assert in_table & {f"scipy.{module}.{name}", f"{module}.{short}", name} or name in by_name, name


def test_most_of_what_people_use_is_there():
    shares = {module: scipy_modules.coverage(module).share for module in ("special", "linalg", "stats")}
    assert shares["stats"] > 0.9
