"""Foreign servers are talked to under an account that writes the quarantine and reads the mirror, and nothing else."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from attrs import define, field

from datum.agent.wiring import source_door
from datum.diagnostics import Diagnostic
from datum.errors import RepositoryUnreachableError, StateError
from datum.host.names import Account
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.provider.host import Command, CommandOutcome, HostError
from datum.repository import account as account_module
from datum.repository.account import SourceAccount, hand_over
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from datum.repository.store import create_store
from datum.repository.transport import repack
from tests.git_repository import GitRepository
from tests.remotes.certificates import Authority
from tests.remotes.folder import open_folder
from tests.remotes.https import HttpsServer

NOBODY = 65534
enclosed = partial(run_program, account=Account("nobody", NOBODY, NOBODY, groups=(NOBODY,)), is_enclosed=True)
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")


@define
class Net:
    """A repository behind a server, and a mirror whose network belongs to an account."""

    state: Path
    repository: GitRepository
    remote: Remote
    mirror: Mirror
    # What ran under the account, and what is done there after each.
    commands: list[Command] = field(factory=list)
    mischief: Callable[[], None] = field(default=lambda: None)

    @property
    def store(self) -> Path:
        return self.state / "mirror.git"

    def take(self) -> Revision:
        revision = self.mirror.ask(self.remote, "main", timeout=20)
        self.mirror.fetch(self.remote, "main", revision, timeout=20, byte_limit=10_000_000)
        self.mirror.promote(revision)
        return revision


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


@pytest.fixture
def net(folder: Path) -> Iterator[Net]:
    repository = GitRepository(folder / "srv" / "fleet")
    repository.commit({"fleet.yaml": "one\n"}, "first")
    authority = Authority(folder / "authority")
    state = folder / "state"
    state.mkdir(mode=0o700)
    made: list[Net] = []

    def run(command: Command) -> CommandOutcome:
        made[0].commands.append(command)
        outcome = enclosed(command)
        made[0].mischief()
        return outcome

    with (
        HttpsServer(folder / "srv", authority.issue("localhost")) as server,
        Mirror.open(state, run_program, account=SourceAccount(NOBODY, NOBODY, run)) as mirror,
    ):
        made.append(Net(state, repository, Remote(server.url(), ca_file=str(authority.path)), mirror))
        yield made[0]


def owned(place: Path) -> set[str]:
    """Return what below a folder is the account's, or may be written by others than its owner."""
    return {
        str(path)
        for path in (place, *place.rglob("*"))
        for status in (path.lstat(),)
        if status.st_uid == NOBODY or (status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not path.is_symlink())
    }


def test_what_was_fetched_is_this_processs_own(net: Net) -> None:
    """A second fetch builds upon the mirror, which the account may read."""
    first = net.take()
    assert len(net.commands) == 2
    assert not owned(net.state)
    assert stat.S_IMODE(net.state.stat().st_mode) == 0o701
    assert net.mirror.tree(first).read("fleet.yaml") == b"one\n"
    net.repository.commit({"fleet.yaml": "two\n", "large": os.urandom(100_000)})
    second = net.take()
    assert net.mirror.is_descendant(second, first)
    assert not owned(net.state)
    assert stat.S_IMODE(net.store.stat().st_mode) & stat.S_IRWXO == 0
    net.repository.commit({"fleet.yaml": "three\n"})
    net.take()
    packs = sorted((net.store / "objects/pack").glob("*.pack"), key=lambda pack: pack.stat().st_size)
    assert packs[0].stat().st_size < 2000, "the last fetch brought again what the mirror has"


def test_a_path_on_this_host_is_read_as_before(net: Net) -> None:
    """It may be one that only root can read."""
    (net.repository.path).chmod(0o700)
    net.remote = Remote(str(net.repository.path))
    net.take()
    assert not net.commands


def test_programs_get_no_new_rights(net: Net) -> None:
    net.take()
    assert len(net.commands) == 2
    assert all(command.argv[:2] == ("setpriv", "--no-new-privs") for command in net.commands)


@pytest.mark.parametrize("what", ["config", "hooks", "alternates", "link", "folder-link", "fifo", "hard-link"])
def test_what_no_fetch_leaves_is_removed(net: Net, what: str) -> None:
    """A program that was taken over writes what it likes into its store; root reads none of that."""
    quarantine, secret = net.state / "quarantine", net.state / "secret"
    secret.write_text("x")
    pack = quarantine / "objects/pack" / f"pack-{'a' * 40}.pack"

    def mischief() -> None:
        if not quarantine.exists():
            return
        if what == "config":
            (quarantine / "config").write_text("[core]\n\tsshCommand = evil\n\tbare = true\n")
        elif what == "hooks":
            (quarantine / "hooks").mkdir()
            (quarantine / "hooks/post-checkout").write_text("evil")
        elif what == "alternates":
            (quarantine / "objects/info/alternates").write_text("/evil\n")
        elif what == "link":
            pack.symlink_to(secret)
        elif what == "folder-link":
            (quarantine / "objects/aa").symlink_to(net.state)
        elif what == "fifo":
            os.mkfifo(pack)
        else:
            os.link(secret, pack)
        for path in quarantine.rglob("*"):
            if path.name != "secret" and path.lstat().st_ino != secret.stat().st_ino:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    net.mischief = mischief
    revision = net.take()
    assert net.mirror.is_sound([revision])
    kept = {str(path.relative_to(net.store)) for path in net.store.rglob("*") if not path.is_dir()}
    assert all(name.startswith(("objects/pack/pack-", "refs/datum/")) or name in {"HEAD", "config"} for name in kept)
    assert f"objects/pack/{pack.name}" not in kept
    assert "evil" not in (net.store / "config").read_text()
    assert secret.stat().st_uid == 0
    assert not owned(net.state)


def test_a_store_is_handed_over_whole_and_its_top_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the last step nobody else can enter it, so nothing in it can be exchanged for what is elsewhere."""
    store = folder / "state" / "quarantine"
    create_store(store, alternate=None)
    store.chmod(0o755)
    given: list[Path] = []
    chown = os.chown

    def watched(path: Path, uid: int, gid: int, *, follow_symlinks: bool) -> None:
        assert stat.S_IMODE(store.stat().st_mode) == 0o700
        assert store.stat().st_uid == 0
        assert not follow_symlinks
        given.append(path)
        chown(path, uid, gid, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "chown", watched)
    hand_over(store, folder / "state/mirror.git", SourceAccount(NOBODY, NOBODY, run_program))
    assert given[-1] == store
    assert set(given) == {store, *store.rglob("*")}
    assert all(given.index(path) < given.index(path.parent) for path in given[:-1])
    assert owned(store) == {str(path) for path in given}


class Mischief:
    """What a program that was taken over does to its store after a fetch; the name is that of a method."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.packs = net.state / "quarantine/objects/pack"
        self.kept: list[int] = []

    def pack(self) -> Path | None:
        """Return the pack that was fetched; None: nothing was."""
        return next(iter(self.packs.glob("pack-*.pack")), None)

    def __call__(self, what: str) -> None:
        if self.pack() is None:
            return
        getattr(self, what)()
        quarantine = self.net.state / "quarantine"
        subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", str(quarantine)], check=True)

    def nested(self) -> None:
        folder = os.open(self.net.state / "quarantine", os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=folder)
            deeper = os.open("d", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = deeper
        os.close(folder)

    def config_is_a_folder(self) -> None:
        (self.net.state / "quarantine/config").unlink()
        (self.net.state / "quarantine/config").mkdir()

    def folders_as_objects(self) -> None:
        (self.packs / f"pack-{'a' * 40}.pack").mkdir()
        (self.packs / f"pack-{'a' * 40}.idx").mkdir()
        (self.packs.parent / "aa" / ("b" * 38)).mkdir(parents=True)
        (self.packs / "multi-pack-index").mkdir()

    def loose_object(self) -> None:
        (self.packs.parent / "aa").mkdir()
        (self.packs.parent / "aa" / ("b" * 38)).write_bytes(b"x")

    def held_open(self) -> None:
        self.kept = [os.open(path, os.O_RDWR) for path in self.packs.iterdir()]

    def second_pack(self) -> None:
        (self.packs / f"pack-{'a' * 40}.pack").write_bytes(b"PACK")

    def other_bytes(self) -> None:
        pack = self.pack()
        assert pack is not None
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes() + b"x")

    def name_of_the_mirrors(self) -> None:
        pack, theirs = self.pack(), next((self.net.store / "objects/pack").glob("*.pack"))
        assert pack is not None
        for kind in (".pack", ".idx"):
            pack.with_suffix(kind).rename((self.packs / theirs.name).with_suffix(kind))

    def no_index(self) -> None:
        pack = self.pack()
        assert pack is not None
        pack.with_suffix(".idx").unlink()

    def linked_index(self) -> None:
        self.no_index()
        pack = self.pack()
        assert pack is not None
        pack.with_suffix(".idx").symlink_to("/etc/passwd")


@pytest.mark.parametrize("what", ["nested", "config_is_a_folder", "folders_as_objects", "loose_object", "held_open"])
def test_what_comes_with_a_pack_is_left_behind(net: Net, what: str) -> None:
    """The pack is taken as a copy; the mirror can be opened, repacked and built upon afterwards."""
    mischief = Mischief(net)
    net.mischief = lambda: mischief(what)
    revision = net.take()
    before = {path: path.read_bytes() for path in (net.store / "objects/pack").iterdir()}
    assert len(before) == 2
    for descriptor in mischief.kept:
        os.pwrite(descriptor, b"evil", 0)
        os.close(descriptor)
    assert {path: path.read_bytes() for path in (net.store / "objects/pack").iterdir()} == before
    assert not owned(net.state)
    assert sorted(path.name for path in net.state.iterdir()) == ["mirror.git"]
    folders = {str(path.relative_to(net.store)) for path in (net.store / "objects").rglob("*") if path.is_dir()}
    assert folders == {"objects/pack", "objects/info"}
    with Mirror.open(net.state, run_program) as again:
        assert again.is_sound([revision])
    assert repack(run_program, net.store, timeout=20)


@pytest.mark.parametrize("what", ["second_pack", "other_bytes", "name_of_the_mirrors", "no_index", "linked_index"])
def test_what_no_fetch_leaves_is_not_taken(net: Net, what: str) -> None:
    """The mirror stays as it was, and the next fetch is one like any other."""
    first = net.take()
    before = {path: path.read_bytes() for path in net.store.rglob("*") if path.is_file()}
    net.repository.commit({"fleet.yaml": "two\n"})
    mischief = Mischief(net)
    net.mischief = lambda: mischief(what)
    with pytest.raises(RepositoryUnreachableError) as caught:
        net.take()
    assert caught.value.diagnostics[0].code == "fetch-not-taken"
    assert {path: path.read_bytes() for path in net.store.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in net.state.iterdir()) == ["mirror.git"]
    net.mischief = lambda: None
    assert net.mirror.is_descendant(net.take(), first)


def test_what_a_kill_left_is_swept(net: Net) -> None:
    for name in ("quarantine", "quarantine.old"):
        (net.state / name / "a/b").mkdir(parents=True)
    with Mirror.open(net.state, run_program):
        assert not list(net.state.iterdir())


def test_a_dangling_link_does_not_hide_why_a_fetch_failed(net: Net) -> None:
    net.mirror.ask(net.remote, "main", timeout=20)
    packs = net.state / "quarantine/objects/pack"
    net.mischief = lambda: (packs / "pack-x").symlink_to("nowhere")
    with pytest.raises(RepositoryUnreachableError) as caught:
        net.mirror.fetch(net.remote, "main", Revision("1" * 40), timeout=20, byte_limit=10_000_000)
    assert caught.value.diagnostics[0].code == "revision-vanished"
    assert not list(net.state.iterdir())


def test_a_quarantine_that_cannot_be_removed_is_told(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    revision = net.mirror.ask(net.remote, "main", timeout=20)

    def refuse(path: Path) -> None:
        raise OSError(5, "Input/output error", str(path))

    def break_disk() -> None:
        monkeypatch.setattr("datum.repository.store.remove_store", refuse)
        raise RepositoryUnreachableError(Diagnostic(code="remote-timeout", summary="Late.", detail=".", hint=""))

    net.mischief = break_disk
    with pytest.raises(StateError, match="Input/output error"):
        net.mirror.fetch(net.remote, "main", revision, timeout=20, byte_limit=10_000_000)
    monkeypatch.undo()


def test_a_state_directory_below_a_private_folder(folder: Path, net: Net) -> None:
    """It is the folder that is named; its mode is its owner's matter."""
    private = folder / "private"
    (private / "var/state").mkdir(parents=True)
    private.chmod(0o700)
    with Mirror.open(private / "var/state", run_program, account=SourceAccount(NOBODY, NOBODY, enclosed)) as mirror:
        revision = mirror.ask(net.remote, "main", timeout=20)
        with pytest.raises(RepositoryUnreachableError) as caught:
            mirror.fetch(net.remote, "main", revision, timeout=20, byte_limit=10_000_000)
        (found,) = caught.value.diagnostics
        assert found.code == "source-account-shut-out"
        assert f"may not enter {private}, which has mode 0700" in found.detail
        assert found.hint.startswith(f"chmod o+x {private},")
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        private.chmod(0o711)
        mirror.fetch(net.remote, "main", revision, timeout=20, byte_limit=10_000_000)


@pytest.mark.parametrize(
    ("shut", "mode", "words"),
    [
        ("", 0o700, "may not enter {folder}, which has mode 0700"),
        ("gitconfig", 0o600, "may not read {folder}/gitconfig, which has mode 0600"),
        ("git-remote-datum", 0o644, "may not run {folder}/git-remote-datum, which has mode 0644"),
    ],
)
def test_a_configuration_that_the_account_cannot_read(
    folder: Path, net: Net, monkeypatch: pytest.MonkeyPatch, shut: str, mode: int, words: str
) -> None:
    """Git would go without it, and check nothing of what it fetches."""
    package = folder / "package"
    package.mkdir()
    for name in ("gitconfig", "git-remote-datum", "look.py"):
        shutil.copy(Path(account_module.__file__).with_name(name), package / name)
    (package / shut).chmod(mode)
    monkeypatch.setattr(account_module, "__file__", str(package / "account.py"))
    with pytest.raises(RepositoryUnreachableError) as caught:
        net.mirror.ask(net.remote, "main", timeout=20)
    (found,) = caught.value.diagnostics
    assert found.code == "source-account-shut-out"
    assert words.format(folder=package) in found.detail
    assert [command.argv[0] for command in net.commands] == ["test"]
    (package / shut).chmod(0o755)
    net.take()


def test_a_failed_fetch_leaves_nothing(net: Net) -> None:
    revision = net.mirror.ask(net.remote, "main", timeout=20)
    with pytest.raises(RepositoryUnreachableError):
        net.mirror.fetch(net.remote, "main", Revision("1" * 40), timeout=20, byte_limit=10_000_000)
    assert not (net.state / "quarantine").exists()
    net.mirror.fetch(net.remote, "main", revision, timeout=20, byte_limit=10_000_000)


def packs(store: Path) -> list[Path]:
    return sorted((store / "objects/pack").glob("*.pack"))


def fill(net: Net, count: int) -> list[Revision]:
    """Have the mirror hold so many packs; the last revision but one is of a branch that is dropped again."""
    taken = []
    for number in range(count):
        net.repository.commit({f"files/{number}": os.urandom(300).hex()})
        if number == count - 2:
            net.repository.git("commit", "--amend", "-m", "dropped")
            taken.append(net.take())
            net.repository.git("reset", "--hard", "--quiet", "HEAD~1")
        else:
            taken.append(net.take())
    return taken


def test_the_mirror_is_repacked_under_the_account(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """It unpacks what a server sent, and that this passed fsck is the account's word. No object is lost."""
    monkeypatch.setattr("datum.repository.mirror.MAX_PACKS", 4)
    taken = fill(net, 4)
    ran: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        ran.append(command)
        return run_program(command)

    monkeypatch.setattr(net.mirror, "_run", run)
    net.repository.commit({"fleet.yaml": "last\n"})
    net.mirror.keep(taken[:1])
    taken.append(net.take())
    (made,) = packs(net.store)
    (repacking,) = (command for command in net.commands if "pack-objects" in command.argv)
    assert repacking.argv[:2] == ("setpriv", "--no-new-privs")
    bounds = repacking.argv[: repacking.argv.index("git")]
    assert {word.partition("=")[0] for word in bounds} >= {"--as", "--fsize", "--core"}
    assert not ran
    status = made.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (os.geteuid(), NOBODY, 0o440)
    assert not owned(net.state)
    assert sorted(path.name for path in net.state.iterdir()) == ["mirror.git"]
    with Mirror.open(net.state, run_program) as again:
        assert again.is_sound(taken)
    subprocess.run(["git", "-C", str(net.store), "fsck", "--full", "--strict"], check=True, capture_output=True)
    net.repository.commit({"fleet.yaml": "more\n"})
    net.take()
    assert len(packs(net.store)) == 2


def test_the_account_repacks_with_few_files_in_view(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state directory is hidden but for the mirror and the store that is written."""
    taken = fill(net, 2)
    monkeypatch.setattr("datum.repository.mirror.MAX_PACKS", 2)
    door = source_door(Account("nobody", NOBODY, NOBODY, groups=(NOBODY,)), (str(net.state),))
    account = SourceAccount(NOBODY, NOBODY, door(), door)
    net.repository.commit({"fleet.yaml": "last\n"})
    with Mirror.open(net.state, run_program, account=account) as net.mirror:
        taken.append(net.take())
        assert len(packs(net.store)) == 1
        assert net.mirror.is_sound(taken)


@pytest.mark.parametrize("what", ["less", "nothing", "two", "damaged", "fails"])
def test_a_repacked_pack_that_is_no_such_thing_is_not_taken(
    net: Net, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The packs that are there stay, the pass goes on, and the next promotion tries again."""
    monkeypatch.setattr("datum.repository.mirror.MAX_PACKS", 2)
    taken = fill(net, 2)
    before = packs(net.store)
    work = net.state / "quarantine/objects/pack"

    def mischief() -> None:
        if "pack-objects" not in net.commands[-1].argv:
            return
        made = next(work.glob("*.pack"))
        other = before[0]
        if what == "damaged":
            made.chmod(0o600)
            made.write_bytes(made.read_bytes()[:-1] + b"x")
            return
        if what == "fails":
            raise HostError("It was late.")
        if what in {"less", "nothing"}:
            made.unlink()
            made.with_suffix(".idx").unlink()
        if what in {"less", "two"}:
            for suffix in (".pack", ".idx"):
                shutil.copy(other.with_suffix(suffix), work)
                os.chown(work / other.with_suffix(suffix).name, NOBODY, NOBODY)

    net.mischief = mischief
    net.repository.commit({"fleet.yaml": "last\n"})
    taken.append(net.take())
    assert set(before) < set(packs(net.store))
    assert len(packs(net.store)) == 3
    assert sorted(path.name for path in net.state.iterdir()) == ["mirror.git"]
    assert net.mirror.is_sound(taken)
    net.mischief = lambda: None
    net.repository.commit({"fleet.yaml": "again\n"})
    taken.append(net.take())
    assert len(packs(net.store)) == 1
    assert net.mirror.is_sound(taken)


def test_a_plan_before_enrolment_fetches_as_the_account(net: Net) -> None:
    """There is no state directory yet, and a plan makes none."""
    (net.state.parent / "own").mkdir()
    account = SourceAccount(NOBODY, NOBODY, enclosed)
    state = net.state.parent / "var/lib/datum"
    with Mirror.open(state, run_program, temporary=net.state.parent / "own", account=account) as plan:
        revision = plan.ask(net.remote, "main", timeout=20)
        plan.fetch(net.remote, "main", revision, timeout=20, byte_limit=10_000_000)
        assert plan.tree(revision).read("fleet.yaml") == b"one\n"
    assert not state.parent.parent.exists()
