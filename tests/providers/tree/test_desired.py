"""What a declaration of a tree means, and how it is refused."""

from collections.abc import Mapping

import pytest

from datum.model.content import Content, Folder, FolderEntry
from datum.model.manifest import AttributeValue
from datum.model.source import EntryKind
from datum.provider.contract import DesiredError
from datum.provider.host import FileKind
from datum_providers.shared.accounts import Owners
from datum_providers.shared.names import change_name, path_of
from datum_providers.tree.desired import DesiredTree, parse_tree
from tests.providers.tree.cases import folder_of

BLOB = "0" * 40


def folder(*entries: FolderEntry) -> Folder:
    return Folder("1" * 40, "files/app", entries)


def refusal(attributes: Mapping[str, AttributeValue], name: str = "/opt/app") -> DesiredError:
    with pytest.raises(DesiredError) as caught:
        parse_tree(name, attributes)
    assert caught.value.detail.endswith(".")
    return caught.value


def test_nothing_but_the_name_is_a_tree_without_a_folder() -> None:
    assert parse_tree("/opt/app", {}) == DesiredTree("/opt/app")


def test_modes_and_owners_have_one_normal_form() -> None:
    found = parse_tree(
        "/opt/app",
        {
            "source": folder_of({"a": "a"}),
            "mode": "640",
            "executable_mode": "750",
            "directory_mode": "2750",
            "owner": 0,
        },
    )
    assert (found.modes.file, found.modes.executable, found.modes.directory) == ("0640", "0750", "2750")
    assert [entry.line.partition(" ")[2] for entry in found.entries] == ["2750 0 -", "0640 0 -"]


def test_folders_are_what_paths_imply_from_the_top() -> None:
    found = parse_tree("/opt/app", {"source": folder_of({"b/c/d": "d", "a": "a", "b/x": "x"})})
    assert [(entry.path, entry.kind) for entry in found.entries] == [
        ("/opt/app", FileKind.DIRECTORY),
        ("/opt/app/b", FileKind.DIRECTORY),
        ("/opt/app/b/c", FileKind.DIRECTORY),
        ("/opt/app/a", FileKind.REGULAR),
        ("/opt/app/b/c/d", FileKind.REGULAR),
        ("/opt/app/b/x", FileKind.REGULAR),
    ]


def test_contents_are_the_objects_of_the_repository() -> None:
    entry = parse_tree("/opt/app", {"source": folder(FolderEntry("a", EntryKind.FILE, "2" * 64))}).entries[1]
    assert entry.content == Content("2" * 64, source="files/app/a")
    assert entry.content.source == "files/app/a"
    assert entry.content.algorithm == "sha256"


def test_two_trees_of_equal_folders_and_rules_are_equal() -> None:
    source, other = folder_of({"a": "a"}), folder_of({"a": "b"})
    rules = [{"match": "a", "mode": "0600"}]
    assert parse_tree("/x", {"source": source, "rules": rules}) == parse_tree("/x", {"source": source, "rules": rules})
    assert parse_tree("/x", {"source": source}) != parse_tree("/x", {"source": other})
    assert parse_tree("/x", {"source": source}) != parse_tree("/x", {"source": source, "rules": rules})


def test_a_link_that_nobody_spoke_of_is_refused_by_name() -> None:
    error = refusal({"source": folder_of({"a/b": {"link": "../c"}})})
    assert (error.attribute, error.code) == ("source", "link-in-folder")
    assert "files/app/a/b is a link to '../c'" in error.detail
    assert "links: keep" in error.hint


def test_links_that_are_kept_have_no_mode() -> None:
    rules = [{"match": "a", "mode": "0600", "owner": "app"}]
    found = parse_tree("/x", {"source": folder_of({"a": {"link": "../c"}}), "links": "keep", "rules": rules})
    assert found.entries[1].line == "link:../c app -"
    assert found.entries[1].mode == ""


@pytest.mark.parametrize("kind", [EntryKind.GITLINK, EntryKind.FOLDER])
def test_what_is_no_file_in_the_repository_is_refused(kind: EntryKind) -> None:
    assert refusal({"source": folder(FolderEntry("sub", kind, BLOB))}).code == "not-a-file"


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/x", "./x", "a//b", "x" * 256, "/".join(["y" * 200] * 21), ".a.datum~.dpkg-tmp", "a\0b"],
)
def test_paths_that_no_host_can_have_are_refused(path: str) -> None:
    error = refusal({"source": folder(FolderEntry(path, EntryKind.FILE, BLOB))})
    assert (error.attribute, error.code) == ("source", "bad-host-path")


def test_the_first_rule_that_matches_wins_and_fields_it_is_silent_on_are_the_trees() -> None:
    rules: AttributeValue = [
        {"match": "a/*", "mode": "600"},
        {"match": "**", "owner": "app", "group": 7},
        {"match": "**/", "mode": "0711"},
    ]
    source = folder_of({"a/x": "x", "b": {"executable": "b"}})
    found = parse_tree("/t", {"source": source, "owner": "root", "rules": rules})
    assert {entry.path: (entry.mode, entry.owners) for entry in found.entries} == {
        "/t": ("0755", Owners("root", None)),
        "/t/a": ("0711", Owners("root", None)),
        "/t/a/x": ("0600", Owners("root", None)),
        "/t/b": ("0755", Owners("app", "7")),
    }
    assert found.accounts == (Owners("app", "7"), Owners("root", None))


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ("*.key", "* stays within a folder"),
        ("conf", "with a slash at its end it is for a folder"),
        ("conf/app.key/", "without a slash at its end it is for a file or link"),
        ("*/", ""),
    ],
)
def test_a_rule_that_matches_nothing_is_refused(match: str, words: str) -> None:
    """Else the key that it was meant for would silently be for all to read."""
    attributes: dict[str, AttributeValue] = {
        "source": folder_of({"conf/app.key": "x"}),
        "rules": [{"match": "**/*.key", "mode": "0600"}, {"match": match, "mode": "0600"}],
    }
    if not words:
        assert parse_tree("/t", attributes).rules[1].match == match
        return
    error = refusal(attributes)
    assert (error.attribute, error.code) == ("rules", "rule-without-match")
    assert f"'{match}' matches no " in error.detail
    assert words in error.hint


@pytest.mark.parametrize(
    ("attributes", "attribute", "code"),
    [
        ({"mode": "0644"}, "source", "bad-value"),
        ({"source": "files/app"}, "source", "bad-value"),
        ({"mode": "644x"}, "mode", "bad-mode"),
        ({"executable_mode": 755}, "executable_mode", "bad-mode"),
        ({"directory_mode": "9"}, "directory_mode", "bad-mode"),
        ({"owner": "a b"}, "owner", "bad-account"),
        ({"group": -1}, "group", "bad-account"),
        ({"links": "follow"}, "links", "bad-value"),
        ({"links": True}, "links", "bad-value"),
        ({"exclusive": "yes"}, "exclusive", "bad-value"),
        ({"keep": ["a"]}, "keep", "bad-value"),
        ({"keep": "a", "exclusive": True}, "keep", "bad-value"),
        ({"keep": [1], "exclusive": True}, "keep", "bad-value"),
        ({"keep": ["/a"], "exclusive": True}, "keep", "bad-pattern"),
        ({"rules": {}}, "rules", "bad-value"),
        ({"rules": ["a"]}, "rules", "bad-value"),
        ({"rules": [{"mode": "0600"}]}, "rules", "bad-value"),
        ({"rules": [{"match": "a"}]}, "rules", "bad-value"),
        ({"rules": [{"match": "a", "mode": "x"}]}, "rules", "bad-mode"),
        ({"rules": [{"match": "a", "owner": "x y"}]}, "rules", "bad-account"),
        ({"rules": [{"match": "[", "mode": "0600"}]}, "rules", "bad-pattern"),
        ({"rules": [{"match": "/", "mode": "0600"}]}, "rules", "bad-pattern"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_field(
    attributes: dict[str, AttributeValue], attribute: str, code: str
) -> None:
    given = attributes if attribute == "source" else {"source": folder_of({"a": "a"}), **attributes}
    error = refusal(given)
    assert (error.attribute, error.code) == (attribute, code)


@pytest.mark.parametrize("name", ["opt/app", "/", "/opt/../x"])
def test_names_that_are_no_path_are_refused(name: str) -> None:
    assert refusal({}, name).code == "bad-host-path"


@pytest.mark.parametrize("path", ["a", "a b/ä", "a\\xe9", "caf\udce9", "a\\\udce9", "\udcff/\udcfe\\x", "ä/\udce9"])
def test_every_path_has_a_name_that_json_can_carry_and_that_leads_back(path: str) -> None:
    name = change_name(path)
    name.encode()
    assert name.startswith("./")
    assert path_of("/t", name) == f"/t/{path}"


def test_no_two_paths_have_one_name() -> None:
    paths = ["a\udce9", "a\\xe9", "a\\\\xe9", "a\\\udce9"]
    assert len({change_name(path) for path in paths}) == len(paths)
