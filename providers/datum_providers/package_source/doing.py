"""Carry out one step on one source: the key before what trusts it, and away after it. Changes the host."""

from datum.model.content import Content
from datum.model.plan import Operation, Step, sweeps
from datum.model.result import FailureCause
from datum.provider.host import DirectoryWrite, FileFacts, HostError, HostWriter, Missing
from datum_providers.package_source.desired import KEYRINGS, DesiredSource
from datum_providers.package_source.look import KEY
from datum_providers.package_source.steps import rewrites_source
from datum_providers.shared.root_files import correct_attributes, remove_file, write_file


def apply_source(writer: HostWriter, desired: DesiredSource, step: Step) -> None:
    """Do the step.

    Raises:
        HostError: it failed.
    """
    changed = {change.name for change in step.changes}
    if "residue" in changed:
        _sweep(writer, desired)
    if sweeps(step.changes):
        return
    if step.operation is Operation.DELETE:
        _remove(writer, desired, step)
        return
    takes = step.takes if step.operation is Operation.REPLACE else None
    if desired.keys is not None:
        _apply_key(writer, desired, changed, takes)
    if rewrites_source(step):
        _write(writer, desired, takes)
    else:
        correct_attributes(writer, desired.path, changed)


def _write(writer: HostWriter, desired: DesiredSource, takes: tuple[str, ...] | None) -> None:
    if desired.stanza is None:
        raise HostError(f"Nothing is declared for {desired.path}.", failure=FailureCause.IMPOSSIBLE)
    content = Content.from_bytes(desired.stanza.render().encode())
    write_file(writer, desired.path, content, takes=takes, validate=())
    if isinstance(writer.examine(desired.old_path), FileFacts):
        writer.remark(f"{desired.old_path} is there, too, and apt reads both: nothing was done to it")


def _remove(writer: HostWriter, desired: DesiredSource, step: Step) -> None:
    remove_file(writer, desired.path, step)
    if desired.has_key:
        remove_file(writer, desired.key_path, step, prefix=KEY)


def _apply_key(writer: HostWriter, desired: DesiredSource, changed: set[str], takes: tuple[str, ...] | None) -> None:
    if not changed & {"key", f"{KEY}kind"}:
        correct_attributes(writer, desired.key_path, changed, prefix=KEY)
        return
    uid, gid = writer.caller
    if isinstance(writer.examine(KEYRINGS), Missing):
        writer.make_directory(KEYRINGS, DirectoryWrite("0755", uid, gid))
    write_file(writer, desired.key_path, Content.from_bytes(desired.keys or b""), takes=takes, validate=())


def _sweep(writer: HostWriter, desired: DesiredSource) -> None:
    for path in (desired.path, desired.key_path) if desired.has_key else (desired.path,):
        facts = writer.examine(path)
        if facts.has_residue:
            writer.remove_residue(path)
