"""The fixtures; loaded with ``pytest_plugins`` in ``tests/conftest.py``.

A test that asks for a host is marked ``host`` by itself. Where hosts cannot be had it is skipped
with the reason, but fails where ``CI`` is ``true``: there nothing may go untested in silence.
"""

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.harness import image
from tests.harness.booted import Booted
from tests.harness.keeper import make_cgroup, remove_cgroup
from tests.harness.oneshot import Oneshot
from tests.harness.spec import Bind

LIBRARIES: Final = "/opt/agent/lib"
SOURCES: Final = "/opt/agent/src"
IMAGE_PYTHON: Final = (3, 11)
FIXTURES: Final = frozenset({"agent_bind", "booted", "make_booted", "make_oneshot", "oneshot"})


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


@pytest.fixture(scope="session")
def host_image() -> Path:
    """Give the image's folder; build it first where it is missing."""
    if os.geteuid() != 0:
        _give_up("test hosts need root")
    for tool in ("nsenter", "strace"):
        if shutil.which(tool) is None:
            _give_up(f"test hosts need {tool}")
    try:
        return image.find_or_build()
    except image.ImageError as error:
        _give_up(str(error))
        raise


@pytest.fixture(scope="session")
def agent_bind() -> AgentBind:
    """Give what binds the running environment's libraries, and the source tree, into a host."""
    if sys.version_info[:2] != IMAGE_PYTHON:
        _give_up("the agent gets into a host only from Python 3.11, as Debian 12 has it")
    libraries = sysconfig.get_path("purelib")
    binds = [Bind(libraries, LIBRARIES)]
    places = []
    for package in ("datum", "datum_providers"):
        found = importlib.util.find_spec(package)
        folders = list(found.submodule_search_locations or ()) if found else []
        if folders and not Path(folders[0]).is_relative_to(libraries):
            binds.append(Bind(folders[0], f"{SOURCES}/{package}"))
            places = [SOURCES]
    path = ":".join([*places, LIBRARIES])
    return AgentBind(tuple(binds), {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})


@pytest.fixture
def make_oneshot(host_image: Path, agent_bind: AgentBind) -> Iterator[Callable[..., Oneshot]]:
    """Give ``Oneshot`` itself, with the agent bound in; what it makes ends with the test."""
    with ExitStack() as stack:

        def make(*, binds: tuple[Bind, ...] = (), **options: Any) -> Oneshot:
            return stack.enter_context(Oneshot(binds=(*agent_bind.binds, *binds), **options))

        yield make


@pytest.fixture
def make_booted(host_image: Path, agent_bind: AgentBind) -> Iterator[Callable[..., Booted]]:
    """Give ``Booted`` itself, with the agent bound in; what it makes ends with the test."""
    try:
        remove_cgroup(make_cgroup())
    except OSError as error:
        _give_up(f"booted test hosts need a cgroup2 hierarchy that root may write: {error}")
    with ExitStack() as stack:

        def make(*, binds: tuple[Bind, ...] = (), **options: Any) -> Booted:
            return stack.enter_context(Booted(binds=(*agent_bind.binds, *binds), **options))

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
