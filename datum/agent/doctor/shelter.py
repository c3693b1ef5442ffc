"""One check that breaks is one finding, and the rest goes on. Pure but for what it calls."""

import errno
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import Final

from attrs import evolve

from datum.agent.doctor.finding import Finding, State, from_diagnostics, not_checked
from datum.errors import DatumError

AS_ROOT: Final = "run datum doctor as root"
_REFUSALS: Final = frozenset({errno.EACCES, errno.EPERM})


def sheltered(names: Sequence[str], look: Callable[[], Iterable[Finding]], *, is_root: bool) -> tuple[Finding, ...]:
    """Return what a look found; each check that it did not come to is not checked, with the reason.

    Args:
        names: of the checks that the look answers.
        look: may raise whatever it likes.
        is_root: whether a refusal can be for another reason than missing rights.
    """
    found: list[Finding] = []
    try:
        for finding in look():
            found.append(finding)  # noqa: PERF402  # what came before an error counts
    except Exception as error:  # noqa: BLE001  # whatever it is, the other checks go on
        answered = {finding.check for finding in found}
        found += [_unknown(name, error, is_root=is_root) for name in names if name not in answered]
    return tuple(found)


def _unknown(name: str, error: Exception, *, is_root: bool) -> Finding:
    if not is_root and is_refusal(error):
        return without_rights(name)
    if isinstance(error, DatumError) and error.diagnostics:
        return from_diagnostics(name, State.NOT_CHECKED, error.diagnostics)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return not_checked(name, f"It could not be looked at: {where}{error.strerror or error}.")
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    finding = not_checked(name, f"The check broke ({what}{_place(error)}).", cure="report it: this is a bug in datum")
    return evolve(finding, is_bug=True)


def _place(error: Exception) -> str:
    """Return where an error came from, after a comma: nobody can report what they cannot see."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f", {PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def without_rights(name: str, *, of: str = "", what: str = "It") -> Finding:
    """Return that an ordinary user cannot look at something."""
    found = not_checked(name, f"{what} can only be looked at by root.", of=of, cure=AS_ROOT)
    return evolve(found, needs_root=True)


def is_refusal(error: BaseException | None) -> bool:
    """Whether the system refused for want of rights, at the bottom of an error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            return True
        error = error.__cause__ or error.__context__
    return False
