"""Pages and leftovers of the types whose files a resource says whole."""

from pathlib import Path

import pytest

import datum_providers
from datum.model.manifest import AttributeValue
from datum.model.plan import Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import AnyProvider
from datum.provider.host import HostError
from datum.testing.host import FakeHost
from datum_providers.cron.provider import CronProvider
from datum_providers.package_source.provider import PackageSourceProvider
from datum_providers.timer.provider import TimerProvider
from tests.providers.package_source.test_openpgp import ASC

SOURCE: dict[str, AttributeValue] = {"uris": ("copy:/a",), "suites": ("./",)}


@pytest.mark.parametrize(
    ("provider", "causes"),
    [(CronProvider(), ()), (PackageSourceProvider(), ()), (TimerProvider(), ("no-manager",))],
)
def test_the_page_names_every_field_and_every_cause_of_not_applicable(
    provider: AnyProvider, causes: tuple[str, ...]
) -> None:
    page = (Path(datum_providers.__file__).parent / provider.type_name / "README.md").read_text(encoding="utf-8")
    for word in ("no-owners", "no-modes", *causes, *provider.fields):
        assert f"`{word}`" in page


@pytest.mark.parametrize("provider", [CronProvider(), PackageSourceProvider()])
def test_nothing_is_made_of_no_declaration(provider: AnyProvider) -> None:
    host = FakeHost()
    with pytest.raises(HostError) as caught:
        step = Step(Operation.CREATE, (Change("kind", None, "regular"),))
        provider.apply(host.writer(), provider.parse("it", {}), step)
    assert caught.value.failure is FailureCause.IMPOSSIBLE
    assert not host.journal


@pytest.mark.parametrize(
    ("provider", "attributes", "path"),
    [
        (CronProvider(), {}, "/etc/cron.d/it"),
        (PackageSourceProvider(), SOURCE, "/etc/apt/sources.list.d/it.sources"),
        (PackageSourceProvider(), {**SOURCE, "key": ASC.decode()}, "/etc/apt/keyrings/it.gpg"),
    ],
)
def test_a_leftover_is_swept_and_nothing_else(
    provider: AnyProvider, attributes: dict[str, AttributeValue], path: str
) -> None:
    host = FakeHost()
    host.add_directory(path.rpartition("/")[0])
    host.world.residues.add(path)
    sweep = Step(Operation.DELETE, (Change("residue", before=True, after=None),))
    provider.apply(host.writer(), provider.parse("it", attributes), sweep)
    assert [f"{entry.method} {entry.subject}" for entry in host.journal] == [f"remove_residue {path}"]
