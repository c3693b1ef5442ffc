"""A program that brings a set of every kind to a root, as a pass does: it looks, stages what differs, judges, commits.

Run as `python -m tests.proofs.staged_set ROOT [refused] [twice]`; says how far it came, a word at a time.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from datum.host.local import LocalHost, LocalReader
from datum.host.staging import StagingWriter
from datum.model.check import Check
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.provider.host import DirectoryWrite, FileFacts, FileKind, FileWrite, HostError, LinkWrite, Missing

SHELL: Final = "/bin/sh"
# Whole: it is seen by nobody half done, and only by what the check is meant to judge.
_CHECK: Final = """
cd /etc/set || exit 2
read -r one < replaced && [ "$one" = new ] && read -r two < created && [ "$two" = new ] || exit 3
read -r three < new.d/sub/deep && [ "$three" = deep ] && [ -h link -a -h new-link ] || exit 4
[ ! -e gone -a ! -e old.d -a -f kind -a -d dir-kind ] || exit 5
"""
_REFUSES: Final = f"{_CHECK}\nexit 9"


@frozen
class Wanted:
    """One path as it shall be."""

    path: str
    # None: absent.
    kind: FileKind | None
    # Text of a file or link.
    text: str = ""
    mode: str = ""
    # Only attributes are declared.
    is_plain: bool = True

    def is_at(self, found: FileFacts | Missing) -> bool:
        """Whether it is so."""
        if isinstance(found, Missing) or self.kind is None:
            return isinstance(found, Missing) and self.kind is None
        if found.kind is not self.kind or (self.mode and found.mode != self.mode):
            return False
        if self.kind is FileKind.SYMLINK:
            return found.link == self.text
        return self.kind is FileKind.DIRECTORY or not self.is_plain or found.blob == _blob(self.text)

    def stage(self, writer: StagingWriter, found: FileFacts | Missing) -> None:
        """Stage what is missing."""
        takes = writer.below(self.path, limit=99).paths
        if self.kind is None:
            self._remove(writer, found, takes)
        elif self.kind is FileKind.SYMLINK:
            writer.write_link(self.path, LinkWrite(self.text, takes=takes))
        elif self.kind is FileKind.DIRECTORY:
            is_there = isinstance(found, FileFacts) and found.kind is FileKind.DIRECTORY
            if is_there:
                writer.set_attributes(self.path, mode=self.mode)
            else:
                writer.make_directory(self.path, DirectoryWrite(self.mode, replaces=isinstance(found, FileFacts)))
        elif self.is_plain:
            data = self.text.encode()
            writer.write_file(self.path, FileWrite(Content.from_bytes(data), self.mode, takes=takes))
        else:
            writer.set_attributes(self.path, mode=self.mode)

    def _remove(self, writer: StagingWriter, found: FileFacts | Missing, takes: tuple[str, ...]) -> None:
        if isinstance(found, FileFacts) and found.kind is FileKind.DIRECTORY:
            writer.remove_directory(self.path, takes=takes)
        else:
            writer.remove_file(self.path)


SET: Final = (
    Wanted("/etc/set/attributes", FileKind.REGULAR, mode="0600", is_plain=False),
    Wanted("/etc/set/created", FileKind.REGULAR, "new\n", "0644"),
    Wanted("/etc/set/dir-kind", FileKind.DIRECTORY, mode="0755"),
    Wanted("/etc/set/gone", None),
    Wanted("/etc/set/kind", FileKind.REGULAR, "kind\n", "0644"),
    Wanted("/etc/set/link", FileKind.SYMLINK, "created"),
    Wanted("/etc/set/new-link", FileKind.SYMLINK, "/no/where"),
    Wanted("/etc/set/new.d", FileKind.DIRECTORY, mode="0750"),
    Wanted("/etc/set/new.d/sub", FileKind.DIRECTORY, mode="0755"),
    Wanted("/etc/set/new.d/sub/deep", FileKind.REGULAR, "deep\n", "0644"),
    Wanted("/etc/set/old.d", None),
    Wanted("/etc/set/replaced", FileKind.REGULAR, "new\n", "0640"),
)


def fill(root: Path) -> None:
    """Make what stands there before."""
    folder = root / "etc/set"
    (folder / "old.d/sub").mkdir(parents=True)
    (folder / "kind").mkdir()
    for name in ("attributes", "gone", "replaced", "dir-kind", "other", "kind/in", "old.d/sub/x"):
        (folder / name).write_text("old\n")
        (folder / name).chmod(0o644)
    (folder / "link").symlink_to("replaced")


def converge(root: str, script: str, say: Callable[[str], None]) -> None:
    """Bring the set to a root."""
    with LocalHost(root) as host:
        writer = host.staging()
        try:
            if not _stage(writer, host.reader()):
                say("idle")
                return
            say("staged")
            writer.judge([Check(ResourceId("check", "set"), (SHELL, "-c", script), 20.0)])
            say("judged")
            writer.commit()
            say("committed")
        except HostError as error:
            say(error.diagnostics[0].code)
            sys.stderr.write(f"{error}\n")
        finally:
            writer.discard()
        say(*[remark.partition(":")[0] for remark in writer.remarks][:1] or ["shown"])
    say("ended")


def _stage(writer: StagingWriter, reader: LocalReader) -> Sequence[str]:
    """Stage what differs or has a leftover beside it; return the paths."""
    staged = []
    for wanted in SET:
        found = reader.examine(wanted.path, blob="sha1")
        if found.has_residue:
            writer.remove_residue(wanted.path)
            staged.append(wanted.path)
        if not wanted.is_at(found):
            wanted.stage(writer, found)
            staged.append(wanted.path)
    return staged


def _blob(text: str) -> str:
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def main(argv: Sequence[str]) -> None:
    """Do it, and say so on stdout."""
    script = _REFUSES if "refused" in argv else _CHECK
    for _pass in range(2 if "twice" in argv else 1):
        converge(argv[0], script, _say)


def _say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
