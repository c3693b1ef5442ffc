"""Run datum, and write down which of its ways to change a host are gone: `reached.py FILE WORD...`.

For the host's own Python, as root. Each line of the file is a class and a method.
"""

import os
import runpy
import sys
from functools import wraps
from typing import Any

from datum.host.staging import StagingWriter
from datum.host.staging_changes import AttributesChange, Removal, ResidueRemoval
from datum.host.staging_puts import Put
from datum.host.writer import LocalWriter
from datum.provider.host import HostWriter

STEPS = ("commit", "discard", "drop", "keep", "restore")
WAYS = {
    **dict.fromkeys((LocalWriter, StagingWriter), tuple(vars(HostWriter))),
    **dict.fromkeys((Put, Removal, AttributesChange, ResidueRemoval), STEPS),
}


def tell(of: type, name: str, fd: int) -> None:
    """Have a method say that it was called."""
    method = vars(of)[name]

    @wraps(method)
    def telling(*words: Any, **named: Any) -> Any:
        os.write(fd, f"{of.__name__}.{name}\n".encode())
        return method(*words, **named)

    setattr(of, name, telling)


def main() -> None:
    """Run the command."""
    told = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    for of, names in WAYS.items():
        for name in names:
            if not name.startswith("_") and name in vars(of):
                tell(of, name, told)
    sys.argv[1:] = sys.argv[2:]
    runpy.run_module("datum", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
