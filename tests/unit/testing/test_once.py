"""What is done once in a pass, on the host in memory."""

import errno

import pytest

from datum.provider.host import HostError
from datum.testing.host import FakeHost


def test_a_key_is_first_once_for_all_readers_and_writers_of_a_pass() -> None:
    host = FakeHost()
    assert host.writer().once("key")
    assert [other.once("key") for other in (host, host.reader(), host.writer(), host.staging())] == [False] * 4
    assert host.reader().once("other")
    host.close()
    assert host.reader().once("key")


def test_a_host_that_has_healed_is_in_its_next_pass() -> None:
    host = FakeHost()
    host.fail(errno.EIO, method="once", skip=1)
    assert host.once("key")
    with pytest.raises(HostError):
        host.once("key")
    host.heal()
    assert host.once("key")
