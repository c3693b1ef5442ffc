"""The least that a first convergence does: write, sync and rename every file, and sync its directory.

Usage: plain.py FILE ROOT, where FILE is the plain.json of `generate.py`. The same loop in C is `plain.c`.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Write every file below the root; the directories exist."""
    with Path(sys.argv[1]).open() as stream:
        wanted = json.load(stream)
    uid, gid = os.getuid(), os.getgid()
    for source, path in wanted:
        target = f"{sys.argv[2]}/{path}"
        data = os.open(source, os.O_RDONLY)
        candidate = os.open(f"{target}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        while chunk := os.read(data, 1 << 20):
            os.write(candidate, chunk)
        os.fchown(candidate, uid, gid)
        os.fchmod(candidate, 0o644)
        os.fsync(candidate)
        os.close(candidate)
        os.close(data)
        os.rename(f"{target}.new", target)  # noqa: PTH104 - one call, as in C
        folder = os.open(target.rpartition("/")[0], os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)


if __name__ == "__main__":
    main()
