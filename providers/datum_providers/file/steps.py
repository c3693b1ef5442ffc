"""From what is observed of a file to what is wanted: the step, and why it cannot be taken. Pure."""

from typing import Final

from datum.model.graph import Target
from datum.model.json import JsonObject, JsonValue
from datum.model.observation import Absent, NotApplicable, Present, Unobservable
from datum.model.plan import Change, Need, Operation, Step
from datum.provider.host import FileKind
from datum.provider.paths import parents
from datum_providers.file.desired import DesiredFile
from datum_providers.file.look import is_for_all, new_text

_REGULAR: Final = FileKind.REGULAR.value


def plan_file(desired: DesiredFile, observed: Present | Absent) -> Step | None:
    """Return the step; changes stand in the order kind, content, mode, owner, group, residue."""
    if isinstance(observed, Absent):
        return _make(Operation.CREATE, desired, observed, kind=None)
    kind = observed.fields.get("kind", _REGULAR)
    if kind != _REGULAR and isinstance(kind, str):
        return _make(Operation.REPLACE, desired, observed, kind=kind)
    changes = (*_differences(desired, observed), *_residue(observed))
    if not changes:
        return None
    changed = {change.name for change in changes}
    needs = tuple(need for need in _accounts(desired, observed) if need.target.kind in _spaces(changed))
    return Step(Operation.UPDATE, changes, needs)


def _make(operation: Operation, desired: DesiredFile, observed: Present | Absent, *, kind: str | None) -> Step:
    changes = [Change("kind", kind, _REGULAR)]
    if desired.content is not None:
        changes.append(_content_change(desired, None, {"text": ""}))
    wanted = (("mode", desired.mode), ("owner", desired.owner), ("group", desired.group))
    changes.extend(Change(name, None, value) for name, value in wanted if value is not None)
    needs = (*_room(desired, observed, kind), *_accounts(desired, observed))
    return Step(operation, (*changes, *_residue(observed)), needs)


def _differences(desired: DesiredFile, observed: Present) -> tuple[Change, ...]:
    changes: list[Change] = []
    if desired.content is not None:
        before = _comparable(observed, "content")
        if before is not None and before != f"blob:{desired.content.blob}":
            changes.append(_content_change(desired, before, observed.detail))
    for name, wanted in (("mode", desired.mode), ("owner", desired.owner), ("group", desired.group)):
        before = _comparable(observed, name)
        if wanted is not None and before is not None and before != wanted:
            changes.append(Change(name, before, wanted))
    return tuple(changes)


def _comparable(observed: Present, name: str) -> JsonValue:
    """Return what was observed of a field; None when it was not looked at, cannot be, or does not exist here."""
    value = observed.fields.get(name)
    return None if isinstance(value, (Unobservable, NotApplicable)) else value


def _content_change(desired: DesiredFile, before: JsonValue, detail: JsonObject) -> Change:
    content = desired.content
    assert content is not None  # noqa: S101  # only asked where a content is declared
    old = detail.get("text")
    return Change(
        "content",
        before,
        f"blob:{content.blob}",
        before_text=old if isinstance(old, str) else None,
        after_text=new_text(content),
        after_blob=content.blob if content.inline is None else "",
        is_private=detail.get("private") is True or not is_for_all(desired.mode or "0644"),
    )


def _residue(observed: Present | Absent) -> tuple[Change, ...]:
    return (Change("residue", before=True, after=False),) if observed.fields.get("residue") is True else ()


def _room(desired: DesiredFile, observed: Present | Absent, kind: str | None) -> list[Need]:
    needs = []
    if desired.content is None:
        detail = f"No content is declared, so {desired.path} cannot be made; declare content, source or template."
        needs.append(Need(Target("content", desired.path), detail))
    if kind == FileKind.DIRECTORY.value:
        detail = f"A directory stands at {desired.path}, and a file does not take its place; move it away."
        needs.append(Need(Target("free_path", desired.path), detail))
    missing = observed.fields.get("missing_parent")
    if isinstance(missing, str):
        needs.append(Need(Target("path", parents(desired.path)[0]), f"There is no directory {missing}."))
    return needs


def _accounts(desired: DesiredFile, observed: Present | Absent) -> list[Need]:
    needs = []
    if desired.owner is not None and observed.fields.get("owner_known") is False:
        needs.append(Need(Target("user", desired.owner), f"The user {desired.owner} does not exist."))
    if desired.group is not None and observed.fields.get("group_known") is False:
        needs.append(Need(Target("group", desired.group), f"The group {desired.group} does not exist."))
    return needs


def _spaces(changed: set[str]) -> set[str]:
    return {space for name, space in (("owner", "user"), ("group", "group")) if name in changed}
