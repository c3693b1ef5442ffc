"""Lines of authorized_keys: what they grant, and that nothing else is ever touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum_providers.authorized_key.lines import (
    KeyLine,
    first_of,
    is_key,
    parse_line,
    split_lines,
    split_options,
    with_line,
    without_key,
)
from tests.providers.authorized_key.cases import FINGERPRINT, KEY, OTHER

BLOB = KEY.split()[1].encode()
LINE = KeyLine((), b"ssh-ed25519", BLOB)


@pytest.mark.parametrize(
    ("text", "options", "comment"),
    [
        (KEY, (), b""),
        (f"  {KEY}\t me  and you \r\n", (), b"me  and you"),
        (f"no-pty {KEY}", (b"no-pty",), b""),
        (f'command="a \\"b c\\", d",no-pty \t{KEY} x', (b'command="a \\"b c\\", d"', b"no-pty"), b"x"),
        (f"ssh-ed25519,x {KEY}", (b"ssh-ed25519", b"x"), b""),
    ],
)
def test_what_a_line_grants(text: str, options: tuple[bytes, ...], comment: bytes) -> None:
    found = parse_line(text.encode())
    assert found == KeyLine(options, b"ssh-ed25519", BLOB, comment)
    assert found.fingerprint == FINGERPRINT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \r\n",
        f"# {KEY}",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        f"ssh-rsa {BLOB.decode()}",
        f'a="b {KEY}',
        f",, {KEY}",
        f"no-pty, {KEY}",
        "a b c d",
        "ssh-ed25519 !!!",
        "ÿþ",
    ],
)
def test_what_grants_nothing(text: str) -> None:
    assert parse_line(text.encode()) is None


def test_a_key_begins_with_its_type() -> None:
    assert is_key(b"ssh-ed25519", BLOB)
    assert not is_key(b"ssh-ed25519", BLOB[:20])
    assert not is_key(b"SSH-ED25519", BLOB)


def test_options_are_split_at_commas_outside_of_quotes() -> None:
    assert split_options(b'a,b="c,d",e="\\",f"') == (b"a", b'b="c,d"', b'e="\\",f"')
    assert split_options(b'a="b') is None
    assert split_options(b"a,") is None


lines = st.sampled_from([KEY, OTHER, f"no-pty {KEY} x", f"no-pty {OTHER}", "", "# c", "junk", f"  {OTHER}  y"])
files = st.lists(st.tuples(lines, st.sampled_from(["\n", "\r\n"])), max_size=6).map(
    lambda parts: "".join(line + end for line, end in parts).encode()
) | st.binary(max_size=60)
ends = st.sampled_from([b"", b"no end", OTHER.encode(), KEY.encode()])


@given(st.tuples(files, ends).map(b"".join))
def test_nothing_else_is_touched(data: bytes) -> None:
    """Whatever stands in a file: a key that is set is there, and all other lines are as they were, in order."""
    assert b"".join(split_lines(data)) == data
    after = with_line(data, LINE)
    assert first_of(after, FINGERPRINT)[0] == LINE
    assert with_line(after, LINE) == after
    gone = without_key(data, FINGERPRINT)
    assert first_of(gone, FINGERPRINT)[0] is None
    others = [line.rstrip(b"\n") for line in split_lines(gone)]
    assert [line for line in split_lines(gone) if BLOB not in line] == [
        line for line in split_lines(data) if BLOB not in line
    ]
    assert [line.rstrip(b"\n") for line in split_lines(without_key(after, FINGERPRINT))] == others


@given(st.tuples(files, ends).map(b"".join))
def test_adding_a_key_only_adds(data: bytes) -> None:
    if first_of(data, FINGERPRINT)[0] is None:
        gap = b"" if not data or data.endswith(b"\n") else b"\n"
        assert with_line(data, LINE) == data + gap + LINE.text() + b"\n"
        assert without_key(with_line(data, LINE), FINGERPRINT) == data + gap
