"""Write, check, restore: for systems that cannot show candidates to a program beforehand (design 4.2). Effects: writes.

While anything stands there unjudged, something beside one of the paths has the name of a leftover: whoever was killed
meanwhile, the next pass finds it and judges the set again. The one exception is named at `Put.keep`.
"""

from collections.abc import Callable, Sequence

from attrs import define, field

from datum.host.staging_changes import Change
from datum.host.writer import LocalWriter
from datum.model.result import FailureCause
from datum.provider.host import HostError


@define
class WrittenSet:
    """A set of changes that stands on the host before it is judged."""

    changes: Sequence[Change]
    writer: LocalWriter
    _begun: list[Change] = field(factory=list, init=False)

    def write(self, judge: Callable[[], None]) -> None:
        """Make every change, then judge; whatever goes wrong, what stood there before stands there again.

        Raises:
            HostError: a change was refused or the judge said no, and the old state is back; or `not-restored`.
        """
        try:
            for change in self.changes:
                self._begun.append(change)
                change.keep(self.writer)
            judge()
        except BaseException as error:
            self.restore(error)
            raise

    def drop(self) -> None:
        """Remove what was kept.

        Raises:
            HostError: some of it is left, as leftovers; the set has its place.
        """
        failed: list[HostError] = []
        for change in reversed(self.changes):
            try:
                change.drop(self.writer)
            except HostError as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def restore(self, cause: BaseException | None = None) -> None:
        """Put back what stood there, as far as anything was changed.

        Args:
            cause: why.

        Raises:
            HostError: `not-restored`.
        """
        failed: list[HostError] = []
        for change in reversed(self._begun):
            try:
                change.restore(self.writer)
            except HostError as error:
                failed.append(error)
        if failed:
            why = f" Before that: {cause.detail}" if isinstance(cause, HostError) else ""
            raise HostError(
                f"What stood there before could not be put back everywhere. {' '.join(each.detail for each in failed)}"
                f"{why}",
                code="not-restored",
                failure=FailureCause.CHECK,
                hint="what is left beside these paths, named `.<name>.datum~.dpkg-tmp`, is what stood there",
            ) from cause
