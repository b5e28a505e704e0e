"""Completion scripts name everything the parsers take, and shells complete with them."""

import re
import shutil
import subprocess
import sys

import pytest

from tape import errors
from tape.command.completion import script
from tape.command.parser import COMMANDS, parser_of

pytest.importorskip("shtab", reason="completion needs shtab: pip install shtab")
SHELLS = ("bash", "zsh", "fish")


def test_without_shtab_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(errors.UnsupportedError, match=r"shtab.*pip install 'tape\[completion\]'"):
        script("bash")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_subcommand_and_option_is_in_the_script(shell):
    text = script(shell)
    words = set(re.findall(r"[\w-]+", text))
    for command in COMMANDS:
        assert command.name in words
        for option in parser_of(command).options:
            assert (option.lstrip("-") if shell == "fish" else option) in words


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_accept_their_script(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    found = subprocess.run([shell, "-n"], input=script(shell), capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def completed(*words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    state = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}"
    commands = f"{script('bash')}\n{state}; _shtab_tape; echo ${{COMPREPLY[@]}}"
    found = subprocess.run(["bash", "-c", commands], capture_output=True, text=True, check=True)
    return found.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path):
    assert completed("tape", "g") == ["grad"]
    assert completed("tape", "--v") == ["--version"]
    assert completed("tape", "grad", "a*b", "--or") == ["--order"]
    assert completed("tape", "plot", "--o") == ["--order", "--out"]
    assert completed("tape", "completion", "") == ["bash", "zsh", "fish", "tcsh", "powershell"]
    (tmp_path / "graph.dot").touch()
    assert completed("tape", "grad", "--dot", f"{tmp_path}/g") == [f"{tmp_path}/graph.dot"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize(
    ("line", "words"),
    [("tape gr", ["grad"]), ("tape plot --o", ["--order", "--out"]), ("tape completion z", ["zsh"])],
)
def test_fish_completes(line, words):
    commands = f"{script('fish')}\ncomplete -C '{line}'"
    found = subprocess.run(["fish", "-c", commands], capture_output=True, text=True, check=True)
    assert [row.split("\t")[0] for row in found.stdout.splitlines()] == words
