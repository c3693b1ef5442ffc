"""What groups mean, hold, come after and cost."""

from typing import Any

import pytest

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum.model.observation import Present
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import DesiredError, ImplicitEdge, OrderedProvider, RelatedProvider, Removal, Stage
from datum.testing.host import FakeHost
from datum_providers.group.desired import DesiredGroup
from datum_providers.group.provider import GroupProvider
from tests.providers.index import Index
from tests.providers.shadow_tools import add_shadow_tools

PROVIDER = GroupProvider()


def wanted(**attributes: Any) -> DesiredGroup:
    return PROVIDER.parse("web", attributes)


def test_groups_go_before_packages() -> None:
    assert isinstance(PROVIDER, OrderedProvider)
    assert PROVIDER.order_stage is Stage.ACCOUNTS


@pytest.mark.parametrize(
    ("attributes", "attribute"),
    [
        ({"gid": -1}, "gid"),
        ({"gid": True}, "gid"),
        ({"gid": 2**32}, "gid"),
        ({"members": (5,)}, "members"),
        ({"members": ("a:b",)}, "members"),
        ({"system": "yes"}, "system"),
    ],
)
def test_what_cannot_be_meant(attributes: dict[str, Any], attribute: str) -> None:
    with pytest.raises(DesiredError) as caught:
        wanted(**attributes)
    assert caught.value.attribute == attribute


@pytest.mark.parametrize("name", ["12", "a b", "a,b", ""])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(DesiredError, match="is no name of a group"):
        PROVIDER.normal_name(name)


def test_a_group_that_says_its_members_leaves_users_nothing_to_say() -> None:
    assert PROVIDER.targets(wanted()) == (Target("group", "web"),)
    targets = PROVIDER.targets(wanted(gid=5, members=("b", "a")))
    assert {str(target): target.shared for target in targets} == {
        "group web": False,
        "gid 5": False,
        "members web": False,
        "memberships a": True,
        "memberships b": True,
    }


def test_members_come_first_softly() -> None:
    index = Index({Target("user", "a"): ResourceId("user", "a")})
    found = PROVIDER.edges(wanted(members=("a", "b")), index)
    assert found == (ImplicitEdge(ResourceId("user", "a"), "member", soft=True),)


def test_a_number_that_is_given_goes_before_one_that_is_chosen() -> None:
    index = Index({Target("gid", "5"): ResourceId("group", "five")})
    (edge,) = PROVIDER.edges(wanted(), index)
    assert (edge.target, edge.kind, edge.soft) == (ResourceId("group", "five"), DependencyKind.AFTER, True)
    assert PROVIDER.edges(wanted(gid=6), index) == ()


def test_what_is_made_and_what_stays() -> None:
    step = Step(Operation.CREATE, (Change("name", None, "web"),))
    assert PROVIDER.effects(wanted(gid=5), step) == (Effect(Target("group", "web")), Effect(Target("gid", "5")))
    assert PROVIDER.effects(wanted(), Step(Operation.UPDATE, (Change("gid", 1, 2),))) == ()
    assert PROVIDER.removal(wanted()) is Removal.NEVER


class Leaving(Index):
    """A graph in which the user of every name is declared absent."""

    def holder(self, target: Target) -> ResourceId | None:
        return ResourceId(target.kind, target.key)

    def keys(self, kind: str) -> tuple[str, ...]:
        return ()


def test_a_user_who_goes_first_does_not_keep_its_group() -> None:
    """The user of the group's own name goes in the same pass, before it; others may."""
    assert isinstance(PROVIDER, RelatedProvider)
    host = FakeHost()
    add_shadow_tools(host, passwd="web:x:1000:1000::/:/bin/sh\n", group="web:x:1000:\n")
    left = PROVIDER.relate(wanted(), Leaving())
    for desired, count in ((wanted(), 1), (left, 0)):
        seen = PROVIDER.observe(host.reader(), {"web": desired})["web"]
        assert isinstance(seen, Present)
        assert len(seen.obstacles) == count
    assert not PROVIDER.relate(wanted(), Index()).is_left


def test_what_is_there_is_adopted() -> None:
    assert PROVIDER.adopt("web", Present({"gid": 5, "members": ("a",)})) == {"gid": 5}
    assert PROVIDER.adopt("web", Present({})) == {}
    with pytest.raises(DesiredError, match="own files"):
        PROVIDER.adopt("web", Present({"foreign": True}))


def test_many_primary_users_are_counted() -> None:
    host = FakeHost()
    passwd = "".join(f"u{number}:x:{number}:1000::/:/bin/sh\n" for number in range(7))
    add_shadow_tools(host, passwd=passwd, group="web:x:1000:\n")
    seen = PROVIDER.observe(host.reader(), {"web": wanted()})["web"]
    assert isinstance(seen, Present)
    assert seen.obstacles == ("web is still the primary group of u0, u1, u2, u3, u4 and 2 more.",)
