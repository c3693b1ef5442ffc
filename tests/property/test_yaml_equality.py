"""Our reader and ruamel.yaml (YAML 1.2, pure Python) read the same from the same text, or we refuse it and say why.

Texts are generated, not values: octal and sexagesimal numbers, dates, signs, byte order marks, tabs, line ends, flow
and block style, comments, anchors, quotes, block scalars with every chomping.
"""

import datetime as dt
import math
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError, YAMLWarning

from datum.fleet.nodes import ListNode, MapNode, Node, Scalar, plain
from datum.fleet.yaml_reader import read_yaml
from datum.model.json import thaw

# Where ruamel.yaml reads and we refuse, by code, each with a text that shows it. ADR 0011 lists the same codes.
STRICTER: Final[Mapping[str, bytes]] = {
    "yaml-alias": b"a: &x 1\nb: &x 2\n",
    "yaml-alias-bomb": b"".join(
        b"%c: &%c [%s]\n" % (name, name, b", ".join([b"*%c" % (name - 1)] * 10 if name > ord("a") else [b"1"] * 10))
        for name in b"abcdef"
    ),
    "yaml-directive": b"%TAG ! tag:example.org,2000:\n---\na: 1\n",
    "yaml-key-not-string": b"1: a\n",
    "yaml-merge-key": b"<<: {a: 1}\n",
    "yaml-syntax": b"[:x]\n",
    "yaml-tab": b"a: [\n\tb]\n",
    "yaml-tag": b"a: !!str 1\n",
    "yaml-too-deep": b"[" * 66 + b"]" * 66,
    "yaml-too-large": b"a: 1\n" + b"#" * (4 << 20),
}
# What libyaml does not know of YAML 1.2: text that starts with a colon in flow style. Nothing else that ruamel.yaml
# reads may be "no YAML" to us.
_FLOW_COLON: Final = re.compile(rb"[\[{](?:[^\n]*(?:[\[{,]|:\s))?\s*:\S")
_ADR: Final = Path(__file__).resolve().parents[2] / "adr" / "0011-yaml-reading.md"

# Without `=`: ruamel.yaml fails on it, though YAML 1.2 has it as text.
_PLAIN: Final = st.sampled_from(
    [
        *("0", "7", "-3", "+4", "0644", "0o644", "0x1f", "0b11", "1_000", "12:30", "1:2:3", "1.5", "-0.5", "1.", ".5"),
        *("1e3", "1.5e+3", ".inf", "-.inf", ".nan", "2024-01-01", "2024-1-1", "2024-01-01T10:00:00Z", "1.10", "1.2.3"),
        *("10.0.0.5", "true", "false", "True", "yes", "No", "on", "off", "y", "n", "null", "Null", "~", "00"),
        *(
            "a",
            "b c",
            "it's",
            "x:y",
            "directory:/etc/app",
            "a#b",
            "é",
            "-x",
            "a-b",
            "http://x/y",
            "$x",
            "%",
            "?x",
            ":x",
        ),
        *(
            "a\tb",
            "a  b",
            "a'b",
            'a"b',
            "a[b",
            "a{b",
            "a,b",
            "a]",
            "\\n",
            "99999999999999999999",
            "/",
            "<<x",
            "->",
            "😀",
        ),
    ]
)
_TEXT: Final = st.text(st.sampled_from("ab'\"\\ \t\n#:-[]{},&*!|>%@`~é😀0$"), max_size=8)
_ODD_KEY: Final = st.sampled_from(["yes", "1", "0644", "<<", "~", "k", "on", "'1'", '"<<"'])
_KEY: Final = st.sampled_from(["k", "key", "a b", "file:/etc/x", "é", "'q r'", '"d"'])


@st.composite
def _key(draw: st.DrawFn, number: int) -> str:
    if not draw(st.integers(0, 19)):
        return draw(_ODD_KEY)
    word = draw(_KEY)
    return f"{word[:-1]}{number}{word[-1]}" if word[-1] in "'\"" else f"{word}{number}"


@st.composite
def _quoted(draw: st.DrawFn) -> str:
    text = draw(_TEXT)
    if draw(st.booleans()):
        return "'" + text.replace("'", "''") + "'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escape = draw(st.sampled_from(["", "\\n", "\\t", "\\x41", "\\u00e9", "\\0"]))
    return f'"{escaped}{escape}"'


@st.composite
def _block_scalar(draw: st.DrawFn, indent: int) -> str:
    style = draw(st.sampled_from(["|", ">", "|-", ">-", "|+", ">+", "|2", ">2-"]))
    pad = " " * indent
    lines = draw(st.lists(st.sampled_from(["x", "", "  y", "# z", "\tt", "a: b", "- c", "é"]), min_size=1, max_size=4))
    comment = draw(st.sampled_from(["", " # c"]))
    return f"{style}{comment}\n" + "\n".join(pad + line if line else "" for line in ["first", *lines])


@st.composite
def _flow(draw: st.DrawFn, depth: int = 0) -> str:
    kind = draw(st.sampled_from(["plain", "plain", "quoted", "list", "map"] if depth < 2 else ["plain", "quoted"]))
    if kind == "plain":
        return draw(_PLAIN)
    if kind == "quoted":
        return draw(_quoted())
    items = draw(st.lists(_flow(depth + 1), max_size=3))
    space = draw(st.sampled_from(["", " ", "  "]))
    if kind == "list":
        return f"[{space}{(',' + (space or ' ')).join(items)}{space}]"
    entries = (f"{draw(_key(number))}: {item}" for number, item in enumerate(items))
    return f"{{{space}{', '.join(entries)}{space}}}"


@st.composite
def _inline(draw: st.DrawFn, indent: int) -> str:
    """What may follow a key or a dash."""
    kinds = [*["plain", "quoted", "flow", "scalar"] * 4, "anchor", "anchor", "alias", "empty"]
    kind = draw(st.sampled_from(kinds))
    if kind == "scalar":
        return draw(_block_scalar(indent))
    if kind == "empty":
        return ""
    if kind == "alias":
        return "*one"
    text = draw(_PLAIN if kind in {"plain", "anchor"} else _quoted() if kind == "quoted" else _flow())
    comment = draw(st.sampled_from([*[""] * 9, *[" # comment\ttab"] * 9, " #", "\t# tab"]))
    return f"{'&one ' if kind == 'anchor' else ''}{text}{comment}"


@st.composite
def _block(draw: st.DrawFn, indent: int = 0) -> str:
    pad = " " * indent
    is_list = draw(st.booleans())
    lines = []
    for number in range(draw(st.integers(1, 3))):
        head = "-" if is_list else f"{draw(_key(number))}:"
        if indent < 4 and draw(st.integers(0, 3)) == 0:
            lines.append(f"{pad}{head}\n{draw(_block(indent + 2))}")
        else:
            gap = draw(st.sampled_from([*[" "] * 20, "  ", "\t"]))
            lines.append(f"{pad}{head}{gap}{draw(_inline(indent + 2))}")
        if draw(st.integers(0, 5)) == 0:
            lines.append(draw(st.sampled_from([*[f"{pad}# comment", "", "  ", "#"] * 4, "\t"])))
    return "\n".join(lines)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Texts that are mostly YAML."""
    rare = st.integers(0, 9)
    start = draw(st.sampled_from(["\ufeff", "---\n", "%YAML 1.2\n---\n", "# c\n", "\n"])) if not draw(rare) else ""
    end = draw(st.sampled_from([*["", "\n"] * 5, "\n\n", "\n...\n", "\n---\n", "\n# end", "\n \n"]))
    text = start + draw(st.one_of(_block(), _block(), _flow(), _inline(1))) + end
    if not draw(rare):
        text = text.replace("\n", "\r\n")
    return text.encode()


REFUSED: Final = object()


def theirs(data: bytes) -> object:
    """What ruamel.yaml reads, or that it refuses. What it warns of, it reads: an anchor that is set twice."""
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", YAMLWarning)
        try:
            return reader.load(data.decode().removeprefix("\ufeff"))
        except (YAMLError, ValueError, TypeError):
            return REFUSED


def same(node: Node | None, other: object) -> bool:
    """Tell whether both read the same; what is ambiguous is not compared, as it is refused where it matters."""
    if node is None:
        return other is None
    if isinstance(node, Scalar):
        if node.ambiguity:
            return not isinstance(other, (list, Mapping))
        return type(node.value) is type(other) and node.value == other
    if isinstance(node, ListNode):
        return isinstance(other, list) and len(node.items) == len(other) and all(map(same, node.items, other))
    if not isinstance(other, Mapping) or list(node.items) != list(other):
        return False
    return all(same(item, other[key]) for key, item in node.items.items())


def compare(data: bytes) -> str:
    """Return how both readers fared with a text; fails if they disagree."""
    node, diagnostics = read_yaml(data, "f.yaml")
    other = theirs(data)
    codes = {found.code for found in diagnostics}
    if codes:
        if other is REFUSED:
            return "both refuse"
        assert codes <= STRICTER.keys(), f"we refuse {data!r} for {codes}, which ADR 0011 does not list"
        if "yaml-syntax" in codes:
            assert _FLOW_COLON.search(data), f"we say that {data!r} is no YAML"
        return "stricter"
    assert other is not REFUSED, f"only we read {data!r}"
    assert same(node, other), f"{data!r}: {node and thaw(plain(node))!r} against {other!r}"
    return "equal"


@given(texts())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_texts_are_read_as_yaml_1_2_reads_them(data: bytes) -> None:
    compare(data)


def test_texts_are_mostly_read() -> None:
    """Refusing everything would keep the two equal: refusals are counted, and are the smaller part."""
    fates: Counter[str] = Counter()

    @given(texts())
    @seed(1)
    @settings(max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def count(data: bytes) -> None:
        fates[compare(data)] += 1

    count()
    total = sum(fates.values())
    assert fates["equal"] > total / 2, fates
    assert fates["stricter"] < total * 3 / 20, fates


@pytest.mark.parametrize("code", STRICTER)
def test_what_is_listed_is_refused_by_us_alone(code: str) -> None:
    """A code that no text needs any more leaves the list."""
    data = STRICTER[code]
    assert compare(data) == "stricter"
    assert {found.code for found in read_yaml(data, "f.yaml")[1]} == {code}


def test_the_decision_lists_the_same_codes() -> None:
    listed = re.findall(r"^\| `(yaml-[a-z-]+)` \|", _ADR.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == sorted(STRICTER)


def test_a_refusal_that_is_not_listed_would_fail() -> None:
    """A reserved directive, which YAML 1.2 says to ignore; the texts of the property have none."""
    with pytest.raises(AssertionError, match="is no YAML"):
        compare(b"%FOO x\n---\na: 1\n")


def test_the_readers_of_this_test_can_disagree() -> None:
    assert not same(MapNode({}), [])
    assert theirs(b"a: [") is REFUSED
    assert isinstance(theirs(b"2024-01-01"), dt.date)
    assert math.isinf(theirs(b".inf"))  # type: ignore[arg-type]  # a float
