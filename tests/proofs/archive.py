"""Packages made on the spot, and the archive of a test host that offers them: no network takes part."""

import hashlib
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from attrs import field, frozen

PLACE: Final = "/srv/archive"
# `copy:` and not `file:`, whose lists are links to the archive: they would never be out of date.
SOURCE: Final = f"deb [trusted=yes] copy:{PLACE} ./\n"


class Place(Protocol):
    """Where packages are built and offered: a test host, or a root."""

    def run(self, argv: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run a command there, and expect that it succeeds."""
        ...

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        ...

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file."""
        ...


@frozen
class Deb:
    """One package to be built."""

    name: str
    version: str = "1.0-1"
    architecture: str = "all"
    # More fields of its control file: `Depends`, `Conflicts`, `Provides`, `Essential`.
    fields: Mapping[str, str] = field(factory=dict)
    # Maintainer scripts and other control files: `postinst`, `conffiles`, `templates`, `config`.
    control: Mapping[str, str] = field(factory=dict)
    files: Mapping[str, str] = field(factory=dict)

    @property
    def file_name(self) -> str:
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


class Archive:
    """What a host can install; every change of it is seen after the next `apt-get update`."""

    def __init__(self, machine: Place) -> None:
        self._machine = machine
        self._entries: dict[str, str] = {}
        machine.run(["mkdir", "-p", PLACE])
        machine.write("/etc/apt/sources.list", SOURCE)
        # The image's own names of servers cannot be reached from here.
        machine.run(["sh", "-c", "rm -f /etc/apt/sources.list.d/*"])

    def publish(self, *debs: Deb) -> None:
        """Build and offer packages."""
        for deb in debs:
            data = self._build(deb)
            self._entries[deb.file_name] = _control(deb) + (
                f"Filename: ./{deb.file_name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
            )
        self._index()

    def withdraw(self, *debs: Deb) -> None:
        """Offer packages no longer."""
        for deb in debs:
            self._machine.run(["rm", f"{PLACE}/{deb.file_name}"])
            del self._entries[deb.file_name]
        self._index()

    def _index(self) -> None:
        self._machine.write(f"{PLACE}/Packages", "\n".join(self._entries.values()))

    def _build(self, deb: Deb) -> bytes:
        folder = f"/tmp/build-{deb.name}"
        files = {f"DEBIAN/{name}": text for name, text in deb.control.items()}
        files |= {"DEBIAN/control": _control(deb), **{path.lstrip("/"): text for path, text in deb.files.items()}}
        script = [f"rm -rf {folder}; mkdir -p {folder}/DEBIAN; cd {folder}"]
        for path, text in files.items():
            above = path.rpartition("/")[0]
            script.append(f"mkdir -p ./{shlex.quote(above)}; printf %s {shlex.quote(text)} > {shlex.quote(path)}")
            if path.startswith("DEBIAN/") and text.startswith("#!"):
                script.append(f"chmod 0755 {path}")
        target = f"{PLACE}/{deb.file_name}"
        script.append(f"dpkg-deb --root-owner-group -Znone -b . {shlex.quote(target)} >/dev/null; rm -rf {folder}")
        self._machine.run(["sh", "-ec", "\n".join(script)])
        return self._machine.read(target)


def _control(deb: Deb) -> str:
    more = "".join(f"{name}: {value}\n" for name, value in deb.fields.items())
    return (
        f"Package: {deb.name}\nVersion: {deb.version}\nArchitecture: {deb.architecture}\n{more}"
        "Maintainer: Nobody <nobody@example.org>\nDescription: made by a test\n"
    )
