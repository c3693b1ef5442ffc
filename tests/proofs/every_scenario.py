"""All scenarios by name: those of a bare root, and those of a Debian, which read files of the clone.

Those of services that owe something need a booted Debian, and are struck in another way (`owed_judging`).
"""

from typing import Final

from tests.proofs.debian_scenarios import ACCOUNTS, SETTINGS
from tests.proofs.owed_judging import OWED
from tests.proofs.package_scenarios import PACKAGES
from tests.proofs.scenarios import FILES, KINDS, REFUSED, RESTORED, WRITTEN

SCENARIOS: Final = {
    scenario.name: scenario for scenario in (FILES, KINDS, WRITTEN, REFUSED, RESTORED, ACCOUNTS, SETTINGS, PACKAGES)
}
NAMES: Final = (*SCENARIOS, *OWED)
