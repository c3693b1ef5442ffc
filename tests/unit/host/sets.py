"""A root with something of every kind, a set that changes all of it, and what stands there before and after."""

import os
import stat
from pathlib import Path

from attrs import frozen

from datum.host.staging import StagingWriter
from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.provider.host import DirectoryWrite, LinkWrite
from tests.unit.host.files import file_of

Seen = dict[str, tuple[int, str]]

CHANGED = ("replaced", "new", "link", "new-link", "new.d", "gone", "old.d", "attributes", "kind", "dir-kind")


def fill(root: Path) -> None:
    """Make what the set changes."""
    etc = root / "etc"
    etc.mkdir(parents=True, exist_ok=True)
    (etc / "replaced").write_text("old\n")
    (etc / "link").symlink_to("replaced")
    (etc / "gone").write_text("gone\n")
    (etc / "old.d/sub").mkdir(parents=True)
    (etc / "old.d/sub/x").write_text("x\n")
    (etc / "attributes").write_text("kept\n")
    (etc / "attributes").chmod(0o644)
    (etc / "kind").mkdir()
    (etc / "kind/in").write_text("in\n")
    (etc / "dir-kind").write_text("file\n")
    (etc / "other").write_text("other\n")


def stage(writer: StagingWriter) -> None:
    """Stage a change of every kind."""
    writer.write_file("/etc/replaced", file_of(b"new\n", mode="0640"))
    writer.write_file("/etc/new", file_of(b"created\n"))
    writer.write_link("/etc/link", LinkWrite("new"))
    writer.write_link("/etc/new-link", LinkWrite("/no/where"))
    writer.make_directory("/etc/new.d", DirectoryWrite(mode="0750"))
    writer.make_directory("/etc/new.d/sub", DirectoryWrite())
    writer.write_file("/etc/new.d/sub/deep", file_of(b"deep\n"))
    writer.write_link("/etc/new.d/link", LinkWrite("sub/deep"))
    writer.remove_file("/etc/gone")
    writer.remove_file("/etc/old.d/sub/x")
    writer.remove_directory("/etc/old.d", takes=("/etc/old.d/sub",))
    writer.set_attributes("/etc/attributes", mode="0600")
    writer.write_file("/etc/kind", file_of(b"kind\n", takes=("/etc/kind/in",)))
    writer.make_directory("/etc/dir-kind", DirectoryWrite(replaces=True))


WHOLE = """
cd /etc
cat replaced new link new.d/sub/deep new.d/link kind attributes
test -h new-link -a ! -e gone -a ! -e old.d -a -d dir-kind -a ! -e dir-kind/in && echo whole
"""
"""Says what `SEEN` is, where the set is seen whole."""

SEEN = "new\ncreated\ncreated\ndeep\ndeep\nkind\nkept\nwhole"


def check(script: str = "true", *, name: str = "set", **options: object) -> Check:
    """Return a check that runs a script of `sh`."""
    argv = ("/bin/sh", "-c", script)
    return Check(ResourceId("check", name), argv, 20.0, **options)  # type: ignore[arg-type] # as each test names them


@frozen
class Entry:
    """What stands at one path."""

    mode: int
    uid: int
    content: bytes


def tree(folder: Path) -> dict[str, Entry]:
    """Return all that lies below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = b""
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = Entry(status.st_mode, status.st_uid, content)
    return found
