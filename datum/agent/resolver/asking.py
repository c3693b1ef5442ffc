"""The agent's side of the process that reads revisions: asks, and believes nothing that it did not look at.

Effects: on the socket and the process. One question is open at a time, and each has a deadline. Once the process has
failed, every later question fails for the same reason: what it answered before is not known to be good either.
"""

import io
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from attrs import define

from datum.agent.resolver import decode, strict
from datum.agent.resolver.frames import EndedError, FrameError, TooLongError, receive, send
from datum.diagnostics import Diagnostic
from datum.errors import (
    DatumError,
    FleetError,
    HostNotInFleetError,
    InternalError,
    ProviderContractError,
    ProviderError,
    RepositoryError,
    RepositoryUnreachableError,
    RevisionNotFoundError,
    RevisionRefusedError,
)
from datum.host.powerless import Powerless
from datum.model.json import JsonValue

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SECONDS: Final = 300.0
"""For one answer. A revision of ten thousand resources takes two."""

_ERRORS: Final[Mapping[str, type[DatumError]]] = {
    kind.__name__: kind
    for kind in (
        FleetError,
        HostNotInFleetError,
        InternalError,
        ProviderContractError,
        ProviderError,
        RepositoryError,
        RepositoryUnreachableError,
        RevisionNotFoundError,
        RevisionRefusedError,
    )
}
_WORDS_LIMIT: Final = 2000
_SUMMARY: Final = "What reads revisions has failed."
_T = TypeVar("_T")


@define
class Conversation:
    """Questions and answers, one after the other."""

    child: Powerless
    # Seconds for one answer.
    seconds: float = SECONDS
    # Why it is over.
    failure: DatumError | None = None
    _number: int = 0
    # Whether it may have read a revision.
    _has_read: bool = False

    def ask(
        self,
        what: str,
        read: Callable[[Any, bytes], _T],
        *,
        most: int = 0,
        body: bytes = b"",
        descriptor: int | None = None,
        **about: JsonValue,
    ) -> _T:
        """Ask, and return what `read` makes of head and body of the answer.

        Args:
            what: the question's name.
            read: looks at every part; it raises `MalformedError` or `FrameError`.
            most: bytes that the body may have.
            body: that goes with the question.
            descriptor: the child gets a copy of it.
            about: what the question names.

        Raises:
            DatumError: what the process says of the repository or revision; or `InternalError` and `FleetError` where
                it is the process that failed.
        """
        head, data = self._exchange(what, {"ask": what, **about}, body, descriptor, most)
        try:
            if "failed" not in head:
                return read(head["is"], data)
            error, is_last = _told(head)
        except (FrameError, strict.MalformedError, KeyError, RecursionError) as refused:
            self._not_understood(what, refused)
        if is_last:
            self._end(error)
        raise error

    def _exchange(
        self, what: str, question: Mapping[str, JsonValue], body: bytes, descriptor: int | None, most: int
    ) -> tuple[dict[str, Any], bytes]:
        self._require_talking()
        self._require_clean(what)
        child = self.child
        self._number += 1
        until = time.monotonic() + self.seconds
        try:
            child.socket.settimeout(self.seconds)
            send(child.socket, {"number": self._number, **question}, body, descriptor=descriptor)
            head, data = receive(child.socket, most=most, until=until)
        except (EndedError, ConnectionError):
            self._end(_ended(child.wait()))
        except TimeoutError:
            self._end(_too_much("resolver-silent", f"It gave no answer within {self.seconds:.0f} s, and was killed."))
        except TooLongError as refused:
            self._end(_too_much("resolver-answer-too-large", f"Its answer to '{what}' has {refused}."))
        except FrameError as refused:
            self._not_understood(what, refused)
        if not _is_number(head.pop("number", None), self._number):
            self._not_understood(what, "it is of another question")
        return head, data

    def _not_understood(self, what: str, reason: object) -> NoReturn:
        self._end(_broken("resolver-not-understood", f"Its answer to '{what}' is none: {reason}."))

    def close(self) -> None:
        """End the process."""
        self.child.end()

    def _require_talking(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self.child.owner != os.getpid():
            # Whose answer would it be?
            raise InternalError(
                Diagnostic(code="internal-error", summary="This is a bug in datum.", detail="A child asked for itself.")
            )

    def _require_clean(self, what: str) -> None:
        """Let files of this host be read by what has read no revision: else a revision could choose what they say."""
        self._has_read = self._has_read or what == "use"
        if what == "yaml" and self._has_read:
            detail = "A file of this host was about to be read by what has read a revision."
            raise InternalError(Diagnostic(code="internal-error", summary="This is a bug in datum.", detail=detail))

    def _end(self, error: DatumError) -> NoReturn:
        self.close()
        self.failure = error
        raise error


def _is_number(value: object, number: int) -> bool:
    # JSON's true equals 1.
    return type(value) is int and value == number


def _told(head: dict[str, Any]) -> tuple[DatumError, bool]:
    """Return what the process says went wrong, and whether nothing can be asked of it any more."""
    kind = strict.text(head["failed"])
    if kind == "memory":
        return _too_much("resolver-out-of-memory", "It needed more memory than it may have."), True
    if kind == "bug":
        words = strict.text(head["words"])[:_WORDS_LIMIT]
        return _broken("resolver-bug", f"It came upon what it does not know: {words}."), True
    if kind not in _ERRORS:
        raise strict.MalformedError(f"there is no error {kind[:80]!r}")
    found = decode.diagnostics_from(head["diagnostics"])
    if not found:
        raise strict.MalformedError("an error says nothing")
    return _ERRORS[kind](*found), False


def _ended(code: int) -> DatumError:
    if code == -signal.SIGKILL:
        return _too_much(
            "resolver-killed", "It was killed: it used up its CPU time, or the host had no memory left for it."
        )
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return _broken("resolver-ended", f"It ended {how} before it answered.")


def _broken(code: str, detail: str) -> InternalError:
    hint = "report it with the revision; what is on this host stays as it is"
    return InternalError(Diagnostic(code=code, summary=_SUMMARY, detail=detail, hint=hint))


def _too_much(code: str, detail: str) -> FleetError:
    return FleetError(
        Diagnostic(
            code=code,
            summary="A revision takes too much to be read.",
            detail=detail,
            hint="look at what the newest commits added: values that grow with each other, very large files",
        )
    )


class Poured(io.RawIOBase):
    """The reading end of a pipe into which the child pours a file.

    All waits together have an end: so many seconds, and one more for each of so many bytes that came. What the reader
    does between them is not counted; nor what the child says of the size, which may be a lie.
    """

    def __init__(self, descriptor: int, seconds: float, rate: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._seconds = seconds
        self._rate = rate
        self._waited = 0.0
        self._got = 0
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        """Whether it can be read, as it can."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read some bytes.

        Raises:
            TimeoutError: they came too slowly, or not at all.
        """
        begun = time.monotonic()
        left = self._seconds + self._got / self._rate - self._waited
        if left <= 0 or not self._poll.poll(left * 1000):
            raise TimeoutError(f"only {self._got} bytes of it came within {self._waited + max(left, 0):.0f} s")
        self._waited += time.monotonic() - begun
        count = os.readv(self._descriptor, [memoryview(buffer).cast("B")])
        self._got += count
        return count

    def close(self) -> None:
        """Close the pipe; who still pours ends by it."""
        if not self.closed:
            os.close(self._descriptor)
        super().close()


def poured(conversation: Conversation, seconds: float, rate: int, *, revision: str, blob: str) -> io.BufferedReader:
    """Return a stream over a file of a revision, written by a child of the process.

    Args:
        conversation: with the process.
        seconds: that all waits for it may take.
        rate: bytes for which there is another second.
        revision: of which the file is.
        blob: its id.

    Raises:
        DatumError: as `Conversation.ask`.
    """
    reader, writer = os.pipe()
    try:
        conversation.ask("pour", lambda _head, _body: None, descriptor=writer, revision=revision, blob=blob)
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return io.BufferedReader(Poured(reader, seconds, rate))
