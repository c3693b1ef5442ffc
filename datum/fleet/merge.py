"""Merging per field, by exact id (design 2.2). Pure.

The strongest definition of a scalar or list wins, maps merge by key, reference lists unite. A conflict is two different
values among the strongest definitions only: what a stronger layer settles is none.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from attrs import field, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.fleet.common import COMMON_SHAPES, REFERENCE_FIELDS
from datum.fleet.expressions import Scope
from datum.fleet.findings import problem
from datum.fleet.values import Pieces, Placed, Table, Value, plain_value, same_value
from datum.model.identity import ResourceId
from datum.model.json import thaw
from datum.model.manifest import Late
from datum.model.provenance import FieldOrigin, Say

References: TypeAlias = "Mapping[ResourceId, SourceLocation]"
Note: TypeAlias = "Callable[[Diagnostic], None]"

_NO_WINNERS: Final[Mapping[str, "Declaration"]] = MappingProxyType({})

UNKNOWN: Final = "unknown"
"""Stands as `absent` where that was noted as wrong: nothing follows from it."""

_WAYS_OUT: Final = "Say it in a stronger layer or in the host file, which settles it, or remove one of the two."


class Said(NamedTuple):
    """What one layer says of one field or key."""

    # Greater is stronger; equal ranks must not disagree.
    rank: int
    layer: str
    value: Value
    location: SourceLocation


@frozen
class Declaration:
    """One layer's declaration of one resource, evaluated."""

    id: ResourceId
    rank: int
    layer: str
    # Of the id.
    location: SourceLocation
    # Fields as said, nulls included.
    fields: Mapping[str, Placed]
    # Reference lists as said, null as None; their places are in `fields`.
    references: "Mapping[str, References | None]"
    # Fields whose value replaces what weaker layers say.
    override: frozenset[str]
    # Items taken out of reference lists of weaker layers.
    without: Mapping[str, frozenset[ResourceId]]
    # What its templates see.
    scope: Scope = field(repr=False)
    # The whole resource is null: as if no weaker layer had declared it.
    is_null: bool = False

    @property
    def is_absent(self) -> bool:
        """Whether it says `absent: true`; declaring says `absent: false`."""
        placed = self.fields.get("absent")
        return placed is not None and placed.value is True

    @property
    def is_unknown(self) -> bool:
        """Whether what it says of `absent` was noted as wrong."""
        placed = self.fields.get("absent")
        return placed is not None and placed.value == UNKNOWN


@frozen
class Merged:
    """One resource after merging."""

    id: ResourceId
    # The strongest declaration.
    strongest: Declaration
    # Fields but reference lists; no nulls in them.
    fields: Mapping[str, Placed]
    references: Mapping[str, References]
    origins: Mapping[str, FieldOrigin]
    # Whose value of a field won, where that is not the strongest declaration.
    winners: Mapping[str, Declaration]
    is_absent: bool

    def winner(self, name: str) -> Declaration:
        """Return the declaration whose value of a field won."""
        return self.winners.get(name, self.strongest)


def merge_resource(declarations: Sequence[Declaration], note: Note) -> Merged | None:
    """Merge the declarations of one id, strongest first and not empty; None if the strongest is null."""
    kept = _cut_nulls(declarations, note)
    if not kept:
        return None
    is_absent = _is_absent(kept, note)
    return _single(kept[0], is_absent=is_absent) if len(kept) == 1 else _several(kept, note, is_absent=is_absent)


def merge_says(says: Sequence[Said], what: str, note: Note) -> Placed:
    """Merge what is said of one field or key, strongest first and not empty; a null value means: as if never said."""
    top = says[0]
    for other in says[1:]:
        if other.rank != top.rank:
            break
        if not _agree(top.value, other.value):
            note(_conflict(what, top, other))
            return Placed(top.value, top.location)
    if not isinstance(top.value, Table):
        return Placed(top.value, top.location)
    merged: dict[str, list[Said]] = {}
    for said in says:
        if not isinstance(said.value, Table):
            break
        for key, entry in said.value.items.items():
            merged.setdefault(key, []).append(Said(said.rank, said.layer, entry.value, entry.location))
    entries = {key: merge_says(group, f"{what}.{key}", note) for key, group in sorted(merged.items())}
    return Placed(Table({key: entry for key, entry in entries.items() if entry.value is not None}), top.location)


def _agree(left: Value, right: Value) -> bool:
    """Tell whether two values of equal rank can stand together; maps do, their keys are compared one by one."""
    if isinstance(left, Table) or isinstance(right, Table):
        return type(left) is type(right)
    if isinstance(left, Late) or isinstance(right, Late):
        return left == right
    if isinstance(left, Pieces) and isinstance(right, Pieces):
        return _unplaced(left) == _unplaced(right)
    return (left is None) == (right is None) and same_value(plain_value(left), plain_value(right))


def _unplaced(pieces: Pieces) -> list[object]:
    """Return pieces without their places; a late one with the values that it uses."""
    return [
        {key: entry.value if isinstance(entry.value, Late) else plain_value(entry.value) for key, entry in keys.items()}
        for keys in (piece.value.items if isinstance(piece.value, Table) else {"": piece} for piece in pieces.items)
    ]


def _conflict(what: str, left: Said, right: Said) -> Diagnostic:
    detail = (
        f"{what} is {_shown(left.value)} in {left.layer} ({left.location}) and {_shown(right.value)} in {right.layer} "
        f"({right.location}), and neither is stronger."
    )
    return problem("conflict", left.location, detail, hint=_WAYS_OUT, related=((right.layer, right.location),))


def _shown(value: Value) -> str:
    text = repr(thaw(plain_value(value))) if not isinstance(value, Table) else "a map"
    return "null" if value is None else text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004


def _cut_nulls(declarations: Sequence[Declaration], note: Note) -> Sequence[Declaration]:
    """Return the declarations above the strongest null one."""
    for index, declaration in enumerate(declarations):
        if declaration.is_null:
            peers = [other for other in declarations if other.rank == declaration.rank and not other.is_null]
            if peers:
                left = Said(declaration.rank, declaration.layer, None, declaration.location)
                right = Said(peers[0].rank, peers[0].layer, "declared", peers[0].location)
                note(_conflict(str(declaration.id), left, right))
            return [other for other in declarations[:index] if other.rank > declaration.rank]
    return declarations


def _is_absent(declarations: Sequence[Declaration], note: Note) -> bool:
    """Return what the strongest declarations say; declaring says `absent: false`."""
    top = declarations[0]
    for other in declarations[1:]:
        if other.rank != top.rank:
            break
        if other.is_absent != top.is_absent and not (other.is_unknown or top.is_unknown):
            absent, present = (top, other) if top.is_absent else (other, top)
            detail = (
                f"{top.id} is absent in {absent.layer} ({absent.location}) and declared in {present.layer} "
                f"({present.location}), and neither is stronger."
            )
            related = ((present.layer, present.location),)
            note(problem("conflict", absent.location, detail, hint=_WAYS_OUT, related=related))
            break
    return top.is_absent


def _single(declaration: Declaration, *, is_absent: bool) -> Merged:
    """Merge what one layer alone says: nulls fall, everything else stands."""
    fields: dict[str, Placed] = {}
    references: dict[str, References] = {}
    origins: dict[str, FieldOrigin] = {}
    layer = declaration.layer
    for name, (value, location) in declaration.fields.items():
        origins[name] = FieldOrigin(Say(layer, location, plain_value(value)))
        if name in declaration.references:
            references[name] = declaration.references[name] or {}
        elif value is not None and name != "absent":
            fields[name] = (
                Placed(_without_nulls(value), location) if isinstance(value, Table) else Placed(value, location)
            )
    return Merged(declaration.id, declaration, fields, references, origins, _NO_WINNERS, is_absent)


def _several(declarations: Sequence[Declaration], note: Note, *, is_absent: bool) -> Merged:
    """Merge field by field; of what is absent only the fields that every type has."""
    fields: dict[str, Placed] = {}
    references: dict[str, References] = {}
    origins: dict[str, FieldOrigin] = {}
    winners: dict[str, Declaration] = {}
    strongest = declarations[0]
    for name in sorted({name for declaration in declarations for name in (*declaration.fields, *declaration.without)}):
        if is_absent and name not in COMMON_SHAPES:
            continue
        saying = [declaration for declaration in declarations if name in declaration.fields]
        if saying:
            origins[name] = _origin(name, saying)
            winners[name] = saying[0]
        if name in REFERENCE_FIELDS:
            references[name] = _unite(name, declarations, note)
        elif name != "absent":
            placed = merge_says(_says(name, saying), f"{strongest.id}.{name}", note)
            if placed.value is not None:
                fields[name] = placed
    return Merged(strongest.id, strongest, fields, references, origins, winners, is_absent)


def _without_nulls(table: Table) -> Table:
    entries: dict[str, Placed] = {}
    for key, (value, location) in table.items.items():
        if value is not None:
            entries[key] = Placed(_without_nulls(value) if isinstance(value, Table) else value, location)
    return Table(MappingProxyType(entries))


def _says(name: str, saying: Sequence[Declaration]) -> list[Said]:
    """Return what is said of a field, strongest first, down to the strongest that overrides."""
    floor = next((declaration.rank for declaration in saying if name in declaration.override), saying[-1].rank)
    return [
        Said(declaration.rank, declaration.layer, *declaration.fields[name])
        for declaration in saying
        if declaration.rank >= floor
    ]


def _origin(name: str, saying: Sequence[Declaration]) -> FieldOrigin:
    says = [
        Say(declaration.layer, declaration.fields[name].location, plain_value(declaration.fields[name].value))
        for declaration in saying
    ]
    return FieldOrigin(says[0], tuple(says[1:]))


def _unite(name: str, declarations: Sequence[Declaration], note: Note) -> References:
    """Unite a reference list, from the weakest rank to the strongest."""
    united: dict[ResourceId, SourceLocation] = {}
    for rank in sorted({declaration.rank for declaration in declarations}):
        peers = [declaration for declaration in declarations if declaration.rank == rank]
        nulls = [peer for peer in peers if name in peer.references and peer.references[name] is None]
        lists = [peer for peer in peers if peer.references.get(name) is not None]
        if nulls and lists:
            left, right = _says(name, [nulls[0]])[0], _says(name, [lists[0]])[0]
            note(_conflict(f"{nulls[0].id}.{name}", left, right))
        if nulls or any(name in peer.override for peer in lists):
            united.clear()
        removed = {item: peer for peer in peers for item in peer.without.get(name, ())}
        for item in removed:
            united.pop(item, None)
        for peer in reversed(lists):
            _add(name, peer, removed, united, note)
    return united


def _add(
    name: str,
    peer: Declaration,
    removed: Mapping[ResourceId, Declaration],
    united: dict[ResourceId, SourceLocation],
    note: Note,
) -> None:
    """Add the items of one declaration; one that a peer takes out is a conflict."""
    for item, location in (peer.references[name] or {}).items():
        united[item] = location
        if item in removed:
            other = removed[item]
            detail = f"{peer.id}.{name} names {item} in {peer.layer}, and {other.layer} of the same rank takes it out."
            related = ((other.layer, other.location),)
            note(problem("conflict", location, detail, hint=_WAYS_OUT, related=related))
