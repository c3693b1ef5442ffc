"""A disk that fills while a revision comes over https: told as such, and healed when there is room again."""

from collections.abc import Callable
from pathlib import Path

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind

TESTS = Path(__file__).parents[1]
# Runs in the host: server and mirror on one disk, which is full while the second revision is fetched.
SCRIPT = """
import os
from pathlib import Path
from datum.errors import StateError
from datum.host.program import run_program
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote
from tests.git_repository import GitRepository
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer

base = Path("/srv")
repository = GitRepository(base / "srv/fleet")
repository.commit({"a": "b"})
authority = Authority(base / "authority")
with HttpsServer(base / "srv", authority.issue("localhost")) as server:
    remote = Remote(server.url(), ca_file=str(authority.path))
    with Mirror.open(base / "state", run_program) as mirror:
        def take():
            revision = mirror.ask(remote, "main", timeout=60)
            mirror.fetch(remote, "main", revision, timeout=60, byte_limit=1 << 30)
            mirror.promote(revision)
            return revision
        first = take()
        repository.commit({"large": os.urandom(4 << 20)})
        ballast = base / "ballast"
        with ballast.open("wb", buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(1 << 16))
            except OSError:
                stream.truncate(stream.tell() - (1 << 20))
        try:
            take()
        except StateError as error:
            print(error.diagnostics[0].code)
        print(mirror.is_sound([first]), (base / "state/quarantine").exists())
        ballast.unlink()
        print(len(mirror.tree(take()).read("large")))
"""


def test_a_disk_that_fills_during_a_fetch_heals(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind) -> None:
    """The mirror stays as it was, nothing half-written is left, and the next try brings all of it."""
    host = make_oneshot(size="96m", binds=(Bind(str(TESTS), "/opt/agent/more/tests"),))
    env = {**agent_bind.env, "PYTHONPATH": f"{agent_bind.env['PYTHONPATH']}:/opt/agent/more"}
    done = host.run(["/usr/bin/python3", "-c", SCRIPT], env=env, timeout=180)
    assert done.stdout.splitlines() == ["state-not-writable", "True False", str(4 << 20)]
