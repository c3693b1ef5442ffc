"""As `fields`, for sources of packages and files of cron. No source is one that apt would fetch from."""

from collections.abc import Mapping
from typing import Any, Final

from tests.proofs.fields import Proof
from tests.providers.package_source.test_openpgp import ASC, GPG, ONE

_SOURCE: Final = "/etc/apt/sources.list.d/@NAME@.sources"
_KEY: Final = "/etc/apt/keyrings/@NAME@.gpg"
_ARMOURED: Final = ASC.decode()


def _source(name: str, shown: str, spoil: str = "", **about: Any) -> Proof:
    wanted = {"uris": ["copy:/srv/none"], "suites": ["one"], "components": ["main"], "enabled": False, **about}
    edit = f"sed -i 's/^{name}: .*/{name}: {spoil or 'other'}/' {_SOURCE}"
    return Proof({"package_source:@NAME@": wanted}, f"sed -n 's/^{name}: //p' {_SOURCE}", shown, edit)


def _key(**about: Any) -> Proof:
    proof = _source("Signed-By", _KEY, **about)
    show, shown = f"{proof.show}; stat -c %s {_KEY}", f"{_KEY} {len(GPG)}"
    return Proof(proof.resources, show, shown, f"echo spoilt > {_KEY}")


def _cron(name: str, shown: str, **about: Any) -> Proof:
    path = f"/etc/cron.d/proof-{name}"
    return Proof({f"cron:proof-{name}": about}, f"cat {path}", shown, f"echo '# spoilt' >> {path}")


_JOB: Final[dict[str, Any]] = {"schedule": "@daily", "command": "true"}

SOURCE_FIELDS: Final[Mapping[str, Proof]] = {
    "package_source.uris": _source("URIs", "copy:/srv/none copy:/srv/no", uris=["copy:/srv/none", "copy:/srv/no"]),
    "package_source.suites": _source("Suites", "one two", suites=["one", "two"]),
    "package_source.components": _source("Components", "main extra", components=["main", "extra"]),
    "package_source.types": _source("Types", "deb deb-src", "deb", types=["deb", "deb-src"]),
    "package_source.architectures": _source("Architectures", "i386", architectures=["i386"]),
    "package_source.key": _key(key=_ARMOURED),
    "package_source.keys": _key(keys=[{"content": _ARMOURED}]),
    "package_source.signed_by": _source(
        "Signed-By", "/usr/share/keyrings/debian-archive-keyring.gpg",
        signed_by="/usr/share/keyrings/debian-archive-keyring.gpg",
    ),
    "package_source.fingerprint": _key(key=_ARMOURED, fingerprint=ONE),
    "package_source.enabled": _source("Enabled", "no", "yes"),
    "package_source.options": _source("Languages", "none", options={"Languages": "none"}),
    "cron.schedule": _cron("schedule", "30 4 * * 1-5 root true", **_JOB | {"schedule": "30 4 * * 1-5"}),
    "cron.command": _cron("command", "@daily root date +\\%F", **_JOB | {"command": "date +%F"}),
    "cron.user": _cron("user", "@daily games true", **_JOB, user="games"),
    "cron.environment": _cron("environment", 'A="one two" @daily root true', **_JOB, environment={"A": "one two"}),
    "cron.content": _cron("content", "@daily root true", content="@daily root true"),
    "cron.template": _cron("template", "WEB1", template="templates/motd"),
}  # fmt: skip
