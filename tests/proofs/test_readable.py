"""What `validate` says that an account cannot read fails on a real systemd, and what it does not say works."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness.plugin import AgentBind
from tests.passes.scene import run
from tests.proofs.owed_host import CONF, OwedHost, owed_host

Declared = dict[str, dict[str, Any]]

READS: Final = f"ExecStart=/bin/cat {CONF}\n"
RUNS: Final = "ExecStart=/bin/true\n"
MEMBER: Final[Declared] = {"user:app-reader": {"groups": ["mail"], "create_home": False}}
STRANGER: Final[Declared] = {"user:app-other": {"create_home": False}}


def unit(settings: str, commands: str = READS) -> Declared:
    return {"unit:app.service": {"content": f"[Service]\nType=oneshot\n{settings}{commands}"}}


def conf(mode: str = "0600", **fields: str) -> Declared:
    return {f"file:{CONF}": {"content": "password\n", "mode": mode, **fields}}


# What is declared, and whether the unit can do its work.
CASES: Final[Mapping[str, tuple[Declared, bool]]] = {
    "root's": ({**unit("User=games\n"), **conf()}, False),
    "root runs it": ({**unit(""), **conf()}, True),
    "its own": ({**unit("User=games\n"), **conf(owner="games")}, True),
    "its own by number": ({**unit("User=5\n"), **conf(owner="5")}, True),
    "by its group": ({**unit("User=games\nGroup=mail\n"), **conf("0640", group="mail")}, True),
    "by one more group": ({**unit("User=games\nSupplementaryGroups=news mail\n"), **conf("0640", group="mail")}, True),
    "by a declared membership": ({**unit("User=app-reader\n"), **MEMBER, **conf("0640", group="mail")}, True),
    "no member": ({**unit("User=app-other\n"), **STRANGER, **conf("0640", group="mail")}, False),
    "its group may not, others may": ({**unit("User=games\nGroup=mail\n"), **conf("0604", group="mail")}, False),
    "its own, which it may not": ({**unit("User=games\n"), **conf("0044", owner="games")}, False),
    "a dynamic account": ({**unit("DynamicUser=yes\n"), **conf()}, False),
    "a dynamic account with a group": (
        {**unit("DynamicUser=yes\nSupplementaryGroups=mail\n"), **conf("0640", group="mail")},
        True,
    ),
    # That it is there is the manager's work, which fails the unit where it cannot read the file.
    "a credential": ({**unit(f"User=games\nLoadCredential=key:{CONF}\n", RUNS), **conf()}, True),
    "an environment": ({**unit(f"User=games\nEnvironmentFile={CONF}\n", RUNS), **conf()}, True),
    "a command of root": ({**unit("User=games\n", f"ExecStartPre=+/bin/cat {CONF}\n{RUNS}"), **conf()}, True),
    "a command that keeps root": ({**unit("User=games\n", f"ExecStartPre=!/bin/cat {CONF}\n{RUNS}"), **conf()}, True),
    "a command before": ({**unit("User=games\n", f"ExecStartPre=/bin/cat {CONF}\n{RUNS}"), **conf()}, False),
    "only the start is the user's": (
        {**unit("User=games\nPermissionsStartOnly=yes\n", f"ExecStartPre=/bin/cat {CONF}\n{RUNS}"), **conf()},
        True,
    ),
    "made readable before": (
        {**unit("User=games\n", f"ExecStartPre=+/bin/chown games {CONF}\n{READS}"), **conf()},
        True,
    ),
    "a capability": ({**unit("User=games\nAmbientCapabilities=CAP_DAC_READ_SEARCH\n"), **conf()}, True),
    "a program": (
        {**unit("User=games\n", "ExecStart=/srv/app-program\n"),
         "file:/srv/app-program": {"content": "#!/bin/sh\n", "mode": "0744"}},
        False,
    ),
    "a working directory": (
        {**unit("User=games\nWorkingDirectory=/srv/app-home\n", RUNS), "directory:/srv/app-home": {"mode": "0700"}},
        False,
    ),
    "one it can do without": (
        {**unit("User=games\nWorkingDirectory=-/srv/app-home\n", RUNS), "directory:/srv/app-home": {"mode": "0700"}},
        True,
    ),
    "below a closed directory": (
        {**unit("User=games\n", "ExecStart=/bin/cat /srv/app-home/a\n"), "directory:/srv/app-home": {"mode": "0700"},
         "file:/srv/app-home/a": {"content": "", "mode": "0644"}},
        False,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def shared(host_image: Path, agent_bind: AgentBind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwedHost]:
    with owed_host(agent_bind, tmp_path_factory.mktemp("readable")) as host:
        yield host


@pytest.mark.parametrize("name", CASES)
def test_what_is_warned_of_fails_and_nothing_else(shared: OwedHost, name: str) -> None:
    declared, works = CASES[name]
    host = shared.fresh()
    host.apply(declared)
    result = host.sh("systemctl start app.service >/dev/null 2>&1; systemctl show --value -p Result app.service")
    assert (result == "success") is works, host.sh("journalctl -u app -o cat --no-pager | tail -5")
    found = run("validate", "--fleet", str(host.repository.path), "--json").json["diagnostics"]
    assert [one["code"] for one in found] == ([] if works else ["unreadable-by-account"])
