"""A local user who races with the agent in a running Debian (design 4.7): for each writing operation of every type.

The user owns the directories in which the resources stand. In most tests a window is won each time: the agent is
stopped at an exact system call, and names are exchanged there (`racing/stepper.py`). In one, luck decides, as it does
for a real attacker, many times.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness.booted import Booted
from tests.harness.changes import Change, Kind
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.proofs.on_host import FleetOnHost, others_changed, reports
from tests.proofs.racing.cells import (
    BASE,
    CREW,
    FILES,
    GID,
    HERS,
    OPERATIONS,
    PRIVATE,
    RACES,
    SECRET,
    STICKY,
    STICKY_OPERATIONS,
    UID,
    VAULT,
    declare,
    declare_sticky,
    lay_out_cell,
    lay_out_sticky_cell,
    lay_out_vault,
    races_of,
)
from tests.proofs.stage import FLEET, UNLIMITED

PROGRAMS: Final = "/opt/racing"
KINDS: Final = sorted({name.partition("-")[0] for name in OPERATIONS})
# Of each of them.
PASSES: Final = 5
# Of one race of one operation; a tree makes the same calls for each of its files.
WINDOWS: Final = 6
# What a pass that met an attacker ends with: nothing is left to do, or something is.
CODES: Final = {0, 1}
# What is said of a resource where somebody was seen at work.
REFUSALS: Final = {"unsafe-path", "symlink-in-path", "kind-in-the-way", "changed-meanwhile", "unverified"}

Calls = list[list[str]]
"""Calls in a cell, in their order: a name for those that write, else empty; then the paths, below the cell."""


@frozen
class Stepped:
    """How a command ended that was stepped through."""

    code: int
    said: str
    calls: Mapping[str, Calls]
    # Of each cell whose call was reached: whether the names were exchanged then.
    struck: Mapping[str, bool]


class Yard:
    """A running Debian with a user who races, and a fleet that writes in that user's directories."""

    def __init__(self, folder: Path, agent: AgentBind, boot: Callable[..., Booted]) -> None:
        self.fleet = FleetOnHost(folder, agent)
        self.fleet.commit({}, files=self.files)
        programs = Bind(str(Path(__file__).with_name("racing")), PROGRAMS)
        self.machine = boot(binds=(self.fleet.bind, programs))
        self.machine.run(["groupadd", "--gid", str(CREW), "crew"])
        self.machine.run(["useradd", "--uid", str(UID), "--user-group", "--groups", "crew", "mallory"])
        self.fleet.enrol(self.machine)
        self.lay_out([[BASE, "directory", "", 0o755, UID, GID], *lay_out_vault()])
        self.before: dict[str, Change] = {}

    @property
    def files(self) -> dict[str, str]:
        return {**FILES, "fleet.yaml": json.dumps({**FLEET, **UNLIMITED})}

    def program(self, name: str, *words: str) -> list[str]:
        return ["/usr/bin/python3", "-B", f"{PROGRAMS}/{name}.py", *words]

    def as_user(self, argv: Sequence[str]) -> list[str]:
        return ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--init-groups", *argv]

    def lay_out(self, lines: Iterable[list[Any]]) -> None:
        self.machine.run(self.program("lay_out"), input="".join(f"{json.dumps(line)}\n" for line in lines))
        self.before = self.machine.changes()

    def declare(self, resources: Mapping[str, Mapping[str, Any]]) -> None:
        self.fleet.commit(resources, files=self.files)

    def make(self, cells: Mapping[str, str]) -> None:
        """Make cells of these operations, and declare what is in them."""
        self.lay_out(line for cell, name in cells.items() for line in lay_out_cell(cell, name))
        self.declare({key: value for cell, name in cells.items() for key, value in declare(cell, name).items()})

    def step(self, argv: Sequence[str], strikes: Mapping[str, Any], base: str = BASE) -> Stepped:
        """Step through a command; a strike is `at` a call or the `nth` such `call`, a `swap` of names, and may last."""
        request = {"argv": list(argv), "base": base, "uid": UID, "gid": GID, "strikes": strikes}
        done = self.machine.run(self.program("stepper"), input=json.dumps(request), env=self.fleet.env)
        return Stepped(**json.loads(done.stdout))

    def outside(self) -> dict[str, Kind]:
        """Return what changed that is not the user's, nor the agent's own."""
        changed = others_changed(self.machine, self.before, ())
        return {path: kind for path, kind in changed.items() if not (is_in(path, BASE) or is_in(path, STICKY))}

    def shown(self, text: str, *places: str) -> str:
        """Return the files below some places in which the user finds a text."""
        return self.machine.run(self.as_user(["grep", "-rlF", text, *places]), check=False).stdout

    def powers(self) -> str:
        """Return what is root's among what is the user's, and what gives rights."""
        strange = ["(", "-uid", "0", "-links", "1", ")", "-o", "-perm", "/6000"]
        return self.machine.run(["find", BASE, *strange]).stdout

    def check(self) -> None:
        """See that the user got nowhere."""
        assert self.outside() == {}
        assert self.shown(SECRET, BASE, VAULT) == ""
        assert self.powers() == ""


@pytest.fixture
def yard(tmp_path: Path, agent_bind: AgentBind, make_booted: Callable[..., Booted]) -> Yard:
    return Yard(tmp_path, agent_bind, make_booted)


def nth_call(calls: Calls, at: int) -> dict[str, Any]:
    """Name a call by what it is and which of its like: how often folders are opened depends on how many are known."""
    return {"call": calls[at], "nth": calls[: at + 1].count(calls[at])}


def windows(race: str, calls: Calls) -> list[int]:
    """Return calls to strike at, at most so many, the first and the last among them: those that write what a race is
    about, and those that open it for that.

    Of races for what lies above, every call that writes is below: the first and the last are taken.
    """
    place = RACES[race][0]
    touching = [at for at, (_, *paths) in enumerate(calls) if any(is_in(path, place) for path in paths)]
    writing = [at for at in touching if calls[at][0]]
    opening = [max((at for at in touching if at < write and place in calls[at]), default=write) for write in writing]
    if race.startswith(("above", "parent")):
        return sorted({*writing[:1], *writing[-1:]})
    found = sorted({*writing, *opening})
    count = min(len(found), WINDOWS)
    return [found[number * (len(found) - 1) // max(count - 1, 1)] for number in range(count)]


def is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


@pytest.mark.parametrize("kind", KINDS)
def test_no_window_leads_a_write_out(yard: Yard, kind: str) -> None:
    """Every writing call of every operation, with each exchange of a name that it takes; every other one lasts."""
    argv = [*yard.fleet.argv, "apply"]
    names = [name for name in OPERATIONS if name.partition("-")[0] == kind]
    yard.make({name: name for name in names})
    calm = yard.step(argv, {})
    assert calm.code == 0, calm.said
    strikes: dict[str, Any] = {}
    cells: dict[str, str] = {}
    for name in names:
        for race in races_of(OPERATIONS[name]):
            for at in windows(race, calm.calls[name]):
                cell = f"{name}.{at}.{race}"
                cells[cell] = name
                swap = [f"{BASE}/{cell}/{each}" for each in RACES[race]]
                strikes[cell] = {**nth_call(calm.calls[name], at), "swap": swap, "lasts": bool(len(strikes) % 2)}
    yard.make(cells)
    raced = yard.step(argv, strikes)
    counted = reports(yard.machine)[-1]["counts"]
    print(f"{kind}: {len(strikes)} windows, {sum(raced.struck.values())} exchanges, {counted}")
    assert raced.code in CODES, raced.said
    assert "Traceback" not in raced.said
    yard.check()
    assert {cell: strikes[cell] for cell in set(strikes) - set(raced.struck)} == {}
    assert sum(raced.struck.values()) > 0.9 * len(strikes)
    assert {name for cell, name in cells.items() if raced.struck[cell]} == set(names)


def test_where_everybody_makes_names_nothing_private_is_given_away(yard: Yard) -> None:
    """Before each call that writes, and from the start, the user's own thing has the name that root's is to get.

    What is the user's has an access control list that lets the user read it, and all that is made in it.
    """
    argv = [*yard.fleet.argv, "apply"]
    yard.lay_out([[STICKY, "directory", "", 0o755, 0, 0], *sticky_cells(STICKY_OPERATIONS)])
    yard.declare({key: value for name in STICKY_OPERATIONS for key, value in declare_sticky(name, name).items()})
    calm = yard.step(argv, {}, STICKY)
    assert calm.code == 0, calm.said
    cells = {
        f"{name}.{at}.{thing}": (at, thing)
        for name in STICKY_OPERATIONS
        for thing in HERS
        for at, (call, *_) in enumerate(calm.calls[name])
        if call or not at
    }
    strikes = {
        cell: {
            **nth_call(calm.calls[cell.partition(".")[0]], at),
            "swap": [f"{STICKY}/{cell}/{each}" for each in ("x", thing)],
            "lasts": True,
        }
        for cell, (at, thing) in cells.items()
    }
    yard.lay_out(sticky_cells(strikes))
    lists = [f"{STICKY}/{cell}/{thing}" for cell in strikes for thing in ("file", "folder")]
    yard.machine.run(yard.as_user(["setfacl", "-m", "user:mallory:rwx", *lists]))
    yard.machine.run(yard.as_user(["setfacl", "-m", "default:user:mallory:rwx", *lists[1::2]]))
    names = {cell: cell.partition(".")[0] for cell in strikes}
    yard.declare({key: value for cell, name in names.items() for key, value in declare_sticky(cell, name).items()})
    raced = yard.step(argv, strikes, STICKY)
    print(f"{len(strikes)} windows, {sum(raced.struck.values())} exchanges")
    assert raced.code in CODES, raced.said
    assert {cell: strikes[cell] for cell in set(strikes) - set(raced.struck)} == {}
    assert all(struck for cell, struck in raced.struck.items() if ".0." in cell)
    assert yard.shown(PRIVATE, STICKY) == ""
    rights = ["(", "-perm", "/6000", "-o", "-perm", "-o+w", "!", "-perm", "-1000", ")"]
    assert yard.machine.run(["find", STICKY, "-uid", "0", "!", "-type", "l", *rights]).stdout == ""
    yard.check()


def sticky_cells(cells: Iterable[str]) -> Iterator[list[Any]]:
    return (line for cell in cells for line in lay_out_sticky_cell(cell))


CARELESS = [
    ("write", "file-update", "target-for-link"),
    ("write", "file-update", "target-for-hard-link"),
    ("write", "file-update", "parent-for-link"),
    ("replace", "file-update", "parent-for-link"),
    ("own", "file-attributes", "target-for-link"),
    ("own", "file-attributes", "target-for-hard-link"),
    ("own", "file-attributes", "above-for-link"),
    ("remove", "directory-remove", "parent-for-link"),
]


def test_a_careless_writer_is_led_out(yard: Yard) -> None:
    """With the same strikes: what looks at a path, and uses it then, does harm outside in each of these races."""
    for way, operation, race in CARELESS:
        cells = [f"{way}.{race}.{at}" for at in range(4)]
        swaps = {cell: [f"{BASE}/{cell}/{each}" for each in RACES[race]] for cell in cells}
        strikes = {cell: {"at": at, "swap": swaps[cell], "lasts": True} for at, cell in enumerate(cells)}
        fresh: list[list[Any]] = [
            [BASE, "clear"],
            [VAULT, "clear"],
            [BASE, "directory", "", 0o755, UID, GID],
            *lay_out_vault(),
        ]
        yard.lay_out([*fresh, *(line for cell in cells for line in lay_out_cell(cell, operation))])
        yard.step(yard.program("naive", way, *(f"{BASE}/{cell}/top/dir/x" for cell in cells)), strikes)
        assert any(path.startswith(VAULT) for path in yard.outside()), (way, race)


@contextmanager
def racing(yard: Yard, races: Iterable[str], cells: Iterable[str], counts: list[int]) -> Iterator[None]:
    """Let the user race for as long as the block takes; the number of exchanges is added to `counts`."""
    words = [BASE, json.dumps([RACES[race] for race in races]), *cells]
    with yard.machine.popen(yard.as_user(yard.program("attacker", *words)), stdin=subprocess.PIPE) as attacker:
        assert attacker.stdout is not None
        assert attacker.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            said, errors = attacker.communicate(timeout=30)
    assert attacker.returncode == 0, errors.decode()
    counts.append(int(said))


def test_passes_amid_a_race_do_no_harm_outside(yard: Yard) -> None:
    """As in the wild: pass after pass, type after type, while the user exchanges names as fast as it goes."""
    races = ["parent-for-link", "target-for-hard-link", "target-for-link", "new-for-hard-link", "new-for-link"]
    counts: list[int] = []
    for kind in KINDS:
        cells = {name: name for name in OPERATIONS if name.partition("-")[0] == kind}
        yard.make(cells)
        with racing(yard, races, cells, counts):
            for _ in range(PASSES):
                yard.fleet.datum(yard.machine, "apply", code=CODES)
        yard.check()
    outcomes: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    found = reports(yard.machine)
    for report in found:
        outcomes.update(each["outcome"] for each in report["resources"])
        codes.update(said["code"] for each in report["resources"] for said in each["diagnostics"])
    print(f"{len(found)} passes with something to do, {counts} exchanges, {dict(outcomes)}, {dict(codes)}")
    assert min(counts) > 100
    assert outcomes["applied"] > PASSES * len(KINDS)
    assert len(codes.keys() & REFUSALS) > 1
