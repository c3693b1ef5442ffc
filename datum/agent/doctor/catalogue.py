"""Every check by its name: which group it belongs to, and why it matters. Pure.

The names are stable; docs/doctor.md says of each what its states mean.
"""

from collections.abc import Mapping
from typing import Final

from attrs import frozen


@frozen
class Check:
    """One check."""

    group: str
    # Why what it looks at matters, in a sentence.
    why: str
    # What to do where the words of a pass do not say it.
    cure: str = ""


GROUPS: Final = (
    "configuration",
    "source",
    "state",
    "clock",
    "disk",
    "permissions",
    "units",
    "versions",
    "fleet",
    "passes",
)
"""In the order in which they are shown."""

CHECKS: Final[Mapping[str, Check]] = {
    "configuration-file": Check(
        "configuration",
        "Without a right configuration no pass begins (exit 78).",
        "correct the file; or move it away, and let datum init write another",
    ),
    "configuration-rights": Check("configuration", "Who can write it decides what root makes of this host."),
    "source-account": Check(
        "source",
        "What talks to foreign servers should not be root.",
        "useradd --system --no-create-home --shell /usr/sbin/nologin datum-source",
    ),
    "remote-files": Check(
        "source",
        "The remote lets in who shows them, and is known by them.",
        "look at the remote with git ls-remote",
    ),
    "remote-name": Check(
        "source",
        "Nothing can be connected to without an address.",
        "look at the remote with git ls-remote",
    ),
    "remote-proxy": Check(
        "source",
        "The remote is reached through it, and in no other way.",
        "look at the remote with git ls-remote",
    ),
    "remote-connection": Check(
        "source",
        "The revision comes over it.",
        "look at the remote with git ls-remote",
    ),
    "remote-certificate": Check(
        "source",
        "It is what tells the remote from somebody in between.",
        "look at the remote with git ls-remote",
    ),
    "remote-host-key": Check(
        "source",
        "It is what tells the remote from somebody in between.",
        "look at the remote with git ls-remote",
    ),
    "remote-answer": Check(
        "source",
        "A remote that breaks off gives no revision.",
        "look at the remote with git ls-remote",
    ),
    "remote-login": Check(
        "source",
        "The remote has to let this host in.",
        "look at the remote with git ls-remote",
    ),
    "remote-repository": Check(
        "source",
        "The fleet repository has to be there, and readable.",
        "look at the remote with git ls-remote",
    ),
    "remote-protocol": Check(
        "source",
        "Only in protocol 2 of git one ref can be asked for.",
        "look at the remote with git ls-remote",
    ),
    "remote-ref": Check(
        "source",
        "It names the revision that this host follows.",
        "look at the remote with git ls-remote",
    ),
    "remote-fetch": Check(
        "source",
        "A revision counts once all of it is on this host.",
        "look at the remote with git ls-remote",
    ),
    "remote-revision": Check(
        "source",
        "A revision that is not acceptable is not enforced (exit 76).",
        "let the ref name a revision of this fleet that is valid: datum validate in a clone",
    ),
    "state-directory": Check("state", "It holds all that is kept between passes."),
    "pointer": Check(
        "state",
        "It says what was accepted here; without it no pass begins.",
        "restore it from a backup",
    ),
    "mirror": Check("state", "From it drift is repaired while the source cannot be reached."),
    "quarantined-revisions": Check("state", "They are never enforced again on this host."),
    "pass-lock": Check("state", "One pass at a time: another one waits for who holds it."),
    "clock-synchronized": Check("clock", "Certificates and dates of commits are judged by it."),
    "clock-of-source": Check("clock", "A clock that is off makes certificates and revisions look wrong."),
    "clock-of-reports": Check("clock", "A clock that was set back makes the newest report an old one."),
    "free-space": Check("disk", "A full disk ends a fetch, a write and a report."),
    "writable": Check("disk", "What is mounted read-only can take no pointer, no report and no change."),
    "unnamed-files": Check("disk", "New files are written without a name, so that a kill leaves nothing behind."),
    "private-mounts": Check("disk", "Checks see candidates there before the host does."),
    "rights-of-root": Check("permissions", "A pass on the running system sees and changes everything."),
    "capabilities": Check("permissions", "In a container root may lack what a pass needs."),
    "confinement": Check("permissions", "What confines the agent can refuse what root may do."),
    "revision-reader": Check(
        "permissions",
        "What reads foreign YAML and templates should have no rights.",
        "let the agent have CAP_SETUID, CAP_SETGID, CAP_SETPCAP and CAP_SYS_ADMIN",
    ),
    "service-manager": Check("units", "Services are asked and told through it, and it holds what restarts are owed."),
    "timer-unit": Check("units", "It is what starts passes."),
    "service-unit": Check("units", "It is the pass that the timer starts."),
    "failed-units": Check("units", "A unit that failed does not do its work."),
    "login-manager": Check("units", "Through it a shutdown waits for the action in hand."),
    "program-version": Check("versions", "Older ones lack what is asked of them."),
    "resource-types": Check(
        "fleet",
        "A revision that names a type which cannot be loaded is invalid.",
        "install the distribution that offers it anew",
    ),
    "manifest": Check(
        "fleet",
        "It is what a pass enforces on this host.",
        "datum validate in a clone",
    ),
    "pass-reports": Check("passes", "A pass writes one; without new ones nothing keeps this host."),
    "last-pass": Check("passes", "What it left stays until somebody looks."),
    "report-space": Check("passes", "Old reports go when all together take more than the limit."),
    "enforcement": Check(
        "passes",
        "It decides whether passes change anything.",
        "datum resume",
    ),
}
