"""The fake host's staged sets behave as the real ones."""

import errno

import pytest

from datum.model.check import Check
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.provider.host import Command, DirectoryWrite, FileWrite, HostError, LinkWrite
from datum.testing.host import FakeHost
from datum.testing.staging import FakeStaging


def write(data: bytes, **options: object) -> FileWrite:
    return FileWrite(Content.from_bytes(data), **options)  # type: ignore[arg-type] # as each test names them


def check_of(*argv: str) -> Check:
    return Check(ResourceId("check", "set"), argv, 5.0)


def prepared() -> tuple[FakeHost, FakeStaging]:
    host = FakeHost()
    for name in ("a", "gone"):
        host.add_file(f"/etc/{name}", b"old")
    host.add_directory("/etc/d")
    host.add_check("judge", lambda argv, data: "" if data == b"newnew" else f"{argv[1:]} hold {data!r}")
    staging = host.staging()
    staging.write_file("/etc/a", write(b"new"))
    staging.make_directory("/etc/new", DirectoryWrite())
    staging.write_file("/etc/new/b", write(b"new", mode="0600"))
    staging.write_link("/etc/l", LinkWrite("a"))
    staging.remove_file("/etc/gone")
    staging.remove_directory("/etc/d")
    staging.set_attributes("/etc/a", mode="0640")
    staging.remove_residue("/etc/a")
    return host, staging


def test_a_set_is_judged_on_a_copy_and_done_on_commit() -> None:
    host, staging = prepared()
    before = host.snapshot()
    staging.judge([check_of("judge", "/etc/a", "/etc/new/b")])
    assert host.snapshot() == before
    assert host.journal == []
    assert staging.read_file("/etc/a", limit=9) == b"old"
    staging.commit()
    assert host.snapshot() == staging.staged
    assert (host.files["/etc/a"].mode, host.files["/etc/new/b"].data) == ("0640", b"new")
    assert [entry.method for entry in host.journal][:2] == ["write_file", "make_directory"]
    staging.discard()
    assert ("judge", "check:set") in host.calls
    assert [call for call in host.calls if not call[1]] == [("commit", ""), ("discard", "")]


def test_what_a_check_refuses_is_not_done() -> None:
    host, staging = prepared()
    before = host.snapshot()
    with pytest.raises(HostError) as caught:
        staging.judge([check_of("judge", "/etc/a")])
    assert caught.value.diagnostics[0].code == "check-failed"
    assert getattr(caught.value, "check", None) == ResourceId("check", "set")
    staging.discard()
    staging.commit()
    assert host.snapshot() == before


def test_the_check_of_a_file_and_one_that_is_not_there() -> None:
    host, staging = prepared()
    staging.write_file("/etc/c", write(b"other", validate=("judge", "{path}")))
    with pytest.raises(HostError, match="'/etc/c'") as caught:
        staging.judge([])
    assert getattr(caught.value, "check", "") is None
    with pytest.raises(HostError) as caught:
        host.staging().judge([check_of("other")])
    assert caught.value.diagnostics[0].code == "check-not-run"


def test_what_is_refused_directly_is_refused_when_it_is_staged() -> None:
    host, staging = prepared()
    with pytest.raises(HostError, match="stands there"):
        staging.write_file("/etc/new", write(b"x"))
    with pytest.raises(HostError, match="no directory"):
        staging.write_file("/no/x", write(b"x"))
    with pytest.raises(HostError, match="cannot be run"):
        staging.run(Command(("true",), 5.0))
    host.fail(errno.ENOSPC, method="stage_write_link")
    with pytest.raises(HostError):
        staging.write_link("/etc/m", LinkWrite("a"))


def test_a_commit_that_fails_leaves_what_came_before() -> None:
    host, staging = prepared()
    host.fail(errno.ENOSPC, method="write_file", subject="/etc/new/b")
    with pytest.raises(HostError):
        staging.commit()
    assert (host.files["/etc/a"].data, "/etc/new" in host.files, "/etc/l" in host.files) == (b"new", True, False)
    assert staging.remarks == []


def test_what_may_be_anybody_s_is_not_staged() -> None:
    _, staging = prepared()
    with pytest.raises(HostError) as caught:
        staging.set_attributes("/etc/a", uid=7, from_anybody=True)
    assert caught.value.diagnostics[0].code == "cannot-be-staged"
