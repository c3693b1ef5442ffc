"""Who reads revisions for a command."""

import ctypes
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from datum.agent import reading as module
from datum.agent.ports import Ports
from datum.agent.reading import reading
from datum.agent.resolver.asked import AskedManifests
from datum.agent.resolver.identity import UNNAMED, resolver_ids
from datum.agent.resolver.own import OwnManifests
from datum.diagnostics import Severity
from datum.errors import PermissionRefusedError, StateError
from datum.host import apart
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.registry.discover import find_providers
from tests.git_repository import GitRepository

PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up rights")


def ports() -> Ports:
    return Ports(find_providers(), lambda command: None, "2026-01-01T00:00:00Z", lambda: 0.0, 1, agent="1.0")  # type: ignore[arg-type]  # nothing is run


def test_below_another_root_the_command_reads_itself() -> None:
    given = ports()
    with reading(given, is_running_system=False) as own:
        assert own is given
        assert isinstance(own.manifests, OwnManifests)


def test_an_ordinary_user_reads_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    given = ports()
    with reading(given, is_running_system=True) as own:
        assert own is given


@needs_root
@pytest.mark.parametrize("is_running_system", [True, False])
def test_no_core_of_root_is_written_from_then_on(is_running_system: bool) -> None:
    """The command is about to read what servers are shown."""
    libc = ctypes.CDLL(None)
    before = libc.prctl(PR_GET_DUMPABLE)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        with reading(ports(), is_running_system=is_running_system):
            assert libc.prctl(PR_GET_DUMPABLE) == 0
    finally:
        libc.prctl(PR_SET_DUMPABLE, before, 0, 0, 0)


@needs_root
def test_for_root_a_process_without_powers_reads(tmp_path: Path) -> None:
    """What it reads was shut for everybody else before, and is open for its group alone."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    repository = GitRepository(tmp_path / "state/fleet")
    head = "datum: 1\nfleet: 0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11\nlayers: []\n"
    host = 'resources: {"file:/etc/a": {content: "${machine.arch}"}}\n'
    repository.commit({"fleet.yaml": head, "hosts/web1.yaml": host})
    repository.path.chmod(0o700)
    with reading(ports(), is_running_system=True) as own:
        assert isinstance(own.manifests, AskedManifests)
        assert own.notes == ()
        tree = own.manifests.objects(repository.path / ".git").tree(Revision(repository.head))
        assert [str(one.id) for one in own.manifests.manifest(tree, HostName("web1")).resources] == ["file:/etc/a"]
        child = own.manifests.conversation.child
    assert repository.path.stat().st_mode & 0o777 == 0o710
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


@needs_root
def test_it_is_gone_with_a_command_that_fails() -> None:
    pids: list[int] = []

    def fail() -> None:
        with reading(ports(), is_running_system=True) as own:
            assert isinstance(own.manifests, AskedManifests)
            pids.append(own.manifests.conversation.child.pid)
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@needs_root
def test_what_the_kernel_keeps_from_it_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_CLONE_NEWPID", 0x20000001)
    with reading(ports(), is_running_system=True) as own:
        (found,) = own.notes
    assert (found.code, found.severity) == ("resolver-not-enclosed", Severity.NOTE)


@needs_root
def test_rights_that_cannot_be_given_up_end_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "setresuid", refuse)
    with pytest.raises(PermissionRefusedError) as caught, reading(ports(), is_running_system=True):
        pass
    assert caught.value.diagnostics[0].code == "resolver-not-started"
    assert "setresuid: Operation not permitted" in caught.value.diagnostics[0].detail


@needs_root
def test_a_disk_that_takes_no_change_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What reads revisions cannot be let in there."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system", str(tmp_path))

    monkeypatch.setattr("datum.repository.sharing.share_store", refuse)
    with reading(ports(), is_running_system=True) as own, pytest.raises(StateError) as caught:
        own.manifests.objects(tmp_path).kind("1" * 40)
    assert caught.value.diagnostics[0].code == "state-not-writable"


def test_where_everybody_may_read_nothing_is_loaded_ahead(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    (tmp_path / "a/b").mkdir(parents=True)
    assert module._is_open(tmp_path / "a/b")
    (tmp_path / "a").chmod(0o750)
    assert not module._is_open(tmp_path / "a/b")


@pytest.mark.parametrize(("uid", "gid"), [(0, 5), (5, 0)])
def test_an_account_that_is_root_is_not_used(monkeypatch: pytest.MonkeyPatch, uid: int, gid: int) -> None:
    monkeypatch.setattr(pwd, "getpwnam", lambda _: SimpleNamespace(pw_uid=uid, pw_gid=gid))
    assert resolver_ids() == (UNNAMED, UNNAMED)


def test_the_account_of_that_name_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwnam", lambda name: SimpleNamespace(pw_uid=5, pw_gid=len(name)))
    assert resolver_ids() == (5, len("datum-resolve"))


def test_without_the_account_a_number_is_used_that_nobody_has() -> None:
    assert UNNAMED not in {entry.pw_uid for entry in pwd.getpwall()}
    assert resolver_ids() == (UNNAMED, UNNAMED) or "datum-resolve" in {entry.pw_name for entry in pwd.getpwall()}
