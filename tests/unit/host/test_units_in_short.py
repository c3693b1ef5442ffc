"""What doctor asks the manager: in one conversation each, and an answer that is an error is nothing."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from datum.host import units_in_short
from datum.host.dbus import Call, Refusal
from datum.host.units_in_short import LastRun, ManagerFacts, TimerFacts, read_last_run, read_manager, read_timer

NO_UNIT: Final = Refusal("org.freedesktop.systemd1.NoSuchUnit", "There is none.")
NEVER: Final = (1 << 64) - 1


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Call]]:
    """Give what lets the manager answer so; it returns the calls that were made."""

    def answer(*answers: Any) -> list[Call]:
        made: list[Call] = []

        class Talk:
            def ask(self, calls: Sequence[Call]) -> list[Any]:
                made.extend(calls)
                return list(answers)

        def converse(talk: Callable[[Any], Any]) -> Any:
            return talk(Talk())

        monkeypatch.setattr(units_in_short, "converse", converse)
        return made

    return answer


def test_the_manager(answering: Callable[..., list[Call]]) -> None:
    made = answering((("s", "252"),), ([("b.service", 1), ("a.service", 2)],))
    assert read_manager("x*") == ManagerFacts("252", ("a.service", "b.service"))
    assert made[1].arguments == (["failed"], ["x*"])


def test_a_manager_that_refuses(answering: Callable[..., list[Call]]) -> None:
    answering(NO_UNIT, NO_UNIT)
    assert read_manager("x*") == ManagerFacts("", ())


def test_a_timer(answering: Callable[..., list[Call]]) -> None:
    made = answering((("t", 5),), (("t", NEVER),), (("t", 7),))
    assert read_timer("a-b.timer") == TimerFacts(5, 0, 7)
    assert made[0].path.endswith("/a_2db_2etimer")


def test_a_service_that_is_not_there(answering: Callable[..., list[Call]]) -> None:
    answering(NO_UNIT, NO_UNIT)
    assert read_last_run("a.service") == LastRun()
