"""What a declaration of a tree means, in normal form. Pure."""

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from datum.model.content import Folder
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum.provider.globs import Matcher, compile_globs
from datum_providers.shared.accounts import Owners
from datum_providers.shared.exclusive import Domain, Neighbours
from datum_providers.shared.modes import parse_mode
from datum_providers.shared.names import normal_name
from datum_providers.tree.entries import ROOT, Entry, Look, Modes, Rule, entries_of

TYPE: Final = "tree"
_LINKS: Final = ("refuse", "keep")


@frozen
class DesiredTree:
    """A folder of the repository onto a folder of the host."""

    path: str
    # None: nothing is declared but the name, as of what is absent.
    folder: Folder | None = None
    modes: Modes = field(factory=Modes)
    owners: Owners = field(factory=Owners)
    rules: tuple[Rule, ...] = ()
    # Nothing stays in it that is neither of the folder nor kept.
    exclusive: bool = False
    # Patterns of what stays in an exclusive one.
    keep: tuple[str, ...] = ()
    # What stands where: itself, its folders from the top, then its files and links, by path. Follows from the rest.
    entries: tuple[Entry, ...] = field(default=(), eq=False, repr=False)
    # Paths below it that other resources declare, and whether the directory it lies in is exclusive: what the graph
    # says of its neighbours, and no part of what is wanted.
    neighbours: frozenset[str] = field(default=frozenset(), eq=False, repr=False)
    is_in_exclusive: bool = field(default=False, eq=False, repr=False)

    @property
    def domain(self) -> Domain:
        """Where nothing stays that is not of the folder; what lies in something that others declare is theirs."""
        own = frozenset(entry.path for entry in self.entries)
        return Domain(self.path, Neighbours(own | self.neighbours, self.neighbours), recurse=True, keep=self.keep)

    @property
    def accounts(self) -> tuple[Owners, ...]:
        """Every pair of owner and group that one of its entries has, each once, sorted."""
        found = {entry.owners for entry in self.entries if not entry.owners.is_silent}
        return tuple(sorted(found, key=lambda owners: (owners.owner or "", owners.group or "")))


def parse_tree(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredTree:
    """Read the attributes of one tree.

    Raises:
        DesiredError: no folder, a link in it that nobody spoke of, a mode, account or pattern that cannot be meant.
    """
    path = normal_name(name, TYPE)
    if not attributes:
        return DesiredTree(path)
    folder = attributes.get("source")
    if not isinstance(folder, Folder):
        raise DesiredError("source", "no folder of the repository is named.", hint="source: files/app")
    modes = _modes(attributes)
    owners = Owners.parse(attributes)
    rules = _rules(attributes.get("rules"))
    keep = _texts("keep", attributes.get("keep"))
    keeps_links = _choice("links", attributes.get("links"), _LINKS) == "keep"
    _globs("keep", keep)
    look = Look(modes, owners, rules)
    entries = entries_of(path, folder, look, keeps_links=keeps_links)
    _check_rules(path, rules, entries)
    exclusive = _truth("exclusive", attributes.get("exclusive"))
    if keep and not exclusive:
        raise DesiredError(
            "keep", "only an exclusive tree clears anything away.", hint="exclusive: true, or take keep out"
        )
    return DesiredTree(
        path,
        folder,
        modes,
        owners,
        rules,
        exclusive,
        keep,
        entries,
    )


def _modes(attributes: Mapping[str, AttributeValue]) -> Modes:
    plain = Modes()
    return Modes(
        parse_mode(attributes.get("mode")) or plain.file,
        parse_mode(attributes.get("executable_mode"), attribute="executable_mode", example="0755") or plain.executable,
        parse_mode(attributes.get("directory_mode"), attribute="directory_mode", example="0755") or plain.directory,
    )


def _rules(value: AttributeValue) -> tuple[Rule, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise DesiredError("rules", "a list of rules is expected.")
    return tuple(_rule(item) for item in value)


def _rule(item: object) -> Rule:
    if not isinstance(item, Mapping) or not isinstance(item.get("match"), str):
        raise DesiredError("rules", "a rule names what it is for.", hint='- {match: "bin/*", mode: "0755"}')
    match = item["match"]
    try:
        mode, owners = parse_mode(item.get("mode")), Owners.parse(item)
    except DesiredError as error:
        # Its own field is not one of the type.
        raise DesiredError("rules", f"{match}: {error.detail}", hint=error.hint, code=error.code) from error
    if mode is None and owners.is_silent:
        raise DesiredError("rules", f"{match}: the rule says nothing.", hint="give it a mode, an owner or a group")
    return Rule(match, mode, owners, _globs("rules", (match.removesuffix("/"),)))


def _check_rules(path: str, rules: tuple[Rule, ...], entries: tuple[Entry, ...]) -> None:
    """Refuse a rule that speaks of nothing: what it was meant for would silently have the mode of the tree."""
    for rule in rules:
        if any(rule.is_for(entry.path[len(path) + 1 :], entry.kind) for entry in entries if entry.name != ROOT):
            continue
        what, other = ("folder", "file or link") if rule.is_for_folders else ("file or link", "folder")
        slash = "without" if rule.is_for_folders else "with"
        raise DesiredError(
            "rules",
            f"'{rule.match}' matches no {what} of the source, so the rule would do nothing.",
            hint=f"patterns are relative to the source, * stays within a folder and ** crosses them; "
            f"{slash} a slash at its end it is for a {other}",
            code="rule-without-match",
        )


def _globs(attribute: str, patterns: tuple[str, ...]) -> Matcher:
    try:
        return compile_globs(patterns)
    except ValueError as error:
        raise DesiredError(attribute, f"{error}.", code="bad-pattern") from error


def _texts(attribute: str, value: AttributeValue) -> tuple[str, ...]:
    if value is None:
        return ()
    texts = tuple(text for text in value if isinstance(text, str)) if isinstance(value, (list, tuple)) else ()
    if not isinstance(value, (list, tuple)) or len(texts) != len(value):
        raise DesiredError(attribute, "a list of patterns is expected.")
    return tuple(sorted(set(texts)))


def _choice(attribute: str, value: AttributeValue, choices: tuple[str, ...]) -> str:
    """Return one of some words; the first of them when nothing is said."""
    if value is None:
        return choices[0]
    if value not in choices or not isinstance(value, str):
        raise DesiredError(attribute, f"'{value}' is none of {' and '.join(choices)}.")
    return value


def _truth(attribute: str, value: AttributeValue) -> bool:
    if value is not None and not isinstance(value, bool):
        raise DesiredError(attribute, "true or false is expected.")
    return bool(value)
