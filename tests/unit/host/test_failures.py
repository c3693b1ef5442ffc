"""What the system says, in words and causes."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from datum.host.failures import host_error, immutable_hint
from datum.model.observation import Cause
from datum.model.result import FailureCause


@pytest.mark.parametrize(
    ("code", "cause", "failure"),
    [
        (errno.EACCES, Cause.DENIED, FailureCause.OTHER),
        (errno.ELOOP, Cause.LOOP, FailureCause.OTHER),
        (errno.ENFILE, Cause.TOO_MANY_FILES, FailureCause.OTHER),
        (errno.ENOSPC, Cause.OTHER, FailureCause.NO_SPACE),
        (errno.EROFS, Cause.READ_ONLY, FailureCause.READ_ONLY),
        (errno.EBUSY, Cause.OTHER, FailureCause.BUSY),
        (errno.ETIMEDOUT, Cause.DEADLINE, FailureCause.NETWORK),
        (errno.ENAMETOOLONG, Cause.OTHER, FailureCause.OTHER),
    ],
)
def test_errno_has_its_cause(code: int, cause: Cause, failure: FailureCause) -> None:
    error = host_error(OSError(code, "ignored"), "write", "/f")
    assert (error.cause, error.failure) == (cause, failure)
    assert error.detail == f"Cannot write '/f': {os.strerror(code)}."


def test_error_without_a_number_keeps_its_words() -> None:
    assert host_error(OSError("odd"), "write", "/f").detail == "Cannot write '/f': odd."


def test_file_system_without_flags_gives_no_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").touch()
    folder = os.open(tmp_path, os.O_PATH)

    def broken(*_: object) -> None:
        raise OSError(errno.ENOTTY, "")

    assert immutable_hint("/none", folder, "none") == ""
    monkeypatch.setattr(fcntl, "ioctl", broken)
    assert immutable_hint("/f", folder, "f") == ""
    os.close(folder)
