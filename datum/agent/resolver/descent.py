"""That a commit descends from another one: told by who reads revisions, and proved to who does not. Pure.

The proof is the commits on one way from the first down to a child of the second, each as git hashes it:
`commit <size>NUL` and its bytes. Of a commit nothing is read but the lines of its parents, at its beginning.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Final

from datum.agent.resolver.strict import MalformedError
from datum.diagnostics import Diagnostic
from datum.errors import RepositoryError, RevisionRefusedError

PROOF_LIMIT: Final = 32 << 20
"""Bytes of a proof. A commit takes some 250, signed some 1,000."""

COMMIT_LIMIT: Final = 100_000
"""Commits of a proof."""

LOOK_FACTOR: Final = 3
"""How many times what a proof may have is looked at for the way: beside it are the commits that merges brought."""

_PARENT: Final = b"parent "
# Of a line with a parent, with its end; ids of SHA-256 are the longest.
_PARENT_LIMIT: Final = len(_PARENT) + 64 + 1
_HEAD_LIMIT: Final = len(b"commit %d\0" % PROOF_LIMIT)
_SHA1: Final = 40


def require_descent(commit: str, ancestor: str, proof: bytes) -> None:
    """Refuse what does not prove that a commit is another one or has it in its history.

    Nothing of the proof is copied but one parent at a time: who wrote the commits is not known to be trusted yet.

    Raises:
        MalformedError: it does not; a commit has other bytes than its id says, or is not the parent of the one before;
            or there is a proof of what needs none.
    """
    algorithm = "sha1" if len(commit) == _SHA1 else "sha256"
    view, named = memoryview(proof), iter((commit,))
    for number, (begin, end) in enumerate(_objects(proof), 1):
        found = hashlib.new(algorithm, view[begin:end], usedforsecurity=False).hexdigest()
        if commit == ancestor or number > COMMIT_LIMIT or found not in named:
            raise MalformedError("a history has a commit that no commit before it names")
        named = parents(proof, begin, end)
    if ancestor not in named:
        raise MalformedError("a history does not come to where it should")


def _objects(proof: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each of the objects that bytes are begins and ends, one behind the other."""
    begin = 0
    while begin < len(proof):
        head = proof.find(b"\0", begin, begin + _HEAD_LIMIT)
        size = proof[begin : max(head, begin)].removeprefix(b"commit ")
        number = int(size) if size.isdigit() else -1
        end = head + 1 + number
        if proof[begin : head + 1] != b"commit %d\0" % number or end > len(proof):
            raise MalformedError("a history holds what is no commit")
        yield begin, end
        begin = end


def parents(data: bytes, begin: int = 0, end: int | None = None) -> Iterator[str]:
    """Yield the parents of a commit: the lines behind that of its tree, up to the first that is none (git-commit-tree).

    Args:
        data: holds the commit as git hashes it.
        begin: where it begins.
        end: where it ends; None: where the data do.
    """
    end = len(data) if end is None else end
    at = data.find(b"\n", data.index(b"\0", begin), end) + 1
    while at and data.startswith(_PARENT, at, end):
        stop = data.find(b"\n", at, min(end, at + _PARENT_LIMIT))
        if stop < 0:
            return
        yield data[at + len(_PARENT) : stop].decode("ascii", "replace")
        at = stop + 1


def prove_descent(commit: str, ancestor: str, read: Callable[[str], bytes]) -> bytes:
    """Return the proof that a commit descends from another one, which it does.

    Args:
        commit: the later one.
        ancestor: the earlier one.
        read: returns the bytes of a commit.

    Raises:
        RevisionRefusedError: `descent-too-long`.
        RepositoryError: the history is damaged.
    """
    proof, number = bytearray(), 0
    for one in _way(commit, ancestor, read):
        whole, number = _whole(read(one)), number + 1
        if len(proof) + len(whole) > PROOF_LIMIT or number > COMMIT_LIMIT:
            raise _too_long(commit, ancestor)
        proof += whole
    return bytes(proof)


def _way(commit: str, ancestor: str, read: Callable[[str], bytes]) -> Iterable[str]:
    """Return the commits from one down to a child of the other.

    The newest are looked at first, by what they say of their time: of a history with many merges that is the part
    between both, and where clocks were wrong some more of it.
    """
    children, open_ones, looked = {commit: ""}, [(0, commit)], 0
    while ancestor not in children:
        if not open_ones:
            raise _damaged(commit, ancestor)
        _, one = heappop(open_ones)
        data = read(one)
        looked, turn = looked + len(data), -_time(data)
        for parent in parents(_whole(data)):
            if parent not in children:
                children[parent] = one
                heappush(open_ones, (turn, parent))
            if len(children) > LOOK_FACTOR * COMMIT_LIMIT or looked > LOOK_FACTOR * PROOF_LIMIT:
                raise _too_long(commit, ancestor)
    way = [ancestor]
    while way[-1] != commit:
        way.append(children[way[-1]])
    return reversed(way[1:])


def _whole(data: bytes) -> bytes:
    return b"commit %d\0" % len(data) + data


def _time(data: bytes) -> int:
    """Return the seconds that a commit was made at; 0 where it says nothing of the kind."""
    at = data.find(b"\ncommitter ") + 1
    seconds = data[at : data.find(b"\n", at)].rpartition(b"> ")[2].partition(b" ")[0] if at else b""
    return int(seconds) if seconds.isdigit() and len(seconds) < _HEAD_LIMIT else 0


def _too_long(commit: str, ancestor: str) -> RevisionRefusedError:
    return RevisionRefusedError(
        Diagnostic(
            code="descent-too-long",
            summary="The revision is refused.",
            detail=f"The way from {commit} down to {ancestor} is too long to be proved: more than {COMMIT_LIMIT} "
            f"commits, or more than {PROOF_LIMIT >> 20} MiB of them; or it was not found among "
            f"{LOOK_FACTOR} times as many.",
            hint="let the host accept a commit between both first: datum apply --rev COMMIT",
        )
    )


def _damaged(commit: str, ancestor: str) -> RepositoryError:
    return RepositoryError(
        Diagnostic(
            code="object-damaged",
            summary="A git object cannot be read.",
            detail=f"The history of {commit} leads to {ancestor} by what git keeps of it, and does not by its commits.",
            hint="remove mirror.git in the state directory: it is a cache, and the next pass fetches it anew",
        )
    )
