"""What changes in one resource: its fields one by one, many paths in sums with the first few by name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from datum.cli.views.paper import Paper

SHOWN: Final = 10
"""Paths that are named; what follows is counted."""

_PART: Final = "./"
_BLOB: Final = "blob:"
_PACKAGE: Final = "package:"
_KINDS: Final = {"regular": "file", "symlink": "link"}
# What a line of a path is when something of another kind stands there.
_GIVING_WAY: Final = frozenset(
    {"regular", "directory", "symlink", "fifo", "socket", "block_device", "character_device"}
)
_LENGTH: Final = 60
_MARGIN: Final = "      "


def write_changes(paper: Paper, resource: Mapping[str, Any]) -> None:
    """Write what changes; of a removal only what it removes beside the resource itself."""
    changes = resource["changes"]
    parts = [change for change in changes if change["field"].startswith(_PART)]
    if resource["operation"] != "delete":
        for change in changes:
            if not change["field"].startswith(_PART):
                _write_change(paper, change, _MARGIN)
    if parts:
        _write_parts(paper, parts)
    if takes := _beside(resource, parts):
        paper.line(_MARGIN, ("removes as well", "bold red"), f" {_taken(takes)}")
        for path in takes[:SHOWN]:
            paper.line(_MARGIN, "  ", ("- ", "red"), path)
        _write_rest(paper, len(takes))


def _beside(resource: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Return what is removed beside the resource and is not shown as one of its own paths; old reports have none."""
    name = resource["id"].partition(":")[2]
    shown = {f"{name}/{_relative(part['field'])}" for part in parts if _kind(part) == "removed"}
    return [path for path in map(_spelled, resource.get("takes", ())) if path not in shown]


def _taken(takes: Sequence[str]) -> str:
    packages = sum(taken.startswith(_PACKAGE) for taken in takes)
    counts = ((len(takes) - packages, "path"), (packages, "package"))
    return " and ".join(plural(count, noun) for count, noun in counts if count)


def _relative(name: str) -> str:
    """Return the path below a resource that a change is named after; `.//` begins a name that is no UTF-8."""
    return name.removeprefix(_PART).removeprefix("/")


def _spelled(path: str) -> str:
    r"""Return a path as the names of changes spell it: what is no UTF-8 as `\xNN`, its backslashes doubled."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.replace("\\", "\\\\").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path


def _write_parts(paper: Paper, parts: Sequence[Mapping[str, Any]]) -> None:
    words = {"created": 0, "changed": 0, "removed": 0}
    for part in parts:
        words[_kind(part)] += 1
    sums = ", ".join(f"{count} {word}" for word, count in words.items() if count)
    paper.line(_MARGIN, (plural(len(parts), "path"), "bold"), f": {sums}")
    for part in parts[:SHOWN]:
        _write_part(paper, part)
    _write_rest(paper, len(parts))


def _write_part(paper: Paper, part: Mapping[str, Any]) -> None:
    name = part["field"].removeprefix(_PART)
    match _kind(part):
        case "created":
            paper.line(_MARGIN, "  ", ("+ ", "green"), name)
        case "removed":
            paper.line(_MARGIN, "  ", ("- ", "red"), name)
        case _:
            paper.line(_MARGIN, "  ", ("~ ", "yellow"), name, (_differing(part), "dim"))
            _write_diff(paper, part, _MARGIN + "    ")


def _kind(part: Mapping[str, Any]) -> str:
    if part["before"] is None:
        return "created"
    return "removed" if part["after"] is None else "changed"


def write_kept(paper: Paper, kept: Mapping[str, Any]) -> None:
    """Write what a resource leaves alone below itself, and why."""
    paths, count = kept["paths"], len(kept["paths"]) + kept["more"]
    paper.line(_MARGIN, ("leaves alone", "bold"), f" {plural(count, 'path')}")
    for entry in paths[:SHOWN]:
        paper.line(_MARGIN, "  ", ("= ", "cyan"), entry["path"].removeprefix(_PART), (f"  {entry['why']}", "dim"))
    _write_rest(paper, count)


def _differing(part: Mapping[str, Any]) -> str:
    """Return the words in which two descriptions of a path differ, all where they are of different form.

    Ids of bytes whose difference is shown say nothing.
    """
    old, new = str(part["before"]).split(" "), str(part["after"]).split(" ")
    if len(old) == len(new):
        is_told = bool(part["diff"])
        pairs = [
            (one, other)
            for one, other in zip(old, new, strict=True)
            if one != other and not (is_told and one.startswith(_BLOB) and other.startswith(_BLOB))
        ]
        old, new = [one for one, _ in pairs], [other for _, other in pairs]
    return f"  {' '.join(map(short, old))} → {' '.join(map(short, new))}" if old else ""


def _write_rest(paper: Paper, count: int) -> None:
    if count > SHOWN:
        paper.line(_MARGIN, "  ", (f"… {count - SHOWN} more; --json has all of them", "dim"))


def _write_change(paper: Paper, change: Mapping[str, Any], margin: str) -> None:
    is_new = change["before"] is None
    if is_new and change["field"] == "kind":
        # That a file is made a file is told by its type.
        return
    before, after = short(change["before"]), short(change["after"])
    if change["diff"]:
        paper.line(margin, (change["field"], "bold"))
        _write_diff(paper, change, margin + "  ")
    elif is_new:
        paper.line(margin, (change["field"], "bold"), f" {after}")
    else:
        paper.line(margin, (change["field"], "bold"), f" {before} → {after}")


def _write_diff(paper: Paper, change: Mapping[str, Any], margin: str) -> None:
    for line in change["diff"].removesuffix("\n").split("\n") if change["diff"] else ():
        if not (change["before"] is None and line.startswith("@@")):
            paper.line(margin, (line, _diff_style(line)))


def _diff_style(line: str) -> str:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def lost(resource: Mapping[str, Any]) -> str:
    """Return what a step that risks data would destroy, in words; empty where nothing is known of it."""
    kinds = [change["before"] for change in resource["changes"] if change["field"] == "kind" and change["before"]]
    words = [f"the {_kind_words(kind)} that stands there" for kind in kinds]
    inner = _in_the_way(resource)
    words.extend(f"the {_kind_words(kind)} {path}" for path, kind in inner[:SHOWN])
    if len(inner) > SHOWN:
        words.append(f"{len(inner) - SHOWN} more in the way")
    if takes := resource.get("takes", ()):
        where = " below it" if kinds else " beside" if inner else ""
        words.append(f"{_taken(takes)}{where}")
    return " and ".join(words)


def _in_the_way(resource: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return path and kind of what stands where a resource of many paths makes something of another kind."""
    root = resource["id"].partition(":")[2]
    found = []
    for change in resource["changes"]:
        name, kind = change["field"], str(change["before"]).removeprefix("residue ")
        is_own = change["after"] is None and name != "."
        if (name == "." or name.startswith(_PART)) and kind in _GIVING_WAY and not is_own:
            found.append((root if name == "." else f"{root}/{_relative(name)}", kind))
    return found


def _kind_words(kind: str) -> str:
    return _KINDS.get(kind, kind.replace("_", " "))


def short(value: object) -> str:
    """Return a value in a few characters."""
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = ", ".join(map(str, value)) or "(nothing)"
    text = str(value)
    if text.startswith(_BLOB):
        text = text[:17]
    return text if len(text) <= _LENGTH else text[: _LENGTH - 1] + "…"


def plural(count: int, noun: str) -> str:
    """Return `1 host`, `2 hosts`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
