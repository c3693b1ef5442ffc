"""The files that a remote needs: token, password, keys, known hosts, authorities. Effects: reads them.

What is wrong with one is an error of its remote: the next remote is asked, and drift is repaired meanwhile.
"""

import os
import re
import stat
from contextlib import suppress
from typing import Final, NoReturn, Protocol

from datum.diagnostics import Diagnostic
from datum.errors import RepositoryUnreachableError

_EXPOSED: Final = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO
_TOKEN_LIMIT: Final = 4096
# What a header can hold without any escape.
_TOKEN: Final = re.compile(rb"[\x21-\x7e]+")
_PASSWORD: Final = re.compile(rb"[^\x00-\x1f\x7f]+")


class Reader(Protocol):
    """The account under which the source is asked: what it needs may be its own, and may be read by its group."""

    @property
    def uid(self) -> int:
        """Its user."""

    @property
    def gid(self) -> int:
        """Its group."""


def read_token(path: str, reader: Reader | None) -> str:
    """Return the token that a file holds, without the end of its line.

    Raises:
        RepositoryUnreachableError: it cannot be read, others may read it, or it holds something else.
    """
    data = _read_secret(path, reader)
    token = data.strip()
    if len(data) > _TOKEN_LIMIT or not _TOKEN.fullmatch(token):
        _fail(
            "token-malformed",
            "The token is not usable.",
            f"{path} is empty, or holds something else than one word of at most {_TOKEN_LIMIT} characters.",
            "Write the token into it, and nothing else.",
        )
    return token.decode("ascii")


def read_password(path: str, reader: Reader | None) -> str:
    """Return the password that a file holds: all of it but the end of its one line.

    Raises:
        RepositoryUnreachableError: it cannot be read, others may read it, or it holds something else.
    """
    data = _read_secret(path, reader)
    password = data.removesuffix(b"\n").removesuffix(b"\r")
    text = ""
    if len(data) <= _TOKEN_LIMIT and _PASSWORD.fullmatch(password):
        with suppress(UnicodeDecodeError):
            text = password.decode()
    if not text:
        _fail(
            "password-malformed",
            "The password is not usable.",
            f"{path} is empty, or holds something else than one line of text of at most {_TOKEN_LIMIT} bytes.",
            "Write the password into it, and nothing else.",
        )
    return text


def _read_secret(path: str, reader: Reader | None) -> bytes:
    descriptor = _open(path)
    with os.fdopen(descriptor, "rb") as stream:
        _refuse_exposed(path, os.fstat(descriptor), reader)
        return stream.read(_TOKEN_LIMIT + 1)


def check_key(path: str, reader: Reader | None) -> None:
    """Make sure that a private key is there, and that others may not read it.

    Raises:
        RepositoryUnreachableError: it is not.
    """
    descriptor = _open(path)
    try:
        _refuse_exposed(path, os.fstat(descriptor), reader)
    finally:
        os.close(descriptor)


def check_readable(path: str) -> None:
    """Make sure that a file is there and may be read.

    Raises:
        RepositoryUnreachableError: it is not.
    """
    os.close(_open(path))


def _open(path: str) -> int:
    try:
        # What is no regular file must not hang the pass.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        _unreadable(path, error.strerror or str(error))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        _unreadable(path, "It is no regular file")
    return descriptor


def _unreadable(path: str, reason: str) -> NoReturn:
    _fail(
        "source-file-unreadable",
        "A file that the source needs cannot be read.",
        f"{path}: {reason}.",
        "Put it there, or correct its path in the agent's configuration.",
    )


def _refuse_exposed(path: str, status: os.stat_result, reader: Reader | None) -> None:
    found = stat.S_IMODE(status.st_mode)
    owners = {0, os.geteuid(), *({reader.uid} if reader else ())}
    # Of a group, reading is for the account alone.
    open_to = _EXPOSED if reader and status.st_gid == reader.gid else _EXPOSED | stat.S_IRGRP
    if found & open_to or status.st_uid not in owners:
        _fail(
            "source-file-exposed",
            "A secret of the source may be read by others.",
            f"{path} has mode {found:04o}, and is of the user {status.st_uid} and the group {status.st_gid}.",
            "Replace the secret if others had the time to read it, and let the file be root's with mode 600; or with "
            f"mode 640 and the group of the account of the source{f', {reader.gid}' if reader else ''}.",
        )


def _fail(code: str, summary: str, detail: str, hint: str) -> NoReturn:
    raise RepositoryUnreachableError(Diagnostic(code=code, summary=summary, detail=detail, hint=hint))
