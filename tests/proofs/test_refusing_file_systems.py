"""File systems that know no owners, or will not be told by root: a server that squashes root, a mount of one user.

Programs stand for the servers (FUSE), in a Debian 13. What has no owners at all (vfat) a kernel may lack: for
that the table of mounts is recorded (`tests/unit/host/test_mounts.py`).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.enrolled import Enrolled, fleet_and_machine
from tests.proofs.on_host import reports

NOBODY: Final = 65534
# /srv/squashed: as of a server that takes root for nobody. Everybody may make names there, and `theirs` is nobody's.
# /srv/private: mounted by a user for that user alone; the kernel does not let even root look at it.
# /srv/frozen: a server that refuses owners and modes alike.
MOUNTS: Final = f"""
mknod -m 666 /dev/fuse c 10 229
cd /srv; mkdir -p data/theirs squashed raw private same frozen
chown {NOBODY}:{NOBODY} data/theirs; chown {NOBODY} raw private; chmod 1777 data
bindfs --create-for-user={NOBODY} --create-for-group={NOBODY} --chown-deny --chgrp-deny data squashed
setpriv --reuid {NOBODY} --clear-groups bindfs --no-allow-other /srv/raw /srv/private
bindfs --chown-deny --chgrp-deny --chmod-deny same frozen
"""
TREE: Final = {"files/t/a": "a\n", "files/t/sub/b": "b\n"}
GIVEN: Final = {"owner": NOBODY, "group": NOBODY}
BELOW: Final = "/srv/squashed/theirs"
DROPPED: Final = "file:/etc/sysctl.d/dropped.conf"
# What the server lets a user have who is known to it.
DONE: Final[dict[str, dict[str, Any]]] = {
    f"file:{BELOW}/file": {"content": "x\n", "mode": "0600", **GIVEN},
    f"directory:{BELOW}/directory": {"mode": "0700", **GIVEN},
    f"link:{BELOW}/link": {"target": "file", **GIVEN},
    f"tree:{BELOW}/tree": {"source": "files/t", **GIVEN},
    "file:/srv/squashed/of-nobody": {"content": "x\n", **GIVEN},
    "file:/etc/elsewhere": {"content": "x\n"},
}
REFUSED: Final[dict[str, dict[str, Any]]] = {
    "file:/srv/squashed/of-root": {"content": "x\n"},
    "directory:/srv/squashed/directory": GIVEN,
    "link:/srv/squashed/link": {"target": "x", **GIVEN},
    "tree:/srv/squashed/tree": {"source": "files/t", **GIVEN},
    f"file:{BELOW}/of-another": {"content": "x\n", "owner": NOBODY, "group": 12},
    "file:/srv/frozen/file": {"content": "x\n"},
    "directory:/srv/frozen/directory": {"mode": "0700"},
    "link:/srv/frozen/link": {"target": "x", "owner": 12},
    "tree:/srv/frozen/tree": {"source": "files/t"},
}
UNSEEN: Final = {"file:/srv/private/x": {"content": "x\n"}, "directory:/srv/private/d": {}}


@pytest.fixture
def host(make_trixie_oneshot: Callable[..., Oneshot], trixie_agent: AgentBind, tmp_path: Path) -> Enrolled[Oneshot]:
    found = Enrolled(*fleet_and_machine(make_trixie_oneshot, trixie_agent, tmp_path))
    found.machine.run(["sh", "-ec", MOUNTS])
    assert found.sh("grep -c ' fuse' /proc/mounts") == "3"
    assert found.sh("ls /srv/private 2>&1").endswith("Permission denied")
    return found


def test_what_a_server_refuses_fails_its_own_resource_and_all_else_stands_after_one_pass(
    host: Enrolled[Oneshot],
) -> None:
    """What not even root may look at is unobservable, as one resource: only removals wait for it."""
    host.become({DROPPED: {"content": "old\n"}})
    host.fleet.commit({**DONE, **REFUSED, **UNSEEN}, files=TREE)
    for outcome in ("applied", "in_sync"):
        host.fleet.datum(host.machine, "apply", code=1)
        found = {entry["id"]: entry for entry in reports(host.machine)[-1]["resources"]}
        outcomes = {name: entry["outcome"] for name, entry in found.items()}
        assert {name: outcomes.get(name, "in_sync") for name in DONE} == dict.fromkeys(DONE, outcome)
        assert {name: outcomes[name] for name in REFUSED} == dict.fromkeys(REFUSED, "failed")
        assert (outcomes[DROPPED], found[DROPPED]["hold"]["reason"]) == ("held", "unobservable")
        assert {name: outcomes[name] for name in UNSEEN} == dict.fromkeys(UNSEEN, "unobservable")
        for name in UNSEEN:
            assert found[name]["detail"] == "Cannot look at '/srv/private': Permission denied."
        for name in REFUSED:
            said = json.dumps(found[name])
            assert "Operation not permitted" in said or f"belongs to uid {NOBODY}" in said, said
            assert "frozen" in name or "belong to a user that it knows" in said, said
        assert host.sh("cd /srv; find data same raw -name '.*'; ls same raw") == "raw:\n\nsame:"
        assert host.sh("ls /srv/data") == "of-nobody\ntheirs"
    assert host.sh(f"cd {BELOW}; stat -c '%n %u %g %a' file directory tree/sub/b; readlink link") == (
        f"file {NOBODY} {NOBODY} 600\ndirectory {NOBODY} {NOBODY} 700\ntree/sub/b {NOBODY} {NOBODY} 644\nfile"
    )
    host.sh("umount /srv/private; chown 0 /srv/private")
    host.fleet.datum(host.machine, "apply", code=1)
    assert host.sh("cat /srv/private/x; ls /etc/sysctl.d/dropped.conf") == "x"
