"""Whether the files that manifests name can be read; a resolution itself reads none of them. Pure."""

from collections.abc import Iterable, Iterator

from datum.diagnostics import Diagnostic
from datum.errors import FleetError
from datum.model.content import Content, Folder
from datum.model.manifest import EffectiveManifest
from datum.model.source import EntryKind, SourceTree


def unreadable_files(tree: SourceTree, manifests: Iterable[EffectiveManifest]) -> tuple[Diagnostic, ...]:
    """Open every file that a manifest names, each object once, and return what the tree refuses: LFS pointers.

    Raises:
        RepositoryError: an object is missing or damaged.
    """
    found: list[Diagnostic] = []
    for blob in sorted(set(_files(manifests))):
        try:
            tree.open_blob(blob).close()
        except FleetError as error:
            found.extend(error.diagnostics)
    return tuple(found)


def _files(manifests: Iterable[EffectiveManifest]) -> Iterator[str]:
    """Give the object ids of files; links and what is held in memory were read already."""
    for manifest in manifests:
        for resource in manifest.resources:
            for value in resource.attributes.values():
                if isinstance(value, Folder):
                    yield from (entry.blob for entry in value.entries if entry.kind is not EntryKind.SYMLINK)
                elif isinstance(value, Content) and value.inline is None:
                    yield value.blob
