"""Python that runs in a booted host with the agent's libraries, and answers in JSON."""

import json
import textwrap
from typing import Any

from tests.harness.booted import Booted
from tests.harness.plugin import AgentBind

_BEFORE = """
import json, sys, time
from datum.host.local import LocalHost
from datum.provider.host import Command, HostError

host = LocalHost()
reader, writer = host.reader(), host.writer()
manager = writer.manager()

def error_of(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except HostError as error:
        code = error.diagnostics[0].code
        return {"code": code, "detail": error.detail, "cause": str(error.cause), "failure": str(error.failure)}
    return None

def facts(name):
    return manager.units([name])[name]
"""


def python(host: Booted, agent: AgentBind, source: str, *, timeout: float = 60.0) -> Any:
    """Run lines that set `answer`, with a `reader`, a `writer`, its `manager`, `facts` and `error_of`; return it."""
    lines = [_BEFORE, textwrap.dedent(source), "print(json.dumps(answer))"]
    done = host.run(["/usr/bin/python3", "-c", "\n".join(lines)], env=agent.env, timeout=timeout)
    return json.loads(done.stdout.splitlines()[-1])


def write_unit(host: Booted, name: str, *service: str, install: bool = True) -> None:
    """Give a host a unit file of `[Service]` lines, and have its systemd read it."""
    wanted = ["[Install]", "WantedBy=multi-user.target"] if install else []
    host.write(f"/etc/systemd/system/{name}", "\n".join(["[Service]", *service, *wanted, ""]))
    host.run(["systemctl", "daemon-reload"])
