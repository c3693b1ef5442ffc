"""Lines of authorized_keys: what they grant, and that nothing else is ever touched."""

import base64
import subprocess
from pathlib import Path
from typing import Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from datum_providers.authorized_key.lines import (
    KeyLine,
    fingerprint_shown,
    first_of,
    keys_beside,
    parse_line,
    split_lines,
    split_options,
    with_line,
    without_key,
    without_keys_beside,
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
        f"{KEY}=",
        f"\r{KEY}",
        f"ssh-ed25519\r{BLOB.decode()}",
        f"SSH-ED25519 {BLOB.decode()}",
        f"rsa-sha2-256 {BLOB.decode()}",
    ],
)
def test_what_grants_nothing(text: str) -> None:
    assert parse_line(text.encode()) is None


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        (KEY.encode() + b"\0x", b""),
        (KEY.encode() + b" c\0x", b"c"),
        (b"ssh-ed25519 " + BLOB[:20] + b"\r\v\f" + BLOB[20:] + b" c", b"c"),
        (b"ssh-ed25519 \v" + BLOB + b"\f", b""),
    ],
)
def test_sshd_reads_a_text_of_c_and_passes_over_white_space_in_base64(line: bytes, comment: bytes) -> None:
    """Each line is one that `ssh-keygen -l` shows the fingerprint of."""
    assert parse_line(line + b"\n") == KeyLine((), b"ssh-ed25519", BLOB, comment)
    assert without_key(line + b"\n", FINGERPRINT) == b""


RSA = base64.b64encode(b"\0\0\0\7ssh-rsa" + b"\0\0\0\3\1\0\1" + b"\0\0\1\1\0" + b"\xf1" * 256)


ODD: Final = {
    "a zero byte ends the line": KEY.encode() + b"\0x",
    "a comment before it": KEY.encode() + b" c\0x",
    "a return in base64": b"ssh-ed25519 " + BLOB[:20] + b"\r" + BLOB[20:],
    "more white space in it": b"ssh-ed25519 \v" + BLOB[:9] + b"\f\r" + BLOB[9:] + b"\v c",
    "tabs": b"\tssh-ed25519 \t " + BLOB + b"\tc",
    "an algorithm": b"rsa-sha2-256 " + RSA,
    "another": b"no-pty rsa-sha2-512 " + RSA[:9] + b"\r" + RSA[9:],
    "a return before the type": b"\r" + KEY.encode(),
    "a return after the type": b"ssh-ed25519\r" + BLOB,
    "no break space in base64": b"ssh-ed25519 " + BLOB[:20] + b"\xa0" + BLOB[20:],
    "too many signs of the end": KEY.encode() + b"=",
    "the type of another key": b"ssh-ed25519 " + RSA,
    "the algorithm of another key": b"rsa-sha2-256 " + BLOB,
    "capital letters": b"SSH-ED25519 " + BLOB,
    "open quotes": b'a="b ' + KEY.encode(),
    "closed quotes": b'a="b c" ' + KEY.encode(),
}


def test_ssh_keygen_finds_the_same_keys(tmp_path: Path) -> None:
    """It reads a line of a file of keys as sshd does, but for the options."""
    for title, line in ODD.items():
        path = tmp_path / "keys"
        path.write_bytes(line + b"\n")
        said = subprocess.run(["ssh-keygen", "-l", "-f", path], capture_output=True, check=False)
        key = parse_line(line + b"\n")
        assert said.stdout.split()[1:2] == ([] if key is None else [key.fingerprint.encode()]), title


@pytest.mark.parametrize("kind", [b"ssh-rsa", b"rsa-sha2-256", b"rsa-sha2-512"])
def test_an_algorithm_in_the_place_of_the_type_is_the_same_key(kind: bytes) -> None:
    assert parse_line(kind + b" " + RSA + b" c") == KeyLine((), b"ssh-rsa", RSA, b"c")


def test_whatever_a_comment_is_the_fingerprint_is_the_second_word() -> None:
    for comment, shown in ((b"caf\xe9", " bytes:636166e9"), ("é\u2003x".encode(), " é\u2003x"), (b"", "")):
        line = evolve(LINE, comment=comment)
        assert line.shown == f"ssh-ed25519 {FINGERPRINT}{shown}"
        assert fingerprint_shown(line.shown) == FINGERPRINT


@pytest.mark.parametrize("line", [f",, {KEY}", f"no-pty, {KEY}", f"new-type {BLOB.decode()}", f"\r{KEY} c"])
def test_a_line_that_is_not_understood_and_holds_a_key_is_one_too_many(line: str) -> None:
    """Also where it is that of a declared key: it would not be the line that stays."""
    data = f"{line}\n{KEY}\n# {OTHER}\njunk\n".encode()
    (found,) = keys_beside(data, {FINGERPRINT})
    assert found == LINE
    assert without_keys_beside(data, {FINGERPRINT}, {found.shown}) == f"{KEY}\n# {OTHER}\njunk\n".encode()
    assert without_keys_beside(data, {FINGERPRINT}, ()) == data


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
