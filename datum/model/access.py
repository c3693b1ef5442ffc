"""Who may read what, as far as declarations say it: rights, accounts, and programs that run as accounts. Pure.

Everything here is of desired state alone. What is not declared is None, and nothing is concluded from it.
"""

from typing import TypeAlias

from attrs import frozen


@frozen
class Rights:
    """Mode and owners of one path, as they will be once the resource is as declared."""

    path: str
    # Four octal digits.
    mode: str | None
    # Name of an account, or the digits of an id.
    owner: str | None
    group: str | None
    is_directory: bool = False


@frozen
class UserAccount:
    """One declared user."""

    name: str
    uid: int | None = None
    # The primary group: a name, or digits.
    group: str | None = None
    # Names of supplementary groups.
    groups: tuple[str, ...] = ()


@frozen
class GroupAccount:
    """One declared group."""

    name: str
    gid: int | None = None
    # Names of users; None where any may be listed.
    members: tuple[str, ...] | None = None


@frozen
class Wish:
    """One path that a program is told of."""

    path: str
    # Where it is told, for people: `ExecStart=`.
    said_in: str
    # It is run; else it is read, or entered if it is a directory.
    is_program: bool = False


@frozen
class Consumer:
    """A program that runs as another account than root, and the paths that it must be able to read."""

    # Name of an account, or the digits of an id.
    account: str
    # The account is made for the program and gone after it (`DynamicUser=`); one that is declared is taken instead.
    is_dynamic: bool = False
    # The group that stands in the place of the account's primary one; None: that one.
    group: str | None = None
    # Groups beside those of the account.
    groups: tuple[str, ...] = ()
    wishes: tuple[Wish, ...] = ()
    # It also reads the files after whose change what runs it owes a restart or a reload.
    reads_listed: bool = False
    # Paths of such files that are read for it by root, and directories below which all are.
    spared: frozenset[str] = frozenset()


Access: TypeAlias = Rights | UserAccount | GroupAccount | Consumer
