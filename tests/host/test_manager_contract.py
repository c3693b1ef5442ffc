"""What a provider may count on of the service manager: the same lines run on the fake and on a booted host."""

import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from attrs import evolve, field, frozen

from datum.provider.host import HostError
from datum.testing.host import FakeHost
from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind
from tests.host.inside import python

_LIB: Final = "/usr/lib/systemd/system"
_ETC: Final = "/etc/systemd/system"
_RUNS: Final = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
_DONE: Final = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"
_SOCKET: Final = "[Socket]\nListenStream=/run/app.sock\n[Install]\nWantedBy=sockets.target\n"
_FAILS: Final = "[Service]\nExecStartPre=/bin/false\nExecStart=/bin/sleep infinity\n"


@frozen
class Case:
    """Lines that set `answer`, and what it is."""

    about: str
    # Unit files by path.
    files: Mapping[str, str]
    lines: str
    answer: Any
    # Units that shall not start, which a fake does not read off their files, and sockets with their services.
    failing: tuple[str, ...] = ()
    sockets: Mapping[str, tuple[str, ...]] = field(factory=dict)


CASES: Final = (
    Case(
        "a mask on the disk refuses to be enabled, loaded or not",
        {f"{_LIB}/app.service": _RUNS},
        """
        manager.mask(["app.service"])
        answer = [error_of(manager.enable, ["app.service"])]
        manager.daemon_reload()
        answer.append(error_of(manager.enable, ["app.service"]))
        answer.append(facts("app.service").load)
        """,
        ["manager-refused", "manager-refused", "masked"],
    ),
    Case(
        "a mask that is gone from the disk does not, although it is loaded",
        {f"{_LIB}/app.service": _RUNS},
        """
        manager.mask(["app.service"])
        manager.daemon_reload()
        answer = [facts("app.service").load]
        manager.unmask(["app.service"])
        manager.enable(["app.service"])
        manager.daemon_reload()
        answer += [facts("app.service").load, facts("app.service").file_state]
        """,
        ["masked", "loaded", "enabled"],
    ),
    Case(
        "what is enabled stays enabled behind its mask",
        {f"{_LIB}/app.service": _RUNS},
        """
        manager.enable(["app.service"])
        manager.mask(["app.service"])
        manager.daemon_reload()
        answer = [facts("app.service").file_state, error_of(manager.start, "app.service")]
        manager.unmask(["app.service"])
        manager.daemon_reload()
        answer.append(facts("app.service").file_state)
        """,
        ["masked", "manager-refused", "enabled"],
    ),
    Case(
        "a file of the administrator's is in the way of a mask",
        {f"{_ETC}/app.service": _RUNS},
        """
        answer = [error_of(manager.mask, ["app.service"])]
        manager.daemon_reload()
        answer.append(facts("app.service").load)
        """,
        ["manager-refused", "loaded"],
    ),
    Case(
        "what is not there can be neither enabled nor disabled, and can be unmasked",
        {},
        """
        names = ["nope.service"]
        answer = [error_of(call, names) for call in (manager.enable, manager.disable, manager.unmask)]
        """,
        ["manager-refused", "manager-refused", None],
    ),
    Case(
        "what is gone is disabled as long as links of it are there",
        {f"{_LIB}/app.service": _RUNS},
        """
        manager.enable(["app.service"])
        manager.daemon_reload()
        remove("/usr/lib/systemd/system/app.service")
        manager.daemon_reload()
        answer = [facts("app.service").load, is_there(LINK)]
        answer += [error_of(manager.disable, ["app.service"]), is_there(LINK)]
        answer.append(error_of(manager.disable, ["app.service"]))
        """,
        ["not-found", True, None, False, "manager-refused"],
    ),
    Case(
        "a template is disabled with its instances",
        {f"{_ETC}/app@.service": _RUNS},
        """
        manager.enable(["app@one.service"])
        found = "/etc/systemd/system/multi-user.target.wants/app@one.service"
        answer = [is_there(found)]
        manager.disable(["app@.service"])
        answer.append(is_there(found))
        """,
        [True, False],
    ),
    Case(
        "a socket is refused while its service runs, and started around it",
        {f"{_ETC}/app.service": _RUNS, f"{_ETC}/app.socket": _SOCKET},
        """
        manager.start("app.service")
        first = facts("app.service").invocation
        answer = [error_of(manager.start, "app.socket"), facts("app.service").invocation == first]
        answer.append(sorted(manager.start_socket("app.socket", ["app.service"], restart=False)))
        answer += [facts(name).active for name in ("app.socket", "app.service")]
        second = facts("app.service").invocation
        answer.append(second != first)
        answer.append(sorted(manager.start_socket("app.socket", ["app.service"], restart=True)))
        answer += [facts(name).active for name in ("app.socket", "app.service")]
        answer.append(facts("app.service").invocation != second)
        """,
        ["job-failed", True, [], "active", "active", True, [], "active", "active", True],
        sockets={"app.socket": ("app.service",)},
    ),
    Case(
        "a service that stops at once is out of its socket's way too",
        {f"{_ETC}/app.service": _DONE, f"{_ETC}/app.socket": _SOCKET},
        """
        manager.start("app.service")
        answer = [sorted(manager.start_socket("app.socket", ["app.service"], restart=False))]
        answer += [facts(name).active for name in ("app.socket", "app.service")]
        """,
        [[], "active", "active"],
        sockets={"app.socket": ("app.service",)},
    ),
    Case(
        "a service runs again although its socket failed",
        {f"{_ETC}/app.service": _RUNS, f"{_ETC}/app.socket": _SOCKET + "[Socket]\nExecStartPre=/bin/false\n"},
        """
        manager.start("app.service")
        first = facts("app.service").invocation
        found = manager.start_socket("app.socket", ["app.service"], restart=False)
        answer = [sorted(found), facts("app.socket").active, facts("app.service").active]
        answer.append(facts("app.service").invocation != first)
        """,
        [["app.socket"], "failed", "active", True],
        failing=("app.socket",),
        sockets={"app.socket": ("app.service",)},
    ),
    Case(
        "what does not run is not started beside a socket",
        {f"{_ETC}/app.service": _RUNS, f"{_ETC}/app.socket": _SOCKET},
        """
        answer = [sorted(manager.start_socket("app.socket", ["app.service"], restart=False))]
        answer += [facts(name).active for name in ("app.socket", "app.service")]
        """,
        [[], "active", "inactive"],
        sockets={"app.socket": ("app.service",)},
    ),
    Case(
        "a service that does not start again is told, and its socket listens",
        {f"{_ETC}/app.service": _FAILS, f"{_ETC}/app.socket": _SOCKET},
        """
        start_without_its_fault("app.service")
        found = manager.start_socket("app.socket", ["app.service"], restart=False)
        answer = [sorted(found), facts("app.service").active]
        """,
        [["app.service"], "failed"],
        failing=("app.service",),
        sockets={"app.socket": ("app.service",)},
    ),
)

_IDS: Final = [case.about for case in CASES]
# A unit that would fail runs: it was started before it got its fault.
_SOUND: Final = """
import os, pathlib
LINK = "/etc/systemd/system/multi-user.target.wants/app.service"
remove, is_there = os.unlink, os.path.lexists
def start_without_its_fault(name):
    path = pathlib.Path("/etc/systemd/system", name)
    text = path.read_text()
    path.write_text(text.replace("ExecStartPre=/bin/false", ""))
    manager.daemon_reload()
    manager.start(name)
    path.write_text(text)
    manager.daemon_reload()
code_of = error_of
def error_of(*words):
    found = code_of(*words)
    return found and found["code"]
"""


@pytest.mark.parametrize("case", CASES, ids=_IDS)
def test_systemd_does_so(booted: Booted, agent_bind: AgentBind, case: Case) -> None:
    for path, text in case.files.items():
        booted.write(path, text)
    booted.run(["systemctl", "daemon-reload"])
    assert python(booted, agent_bind, _SOUND + textwrap.dedent(case.lines)) == case.answer


@pytest.mark.parametrize("case", CASES, ids=_IDS)
def test_the_fake_does_so(case: Case) -> None:
    host = FakeHost()
    for path, text in case.files.items():
        host.add_file(path, text.encode())
    manager = host.writer().manager()
    assert manager is not None
    units = host.world.manager
    for socket, services in case.sockets.items():
        for name in (socket, *services):
            unit = units.find(name, host.files)
            assert unit is not None
            unit.start_result = "failed" if name in case.failing else "done"
            unit.facts = evolve(unit.facts, triggered_by=() if name == socket else (socket,))

    def start_without_its_fault(name: str) -> None:
        units.units[name].start_result = "done"
        manager.start(name)
        units.units[name].start_result = "failed"

    def error_of(call: Callable[..., None], *words: Any) -> str | None:
        try:
            call(*words)
        except HostError as error:
            return error.diagnostics[0].code
        return None

    names: dict[str, Any] = {
        "manager": manager,
        "facts": lambda name: manager.units([name])[name],
        "error_of": error_of,
        "LINK": "/etc/systemd/system/multi-user.target.wants/app.service",
        "remove": host.world.remove,
        "is_there": host.files.__contains__,
        "start_without_its_fault": start_without_its_fault,
    }
    exec(textwrap.dedent(case.lines), names)
    assert names["answer"] == case.answer
