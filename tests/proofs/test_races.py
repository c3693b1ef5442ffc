"""A local user who races with the agent in a running Debian (design 4.7): for each writing operation of every type.

The user owns the directories in which the resources stand. In most tests a window is won each time: the agent is
stopped at an exact system call, and names are exchanged there (`racing/stepper.py`). In one, luck decides, as it does
for a real attacker, many times.
"""

import ast
import importlib.util
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from datum.host.staging_changes import AttributesChange, Change, Removal, ResidueRemoval
from datum.host.staging_puts import Put
from datum.provider.host import HostWriter
from tests.harness.booted import Booted
from tests.harness.changes import Change as Changed
from tests.harness.changes import Kind
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.proofs.on_host import FleetOnHost, others_changed, reports
from tests.proofs.racing.cells import (
    BASE,
    CREW,
    FILES,
    GID,
    GROUPS,
    HERS,
    LINKS,
    OPERATIONS,
    PRIVATE,
    RACES,
    SECRET,
    STICKY,
    STICKY_OPERATIONS,
    UID,
    VAULT,
    Group,
    declare,
    declare_sticky,
    lay_out_cell,
    lay_out_sticky_cell,
    lay_out_vault,
    races_of,
)
from tests.proofs.stage import FLEET, UNLIMITED

PROGRAMS: Final = "/opt/racing"
# What names of ways to change a host are written to, in the host.
REACHED: Final = "/run/reached"
# Of each group.
PASSES: Final = 4
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
        self.fleet.shape(links=LINKS)
        self.fleet.commit({}, files=self.files)
        programs = Bind(str(Path(__file__).with_name("racing")), PROGRAMS)
        self.machine = boot(binds=(self.fleet.bind, programs))
        self.machine.run(["groupadd", "--gid", str(CREW), "crew"])
        self.machine.run(["useradd", "--uid", str(UID), "--user-group", "--groups", "crew", "mallory"])
        self.fleet.enrol(self.machine)
        self.lay_out([[BASE, "directory", "", 0o755, UID, GID], *lay_out_vault()])
        self.before: dict[str, Changed] = {}

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
        """Make cells of these operations, and declare what is in them; what is dropped was enforced before."""
        self.lay_out(line for cell, name in cells.items() for line in lay_out_cell(cell, name))
        dropped = {cell: name for cell, name in cells.items() if OPERATIONS[name].is_dropped}
        if dropped:
            self.declare({key: value for cell, name in dropped.items() for key, value in declare(cell, name).items()})
            self.fleet.datum(self.machine, "apply")
        kept = {cell: name for cell, name in cells.items() if cell not in dropped}
        self.declare({key: value for cell, name in kept.items() for key, value in declare(cell, name).items()})

    def step(self, argv: Sequence[str], strikes: Mapping[str, Any], base: str = BASE) -> Stepped:
        """Step through a command; a strike is `at` a call or the `nth` such `call`, a `swap` of names, and may last."""
        request = {"argv": list(argv), "base": base, "uid": UID, "gid": GID, "strikes": strikes}
        done = self.machine.run(self.program("stepper"), input=json.dumps(request), env=self.fleet.env, timeout=180)
        return Stepped(**json.loads(done.stdout))

    def apply(self, group: Group) -> None:
        """Run a pass that somebody may race with."""
        done = self.machine.run([*group.prefix, *self.fleet.argv, "apply"], env=self.fleet.env, check=False)
        assert done.returncode in CODES, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr

    def outside(self) -> dict[str, Kind]:
        """Return what changed that is not the user's, nor the agent's own, nor the journal's."""
        changed = others_changed(self.machine, self.before, ())
        others = (BASE, STICKY, "/var/log/journal")
        return {path: kind for path, kind in changed.items() if not any(is_in(path, other) for other in others)}

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


def windows(race: str, calls: Calls, most: int) -> list[int]:
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
    count = min(len(found), most)
    return [found[number * (len(found) - 1) // max(count - 1, 1)] for number in range(count)]


def is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


@pytest.mark.parametrize("of", GROUPS)
def test_no_window_leads_a_write_out(yard: Yard, of: str) -> None:
    """Every writing call of every operation, with each exchange of a name that it takes; every other one lasts."""
    group = GROUPS[of]
    argv = [*group.prefix, *yard.fleet.argv, "apply"]
    yard.make({name: name for name in group.operations})
    calm = calm_pass(yard, group)
    strikes: dict[str, Any] = {}
    cells: dict[str, str] = {}
    for name in group.operations:
        for race in races_of(OPERATIONS[name]):
            for at in windows(race, calm.calls[name], group.windows):
                cell = f"{name}.{at}.{race}"
                cells[cell] = name
                swap = [f"{BASE}/{cell}/{each}" for each in RACES[race]]
                strikes[cell] = {**nth_call(calm.calls[name], at), "swap": swap, "lasts": bool(len(strikes) % 2)}
    yard.make(cells)
    raced = yard.step(argv, strikes)
    counted = reports(yard.machine)[-1]["counts"]
    print(f"{of}: {len(strikes)} windows, {sum(raced.struck.values())} exchanges, {counted}")
    assert raced.code in CODES, raced.said
    assert "Traceback" not in raced.said
    yard.check()
    assert {cell: strikes[cell] for cell in set(strikes) - set(raced.struck)} == {}
    assert sum(raced.struck.values()) > 0.9 * len(strikes)
    assert {name for cell, name in cells.items() if raced.struck[cell]} == set(group.operations)


def calm_pass(yard: Yard, group: Group) -> Stepped:
    """Step through the pass that nobody races with; expect what it comes to, and by which ways it writes."""
    program = yard.program("reached", REACHED, "apply")
    calm = yard.step([*group.prefix, *program], {})
    refused = {name for name in group.operations if OPERATIONS[name].is_refused}
    assert calm.code == bool(refused), calm.said
    said = reports(yard.machine)[-1]["resources"]
    failed = {entry["id"] for entry in said if entry["outcome"] == "failed"}
    # A check has the name of its cell.
    assert {name.removeprefix("check:").removesuffix("/top/dir/x").rpartition("/")[2] for name in failed} == refused
    remarks = [remark for entry in said for remark in entry["remarks"]]
    assert any(remark.startswith("checked_after_writing") for remark in remarks) is group.is_written
    assert group.reaches - set(yard.machine.run(["cat", REACHED]).stdout.split()) == set()
    return calm


def test_every_way_to_write_that_a_file_type_takes_is_raced() -> None:
    """The providers' own code says which these are; and each step of each change of a set is one."""
    reached = frozenset().union(*(group.reaches for group in GROUPS.values()))
    called = {name for name in vars(HostWriter) if not name.startswith("_")} & calls_of_writers()
    # The one looks, the other tells.
    writing = called - {"open_content", "remark"}
    assert len(writing) > 6
    assert {f"LocalWriter.{name}" for name in writing} - reached == set()
    # A directory below a user's is made before a set, and nothing of a command is shown to a check.
    staged = writing - {"make_directory", "run"}
    assert {f"StagingWriter.{name}" for name in staged} - reached == set()
    changes = (Put, Removal, AttributesChange, ResidueRemoval)
    steps = {f"{of.__name__}.{name}" for of in changes for name in (*Change.__abstractmethods__, "discard")}
    # What is only told of; what has nothing prepared; and what a set with such a change takes back by doing nothing.
    nothing = {f"{of.__name__}.shown" for of in changes} | {f"{of.__name__}.discard" for of in changes[1:]}
    nothing |= {"ResidueRemoval.keep", "ResidueRemoval.restore"}
    assert steps - nothing - reached == set()


def calls_of_writers() -> set[str]:
    """Return the names of all methods that providers of the six types call of a writer, by themselves or by another."""
    todo = [f"datum_providers.{name}.provider" for name in ("check", "command", "directory", "file", "link", "tree")]
    seen: set[str] = set()
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        for node in ast.walk(ast.parse(Path(spec.origin).read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("datum_providers."):
                todo.append(node.module or "")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if owner.rpartition(".")[2] == "writer":
                    found.add(node.func.attr)
    return found


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
    for of, group in GROUPS.items():
        cells = {f"{of}.{name}": name for name in group.operations}
        yard.make(cells)
        with racing(yard, races, cells, counts):
            for _ in range(PASSES):
                yard.apply(group)
        yard.check()
    outcomes: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    found = reports(yard.machine)
    for report in found:
        outcomes.update(each["outcome"] for each in report["resources"])
        codes.update(said["code"] for each in report["resources"] for said in each["diagnostics"])
    print(f"{len(found)} passes with something to do, {counts} exchanges, {dict(outcomes)}, {dict(codes)}")
    assert min(counts) > 100
    assert outcomes["applied"] > PASSES * len(GROUPS)
    assert len(codes.keys() & REFUSALS) > 1
