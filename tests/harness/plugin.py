"""The fixtures; loaded with ``pytest_plugins`` in ``tests/conftest.py``.

A test that asks for a host is marked ``host`` by itself. Where hosts cannot be had it is skipped
with the reason, but fails where ``CI`` is ``true``: there nothing may go untested in silence. Where
root runs the tests there, any other test that is skipped fails as well, unless its reason is listed.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from attrs import frozen

from tests.harness import image, libraries
from tests.harness.booted import Booted
from tests.harness.keeper import make_cgroup, remove_cgroup
from tests.harness.network import Network
from tests.harness.oneshot import Oneshot
from tests.harness.spec import Bind

LIBRARIES: Final = "/opt/agent/lib"
SOURCES: Final = "/opt/agent/src"
ABOUT: Final = "/opt/agent/about"
COMPILED: Final = "/opt/agent/compiled"
IMAGE_PYTHON: Final = (3, 11)
FIXTURES: Final = frozenset(
    {"agent_bind", "booted", "make_booted", "make_network", "make_oneshot", "make_trixie_booted", "make_trixie_oneshot"}
    | {"oneshot"}
)
# Why a test may be skipped where root runs it and CI is true.
ALLOWED_SKIPS: Final = frozenset(
    {
        # A parameter stands for a scenario, and these tests say something of some of them only.
        "nothing is shown",
        "one scenario has them all",
    }
)

Kind = TypeVar("Kind", Oneshot, Booted)
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@frozen
class AgentBind:
    """How the agent under test gets into a host: Debian's own Python, our libraries bound in."""

    binds: tuple[Bind, ...]
    env: dict[str, str]
    argv: tuple[str, ...] = ("/usr/bin/python3", "-m", "datum")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that asks for a host."""
    for item in items:
        if FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.host)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that was skipped for a reason that is not listed."""
    return _judge_skip((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a file that was skipped as a whole for such a reason."""
    return _judge_skip((yield))


def _judge_skip(report: Report) -> Report:
    """Return the report, failed where this must run and was skipped."""
    must_run = os.environ.get("CI") == "true" and os.geteuid() == 0
    if must_run and report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        path, line, said = report.longrepr
        reason = said.removeprefix("Skipped: ")
        if reason not in ALLOWED_SKIPS:
            report.outcome = "failed"
            report.longrepr = f"{path}:{line}: skipped as root where CI is true, for no reason that is listed: {reason}"
    return report


@pytest.fixture(scope="session")
def host_image() -> Path:
    """Give the image's folder; build it first where it is missing."""
    return _had(image.find_or_build)


def _had(find: Callable[[], Path]) -> Path:
    """Return what hosts need; give up where it cannot be had."""
    if os.geteuid() != 0:
        _give_up("test hosts need root")
    for tool in ("nsenter", "strace"):
        if shutil.which(tool) is None:
            _give_up(f"test hosts need {tool}")
    try:
        return find()
    except image.ImageError as error:
        _give_up(str(error))
        raise


@pytest.fixture(scope="session")
def agent_bind() -> AgentBind:
    """Give what binds the agent into a host."""
    if sys.version_info[:2] != IMAGE_PYTHON:
        _give_up("the agent gets into a host only from Python 3.11, as Debian 12 has it")
    return bind_agent()


def bind_agent() -> AgentBind:
    """Return what binds the running environment's libraries, and the source tree, into a host."""
    installed = sysconfig.get_path("purelib")
    binds = [Bind(installed, LIBRARIES)]
    places = []
    for package in ("datum", "datum_providers"):
        found = importlib.util.find_spec(package)
        folders = list(found.submodule_search_locations or ()) if found else []
        if folders and not Path(folders[0]).is_relative_to(installed):
            binds.append(Bind(folders[0], f"{SOURCES}/{package}"))
            places = [SOURCES]
    path = ":".join([*places, LIBRARIES])
    return AgentBind(tuple(binds), {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})


@pytest.fixture(scope="session")
def trixie_image() -> Path:
    """Give the folder of the image of a Debian 13; build it first where it is missing."""
    return _had(lambda: image.find_or_build(image.TRIXIE))


@pytest.fixture(scope="session")
def trixie_agent() -> AgentBind:
    """Give what binds the agent into a Debian 13: the source tree, and libraries of its own for that Python."""
    return bind_trixie_agent(_had(libraries.find_or_fetch))


def bind_trixie_agent(fetched: Path) -> AgentBind:
    """Return what binds these libraries, the packages under test, and what is known of their distribution."""
    binds = [Bind(str(fetched), LIBRARIES)]
    for package in ("datum", "datum_providers"):
        found = importlib.util.find_spec(package)
        assert found is not None
        binds.append(Bind(str(*found.submodule_search_locations or ()), f"{SOURCES}/{package}"))
    (about,) = Path(sysconfig.get_path("purelib")).glob("datum_agent-*.dist-info")
    binds.append(Bind(str(about), f"{ABOUT}/{about.name}"))
    binds.append(Bind(str(libraries.compiled(binds[1].source)), COMPILED, read_only=False))
    path = f"{SOURCES}:{ABOUT}:{LIBRARIES}"
    return AgentBind(tuple(binds), {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": COMPILED})


@pytest.fixture
def make_oneshot(host_image: Path, agent_bind: AgentBind) -> Iterator[Callable[..., Oneshot]]:
    """Give ``Oneshot`` itself, with the agent bound in; what it makes ends with the test."""
    with _maker(Oneshot, agent_bind) as make:
        yield make


@pytest.fixture
def make_booted(host_image: Path, agent_bind: AgentBind, cgroups: None) -> Iterator[Callable[..., Booted]]:
    """Give ``Booted`` itself, with the agent bound in; what it makes ends with the test."""
    with _maker(Booted, agent_bind) as make:
        yield make


@pytest.fixture
def make_trixie_oneshot(trixie_image: Path, trixie_agent: AgentBind) -> Iterator[Callable[..., Oneshot]]:
    """Give ``make_oneshot`` for a Debian 13."""
    with _maker(Oneshot, trixie_agent, suite=image.TRIXIE) as make:
        yield make


@pytest.fixture
def make_trixie_booted(trixie_image: Path, trixie_agent: AgentBind, cgroups: None) -> Iterator[Callable[..., Booted]]:
    """Give ``make_booted`` for a Debian 13."""
    with _maker(Booted, trixie_agent, suite=image.TRIXIE) as make:
        yield make


@pytest.fixture
def make_network() -> Iterator[Callable[..., Network]]:
    """Give ``Network`` itself: a private segment with a place for each name; what it makes ends with the test.

    Hosts get onto it as they are made, by ``network=``.
    """
    if os.geteuid() != 0:
        _give_up("networks of test hosts need root")
    with ExitStack() as stack:
        yield lambda *names: stack.enter_context(Network(*names))


@pytest.fixture
def cgroups() -> None:
    """Give up where hosts with a systemd cannot be had."""
    try:
        remove_cgroup(make_cgroup())
    except OSError as error:
        _give_up(f"booted test hosts need a cgroup2 hierarchy that root may write: {error}")


@contextmanager
def _maker(kind: type[Kind], agent: AgentBind, **fixed: Any) -> Iterator[Callable[..., Kind]]:
    """Give what makes hosts of a kind with the agent bound in; they end with the context."""
    with ExitStack() as stack:

        def make(*, binds: tuple[Bind, ...] = (), **options: Any) -> Kind:
            return stack.enter_context(kind(binds=(*agent.binds, *binds), **fixed, **options))

        yield make


@pytest.fixture
def oneshot(make_oneshot: Callable[..., Oneshot]) -> Oneshot:
    """Give a fresh root of a Debian."""
    return make_oneshot()


@pytest.fixture
def booted(make_booted: Callable[..., Booted]) -> Booted:
    """Give a freshly booted Debian host."""
    return make_booted()


def _give_up(why: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)
