"""A file system that answers nobody any more: what hangs there in the kernel keeps no later pass from beginning."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.timer_host import SERVICE, TimerHost, make_host
from tests.proofs.on_host import FleetOnHost

# Takes the place of ssh: no network takes part.
SERVER: Final = "#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n"


@pytest.fixture
def host(make_trixie_booted: Callable[..., Booted], tmp_path: Path, trixie_agent: AgentBind) -> TimerHost:
    fleet = FleetOnHost(tmp_path, trixie_agent)
    fleet.commit({"directory:/srv": {}})
    return make_host(make_trixie_booted(binds=(fleet.bind,)), fleet, trixie_agent)


def test_a_reader_that_nothing_ends_does_not_keep_the_service_from_ending(host: TimerHost) -> None:
    """What has taken a request and does not answer it leaves who asked in the kernel, SIGKILL or not."""
    host.machine.write("/srv/ssh", SERVER, mode=0o755)
    host.sh("mkdir -p /srv/there /srv/here; echo text > /srv/there/file")
    host.sh("mknod /dev/fuse c 10 229")
    host.machine.run(["sshfs", "-o", "ssh_command=/srv/ssh", "nobody:/srv/there", "/srv/here"])
    assert host.sh("cat /srv/here/file") == "text"
    host.sh("pkill -STOP sftp-server")
    host.begin({"file:/srv/here/other": {"content": "ours\n"}, "file:/srv/made": {"content": ""}})
    host.await_true("ls /srv/made")
    host.await_end()
    assert host.newest()["outcome"] == "incomplete"
    hanging = host.sh("ps -e -o stat=,unit= | grep '^D'")
    print(hanging)
    assert "datum-given-up" in hanging
    assert host.show(SERVICE, "ActiveState") == "failed"
    host.sh("pkill -CONT sftp-server")
    host.await_true("! systemctl list-units --plain --no-legend 'datum-given-up-*' | grep -q .")
    host.machine.run(["systemctl", "start", SERVICE])
    assert host.newest()["outcome"] == "converged"
