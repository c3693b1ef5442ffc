"""Configuration file and options: every key wrong in every way, with its place; options overrule."""

import os
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from datum.agent.places import below
from datum.agent.settings import CONFIG_PATH, Options, Settings, config_path, read_settings, root_of
from datum.diagnostics import Diagnostic
from datum.errors import DatumError, ExitCode, SettingsError, UsageError
from datum.model.identity import HostName
from datum.model.manifest import Enforcement
from datum.repository.remote import Remote

GOOD = "repo: /srv/fleet.git\nhost: web1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a root with a sound configuration."""
    folder = tmp_path / "root"
    (folder / "etc/datum").mkdir(parents=True)
    write(folder, GOOD)
    return folder


def write(root: Path, text: str) -> Path:
    path = root / CONFIG_PATH.lstrip("/")
    path.write_text(text)
    return path


def read(root: Path, **options: Any) -> Settings:
    return read_settings(Options(root=str(root), **options))


def findings(root: Path, **options: Any) -> tuple[Diagnostic, ...]:
    """Return what is wrong; exit 78."""
    with pytest.raises(SettingsError) as caught:
        read(root, **options)
    assert caught.value.exit_code is ExitCode.CONFIG
    return caught.value.diagnostics


def test_defaults(root: Path) -> None:
    """Only repository and host need to be said; every path lies below the root."""
    settings = read(root)
    assert settings == Settings(
        repo="/srv/fleet.git",
        ref="main",
        host=HostName("web1"),
        root=str(root),
        config=root / "etc/datum/agent.yaml",
        state_dir=root / "var/lib/datum",
        reports_dir=root / "var/log/datum/reports",
        where=f" --root {root}",
    )
    assert not settings.is_running_system
    assert settings.pointer_path == root / "var/lib/datum/pointer.json"
    assert (settings.enforcement, settings.repairs_on_invalid) == (Enforcement.ENFORCE, False)


def test_everything_that_can_be_said(root: Path) -> None:
    """Each key reaches its setting."""
    write(
        root,
        "repo: file:///srv/other.git\nref: stable\nhost: db1.example.org\nstate_dir: /srv/state\n"
        "reports_dir: /srv/reports\nenforcement: observe\ntrust: {policy: none}\n"
        "source: {on_invalid: enforced, timeout: 1.5, byte_limit: 100, account: fetcher}\nreports: {byte_limit: 200}\n",
    )
    settings = read(root)
    assert (settings.repo, settings.ref, str(settings.host)) == ("/srv/other.git", "stable", "db1.example.org")
    assert (settings.state_dir, settings.reports_dir) == (root / "srv/state", root / "srv/reports")
    assert settings.enforcement is Enforcement.OBSERVE
    assert (settings.repairs_on_invalid, settings.source_account) == (True, "fetcher")
    assert (settings.source_timeout, settings.source_bytes, settings.report_bytes) == (1.5, 100, 200)


def test_options_overrule(root: Path) -> None:
    """What the command line says wins; the rest stays."""
    settings = read(
        root, repo="/srv/mine.git", ref="topic", rev="abc", host="web2", state_dir="/srv/s", is_offline=True
    )
    assert (settings.repo, settings.ref, settings.rev) == ("/srv/mine.git", "topic", "abc")
    assert (settings.host, settings.is_offline) == (HostName("web2"), True)
    assert settings.state_dir == root / "srv/s"
    assert settings.reports_dir == root / "var/log/datum/reports"


def test_options_alone_are_enough(tmp_path: Path) -> None:
    """Every command can be used without a configuration file."""
    assert read(tmp_path, repo="/srv/fleet.git", host="web1").ref == "main"


@pytest.mark.parametrize(("text", "missing"), [("host: web1\n", "repo"), ("repo: /srv/x\n", "host"), ("", "repo")])
def test_not_configured(root: Path, text: str, missing: str) -> None:
    """What is said nowhere is named, with the command that says it."""
    path = write(root, text)
    (found,) = findings(root)
    assert found.code == "not-configured"
    assert found.detail == f"Neither {path} nor the command line says '{missing}'."
    assert found.hint.startswith("datum init ")


ACCESS_KEYS = (
    "ca_file, token_file, proxy_password_file, cert_file, cert_key_file, key_file, known_hosts_file, token_user, "
    "proxy, proxy_user, jump"
)
SOURCE_KEYS = ", ".join(
    f"source.{key}" for key in ("on_invalid", "timeout", "byte_limit", "account", *ACCESS_KEYS.split(", "), "remotes")
)
HTTPS = "host: web1\nrepo: https://git.example.org/fleet.git\n"
WRONG = {
    "repo": ["", "5", "[a]", "{a: b}", "null", "true"],
    "ref": ["''", "5", "[main]", "{a: b}", "null"],
    "host": ["5", "[a]", "{a: b}", "null"],
    "state_dir": ["5", "''", "null", "[/srv]", "relative/path", "/srv/../etc", '"/srv/\\0"'],
    "reports_dir": ["5", "''", "null", "relative", "/.."],
    "enforcement": ["off", "ENFORCE", "5", "null", "[hold]", "''"],
    "trust.policy": ["head", "all", "first-parent", "5", "null", "[none]", "''"],
    "source.on_invalid": ["repair", "5", "null", "''"],
    "source.timeout": ["0", "-1", "soon", "true", "null", ".inf", ".nan", "1e400", "[1]", "99999999999999999999"],
    "source.byte_limit": ["0", "-1", "1k", "null", ".inf", "{a: 1}", "0x10z"],
    "reports.byte_limit": ["0", "-1", "null", "false", ".inf"],
    "source.remotes": ["5", "null", "/srv/x", "{url: /srv/x}", "[/srv/x]", "[{}]", "[{url: /srv/x}, 5]"],
    "source.account": ["5", "''", "null"],
    "source.ca_file": ["5", "ca.pem", "null", "/srv/../ca", "'/srv/\"x'"],
    "source.token_file": ["5", "token", "''"],
    "source.token_user": ["5", "''", "a b", "'a:b'", "null"],
    "source.proxy": ["5", "proxy:3128", "https://proxy:1", "http://a:b@proxy:1", "''", "null"],
    "source.key_file": ["5", "key", "'/srv/$HOME'", "'/srv/\\x'"],
    "source.known_hosts_file": ["5", "hosts"],
    "source.jump": ["5", "''", "a:b@jump", "-x", "null"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_each_key_wrong_in_each_way(root: Path, key: str, value: str) -> None:
    """One finding at the place of the value, which names the key."""
    section, _, name = key.rpartition(".")
    others = GOOD.replace(f"{key}:", "ref:", 1) if key in {"repo", "host"} else GOOD
    start = f"{section}: {{{name}: " if section else f"{key}: "
    path = write(root, f"# first\n{start}{value}{'}' if section else ''}\n{others}")
    (found,) = findings(root)
    assert found.code == "bad-config"
    assert found.location is not None
    assert (found.location.file, found.location.line) == (str(path), 2)
    assert f"'{key}'" in found.detail


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("hots: web1\n", "'hots' is no key.", "did you mean 'host'?"),
        ("zzzzzz: 1\n", "'zzzzzz' is no key.", ""),
        ("source: {time_out: 1}\n", "'source.time_out' is no key.", "did you mean 'source.timeout'?"),
        ("source: 5\n", f"'source' is a map of keys: {SOURCE_KEYS}.", ""),
        ("source: {remotes: []}\n", f"'source.remotes' is a list of maps, each with the keys url, {ACCESS_KEYS}.", ""),
        ("source: {remotes: [{usr: x}]}\n", "'source.remotes.0.usr' is no key.", "did you mean 'source.remotes.url'?"),
        ("trust:\n", "'trust' is a map of keys: trust.policy, trust.anchor.", ""),
        ("trust: none\n", "'trust' is a map of keys: trust.policy, trust.anchor.", ""),
    ],
)
def test_unknown_keys_are_errors_with_a_suggestion(root: Path, text: str, words: str, hint: str) -> None:
    """No key is silently without effect."""
    write(root, GOOD + text)
    (found,) = findings(root)
    assert (found.detail, found.hint) == (words, hint)
    assert found.location is not None
    assert found.location.line == 3


def test_everything_wrong_is_told_at_once(root: Path) -> None:
    """Sorted by place."""
    write(root, "enforcement: off\nrepo: 5\nfoo: 1\nhost: web1\n")
    found = findings(root)
    assert [item.location.line for item in found if item.location] == [1, 2, 3]


@pytest.mark.parametrize("text", ["- a\n", "just words\n", "5\n"])
def test_a_file_that_is_no_map(root: Path, text: str) -> None:
    """It is said, with the place."""
    write(root, text)
    (found,) = findings(root)
    assert found.detail == "The file is no map of keys."


@pytest.mark.parametrize("data", [b"repo: [\n", b"\xff\xfe\x00", b"repo: a\nrepo: b\n", b"a: &x 1\nb: *y\n"])
def test_a_file_that_is_no_yaml(root: Path, data: bytes) -> None:
    """Syntax, encoding, duplicate keys: each with its place in the file."""
    path = root / "etc/datum/agent.yaml"
    path.write_bytes(data)
    found = findings(root)
    assert {item.location.file for item in found if item.location} == {str(path)}


@pytest.mark.parametrize("policy", ["first-parent", "head", "all"])
def test_a_policy_that_cannot_be_kept_is_refused(root: Path, policy: str) -> None:
    """This version verifies nothing, and does not pretend to."""
    write(root, f"{GOOD}trust: {{policy: {policy}}}\n")
    (found,) = findings(root)
    assert "this version verifies no signatures" in found.detail


def test_a_relative_remote_is_one_of_the_command_line_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There it is seen from the working directory, and `..` from where a link leads; an agent is started anywhere."""
    write(root, "host: web1\nrepo: relative/path\n")
    (found,) = findings(root)
    assert (found.code, found.location is not None) == ("remote-relative", True)
    (root / "link").symlink_to("etc/datum")
    monkeypatch.chdir(root)
    assert read(root, repo="relative/path").repo == f"{root}/relative/path"
    assert read(root, repo="./link").repo == f"{root}/link"
    assert read(root, repo="link/../x").repo == f"{root.resolve()}/etc/x"
    assert read(root, repo="./a:b").repo == f"{root}/a:b"


@pytest.mark.parametrize("repo", ["https://user:word@example.org/x", "git@example.org:x", "file://h/x"])
def test_a_remote_that_cannot_be_used_has_its_place(root: Path, repo: str) -> None:
    """In the file with its place; as an option without one; never with credentials."""
    write(root, f"host: web1\nrepo: {repo}\n")
    (found,) = findings(root)
    assert found.location is not None
    assert (found.location.line, "word" in found.detail) == (2, False)
    (found,) = findings(root, repo=repo)
    assert found.location is None


def test_the_access_of_one_remote_stands_below_source(root: Path) -> None:
    """Its files lie below the root, as all that the configuration names."""
    write(
        root,
        "repo: https://git.example.org/fleet.git\nhost: web1\nsource:\n  ca_file: /etc/datum/ca.pem\n"
        "  token_file: /etc/datum/token\n  token_user: deploy\n  proxy: http://Proxy:3128\n",
    )
    settings = read(root)
    (remote,) = settings.remotes
    assert remote == Remote(
        "https://git.example.org/fleet.git",
        ca_file=f"{root}/etc/datum/ca.pem",
        token_file=f"{root}/etc/datum/token",
        token_user="deploy",
        proxy="http://proxy:3128",
    )
    assert settings.repo == remote.url


MANY = """\
host: web1
source:
  timeout: 5
  remotes:
  - url: ssh://git@git.example.org/fleet.git
    key_file: /etc/datum/key
    known_hosts_file: /etc/datum/known_hosts
    jump: ann@jump:2022
  - url: https://mirror.example.org/fleet.git
    token_file: /etc/datum/token
"""


def test_a_proxy_with_a_password_and_a_certificate(root: Path) -> None:
    """The files lie below the root; what is a secret is known as one."""
    write(
        root,
        HTTPS + "source:\n  proxy: socks5h://Proxy\n  proxy_user: ann\n  proxy_password_file: /etc/datum/password\n"
        "  cert_file: /etc/datum/web1.crt\n  cert_key_file: /etc/datum/web1.key\n",
    )
    (remote,) = read(root).remotes
    assert (remote.proxy, remote.proxy_user) == ("socks5h://proxy:1080", "ann")
    assert set(remote.secrets) == {f"{root}/etc/datum/password", f"{root}/etc/datum/web1.key"}
    assert set(remote.read_by_programs) == {f"{root}/etc/datum/web1.crt", f"{root}/etc/datum/web1.key"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("proxy: 'http://ann:word@p:1'", "Write the password into a file that only root can read"),
        ("proxy: 'socks5://p:1'", "Write http://HOST:PORT or socks5h://HOST:PORT"),
        ("proxy_user: 'a:b'", "a name without blanks and colons is expected"),
        ("proxy_password_file: '/a\"b'", "a path without quotes"),
    ],
)
def test_what_a_proxy_cannot_be_is_told_with_its_cure(root: Path, text: str, words: str) -> None:
    """No message holds a password."""
    write(root, f"{HTTPS}source:\n  {text}\n")
    (found,) = findings(root)
    assert words in found.detail
    assert "word@" not in found.detail
    assert found.location is not None
    assert found.location.line == 4


def test_several_remotes_keep_their_order_and_their_own_access(root: Path) -> None:
    """Nothing of one is sent to another."""
    write(root, MANY)
    first, second = read(root).remotes
    assert (first.url, first.jump, first.token_file) == ("ssh://git@git.example.org/fleet.git", "ann@jump:2022", "")
    assert first.known_hosts_file == f"{root}/etc/datum/known_hosts"
    assert (second.url, second.token_file) == ("https://mirror.example.org/fleet.git", f"{root}/etc/datum/token")
    assert second.key_file == ""


def test_a_remote_of_the_command_line_takes_the_access_of_its_like_only(root: Path) -> None:
    """Credentials go to the remote that they stand with; a file that names no remote has them for this one."""
    write(root, MANY)
    (remote,) = read(root, repo="https://Mirror.example.org/fleet.git/").remotes
    assert remote.token_file == f"{root}/etc/datum/token"
    assert read(root, repo="https://other.example.org/fleet.git").remotes == (
        Remote("https://other.example.org/fleet.git"),
    )
    write(root, "host: web1\nsource: {token_file: /etc/datum/token}\n")
    (remote,) = read(root, repo="https://other.example.org/fleet.git").remotes
    assert remote.token_file == f"{root}/etc/datum/token"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("repo: /srv/x\n" + MANY, 1, "both say"),
        (MANY.replace("timeout: 5", "ca_file: /ca"), 3, "belongs to no remote"),
        (MANY.replace("url: ssh", "url: http"), 5, "nothing protects it"),
        (
            MANY.replace("  - url: https://mirror.example.org/fleet.git\n    t", "  - t"),
            9,
            "'source.remotes.1.url' is not",
        ),
        (MANY.replace("token_file", "key_file"), 10, "is for ssh"),
        (MANY.replace("    key_file: /etc/datum/key\n", ""), 5, "'source.remotes.0.key_file' is not said"),
        ("host: web1\nrepo: ssh://h/x\n", 2, "'source.key_file' is not said"),
        ("host: web1\nrepo: /srv/x\nsource: {jump: a}\n", 3, "is for ssh"),
        (HTTPS + "source: {proxy_user: a}\n", 3, "'source.proxy_password_file' is not"),
        (HTTPS + "source: {proxy_password_file: /a, proxy: 'http://p:1'}\n", 3, "'source.proxy_user' is not"),
        (HTTPS + "source: {proxy_user: a, proxy_password_file: /a}\n", 3, "'source.proxy' is not"),
        (HTTPS + "source: {cert_file: /a}\n", 3, "'source.cert_key_file' is not"),
        (HTTPS + "source: {cert_key_file: /a}\n", 3, "'source.cert_file' is not"),
    ],
)
def test_what_remotes_cannot_be_has_its_place(root: Path, text: str, line: int, words: str) -> None:
    """A key that would be without effect, and one that is missing."""
    write(root, text)
    (found,) = findings(root)
    assert words in found.detail
    assert found.hint
    assert found.location is not None
    assert found.location.line == line


@pytest.mark.parametrize("name", ["Web1", "web_1", "-a", "a..b", "a" * 64, "a b"])
def test_bad_host_names(root: Path, name: str) -> None:
    """78 with its place in the file, 64 as an option."""
    write(root, f"repo: /srv/fleet.git\nhost: {name}\n")
    (found,) = findings(root)
    assert found.code == "bad-host-name"
    assert found.location is not None
    assert found.location.line == 2
    with pytest.raises(UsageError) as caught:
        read(root, host=name)
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.diagnostics[0].location is None


def test_a_named_configuration_must_be_there(root: Path) -> None:
    """The default one need not; one that cannot be read is an error either way."""
    (found,) = findings(root, config="/etc/datum/other.yaml")
    assert found.code == "config-missing"
    (root / "etc/datum/agent.yaml").unlink()
    (root / "etc/datum/agent.yaml").mkdir()
    (found,) = findings(root)
    assert found.code == "config-unreadable"


def test_another_configuration_lies_below_the_root_too(root: Path) -> None:
    """An absolute path is one of the root."""
    (root / "srv").mkdir()
    (root / "srv/other.yaml").write_text("repo: /srv/o.git\nhost: o1\n")
    assert str(read(root, config="/srv/other.yaml").host) == "o1"
    assert config_path(Options(root=str(root))) == root / "etc/datum/agent.yaml"


def test_without_a_root_paths_are_those_of_the_system() -> None:
    """The running system is the root `/`."""
    assert root_of(Options()) == "/"
    assert below("/", "/etc/datum") == Path("/etc/datum")
    assert below("/", "mine.yaml") == Path.cwd() / "mine.yaml"
    assert below("/srv/root", "/etc/datum") == Path("/srv/root/etc/datum")


def test_root_must_be_a_directory(tmp_path: Path) -> None:
    """Datum makes no root."""
    (tmp_path / "file").touch()
    for name in ("missing", "file"):
        with pytest.raises(UsageError) as caught:
            root_of(Options(root=str(tmp_path / name)))
        assert caught.value.diagnostics[0].code == "root-missing"


def test_root_is_resolved(root: Path, tmp_path: Path) -> None:
    """A link to a root is that root."""
    (tmp_path / "link").symlink_to(root)
    assert read(tmp_path / "link").root == str(root)


def test_every_error_is_one_of_datum(root: Path) -> None:
    """Nothing but `DatumError` leaves, whatever stands in the file."""
    for text in ("? a\n", "!!python/object:os.system x\n", "&a [*a]\n", "\t\n", "a: b: c\n", "%\n"):
        write(root, GOOD + text)
        with pytest.raises(DatumError):
            read(root)


@pytest.mark.parametrize("name", ["config", "repo", "ref", "rev", "host", "state_dir", "root"])
def test_an_empty_option_is_refused(tmp_path: Path, name: str) -> None:
    """`--root "$ROOT"` without that variable was a pass over the working directory."""
    with pytest.raises(UsageError) as caught:
        read_settings(evolve(Options(root=str(tmp_path)), **{name: ""}))  # type: ignore[arg-type]  # every name here is a text option
    assert caught.value.diagnostics[0].code == "empty-option"
    assert f"--{name.replace('_', '-')} " in caught.value.diagnostics[0].detail


@pytest.mark.parametrize("place", ["loop", "a" * 5000, "file", "missing"])
def test_a_root_that_is_none_is_refused(tmp_path: Path, place: str) -> None:
    """A loop of links and a name that is too long had errors of their own."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as caught:
        root_of(Options(root=str(tmp_path / place)))
    assert caught.value.diagnostics[0].code == "root-missing"


def test_without_a_working_directory_relative_paths_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be removed under a shell that stands in it; absolute paths go on working."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert root_of(Options(root=str(tmp_path))) == str(tmp_path)
    for refused in (lambda: root_of(Options(root="x")), lambda: below("/", "agent.yaml")):
        with pytest.raises(UsageError) as caught:
            refused()
        assert caught.value.diagnostics[0].code == "no-working-directory"


@pytest.mark.parametrize("folder", ["var/lib/datum", "var/log/datum/reports", "etc/datum"])
def test_a_link_that_leads_out_of_the_root_is_refused(tmp_path: Path, folder: str) -> None:
    """With `--root`, nothing outside of it is touched (design 6), by whatever link an image holds."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (root / "etc/datum").mkdir(parents=True)
    write(root, GOOD)
    place = root / folder
    if place.is_dir():
        (place / "agent.yaml").rename(outside / "agent.yaml")
        place.rmdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)
    with pytest.raises(UsageError) as caught:
        read(root)
    assert caught.value.diagnostics[0].code == "leaves-the-root"


def test_a_configuration_that_is_no_file_is_refused(tmp_path: Path) -> None:
    """`datum apply` hung on a FIFO, and SIGTERM did not end it."""
    (tmp_path / "etc/datum").mkdir(parents=True)
    os.mkfifo(tmp_path / "etc/datum/agent.yaml")
    with pytest.raises(SettingsError) as caught:
        read_settings(Options(root=str(tmp_path)))
    assert caught.value.diagnostics[0].code == "config-unreadable"
