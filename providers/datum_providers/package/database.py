"""dpkg's own database: which packages a host has, and in which state. Parsing is pure; `read_database` reads.

Sources: dpkg's `lib/dpkg/parse.c` and `dbdir.c`, and deb-control(5). The status file is what dpkg last finished
writing. The files of digits in `updates/` are what it did since; one that is there after its run was interrupted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import field, frozen

from datum.model.observation import Cause
from datum.provider.host import FileFacts, HostError, HostReader, Missing

FOLDER: Final = "/var/lib/dpkg"
_STATUS: Final = f"{FOLDER}/status"
_JOURNAL: Final = f"{FOLDER}/updates"
_ARCHITECTURES: Final = f"{FOLDER}/arch"
_MARKS: Final = "/var/lib/apt/extended_states"
_LOCKS: Final = (f"{FOLDER}/lock", f"{FOLDER}/lock-frontend")
_HELD: Final = "/proc/locks"
# Bytes; the greatest status file of a real host has some ten millions.
_LIMIT: Final = 1 << 28
# A run of dpkg that goes on merges its journal while it is read; then it is read again.
_ATTEMPTS: Final = 5

_ARCHITECTURE: Final = re.compile(rb"^Architecture: *(\S+)", re.MULTILINE)
_FIELDS: Final = re.compile(rb"^(Status|Version|Essential|Protected): *(.*?) *$", re.MULTILINE)
_MARK: Final = re.compile(rb"^(Package|Architecture|Auto-Installed): *(\S+)", re.MULTILINE)
_HEAD: Final = b"Package: "
_TRUE: Final = b"yes"
_STATUS_WORDS: Final = 3

INSTALLED: Final = "installed"
RESIDUAL: Final = "config-files"
"""The package is gone, and its configuration is not."""
REINSTALL: Final = "reinst-required"
"""Not a state of dpkg's: its error flag, which says that only unpacking it again helps."""

_NOTHING: Final = "not-installed"
_UNPACKED_AGAIN: Final = frozenset({REINSTALL, "half-installed"})


@frozen
class Installed:
    """What dpkg says of one package, of one architecture."""

    name: str
    architecture: str
    # `Status`: what was asked for last (`install`, `hold`, `deinstall`, `purge`), and what is there.
    selection: str
    state: str
    version: str
    is_essential: bool = False

    @property
    def is_there(self) -> bool:
        """Whether files of it beside its configuration may be on the disk."""
        return self.state not in {RESIDUAL, _NOTHING}


@frozen
class Database:
    """The packages of one root."""

    _stanzas: Mapping[str, Mapping[str, bytes]]
    # The architecture of dpkg itself.
    native: str
    # Others that it may install.
    foreign: frozenset[str] = frozenset()
    # There is one: without it a host has no packages, and can get none.
    exists: bool = True
    # What the journal names, without architectures: a run of dpkg was interrupted, or goes on.
    journalled: frozenset[str] = frozenset()
    _automatic: frozenset[tuple[str, str]] = field(default=frozenset(), repr=False)

    @property
    def is_interrupted(self) -> bool:
        """Whether a run of dpkg was interrupted, or goes on."""
        return bool(self.journalled)

    def find(self, name: str, architecture: str = "") -> Installed | None:
        """Return what is known of a package; None where dpkg knows nothing of it.

        Args:
            name: without architecture.
            architecture: empty, or the system's own: as a name without one means it, `all` included.

        Raises:
            HostError: its entry cannot be read.
        """
        known = self._stanzas.get(name, {})
        is_foreign = architecture not in {"", self.native}
        wanted = (architecture,) if is_foreign else (self.native, "all", "")
        found = [_parsed(name, each, known[each]) for each in wanted if each in known]
        return next((each for each in found if each.state != _NOTHING), None)

    def find_spelt(self, spelt: str) -> Installed | None:
        """As `find`, for `NAME` or `NAME:ARCH`."""
        name, _, architecture = spelt.partition(":")
        return self.find(name, architecture)

    def half_installed(self) -> list[Installed]:
        """Return what only unpacking it again makes whole, by name.

        Raises:
            HostError: an entry cannot be read.
        """
        every = (_parsed(name, each, known[each]) for name, known in self._stanzas.items() for each in known)
        return sorted((each for each in every if each.state in _UNPACKED_AGAIN), key=lambda each: each.name)

    def spelt(self, package: Installed) -> str:
        """Return the name of a package, with its architecture where that is a foreign one."""
        return f"{package.name}:{package.architecture}" if package.architecture in self.foreign else package.name

    def is_manual(self, package: Installed) -> bool:
        """Whether a package is marked as installed for its own sake."""
        architecture = self.native if package.architecture == "all" else package.architecture
        return (package.name, architecture) not in self._automatic

    def knows(self, architecture: str) -> bool:
        """Whether dpkg installs packages of an architecture."""
        return architecture in {"", self.native} or architecture in self.foreign


def read_database(reader: HostReader) -> Database:
    """Read the database of a root; a root without dpkg has no packages.

    Raises:
        HostError: it is damaged, or cannot be read.
    """
    if isinstance(reader.examine(FOLDER), Missing):
        return Database({}, "", exists=False)
    for _ in range(_ATTEMPTS):
        names = [name for name in reader.list_directory(_JOURNAL) if name.isascii() and name.isdigit()]
        status = _bytes(reader, _STATUS)
        journal = [_bytes(reader, f"{_JOURNAL}/{name}") for name in sorted(names, key=int)]
        if None not in journal:
            others = _bytes(reader, _ARCHITECTURES) or b"", _bytes(reader, _MARKS) or b""
            return parse_database(status or b"", [entry or b"" for entry in journal], *others)
    raise _damaged("dpkg wrote to it without end while it was read")


def is_at_work(reader: HostReader) -> bool:
    """Whether some run of apt or dpkg holds dpkg's locks now, as far as proc_locks(5) says.

    Raises:
        HostError: that cannot be read.
    """
    facts = [reader.examine(path) for path in _LOCKS]
    inodes = {one.identity.rpartition("/")[2] for one in facts if isinstance(one, FileFacts)} - {""}
    # Not compared with the device: an overlay shows another one than the kernel names there.
    held = re.findall(rb"POSIX .* WRITE .*:(\S+) ", _bytes(reader, _HELD) or b"") if inodes else []
    return any(one.decode() in inodes for one in held)


def _bytes(reader: HostReader, path: str) -> bytes | None:
    """Return a file's bytes, None if there is none."""
    if isinstance(reader.examine(path), Missing):
        return None
    try:
        return reader.read_file(path, limit=_LIMIT)
    except HostError:
        # It may have gone in between.
        if isinstance(reader.examine(path), Missing):
            return None
        raise


def parse_database(status: bytes, journal: Iterable[bytes], architectures: bytes, marks: bytes) -> Database:
    """Return what the files say; later entries of the journal replace what stands before them.

    Raises:
        HostError: what dpkg wrote would not look like this.
    """
    stanzas: dict[str, dict[str, bytes]] = {}
    updates = b"\n\n".join(journal)
    for name, stanza in _named(b"\n\n".join((status, updates))):
        architecture = _ARCHITECTURE.search(stanza)
        stanzas.setdefault(name, {})[architecture[1].decode() if architecture else ""] = stanza
    own = [architecture for architecture in stanzas.get("dpkg", {}) if architecture]
    if not own:
        raise _damaged("it does not even know dpkg")
    automatic = set()
    for stanza in marks.split(b"\n\n"):
        fields = {key: value.decode("utf-8", "replace") for key, value in _MARK.findall(stanza)}
        if fields.get(b"Auto-Installed") == "1":
            automatic.add((fields.get(b"Package", ""), fields.get(b"Architecture", "")))
    foreign = frozenset(architectures.decode("utf-8", "replace").split()) - {own[0]}
    begun = frozenset(name for name, _ in _named(updates))
    return Database(stanzas, own[0], foreign, journalled=begun, automatic=frozenset(automatic))


def _named(data: bytes) -> Iterator[tuple[str, bytes]]:
    for stanza in data.split(b"\n\n"):
        text = stanza.strip(b"\n")
        if not text:
            continue
        line = text.partition(b"\n")[0]
        if not line.startswith(_HEAD):
            raise _damaged(f"an entry begins with {line[:40]!r}")
        yield line[len(_HEAD) :].strip().decode("utf-8", "replace"), text


def _parsed(name: str, architecture: str, stanza: bytes) -> Installed:
    fields = {key: value.decode("utf-8", "replace") for key, value in _FIELDS.findall(stanza)}
    words = fields.get(b"Status", "").split()
    if len(words) != _STATUS_WORDS:
        raise HostError(
            f"The package database says nothing of the state of {name}: '{' '.join(words)}'.",
            code="packages-unreadable",
            cause=Cause.PARSE,
        )
    selection, flag, state = words
    is_sound = flag == "ok" or state in {RESIDUAL, _NOTHING}
    return Installed(
        name,
        architecture,
        selection,
        state if is_sound else REINSTALL,
        fields.get(b"Version", ""),
        is_essential=_TRUE.decode() in (fields.get(b"Essential"), fields.get(b"Protected")),
    )


def _damaged(what: str) -> HostError:
    return HostError(
        f"The package database {_STATUS} cannot be what dpkg wrote: {what}.",
        code="packages-unreadable",
        cause=Cause.DATABASE,
        hint=f"restore it from {_STATUS}-old or from /var/backups/dpkg.status.*",
    )
