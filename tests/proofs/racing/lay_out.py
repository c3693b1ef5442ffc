"""Make what a host shall have: lines of JSON on stdin, `[path, kind, what, mode, uid, gid]`.

For the host's own Python, as root. `clear` is a kind, too: all that stands at the path goes.
"""

# ruff: noqa: PTH101, PTH102, PTH123, PTH211 - plain calls, as the programs beside this one make them

import json
import os
import shutil
import subprocess
import sys


def make(path: str, kind: str, what: str, mode: int, uid: int, gid: int) -> None:
    """Make one entry; `what` is a file's bytes, the other name of a hard link, the text of a symbolic link.

    Of a mount `what` is mounted on what stands there.
    """
    if kind == "directory":
        os.mkdir(path)
    elif kind == "file":
        with open(path, "w") as file:
            file.write(what)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "hard":
        os.link(what, path)
        return
    elif kind == "mount":
        subprocess.run(["mount", "--bind", what, path], check=True)
        return
    elif kind == "link":
        os.symlink(what, path)
    os.lchown(path, uid, gid)
    if kind != "link":
        os.chmod(path, mode)


for line in sys.stdin:
    entry = json.loads(line)
    if entry[1] == "clear":
        shutil.rmtree(entry[0], ignore_errors=True)
    else:
        make(*entry)
