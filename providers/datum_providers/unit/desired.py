"""What a declaration of a unit file or drop-in means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.model.plan import Operation
from datum.provider.contract import DesiredError
from datum_providers.shared.contents import parse_content
from datum_providers.shared.units import UnitName, drop_in_folder, parse_unit_name, unit_path

CONTENT_FIELDS: Final = ("content", "source", "template", "parts")
"""The fields that say what bytes a unit file has."""

MODE: Final = "0644"
OWNER: Final = "root"

_DROP_IN: Final = re.compile(r"[A-Za-z0-9:_.\\@-]+")
_MEANINGS: Final[Mapping[object, Operation | None]] = {
    None: Operation.REFRESH_RESTART,
    "restart": Operation.REFRESH_RESTART,
    "reload": Operation.REFRESH_RELOAD,
    "nothing": None,
}


@frozen
class DesiredUnit:
    """A file below /etc/systemd/system."""

    unit: UnitName
    # Name of the drop-in without `.conf`; empty: the unit file itself.
    drop_in: str = ""
    # None: only that it is there, and is loaded.
    content: Content | None = None
    # What the unit owes after a change of the file; None: nothing.
    on_change: Operation | None = Operation.REFRESH_RESTART
    # Its directory is declared as exclusive. Known once the graph is.
    is_in_exclusive: bool = field(default=False, eq=False)
    # The directory of the drop-in is declared, so it is not this resource that makes and removes it.
    has_declared_folder: bool = field(default=False, eq=False)

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{self.folder}/{self.drop_in}.conf" if self.drop_in else unit_path(self.unit.full)

    @property
    def folder(self) -> str:
        """The directory it lies in."""
        return drop_in_folder(self.unit.full) if self.drop_in else unit_path("").rstrip("/")

    @property
    def is_for_many(self) -> bool:
        """Whether it belongs to no single unit: a template, or a drop-in for all names with a beginning (`app-`)."""
        return self.unit.is_template or self.unit.stem.endswith("-")


def normal_name(name: str) -> str:
    """Return `UNIT`, or `UNIT/DROP-IN` without `.conf`.

    Raises:
        DesiredError: no unit file.
    """
    head, slash, last = name.partition("/")
    if head.endswith(".d") and slash:
        raise DesiredError(
            "",
            f"'{name}' is a path, and no name of a unit.",
            hint=f"write unit:{head.removesuffix('.d')}/{last.removesuffix('.conf')}",
            code="bad-unit-name",
        )
    unit = parse_unit_name(head, "unit")
    if not slash:
        return unit.full
    drop_in = last.removesuffix(".conf")
    if not _DROP_IN.fullmatch(drop_in) or drop_in.startswith("."):
        raise DesiredError(
            "",
            f"'{last}' is no name of a drop-in: letters, digits and : _ . \\ @ - ; it stands for {last}.conf.",
            hint=f"write unit:{unit.full}/override",
            code="bad-unit-name",
        )
    return f"{unit.full}/{drop_in}"


def parse_unit(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredUnit:
    """Read the attributes of one unit file or drop-in.

    Raises:
        DesiredError: two contents, or a value that cannot be meant.
    """
    head, _, drop_in = normal_name(name).partition("/")
    on_change = attributes.get("on_change")
    if not (on_change is None or isinstance(on_change, str)) or on_change not in _MEANINGS:
        raise DesiredError("on_change", f"'{on_change}' is none of restart, reload and nothing.")
    content = parse_content(attributes, CONTENT_FIELDS, what="unit file")
    return DesiredUnit(UnitName(head), drop_in, content, _MEANINGS[on_change])
