"""Puts the rooms together for one command: host, mirror, pointer. Effects begin here."""

import io
import os
import pwd
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from datum.agent.desired import Wanted
from datum.agent.hints import completed, init_line
from datum.agent.one_pass import Hosts
from datum.agent.resolver.identity import resolver_ids
from datum.agent.settings import DEFAULT_REF, SOURCE_ACCOUNT, Settings
from datum.agent.story import PointerStore
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, PermissionRefusedError, SettingsError, UsageError
from datum.host.local import LocalHost
from datum.host.machine import read_machine
from datum.host.names import Account
from datum.host.program import run_program
from datum.host.view import View
from datum.model.content import Content
from datum.model.graph import ResourceGraph
from datum.model.pointer import Pointer
from datum.model.revision import Revision
from datum.model.source import SourceTree
from datum.provider.host import HostError, HostReader, ProgramRunner
from datum.repository.account import PROGRAMS, Door, SourceAccount
from datum.repository.mirror import Mirror
from datum.state.lock import HOST_LOCK
from datum.state.pointer_file import read_pointer, write_pointer

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_OF_OTHERS: Final = ("/home", "/root", "/run/user")
# Where somebody keeps the state in one of these, no program could run with it hidden.
_OF_THE_SYSTEM: Final = frozenset({"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/usr"})


def open_host(
    settings: Settings, wanted: Wanted, *, runs_programs: bool = True, asked: set[str] | None = None
) -> LocalHost:
    """Return the host below the root of the pass, whose bytes come from the tree.

    The agent's own places are protected: no resource may reach them (design 3.4).

    Args:
        settings: of the pass.
        wanted: what is wanted: its tree, and the directories that it lets a group write.
        runs_programs: whether a resource may have programs run.
        asked: what `HostReader.once` was asked for in this pass, where it opens several hosts.

    Raises:
        UsageError: the root is out of reach.
    """
    try:
        return LocalHost(
            settings.root,
            own_places(settings),
            opener(wanted.tree),
            shared=shared_directories(wanted.graph),
            runs_programs=runs_programs,
            asked=asked,
        )
    except HostError as error:
        raise UsageError(*error.diagnostics) from error


def own_places(settings: Settings) -> tuple[str, ...]:
    """Return what no resource may reach: state, configuration with trust, and what keeps other passes from this one."""
    lock = (str(HOST_LOCK),) if settings.is_running_system else ()
    return (str(settings.state_dir), str(settings.config.parent), *lock)


def shared_directories(graph: ResourceGraph) -> Mapping[str, str]:
    """Return the group, by name or digits, of each directory that a resource declares writable for it (design 4.7)."""
    return {
        target.key: target.shared_with
        for node in graph.nodes.values()
        for target in node.targets
        if target.kind == "path" and target.shared_with
    }


@contextmanager
def open_hosts(
    settings: Settings,
    *,
    runs_programs: bool = True,
    waiting: Callable[[str], None] | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
) -> Iterator[Hosts]:
    """Give readers and writers for one pass, and close what is open after it.

    Args:
        settings: of the pass.
        runs_programs: False for a revision that nobody accepted: no command of its manifest runs.
        waiting: called with the unit of each scope of an earlier pass that a look waits for, before that.
        is_stopping: whether the pass was told to end.
    """
    opened: list[LocalHost] = []
    asked: set[str] = set()
    waited: list[str] = []

    def wait(unit: str) -> None:
        waited.append(unit)
        if waiting is not None:
            waiting(unit)

    def opening(wanted: Wanted) -> LocalHost:
        host = open_host(settings, wanted, runs_programs=runs_programs, asked=asked)
        host.tell_waiting(wait)
        host.heed_stopping(is_stopping)
        return host

    @contextmanager
    def reader(wanted: Wanted) -> Iterator[HostReader]:
        opened.append(opening(wanted))
        yield opened[-1].reader()

    def newest(wanted: Wanted) -> LocalHost:
        if not opened:
            opened.append(opening(wanted))
        return opened[-1]

    try:
        yield Hosts(
            reader=reader,
            writer=lambda wanted: newest(wanted).writer(),
            staging=lambda wanted: newest(wanted).staging(),
            machine=lambda: read_machine(settings.root, is_running_system=settings.is_running_system),
            waited=waited,
        )
    finally:
        for host in opened:
            host.close()


def opener(tree: SourceTree) -> Callable[[Content], BinaryIO]:
    """Return what opens the bytes that a `Content` names in this tree."""

    def open_content(content: Content) -> BinaryIO:
        try:
            found = tree.open_blob(content.blob)
        except DatumError as error:
            raise unreachable(error) from error
        return found if isinstance(found, io.BytesIO) else io.BufferedReader(HostStream(found), io.DEFAULT_BUFFER_SIZE)

    return open_content


class HostStream(io.RawIOBase):
    """A stream of the repository whose errors are those of the host room."""

    def __init__(self, source: BinaryIO) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        """Whether it can be read, as it can."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read some bytes.

        Raises:
            HostError: the object turns out to be damaged.
        """
        view = memoryview(buffer).cast("B")
        try:
            data = self._source.read(len(view))
        except DatumError as error:
            raise unreachable(error) from error
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the source."""
        self._source.close()
        super().close()


def unreachable(error: DatumError) -> HostError:
    """Return the failure of a resource whose bytes cannot be had."""
    return HostError(str(error), code="content-unreachable", hint=error.diagnostics[0].hint)


def require_rights(settings: Settings) -> None:
    """Refuse a pass on the running system that cannot see or change all of it.

    Raises:
        PermissionRefusedError: this is the running system, and the caller is not root.
    """
    require_root(settings.root)


def require_root(root: str) -> None:
    """Refuse what only root can do on the running system.

    Args:
        root: `/` for the running system; below another one the rights of its files decide.

    Raises:
        PermissionRefusedError: this is the running system, and the caller is not root.
    """
    if root == "/" and os.geteuid() != 0:
        raise PermissionRefusedError(
            Diagnostic(
                code="not-root",
                summary="This needs root.",
                detail="Only root sees all of the running system, and may change it.",
                hint="run it as root, or with --root DIR against another root",
            )
        )


def source_account(settings: Settings) -> SourceAccount | None:
    """Return the account under which foreign servers are talked to; None: there is none, so as this process.

    Raises:
        SettingsError: the configuration names one that does not exist.
    """
    if not settings.is_running_system or os.geteuid() != 0:
        return None
    name = settings.source_account or SOURCE_ACCOUNT
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        if not settings.source_account:
            return None
        raise SettingsError(
            Diagnostic(
                code="source-account-missing",
                summary="The account of the source does not exist.",
                detail=f"{settings.config} names '{name}' as source.account, and this host has no such user.",
                hint=f"useradd --system --no-create-home --shell /usr/sbin/nologin {name}",
            )
        ) from None
    if not found.pw_uid:
        return None
    # What reads revisions reads the mirror, too: one group for both, since each would shut out the other.
    _, readers = resolver_ids()
    account = Account(name, found.pw_uid, found.pw_gid, groups=(found.pw_gid, readers))
    door = source_door(account, _hidden(settings))
    return SourceAccount(found.pw_uid, found.pw_gid, door(), door, readers)


def source_door(account: Account, hidden: tuple[str, ...]) -> Door:
    """Return what gives doors through which an account's programs see few files.

    Args:
        account: of whom the programs are.
        hidden: folders and files that seem to be empty, but for what a door is asked to show.
    """
    # The second look at a server is a program of Python's.
    programs = (PROGRAMS, sys.prefix, sys.base_prefix)

    def door(*, writable: Sequence[str] = (), readable: Sequence[str] = ()) -> ProgramRunner:
        view = View(tuple(writable), hidden, (*readable, *programs))
        return partial(run_program, account=account, is_enclosed=True, view=view)

    return door


def _hidden(settings: Settings) -> tuple[str, ...]:
    """Return what no program that talks to servers is to see: of others, of the agent, and all secrets."""
    own = (str(settings.state_dir), str(settings.reports_dir))
    secrets = (path for remote in settings.remotes for path in remote.secrets)
    return (*_OF_OTHERS, *(path for path in own if path not in _OF_THE_SYSTEM), *secrets)


def not_enrolled(settings: Settings) -> SettingsError:
    """Return the error of a host that has no pointer."""
    return SettingsError(
        Diagnostic(
            code="not-enrolled",
            summary="This host is not enrolled.",
            detail=f"There is no pointer at {settings.pointer_path}: nothing was accepted here yet. First contact "
            "is an explicit act.",
            hint=enrol_line(settings),
        )
    )


def own_pointer(settings: Settings) -> Pointer | None:
    """Return the pointer as it lies there, None when there is none.

    Raises:
        StateError: it is there and cannot be used.
        PermissionRefusedError: the caller may not read it.
    """
    with completed(enrol_line(settings)):
        return read_pointer(settings.pointer_path)


def enrol_line(settings: Settings, *, anchor: str = "") -> str:
    """Return the command that enrols this host, below its root."""
    ref = "" if settings.ref == DEFAULT_REF else settings.ref
    return init_line(settings.repo, str(settings.host), settings.where, ref=ref, anchor=anchor)


def lasting_store(settings: Settings, mirror: Mirror, pointer: Pointer) -> PointerStore:
    """Return a store that writes: refs in the mirror are set before the pointer and dropped after it."""

    def write(before: Pointer, after: Pointer) -> None:
        mirror.keep([*_needed(before), *_needed(after)])
        write_pointer(settings.pointer_path, after)
        mirror.keep(_needed(after))

    return PointerStore(pointer, write)


def _needed(pointer: Pointer) -> list[Revision]:
    revisions = [entry.revision for entry in pointer.trail]
    revisions += [one for one in (pointer.accepted, pointer.previous, pointer.converged) if one is not None]
    return revisions
