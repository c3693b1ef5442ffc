"""What the type says of itself, of its neighbours, and how several packages become one run of apt."""

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from attrs import evolve

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.observation import Absent, Cause, Observation, Present, Scope, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import OrderedProvider, RelatedProvider, Removal, Stage, TransactionalProvider
from datum.provider.host import Command, CommandOutcome, HostError
from datum.testing.host import FakeHost
from datum.testing.world import FakeWorld
from datum.testing.writer import FakeWriter
from datum_providers.package import tools
from datum_providers.package.apt import ENVIRONMENT, SCOPE
from datum_providers.package.desired import DesiredPackage
from datum_providers.package.doing import Staged
from datum_providers.package.guarded import guards_access
from datum_providers.package.policy import PATH, clear, left_for, policy_text
from datum_providers.package.provider import PackageProvider
from datum_providers.package.withheld import FOLDER, withheld_for, withhold
from tests.providers.index import Index
from tests.providers.package.fake_apt import MARKS, FakeApt, Stanza

PROVIDER = PackageProvider()


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PAUSE", 0.0)


def index(*targets: tuple[str, str, str]) -> Index:
    """Return the index of a graph: space, key, and the resource that holds it."""
    return Index({Target(space, key): ResourceId.parse(holder) for space, key, holder in targets})


def related(name: str, around: Index, **fields: bool | str) -> DesiredPackage:
    return PROVIDER.relate(PROVIDER.parse(name, fields), around)


def arranged(apt: FakeApt, *stanzas: Stanza) -> FakeHost:
    host = FakeHost()
    apt.install_in(host, *stanzas)
    return host


def staged(host: FakeHost, writer: FakeWriter, wanted: list[DesiredPackage]) -> Iterator[Staged]:
    seen = PROVIDER.observe(host.reader(), {each.name: each for each in wanted})
    for each in wanted:
        observed = seen[each.name]
        assert isinstance(observed, Present | Absent)
        step = PROVIDER.plan(each, observed)
        assert step is not None
        yield PROVIDER.stage(writer, each, step)


def commit(host: FakeHost, *wanted: DesiredPackage) -> FakeWriter:
    writer = host.writer()
    PROVIDER.commit(writer, list(staged(host, writer, list(wanted))))
    return writer


def test_it_is_of_the_kinds_that_it_means_to_be() -> None:
    assert isinstance(PROVIDER, OrderedProvider)
    assert isinstance(PROVIDER, RelatedProvider)
    assert isinstance(PROVIDER, TransactionalProvider)
    assert PROVIDER.order_stage is Stage.PACKAGES


def test_it_holds_the_package_of_its_name() -> None:
    assert PROVIDER.targets(PROVIDER.parse("libc6:i386", {})) == (Target("package", "libc6:i386"),)
    assert PROVIDER.targets(PROVIDER.parse("app", {"purge": True})) == (
        Target("package", "app"),
        Target("package_purged", "app"),
    )


def test_it_comes_after_what_says_where_packages_come_from_and_after_accounts_of_its_name() -> None:
    around = index(
        ("path", "/etc/apt/sources.list.d/x.sources", "package_source:x"),
        ("path", "/etc/apt/keyrings/x.gpg", "package_source:x"),
        ("path", "/etc/apt/sources.list.d/y.sources", "package_source:y"),
        ("path", "/etc/apt/sources.list.d/z.list", "file:/etc/apt/sources.list.d/z.list"),
        ("path", "/etc/apt/preferences.d/pin", "file:/etc/apt/preferences.d/pin"),
        ("path", "/etc/aptly.conf", "file:/etc/aptly.conf"),
        ("user", "app", "user:app"),
        ("group", "app", "group:app"),
        ("user", "other", "user:other"),
    )
    edges = PROVIDER.edges(PROVIDER.parse("app:i386", {}), around)
    assert [(str(edge.target), edge.reason, edge.kind) for edge in edges] == [
        ("package_source:x", "package source", DependencyKind.REQUIRES),
        ("package_source:y", "package source", DependencyKind.REQUIRES),
        ("file:/etc/apt/sources.list.d/z.list", "package source", DependencyKind.REQUIRES),
        ("file:/etc/apt/preferences.d/pin", "apt configuration", DependencyKind.AFTER),
        ("user:app", "account of the same name", DependencyKind.AFTER),
        ("group:app", "account of the same name", DependencyKind.AFTER),
    ]
    assert all(edge.soft for edge in edges)


def test_it_may_bring_anything_and_brings_itself() -> None:
    step = PROVIDER.plan(PROVIDER.parse("app", {}), Absent())
    assert step is not None
    effects = PROVIDER.effects(PROVIDER.parse("app", {}), step)
    assert [(str(effect.target), effect.certain) for effect in effects] == [
        ("package app", True), ("unit *", False), ("user *", False), ("group *", False), ("path *", False),
    ]  # fmt: skip


def test_marks_alone_bring_nothing() -> None:
    wanted = PROVIDER.parse("app", {"hold": True})
    step = PROVIDER.plan(wanted, Present({"state": "installed", "version": "1", "hold": False}))
    assert step is not None
    assert PROVIDER.effects(wanted, step) == ()
    assert PROVIDER.effects(wanted, Step(Operation.DELETE, step.changes)) == ()


@pytest.mark.parametrize(
    ("name", "removal"),
    [("nginx", Removal.KEEP), ("openssh-server", Removal.NEVER), ("linux-image-6.1.0-18-amd64", Removal.NEVER)],
)
def test_what_is_dropped_stays(name: str, removal: Removal) -> None:
    assert PROVIDER.removal(PROVIDER.parse(name, {})) is removal


@pytest.mark.parametrize("name", ["sudo", "openssh-server", "libpam-systemd", "python3:amd64", "ifupdown2", "nftables"])
def test_the_ways_in_are_known(name: str) -> None:
    assert guards_access(name)


@pytest.mark.parametrize("name", ["openssh-client", "nginx", "sudoku", "python3-yaml"])
def test_other_packages_are_none(name: str) -> None:
    assert not guards_access(name)


def test_what_is_adopted_has_the_marks_and_no_version() -> None:
    usual = Present({"state": "installed", "version": "1", "hold": False, "manual": True})
    assert PROVIDER.adopt("app", usual) == {}
    marked = Present({"state": "installed", "version": "1", "hold": True, "manual": False})
    assert PROVIDER.adopt("app", marked) == {"hold": True, "manual": False}


def test_packages_of_one_transaction_are_one_run_of_apt() -> None:
    apt = FakeApt({"one": ["1"], "two": ["2"], "three": ["3"]})
    host = arranged(apt, Stanza("old"))
    around = index(*((("package", name, f"package:{name}")) for name in ("one", "two")))
    writer = host.writer()
    group = list(staged(host, writer, [related("one", around), related("two", around, version="2", manual=False)]))
    gone = related("old", around)
    group.append(Staged(gone, Step(Operation.DELETE, (Change("state", "installed", None),))))
    PROVIDER.commit(writer, group)
    runs = [argv for argv in apt.log if argv[0].endswith("apt-get")]
    assert len(runs) == 1
    assert runs[0][-3:] == ("one=1", "two=2", "old-")
    assert {"-y", "--no-install-recommends"} <= set(runs[0])
    assert "Dpkg::Options::=--force-confold" in runs[0]
    assert "Dpkg::Options::=--force-confdef" in runs[0]
    assert "DPkg::Lock::Timeout=300" in runs[0]
    assert apt.scopes == [SCOPE, ""]
    assert all(environment == ENVIRONMENT for environment in apt.environments)


def test_the_patience_of_the_host_itself_counts() -> None:
    apt = FakeApt({"app": ["1"]}, timeout="7")
    commit(arranged(apt), PROVIDER.parse("app", {}))
    assert "DPkg::Lock::Timeout=7" in apt.log[0]


def test_a_mark_that_nobody_declared_is_kept_when_the_version_changes() -> None:
    apt = FakeApt({"app": ["2"]})
    host = arranged(apt, Stanza("app", "1"))
    host.add_file(MARKS, b"Package: app\nArchitecture: amd64\nAuto-Installed: 1\n")
    commit(host, PROVIDER.parse("app", {"version": "2"}))
    seen = PROVIDER.observe(host.reader(), {"app": PROVIDER.parse("app", {})})["app"]
    assert isinstance(seen, Present)
    assert (seen.fields["version"], seen.fields["manual"]) == ("2", False)


def _ends(ended: CommandOutcome, _world: FakeWorld, _command: Command) -> CommandOutcome:
    return ended


def test_what_is_missing_while_lists_could_not_be_fetched_is_no_fault_of_the_fleet() -> None:
    """Elsewhere it is: only lists that are whole say that packages cannot be had together."""
    refused = CommandOutcome(100, b"", b"E: Unable to correct problems, you have held broken packages.\n")
    unreachable = b"W: Failed to fetch http://a/InRelease\n"
    for complaint, failure in ((unreachable, FailureCause.NETWORK), (b"", FailureCause.IMPOSSIBLE)):
        apt = FakeApt({"app": ["1"]})
        host = arranged(apt)
        host.world.remove("/var/lib/apt/lists/archive_Packages")
        host.add_query("apt-get", lambda _world, _command: refused)
        ended = CommandOutcome(0, b"", complaint)
        host.add_program("apt-get", partial(_ends, ended))
        writer, app = host.writer(), PROVIDER.parse("app", {})
        step = Step(Operation.CREATE, (Change("state", None, "installed"),))
        with pytest.raises(HostError, match="finds no way") as caught:
            PROVIDER.apply(writer, app, step)
        assert caught.value.failure is failure


def test_nothing_keeps_the_rest_of_a_transaction() -> None:
    """Not what nobody offers, not what cannot be configured."""
    apt = FakeApt({"one": ["1"], "bad": ["1"]}, broken={"bad"})
    host = arranged(apt)
    wanted = [PROVIDER.parse(name, {}) for name in ("bad", "missing", "one")]
    with pytest.raises(HostError):
        commit(host, *wanted)
    seen = PROVIDER.observe(host.reader(), {each.name: each for each in wanted})
    assert {name: isinstance(each, Present) and each.fields["state"] for name, each in seen.items()} == {
        "bad": "half-configured", "missing": False, "one": "installed",
    }  # fmt: skip


def queries(host: FakeHost) -> int:
    return len([subject for method, subject in host.calls if method == "query"])


def test_one_question_is_enough_where_nothing_goes_along() -> None:
    apt = FakeApt({f"app-{number}": ["1"] for number in range(20)})
    host = arranged(apt)
    names = [*apt.offers, "missing"]
    together = PROVIDER.observe(host.reader(), {name: PROVIDER.parse(name, {}) for name in names})
    assert queries(host) == 2, "one for all, one without what nobody offers"
    for name in ("app-3", "missing"):
        assert PROVIDER.observe(host.reader(), {name: PROVIDER.parse(name, {})})[name] == together[name]


def test_what_goes_along_is_asked_for_each() -> None:
    apt = FakeApt({"one": ["1"], "two": ["1"]}, conflicts={"two": ("other",)})
    host = arranged(apt, Stanza("other"))
    seen = PROVIDER.observe(host.reader(), {name: PROVIDER.parse(name, {}) for name in ("one", "two")})
    assert {name: removes(each) for name, each in seen.items()} == {"one": (), "two": ("other",)}


def removes(observation: Observation) -> object:
    assert isinstance(observation, Absent)
    return observation.fields["removes"]


def test_an_apt_that_does_not_answer_leaves_open_what_goes_along() -> None:
    host = arranged(FakeApt({"app": ["1"]}))
    host.fail(HostError("It does not answer."), method="query")
    seen = PROVIDER.observe(host.reader(), {"app": PROVIDER.parse("app", {})})["app"]
    assert isinstance(removes(seen), Unobservable)


def test_what_an_earlier_pass_began_is_waited_for() -> None:
    host = arranged(FakeApt({"app": ["1"]}))
    host.add_scope(SCOPE, lambda world: FakeApt().install_in(host, Stanza("app")))
    seen = PROVIDER.observe(host.reader(), {"app": PROVIDER.parse("app", {})})["app"]
    assert isinstance(seen, Present)


def test_what_an_earlier_pass_began_and_does_not_end_is_told() -> None:
    host = arranged(FakeApt({"app": ["1"]}))
    host.add_scope(SCOPE)
    seen = PROVIDER.observe(host.reader(), {"app": PROVIDER.parse("app", {})})["app"]
    assert isinstance(seen, Unobservable)
    assert (seen.cause, seen.scope) == (Cause.DEADLINE, Scope.RESOURCE)
    assert f"{SCOPE}-*.scope" in seen.detail


CONDITION = f"{FOLDER}/app.service.d/zz-datum-apt.conf"
AROUND = index(
    ("package", "app", "package:app"),
    ("unit_state", "app.service", "service:app"),
    ("unit_state", "app.socket", "service:app.socket"),
    ("unit_state", "runs.service", "service:runs"),
)


def test_services_of_the_fleet_are_not_started_by_installing() -> None:
    """But for those that run: an upgrade that stops them must be able to start them."""
    apt = FakeApt({"app": ["1"]})
    host = arranged(apt)
    host.add_unit("runs.service", active="active")
    host.add_unit("app.socket", active="failed")
    commit(host, related("app", AROUND))
    assert "app|app.service|app.socket)" in apt.policies[0]
    assert "runs" not in apt.policies[0]
    assert PATH not in host.files


def test_what_a_package_brings_is_withheld_also_from_scripts_that_ask_nobody() -> None:
    """But not what is there already, which its timer may start meanwhile."""
    apt = FakeApt({"app": ["1"]})
    host = arranged(apt)
    host.add_unit("runs.service", active="active")
    host.add_unit("app.socket", active="failed")
    host.add_directory(f"{FOLDER}/app.service.d")
    host.add_file(f"{FOLDER}/app.service.d/other.conf", b"")
    commit(host, related("app", AROUND))
    (found,) = apt.withheld
    assert found == [f"{FOLDER}/app.service.d", f"{FOLDER}/app.service.d/other.conf", CONDITION]
    reloads = [entry.method for entry in host.journal if entry.method == "daemon_reload"]
    assert len(reloads) == 2, "before and after"
    assert CONDITION not in host.files
    assert f"{FOLDER}/app.service.d/other.conf" in host.files


@pytest.mark.parametrize("is_written", [True, False])
def test_what_a_kill_left_withheld_is_found_by_the_policy(is_written: bool) -> None:
    host = arranged(FakeApt({}), Stanza("app"))
    host.add_file(PATH, policy_text(["app.service"], ["app"], ["app.service", "gone.service"]).encode())
    if is_written:
        host.add_directory(f"{FOLDER}/app.service.d")
        host.add_file(CONDITION, b"")
    host.add_directory(f"{FOLDER}/gone.service.d")
    assert clear(host.writer())
    assert [path for path in host.files if path.startswith(f"{FOLDER}/") or path == PATH] == []


def test_what_a_kill_left_withheld_is_found_without_the_policy_too() -> None:
    """Somebody had removed that, and a unit was not started until the next boot, which nobody was told."""
    apt = FakeApt({"app": ["1"]})
    host = arranged(apt, Stanza("app"))
    host.add_directory(f"{FOLDER}/other.service.d")
    host.add_file(f"{FOLDER}/other.service.d/other.conf", b"")
    host.add_file(f"{FOLDER}/plain.service", b"")
    withhold(host.writer(), ["app.service", "other.service"], ["two", "app"])
    assert withheld_for(host.reader()) == {"app", "two"}
    seen = PROVIDER.observe(host.reader(), {"app": related("app", AROUND)})["app"]
    assert isinstance(seen, Present)
    assert seen.fields["residue"] is True
    writer = commit(host, related("app", AROUND))
    assert any("interrupted transaction" in remark for remark in writer.remarks)
    assert [path for path in host.files if path.startswith(f"{FOLDER}/")] == [
        f"{FOLDER}/other.service.d",
        f"{FOLDER}/other.service.d/other.conf",
        f"{FOLDER}/plain.service",
    ]
    assert not clear(host.writer())


def test_without_a_service_manager_nothing_is_started() -> None:
    apt = FakeApt({"app": ["1"]})
    host = arranged(apt)
    host.remove_manager()
    commit(host, related("app", AROUND))
    assert "app|app.service|app.socket|runs|runs.service)" in apt.policies[0]


def test_a_policy_of_somebody_else_is_left_alone_and_told() -> None:
    apt = FakeApt({"app": ["1"]})
    host = arranged(apt)
    host.add_file(PATH, b"#!/bin/sh\nexit 101\n", mode="0755")
    writer = commit(host, related("app", AROUND))
    assert host.files[PATH].data == b"#!/bin/sh\nexit 101\n"
    assert any(PATH in remark and "left alone" in remark for remark in writer.remarks)


@pytest.mark.parametrize("is_failing", [True, False])
def test_the_policy_goes_whatever_becomes_of_the_transaction(is_failing: bool) -> None:
    apt = FakeApt({"app": ["1"]}, broken={"app"} if is_failing else set())
    host = arranged(apt)
    try:
        commit(host, related("app", AROUND))
    except HostError:
        assert is_failing
    assert PATH not in host.files


def test_no_policy_is_made_where_nothing_is_installed() -> None:
    apt = FakeApt()
    host = arranged(apt, Stanza("app"))
    commit(host, related("app", AROUND, hold=True))
    assert apt.policies == [""]


def test_a_policy_names_those_for_whom_it_is_there() -> None:
    host = FakeHost()
    host.add_file(PATH, policy_text(["a.service"], ["two", "one:i386"]).encode())
    assert left_for(host.reader()) == frozenset({"two", "one:i386"})
    host.add_file(PATH, b"#!/bin/sh\nexit 101\n")
    assert left_for(host.reader()) is None
    host.world.remove(PATH)
    host.add_link(PATH, "/bin/true")
    assert left_for(host.reader()) is None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["app", "start"], 101),
        (["--quiet", "app", "start", "2"], 101),
        (["app.service", "start"], 101),
        (["app", "(start)"], 101),
        (["app.socket", "start"], 101),
        (["odd\\x2dname.mount", "start"], 101),
        (["app", "stop"], 0),
        (["app", "restart"], 0),
        (["application", "start"], 0),
        (["a*", "start"], 0),
        (["*", "start"], 0),
    ],
)
def test_a_policy_denies_what_it_says_to_our_own_scripts_only(words: list[str], code: int, tmp_path: Path) -> None:
    program = tmp_path / "policy-rc.d"
    program.write_text(policy_text(["app.service", "app.socket", "odd\\x2dname.mount"], ["app"]))
    program.chmod(0o755)
    ours = {"PATH": os.defpath, "DATUM_TRANSACTION": "1"}
    assert subprocess.run(["sh", program, *words], env=ours, check=False).returncode == code
    assert subprocess.run(["sh", program, *words], env={"PATH": os.defpath}, check=False).returncode == 0


def test_lists_that_are_missing_are_fetched() -> None:
    apt = FakeApt({"app": ["1"]}, is_fresh=True)
    host = arranged(apt)
    host.world.remove("/var/lib/apt/lists/archive_Packages")
    commit(host, PROVIDER.parse("app", {}))
    assert apt.updates == 1


@pytest.mark.parametrize(
    "path", ["/etc/apt/sources.list.d/x.sources", "/etc/apt/keyrings/x.gpg", "/var/lib/dpkg/arch", "/etc/apt/apt.conf"]
)
def test_lists_that_are_older_than_a_source_are_fetched(path: str) -> None:
    apt = FakeApt({"app": ["1"]})
    host = arranged(apt)
    host.add_file(path, b"amd64\n")
    host.files[path].modified = 200
    commit(host, PROVIDER.parse("app", {}))
    assert apt.updates == (0 if path.endswith("apt.conf") else 1)


def test_a_name_that_is_pinned_away_or_only_named_is_not_offered() -> None:
    apt = FakeApt({"app": ["1"]})
    host = arranged(apt)
    head = "app:\n  Candidate: (none)\n  Version table:\n"
    pinned = f"{head}     2-1 -1\n         -1 http://deb.example.org Packages\n"
    for stdout, words in ((pinned, "is pinned away: 2-1"), (head, "only named by others")):
        answer = CommandOutcome(0, stdout.encode(), b"")
        host.add_query("apt-cache", lambda _world, _command, answer=answer: answer)  # type: ignore[misc]  # a default
        with pytest.raises(HostError, match=words):
            commit(host, PROVIDER.parse("app", {}))


def test_a_holder_that_apt_does_not_name_is_looked_up() -> None:
    apt = FakeApt(locked=99, timeout="0")
    host = arranged(apt, Stanza("app", state="unpacked"))
    host.add_file("/proc/71/comm", b"unattended-upgr\n")
    with pytest.raises(HostError, match=r"process 71 \(unattended-upgr\) holds the lock") as caught:
        commit(host, PROVIDER.parse("app", {}))
    assert caught.value.failure is FailureCause.BUSY
    host.world.remove("/proc/71/comm")
    with pytest.raises(HostError, match="process 71 holds the lock"):
        commit(host, PROVIDER.parse("app", {}))


def test_a_removal_that_dpkg_has_not_finished_is_finished() -> None:
    """The engine sweeps it: the package counts as gone, and nobody else could use apt."""
    apt, host = FakeApt(), FakeHost()
    apt.install_in(host, interrupted=[Stanza("app", state="config-files")])
    gone = evolve(related("app", index()), is_going=True)
    seen = PROVIDER.observe(host.reader(), {"app": gone})["app"]
    assert seen == Absent({"state": "config-files", "database": "interrupted", "residue": True})
    writer = host.writer()
    PROVIDER.apply(writer, gone, Step(Operation.DELETE, (Change("residue", before=True, after=None),)))
    assert [argv[-2:] for argv in apt.log] == [("--configure", "-a")]
    assert apt.scopes == [SCOPE]
    assert PROVIDER.observe(host.reader(), {"app": gone})["app"] == Absent({"state": "config-files"})


@pytest.mark.parametrize(
    ("held", "is_begun"),
    [
        ("1: POSIX  ADVISORY  WRITE 813 00:2a:lock-frontend 0 EOF\n", False),
        ("1: FLOCK  ADVISORY  WRITE 813 00:2a:lock 0 EOF\n", True),
        ("1: POSIX  ADVISORY  READ 813 00:2a:lock 0 EOF\n", True),
        ("1: POSIX  ADVISORY  WRITE 813 00:2a:other 0 EOF\n", True),
        ("", True),
    ],
)
def test_a_journal_of_a_dpkg_that_works_is_no_leftover(held: str, *, is_begun: bool) -> None:
    host = FakeHost()
    FakeApt().install_in(host, interrupted=[Stanza("app")])
    for name in ("lock", "lock-frontend"):
        host.add_file(f"/var/lib/dpkg/{name}", b"")
    host.add_file("/proc/locks", held.encode())
    seen = PROVIDER.observe(host.reader(), {"app": related("app", index())})["app"]
    assert isinstance(seen, Present)
    assert seen.fields.get("residue", False) is is_begun


@pytest.mark.parametrize("state", ["installed", "half-configured", "half-installed", "unpacked"])
def test_of_a_package_that_goes_it_counts_that_it_is_there(state: str) -> None:
    """Its state changes when dpkg finishes in an earlier transaction of the pass, and it is to go all the same."""
    host = arranged(FakeApt(), Stanza("app", state=state))
    seen = PROVIDER.observe(host.reader(), {"app": evolve(related("app", index()), is_going=True)})["app"]
    assert isinstance(seen, Present)
    assert seen.fields["state"] == "installed"
