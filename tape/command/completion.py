"""``tape completion``: what makes a shell complete ``tape``, its subcommands and their options.

Written from the parsers themselves, so that it cannot differ from what ``tape`` takes.
"""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from typing import TYPE_CHECKING

from tape.command.command import FILE, Command

if TYPE_CHECKING:
    from tape.command.parser import Parser

__all__ = ["COMPLETION", "script"]

_SHELLS = ("bash", "zsh", "fish")
_GLOBAL = ("--help", "--version")


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help="bash, zsh or fish")


def _run(options: Namespace) -> int:
    print(script(options.shell), end="")
    return 0


def script(shell: str) -> str:
    """What a shell has to read to complete ``tape``.

    Parameters
    ----------
    shell : {"bash", "zsh", "fish"}
        Which.

    Returns
    -------
    str

    Examples
    --------
    >>> from tape.command.completion import script
    >>> print(script("fish").splitlines()[1])
    complete -c tape -f
    """
    from tape.command.parser import COMMANDS, parser_of  # which knows this subcommand, too

    parsers = [(command, parser_of(command)) for command in COMMANDS]
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](parsers)


def _bash(parsers: list[tuple[Command, Parser]]) -> str:
    names = " ".join([*(command.name for command, _ in parsers), *_GLOBAL])
    files = " | ".join(
        f'"{command.name} {name}"'
        for command, parser in parsers
        for action in parser.declared
        if action.metavar == FILE
        for name in action.option_strings
    )
    words = "\n".join(
        f'        {command.name}) words="{" ".join([*parser.options, *_choices(parser)])}" ;;'
        for command, parser in parsers
    )
    return f"""\
# bash completion of tape: eval "$(tape completion bash)", for instance in ~/.bashrc
_tape() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "{names}" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}} $previous" in
        {files}) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    case "${{COMP_WORDS[1]}}" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _tape tape
"""


def _zsh(parsers: list[tuple[Command, Parser]]) -> str:
    names = "\n".join(f"        '{command.name}:{_quoted(command.summary, ':')}'" for command, _ in parsers)
    cases = "\n".join(
        f"        {command.name}) _arguments {' '.join(map(_zsh_argument, parser.declared))} ;;"
        for command, parser in parsers
    )
    return f"""\
#compdef tape
# zsh completion of tape: tape completion zsh > _tape, in a folder of $fpath; or eval "$(tape completion zsh)"
_tape() {{
    local -a subcommands
    subcommands=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe subcommand subcommands
        compadd -- {" ".join(_GLOBAL)}
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{cases}
    esac
}}
if [[ $funcstack[1] == _tape ]]; then
    _tape "$@"
else
    compdef _tape tape
fi
"""


def _zsh_argument(action: Action) -> str:
    if not action.option_strings:
        many = "*" if action.nargs in ("*", "+") else ""
        words = f"({' '.join(action.choices)})" if action.choices else "_files"
        return f"'{many}:{_quoted(str(action.metavar), ':')}:{words}'"
    takes = f":{action.metavar}:{'_files' if action.metavar == FILE else ' '}" if _takes_value(action) else ""
    return " ".join(f"'{name}[{_quoted(_brief(action), '[]:')}]{takes}'" for name in action.option_strings)


def _fish(parsers: list[tuple[Command, Parser]]) -> str:
    lines = [
        "# fish completion of tape: tape completion fish > ~/.config/fish/completions/tape.fish",
        "complete -c tape -f",
        *(f"complete -c tape -n __fish_use_subcommand -l {name[2:]}" for name in _GLOBAL),
    ]
    for command, parser in parsers:
        summary = _quoted(command.summary, "")
        lines.append(f"complete -c tape -n __fish_use_subcommand -a {command.name} -d '{summary}'")
        seen = f"complete -c tape -n '__fish_seen_subcommand_from {command.name}'"
        for action in parser.declared:
            if not action.option_strings:
                lines.append(f"{seen} -a '{' '.join(action.choices)}'" if action.choices else f"{seen} -F")
                continue
            short = "".join(f" -s {name[1:]}" for name in action.option_strings if not name.startswith("--"))
            long = "".join(f" -l {name[2:]}" for name in action.option_strings if name.startswith("--"))
            takes = (" -r -F" if action.metavar == FILE else " -x") if _takes_value(action) else ""
            lines.append(f"{seen}{short}{long}{takes} -d '{_quoted(_brief(action), '')}'")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _choices(parser: Parser) -> list[str]:
    """The words that arguments without a dash are chosen from."""
    return [word for action in parser.declared if not action.option_strings for word in action.choices or ()]


def _takes_value(action: Action) -> bool:
    return action.nargs != 0


def _brief(action: Action) -> str:
    """The first clause of its help."""
    return (action.help or "").partition(";")[0].partition(":")[0]


def _quoted(text: str, special: str) -> str:
    """Text within single quotes; ``special`` are characters that need a backslash there."""
    for character in special:
        text = text.replace(character, "\\" + character)
    return text.replace("'", r"'\''")


COMPLETION = Command(
    name="completion",
    summary="a script that makes your shell complete tape",
    description="Print a completion script for a shell, written from the very parsers that tape uses.",
    examples=(
        'eval "$(tape completion bash)"                  # for instance in ~/.bashrc',
        'eval "$(tape completion zsh)"                   # in ~/.zshrc, after compinit',
        "tape completion fish > ~/.config/fish/completions/tape.fish",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
