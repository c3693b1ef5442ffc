"""What the agent asks of whoever reads revisions. A protocol only."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from datum.diagnostics import Diagnostic
from datum.fleet.nodes import Node
from datum.model.fleet import FleetHeader
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import EffectiveManifest
from datum.model.observation import Machine
from datum.model.source import SourceTree
from datum.provider.contract import AnyProvider
from datum.repository.reading import Objects


class Manifests(Protocol):
    """Reads objects, YAML, expressions and templates of revisions, and answers with frozen values of the model.

    Trees are those that its own `objects` gives. Equal questions have equal answers, whoever answers.
    """

    def objects(self, path: Path) -> Objects:
        """Return what reads the objects of a repository, or of one that is made later."""
        ...

    def load(self, providers: Sequence[AnyProvider]) -> None:
        """Load what later answers may need, since the agent's own files may be replaced from now on."""
        ...

    def yaml(self, data: bytes, path: str) -> tuple[Node | None, tuple[Diagnostic, ...]]:
        """Return what a YAML file of this host says, and what is wrong with it.

        As `datum.fleet.yaml_reader.read_yaml`.
        """
        ...

    def header(self, tree: SourceTree) -> FleetHeader:
        """Return which fleet a revision is of, and who may read it.

        Raises:
            FleetError: that part of fleet.yaml is wrong.
        """
        ...

    def manifest(self, tree: SourceTree, host: HostName) -> EffectiveManifest:
        """Return what a revision declares for a host.

        Raises:
            HostNotInFleetError: nothing.
            FleetError: with everything that is wrong for this host.
        """
        ...

    def concrete(
        self, manifest: EffectiveManifest, tree: SourceTree, machine: Machine
    ) -> tuple[EffectiveManifest, Mapping[ResourceId, Diagnostic]]:
        """Return a manifest of this tree with its late values replaced, and where that was not possible.

        As `datum.fleet.late.substitute`.
        """
        ...
