"""The shadow tools in memory: they change the account files of a `FakeHost` as the real ones do on a Debian."""

import datetime as dt
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import define, field

from datum.provider.host import Command, CommandOutcome, FileKind
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile, FakeWorld

PASSWD: Final = "root:x:0:0:root:/root:/bin/bash\nwww-data:x:33:33::/var/www:/usr/sbin/nologin\n"
GROUP: Final = "root:x:0:\nmail:x:8:\nsudo:x:27:\nwww-data:x:33:\n"
SHADOW: Final = "root:*:19000:0:99999:7:::\nwww-data:*:19000:0:99999:7:::\n"
TODAY: Final = "20000"

# Options of the tools that take a value.
_VALUES: Final = frozenset(
    {"--uid", "--gid", "--groups", "--comment", "--home", "--shell", "--expiredate", "--members"}
    | {"--password"}
    | {"--mindays", "--maxdays", "--warndays", "--inactive"}
)
_FIRST: Final = 1000


@define
class Files:
    """The account files of a world, as lists of fields by name."""

    world: FakeWorld
    passwd: dict[str, list[str]] = field(init=False)
    group: dict[str, list[str]] = field(init=False)
    shadow: dict[str, list[str]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.passwd, self.group, self.shadow = (self._read(name) for name in ("passwd", "group", "shadow"))

    def _read(self, name: str) -> dict[str, list[str]]:
        text = self.world.files[f"/etc/{name}"].data.decode("utf-8", "surrogateescape")
        return {line.split(":")[0]: line.split(":") for line in text.splitlines() if line}

    def write(self) -> None:
        for name, lines in (("passwd", self.passwd), ("group", self.group), ("shadow", self.shadow)):
            text = "".join(":".join(parts) + "\n" for parts in lines.values())
            self.world.files[f"/etc/{name}"].data = text.encode("utf-8", "surrogateescape")

    def gid_of(self, group: str) -> str:
        return group if group.isdigit() else self.group[group][2]

    def members(self, group: str) -> list[str]:
        return [name for name in self.group[group][3].split(",") if name]

    def join(self, name: str, groups: Iterable[str], *, only: bool) -> None:
        wanted = set(groups)
        for group, parts in self.group.items():
            members = self.members(group)
            if group in wanted and name not in members:
                parts[3] = ",".join([*members, name])
            elif only and group not in wanted:
                parts[3] = ",".join(member for member in members if member != name)


Tool = Callable[[Files, dict[str, str], str], str]


def add_shadow_tools(host: FakeHost, *, passwd: str = PASSWD, group: str = GROUP, shadow: str = SHADOW) -> None:
    """Give a host account files, and what changes them."""
    for name, text in (("passwd", passwd), ("group", group), ("shadow", shadow)):
        host.add_file(f"/etc/{name}", text.encode("utf-8", "surrogateescape"))
    for program, tool in _TOOLS.items():
        host.add_program(program, _player(tool))
    host.add_program("chpasswd", _chpasswd)
    # That the lock of all account files can be opened.
    host.add_program("sh", lambda _world, _command: CommandOutcome(0, b"", b""))
    host.add_program("vipw", _vipw)


def _vipw(world: FakeWorld, command: Command) -> CommandOutcome:
    """Do what the editor does that the provider names: lines of one name go from some files."""
    pattern, files = _editor(shlex.split(command.environment["VISUAL"]))
    name = re.sub(r"\[(.)\]", r"\1", pattern).encode()
    for path in files:
        if path in world.files:
            kept = [line for line in world.files[path].data.splitlines(True) if line.partition(b":")[0] != name]
            world.files[path].data = b"".join(kept)
    return CommandOutcome(0, b"", b"")


def _editor(argv: list[str]) -> tuple[str, list[str]]:
    assert argv[:2] == ["sh", "-c"]
    return argv[3], argv[4:]


def _player(tool: Tool) -> Callable[[FakeWorld, Command], CommandOutcome]:
    def play(world: FakeWorld, command: Command) -> CommandOutcome:
        files = Files(world)
        options, name = _options(command.argv[1:])
        said = tool(files, options, name)
        if said:
            return CommandOutcome(9, b"", f"{command.argv[0]}: {said}".encode())
        files.write()
        return CommandOutcome(0, b"", b"")

    return play


def _options(words: tuple[str, ...]) -> tuple[dict[str, str], str]:
    options, rest, waiting = {}, "", iter(words)
    for word in waiting:
        if word.startswith("--"):
            options[word] = next(waiting) if word in _VALUES else ""
        else:
            rest = word
    return options, rest


def _free(lines: Mapping[str, list[str]]) -> str:
    taken = (int(parts[2]) for parts in lines.values() if parts[2:] and parts[2].isdigit())
    return str(max([_FIRST - 1, *(number for number in taken if number < 60000)]) + 1)


def _useradd(files: Files, options: dict[str, str], name: str) -> str:
    if name in files.passwd:
        return f"user '{name}' already exists"
    uid = options.get("--uid") or _free(files.passwd)
    if "--user-group" in options:
        if name in files.group:
            return f"group {name} exists"
        files.group[name] = [name, "x", uid, ""]
    gid = files.gid_of(options.get("--gid", name))
    home = options.get("--home", f"/home/{name}")
    files.passwd[name] = [name, "x", uid, gid, options.get("--comment", ""), home, options.get("--shell", "/bin/sh")]
    expires = _day(options.get("--expiredate", ""))
    files.shadow[name] = [name, options.get("--password", "!"), TODAY, "0", "99999", "7", "", expires, ""]
    files.join(name, filter(None, options.get("--groups", "").split(",")), only=False)
    if "--create-home" in options:
        files.world.add(home, FakeFile(FileKind.DIRECTORY, "0755", int(uid), int(gid)))
    return ""


def _usermod(files: Files, options: dict[str, str], name: str) -> str:
    parts = files.passwd[name]
    for option, place in (("--uid", 2), ("--comment", 4), ("--home", 5), ("--shell", 6)):
        parts[place] = options.get(option, parts[place])
    if "--gid" in options:
        parts[3] = files.gid_of(options["--gid"])
    if "--groups" in options:
        files.join(name, filter(None, options["--groups"].split(",")), only="--append" not in options)
    if "--expiredate" in options:
        files.shadow[name][7] = _day(options["--expiredate"])
    if "--lock" in options and not files.shadow[name][1].startswith("!"):
        files.shadow[name][1] = "!" + files.shadow[name][1]
    return ""


def _userdel(files: Files, _options: dict[str, str], name: str) -> str:
    gid = files.passwd.pop(name)[3]
    files.shadow.pop(name, None)
    files.join(name, (), only=True)
    if name in files.group and files.group[name][2] == gid and not files.members(name):
        del files.group[name]
    return ""


def _groupadd(files: Files, options: dict[str, str], name: str) -> str:
    if name in files.group:
        return f"group '{name}' already exists"
    files.group[name] = [name, "x", options.get("--gid") or _free(files.group), ""]
    _add_to_gshadow(files, name)
    return ""


def _add_to_gshadow(files: Files, name: str) -> None:
    if gshadow := files.world.files.get("/etc/gshadow"):
        gshadow.data += f"{name}:!::{files.group[name][3]}\n".encode()


def _groupmod(files: Files, options: dict[str, str], name: str) -> str:
    if "--gid" not in options:
        _add_to_gshadow(files, name)
        return ""
    before, files.group[name][2] = files.group[name][2], options["--gid"]
    for parts in files.passwd.values():
        parts[3] = options["--gid"] if parts[3] == before else parts[3]
    return ""


def _groupdel(files: Files, _options: dict[str, str], name: str) -> str:
    if any(parts[3] == files.group[name][2] for parts in files.passwd.values()):
        return "cannot remove the primary group of a user"
    del files.group[name]
    return ""


def _gpasswd(files: Files, options: dict[str, str], name: str) -> str:
    files.group[name][3] = options["--members"]
    return ""


def _chage(files: Files, options: dict[str, str], name: str) -> str:
    for option, place in (("--mindays", 3), ("--maxdays", 4), ("--warndays", 5), ("--inactive", 6)):
        if option in options:
            files.shadow[name][place] = "" if options[option] == "-1" else options[option]
    return ""


def _chpasswd(world: FakeWorld, command: Command) -> CommandOutcome:
    assert command.argv == ("chpasswd", "--encrypted")
    files = Files(world)
    for line in command.stdin.decode().splitlines():
        name, _, secret = line.partition(":")
        files.shadow[name][1:3] = [secret, TODAY]
    files.write()
    return CommandOutcome(0, b"", b"")


def _day(date: str) -> str:
    return str((dt.date.fromisoformat(date) - dt.date(1970, 1, 1)).days) if date else ""


_TOOLS: Final[dict[str, Tool]] = {
    "useradd": _useradd,
    "usermod": _usermod,
    "userdel": _userdel,
    "groupadd": _groupadd,
    "groupmod": _groupmod,
    "groupdel": _groupdel,
    "gpasswd": _gpasswd,
    "chage": _chage,
}
