"""The policy that keeps services of the fleet from being started by the installation of their packages.

Debian's maintainer scripts ask `/usr/sbin/policy-rc.d` before they start a service (invoke-rc.d(8)). Ours denies
`start` of some units, and only to scripts of our own transactions, which carry a variable: one that a kill leaves
behind keeps nobody else from anything.
"""

import re
import shlex
from collections.abc import Iterable
from typing import Final

from datum.model.content import Content
from datum.provider.host import FileFacts, FileKind, FileWrite, HostReader, HostWriter
from datum_providers.package.apt import MARKER

PATH: Final = "/usr/sbin/policy-rc.d"

_SIGN: Final = "# datum: for one transaction"
_FOR: Final = re.compile(rb"^# datum: package:(\S+)$", re.MULTILINE)
_LIMIT: Final = 1 << 20
_SUFFIX: Final = ".service"


def policy_text(units: Iterable[str], names: Iterable[str]) -> str:
    """Return the program: it denies `start` of these units.

    Args:
        units: full names.
        names: packages for which it is there; who looks at them sees that it was left behind.
    """
    spellings = sorted({spelling for unit in units for spelling in (unit, unit.removesuffix(_SUFFIX))})
    patterns = "|".join(map(shlex.quote, spellings)) or "''"
    head = "\n".join(f"# datum: package:{name}" for name in sorted(names))
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
    facts = reader.examine(PATH)
    if not isinstance(facts, FileFacts) or facts.kind is not FileKind.REGULAR:
        return None
    data = reader.read_file(PATH, limit=_LIMIT)
    if _SIGN.encode() not in data.splitlines()[1:2]:
        return None
    return frozenset(name.decode("utf-8", "replace") for name in _FOR.findall(data))


def place(writer: HostWriter, units: Iterable[str], names: Iterable[str]) -> bool:
    """Put the policy in place; one of somebody else is left alone. Return whether ours is there.

    Raises:
        HostError: it cannot be written.
    """
    if isinstance(writer.examine(PATH), FileFacts) and left_for(writer) is None:
        writer.remark(
            f"There is another {PATH} on this host, and it was left alone: it decides which services are started by "
            "installing their packages."
        )
        return False
    text = policy_text(units, names)
    writer.write_file(PATH, FileWrite(Content.from_bytes(text.encode()), mode="0755"))
    return True


def clear(writer: HostWriter) -> bool:
    """Remove a policy of ours; return whether there was one.

    Raises:
        HostError: it cannot be removed.
    """
    if left_for(writer) is None:
        return False
    writer.remove_file(PATH)
    return True
