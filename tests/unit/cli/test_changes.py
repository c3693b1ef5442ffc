"""Fields one by one, many paths in sums, and what goes along."""

from typing import Any

import pytest

from datum.cli.views.changes import SHOWN, lost, short
from datum.cli.views.paper import Paper
from datum.cli.views.planning import write_plan
from datum.cli.views.resources import write_checks, write_resource, write_resources
from datum.model.check import Check
from datum.model.manifest import Hazard, LimitClass
from datum.model.plan import Change, Hold, HoldReason, Kept, Operation, Step, Verdict, VerdictKind
from datum.model.report import CheckOutcome, CheckReport
from datum.model.result import ActionResult, Outcome
from datum.report.as_json import check_to_json, kept_to_json, resource_to_json
from datum.report.build import report_resources
from datum.report.plan_json import plan_to_json
from tests.unit.cli.screen import is_harmless, plain
from tests.unit.fakes import rid
from tests.unit.report.samples import action, change, plan

BLOB = f"blob:{'1' * 40}"


def resource(operation: Operation, *changes: Change, takes: tuple[str, ...] = (), **others: Any) -> Any:
    one = action("tree:/srv/www", operation, *changes, step=Step(operation, changes, takes=takes), **others)
    return resource_to_json(report_resources(plan(one), ())[0])


def shown(value: Any) -> list[str]:
    paper = Paper()
    write_resource(paper, value)
    return plain(paper).splitlines()[1:]


def part(name: str, before: str | None, after: str | None, **others: Any) -> Change:
    return Change(f"./{name}", before, after, **others)


def test_paths_of_a_resource_are_summed_up_and_named() -> None:
    """Created, changed, removed; of a change only what differs."""
    lines = shown(
        resource(
            Operation.UPDATE,
            change("mode", "0700", "0755"),
            part("css/site.css", f"{BLOB} 0644 root root", f"{BLOB} 0600 root root"),
            part("old", "link:a", None),
            part("new", None, f"{BLOB} 0644"),
        )
    )
    assert lines == [
        "      mode 0700 → 0755",
        "      3 paths: 1 created, 1 changed, 1 removed",
        "        ~ css/site.css  0644 → 0600",
        "        - old",
        "        + new",
    ]


def test_a_path_that_becomes_another_kind_shows_both_whole() -> None:
    lines = shown(resource(Operation.UPDATE, part("a", "directory 0755", f"link:{'x' * 80}")))
    assert lines[1] == f"        ~ a  directory 0755 → link:{'x' * 54}…"


def test_a_path_whose_text_changes_shows_the_difference() -> None:
    changed = part("a", f"{BLOB} 0644", f"blob:{'2' * 40} 0644", before_text="a\nb\n", after_text="a\nc\n")
    lines = shown(resource(Operation.UPDATE, changed))
    assert lines[0] == "      1 path: 1 changed"
    assert lines[1] == "        ~ a"
    assert lines[2:] == ["          @@ -1,2 +1,2 @@", "           a", "          -b", "          +c"]


def test_a_new_path_shows_no_text() -> None:
    lines = shown(resource(Operation.CREATE, part("a", None, f"{BLOB} 0644", before_text="", after_text="a\n")))
    assert lines == ["      1 path: 1 created", "        + a"]


@pytest.mark.parametrize(("count", "more"), [(SHOWN, ""), (SHOWN + 1, "1 more"), (10_000, "9990 more")])
def test_of_many_paths_the_first_few_are_named(count: int, more: str) -> None:
    """The sums are of all of them."""
    lines = shown(resource(Operation.CREATE, *(part(f"f{index:05}", None, BLOB) for index in range(count))))
    assert lines[0] == f"      {count} paths: {count} created"
    assert lines[1 : SHOWN + 1] == [f"        + f{index:05}" for index in range(SHOWN)]
    assert lines[SHOWN + 1 :] == ([f"        … {more}; --json has all of them"] if more else [])


def test_what_is_shown_as_removed_is_not_told_twice() -> None:
    """What goes beside it is."""
    changes = (part("a", BLOB, None), part("b", BLOB, None))
    takes = ("/srv/www/a", "/srv/www/b", "/srv/www/deep/c")
    lines = shown(resource(Operation.UPDATE, *changes, takes=takes))
    assert lines[-2:] == ["      removes as well 1 path", "        - /srv/www/deep/c"]
    assert "      removes as well" not in "".join(shown(resource(Operation.UPDATE, *changes, takes=takes[:2])))


@pytest.mark.parametrize("operation", [Operation.DELETE, Operation.REPLACE, Operation.UPDATE])
def test_what_goes_along_is_named(operation: Operation) -> None:
    """Of a deletion no fields are shown, and this is."""
    takes = tuple(f"/srv/www/{index}" for index in range(12))
    lines = shown(resource(operation, change("mode", "0755", "0700"), takes=takes))
    assert lines[-12] == "      removes as well 12 paths"
    assert lines[-11] == "        - /srv/www/0"
    assert lines[-1] == "        … 2 more; --json has all of them"
    assert ("      mode 0755 → 0700" in lines) is (operation is not Operation.DELETE)


def test_a_hold_says_what_would_be_lost() -> None:
    hold = Hold(HoldReason.HAZARD, "This replace risks data_loss.", "add 'allow'")
    value = resource(
        Operation.REPLACE,
        change("kind", "directory", "link"),
        takes=("/srv/www/a",),
        hazards=frozenset({Hazard.DATA_LOSS}),
        hold=hold,
    )
    assert shown(value)[:3] == [
        "      held (hazard): This replace risks data_loss.",
        "      would be lost: the directory that stands there and 1 path below it",
        "      released by: add 'allow'",
    ]


@pytest.mark.parametrize(
    ("value", "words"), [(("mail", "adm"), "mail, adm"), (["mail"], "mail"), ((), "(nothing)"), ("a, b", "a, b")]
)
def test_a_list_is_shown_by_its_members(value: object, words: str) -> None:
    assert short(value) == words


@pytest.mark.parametrize(
    ("kind", "takes", "words"),
    [
        (("regular", "directory"), (), "the file that stands there"),
        ((None, "directory"), (), ""),
        (None, ("/a", "/b"), "2 paths"),
        (None, ("/a", "package:b", "package:c"), "1 path and 2 packages"),
        (None, ("package:b",), "1 package"),
        (None, (), ""),
    ],
)
def test_what_is_lost_in_words(kind: tuple[str | None, str] | None, takes: tuple[str, ...], words: str) -> None:
    changes = (change("kind", *kind),) if kind else (change("mode", "0600", "0644"),)
    assert lost(resource(Operation.REPLACE, *changes, takes=takes)) == words


@pytest.mark.parametrize(
    ("operation", "changes", "takes", "words"),
    [
        (
            Operation.REPLACE,
            (
                part("a", "residue regular", "directory 0755"),
                part("old", "directory", None),
                part("b", f"{BLOB} 0644", f"{BLOB} 0600"),
            ),
            ("/srv/www/old",),
            "the file /srv/www/a and 1 path beside",
        ),
        (
            Operation.REPLACE,
            (part("c", "empty_file", "link:x"), part("d", "fifo", "link:x")),
            (),
            "the fifo /srv/www/d",
        ),
        (Operation.DELETE, (Change(".", "symlink", None),), (), "the link /srv/www"),
        (Operation.REPLACE, (part("/\\xff", "directory", "link:x"),), (), "the directory /srv/www/\\xff"),
    ],
)
def test_what_a_tree_would_lose_is_named_by_path(
    operation: Operation, changes: tuple[Change, ...], takes: tuple[str, ...], words: str
) -> None:
    assert lost(resource(operation, *changes, takes=takes)) == words


def test_of_many_paths_in_the_way_some_are_named() -> None:
    changes = tuple(part(f"{index:02}", "regular", "directory 0755") for index in range(SHOWN + 2))
    assert lost(resource(Operation.REPLACE, *changes)).endswith("the file /srv/www/09 and 2 more in the way")


def test_what_is_removed_as_well_is_spelled_as_the_changes_are() -> None:
    """A name that is no UTF-8 is named once, whichever list it is in."""
    takes = ("/srv/www/caf\udce9", "/srv/www/\\\udcff")
    lines = shown(resource(Operation.UPDATE, part("/caf\\xe9", "regular", None), takes=takes))
    assert lines == [
        "      1 path: 1 removed",
        "        - /caf\\xe9",
        "      removes as well 1 path",
        "        - /srv/www/\\\\\\xff",
    ]


def test_a_hold_of_a_limit_names_its_class() -> None:
    hold = Hold(HoldReason.LIMIT, "Too many.", limit=LimitClass.REMOVALS)
    assert shown(resource(Operation.DELETE, hold=hold))[0] == "      held (limit of removals): Too many."


def test_reports_of_older_versions_have_no_takes() -> None:
    value = {key: item for key, item in resource(Operation.UPDATE, change("mode", "1", "2")).items() if key != "takes"}
    assert shown(value) == ["      mode 1 → 2"]


def test_names_of_paths_do_not_drive_the_terminal() -> None:
    evil = "a\x1b[31m\u202e"
    lines = shown(resource(Operation.UPDATE, part(evil, None, "x"), part(f"{evil}2", "a b", "a c"), takes=(evil,)))
    assert all(is_harmless(line) for line in lines)


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (None, "? checks  "),
        (CheckOutcome.PASSED, "? passed  "),
        (CheckOutcome.REFUSED, "? refused "),
        (CheckOutcome.NOT_RUN, "? not run "),
    ],
)
def test_checks_say_what_they_judge(outcome: CheckOutcome | None, word: str) -> None:
    paper = Paper()
    candidates = tuple(rid(f"file:/etc/{index}") for index in range(12))
    write_checks(paper, [check_to_json(CheckReport(rid("check:nginx"), outcome, candidates))])
    names = ", ".join(f"file:/etc/{index}" for index in range(10))
    assert plain(paper) == f"  {word}check:nginx  {names} and 2 more\n"


def test_what_is_skipped_with_its_set_says_so() -> None:
    """It does not require the one that was held."""
    one = action("file:/etc/a", transaction="check/check:x")
    result = ActionResult(one, Outcome.SKIPPED, blocked_by=rid("file:/etc/b"))
    made = plan(one, checks={"check/check:x": (Check(rid("check:x"), ("true",), 5.0),)})
    (found,) = report_resources(made, (result,))
    lines = shown(resource_to_json(found))
    assert lines[0] == "      It is checked together with file:/etc/b, or with what requires that: all or nothing."


@pytest.mark.parametrize(
    ("makers", "words"),
    [
        (["file:/a"], "file:/a"),
        (["file:/a", "file:/b", "file:/c"], "file:/a, file:/b, file:/c"),
        (["file:/a", "file:/b", "file:/c", "file:/d", "file:/e"], "file:/a, file:/b, file:/c and 2 more"),
    ],
)
def test_a_planned_line_says_after_what_it_is_known(makers: list[str], words: str) -> None:
    one = action("command:a", known_after=tuple(map(rid, makers)))
    value = resource_to_json(report_resources(plan(one), ())[0])
    for outcome in (None, "held"):
        paper = Paper()
        write_resource(paper, {**value, "outcome": outcome})
        assert plain(paper).splitlines()[0].endswith(f"  (known after {words})")
    paper = Paper()
    write_resource(paper, {**value, "outcome": "already"})
    assert "known after" not in plain(paper), "it was tried"


def test_what_a_resource_leaves_alone_stands_below_it() -> None:
    paths = {f"./{index:02}": "keep says so" for index in range(SHOWN)} | {"./lib": "the package app owns it"}
    kept = kept_to_json({rid("tree:/srv/www"): Kept(paths, 3), rid("tree:/srv/b"): Kept({"./x": "keep says so"})})
    assert isinstance(kept, list)
    paper = Paper()
    write_resources(paper, [resource(Operation.UPDATE, part("old", "link:a", None))], kept)
    lines = plain(paper).splitlines()[3:]
    assert lines[:2] == ["      leaves alone 14 paths", "        = 00  keep says so"]
    assert lines[SHOWN + 1 :] == ["        … 4 more; --json has all of them"]


def test_what_is_in_sync_and_leaves_something_alone_is_one_line_of_a_plan() -> None:
    kept = {rid(f"tree:/srv/{number:02}"): Kept({"./x": "keep says so"}, number) for number in range(SHOWN + 1)}
    verdicts = {str(origin): Verdict(VerdictKind.IN_SYNC) for origin in kept}
    for several in (kept, dict(list(kept.items())[:2])):
        paper = Paper()
        write_plan(paper, plan_to_json(plan(verdicts=verdicts, kept=several)))
        (line,) = [line for line in plain(paper).splitlines() if line.startswith("Left alone: ")]
        if len(several) == 2:
            assert line == "Left alone: 3 paths below tree:/srv/00, tree:/srv/01; --json says why."
        else:
            assert line.startswith("Left alone: 66 paths below tree:/srv/00, ")
            assert line.endswith("tree:/srv/09 and 1 more; --json says why.")
    paper = Paper()
    write_plan(paper, plan_to_json(plan(verdicts=verdicts)))
    assert "Left alone" not in plain(paper)
