"""What keeps units that a package brings from being started by scripts that ask nobody. Changes the host.

Scripts that call systemctl themselves ask no `policy-rc.d`. A mask would make their start an error, and so fail the
installation. A condition that does not hold is no error (systemd.unit(5)): the unit is not started, and the script goes
on. Here it is that no transaction of ours is at work: what a kill leaves behind keeps nobody from anything once apt has
ended, and `/run` is empty at the next boot.
"""

from collections.abc import Iterable
from typing import Final

from datum.model.content import Content
from datum.provider.host import DirectoryWrite, FileWrite, HostWriter, Missing
from datum_providers.package.apt import SCOPE

FOLDER: Final = "/run/systemd/system"
# The last by its name: an empty assignment of another drop-in would take the condition back.
_NAME: Final = "zz-datum-apt.conf"
_TEXT: Final = f"""# datum: for one transaction
[Unit]
ConditionPathExistsGlob=!/run/systemd/transient/{SCOPE}-*.scope
"""


def withhold(writer: HostWriter, units: Iterable[str]) -> None:
    """Keep units from being started by anybody while apt is at work.

    Raises:
        HostError: that cannot be written.
    """
    for unit in units:
        folder = f"{FOLDER}/{unit}.d"
        if isinstance(writer.examine(folder), Missing):
            writer.make_directory(folder, DirectoryWrite())
        writer.write_file(f"{folder}/{_NAME}", FileWrite(Content.from_bytes(_TEXT.encode())))
    _reload(writer)


def release(writer: HostWriter, units: Iterable[str]) -> None:
    """Take that back.

    Raises:
        HostError: it cannot be removed.
    """
    is_there = False
    for unit in units:
        folder = f"{FOLDER}/{unit}.d"
        if isinstance(writer.examine(folder), Missing):
            continue
        if not isinstance(writer.examine(f"{folder}/{_NAME}"), Missing):
            writer.remove_file(f"{folder}/{_NAME}")
            is_there = True
        if not writer.list_directory(folder):
            writer.remove_directory(folder)
    if is_there:
        _reload(writer)


def _reload(writer: HostWriter) -> None:
    """Have the manager read it; what it has not read would be a drop-in for a later start."""
    manager = writer.manager()
    if manager is not None:
        manager.daemon_reload()
