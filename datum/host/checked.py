"""Write, check, restore: for systems that cannot show a candidate to the program beforehand (design 4.2).

The old file keeps its inode where the file system can exchange names; elsewhere its bytes and attributes are put back.
"""

import errno
import io
import os
import stat
from collections.abc import Callable

from attrs import evolve, frozen

from datum.host.atomic import (
    Attributes,
    Candidate,
    Remark,
    exchange,
    give_name,
    replace_file,
    staged,
)
from datum.host.identity import acting_as
from datum.host.look import open_regular
from datum.host.place import Place
from datum.model.content import Content
from datum.provider.host import HostError


@frozen
class CheckedWrite:
    """New bytes of one file, and the check that they have to pass once they stand there."""

    place: Place
    data: bytes
    content: Content
    attributes: Attributes
    # Raises whatever it finds wrong.
    check: Callable[[], None]
    remark: Remark

    def write(self) -> None:
        """Write, then check; whatever the check raises, what stood there before stands there again.

        Raises:
            HostError: it was not written, or it was and the check said no, and the old state is back.
        """
        self.place.refuse_directory("write")
        if self.place.existing is None:
            self._replace()
            self._check_or(self._remove)
        elif not self._exchange():
            old, attributes = self._read_old()
            self._replace()
            self._check_or(lambda: self._put_back(old, attributes))

    def _replace(self) -> None:
        replace_file(self.place, io.BytesIO(self.data), self.content, self.attributes, self.remark)

    def _check_or(self, undo: Callable[[], None]) -> None:
        try:
            self.check()
        except BaseException:
            undo()
            raise

    def _exchange(self) -> bool:
        """Write by exchanging names, so that the old inode waits under the other; False where that cannot be."""
        place = self.place
        is_exchanged = False
        source = io.BytesIO(self.data)
        with staged(place, source, self.content, self.attributes, self.remark) as candidate:
            try:
                with place.failing("write"):
                    give_name(place, candidate)
                    is_exchanged = exchange(place, candidate)
                    if not is_exchanged:
                        return False
                    place.sync_folder()
                self.check()
            except BaseException:
                if is_exchanged:
                    self._exchange_back(candidate)
                raise
        # What has the other name at the end is unlinked: the old file, or after a second exchange the new one.
        return True

    def _exchange_back(self, candidate: Candidate) -> None:
        """Let the old file have its name again.

        Raises:
            HostError: that failed: the old file is left beside it, rather than unlinked.
        """
        other, candidate.name = candidate.name, ""
        with self.place.failing(f"put back the old file, which is now '{other}' beside"):
            back = Candidate(candidate.fd, other)
            if not exchange(self.place, back):
                raise OSError(errno.EOPNOTSUPP, "")
        candidate.name = other

    def _remove(self) -> None:
        with self.place.failing("take back"):
            with acting_as(self.place.actor):
                os.unlink(self.place.name, dir_fd=self.place.folder.fd)
            self.place.sync_folder()

    def _read_old(self) -> tuple[bytes, Attributes]:
        """Read what will be put back if need be.

        Raises:
            HostError: it is no regular file, or cannot be read.
        """
        place = self.place
        if place.regular is None:
            raise HostError(
                f"Cannot write '{place.path}': it could not be put back if the check failed.", code="cannot-restore"
            )
        with place.failing("read"):
            fd = open_regular(place.folder.fd, place.name, place.regular.st_uid)
            with os.fdopen(fd, "rb") as stream:
                status = os.fstat(fd)
                return stream.read(), Attributes(stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)

    def _put_back(self, old: bytes, attributes: Attributes) -> None:
        evolve(self, data=old, content=Content.from_bytes(old), attributes=attributes)._replace()
