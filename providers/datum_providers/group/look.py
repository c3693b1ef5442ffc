"""What the account files say of groups. Reads the host; changes nothing."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.model.plan import RESIDUE
from datum.provider.host import HostError, HostReader
from datum_providers.group.desired import DesiredGroup
from datum_providers.shared.account_files import AccountFiles, GroupLine, as_json, read_gshadow

# The groups of Debian's base-passwd and Fedora's setup: numbers that a distribution gives out once and for all.
_FIXED_GIDS: Final = range(100)
_NOGROUP: Final = 65534
_SHOWN: Final = 5


def observe_groups(reader: HostReader, desired: Mapping[str, DesiredGroup]) -> Mapping[str, Observation]:
    """Return what is known of every group."""
    if not desired:
        return {}
    try:
        look = Look(reader, AccountFiles.read(reader), read_gshadow(reader))
    except HostError as error:
        return dict.fromkeys(desired, error.unobservable())
    return {name: look.at(desired[name]) for name in sorted(desired)}


@frozen
class Look:
    """One observation of many groups."""

    reader: HostReader
    files: AccountFiles
    # Whom each group lists there; None: there is no such file.
    gshadow: Mapping[str, frozenset[str]] | None

    def at(self, wanted: DesiredGroup) -> Observation:
        """Look at one group."""
        complaint = self.files.groups.complaint(wanted.name)
        if complaint is not None:
            return complaint
        line = self.files.groups.get(wanted.name)
        try:
            return self._missing(wanted) if line is None else self._present(wanted, line)
        except HostError as error:
            return error.unobservable()

    def _missing(self, wanted: DesiredGroup) -> Observation:
        gid = self.reader.group_id(wanted.name)
        if gid is not None:
            return Present(
                {"foreign": True, "gid": gid, "name": wanted.name},
                obstacles=(f"{wanted.name} is no group of /etc/group: another source of nsswitch.conf has it.",),
            )
        fields = self._around(wanted, None)
        if wanted.name in (self.gshadow or {}):
            # groupdel(8) writes group first.
            fields[RESIDUE] = True
        return Absent(fields)

    def _present(self, wanted: DesiredGroup, line: GroupLine) -> Present:
        fields: dict[str, FieldValue] = {"name": line.name}
        if wanted.is_bare or wanted.gid is not None:
            fields["gid"] = line.gid
        if wanted.is_bare or wanted.members is not None:
            fields["members"] = self._members(wanted, line)
        fields.update(self._around(wanted, line))
        if self._is_unfinished(wanted, line):
            fields["unfinished"] = True
        return Present(fields, obstacles=self._obstacles(wanted, line) if wanted.is_bare else ())

    def _is_unfinished(self, wanted: DesiredGroup, line: GroupLine) -> bool:
        """Whether a change was interrupted: the tools write group first, then gshadow."""
        if self.gshadow is None:
            return False
        listed = self.gshadow.get(line.name)
        return listed is None or (wanted.members is not None and listed != set(line.members))

    def _members(self, wanted: DesiredGroup, line: GroupLine) -> tuple[str, ...]:
        """Return who is listed; who has it as the primary group and is wanted in it need not be."""
        primary = set(self.files.users_of_group(line.gid)) & set(wanted.members or ())
        return tuple(sorted(as_json(name) for name in {*line.members, *primary}))

    def _around(self, wanted: DesiredGroup, line: GroupLine | None) -> dict[str, FieldValue]:
        """Return what stands in the way: members that are not there, a gid that is somebody's."""
        fields: dict[str, FieldValue] = {}
        missing = tuple(name for name in wanted.members or () if self._is_nobody(name))
        if missing:
            fields["missing_members"] = missing
        holder = self.files.group_of(wanted.gid) if wanted.gid is not None else None
        if holder not in {None, wanted.name} and (line is None or line.gid != wanted.gid):
            fields["gid_of"] = holder
        return fields

    def _is_nobody(self, name: str) -> bool:
        return name not in self.files.users and self.reader.user_id(name) is None

    def _obstacles(self, wanted: DesiredGroup, line: GroupLine) -> tuple[str, ...]:
        found = []
        if line.gid in _FIXED_GIDS or line.gid == _NOGROUP:
            found.append(f"{line.name} is a group of the operating system (gid {line.gid}).")
        gone = {wanted.name} if wanted.is_left else set()
        users = [name for name in self.files.users_of_group(line.gid) if name not in gone]
        if users:
            more = f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else ""
            found.append(f"{line.name} is still the primary group of {', '.join(users[:_SHOWN])}{more}.")
        return tuple(found)
