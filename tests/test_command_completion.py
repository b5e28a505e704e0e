"""Completion scripts name everything the parsers take, and bash can read its own."""

import re
import shutil
import subprocess

import pytest

from tape.command.completion import script
from tape.command.parser import COMMANDS, parser_of

SHELLS = ("bash", "zsh", "fish")


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
    commands = (
        f"{script('bash')}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tape; echo ${{COMPREPLY[@]}}"
    )
    found = subprocess.run(["bash", "-c", commands], capture_output=True, text=True, check=True)
    return found.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path):
    assert completed("tape", "g") == ["grad"]
    assert completed("tape", "--v") == ["--version"]
    assert completed("tape", "grad", "a*b", "--or") == ["--order"]
    assert completed("tape", "plot", "--o") == ["--order", "--out"]
    assert completed("tape", "completion", "") == ["-h", "--help", "bash", "zsh", "fish"]
    (tmp_path / "graph.dot").touch()
    assert completed("tape", "grad", "--dot", f"{tmp_path}/g") == [f"{tmp_path}/graph.dot"]
