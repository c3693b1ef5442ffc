"""apt and dpkg in memory: they read and write the fake's own status file, as the real ones do theirs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, evolve, field

from datum.provider.host import Command, CommandOutcome
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile, FakeWorld
from datum_providers.package.versions import key_of
from datum_providers.package.withheld import FOLDER

STATUS = "/var/lib/dpkg/status"
MARKS = "/var/lib/apt/extended_states"
PARTIAL = "/var/lib/apt/lists/partial"
SOURCES = "/etc/apt/sources.list"
NATIVE = "amd64"


@define
class Stanza:
    """One package of the status file."""

    name: str
    version: str = "1.0-1"
    selection: str = "install"
    flag: str = "ok"
    state: str = "installed"
    architecture: str = NATIVE
    essential: bool = False
    depends: tuple[str, ...] = ()

    def text(self) -> str:
        more = "Essential: yes\n" if self.essential else ""
        more += f"Depends: {', '.join(self.depends)}\n" if self.depends else ""
        status = f"{self.selection} {self.flag} {self.state}"
        head = f"Package: {self.name}\nStatus: {status}\nArchitecture: {self.architecture}\n"
        return f"{head}Version: {self.version}\n{more}"


@define
class FakeApt:
    """What archives offer, and how the tools answer."""

    # By name the versions that are offered, and what each package needs, removes and stands for.
    offers: dict[str, list[str]] = field(factory=dict)
    depends: dict[str, tuple[str, ...]] = field(factory=dict)
    conflicts: dict[str, tuple[str, ...]] = field(factory=dict)
    virtual: dict[str, tuple[str, ...]] = field(factory=dict)
    # What is offered after the next update.
    fresh: dict[str, list[str]] = field(factory=dict)
    # Packages whose configuration fails.
    broken: set[str] = field(factory=set)
    # What the maintainer scripts of broken packages print.
    chatter: str = ""
    # What an update says of archives that it cannot reach; the others answer.
    unreachable: str = ""
    # Times that a lock is held, and times that fetching fails.
    locked: int = 0
    gone: int = 0
    # It cannot write which packages came along.
    is_markless: bool = False
    # What packages that are there lack.
    lacking: set[str] = field(factory=set)
    timeout: str = ""
    is_fresh: bool = False
    updates: int = 0
    log: list[tuple[str, ...]] = field(factory=list)
    environments: list[Mapping[str, str]] = field(factory=list)
    scopes: list[str] = field(factory=list)
    # The policy for services as each run of apt finds it.
    policies: list[str] = field(factory=list)
    # What lies in the manager's directory for this boot then.
    withheld: list[list[str]] = field(factory=list)

    def install_in(self, host: FakeHost, *stanzas: Stanza, interrupted: Sequence[Stanza] = ()) -> None:
        host.add_directory("/var/lib/dpkg/updates")
        host.add_directory("/usr/sbin")
        host.add_directory(FOLDER)
        dpkg = Stanza("dpkg", "1.21.22", essential=True)
        host.add_file(STATUS, "\n".join(each.text() for each in (dpkg, *stanzas)).encode())
        for number, stanza in enumerate(interrupted):
            host.add_file(f"/var/lib/dpkg/updates/{number:04}", stanza.text().encode())
        host.add(PARTIAL, FakeFile(kind=_directory(), mode="0700", modified=100))
        host.add_file("/var/lib/apt/lists/archive_Packages")
        host.add(SOURCES, FakeFile(modified=50))
        host.add_query("apt-get", self.ask)
        host.add_query("apt-cache", self.policy)
        host.add_query("apt-config", self.config)
        host.add_query("find", lambda _world, _command: _said("found\n" if self.is_fresh else ""))
        host.add_program("apt-get", self.run)
        host.add_program("apt-mark", self.mark)
        host.add_program("dpkg", self.configure)

    def config(self, _world: FakeWorld, _command: Command) -> CommandOutcome:
        return _said(f"TIMEOUT='{self.timeout}'\n" if self.timeout else "")

    def ask(self, world: FakeWorld, command: Command) -> CommandOutcome:
        assert "-s" in command.argv
        changes, complaint, out = self._resolve(world, command.argv)
        if complaint:
            return CommandOutcome(100, out.encode(), complaint.encode())
        return _said("".join(f"{what} {name} [x]\n" for what, name, _ in changes))

    def policy(self, world: FakeWorld, command: Command) -> CommandOutcome:
        text = ""
        for name in command.argv[2:]:
            versions = sorted(self.offers.get(name, ()), key=key_of, reverse=True)
            installed = _packages(world).get(name)
            if not versions and installed is None and name not in self.virtual:
                continue
            text += f"{name}:\n  Installed: (none)\n  Candidate: {versions[0] if versions else '(none)'}\n"
            text += "  Version table:\n"
            text += "".join(f"     {version} 500\n        500 file:/a ./ Packages\n" for version in versions)
            if installed is not None and installed.version not in versions:
                text += f" *** {installed.version} 100\n        100 /var/lib/dpkg/status\n"
        return _said(text)

    def run(self, world: FakeWorld, command: Command) -> CommandOutcome:
        self._note(world, command)
        if self.locked:
            self.locked -= 1
            words = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 71 (unattended-upgr)\n"
            return CommandOutcome(100, b"", words.encode())
        if command.argv[-1] == "update":
            return self._update(world)
        if self.gone:
            self.gone -= 1
            return CommandOutcome(100, b"", b"E: Failed to fetch file:/a/x.deb  404  Not Found\n")
        changes, complaint, _ = self._resolve(world, command.argv)
        if complaint:
            return CommandOutcome(100, b"", complaint.encode())
        packages = _packages(world)
        before = set(packages)
        self.lacking -= {name for _, name, _ in changes}
        for what, name, version in changes:
            if what == "Inst":
                state = "half-configured" if name in self.broken else "installed"
                kept = packages.get(name, Stanza(name)).selection
                selection = kept if kept == "hold" else "install"
                plain, _, architecture = name.partition(":")
                made = Stanza(plain, version, state=state, selection=selection)
                packages[name] = evolve(made, architecture=architecture or NATIVE)
            elif what == "Purg":
                packages.pop(name, None)
            else:
                packages[name] = evolve(packages[name], state="config-files", selection="deinstall")
        _write(world, packages)
        # What is asked for by name is manual, also where it was there.
        named = {word.partition("=")[0] for word in command.argv}
        coming = {name for what, name, _ in changes if what == "Inst"}
        along = set() if self.is_markless else coming - named - before
        _set_automatic(world, (_automatic(world) - (coming & named)) | along)
        failed = [name for what, name, _ in changes if what == "Inst" and name in self.broken]
        words = "".join(f"dpkg: error processing package {name} (--configure):\n" for name in failed)
        words += "E: Sub-process /usr/bin/dpkg returned an error code (1)\n" if failed else ""
        said = self.chatter if failed else ""
        return CommandOutcome(100 if failed else 0, said.encode(), f"{said}{words}".encode())

    def mark(self, world: FakeWorld, command: Command) -> CommandOutcome:
        self._note(world, command)
        verb, names = command.argv[1], command.argv[2:]
        packages = _packages(world)
        if missing := [name for name in names if name not in packages]:
            return CommandOutcome(100, b"", f"E: Unable to locate package {missing[0]}\n".encode())
        if verb in {"hold", "unhold"}:
            for name in names:
                packages[name].selection = "hold" if verb == "hold" else "install"
            _write(world, packages)
            return _said("")
        automatic = _automatic(world)
        _set_automatic(world, automatic | set(names) if verb == "auto" else automatic - set(names))
        return _said("")

    def configure(self, world: FakeWorld, command: Command) -> CommandOutcome:
        self._note(world, command)
        if self.locked:
            self.locked -= 1
            return CommandOutcome(
                2, b"", b"dpkg: error: dpkg frontend lock was locked by another process with pid 71\n"
            )
        packages = _packages(world)
        for path in [path for path in world.files if path.startswith("/var/lib/dpkg/updates/")]:
            for stanza in _parse(world.files[path].data):
                packages[stanza.name] = stanza
            world.remove(path)
        unfinished = [
            name for name, each in packages.items() if each.state not in {"installed", "config-files", "not-installed"}
        ]
        for name in unfinished:
            if name not in self.broken and packages[name].flag == "ok":
                packages[name].state = "installed"
        _write(world, packages)
        failed = [name for name in unfinished if name in self.broken]
        return CommandOutcome(1 if failed else 0, b"", "".join(f"dpkg: error {name}\n" for name in failed).encode())

    def _note(self, world: FakeWorld, command: Command) -> None:
        self.log.append(command.argv)
        self.environments.append(command.environment)
        self.scopes.append(command.scope)
        policy = world.files.get("/usr/sbin/policy-rc.d")
        self.policies.append(policy.data.decode() if policy else "")
        self.withheld.append(sorted(path for path in world.files if path.startswith(f"{FOLDER}/")))

    def _update(self, world: FakeWorld) -> CommandOutcome:
        self.updates += 1
        self.offers.update(self.fresh)
        world.files[PARTIAL].modified += 1000
        return CommandOutcome(100 if self.unreachable else 0, b"", self.unreachable.encode())

    def _resolve(self, world: FakeWorld, argv: Sequence[str]) -> tuple[list[tuple[str, str, str]], str, str]:
        verb = next(word for word in argv if word in {"install", "remove", "purge"})
        words = argv[argv.index(verb) + 1 :]
        packages = {name: each for name, each in _packages(world).items() if each.state != "config-files"}
        changes: list[tuple[str, str, str]] = []
        if "--fix-broken" in argv:
            return [("Inst", name, max(self.offers[name], key=key_of)) for name in sorted(self.lacking)], "", ""
        if self.lacking:
            return [], "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages.\n", ""
        leaving = "Purg" if verb == "purge" else "Remv"
        complaints = out = ""
        for word in words:
            if verb != "install" or (word.endswith("-") and word not in self.offers):
                name = word if verb != "install" else word[:-1]
                name = name.removesuffix(f":{NATIVE}")
                changes += [(leaving, gone, "") for gone in self._needing(packages, name)]
                continue
            name, _, version = word.partition("=")
            if name in self.virtual:
                providers = "".join(f"  {each} 1.0-1\n" for each in self.virtual[name])
                out += f"Package {name} is a virtual package provided by:\n{providers}\n"
                complaints += f"E: Package '{name}' has no installation candidate\n"
            elif name not in self.offers:
                complaints += f"E: Unable to locate package {name}\n"
            elif version and version not in self.offers[name]:
                complaints += f"E: Version '{version}' for '{name}' was not found\n"
            else:
                changes += self._coming(packages, name, version)
        return list(dict.fromkeys(changes)), complaints, out

    def _coming(self, packages: Mapping[str, Stanza], name: str, version: str) -> list[tuple[str, str, str]]:
        wanted = version or max(self.offers[name], key=key_of)
        found = packages.get(name)
        if found is not None and found.version == wanted and found.flag == "ok" and found.state != "half-installed":
            return []
        needed = [each for each in self.depends.get(name, ()) if each not in packages]
        before = [each for other in needed for each in self._coming(packages, other, "")]
        gone = [("Remv", each, "") for each in self.conflicts.get(name, ()) if each in packages]
        return [*before, *gone, ("Inst", name, wanted)]

    def _needing(self, packages: Mapping[str, Stanza], name: str) -> list[str]:
        if name not in packages:
            return [name] if name in self.offers else []
        others = [other for other, each in packages.items() if name in each.depends]
        return [*(gone for other in others for gone in self._needing(packages, other)), name]


def _directory() -> Any:
    from datum.provider.host import FileKind

    return FileKind.DIRECTORY


def _said(text: str) -> CommandOutcome:
    return CommandOutcome(0, text.encode(), b"")


_FIELD = re.compile(r"^(\w[\w-]*): (.*)$", re.MULTILINE)


def _parse(data: bytes) -> list[Stanza]:
    found = []
    for text in data.decode().split("\n\n"):
        fields = dict(_FIELD.findall(text))
        if not fields:
            continue
        selection, flag, state = fields["Status"].split()
        depends = tuple(fields["Depends"].split(", ")) if "Depends" in fields else ()
        is_essential = "Essential" in fields
        found.append(
            Stanza(
                fields["Package"],
                fields["Version"],
                selection,
                flag,
                state,
                fields["Architecture"],
                is_essential,
                depends,
            )
        )
    return found


def _packages(world: FakeWorld) -> dict[str, Stanza]:
    found = {}
    for each in _parse(world.files[STATUS].data):
        suffix = "" if each.architecture in {NATIVE, "all"} else f":{each.architecture}"
        found[f"{each.name}{suffix}"] = each
    return found


def _write(world: FakeWorld, packages: Mapping[str, Stanza]) -> None:
    world.files[STATUS].data = "\n".join(each.text() for each in packages.values()).encode()


def _set_automatic(world: FakeWorld, names: set[str]) -> None:
    if names != _automatic(world):
        text = "\n".join(f"Package: {name}\nArchitecture: {NATIVE}\nAuto-Installed: 1\n" for name in sorted(names))
        world.add(MARKS, FakeFile(data=text.encode()))


def _automatic(world: FakeWorld) -> set[str]:
    file = world.files.get(MARKS)
    return set(re.findall(r"^Package: (\S+)$", file.data.decode(), re.MULTILINE)) if file else set()
