"""Whether a path may be written, as far as a look at it tells: what the writer would refuse, the plan says.

The rule is that of design 4.7. Said is only what is certain: where it depends on what the step will be, nothing is.
"""

import stat
from typing import Final

from datum.model.graph import SAFE_FOLDER, Target
from datum.model.observation import UnsafeFolder
from datum.model.plan import Effect, Operation, Step
from datum.provider.host import FileFacts, HostReader, Missing
from datum_providers.shared.accounts import Accounts, Owners
from datum_providers.shared.spellings import spellings

_RIGHTS: Final = frozenset({"mode", "owner", "group"})


def unsafe_above(
    reader: HostReader, accounts: Accounts, path: str, facts: FileFacts | Missing, owners: Owners
) -> tuple[UnsafeFolder, ...]:
    """Return the directories because of which the writer would refuse to change what stands at a path.

    Args:
        reader: whose caller owns what declares no owner.
        accounts: of the host.
        path: where.
        facts: what one look found there.
        owners: as they are declared for it.
    """
    if not facts.exposures:
        return ()
    own = _own(reader, accounts, facts, owners)
    return tuple(
        UnsafeFolder(found.folder, f"{found.sentence(path)} Correct it: {found.hint}.")
        for found in facts.exposures
        if found.owner is None or (own is not None and found.owner not in own)
    )


def _own(reader: HostReader, accounts: Accounts, facts: FileFacts | Missing, owners: Owners) -> frozenset[int] | None:
    """Return the uids whose directories may be on the way; None for any."""
    number = reader.caller[0] if owners.owner is None else accounts.users.number(owners.owner)
    if number is None:
        # Who makes that account decides what its number is.
        return None
    own, is_there = {number}, isinstance(facts, FileFacts)
    if isinstance(facts, FileFacts):
        own.add(facts.uid)
    if facts.has_residue or (is_there and owners.owner is None):
        # It may be that something is removed, which is done with the rights of whose the topmost directory is.
        own.update([found.owner for found in facts.exposures if found.owner is not None][:1])
    return frozenset(own)


def makes_safe(path: str, mode: str | None, shared_with: str) -> tuple[Effect, ...]:
    """Return what a change of mode, owner or group of a directory brings about for what is written below it.

    Args:
        path: of the directory.
        mode: that it will have, None: as it is, which nobody here knows.
        shared_with: the group that it is declared writable for; empty for none.
    """
    bits = int(mode, 8) if mode is not None else 0
    writable = stat.S_IWOTH if shared_with else stat.S_IWOTH | stat.S_IWGRP
    if bits & writable and not bits & stat.S_ISVTX:
        return ()
    return tuple(Effect(Target(SAFE_FOLDER, spelling)) for spelling in spellings(path))


def changes_rights(step: Step) -> bool:
    """Whether a step changes mode, owner or group of a directory that is there."""
    return step.operation is Operation.UPDATE and any(change.name in _RIGHTS for change in step.changes)
