"""All keys of a user: which of them stay, what comes first, and that nobody is shut out."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from datum.model.graph import Target
from datum.model.manifest import Limits, OnRemoval, Resource
from datum.model.observation import Present
from datum.model.pause import Pause
from datum.model.plan import HoldReason, OrphanState, Plan, VerdictKind
from datum.model.result import Outcome
from datum.planner.inputs import Declaration
from datum.planner.plan import plan_pass
from datum.provider.contract import AnyProvider, DesiredError, Removal
from datum.provider.host import HostError
from datum.report.waiting import waits
from datum_providers.authorized_key.lines import fingerprint_of
from datum_providers.authorized_key.provider import AuthorizedKeyProvider
from datum_providers.file.provider import FileProvider
from tests.providers.authorized_key.cases import FINGERPRINT, KEY, OTHER, PATH, USER
from tests.providers.shadow_tools import PASSWD, add_shadow_tools
from tests.unit.fakes import declare, graph_of, revision, rid
from tests.unit.reconciler.bench import Bench

PROVIDER = AuthorizedKeyProvider()
ALL = "authorized_key:deploy"
LAPTOP = f"{ALL}/laptop"
OTHER_FINGERPRINT = PROVIDER.parse("deploy/x", {"key": OTHER}).fingerprint
THIRD = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMD"


PROVIDERS: Mapping[str, AnyProvider] = {"authorized_key": PROVIDER, "file": FileProvider()}


def bench(*resources: Resource, text: str | None = None) -> Bench:
    made = Bench(resources, providers=PROVIDERS)
    add_shadow_tools(made.host, passwd=PASSWD + USER)
    made.host.add_directory("/home/deploy", uid=1000, gid=1001)
    if text is not None:
        made.host.add_directory("/home/deploy/.ssh", uid=1000, gid=1001, mode="0700")
        made.host.add_file(PATH, text.encode(), mode="0600", uid=1000, gid=1001)
    return made


def done(made: Bench) -> list[tuple[str, str]]:
    return [(str(result.action.resource), str(result.outcome)) for result in made.run()]


def exclusive(**others: Any) -> Resource:
    return declare(ALL, exclusive=True, **others)


def test_declared_keys_are_there_before_others_go() -> None:
    """In one pass, also where the file had none of them: nobody is shut out between."""
    made = bench(exclusive(), declare(LAPTOP, key=KEY), text=f"# mine\n{OTHER} you\n")
    planned = made.plan()
    assert [str(edge.target) for edge in planned.given.graph.dependencies if edge.reason == "key that stays"] == [
        LAPTOP
    ]
    (_, action) = planned.plan.actions
    assert (action.hold, action.takes) == (None, (f"{ALL}/{OTHER_FINGERPRINT}",))
    assert done(made) == [(LAPTOP, "applied"), (ALL, "applied")]
    assert made.text(PATH) == f"# mine\n{KEY}\n"
    assert not made.plan().plan.actions


def test_nothing_goes_where_a_declared_key_could_not_be_made() -> None:
    made = bench(exclusive(), declare(LAPTOP, key=KEY), text=f"{OTHER} you\n")
    made.host.fail(HostError("No space left."), method="write_file")
    assert done(made) == [(LAPTOP, "failed"), (ALL, "skipped")]
    assert made.text(PATH) == f"{OTHER} you\n"


def test_nothing_goes_where_a_declared_key_is_only_watched() -> None:
    made = bench(exclusive(), declare(LAPTOP, key=KEY, audit=True), text=f"{OTHER} you\n")
    assert done(made) == [(LAPTOP, "held")]
    assert made.text(PATH) == f"{OTHER} you\n"


def test_nothing_goes_where_the_declared_keys_went_meanwhile() -> None:
    made = bench(text=f"{OTHER} you\n")
    desired = evolve(PROVIDER.parse("deploy", {"exclusive": True}), listed=frozenset({FINGERPRINT}))
    seen = PROVIDER.observe(made.host.reader(), {"deploy": desired})["deploy"]
    assert isinstance(seen, Present)
    step = PROVIDER.plan(desired, seen)
    assert step is not None
    with pytest.raises(HostError) as caught:
        PROVIDER.apply(made.host.writer(), desired, step)
    assert caught.value.diagnostics[0].code == "no-declared-key"
    assert made.text(PATH) == f"{OTHER} you\n"


def test_that_nobody_comes_in_by_key_must_be_allowed() -> None:
    made = bench(exclusive(), text=f"{KEY}\n")
    (action,) = made.plan().plan.actions
    assert action.hold is not None
    assert str(action.hold.reason) == "hazard"
    made = bench(exclusive(allow=["access_loss"]), text=f"# mine\n{KEY}\n")
    assert done(made) == [(ALL, "applied")]
    assert made.text(PATH) == "# mine\n"


def test_a_declared_key_grants_once() -> None:
    """A later line of it may have other options, and sshd tries all lines."""
    made = bench(exclusive(), declare(LAPTOP, key=KEY, options=["no-pty"]), text=f"no-pty {KEY}\n{KEY} again\n")
    (action,) = made.plan().plan.actions
    assert action.takes == ()
    assert done(made) == [(ALL, "applied")]
    assert made.text(PATH) == f"no-pty {KEY}\n"


def test_what_is_declared_absent_or_for_another_user_is_not_declared_here() -> None:
    made = bench(
        exclusive(),
        declare(LAPTOP, key=KEY),
        declare(f"{ALL}/{OTHER_FINGERPRINT}", absent=True),
        declare("authorized_key:root/x", key=THIRD),
        text=f"{KEY}\n{OTHER}\n{THIRD}\n",
    )
    assert made.plan().plan.actions[-1].takes == (f"{ALL}/{fingerprint_of(THIRD.split()[1].encode())}",)
    assert done(made) == [(f"{ALL}/{OTHER_FINGERPRINT}", "applied"), (ALL, "applied")]
    assert made.text(PATH) == f"{KEY}\n"


def test_a_key_that_is_declared_for_another_file_is_not_taken_and_is_no_way_in() -> None:
    made = bench(exclusive(), declare(LAPTOP, key=KEY, path="/etc/keys"), text=f"{KEY}\n{OTHER}\n")
    action = next(action for action in made.plan().plan.actions if str(action.resource) == ALL)
    assert action.takes == (f"{ALL}/{OTHER_FINGERPRINT}",)
    assert action.hold is not None


def test_a_key_that_came_after_the_plan_stays_until_it_was_planned() -> None:
    made = bench(exclusive(), declare(LAPTOP, key=KEY), text=f"{KEY}\n{OTHER}\n")
    planned = made.plan()
    made.host.files[PATH].data += f"{THIRD}\n".encode()
    (result,) = made.run(planned)
    assert result.outcome is not Outcome.APPLIED
    assert THIRD in (made.text(PATH) or "")
    assert done(made) == [(ALL, "applied")]
    assert made.text(PATH) == f"{KEY}\n"


def test_a_comment_of_whatever_bytes_keeps_no_key_from_going() -> None:
    """Whoever owns the file writes it, and would keep a way in, and every removal of the host from being done."""
    made = bench(exclusive(), declare(LAPTOP, key=KEY), text="")
    made.host.files[PATH].data = f"{KEY} caf".encode() + b"\xe9\n" + OTHER.encode() + b" caf\xe9\n"
    (action,) = made.plan().plan.actions
    assert action.takes == (f"{ALL}/{OTHER_FINGERPRINT}",)
    assert done(made) == [(ALL, "applied")]
    assert made.host.files[PATH].data == f"{KEY} caf".encode() + b"\xe9\n"


def test_a_line_that_only_sshd_understands_grants_no_longer() -> None:
    blob = OTHER.split()[1]
    odd = (f"{OTHER}\0x", f"ssh-ed25519 {blob[:9]}\r{blob[9:]}", f",, {OTHER}")
    made = bench(exclusive(), declare(LAPTOP, key=KEY), text="".join(f"{line}\n" for line in (*odd, KEY)))
    (action,) = made.plan().plan.actions
    assert action.takes == (f"{ALL}/{OTHER_FINGERPRINT}",)
    assert done(made) == [(ALL, "applied")]
    assert made.text(PATH) == f"{KEY}\n"
    made = bench(declare(f"{ALL}/{OTHER_FINGERPRINT}", absent=True), text=f"{odd[0]}\n{odd[1]}\n{KEY}\n")
    assert done(made) == [(f"{ALL}/{OTHER_FINGERPRINT}", "applied")]
    assert made.text(PATH) == f"{KEY}\n"


BOSS = f"{ALL}/boss"


def dropping(*, pause: str = "", removals: int | None = None, **said: Any) -> tuple[Plan, Bench]:
    """Return the plan after a revision that declared the key of the boss, and the host on which it stands."""
    made = bench(exclusive(), declare(LAPTOP, key=KEY), text=f"{KEY}\n{OTHER}\n{THIRD}\n")
    before = graph_of(declare(BOSS, key=OTHER, **said), declare(LAPTOP, key=KEY), providers=PROVIDERS)
    made.trail = (Declaration(revision(1), before.nodes, before.order),)
    only = Pause("alice", "a move", 0, 3600, (rid(pause),)) if pause else None
    return plan_pass(evolve(made.plan().given, pause=only, now=1, limits=Limits(removals))), made


def test_a_key_that_a_revision_protects_is_not_taken_along() -> None:
    plan, made = dropping(protect=True)
    (action,) = plan.actions
    assert (str(action.resource), action.hold and action.hold.reason) == (BOSS, HoldReason.PROTECT)
    verdict = plan.verdicts[rid(ALL)]
    assert (verdict.kind, verdict.blocked_by) == (VerdictKind.SKIPPED, rid(BOSS))
    assert done(made) == [(BOSS, "held")]
    assert OTHER in (made.text(PATH) or "")
    # As well where its own rules keep it, so that nothing removes it by itself.
    plan, made = dropping(protect=True, on_removal=OnRemoval.KEEP)
    (action,) = plan.actions
    assert (str(action.resource), action.hold and action.hold.reason) == (ALL, HoldReason.PROTECT)
    assert BOSS in str(action.hold)


def test_a_key_that_is_paused_is_not_taken_along() -> None:
    for rule in (None, OnRemoval.KEEP):
        plan, _ = dropping(pause=BOSS, on_removal=rule)
        waiting = {plan.actions[number].resource for number in waits(plan)}
        held = {action.resource for action in plan.actions if action.hold and action.hold.reason is HoldReason.PAUSE}
        assert rid(ALL) in held | waiting


def test_a_key_that_its_own_rules_keep_goes_all_the_same_and_that_is_said() -> None:
    plan, made = dropping(on_removal=OnRemoval.KEEP)
    (word,) = plan.orphans
    assert (word.state, word.rule) == (OrphanState.REMOVE, "taken_along")
    assert done(made) == [(ALL, "applied")]
    assert made.text(PATH) == f"{KEY}\n"


def test_a_key_that_goes_by_itself_counts_once() -> None:
    plan, made = dropping(removals=2)
    assert [(str(action.resource), len(action.takes), action.hold) for action in plan.actions] == [
        (BOSS, 0, None),
        (ALL, 1, None),
    ]
    assert done(made) == [(BOSS, "applied"), (ALL, "applied")]
    assert made.text(PATH) == f"{KEY}\n"
    plan, _ = dropping(removals=1)
    assert all(action.hold is not None for action in plan.actions)


@pytest.mark.parametrize(
    ("all_of", "one"),
    [({}, {"path": PATH}), ({"path": PATH}, {}), ({"path": PATH}, {"path": PATH})],
    ids=["all by default", "the one by default", "both by path"],
)
def test_one_file_is_one_however_it_is_named(all_of: dict[str, Any], one: dict[str, Any]) -> None:
    made = bench(exclusive(**all_of), declare(LAPTOP, key=KEY, **one), text=f"{OTHER}\n")
    planned = made.plan()
    assert "key that stays" in [edge.reason for edge in planned.given.graph.dependencies]
    assert planned.plan.actions[-1].hazards == frozenset()
    assert done(made) == [(LAPTOP, "applied"), (ALL, "applied")]
    assert made.text(PATH) == f"{KEY}\n"


def test_a_file_that_is_declared_as_a_whole_decides_alone() -> None:
    made = bench(exclusive(), declare(f"file:{PATH}", content=f"{KEY}\n"), text=f"{KEY}\n")
    assert f"file:{PATH} declares the whole file of these keys." in str(made.plan().plan.verdicts[rid(ALL)])


@pytest.mark.parametrize(
    ("name", "attributes", "attribute", "words"),
    [
        ("deploy", {}, "", "has no label"),
        ("deploy", {"key": KEY}, "key", "has no label"),
        ("deploy", {"exclusive": True, "options": ("no-pty",)}, "options", "has no label"),
        ("deploy/laptop", {"key": KEY, "exclusive": True}, "exclusive", "the name says one of them"),
        (f"deploy/{FINGERPRINT}", {"exclusive": False}, "exclusive", "the name says one of them"),
    ],
)
def test_what_is_said_of_one_key_and_of_all_is_told_apart(
    name: str, attributes: dict[str, Any], attribute: str, words: str
) -> None:
    with pytest.raises(DesiredError, match=words) as caught:
        PROVIDER.parse(name, attributes)
    assert caught.value.attribute == attribute


def test_dropping_it_leaves_nothing_over() -> None:
    desired = PROVIDER.parse("deploy", {"exclusive": True, "path": "/etc/keys"})
    assert PROVIDER.removal(desired) is Removal.NOTHING
    assert PROVIDER.absent_name("deploy", desired) is None
    assert [str(target) for target in PROVIDER.targets(desired)] == ["authorized_key deploy/*", "path /etc/keys"]
    assert PROVIDER.targets(desired)[0] == Target("authorized_key", "deploy/*")
