"""Keys: their armour, their packets, their fingerprints; what is no public key is refused with the reason."""

from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum_providers.package_source.openpgp import armor, dearmor, fingerprints
from tests.providers.host_cases import FIXTURES

ONE: Final = "9615110E7436A7571E7F8D4B7B9D2E3E3411DC26"
TWO: Final = "22B6D5B65FD6CAA4739A51E37203977D2FD20F5C"
ASC: Final = (FIXTURES / "keys" / "one.asc").read_bytes()
GPG: Final = (FIXTURES / "keys" / "one.gpg").read_bytes()
OTHER: Final = (FIXTURES / "keys" / "two.asc").read_bytes()
# RFC 9580, appendix A.3: the primary key of the version 6 certificate.
MATERIAL: Final = "1b00000020f94da7bb48d60a61e567706a6587d0331999bb9d891a08242ead84543df895a3"
SIX: Final = bytes.fromhex(f"c62a0663877fe3{MATERIAL}")


def test_armour_comes_off_whatever_stands_around_it() -> None:
    assert dearmor(ASC) == GPG
    assert dearmor(GPG) == GPG
    assert dearmor(b"The key of the archive:\r\n" + ASC.replace(b"\n", b"\r\n") + b"\r\nThat was it.\r\n") == GPG
    headers = ASC.replace(b"BLOCK-----\n\n", b"BLOCK-----\nVersion: GnuPG v2\nComment: x\n\n")
    assert dearmor(headers) == GPG
    assert dearmor(ASC + OTHER) == GPG + dearmor(OTHER)


def test_fingerprints_are_those_that_gpg_prints() -> None:
    assert fingerprints(GPG) == (ONE,)
    assert fingerprints(dearmor(ASC + OTHER)) == (ONE, TWO)


def test_a_key_of_version_6_has_the_fingerprint_of_its_standard() -> None:
    assert fingerprints(SIX) == ("CB186C4F0609A697E4D52DFA6C722B0C1F1E27C18A56708F6525EC27BAD9ACC9",)


def test_a_key_of_version_5_is_hashed_with_its_own_first_byte() -> None:
    found = fingerprints(b"\xc6\x2a\x05" + SIX[3:])
    assert len(found[0]) == 64
    assert found != fingerprints(SIX)


@pytest.mark.parametrize("length", [b"\xff\x00\x00\x00\x2a", b"\x2a"])
def test_lengths_have_several_forms(length: bytes) -> None:
    assert fingerprints(b"\xc6" + length + SIX[2:]) == fingerprints(SIX)


def test_a_length_of_two_bytes_is_read() -> None:
    body = b"\x04" + bytes(255)
    long = b"\xc6" + bytes([192 + ((len(body) - 192) >> 8), (len(body) - 192) & 0xFF]) + body
    old = b"\x99" + len(body).to_bytes(2, "big") + body
    assert fingerprints(long) == fingerprints(old)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "neither an armoured key"),
        (b"<html>404</html>", "neither an armoured key"),
        (ASC.replace(b"PUBLIC KEY BLOCK", b"PRIVATE KEY BLOCK"), "PRIVATE KEY BLOCK"),
        (ASC.replace(b"PUBLIC KEY BLOCK", b"SIGNATURE"), "SIGNATURE"),
        (ASC.replace(b"mDME", b"m?ME"), "no base64"),
        (GPG[:-1], "cut off"),
        (GPG + b"x", "no packet begins"),
        (b"\x95" + GPG[1:], "cut off"),
        (b"\xc5" + SIX[1:], "secret"),
        (b"\xcd" + SIX[1:], "the first packet is another one"),
        (b"\xc6\x01\x03", "version 3"),
        (b"\xc6\x00", "version 0"),
        (b"\xc6\xe1" + SIX[2:], "in parts"),
        (b"\x9b" + SIX[2:], "says its length"),
        (b"\xc6", "cut off"),
    ],
)
def test_what_is_no_public_key_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fingerprints(dearmor(data))


def test_packets_of_nothing_are_no_key() -> None:
    with pytest.raises(ValueError, match="empty"):
        fingerprints(b"")


@given(st.binary(max_size=300).map(lambda data: b"\x99" + data))
def test_armour_is_put_on_and_comes_off(data: bytes) -> None:
    assert dearmor(armor(data).encode()) == data


@given(st.binary(max_size=300))
def test_any_bytes_are_a_key_or_are_refused(data: bytes) -> None:
    with suppress(ValueError):
        assert fingerprints(dearmor(data))
