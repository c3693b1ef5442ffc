"""Loads what the rest of a pass may need, before its first action: an action may replace the agent's own files.

A package of the agent, of its Python or of a library that is upgraded in the middle of a pass leaves other modules on
the disk than those that run, or none where they were. What is loaded stays as it is, so the pass ends as it began, and
the next one is wholly of the other version (ADR 0049). Effects: imports.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from datum.provider.contract import AnyProvider

ENGINE: Final = "datum"

# Only commands of people need them, and typer along with some.
_COMMANDS: Final = (
    "datum.agent.adopting", "datum.agent.authoring", "datum.agent.doctor", "datum.agent.enrol", "datum.agent.leaving",
    "datum.cli.app", "datum.cli.asking", "datum.cli.commands", "datum.cli.enrolling", "datum.cli.leaving",
    "datum.cli.outline", "datum.cli.parameters", "datum.cli.views.enrolment", "datum.cli.views.shells", "datum.testing",
)  # fmt: skip

DEFERRED: Final = (
    "ctypes",
    "datetime",
    "difflib",
    "jeepney.auth",
    "jeepney.fds",
    "jeepney.io.blocking",
    "json",
    "jsonschema",
    "jsonschema_rs",
    "pygit2",
    "rfc8785",
    "rich.console",
    "rich.text",
    "traceback",
    "yaml",
    # What Python itself loads late: the codecs of names and texts, the parser of times.
    "_strptime",
    "encodings.idna",
    "encodings.latin_1",
    "encodings.unicode_escape",
    "encodings.utf_8_sig",
    "stringprep",
)
"""Modules of others that functions import when they need them; a test compares this with the sources."""


READING: Final = (
    *("datum.fleet", "datum.repository.objects", "datum.agent.resolver.serving"),
    # Of authors' commands, which read revisions themselves.
    *("datum.agent.adopting", "datum.agent.authoring"),
    *("datum.cli.views.adoption", "datum.cli.views.manifests", "datum.cli.views.validation"),
)
"""What reads revisions; the agent has nothing of it where a process without powers does that (ADR 0047)."""

_BOTH: Final = frozenset({"datum.fleet", "datum.fleet.nodes"})

_READ_WITH: Final = ("jsonschema", "pygit2", "yaml")


def load_rest(providers: Iterable[AnyProvider], *, reads_revisions: bool) -> None:
    """Import every module of the agent and of the providers, and what these import late.

    What cannot be imported is left out: whoever needs it says so.

    Args:
        providers: of the types that take part; all modules of their packages are loaded.
        reads_revisions: whether this process does that.
    """
    packages = {ENGINE, *(type(provider).__module__.partition(".")[0] for provider in providers)}
    for name in (*DEFERRED, *(module for package in sorted(packages) for module in modules_of(package))):
        if reads_revisions or not _reads(name):
            # Whatever a module of a strange type does when it is imported: it ends no pass.
            with suppress(Exception):
                importlib.import_module(name)


def _reads(name: str) -> bool:
    return name in _READ_WITH or (name not in _BOTH and f"{name}.".startswith(tuple(f"{one}." for one in READING)))


def modules_of(package: str) -> Iterator[str]:
    """Yield the full names of the modules of a package that a pass may need, the package itself first."""
    found = importlib.import_module(package)
    yield package
    for each in pkgutil.iter_modules(getattr(found, "__path__", ()), f"{package}."):
        if each.name.endswith(".__main__") or each.name in _COMMANDS:
            continue
        if each.ispkg:
            yield from modules_of(each.name)
        else:
            yield each.name
