"""A fleet repository, a throw-away root, and the command line between them."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from datum.cli.main import main
from tests.git_repository import GitRepository
from tests.passes.caller import Caller

FLEET_ID: Final = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
OTHER_FLEET_ID: Final = "1d1f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a12"
HOST: Final = "web1"
NOBODY: Final = 65534
STATE: Final = "var/lib/datum"
REPORTS: Final = "var/log/datum/reports"
# What a pass may write whatever it comes to: its own caches and its report (design 1.5). The pointer is not among them.
HOUSEKEEPING: Final = (STATE, "var/log")
DROP_IN: Final = "/etc/app.d"

Resources = Mapping[str, Mapping[str, Any]]
Tree = dict[str, tuple[object, ...]]


@frozen
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The result on stdout."""
        return json.loads(self.out)


class _OpenRepository(GitRepository):
    """A clone that git works on whoever it belongs to."""

    def git(self, *argv: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> str:
        """Run git there and return what it printed, stripped."""
        return super().git("-c", "safe.directory=*", *argv, stdin=stdin, environment=environment)


class Scene:
    """One fleet with the host web1, and that host's root. Commands run in this process unless it says otherwise."""

    def __init__(self, folder: Path, *, uid: int | None = None) -> None:
        """Make both below a folder; everything belongs to `uid`, by default the caller."""
        self.folder = folder
        self.caller = Caller(os.geteuid() if uid is None else uid)
        self.root = folder / "root"
        self.repository = _OpenRepository(folder / "fleet")
        for name in ("etc/app.d", "etc/other.d", "srv"):
            (self.root / name).mkdir(parents=True)
        self.give()

    def give(self) -> None:
        """Make everything that was put there by the test the caller's."""
        if not self.caller.is_self:
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, self.caller.uid, self.caller.uid, follow_symlinks=False)

    @property
    def url(self) -> str:
        """Where the repository is."""
        return str(self.repository.path)

    def commit(self, resources: Resources, *, host: Mapping[str, Any] | None = None, **fleet: Any) -> str:
        """Declare these resources for web1 and return the commit id; JSON is YAML."""
        head = {"datum": 1, "agent": ">=0.1", "fleet": FLEET_ID, "layers": [], **fleet}
        files = {
            "fleet.yaml": json.dumps(head, indent=1),
            f"hosts/{HOST}.yaml": json.dumps({**(host or {}), "resources": resources}, indent=1),
        }
        return self.commit_files(files)

    def commit_files(self, files: Mapping[str, str | bytes]) -> str:
        """Write files, commit, and return the commit id."""
        head = self.repository.commit(files)
        self.give()
        return head

    def init(self, *options: str) -> Ran:
        """Enrol the host."""
        return self.run("init", "--repo", self.url, "--host", HOST, "--no-timer", *options)

    def run(self, *arguments: str) -> Ran:
        """Run one command below the root, in this process."""
        if not self.caller.is_self:
            return self.spawn(*arguments)
        return run(arguments[0], "--root", str(self.root), *arguments[1:])

    def spawn(self, *arguments: str, timeout: float = 60) -> Ran:
        """Run one command below the root, in a process of its own."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=timeout)
        return Ran(process.returncode, out, err)

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        """Start one command below the root, in a process and session of its own."""
        return subprocess.Popen(
            self.command(arguments[0], "--root", str(self.root), *arguments[1:]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd="/",
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.folder), **(env or {})},
        )

    def command(self, *arguments: str) -> list[str]:
        """Return what runs datum as the caller."""
        return self.caller.command([*argv(), *arguments], self.folder)

    def apply(self, *options: str, code: int = 0) -> Ran:
        """Run a pass and expect how it ends."""
        ran = self.run("apply", *options)
        assert ran.code == code, ran
        return ran

    def enrolled(self, resources: Resources, **fleet: Any) -> str:
        """Declare, enrol, and run the first pass."""
        head = self.commit(resources, **fleet)
        assert self.init().code == 0
        self.apply()
        return head

    def at(self, path: str) -> Path:
        """Return where an absolute path of the host is."""
        return self.root / path.lstrip("/")

    def read(self, path: str) -> str | None:
        """Return the text of a file of the host; None where nothing is."""
        try:
            return self.at(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write(self, path: str, text: str) -> None:
        """Write a file of the host by hand."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        self.give()

    @property
    def pointer_path(self) -> Path:
        """The pointer."""
        return self.root / STATE / "pointer.json"

    @property
    def pointer(self) -> Any:
        """What the pointer says, revisions as bare commit ids."""
        return json.loads(self.pointer_path.read_text(encoding="utf-8").replace("sha1:", ""))

    @property
    def trail(self) -> list[str]:
        """The revisions of the trail."""
        return [entry["revision"] for entry in self.pointer["trail"]]

    @property
    def report(self) -> Any:
        """The newest report."""
        ran = self.run("report", "--json")
        assert ran.code == 0, ran
        return ran.json

    def outcomes(self) -> dict[str, str]:
        """Return what became of each resource that the newest report names."""
        return {entry["id"]: entry["outcome"] for entry in self.report["resources"]}

    def host(self) -> Tree:
        """Return everything below the root but what a pass may always write."""
        return snapshot(self.root, HOUSEKEEPING)

    def everything(self) -> Tree:
        """Return everything below the root."""
        return snapshot(self.root)


def argv() -> list[str]:
    """Return the installed command, without an interpreter's search path of its own."""
    return [sys.executable, "-m", "datum"]


def run(*arguments: str) -> Ran:
    """Run one command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    assert "Traceback" not in err.getvalue()
    return Ran(code, out.getvalue(), err.getvalue())


def snapshot(folder: Path, without: Sequence[str] = ()) -> Tree:
    """Return what stands at every path below a folder: kind, rights, owner, inode, times, bytes.

    A directory above what is left out is compared without its own times.
    """
    found: Tree = {}
    above = {str(parent) for name in without for parent in Path(name).parents}
    for place, folders, files in os.walk(folder):
        base = os.path.relpath(place, folder)
        folders[:] = [name for name in folders if os.path.normpath(f"{base}/{name}") not in without]
        for name in [".", *files, *(name for name in folders if Path(place, name).is_symlink())]:
            relative = os.path.normpath(f"{base}/{name}")
            found[relative] = _look(f"{place}/{name}", is_timeless=relative in above)
    return found


def _look(path: str, *, is_timeless: bool) -> tuple[object, ...]:
    status = os.lstat(path)
    fixed = (status.st_mode, status.st_uid, status.st_gid, status.st_ino)
    if is_timeless:
        return fixed
    return (*fixed, status.st_nlink, status.st_size, status.st_mtime_ns, status.st_ctime_ns, _content(path, status))


def _content(path: str, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return str(Path(path).readlink())
    if stat.S_ISREG(status.st_mode):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return ""


def kill(process: "subprocess.Popen[str]", number: int = signal.SIGKILL) -> None:
    """Signal a command that was started here, and everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def clear_state(scene: Scene) -> None:
    """Delete all that a pass may not depend on, and corrupt every report (design 1.5)."""
    for entry in (scene.root / STATE).iterdir():
        # Revisions, and what a person set.
        if entry.name in {"pointer.json", "pause.yaml"}:
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    reports = scene.root / REPORTS
    for number, path in enumerate(sorted(reports.iterdir()) if reports.exists() else []):
        path.write_bytes([b"", b"{", b'{"outcome": "failed"}', b"\xff\x00" * 100][number % 4])


def install(scene: Scene, program: str) -> None:
    """Copy a program of this machine, and what it is linked to, into the root."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for source in (program, *sorted({word for word in listed.split() if word.startswith("/")})):
        copy = scene.at(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
