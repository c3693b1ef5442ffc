"""Names of units as systemd.unit(5) has them, and what hangs on a unit as far as its name says. Pure."""

import re
from typing import Final

from attrs import frozen

from datum.provider.contract import DesiredError
from datum.provider.own_units import RESERVED, is_reserved

SYSTEM: Final = "/etc/systemd/system"
"""Where the administrator's unit files, drop-ins and links of enablement lie."""

NEW_UNIT_FILE: Final = "new_unit_file"
"""Space of what a change of a unit file or drop-in makes of a unit, by its full name: it may hold wishes that the unit
as it is loaded cannot."""

AGENT: Final = "datum.service"
"""The unit in which passes run that nobody starts by hand."""

_LONGEST: Final = 255
_STEM: Final = re.compile(r"[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]*)?")
_SUFFIXES: Final = frozenset({
    "service", "socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope",
})  # fmt: skip

# A stop or a restart of one of these can shut everyone out: sshd, network, firewall, accounts, the bus, the agent.
_ACCESS: Final = re.compile(
    "NetworkManager|connman|datum|datum-boot|dbus|dbus-broker|dhcpcd|dropbear|firewalld|ifup|ifupdown|iptables|iwd|"
    "netfilter-persistent|networking|nftables|nslcd|ssh|sshd|sssd|systemd-logind|systemd-networkd|systemd-resolved|"
    "tailscaled|ufw|wg-quick|wpa_supplicant"
)


@frozen
class UnitName:
    """A full name: `nginx.service`, `getty@tty1.service`, `getty@.service`."""

    full: str

    @property
    def stem(self) -> str:
        """The name without its suffix: `getty@tty1`."""
        return self.full.rpartition(".")[0]

    @property
    def suffix(self) -> str:
        """The kind of unit: `service`."""
        return self.full.rpartition(".")[2]

    @property
    def prefix(self) -> str:
        """The stem without an instance: `getty`."""
        return self.stem.partition("@")[0]

    @property
    def is_template(self) -> bool:
        """Whether it is a unit file for instances, and no unit."""
        return self.stem.endswith("@")

    @property
    def template(self) -> str:
        """The template of an instance, `getty@.service` of `getty@tty1.service`; empty for any other name."""
        return f"{self.prefix}@.{self.suffix}" if "@" in self.stem and not self.is_template else ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Names under which unit files and drop-ins of it lie: its own, and that of its template."""
        return (self.full, self.template) if self.template else (self.full,)

    @property
    def guards_access(self) -> bool:
        """Whether a stop or a restart of it can shut people or the agent out."""
        return bool(_ACCESS.fullmatch(self.prefix))


def parse_unit_name(name: str, type_name: str) -> UnitName:
    """Return a full name; one without a suffix that systemd knows is refused.

    Args:
        name: as it is declared, with its suffix.
        type_name: of the resource, for the message.

    Raises:
        DesiredError: it is no name of a unit, or one that is for the agent.
    """
    stem, _, suffix = name.rpartition(".")
    if suffix in _SUFFIXES and len(name) <= _LONGEST and _STEM.fullmatch(stem):
        if is_reserved(stem):
            detail = f"{name} would stand in for a unit of the agent's, start it or change it: {', '.join(RESERVED)}."
            raise DesiredError("", detail, hint="give it another name", code="unit-reserved")
        return UnitName(name)
    hint = f"Write {type_name}:{name}.service" if suffix not in _SUFFIXES and _STEM.fullmatch(name) else ""
    raise DesiredError(
        "",
        f"'{name}' is no name of a unit: letters, digits, : _ . \\ - one @ at most, and a suffix such as .service.",
        hint=hint,
        code="bad-unit-name",
    )


def parse_service_name(name: str) -> UnitName:
    """Return the full name of a unit that may be written without `.service`.

    Raises:
        DesiredError: it is no name of a unit.
    """
    return parse_unit_name(name if name.rpartition(".")[2] in _SUFFIXES else f"{name}.service", "service")


def short_name(unit: UnitName) -> str:
    """Return a full name without `.service`, where that still is the name of this unit."""
    short = unit.full.removesuffix(".service")
    return unit.full if short.rpartition(".")[2] in _SUFFIXES and short != unit.full else short


def obstacles_of(unit: UnitName, *, runs: bool) -> tuple[str, ...]:
    """Return why a unit that would be stopped for its removal cannot be removed: the agent cannot stop itself.

    Args:
        unit: any.
        runs: whether it would have to be stopped.
    """
    if unit.full != AGENT or not runs:
        return ()
    return (f"{AGENT} is the agent, and runs: no pass stops what it runs in.",)


def unit_path(name: str) -> str:
    """Return where the administrator's file of a unit lies."""
    return f"{SYSTEM}/{name}"


def drop_in_folder(name: str) -> str:
    """Return where the administrator's drop-ins of a unit lie."""
    return f"{SYSTEM}/{name}.d"


PART: Final = "unit_part"
"""Space of files of units after whose change the unit is to be restarted or reloaded; key as `part_key`."""


def part_key(operation: str, path: str) -> str:
    """Return the key by which a file of a unit says what its change means for the unit."""
    return f"{operation}:{path}"
