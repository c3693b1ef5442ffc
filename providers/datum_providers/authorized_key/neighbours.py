"""What a key holds, what it comes after, and what it learns of its neighbours. Pure."""

from typing import Final

from attrs import evolve

from datum.model.graph import MADE_PATH, Target
from datum.provider.contract import ImplicitEdge, TargetIndex
from datum.provider.paths import parents
from datum_providers.authorized_key.desired import DesiredKey
from datum_providers.shared.above import edges_above

_TYPE: Final = "authorized_key"
_IN_HOME: Final = ".ssh/authorized_keys"


def targets_of_key(desired: DesiredKey) -> tuple[Target, ...]:
    """Return the key of this user, of which there is one declaration, and the file, which keys share.

    Where the declaration does not say which file that is, it is the one of the usual home, as a path that is brought
    about: no exclusive directory clears it away.
    """
    key = Target(_TYPE, f"{desired.user}/{desired.fingerprint}")
    if desired.path is not None:
        return (key, Target("path", desired.path, shared=True, leaf=True))
    return (key, Target(MADE_PATH, _in_home(_usual_home(desired)), shared=True))


def related_key(desired: DesiredKey, index: TargetIndex) -> DesiredKey:
    """Return it with the home that is declared for its user, and who declares the directory and the whole file."""
    homes = (key.partition(" ") for key in index.keys("home"))
    home = next((path for user, _, path in homes if user == desired.user), None)
    known = evolve(desired, home=home, has_user=index.holder(Target("user", desired.user)) is not None)
    path = likely_path(known)
    known = evolve(known, folder=index.holder(Target("path", parents(path)[0])))
    rival = index.holder(Target("path", path))
    is_shared = rival is None or rival.type == _TYPE or index.is_absent(path)
    return evolve(known, rival=None if is_shared else rival)


def likely_path(desired: DesiredKey) -> str:
    """Return where the file is, as far as declarations say: sshd may be configured otherwise."""
    return desired.path or _in_home(desired.home or _usual_home(desired))


def _usual_home(desired: DesiredKey) -> str:
    return "/root" if desired.user == "root" else f"/home/{desired.user}"


def _in_home(home: str) -> str:
    return f"{home.rstrip('/')}/{_IN_HOME}"


def edges_of_key(desired: DesiredKey, index: TargetIndex) -> tuple[ImplicitEdge, ...]:
    """Return the user, and what every path waits for: the directory and the mount above, a package of its name."""
    user = index.holder(Target("user", desired.user))
    own = () if user is None else (ImplicitEdge(user, "user"),)
    return (*own, *edges_above(likely_path(desired), index))
