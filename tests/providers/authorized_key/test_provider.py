"""What declarations of keys mean, what they hold and come after, and where sshd looks for them."""

from typing import Any

import pytest

from datum.model.graph import MADE_PATH, Target
from datum.model.identity import ResourceId
from datum.model.observation import Absent, Observation, Present, Unobservable
from datum.model.plan import Change, Operation, Step
from datum.model.result import FailureCause
from datum.provider.contract import DesiredError, ImplicitEdge, RelatedProvider, Removal
from datum.provider.host import CommandOutcome, FileKind, HostError
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.authorized_key.desired import DesiredKey
from datum_providers.authorized_key.look import LIMIT
from datum_providers.authorized_key.provider import AuthorizedKeyProvider
from datum_providers.authorized_key.sshd import expand
from tests.providers.authorized_key.cases import FINGERPRINT, KEY, OTHER, PATH, USER
from tests.providers.index import Index
from tests.providers.shadow_tools import add_shadow_tools

PROVIDER = AuthorizedKeyProvider()
NAME = "deploy/laptop"


def wanted(**attributes: Any) -> DesiredKey:
    return PROVIDER.parse(NAME, {"key": KEY, **attributes})


def index(*ids: str, homes: tuple[str, ...] = ()) -> Index:
    spaces = {"user": "user", "mount": "mount", "authorized_key": "path"}
    found = {}
    for text in ids:
        origin = ResourceId.parse(text)
        key = PATH if origin.type == "authorized_key" else origin.name
        found[Target(spaces.get(origin.type, "path"), key)] = origin
    return Index({**found, **{Target("home", home): ResourceId("user", home.split()[0]) for home in homes}})


@pytest.mark.parametrize("name", ["deploy/laptop", f"deploy/{FINGERPRINT}", "www-data/a.b_c@d+e-1", "deploy"])
def test_names_are_kept(name: str) -> None:
    assert PROVIDER.normal_name(name) == name


@pytest.mark.parametrize("name", ["", "deploy/", "/x", "a b/x", "deploy/a/b", "deploy/-x", "deploy/SHA256:short"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(DesiredError):
        PROVIDER.normal_name(name)


def test_the_comment_of_the_key_counts_where_none_is_declared() -> None:
    assert PROVIDER.parse(NAME, {"key": f"  {KEY}  a b \n"}).comment == "a b"
    assert PROVIDER.parse(NAME, {"key": f"{KEY} a", "comment": " c "}).comment == "c"
    assert wanted().comment is None


def test_options_of_one_text_are_several() -> None:
    assert wanted(options=('no-pty,from="a,b"', "x")).options == ("no-pty", 'from="a,b"', "x")


@pytest.mark.parametrize(
    ("attributes", "attribute", "code"),
    [
        ({}, "", "no-key"),
        ({"key": "nonsense"}, "key", "bad-key"),
        ({"key": f"no-pty {KEY}"}, "key", "bad-key"),
        ({"key": f"{KEY}\n{OTHER}"}, "key", "bad-value"),
        ({"key": 5}, "key", "bad-value"),
        ({"key": f"{KEY} \ud800"}, "key", "bad-value"),
        ({"key": KEY, "options": ("",)}, "options", "bad-value"),
        ({"key": KEY, "options": ("a b",)}, "options", "bad-value"),
        ({"key": KEY, "options": ('a="b',)}, "options", "bad-value"),
        ({"key": KEY, "options": (5,)}, "options", "bad-value"),
        ({"key": KEY, "comment": "a\nb"}, "comment", "bad-value"),
        ({"key": KEY, "path": "x"}, "path", "bad-host-path"),
    ],
)
def test_what_cannot_be_meant(attributes: dict[str, Any], attribute: str, code: str) -> None:
    with pytest.raises(DesiredError) as caught:
        PROVIDER.parse(NAME, attributes)
    assert (caught.value.attribute, caught.value.code) == (attribute, code)


def test_a_fingerprint_and_another_key_are_told() -> None:
    with pytest.raises(DesiredError, match="the name says"):
        PROVIDER.parse(f"deploy/{FINGERPRINT}", {"key": OTHER})
    assert PROVIDER.parse(f"deploy/{FINGERPRINT}", {"key": KEY}).fingerprint == FINGERPRINT


def test_one_key_of_one_user_is_one_thing_whatever_it_is_called() -> None:
    target, made = PROVIDER.targets(wanted(options=("no-pty",)))
    assert (target, target.shared) == (Target("authorized_key", f"deploy/{FINGERPRINT}"), False)
    assert (made, made.shared) == (Target(MADE_PATH, PATH), True)
    _, path = PROVIDER.targets(wanted(path="/etc/keys"))
    assert (path, path.shared, path.leaf) == (Target("path", "/etc/keys"), True, True)


def test_it_comes_after_its_user_and_what_the_file_lies_in() -> None:
    around = index("user:deploy", "directory:/home/deploy/.ssh", "mount:/home")
    desired = PROVIDER.relate(wanted(), around)
    assert desired.has_user
    assert PROVIDER.edges(desired, around) == (
        ImplicitEdge(ResourceId("user", "deploy"), "user"),
        ImplicitEdge(ResourceId("directory", "/home/deploy/.ssh"), "parent directory"),
        ImplicitEdge(ResourceId("mount", "/home"), "mount above"),
    )
    assert PROVIDER.edges(wanted(), Index()) == ()


def test_the_declared_home_counts_before_the_one_that_is_there() -> None:
    assert isinstance(PROVIDER, RelatedProvider)
    desired = PROVIDER.relate(wanted(), index("user:deploy", homes=("deploy2 /x", "deploy /srv/deploy")))
    host = FakeHost(folders=("/etc", "/srv"))
    add_shadow_tools(host, passwd=USER)
    seen = PROVIDER.observe(host.reader(), {NAME: desired})[NAME]
    path = "/srv/deploy/.ssh/authorized_keys"
    assert seen == Absent({"home": "/srv/deploy", "path": path, "missing_parent": "/srv/deploy"})
    step = PROVIDER.plan(desired, Absent({**seen.fields, "user_known": False}))
    assert step is not None
    assert [str(need.target) for need in step.needs] == ["user deploy", "path /srv/deploy"]


def test_a_file_that_is_declared_as_a_whole_leaves_no_room() -> None:
    desired = PROVIDER.relate(wanted(), index(f"file:{PATH}"))
    step = PROVIDER.plan(desired, Absent({}))
    assert step is not None
    assert [need.detail for need in step.needs] == [
        f"file:{PATH} declares the whole file in which the key would stand."
    ]
    assert PROVIDER.relate(wanted(), index("authorized_key:deploy/x")).rival is None


def test_a_key_that_is_dropped_is_removed() -> None:
    assert PROVIDER.removal(wanted()) is Removal.DELETE


def test_what_is_there_is_adopted() -> None:
    seen = Present({"options": ("no-pty",), "comment": "me"}, detail={"line": KEY})
    assert PROVIDER.adopt(NAME, seen) == {"key": KEY, "options": ("no-pty",), "comment": "me"}
    odd = Present({"options": ("bytes:ff",), "comment": "bytes:ff"}, detail={"line": KEY})
    assert PROVIDER.adopt(NAME, odd) == {"key": KEY}


def test_a_key_whose_blob_is_not_known_is_not_made() -> None:
    host = FakeHost(folders=("/etc", "/home/deploy"))
    add_shadow_tools(host, passwd=USER)
    desired = PROVIDER.parse(f"deploy/{FINGERPRINT}", {})
    with pytest.raises(HostError, match="Only the fingerprint") as caught:
        PROVIDER.apply(host.writer(), desired, Step(Operation.CREATE, (Change("key", None, "x"),)))
    assert caught.value.failure is FailureCause.IMPOSSIBLE
    assert not host.journal


def test_a_file_that_went_meanwhile_holds_no_key() -> None:
    host = FakeHost(folders=("/etc",))
    add_shadow_tools(host, passwd=USER)
    PROVIDER.apply(host.writer(), wanted(), Step(Operation.DELETE, (Change("key", "x", None),)))
    assert not host.journal


def test_a_huge_file_is_not_read() -> None:
    host = FakeHost()
    add_shadow_tools(host, passwd=USER)
    host.add_file(PATH, b"x" * (LIMIT + 1))
    seen = PROVIDER.observe(host.reader(), {NAME: wanted()})[NAME]
    assert isinstance(seen, Present)
    assert "is larger than 4,194,304 bytes" in seen.obstacles[0]
    step = PROVIDER.plan(wanted(), seen)
    assert step is not None
    assert [(change.name, change.after) for change in step.changes] == [("closed", None)]
    assert [need.target.kind for need in step.needs] == ["nothing"]
    assert ("read_file", PATH) not in host.calls
    with pytest.raises(HostError, match="is larger") as caught:
        PROVIDER.apply(host.writer(), wanted(), Step(Operation.UPDATE, (Change("comment", "a", "b"),)))
    assert caught.value.diagnostics[0].code == "keys-too-large"
    with pytest.raises(DesiredError, match="is larger"):
        PROVIDER.adopt(NAME, seen)


@pytest.mark.parametrize("kind", [FileKind.SYMLINK, FileKind.DIRECTORY, FileKind.FIFO, FileKind.SOCKET])
def test_what_a_user_puts_in_the_place_of_the_file_is_a_failure_of_that_user_alone(kind: FileKind) -> None:
    """Were it unobservable, all removals of the pass would be held."""
    host = FakeHost()
    add_shadow_tools(host, passwd=f"{USER}other:x:1002:1002::/home/other:/bin/sh\n")
    host.add(PATH, FakeFile(kind, "0777", link="/x" if kind is FileKind.SYMLINK else ""))
    host.add_file("/home/other/.ssh/authorized_keys", f"{KEY}\n".encode())
    desired = {NAME: wanted(), "other/laptop": PROVIDER.parse("other/laptop", {"key": KEY})}
    seen = PROVIDER.observe(host.reader(), desired)
    mine = seen[NAME]
    assert isinstance(mine, Present if kind is FileKind.SYMLINK else Absent)
    assert mine.fields["kind"] == kind.value
    step = PROVIDER.plan(desired[NAME], mine)
    assert step is not None
    assert [str(need.target) for need in step.needs] == [f"nothing deploy/{FINGERPRINT}"]
    other = seen["other/laptop"]
    assert isinstance(other, Present)
    assert PROVIDER.plan(desired["other/laptop"], other) is None


def test_a_file_is_read_once_for_all_its_keys() -> None:
    host = FakeHost()
    add_shadow_tools(host, passwd=USER)
    host.add_file(PATH, f"{KEY}\n{OTHER}\n".encode())
    desired = {NAME: wanted(), "deploy/other": PROVIDER.parse("deploy/other", {"key": OTHER})}
    assert all(isinstance(seen, Present) for seen in PROVIDER.observe(host.reader(), desired).values())
    assert host.calls.count(("read_file", PATH)) == 1


def test_without_accounts_no_key_can_be_looked_at() -> None:
    host = FakeHost()
    add_shadow_tools(host)
    host.fail(HostError("It fails."), subject="/etc/passwd")
    assert isinstance(PROVIDER.observe(host.reader(), {NAME: wanted()})[NAME], Unobservable)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (".ssh/authorized_keys", "/home/u/.ssh/authorized_keys"),
        ("%h/keys", "/home/u/keys"),
        ("/etc/keys/%u-%U", "/etc/keys/u-7"),
        ("/etc/100%%/%u", "/etc/100%/u"),
    ],
)
def test_patterns_of_sshd(pattern: str, path: str) -> None:
    assert expand(pattern, "u", 7, "/home/u") == path


@pytest.mark.parametrize("pattern", ["none", "NONE", "%x", "/etc/%", "/a/../b"])
def test_patterns_that_name_no_file(pattern: str) -> None:
    with pytest.raises(HostError, match="AuthorizedKeysFile") as caught:
        expand(pattern, "u", None, "/home/u")
    assert caught.value.diagnostics[0].code == "no-keys-file"


def config(**files: str) -> str:
    """Return where the key of the user would stand with these files of the configuration."""
    host = FakeHost(folders=("/etc", "/home/deploy"))
    add_shadow_tools(host, passwd=USER)
    for name, text in files.items():
        host.add_file(f"/etc/ssh/{name.replace('__', '/').replace('_at_', '.')}", text.encode())
    seen = PROVIDER.observe(host.reader(), {NAME: wanted()})[NAME]
    assert isinstance(seen, Absent)
    return str(seen.fields["path"])


def test_how_the_configuration_of_sshd_is_read() -> None:
    assert config() == PATH
    assert config(sshd_config="Port 22\n\n#x\nAuthorizedKeysFile /k/%u /x\n") == "/k/deploy"
    assert config(sshd_config='AuthorizedKeysFile "/k/%u"\n') == "/k/deploy"
    assert config(sshd_config="Match all\nAuthorizedKeysFile /k/%u\n") == "/k/deploy"
    assert config(sshd_config="Include no_such/*.conf nothing\nAuthorizedKeysFile /k/%u\n") == "/k/deploy"
    assert config(sshd_config="Include more\n", more="AuthorizedKeysFile=/k/%u\n") == "/k/deploy"
    assert config(sshd_config="Include sshd_config\nAuthorizedKeysFile /k/%u\n") == "/k/deploy"
    assert config(sshd_config="Banner it's\nAuthorizedKeysFile /k/%u\n") == "/k/deploy"


def test_an_include_has_wildcards_in_every_name() -> None:
    text = "Include conf_at_d/*/[ab]?.conf\nAuthorizedKeysFile /last\n".replace("_at_", ".")
    assert config(sshd_config=text, conf_at_d__x__b1_at_conf="AuthorizedKeysFile /k\n") == "/k"
    assert config(sshd_config=text, conf_at_d__x__c1_at_conf="AuthorizedKeysFile /k\n") == "/last"
    assert config(sshd_config=text, conf_at_d__x="AuthorizedKeysFile /k\n") == "/last"
    assert config(sshd_config="Include *\nAuthorizedKeysFile /last\n", _at_hidden="AuthorizedKeysFile /k\n") == "/last"
    twice = {"d__z__a_at_conf": "AuthorizedKeysFile /z\n", "d__y__a_at_conf": "AuthorizedKeysFile /y\n"}
    assert config(sshd_config="Include /etc/ssh/d/*/*.conf\n", **twice) == "/y"


def test_an_included_link_is_followed_to_its_end() -> None:
    host = FakeHost(folders=("/etc", "/home/deploy", "/etc/ssh/d"))
    add_shadow_tools(host, passwd=USER)
    host.add_file("/etc/ssh/sshd_config", b"Include d/*\n")
    host.add_file("/etc/policy/ssh.config", b"AuthorizedKeysFile /k\n")
    host.add_link("/etc/ssh/d/policy.conf", "../../policy/ssh.config")
    host.add_link("/etc/ssh/d/a.conf", "a.conf")
    seen = PROVIDER.observe(host.reader(), {NAME: wanted()})[NAME]
    assert isinstance(seen, Absent)
    assert seen.fields["path"] == "/k"


@pytest.mark.parametrize(
    ("criteria", "path"),
    [
        ("User deploy", "/m"),
        ("User=deploy", "/m"),
        ("user a,dep*", "/m"),
        ("User d?ploy", "/m"),
        ("User *,!deploy", PATH),
        ("User other", PATH),
        ("User other Group web", PATH),
        ("Group web User other", PATH),
        ("all", "/m"),
        ("all\nMatch User other", PATH),
    ],
)
def test_where_the_name_says_whether_a_match_fits_sshd_is_not_asked(criteria: str, path: str) -> None:
    """The fake host knows no sshd: it would be an error to ask."""
    assert config(sshd_config=f"Match {criteria}\nAuthorizedKeysFile /m\n") == path


def test_the_first_match_that_fits_counts_before_what_holds_for_all() -> None:
    text = "AuthorizedKeysFile /all\nMatch User x\nAuthorizedKeysFile /x\nMatch User deploy\nAuthorizedKeysFile /m\n"
    assert config(sshd_config=f"{text}Match Group y\nAuthorizedKeysFile /y\n") == "/m"


def test_a_match_ends_with_its_file_and_holds_for_what_it_includes() -> None:
    within = "Include a\nAuthorizedKeysFile /all\n"
    assert config(sshd_config=within, a="Match User other\nPort 1\n") == "/all"
    assert config(sshd_config="Match User other\nInclude a\n", a="AuthorizedKeysFile /k\n") == PATH
    nested = "Match User deploy\nAuthorizedKeysFile /k\n"
    assert config(sshd_config="Match User other\nInclude a\n", a=nested) == PATH
    assert config(sshd_config="Match User d*\nInclude a\n", a=nested) == "/k"


GROUP = b"AuthorizedKeysFile /all\nMatch Group web\nAuthorizedKeysFile /m\n"


def asked(answer: CommandOutcome | HostError) -> Observation:
    host = FakeHost(folders=("/etc", "/home/deploy"))
    add_shadow_tools(host, passwd=USER)
    host.add_file("/etc/ssh/sshd_config", GROUP)
    if isinstance(answer, HostError):
        host.fail(answer, method="query")
    else:
        host.add_query("sshd", lambda _world, _command: answer)
    return PROVIDER.observe(host.reader(), {NAME: wanted()})[NAME]


def test_a_configuration_that_sshd_refuses_keeps_no_key_from_being_seen() -> None:
    """This very pass may be about to repair it."""
    missing = HostError("There is no program.", code="program-missing")
    for answer in (CommandOutcome(255, b"", b"Bad configuration option\n"), missing):
        seen = asked(answer)
        assert isinstance(seen, Absent)
        assert seen.fields["path"] == "/all"
    seen = asked(CommandOutcome(0, b"authorizedkeysfile /m\n", b""))
    assert isinstance(seen, Absent)
    assert seen.fields["path"] == "/m"
    assert isinstance(asked(HostError("It hangs.", code="program-deadline")), Unobservable)


def test_a_directory_that_is_declared_is_not_changed_because_of_a_key() -> None:
    """Else the two would change it in turn, for ever."""
    folder = "/home/deploy/.ssh"
    seen = Present({"key": f"ssh-ed25519 {FINGERPRINT}", "folder_writable_by_others": folder})
    alone = PROVIDER.plan(PROVIDER.relate(wanted(), index("user:deploy")), seen)
    assert alone is not None
    assert alone.needs == ()
    declared = PROVIDER.plan(PROVIDER.relate(wanted(), index("user:deploy", f"directory:{folder}")), seen)
    assert declared is not None
    assert [need.target for need in declared.needs] == [Target("safe_folder", folder)]
    assert f"directory:{folder} declares it" in declared.needs[0].detail


def test_what_anybody_may_write_is_told_whoever_owns_it() -> None:
    """Only what lies right in the home is changed: sshd looks at the home itself, and this type does not make it."""
    host = FakeHost()
    add_shadow_tools(host, passwd=USER)
    host.add_directory("/home/deploy", uid=1000, mode="0720")
    host.add_directory("/home/deploy/.ssh", uid=0, mode="0702")
    host.add(PATH, FakeFile(mode="0600", uid=0, data=f"{KEY}\n".encode()))
    seen = PROVIDER.observe(host.reader(), {NAME: wanted()})[NAME]
    assert isinstance(seen, Present)
    assert seen.fields["folder_writable_by_others"] == "/home/deploy/.ssh"
    assert seen.fields["sshd_refuses"] == {"/home/deploy": "can be written by others than its owner"}
