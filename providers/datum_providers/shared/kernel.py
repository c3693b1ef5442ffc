"""What the running kernel says of one of its keys (sysctl(8)), and whether it can be set here. Reads the host."""

from typing import Final

from datum.model.observation import Cause, FieldValue, NotApplicable, Unobservable
from datum.provider.host import HostError, HostReader, Missing
from datum.provider.paths import is_below

NO_KERNEL: Final = NotApplicable("no-kernel")
"""This root is not that of the running system."""
READ_ONLY: Final = NotApplicable("read-only-kernel")
"""The key cannot be set here: /proc/sys is read-only, or it belongs to the machine that this one is a guest of."""
WRITE_ONLY: Final = NotApplicable("write-only-key")
"""The key can be set and not be read."""

_READABLE: Final = 0o444


def kernel_path(key: str) -> str:
    """Return the file of a key that is in slash form."""
    return f"/proc/sys/{key}"


def collapsed(text: str) -> str:
    """Return a value with each run of white space as one space, as values are compared."""
    return " ".join(text.split())


def is_settable(reader: HostReader, key: str) -> bool:
    """Whether the running kernel is the one of this root, and its key can be set from here.

    Raises:
        HostError: it cannot be told.
    """
    if not reader.is_running_system:
        return False
    path = kernel_path(key)
    covering = [entry for entry in reader.mount_entries() if is_below(path, entry.point)]
    return not covering or "ro" not in covering[-1].options


def seen_value(reader: HostReader, key: str) -> FieldValue:
    """Return the running value with white space collapsed; None: the kernel has no such key."""
    try:
        if not is_settable(reader, key):
            return READ_ONLY if reader.is_running_system else NO_KERNEL
        data = reader.kernel_value(kernel_path(key))
    except HostError as error:
        return _unseen(reader, key, error)
    return None if data is None else collapsed(data.decode("utf-8", "backslashreplace"))


def _unseen(reader: HostReader, key: str, error: HostError) -> FieldValue:
    """Return what a failed look means: a key that answers EIO until it is set says nothing of the host's disks."""
    if error.cause is Cause.DENIED and is_write_only(reader, key):
        return WRITE_ONLY
    cause = Cause.OTHER if error.cause is Cause.IO else error.cause
    return Unobservable(cause, error.detail)


def is_write_only(reader: HostReader, key: str) -> bool:
    """Whether nobody may read a key; false where that cannot be told."""
    try:
        facts = reader.examine(kernel_path(key))
    except HostError:
        return False
    return not isinstance(facts, Missing) and not int(facts.mode, 8) & _READABLE
