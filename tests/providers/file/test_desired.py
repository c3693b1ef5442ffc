"""What a declaration means, and how it is refused."""

import itertools
from collections.abc import Mapping

import pytest

from datum.model.content import Content, blob_id
from datum.model.manifest import AttributeValue, Late
from datum.provider.contract import DesiredError
from datum_providers.file.desired import CONTENT_FIELDS, DesiredFile, normal_name, parse_file


def refusal(attributes: Mapping[str, AttributeValue], name: str = "/etc/motd") -> DesiredError:
    with pytest.raises(DesiredError) as caught:
        parse_file(name, attributes)
    assert caught.value.detail.endswith(".")
    return caught.value


@pytest.mark.parametrize(
    ("spelling", "normal"), [("/etc//motd", "/etc/motd"), ("/etc/./motd/", "/etc/motd"), ("/etc/motd", "/etc/motd")]
)
def test_names_have_one_normal_form(spelling: str, normal: str) -> None:
    assert normal_name(spelling) == normal


@pytest.mark.parametrize(
    "name",
    ["etc/motd", "/etc/../motd", "/", "///", "/etc/a\0b", "/" + "x" * 256, "/etc/\ud800", "/etc/.motd.datum~.dpkg-tmp"],
)
def test_names_that_are_no_path_of_a_file_are_refused(name: str) -> None:
    with pytest.raises(DesiredError) as caught:
        normal_name(name)
    assert (caught.value.attribute, caught.value.code) == ("", "bad-host-path")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("etc/motd", "Write file:/etc/motd"),
        ("./etc//motd", "Write file:/etc/motd"),
        ("/etc/../motd", "Write file:/motd"),
        ("//etc/../motd", "Write file:/motd"),
        ("../..", ""),
        ("", ""),
        ("~/motd", ""),
        ("etc/a\0b", ""),
        ("etc/\ud800", ""),
    ],
)
def test_a_path_that_is_none_comes_with_the_one_it_means(name: str, hint: str) -> None:
    with pytest.raises(DesiredError) as caught:
        normal_name(name)
    assert caught.value.hint == hint


def test_everything_is_read() -> None:
    attributes: dict[str, AttributeValue] = {
        "content": "a\n",
        "mode": "640",
        "owner": "root",
        "group": 7,
        "validate": ["check", "-f", "{path}"],
    }
    assert parse_file("/etc/motd", attributes) == DesiredFile(
        "/etc/motd", Content.from_bytes(b"a\n"), "0640", "root", "7", ("check", "-f", "{path}")
    )


def test_null_is_as_if_never_said() -> None:
    attributes = dict.fromkeys([*CONTENT_FIELDS, "seed", "mode", "owner", "group", "validate"])
    found = parse_file("/etc/motd", attributes)
    assert found == DesiredFile("/etc/motd")
    assert found.is_bare


@pytest.mark.parametrize("field", ["content", "source", "template", "assemble"])
def test_each_field_of_content_may_be_one(field: str) -> None:
    content = Content.from_bytes(b"x", source="files/x")
    assert parse_file("/etc/motd", {field: content}).content == content


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(CONTENT_FIELDS, 2)))
def test_two_contents_are_refused_with_the_way_out(first: str, second: str) -> None:
    content = Content.from_bytes(b"x")
    error = refusal({second: content, first: "text" if first == "content" else content})
    assert (error.attribute, error.code) == (second, "two-contents")
    assert f"`{first}: null`" in error.hint


@pytest.mark.parametrize(
    "attributes",
    [
        {"content": 1},
        {"content": Late("${machine.cpus}")},
        {"source": "files/x"},
        {"assemble": "slot"},
        {"base64": 1},
        {"parts": ()},
        {"parts": "a"},
        {"parts": ({"content": "a"},)},
        {"parts": (Late("${machine.cpus}"),)},
        {"parts": (Content.from_bytes(b"a"), Content(blob_id(b"b"), source="files/b"))},
    ],
    ids=repr,
)
def test_what_is_no_content_is_refused(attributes: dict[str, AttributeValue]) -> None:
    assert refusal(attributes).attribute in attributes


def test_text_that_has_no_bytes_is_refused() -> None:
    assert refusal({"content": "\ud800"}).attribute == "content"


@pytest.mark.parametrize(("mode", "normal"), [("644", "0644"), ("0644", "0644"), ("4755", "4755"), ("000", "0000")])
def test_modes_have_four_digits(mode: str, normal: str) -> None:
    assert parse_file("/etc/motd", {"mode": mode}).mode == normal


@pytest.mark.parametrize("mode", [420, "64", "00644", "0888", "u+x", "0644\n", "٦٤٤", True])
def test_what_is_no_mode_is_refused(mode: AttributeValue) -> None:
    error = refusal({"mode": mode})
    assert (error.attribute, error.code, error.hint) == ("mode", "bad-mode", 'mode: "0644"')


@pytest.mark.parametrize(
    ("account", "normal"),
    [
        ("root", "root"),
        ("DOM\\user", "DOM\\user"),
        ("a@b", "a@b"),
        ("007", "7"),
        (0, "0"),
        (4294967294, "4294967294"),
        ("000000000000", "0"),
        ("1a", "1a"),
        ("٣", "٣"),
    ],
)
@pytest.mark.parametrize("field", ["owner", "group"])
def test_accounts_are_names_or_digits(field: str, account: AttributeValue, normal: str) -> None:
    found = parse_file("/etc/motd", {field: account})
    assert getattr(found, field) == normal


@pytest.mark.parametrize(
    "account",
    ["", " ", "a b", "a:b", "-x", "a/b", "a\nb", "a\0b", -1, True, 1.5, 4294967295, "04294967295", "9" * 9999],
    ids=repr,
)
@pytest.mark.parametrize("field", ["owner", "group"])
def test_what_is_no_account_is_refused(field: str, account: AttributeValue) -> None:
    error = refusal({field: account})
    assert (error.attribute, error.code) == (field, "bad-account")


@pytest.mark.parametrize(
    "validate",
    [[], "check {path}", ["", "{path}"], [1, 2], ["check"], ["{path}"], ["check", "path"], ["check", "{path}\0"]],
)
def test_a_check_is_a_program_with_a_place_for_the_path(validate: AttributeValue) -> None:
    assert refusal({"content": "x", "validate": validate}).attribute == "validate"


def test_a_check_without_content_is_refused() -> None:
    assert "nothing to check" in refusal({"validate": ["check", "{path}"]}).detail


def test_the_hint_of_a_check_can_be_copied() -> None:
    assert refusal({"content": "x", "validate": ["nginx", "-t"]}).hint == 'validate: [nginx, "{path}"]'


@pytest.mark.parametrize(
    ("text", "data"), [("", b""), ("AP8=", b"\x00\xff"), (" AP\n8=\n", b"\x00\xff"), ("YQ==", b"a"), ("Pz8/", b"???")]
)
def test_base64_is_read_with_white_space(text: str, data: bytes) -> None:
    assert parse_file("/etc/motd", {"base64": text}).content == Content.from_bytes(data)


@pytest.mark.parametrize("text", ["A", "AP8", "AP8=x", "Pz8_", "Welcome\n!", "é", "YQ=="[:-1]])
def test_what_is_no_base64_is_refused(text: str) -> None:
    error = refusal({"base64": text})
    assert error.attribute == "base64"
    assert "no base64" in error.detail


def test_parts_are_joined_byte_for_byte() -> None:
    pieces = (b"a", b"\xef\xbb\xbf\r\n", b"", b"\0b")
    found = parse_file("/etc/motd", {"parts": tuple(Content.from_bytes(piece) for piece in pieces)}).content
    assert found is not None
    assert (found, found.inline) == (Content.from_bytes(b"".join(pieces)), b"".join(pieces))


def test_parts_have_the_object_id_of_their_repository() -> None:
    parts = (Content.from_bytes(b"a", algorithm="sha256"), Content.from_bytes(b"b"))
    found = parse_file("/etc/motd", {"parts": parts}).content
    assert found == Content.from_bytes(b"ab", algorithm="sha256")


def test_a_seed_is_content_that_is_not_enforced() -> None:
    found = parse_file("/etc/motd", {"content": "x", "seed": True})
    assert (found.content, found.enforced_content, found.is_bare) == (Content.from_bytes(b"x"), None, False)
    assert parse_file("/etc/motd", {"content": "x", "seed": False}) == parse_file("/etc/motd", {"content": "x"})
    assert found != parse_file("/etc/motd", {"content": "x"})


@pytest.mark.parametrize("attributes", [{"seed": True}, {"seed": True, "mode": "0644"}, {"content": "x", "seed": 1}])
def test_a_seed_of_nothing_is_refused(attributes: dict[str, AttributeValue]) -> None:
    assert refusal(attributes).attribute == "seed"
