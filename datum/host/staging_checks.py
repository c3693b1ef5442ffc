"""The programs that judge a staged set, and what is said of one that refuses. Effects: child processes."""

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from datum.host.program import how_it_ended, quoted, run_program
from datum.host.showing import OUTPUT_LIMIT, Outcome, Shown, run_shown
from datum.model.check import Check
from datum.model.identity import ResourceId
from datum.model.result import FailureCause
from datum.provider.host import Command, FileWrite, HostError

# Exit codes, and the negative numbers of signals.
_ANY_END: Final = frozenset(range(-64, 256))
_NOT_RUN: Final = frozenset({"program-missing", "program-refused"})


class CheckError(HostError):
    """A check refused the candidates, or says nothing of them since it could not be run."""

    def __init__(self, judge: "Judge", detail: str, cause: HostError | None = None) -> None:
        """Describe it; `cause` says why the program could not be run.

        Args:
            judge: whose word this is.
            detail: what it found, a full sentence.
            cause: why it could not be run.
        """
        if cause is None:
            super().__init__(detail, code="check-failed", summary="A check refused.", failure=FailureCause.CHECK)
        else:
            super().__init__(
                detail,
                code="check-not-run",
                summary="A check could not be run.",
                cause=cause.cause,
                failure=cause.failure,
                hint=cause.diagnostics[0].hint,
            )
        self.check = judge.check


@frozen
class Judge:
    """One program that judges a staged set."""

    command: Command
    is_online: bool = False
    # The resource whose program this is; None where it is the `validate` of the file at `path`.
    check: ResourceId | None = None
    path: str = ""

    @classmethod
    def of_check(cls, check: Check) -> "Judge":
        """Return the judge that a `check` resource names."""
        command = Command(check.argv, check.timeout, environment=check.environment)
        return cls(command, check.is_online, check.resource)

    @classmethod
    def of_file(cls, path: str, wanted: FileWrite) -> "Judge":
        """Return the judge of one file; `{path}` in an argument stands for its path."""
        argv = tuple(part.replace("{path}", path) for part in wanted.validate)
        return cls(Command(argv, wanted.validate_timeout), path=path)

    def judge(self, root: str, changes: Sequence[Shown]) -> str:
        """Run the program; it sees the changes, which the host does not.

        Returns:
            Why they cannot be shown to it, so that nothing was judged; empty when it passed.

        Raises:
            CheckError: it refused, or could not be run.
        """
        try:
            outcome = run_shown(root, self.command, changes, is_online=self.is_online)
        except HostError as error:
            raise self._not_run(error) from error
        if not outcome.reason_unavailable:
            self._see(outcome)
        return outcome.reason_unavailable

    def judge_written(self, root: str) -> None:
        """Run the program on what stands on the host, with everything read-only where that can be had.

        Raises:
            CheckError: it refused, or could not be run.
        """
        command = Command(
            self.command.argv, self.command.timeout, environment=self.command.environment, success=_ANY_END
        )
        try:
            ended = run_program(command, root=root, read_only=True)
        except HostError as error:
            if error.diagnostics[0].code in _NOT_RUN:
                raise self._not_run(error) from error
            # it ran too long
            self._see(Outcome(passed=False, output=error.detail))
            return
        said = [part.decode("utf-8", "replace").strip() for part in (ended.stdout, ended.stderr)]
        is_silent = not any(said)
        if ended.exit_code:
            said.append(f"It {how_it_ended(ended.exit_code)}.")
        text = "\n".join(part for part in said if part)
        self._see(Outcome(passed=not ended.exit_code, output=text[-OUTPUT_LIMIT:], is_silent=is_silent))

    def _see(self, outcome: Outcome) -> None:
        """Raise what the program found wrong."""
        if outcome.passed:
            return
        said = f"It said nothing. {outcome.output}" if outcome.is_silent else f"It said:\n{outcome.output}"
        raise CheckError(self, f"{self._line} refuses {self._what}; the host is as it was. {said}")

    def _not_run(self, error: HostError) -> CheckError:
        whose = str(self.check) if self.check else f"The check of '{self.path}'"
        return CheckError(self, f"{whose} could not be run; the host is as it was. {error.detail}", error)

    @property
    def _line(self) -> str:
        line = quoted(self.command.argv)
        return f"{self.check}: {line}" if self.check else line

    @property
    def _what(self) -> str:
        return "the candidates" if self.check else f"the new '{self.path}'"
