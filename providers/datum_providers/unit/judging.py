"""The programs that judge a unit: its candidate, and what lies on the disk before the unit is started. Pure."""

from typing import Final

from datum_providers.shared.unit_judging import JUDGE_OF_CANDIDATE, judge_of_files
from datum_providers.unit.desired import DesiredUnit

# Of a drop-in counts what makes the unit fail, and what is said of this very file; that other files of the unit, which
# a package brought, are warned of is no fault of it.
_OF_DROP_IN: Final = (
    'said=$(systemd-analyze verify --man=no "$0" 2>&1) && case "$said" in *"$1"*) ! :;; esac || '
    '{ echo "$said" >&2; exit 1; }'
)

# On the host as it is systemd-analyze may be missing, and a unit may be masked until its service is started; that it is
# not there is nothing that a drop-in is blamed for.
_DROP_IN_AS_IT_IS: Final = (
    "command -v systemd-analyze >/dev/null || exit 0; "
    'said=$(systemd-analyze verify --man=no "$0" 2>&1); failed=$?; '
    'case "$said" in *"Unit $1 is masked."*|*"Unit $1 not found."*) exit 0;; *"$2"*) failed=1;; esac; '
    '[ $failed = 0 ] || { echo "$said" >&2; exit 1; }'
)


def judge_of_candidate(desired: DesiredUnit) -> tuple[str, ...]:
    """Return the program that is shown the candidate; `{path}` stands for its path."""
    if desired.drop_in:
        return ("sh", "-c", _OF_DROP_IN, desired.unit.full, "{path}")
    return JUDGE_OF_CANDIDATE


def judge_as_it_is(desired: DesiredUnit) -> tuple[str, ...]:
    """Return the program that judges the unit as it lies on the disk; none for a drop-in of many."""
    if desired.unit.stem.endswith("-"):
        return ()
    if not desired.drop_in:
        return judge_of_files(desired.path)
    # systemd-analyze looks at a template as an instance of it.
    shown = desired.unit.full.replace("@.", "@i.")
    return ("sh", "-c", _DROP_IN_AS_IT_IS, desired.unit.full, shown, desired.path)
