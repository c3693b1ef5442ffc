"""Write as a careless agent does: look at a path, then use it again. The races are won against this one.

For the host's own Python, as root: `naive.py WAY PATH...`.
"""

# ruff: noqa: PTH101, PTH104, PTH108, PTH123, PTH208 - plain calls, whose order is what is raced with

import os
import stat
import sys


def write(path: str) -> None:
    """Write a file if a regular one stands there, or none."""
    if not os.path.lexists(path) or stat.S_ISREG(os.lstat(path).st_mode):
        with open(path, "w") as file:
            file.write("content\n")


def own(path: str) -> None:
    """Give a file to the user, and let everybody read it."""
    if stat.S_ISREG(os.lstat(path).st_mode):
        os.chown(path, 1000, 1000)
        os.chmod(path, 0o644)


def remove(path: str) -> None:
    """Remove what lies in a directory, as one did before descriptors."""
    if stat.S_ISDIR(os.lstat(path).st_mode):
        for name in os.listdir(path):
            if stat.S_ISREG(os.lstat(f"{path}/{name}").st_mode):
                os.unlink(f"{path}/{name}")


def replace(path: str) -> None:
    """Write beside the path, then rename."""
    with open(f"{path}.tmp", "w") as file:
        file.write("content\n")
    os.chown(f"{path}.tmp", 1000, 1000)
    os.rename(f"{path}.tmp", path)


WAYS = {"write": write, "own": own, "remove": remove, "replace": replace}

for place in sys.argv[2:]:
    try:
        WAYS[sys.argv[1]](place)
    except OSError as error:
        print(error)
