"""Templates of the fleet repository (design 2.3). Pure: bytes of the tree and values in, bytes out."""

from datum.diagnostics import SourceLocation
from datum.fleet.expressions import Scope
from datum.model.manifest import Late
from datum.model.observation import Machine
from datum.model.source import SourceTree


def render_template(tree: SourceTree, path: str, scope: Scope, location: SourceLocation) -> bytes | Late:
    """Render a template of the tree."""
    raise NotImplementedError


def render_late(tree: SourceTree, late: Late, machine: Machine) -> bytes:
    """Finish a late template."""
    raise NotImplementedError
