"""The policy that keeps services of the fleet from being started by the installation of their packages.

Debian's maintainer scripts ask `/usr/sbin/policy-rc.d` before they start a service (invoke-rc.d(8)). Ours denies
`start` of some units, and only to scripts of our own transactions, which carry a variable: one that a kill leaves
behind keeps nobody else from anything.
"""

import re
import shlex
from collections.abc import Collection, Iterable
from typing import Final

from datum.model.content import Content
from datum.provider.host import FileFacts, FileKind, FileWrite, HostReader, HostWriter
from datum_providers.package.apt import MARKER
from datum_providers.package.withheld import release, said_for, saying_for, withhold

PATH: Final = "/usr/sbin/policy-rc.d"

_SIGN: Final = "# datum: for one transaction"
_WITHHELD: Final = re.compile(rb"^# datum: unit:(\S+)$", re.MULTILINE)
_LIMIT: Final = 1 << 20
_SUFFIX: Final = ".service"


def policy_text(units: Iterable[str], names: Iterable[str], brought: Iterable[str] = ()) -> str:
    """Return the program: it denies `start` of these units.

    Args:
        units: full names.
        names: packages for which it is there; who looks at them sees that it was left behind.
        brought: those of the units that are withheld besides.
    """
    spellings = sorted({spelling for unit in units for spelling in (unit, unit.removesuffix(_SUFFIX))})
    patterns = "|".join(map(shlex.quote, spellings)) or "''"
    head = "\n".join((*saying_for(names), *(f"# datum: unit:{one}" for one in sorted(brought))))
    return f"""#!/bin/sh
{_SIGN}
{head}
[ "${{{MARKER}:-}}" = 1 ] || exit 0
while [ "${{1#--}}" != "$1" ]; do shift; done
case "$2" in start|"(start)") ;; *) exit 0 ;; esac
case "$1" in
{patterns}) exit 101 ;;
esac
exit 0
"""


def left_for(reader: HostReader) -> frozenset[str] | None:
    """Return the packages for which a policy of ours is there; None where there is none of ours.

    Raises:
        HostError: it cannot be looked at.
    """
    data = _own(reader)
    return None if data is None else said_for(data)


def _own(reader: HostReader) -> bytes | None:
    """Return the text of a policy of ours; None where there is none."""
    facts = reader.examine(PATH)
    if not isinstance(facts, FileFacts) or facts.kind is not FileKind.REGULAR:
        return None
    data = reader.read_file(PATH, limit=_LIMIT)
    return data if _SIGN.encode() in data.splitlines()[1:2] else None


def place(writer: HostWriter, units: Iterable[str], names: Collection[str], brought: Collection[str] = ()) -> None:
    """Put the policy in place; one of somebody else is left alone, and so is what it decides.

    It goes before what it withholds, and names it: a kill may leave a folder that nothing else tells from others.

    Args:
        writer: the host.
        units: full names.
        names: packages for which it is there.
        brought: those of the units that the manager does not know yet.

    Raises:
        HostError: it cannot be written.
    """
    if isinstance(writer.examine(PATH), FileFacts) and left_for(writer) is None:
        writer.remark(
            f"There is another {PATH} on this host, and it was left alone: it decides which services are started by "
            "installing their packages."
        )
        return
    text = policy_text(units, names, brought)
    writer.write_file(PATH, FileWrite(Content.from_bytes(text.encode()), mode="0755"))
    if brought:
        withhold(writer, brought, names)


def clear(writer: HostWriter) -> bool:
    """Remove a policy of ours, and what is withheld, with a policy or without; return whether there was any.

    Raises:
        HostError: it cannot be removed.
    """
    data = _own(writer)
    units = [] if data is None else [name.decode("utf-8", "replace") for name in _WITHHELD.findall(data)]
    is_withheld = release(writer, units)
    if data is not None:
        writer.remove_file(PATH)
    return data is not None or is_withheld
