"""A fleet repository shown to a test host, and the command as an operator of that host types it: without `--root`."""

import json
import shutil
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.git_repository import GitRepository
from tests.harness.changes import Change, Kind
from tests.harness.machine import Machine
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.proofs.stage import FLEET, HOST

PLACE: Final = "/srv/fleet"
REPORTS: Final = "/var/log/datum/reports"
POINTER: Final = "/var/lib/datum/pointer.json"
LOOPS: Final = "mknod /dev/loop-control c 10 237; for n in $(seq 0 63); do mknod /dev/loop$n b 7 $n; done"
"""Makes the loop devices of a host; the kernel chooses which of them is free."""
_OWN_PATHS: Final = Path(__file__).with_name("own-paths.txt")

Resources = Mapping[str, Mapping[str, Any]]


class FleetOnHost:
    """One repository with the host web1, bound read-only into a test host."""

    def __init__(self, folder: Path, agent: AgentBind) -> None:
        self._repository = GitRepository(folder / "fleet")
        self._agent = agent
        self.bind: Final = Bind(str(folder / "fleet"), PLACE)
        self.argv: Final = agent.argv
        self.env: Final = agent.env

    def commit(
        self,
        resources: Resources,
        *,
        files: Mapping[str, str | bytes] = MappingProxyType({}),
        host: Mapping[str, Any] = MappingProxyType({}),
        fleet: Mapping[str, Any] = MappingProxyType({}),
        amend: bool = False,
    ) -> str:
        """Declare these resources, with files of the repository that they name; return the commit id."""
        if amend:
            self._repository.git("reset", "--quiet", "--hard", "HEAD~1")
        hosts = json.dumps({**host, "resources": resources}, indent=1)
        return self._repository.commit(
            {"fleet.yaml": json.dumps({**FLEET, **fleet}), f"hosts/{HOST}.yaml": hosts, **files}
        )

    def shape(
        self,
        *,
        links: Mapping[str, str] = MappingProxyType({}),
        programs: Mapping[str, str] = MappingProxyType({}),
        gone: Collection[str] = (),
    ) -> None:
        """Make links and programs in the repository, and take files out of it, for the next commit."""
        for name in gone:
            shutil.rmtree(self._repository.path / name, ignore_errors=True)
        for name, text in {**links, **programs}.items():
            path = self._repository.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in links:
                path.symlink_to(text)
            else:
                path.write_text(text)
                path.chmod(0o755)

    def datum(self, machine: Machine, *words: str, code: int | Collection[int] = 0) -> str:
        """Run a command and expect how it ends; return what it said, on stdout and stderr."""
        done = machine.run([*self.argv, *words], env=self.env, check=False)
        said = done.stdout + done.stderr
        expected = {code} if isinstance(code, int) else set(code)
        assert done.returncode in expected, f"{words} ended with {done.returncode}\n{said}"
        assert "Traceback" not in said
        return said

    def enrol(self, machine: Machine) -> None:
        """Enrol the host."""
        self.datum(machine, "init", "--repo", PLACE, "--host", HOST, "--no-timer")


def read_own_paths() -> dict[str, str]:
    """Return the patterns of paths that a pass may change, with the reason of each."""
    lines = [line for line in _OWN_PATHS.read_text().splitlines() if line and not line.startswith("#")]
    return {pattern: reason.strip() for pattern, _, reason in (line.partition(" ") for line in lines)}


def others_changed(machine: Machine, before: Mapping[str, Change], declared: Collection[str]) -> dict[str, Kind]:
    """Return what changed on the whole disk since `before` and is neither declared nor datum's own."""
    now = machine.changes()
    changed = {path for path in {*before, *now} if before.get(path) != now.get(path)}
    own = read_own_paths()
    kinds = {path: now[path].kind if path in now else Kind.DELETED for path in sorted(changed - set(declared))}
    # A folder in which a declared file came and went.
    above = {str(Path(path).parent) for path in declared}
    return {
        path: kind
        for path, kind in kinds.items()
        if not any(fnmatchcase(path, pattern) for pattern in own) and not (path in above and kind is Kind.TOUCHED)
    }


def disk(machine: Machine, *, but: Collection[str] = ()) -> dict[str, tuple[Change, int]]:
    """Return the whole disk's difference with times, to be compared with a later one."""
    return {
        path: (change, change.entry.modified if change.entry else 0)
        for path, change in machine.changes().items()
        if path not in but
    }


def reports(machine: Machine) -> list[dict[str, Any]]:
    """Return the reports on the host, oldest first: by their times, since the names of one second differ by a pid."""
    by_time = f"cd {REPORTS} && ls -tr | grep json$ | xargs -r cat | tr -d '\\n'"
    listed = machine.run(["sh", "-c", by_time], check=False).stdout
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(listed):
        value, place = decoder.raw_decode(listed, place)
        found.append(value)
    return found
