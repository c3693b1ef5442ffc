"""Names of remotes and refs: what may stand in the configuration, and how it is shown. Pure."""

import os
import re
from typing import Final
from urllib.parse import unquote, urlsplit

from datum.diagnostics import Diagnostic
from datum.errors import SettingsError

_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
# git's own short form of ssh: a colon before the first slash.
_SCP: Final = re.compile(r"[^/:]+:")
_HIDDEN: Final = re.compile(r"[?#]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
# What git-check-ref-format refuses.
_BAD_REF: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/]|(^|/)\.|/$|\.$|\.lock(/|$)|^@$")
# Bytes. A ref is a file, and has to fit into one line of git's protocol.
_REF_LIMIT: Final = 1024
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def normal_remote(text: str) -> str:
    """Return the absolute path of a remote, given as a path or as a `file://` URL.

    Raises:
        SettingsError: anything else; other transports are not in this version. No message shows credentials.
    """
    scheme = _SCHEME.match(text)
    is_file = scheme is not None and scheme["scheme"].lower() == "file"
    path = _file_path(text) if is_file else text
    if _CONTROL.search(path):
        raise SettingsError(
            Diagnostic(
                code="remote-malformed",
                summary="The remote is not usable.",
                detail="The remote holds a control character.",
                hint="Write the absolute path of the repository, or a file:// URL with %-escapes.",
            )
        )
    if not is_file and (scheme is not None or _SCP.match(text)):
        raise _other_transport(text, scheme["scheme"].lower() if scheme else "ssh")
    if not path.startswith("/"):
        raise SettingsError(
            Diagnostic(
                code="remote-relative",
                summary="The remote is a relative path.",
                detail=f"'{text}' depends on the directory that the agent is started in.",
                hint="Write the absolute path of the repository, or a file:// URL.",
            )
        )
    return "/" + "/".join(name for name in path.split("/") if name not in {"", "."})


def _file_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise SettingsError(
            Diagnostic(
                code="remote-malformed",
                summary="The remote is not usable.",
                detail=f"The file URL '{shown_remote(url)}' names a host, and only files of this host can be read.",
                hint="Write three slashes: file:///srv/fleet.git.",
            )
        )
    return unquote(url.split("://", 1)[1].removeprefix("localhost"), errors="surrogateescape")


def _other_transport(text: str, scheme: str) -> SettingsError:
    return SettingsError(
        Diagnostic(
            code="not-in-this-version",
            summary="This transport is not in this version.",
            detail=f"The remote '{shown_remote(text)}' needs {scheme}; this version reads repositories of this host.",
            hint="Write the absolute path of a repository, or a file:// URL; another job can keep that one up to date.",
        )
    )


def shown_remote(text: str) -> str:
    """Return a remote as it may be shown: without user, password, query and fragment."""
    scheme = _SCHEME.match(text)
    if scheme is None:
        # A password in git's short form is not possible, but people paste what they have.
        head, at, tail = text.rpartition("@")
        return tail if at and ":" in head and "/" not in head else text
    rest, *hidden = _HIDDEN.split(text[scheme.end() :], maxsplit=1)
    if hidden and "@" in hidden[0]:
        # It may be a password with such a character in it, which `rest` begins with.
        rest = "..."
    return scheme[0] + rest.rpartition("@")[2]


def full_names(ref: str) -> tuple[str, ...]:
    """Return the full names that a ref of the configuration may mean; more than one existing is ambiguous.

    Raises:
        SettingsError: git has no ref of that form.
    """
    if _COMMIT.fullmatch(ref):
        raise SettingsError(
            Diagnostic(
                code="ref-malformed",
                summary="The ref is no ref.",
                detail=f"'{ref}' is the id of a commit, and a source follows a branch or a tag.",
                hint="Name a branch, such as main; --rev pins one commit.",
            )
        )
    if not 0 < len(os.fsencode(ref)) <= _REF_LIMIT or _BAD_REF.search(ref):
        raise SettingsError(
            Diagnostic(
                code="ref-malformed",
                summary="The ref is no ref.",
                detail=f"git has no branch or tag of the form '{ref[:_REF_LIMIT]}'.",
                hint="Name a branch, such as main, or a tag.",
            )
        )
    if ref == "HEAD" or ref.startswith("refs/"):
        return (ref,)
    return (f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/{ref}")
