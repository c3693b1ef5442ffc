"""What may stand as remote and ref, and what is shown of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.errors import SettingsError
from datum.repository.remote import (
    Address,
    Remote,
    Transport,
    address,
    full_names,
    is_full_name,
    normal_jump,
    normal_proxy,
    normal_remote,
    shown_remote,
    ssh_path,
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/srv/fleet.git", "/srv/fleet.git"),
        ("//srv/./fleet.git/", "/srv/fleet.git"),
        ("/srv/a:b", "/srv/a:b"),
        ("/srv/../x", "/srv/../x"),
        ("file:///srv/fleet.git", "/srv/fleet.git"),
        ("FILE://localhost/srv/my%20fleet", "/srv/my fleet"),
        ("file:///srv/a#b?c", "/srv/a#b?c"),
    ],
)
def test_paths_and_file_urls_become_absolute_paths(text: str, path: str) -> None:
    assert normal_remote(text) == path


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("git://git.example.org/fleet.git", "transport-refused", "nothing protects it"),
        ("http://git.example.org/fleet.git", "transport-refused", "needs http, and nothing protects it"),
        ("rsync://git.example.org/fleet.git", "transport-refused", "no transport of datum"),
        ("git@git.example.org:fleet.git", "remote-malformed", "short form of ssh"),
        ("ext::sh -c whoami", "remote-malformed", "ext::sh"),
        ("https://git.example.org", "remote-malformed", "names no repository"),
        ("https://git.example.org/", "remote-malformed", "names no repository"),
        ("https:///fleet.git", "remote-malformed", "no URL that can be used"),
        ("https://-x/fleet.git", "remote-malformed", "no URL that can be used"),
        ("https://git.example.org:0/fleet.git", "remote-malformed", "no URL that can be used"),
        ("https://git.example.org:99999/fleet.git", "remote-malformed", "no URL that can be used"),
        ("https://[::1/fleet.git", "remote-malformed", "no URL that can be used"),
        ("https://git.example.org/my fleet", "remote-malformed", "a character"),
        ("https://git.example.org/fleet?x=1", "remote-malformed", "a character"),
        ("https://git.example.org/fl\u00f6\u00f6t", "remote-malformed", "write with %"),
        ("https://git.example.org/a%0ab", "remote-malformed", "write with %"),
        ("ssh://-oProxyCommand=x/fleet.git", "remote-malformed", "no URL that can be used"),
        ("ssh://-x@git.example.org/fleet.git", "remote-malformed", "no URL that can be used"),
        ("https://ann@git.example.org/fleet.git", "remote-has-credentials", "holds credentials"),
        ("ssh://ann:word@git.example.org/fleet.git", "remote-has-credentials", "holds credentials"),
        ("fleet.git", "remote-relative", "fleet.git"),
        ("", "remote-relative", "depends"),
        ("file://other/srv/fleet.git", "remote-malformed", "names a host"),
        ("/srv/a\nb", "remote-malformed", "control character"),
        ("file:///srv/a%00b", "remote-malformed", "control character"),
        ("//ann:word@git.example.org/fleet.git", "remote-malformed", "looks like a password"),
        ("file:///ann:word@git.example.org/fleet.git", "remote-malformed", "looks like a password"),
    ],
)
def test_everything_else_is_an_error_that_says_what_to_write(text: str, code: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normal_remote(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert words in diagnostic.detail
    assert diagnostic.hint


@pytest.mark.parametrize(
    "text",
    [
        "https://ann:s3cret@git.example.org/fleet.git",
        "https://s3cret@git.example.org/fleet.git?x=1",
        "https://git.example.org/fleet.git?token=s3cret",
        "https://git.example.org/fleet.git#s3cret",
        "https://ann:s3cret/@git.example.org",
        "https://ann:s3cret#@git.example.org",
        "https://git.example.org?token=a@s3cret",
        "ann:s3cret@git.example.org:fleet.git",
        "file://ann:s3cret@other/fleet.git",
        "https:/oauth2:s3cret@git.example.org/x",
        "https:/oauth2:s3/c#ret@git.example.org/x",
        " https://oauth2:s3cret@git.example.org/x",
        "https//oauth2:s3cret@git.example.org/x",
        "oauth2/s3cret@git.example.org",
        "git clone https://oauth2:s3cret@git.example.org/x",
        "https:/git.example.org/x?token=s3cret",
        "//oauth2:s3cret@git.example.org/x",
        "//oauth2:s3cret/@git.example.org/x",
        "file:///oauth2%3As3cret%40git.example.org/x",
    ],
)
def test_no_message_shows_credentials(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normal_remote(text)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value.diagnostics)


def test_what_is_shown_of_a_remote() -> None:
    """Nothing before the last `@`: what people paste need not have the form of a URL."""
    assert shown_remote("/srv/a") == "/srv/a"
    assert shown_remote("git@host:fleet.git") == "host:fleet.git"
    assert shown_remote("ssh://git@host/fleet.git") == "ssh://host/fleet.git"
    assert normal_remote("/srv/a@b") == "/srv/a@b"


@pytest.mark.parametrize("name", ["refs/heads/main", "refs/heads/f\u00f6"])
def test_full_names_of_refs(name: str) -> None:
    assert is_full_name(name)


@pytest.mark.parametrize(
    "name", ["", "main", "refs/heads/a\tb", "refs/heads/a\x1b[1m", "refs/heads/\udcff", f"refs/heads/{'a' * 1024}"]
)
def test_what_is_no_full_name_of_a_ref(name: str) -> None:
    assert not is_full_name(name)


@pytest.mark.parametrize(
    ("text", "url", "transport"),
    [
        ("https://git.example.org/fleet.git", "https://git.example.org/fleet.git", Transport.HTTPS),
        ("HTTPS://Git.Example.org:443/a/fleet.git/", "https://git.example.org/a/fleet.git", Transport.HTTPS),
        ("https://[::1]:8443/fleet", "https://[::1]:8443/fleet", Transport.HTTPS),
        ("ssh://git@git.example.org:22/fleet.git", "ssh://git@git.example.org/fleet.git", Transport.SSH),
        ("ssh://git.example.org:2222/~ann/fleet", "ssh://git.example.org:2222/~ann/fleet", Transport.SSH),
        ("/srv/fleet", "/srv/fleet", Transport.FILE),
    ],
)
def test_urls_have_one_form_and_a_transport(text: str, url: str, transport: Transport) -> None:
    assert normal_remote(text) == normal_remote(url) == url
    assert Remote(url).transport is transport


@pytest.mark.parametrize(
    ("url", "end", "path"),
    [
        ("ssh://git@git.example.org/my%20fleet", Address("git.example.org", 22, "git"), "/my fleet"),
        ("ssh://[::1]:2222/~ann/x", Address("::1", 2222), "~ann/x"),
    ],
)
def test_where_an_ssh_url_leads_to(url: str, end: Address, path: str) -> None:
    """As git itself it undoes the escapes of a URL, and takes a path that begins with `~` for one of a home."""
    assert (address(url), ssh_path(url)) == (end, path)


def test_proxies_and_jump_hosts_have_one_form() -> None:
    assert normal_proxy("HTTP://Proxy.example.org:3128/") == "http://proxy.example.org:3128"
    assert address(normal_proxy("http://proxy")) == Address("proxy", 80)
    assert normal_jump("ann@Jump.example.org:22") == "ann@jump.example.org"
    assert address(normal_jump("jump:2022")) == Address("jump", 2022)


@pytest.mark.parametrize(
    "text", ["proxy:3128", "https://proxy:1", "http://ann:s3cret@proxy:1", "http://proxy/x", "http://proxy:x", ""]
)
def test_other_proxies_are_refused_without_their_password(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normal_proxy(text)
    assert caught.value.diagnostics[0].code == "remote-malformed"
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "ann:word@jump", "jump/x", "-x", "-x@jump", "a b", "jump:port", "jump?x"])
def test_other_jump_hosts_are_refused(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normal_jump(text)
    assert caught.value.diagnostics[0].code == "remote-malformed"


@given(st.text() | st.from_regex(r"(https|ssh|file)://[a-z0-9@:%.\[\]-]{0,12}(/.{0,8})?", fullmatch=True))
def test_any_text_is_a_remote_or_a_settings_error(text: str) -> None:
    try:
        path = normal_remote(text)
    except SettingsError:
        return
    assert path.startswith(("/", "https://", "ssh://"))
    assert normal_remote(path) == path


@pytest.mark.parametrize(
    ("ref", "names"),
    [
        ("main", ("refs/heads/main", "refs/tags/main", "refs/main")),
        ("tags/v1", ("refs/heads/tags/v1", "refs/tags/tags/v1", "refs/tags/v1")),
        ("refs/heads/main", ("refs/heads/main",)),
        ("HEAD", ("HEAD",)),
        ("a@b", ("refs/heads/a@b", "refs/tags/a@b", "refs/a@b")),
    ],
)
def test_short_names_mean_branch_then_tag_then_full_ref(ref: str, names: tuple[str, ...]) -> None:
    assert full_names(ref) == names


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "a b",
        "a..b",
        "-x",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
        "@",
        "a@{1}",
        "a~1",
        "a*",
        "a\n",
    ],
)
def test_what_git_refuses_as_a_ref_is_refused(ref: str) -> None:
    with pytest.raises(SettingsError) as caught:
        full_names(ref)
    assert caught.value.diagnostics[0].code == "ref-malformed"


def test_a_commit_id_is_no_ref() -> None:
    with pytest.raises(SettingsError, match="id of a commit"):
        full_names("a" * 40)


def test_ref_fits_into_a_line_of_the_protocol() -> None:
    """A longer one broke out of its line: git said that the repository is damaged."""
    assert full_names("a" * 1024)
    with pytest.raises(SettingsError) as caught:
        full_names("é" * 513)
    assert caught.value.diagnostics[0].code == "ref-malformed"
