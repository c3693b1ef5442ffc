"""That a commit descends from another one: told by who reads revisions, and proved to who does not. Pure.

The proof is the commits on one way from the first down to a child of the second, each as git hashes it:
`commit <size>NUL` and its bytes. Of a commit nothing is read but the lines of its parents, at its beginning.
"""

import hashlib
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Final

from datum.agent.resolver.strict import MalformedError
from datum.diagnostics import Diagnostic
from datum.errors import FleetError

PROOF_LIMIT: Final = 32 << 20
"""Bytes of a proof. A commit takes some 250, signed some 1,000."""

COMMIT_LIMIT: Final = 100_000
"""Commits of a proof."""

_HEAD_LIMIT: Final = len(b"commit %d\0" % PROOF_LIMIT)
_SHA1: Final = 40


def require_descent(commit: str, ancestor: str, proof: bytes) -> None:
    """Refuse what does not prove that a commit is another one or has it in its history.

    Raises:
        MalformedError: it does not; a commit has other bytes than its id says, or is not the parent of the one before.
    """
    wanted = {commit}
    if commit != ancestor:
        for number, whole in enumerate(_objects(proof), 1):
            found = hashlib.new("sha1" if len(commit) == _SHA1 else "sha256", whole, usedforsecurity=False).hexdigest()
            if number > COMMIT_LIMIT or found not in wanted:
                raise MalformedError("a history has a commit that no commit before it names")
            wanted = set(parents(bytes(whole)))
    if ancestor not in wanted:
        raise MalformedError("a history does not come to where it should")


def _objects(proof: bytes) -> Iterator[memoryview]:
    """Yield the objects that bytes are, one behind the other; none of them is copied."""
    view, begin = memoryview(proof), 0
    while begin < len(proof):
        head = proof.find(b"\0", begin, begin + _HEAD_LIMIT)
        size = proof[begin : max(head, begin)].removeprefix(b"commit ")
        number = int(size) if size.isdigit() else -1
        end = head + 1 + number
        if proof[begin : head + 1] != b"commit %d\0" % number or end > len(proof):
            raise MalformedError("a history holds what is no commit")
        yield view[begin:end]
        begin = end


def parents(whole: bytes) -> Iterator[str]:
    """Yield the parents of a commit: the lines behind that of its tree, up to the first that is none (git-commit-tree).

    Args:
        whole: the commit as git hashes it.
    """
    _, *lines = whole[whole.index(b"\0") + 1 :].split(b"\n")
    for line in lines:
        word, _, parent = line.partition(b" ")
        if word != b"parent":
            return
        yield parent.decode("ascii", "replace")


def prove_descent(commit: str, ancestor: str, read: Callable[[str], bytes]) -> bytes:
    """Return the proof that a commit descends from another one, which it does.

    Args:
        commit: the later one.
        ancestor: the earlier one.
        read: returns the bytes of a commit.

    Raises:
        FleetError: `descent-too-long`.
    """
    proof, number = bytearray(), 0
    for one in _way(commit, ancestor, read):
        whole, number = _whole(read(one)), number + 1
        if len(proof) + len(whole) > PROOF_LIMIT or number > COMMIT_LIMIT:
            raise _too_long(one, ancestor)
        proof += whole
    return bytes(proof)


def _way(commit: str, ancestor: str, read: Callable[[str], bytes]) -> tuple[str, ...]:
    """Return the commits from one down to a child of the other.

    The newest are looked at first, by what they say of their time: of a history with many merges that is the part
    between both, and where clocks were wrong some more of it.
    """
    children, open_ones = {commit: ""}, [(0, commit)]
    while ancestor not in children:
        _, one = heappop(open_ones)
        data = read(one)
        for parent in parents(_whole(data)):
            if parent not in children:
                children[parent] = one
                heappush(open_ones, (-_time(data), parent))
    way = [ancestor]
    while way[-1] != commit:
        way.append(children[way[-1]])
    return tuple(reversed(way[1:]))


def _whole(data: bytes) -> bytes:
    return b"commit %d\0" % len(data) + data


def _time(data: bytes) -> int:
    """Return the seconds that a commit was made at; 0 where it says nothing of the kind."""
    _, _, rest = data.partition(b"\ncommitter ")
    seconds = rest.partition(b"\n")[0].rpartition(b"> ")[2].partition(b" ")[0]
    return int(seconds) if seconds.isdigit() and len(seconds) < _HEAD_LIMIT else 0


def _too_long(commit: str, ancestor: str) -> FleetError:
    return FleetError(
        Diagnostic(
            code="descent-too-long",
            summary="The revision is too far from the accepted one.",
            detail=f"Between {ancestor} and the branch are more than {COMMIT_LIMIT} commits, or they have more than "
            f"{PROOF_LIMIT >> 20} MiB; {commit} is as far as was looked.",
            hint="let the host accept a commit between both first: datum apply --rev COMMIT",
        )
    )
