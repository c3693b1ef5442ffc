"""Words of a command line that mean something to systemd, to a shell, or to whoever reads lines."""

from typing import Final

ODD: Final = ["$HOME", "${HOME}", "%n", "100%", 'a "b"', "c\\d", "e'f", " g ", "two\nlines", "", ";", "ünd", "\x01"]
"""Nothing of it means anything to a program."""
