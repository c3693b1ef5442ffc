"""What a resolution found wrong, collected on the way. Pure."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from attrs import define, evolve, field

from datum.diagnostics import Diagnostic, SourceLocation, sorted_unique
from datum.errors import FleetError
from datum.model.identity import ResourceId

# Fixed text for every code of this room's resolution; docs/diagnostics.md has an entry for each.
SUMMARIES: Final = MappingProxyType(
    {
        "absent-with-fields": "A resource is declared absent and described at once.",
        "agent-out-of-range": "The fleet wants another agent.",
        "ambiguous-scalar": "YAML readers disagree about a value without quotes.",
        "bad-host-name": "A file name is no host name.",
        "bad-link": "A symbolic link of the repository has no usable text.",
        "bad-host-path": "The name is no path on a host.",
        "bad-pattern": "A pattern cannot be used.",
        "bad-path": "A path does not name a file of the repository.",
        "bad-resource-id": "A resource is not written type:name.",
        "bad-value": "A value is not allowed here.",
        "conflict": "Two declarations of one rank disagree.",
        "contribution-unheld": "No resource holds a slot.",
        "duplicate-contribution": "One file contributes a key twice.",
        "duplicate-resource": "One file declares a resource twice.",
        "each-key-missing": "A repeated declaration does not name its key.",
        "expression-not-here": "An expression stands where none is evaluated.",
        "fleet-file-missing": "There is no fleet.yaml.",
        "folder-too-large": "A folder has too many names, or too long ones.",
        "format-not-supported": "The manifest format is not known to this agent.",
        "host-not-in-fleet": "The fleet does not declare this host.",
        "late-not-here": "A value of the machine stands where it cannot be known.",
        "missing-field": "A field is missing.",
        "moved-still-declared": "The former name of a resource is still declared.",
        "name-not-normal": "A resource name is not in its normal form.",
        "not-a-file": "Something else stands where a file is wanted.",
        "not-a-folder": "A file stands where a folder belongs.",
        "not-deterministic": "Resolving twice gave two results.",
        "not-in-this-version": "This version of datum does not have that yet.",
        "override-without-value": "A field is overridden and not said.",
        "parts-too-large": "The files that make up a content are too large.",
        "provider-breach": "A provider broke its contract.",
        "reference-off": "A required resource is switched off.",
        "slot-held-twice": "Two resources hold one slot.",
        "source-missing": "The repository has nothing at a path.",
        "unknown-field": "A resource type has no such field.",
        "unknown-key": "A key is not known here.",
        "unknown-layer": "fleet.yaml does not list this layer.",
        "unknown-layer-member": "A layer has no such member.",
        "unknown-reference": "A reference names a resource that is not declared.",
        "unknown-resource-type": "There is no such resource type.",
        "unquoted-scalar": "A value needs quotes.",
        "variable-chain": "A variable needs too many others.",
        "variable-cycle": "Variables refer to each other in a circle.",
        "wrong-type": "A value is of the wrong type.",
    }
)

# Comparing costs some 20 µs a name: only names of about the same length are looked at, and not all of a big fleet.
_LENGTHS: Final = 3
_CANDIDATES: Final = 2000


def problem(
    code: str,
    location: SourceLocation | None,
    detail: str,
    *,
    hint: str = "",
    resource: ResourceId | str = "",
    related: tuple[tuple[str, SourceLocation], ...] = (),
) -> Diagnostic:
    """Return a diagnostic with the summary that belongs to its code."""
    return Diagnostic(
        code=code,
        location=location,
        summary=SUMMARIES.get(code, "A value is not allowed here."),
        detail=detail,
        hint=hint,
        resource=str(resource),
        related=related,
    )


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `Did you mean '…'?`, or empty when nothing known looks like the word."""
    import difflib

    near = sorted(name for name in known if abs(len(name) - len(word)) <= _LENGTHS)[:_CANDIDATES]
    close = difflib.get_close_matches(word, near, n=1, cutoff=0.6)
    return f"Did you mean '{close[0]}'?" if close else ""


def listing(known: Iterable[str]) -> str:
    """Return names as a sentence lists them, sorted; `none` when there are none."""
    return ", ".join(sorted(known)) or "none"


@define
class Findings:
    """Collects diagnostics of one resolution, and what they make unknown."""

    items: list[Diagnostic] = field(factory=list)
    # Resources with an error: what follows from it is not reported.
    tainted: set[ResourceId] = field(factory=set)
    # A declaration could not be read, so that it is not known which resources there are.
    is_incomplete: bool = False
    _general: set[Diagnostic] = field(factory=set)

    def add(self, diagnostic: Diagnostic, resource: ResourceId | None = None) -> None:
        """Note one diagnostic; with a resource, that resource is tainted and named.

        What was noted before without a resource (a variable that has no value) is not repeated for each that uses it.
        """
        if resource is not None:
            self.tainted.add(resource)
            if diagnostic in self._general:
                return
            if not diagnostic.resource:
                diagnostic = evolve(diagnostic, resource=str(resource))
        else:
            self._general.add(diagnostic)
        self.items.append(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic], *, text: str = "") -> None:
        """Note several diagnostics after which it is unknown which resources there are; `text` is an id as written."""
        for diagnostic in diagnostics:
            self.is_incomplete = True
            if diagnostic not in self._general:
                self.items.append(evolve(diagnostic, resource=text) if text else diagnostic)

    def stop(self) -> None:
        """End the resolution if anything was found.

        Raises:
            FleetError: with everything found, sorted by place.
        """
        if self.items:
            raise FleetError(*sorted_unique(self.items))
