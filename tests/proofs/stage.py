"""A prepared host on which one pass does everything that a pass can do, and what it was before and is after.

The host enforces a first revision; the source has a second one. The pass between them fetches, writes the pointer,
creates, updates, replaces and removes files, changes attributes alone, checks candidates and removes a leftover.
"""

import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.git_repository import GitRepository
from tests.passes.scene import Ran, argv, run

HOST: Final = "web1"
STATE: Final = "var/lib/datum"
REPORTS: Final = "var/log/datum/reports"
OWN: Final = (STATE, "var/log/datum", "etc/datum")
FLEET: Final = {"datum": 1, "agent": ">=0.1", "fleet": "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11", "layers": []}
_LEFTOVER: Final = "etc/cron.d/.swept.datum.dpkg-tmp"
_CHECK: Final = "/bin/true"


@frozen
class State:
    """What stands at a path, by all that a reader of the host can see."""

    kind: int
    mode: int
    uid: int
    gid: int
    # Bytes of a file, target of a link.
    content: bytes

    @classmethod
    def read(cls, path: Path) -> "State | None":
        """Read the entry itself; None where nothing stands."""
        try:
            status = path.lstat()
        except FileNotFoundError:
            return None
        content = b""
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = os.fsencode(path.readlink())
        return cls(stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, content)


@frozen
class Stage:
    """The prepared host, to be copied for each strike, and what a clean pass makes of it."""

    folder: Path
    # Of each managed path.
    old: Mapping[str, State | None]
    new: Mapping[str, State | None]
    # Paths of everything else that is there before and after, and of what the clean pass leaves of its own.
    others: frozenset[str]
    own: frozenset[str]

    @property
    def root(self) -> Path:
        """The prepared root; never run on, only copied."""
        return self.folder / "root"

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """Give a copy of the prepared root, which ends with the block."""
        place = Path(tempfile.mkdtemp(prefix="strike-", dir=self.folder))
        try:
            root = place / "root"
            copy_tree(self.root, root)
            yield root
        finally:
            shutil.rmtree(place, ignore_errors=True)


def first_resources(*, as_root: bool) -> dict[str, dict[str, Any]]:
    """What the first revision declares."""
    owned = {"owner": 0, "group": 0} if as_root else {}
    return {
        "file:/etc/updated": {"content": "old bytes\n" * 2, "mode": "0644"},
        "file:/etc/sudoers.d/updated": {"content": "old rule\n", "mode": "0440"},
        "file:/etc/attributes": {"content": "kept\n", "mode": "0644", **owned},
        "file:/etc/mode-only": {"content": "kept\n", "mode": "0600"},
        "file:/etc/both": {"content": "old\n", "mode": "0600", **owned},
        "file:/etc/checked": {"content": "old\n", "validate": [_CHECK, "{path}"]},
        "file:/etc/cron.d/swept": {"content": "kept\n"},
        "file:/etc/profile.d/removed.sh": {"content": "old\n"},
        "file:/etc/logrotate.d/removed": {"content": "old\n"},
        "file:/etc/replaced": {"content": "kept\n"},
        "file:/etc/same": {"content": "kept\n"},
    }


def second_resources(*, as_root: bool) -> dict[str, dict[str, Any]]:
    """What the second revision declares."""
    other = {"owner": 12, "group": 13} if as_root else {}
    return {
        "file:/etc/updated": {"content": "new bytes\n" * 3, "mode": "0644"},
        "file:/etc/sudoers.d/updated": {"content": "new rule\n", "mode": "0440", "allow": ["access_loss"]},
        "file:/etc/attributes": {"content": "kept\n", "mode": "4755" if as_root else "0755", **other},
        "file:/etc/mode-only": {"content": "kept\n", "mode": "0640"},
        "file:/etc/both": {"content": "new\n", "mode": "0644", **other},
        "file:/etc/checked": {"content": "new\n", "validate": [_CHECK, "{path}"]},
        "file:/etc/checked-new": {"content": "new\n", "validate": [_CHECK, "{path}"]},
        "file:/etc/cron.d/swept": {"content": "kept\n"},
        "file:/etc/cron.d/created": {"content": "new\n", "mode": "0600"},
        "file:/etc/replaced": {"content": "kept\n", "allow": ["data_loss"]},
        "file:/etc/same": {"content": "kept\n"},
        "file:/etc/systemd/created.service": {"source": "files/unit"},
    }


def prepare(folder: Path) -> Stage:
    """Make a prepared host below an empty folder."""
    as_root = os.geteuid() == 0
    root = folder / "root"
    for name in ("cron.d", "sudoers.d", "profile.d", "logrotate.d", "systemd"):
        (root / "etc" / name).mkdir(parents=True)
    install(root, _CHECK)
    first = first_resources(as_root=as_root)
    for resource in first.values():
        resource.setdefault("mode", "0644")
    first["file:/etc/sudoers.d/updated"]["allow"] = ["access_loss"]
    repository = GitRepository(folder / "fleet")
    _commit(repository, first)
    expect(run("init", "--repo", str(repository.path), "--host", HOST, "--no-timer", "--root", str(root)))
    expect(run("apply", "--root", str(root)))
    (root / "etc/replaced").unlink()
    (root / "etc/replaced").symlink_to("same")
    (root / _LEFTOVER).write_text("half of someth")
    second = second_resources(as_root=as_root)
    _commit(repository, second)
    managed = sorted({name.removeprefix("file:/") for name in (*first, *second)})
    old = {path: State.read(root / path) for path in managed}
    clean = folder / "clean"
    copy_tree(root, clean)
    expect(run("apply", "--root", str(clean)))
    new = {path: State.read(clean / path) for path in managed}
    everything = paths(root) - set(managed) - {_LEFTOVER}
    others = frozenset(path for path in everything if not is_own(path))
    own = frozenset(path for path in paths(clean) if is_own(path))
    shutil.rmtree(clean)
    return Stage(folder, old, new, others, own)


def is_own(path: str) -> bool:
    """Whether a path below the root is datum's own."""
    return any(path == name or path.startswith(f"{name}/") for name in OWN)


def paths(root: Path) -> set[str]:
    """Return all that is no directory below a root, relative to it."""
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree with owners, modes, links and times."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def expect(ran: Ran, code: int = 0) -> Ran:
    """Return what ran, if it ended as expected."""
    assert ran.code == code, ran
    return ran


def command(root: Path, *words: str) -> list[str]:
    """Return the installed command, below a root."""
    return [*argv(), *words, "--root", str(root)]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of commands under test: temporary files of their own, and the same calls in every run."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "TMPDIR": str(folder)}


@contextmanager
def fast_folder() -> Iterator[Path]:
    """Give a folder in memory where there is one: a sync then costs nothing, and every strike makes dozens."""
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="datum-proof-", dir=where))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _commit(repository: GitRepository, resources: Mapping[str, Mapping[str, Any]]) -> None:
    repository.commit(
        {
            "fleet.yaml": json.dumps(FLEET, indent=1),
            f"hosts/{HOST}.yaml": json.dumps({"resources": resources}, indent=1),
            "files/unit": "[Service]\nExecStart=/bin/true\n",
        }
    )


def install(root: Path, program: str, target: str = "") -> None:
    """Copy a program of this machine, and what it is linked to, into a root, under another name if one is given."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    libraries = sorted({word for word in listed.split() if word.startswith("/")})
    for source, place in [(program, target or program), *((word, word) for word in libraries)]:
        copy = root / place.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
