"""A scenario of packages on a layer over the Debian image, with an archive in it: come, changed, gone and purged.

Two transactions: one run of apt for most, one for what is purged. Packages have maintainer scripts, a conffile, marks,
and dependencies; a declared service has apt run under a policy.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.proofs.archive import Archive, Deb
from tests.proofs.stage import Scenario

_TOUCH: Final = '#!/bin/sh\nset -e\nmkdir -p /var/lib/@; echo "$1" > /var/lib/@/@.state\n'
_CLEAR: Final = '#!/bin/sh\nset -e\n[ "$1" != purge ] || rm -rf /var/lib/@\n'
_OURS: Final = "made|needed|changed|removed|purged|marked"
# dpkg and apt write in steps, and what is in them is judged by what the next pass comes to.
_IN_STEPS: Final = (
    r"var/lib/dpkg/.*|var/lib/apt/extended_states"
    rf"|usr/share/({_OURS})(/.*)?|usr/share/({_OURS})\.dpkg-(new|tmp)"
    rf"|var/lib/({_OURS})(/.*)?|etc/({_OURS})\.conf(\.dpkg-\w+)?"
    r"|usr/sbin/(policy-rc\.d|\.policy-rc\.d\.datum~\.dpkg-tmp)"
)


@frozen
class _Root:
    """What an archive needs of a machine, below a root."""

    path: Path

    def run(self, argv: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run a program of the root."""
        return subprocess.run(["chroot", str(self.path), *argv], capture_output=True, text=True, check=True)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return (self.path / path.lstrip("/")).read_bytes()

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file."""
        (self.path / path.lstrip("/")).write_bytes(content.encode() if isinstance(content, str) else content)


def _deb(name: str, version: str, **fields: str) -> Deb:
    control = {
        "postinst": _TOUCH.replace("@", name),
        "postrm": _CLEAR.replace("@", name),
        "conffiles": f"/etc/{name}.conf\n",
    }
    files = {f"/usr/share/{name}/text": f"{version}\n", f"/etc/{name}.conf": f"{version}\n"}
    return Deb(name, version, fields=fields, control=control, files=files)


def _offer(root: Path) -> None:
    """Make the archive, with all versions of both revisions."""
    (root / "tmp").chmod(0o1777)
    archive = Archive(_Root(root))
    archive.publish(
        _deb("made", "1.0-1", Depends="needed"),
        _deb("needed", "1.0-1"),
        _deb("changed", "1.0-1"),
        _deb("changed", "1.1-1"),
        _deb("removed", "1.0-1"),
        _deb("purged", "1.0-1"),
        _deb("marked", "1.0-1"),
    )


def _first() -> Mapping[str, Mapping[str, Any]]:
    return {
        "package:changed": {"version": "1.0-1"},
        "package:removed": {},
        "package:purged": {},
        "package:marked": {},
        "service:cron": {"enabled": True},
    }


def _second() -> Mapping[str, Mapping[str, Any]]:
    return {
        "package:made": {},
        "package:changed": {"version": "1.1-1"},
        "package:removed": {"absent": True},
        "package:purged": {"purge": True, "allow": ["data_loss"]},
        "package:marked": {"hold": True, "manual": False},
        "service:cron": {"enabled": True},
    }


def _nothing(root: Path) -> None:
    """Leave the host alone."""


PACKAGES: Final = Scenario(
    "packages", _first(), _second(), _nothing, on_debian=True, stepwise=_IN_STEPS, sampled=300, before=_offer
)
