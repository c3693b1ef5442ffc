"""Access control lists, extended attributes and capabilities of what a pass changes, also where it is killed or fails.

One Debian, put back to the first revision before each strike.
"""

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.strace import Call, Strace, own_calls
from tests.proofs.enrolled import Enrolled, fleet_and_machine
from tests.proofs.stage import WITHOUT_NAMESPACES

KEPT: Final = "/srv/kept"
CAPABILITY: Final = "security.capability"
ACL: Final = "system.posix_acl_access"
# Of all below that folder: a note, where the host keeps such (on a tmpfs since Linux 6.6), and of files a capability
# (cap_net_bind_service, effective).
DRESS: Final = f"""
import errno, os
from pathlib import Path
for path in Path("{KEPT}").rglob("*"):
    try:
        os.setxattr(path, "user.note", path.name.encode())
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
    if path.is_file():
        os.setxattr(path, "{CAPABILITY}", bytes.fromhex("{struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0).hex()}"))
"""
LISTS: Final = f"""
find {KEPT} -mindepth 1 -exec setfacl -m u:7:rx {{}} +
setfacl -d -m u:7:rwx {KEPT}/directory
"""
SAVE: Final = f"mkdir /mnt/saved && cp -a {KEPT} /var/lib/datum /mnt/saved"
RESTORE: Final = f"rm -rf {KEPT} /var/lib/datum && cp -a /mnt/saved/kept /srv && cp -a /mnt/saved/datum /var/lib"
CHANGES: Final = ("setxattr", "removexattr", "chown", "chmod", "fchmod", "linkat", "renameat", "renameat2", "fsync")
# Kills and errors, each at the n-th of these calls (0: the first, -1: the last) that a pass makes there.
STRIKES: Final = (
    ("setxattr", 0, "KILL"),
    ("setxattr", -1, "KILL"),
    ("chown", -1, "KILL"),
    ("renameat", 1, "KILL"),
    ("setxattr", -2, "ENOSPC"),
    ("fchmod", -1, "EPERM"),
)
FEWEST: Final = 12

Resources = dict[str, dict[str, Any]]
Entry = tuple[int, int, int, bytes, tuple[tuple[str, bytes], ...]]


def resources(text: str, **more: Any) -> Resources:
    """Return what stands below the folder: bytes, one set, a tree; and what changes in attributes alone."""
    is_new = text != "old\n"
    guarded = f"file:{KEPT}/guarded"
    return {
        f"directory:{KEPT}": {},
        f"file:{KEPT}/bytes": {"content": text},
        guarded: {"content": text},
        f"tree:{KEPT}/tree": {"source": "files/tree", "mode": "0750", "directory_mode": "0750"},
        f"file:{KEPT}/mode": {"content": "kept\n", "mode": "0755" if is_new else "0750"},
        f"file:{KEPT}/owner": {"content": "kept\n", "mode": "0750", "owner": 12 if is_new else 0},
        f"directory:{KEPT}/directory": {"mode": "0755" if is_new else "0750"},
        **({"check:set": {"run": ["/bin/sh", "-c", "! [ -e /etc/refuses ]"], "guards": [guarded]}} if is_new else {}),
        **more,
    }


@frozen
class Host:
    """The host, and how everything stands there by the first and by the second revision."""

    enrolled: Enrolled[Oneshot]
    old: dict[str, Entry]
    new: dict[str, Entry]
    points: list[Call]

    @property
    def argv(self) -> list[str]:
        return [*self.enrolled.fleet.argv, "apply"]


def look(machine: Oneshot) -> dict[str, Entry]:
    """Return all that a reader of the host can see of what stands there, names of leftovers included."""
    found = {}
    top = machine.path / KEPT.lstrip("/")
    for path in sorted(top.rglob("*")):
        status = path.lstat()
        extended = tuple((name, os.getxattr(path, name)) for name in sorted(os.listxattr(path)))
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(top))] = (status.st_mode, status.st_uid, status.st_gid, content, extended)
    return found


@pytest.fixture
def host(make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, tmp_path: Path) -> Host:
    enrolled = Enrolled(*fleet_and_machine(make_oneshot, agent_bind, tmp_path))
    fleet, machine = enrolled.fleet, enrolled.machine
    fleet.commit(resources("old\n"), files={"files/tree/a": "old\n", "files/tree/sub/b": "old\n"})
    fleet.datum(machine, "apply")
    machine.run(["sh", "-ec", LISTS])
    machine.run([fleet.argv[0], "-c", DRESS])
    # A list gives the group's bits another meaning, so modes are put right once, by the same revision.
    fleet.datum(machine, "apply")
    machine.run(["sh", "-ec", SAVE])
    old = look(machine)
    fleet.commit(resources("new\n"), files={"files/tree/a": "new\n", "files/tree/sub/b": "new\n"})
    calls = own_calls(Strace(machine, fleet.env).trace([*fleet.argv, "apply"], CHANGES))
    return Host(enrolled, old, look(machine), calls)


def strikes(host: Host) -> Iterator[tuple[str, int, str]]:
    """Yield which call is struck and how: those between the first and the last that touch the folder."""
    numbers = [
        number for number, call in enumerate(host.points) if KEPT in call.arguments or "datum~" in call.arguments
    ]
    among = host.points[numbers[0] : numbers[-1] + 1]
    for name, place, fault in STRIKES:
        of_name = [call for call in among if call.name == name]
        yield name, of_name[place].nth, fault


def test_attributes_are_kept_by_a_pass_and_by_one_that_is_killed_or_fails(host: Host) -> None:
    """Each path is as it was or as wanted, with all its attributes; so it is after the next pass."""
    enrolled, old, new = host.enrolled, host.old, host.new
    machine = enrolled.machine
    assert old.keys() == new.keys()
    noted = {"user.note"} & {name for *_, extended in old.values() for name, _ in extended}
    changed = {path for path in old if old[path] != new[path]}
    assert changed == {"bytes", "guarded", "tree/a", "tree/sub/b", "mode", "owner", "directory"}
    for path in old:
        names = dict(new[path][-1])
        assert {ACL, *noted} <= set(names), path
        assert (CAPABILITY in names) == (path in {"bytes", "guarded", "tree/a", "tree/sub/b", "mode", "owner"}), path
        if path not in {"mode", "directory"}:
            assert dict(old[path][-1]) == names, path
    assert sum(call.name == "setxattr" for call in host.points) >= FEWEST
    enrolled.again()
    wrong: list[str] = []
    for name, nth, fault in strikes(host):
        machine.run(["sh", "-ec", RESTORE])
        assert look(machine) == old
        code = strike(host, name, nth, fault)
        assert code in ({-9, 137} if fault == "KILL" else {1}), (name, nth, fault)
        wrong += judge(host, name, f"{fault} at {name} {nth}", [old, new])
        enrolled.fleet.datum(machine, "apply")
        wrong += judge(host, name, f"{fault} at {name} {nth}, and one more pass", [new])
    see_a_refused_set(host)
    assert not wrong, "\n".join(wrong)


def strike(host: Host, name: str, nth: int, fault: str) -> int:
    """Run a pass that is struck at the n-th call of a name that it makes itself; return how it ended."""
    inject = f"inject={name}:{'signal=KILL' if fault == 'KILL' else f'error={fault}'}:when={nth}"
    options = ["-f", "--seccomp-bpf", "-b", "execve", "-e", f"trace={name}", "-e", inject]
    argv = ["strace", "-qq", "-o", "/dev/null", *options, "--", *host.argv]
    done = host.enrolled.machine.run(argv, env=host.enrolled.fleet.env, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode


def judge(host: Host, name: str, where: str, wanted: Sequence[dict[str, Entry]]) -> Iterator[str]:
    """Say which paths are as in none of these.

    The kernel takes a capability with the owner, and it is put back right after. What is struck there has lost it.
    """
    found = look(host.enrolled.machine)
    # Right after a strike the next bytes may lie beside a path, under a leftover's name.
    left = {path for path in found if path.endswith(".datum~.dpkg-tmp")} if len(wanted) > 1 else set()
    for path in sorted({*found, *host.new} - left):
        states = [states.get(path) for states in wanted]
        if (path, name) == ("owner", "setxattr"):
            states.append(without_capability(host.new[path]))
        if found.get(path) not in states:
            yield f"{where}: {path} is {found.get(path)}"


def without_capability(state: Entry) -> Entry:
    return (*state[:-1], tuple(item for item in state[-1] if item[0] != CAPABILITY))


def see_a_refused_set(host: Host) -> None:
    """Where candidates cannot be shown the old file comes back under its name, with all its attributes."""
    enrolled, machine = host.enrolled, host.enrolled.machine
    machine.run(["sh", "-ec", f"{RESTORE}; touch /etc/refuses"])
    done = machine.run([*WITHOUT_NAMESPACES, *host.argv], env=enrolled.fleet.env, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert look(machine) == {**host.new, "guarded": host.old["guarded"]}
    machine.run(["rm", "/etc/refuses"])
    enrolled.fleet.datum(machine, "apply")
    assert look(machine) == host.new
