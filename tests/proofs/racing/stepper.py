"""Run a command in a host and let a local user strike between two of its system calls, at the very one that is asked.

For the host's own Python, as root. The command is stopped by a seccomp filter at the start of every call that names
something (ptrace(2), PTRACE_EVENT_SECCOMP), before the kernel has done anything of it. Where the call touches one of
the user's cells it is counted, and the user, a process without any right of root's, may exchange names there. So no
window is won by luck. The request is JSON on stdin, the answer JSON on stdout.
"""

# ruff: noqa: PTH115 - texts of links as they are

import ctypes
import json
import os
import platform
import re
import signal
import struct
import sys
import tempfile
from collections import defaultdict
from functools import cache
from typing import Any, TextIO

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long

TRACE_ME, CONTINUE, SET_OPTIONS, CALL_INFO = 0, 7, 0x4200, 0x420E
# Follow forks and clones, stop at what the filter names, and end the command with this process.
OPTIONS = 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000
EXEC_EVENT, SECCOMP_EVENT = 4, 7
ALL_CHILDREN = 0x40000000
AT_FDCWD = -100
CREATES = os.O_CREAT | (os.O_TMPFILE & ~os.O_DIRECTORY)

# Call: its number on x86_64 and on aarch64 (None: it has none), and which of its arguments are paths: `d1` is a
# descriptor of a directory at 1 and a name behind it, `f0` a descriptor at 0, `p0` a path at 0.
CALLS = {
    "openat": (257, 56, "d0"),
    "mkdirat": (258, 34, "d0"),
    "unlinkat": (263, 35, "d0"),
    "symlinkat": (266, 36, "d1"),
    "linkat": (265, 37, "d0 d2"),
    "renameat": (264, 38, "d0 d2"),
    "renameat2": (316, 276, "d0 d2"),
    "fchownat": (260, 54, "d0"),
    "fchmodat": (268, 53, "d0"),
    "fchmod": (91, 52, "f0"),
    "fchown": (93, 55, "f0"),
    "open": (2, None, "p0"),
    "chdir": (80, 49, "p0"),
    "chown": (92, None, "p0"),
    "lchown": (94, None, "p0"),
    "chmod": (90, None, "p0"),
    "unlink": (87, None, "p0"),
    "rmdir": (84, None, "p0"),
    "rename": (82, None, "p0 p1"),
    "setxattr": (188, 5, "p0"),
    "mount": (165, 40, "p0 p1"),
}
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[platform.machine()]
NUMBERS = {
    number: name
    for name, (intel, arm, _) in CALLS.items()
    if (number := intel if platform.machine() == "x86_64" else arm) is not None
}


# What is another one each time in a path: what stands for a file without a name, and random digits.
CHANCE = re.compile(r"#\d+ \(deleted\)|(?<=\.)[0-9a-f]{8}(?=\.)")


class Attacker:
    """The user: a process of its own, which exchanges names when it is told, and takes that back."""

    def __init__(self, uid: int, gid: int) -> None:
        ours, theirs = os.pipe(), os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.setgroups([gid])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            os.close(ours[1])
            os.close(theirs[0])
            _obey(os.fdopen(ours[0]), os.fdopen(theirs[1], "w"))
            os._exit(0)
        self._say = os.fdopen(ours[1], "w")
        self._hear = os.fdopen(theirs[0])

    def swap(self, one: str, other: str) -> bool:
        """Let two names change what they name; return whether that was done."""
        print(json.dumps([one, other]), file=self._say, flush=True)
        return bool(json.loads(self._hear.readline()))


def _obey(orders: TextIO, answers: TextIO) -> None:
    for line in orders:
        print(json.dumps(swap(*json.loads(line))), file=answers, flush=True)


def swap(one: str, other: str) -> bool:
    """Exchange two names; where one is missing the other one moves there."""
    for old, new, flags in ((one, other, 2), (one, other, 1), (other, one, 1)):
        if not LIBC.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags):
            return True
    return False


def enter_filter() -> None:
    """Let the kernel stop this process at each of the calls."""
    code = [(0x20, 0, 0, 4), (0x15, 1, 0, AUDIT_ARCH), (0x06, 0, 0, 0x7FFF0000), (0x20, 0, 0, 0)]
    for number in NUMBERS:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x7FF00000)]
    code.append((0x06, 0, 0, 0x7FFF0000))
    program = b"".join(struct.pack("HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(program)
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(buffer)))
    if LIBC.prctl(22, 2, header, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def start(argv: list[str], out: int) -> int:
    """Start the command, stopped at its first instruction."""
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        LIBC.ptrace(TRACE_ME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        enter_filter()
        os.execvp(argv[0], argv)
    os.waitpid(pid, 0)
    if LIBC.ptrace(SET_OPTIONS, pid, None, OPTIONS):
        raise OSError(ctypes.get_errno(), "ptrace")
    LIBC.ptrace(CONTINUE, pid, None, None)
    return pid


def call_of(pid: int) -> tuple[str, list[int]]:
    """Return the name of the call at which a process stands, and its arguments."""
    info = ctypes.create_string_buffer(88)
    LIBC.ptrace(CALL_INFO, pid, 88, info)
    number, *arguments = struct.unpack_from("<7Q", info, 24)
    return NUMBERS[number], arguments


def text_at(pid: int, address: int) -> str:
    """Return the string at an address of a stopped process."""
    if not address:
        return ""
    found = b""
    # page by page, since the one after a string may not be there
    while b"\0" not in found:
        found += os.pread(memory_of(pid), 4096 - (address + len(found)) % 4096, address + len(found))
    return os.fsdecode(found.split(b"\0")[0])


@cache
def memory_of(pid: int) -> int:
    """Return a descriptor of the memory of a process; another program in it needs another one."""
    return os.open(f"/proc/{pid}/mem", os.O_RDONLY)


def opened(pid: int, fd: int) -> str:
    """Return the path behind a descriptor of a process."""
    try:
        return os.readlink(f"/proc/{pid}/cwd" if fd == AT_FDCWD else f"/proc/{pid}/fd/{fd}")
    except OSError:
        return ""


def as_fd(value: int) -> int:
    """Return a descriptor as the kernel takes it: a signed number of 32 bits."""
    return ctypes.c_int32(value & 0xFFFFFFFF).value


def paths_of(pid: int, name: str, arguments: list[int]) -> list[str]:
    """Return the paths that a call touches."""
    found = []
    for place in CALLS[name][2].split():
        at = int(place[1])
        if place[0] == "f":
            found.append(opened(pid, as_fd(arguments[at])))
            continue
        folder, text = "", text_at(pid, arguments[at if place[0] == "p" else at + 1])
        if place[0] == "d" and not text.startswith("/"):
            folder = opened(pid, as_fd(arguments[at]))
        if text.startswith("/proc/self/fd/"):
            text = opened(pid, int(text.rpartition("/")[2]))
        found.append(text if text.startswith("/") else f"{folder}/{text}")
    return found


class Cells:
    """The user's cells, the calls that touched each, and what is struck when."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.base = request["base"].rstrip("/") + "/"
        self.strikes: dict[str, Any] = request["strikes"]
        self.attacker = Attacker(request["uid"], request["gid"])
        self.calls: dict[str, list[list[str]]] = defaultdict(list)
        self.standing: dict[str, list[str]] = {}
        self.struck: dict[str, bool] = {}

    def touch(self, pid: int) -> None:
        """Count the call at which a process stands, and strike if it is the one."""
        name, arguments = call_of(pid)
        found = [path for path in paths_of(pid, name, arguments) if path.startswith(self.base)]
        if not found:
            return
        cell = found[0][len(self.base) :].partition("/")[0]
        is_reading = name in {"openat", "open"} and not arguments[1 + (name == "openat")] & CREATES
        home = self.base + cell
        call = ["" if is_reading else name, *(CHANCE.sub("#", path.removeprefix(home)[1:]) for path in found)]
        self.calls[cell].append(call)
        strike = self.strikes.get(cell)
        if strike is None:
            return
        if cell in self.standing and not strike["lasts"]:
            self.attacker.swap(*self.standing.pop(cell))
        if self._is_due(strike, self.calls[cell]):
            self.struck[cell] = self.attacker.swap(*strike["swap"])
            self.standing[cell] = strike["swap"]

    @staticmethod
    def _is_due(strike: dict[str, Any], calls: list[list[str]]) -> bool:
        """Whether the last of these calls is the one to strike at."""
        if "at" in strike:
            return bool(len(calls) - 1 == strike["at"])
        return bool(calls[-1] == strike["call"] and calls.count(calls[-1]) == strike["nth"])


def watch(main: int, cells: Cells) -> int:
    """Step through the command until it ends; return its exit code."""
    known = {main}
    while True:
        pid, status = os.waitpid(-1, ALL_CHILDREN)
        if os.WIFSTOPPED(status):
            event, number = status >> 16, os.WSTOPSIG(status)
            if event == SECCOMP_EVENT:
                cells.touch(pid)
            if event == EXEC_EVENT:
                memory_of.cache_clear()
            is_news = event or (pid not in known and number == signal.SIGSTOP)
            known.add(pid)
            LIBC.ptrace(CONTINUE, pid, None, 0 if is_news else number)
        elif pid == main:
            return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    cells = Cells(request)
    with tempfile.TemporaryFile(dir="/dev/shm") as out:
        code = watch(start(request["argv"], out.fileno()), cells)
        out.seek(0)
        said = out.read().decode(errors="replace")
    json.dump({"code": code, "said": said, "calls": cells.calls, "struck": cells.struck}, sys.stdout)


if __name__ == "__main__":
    main()
