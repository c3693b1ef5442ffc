"""Packs and indices that git did not write so."""

import hashlib
import struct
import tracemalloc
from pathlib import Path

import pytest
from attrs import define

from datum.repository.packs import pack_fault
from tests.git_repository import GitRepository


@define
class Pair:
    """A pack with its index."""

    pack: Path
    index: Path

    def fault(self) -> str:
        return pack_fault(self.pack, self.index)

    def change_index(self, at: int, data: bytes) -> None:
        """Write some bytes into the index, whose own checksum is right after that."""
        body = bytearray(self.index.read_bytes())
        body[at : at + len(data)] = data
        self.index.write_bytes(sealed(bytes(body[:-20])))

    @property
    def count(self) -> int:
        return int.from_bytes(self.pack.read_bytes()[8:12])


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    repository = GitRepository(tmp_path / "fleet")
    repository.commit({"a": "b", "c": "d\n" * 1000}, "first")
    repository.git("repack", "-a", "-d", "-q")
    pack = next((tmp_path / "fleet").rglob("*.pack"))
    made = Pair(tmp_path / pack.name, tmp_path / f"{pack.stem}.idx")
    made.pack.write_bytes(pack.read_bytes())
    made.index.write_bytes(pack.with_suffix(".idx").read_bytes())
    return made


def test_what_git_writes_has_no_fault(pair: Pair) -> None:
    assert pair.count >= 4
    assert pair.fault() == ""


def test_a_changed_byte_of_the_pack(pair: Pair) -> None:
    data = bytearray(pair.pack.read_bytes())
    data[40] ^= 1
    pair.pack.write_bytes(data)
    assert pair.fault() == "its checksum is not that of its name"


def test_a_pack_of_another_name(pair: Pair) -> None:
    """It is a pack, and would stand in the place of another one."""
    other = pair.pack.with_name(f"pack-{'a' * 40}.pack")
    pair.pack.rename(other)
    assert pack_fault(other, pair.index) == "its checksum is not that of its name"


def test_no_pack_at_all(pair: Pair) -> None:
    pair.pack.write_bytes(sealed(b"KCAP" + pair.pack.read_bytes()[4:-20]))
    assert pair.fault() == "it does not begin as a pack does"


def test_more_objects_than_the_pack_can_hold(pair: Pair) -> None:
    """The index would be as large as that says."""
    data = pair.pack.read_bytes()
    pair.pack.write_bytes(sealed(data[:8] + b"\xff\xff\xff\xff" + data[12:-20]))
    assert pair.fault() == "it does not begin as a pack does"


@pytest.mark.parametrize("size", [0, 31])
@pytest.mark.parametrize("which", ["pack", "index"])
def test_cut_short(pair: Pair, which: str, size: int) -> None:
    path: Path = getattr(pair, which)
    path.write_bytes(path.read_bytes()[:size])
    assert pair.fault() == "it is cut short"


@pytest.mark.parametrize("extra", [1, 8 * 1000, -8])
def test_an_index_of_another_size(pair: Pair, extra: int) -> None:
    data = pair.index.read_bytes()
    pair.index.write_bytes(data[:-40] + bytes(extra) + data[-40:] if extra > 0 else data[: -40 + extra] + data[-40:])
    assert pair.fault() == "its index is of another shape"


def test_an_index_of_version_1(pair: Pair) -> None:
    pair.change_index(0, b"\0")
    assert pair.fault() == "its index is of another shape"


@pytest.mark.parametrize("at", [-25, -5])
def test_an_index_with_another_checksum(pair: Pair, at: int) -> None:
    data = bytearray(pair.index.read_bytes())
    data[at] ^= 1
    pair.index.write_bytes(data if at == -5 else sealed(bytes(data[:-20])))
    assert pair.fault() == "its index is of another pack"


@pytest.mark.parametrize(("at", "data"), [(8, b"\xff"), (8 + 255 * 4, b"\0\0\0\1"), (8 + 1024, b"\xff" * 20)])
def test_names_in_no_order(pair: Pair, at: int, data: bytes) -> None:
    """A reader searches by halves from the places that the table gives: it must not lead out of the index."""
    pair.change_index(at, data)
    assert pair.fault() == "the names in its index are in no order"


@pytest.mark.parametrize("offset", [0, 11, 1 << 30, 1 << 31, (1 << 31) + 5])
def test_offsets_that_lead_out(pair: Pair, offset: int) -> None:
    pair.change_index(8 + 1024 + pair.count * 24, struct.pack(">I", offset))
    assert pair.fault() == "its index leads out of it"


@pytest.mark.parametrize(("far", "fault"), [(12, ""), (1 << 40, "its index leads out of it")])
def test_far_offsets(pair: Pair, far: int, fault: str) -> None:
    data = pair.index.read_bytes()
    at = 8 + 1024 + pair.count * 24
    body = data[:at] + struct.pack(">I", 1 << 31) + data[at + 4 : -40] + struct.pack(">Q", far) + data[-40:-20]
    pair.index.write_bytes(sealed(body))
    assert pair.fault() == fault


def test_a_look_at_many_objects_takes_little_memory(tmp_path: Path) -> None:
    """Who fills a pack with the smallest objects fills no memory of this host."""
    count = 300_000
    body = struct.pack(">4sII", b"PACK", 2, count) + bytes(9 * count)
    data = sealed(body)
    pack = tmp_path / f"pack-{data[-20:].hex()}.pack"
    pack.write_bytes(data)
    names = b"".join(struct.pack(">I16x", (number << 8) + 1) for number in range(count))
    table = [min(first << 16, count) for first in range(1, 257)]
    index = tmp_path / "pack.idx"
    offsets = struct.pack(">I", 12) * count
    index.write_bytes(
        sealed(b"\377tOc\0\0\0\2" + struct.pack(">256I", *table) + names + bytes(4 * count) + offsets + data[-20:])
    )
    del body, data, names, offsets
    tracemalloc.start()
    try:
        assert pack_fault(pack, index) == ""
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 << 20
