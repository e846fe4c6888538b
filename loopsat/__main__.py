"""`python -m loopsat`: the command line."""

import sys

from lower.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
