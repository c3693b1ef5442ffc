"""What a server's bytes mean, in either protocol; real servers are in tests/integration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.repository.packets import RemoteRef, parse_listing, refs_request

A, B, C = ("a" * 40, "b" * 40, "c" * 40)
GREETING = b"000eversion 2\n000cls-refs\n0000"


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def test_a_request_names_exactly_what_is_wanted() -> None:
    """Capabilities would be a line before the delimiter; none is needed."""
    assert refs_request(("refs/heads/main",)) == (
        b"0014command=ls-refs\n00010009peel\n000csymrefs\n001fref-prefix refs/heads/main\n0000"
    )


def test_protocol_2_tells_what_tags_stand_for_and_where_head_leads() -> None:
    answer = packet(f"{A} HEAD symref-target:refs/heads/main\n") + packet(f"{B} refs/tags/v1 peeled:{A}\n") + b"0000"
    listing = parse_listing(GREETING + answer)
    assert listing.refs == {
        "HEAD": RemoteRef(A, symbolic="refs/heads/main"),
        "refs/tags/v1": RemoteRef(B, peeled=A),
    }
    assert (listing.is_narrow, listing.is_whole, listing.is_sha256) == (True, True, False)


def test_the_end_that_a_helper_adds_is_no_packet() -> None:
    assert parse_listing(GREETING + packet(f"{A} refs/heads/main\n") + b"00000002").is_whole


def test_protocol_0_is_the_whole_list() -> None:
    """What a tag stands for is a line of its own, and capabilities stand behind the first name."""
    answer = (
        packet(f"{A} HEAD\0multi_ack symref=HEAD:refs/heads/main object-format=sha1 agent=x\n")
        + packet(f"{A} refs/heads/main\n")
        + packet(f"{B} refs/tags/v1\n")
        + packet(f"{A} refs/tags/v1^{{}}\n")
        + b"0000"
    )
    for start in (b"", b"000eversion 1\n"):
        listing = parse_listing(start + answer)
        assert listing.refs == {
            "HEAD": RemoteRef(A, symbolic="refs/heads/main"),
            "refs/heads/main": RemoteRef(A),
            "refs/tags/v1": RemoteRef(B, peeled=A),
        }
        assert (listing.is_narrow, listing.is_whole) == (False, True)


def test_an_empty_repository_of_protocol_0_has_no_refs() -> None:
    zeros = "0" * 40
    assert parse_listing(packet(f"{zeros} capabilities^{{}}\0agent=x\n") + b"0000").refs == {}


@pytest.mark.parametrize("end", [b"", b"00", b"003dab", packet(f"{A} refs/heads/main\n")])
def test_what_was_cut_is_not_whole(end: bytes) -> None:
    """Neither a flush that is missing, nor half a packet."""
    assert not parse_listing(GREETING + end).is_whole
    assert not parse_listing(packet(f"{C} HEAD\0x\n") + end).is_whole


def test_nothing_at_all_is_not_whole() -> None:
    assert not parse_listing(b"").is_whole


@pytest.mark.parametrize(
    "line",
    [
        f"{A} refs/heads/main peeled:XYZ",
        f"{A} refs/heads/main peeled:",
        f"{A}a refs/heads/main",
        f"{A} refs/heads/main peeled:{A}a",
        f"{'a' * 64} refs/heads/main",
        f"{A[:-1]}\uff11 refs/heads/main",
    ],
)
def test_what_is_no_name_of_an_object_is_refused(line: str) -> None:
    """Exactly as many digits as a name of that repository has."""
    text = line.encode()
    whole = f"{len(text) + 4:04x}".encode() + text + b"0000"
    with pytest.raises(ValueError):
        parse_listing(GREETING + whole)
    if "peeled" not in line:
        with pytest.raises(ValueError):
            parse_listing(whole)


@pytest.mark.parametrize("data", [b"hello world", b"0003", b"zzzz", packet("hello") + b"0000", packet("x y") + b"0000"])
def test_what_is_neither_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse_listing(data)


def test_objects_by_sha256_are_seen_in_both() -> None:
    assert parse_listing(packet("version 2\n") + packet("object-format=sha256\n") + b"0000").is_sha256
    assert parse_listing(packet(f"{'a' * 64} HEAD\0object-format=sha256\n") + b"0000").is_sha256


@given(st.binary() | st.binary().map(lambda data: GREETING + data))
def test_any_bytes_are_a_list_or_refused(data: bytes) -> None:
    """A server says what it likes."""
    try:
        listing = parse_listing(data)
    except ValueError:
        return
    assert all(isinstance(name, str) for name in listing.refs)
