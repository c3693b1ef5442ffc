"""What is proven of packages and their sources with the apt of a Debian 12 holds with apt 3 and dpkg 1.22, too.

The very same tests, with hosts of a Debian 13.
"""

from collections.abc import Callable

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.test_package_sources import (  # noqa: F401 - collected once more
    fleet,
    machine,
    test_a_package_comes_after_the_source_that_offers_it,
    test_another_key_is_refused_by_apt_or_before_it_is_written,
    test_apt_takes_the_key_in_whatever_form_it_is_declared,
    test_every_field_reaches_apt_and_a_spelling_by_hand_is_none,
)
from tests.proofs.test_packages import (  # noqa: F401 - collected once more
    host,
    test_a_package_comes_goes_and_is_purged,
    test_a_version_that_nobody_offers_is_an_error_that_names_the_others,
    test_essential_packages_stay,
    test_no_network_is_a_cause_of_its_own,
    test_one_that_fails_keeps_no_other_from_being_installed,
    test_what_goes_along_is_told_and_has_to_be_allowed,
)
from tests.proofs.test_packages_repaired import (  # noqa: F401 - collected once more
    test_a_dpkg_that_was_killed_is_repaired,
    test_a_lock_is_waited_for_and_its_holder_is_named,
    test_nothing_that_asks_hangs,
)


@pytest.fixture(scope="session")
def agent_bind(trixie_agent: AgentBind) -> AgentBind:
    return trixie_agent


@pytest.fixture
def make_oneshot(make_trixie_oneshot: Callable[..., Oneshot]) -> Callable[..., Oneshot]:
    return make_trixie_oneshot
