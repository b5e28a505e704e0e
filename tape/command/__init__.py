"""The command line: ``python -m tape`` and the script ``tape``; `main` runs it.

One file a subcommand (`grad`, `plot`, `ops`, `config`, `bench`, `completion`), each with its arguments, its
help and what it does. Only what draws (`tape.viz`, matplotlib) is imported when it is asked for.
"""

from tape.command.entry import main

__all__ = ["main"]
