"""Write as a careless agent does: look, then use the path again. What the races are won against, to see that they can be.

For the host's own Python: `naive.py KIND PATH...`.
"""

import os
import stat
import sys


def write(path):
    """Write a file if a regular one stands there, or none."""
    if not os.path.lexists(path) or stat.S_ISREG(os.lstat(path).st_mode):
        with open(path, "w") as file:
            file.write("content\n")


def own(path):
    """Give a file to the user, and let everybody read it."""
    if stat.S_ISREG(os.lstat(path).st_mode):
        os.chown(path, 1000, 1000)
        os.chmod(path, 0o644)


def remove(path):
    """Remove a directory as one did before descriptors."""
    if stat.S_ISDIR(os.lstat(path).st_mode):
        for name in os.listdir(path):
            os.unlink(f"{path}/{name}")
        os.rmdir(path)


def replace(path):
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
