"""The conversation with the service manager: greetings, answers, jobs that are heard of, and connections that end."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from datum.host import dbus, manager
from datum.host.dbus import Call, ConnectionLostError, Conversation
from datum.host.manager import LocalManagerReader, converse, unit_path
from datum.host.manager_jobs import LocalManagerWriter
from datum.model.observation import Cause, Scope
from datum.provider.host import HostError
from tests.unit.host.systemd import Handler, HangUpError, Line, Systemd, systemd

JOB = "/org/freedesktop/systemd1/job/7"
GONE = "org.freedesktop.DBus.Error.UnknownObject Unknown object."

Serve = Callable[..., Systemd]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Give what starts a service manager that is found where systemd's would be."""
    with ExitStack() as stack:

        def start(handler: Handler, *, is_sleepy: bool = False) -> Systemd:
            made = stack.enter_context(systemd(tmp_path, handler, is_sleepy=is_sleepy))
            monkeypatch.setattr(dbus, "PRIVATE_SOCKET", made.address)
            monkeypatch.setattr(dbus, "SYSTEM_BUS", str(tmp_path / "no-bus"))
            monkeypatch.setattr(manager, "PATIENCE", 0.3)
            return made

        yield start


def code_of(error: HostError) -> str:
    return error.diagnostics[0].code


def quiet(_line: Line, member: str, _path: str, _arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]] | str:
    """Take every job and say no more."""
    return ("o", (JOB,)) if member.endswith("Unit") else ("", ())


def test_units_have_paths_in_which_every_odd_byte_is_escaped() -> None:
    assert unit_path("a-b.service") == "/org/freedesktop/systemd1/unit/a_2db_2eservice"
    assert unit_path("1a@x.service") == "/org/freedesktop/systemd1/unit/_31a_40x_2eservice"


def test_a_call_that_is_left_lying_is_answered_when_more_is_heard(serve: Serve) -> None:
    found = serve(quiet, is_sleepy=True)
    assert converse(lambda conversation: conversation.ask([Call("/x", "a.b", "Subscribe")])) == [()]
    assert found.calls == ["Ping", "Ping", "Subscribe"]


def test_many_calls_are_answered_in_their_order(serve: Serve) -> None:
    serve(lambda _line, _member, path, _arguments: ("s", (path,)))
    calls = [Call(f"/x{number}", "a.b", "Get") for number in range(300)]
    answers = converse(lambda conversation: conversation.ask(calls))
    assert answers == [(f"/x{number}",) for number in range(300)]


def test_a_manager_that_is_away_is_asked_again(serve: Serve) -> None:
    away = ["org.freedesktop.DBus.Error.ServiceUnknown It is away."]
    found = serve(lambda *_: away.pop() if away else ("", ()))
    assert converse(lambda conversation: conversation.ask([Call("/x", "a.b", "Reload")])) == [()]
    assert found.connections == 2


def test_a_manager_that_goes_away_during_a_long_job_is_asked_again(serve: Serve) -> None:
    """What counts is how long it is away, and not how long the job took before."""
    gone: list[bool] = []

    def answer(_line: Line, member: str, _path: str, _arguments: tuple[Any, ...]) -> Any:
        if member == "StartUnit" and not gone:
            gone.append(True)
            time.sleep(manager.PATIENCE + 0.1)
            raise HangUpError
        return quiet(_line, member, _path, _arguments)

    found = serve(answer)
    assert converse(lambda conversation: conversation.ask([Call("/x", "a.b", "StartUnit")])) == [(JOB,)]
    assert found.connections == 2


def test_no_answer_is_a_sickness_of_the_host(serve: Serve) -> None:
    def hang(*_: Any) -> str:
        raise HangUpError

    serve(hang)
    with pytest.raises(HostError) as caught:
        LocalManagerReader().units(["a.service"])
    assert code_of(caught.value) == "manager-unreachable"
    assert caught.value.unobservable().scope is Scope.HOST
    assert caught.value.cause is Cause.DATABASE


def test_a_manager_that_thinks_for_ever_is_not_waited_for(serve: Serve) -> None:
    def think(line: Line, *_: Any) -> str:
        line.sock.recv(1)
        raise HangUpError

    serve(think)
    with pytest.raises(HostError, match=r"Reload had no answer in 0\.2 s"):
        converse(lambda conversation: conversation.ask([Call("/x", "a.b", "Reload")], seconds=0.2))


def test_no_signal_in_time_is_none(serve: Serve) -> None:
    serve(quiet)
    with Conversation.start() as conversation:
        assert conversation.next_signal(seconds=0.05) is None


def test_no_names_ask_nothing(serve: Serve) -> None:
    found = serve(quiet)
    assert LocalManagerReader().units([]) == {}
    assert LocalManagerReader().units(["bad name"])["bad name"].load == "error"
    assert found.connections == 0


def test_instances_are_asked_for_by_a_pattern_that_is_no_more_than_the_name(serve: Serve) -> None:
    asked: list[Any] = []

    def answer(_line: Line, _member: str, _path: str, arguments: tuple[Any, ...]) -> Any:
        asked.append(arguments)
        rest = ("", "loaded", "active", "running", "", "/x", 0, "", "/")
        names = (r"a\x2db@two.service", r"a\x2db@one.service", "other@one.service")
        return ("a(ssssssouso)", ([(name, *rest) for name in names],))

    found = serve(answer)
    assert LocalManagerReader().instances(r"a\x2db@.service") == (r"a\x2db@one.service", r"a\x2db@two.service")
    assert found.calls[-1] == "ListUnitsByPatterns"
    assert asked[-1] == ([], [r"a\x2db@*.service"])


def test_a_list_that_the_manager_refuses_is_told(serve: Serve) -> None:
    serve(lambda *_: "org.freedesktop.DBus.Error.AccessDenied Access denied.")
    with pytest.raises(HostError, match=r"refused to list instances of a@\.service: Access denied"):
        LocalManagerReader().instances("a@.service")


def test_a_unit_that_the_manager_refuses_to_look_at_is_an_error(serve: Serve) -> None:
    serve(lambda *_: "org.freedesktop.systemd1.LoadFailed It cannot be loaded.")
    facts = LocalManagerReader().units(["a.service"])["a.service"]
    assert (facts.load, facts.load_error) == ("error", "It cannot be loaded.")


def test_a_result_that_comes_before_the_answer_is_heard(serve: Serve) -> None:
    def quick(line: Line, member: str, path: str, arguments: tuple[Any, ...]) -> Any:
        if member == "StartUnit":
            line.job_removed("/org/freedesktop/systemd1/job/6", "failed")
            line.job_removed(JOB, "done")
        return quiet(line, member, path, arguments)

    found = serve(quick)
    LocalManagerWriter().start("a.service")
    assert found.calls == ["Ping", "Subscribe", "StartUnit"]


def beginning_anew(*, has_job: bool, **values: str) -> Handler:
    """Return a manager that hangs up when it is given a job, and answers questions on later connections."""

    def answer(line: Line, member: str, _path: str, arguments: tuple[Any, ...]) -> Any:
        if member.endswith("Unit"):
            raise HangUpError
        if member != "Get":
            return "", ()
        name = arguments[1]
        if name == "Job":
            return "v", (("(uo)", (7, JOB) if has_job else (0, "/")),)
        if name == "State":
            line.job_removed(JOB, "timeout")
            return "v", (("s", "running"),)
        return ("v", (("s", values[name]),)) if name in values else GONE

    return answer


def test_a_job_of_a_manager_that_began_anew_is_found_again(serve: Serve) -> None:
    found = serve(beginning_anew(has_job=True, Result="timeout"))
    with pytest.raises(HostError, match=r"The job to start a\.service ended 'timeout'"):
        LocalManagerWriter().start("a.service")
    assert found.calls.count("StartUnit") == 1


@pytest.mark.parametrize(
    ("verb", "values", "is_done"),
    [
        ("start", {"ActiveState": "active", "Result": "success"}, True),
        ("start", {"ActiveState": "inactive", "Result": "success"}, True),
        ("start", {"ActiveState": "failed", "Result": "exit-code"}, False),
        ("restart", {"ActiveState": "activating", "Result": "success"}, False),
        ("stop", {"ActiveState": "inactive"}, True),
        ("stop", {"ActiveState": "active"}, False),
        ("reload", {"ActiveState": "active", "ReloadResult": "success"}, True),
        ("reload", {"ActiveState": "active"}, True),
        ("reload", {"ActiveState": "active", "ReloadResult": "exit-code"}, False),
    ],
)
def test_how_a_job_ended_that_is_gone_is_read_off_the_unit(
    serve: Serve, verb: str, values: dict[str, str], is_done: bool
) -> None:
    found = serve(beginning_anew(has_job=False, **values))
    writer = LocalManagerWriter()
    if is_done:
        getattr(writer, verb)("a.service")
    else:
        with pytest.raises(HostError, match="ended 'failed'"):
            getattr(writer, verb)("a.service")
    assert found.calls.count(f"{verb.capitalize()}Unit") == 1


def test_a_job_that_ends_while_its_manager_is_asked_for_it_is_heard(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(line: Line, member: str, path: str, arguments: tuple[Any, ...]) -> Any:
        if member == "Get":
            line.job_removed(JOB, "done")
            return GONE
        return quiet(line, member, path, arguments)

    monkeypatch.setattr("datum.host.manager_jobs._PATIENCE", 0.05)
    serve(late)
    LocalManagerWriter().start("a.service")


ONE, TWO = f"{JOB}1", f"{JOB}2"


def paired(*results: tuple[str, str], verb: str = "StartUnit") -> Handler:
    """Return a manager that takes the jobs of a service and its socket, and tells these results once it has both."""

    def answer(line: Line, member: str, _path: str, _arguments: tuple[Any, ...]) -> Any:
        if member == "Get":
            return GONE
        if member == verb:
            for path, result in results:
                line.job_removed(path, result)
        return ("o", (ONE if member == "TryRestartUnit" else TWO,)) if member.endswith("Unit") else ("", ())

    return answer


def failures_of(*, restart: bool = False) -> dict[str, str]:
    found = LocalManagerWriter().start_socket("s.socket", ["s.service"], restart=restart)
    return {name: error.detail for name, error in found.items()}


@pytest.mark.parametrize(("restart", "verb"), [(False, "StartUnit"), (True, "RestartUnit")])
def test_a_socket_and_its_service_are_jobs_that_are_made_at_once(serve: Serve, restart: bool, verb: str) -> None:
    found = serve(paired((TWO, "done"), (ONE, "done"), verb=verb))
    assert failures_of(restart=restart) == {}
    assert [call for call in found.calls if call != "Ping"] == ["Subscribe", "TryRestartUnit", verb]


def test_jobs_that_are_made_at_once_are_sent_in_one_piece(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the manager may do one before it knows of the other."""
    serve(paired((TWO, "done"), (ONE, "done")))
    sent: list[bytes] = []
    monkeypatch.setattr(dbus, "prep_socket", recording(sent))
    assert failures_of() == {}
    assert [data for data in sent if b"TryRestartUnit" in data and b"StartUnit" in data.partition(b"TryRestartUnit")[2]]


def recording(sent: list[bytes]) -> Callable[..., Any]:
    """Return what connects, and notes what is sent."""
    connect = vars(dbus)["prep_socket"]

    class Recorded:
        def __init__(self, sock: Any) -> None:
            self.sock = sock

        def sendall(self, data: bytes) -> None:
            sent.append(data)
            self.sock.sendall(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.sock, name)

    return lambda *words, **options: Recorded(connect(*words, **options))


def test_each_job_that_failed_is_told_by_its_unit(serve: Serve) -> None:
    serve(paired((ONE, "timeout"), (TWO, "failed")))
    found = failures_of()
    assert found["s.service"].startswith("The job to restart s.service ended 'timeout'")
    assert found["s.socket"].startswith("The job to start s.socket ended 'failed'")


def test_a_job_that_is_refused_leaves_the_others(serve: Serve) -> None:
    taken = paired((TWO, "done"))

    def answer(line: Line, member: str, path: str, arguments: tuple[Any, ...]) -> Any:
        if member == "TryRestartUnit":
            return "org.freedesktop.systemd1.UnitMasked Unit s.service is masked."
        return taken(line, member, path, arguments)

    serve(answer)
    assert failures_of() == {"s.service": "The service manager refused to restart s.service: Unit s.service is masked."}


def test_jobs_of_a_manager_that_began_anew_are_not_made_twice(serve: Serve) -> None:
    found = serve(beginning_anew(has_job=False, ActiveState="active", Result="success"))
    assert failures_of() == {}
    assert found.calls.count("TryRestartUnit") == 1
    assert found.calls.count("StartUnit") <= 1


def test_a_refusal_has_the_words_of_the_manager_and_what_helps(serve: Serve) -> None:
    serve(lambda _line, member, *_: "" if member == "Subscribe" else "org.freedesktop.DBus.Error.AccessDenied No.")
    with pytest.raises(HostError) as caught:
        LocalManagerWriter().mask(["a.service", "b.service"])
    assert caught.value.detail == "The service manager refused to mask a.service, b.service: No."
    assert caught.value.diagnostics[0].hint == "run datum as root"
    with pytest.raises(HostError, match="Unit name x is not valid"):
        LocalManagerWriter().start("x")


def test_a_lost_connection_says_so(serve: Serve) -> None:
    def hang(*_: Any) -> str:
        raise HangUpError

    serve(hang)
    with Conversation.start() as conversation, pytest.raises(ConnectionLostError):
        conversation.ask([Call("/x", "a.b", "Get")])


def test_a_manager_that_never_answers_the_greeting_is_unreachable(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dbus, "_GREETING", 0.1)
    monkeypatch.setattr(Systemd, "_answer", lambda *_: None)
    serve(quiet)
    with pytest.raises(HostError, match="takes connections and answers nothing"):
        Conversation.start()
