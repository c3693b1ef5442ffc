"""Names of resources and hosts."""

import pytest

from datum.model.identity import HostName, ResourceId


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("file:/etc/motd", "file", "/etc/motd"),
        ("unit:nginx.service", "unit", "nginx.service"),
        ("package:libc6:i386", "package", "libc6:i386"),
        ("a_1: leading blank", "a_1", " leading blank"),
        ("file:/ü", "file", "/ü"),
    ],
)
def test_an_id_is_split_at_its_first_colon(text: str, kind: str, name: str) -> None:
    found = ResourceId.parse(text)
    assert (found.type, found.name) == (kind, name)
    assert str(found) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no type"),
        ("/etc/motd", "has no type"),
        (":name", "no resource type"),
        ("File:/a", "no resource type"),
        ("1file:/a", "no resource type"),
        ("my-file:/a", "no resource type"),
        (" file:/a", "no resource type"),
        ("file:", "no name"),
        ("file:/a\n", "control character"),
        ("file:/a\0b", "control character"),
        ("file:\x7f", "control character"),
    ],
)
def test_what_is_no_id_says_why(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ResourceId.parse(text)


def test_ids_are_ordered_by_type_then_name() -> None:
    texts = ["user:a", "file:/b", "file:/a", "file_x:/a"]
    assert [str(one) for one in sorted(map(ResourceId.parse, texts))] == ["file:/a", "file:/b", "file_x:/a", "user:a"]


@pytest.mark.parametrize("text", ["web1", "a", "0", "web-1.example.org", "a" * 63, ".".join(["a" * 62] * 4)])
def test_a_host_name_is_lower_case_labels(text: str) -> None:
    assert str(HostName(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Web1",
        "web_1",
        "-web",
        "web-",
        "web..org",
        ".web",
        "web.",
        "a" * 64,
        ".".join(["a" * 63] * 4),
        "web1\n",
        "ü",
        "a b",
    ],
)
def test_what_is_no_host_name_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="no host name"):
        HostName(text)
