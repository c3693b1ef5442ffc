"""`datum adopt`: declarations to be put into a host or layer file."""

import json
import re
import sys
from collections.abc import Mapping
from typing import Final

from datum.agent.adopting import Adopted
from datum.cli.views.paper import print_json
from datum.model.json import JsonValue, thaw

_PLAIN_KEY: Final = re.compile(r"[a-z][a-z0-9_]*:[A-Za-z0-9_./@+-]+")


def show(adopted: Adopted, *, is_json: bool) -> None:
    """Show what was adopted, as YAML whose values are written as in JSON; expressions are made literal."""
    resources = {str(origin): _literal(fields) for origin, fields in adopted.items()}
    if is_json:
        print_json({"schema_version": 1, "resources": resources})
        return
    # Not through `Paper`: it is for a file, and JSON's escapes leave nothing that a terminal would obey.
    lines = ["resources:"]
    for name, fields in resources.items():
        key = name if _PLAIN_KEY.fullmatch(name) else json.dumps(name)
        assert isinstance(fields, Mapping)  # noqa: S101  # the fields of a resource
        lines.append(f"  {key}:{'' if fields else ' {}'}")
        lines.extend(f"    {field}: {json.dumps(thaw(value))}" for field, value in sorted(fields.items()))
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _literal(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return value.replace("${", "$${")
        case Mapping():
            return {key: _literal(item) for key, item in value.items()}
        case tuple() | list():
            return [_literal(item) for item in value]
        case _:
            return value
