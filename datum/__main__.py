"""`python -m datum`."""

import sys

from datum.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
