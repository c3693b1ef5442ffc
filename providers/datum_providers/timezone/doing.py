"""Give the host its time zone. Changes the host."""

from datum.model.content import Content
from datum.model.plan import Step
from datum.provider.host import FileWrite, HostWriter, LinkWrite
from datum_providers.timezone.desired import LOCALTIME, TIMEZONE, DesiredTimezone, link_to


def apply_timezone(writer: HostWriter, desired: DesiredTimezone, step: Step) -> None:
    """Do the step; a host has a time zone always, so there is no step that takes it away.

    Raises:
        HostError: it failed.
    """
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        for path in (LOCALTIME, TIMEZONE):
            writer.remove_residue(path)
    if desired.zone is None:
        return
    if changed & {"kind", "zone"}:
        # A copy of a zone gives way: it can be had again, and is out of date with the next tz database.
        writer.write_link(LOCALTIME, LinkWrite(link_to(desired.zone), takes=()))
    if "etc_timezone" in changed:
        writer.write_file(TIMEZONE, FileWrite(Content.from_bytes(f"{desired.zone}\n".encode())))
