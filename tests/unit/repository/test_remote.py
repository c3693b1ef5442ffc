"""What may stand as remote and ref, and what is shown of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.errors import SettingsError
from datum.repository.remote import full_names, normal_remote, shown_remote


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
        ("https://git.example.org/fleet.git", "not-in-this-version", "needs https"),
        ("ssh://git@git.example.org/fleet.git", "not-in-this-version", "needs ssh"),
        ("git@git.example.org:fleet.git", "not-in-this-version", "needs ssh"),
        ("ext::sh -c whoami", "not-in-this-version", "ext::sh"),
        ("fleet.git", "remote-relative", "fleet.git"),
        ("", "remote-relative", "depends"),
        ("file://other/srv/fleet.git", "remote-malformed", "names a host"),
        ("/srv/a\nb", "remote-malformed", "control character"),
        ("file:///srv/a%00b", "remote-malformed", "control character"),
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
    ],
)
def test_no_message_shows_credentials(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normal_remote(text)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value.diagnostics)


def test_a_path_and_a_user_are_shown() -> None:
    assert shown_remote("/srv/a@b") == "/srv/a@b"
    assert shown_remote("git@host:fleet.git") == "git@host:fleet.git"


@given(st.text())
def test_any_text_is_a_path_or_a_settings_error(text: str) -> None:
    try:
        path = normal_remote(text)
    except SettingsError:
        return
    assert path.startswith("/")
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
