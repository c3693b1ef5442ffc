"""The home of an account whose making was interrupted. Changes the host."""

import re
from typing import Final

from datum.provider.host import Command, FileFacts, HostWriter, Missing
from datum_providers.shared.account_files import PasswdLine

_SKELETON: Final = "/etc/skel"
_LOGIN_DEFS: Final = "/etc/login.defs"
_LIMIT: Final = 1 << 20
_TIMEOUT: Final = 60.0
_MODE: Final = re.compile(rb"(?m)^[ \t]*(HOME_MODE|UMASK)[ \t]+0*([0-7]{1,4})\b")
_ALL: Final = 0o777
_UMASK: Final = 0o022


def fill_home(writer: HostWriter, line: PasswdLine) -> None:
    """Have the home hold what useradd(8) puts there, which passes over one that it finds.

    Raises:
        HostError: it failed.
    """
    if not isinstance(writer.examine(_SKELETON), Missing):
        writer.run(Command(("cp", "--recursive", "--no-target-directory", "--", _SKELETON, line.home), _TIMEOUT))
    owner = f"{line.uid}:{line.gid}"
    writer.run(Command(("chown", "--recursive", "--no-dereference", "--", owner, line.home), _TIMEOUT))
    writer.set_attributes(line.home, mode=home_mode(writer))


def home_mode(writer: HostWriter) -> str:
    """Return the mode of a new home, as login.defs(5) says it."""
    if not isinstance(writer.examine(_LOGIN_DEFS), FileFacts):
        return f"{_ALL & ~_UMASK:04o}"
    said = {name: int(digits, 8) for name, digits in _MODE.findall(writer.read_file(_LOGIN_DEFS, limit=_LIMIT))}
    return f"{said.get(b'HOME_MODE', _ALL & ~said.get(b'UMASK', _UMASK)):04o}"
