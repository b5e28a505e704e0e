"""``python -m tape.support [--markdown] [name ...]``: try functions and print what they support.

``python -m tape.support scipy`` lists what `tape.scipy` has of each module of SciPy's.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from tape.errors import near
from tape.support import scipy_modules
from tape.support.report import functions, markdown, report, text


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 2 if a name is unknown."""
    parser = argparse.ArgumentParser(prog="python -m tape.support", description="Try functions.")
    parser.add_argument(
        "names", nargs="*", help="functions, as np.sum; by default all; scipy for its modules"
    )
    parser.add_argument("--markdown", action="store_true", help="as a table in Markdown")
    options = parser.parse_args(arguments)
    if options.names == ["scipy"]:
        print(
            scipy_modules.text([scipy_modules.coverage(module) for module in scipy_modules.MODULES]), end=""
        )
        return 0
    known = list(functions())
    for name in options.names:
        if name not in known:
            print(f"there is no {name}{near(name, known)}", file=sys.stderr)
            return 2
    is_bar_shown = sys.stderr.isatty() and find_spec("tqdm") is not None
    found = report(options.names, progress=is_bar_shown)
    print((markdown if options.markdown else text)(found), end="" if options.markdown else "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
