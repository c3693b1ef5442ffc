"""What a running unit lists and something changed after it was started, by times alone. Reads the host.

Evidence, and no drift (design 4.1, rule 7; ADR 0044): only the time of the bytes counts, which chmod, backups and hard
links leave as it is; what cannot be looked at says nothing here.
"""

import time
from collections.abc import Iterable

from datum.model.observation import FieldValue, StaleInput
from datum.model.plan import Operation
from datum.provider.host import FileFacts, FileKind, HostError, HostReader
from datum.provider.manager import UnitFacts
from datum_providers.service.desired import Input

_LOOKED_AT = frozenset({FileKind.REGULAR, FileKind.SYMLINK})


def stale_inputs(
    reader: HostReader, inputs: Iterable[Input], facts: UnitFacts, owes: FieldValue
) -> tuple[StaleInput, ...]:
    """Return the inputs that changed since a unit that runs was started, or reloaded where that is what they ask for.

    Nothing is said of what the unit owes anyway.
    """
    found = []
    for each in inputs:
        since = _since(facts, each.operation)
        changed = 0 if not since or _is_owed(each.operation, owes) else _changed(reader, each.path)
        if changed > since:
            is_ahead = changed > time.time_ns() // 1000
            found.append(StaleInput(each.resource, each.path, changed, since, is_ahead))
    return tuple(found)


def _since(facts: UnitFacts, operation: Operation) -> int:
    """Return since when it has what it read; 0 where nobody knows.

    What it runs before its main process often writes what that reads. A main process of an earlier life says nothing.
    """
    started = facts.main_started if facts.main_started >= facts.began else 0
    since = started or facts.up_since
    return max(since, facts.changed) if since and operation is Operation.REFRESH_RELOAD else since


def _is_owed(operation: Operation, owes: FieldValue) -> bool:
    return owes in {Operation.REFRESH_RESTART.value, operation.value}


def _changed(reader: HostReader, path: str) -> int:
    """Return when a file or link changed, in microseconds; 0 where none is there, or cannot be looked at."""
    try:
        facts = reader.examine(path)
    except HostError:
        return 0
    return facts.modified // 1000 if isinstance(facts, FileFacts) and facts.kind in _LOOKED_AT else 0
