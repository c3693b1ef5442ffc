"""A host in memory that implements the real protocols, goes wrong on demand, and remembers what was done to it."""

from collections.abc import Mapping
from typing import Any, Final, cast, overload

from attrs import evolve, fields

from datum.model.content import Content
from datum.model.observation import Machine
from datum.provider.host import CommandOutcome, FileKind
from datum.provider.manager import MountEntry, UnitFacts
from datum.testing.reader import FakeReader
from datum.testing.staging import FakeStaging
from datum.testing.units import FakeUnit
from datum.testing.world import (
    Answer,
    Check,
    Ending,
    FakeFile,
    FakeKey,
    FakeWorld,
    Fault,
    JournalEntry,
    Player,
    system_error,
)
from datum.testing.writer import FakeWriter

_UNIT_FIELDS: Final = frozenset(each.name for each in fields(FakeUnit))


class FakeHost(FakeWriter):
    """A whole host: readers and writers, and the means to arrange it and to look at it from outside.

    Has root's accounts, the directories of `folders`, and nothing else.
    """

    def __init__(
        self,
        *,
        folders: tuple[str, ...] = ("/etc", "/tmp", "/usr", "/var"),  # noqa: S108 - a name in the fake's memory
        machine: Machine | None = None,
        caller: tuple[int, int] = (0, 0),
        is_running_system: bool = True,
    ) -> None:
        world = FakeWorld(users={"root": 0}, groups={"root": 0})
        super().__init__(world, machine=machine or Machine(), caller=caller, is_running_system=is_running_system)
        for folder in folders:
            self.add_directory(folder, mode="1777" if folder == "/tmp" else "0755")  # noqa: S108

    @property
    def files(self) -> dict[str, FakeFile]:
        """What stands where; may be changed."""
        return self._world.files

    @property
    def world(self) -> FakeWorld:
        """Everything the host consists of; may be changed."""
        return self._world

    @property
    def journal(self) -> list[JournalEntry]:
        """What was done to it, in order."""
        return self._world.journal

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Every call with its subject, looking included, in order."""
        return self._world.calls

    def reader(self) -> FakeReader:
        """Return what an observation gets."""
        return FakeReader(
            self._world,
            machine=self._machine,
            caller=self._caller,
            is_running_system=self._is_running_system,
        )

    def writer(self) -> FakeWriter:
        """Return what one action gets."""
        return self._writer_of(self._world)

    def _writer_of(self, world: FakeWorld) -> FakeWriter:
        return FakeWriter(
            world,
            machine=self._machine,
            caller=self._caller,
            is_running_system=self._is_running_system,
        )

    def staging(self) -> FakeStaging:
        """Return what one set of candidates gets."""
        return FakeStaging(
            self._world,
            self._writer_of,
            machine=self._machine,
            caller=self._caller,
            is_running_system=self._is_running_system,
        )

    def close(self) -> None:
        """End the pass: what `once` was asked for in it may be asked for again."""
        self._world.asked.clear()

    def add(self, path: str, file: FakeFile) -> None:
        """Put something at a path, and directories above it where there are none."""
        self._world.add(path, file)

    def add_file(self, path: str, data: bytes = b"", *, mode: str = "0644", uid: int = 0, gid: int = 0) -> None:
        """Put a regular file at a path."""
        self.add(path, FakeFile(mode=mode, uid=uid, gid=gid, data=data))

    def add_directory(self, path: str, *, mode: str = "0755", uid: int = 0, gid: int = 0) -> None:
        """Put a directory at a path."""
        self.add(path, FakeFile(FileKind.DIRECTORY, mode, uid, gid))

    def add_link(self, path: str, target: str, *, uid: int = 0, gid: int = 0) -> None:
        """Put a symbolic link at a path."""
        self.add(path, FakeFile(FileKind.SYMLINK, "0777", uid, gid, link=target))

    def add_content(self, content: Content, data: bytes) -> None:
        """Make the repository hold the bytes that a `Content` names."""
        self._world.blobs[content.blob] = data

    def add_user(self, name: str, uid: int, *, gid: int | None = None) -> None:
        """Make a user, and a group of the same name when `gid` is given."""
        self._world.users[name] = uid
        if gid is not None:
            self._world.groups[name] = gid

    def add_check(self, program: str, check: Check) -> None:
        """Teach it a program that judges candidates."""
        self._world.checks[program] = check

    @overload
    def add_query(self, program: tuple[str, ...], answer: bytes = b"", *, exit_code: int = 0) -> None: ...

    @overload
    def add_query(self, program: str, answer: Player) -> None: ...

    def add_query(self, program: tuple[str, ...] | str, answer: bytes | Player = b"", *, exit_code: int = 0) -> None:
        """Teach it a program that only asks.

        Args:
            program: a whole argument list, or the name of a program with whatever arguments.
            answer: what it prints, or who plays it: `play(world, command) -> CommandOutcome`.
            exit_code: how it ends, where it prints.
        """
        if isinstance(program, str):
            assert callable(answer)  # noqa: S101 - as the overloads have it
            self._world.asking_players[program] = answer
            return
        assert isinstance(answer, bytes)  # noqa: S101 - as the overloads have it
        outcome = CommandOutcome(exit_code, answer, b"")
        self._world.queries[program] = lambda _world: outcome

    @overload
    def add_program(self, program: tuple[str, ...], answer: Answer) -> None: ...

    @overload
    def add_program(self, program: str, answer: Player) -> None: ...

    def add_program(self, program: tuple[str, ...] | str, answer: Answer | Player) -> None:
        """Teach it a program that may change the world it is given.

        Args:
            program: a whole argument list, answered by `answer(world)`; or the name of a program with whatever
                arguments, played by `answer(world, command)`. The name is compared with the last component of the
                first argument.
            answer: returns how it ended; an exit code that is no success of the command becomes the `HostError`.
        """
        if isinstance(program, str):
            self._world.players[program] = cast("Player", answer)
        else:
            self._world.programs[program] = cast("Answer", answer)

    def add_unit(self, name: str, facts: UnitFacts | None = None, **how: Any) -> FakeUnit:
        """Give the service manager a unit that needs no file; return it, to arrange and to look at.

        Args:
            name: full name.
            facts: as the manager has it; None: loaded, inactive and disabled.
            how: other fields of `FakeUnit`, and those of `UnitFacts`: `add_unit("a.service", active="active",
                start_result="failed")`.
        """
        own = {key: how.pop(key) for key in list(how) if key in _UNIT_FIELDS}
        found = evolve(facts or UnitFacts(name, file_state="disabled"), **how)
        unit = FakeUnit(_complete(found), **own)
        self._world.manager.units[name] = unit
        return unit

    def unit(self, name: str) -> UnitFacts:
        """Return what the service manager says of a name, without a call that counts."""
        return self._world.manager.facts(name, self._world.files)

    def add_journal(self, name: str, *lines: str) -> None:
        """Add lines to the journal of a unit."""
        self._world.manager.lines.setdefault(name, []).extend(lines)

    def remove_manager(self) -> None:
        """Let systemd not be process 1."""
        self._world.manager.is_there = False

    def add_kernel_value(self, path: str, data: bytes, **how: Any) -> FakeKey:
        """Give the kernel a key.

        Args:
            path: absolute: `/proc/sys/net/ipv4/ip_forward`.
            data: as it is read, newline included.
            how: other fields of `FakeKey`.
        """
        key = self._world.kernel[path] = FakeKey(data, **how)
        return key

    def add_mount(self, entry: MountEntry) -> None:
        """Mount something, on top of what is mounted there; the directory is made where there is none."""
        if entry.point not in self._world.files:
            self.add_directory(entry.point)
        self._world.mounts.append(entry)

    def add_scope(self, name: str, ending: Ending | None = None) -> None:
        """Let a program of an earlier pass run in a scope.

        Args:
            name: `Command.scope`.
            ending: what happens when it ends, which it does as soon as somebody waits; None: it does not end.
        """
        self._world.scopes[name] = ending

    def fail(
        self,
        error: BaseException | int,
        *,
        method: str = "*",
        subject: str = "*",
        skip: int = 0,
        times: int | None = None,
        after: bool = False,
    ) -> None:
        """Let calls go wrong.

        Args:
            error: what is raised; an `errno` becomes the `HostError` that the real host makes of it.
            method: a method of the protocol, `*` for any.
            subject: path, argv, account or blob it is called with; `*` for any.
            skip: how many calls that match go well before.
            times: how many go wrong; None for every one.
            after: do the work first.
        """
        raised = system_error(error, subject) if isinstance(error, int) else error
        self._world.faults.append(Fault(raised, method, subject, skip=skip, times=times, after=after))

    def heal(self) -> None:
        """Let nothing go wrong any more, in a pass of its own: what `once` was asked for may be asked for again."""
        self._world.faults.clear()
        self._world.asked.clear()

    def snapshot(self) -> Mapping[str, FakeFile]:
        """Return what stands where now, to compare with later."""
        return {path: evolve(file) for path, file in sorted(self._world.files.items())}


def _complete(facts: UnitFacts) -> UnitFacts:
    """Return facts in which what follows from the state is as the manager would have it."""
    is_up = facts.active in {"active", "reloading"}
    sub = "running" if is_up and facts.sub == "dead" else facts.sub
    kind = facts.kind or ("simple" if facts.name.endswith(".service") else "")
    invocation = facts.invocation or ("f" * 32 if is_up else "")
    result = facts.result or ("success" if kind else "")
    return evolve(facts, sub=sub, kind=kind, invocation=invocation, result=result)
