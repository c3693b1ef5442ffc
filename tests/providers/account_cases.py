"""Reads the cases of `fixtures/cases/{user,group}`: a declaration, account files, what follows; and tries them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from attrs import evolve, frozen

from datum.model.observation import Absent, NotApplicable, Observation, Present, Unobservable
from datum.model.plan import Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import AnyProvider
from datum.provider.host import HostError
from datum.testing.conformance import ConformanceCase
from datum.testing.host import FakeHost
from datum.testing.rules import deletion_of
from tests.providers.shadow_tools import GROUP, PASSWD, SHADOW, add_shadow_tools

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "cases"
# What a case may say; a misspelt key would be a check that is never made.
KEYS: Final = frozenset(
    {"about", "name", "attributes", "host", "observed", "obstacles", "step", "hazards", "runs", "after", "remarks"}
    | {"absent", "busy"}
)


@frozen
class AccountCase:
    """One file of a folder."""

    title: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def attributes(self) -> dict[str, Any]:
        return {key: _frozen(value) for key, value in self.data["attributes"].items()}

    @property
    def operation(self) -> Operation | None:
        return Operation(self.data["step"]["operation"]) if "step" in self.data else None

    @property
    def is_refused(self) -> bool:
        """Whether the step cannot be done on this host."""
        return "busy" in self.data or bool(self.data.get("step", {}).get("needs"))

    def arrange(self, host: FakeHost) -> None:
        about = self.data.get("host", {})
        host.world.users.update(about.get("nss", {}))
        host.world.groups.update(about.get("nss_groups", {}))
        texts = {name: about.get(name, "") for name in ("passwd", "group", "shadow")}
        bases = {"passwd": PASSWD, "group": GROUP, "shadow": SHADOW}
        add_shadow_tools(host, **{name: bases[name] + _bytes(text) for name, text in texts.items()})
        if "gshadow" in about:
            host.add_file("/etc/gshadow", about["gshadow"].encode())
        for name in about.get("without", ()):
            del host.world.files[f"/etc/{name}"]
        for name in about.get("emptied", ()):
            host.world.files[f"/etc/{name}"].data = b""
        host.add_directory("/proc")
        for pid, uid in about.get("processes", {}).items():
            host.add_file(f"/proc/{pid}/status", f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n".encode())

    def make_host(self) -> FakeHost:
        host = FakeHost()
        self.arrange(host)
        return host


def _bytes(text: str) -> str:
    r"""Return a text in which `\xe9` is that byte, which is no UTF-8."""
    return text.replace("\\xe9", "\udce9")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def read_cases(type_name: str) -> tuple[AccountCase, ...]:
    return tuple(
        AccountCase(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted((FOLDER / type_name).glob("*.yaml"))
    )


def conformance_cases(type_name: str) -> tuple[ConformanceCase, ...]:
    """Return the cases that arrange a host that can be looked at; deleting is tried where the case tries it."""
    return tuple(
        ConformanceCase(
            case.title,
            case.name,
            case.attributes,
            case.operation,
            case.arrange,
            converges=not case.is_refused,
            can_delete="absent" in case.data,
        )
        for case in read_cases(type_name)
        if "unobservable" not in case.data["observed"]
    )


@frozen
class Checks:
    """The checks of one type."""

    provider: AnyProvider
    cases: tuple[AccountCase, ...]

    @classmethod
    def of(cls, provider: AnyProvider) -> "Checks":
        return cls(provider, read_cases(provider.type_name))

    def with_a_plan(self) -> list[AccountCase]:
        return [case for case in self.cases if "unobservable" not in case.data["observed"]]

    def with_a_step(self) -> list[AccountCase]:
        return [case for case in self.cases if "runs" in case.data]

    def with_a_deletion(self) -> list[AccountCase]:
        return [case for case in self.cases if "absent" in case.data]

    def see(self, case: AccountCase, host: FakeHost) -> Observation:
        desired = self.provider.parse(case.name, case.attributes)
        return self.provider.observe(host.reader(), {case.name: desired})[case.name]

    def planned(self, case: AccountCase, host: FakeHost) -> Step | None:
        seen = self.see(case, host)
        assert not isinstance(seen, Unobservable), seen
        return self.provider.plan(self.provider.parse(case.name, case.attributes), seen)

    def check_keys(self, case: AccountCase) -> None:
        assert set(case.data) <= KEYS
        assert case.data["about"].endswith(".")

    def check_seen(self, case: AccountCase) -> None:
        host, about = case.make_host(), case.data["observed"]
        found = self.see(case, host)
        assert not host.journal
        if "unobservable" in about:
            assert isinstance(found, Unobservable)
            assert [found.cause, found.scope] == about["unobservable"][:2]
            assert about["unobservable"][2] in found.detail
            return
        assert not isinstance(found, Unobservable), found
        assert isinstance(found, Present if "present" in about else Absent)
        assert {name: _shown(value) for name, value in found.fields.items()} == (
            about["present"] if "present" in about else about["absent"]
        )
        if isinstance(found, Present):
            assert list(found.obstacles) == case.data.get("obstacles", [])

    def check_planned(self, case: AccountCase) -> None:
        step = self.planned(case, case.make_host())
        if step is None or "step" not in case.data:
            assert step is case.data.get("step")
            return
        about = case.data["step"]
        assert step.operation == about["operation"]
        changes = [[change.name, _shown(change.before), _shown(change.after)] for change in step.changes]
        assert changes == about["changes"]
        assert [[str(need.target), need.detail] for need in step.needs] == about.get("needs", [])
        desired = self.provider.parse(case.name, case.attributes)
        assert sorted(self.provider.hazards(desired, step)) == case.data.get("hazards", [])
        assert all(change.sensitive is (change.name == "password") for change in step.changes)

    def check_done(self, case: AccountCase) -> None:
        host = case.make_host()
        step = self.planned(case, host)
        assert step is not None
        writer = host.writer()
        self.provider.apply(writer, self.provider.parse(case.name, case.attributes), step)
        assert [entry.subject for entry in host.journal] == case.data["runs"]
        self._check_after(case, host)
        assert writer.remarks == case.data.get("remarks", [])
        assert self.planned(case, host) is None

    def check_deleted(self, case: AccountCase) -> None:
        """Carry out the deletion that the engine plans where nothing but absence is declared."""
        host = case.make_host()
        bare = evolve(case, data={**case.data, "attributes": {}})
        seen = self.see(bare, host)
        assert isinstance(seen, Present)
        step, about = deletion_of(seen), case.data["absent"]
        desired = self.provider.parse(case.name, {})
        assert sorted(self.provider.hazards(desired, step)) == about.get("hazards", [])
        self.provider.apply(host.writer(), desired, step)
        assert [entry.subject for entry in host.journal] == about["runs"]
        assert isinstance(self.see(bare, host), Absent)

    def check_busy(self, case: AccountCase) -> None:
        """Try the step, or the deletion where nothing is to be done: it ends before anything is changed."""
        host = case.make_host()
        step = self.planned(case, host)
        if step is None:
            seen = self.see(case, host)
            assert isinstance(seen, Present)
            assert not seen.obstacles
            step = deletion_of(seen)
        with pytest.raises(HostError) as caught:
            self.provider.apply(host.writer(), self.provider.parse(case.name, case.attributes), step)
        assert (caught.value.failure, caught.value.diagnostics[0].code) == (FailureCause.BUSY, "account-busy")
        assert case.data["busy"] in caught.value.detail
        assert not host.journal

    def _check_after(self, case: AccountCase, host: FakeHost) -> None:
        for name, lines in case.data.get("after", {}).items():
            text = host.files[f"/etc/{name}"].data.decode("utf-8", "surrogateescape")
            missing = [line for line in lines if line not in text.splitlines()]
            assert not missing, text


def _shown(value: Any) -> Any:
    if isinstance(value, NotApplicable):
        return f"not applicable: {value.cause}"
    if isinstance(value, Unobservable):
        return f"unobservable: {value.cause}"
    return list(value) if isinstance(value, tuple) else value
