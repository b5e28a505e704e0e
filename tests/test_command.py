"""The command line as a whole: help, versions, exit statuses, and the small subcommands."""

import os
import subprocess
import sys

import pytest

import tape
from tape.command import kernels, main
from tape.command.bench import BENCH
from tape.command.parser import COMMANDS, overview, parser_of


def process(*arguments, **settings):
    """``python -m tape ...`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tape", *arguments], capture_output=True, text=True, check=False, **settings
    )


def test_it_runs_as_a_module():
    found = process("grad", "a * b", "a=3", "b=4")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("f = a * b\n\nvalue  12.0\n")


def test_mistakes_show_no_traceback_and_no_place_in_python():
    found = process("grad", "a +* b", "a=3")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("tape grad: ")
    assert "^" in found.stderr
    assert "Traceback" not in found.stderr
    assert "[at " not in found.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes end otherwise here")
def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m tape ops --list; echo $? >&2"
    found = subprocess.run(
        ["sh", "-c", f"({command}) | head -n 1"], capture_output=True, text=True, check=True, env=os.environ
    )
    assert len(found.stdout.splitlines()) == 1
    assert found.stderr.strip() in ("141", "0")  # 0 where all fits into the pipe


def test_without_an_output_it_says_nothing(monkeypatch):
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, None)
    assert main(["grad", "a*b", "a=2", "b=3"]) == 0
    assert main(["grad", "a*"]) == 1


def test_a_terminal_that_knows_only_ascii_gets_ascii():
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    found = process("plot", "sin(x)", "x=0:6", env=environment)
    assert found.returncode == 0
    assert found.stdout.isascii()
    assert "?" not in found.stdout


def test_help_of_everything(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text == overview()
    for command in COMMANDS:
        assert f"  {command.name}" in text
        assert main([command.name, "--help"]) == 0
        own = capsys.readouterr().out
        for option in parser_of(command).options:
            assert option in own
        for example in command.examples:
            assert example in own
    assert max(map(len, text.splitlines())) <= 80


def test_the_examples_of_help_are_right(capsys, tmp_path, monkeypatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kernels, "build_kernels", lambda levels, progress: [tmp_path])  # minutes
    for command in COMMANDS:
        if command in (BENCH,) or command.name in ("ops", "completion"):
            continue
        for example in command.examples:
            words = shlex.split(example.partition(" | ")[0], comments=True)
            if "--out" in words:
                pytest.importorskip("matplotlib")
            assert main(words[1:]) == 0, example
    assert capsys.readouterr().out


def test_without_arguments_it_says_what_there_is(capsys):
    assert main([]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error == overview()


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tape {tape.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gard"], "tape: there is no subcommand gard. Did you mean grad?"),
        (["xyz"], "tape: there is no subcommand xyz. See tape --help"),
        (["--verison"], "tape: there is no option --verison. Did you mean --version?"),
        (["config", "--all"], "tape config: there is no option --all."),
        (["config", "more"], "tape config: there is no argument more."),
        (["completion", "ksh"], "tape completion: argument SHELL: invalid choice: 'ksh'"),
    ],
)
def test_what_is_not_there_is_named_with_what_is_near(capsys, arguments, said):
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(said)


def test_an_interrupt_has_its_status(capsys, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("tape.command.config.show_config", interrupt)
    assert main(["config"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_config_is_that_of_show_config(capsys):
    assert main(["config"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split() == ["tape", tape.__version__]
    assert "holding speed back:" in text


def test_ops_are_found_by_name_and_by_part(capsys):
    assert main(["ops", "np.sum", "exp"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["np.exp", "np.sum"]
    assert main(["ops", "linalg", "--list"]) == 0
    names = capsys.readouterr().out.split()
    assert "np.linalg.inv" in names
    assert all("linalg" in name for name in names)
    assert main(["ops", "np.sum", "--markdown"]) == 0
    assert "| `np.sum` | yes |" in capsys.readouterr().out
    assert main(["ops", "np.summ"]) == 2
    assert "Did you mean np.sum" in capsys.readouterr().err


def test_bench_passes_its_arguments_on(capsys, monkeypatch):
    calls = []

    def run(command, **settings):
        calls.append((command, settings["env"]["PYTHONPATH"]))
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr("subprocess.run", run)
    assert main(["bench", "mlp", "--seconds", "1"]) == 3
    assert main(["bench", "--", "--help"]) == 3
    assert [command[-3:] for command, _ in calls] == [
        ["mlp", "--seconds", "1"],
        ["-m", "benchmarks", "--help"],
    ]
    assert main(["bench", "--help"]) == 0
    assert "passed on" in " ".join(capsys.readouterr().out.split())


def test_bench_says_where_the_benchmarks_are(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(tape, "__file__", str(tmp_path / "tape" / "__init__.py"))
    assert main(["bench"]) == 2
    assert "pip install -e" in capsys.readouterr().err
