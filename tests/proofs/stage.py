"""A prepared host, enforced at a first revision, whose source has a second one; what it is before and after the pass.

What the revisions declare is a scenario's matter (see `scenarios`).
"""

import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import evolve, field, frozen

from tests.git_repository import GitRepository
from tests.passes.scene import Ran, argv, run
from tests.proofs import accounts, dpkg_files, layers

HOST: Final = "web1"
STATE: Final = "var/lib/datum"
REPORTS: Final = "var/log/datum/reports"
OWN: Final = (STATE, "var/log/datum", "etc/datum")
FLEET: Final = {"datum": 1, "agent": ">=0.1", "fleet": "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11", "layers": []}
# What a fleet says beside that lets a pass change and remove whatever it takes.
UNLIMITED: Final = {"limits": dict.fromkeys(("removals", "replaces", "changed"), "none")}
SHELL: Final = "/bin/sh"
# Stands in the script of a check that judges the set.
JUDGES: Final = "judges-the-set"
# While this file is there, a check that refuses does not.
ACCEPTS: Final = "etc/accepts"
_BYTECODE: Final = "PYTHONPYCACHEPREFIX"
# How a program is kept from namespaces of its own, as in most containers.
WITHOUT_NAMESPACES: Final = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--")


@frozen
class State:
    """What stands at a path, by all that a reader of the host can see."""

    kind: int
    mode: int
    uid: int
    gid: int
    # Bytes of a file, target of a link.
    content: bytes
    # Extended attributes that writes keep.
    kept: tuple[tuple[str, bytes], ...] = ()

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
        kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
        names = os.listxattr(path) if kind == stat.S_IFREG else []
        kept = tuple((name, os.getxattr(path, name)) for name in sorted(names) if name.startswith("user."))
        return cls(kind, mode, status.st_uid, status.st_gid, content, kept)

    @classmethod
    def read_all(cls, root: Path) -> "dict[str, State]":
        """Read every entry below a root that is none of datum's own, by its path relative to the root.

        Of a layer over the image, only what is not as the image has it.
        """
        if layers.is_layered(root):
            return cls._read_layer(root)
        below = (str(path.relative_to(root)) for path in root.rglob("*"))
        states = {path: cls.read(root / path) for path in below if not is_own(path)}
        return {path: state for path, state in states.items() if state is not None}

    @classmethod
    def _read_layer(cls, root: Path) -> "dict[str, State]":
        states = {}
        for path, twin in layers.differing(root):
            state, before = cls.read(root / path), cls.read(twin)
            if state != before and not is_own(path) and not _says_nothing(root, path):
                states[path] = GONE if state is None else state
        for reader in (accounts, dpkg_files):
            for path in states.keys() & reader.FILES:
                states[path] = evolve(states[path], content=reader.plain(root, path))
        return states


def _says_nothing(root: Path, path: str) -> bool:
    return dpkg_files.is_of_no_package(path) or accounts.is_of_no_account(root, path)


# Of what the image has and a root has not.
GONE: Final = State(0, 0, 0, 0, b"")


@frozen
class Scenario:
    """Two revisions, and what happens on the host between them."""

    name: str
    first: Mapping[str, Mapping[str, Any]]
    second: Mapping[str, Mapping[str, Any]]
    # Puts things on the host that no revision put there.
    between: Callable[[Path], None]
    # Of the repository, beside the manifest; those of the first revision that are missing here go with the second.
    first_files: Mapping[str, str] = field(factory=dict)
    second_files: Mapping[str, str] = field(factory=dict)
    # Of the second revision.
    contribute: Mapping[str, Mapping[str, str]] = field(factory=dict)
    # Symbolic links of the repository in the second revision.
    links: Mapping[str, str] = field(factory=dict)
    # Put before the command.
    prefix: tuple[str, ...] = ()
    # How the pass from one to the other ends that nothing strikes.
    code: int = 0
    # Paths that one check guards, relative to the root.
    guarded: frozenset[str] = frozenset()
    # Paths that commands write, or datum in place, which have no promise of old or new.
    loose: frozenset[str] = frozenset()
    # Files that something is mounted on, where that can be had.
    bound: frozenset[str] = frozenset()
    # The same scenario with a check that passes: what stands there while this one's check, which refuses, judges it.
    passing: "Scenario | None" = None
    # Whether it plays on the Debian image; then only a worker of `layers` may prepare and judge it.
    on_debian: bool = False
    # Matches paths, relative to the root, that programs change in steps: old, then something else, then new.
    stepwise: str = "(?!)"
    # How many points of its programs `bench/faults` strikes at, where there are too many for all of them; 0: all.
    sampled: int = 0
    # Puts things on the host before the first revision is enforced.
    before: Callable[[Path], None] | None = None


@frozen
class Stage:
    """The prepared host, to be copied for each strike, and what a clean pass makes of it."""

    folder: Path
    # Of every path that is there before or after, but datum's own.
    old: Mapping[str, State | None]
    new: Mapping[str, State | None]
    # Paths that are the same before and after, and those of what the clean pass leaves of its own.
    others: frozenset[str]
    own: frozenset[str]
    scenario: Scenario | None = None
    # What may stand at a guarded path until its check has refused it.
    judged: Mapping[str, State | None] = field(factory=dict)

    @property
    def root(self) -> Path:
        """The prepared root; never run on, only copied."""
        return self.folder / "root"

    @property
    def prefix(self) -> tuple[str, ...]:
        """What to put before the command."""
        return self.scenario.prefix if self.scenario else ()

    @property
    def code(self) -> int:
        """How a pass ends that nothing strikes."""
        return self.scenario.code if self.scenario else 0

    @property
    def guarded(self) -> frozenset[str]:
        """Paths that change and that one check guards, with all below them."""
        tops = self.scenario.guarded if self.scenario else frozenset()
        return frozenset(path for path in self.changing if any(f"{path}/".startswith(f"{top}/") for top in tops))

    @property
    def loose(self) -> frozenset[str]:
        """Paths that commands write, or datum in place."""
        return self.scenario.loose if self.scenario else frozenset()

    def is_stepwise(self, path: str) -> bool:
        """Whether a program changes a path in steps."""
        return self.scenario is not None and bool(re.fullmatch(self.scenario.stepwise, path))

    @property
    def changing(self) -> frozenset[str]:
        """Paths that the pass changes."""
        return frozenset(path for path, state in self.new.items() if self.old[path] != state)

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """Give a copy of the prepared root, which ends with the block."""
        place = Path(tempfile.mkdtemp(prefix="strike-", dir=self.folder))
        try:
            yield _copy(self.root, place, self.scenario)
        finally:
            _remove(place, self.scenario)


def prepare(folder: Path, scenario: Scenario) -> Stage:
    """Make a prepared host below an empty folder."""
    root = layers.lay(folder) if scenario.on_debian else _make_bare(folder)
    if scenario.before is not None:
        scenario.before(root)
    repository = GitRepository(folder / "fleet")
    _commit(repository, scenario.first, scenario.first_files, {})
    expect(run("init", "--repo", str(repository.path), "--host", HOST, "--no-timer", "--root", str(root)))
    expect(run("apply", "--root", str(root)))
    scenario.between(root)
    shutil.rmtree(repository.path / "files", ignore_errors=True)
    for name, text in scenario.links.items():
        link = repository.path / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(text)
    _commit(repository, scenario.second, scenario.second_files, scenario.contribute)
    old = State.read_all(root)
    if scenario.on_debian:
        layers.lift(root)
    new, own = _run_clean(folder, scenario)
    judged: Mapping[str, State | None] = {}
    if scenario.passing is not None:
        (folder / "passing").mkdir()
        passing = prepare(folder / "passing", scenario.passing)
        judged = {path: passing.new[path] for path in passing.guarded}
        shutil.rmtree(folder / "passing")
    everything = sorted({*old, *new, *judged})
    same = frozenset(path for path in everything if old.get(path) == new.get(path))
    before, after = ({path: states.get(path) for path in everything} for states in (old, new))
    return Stage(folder, before, after, same, own, scenario, judged)


def _make_bare(folder: Path) -> Path:
    root = folder / "root"
    for name in ("cron.d", "sudoers.d", "profile.d", "logrotate.d", "systemd", "set.d", "orphan.d", "sysctl.d"):
        (root / "etc" / name).mkdir(parents=True)
    (root / "etc/apt/sources.list.d").mkdir(parents=True)
    (root / "srv").mkdir()
    (root / "tmp").mkdir()
    install(root, SHELL)
    return root


def _run_clean(folder: Path, scenario: Scenario) -> tuple[dict[str, State], frozenset[str]]:
    """Run the pass that nothing strikes; return what it leaves, and the paths of its own among that."""
    place = folder / "clean"
    place.mkdir()
    try:
        clean = _copy(folder / "root", place, scenario)
        # What it imports is compiled once, and not by each of those that are struck.
        expect(_spawn(clean, scenario.prefix, {"PYTHONDONTWRITEBYTECODE": ""}), scenario.code)
        return State.read_all(clean), frozenset(own_paths(clean))
    finally:
        _remove(place, scenario)


def _copy(source: Path, place: Path, scenario: Scenario | None) -> Path:
    """Make a copy of a root in a folder."""
    if layers.is_layered(source):
        return layers.lay(place, source)
    copy_tree(source, place / "root")
    for path in _bound(scenario):
        copy_tree(place / "root" / path, place / Path(path).name)
        subprocess.run(["mount", "--bind", str(place / Path(path).name), str(place / "root" / path)], check=True)
    return place / "root"


def _remove(place: Path, scenario: Scenario | None) -> None:
    tops = [""] if layers.is_layered(place / "root") else _bound(scenario)
    # What failed on the way has not mounted all of them.
    mounted = Path("/proc/self/mountinfo").read_text()
    for path in (place / "root" / top for top in tops):
        if f" {path.resolve()} " in mounted:
            layers.lift(path)
    shutil.rmtree(place, ignore_errors=True)


def _bound(scenario: Scenario | None) -> frozenset[str]:
    return scenario.bound if scenario is not None and scenario.bound and can_mount() else frozenset()


@cache
def can_mount() -> bool:
    """Whether this process may mount something."""
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run(["mount", "--bind", file.name, file.name], capture_output=True, check=False)
        if not done.returncode:
            layers.lift(Path(file.name))
    return not done.returncode


def apply(root: Path, prefix: tuple[str, ...] = ()) -> Ran:
    """Run one pass to its end; in this process where nothing comes before the command."""
    return _spawn(root, prefix, {}) if prefix else run("apply", "--root", str(root))


def _spawn(root: Path, prefix: tuple[str, ...], env: Mapping[str, str]) -> Ran:
    argv, env = [*prefix, *command(root, "apply")], {**environment(root.parent), **env}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env, cwd="/")
    return Ran(done.returncode, done.stdout, done.stderr)


def is_own(path: str) -> bool:
    """Whether a path below the root is datum's own."""
    return any(path == name or path.startswith(f"{name}/") for name in OWN)


def own_paths(root: Path) -> set[str]:
    """Return all of datum's own below a root that is no directory, relative to it."""
    below = (path for name in OWN for path in (root / name).rglob("*"))
    return {str(path.relative_to(root)) for path in below if path.is_symlink() or not path.is_dir()}


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
    """Give a folder in memory where there is one: a sync then costs nothing, and every strike makes dozens.

    For as long, processes that are started here find compiled modules there (`PYTHONPYCACHEPREFIX`).
    """
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="datum-proof-", dir=where))
    folder.chmod(0o755)
    kept = os.environ.get(_BYTECODE)
    os.environ[_BYTECODE] = f"{folder}/bytecode"
    try:
        yield folder
    finally:
        os.environ.pop(_BYTECODE) if kept is None else os.environ.update({_BYTECODE: kept})
        shutil.rmtree(folder, ignore_errors=True)


def _commit(
    repository: GitRepository,
    resources: Mapping[str, Mapping[str, Any]],
    files: Mapping[str, str],
    contribute: Mapping[str, Mapping[str, str]],
) -> None:
    lifted = {"limits": dict.fromkeys(("removals", "replaces", "changed"), "none")}
    host = {"contribute": contribute, "resources": resources}
    manifest = {
        "fleet.yaml": json.dumps({**FLEET, **lifted}, indent=1),
        f"hosts/{HOST}.yaml": json.dumps(host, indent=1),
    }
    repository.commit({**manifest, **files})


def install(root: Path, program: str, target: str = "") -> None:
    """Copy a program of this machine, and what it is linked to, into a root, under another name if one is given."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    libraries = sorted({word for word in listed.split() if word.startswith("/")})
    for source, place in [(program, target or program), *((word, word) for word in libraries)]:
        copy = root / place.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
