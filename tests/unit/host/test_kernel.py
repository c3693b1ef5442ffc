"""Keys of the kernel: read from /proc/sys of this machine, and nothing else; nothing is set here but in a test host."""

import errno
from pathlib import Path

import pytest

from datum.host import kernel
from datum.host.kernel import check_kernel_path, kernel_error, read_kernel_value, write_kernel_value
from datum.model.observation import Cause
from datum.model.result import FailureCause
from datum.provider.host import HostError


def test_a_key_is_read_as_it_is() -> None:
    assert read_kernel_value("/proc/sys/kernel/ostype") == b"Linux\n"


@pytest.mark.parametrize("path", ["/proc/sys/no/such/key", "/proc/sys/kernel/ostype/below"])
def test_a_key_that_the_kernel_does_not_have_is_none(path: str) -> None:
    assert read_kernel_value(path) is None
    with pytest.raises(HostError) as caught:
        write_kernel_value(path, b"1")
    assert caught.value.failure is FailureCause.IMPOSSIBLE
    assert caught.value.diagnostics[0].hint == "load the module that brings the key first"


def test_a_folder_of_keys_is_none_that_can_be_read() -> None:
    with pytest.raises(HostError, match="'kernel' cannot be read: Is a directory"):
        read_kernel_value("/proc/sys/kernel")


@pytest.mark.parametrize(
    "path", ["", "/", "/proc/sys", "/proc/sysrq", "/proc/sys/", "/proc/sys/a/../b", "proc/sys/a", "/proc/sys//a"]
)
def test_nothing_but_keys_is_a_path(path: str) -> None:
    with pytest.raises(HostError) as caught:
        check_kernel_path(path)
    assert caught.value.diagnostics[0].code == "bad-path"


def test_a_value_is_written_at_once_and_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "SYSCTL", str(tmp_path))
    (tmp_path / "key").write_bytes(b"old")
    write_kernel_value(f"{tmp_path}/key", b"new")
    assert (tmp_path / "key").read_bytes() == b"new"
    (tmp_path / "link").symlink_to("key")
    with pytest.raises(HostError, match="Too many levels"):
        write_kernel_value(f"{tmp_path}/link", b"x")
    with pytest.raises(HostError):
        read_kernel_value(f"{tmp_path}/link")


def test_a_part_of_a_value_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel, "SYSCTL", str(tmp_path))
    monkeypatch.setattr("os.write", lambda _fd, data: len(data) - 1)
    (tmp_path / "key").touch()
    with pytest.raises(HostError, match="Invalid argument"):
        write_kernel_value(f"{tmp_path}/key", b"12")


@pytest.mark.parametrize(
    ("number", "cause", "words"),
    [
        (errno.EINVAL, Cause.OTHER, "refused '1' for 'a/b': Invalid argument"),
        (errno.EACCES, Cause.DENIED, "refused '1' for 'a/b': Permission denied"),
        (errno.EPERM, Cause.DENIED, "refused '1' for 'a/b': Operation not permitted"),
        (errno.EROFS, Cause.OTHER, "refused '1' for 'a/b': Read-only file system"),
        (errno.EIO, Cause.IO, "refused '1' for 'a/b': Input/output error"),
        (errno.ENOENT, Cause.OTHER, "The kernel has no key 'a/b'"),
    ],
)
def test_a_refusal_says_which_key_and_value_and_what_helps(number: int, cause: Cause, words: str) -> None:
    error = kernel_error(number, "/proc/sys/a/b", "write", b"1\n")
    assert words in error.detail
    assert error.cause is cause
    assert bool(error.diagnostics[0].hint) is (number != errno.EIO)
