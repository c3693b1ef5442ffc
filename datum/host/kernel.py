"""Keys of the running kernel: files below /proc/sys. Effects: reads and writes of one such file.

The files are no files: one write is one value, and the kernel judges it as a whole.
"""

import errno
import os
from typing import Final

from datum.host.failures import host_error
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError
from datum.provider.paths import normal_path

SYSCTL: Final = "/proc/sys"

# No value of the kernel is longer than a few pages.
_LIMIT: Final = 1 << 20
_SUMMARY: Final = "A kernel key cannot be read or set."
_HINTS: Final = {
    errno.EINVAL: "it is no number, out of range, or another key must be set first; see the kernel's documentation",
    errno.EACCES: "the key can only be read, or only be written, or the module that brought it says no",
    errno.EPERM: "this key cannot be changed here: in a container, under lockdown, or until the next boot",
    errno.ENOENT: "load the module that brings the key first",
    errno.EROFS: "/proc/sys is read-only here, as in a container; the key belongs to the machine below it",
}


def check_kernel_path(path: str) -> None:
    """Check that a path is that of a kernel key: absolute, normal, below /proc/sys.

    Raises:
        HostError: `bad-path`.
    """
    try:
        is_sound = normal_path(path) == path and path.startswith(f"{SYSCTL}/")
    except ValueError:
        is_sound = False
    if not is_sound:
        raise HostError(f"'{path}' is no path of a kernel key below {SYSCTL}.", code="bad-path")


def kernel_error(number: int, path: str, doing: str, value: bytes = b"") -> HostError:
    """Return what the kernel's refusal means.

    Args:
        number: its `errno`.
        path: of the key.
        doing: `read` or `write`.
        value: what was written.
    """
    found = host_error(OSError(number, ""), doing, path)
    key = path.removeprefix(f"{SYSCTL}/")
    shown = value.decode("utf-8", "replace").strip()
    if number == errno.ENOENT:
        detail = f"The kernel has no key '{key}'."
    elif doing == "write":
        detail = f"The kernel refused '{shown}' for '{key}': {os.strerror(number)}."
    else:
        detail = f"The kernel key '{key}' cannot be read: {os.strerror(number)}."
    is_sick = found.cause.is_sickness and number != errno.EROFS
    return HostError(
        detail,
        code="kernel-key-refused",
        cause=found.cause if is_sick or found.cause is Cause.DENIED else Cause.OTHER,
        failure=FailureCause.IMPOSSIBLE if number == errno.ENOENT else found.failure,
        hint=_HINTS.get(number, ""),
        summary=_SUMMARY,
    )


def no_kernel(path: str) -> HostError:
    """Return the refusal to set a key below another root, where no kernel runs."""
    return HostError(
        f"'{path}' cannot be set: this root is not that of the running system.",
        code="kernel-key-refused",
        summary=_SUMMARY,
        failure=FailureCause.IMPOSSIBLE,
    )


def read_kernel_value(path: str) -> bytes | None:
    """Return what stands in a key, None if the kernel has no such key.

    Raises:
        HostError: `bad-path`, `kernel-key-refused`.
    """
    check_kernel_path(path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "rb", 0):
            return _read(fd)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise kernel_error(error.errno or 0, path, "read") from error


def write_kernel_value(path: str, value: bytes) -> None:
    """Set a key, in one write.

    Raises:
        HostError: `bad-path`, `kernel-key-refused`.
    """
    check_kernel_path(path)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "wb", 0):
            written = os.write(fd, value)
    except NotADirectoryError as error:
        raise kernel_error(errno.ENOENT, path, "write", value) from error
    except OSError as error:
        raise kernel_error(error.errno or 0, path, "write", value) from error
    if written != len(value):
        raise kernel_error(errno.EINVAL, path, "write", value)


def _read(fd: int) -> bytes:
    """Return all of a key: a large one is answered a piece at a time."""
    found = bytearray()
    while len(found) < _LIMIT and (piece := os.read(fd, 1 << 16)):
        found += piece
    return bytes(found)
