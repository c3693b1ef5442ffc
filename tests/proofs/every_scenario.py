"""All scenarios by name: those of a bare root, and those of a Debian, which read files of the clone."""

from typing import Final

from tests.proofs.debian_scenarios import ACCOUNTS, SETTINGS
from tests.proofs.package_scenarios import PACKAGES
from tests.proofs.scenarios import FILES, KINDS, REFUSED, RESTORED, WRITTEN

SCENARIOS: Final = {
    scenario.name: scenario for scenario in (FILES, KINDS, WRITTEN, REFUSED, RESTORED, ACCOUNTS, SETTINGS, PACKAGES)
}
