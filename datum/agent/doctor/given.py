"""What all groups are given: where to look, by which means, and what was found of configuration and pointer."""

import os
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from datum.agent.ports import Ports
from datum.agent.settings import Options, Settings
from datum.errors import DatumError
from datum.model.pointer import Pointer


@frozen
class Given:
    """One diagnosis: the command line, and what is known when a group is looked at."""

    options: Options
    ports: Ports
    # `/` for the running system, else an absolute path.
    root: str
    config: Path
    state_dir: Path
    reports_dir: Path
    # The options that lead another command here, for cures; each after a space.
    where: str = ""
    # None: the configuration is wrong, or there is none.
    settings: Settings | None = None
    # None: there is none, or none that can be used.
    pointer: Pointer | None = None
    # Whether the pointer could be read, or is known not to be there.
    is_pointer_known: bool = False
    # Why types cannot be told; None: they can.
    types_error: DatumError | None = None
    # Why what reads revisions could not be started; None: it was, or this process reads them.
    reader_error: DatumError | None = None
    # Environment of this process.
    environment: Mapping[str, str] = field(factory=dict)
    is_root: bool = field(factory=lambda: os.geteuid() == 0)

    @property
    def is_running_system(self) -> bool:
        """Whether the running system is looked at."""
        return self.root == "/"

    @property
    def has_rights(self) -> bool:
        """Whether what is looked at can be seen whole: another root is its caller's."""
        return self.is_root or not self.is_running_system
