"""The order of system calls that a power cut cannot undo: bytes, name, folder, and the pointer around all of it."""

import os
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.harness.strace import WRITING, Call, Strace
from tests.passes.scene import Scene
from tests.proofs.stage import command, environment, fast_folder

_PROGRESS: Final = "progress.json"


@pytest.fixture(scope="module")
def calls() -> Iterator[list[Call]]:
    """Give the writing calls of a pass that updates, creates and removes one file each."""
    with fast_folder() as folder:
        scene = Scene(folder)
        owned = {"owner": os.geteuid(), "group": os.getegid(), "mode": "0640"}
        scene.enrolled({"file:/etc/updated": {"content": "old\n"}, "file:/etc/app.d/removed": {"content": "x\n"}})
        scene.commit({"file:/etc/updated": {"content": "new\n", **owned}, "file:/etc/created": {"content": "x\n"}})
        found = Strace(env=environment(folder)).trace(command(scene.root, "apply"), WRITING)
        own = found[0].pid
        yield [call for call in found if call.pid == own and _PROGRESS not in call.arguments]


def renames(calls: list[Call], name: str) -> list[int]:
    """Return where something gets a name."""
    ends = re.compile(rf'[/"]{re.escape(name)}"$')
    return [
        number for number, call in enumerate(calls) if call.name.startswith("rename") and ends.search(call.arguments)
    ]


def test_the_pointer_names_the_target_before_the_first_action_and_again_after_the_last(calls: list[Call]) -> None:
    first, last = renames(calls, "pointer.json")
    actions = [*renames(calls, "updated"), *renames(calls, "created")]
    actions += [n for n, call in enumerate(calls) if call.name == "unlink" and "removed" in call.arguments]
    assert first < min(actions)
    assert max(actions) < last


@pytest.mark.parametrize("name", ["updated", "created", "pointer.json"])
def test_bytes_are_synced_before_they_get_the_name_and_the_folder_right_after(calls: list[Call], name: str) -> None:
    for place in renames(calls, name):
        before = [call.name for call in calls[max(0, place - 3) : place]]
        assert "fsync" in before, before
        after = calls[place + 1]
        assert after.name == "fsync"
        assert re.match(r"\d+<[^>]*/(etc|datum)>$", after.arguments), after.arguments


def test_a_report_survives_a_power_cut_once_it_is_named(calls: list[Call]) -> None:
    """Its bytes are synced before it has its name, and its folder after."""
    (place,) = [n for n, call in enumerate(calls) if call.name.startswith("rename") and "/reports/" in call.arguments]
    assert "fsync" in [call.name for call in calls[max(0, place - 3) : place]]
    assert calls[place + 1].name == "fsync"
    assert "/reports>" in calls[place + 1].arguments


def test_a_removal_is_synced(calls: list[Call]) -> None:
    place = next(n for n, call in enumerate(calls) if call.name.startswith("unlink") and '"removed"' in call.arguments)
    assert calls[place + 1].name == "fsync"
    assert "/etc/app.d>" in calls[place + 1].arguments


def test_owner_comes_before_mode_and_both_before_the_name(calls: list[Call]) -> None:
    (place,) = renames(calls, "updated")
    names = [call.name for call in calls[:place]]
    mode = len(names) - 1 - names[::-1].index("fchmod")
    link = len(names) - 1 - names[::-1].index("linkat")
    assert mode < link < place
    if "fchown" in names:
        assert len(names) - 1 - names[::-1].index("fchown") < mode
