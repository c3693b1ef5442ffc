"""Give the host its names. Changes the host."""

from typing import Final

from datum.model.content import Content
from datum.model.plan import Step
from datum.provider.host import FileWrite, HostWriter
from datum_providers.hostname.desired import HOSTNAME, KEY, MACHINE_INFO, DesiredHostname
from datum_providers.hostname.lines import with_pretty
from datum_providers.hostname.look import is_set_by_cloud, paths_of, read
from datum_providers.shared.kernel import kernel_path

CLOUD: Final = (
    "cloud-init gives this host a name of its own data at each boot: put 'preserve_hostname: true' into a file of "
    "/etc/cloud/cloud.cfg.d."
)


def apply_hostname(writer: HostWriter, desired: DesiredHostname, step: Step) -> None:
    """Do the step; a host has a name always, so there is no step that takes it away.

    Raises:
        HostError: it failed.
    """
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        for path in paths_of(desired):
            writer.remove_residue(path)
    if "static" in changed and desired.static is not None:
        if is_set_by_cloud(writer):
            writer.remark(CLOUD)
        writer.write_file(HOSTNAME, FileWrite(Content.from_bytes(f"{desired.static}\n".encode())))
    if "running" in changed and desired.static is not None:
        writer.set_kernel_value(kernel_path(KEY), f"{desired.static}\n".encode())
    if "pretty" in changed and desired.pretty is not None:
        data = with_pretty(read(writer, MACHINE_INFO), desired.pretty)
        writer.write_file(MACHINE_INFO, FileWrite(Content.from_bytes(data)))
