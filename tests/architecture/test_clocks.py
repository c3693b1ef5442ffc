"""Nothing waits or times by a clock that jumps, or that goes on while the host sleeps (docs/timer.md, "When")."""

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.architecture.tracked import PYTHON_FOLDERS, ROOT, python_files

# What tells the time of day, or counts the time asleep, by its last name.
OF_TIME: Final = frozenset({"time", "time_ns", "ctime", "gmtime", "localtime", "clock_gettime", "clock_gettime_ns"})
OF_DATETIME: Final = frozenset({"now", "utcnow", "today"})
CONSTANTS: Final = frozenset({"CLOCK_REALTIME", "CLOCK_BOOTTIME", "CLOCK_TAI", "CLOCK_MONOTONIC_RAW"})
# Where the time of day is what is asked for; nobody waits by it.
ALLOWED: Final = {
    "datum/cli/effects.py": "when a command began, for its report",
    "datum/repository/hops.py": "when a server was looked at, beside what its certificate says",
    "providers/datum_providers/service/evidence.py": "whether a file is newer than anything can be",
    "providers/datum_providers/service/doing.py": "how long ago a unit failed by systemd; a time to come is none",
}


def readings(source: str) -> Iterator[str]:
    """Yield what a source reads such a clock by."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in OF_TIME:
                yield f"time.{name}"
            case ast.Attribute(value=ast.Name() | ast.Attribute() as of, attr=name) if name in OF_DATETIME:
                if ast.unparse(of).rpartition(".")[2] in {"datetime", "date"}:
                    yield ast.unparse(node)
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in CONSTANTS:
                yield name
            case ast.ImportFrom(module="time", names=names):
                yield from (each.name for each in names if each.name in OF_TIME | CONSTANTS)
            case ast.ImportFrom(module="datetime", names=names):
                yield from (each.name for each in names if each.name in {"datetime", "date"} and each.asname)
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name == "time" and each.asname)
            case _:
                pass


def test_the_time_of_day_is_read_in_these_places_only() -> None:
    found = {
        str(path.relative_to(ROOT)): sorted(readings(path.read_text(encoding="utf-8")))
        for path in python_files(*PYTHON_FOLDERS)
    }
    assert {name for name, seen in found.items() if seen} == set(ALLOWED)
    assert [len(found[name]) for name in ALLOWED] == [1] * len(ALLOWED), "one reading each"


@pytest.mark.parametrize(
    "source",
    [
        "import time\nend = time.time() + 5",
        "import time\ntime.time_ns()",
        "import time\ntime.clock_gettime(time.CLOCK_MONOTONIC)",
        "from time import time\ntime()",
        "import time as t\nt.time()",
        "import datetime as dt\ndt.datetime.now()",
        "from datetime import datetime\ndatetime.now(tz)",
        "from datetime import date\ndate.today()",
        "from datetime import datetime as d\nd.now()",
        "TFD = CLOCK_BOOTTIME",
    ],
)
def test_each_way_to_read_one_is_seen(source: str) -> None:
    assert list(readings(source))


def test_nothing_else_is_taken_for_one() -> None:
    assert not list(readings("import time\ntime.monotonic()\ntime.sleep(1)\nports.now\nself.clock.now()\n"))
