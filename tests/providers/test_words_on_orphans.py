"""What is said of something that is declared no more, type by type: why it stays, and the line that would remove it."""

from typing import Any, Final

import pytest
from attrs import evolve

from datum.model.manifest import OnRemoval
from datum.model.observation import Present
from datum.model.plan import OWES, Plan
from datum.planner.inputs import Declaration
from datum.registry.discover import find_providers
from tests.unit.fakes import IN_SYNC, PROVIDERS, action_of, declare, graph_of, plan_of, revision

KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIvVRUcBvbXkHdYbbhGJ9aHWkqqg5rA1cD1Zy3E9mO9q"
STAYS: Final = "A {} stays when its declaration is dropped: what else needs it is not known."
NO_DROP_IN: Final = "Its place is not one that is meant to be dropped into."
FEW: Final = "It is one of the few things that are never removed by dropping their declaration."
KEPT_BY_WISH: Final = "declared it with 'on_removal: keep'."
LEAVE: Final = "leave it: it is kept"
RUNS: Final = Present({"running": True, "enabled": True, OWES: None})
# No type of the tests stands in for one of these.
ALL: Final = {**PROVIDERS, **find_providers()}

# Id, attributes, what is there, why it stays, and what the line asks to be declared; empty: nothing removes it.
CASES: Final[list[tuple[str, dict[str, Any], Present, str, str]]] = [
    ("file:/srv/a", {"content": ""}, Present({"kind": "regular"}), NO_DROP_IN, "file:/srv/a with 'absent: true'"),
    ("link:/srv/a", {"target": "b"}, Present({"kind": "symlink"}), NO_DROP_IN, "link:/srv/a with 'absent: true'"),
    ("package:app", {}, Present({"installed": True}), STAYS.format("package"), "package:app with 'absent: true'"),
    (
        "package:openssh-server",
        {},
        Present({"installed": True}),
        FEW,
        "package:openssh-server with 'absent: true' and 'allow: [access_loss]'",
    ),
    (
        "service:app",
        {"running": True},
        RUNS,
        STAYS.format("service"),
        "service:app with 'absent: true' and 'allow: [outage]'",
    ),
    (
        "service:ssh",
        {"running": True},
        RUNS,
        STAYS.format("service"),
        "service:ssh with 'absent: true' and 'allow: [access_loss, outage]'",
    ),
    (
        "service:datum.timer",
        {"enabled": True},
        RUNS,
        FEW,
        "service:datum.timer with 'absent: true' and 'allow: [access_loss, outage]'",
    ),
    ("service:datum", {"enabled": True}, evolve(RUNS, obstacles=("No pass stops what it runs in.",)), FEW, ""),
    (
        "mount:/srv/data",
        {"source": "/dev/sda1", "fstype": "ext4"},
        Present({"persistent": True, "mounted": True, "fstype": "ext4"}),
        STAYS.format("mount"),
        "mount:/srv/data with 'absent: true' and 'allow: [outage]'",
    ),
    (
        "user:app",
        {"shell": "/bin/sh"},
        Present({"shell": "/bin/sh"}),
        FEW,
        "user:app with 'absent: true' and 'allow: [access_loss]'",
    ),
    ("group:app", {"gid": 900}, Present({"gid": 900}), FEW, "group:app with 'absent: true'"),
    ("hostname:host", {"name": "a"}, Present({"name": "a"}, obstacles=("A host has a name.",)), FEW, ""),
    ("timezone:host", {"zone": "UTC"}, Present({"zone": "UTC"}, obstacles=("A host has a zone.",)), FEW, ""),
]
# Types whose resources go when they are dropped: what they stay for is a wish.
GOING: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("unit:app.service", {"content": ""}, "unit:app.service"),
    ("sysctl:vm/swappiness", {"value": 1}, "sysctl:vm/swappiness"),
    ("cron:job", {"content": "@daily root x\n"}, "cron:job"),
    ("timer:job", {"on_calendar": ["daily"], "argv": ["/srv/x"]}, "timer:job"),
    ("package_source:app", {"uris": ["https://deb.example.com"], "suites": ["./"]}, "package_source:app"),
    ("authorized_key:app/laptop", {"key": KEY}, "authorized_key:app/{fingerprint}"),
]


def dropped(text: str, about: dict[str, Any], seen: Present, **others: Any) -> Plan:
    """Plan a target without a resource that an older revision declares and that is as declared."""
    graph = graph_of(declare(text, **{"value": None, **about}, **others), providers=ALL)
    trail = (Declaration(revision(1), graph.nodes, graph.order),)
    anchor = declare("fake:anchor")
    return plan_of(anchor, seen={"fake:anchor": IN_SYNC}, orphans={text: seen}, trail=trail, providers=ALL)


def fingerprint() -> str:
    return str(ALL["authorized_key"].parse("app/laptop", {"key": KEY}).fingerprint)


@pytest.mark.parametrize(("text", "about", "seen", "why", "line"), CASES, ids=[case[0] for case in CASES])
def test_what_stays_says_why_and_what_would_remove_it(
    text: str, about: dict[str, Any], seen: Present, why: str, line: str
) -> None:
    (word,) = dropped(text, about, seen).orphans
    assert (word.state, word.detail) == ("kept", why)
    assert word.release == (f"declare {line} to remove it, or {LEAVE}" if line else LEAVE)


@pytest.mark.parametrize(("text", "about", "name"), GOING, ids=[case[0] for case in GOING])
def test_what_is_kept_by_a_wish_says_by_which_name_it_would_go(text: str, about: dict[str, Any], name: str) -> None:
    (word,) = dropped(text, about, Present({"value": "1"}), on_removal=OnRemoval.KEEP).orphans
    assert word.detail.endswith(KEPT_BY_WISH)
    name = name.format(fingerprint=fingerprint())
    assert word.release.startswith(f"declare {name} with 'absent: true'")
    assert word.release.endswith(f" to remove it, or {LEAVE}")


@pytest.mark.parametrize(
    ("about", "line"),
    [
        ({}, "declare authorized_key:app/{} with 'absent: true' and 'allow: [access_loss]'"),
        ({"path": "/etc/ssh/keys/app"}, "remove it by hand, or declare it again"),
    ],
)
def test_a_last_key_is_held_with_the_name_that_allows_its_removal(about: dict[str, Any], line: str) -> None:
    """A label says nothing of the key once that stands nowhere, and a key of another file has no such name."""
    attributes = {"key": KEY, **about}
    desired = ALL["authorized_key"].parse("app/laptop", attributes)
    seen = Present({"last": True, "options": (), "comment": ""})
    assert ALL["authorized_key"].removal(desired) == "delete"
    plan = dropped("authorized_key:app/laptop", attributes, seen)
    hold = action_of(plan, "authorized_key:app/laptop").hold
    assert hold is not None
    assert hold.release == line.format(fingerprint())
