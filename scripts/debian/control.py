"""What the Debian package says of itself: control file, copyrights, changelog, checksums."""

import email.utils
import gzip
import hashlib
import os
import re
import textwrap
from pathlib import Path
from typing import Final

from attrs import frozen

from scripts.debian.environment import Environment, Suite

NAME: Final = "datum-agent"
# Who answers for a package is who builds it: dpkg's own variables say it (deb-control(5), Maintainer).
_MAINTAINER: Final = "Datum <datum@localhost>"
SUMMARY: Final = "keeps this host in the state that a git revision declares"
DESCRIPTION: Final = """\
Datum is a pull agent: a timer runs passes that compare this host with the
newest acceptable revision of a fleet repository, do what is needed, look
again, and write a report. There is no server: git says what is wanted.
.
The package holds an environment of Python with all libraries of the agent,
of its own, so that nothing else on the host can change what it runs with.
Nothing is done before "datum init" has told it what to enforce.
"""


@frozen
class Package:
    """One package to be built."""

    version: str
    suite: Suite
    architecture: str
    # Seconds; of every file in it.
    epoch: int

    @property
    def file_name(self) -> str:
        """Name of the file, as dpkg has it."""
        return f"{NAME}_{self.version}_{self.architecture}.deb"


def debian_version(version: str, suite: Suite) -> str:
    """Return a version of Python as one of dpkg, which sorts alike; a later Debian's is the greater one.

    Raises:
        ValueError: it has a form for which there is no rule here.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)*)((?:a|b|rc)\d+)?(?:\.post(\d+))?(?:\.dev(\d+))?", version)
    if match is None:
        raise ValueError(f"{version} is no version that a Debian package can have")
    release, early, post, dev = match.groups()
    text = release + (f"~{early}" if early else "") + (f"+post{post}" if post else "") + (f"~~dev{dev}" if dev else "")
    return f"{text}+deb{suite.release}"


def maintainer() -> str:
    """Return who answers for the package: DEBFULLNAME and DEBEMAIL where they are set."""
    name, address = os.environ.get("DEBFULLNAME"), os.environ.get("DEBEMAIL")
    return f"{name or 'Datum'} <{address}>" if address else _MAINTAINER


def control(package: Package, environment: Environment, size: int) -> str:
    """Return the control file.

    Args:
        package: what is built.
        environment: what is in it.
        size: of all files, in KiB.
    """
    depends = [
        # This one and no other: an environment belongs to the minor version that it was made for.
        f"python{package.suite.python}",
        f"libc6 (>= 2.{environment.libc})",
        "libgcc-s1",
        "zlib1g",
        "git",
        "passwd",
        "systemd | systemd-standalone-sysusers | systemd-sysusers",
    ]
    fields = {
        "Package": NAME,
        "Version": package.version,
        "Architecture": package.architecture,
        "Maintainer": maintainer(),
        "Installed-Size": str(size),
        "Depends": ", ".join(depends),
        "Recommends": "ca-certificates, openssh-client, systemd",
        "Section": "admin",
        "Priority": "optional",
        "Description": f"{SUMMARY}\n{textwrap.indent(DESCRIPTION.rstrip(), ' ')}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def copyright_of(environment: Environment) -> str:
    """Return the file of copyrights: what each part is under, and where its own words are."""
    said = "\n".join(f"  {part.name} {part.version}: {part.license}" for part in environment.parts)
    return (
        "datum-agent is under the Apache License 2.0, which is in /usr/share/common-licenses/Apache-2.0.\n"
        "Copyright (c) 2026 the authors of Datum.\n\n"
        "The package holds libraries of others, each with its license and its\n"
        "copyrights in /usr/lib/datum/dist/lib/python*/site-packages/*.dist-info:\n\n"
        f"{said}\n"
    )


def changelog(package: Package) -> bytes:
    """Return the changelog in Debian's form, which points to the one for people."""
    date = email.utils.formatdate(package.epoch)
    text = (
        f"{NAME} ({package.version}) {package.suite.name}; urgency=medium\n\n"
        f"  * See /usr/share/doc/{NAME}/NEWS.md.gz.\n\n"
        f" -- {maintainer()}  {date}\n"
    )
    return compressed(text.encode())


def compressed(data: bytes) -> bytes:
    """Return what gzip -9n makes of it."""
    return gzip.compress(data, 9, mtime=0)


def checksums(root: Path) -> str:
    """Return the list with which `dpkg --verify` compares what is on a host."""
    listed = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    files = [path for path in listed if path.relative_to(root).parts[0] != "DEBIAN"]
    return "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)
