"""What a key holds, what it comes after, and what it learns of its neighbours. Pure."""

from typing import Final

from attrs import evolve

from datum.model.graph import MADE_PATH, Target
from datum.model.identity import ResourceId
from datum.provider.contract import ImplicitEdge, TargetIndex
from datum.provider.paths import parents
from datum_providers.authorized_key.desired import DesiredKey
from datum_providers.shared.above import edges_above

_TYPE: Final = "authorized_key"
_ALL: Final = "*"
_IN_HOME: Final = ".ssh/authorized_keys"


def targets_of_key(desired: DesiredKey) -> tuple[Target, ...]:
    """Return the key of this user, or all of them, of which there is one declaration, and the file, which keys share.

    Where the declaration does not say which file that is, it is the one of the usual home, as a path that is brought
    about: no exclusive directory clears it away.
    """
    key = Target(_TYPE, f"{desired.user}/{desired.fingerprint or _ALL}")
    if desired.path is not None:
        return (key, Target("path", desired.path, shared=True, leaf=True))
    return (key, Target(MADE_PATH, _in_home(_usual_home(desired)), shared=True))


def related_key(desired: DesiredKey, index: TargetIndex) -> DesiredKey:
    """Return it with the home that is declared for its user, and who declares the directory and the whole file.

    All keys of a user learn which of them are declared.
    """
    homes = (key.partition(" ") for key in index.keys("home"))
    home = next((path for user, _, path in homes if user == desired.user), None)
    known = evolve(desired, home=home, has_user=index.holder(Target("user", desired.user)) is not None)
    path = likely_path(known)
    known = evolve(known, folder=index.holder(Target("path", parents(path)[0])))
    rival = index.holder(Target("path", path))
    is_shared = rival is None or rival.type == _TYPE or index.is_absent(path)
    known = evolve(known, rival=None if is_shared else rival)
    if not desired.is_of_all:
        return known
    declared = _declared(known, index)
    here = frozenset(fingerprint for fingerprint, _, is_here in declared if is_here)
    return evolve(known, listed=here, elsewhere=frozenset(each[0] for each in declared) - here)


def _declared(desired: DesiredKey, index: TargetIndex) -> tuple[tuple[str, ResourceId, bool], ...]:
    """Return the fingerprint of each declared key of the user, what declares it, and whether it is for this file."""
    file, found = likely_path(desired), []
    for key in index.keys(_TYPE):
        user, _, fingerprint = key.partition("/")
        holder = index.holder(Target(_TYPE, key)) if user == desired.user and fingerprint != _ALL else None
        if holder is not None:
            path = next((target.key for target in index.targets_of(holder) if target.kind == "path"), None)
            found.append((fingerprint, holder, file == likely_path(evolve(desired, path=path))))
    return tuple(found)


def likely_path(desired: DesiredKey) -> str:
    """Return where the file is, as far as declarations say: sshd may be configured otherwise."""
    return desired.path or _in_home(desired.home or _usual_home(desired))


def _usual_home(desired: DesiredKey) -> str:
    return "/root" if desired.user == "root" else f"/home/{desired.user}"


def _in_home(home: str) -> str:
    return f"{home.rstrip('/')}/{_IN_HOME}"


def edges_of_key(desired: DesiredKey, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
    """Return the user, and what every path waits for: the directory and the mount above, a package of its name.

    Where no key may stand there that is not declared, those that are come first: nothing goes before they are there.
    """
    user = index.holder(Target("user", desired.user))
    own = [] if user is None else [ImplicitEdge(user, "user")]
    if desired.is_of_all and desired.is_exclusive:
        own += [ImplicitEdge(holder, "key that stays") for _, holder, is_here in _declared(desired, index) if is_here]
    return (*own, *edges_above(likely_path(desired), index))
