"""A file of a gigabyte on its whole way: fetched, promoted, streamed into place and looked at, in bounded memory."""

import json
import subprocess
import sys
from pathlib import Path

from tests.git_repository import GitRepository

SIZE = 1 << 30
# Bytes above what the process takes before it has seen the file; the same bounds each child.
BOUND = 64 << 20
MARKS = {12_345: b"near the start", SIZE // 2: b"in the middle", SIZE - 7: b"the end"}

# In a process of its own: the peak of this one would be that of all tests before.
SCRIPT = """
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
