"""What goes wrong in a pass of the properties: calls that fail, and a process that is killed."""

from attrs import frozen

from datum.provider.host import HostError
from datum.testing.host import FakeHost


class CutError(BaseException):
    """The process is killed here."""


@frozen
class Trouble:
    """One thing that goes wrong."""

    error: HostError | int
    method: str
    skip: int
    times: int | None
    after: bool

    def befall(self, host: FakeHost) -> None:
        """Have it go wrong from now on."""
        host.fail(self.error, method=self.method, skip=self.skip, times=self.times, after=self.after)
