"""``python -m tape``: the command line."""

import sys

from tape.command import main

if __name__ == "__main__":
    sys.exit(main())
