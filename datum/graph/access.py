"""Which files the programs of a host will not be able to read, judged from what is declared alone. Pure.

What nothing declares is unknown, and nothing is found on the strength of it: every finding follows from a declared
mode, declared owners, and the account that a program is declared to run as. Access control lists and capabilities of
programs are declared nowhere, and make no difference here.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from attrs import frozen

from datum.diagnostics import Diagnostic, Severity, SourceLocation, sorted_unique
from datum.graph.asking import ask, breach, named
from datum.graph.identities import Identities
from datum.graph.triggers import field_of
from datum.model.access import Access, Consumer, Rights, Wish
from datum.model.content import Content
from datum.model.graph import Node, ResourceGraph
from datum.model.identity import ResourceId
from datum.provider.contract import AccessProvider, AnyProvider
from datum.provider.paths import is_below, parents

CODE: Final = "unreadable-by-account"

_READ: Final = 0o4
_RUN: Final = 0o1
_WORDS: Final = {_READ: "read", _RUN: "run"}


@frozen
class _Held:
    """One path with a declared mode and owners, and who declares it."""

    node: Node
    rights: Rights

    @property
    def mode(self) -> int | None:
        """The mode as a number; None where it takes the host to know it, or who owns what is there."""
        is_managed = not {"mode", "owner", "group"} & self.node.resource.unmanaged
        return int(self.rights.mode, 8) if self.rights.mode is not None and is_managed else None

    @property
    def place(self) -> SourceLocation:
        """Where the field stands that decides, as far as it is written."""
        origins = self.node.resource.origins
        said = next((origins[name] for name in ("mode", "owner", "group") if name in origins), None)
        return said.winner.location if said else self.node.resource.location


@frozen
class _Asked:
    """One path that one program wants."""

    node: Node
    consumer: Consumer
    wish: Wish
    # Beside the declaration of the program: where a service lists the path.
    listed: tuple[tuple[str, SourceLocation], ...] = ()


def unreadable(
    graph: ResourceGraph, providers: Mapping[str, AnyProvider], text_of: Callable[[Content], str | None]
) -> tuple[Diagnostic, ...]:
    """Return a warning for each declared path that a program cannot read as the account that it runs as.

    Args:
        graph: of one host.
        providers: every type.
        text_of: gives the text of a content, wherever its bytes lie; None for what is no text, or too long.

    Raises:
        ProviderContractError: a provider raised, or answered what the contract does not allow.
    """
    said = dict(_said(graph, providers, text_of))
    facts = [fact for sayings in said.values() for fact in sayings]
    held = {
        fact.path: _Held(graph.nodes[origin], fact)
        for origin, sayings in said.items()
        for fact in sayings
        if isinstance(fact, Rights)
    }
    judge = _Judge(held, Identities.of(facts))
    wanted = [
        asked
        for origin, sayings in said.items()
        for fact in sayings
        if isinstance(fact, Consumer)
        for asked in _asked(graph, origin, fact)
    ]
    found: dict[tuple[ResourceId, str], Diagnostic] = {}
    for asked in wanted:
        for path, diagnostic in judge.findings(asked):
            found.setdefault((asked.node.resource.id, path), diagnostic)
    return sorted_unique(tuple(found.values()))


def _said(
    graph: ResourceGraph, providers: Mapping[str, AnyProvider], text_of: Callable[[Content], str | None]
) -> Iterator[tuple[ResourceId, tuple[Access, ...]]]:
    """Yield what each resource that is wanted says, type by type."""
    for kind, provider in named(graph.nodes, providers):
        wanted = {
            origin.name: node
            for origin, node in graph.nodes.items()
            if origin.type == kind and not node.resource.absent
        }
        if not wanted or not isinstance(provider, AccessProvider):
            continue
        first = next(iter(wanted.values())).resource
        desired = {name: node.desired for name, node in wanted.items()}
        answers = ask(first, "access", lambda asked=provider, desired=desired: dict(asked.access(desired, text_of)))  # type: ignore[misc]  # mypy cannot type defaults of lambdas
        for name, sayings in answers.items():
            if name not in wanted:
                raise breach(first, "access", f"answered for {name}, which it was not asked for")
            yield ResourceId(kind, name), tuple(sayings)


def _asked(graph: ResourceGraph, origin: ResourceId, consumer: Consumer) -> Iterator[_Asked]:
    node = graph.nodes[origin]
    yield from (_Asked(node, consumer, wish) for wish in consumer.wishes)
    if not consumer.reads_listed:
        return
    for service in graph.triggers:
        if origin in graph.requires.get(service, ()):
            yield from _of_service(graph, node, consumer, service)


def _of_service(graph: ResourceGraph, node: Node, consumer: Consumer, service: ResourceId) -> Iterator[_Asked]:
    resource = graph.nodes[service].resource
    for listed, operation in graph.triggers[service].items():
        for target in graph.nodes[listed].targets:
            is_spared = any(is_below(target.key, folder) for folder in consumer.spared)
            if target.kind == "path" and target.leaf and not is_spared:
                said = resource.origins.get(field_of(operation))
                where = (f"{service} lists it here", said.winner.location if said else resource.location)
                yield _Asked(node, consumer, Wish(target.key, ""), (where,))


@frozen
class _Judge:
    """Judges one wish after the other."""

    # By path.
    held: Mapping[str, _Held]
    identities: Identities

    def findings(self, asked: _Asked) -> Iterator[tuple[str, Diagnostic]]:
        """Yield what keeps a program from a declared path, by the path that does: itself, or a directory above it."""
        path = asked.wish.path
        if path not in self.held or self.identities.is_root(asked.consumer.account):
            return
        above = [parent for parent in reversed(list(parents(path))) if parent in self.held]
        for each in itertools.chain(above, (path,)):
            held = self.held[each]
            bit = _RUN if held.rights.is_directory or asked.wish.is_program else _READ
            mode = held.mode
            if mode is not None and self._may(held.rights, mode, asked.consumer, bit) is False:
                remedy = self._remedy(held, mode, asked.consumer, bit)
                yield each, _told(asked, held, self.held[path], bit, remedy)
                return

    def _may(self, rights: Rights, mode: int, consumer: Consumer, bit: int) -> bool | None:
        """Return whether an account has a bit of a mode, as the kernel decides it: the first class that fits counts."""
        known = self.identities
        return _decide(
            known.is_owner(consumer, rights.owner),
            bool(mode >> 6 & bit),
            lambda: _decide(known.is_in(consumer, rights.group), bool(mode >> 3 & bit), lambda: bool(mode & bit)),
        )

    def _remedy(self, held: _Held, mode: int, consumer: Consumer, bit: int) -> str:
        """Return what to write: the right of a class that the account is in, or a class for it."""
        rights, resource = held.rights, held.node.resource.id
        # A directory that is entered is listed as well, by whoever may.
        given = bit | _READ if rights.is_directory or bit == _RUN else bit
        if self.identities.is_owner(consumer, rights.owner):
            return f'{resource}: mode: "{mode | given << 6:04o}"'
        group_mode = f"{mode | given << 3:04o}"
        if self.identities.is_in(consumer, rights.group):
            return f'{resource}: mode: "{group_mode}"'
        if mode >> 3 & bit and rights.group is not None and not self.identities.is_root_group(rights.group):
            return f"make {consumer.account} a member of {rights.group}, or write SupplementaryGroups={rights.group}"
        group = self.identities.group_of(consumer)
        if group is None and consumer.is_dynamic:
            return "have the manager read it for the program: LoadCredential=NAME:PATH"
        if group is None:
            return f"{resource}: owner: {consumer.account}"
        return f'{resource}: group: {group}, mode: "{group_mode}"'


def _decide(belongs: bool | None, own: bool, other: Callable[[], bool | None]) -> bool | None:  # noqa: FBT001 - both are answers
    """Return what a class of a mode says; where it is unknown who belongs to it, what both ways have in common."""
    if belongs:
        return own
    rest = other()
    return rest if belongs is False or rest is own else None


def _told(asked: _Asked, held: _Held, wanted: _Held, bit: int, remedy: str) -> Diagnostic:
    rights, consumer, program = held.rights, asked.consumer, asked.node.resource
    what = f"{held.node.resource.id} is declared with mode {rights.mode}, {_owners(held)}"
    way = "" if held is wanted else f", and {wanted.node.resource.id} lies below it"
    naming = f"names it in {asked.wish.said_in}" if asked.wish.said_in else "what it runs lists it"
    verb = "enter" if rights.is_directory else _WORDS[bit]
    return Diagnostic(
        location=held.place,
        code=CODE,
        summary="A program cannot read what it is told to.",
        detail=f"{what}{way}. {program.id} runs as {_account(consumer)}, and {naming}: that account cannot {verb} it.",
        resource=str(held.node.resource.id),
        hint=remedy,
        severity=Severity.WARNING,
        related=((f"{program.id} is declared here", _place_of(asked.node)), *asked.listed),
    )


def _owners(held: _Held) -> str:
    rights, declared = held.rights, held.node.resource.attributes
    silent = [name for name in ("owner", "group") if name not in declared]
    default = f" ({' and '.join(silent)} as it is made, since none is declared)" if silent else ""
    return f"owner {rights.owner} and group {rights.group}{default}"


def _account(consumer: Consumer) -> str:
    groups = [*([consumer.group] if consumer.group else []), *consumer.groups]
    kind = "the dynamic account " if consumer.is_dynamic else ""
    return f"{kind}{consumer.account}{f' with {_listed(groups)}' if groups else ''}"


def _listed(groups: Iterable[str]) -> str:
    names = list(dict.fromkeys(groups))
    return f"{'group' if len(names) == 1 else 'groups'} {', '.join(names)}"


def _place_of(node: Node) -> SourceLocation:
    """Return where the text stands that says as whom a program runs."""
    origins = node.resource.origins
    said = next((origins[name] for name in ("content", "source", "template", "parts", "user") if name in origins), None)
    return said.winner.location if said else node.resource.location
