"""Resource types that behave as none should; the fixture of the same name installs them as a distribution."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from datum.model.observation import Observation
from datum.model.plan import Step
from datum.provider.host import HostReader, HostWriter
from datum_providers.file.desired import DesiredFile
from datum_providers.file.provider import FileProvider


class Liar(FileProvider):
    """Says that it did what it did not do."""

    type_name: ClassVar[str] = "liar"

    def apply(self, writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        """Do nothing."""


class Raiser(FileProvider):
    """Falls over when asked to look."""

    type_name: ClassVar[str] = "raiser"

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredFile]) -> Mapping[str, Observation]:
        """Raise."""
        raise RuntimeError("the raiser raised")


class Silent(FileProvider):
    """Leaves out an answer."""

    type_name: ClassVar[str] = "silent"

    def observe(self, reader: HostReader, desired: Mapping[str, DesiredFile]) -> Mapping[str, Observation]:
        """Answer nothing."""
        return {}


class Slow(FileProvider):
    """Says that it has begun, and waits for a word."""

    type_name: ClassVar[str] = "slow"

    def apply(self, writer: HostWriter, desired: DesiredFile, step: Step) -> None:
        """Write once the file `go` is there."""
        talk = Path(os.environ["ODD_TYPES"])
        (talk / "begun").touch()
        for _ in range(3000):
            if (talk / "go").exists():
                break
            time.sleep(0.01)
        super().apply(writer, desired, step)
