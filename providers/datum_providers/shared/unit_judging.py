"""systemd-analyze, which judges unit files: their candidates, and what lies on the disk.

Facts of systemd-analyze 252: it reads every drop-in of the unit, whoever wrote it; where it only warns it ends with 0,
unless errors of this very unit are asked for, and then a warning of any of its files counts.
"""

from typing import Final

from datum.model.result import FailureCause
from datum.provider.host import Command, HostError, HostReader, HostWriter, Missing

ANALYZE: Final = "systemd-analyze"

TIMEOUT: Final = 60.0
"""Seconds that one judgement may take."""

NOT_HERE: Final = f"{ANALYZE} is not on this host"
"""Why something is not judged."""

_VERIFY: Final = (ANALYZE, "verify", "--man=no", "--recursive-errors=no")

JUDGE_OF_CANDIDATE: Final = (*_VERIFY, "{path}")
"""The program that is shown the candidate of a unit file; `{path}` stands for its path."""

# On the host as it is systemd-analyze may be missing.
_AS_IT_IS: Final = 'command -v "$0" >/dev/null || exit 0; exec "$0" "$@"'


def judge_of_files(*paths: str) -> tuple[str, ...]:
    """Return the program that judges unit files as they lie on the disk, with the drop-ins of each."""
    return ("sh", "-c", _AS_IT_IS, *_VERIFY, *paths)


def can_judge(reader: HostReader) -> bool:
    """Whether the host has what judges.

    Raises:
        HostError: it cannot be looked at.
    """
    return not isinstance(reader.examine(f"/usr/bin/{ANALYZE}"), Missing)


def require_sound(writer: HostWriter, argv: tuple[str, ...], detail: str, unit: str) -> None:
    """Refuse to have the manager read, or start, what is not right on the disk.

    It would take what it can of such a unit, or nothing, and go on saying that it was not loaded.

    Args:
        writer: of the host.
        argv: what judges; none where nothing can.
        detail: full sentence: what is not done.
        unit: full name, for the hint.

    Raises:
        HostError: `check-failed`, with what it said.
    """
    if not argv or not can_judge(writer):
        return
    outcome = writer.query(Command(argv, TIMEOUT, success=frozenset(range(256))))
    if outcome.exit_code:
        said = outcome.stderr.decode("utf-8", "replace").strip()
        raise HostError(
            f"{detail} {ANALYZE} says: {said}",
            code="check-failed",
            failure=FailureCause.CHECK,
            summary="A check refused.",
            hint=f"`systemctl cat {unit}` shows all files of the unit",
        )
