"""The whole diagnosis: every group in its turn, whatever the others came to (row M14).

Effects: those of the groups.
"""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from attrs import evolve

from datum.agent.doctor import clock, configuration, disk, fleet, keeping, passes, permissions, source, units, versions
from datum.agent.doctor.catalogue import CHECKS, GROUPS
from datum.agent.doctor.finding import Diagnosis, Finding, not_checked
from datum.agent.doctor.given import Given
from datum.agent.doctor.shelter import sheltered
from datum.agent.hints import whereabouts
from datum.agent.places import below
from datum.agent.ports import Ports
from datum.agent.settings import REPORTS_DIR, STATE_DIR, Options, config_path, root_of
from datum.errors import DatumError, UsageError
from datum.model.identity import HostName
from datum.model.revision import Revision
from datum.model.source import SourceTree


def examine(
    options: Options, ports: Ports, *, types_error: DatumError | None = None, reader_error: DatumError | None = None
) -> Diagnosis:
    """Look at everything, and leave no trace.

    Args:
        options: of the command line.
        ports: clock, types and the program door.
        types_error: why types cannot be told; `ports` has none then.
        reader_error: why what reads revisions could not be started; none is read then.

    Raises:
        UsageError: an option is wrong.
    """
    given, findings = _begin(options, ports)
    given = evolve(given, types_error=types_error, reader_error=reader_error)
    findings += _local(given)
    findings += _source(given)
    places = {name: place for place, name in enumerate(GROUPS)}
    return Diagnosis(tuple(sorted(findings, key=lambda each: places[CHECKS[each.check].group])))


def _begin(options: Options, ports: Ports) -> tuple[Given, list[Finding]]:
    """Read configuration and pointer, which the groups are given as far as they can be used."""
    root, config, is_root = root_of(options), config_path(options), os.geteuid() == 0
    configured = configuration.read_configuration(options, config, ports.manifests.yaml, is_root=is_root)
    settings = configured.settings
    given = Given(
        options,
        ports,
        root,
        config,
        settings.state_dir if settings else _place(root, options.state_dir or STATE_DIR),
        settings.reports_dir if settings else _place(root, REPORTS_DIR),
        whereabouts(root=root, config=options.config, state_dir=options.state_dir),
        settings,
        environment=os.environ,
        is_root=is_root,
    )
    rights = partial(configuration.look_at_rights, config)
    findings = [configured.finding, *sheltered(("configuration-rights",), rights, is_root=is_root)]
    kept: list[keeping.Kept] = []

    def look() -> Iterator[Finding]:
        kept.append(keeping.read_kept(given))
        yield kept[0].finding

    findings += sheltered(("pointer",), look, is_root=is_root)
    if kept:
        given = evolve(given, pointer=kept[0].pointer, is_pointer_known=kept[0].is_known)
    return given, findings


def _place(root: str, path: str) -> Path:
    """Return a place that the configuration does not say; where a link leads it out of the root, without the link."""
    try:
        return below(root, path)
    except UsageError:
        return Path(root) / path.lstrip("/")


def _local(given: Given) -> Iterable[Finding]:
    """Look at all but the source; each look by itself."""
    looks = (
        (("source-account",), source.look_at_account),
        (("state-directory",), keeping.look_at_directory),
        (("mirror",), keeping.look_at_mirror),
        (("quarantined-revisions",), keeping.look_at_quarantined),
        (("pass-lock",), keeping.look_at_lock),
        (("clock-synchronized",), clock.look_at_kernel),
        (("clock-of-reports",), clock.look_at_reports),
        (disk.NAMES, disk.look),
        (("unnamed-files",), disk.look_at_unnamed),
        (("private-mounts",), disk.look_at_private_mounts),
        (permissions.NAMES, permissions.look),
        (("revision-reader",), permissions.look_at_reader),
        (units.NAMES, units.look),
        (versions.NAMES, versions.look),
        (("resource-types",), fleet.look_at_types),
        (passes.NAMES, passes.look),
        (("enforcement",), passes.look_at_enforcement),
    )
    for names, look in looks:
        yield from sheltered(names, partial(look, given), is_root=given.is_root)


def _source(given: Given) -> list[Finding]:
    """Ask the remotes, and resolve what they offer; the enforced revision where they offer nothing acceptable."""
    consulted: list[source.Consultation] = []
    names = source.names_of(given)

    def look() -> Iterator[Finding]:
        reason = _why_not_asked(given)
        if given.settings is None or reason:
            yield from source.not_asked(given, reason)
            return
        resolve = partial(_resolved, given, given.settings.host)
        consulted.append(source.Inquiry(given, given.settings, resolve).ask())
        yield from consulted[0].findings

    findings = list(sheltered(names, look, is_root=given.is_root))
    if "clock-of-source" not in {each.check for each in findings}:
        findings.append(not_checked("clock-of-source", "Nothing of the source was seen that tells a time."))
    if consulted and consulted[0].fleet is not None:
        return [*findings, *consulted[0].fleet]
    return [*findings, *sheltered(("manifest",), partial(fleet.look_at_enforced, given), is_root=given.is_root)]


def _resolved(given: Given, host: HostName, tree: SourceTree, revision: Revision) -> tuple[Finding, ...]:
    def look() -> Iterator[Finding]:
        yield fleet.judge_manifest(given, host, tree, revision)

    return sheltered(("manifest",), look, is_root=given.is_root)


def _why_not_asked(given: Given) -> str:
    if given.options.is_offline:
        return "--offline: the source is not asked."
    if given.reader_error is not None:
        return "What reads revisions could not be started: see revision-reader."
    return ""
