"""Who reads revisions for a command: a process without powers where this is root on the running system.

Effects: starts that process, and ends it with the command; from then on no core of root's own is written. Commands that
do not come by here, as they neither talk to a source nor hold what it is shown, write their cores as ever.
"""

import importlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from attrs import evolve

from datum.agent.ports import Ports
from datum.agent.resolver.identity import resolver_ids
from datum.diagnostics import Diagnostic, Severity
from datum.errors import PermissionRefusedError, StateError
from datum.provider.contract import AnyProvider

_MEMORY: Final = 2 << 30
_CPU_SECONDS: Final = 600


@contextmanager
def reading(ports: Ports, *, is_running_system: bool) -> Iterator[Ports]:
    """Give ports whose revisions are read by whom they are to be read by, for as long as the command takes.

    To be entered before anything secret is open: what is in memory by then, the process has, too.

    Args:
        ports: of the command.
        is_running_system: whether the command concerns the running system. Below another root, and for whoever is not
            root, revisions are read by this process: who asks may read and write what it could.

    Raises:
        PermissionRefusedError: `resolver-not-started`.
    """
    if os.geteuid() == 0:
        from datum.host.undumped import write_no_core

        # For whoever is not root it would shut the process out of its own files below /proc; his cores are his.
        write_no_core()
    if not is_running_system or os.geteuid() != 0:
        yield ports
        return
    from datum.agent.resolver.asked import AskedManifests
    from datum.agent.resolver.asking import Conversation
    from datum.agent.resolver.own import OwnManifests
    from datum.agent.resolver.serving import serve
    from datum.host.powerless import Bounds, Identity, start_powerless
    from datum.repository.sharing import share_store

    uid, gid = resolver_ids()
    try:
        child = start_powerless(
            partial(serve, OwnManifests(ports.providers, ports.agent)),
            Identity(uid, gid),
            Bounds(_MEMORY, _CPU_SECONDS),
            prepare=partial(_load, ports.providers.values()),
        )
    except OSError as error:
        raise _not_started(error) from error
    conversation = Conversation(child)

    def share(path: Path) -> None:
        try:
            share_store(path, gid)
        except OSError as error:
            raise _not_shared(path, error) from error

    try:
        manifests = AskedManifests(ports.providers, conversation, share, gid)
        yield evolve(ports, manifests=manifests, notes=(*ports.notes, *_notes(child.bare)))
    finally:
        conversation.close()


def _load(providers: Iterable[AnyProvider]) -> None:
    """In the process, while it has its rights: load what reads revisions; all of it, if it could not later."""
    for name in ("datum.fleet.resolve", "datum.repository.objects"):
        importlib.import_module(name)
    if not all(map(_is_open, (Path(sys.prefix), Path(sys.base_prefix), *_sources()))):
        from datum.agent.preload import load_rest

        load_rest(providers, reads_revisions=True)


def _sources() -> Iterator[Path]:
    for name in ("os", "datum", "pygit2"):
        found = sys.modules[name].__file__
        if found is not None:
            yield Path(found).parent


def _is_open(folder: Path) -> bool:
    """Whether everybody may read a folder, as far as the modes on the way say it."""
    place = folder.resolve()
    return all(each.stat().st_mode & stat.S_IXOTH for each in (place, *place.parents))


def _notes(bare: str) -> tuple[Diagnostic, ...]:
    if not bare:
        return ()
    return (
        Diagnostic(
            code="resolver-not-enclosed",
            summary="What reads revisions has no namespaces of its own.",
            detail=f"It runs without rights, as an account of its own. If it is taken over by a revision, it could see "
            f"the processes of this host and make empty files, and a process that it starts may outlive the command "
            f"and end the resolver of a later one: {bare}.",
            hint="let the agent have CAP_SYS_ADMIN",
            severity=Severity.NOTE,
        ),
    )


def _not_shared(path: Path, error: OSError) -> StateError:
    return StateError(
        Diagnostic(
            code="state-not-writable",
            summary="The state directory cannot be written.",
            detail=f"{error.filename or path}: {error.strerror}. What reads revisions is to be let in, and is not yet.",
            hint="Make room, make the file system writable, or run as the user that owns the directory.",
        )
    )


def _not_started(error: OSError) -> PermissionRefusedError:
    return PermissionRefusedError(
        Diagnostic(
            code="resolver-not-started",
            summary="What reads revisions could not be started.",
            detail=f"Revisions are read by a process that gives up all rights, and it could not: {error.strerror}.",
            hint="let the agent have CAP_SETUID, CAP_SETGID and CAP_SETPCAP, and room for one more process",
        )
    )
