"""Revisions are read by this process: for authors, another root, and whoever is not root. The child runs it, too.

What reads them is imported when it is asked for: an agent that asks a child never has it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from datum.diagnostics import Diagnostic
from datum.fleet.nodes import Node
from datum.model.fleet import FleetHeader
from datum.model.identity import HostName, ResourceId
from datum.model.manifest import EffectiveManifest
from datum.model.observation import Machine
from datum.model.source import SourceTree
from datum.provider.contract import AnyProvider

if TYPE_CHECKING:
    from datum.repository.objects import ObjectReader


def read_here(data: bytes, path: str) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    """Read YAML in this process, which imports its parser by that: see `datum.fleet.yaml_reader.read_yaml`."""
    from datum.fleet.yaml_reader import read_yaml

    return read_yaml(data, path)


@frozen
class OwnManifests:
    """`Manifests`, read here."""

    providers: Mapping[str, AnyProvider]
    # The version of this agent.
    agent: str

    def objects(self, path: Path) -> "ObjectReader":
        """Return what reads the objects of a repository; large ones come from the git program."""
        from datum.host.output import open_output
        from datum.repository.mirror import ADVICE
        from datum.repository.objects import ObjectReader

        return ObjectReader(path, advice=ADVICE, open_output=open_output)

    def load(self, providers: Sequence[AnyProvider]) -> None:
        """Load what later answers may need."""
        from datum.agent.preload import load_rest

        load_rest(providers, reads_revisions=True)

    def yaml(self, data: bytes, path: str) -> tuple[Node | None, tuple[Diagnostic, ...]]:
        """Return what a YAML file of this host says, and what is wrong with it."""
        return read_here(data, path)

    def header(self, tree: SourceTree) -> FleetHeader:
        """Return which fleet a revision is of, and who may read it.

        Raises:
            FleetError: that part of fleet.yaml is wrong.
        """
        from datum.fleet.header import read_header

        return read_header(tree)

    def manifest(self, tree: SourceTree, host: HostName) -> EffectiveManifest:
        """Return what a revision declares for a host.

        Raises:
            HostNotInFleetError: nothing.
            FleetError: with everything that is wrong for this host.
        """
        from datum.fleet.resolve import resolve_manifest

        return resolve_manifest(tree, host, self.providers, agent_version=self.agent)

    def concrete(
        self, manifest: EffectiveManifest, tree: SourceTree, machine: Machine
    ) -> tuple[EffectiveManifest, Mapping[ResourceId, Diagnostic]]:
        """Return a manifest with its late values replaced, and where that was not possible."""
        from datum.fleet.late import substitute

        return substitute(manifest, tree, machine)
