"""Files that are root's, that everybody may read, and whose bytes a resource says whole: seen, compared, written.

A resource may have several; the names of what is seen of each begin with a prefix of its own. Below another root the
files of who works on it stand for root's.
"""

from collections.abc import Collection, Mapping
from typing import Final

from attrs import frozen

from datum.model.content import Content
from datum.model.manifest import Hazard
from datum.model.observation import FieldValue, Present
from datum.model.plan import Change, Operation, Step
from datum.provider.host import FileFacts, FileKind, FileWrite, HostReader, HostWriter, Missing
from datum.provider.paths import is_below
from datum_providers.shared.accounts import NO_OWNERS
from datum_providers.shared.kinds import EMPTY_DIRECTORY, EMPTY_FILE, differences, in_the_way, seen_residue
from datum_providers.shared.modes import seen_mode

MODE: Final = "0644"
OWNER: Final = "root"

REGULAR: Final = FileKind.REGULAR.value
NONE: Final = "none"
"""Value of `kind` of a file that is not there while another of the same resource is."""

_ATTRIBUTES: Final = (("mode", MODE), ("owner", OWNER), ("group", OWNER))
_HARMLESS: Final = frozenset({None, NONE, REGULAR, EMPTY_FILE, EMPTY_DIRECTORY})
_DIRECTORIES: Final = frozenset({FileKind.DIRECTORY.value, EMPTY_DIRECTORY})


@frozen
class SeenFile:
    """What one look at one path found."""

    # `kind` always; `mode`, `owner`, `group` of a regular file; all with the prefix. `residue` without it.
    fields: Mapping[str, FieldValue]
    # The first bytes of a regular file, one more than the limit at most.
    data: bytes | None = None
    # The topmost directory on the way, or the file itself, that is not there; empty where it is there.
    first_missing: str = ""
    identity: str = ""
    holds: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()


def see_file(reader: HostReader, path: str, *, prefix: str = "", limit: int) -> SeenFile:
    """Look at one path.

    Args:
        reader: to look with.
        path: of the file.
        prefix: of the names of the fields.
        limit: bytes that any wanted content has at most.

    Raises:
        HostError: it cannot be looked at.
    """
    facts = reader.examine(path)
    if isinstance(facts, Missing):
        return SeenFile({f"{prefix}kind": NONE, **seen_residue(facts)}, first_missing=facts.first)
    if facts.kind is not FileKind.REGULAR:
        other = in_the_way(reader, path, facts)
        fields = {f"{prefix}kind": other.kind, **seen_residue(facts)}
        return SeenFile(fields, identity=facts.identity, holds=other.holds, mounts=other.mounts)
    data = reader.read_file(path, limit=limit + 1)
    return SeenFile(_fields(reader, facts, prefix), data, identity=facts.identity)


def attribute_changes(observed: Present, prefix: str = "") -> list[Change]:
    """Return what is to change of mode, owner and group."""
    return differences(observed, ((f"{prefix}{name}", value) for name, value in _ATTRIBUTES))


def write_file(
    writer: HostWriter, path: str, content: Content, *, takes: Collection[str] | None = None, validate: tuple[str, ...]
) -> None:
    """Write one file whole.

    Args:
        writer: to write with.
        path: of the file.
        content: its bytes.
        takes: what goes with whatever of another kind stands there, of the whole resource; None: nothing does.
        validate: as `FileWrite.validate`.

    Raises:
        HostError: it failed.
    """
    uid, gid = writer.caller
    own = None if takes is None else tuple(one for one in takes if is_below(one, path) and one != path)
    writer.write_file(path, FileWrite(content, MODE, uid, gid, validate=validate, takes=own))


def correct_attributes(writer: HostWriter, path: str, changed: Collection[str], *, prefix: str = "") -> None:
    """Set mode, owner and group where a step changes one of them.

    Raises:
        HostError: it failed.
    """
    if any(f"{prefix}{name}" in changed for name, _ in _ATTRIBUTES):
        uid, gid = writer.caller
        writer.set_attributes(path, mode=MODE, uid=uid, gid=gid)


def is_part_missing(change: Change) -> bool:
    """Whether a difference is a file of several that is not there, or something that it would hold."""
    return change.before in (None, NONE)


def remove_file(writer: HostWriter, path: str, step: Step, *, prefix: str = "") -> None:
    """Remove what a step saw at a path; nothing where it saw nothing.

    Raises:
        HostError: it failed.
    """
    kind = next((change.before for change in step.changes if change.name == f"{prefix}kind"), NONE)
    if kind in _DIRECTORIES:
        takes = tuple(one for one in step.takes if is_below(one, path) and one != path)
        writer.remove_directory(path, takes=takes)
    elif kind != NONE:
        writer.remove_file(path)


def hazards_of_files(step: Step, *, harmless: Collection[object] = ()) -> frozenset[Hazard]:
    """Return `data_loss` where something else than a file goes, and it is not empty.

    Args:
        step: any.
        harmless: values of `kind` of what is nothing to lose besides.
    """
    if step.operation not in {Operation.REPLACE, Operation.DELETE}:
        return frozenset()
    kinds = {change.before for change in step.changes if change.name.rpartition("_")[2] == "kind"}
    return frozenset({Hazard.DATA_LOSS}) if kinds - _HARMLESS - set(harmless) else frozenset()


def _fields(reader: HostReader, facts: FileFacts, prefix: str) -> dict[str, FieldValue]:
    uid, gid = reader.caller
    has_owners = "owner" not in facts.without
    owner = OWNER if facts.uid == uid else reader.user_name(facts.uid)
    group = OWNER if facts.gid == gid else reader.group_name(facts.gid)
    return {
        f"{prefix}kind": REGULAR,
        f"{prefix}mode": seen_mode(facts),
        f"{prefix}owner": owner if has_owners else NO_OWNERS,
        f"{prefix}group": group if has_owners else NO_OWNERS,
        **seen_residue(facts),
    }
