"""`parts`: pieces of one content."""

import pytest

from datum.fleet import parts
from datum.fleet.late import substitute
from datum.fleet.resolve import resolve_manifest
from datum.model.content import Content
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import Late
from datum.model.observation import Machine
from datum.model.revision import Revision
from datum.testing.trees import MemoryTree, TreeFile
from tests.unit.fleet.support import HEADER, PROVIDERS, diagnostics, errors, layered, memory_tree, only, resolve

_A = ResourceId("thing", "a")
_FILES: dict[str, TreeFile] = {"files/a": "of a file\n", "t": "of {{ host.name }}{{ each.value }}\n"}


def _host(*pieces: str, more: str = "") -> dict[str, TreeFile]:
    lines = "".join(f"      - {piece}\n" for piece in pieces)
    return {
        "hosts/web1.yaml": f"variables: {{a: x, p: [{{content: pp}}], m: {{content: z}}}}\n"
        f"resources:\n  thing:a:\n    parts:\n{lines}{more}",
        **_FILES,
    }


def _parts(*pieces: str) -> object:
    return only(resolve(_host(*pieces))).attributes["parts"]


def test_pieces_become_contents_with_their_bytes_in_the_order_of_the_list() -> None:
    found = _parts("content: |\n          first ${var.a}", "source: files/a", "{content: '', source: null}")
    assert found == (
        Content.from_bytes(b"first x\n"),
        Content.from_bytes(b"of a file\n", source="files/a"),
        Content.from_bytes(b""),
    )
    assert isinstance(found, tuple)
    assert [one.inline for one in found] == [b"first x\n", b"of a file\n", b""]


def test_template_among_the_pieces_sees_the_scope_of_the_declaration_that_won() -> None:
    host = "resources:\n  'thing:${each.key}': {for_each: {a: 5}, parts: [{template: t}]}\n"
    files = {**layered("resources: {thing:a: {parts: [{content: x}]}}", "", host), **_FILES}
    assert only(resolve(files)).attributes["parts"] == (Content.from_bytes(b"of web15\n", source="t"),)


def test_pieces_have_the_algorithm_of_the_revision() -> None:
    tree = MemoryTree({"fleet.yaml": HEADER, **_host("content: x")}, Revision("0" * 64, algorithm="sha256"))
    found = only(resolve_manifest(tree, HostName("web1"), PROVIDERS, agent_version="1")).attributes["parts"]
    assert found == (Content.from_bytes(b"x", algorithm="sha256"),)


def test_expressions_may_give_the_list_or_a_piece() -> None:
    files = _host("content: x")
    whole = {**files, "hosts/web1.yaml": "variables: {p: [{content: pp}]}\nresources: {thing:a: {parts: '${var.p}'}}"}
    assert only(resolve(whole)).attributes["parts"] == (Content.from_bytes(b"pp"),)
    assert _parts("${var.m}") == (Content.from_bytes(b"z"),)


def test_strongest_list_wins_and_equal_lists_of_one_rank_agree() -> None:
    one, two = "resources: {thing:a: {parts: [{content: x}]}}", "resources: {thing:a: {parts: [{content: z}]}}"
    assert only(resolve(layered(one, "", two))).attributes["parts"] == (Content.from_bytes(b"z"),)
    assert only(resolve(layered("", x=one, y=one))).attributes["parts"] == (Content.from_bytes(b"x"),)
    assert errors(layered("", x=one, y=two)) == [("conflict", "layers/role/x.yaml:1:30")]


def test_late_pieces_of_one_rank_agree_only_with_the_same_values() -> None:
    def text(value: str) -> str:
        return (
            f"resources: {{'thing:${{each.key}}': {{for_each: {{a: {value}}},"
            " parts: [{content: '${each.value}${machine.arch}'}, {content: b}]}}"
        )

    assert len(resolve(layered("", x=text("p"), y=text("p"))).resources) == 1
    assert [code for code, _ in errors(layered("", x=text("p"), y=text("q")))] == ["conflict"]
    wrong = "resources: {thing:a: {parts: [x, {content: '${machine.arch}'}]}}"
    assert [code for code, _ in errors(layered("", x=wrong, y=wrong))] == ["wrong-type"]


@pytest.mark.parametrize(
    ("piece", "code", "place", "words"),
    [
        ("x", "wrong-type", "6:9", "not a string"),
        ("[x]", "wrong-type", "6:9", "not a list"),
        ("${var.a}", "wrong-type", "6:9", "not a string"),
        ("{}", "bad-value", "6:9", "this one has none"),
        ("{content: null}", "bad-value", "6:9", "this one has none"),
        ("{content: x, source: files/a}", "bad-value", "6:9", "content and source"),
        ("{contnt: x}", "unknown-key", "6:18", "'contnt'"),
        ("{content: [x]}", "wrong-type", "6:19", "'content' of a part is a list, and a string is wanted."),
        ("{content: '${var.p}'}", "wrong-type", "6:19", "a list"),
        ("{content: '${machine.cpus}'}", "wrong-type", "6:19", "is an integer on any machine, and a string is wanted."),
        ("{content: 3}", "unquoted-scalar", "6:19", "string"),
        ("{content: '${machine.cpus + machine.arch}'}", "expression-value", "6:19", "machine"),
        ("{source: '${machine.arch}'}", "late-not-here", "6:18", "machine"),
        ("${machine.arch}", "late-not-here", "6:9", "machine"),
        ("{source: files/b}", "source-missing", "6:18", "files/b"),
        ("{source: files}", "not-a-file", "6:18", "a folder"),
        ("{template: nothing}", "source-missing", "6:20", "nothing"),
        ("{content: never}", "bad-value", "6:19", "'parts.1.content'"),
    ],
)
def test_wrong_piece_is_said_once_at_its_line(piece: str, code: str, place: str, words: str) -> None:
    (found,) = diagnostics(_host("content: fine", piece))
    assert (found.code, str(found.location), found.resource) == (code, f"hosts/web1.yaml:{place}", "thing:a")
    assert words in found.detail


def test_hint_tells_how_a_piece_is_written() -> None:
    assert diagnostics(_host("{contnt: x}"))[0].hint == "Did you mean 'content'?"
    assert diagnostics(_host("{content: x, source: files/a}"))[0].hint == "Write a part for each."
    assert diagnostics(_host("x"))[0].hint == "Write - content: …"


@pytest.mark.parametrize(
    ("text", "code"), [("x", "wrong-type"), ("[]", "bad-value"), ("'${machine.arch}'", "late-not-here")]
)
def test_what_is_no_list_of_pieces_is_said_once(text: str, code: str) -> None:
    assert [found for found, _ in errors({"hosts/web1.yaml": f"resources: {{thing:a: {{parts: {text}}}}}"})] == [code]


def test_wrong_field_beside_pieces_is_said_too() -> None:
    found = errors(_host("x", more="    level: middle\n"))
    assert [code for code, _ in found] == ["wrong-type", "bad-value"]


def test_files_among_the_pieces_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SOURCES_LIMIT", 20)
    assert _parts("source: files/a", "source: files/a", "content: 'more than twenty bytes of text'")
    monkeypatch.setattr(parts, "SOURCES_LIMIT", 19)
    (found,) = diagnostics(_host("source: files/a", "source: files/a"))
    assert (found.code, str(found.location)) == ("parts-too-large", "hosts/web1.yaml:6:17")


def test_stand_in_of_git_lfs_among_the_pieces_is_said() -> None:
    pointer = {"files/a": "version https://git-lfs.github.com/spec/v1\n"}
    assert [one.resource for one in diagnostics({**_host("source: files/a"), **pointer})] == ["thing:a"]


def test_late_pieces_wait_for_the_machine() -> None:
    files = {**_host("content: 'on ${machine.arch}, ${var.a}'", "template: t", "content: z"), "t": "{{ machine.cpus }}"}
    manifest = resolve(files)
    pieces = only(manifest).attributes["parts"]
    assert isinstance(pieces, tuple)
    assert [type(piece) for piece in pieces] == [Late, Late, Content]
    found, failed = substitute(manifest, memory_tree(files), Machine({"arch": "arm64", "cpus": 3}))
    assert not failed
    assert only(found).attributes["parts"] == (
        Content.from_bytes(b"on arm64, x"),
        Content.from_bytes(b"3", source="t"),
        Content.from_bytes(b"z"),
    )


def test_piece_that_this_machine_does_not_give_makes_the_resource_wait() -> None:
    files = _host("content: 'a ${machine.addresses.eth7}'", "content: '${machine.arch}'")
    manifest = resolve(files)
    found, failed = substitute(manifest, memory_tree(files), Machine({"arch": 3, "addresses": {}}))
    assert only(found).attributes["parts"] == (Content.from_bytes(b"a 192.0.2.1"), Content.from_bytes(b"amd64"))
    assert set(failed) == {_A}
    assert str(failed[_A].location) == "hosts/web1.yaml:5:7"
