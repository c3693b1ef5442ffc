"""What the account files say of users. Reads the host; changes nothing."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present, Unobservable, UnsafeFolder
from datum.model.plan import RESIDUE
from datum.provider.host import HostError, HostReader, Missing
from datum_providers.shared.account_files import IN_SHADOW, AccountFiles, PasswdLine, ShadowLine, as_json, read_gshadow
from datum_providers.shared.account_lines import has_left_group, subordinate_names
from datum_providers.shared.accounts import Accounts, Owners, is_number
from datum_providers.shared.safety import unsafe_above
from datum_providers.user.desired import (
    DAY_FIELDS,
    UNFINISHED,
    WITH_HOME,
    DesiredUser,
    date_of,
    password_form,
    split_lock,
)
from datum_providers.user.steps import home_of

NO_SHADOW: Final = NotApplicable("no-shadow")

_NO_AGING: Final[Mapping[str, FieldValue]] = dict.fromkeys(("expires", *DAY_FIELDS), NO_SHADOW)

_ROOT_UID: Final = 0
# The accounts of Debian's base-passwd and Fedora's setup: numbers that a distribution gives out once and for all.
_FIXED_UIDS: Final = range(1, 100)
_NOBODY: Final = 65534


def observe_users(reader: HostReader, desired: Mapping[str, DesiredUser]) -> Mapping[str, Observation]:
    """Return what is known of every user."""
    if not desired:
        return {}
    try:
        files = AccountFiles.read(reader, with_shadow=True)
        is_any_gone = any(name not in files.users for name in desired)
        subordinate = subordinate_names(reader) if is_any_gone else frozenset()
        look = Look(reader, files, read_gshadow(reader) or {}, subordinate)
    except HostError as error:
        return dict.fromkeys(desired, error.unobservable())
    return {name: look.at(desired[name]) for name in sorted(desired)}


@frozen
class Look:
    """One observation of many users."""

    reader: HostReader
    files: AccountFiles
    # Whom each group lists there.
    gshadow: Mapping[str, frozenset[str]]
    # Who has subordinate ids; nobody where every wanted user is there.
    subordinate: frozenset[str]

    def at(self, wanted: DesiredUser) -> Observation:
        """Look at one user."""
        try:
            complaint = self._complaint(wanted)
            if complaint is not None:
                return complaint
            line = self.files.users.get(wanted.name)
            return self._missing(wanted) if line is None else self._present(wanted, line)
        except HostError as error:
            return error.unobservable()

    def _complaint(self, wanted: DesiredUser) -> Unobservable | None:
        found = self.files.users.complaint(wanted.name)
        groups = (*(wanted.groups or ()), *((wanted.group,) if wanted.group else ()))
        return found or next(filter(None, map(self.files.groups.complaint, groups)), None)

    def _missing(self, wanted: DesiredUser) -> Observation:
        uid = self.reader.user_id(wanted.name)
        if uid is not None:
            return Present(
                {"foreign": True, "name": wanted.name, "uid": uid},
                obstacles=(f"{wanted.name} is no account of /etc/passwd: another source of nsswitch.conf has it.",),
            )
        fields = self._around(wanted)
        if self._has_left(wanted.name) or self._has_left_group(wanted):
            fields[RESIDUE] = True
        return Absent(fields, self._unsafe(wanted, wanted.uid, is_new=True))

    def _unsafe(self, wanted: DesiredUser, uid: int | None, *, is_new: bool) -> tuple[UnsafeFolder, ...]:
        """Return the directories through which somebody could turn elsewhere what is done to a home that is made.

        Args:
            wanted: what is declared.
            uid: of the account, where that is known.
            is_new: whether a home that is there is left alone.
        """
        try:
            home = self.reader.examine(home_of(wanted)) if wanted.creates_home else None
        except HostError:
            # Making it fails, and says why.
            return ()
        if home is None or (is_new and not isinstance(home, Missing)):
            return ()
        # As if nothing stood there: whoever owns what does may take it away by then.
        place, owners = Missing(home_of(wanted), exposures=home.exposures), Owners(str(uid or 0))
        return unsafe_above(self.reader, Accounts.of(self.reader), home_of(wanted), place, owners)

    def _has_left(self, name: str) -> bool:
        """Whether lines of a user who is gone are still there: userdel(8) writes passwd first."""
        shadow = self.files.shadow
        in_shadow = shadow is not None and (name in shadow or name in shadow.odd)
        return in_shadow or name in self.subordinate or (name in self.gshadow and name not in self.files.groups)

    def _has_left_group(self, wanted: DesiredUser) -> bool:
        return wanted.takes_group and has_left_group(self.reader, self.files, wanted.name)

    def _around(self, wanted: DesiredUser) -> dict[str, FieldValue]:
        """Return what stands in the way of what is wanted: groups that are not there, a uid that is somebody's."""
        fields: dict[str, FieldValue] = {}
        if wanted.group is not None and self._gid(wanted.group) is None:
            fields["group_known"] = False
        missing = tuple(group for group in wanted.groups or () if group not in self.files.groups)
        if missing:
            fields["missing_groups"] = missing
        holder = self.files.user_of(wanted.uid) if wanted.uid is not None else None
        line = self.files.users.get(wanted.name)
        if holder not in {None, wanted.name} and (line is None or line.uid != wanted.uid):
            fields["uid_of"] = holder
        return fields

    def _gid(self, group: str) -> int | None:
        """Return the number of a primary group, which need not be one of this host's files; None: there is none."""
        if is_number(group):
            number = int(group)
            is_known = self.files.group_of(number) is not None or self.reader.group_name(number) != group
            return number if is_known else None
        line = self.files.groups.get(group)
        return self.reader.group_id(group) if line is None else line.gid

    def _present(self, wanted: DesiredUser, line: PasswdLine) -> Present:
        is_bare = wanted.is_bare
        fields: dict[str, FieldValue] = {"name": line.name}
        if is_bare or wanted.uid is not None:
            fields["uid"] = line.uid
        if self._is_stranded(wanted, line):
            fields["stranded"] = True
        if is_bare or wanted.group is not None or wanted.groups is not None or "stranded" in fields:
            fields["group"] = self._group(wanted, line)
        if is_bare or wanted.groups is not None:
            fields["groups"] = self._groups(wanted, line)
        texts = (("comment", line.comment), ("home", line.home), ("shell", line.shell))
        fields.update((name, as_json(text)) for name, text in texts if is_bare or getattr(wanted, name) is not None)
        fields.update(self._secrets(wanted, line))
        fields.update(self._around(wanted))
        is_unfinished = self._is_unfinished(line)
        if is_unfinished:
            fields["unfinished"] = True
        unsafe = self._unsafe(wanted, line.uid, is_new=False) if is_unfinished else ()
        return Present(fields, obstacles=_obstacles(line) if is_bare else (), unsafe=unsafe)

    def _groups(self, wanted: DesiredUser, line: PasswdLine) -> tuple[str, ...]:
        """Return the groups that list it; of wanted ones those that do so in gshadow, too, which is written last."""
        listing, asked = self.files.groups_listing(line.name), set(wanted.groups or ())
        return tuple(
            group for group in listing if group not in asked or line.name in self.gshadow.get(group, {line.name})
        )

    def _is_stranded(self, wanted: DesiredUser, line: PasswdLine) -> bool:
        """Whether its primary group is gone, and one of its name is there: groupmod(8) writes passwd after group."""
        if wanted.group is not None or line.name not in self.files.groups or self.files.group_of(line.gid) is not None:
            return False
        return self.reader.group_name(line.gid) == str(line.gid)

    def _group(self, wanted: DesiredUser, line: PasswdLine) -> str:
        """Return the primary group as it is wanted if it is that one, else its name, else its number."""
        if wanted.group is not None:
            if self._gid(wanted.group) == line.gid:
                return wanted.group
            if is_number(wanted.group):
                return str(line.gid)
        name = self.files.group_of(line.gid)
        return str(line.gid) if name is None or is_number(name) else as_json(name)

    def _secrets(self, wanted: DesiredUser, line: PasswdLine) -> dict[str, FieldValue]:
        """Return what shadow says, and of the password only as much as is wanted: that there is none is always told."""
        names = [*(("password",) if wanted.password is not None else ())]
        names += [name for name in ("locked", "expires") if wanted.is_bare or getattr(wanted, name) is not None]
        names += [name for name in DAY_FIELDS if wanted.is_bare or name in wanted.days]
        text = self.files.password_of(line)
        if isinstance(text, Unobservable):
            return dict.fromkeys(names, text)
        is_locked, rest = split_lock(text)
        password = password_form(rest, wanted.password)
        known: dict[str, FieldValue] = {"password": password, "locked": is_locked, **self._aging(line)}
        fields = {name: known[name] for name in names}
        if not text:
            fields["passwordless"] = True
        return fields

    def _aging(self, line: PasswdLine) -> Mapping[str, FieldValue]:
        shadow = self.files.shadow
        if shadow is None:
            return _NO_AGING
        secret = shadow.get(line.name, ShadowLine(line.name, ""))
        days = (secret.minimum, secret.maximum, secret.warn, secret.inactive)
        numbers = {name: -1 if number is None else number for name, number in zip(DAY_FIELDS, days, strict=True)}
        return {"expires": date_of(secret.expires), **numbers}

    def _is_unfinished(self, line: PasswdLine) -> bool:
        """Whether its making was interrupted: useradd(8) writes passwd first, then shadow, the groups, and the home."""
        if line.uid < _FIXED_UIDS.stop or line.uid == _NOBODY:
            return False
        shadow = self.files.shadow
        if shadow is None or line.name in shadow or line.password != IN_SHADOW:
            return self.files.password_of(line) in {UNFINISHED, WITH_HOME}
        is_alone = line.name not in shadow.odd and not self.files.groups_listing(line.name)
        return is_alone and isinstance(self.reader.examine(line.home or "/"), Missing)


def _obstacles(line: PasswdLine) -> tuple[str, ...]:
    if line.uid == _ROOT_UID:
        return (f"{line.name} has uid 0, without which there is no administrator.",)
    if line.uid in _FIXED_UIDS or line.uid == _NOBODY:
        return (f"{line.name} is an account of the operating system (uid {line.uid}).",)
    return ()
