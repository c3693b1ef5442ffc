"""What stands in the place of a file that the host's own programs read too, and is no file: it is told, and stays."""

from datum_providers.shared.adoption import KINDS


def in_place_of_file(path: str, kind: str) -> str:
    """Return the sentence of it.

    Args:
        path: of the file.
        kind: what is there, in the words of `FileKind`.
    """
    return f"{KINDS[kind].capitalize()} stands at '{path}', and no regular file; take it away, then apply again."
