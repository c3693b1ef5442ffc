"""What keeps units that a package brings from being started by scripts that ask nobody. Changes the host.

Scripts that call systemctl themselves ask no `policy-rc.d`. A mask would make their start an error, and so fail the
installation. A condition that does not hold is no error (systemd.unit(5)): the unit is not started, and the script goes
on. Here it is that no transaction of ours is at work. What a kill leaves behind keeps nobody from anything once apt has
ended, and `/run` is empty at the next boot; but where a script left a program running in the scope of apt, that scope
lives on, and the unit is not started until somebody takes the condition away. So it is found by itself, whatever became
of the policy beside it, and says for which packages it is there.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from datum.model.content import Content
from datum.provider.host import DirectoryWrite, FileFacts, FileKind, FileWrite, HostReader, HostWriter, Missing
from datum_providers.package.apt import SCOPE

FOLDER: Final = "/run/systemd/system"
# The last by its name: an empty assignment of another drop-in would take the condition back.
_NAME: Final = "zz-datum-apt.conf"
_SIGN: Final = "# datum: for one transaction"
_CONDITION: Final = f"""[Unit]
ConditionPathExistsGlob=!/run/systemd/transient/{SCOPE}-*.scope
"""
_FOR: Final = re.compile(rb"^# datum: package:(\S+)$", re.MULTILINE)
_LIMIT: Final = 1 << 20
_FOLDER_SUFFIX: Final = ".d"


def saying_for(names: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of a file that say for which packages it is there."""
    return tuple(f"# datum: package:{name}" for name in sorted(names))


def said_for(data: bytes) -> frozenset[str]:
    """Return the packages that such lines name."""
    return frozenset(name.decode("utf-8", "replace") for name in _FOR.findall(data))


def withheld_for(reader: HostReader) -> frozenset[str]:
    """Return the packages for which units are withheld.

    Raises:
        HostError: it cannot be looked at.
    """
    found: set[str] = set()
    for unit in _withheld(reader):
        found |= said_for(reader.read_file(f"{FOLDER}/{unit}{_FOLDER_SUFFIX}/{_NAME}", limit=_LIMIT))
    return frozenset(found)


def _withheld(reader: HostReader) -> Iterator[str]:
    """Yield the units that have a drop-in of ours."""
    if isinstance(reader.examine(FOLDER), Missing):
        return
    for name in reader.list_directory(FOLDER):
        facts = reader.examine(f"{FOLDER}/{name}/{_NAME}") if name.endswith(_FOLDER_SUFFIX) else None
        if isinstance(facts, FileFacts) and facts.kind is FileKind.REGULAR:
            yield name.removesuffix(_FOLDER_SUFFIX)


def withhold(writer: HostWriter, units: Iterable[str], names: Iterable[str]) -> None:
    """Keep units from being started by anybody while apt is at work.

    Args:
        writer: the host.
        units: full names.
        names: packages for which it is done.

    Raises:
        HostError: that cannot be written.
    """
    text = "\n".join((_SIGN, *saying_for(names), _CONDITION))
    for unit in units:
        folder = f"{FOLDER}/{unit}{_FOLDER_SUFFIX}"
        if isinstance(writer.examine(folder), Missing):
            writer.make_directory(folder, DirectoryWrite())
        writer.write_file(f"{folder}/{_NAME}", FileWrite(Content.from_bytes(text.encode())))
    _reload(writer)


def release(writer: HostWriter, units: Collection[str] = ()) -> bool:
    """Take that back, of whatever unit; return whether there was any.

    Args:
        writer: the host.
        units: those that are known to have been withheld: a kill may have left a folder without a drop-in.

    Raises:
        HostError: it cannot be removed.
    """
    is_there = False
    for unit in sorted({*units, *_withheld(writer)}):
        folder = f"{FOLDER}/{unit}{_FOLDER_SUFFIX}"
        if isinstance(writer.examine(folder), Missing):
            continue
        if not isinstance(writer.examine(f"{folder}/{_NAME}"), Missing):
            writer.remove_file(f"{folder}/{_NAME}")
            is_there = True
        if not writer.list_directory(folder):
            writer.remove_directory(folder)
    if is_there:
        _reload(writer)
    return is_there


def _reload(writer: HostWriter) -> None:
    """Have the manager read it; what it has not read would be a drop-in for a later start."""
    manager = writer.manager()
    if manager is not None:
        manager.daemon_reload()
