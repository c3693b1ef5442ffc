"""What a declaration of a source means, what apt would not read, and which key is another one."""

from typing import Any, Final

import pytest

from datum.model.content import Content
from datum.model.graph import Target
from datum.model.identity import ResourceId
from datum.model.manifest import AttributeValue
from datum.model.observation import FieldValue, Present
from datum.model.plan import Operation, Step
from datum.model.secret import Secret
from datum.provider.contract import DesiredError, ImplicitEdge, OrderedProvider, Removal, Stage, StagedProvider
from datum.testing.host import FakeHost
from datum_providers.package_source.provider import PackageSourceProvider
from datum_providers.package_source.stanza import read_stanza
from tests.providers.index import index_of
from tests.providers.package_source.test_openpgp import ASC, GPG, ONE, TWO

PROVIDER: Final = PackageSourceProvider()
SOURCE: Final[dict[str, Any]] = {"uris": ("https://deb.example.com/",), "suites": ("stable",), "components": ("main",)}
KEY: Final = ASC.decode()


def piece(data: bytes) -> Content:
    return Content.from_bytes(data)


@pytest.mark.parametrize(
    ("attributes", "attribute", "words"),
    [
        ({"suites": ("a",), "components": ("b",)}, "uris", "missing"),
        ({"uris": ("copy:/a",)}, "suites", "missing"),
        ({"uris": ("copy:/a",), "suites": ("a",)}, "components", "missing"),
        ({**SOURCE, "suites": ("./",)}, "suites", "ends in a slash"),
        ({"uris": ("copy:/a",), "suites": ("./", "a")}, "suites", "ends in a slash"),
        ({**SOURCE, "uris": ("deb.example.com",)}, "uris", "no URI"),
        ({**SOURCE, "uris": ("https://me:secret@deb.example.com/",)}, "uris", "password"),
        ({**SOURCE, "uris": (Secret(b"x"),)}, "uris", "everybody"),
        ({**SOURCE, "types": ("rpm",)}, "types", "none of deb and deb-src"),
        ({**SOURCE, "suites": ("a b",)}, "suites", "no single word"),
        ({**SOURCE, "suites": ("#a",)}, "suites", "comment"),
        ({**SOURCE, "enabled": "no"}, "enabled", "true or false"),
        ({**SOURCE, "options": {"A b": "x"}}, "options", "no name"),
        ({**SOURCE, "options": {"signed-by": "x"}}, "options", "a field of its own"),
        ({**SOURCE, "options": {"Trusted": True, "trusted": False}}, "options", "twice"),
        ({**SOURCE, "options": {"Languages": None}}, "options", "no value"),
        ({**SOURCE, "options": {"Languages": "a\nb"}}, "options", "one line"),
        ({**SOURCE, "options": "x"}, "options", "a map"),
        ({**SOURCE, "signed_by": "keyrings/x"}, "signed_by", "is relative"),
        ({**SOURCE, "signed_by": "/srv/a b"}, "signed_by", "a space"),
        ({**SOURCE, "signed_by": "/srv/a", "key": KEY}, "signed_by", "both key and signed_by"),
        ({**SOURCE, "key": KEY, "keys": (piece(GPG),)}, "keys", "both key and keys"),
        ({**SOURCE, "key": "x"}, "key", "neither an armoured key"),
        ({**SOURCE, "keys": (piece(GPG[:-3]),)}, "keys", "cut off"),
        ({**SOURCE, "keys": (Content("a" * 40),)}, "keys", "no bytes"),
        ({**SOURCE, "fingerprint": ONE}, "fingerprint", "no key is declared"),
        ({**SOURCE, "key": KEY, "fingerprint": TWO}, "fingerprint", f"is {ONE}, and not {TWO}"),
        ({**SOURCE, "key": KEY, "fingerprint": (ONE, TWO)}, "fingerprint", "and not"),
        ({**SOURCE, "key": KEY, "fingerprint": ONE[-16:]}, "fingerprint", "no fingerprint"),
    ],
)
def test_what_cannot_be_meant_is_refused(attributes: dict[str, AttributeValue], attribute: str, words: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.parse("app", attributes)
    assert (caught.value.attribute, words in caught.value.detail) == (attribute, True), caught.value.detail
    assert caught.value.detail.endswith((".", "anybody."))


@pytest.mark.parametrize("written", [ONE, ONE.lower(), f"0x{ONE}", " ".join((ONE[:20], ONE[20:])), (ONE,)])
def test_fingerprints_have_several_spellings(written: AttributeValue) -> None:
    assert PROVIDER.parse("app", {**SOURCE, "key": KEY, "fingerprint": written}).keys == GPG


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("app.sources", "Write package_source:app"),
        ("app.list", "Write package_source:app"),
        ("/etc/apt/sources.list.d/app.sources", "Write package_source:app"),
        ("a b", ""),
        (".app", ""),
    ],
)
def test_a_name_is_that_of_the_file(name: str, hint: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.normal_name(name)
    assert caught.value.hint == hint


def test_it_holds_its_files_and_shares_the_index() -> None:
    key = PROVIDER.targets(PROVIDER.parse("app", {**SOURCE, "key": KEY}))
    other = PROVIDER.targets(PROVIDER.parse("app", {**SOURCE, "signed_by": "/srv/key.gpg"}))
    source = Target("path", "/etc/apt/sources.list.d/app.sources")
    assert key == (source, Target("path", "/etc/apt/keyrings/app.gpg"), Target("apt_index", ""))
    assert other == (source, Target("apt_index", ""))
    assert key[-1].shared
    assert isinstance(PROVIDER, OrderedProvider)
    assert isinstance(PROVIDER, StagedProvider)
    assert (PROVIDER.order_stage, PROVIDER.removal(PROVIDER.parse("app", {}))) == (Stage.SOURCES, Removal.DELETE)


def test_directories_and_a_keyring_of_others_come_first() -> None:
    index = index_of(
        {
            "path /etc/apt/keyrings": "directory:/etc/apt/keyrings",
            "path /etc/apt/sources.list.d": "directory:/etc/apt/sources.list.d",
            "path /srv/key.gpg": "file:/srv/key.gpg",
        }
    )
    sources = ImplicitEdge(ResourceId("directory", "/etc/apt/sources.list.d"), "parent directory")
    keyrings = ImplicitEdge(ResourceId("directory", "/etc/apt/keyrings"), "parent directory")
    keyring = ImplicitEdge(ResourceId("file", "/srv/key.gpg"), "keyring")
    assert PROVIDER.edges(PROVIDER.parse("app", {**SOURCE, "key": KEY}), index) == (sources, keyrings)
    assert PROVIDER.edges(PROVIDER.parse("app", {**SOURCE, "signed_by": "/srv/key.gpg"}), index) == (sources, keyring)


def test_whatever_changes_apt_has_another_index() -> None:
    desired = PROVIDER.parse("app", {**SOURCE, "key": KEY})
    host = FakeHost()
    host.add_directory("/etc/apt/sources.list.d")
    seen = PROVIDER.observe(host.reader(), {"app": desired})["app"]
    step = PROVIDER.plan(desired, seen)  # type: ignore[arg-type]  # a fake host can be looked at
    assert step is not None
    found = [str(effect.target) for effect in PROVIDER.effects(desired, step)]
    assert found == [f"path {desired.path}", f"path {desired.key_path}", "apt_index "]
    assert PROVIDER.effects(desired, Step(Operation.DELETE, ())) == ()


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (b"Types: deb\n", True),
        (b"", False),
        (b"# nothing\n", False),
        (b"Types: deb\ntypes: deb\n", False),
        (b"deb copy:/a ./\n", False),
        (b" Types: deb\n", False),
        (b"Types: deb\n\n\n# second\nTypes: deb\n", False),
        (b"Types: \xff\n", False),
        (b"\n\nTypes: deb\n# no end\nURIs: x\n\n", True),
    ],
)
def test_a_file_holds_one_source_or_none_to_compare(data: bytes, is_one: bool) -> None:
    assert (read_stanza(data) is not None) is is_one


@pytest.mark.parametrize(
    ("word", "is_enabled"), [("no", False), ("OFF", False), ("0", False), ("yes", True), ("x", True)]
)
def test_apt_has_several_words_for_no(word: str, is_enabled: bool) -> None:
    stanza = read_stanza(f"Types: deb\nEnabled: {word}\n".encode())
    assert stanza is not None
    assert stanza.is_enabled is is_enabled


FIELDS: Final[dict[str, FieldValue]] = {
    "kind": "regular", "types": ("deb",), "uris": ("copy:/a",), "suites": ("./",), "components": (),
    "architectures": (), "enabled": False, "options": {"languages": "none"}, "signed_by": "/srv/key.gpg",
}  # fmt: skip


def test_a_source_is_adopted_as_it_is() -> None:
    assert PROVIDER.adopt("app", Present(FIELDS)) == {
        "types": ("deb",),
        "uris": ("copy:/a",),
        "suites": ("./",),
        "options": {"languages": "none"},
        "enabled": False,
        "signed_by": "/srv/key.gpg",
    }
    own: dict[str, FieldValue] = {**FIELDS, "signed_by": "/etc/apt/keyrings/app.gpg", "enabled": True}
    assert PROVIDER.adopt("app", Present(own, {"key": KEY}))["key"] == KEY
    assert "key" not in PROVIDER.adopt("app", Present({**FIELDS, "signed_by": ""}, {"key": KEY}))


@pytest.mark.parametrize(
    "fields",
    [{"signed_by": "embedded"}, {"signed_by": f"{ONE} {TWO}"}, {"readable": False}, {"uris": ()}, {"kind": "symlink"}],
)
def test_what_cannot_be_declared_is_not_adopted(fields: dict[str, Any]) -> None:
    with pytest.raises(DesiredError):
        PROVIDER.adopt("app", Present({**FIELDS, **fields}))
