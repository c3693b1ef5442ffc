"""What a plan and a report say of single resources, and what can stand at a path."""

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from datum.agent.pause_file import encode_pause
from datum.cli import effects
from datum.model.identity import ResourceId
from datum.model.moment import parse_moment
from datum.model.pause import Pause
from tests.passes.scene import HOST, STATE, Resources, Scene, Tree

KINDS: Final = ("regular", "directory", "symlink", "fifo", "socket", "block_device", "character_device")
needs_root: Final = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do this")

Entries = dict[str, dict[str, Any]]


@contextlib.contextmanager
def new_scene() -> Iterator[Scene]:
    """Give a scene that several tests share, in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="datum-test-"))
    try:
        yield Scene(folder)
    finally:
        shutil.rmtree(folder)


def write_pause(scene: Scene, *only: str) -> None:
    """Write the file of a pause by hand: from now on, for an hour."""
    since = parse_moment(effects.read_clock())
    pause = Pause("alice", "disk swap", since, since + 3600, tuple(map(ResourceId.parse, only)))
    scene.write(f"/{STATE}/pause.yaml", encode_pause(pause).decode())


def planned(scene: Scene) -> Entries:
    """Return what the plan says of each resource that it names, in its order."""
    ran = scene.run("plan", "--json")
    assert ran.code == 0, ran
    return {entry["id"]: entry for entry in ran.json["resources"]}


def reported(scene: Scene) -> Entries:
    """Return what the newest report says of each resource that it names, in its order."""
    return {entry["id"]: entry for entry in scene.report["resources"]}


def left_alone(document: Any) -> dict[str, dict[str, str]]:
    """Return what each resource of a plan or report leaves alone below itself, with the reason of each path."""
    return {entry["id"]: {path["path"]: path["why"] for path in entry["paths"]} for entry in document["kept"]}


def kept(scene: Scene) -> dict[str, str]:
    """Return the orphans of the newest report that stay, with the rule that keeps each."""
    stays = ("kept", "unsettled")
    return {orphan["id"]: orphan["rule"] for orphan in scene.report["orphans"] if orphan["state"] in stays}


def held(entries: Entries) -> dict[str, str]:
    """Return why each resource is held."""
    return {name: entry["hold"]["reason"] for name, entry in entries.items() if entry["hold"]}


def said(entry: Mapping[str, Any]) -> str:
    """Return all that is told of a resource beside its changes."""
    found = [entry["detail"], *entry["remarks"]]
    for diagnostic in entry["diagnostics"]:
        found += [diagnostic["code"], diagnostic["detail"], diagnostic["hint"]]
    return "\n".join(found)


def assert_settled(scene: Scene) -> None:
    """A second pass has nothing to do, says so, and writes nothing but its report."""
    ran = scene.run("plan", "--detailed-exitcode")
    assert ran.code == 0, ran.out
    assert "Nothing to do" in ran.out
    host, pointer = scene.host(), scene.pointer_path.stat()
    scene.apply()
    assert scene.host() == host
    now = scene.pointer_path.stat()
    assert (now.st_ino, now.st_mtime_ns) == (pointer.st_ino, pointer.st_mtime_ns)
    assert scene.report["outcome"] == "converged"


def refused_for(scene: Scene, resources: Resources, files: Mapping[str, str | bytes] | None = None) -> set[str]:
    """Return the codes for which a plan of a host that is not enrolled ends as an invalid manifest."""
    if files:
        scene.commit_files(files)
    scene.commit(resources)
    before = scene.everything()
    ran = scene.run("plan", "--repo", scene.url, "--host", HOST, "--json")
    assert ran.code == 65, ran
    assert scene.everything() == before
    return {diagnostic["code"] for diagnostic in ran.json["error"]["diagnostics"]}


def plant(place: Path, kind: str) -> None:
    """Put something of a kind at a path; a file and a directory have something in them, a link leads to a file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "regular":
        place.write_bytes(b"precious\n")
    elif kind == "directory":
        place.mkdir()
        (place / "inner").write_bytes(b"precious\n")
    elif kind == "symlink":
        (place.parent / "behind").write_bytes(b"behind\n")
        place.symlink_to("behind")
    elif kind == "empty_file":
        place.touch()
    elif kind == "empty_directory":
        place.mkdir()
    else:
        types = {"fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK, "block_device": stat.S_IFBLK}
        os.mknod(place, types.get(kind, stat.S_IFCHR) | 0o644, os.makedev(1, 3))


def plantable() -> Sequence[str]:
    """Return the kinds that the caller can make."""
    return [kind for kind in KINDS if os.geteuid() == 0 or not kind.endswith("_device")]


@contextlib.contextmanager
def mounted(*arguments: str) -> Iterator[None]:
    """Have something mounted for a while; skip where that may not be."""
    done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    try:
        yield
    finally:
        subprocess.run(["umount", arguments[-1]], check=True)


@contextlib.contextmanager
def immutable(place: Path) -> Iterator[None]:
    """Have a path that nobody may change for a while; skip where the file system has no such thing."""
    done = subprocess.run(["chattr", "+i", str(place)], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"nothing can be made immutable here: {done.stderr}")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(place)], check=True)


def accounts(scene: Scene) -> None:
    """Give the root two users, one of them with a name of digits that is another's number."""
    scene.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\napp:x:1234:1235::/:/bin/sh\n4321:x:77:78::/:/bin/sh\n")
    scene.write("/etc/group", "root:x:0:\napp:x:1235:\n4321:x:78:\n")


def package(scene: Scene, *paths: str) -> None:
    """Have a package own these paths."""
    status = "Package: app\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n"
    scene.write("/var/lib/dpkg/status", status)
    scene.write("/var/lib/dpkg/info/app.list", "".join(f"{path}\n" for path in ("/.", *paths)))


def names(scene: Scene, path: str) -> list[str]:
    """Return the names in a folder of the host, sorted."""
    return sorted(place.name for place in scene.at(path).iterdir())


def below(scene: Scene, path: str) -> list[str]:
    """Return all paths below a folder of the host, sorted."""
    return sorted(str(place.relative_to(scene.at(path))) for place in scene.at(path).rglob("*"))


def untimed(tree: Tree) -> Tree:
    """Return a snapshot without the times of folders, which change while candidates lie in them."""
    return {path: seen[:6] if stat.S_ISDIR(int(str(seen[0]))) else seen for path, seen in tree.items()}


def owner(place: Path) -> tuple[int, int]:
    """Return the numbers of user and group of a path itself."""
    status = place.lstat()
    return status.st_uid, status.st_gid


def mode(place: Path) -> str:
    """Return the twelve bits of a path itself."""
    return f"{stat.S_IMODE(place.lstat().st_mode):04o}"


def written(scene: Scene, resources: Resources, files: Mapping[str, str | bytes]) -> str:
    """Commit resources together with files of the repository."""
    scene.repository.commit(files)
    return scene.commit(resources)
