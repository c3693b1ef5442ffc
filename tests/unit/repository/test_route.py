"""What programs that talk to servers are started with, and that the kernel holds them to it."""

import subprocess
from pathlib import Path

import pytest

from datum.provider.host import Command, CommandOutcome
from datum.repository import ssh
from datum.repository.https import https_route
from datum.repository.remote import Remote
from datum.repository.route import Download, bounded, confined
from datum.repository.transport import fetch_commit, repack

HTTPS = Remote("https://localhost/fleet")
SSH = Remote("ssh://git@localhost/fleet", key_file="/dev/null", known_hosts_file="/dev/null")
FILE = Remote("/srv/fleet")


@pytest.mark.parametrize("start", [bounded(FILE, 1 << 30), bounded(HTTPS, 1 << 30), confined(1 << 30)])
def test_no_core_is_written_of_what_knows_a_secret(start: tuple[str, ...]) -> None:
    """Neither limit can be raised again by what is started so."""
    done = subprocess.run([*start, "sh", "-c", "ulimit -Sc; ulimit -Hc"], check=True, capture_output=True, timeout=60)
    assert done.stdout.split() == [b"0", b"0"]


def test_whatever_talks_to_a_server_is_started_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "check_key", lambda *_: None)
    monkeypatch.setattr(ssh, "check_readable", lambda *_: None)
    commands: list[Command] = []

    def run(command: Command) -> CommandOutcome:
        commands.append(command)
        (tmp_path / "refs/incoming").mkdir(parents=True, exist_ok=True)
        (tmp_path / "refs/incoming/commit").touch()
        return CommandOutcome(0, b"", b"")

    for remote in (HTTPS, SSH):
        fetch_commit(run, tmp_path, Download(remote, "main", "a" * 40, 5.0, 1000))
    repack(run, tmp_path, timeout=5.0)
    started = [one.argv for one in commands]
    started += [https_route(HTTPS, None).ask, ssh.ssh_route(SSH, None).ask]
    assert len(started) == 5
    for argv in started:
        assert argv[0] == "setpriv"
        assert "--core=0" in argv[argv.index("prlimit") : argv.index("--", argv.index("prlimit"))], argv
