"""The order of system calls that a power cut cannot undo: bytes, name, folder, and the pointer around all of it."""

import os
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.harness.strace import WRITING, Call, Strace
from tests.passes.scene import Scene
from tests.proofs.stage import command, environment, fast_folder

_PROGRESS: Final = "progress"
# What gets bytes, or a mode, and then a name.
SYNCED: Final = ("updated", "created", "changed", "added", "made", "sub", "pointer.json")


@pytest.fixture(scope="module")
def calls() -> Iterator[list[Call]]:
    """Give the writing calls of a pass that updates, creates and removes one of each kind."""
    with fast_folder() as folder:
        scene = Scene(folder)
        owned = {"owner": os.geteuid(), "group": os.getegid(), "mode": "0640"}
        tree = {"tree:/srv/tree": {"source": "files/tree", "exclusive": True}}
        scene.commit_files({"files/tree/changed": "old\n", "files/tree/gone.d/a": "x\n"})
        scene.enrolled(
            {
                "file:/etc/updated": {"content": "old\n"},
                "file:/etc/app.d/removed": {"content": "x\n"},
                "link:/etc/pointed": {"target": "old"},
                "link:/etc/app.d/unlinked": {"target": "old"},
                **tree,
            }
        )
        (scene.repository.path / "files/tree/gone.d/a").unlink()
        scene.commit_files({"files/tree/changed": "new\n", "files/tree/sub/added": "new\n"})
        scene.commit(
            {
                "file:/etc/updated": {"content": "new\n", **owned},
                "file:/etc/created": {"content": "x\n"},
                "link:/etc/pointed": {"target": "new"},
                "directory:/srv/made": {"mode": "0750"},
                **tree,
            }
        )
        found = Strace(env=environment(folder)).trace(command(scene.root, "apply"), WRITING)
        own = found[0].pid
        yield [call for call in found if call.pid == own and _PROGRESS not in call.arguments]


def renames(calls: list[Call], name: str) -> list[int]:
    """Return where something gets a name."""
    ends = re.compile(rf'[/"]{re.escape(name)}"(?:, RENAME_\w+)?$')
    return [
        number for number, call in enumerate(calls) if call.name.startswith("rename") and ends.search(call.arguments)
    ]


def removals(calls: list[Call], name: str) -> list[int]:
    """Return where something loses its name."""
    return [n for n, call in enumerate(calls) if call.name.startswith("unlink") and f'"{name}"' in call.arguments]


def test_the_pointer_names_the_target_before_the_first_action_and_again_after_the_last(calls: list[Call]) -> None:
    first, last = renames(calls, "pointer.json")
    actions = [found for name in (*SYNCED, "pointed") for found in renames(calls, name) if name != "pointer.json"]
    actions += [found for name in ("removed", "unlinked", "gone.d") for found in removals(calls, name)]
    assert len(actions) == 10
    assert first < min(actions)
    assert max(actions) < last


@pytest.mark.parametrize("name", SYNCED)
def test_bytes_are_synced_before_they_get_the_name_and_the_folder_right_after(calls: list[Call], name: str) -> None:
    assert renames(calls, name)
    for place in renames(calls, name):
        before = [call.name for call in calls[max(0, place - 3) : place]]
        assert "fsync" in before, before
        after = calls[place + 1]
        assert after.name == "fsync"
        assert re.match(r"\d+<[^>]*/(etc|datum|srv|tree|sub)>$", after.arguments), after.arguments


def test_the_folder_of_a_link_is_synced_right_after_the_link_has_its_name(calls: list[Call]) -> None:
    """Its text is part of its name: there is nothing else to sync; its time is that of the rename."""
    (place,) = renames(calls, "pointed")
    around = [call.name for call in (*calls[place - 2 : place], calls[place + 1])]
    assert around == ["symlinkat", "utimensat", "fsync"]
    assert "/etc>" in calls[place + 1].arguments


@pytest.mark.parametrize("name", ["made", "sub"])
def test_the_mode_of_a_directory_is_right_before_it_has_its_name(calls: list[Call], name: str) -> None:
    (place,) = renames(calls, name)
    assert [call.name for call in calls[place - 3 : place]] == ["mkdirat", "fchmod", "fsync"]
    assert ", 0700" in calls[place - 3].arguments


def test_a_report_survives_a_power_cut_once_it_is_named(calls: list[Call]) -> None:
    """Its bytes are synced before it has its name, and its folder after."""
    (place,) = [n for n, call in enumerate(calls) if call.name.startswith("rename") and "/reports/" in call.arguments]
    assert "fsync" in [call.name for call in calls[max(0, place - 3) : place]]
    assert calls[place + 1].name == "fsync"
    assert "/reports>" in calls[place + 1].arguments


@pytest.mark.parametrize(
    ("name", "folder"), [("removed", "/etc/app.d>"), ("unlinked", "/etc/app.d>"), ("gone.d", "/srv/tree>")]
)
def test_a_removal_is_synced(calls: list[Call], name: str, folder: str) -> None:
    (place,) = removals(calls, name)
    assert calls[place + 1].name == "fsync"
    assert folder in calls[place + 1].arguments


def test_what_lies_in_a_directory_is_removed_first_and_what_is_new_comes_before(calls: list[Call]) -> None:
    (inside,), (outside,) = removals(calls, "a"), removals(calls, "gone.d")
    assert max(*renames(calls, "changed"), *renames(calls, "added")) < inside < outside


def test_owner_comes_before_mode_and_both_before_the_name(calls: list[Call]) -> None:
    (place,) = renames(calls, "updated")
    names = [call.name for call in calls[:place]]
    mode = len(names) - 1 - names[::-1].index("fchmod")
    link = len(names) - 1 - names[::-1].index("linkat")
    assert mode < link < place
    if "fchown" in names:
        assert len(names) - 1 - names[::-1].index("fchown") < mode
