"""A host in memory on which file systems can be mounted."""

from collections.abc import Callable
from typing import Any, Final

from attrs import evolve

from datum.model.observation import Observation, Present, Unobservable
from datum.model.plan import Step
from datum.provider.host import Command, CommandOutcome
from datum.provider.manager import MountEntry
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from datum.testing.world import FakeWorld
from datum_providers.mount.desired import DesiredMount
from datum_providers.mount.provider import MountProvider

PROVIDER: Final = MountProvider()
POINT: Final = "/srv/data"
FSTAB: Final = "/etc/fstab"
ROOT: Final = MountEntry("/", "ext4", "/dev/vda1", frozenset({"rw", "relatime"}), frozenset({"rw"}), device="254:1")
Arrange = Callable[[FakeHost], None]

_DONE: Final = CommandOutcome(0, b"", b"")
# Words that are no options of a mount once it is there.
_WORDS: Final = frozenset({"remount", "bind", "rbind", "nofail", "noauto", "loop", "_netdev"})


def both(*arranging: Arrange) -> Arrange:
    def arrange(host: FakeHost) -> None:
        for one in arranging:
            one(host)

    return arrange


def system(host: FakeHost) -> None:
    """Let programs mount and unmount, and something be the root."""
    host.add_directory("/srv")
    host.world.mounts.append(ROOT)
    host.add_program("mount", play_mount)
    host.add_program("umount", play_umount)


def fstab(text: str) -> Arrange:
    return lambda host: host.add_file(FSTAB, text.encode())


def mounted(kind: str = "ext4", source: str = "/dev/vdb1", *options: str, **how: Any) -> Arrange:
    entry = MountEntry(POINT, kind, source, frozenset({"rw", "relatime", *options}), frozenset({"rw"}), **how)
    return lambda host: host.add_mount(entry)


def play_mount(world: FakeWorld, command: Command) -> CommandOutcome:
    """Do what mount(8) does; a remount sets all flags anew, as the kernel does."""
    words = list(command.argv[1:])
    kind = words[words.index("-t") + 1] if "-t" in words else ""
    options = words[words.index("-o") + 1].split(",") if "-o" in words else []
    source, point = words[-2:]
    assert words[-3] == "--"
    shown = frozenset({"rw", "relatime", *(option for option in options if option not in _WORDS)})
    shown -= {"rw"} if "ro" in shown else set()
    if "remount" in options:
        at = max(number for number, entry in enumerate(world.mounts) if entry.point == point)
        world.mounts[at] = evolve(world.mounts[at], options=shown)
        return _DONE
    assert world.real(point) in world.files, f"mount: {point}: mount point does not exist"
    if "bind" in options:
        entry = MountEntry(point, ROOT.kind, ROOT.source, shown, root=source, device=ROOT.device)
    else:
        entry = MountEntry(point, kind, source, shown, frozenset({"rw"}))
    world.mounts.append(entry)
    return _DONE


def play_umount(world: FakeWorld, command: Command) -> CommandOutcome:
    """Do what umount(8) does: away goes what is on top."""
    *words, point = command.argv
    assert words == ["umount", "--no-canonicalize", "--"]
    found = [number for number, entry in enumerate(world.mounts) if entry.point == point]
    if not found:
        return CommandOutcome(32, b"", f"umount: {point}: not mounted.\n".encode())
    del world.mounts[found[-1]]
    return _DONE


def host_with(*arranging: Arrange, **how: Any) -> FakeHost:
    host = FakeHost(**how)
    both(system, *arranging)(host)
    return host


def wanted(**attributes: Any) -> DesiredMount:
    given = {"source": "/dev/vdb1", "fstype": "ext4", **attributes}
    return PROVIDER.parse(POINT, {name: value for name, value in given.items() if value is not None})


def see(host: FakeHost, desired: DesiredMount) -> Observation:
    return PROVIDER.observe(host.reader(), {desired.point: desired})[desired.point]


def planned(host: FakeHost, desired: DesiredMount) -> Step | None:
    seen = see(host, desired)
    assert not isinstance(seen, Unobservable), seen
    return PROVIDER.plan(desired, seen)


def do(host: FakeHost, desired: DesiredMount, step: Step | None = None) -> list[str]:
    """Take the step that is planned, and see that nothing is left."""
    writer = host.writer()
    step = step or planned(host, desired)
    assert step is not None
    assert not step.needs, step.needs
    PROVIDER.apply(writer, desired, step)
    assert planned(host, desired) is None
    return writer.remarks


def remove(host: FakeHost) -> Step:
    """Take the step that the engine plans for `absent: true`."""
    desired = PROVIDER.parse(POINT, {})
    seen = see(host, desired)
    assert isinstance(seen, Present)
    step = deletion_of(seen)
    PROVIDER.apply(host.writer(), desired, step)
    return step


def ran(host: FakeHost) -> list[str]:
    """Return what was done beside fstab and the manager."""
    return [entry.subject for entry in host.journal if entry.method == "run"]


def changed(step: Step | None) -> list[str]:
    assert step is not None
    return [change.name for change in step.changes]
