"""Reads the cases of `fixtures/cases/authorized_key`: a declaration, a host, what follows.

In every text `KEY` and `OTHER` stand for two public keys, and `FINGERPRINT` for what ssh-keygen shows of the first.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from attrs import evolve, frozen

from datum.model.plan import Operation
from datum.provider.host import FileKind
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from tests.providers.shadow_tools import PASSWD, add_shadow_tools

FOLDER: Final = Path(__file__).parents[3] / "fixtures" / "cases" / "authorized_key"
KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
OTHER: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC"
FINGERPRINT: Final = "SHA256:RXm/ruZ0eTzRXKwi1AQEDynB0VgHQ2ac9KPSFdf/YnA"
USER: Final = "deploy:x:1000:1001::/home/deploy:/bin/sh\n"
PATH: Final = "/home/deploy/.ssh/authorized_keys"
# What a case may say; a misspelt key would be a check that is never made.
KEYS: Final = frozenset(
    {"about", "name", "attributes", "host", "observed", "detail", "step", "hazards", "done", "after", "absent"}
    | {"obstacle"}
)


@frozen
class KeyCase:
    """One file of the folder."""

    title: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data.get("name", "deploy/laptop"))

    @property
    def attributes(self) -> dict[str, Any]:
        given = self.data.get("attributes", {"key": KEY})
        return {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}

    @property
    def operation(self) -> Operation | None:
        return Operation(self.data["step"]["operation"]) if "step" in self.data else None

    @property
    def is_refused(self) -> bool:
        return bool(self.data.get("step", {}).get("needs"))

    def arrange(self, host: FakeHost) -> None:
        about = self.data.get("host", {})
        add_shadow_tools(host, passwd=PASSWD + about.get("passwd", USER))
        if about.get("home", True):
            host.add_directory("/home/deploy", uid=1000, gid=1001)
        if about.get("folder", "file" in about):
            host.add_directory("/home/deploy/.ssh", uid=1000, gid=1001, mode="0700")
        for path, text in about.get("files", {}).items():
            host.add_file(path, text.encode())
        for folder in about.get("folders", []):
            host.add_directory(folder)
        if "file" in about:
            own = FakeFile(mode=about.get("mode", "0600"), uid=1000, gid=1001, data=about["file"].encode())
            host.add(about.get("path", PATH), own)
        for path, (mode, uid) in about.get("rights", {}).items():
            host.add(path, evolve(host.files[path], mode=mode, uid=uid))
        for path, target in about.get("links", {}).items():
            host.add(path, FakeFile(FileKind.SYMLINK, "0777", link=target))
        for program, said in about.get("queries", {}).items():
            host.add_query(tuple(program.split()), said.encode(), exit_code=255 if not said else 0)

    def make_host(self) -> FakeHost:
        host = FakeHost()
        self.arrange(host)
        return host


def read_cases() -> tuple[KeyCase, ...]:
    return tuple(KeyCase(path.stem, yaml.safe_load(_filled(path))) for path in sorted(FOLDER.glob("*.yaml")))


def _filled(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    for word, value in (("FINGERPRINT", FINGERPRINT), ("OTHER", OTHER), ("KEY", KEY)):
        text = text.replace(word, value)
    return text


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
