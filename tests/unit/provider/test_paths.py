"""Paths of the host in normal form."""

import pytest

from datum.provider.paths import is_below, normal_path, parents, paths_below


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/etc/motd", "/etc/motd"),
        ("/etc/motd/", "/etc/motd"),
        ("//etc///motd", "/etc/motd"),
        ("/etc/./motd/.", "/etc/motd"),
        ("/a b/ü/..c/...", "/a b/ü/..c/..."),
        ("/\udcff", "/\udcff"),
        ("/" + "a" * 255, "/" + "a" * 255),
        ("/" + "/".join(["a" * 254] * 16) + "/" + "a" * 14, "/" + "/".join(["a" * 254] * 16) + "/" + "a" * 14),
    ],
)
def test_the_normal_form(text: str, normal: str) -> None:
    assert normal_path(text) == normal
    assert normal_path(normal) == normal


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "relative"),
        ("etc/motd", "relative"),
        ("./etc", "relative"),
        ("/etc/../motd", "'..'"),
        ("/..", "'..'"),
        ("/a\0b", "NUL"),
        ("/" + "a" * 256, "255 bytes"),
        ("/" + "ü" * 128, "255 bytes"),
        ("/" + "/".join(["a" * 254] * 17), "4095 bytes"),
        ("/\ud800", "cannot be written"),
    ],
)
def test_what_is_no_path_says_why(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        normal_path(text)


@pytest.mark.parametrize(("path", "above"), [("/", ()), ("/etc", ("/",)), ("/etc/a/b", ("/etc/a", "/etc", "/"))])
def test_parents_are_nearest_first(path: str, above: tuple[str, ...]) -> None:
    assert parents(path) == above


@pytest.mark.parametrize(
    ("path", "folder", "below"),
    [
        ("/etc/motd", "/etc", True),
        ("/etc", "/etc", True),
        ("/etc", "/", True),
        ("/", "/", True),
        ("/etcetera", "/etc", False),
        ("/etc", "/etc/motd", False),
        ("/", "/etc", False),
    ],
)
def test_below_is_the_folder_itself_or_what_lies_in_it(path: str, folder: str, below: bool) -> None:
    assert is_below(path, folder) is below


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/", ["/a", "/a-b", "/a-b/c", "/a/b", "/a/b/c", "/a0"]),
        ("/a", ["/a/b", "/a/b/c"]),
        ("/a/b", ["/a/b/c"]),
        ("/a-b", ["/a-b/c"]),
        ("/a/b/c", []),
        ("/none", []),
    ],
)
def test_of_sorted_paths_those_below_one_are_found(path: str, below: list[str]) -> None:
    ordered = sorted(["/", "/a", "/a/b", "/a/b/c", "/a-b", "/a-b/c", "/a0"])
    assert list(paths_below(ordered, path)) == below
