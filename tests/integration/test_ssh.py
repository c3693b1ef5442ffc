"""The mirror against sshd: pinned keys, authorities, a jump host, older servers, and each way of not getting in."""

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve

from datum.agent.wiring import source_door
from datum.errors import RepositoryUnreachableError, RevisionNotFoundError
from datum.host.names import Account
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.provider.host import Command, CommandOutcome
from datum.repository.account import SourceAccount
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from tests.git_repository import GitRepository
from tests.harness import image
from tests.harness.oneshot import Oneshot
from tests.harness.spec import Bind
from tests.remotes.folder import open_folder
from tests.remotes.ssh import INNER_PORT, SshServer, fingerprint, make_key

LIMIT = 10_000_000
NOBODY = 65534
# Kept in the host's environment of the test; the server takes the variable by which protocol 2 is asked for.
TAKES_PROTOCOL = "AcceptEnv GIT_PROTOCOL\n"


@define
class Net:
    """A repository behind sshd, and the mirror of a host."""

    folder: Path
    repository: GitRepository
    server: SshServer
    remote: Remote
    mirror: Mirror
    commands: list[Command]

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def ask(self, ref: str = "main") -> Revision:
        return self.mirror.ask(self.remote, ref, timeout=30)

    def fetch(self, revision: Revision) -> None:
        self.mirror.fetch(self.remote, "main", revision, timeout=30, byte_limit=LIMIT)

    def refusal(self, act: Callable[[], object] | None = None) -> Any:
        """Return the one diagnostic of a remote that cannot be used."""
        with pytest.raises(RepositoryUnreachableError) as caught:
            (act or self.ask)()
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.detail
        assert diagnostic.hint
        return diagnostic


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made


@pytest.fixture
def net(folder: Path, make_oneshot: Callable[..., Oneshot]) -> Iterator[Net]:
    repository = GitRepository(folder / "srv" / "fleet")
    repository.commit({"fleet.yaml": "one\n"}, "first")
    host = make_oneshot(suite=image.TRIXIE, binds=(Bind(str(folder / "srv"), "/srv"),))
    make_key(folder / "host_key")
    commands: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        commands.append(command)
        return run_program(command)

    with (
        SshServer(host, folder / "host_key", make_key(folder / "key"), TAKES_PROTOCOL) as server,
        Mirror.open(folder / "state", run) as mirror,
    ):
        remote = Remote(server.url(), key_file=str(folder / "key"), known_hosts_file=str(folder / "known_hosts"))
        made = Net(folder, repository, server, remote, mirror, commands)
        made.known_hosts.write_text(server.line())
        yield made


# What works


def test_a_revision_is_asked_for_fetched_and_kept(net: Net) -> None:
    net.repository.git("tag", "-a", "-m", "x", "v1")
    revision = net.ask()
    assert str(revision) == f"main@sha1:{net.repository.head}"
    assert net.ask("v1").commit == net.ask("HEAD").commit == revision.commit
    net.fetch(revision)
    net.mirror.promote(revision)
    assert net.mirror.tree(revision).read("fleet.yaml") == b"one\n"
    with pytest.raises(RevisionNotFoundError, match="It has main"):
        net.ask("gone")


def test_an_older_server_is_understood(net: Net) -> None:
    """It sends all refs, those that tags stand for among them, and is fetched from all the same."""
    net.server.config = ""
    net.server.configure()
    net.repository.git("tag", "-a", "-m", "x", "v1")
    revision = net.ask()
    assert str(revision) == f"main@sha1:{net.repository.head}"
    assert str(net.ask("v1")) == f"v1@sha1:{net.repository.head}"
    assert str(net.ask("HEAD")) == str(revision)
    net.fetch(revision)
    with pytest.raises(RevisionNotFoundError, match="It has main"):
        net.ask("gone")


def test_an_older_server_with_too_many_refs_is_told(net: Net) -> None:
    """The list is cut, so nobody can say whether the ref is there, or there twice."""
    head = net.repository.head
    lines = "".join(f"{head} refs/heads/b{number:05}\n" for number in range(20_000))
    (net.repository.path / ".git/packed-refs").write_text(lines)
    assert net.ask().commit == head
    net.server.config = ""
    net.server.configure()
    found = net.refusal()
    assert found.code == "remote-list-too-long"
    assert "AcceptEnv GIT_PROTOCOL" in found.hint


def test_one_of_several_pinned_keys_is_enough(net: Net) -> None:
    """So a server's key is replaced: the new one is pinned beside the old one before."""
    other = make_key(net.folder / "other")
    net.known_hosts.write_text("# both\n" + net.server.line(other) + net.server.line())
    net.ask()


def test_an_authority_of_host_keys_is_enough(net: Net) -> None:
    authority = make_key(net.folder / "authority")
    argv = ["ssh-keygen", "-q", "-s", str(net.folder / "authority"), "-I", "x", "-h", "-n", "localhost"]
    subprocess.run([*argv, str(net.folder / "host_key.pub")], check=True, capture_output=True)
    net.server.configure()
    net.known_hosts.write_text(f"@cert-authority [localhost]:* {authority}\n")
    net.fetch(net.ask())


def test_a_jump_host_is_held_to_the_same_keys(net: Net) -> None:
    """Both are checked: the one that leads on, and the one behind it."""
    net.server.start_inside()
    net.remote = evolve(
        net.remote, url=f"ssh://root@localhost:{INNER_PORT}/srv/fleet", jump=f"root@localhost:{net.server.port}"
    )
    inner = net.server.line().replace(str(net.server.port), str(INNER_PORT))
    net.known_hosts.write_text(net.server.line() + inner)
    net.fetch(net.ask())
    for line in (net.server.line(), inner):
        net.known_hosts.write_text(line)
        assert net.refusal().code == "host-key-unknown"


def test_nothing_of_the_user_takes_part(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an agent, nor a program, nor a variable that git or ssh would look at."""
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nonexistent")
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    monkeypatch.setenv("GIT_SSH", "false")
    net.fetch(net.ask())
    argv = net.commands[0].argv
    assert argv[argv.index("-F") + 1] == "none"
    assert "StrictHostKeyChecking=yes" in argv
    assert "SSH_AUTH_SOCK" not in net.commands[0].environment


def test_an_account_reads_the_key_by_its_group(net: Net) -> None:
    """Owner root, so that ssh of the account takes it all the same."""
    key = Path(net.remote.key_file)
    os.chown(key, 0, NOBODY)
    key.chmod(0o640)
    door = partial(run_program, account=Account("nobody", NOBODY, NOBODY, groups=(NOBODY,)), is_enclosed=True)
    (net.folder / "state").mkdir(mode=0o700)
    with Mirror.open(net.folder / "state", run_program, account=SourceAccount(NOBODY, NOBODY, door)) as net.mirror:
        net.fetch(net.ask())
        net.mirror.promote(net.ask())
        for path, code in ((net.known_hosts, "source-file-unreadable"), (key, "source-file-unreadable")):
            mode = path.stat().st_mode
            path.chmod(0o600)
            assert net.refusal().code == code
            path.chmod(mode)
            net.ask()


def test_ssh_does_with_the_files_that_its_account_is_shown(net: Net) -> None:
    """Its own key and known hosts, wherever these lie, also through a jump host; the keys of others are not there."""
    key = Path(net.remote.key_file)
    other = net.folder / "other_key"
    other.write_bytes(key.read_bytes())
    for path in (key, other):
        os.chown(path, 0, NOBODY)
        path.chmod(0o640)
    account = Account("nobody", NOBODY, NOBODY, groups=(NOBODY,))
    door = source_door(account, (str(net.folder), str(other)))
    (net.folder / "state").mkdir(mode=0o700)
    net.server.start_inside()
    inner = net.server.line().replace(str(net.server.port), str(INNER_PORT))
    net.known_hosts.write_text(net.server.line() + inner)
    with Mirror.open(
        net.folder / "state", run_program, account=SourceAccount(NOBODY, NOBODY, door(), door)
    ) as net.mirror:
        net.fetch(net.ask())
        net.mirror.promote(net.ask())
        jumping = f"ssh://root@localhost:{INNER_PORT}/srv/fleet"
        net.remote = evolve(net.remote, url=jumping, jump=f"root@localhost:{net.server.port}")
        net.ask()
        script = f"cat {other}; ls -A {net.folder}"
        assert door()(Command(("sh", "-c", script), 20, success=frozenset(range(256)))).stdout == b""


def test_a_path_with_odd_characters_is_one_word(net: Net) -> None:
    odd = GitRepository(net.folder / "srv" / "it's a; $(fleet)!")
    head = odd.commit({"a": "b"})
    net.remote = evolve(net.remote, url=net.server.url("/srv/it's%20a;%20$(fleet)!"))
    revision = net.ask()
    assert revision.commit == head
    net.fetch(revision)


# What does not


def test_a_key_that_is_not_pinned_is_told_with_its_fingerprint(net: Net) -> None:
    net.known_hosts.write_text("")
    found = net.refusal()
    assert found.code == "host-key-unknown"
    assert fingerprint(net.server.host_key) in found.detail
    assert net.repository.head not in found.detail


@pytest.mark.parametrize("act", ["ask", "fetch"])
def test_a_key_that_changed_is_told_with_the_new_one(net: Net, act: str) -> None:
    """Nothing is sent to such a server."""
    revision = net.ask()
    make_key(net.folder / "new")
    net.server.host_key = net.folder / "new"
    net.server.configure()
    found = net.refusal(net.ask if act == "ask" else lambda: net.fetch(revision))
    assert found.code == "host-key-changed"
    assert fingerprint(net.folder / "new") in found.detail
    assert "source.known_hosts_file" in found.hint


def test_a_key_that_is_not_let_in_is_told(net: Net) -> None:
    make_key(net.folder / "stranger")
    net.remote = evolve(net.remote, key_file=str(net.folder / "stranger"))
    assert net.refusal().code == "login-refused"


def test_names_ports_and_repositories_that_are_not_there(net: Net) -> None:
    for url, code in (
        ("ssh://root@no.such.name.invalid/srv/fleet", "remote-name-unknown"),
        ("ssh://root@localhost:1/srv/fleet", "remote-not-listening"),
        (net.server.url("/srv/none"), "repository-missing"),
    ):
        net.remote = evolve(net.remote, url=url)
        assert net.refusal().code == code


def test_an_account_that_may_do_something_else_only_is_no_git_server(net: Net) -> None:
    net.server.config = f"{TAKES_PROTOCOL}ForceCommand echo This account serves mail.\n"
    net.server.configure()
    assert net.refusal().code == "remote-malformed"
    net.server.config = f"{TAKES_PROTOCOL}ForceCommand no-such-command\n"
    net.server.configure()
    assert net.refusal().code == "remote-not-git"


def test_a_server_that_ends_early_is_told(net: Net) -> None:
    """Before the greeting, and in the middle of a command."""
    net.server.config = f"{TAKES_PROTOCOL}ForceCommand kill -9 $PPID\n"
    net.server.configure()
    assert net.refusal().code == "remote-closed-early"
    net.server.config = "NoSuchOption yes\n"
    net.server.configure()
    assert net.refusal().code == "remote-closed-early"


FORGED = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
The fingerprint for the ED25519 key sent by the remote host is
SHA256:EVIL.
Host key verification failed.
"""


@pytest.mark.parametrize("act", ["ask", "fetch"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("fatal: No space left on device\n", "fetch-failed"),
        (FORGED, "fetch-failed"),
        ("Unauthorized access is not permitted\n", "remote-not-git"),
    ],
)
def test_what_a_server_runs_says_nothing_of_this_host(net: Net, act: str, words: str, code: str) -> None:
    """Nothing marks it, but that it comes after the login."""
    revision = net.ask()
    (net.folder / "srv" / "words").write_text(words)
    net.server.config = f"{TAKES_PROTOCOL}ForceCommand cat /srv/words >&2; kill -9 $PPID\n"
    net.server.configure()
    found = net.refusal(net.ask if act == "ask" else lambda: net.fetch(revision))
    assert found.code in {code, "remote-closed-early"}
    assert "The server shows" not in found.detail


@pytest.mark.parametrize("act", ["ask", "fetch"])
@pytest.mark.parametrize("words", ["Unauthorized access is not permitted\n", FORGED])
def test_a_banner_says_nothing_of_this_host(net: Net, act: str, words: str) -> None:
    """It comes after the check of the key, and whatever ends the connection then is not what it says."""
    revision = net.ask()
    net.server.host.write("/etc/ssh/banner", words)
    net.server.config = f"{TAKES_PROTOCOL}Banner /etc/ssh/banner\nForceCommand kill -9 $PPID\n"
    net.server.configure()
    found = net.refusal(net.ask if act == "ask" else lambda: net.fetch(revision))
    assert found.code == "remote-closed-early"
    net.server.host.write("/etc/ssh/test_authorized_keys", "")
    assert net.refusal(net.ask if act == "ask" else lambda: net.fetch(revision)).code == "login-refused"


def test_much_beside_the_list_is_no_long_list(net: Net) -> None:
    net.server.config = f"{TAKES_PROTOCOL}ForceCommand yes | head -c 2000000 >&2; exit 1\n"
    net.server.configure()
    assert net.refusal().code != "remote-list-too-long"


def test_programs_have_the_memory_that_they_need(net: Net) -> None:
    """A question gets far less than a pack."""
    net.fetch(net.ask())
    assert [word for command in net.commands for word in command.argv if word.startswith("--as=")] == [
        f"--as={256 << 20}",
        f"--as={2 << 30}",
    ]


def test_a_missing_ssh_is_named(net: Net) -> None:
    """It is another program that says so."""

    def run(command: Command) -> CommandOutcome:
        return run_program(evolve(command, argv=tuple("no-such-ssh" if w == "ssh" else w for w in command.argv)))

    with Mirror.open(net.folder / "other", run) as net.mirror:
        found = net.refusal()
    assert found.code == "git-not-runnable"
    assert "no-such-ssh" in found.detail


def test_files_that_cannot_be_used_are_told_before_anybody_is_talked_to(net: Net) -> None:
    key = Path(net.remote.key_file)
    key.chmod(0o644)
    found = net.refusal()
    assert (found.code, str(key) in found.detail) == ("source-file-exposed", True)
    key.chmod(0o600)
    net.known_hosts.unlink()
    assert net.refusal().code == "source-file-unreadable"
    net.known_hosts.touch()
    key.unlink()
    assert net.refusal().code == "source-file-unreadable"
    os.mkfifo(key)
    assert net.refusal().code == "source-file-unreadable"
    assert net.server.connections == 0


def test_a_key_that_ssh_itself_refuses_is_told(net: Net) -> None:
    """A group may read a key of another user only: that is how an account of the source gets it."""
    Path(net.remote.key_file).chmod(0o640)
    assert net.refusal().code == "source-file-exposed"


def test_a_key_with_a_passphrase_is_told(net: Net) -> None:
    key = net.folder / "locked"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "passphrase", "-f", str(key)]
    subprocess.run(argv, check=True, capture_output=True)
    net.remote = evolve(net.remote, key_file=str(key))
    assert net.refusal().code in {"login-refused", "source-file-unreadable"}
