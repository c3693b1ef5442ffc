"""Large files on their whole way: fetched, promoted, streamed into place and looked at, in bounded memory."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.git_repository import GitRepository
from tests.passes.scene import Scene, install
from tests.proofs.stage import SHELL, WITHOUT_NAMESPACES, fast_folder

SIZE: Final = 1 << 30
# Bytes above what the process takes before it has seen the file; the same bounds each child.
BOUND: Final = 64 << 20
MARKS: Final = {12_345: b"near the start", SIZE // 2: b"in the middle", SIZE - 7: b"the end"}

# In a process of its own: the peak of this one would be that of all tests before.
SCRIPT: Final = """
import json, resource, sys
from pathlib import Path
from datum.agent.wiring import opener
from datum.host.local import LocalHost
from datum.host.output import open_output
from datum.host.program import run_program
from datum.model.content import Content
from datum.provider.host import FileWrite
from datum.repository.mirror import Mirror
from datum.repository.remote import Remote

def peaks():
    return [resource.getrusage(who).ru_maxrss << 10 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]

remote, state, root = sys.argv[1:]
remote = Remote(remote)
with Mirror.open(Path(state), run_program, open_output=open_output) as mirror:
    revision = mirror.ask(remote, "main", timeout=60)
    mirror.fetch(remote, "main", revision, timeout=120, byte_limit=64 << 20)
    found = {"fetch": peaks()}
    mirror.promote(revision)
    assert mirror.is_sound([revision])
    tree = mirror.tree(revision)
    blob = tree.entry("small").blob
    with LocalHost(root, (), opener(tree)) as host:
        host.writer().write_file("/small", FileWrite(Content(blob)))
        before = peaks()
        blob = tree.entry("large").blob
        host.writer().write_file("/large", FileWrite(Content(blob)))
        assert host.reader().examine("/large", blob="sha1").blob == blob
        found["write"] = [after - base for after, base in zip(peaks(), before, strict=True)]
print(json.dumps(found))
"""


def test_a_gigabyte_is_never_held_in_memory(tmp_path: Path) -> None:
    remote = GitRepository(tmp_path / "remote")
    large = remote.path / "large"
    with large.open("wb") as stream:
        stream.truncate(SIZE)
        for at, words in MARKS.items():
            stream.seek(at)
            stream.write(words)
    (remote.path / "small").write_bytes(b"small")
    # A worse compression is a faster one; what git streams, it streams by its own defaults.
    remote.git("-c", "core.compression=1", "add", "--all")
    remote.git("commit", "--quiet", "-m", "large")
    large.unlink()
    root = tmp_path / "root"
    root.mkdir()
    argv = [sys.executable, "-c", SCRIPT, str(remote.path), str(tmp_path / "state"), str(root)]
    try:
        done = subprocess.run(argv, capture_output=True, check=False, cwd=Path(__file__).parents[2], timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        with (root / "large").open("rb") as stream:
            assert stream.seek(0, 2) == SIZE
            for at, words in MARKS.items():
                stream.seek(at)
                assert stream.read(len(words)) == words[: SIZE - at]
    finally:
        # pytest keeps the folders of some runs.
        (root / "large").unlink(missing_ok=True)
    found = json.loads(done.stdout)
    assert max(found["write"]) < BOUND
    assert found["fetch"][1] < BOUND


# More than a pass may take; each is written, hashed and compared a dozen times here.
LARGE: Final = 72 << 20
# Runs a command, and says how it ended and the most that it, or one that it started, had in memory.
MEASURE: Final = """
import json, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=2, check=False).returncode
print(json.dumps([code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10]))
"""
PLACES: Final = ("/srv/checked", "/srv/guarded", "/srv/tree/sub/large", "/srv/replaced")


def fill(place: Path, *, text: bool = False) -> None:
    """Write a large file: mostly zeros, or lines."""
    with place.open("wb") as stream:
        if text:
            for _ in range(LARGE >> 20):
                stream.write((b"a line of text\n" * (1 << 20))[: 1 << 20])
        stream.truncate(LARGE)
        stream.seek(LARGE - 7)
        stream.write(b"the end")


def declared(source: str) -> Mapping[str, Mapping[str, Any]]:
    """Return files that are validated, guarded, in a tree, and in the place of a large text."""
    return {
        "file:/srv/checked": {"source": source, "validate": [SHELL, "-c", '[ -s "$0" ]', "{path}"]},
        "file:/srv/guarded": {"source": source},
        "check:guarded": {"run": [SHELL, "-c", "[ -s /srv/guarded ]"], "guards": ["file:/srv/guarded"]},
        "tree:/srv/tree": {"source": f"{source}-tree"},
        "file:/srv/replaced": {"source": source},
        "file:/srv/shortened": {"content": "short\n"},
    }


def measured(scene: Scene, *words: str, prefix: tuple[str, ...] = ()) -> int:
    """Run a command to its good end, and return the most memory that one of its processes had."""
    argv = [sys.executable, "-c", MEASURE, *prefix, *scene.command(words[0], "--root", str(scene.root), *words[1:])]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300, cwd="/")
    code, peak = json.loads(done.stdout)
    assert code == 0, done.stderr
    assert isinstance(peak, int)
    return peak


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Give a scene in memory, which is nothing that a process has: each file is synced."""
    with fast_folder() as folder:
        yield Scene(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has namespaces to give up")
def test_no_pass_over_large_files_holds_one_in_memory(scene: Scene) -> None:
    """Created, validated, guarded, in a tree and over a large text; then repaired where nothing can be shown first."""
    install(scene, SHELL)
    scene.at("/tmp").mkdir()
    files = scene.repository.path / "files"
    for name in ("small-tree/sub", "large-tree/sub"):
        (files / name).mkdir(parents=True)
    fill(files / "large")
    os.link(files / "large", files / "large-tree/sub/large")
    for place in (files / "small", files / "small-tree/sub/large"):
        place.write_text("small\n")
    scene.repository.git("-c", "core.compression=1", "add", "--all")
    scene.commit(declared("files/small"))
    assert scene.init().code == 0
    base = max(measured(scene, "plan"), measured(scene, "apply"))
    for path in ("/srv/replaced", "/srv/shortened"):
        fill(scene.at(path), text=True)
    scene.commit(declared("files/large"))
    peaks = {"plan": measured(scene, "plan"), "apply": measured(scene, "apply")}
    assert {path: scene.at(path).stat().st_size for path in PLACES} == dict.fromkeys(PLACES, LARGE)
    for path in PLACES:
        with scene.at(path).open("r+b") as stream:
            stream.seek(LARGE - 1)
            stream.write(b"D")
    peaks["repair"] = measured(scene, "apply", prefix=WITHOUT_NAMESPACES)
    for path in PLACES:
        with scene.at(path).open("rb") as stream:
            stream.seek(LARGE - 7)
            assert stream.read() == b"the end", path
    assert scene.read("/srv/shortened") == "short\n"
    peaks["adopt"] = measured(scene, "adopt", "file:/srv/guarded")
    assert "nothing to do" in scene.apply().out
    print({name: peak - base >> 20 for name, peak in peaks.items()}, base >> 20)
    assert max(peaks.values()) - base < BOUND, peaks
