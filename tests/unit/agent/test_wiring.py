"""Rooms put together for one command: host, mirror, pointer."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from attrs import evolve

from datum.agent.desired import Wanted
from datum.agent.first_contact import load_pointer
from datum.agent.settings import Options, Settings, read_settings
from datum.agent.story import PointerStore
from datum.agent.wiring import (
    lasting_store,
    open_hosts,
    opener,
    own_places,
    shared_directories,
    source_account,
)
from datum.errors import SettingsError, StateError, UsageError
from datum.graph.targets import PROTECTED_PATHS
from datum.model.content import Content
from datum.model.graph import Target
from datum.model.observation import Machine
from datum.model.pointer import Pointer, TrailEntry
from datum.provider.host import CommandOutcome, FileWrite, HostError
from datum.repository.mirror import Mirror
from datum.state.lock import HOST_LOCK
from datum.state.pointer_file import read_pointer, write_pointer
from datum.testing.trees import MemoryTree
from tests.unit.fakes import HOST, declare, graph_of, manifest, revision, rid

DATA = b"from the repository\n"
TREE = MemoryTree({"files/a": DATA})
WANTED = Wanted(manifest(), graph_of(), TREE, Machine())
FLEET = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
ENFORCED = Pointer(FLEET, HOST, enrolled=revision(1), accepted=revision(1), trail=(TrailEntry(revision(1), HOST),))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give settings of a root with an `/etc` in it."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    return read_settings(Options(repo="/srv/fleet.git", host=str(HOST), root=str(root)))


def test_content_of_the_repository_is_opened_through_the_tree(settings: Settings) -> None:
    """Written below the root; what is not in the tree is the host's error for that one resource."""
    with open_hosts(settings) as hosts, hosts.reader(WANTED) as reader:
        hosts.writer(WANTED).write_file("/etc/a", FileWrite(Content.from_bytes(DATA)))
        assert reader.read_file("/etc/a", limit=100) == DATA
        assert hosts.machine() is not None
    opened = opener(TREE)
    with opened(evolve(Content.from_bytes(DATA), inline=None)) as stream:
        assert stream.read() == DATA
    with pytest.raises(HostError) as caught:
        opened(Content("1" * 40))
    assert caught.value.diagnostics[0].code == "content-unreachable"


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a system with the users datum-source, other and root, seen by root."""
    table = {"datum-source": (901, 902), "other": (903, 904), "root": (0, 0)}

    def find(name: str) -> SimpleNamespace:
        uid, gid = table[name]
        return SimpleNamespace(pw_uid=uid, pw_gid=gid)

    monkeypatch.setattr("pwd.getpwnam", find)
    monkeypatch.setattr("os.geteuid", lambda: 0)


@pytest.mark.parametrize(
    ("said", "ids"), [("", (901, 902)), ("datum-source", (901, 902)), ("other", (903, 904)), ("root", None)]
)
def test_servers_are_talked_to_under_the_account_that_is_there(
    settings: Settings, accounts: None, said: str, ids: tuple[int, int] | None
) -> None:
    """`root` says that nobody else shall; below a root of its own there are no accounts of this system."""
    found = source_account(evolve(settings, root="/", source_account=said))
    assert (found and (found.uid, found.gid)) == ids
    if found is not None:
        assert cast("partial[CommandOutcome]", found.run).keywords["is_enclosed"]
    assert source_account(evolve(settings, source_account=said)) is None


def test_an_account_that_is_missing_is_an_error_where_it_is_said(
    settings: Settings, accounts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default one need not be there."""
    with pytest.raises(SettingsError) as caught:
        source_account(evolve(settings, root="/", source_account="nobody-here"))
    assert caught.value.diagnostics[0].code == "source-account-missing"
    monkeypatch.setattr("pwd.getpwnam", lambda name: {}[name])
    assert source_account(evolve(settings, root="/")) is None
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert source_account(evolve(settings, root="/", source_account="other")) is None


def test_directories_that_a_group_may_write_are_those_that_a_resource_declares() -> None:
    """By the group's name; others may not be (design 4.7)."""
    graph = graph_of(declare("leaf:/srv/a"), declare("leaf:/srv/b"))
    node = graph.nodes[rid("leaf:/srv/a")]
    shared = evolve(
        node, targets=(Target("path", "/srv/a", shared_with="www-data"), Target("port", "80", shared_with="x"))
    )
    nodes = {**graph.nodes, rid("leaf:/srv/a"): shared}
    assert shared_directories(evolve(graph, nodes=nodes)) == {"/srv/a": "www-data"}


def test_writer_needs_no_reader_before_it(settings: Settings) -> None:
    """And what it opened is closed in the end."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    with open_hosts(settings) as hosts:
        hosts.writer(WANTED).write_file("/etc/a", FileWrite(Content.from_bytes(DATA)))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_own_places_are_protected(settings: Settings) -> None:
    """State and configuration are no resource's, by any spelling (design 3.4)."""
    settings.state_dir.mkdir(parents=True)
    settings.config.parent.mkdir(parents=True)
    with open_hosts(settings) as hosts:
        for path in ("/var/lib/datum/pointer.json", "/etc/datum/agent.yaml"):
            with pytest.raises(HostError):
                hosts.writer(WANTED).write_file(path, FileWrite(Content.from_bytes(DATA)))


def test_the_lock_of_the_host_is_protected_where_passes_hold_it(settings: Settings) -> None:
    """Without its name it would keep no other pass out."""
    assert str(HOST_LOCK) in own_places(evolve(settings, root="/"))
    assert str(HOST_LOCK) not in own_places(settings)
    assert str(HOST_LOCK) in PROTECTED_PATHS


def test_root_that_is_gone_is_a_usage_error(settings: Settings) -> None:
    """It was there when the settings were read."""
    Path(settings.root).rename(f"{settings.root}.away")
    with pytest.raises(UsageError), open_hosts(settings) as hosts, hosts.reader(WANTED):
        raise AssertionError("opened")


def test_missing_pointer_is_first_contact(settings: Settings) -> None:
    """78, with the command that enrols; a damaged one is 74 and never that."""
    with pytest.raises(SettingsError) as caught:
        load_pointer(settings)
    (found,) = caught.value.diagnostics
    assert found.code == "not-enrolled"
    assert found.hint.startswith("datum init --repo /srv/fleet.git --host web1")
    settings.state_dir.mkdir(parents=True)
    write_pointer(settings.pointer_path, Pointer(FLEET, HOST))
    settings.pointer_path.write_text("{")
    with pytest.raises(StateError):
        load_pointer(settings)


def test_sealed_pointer_is_rebound_on_the_running_system(settings: Settings) -> None:
    """Below a root it stays as it is (design 6)."""
    settings.state_dir.mkdir(parents=True)
    sealed = evolve(ENFORCED, converged=revision(1), sealed=True)
    write_pointer(settings.pointer_path, sealed)
    assert load_pointer(settings) == sealed
    running = load_pointer(evolve(settings, root="/"))
    assert (running.sealed, running.converged, running.accepted) == (False, None, revision(1))


class Refs:
    """A mirror as far as revisions are kept in it; remembers what was on disk when it was asked to."""

    def __init__(self, path: Path) -> None:
        self.kept: list[tuple[set[object], Pointer | None]] = []
        self._path = path

    def keep(self, revisions: list[object]) -> None:
        self.kept.append((set(revisions), read_pointer(self._path)))


def test_refs_are_set_before_the_pointer_and_dropped_after(settings: Settings) -> None:
    """A kill in between loses no object that a pointer names."""
    settings.state_dir.mkdir(parents=True)
    before = ENFORCED
    after = evolve(before, accepted=revision(2), previous=revision(1), trail=(TrailEntry(revision(2), HOST),))
    write_pointer(settings.pointer_path, before)
    refs = Refs(settings.pointer_path)
    mirror: Mirror = refs  # type: ignore[assignment]  # as far as it is asked
    store = lasting_store(settings, mirror, before)
    store.move(before)
    assert refs.kept == []
    store.move(after)
    assert read_pointer(settings.pointer_path) == after
    assert (store.before, store.now) == (before, after)
    both = {revision(1), revision(2)}
    assert [named for named, _ in refs.kept] == [both, both]
    assert [there for _, there in refs.kept] == [before, after]


def test_plan_moves_no_pointer() -> None:
    """Its store does not write."""
    store = PointerStore(Pointer(FLEET, HOST), None)
    store.move(Pointer(FLEET, HOST, accepted=revision(1)))
    assert store.now == store.before
