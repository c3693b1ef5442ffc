"""Keys of ssh that enrolling needs (ADR 0048)."""

import os
from pathlib import Path

import pytest

from datum.agent.keys import fingerprint, make_key, scan, scan_command
from datum.errors import StateError
from datum.host.program import run_program
from datum.model.result import FailureCause
from datum.provider.host import Command, CommandOutcome, HostError

URL = "ssh://git@git.example.org:2222/fleet"
LINE = b"[git.example.org]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"


def test_a_key_is_made_once(tmp_path: Path) -> None:
    """0600, with its public half beside it; asked for again it is the same, and no part of it is left over."""
    path = tmp_path / "datum" / "ssh_key"
    made = make_key(path, run_program, comment="datum@web1", group=None)
    assert (made.is_new, made.public.split()[0], made.public.split()[2]) == (True, "ssh-ed25519", "datum@web1")
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["ssh_key", "ssh_key.pub"]
    before = path.read_bytes()
    again = make_key(path, run_program, comment="other", group=None)
    assert (again.is_new, again.public, path.read_bytes()) == (False, made.public, before)


def test_the_group_of_the_account_may_read_a_key(tmp_path: Path) -> None:
    path = tmp_path / "ssh_key"
    make_key(path, run_program, comment="", group=os.getegid())
    assert (path.stat().st_mode & 0o777, path.stat().st_gid) == (0o640, os.getegid())


def test_what_a_killed_making_left_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "ssh_key"
    (tmp_path / ".ssh_key.part").write_text("half")
    (tmp_path / ".ssh_key.part.pub").write_text("half")
    (tmp_path / "ssh_key.pub").write_text("of a key that is not there")
    made = make_key(path, run_program, comment="", group=None)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ssh_key", "ssh_key.pub"]
    assert made.public in (tmp_path / "ssh_key.pub").read_text()


@pytest.mark.parametrize("kind", ["text", "folder"])
def test_what_is_no_key_stays_and_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ssh_key"
    path.mkdir() if kind == "folder" else path.write_text("no key")
    path.chmod(0o700 if kind == "folder" else 0o600)
    with pytest.raises(StateError) as caught:
        make_key(path, run_program, comment="", group=None)
    assert caught.value.diagnostics[0].code == "key-not-made"
    assert path.exists()


def test_a_host_without_ssh_keygen_says_so(tmp_path: Path) -> None:
    def run(command: Command) -> CommandOutcome:
        raise HostError(f"'{command.argv[0]}' is not installed.", failure=FailureCause.IMPOSSIBLE)

    with pytest.raises(StateError) as caught:
        make_key(tmp_path / "ssh_key", run, comment="", group=None)
    (found,) = caught.value.diagnostics
    assert (found.code, "ssh-keygen" in found.detail, "openssh-client" in found.hint) == ("key-not-made", True, True)


def test_a_fingerprint_is_that_of_ssh_keygen(tmp_path: Path) -> None:
    path = tmp_path / "ssh_key"
    make_key(path, run_program, comment="", group=None)
    assert fingerprint(path, run_program).startswith("SHA256:")
    assert fingerprint(tmp_path / "none", run_program) == ""


def test_the_keys_of_a_server_are_what_it_says_with_their_fingerprints() -> None:
    """Comments of ssh-keyscan are no keys."""
    asked: list[tuple[str, ...]] = []

    def run(command: Command) -> CommandOutcome:
        asked.append(command.argv)
        if "ssh-keyscan" in command.argv:
            return CommandOutcome(0, b"# git.example.org:2222 SSH-2.0-x\n" + LINE, b"")
        return run_program(command)

    found = scan(URL, run)
    assert found.lines == LINE
    assert [line.split()[1:] for line in found.fingerprints] == [
        ["SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU", "[git.example.org]:2222", "(ED25519)"]
    ]
    assert asked[0][-3:] == ("-p", "2222", "git.example.org")


def scanned(said: bytes, url: str = URL) -> CommandOutcome:
    """Return what is pinned, and shown, where ssh-keyscan says this."""

    def run(command: Command) -> CommandOutcome:
        return CommandOutcome(0, said, b"") if "ssh-keyscan" in command.argv else run_program(command)

    found = scan(url, run)
    return CommandOutcome(len(found.fingerprints), found.lines, b"")


@pytest.mark.parametrize(
    "more",
    [
        b"@cert-authority * " + LINE.partition(b" ")[2],
        b"@revoked " + LINE,
        b"* " + LINE.partition(b" ")[2],
        b"[git.example.org]:2222,* " + LINE.partition(b" ")[2],
        b"other.example.org " + LINE.partition(b" ")[2],
        b"git.example.org " + LINE.partition(b" ")[2],
        b" " + LINE,
        b"\t* " + LINE.partition(b" ")[2],
        LINE.replace(b" ssh", b",* ssh"),
        LINE.strip() + b" comment\n",
        LINE.strip() + b"\r\n",
        b"[git.example.org]:2222 ssh-ed25519 " + b"A" * 68 + b"\n",
        b"[git.example.org]:2222 2048 65537 1234567890\n",
        LINE,
    ],
)
def test_what_is_no_key_of_that_server_or_has_no_fingerprint_is_not_pinned(more: bytes) -> None:
    """ssh-keygen shows nothing for a line of `@cert-authority`, and ends well."""
    assert scanned(more + LINE) == scanned(LINE + more) == CommandOutcome(1, LINE, b"")


def test_the_server_at_the_usual_port_stands_by_its_bare_name() -> None:
    bare = b"h " + LINE.partition(b" ")[2]
    assert scanned(LINE + bare, "ssh://git@h/f").stdout == bare


def test_lines_that_show_nothing_alone_are_no_keys() -> None:
    with pytest.raises(StateError) as caught:
        scanned(b"@cert-authority * " + LINE.partition(b" ")[2])
    assert caught.value.diagnostics[0].code == "server-keys-unknown"


def test_what_asks_a_server_can_gain_no_rights() -> None:
    asked: list[tuple[str, ...]] = []

    def run(command: Command) -> CommandOutcome:
        asked.append(command.argv)
        return CommandOutcome(0, b"", b"")

    with pytest.raises(StateError):
        scan(URL, run)
    assert [argv[:3] for argv in asked] == [("setpriv", "--no-new-privs", "ssh-keyscan")]


@pytest.mark.parametrize("outcome", [CommandOutcome(1, b"", b"Connection refused\n"), CommandOutcome(0, b"# x\n", b"")])
def test_a_server_that_gives_no_keys_is_told(outcome: CommandOutcome) -> None:
    with pytest.raises(StateError) as caught:
        scan(URL, lambda _: outcome)
    assert caught.value.diagnostics[0].code == "server-keys-unknown"


def test_the_command_that_shows_them_is_complete() -> None:
    assert scan_command(URL) == "ssh-keyscan -p 2222 git.example.org > /etc/datum/known_hosts"
    assert scan_command("ssh://git@h/f") == "ssh-keyscan -p 22 h > /etc/datum/known_hosts"
