"""Templates render to the same bytes every time, reach nothing but values, and say where they are wrong."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import pytest

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import FleetError
from datum.fleet.expressions import ExpressionError, Scope
from datum.fleet.expressions.budget import SIZE_LIMIT
from datum.fleet.templates import INCLUDE_LIMIT, render_late, render_template
from datum.model.json import JsonValue, freeze
from datum.model.manifest import Late
from datum.model.observation import Machine
from datum.model.revision import Revision
from datum.model.source import EntryKind, SourceTree, TreeEntry

HERE: Final = SourceLocation("hosts/web1.yaml", 3, 15)
MAIN: Final = "templates/main"
SCOPE: Final = cast(
    "Scope",
    freeze(
        {
            "var": {
                "m": {"b": 5, "a": [1, 2], "items": "x"},
                "s": "x y",
                "f": 1.5,
                "l": ["b", "a"],
                "n": None,
                "t": True,
            },
            "host": {"name": "web1"},
        }
    ),
)


class Tree:
    """A tree of the files it is given; `None` is a folder, an error is what reading raises."""

    revision = Revision("0" * 40)

    def __init__(self, files: Mapping[str, str | bytes | FleetError | None]) -> None:
        self.files = files

    def entry(self, path: str) -> TreeEntry | None:
        if path not in self.files:
            return None
        return TreeEntry(EntryKind.FOLDER if self.files[path] is None else EntryKind.FILE, "0" * 40)

    def entries(self, folder: str) -> Mapping[str, TreeEntry]:
        raise NotImplementedError

    def open_blob(self, blob: str) -> Any:
        raise NotImplementedError

    def read(self, path: str) -> bytes:
        content = self.files[path]
        if isinstance(content, FleetError):
            raise content
        assert content is not None
        return content.encode() if isinstance(content, str) else content


def tree_of(main: str | bytes | FleetError | None, included: Mapping[str, str]) -> SourceTree:
    return Tree({MAIN: main, **{f"templates/{name}": text for name, text in included.items()}})


def of(main: str | bytes, scope: Scope = SCOPE, **included: str) -> str:
    rendered = [render_template(tree_of(main, included), MAIN, scope, HERE) for _ in range(2)]
    assert rendered[0] == rendered[1]
    assert isinstance(rendered[0], bytes)
    return rendered[0].decode()


def refused(main: str | bytes | None, scope: Scope = SCOPE, **included: str) -> Diagnostic:
    with pytest.raises(ExpressionError) as caught:
        render_template(tree_of(main, included), MAIN, scope, HERE)
    return caught.value.diagnostic


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("a {{ var.s }}\n\n", "a x y\n\n"),
        ("a\r\n{{ var.s }}\r\n", "a\r\nx y\r\n"),
        ("\r\n", "\r\n"),
        ("{{ var.t }} {{ false }} {{ 1 }} {{ 'x' }}", "true false 1 x"),
        ("{{ var.m.items }}", "x"),
        ("{{ var['m'].a[1] }}{{ var.l[0:1] | first }}", "2b"),
        ("{% for k in var.m %}{{ k }}{{ loop.index }}{{ ',' if not loop.last else '' }}{% endfor %}", "a1,b2,items3"),
        ("{% for k, v in var.m | items %}{{ k }}={{ v | to_json }};{% endfor %}", 'a=[1, 2];b=5;items="x";'),
        ("{% for x in var.l if x != 'b' %}{{ x }}{{ loop.length }}{% else %}-{% endfor %}", "a1"),
        ("{% for x in [] %}{% else %}none{% endfor %}", "none"),
        ("{% for x in var.l %}{{ loop['index0'] }}{% endfor %}", "01"),
        ("{% if var.nope is defined %}a{% elif var.t %}b{% else %}c{% endif %}", "b"),
        ("{{ var.nope | default('z') }}{{ var.nope.x | default('y') }}", "zy"),
        ("{% set q = 3 %}{{ q + 1 }}", "4"),
        ("{% set q %}abc{% endset %}{{ q | upper }}", "ABC"),
        ("{% with q = 3 %}{{ -q }}{% endwith %}", "-3"),
        ("{% filter upper %}abc {{ var.s }}{% endfilter %}", "ABC X Y"),
        ("{% raw %}{{ x }}{% endraw %}{# c #}", "{{ x }}"),
        ("{{ 'a' ~ var.t ~ 1 }}", "atrue1"),
        ("{{ (1, 2) | join(',') }}{{ {'a': [1]} | to_json }}", '1,2{"a": [1]}'),
        ("{{ 'y' if var.t }}{{ (1 if false) | default('n') }}", "yn"),
        ("${var.s} $${x}", "${var.s} $${x}"),
        ("<&>{{ '<&>' }}", "<&><&>"),
        ("\ufeffé", "\ufeffé"),
        ("{{ 1 if var.s is string and 'x' in var.s and not false else 2 }}", "1"),
    ],
)
def test_templates_render(text: str, wanted: str) -> None:
    assert of(text) == wanted


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{{ var.l }}", "needs-filter"),
        ("{{ var.m }}", "needs-filter"),
        ("{{ var.f }}", "needs-filter"),
        ("{{ 1.5 }}", "needs-filter"),
        ("{{ var.n }}", "needs-filter"),
        ("{{ 'a' ~ var.f }}", "needs-filter"),
        ("{{ self }}", "needs-filter"),
        ("{% for x in var.l %}{{ loop }}{% endfor %}", "needs-filter"),
        ("{{ var.nope }}", "undefined-name"),
        ("{{ nope }}", "undefined-name"),
        ("{{ each.key }}", "undefined-name"),
        ("{{ lipsum }}", "undefined-name"),
        ("{{ loop.index }}", "undefined-name"),
        ("{{ [var.nope] | to_json }}", "undefined-name"),
        ("{{ {'a': var.nope} | to_json }}", "undefined-name"),
        ("{{ 'a' ~ var.nope }}", "undefined-name"),
        ("{{ var.nope + 1 }}", "undefined-name"),
        ("{{ 1 == var.nope }}", "undefined-name"),
        ("{% if var.nope %}{% endif %}", "undefined-name"),
        ("{% for x in var.nope %}{% endfor %}", "undefined-name"),
        ("{{ 1 if false }}", "undefined-name"),
        ("{% if (1 if false) %}{% endif %}", "undefined-name"),
        ("{{ var.l.__class__ }}", "undefined-name"),
        ("{{ ''.format }}", "undefined-name"),
        ("{{ var.l.append }}", "undefined-name"),
        ("{% for x in var.l %}{{ loop.cycle }}{% endfor %}", "undefined-name"),
        ("{% for x in var.l %}{{ loop['__init__'] }}{% endfor %}", "undefined-name"),
        ("{% for x in var.l %}{{ loop.previtem }}{% endfor %}", "undefined-name"),
        ("{{ machine.nope }}", "undefined-name"),
        ("{{ machine | to_json }}", "undefined-name"),
        ("{{ param.x }}", "not-in-this-version"),
        ("{{ secret }}", "not-in-this-version"),
        ("{{ var.l.append(1) }}", "expression-syntax"),
        ("{{ range(3) }}", "expression-syntax"),
        ("{% macro x() %}{% endmacro %}", "expression-syntax"),
        ("{% import 'x' as y %}", "expression-syntax"),
        ("{% extends 'x' %}", "expression-syntax"),
        ("{% block q %}{% endblock %}", "expression-syntax"),
        ("{% set ns.x = 1 %}", "expression-syntax"),
        ("{% call x() %}{% endcall %}", "expression-syntax"),
        ("{{ '\\ud800' }}", "expression-syntax"),
        ("{% if %}", "template-syntax"),
        ("{% do x %}", "template-syntax"),
        ("{{ " + "(" * 300 + "1" + ")" * 300 + " }}", "template-syntax"),
        ("{% for x in var.l %}" * 25 + "{% endfor %}" * 25, "template-syntax"),
        ("{{ " + "9" * 5000 + " }}", "template-syntax"),
        ("{{ 'x' | nope }}", "unknown-filter"),
        ("{{ 'x' is nope }}", "unknown-filter"),
        ("{{ 'x' | _each }}", "unknown-filter"),
        ("{{ 1 < 'a' }}", "expression-value"),
        ("{{ 1 / 0 }}", "expression-value"),
        ("{{ -var.t }}", "expression-value"),
        ("{{ 'a' * 1000000000 }}", "expression-value"),
        ("{{ {1: 2} | to_json }}", "expression-value"),
        ("{{ var.m[1:2] }}", "expression-value"),
        ("{% for a, b in var.l %}{% endfor %}", "expression-value"),
        ("{% for x in var.s %}{% endfor %}", "expression-value"),
        ("{% for x in var.l recursive %}{{ loop }}{% endfor %}", "needs-filter"),
        ("{{ 2 ** 65 }}", "expression-budget"),
        ("{% if a %}" * 70 + "{% endif %}" * 70, "expression-budget"),
    ],
)
def test_what_cannot_be_rendered_is_an_error_with_its_line(text: str, code: str) -> None:
    found = refused(f"one\n{text}")
    assert found.code == code
    assert found.location is not None
    assert found.location.file == MAIN
    assert found.location.line == 2 or code == "template-syntax"
    assert found.related == (("template used here", HERE),)


def test_an_undefined_name_is_named_whole_and_with_a_suggestion() -> None:
    scope = cast("Scope", freeze({"var": {"web": {"http_port": 80}}}))
    found = refused("\n{{ var.web.http_prot }}", scope)
    assert "var.web has no 'http_prot'" in found.detail
    assert found.hint == "Did you mean 'http_port'?"


def test_a_name_of_another_line_is_not_blamed() -> None:
    found = refused("{{ var.nope is defined }}{{ var.l.nope | default('') }}\n{{ [1].nope }}")
    assert found.detail.startswith("The value is a list")
    assert refused("{{ var.zzz is defined }}{{ [1].nope }}").detail.startswith("The value is a list")


def test_loops_steps_sizes_and_values_are_bounded() -> None:
    nest = "{% for a in var.l %}" * 15 + "{% for b in " + str(list(range(99))) + " %}{% endfor %}" + "{% endfor %}" * 15
    assert refused(nest).code == "expression-budget"
    doubling = "{% set x = [1] %}" + "{% set x = [x, x] %}" * 40
    assert refused(doubling + "{{ x | to_json }}").code == "expression-budget"
    big = cast("Scope", {"var": {"s": "a" * (SIZE_LIMIT // 2)}})
    assert refused("{{ var.s }}{{ var.s }}{{ 'x' }}", big).code == "expression-budget"
    assert refused("{{ var.s ~ var.s ~ 'x' }}", big).code == "expression-budget"
    assert refused("a" * (SIZE_LIMIT + 1)).code == "expression-budget"


def test_includes_that_double_are_bounded() -> None:
    included = {f"i{level}": f"{{% include 'i{level + 1}' %}}" * 2 for level in range(25)}
    assert refused("{% include 'i0' %}", SCOPE, **included, i25="").code == "expression-budget"


def test_an_include_sees_the_values_and_the_loop() -> None:
    assert (
        of("{% for x in var.l %}{% include 'sub/b' %}{% endfor %}", SCOPE, **{"sub/b": "[{{ x }}{{ var.s }}]"})
        == "[bx y][ax y]"
    )


def test_an_included_template_is_loaded_once_and_may_be_used_twice() -> None:
    assert of("{% include 'b' %}{% include 'b' %}{% include 'c' %}", SCOPE, b="1", c="{% include 'b' %}") == "111"


def test_an_error_in_an_include_names_its_file_and_line() -> None:
    found = refused("{% include 'b' %}", SCOPE, b="\n\n{{ var.nope }}")
    assert found.location == SourceLocation("templates/b", 3, 1)
    assert refused("{% include 'b' %}", SCOPE, b="\n{% if %}").location == SourceLocation("templates/b", 2, 1)


@pytest.mark.parametrize(
    "name",
    [
        "'../b'",
        "'/b'",
        "'./b'",
        "'a//b'",
        "'a\\\\b'",
        "''",
        "var.s",
        "['b']",
        "'b' ignore missing",
        "'b' without context",
    ],
)
def test_includes_reach_the_folder_of_templates_only(name: str) -> None:
    found = refused(f"\n{{% include {name} %}}", SCOPE, b="")
    assert (found.code, found.location) == ("template-include", SourceLocation(MAIN, 2, 1))


def test_a_missing_include_is_shown_where_it_is_named() -> None:
    found = refused("\n{% include 'b' %}")
    assert (found.code, found.location) == ("template-not-found", SourceLocation(MAIN, 2, 1))
    assert "templates/b" in found.detail


def test_a_template_that_includes_itself_shows_the_circle() -> None:
    found = refused("{% include 'b' %}", SCOPE, b="{% include 'main' %}")
    assert found.code == "template-include"
    assert f"{MAIN} -> templates/b -> {MAIN}" in found.detail


def test_the_number_of_included_templates_is_bounded() -> None:
    chain = {f"i{level}": f"{{% include 'i{level + 1}' %}}" for level in range(INCLUDE_LIMIT)}
    assert of("{% include 'i1' %}", SCOPE, **chain, **{f"i{INCLUDE_LIMIT}": "end"}) == "end"
    longer = {**chain, f"i{INCLUDE_LIMIT}": "end"}
    assert refused("{% include 'i0' %}", SCOPE, **longer).code == "template-include"


def test_what_is_no_file_is_shown_where_it_is_named() -> None:
    found = refused(None)
    assert (found.code, found.location, found.related) == ("template-not-found", HERE, ())
    assert "a folder" in found.detail


@pytest.mark.parametrize(("data", "line"), [(b"a\n\xff", 2), (b"a\r\nb\n", 1), (b"a\rb\r\n", 1), (b"a\rb", 1)])
def test_what_is_no_text_with_one_kind_of_line_end_is_refused(data: bytes, line: int) -> None:
    found = refused(data)
    assert (found.code, found.location) == ("template-not-text", SourceLocation(MAIN, line, 1))


def test_what_the_tree_cannot_give_is_its_own_error() -> None:
    with pytest.raises(FleetError):
        render_template(tree_of(FleetError(), {}), MAIN, SCOPE, HERE)


class Lazy(Mapping[str, JsonValue]):
    """Evaluates when asked, and fails for `bad`."""

    def __getitem__(self, key: str) -> JsonValue:
        if key == "bad":
            raise ExpressionError(Diagnostic(code="variable-cycle", summary="A circle."))
        return {"good": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("good", "bad"))

    def __len__(self) -> int:
        return 2


def test_a_lazy_scope_is_asked_for_what_is_used_only() -> None:
    assert of("{{ var.good }}", {"var": Lazy()}) == "1"
    assert refused("{{ var.bad }}", {"var": Lazy()}).code == "variable-cycle"
    found = render_template(tree_of("{{ var.good }}{{ machine.cpus }}", {}), MAIN, {"var": Lazy()}, HERE)
    assert isinstance(found, Late)
    assert found.scope == {"var": {"good": 1}}


def late(main: str, **included: str) -> tuple[SourceTree, Late]:
    tree = tree_of(main, included)
    found = render_template(tree, MAIN, SCOPE, HERE)
    assert isinstance(found, Late)
    return tree, found


def test_a_template_that_names_the_machine_is_late_and_carries_what_it_needs() -> None:
    tree, found = late("{{ machine.cpus * 2 }} {{ var.s }} {{ host.name }} {{ var.nope | default('-') }}")
    assert found.template == MAIN
    assert found.scope == {"host": {"name": "web1"}, "var": {"s": "x y"}}
    assert render_late(tree, found, Machine({"cpus": 4})) == b"8 x y web1 -"


def test_a_whole_root_is_carried_whole() -> None:
    tree, found = late("{{ machine.cpus }}{{ host | to_json }}{{ each is defined }}{{ var[host.name] is defined }}")
    assert found.scope == SCOPE
    assert render_late(tree, found, Machine({"cpus": 4})) == b'4{"name": "web1"}falsefalse'


def test_the_machine_in_an_include_makes_the_template_late() -> None:
    tree, found = late("{% include 'b' %}", b="{{ machine.arch }}")
    assert render_late(tree, found, Machine({"arch": "arm64"})) == b"arm64"


def test_the_text_of_a_late_template_changes_with_every_source() -> None:
    texts = {late("{{ machine.arch }}{% include 'b' %}", b=text)[1].text for text in ("1", "2")}
    assert len(texts | {late("{{ machine.arch }}{# #}{% include 'b' %}", b="1")[1].text}) == 3


def test_a_name_that_is_set_is_not_the_machine() -> None:
    assert of("{% set machine = {'x': 1} %}{{ machine.x }}") == "1"


def test_a_value_of_the_machine_that_could_not_be_read_is_named() -> None:
    tree, found = late("\n{{ var.nope | default('') }}{{ machine.arch }}{{ machine.cpus }}")
    with pytest.raises(ExpressionError) as caught:
        render_late(tree, found, Machine({"arch": "arm64"}))
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.location) == ("machine-value-missing", SourceLocation(MAIN, 2, 1))
    assert "machine.cpus" in diagnostic.detail
    assert diagnostic.related == ()


def test_the_machine_may_be_in_the_scope() -> None:
    assert of("{{ machine.cpus }}", cast("Scope", {"machine": {"cpus": 2}})) == "2"
