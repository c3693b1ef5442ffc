"""What sets kernel keys at boot: the files of sysctl.d(5). Reads the host; changes nothing."""

import posixpath
from collections.abc import Iterator
from typing import Final

from attrs import field, frozen

from datum.provider.host import FileKind, HostReader, Missing
from datum.provider.paths import normal_path
from datum_providers.sysctl.desired import FOLDER, PREFIX, DesiredSysctl
from datum_providers.sysctl.lines import Setting, settings_of

# The strongest first: a file hides those of its name in the directories after it.
FOLDERS: Final = (FOLDER, "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d")
# sysctl(8) reads it after all others; Debian has a link to it in /etc/sysctl.d.
LAST: Final = "/etc/sysctl.conf"
LIMIT: Final = 1 << 20
"""Bytes of one file that are looked at."""

_SUFFIX: Final = ".conf"


@frozen
class BootFiles:
    """One look at the files; each is read once, and only where it is asked for."""

    reader: HostReader
    # At most one element: the files by name.
    _listed: list[dict[str, str]] = field(factory=list, init=False)
    _read: dict[str, tuple[str, tuple[Setting, ...]]] = field(factory=dict, init=False)

    def shadow_of(self, wanted: DesiredSysctl) -> str | None:
        """Return what sets a key otherwise after the file of its own, as `PATH:LINE`; None for nothing.

        Raises:
            HostError: a file cannot be read.
        """
        found: tuple[str, Setting] | None = None
        for path in self._after(wanted.file_name):
            real, settings = self._settings(path)
            if wanted.going.isdisjoint({path, real}):
                found = next(((real, one) for one in reversed(settings) if one.key == wanted.key), found)
        if found is None or found[1].value == wanted.value:
            return None
        return f"{found[0]}:{found[1].line}"

    def _after(self, name: str) -> Iterator[str]:
        """Yield the files that are read after one of `FOLDER`, in their order."""
        names = self._all()
        yield from (path for one, path in names.items() if one > name)
        if LAST not in {self._settings(path)[0] for path in names.values()}:
            yield LAST

    def _all(self) -> dict[str, str]:
        """Return the files by name, in the order in which they are read; those of keys set nothing else."""
        if not self._listed:
            found: dict[str, str] = {}
            for folder in FOLDERS:
                facts = self.reader.examine(folder)
                if isinstance(facts, Missing) or facts.kind is not FileKind.DIRECTORY:
                    continue
                for name in self.reader.list_directory(folder):
                    if name.endswith(_SUFFIX) and not name.startswith(PREFIX):
                        found.setdefault(name, f"{folder}/{name}")
            self._listed.append(dict(sorted(found.items())))
        return self._listed[0]

    def _settings(self, path: str) -> tuple[str, tuple[Setting, ...]]:
        """Return the path that is read, the end of a link, and what it sets; nothing where there is no such file."""
        if path not in self._read:
            self._read[path] = self._look(path)
        return self._read[path]

    def _look(self, path: str) -> tuple[str, tuple[Setting, ...]]:
        facts = self.reader.examine(path)
        if not isinstance(facts, Missing) and facts.kind is FileKind.SYMLINK:
            path = _end_of(path, facts.link)
            facts = self.reader.examine(path)
        if isinstance(facts, Missing) or facts.kind is not FileKind.REGULAR:
            return path, ()
        text = self.reader.read_file(path, limit=LIMIT).decode("utf-8", "replace")
        return path, tuple(settings_of(text))


def _end_of(path: str, link: str) -> str:
    try:
        return normal_path(posixpath.normpath(posixpath.join(posixpath.dirname(path), link)))
    except ValueError:
        return path
