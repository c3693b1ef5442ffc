"""Exchange names below a user's cells as fast as it goes, until stdin ends; then tell how often, on stdout.

For the host's own Python, as the user: `attacker.py BASE CELL...`. Names are exchanged and back again: what is found
between is now one and now the other, and after all it is what was there in the beginning.
"""

# ruff: noqa: PTH101, PTH103, PTH108, PTH211 - plain calls, which are faster

import contextlib
import ctypes
import json
import os
import random
import select
import shutil
import stat
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)


def swap(one: str, other: str) -> bool:
    """Exchange two names; where one is missing the other one moves there. Return whether that was done."""
    for old, new, flags in ((one, other, 2), (one, other, 1), (other, one, 1)):
        if not LIBC.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags):
            return True
    return False


def kind_of(path: str) -> int:
    """Return the type bits of what stands there, 0 for nothing."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return 0


def drift(path: str, kind: int) -> None:
    """Bring about what is not declared, so that the next pass has something to write."""
    if kind == stat.S_IFREG:
        write(path)
    elif kind == stat.S_IFDIR:
        os.makedirs(f"{path}/deep", exist_ok=True)
        os.chmod(path, 0o711)
        for name in ("in", "drift", "deep/in"):
            write(f"{path}/{name}")
    elif kind == stat.S_IFLNK:
        os.unlink(path)
        os.symlink("drift", path)
    elif kind_of(path) == stat.S_IFDIR:
        shutil.rmtree(path)
    else:
        os.unlink(path)


def write(path: str) -> None:
    """Write a file that is plain or not there."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    os.write(fd, b"drift\n")
    os.fchmod(fd, 0o644)
    os.close(fd)


def main() -> None:
    """Race until stdin ends."""
    base, races, *cells = sys.argv[1:]
    pairs = [(f"{base}/{cell}/{one}", f"{base}/{cell}/{other}") for cell in cells for one, other in json.loads(races)]
    kinds = {path: kind_of(path) for cell in cells if (path := f"{base}/{cell}/top/dir/x")}
    chance = random.Random(os.getpid())
    count = 0
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for one, other in chance.sample(pairs, len(pairs)):
            if swap(one, other):
                # as long as a write may take
                time.sleep(chance.choice((0, 0, 0.0001, 0.0005)))
                count += 1 + swap(one, other)
        for path in chance.sample(list(kinds), len(kinds) // 4):
            # whatever the agent has made of it meanwhile
            with contextlib.suppress(OSError):
                drift(path, kinds[path])
    print(count)


if __name__ == "__main__":
    main()
