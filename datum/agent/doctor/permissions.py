"""What this process may do: its user, its capabilities, and what confines it. Effects: reads /proc and /sys."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import field, frozen

from datum.agent.doctor.finding import Facts, Finding, State, fault, from_diagnostics, not_checked, ok, warning
from datum.agent.doctor.given import Given
from datum.agent.doctor.shelter import AS_ROOT
from datum.diagnostics import Diagnostic

NAMES: Final = ("rights-of-root", "capabilities", "confinement")

# Numbers of capability.h, which never change (capabilities(7)).
_NEEDED: Final = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_DAC_READ_SEARCH": 2,
    "CAP_FOWNER": 3,
    "CAP_FSETID": 4,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
}
_WANTED: Final = {"CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21}
_SECCOMP: Final = {"0": "none", "1": "strict", "2": "filtered"}
_LIMIT: Final = 1 << 16


@frozen
class Confinement:
    """What the kernel says of this process."""

    # Effective capabilities, one bit each; None: it does not say.
    capabilities: int | None = None
    has_no_new_privileges: bool = False
    # none, strict, filtered; empty: it does not say.
    seccomp: str = ""
    # Active security modules, as apparmor; SELinux only if it enforces.
    modules: tuple[str, ...] = ()
    # Label of this process: a profile of AppArmor, a context of SELinux; empty for none.
    label: str = field(default="")


def read_confinement() -> Confinement:
    """Read /proc and /sys; what cannot be read is not said."""
    status = _text("/proc/self/status")
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    seccomp = re.search(r"^Seccomp:\s*(\d)$", status, re.MULTILINE)
    modules = [name for name in _text("/sys/kernel/security/lsm").strip().split(",") if name]
    if _text("/sys/fs/selinux/enforce").strip() == "1":
        modules = [*(name for name in modules if name != "selinux"), "selinux"]
    return Confinement(
        int(effective[1], 16) if effective else None,
        has_no_new_privileges=bool(re.search(r"^NoNewPrivs:\s*1$", status, re.MULTILINE)),
        seccomp=_SECCOMP.get(seccomp[1], "") if seccomp else "",
        modules=tuple(modules),
        label=_text("/proc/self/attr/current").strip("\0 \n"),
    )


def _text(path: str) -> str:
    with suppress(OSError), Path(path).open("rb") as stream:
        return stream.read(_LIMIT).decode(errors="replace")
    return ""


def look(given: Given) -> Iterator[Finding]:
    """Look at this process."""
    yield judge_user(os.geteuid(), is_running_system=given.is_running_system)
    found = read_confinement()
    yield judge_capabilities(found, is_root=given.is_root)
    yield judge_confinement(found)


def look_at_reader(given: Given) -> Iterator[Finding]:
    """Tell who reads revisions."""
    error = given.reader_error
    diagnostics = error.diagnostics if error else given.ports.notes
    yield judge_reader(diagnostics, is_broken=error is not None, is_apart=given.is_root and given.is_running_system)


def judge_reader(diagnostics: Sequence[Diagnostic], *, is_broken: bool, is_apart: bool) -> Finding:
    """Say whether revisions are read by a process without rights.

    Args:
        diagnostics: what there is to say of that process.
        is_broken: whether it could not be started.
        is_apart: whether there is to be one: below another root, and for ordinary users, this process reads them.
    """
    if diagnostics:
        return from_diagnostics("revision-reader", State.FAULT if is_broken else State.WARNING, diagnostics)
    if is_apart:
        return ok("revision-reader", "A process without rights reads what revisions hold.")
    return ok("revision-reader", "Revisions are read by this process, which is not root's on the running system.")


def judge_user(uid: int, *, is_running_system: bool) -> Finding:
    """Say whether passes can do all that they have to."""
    facts: Facts = {"uid": uid}
    if uid == 0:
        return ok("rights-of-root", "This runs as root.", facts)
    if not is_running_system:
        return ok("rights-of-root", f"This runs as the user {uid}, whose root this is.", facts)
    return warning(
        "rights-of-root", f"This runs as the user {uid}: a pass needs root, and so do some checks.", AS_ROOT, facts
    )


def judge_capabilities(found: Confinement, *, is_root: bool) -> Finding:
    """Say which of root's capabilities are missing."""
    if not is_root:
        return not_checked("capabilities", "They are looked at as root: an ordinary user has none.", cure=AS_ROOT)
    if found.capabilities is None:
        return not_checked("capabilities", "/proc/self/status does not say which this process has.")
    has = found.capabilities
    facts: Facts = {"effective": f"{has:016x}"}
    missing = [name for name, number in _NEEDED.items() if not has >> number & 1]
    if missing:
        return fault(
            "capabilities",
            f"Root lacks {', '.join(missing)} here, so files cannot be owned, written or read as declared.",
            "let the container have them, or give the unit CapabilityBoundingSet= with them",
            facts,
        )
    missing = [name for name, number in _WANTED.items() if not has >> number & 1]
    if missing:
        return warning(
            "capabilities",
            f"Root lacks {', '.join(missing)} here: no program can be enclosed, and checks see candidates only after "
            "they were written.",
            "let the container have them, or set source.account to root in agent.yaml, so that servers are talked to "
            "as root",
            facts,
        )
    return ok("capabilities", "This process has what a pass needs.", facts)


def judge_confinement(found: Confinement) -> Finding:
    """Tell what confines this process; that is a fact, and a warning where it can refuse what root may do."""
    facts: Facts = {
        "no_new_privileges": found.has_no_new_privileges,
        "seccomp": found.seccomp,
        "security_modules": found.modules,
        "label": found.label,
    }
    profile = found.label.removesuffix(" (enforce)")
    words = []
    if found.has_no_new_privileges:
        words.append("it can get no new privileges, so programs of it that are setuid are not")
    if found.label.endswith("(enforce)"):
        words.append(f"AppArmor enforces the profile {profile}")
    if "selinux" in found.modules and ":unconfined_t" not in found.label:
        words.append(f"SELinux enforces the rules of {found.label or 'its context'}")
    if words:
        text = f"This process is confined: {'; '.join(words)}."
        return warning("confinement", text, "look in the kernel's log for what was refused: journalctl -k", facts)
    modules = f" ({', '.join(found.modules)} active)" if found.modules else ""
    filtered = ", but for a filter of system calls" if found.seccomp == "filtered" else ""
    return ok("confinement", f"Nothing confines this process{filtered}{modules}.", facts)
