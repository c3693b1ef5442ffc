"""Design 3.5 over a real directory: commits, rewrites, drift, unreadable ways, lost sources and kills, in any order.

The machine knows what every commit declares and looks at the host and the pointer only. Passes run in this process,
but for those that are killed.
"""

import json
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.passes.scene import DROP_IN, STATE, Ran, Scene, kill

# In a drop-in place, beside it, and below a directory that may be replaced by a link.
PATHS: Final = (f"{DROP_IN}/a", f"{DROP_IN}/b", "/srv/kept", "/etc/way.d/x")
WAY: Final = "/etc/way.d"
# The host file is never empty, which would hold all removals.
ANCHOR: Final = {"file:/etc/anchor": {"content": "anchor\n"}}
CONTENTS: Final = ("0\n", "1\n", "2\n")

# What the runs came to; a machine that never gets anywhere proves nothing.
SEEN: Counter[str] = Counter()

Declaration = dict[str, Any]
declarations = st.sampled_from(
    [None, None, {"absent": True}, *({"content": text} for text in CONTENTS), {"content": "0\n", "on_removal": "keep"}]
)
manifests = st.fixed_dictionaries(dict.fromkeys(PATHS, declarations))
delays = st.integers(min_value=0, max_value=1000)
# Whether a pass follows at once; most of what happens to a repository or a host is seen by one.
followed = st.sampled_from([True, True, False])


class Host(RuleBasedStateMachine):
    """One host, its fleet, and everything that may happen to both."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="datum-machine-"))
        self.scene = Scene(self.folder)
        self.scene.at(WAY).mkdir()
        self.declared: dict[str, dict[str, Declaration]] = {}
        self.parents: dict[str, str] = {}
        self.last_pointer: Any = None

    def teardown(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self.folder)

    # --- what people do

    def _commit(self, manifest: dict[str, Declaration | None]) -> str:
        declared = {path: dict(entry) for path, entry in manifest.items() if entry is not None}
        head = self.scene.commit({**ANCHOR, **{f"file:{path}": entry for path, entry in declared.items()}})
        self.declared[head] = declared
        self.parents[head] = self.scene.repository.git("rev-list", "--max-count=1", "--skip=1", head)
        return head

    @initialize(manifest=manifests, delay=delays)
    def enrol(self, manifest: dict[str, Declaration | None], delay: int) -> None:
        """Enrol, and go the shortest way to a kill and a removal, which not every choice of rules leads to."""
        self._commit({**manifest, PATHS[0]: {"content": "0\n"}})
        assert self.scene.init().code == 0
        self._pass_and_kill(delay)
        self._commit({**manifest, PATHS[0]: None})
        self._pass()

    @precondition(lambda self: self.source_is_there)
    @rule(manifest=manifests, is_followed=followed)
    def commit(self, manifest: dict[str, Declaration | None], is_followed: bool) -> None:
        self._commit(manifest)
        self._follow(is_followed)

    @precondition(lambda self: self.source_is_there)
    @rule(manifest=manifests, is_followed=followed)
    def rewrite(self, manifest: dict[str, Declaration | None], is_followed: bool) -> None:
        head = self.scene.repository.head
        if self.parents.get(head):
            self.scene.repository.git("reset", "--quiet", "--hard", self.parents[head])
            self._commit(manifest)
        self._follow(is_followed)

    @precondition(lambda self: self.source_is_there)
    @rule(is_followed=followed)
    def set_back(self, is_followed: bool) -> None:
        head = self.scene.repository.head
        if self.parents.get(head):
            self.scene.repository.git("reset", "--quiet", "--hard", self.parents[head])
        self._follow(is_followed)

    @precondition(lambda self: self.source_is_there and self.scene.pointer["accepted"])
    @rule()
    def put_right(self) -> None:
        """Go back to what the host accepted."""
        self.scene.repository.git("reset", "--quiet", "--hard", self.scene.pointer["accepted"])

    @rule(path=st.sampled_from(PATHS), text=st.sampled_from([None, *CONTENTS, "foreign\n"]))
    def drift(self, path: str, text: str | None) -> None:
        place = self.scene.at(path)
        if text is None:
            place.unlink(missing_ok=True)
        else:
            place.write_text(text, encoding="utf-8")

    @rule(is_followed=followed)
    def turn_the_way(self, is_followed: bool) -> None:
        """Put a link in the way of a directory, or take it away again."""
        way, away = self.scene.at(WAY), self.scene.at("/etc/elsewhere")
        if way.is_symlink():
            way.unlink()
            away.rename(way)
        else:
            way.rename(away)
            way.symlink_to("elsewhere")
        self._follow(is_followed)

    @rule(is_followed=followed)
    def turn_the_source(self, is_followed: bool) -> None:
        """Take the repository away, or bring it back."""
        here, away = self.scene.repository.path, self.folder / "away"
        if here.exists():
            here.rename(away)
        else:
            away.rename(here)
        self._follow(is_followed)

    # --- what the agent does

    def _follow(self, is_followed: bool) -> None:
        if is_followed:
            self._pass()

    @rule()
    def plan(self) -> None:
        before = self.scene.everything()
        assert self.scene.run("plan").code in {0, 69, 76}
        assert self.scene.everything() == before

    @rule()
    def apply(self) -> None:
        self._pass()

    def _pass(self) -> None:
        held, trail = self._on_host(), self.scene.trail
        self._judge(self.scene.run("apply"), held, trail)

    @rule(delay=delays)
    def apply_and_kill(self, delay: int) -> None:
        """SIGKILL a pass somewhere, and run another."""
        self._pass_and_kill(delay)

    def _pass_and_kill(self, delay: int) -> None:
        """SIGKILL a pass and all it started, somewhere between its first import and its end."""
        held, trail, old = self._on_host(), self.scene.trail, self.scene.pointer_path.read_bytes()
        target = self._target()
        process = self.scene.start("apply")
        deadline = time.monotonic() + random.Random(delay).uniform(0.1, 1.2)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        kill(process)
        with process:
            process.communicate(timeout=30)
        SEEN["killed"] += process.returncode < 0
        pointer = self.scene.pointer
        assert set(pointer) == set(json.loads(old)), "the old one or the new one, whole"
        known = [*trail, target] if target else trail
        self._only_removed_what_it_may(held, known)
        held = self._on_host()
        self._judge(self.scene.run("apply"), held, known)

    # --- what must hold

    @property
    def source_is_there(self) -> bool:
        """Whether the repository is where it should be."""
        return self.scene.repository.path.exists()

    @property
    def way_is_clear(self) -> bool:
        """Whether every path can be looked at."""
        return not self.scene.at(WAY).is_symlink()

    def _target(self) -> str | None:
        """Return the revision that a pass goes to now, or None when there is nothing to go by."""
        pointer = self.scene.pointer
        accepted, enforced = pointer["accepted"], (pointer["trail"] or [{"revision": None}])[-1]["revision"]
        head = self.scene.repository.head if self.source_is_there else None
        if head and (accepted is None or self._descends(head, accepted)):
            return head
        return str(enforced) if enforced else None

    def _descends(self, revision: str, ancestor: str) -> bool:
        while revision != ancestor and self.parents.get(revision):
            revision = self.parents[revision]
        return revision == ancestor

    def _on_host(self) -> dict[str, str | None]:
        return {path: self.scene.read(path) for path in PATHS}

    def _expected_code(self, target: str | None) -> set[int]:
        pointer = self.scene.pointer
        head = self.scene.repository.head if self.source_is_there else None
        if head is None:
            source = 69
        elif target != head:
            source = 76
        else:
            source = 0
        if target is None:
            return {69}
        blocked = not self.way_is_clear and any(
            path.startswith(WAY) for revision in {*self.scene.trail, target} for path in self.declared[revision]
        )
        assert pointer["quarantined"] == []
        return {source, 1} if blocked else {source}

    def _judge(self, ran: Ran, held: dict[str, str | None], trail: list[str]) -> None:
        target = self._target()
        SEEN[str(int(ran.code))] += 1
        assert ran.code in self._expected_code(target), ran
        if target is None:
            assert self._on_host() == held
            return
        pointer = self.scene.pointer
        assert pointer["trail"][-1]["revision"] == target, "a revision one of whose actions began is in the trail"
        self._only_removed_what_it_may(held, [*trail, target])
        if ran.code != 1:
            assert pointer["converged"] == target
            self._is_as_declared(target)
            assert pointer["trail"] == [{"revision": target, "host": "web1"}] or not self.way_is_clear
            again = self.scene.run("apply", "--json")
            assert again.code == ran.code
            assert again.json["resources"] == [], "nothing is left to do"
        if ran.code == 0:
            assert pointer["accepted"] == target

    def _is_as_declared(self, revision: str) -> None:
        for path, entry in self.declared[revision].items():
            if self.way_is_clear or not path.startswith(WAY):
                wanted = None if entry.get("absent") else entry["content"]
                assert self.scene.read(path) == wanted, path
        assert self.scene.read("/etc/anchor") == "anchor\n"

    def _only_removed_what_it_may(self, held: dict[str, str | None], revisions: list[str]) -> None:
        """A file that is gone was declared absent, or dropped from a drop-in place while it was what we declared."""
        now = self._on_host()
        for path, before in held.items():
            if before is None or now[path] is not None:
                continue
            SEEN["removed"] += 1
            said = [self.declared[revision].get(path) for revision in revisions]
            if any(entry is not None and entry.get("absent") for entry in said):
                continue
            assert path.rpartition("/")[0].endswith(".d"), f"{path} is no drop-in place"
            assert before in {entry["content"] for entry in said if entry is not None}, f"{path} was not ours"
            assert said[-1] is None, f"{path} is declared"

    @invariant()
    def accepted_moves_to_descendants_only(self) -> None:
        if not self.scene.pointer_path.exists():
            return
        pointer = self.scene.pointer
        before, self.last_pointer = self.last_pointer, pointer
        if before is None or before["accepted"] is None:
            return
        assert self._descends(pointer["accepted"], before["accepted"])
        assert pointer["enrolled"] == before["enrolled"]

    @invariant()
    def nothing_is_left_lying_about(self) -> None:
        """No pass that ended leaves a temporary file; what a killed one left, the pass after it took away."""
        for folder in (DROP_IN, "/srv", STATE):
            place = self.scene.at(folder)
            names = [path.name for path in place.iterdir()] if place.is_dir() else []
            assert not [name for name in names if ".datum" in name or name.endswith(".tmp")], names


def test_the_pointer_keeps_its_promises_whatever_happens() -> None:
    SEEN.clear()
    run_state_machine_as_test(
        Host,
        settings=settings(
            max_examples=20,
            stateful_step_count=16,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.generate,),  # a run with kills is not the same twice, so nothing can be made smaller
            suppress_health_check=list(HealthCheck),
        ),
    )
    floors = {"0": 20, "1": 1, "69": 1, "76": 1, "removed": 10, "killed": 3}
    assert all(SEEN[what] >= floor for what, floor in floors.items()), SEEN
