"""What a program that is enclosed sees of the file system. A value; `datum.host.enclosed` has it come true."""

from attrs import frozen


@frozen
class View:
    """All is read-only, and `/tmp` and `/var/tmp` are empty, small and the program's own; but for what stands here.

    Nothing here gives rights: owners and modes count as ever. Paths are absolute; what is not there is passed over.
    """

    # Folders that may be written; these must be there.
    writable: tuple[str, ...] = ()
    # Folders that seem to be empty, and files that seem to be.
    hidden: tuple[str, ...] = ()
    # Files and folders that are seen although they are hidden, or lie in what is.
    readable: tuple[str, ...] = ()
