"""Providers on a real host, without an engine: a driver that runs in the host with Debian's own Python.

What the engine would do is done by hand: look, plan, apply, settle, look again.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from tests.harness.machine import Machine
from tests.harness.plugin import AgentBind

_DRIVER: Final = r"""
import io, json, sys, time
from datum.host.local import LocalHost
from datum.model.observation import Absent, NotApplicable, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.provider.host import HostError
from datum_providers.service.provider import ServiceProvider
from datum_providers.unit.provider import UnitProvider

asked = json.load(sys.stdin)
now = time.time
time.time = lambda: now() + asked["later"]
providers = {each.type_name: each for each in (ServiceProvider(), UnitProvider())}
host = LocalHost(asked["root"], open_content=lambda content: io.BytesIO(b""))


def plain(value):
    if isinstance(value, NotApplicable):
        return {"na": value.cause}
    return {"unseen": value.detail} if isinstance(value, Unobservable) else value


def shown(seen):
    if isinstance(seen, Unobservable):
        return {"unobservable": seen.detail}
    fields = {name: plain(value) for name, value in seen.fields.items()}
    kind = "present" if isinstance(seen, Present) else "absent"
    return {kind: fields, **({"identity": seen.identity} if isinstance(seen, Present) else {})}


def changes_of(step):
    return [[change.name, change.before, change.after] for change in step.changes]


def step_of(provider, desired, seen, how):
    if how == "delete":
        known = sorted((name, value) for name, value in seen.fields.items() if not isinstance(value, NotApplicable))
        return Step(Operation.DELETE, tuple(Change(name, value, None) for name, value in known))
    if how == "refresh":
        return provider.refresh(desired, seen)
    if how.startswith("mark"):
        after = how.partition(" ")[2] or None
        return Step(Operation.MARK, (Change("owes", seen.fields.get("owes"), after),))
    return provider.plan(desired, seen)


def act(one):
    kind, _, name = one["id"].partition(":")
    provider = providers[kind]
    desired = provider.parse(provider.normal_name(name), one["attributes"])
    writer = host.writer()
    seen = provider.observe(host.reader(), {name: desired})[name]
    found = {"before": shown(seen)}
    how = one.get("how", "plan")
    if how == "look" or isinstance(seen, Unobservable):
        return found
    step = step_of(provider, desired, seen, how)
    if step is None:
        return {**found, "step": None}
    found["step"] = [step.operation, changes_of(step), [need.detail for need in step.needs]]
    if step.needs:
        return found
    try:
        provider.apply(writer, desired, step)
        if hasattr(provider, "settle"):
            provider.settle(host.writer())
    except HostError as error:
        found["failed"] = [error.diagnostics[0].code, str(error.failure), error.detail]
    found["remarks"] = list(writer.remarks)
    after = provider.observe(host.reader(), {name: desired})[name]
    found["after"] = shown(after)
    left = None if isinstance(after, Unobservable) or how == "delete" else provider.plan(desired, after)
    found["left"] = changes_of(left) if left else []
    return found


json.dump([act(one) for one in asked["do"]], sys.stdout)
"""


@frozen
class OnHost:
    """A host in which providers are tried."""

    machine: Machine
    agent: AgentBind
    # Below which root of the host; `/` is the running system.
    root: str = "/"
    # Seconds by which the agent's clock is ahead of the manager's.
    later: float = 0.0

    def do(self, origin: str, how: str = "plan", **attributes: Any) -> dict[str, Any]:
        """Look at one resource, plan, apply, look again; return all of it."""
        asked = {"root": self.root, "later": self.later, "do": [{"id": origin, "how": how, "attributes": attributes}]}
        done = self.machine.run(
            [self.agent.argv[0], "-c", _DRIVER], env=self.agent.env, input=json.dumps(asked), check=False, timeout=200
        )
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def converge(self, origin: str, **attributes: Any) -> dict[str, Any]:
        """Do it, and see that nothing is left."""
        found = self.do(origin, **attributes)
        assert found["step"] is not None, found
        assert "failed" not in found, found
        assert found.get("left") == [], found
        return found

    def sh(self, script: str) -> str:
        """Run a script in the host; return what it printed."""
        return self.machine.run(["sh", "-c", script], check=False).stdout.strip()

    def unit(self, name: str, text: str) -> None:
        """Put a unit file on the host, and have it loaded."""
        self.machine.write(f"/etc/systemd/system/{name}", text)
        self.sh("systemctl daemon-reload")

    def property(self, name: str, *wanted: str) -> Mapping[str, str]:
        """Return properties of a unit."""
        lines = self.sh(f"systemctl show -p {','.join(wanted)} {name}").splitlines()
        return dict(line.partition("=")[::2] for line in lines)
