"""The command line: ``python -m tape`` and the script ``tape``; `main` runs it.

Each subcommand (`grad`, `plot`, `ops`, `config`, `bench`, `completion`) has a file with its arguments, its
help and its function. `tape.viz` and matplotlib are imported only by the subcommands that draw.
"""

from tape.command.entry import main

__all__ = ["main"]
