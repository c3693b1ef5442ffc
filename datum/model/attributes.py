"""Attributes in a plain form, for people and for JSON. Pure."""

from datum.model.content import Content, Folder
from datum.model.json import JsonValue, thaw
from datum.model.manifest import AttributeValue, Late


def plain_attribute(value: AttributeValue) -> JsonValue:
    """Return what an attribute names or says: contents and folders by object id, late values unevaluated."""
    match value:
        case Content(blob=blob, source=source):
            return {"source": source, "blob": blob} if source else {"blob": blob}
        case Folder(tree=tree, source=source, entries=entries):
            return {"source": source, "tree": tree, "count": len(entries)}
        case Late(text=text, template=template):
            return {"late": template or text}
        case tuple() | list():
            return [plain_attribute(item) for item in value]
        case _:
            # Contents stand alone or in a list, never in a map.
            return thaw(value)
