"""The looking half of a host in memory."""

import errno
from collections.abc import Collection, Iterator, Mapping
from functools import partial

from datum.host.kernel import check_kernel_path, kernel_error
from datum.host.residue import residue_name
from datum.model.content import blob_id
from datum.model.observation import Cause, Machine
from datum.model.result import FailureCause
from datum.provider.host import Below, Command, CommandOutcome, Exposure, FileFacts, FileKind, HostError, Missing
from datum.provider.manager import ManagerReader, MountEntry
from datum.provider.paths import is_below, normal_path, parents
from datum.testing.manager import FakeManager
from datum.testing.world import OTHERS_WRITE, STICKY, Answer, FakeFile, FakeWorld, Player, system_error


class FakeReader:
    """`HostReader` over a `FakeWorld`; has no method that changes anything."""

    def __init__(self, world: FakeWorld, *, machine: Machine, caller: tuple[int, int], is_running_system: bool) -> None:
        self._world = world
        self._machine = machine
        self._caller = caller
        self._is_running_system = is_running_system

    @property
    def is_running_system(self) -> bool:
        """As `HostReader`."""
        return self._is_running_system

    @property
    def caller(self) -> tuple[int, int]:
        """As `HostReader`."""
        return self._caller

    def examine(self, path: str, *, blob: str = "") -> FileFacts | Missing:
        """As `HostReader`."""
        self._world.enter("examine", path)
        real = self._world.real(path)
        residue = real in self._world.residues
        missing = self._walk(path)
        if missing is not None:
            return Missing(missing, exposures=self._exposures(missing))
        found = self._world.files.get(real)
        if found is None:
            return Missing(path, residue, self._exposures(real))
        return FileFacts(
            found.kind,
            found.mode,
            found.uid,
            found.gid,
            len(found.data),
            blob=blob_id(found.data, blob) if blob and found.kind is FileKind.REGULAR else "",
            links=found.links,
            is_mount_point=self._world.is_mount_point(real),
            has_residue=residue,
            without=self._without(real),
            identity=f"fake:{real}" if found.links == 1 and found.kind is not FileKind.DIRECTORY else "",
            link=found.link,
            modified=found.modified,
            exposures=self._exposures(real),
        )

    def read_file(self, path: str, *, limit: int) -> bytes:
        """As `HostReader`."""
        self._world.enter("read_file", path)
        found = self._find(path)
        if found.kind is not FileKind.REGULAR:
            raise HostError(f"'{path}' is no regular file.", code="not-a-file")
        return found.data[:limit]

    def list_directory(self, path: str, *, leftovers: bool = False) -> tuple[str, ...]:
        """As `HostReader`."""
        self._world.enter("list_directory", path)
        if path != "/" and self._find(path).kind is not FileKind.DIRECTORY:
            raise system_error(errno.ENOTDIR, path)
        real = self._world.real(path)
        if leftovers:
            beside = (other for other in self._world.residues if parents(other)[:1] == (real,))
            return tuple(sorted(residue_name(other.rpartition("/")[2], real) for other in beside))
        names = (other for other in self._world.files if parents(other)[:1] == (real,))
        return tuple(sorted(other.rpartition("/")[2] for other in names))

    def below(self, path: str, *, limit: int) -> Below:
        """As `HostReader`."""
        self._world.enter("below", path)
        real = self._world.real(path)
        top = self._world.files.get(real)
        if self._walk(path) is not None or (path != "/" and (top is None or top.kind is not FileKind.DIRECTORY)):
            return Below()
        found = self._world.below(real)
        mounts = [other for other in found if self._world.is_mount_point(other)]
        seen = [other for other in found if not any(is_below(other, mount) and other != mount for mount in mounts)]
        if len(seen) > limit:
            raise HostError(f"'{path}' holds more than {limit} entries.", code="too-many-entries", discounted=True)
        if top is not None and self._world.is_mount_point(real):
            mounts.insert(0, real)
        left = sorted(self._leftovers_below(real, seen))
        as_asked = [tuple(path + other[len(real) :] for other in paths) for paths in (seen, mounts, left)]
        return Below(*as_asked) if path != "/" else Below(tuple(seen), tuple(mounts), tuple(left))

    def user_id(self, name: str) -> int | None:
        """As `HostReader`."""
        self._world.enter("user_id", name)
        return self._world.users.get(name)

    def group_id(self, name: str) -> int | None:
        """As `HostReader`."""
        self._world.enter("group_id", name)
        return self._world.groups.get(name)

    def user_name(self, uid: int) -> str:
        """As `HostReader`."""
        self._world.enter("user_name", str(uid))
        return _name_of(self._world.users, uid)

    def group_name(self, gid: int) -> str:
        """As `HostReader`."""
        self._world.enter("group_name", str(gid))
        return _name_of(self._world.groups, gid)

    def package_of(self, path: str) -> str | None:
        """As `HostReader`."""
        self._world.enter("package_of", path)
        return self._world.packages.get(path)

    def machine(self) -> Machine:
        """As `HostReader`."""
        self._world.enter("machine", "")
        return self._machine

    def query(self, command: Command) -> CommandOutcome:
        """As `HostReader`; a program that the fake does not know as one that only asks is refused."""
        self._world.enter("query", " ".join(command.argv))
        return self._answer(command, self._world.queries, self._world.asking_players, "query")

    def manager(self) -> ManagerReader | None:
        """As `HostReader`."""
        return FakeManager(self._world) if self._has_manager() else None

    def kernel_value(self, path: str) -> bytes | None:
        """As `HostReader`."""
        self._world.enter("kernel_value", path)
        check_kernel_path(path)
        key = self._world.kernel.get(path) if self._is_running_system else None
        if key is not None and key.is_write_only:
            raise kernel_error(errno.EACCES, path, "read")
        return None if key is None else key.data

    def mount_entries(self) -> tuple[MountEntry, ...]:
        """As `HostReader`."""
        self._world.enter("mount_entries", "")
        return tuple(self._world.mounts) if self._is_running_system else ()

    def await_scope(self, name: str, seconds: float) -> bool:  # noqa: ARG002 - no time passes here
        """As `HostReader`; a scope of this name that ends does so now."""
        self._world.enter("await_scope", name)
        if name not in self._world.scopes:
            return True
        ending = self._world.scopes[name]
        if ending is None:
            return False
        del self._world.scopes[name]
        ending(self._world)
        return True

    def once(self, key: str) -> bool:
        """As `HostReader`; `FakeHost.close` and `heal` end the pass."""
        self._world.enter("once", key)
        is_first = key not in self._world.asked
        self._world.asked.add(key)
        return is_first

    def _has_manager(self) -> bool:
        self._world.enter("manager", "")
        return self._is_running_system and self._world.manager.is_there

    def _answer(
        self,
        command: Command,
        known: Mapping[tuple[str, ...], Answer],
        players: Mapping[str, Player],
        method: str,
    ) -> CommandOutcome:
        text = " ".join(command.argv)
        answer = known.get(command.argv)
        player = players.get(command.argv[0].rpartition("/")[2])
        if answer is None and player is not None:
            answer = partial(_play, player, command)
        if answer is None:
            raise HostError(f"The fake host knows no {method} of: {text}", code="unknown-program")
        if command.user and not self._knows(command.user):
            raise HostError(
                f"No program can run as '{command.user}': there is no such user.",
                code="program-refused",
                failure=FailureCause.IMPOSSIBLE,
            )
        outcome = answer(self._world)
        if outcome.exit_code not in command.success:
            words = outcome.stderr.decode("utf-8", "replace").strip()
            raise HostError(f"{text} ended with exit code {outcome.exit_code}: {words}", code="program-failed")
        return outcome

    def _knows(self, user: str) -> bool:
        return user in self._world.users or user in map(str, self._world.users.values())

    def _without(self, path: str) -> frozenset[str]:
        folders = [folder for folder in self._world.without if is_below(path, folder)]
        return self._world.without[max(folders, key=len)] if folders else frozenset()

    def _exposures(self, real: str) -> tuple[Exposure, ...]:
        """Return what keeps the writer from writing at a path; no directory is declared for a group here."""
        found = []
        for folder in reversed(parents(real)[:-1]):
            above = self._world.files[folder]
            if above.uid not in {0, self._caller[0]}:
                found.append(Exposure(folder, f"belongs to uid {above.uid}", "`chown` it", above.uid))
            if int(above.mode, 8) & OTHERS_WRITE and not int(above.mode, 8) & STICKY:
                found.append(Exposure(folder, "is writable by others", f"`chmod go-w {folder}`"))
        return tuple(found)

    def _leftovers_below(self, real: str, seen: Collection[str]) -> Iterator[str]:
        """Yield the leftovers that lie in a directory, or in one of those seen below it."""
        for beside in self._world.residues:
            folder, _, name = beside.rpartition("/")
            if folder == real or folder in seen:
                yield f"{folder}/{residue_name(name, folder)}"

    def _find(self, path: str) -> FakeFile:
        real = self._world.real(path)
        if self._walk(path) is not None or real not in self._world.files:
            raise system_error(errno.ENOENT, path)
        return self._world.files[real]

    def _walk(self, path: str) -> str | None:
        """Go through the directories above a path; return the topmost one that is missing, or is none."""
        try:
            is_normal = normal_path(path) == path
        except ValueError:
            is_normal = False
        if not is_normal:
            raise HostError(f"'{path}' is no normal path below the root.", code="bad-path")
        for folder in reversed(parents(self._world.real(path))[:-1]):
            found = self._world.files.get(folder)
            if found is not None and found.kind is FileKind.SYMLINK:
                raise HostError(
                    f"'{folder}' is a symbolic link, and no path is followed through one.",
                    code="symlink-in-path",
                    cause=Cause.LOOP,
                    hint="declare the path that the link leads to",
                )
            if found is None or found.kind is not FileKind.DIRECTORY:
                return folder
        return None


def _play(player: Player, command: Command, world: FakeWorld) -> CommandOutcome:
    return player(world, command)


def _name_of(names: Mapping[str, int], number: int) -> str:
    return next((name for name in sorted(names) if names[name] == number), str(number))
