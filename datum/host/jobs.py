"""What a person is told where the service manager refused something, or a job of it did not end well. Pure."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from datum.model.result import FailureCause
from datum.provider.host import HostError

DONE: Final = "done"

# What the manager's own words for a result mean (org.freedesktop.systemd1(5), JobRemoved).
_MEANINGS: Final[Mapping[str, str]] = MappingProxyType({
    "canceled": "another job took its place before it ended",
    "timeout": "it took longer than the unit allows",
    "failed": "the unit failed",
    "dependency": "a unit that it requires failed",
    "skipped": "it did not apply to the unit as that is now",
    "invalid": "it did not apply to the unit as that is now",
    "unsupported": "units of this kind are not supported here",
    "assert": "a condition that the unit asserts does not hold",
    "once": "the unit may be started once only, and was",
})  # fmt: skip


def job_failed(verb: str, name: str, result: str, *, unit_result: str = "") -> HostError:
    """Return the failure of a job that ended otherwise than `done`.

    Args:
        verb: `start`, `stop`, `restart` or `reload`.
        name: the unit.
        result: the job's own, as the manager said it.
        unit_result: `Result` of the unit, why it failed; empty if that is not known.
    """
    meaning = _MEANINGS.get(result, "")
    why = f" (result of the unit: {unit_result})" if unit_result not in {"", "success"} else ""
    return HostError(
        f"The job to {verb} {name} ended '{result}'{f': {meaning}' if meaning else ''}{why}.",
        code="job-failed",
        summary="A job of the service manager did not end well.",
        hint=f"see `systemctl status {name}` and `journalctl -u {name}`",
        failure=FailureCause.DEADLINE if result == "timeout" else FailureCause.OTHER,
    )


def manager_refused(doing: str, words: str, *, hint: str = "") -> HostError:
    """Return the failure of a call that the manager refused.

    Args:
        doing: what was asked for, as in "The service manager refused to <doing>".
        words: the manager's own.
        hint: what a person can do about it.
    """
    return HostError(
        f"The service manager refused to {doing}: {words.rstrip('.')}.",
        code="manager-refused",
        summary="The service manager refused.",
        hint=hint,
    )


def scope_in_use(name: str) -> HostError:
    """Return the refusal of a second program in a scope that is alive."""
    return HostError(
        f"A program of an earlier pass still runs in {name}.scope.",
        code="scope-in-use",
        summary="A program that must not end in the middle still runs.",
        hint=f"wait for it; see `systemctl status {name}.scope`",
        failure=FailureCause.BUSY,
    )
