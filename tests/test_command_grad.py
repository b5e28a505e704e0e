"""`tape grad`: its numbers are those of the transforms, its JSON is JSON, its mistakes are named."""

import json
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.command import main
from tests.tiers import rounds

SMALL = st.floats(-2.0, 2.0)


def run(capsys, *arguments):
    """What a command line that works prints."""
    capsys.readouterr()
    assert main(["grad", *arguments]) == 0
    return capsys.readouterr().out


def found(capsys, *arguments):
    """The same as data: strictly JSON, without NaN."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(run(capsys, *arguments, "--json"), parse_constant=refuse)


def fails(capsys, *arguments):
    """The exit status, and what is said on stderr; nothing goes to stdout."""
    capsys.readouterr()
    status = main(["grad", *arguments])
    out, error = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in error
    assert "[at " not in error
    return status, error


def test_the_report_is_value_partials_and_tape(capsys):
    assert run(capsys, "a * b + a", "a=3", "b=4").startswith(
        "f = a * b + a\n\nvalue  15.0\ndf/da  5.0\ndf/db  3.0\n\n<Trace f: 4 nodes, 2 params>\n"
    )


def test_numbers_are_printed_in_full(capsys):
    lines = run(capsys, "sin(a) + 0.2*sin(5*a)", "a=0.3").splitlines()
    numbers = {line.split()[0]: float(line.split()[1]) for line in lines[2:4]}
    a = 0.3
    assert numbers == {
        "value": math.sin(a) + 0.2 * math.sin(5 * a),
        "df/da": pytest.approx(math.cos(a) + math.cos(5 * a), rel=1e-15),
    }


@given(SMALL, SMALL)
@settings(max_examples=rounds(30))
def test_partials_are_those_of_grad(a, b):
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["grad", "tanh(a*b) - exp(a)/(1 + b**2)", f"a={a!r}", f"b={b!r}", "--json"]) == 0
    data = json.loads(out.getvalue())

    def f(a, b):
        return np.tanh(a * b) - np.exp(a) / (1 + b**2)

    value, partials = tape.value_and_grad(f, argnums=(0, 1))(a, b)
    assert data["value"] == pytest.approx(float(value), rel=1e-14)
    assert data["partials"] == {
        name: pytest.approx(float(p), rel=1e-12, abs=1e-15) for name, p in zip("ab", partials, strict=True)
    }


def test_arrays_are_summed_and_it_says_so(capsys):
    text = run(capsys, "sin(a)", "a=[1, 2, 3]")
    assert "sum of 3 elements" in text
    assert "d(sum f)/da" in text
    data = found(capsys, "sin(a)", "a=[1, 2, 3]")
    assert data["differentiated"] == "sum of 3 elements"
    np.testing.assert_allclose(data["partials"]["a"], np.cos([1, 2, 3]))
    assert found(capsys, "sum(a)", "a=[1, 2, 3]")["differentiated"] == "value"


def test_the_nodes_of_the_json_are_the_tape(capsys):
    data = found(capsys, "x * exp(k)", "x=2", "k=0", "--wrt", "x")
    assert [node["kind"] for node in data["nodes"]] == ["param", "input", "op", "op"]
    assert [node["parents"] for node in data["nodes"]] == [[], [], [1], [0, 2]]
    assert data["root"] == 3
    assert data["nodes"][3]["op"] == "multiply"
    assert data["nodes"][0]["adjoint"] == 1.0
    assert data["nodes"][1]["adjoint"] is None
    assert data["partials"] == {"x": 1.0}


def test_what_json_has_no_number_for_is_a_string(capsys):
    data = found(capsys, "log(a) + b", "a=[-1, 0]", "b=1")
    assert data["value"] == ["NaN", "-Infinity"]
    assert data["partials"]["a"] == [-1.0, "Infinity"]
    data = found(capsys, "abs(a)", "a=3+4j")
    assert data["value"] == 5.0
    assert data["variables"]["a"] == {"re": 3.0, "im": 4.0}
    assert set(data["partials"]["a"]) == {"re", "im"}


@pytest.mark.parametrize("order", [1, 2, 5])
def test_all_derivatives_by_one_variable_are_those_of_taylor(capsys, order):
    data = found(capsys, "tanh(sin(a))", "a=0.7", "--order", str(order))
    series = tape.taylor(lambda a: np.tanh(np.sin(a)), 0.7, 1.0, order)
    got = [data["value"], data["partials"]["a"], *data["higher"].values()]
    np.testing.assert_allclose(got, series, rtol=1e-12)
    assert list(data["higher"]) == [f"d{k}f/da{k}" for k in range(2, order + 1)]


def test_mixed_derivatives_of_a_polynomial_are_exact(capsys):
    higher = found(capsys, "a**2 * b**3", "a=2", "b=3", "--order", "3")["higher"]
    assert higher == {
        "d2f/da2": 54.0,
        "d2f/da db": 108.0,
        "d2f/db2": 72.0,
        "d3f/da3": 0.0,
        "d3f/da2 db": 54.0,
        "d3f/da db2": 72.0,
        "d3f/db3": 24.0,
    }


def test_by_an_array_order_two_is_the_hessian(capsys):
    higher = found(capsys, "sum(a**2 * sum(a))", "a=[1, 2]", "--order", "2")["higher"]
    expected = tape.hessian(lambda a: np.sum(a**2 * np.sum(a)))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(higher["d2f/da2"], expected)
    elementwise = found(capsys, "a**3", "a=[1, 2]", "--order", "3")["higher"]
    assert elementwise == {"d2f/da2": [6.0, 12.0], "d3f/da3": [6.0, 6.0]}
    blocks = found(capsys, "sum(a * b)", "a=[1, 2]", "b=3", "--order", "2")["higher"]
    assert blocks["d2f/da db"] == [1.0, 1.0]


def test_the_derivative_along_a_direction(capsys):
    data = found(capsys, "a * b", "a=3", "b=4", "--jvp", "a=1,b=10")
    assert data["jvp"] == 34.0
    assert data["direction"] == {"a": 1.0, "b": 10.0}
    assert found(capsys, "a * b", "a=[1, 2]", "b=4", "--jvp", "a=1")["jvp"] == [4.0, 4.0]
    assert found(capsys, "a * b", "a=[1, 2]", "b=4", "--jvp", "a=[1, 0]")["jvp"] == [4.0, 0.0]
    assert "as a by 1.0 moves" in run(capsys, "a * b", "a=3", "b=4", "--jvp", "a=1")


def test_an_expression_may_begin_with_a_minus_sign_and_options_stand_anywhere(capsys):
    data = found(capsys, "-a**2 + b", "a=3", "--order", "2", "b=1")
    assert data["value"] == -8.0
    assert data["partials"] == {"a": -6.0, "b": 1.0}


def test_expressions_without_variables_have_a_value(capsys):
    assert run(capsys, "2*pi") == f"f = 2*pi\n\nvalue  {2 * math.pi!r}\n"
    assert found(capsys, "1 + 1")["nodes"] == []


def test_lines_of_an_expression_stay_lines(capsys):
    text = run(capsys, "b = 2*a\nb*b", "a=1")
    assert text.startswith("f = b = 2*a\n    b*b\n\nvalue  4.0\ndf/da  8.0\n")


def test_where_nan_comes_from_is_said_with_the_cure(capsys):
    text = run(capsys, "log(a) * b", "a=-3", "b=0")
    assert "not finite: log (node %2) made nan" in text
    assert "positive" in text
    assert __file__ not in text
    assert "not finite: a, to begin with" in run(capsys, "a * b", "a=nan", "b=0")
    assert "the derivative of sqrt" in run(capsys, "sqrt(a)", "a=0")
    assert "not finite" not in run(capsys, "a", "a=0")


def test_the_graph_goes_to_stdout_or_to_a_file(capsys, tmp_path):
    graph = run(capsys, "a*b", "a=3", "b=4", "--dot")
    assert graph.startswith("digraph")
    assert run(capsys, "a*b", "b=4", "--dot", "a=3").startswith("digraph")  # a=3 is no file
    path = tmp_path / "graph.dot"
    assert run(capsys, "a*b", "a=3", "b=4", "--dot", str(path)).startswith("f = a*b")
    assert path.read_text() == graph


def test_the_stepper_is_written(capsys, tmp_path):
    path = tmp_path / "passes.html"
    assert main(["grad", "a*b", "a=3", "b=4", "--html", str(path)]) == 0
    assert path.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert f"wrote {path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [["--dot", "none/graph.dot"], ["--html", "none/page.html"], ["--html", "page.png"], ["--dot", "."]],
)
def test_files_that_cannot_be_written_are_refused_before_anything_is_computed(capsys, tmp_path, option):
    name, path = option
    status, error = fails(capsys, "not even ( an expression", name, str(tmp_path / path))
    assert status == 2
    assert str(tmp_path) in error


def test_what_is_printed_does_not_depend_on_the_page(capsys, tmp_path):
    arguments = ["a*sin(b)", "a=3", "b=4"]
    path = tmp_path / "page.html"
    assert run(capsys, *arguments) == run(capsys, *arguments, "--html", str(path))
    assert "expression" in path.read_text(encoding="utf-8")


def test_a_terminal_gets_the_table_in_colours(capsys, monkeypatch):
    pytest.importorskip("rich", reason="tables in colours are drawn by rich")
    plain = run(capsys, "a*b", "a=3", "b=4")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    coloured = run(capsys, "a*b", "a=3", "b=4")
    assert "\x1b[" in coloured
    assert coloured.startswith(plain.partition("<Trace")[0])
    assert "multiply(%0, %1)" in re.sub(r"\x1b\[[\d;]*m", "", coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(capsys, "a*b", "a=3", "b=4") == plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("tape.command.grad.find_spec", lambda name: None)
    assert run(capsys, "a*b", "a=3", "b=4") == plain


def test_an_expression_with_a_mistake_is_shown_with_a_caret(capsys):
    status, error = fails(capsys, "a + b.c", "a=1", "b=2")
    assert status == 1
    lines = error.splitlines()
    assert lines[0].startswith("tape grad: ")
    assert lines[-1].index("^") == lines[-2].index(".c")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a*b", "a=3"], "b has no value. Add b=0.5"),
        (["a*b*c", "a=3"], "b, c have no value"),
        (["alpha*b", "alph=3", "b=1"], "Did you mean alpha?"),
        (["a*b", "a=3", "b=4", "q=5"], "Its variables are a, b"),
        (["1+1", "q=5"], "no variables"),
        (["a*e", "a=1", "e=2"], "e, which is the constant 2.718281828459045"),
        (["a=3"], "there is no expression"),
        ([], "EXPR"),
        (["a", "a=1", "--order", "0"], "whole number"),
        (["a", "a=1", "--order", "-2"], "whole number"),
        (["a", "a=1", "--oder", "2"], "Did you mean --order?"),
        (["a", "a=1", "--wrt", "b"], "--wrt names b"),
        (["a", "a=1", "--jvp", "b=1"], "--jvp names b"),
        (["a", "a=[1,2]", "--jvp", "a=[1,2,3]"], "the tangent of a"),
        (["sum(a)", "a=[1,2]", "--order", "3"], "--order 2"),
        (["a*b*c*d", "a=1", "b=1", "c=1", "d=1", "--order", "9"], "262144 derivatives"),
        (["a", "a=1", "--order", "1000"], "order"),
        (["1", "--dot"], "no variables"),
        (["a", "a=1", "--dot", "--json"], "both write to stdout"),
    ],
)
def test_mistakes_in_the_command_line_have_status_two(capsys, arguments, said):
    status, error = fails(capsys, *arguments)
    assert status == 2
    assert said in error
    assert error.startswith("tape grad: ")


def test_computations_that_fail_have_status_one(capsys, tmp_path):
    status, error = fails(capsys, "a * a", "a=1+2j")
    assert (status, "real(...)" in error) == (1, True)
    status, error = fails(capsys, "a @ b", "a=[1,2]", "b=[1,2,3]")
    assert (status, "matmul" in error, "column 1: a @ b" in error) == (1, True, True)
    assert fails(capsys, "a", f"a=@{tmp_path}/none.npy")[0] == 1
    assert fails(capsys, f"@{tmp_path}/none.txt")[0] == 1
