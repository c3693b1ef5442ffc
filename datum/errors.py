"""The errors that end a pass or a command, divided by whose fault they are.

Pure data: an exception holds diagnostics and a class-wide exit code, and does nothing. Only `datum.cli.main`
maps an exception to the exit code of the process. Imports nothing of datum but the diagnostics' type, and that
only for type checkers.
"""

import enum
import os
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from datum.diagnostics import Diagnostic


class ExitCode(enum.IntEnum):
    """Exit codes of every command (design 5); big numbers are sysexits.h, whose names systemd prints."""

    OK = 0
    LEFT = 1
    CHANGES = 2
    WAITING = 3
    USAGE = os.EX_USAGE
    DATAERR = os.EX_DATAERR
    NOINPUT = os.EX_NOINPUT
    NOHOST = os.EX_NOHOST
    UNAVAILABLE = os.EX_UNAVAILABLE
    SOFTWARE = os.EX_SOFTWARE
    OSERR = os.EX_OSERR
    IOERR = os.EX_IOERR
    TEMPFAIL = os.EX_TEMPFAIL
    PROTOCOL = os.EX_PROTOCOL
    NOPERM = os.EX_NOPERM
    CONFIG = os.EX_CONFIG


SIGNAL_BASE: Final = 128
"""A process ended by signal N exits with `SIGNAL_BASE + N`."""


class DatumError(Exception):
    """Something ended this command; `diagnostics` say what, where, why and what to do."""

    exit_code: ClassVar[ExitCode] = ExitCode.SOFTWARE

    def __init__(self, *diagnostics: "Diagnostic") -> None:
        super().__init__(*diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics

    def __str__(self) -> str:
        return "; ".join(f"{d.summary}: {d.detail}" for d in self.diagnostics)


class UsageError(DatumError):
    """The command line asks for something that cannot be."""

    exit_code = ExitCode.USAGE


class SettingsError(DatumError):
    """The agent's own configuration is wrong."""

    exit_code = ExitCode.CONFIG


class RepositoryError(DatumError):
    """The repository does not give a revision."""

    exit_code = ExitCode.UNAVAILABLE


class RepositoryUnreachableError(RepositoryError):
    """Transport: the remote cannot be reached, or what it sends cannot be used."""

    exit_code = ExitCode.UNAVAILABLE


class RevisionNotFoundError(RepositoryError):
    """The ref or commit does not exist there."""

    exit_code = ExitCode.NOINPUT


class RevisionRefusedError(RepositoryError):
    """The revision is not acceptable (design 3.3); diagnostics carry the evidence and the way to proceed."""

    exit_code = ExitCode.PROTOCOL


class FleetError(DatumError):
    """The content of the repository is wrong: syntax, schema, conflict, cycle, reference, target."""

    exit_code = ExitCode.DATAERR


class HostNotInFleetError(FleetError):
    """The fleet declares nothing for this host name."""

    exit_code = ExitCode.NOHOST


class ObservationError(DatumError):
    """Observing ended the pass (design 1.2, scope `host`); the host is untouched."""

    exit_code = ExitCode.OSERR


class ProviderError(DatumError):
    """A provider failed; the text names provider, resource and step."""

    exit_code = ExitCode.SOFTWARE


class ProviderContractError(ProviderError):
    """A provider broke its contract: a bug in that provider."""


class StateError(DatumError):
    """The pointer, the lock or the state directory cannot be used; never taken for first contact."""

    exit_code = ExitCode.IOERR


class PassInProgressError(DatumError):
    """Another pass holds the lock, and still does after `--wait`."""

    exit_code = ExitCode.TEMPFAIL


class PermissionRefusedError(DatumError):
    """The agent itself lacks the rights for what was asked."""

    exit_code = ExitCode.NOPERM


class InternalError(DatumError):
    """Should never happen: a bug in datum."""
