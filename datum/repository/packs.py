"""Whether a pack and its index are what git would have written, as far as a look at the bytes can tell. Reads files.

A pack of somebody who is not trusted is looked at here, where no byte can overrun anything, before git and libgit2 read
it. The format is that of gitformat-pack(5). What an object holds is not looked at: those who read one compare its hash.
"""

import hashlib
import mmap
import sys
from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

_HASH: Final = 20
_PACK_MAGIC: Final = b"PACK\0\0\0\2"
_PACK_HEADER: Final = 12
# A byte of type and size, and the shortest stream of zlib.
_SHORTEST: Final = 9
_INDEX_MAGIC: Final = b"\377tOc\0\0\0\2"
_NAMES: Final = len(_INDEX_MAGIC) + 256 * 4
_FAR: Final = 1 << 31
_FAR_SIZE: Final = 8
_CHUNK: Final = 1 << 20


def pack_fault(pack: Path, index: Path) -> str:
    """Return what is wrong with a pack of version 2 or its index of version 2; empty: nothing.

    Args:
        pack: `pack-<checksum of what it holds>.pack`. Nobody else may write it or the index meanwhile.
        index: which objects are where in it.

    Raises:
        OSError: one cannot be read.
    """
    with pack.open("rb") as pack_file, index.open("rb") as index_file:
        sizes = [pack.stat().st_size, index.stat().st_size]
        if min(sizes) < _PACK_HEADER + _HASH:
            return "it is cut short"
        with (
            mmap.mmap(pack_file.fileno(), 0, access=mmap.ACCESS_READ) as packed,
            mmap.mmap(index_file.fileno(), 0, access=mmap.ACCESS_READ) as indexed,
        ):
            return _pack_fault(packed, pack.stem) or _index_fault(indexed, packed)


def names_of(index: Path) -> Iterator[bytes]:
    """Yield the names of objects in an index that has no fault, in order.

    Raises:
        OSError: it cannot be read.
    """
    with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as indexed:
        count = int.from_bytes(indexed[_NAMES - 4 : _NAMES])
        for start in range(_NAMES, _NAMES + count * _HASH, _HASH):
            yield indexed[start : start + _HASH]


def _pack_fault(packed: mmap.mmap, name: str) -> str:
    count = _count(packed)
    if packed[: len(_PACK_MAGIC)] != _PACK_MAGIC or count * _SHORTEST > len(packed):
        return "it does not begin as a pack does"
    if _trailer(packed) != packed[-_HASH:] or name != f"pack-{packed[-_HASH:].hex()}":
        return "its checksum is not that of its name"
    return ""


def _index_fault(indexed: mmap.mmap, packed: mmap.mmap) -> str:
    count = _count(packed)
    offsets_at = _NAMES + count * (_HASH + 4)
    far_at = offsets_at + count * 4
    far_size = len(indexed) - far_at - 2 * _HASH
    if indexed[: len(_INDEX_MAGIC)] != _INDEX_MAGIC or not 0 <= far_size <= count * _FAR_SIZE or far_size % _FAR_SIZE:
        return "its index is of another shape"
    if indexed[-2 * _HASH : -_HASH] != packed[-_HASH:] or _trailer(indexed) != indexed[-_HASH:]:
        return "its index is of another pack"
    if not _is_sorted(indexed, count):
        return "the names in its index are in no order"
    far = partial(_far_place, indexed, far_at, far_size)
    places = (far(place ^ _FAR) if place & _FAR else place for place in _numbers(indexed, offsets_at, far_at))
    return "" if _are_within(places, len(packed) - _HASH) else "its index leads out of it"


def _count(packed: mmap.mmap) -> int:
    """Return how many objects a pack says it has."""
    return int.from_bytes(packed[len(_PACK_MAGIC) : _PACK_HEADER])


def _trailer(data: mmap.mmap) -> bytes:
    # No security rests on SHA-1 here: it is git's checksum of a file.
    found = hashlib.sha1(usedforsecurity=False)
    end = len(data) - _HASH
    for start in range(0, end, _CHUNK):
        found.update(data[start : min(start + _CHUNK, end)])
    return found.digest()


def _is_sorted(indexed: mmap.mmap, count: int) -> bool:
    """Whether the names ascend, and the table before them says how many begin with each byte, or a lower one."""
    firsts = [0] * 256
    last = b""
    for start in range(_NAMES, _NAMES + count * _HASH, _HASH):
        name = indexed[start : start + _HASH]
        if name <= last:
            return False
        last = name
        firsts[name[0]] += 1
    total = 0
    for said, more in zip(_numbers(indexed, len(_INDEX_MAGIC), _NAMES), firsts, strict=True):
        total += more
        if said != total:
            return False
    return True


def _are_within(places: Iterable[int], end: int) -> bool:
    return all(_PACK_HEADER <= place < end for place in places)


def _far_place(indexed: mmap.mmap, start: int, size: int, number: int) -> int:
    """Return a place that needs more than 31 bits; -1: the index has none of that number."""
    at = start + number * _FAR_SIZE
    return int.from_bytes(indexed[at : at + _FAR_SIZE]) if number < size // _FAR_SIZE else -1


def _numbers(indexed: mmap.mmap, start: int, end: int) -> Iterator[int]:
    """Yield numbers of 32 bits in network order; of an index of any size only a part is in memory at once."""
    for at in range(start, end, _CHUNK):
        numbers = array("I", indexed[at : min(at + _CHUNK, end)])
        if sys.byteorder == "little":
            numbers.byteswap()
        yield from numbers
