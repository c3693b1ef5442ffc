"""What a kernel key is now, and what it will be after a boot. Reads the host; changes nothing."""

from collections.abc import Mapping
from typing import Final

from datum.model.observation import Absent, FieldValue, NotApplicable, Observation, Present
from datum.provider.host import FileKind, HostError, HostReader, Missing
from datum_providers.shared.kernel import NO_KERNEL, READ_ONLY, seen_value
from datum_providers.shared.kinds import seen_parent, seen_residue
from datum_providers.shared.other_kinds import in_place_of_file
from datum_providers.sysctl.boot import LIMIT, BootFiles
from datum_providers.sysctl.desired import FOLDER, DesiredSysctl
from datum_providers.sysctl.lines import settings_of, text_for

NOT_READ_BACK: Final = NotApplicable("read-back-ignored")
"""The declaration says that what the kernel answers is not to be compared."""


def observe_sysctls(reader: HostReader, desired: Mapping[str, DesiredSysctl]) -> Mapping[str, Observation]:
    """Answer for every key; a file of others is read once for all."""
    boot = BootFiles(reader)
    return {name: _observe(reader, boot, desired[name]) for name in sorted(desired)}


def _observe(reader: HostReader, boot: BootFiles, wanted: DesiredSysctl) -> Observation:
    try:
        facts = reader.examine(wanted.path)
        fields = {**_running(reader, wanted), **seen_residue(facts)}
        shadow = boot.shadow_of(wanted) if wanted.value is not None else None
        if shadow is not None:
            fields["shadowed_by"] = shadow
        if isinstance(facts, Missing):
            return Absent({**fields, **_parent(wanted, facts)})
        if facts.kind is not FileKind.REGULAR:
            other = in_place_of_file(wanted.path, facts.kind.value)
            return Present({**fields, "kind": facts.kind.value}, identity=facts.identity, obstacles=(other,))
        return Present({**_persistent(reader, wanted), **fields}, identity=facts.identity)
    except HostError as error:
        return error.unobservable()


def _running(reader: HostReader, wanted: DesiredSysctl) -> dict[str, FieldValue]:
    """Return the running value; None where the kernel has no such key."""
    value = seen_value(reader, wanted.key)
    if wanted.not_read_back is not None and value not in {None, NO_KERNEL, READ_ONLY}:
        return {"value": NOT_READ_BACK}
    return {"value": value}


def _persistent(reader: HostReader, wanted: DesiredSysctl) -> dict[str, FieldValue]:
    text = reader.read_file(wanted.path, limit=LIMIT).decode("utf-8", "backslashreplace")
    values = [one.value for one in settings_of(text) if one.key == wanted.key]
    if not values:
        return {"persistent": None}
    is_own = text == text_for(wanted.key, values[-1])
    return {"persistent": values[-1], **({} if is_own else {"edited": True})}


def _parent(wanted: DesiredSysctl, facts: Missing) -> dict[str, FieldValue]:
    """Return what is missing above the directory of the file, which is made along with it."""
    return {} if facts.first == FOLDER else seen_parent(wanted.path, facts)
