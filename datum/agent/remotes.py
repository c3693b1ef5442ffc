"""Which remotes the fleet repository is had from, and with what access: from configuration and command line. Pure.

One remote is `repo` with its access beside it below `source`; several are the list `source.remotes`, in the order in
which they are asked. Credentials go to the remote that they stand with, and nowhere else.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

from attrs import evolve, field, frozen

from datum.diagnostics import Diagnostic, SourceLocation
from datum.errors import SettingsError
from datum.model.json import JsonValue
from datum.repository.remote import Remote, Transport, normal_jump, normal_proxy, normal_remote

LIST: Final = "source.remotes"
ACCESS: Final[Mapping[str, Transport]] = {
    "ca_file": Transport.HTTPS,
    "token_file": Transport.HTTPS,
    "token_user": Transport.HTTPS,
    "proxy": Transport.HTTPS,
    "proxy_user": Transport.HTTPS,
    "proxy_password_file": Transport.HTTPS,
    "cert_file": Transport.HTTPS,
    "cert_key_file": Transport.HTTPS,
    "key_file": Transport.SSH,
    "known_hosts_file": Transport.SSH,
    "jump": Transport.SSH,
}
"""Keys beside a remote's URL, and what they are for."""

_NEEDED: Final = {Transport.SSH: ("key_file", "known_hosts_file")}
# Where one key is said, the other has to be.
_TOGETHER: Final = (
    ("proxy_user", "proxy_password_file"),
    ("proxy_password_file", "proxy_user"),
    ("proxy_user", "proxy"),
    ("cert_file", "cert_key_file"),
    ("cert_key_file", "cert_file"),
)
_USER: Final = re.compile(r"[\x21-\x39\x3b-\x7e]+")


@frozen
class Said:
    """What the configuration says, flat: `source.timeout`, `source.remotes.0.url`; every value was checked."""

    values: Mapping[str, JsonValue] = field(factory=dict)
    locations: Mapping[str, SourceLocation] = field(factory=dict)

    def text(self, key: str) -> str:
        """Return a text; empty where it is not said."""
        value = self.values.get(key, "")
        return value if isinstance(value, str) else ""


def remotes_of(said: Said, option: str | None, place: Callable[[str], str]) -> tuple[Remote, ...]:
    """Return the remotes in the order in which they are asked; none where none is said.

    Args:
        said: the configuration.
        option: the remote that the command line names: it is the only one, with the access of an equal one if there is
            one. Where the file names none, what stands below `source` is its access.
        place: returns a path of the configuration as this process reaches it.

    Raises:
        SettingsError: a remote cannot be used; with its place where it has one.
    """
    places = [(f"{LIST}.{number}.url", f"{LIST}.{number}.") for number in range(_count(said))]
    if option is not None:
        return (_named(said, normal_remote(option), places or [("repo", "source.")], place),)
    if not places:
        return (_remote(said, "repo", "source.", place),) if said.text("repo") else ()
    if said.text("repo"):
        detail = f"'repo' and '{LIST}' both say where the repository is."
        raise _wrong(said, "repo", detail, "remove it, or move it into the list")
    for key in ACCESS:
        if f"source.{key}" in said.values:
            detail = f"'source.{key}' belongs to no remote: these are a list."
            raise _wrong(said, f"source.{key}", detail, f"move it into an entry of '{LIST}'")
    return tuple(_remote(said, key, prefix, place) for key, prefix in places)


def _named(said: Said, url: str, places: Iterable[tuple[str, str]], place: Callable[[str], str]) -> Remote:
    """Return the remote of the command line; what is wrong with others is not looked at."""
    for key, prefix in places:
        text = said.text(key)
        if _is(url, text) or (key == "repo" and not text):
            return _with_access(said, url, prefix, place, at=key)
    return _with_access(said, url, "", place)


def _is(url: str, text: str) -> bool:
    with suppress(SettingsError):
        return normal_remote(text) == url
    return False


def _count(said: Said) -> int:
    numbers = [int(key.split(".")[2]) for key in said.values if key.startswith(f"{LIST}.")]
    return max(numbers, default=-1) + 1


def _remote(said: Said, key: str, prefix: str, place: Callable[[str], str]) -> Remote:
    if not said.text(key):
        at = next(name for name in said.values if name.startswith(prefix))
        raise _wrong(said, at, f"'{key}' is not said.", "say where this repository is")
    try:
        url = normal_remote(said.text(key))
    except SettingsError as error:
        raise _placed(error, said.locations.get(key)) from error
    return _with_access(said, url, prefix, place, at=key)


def _with_access(said: Said, url: str, prefix: str, place: Callable[[str], str], *, at: str = "") -> Remote:
    transport = Remote(url).transport
    found = {key: said.text(f"{prefix}{key}") for key in ACCESS if prefix and f"{prefix}{key}" in said.values}
    for key in found:
        if ACCESS[key] is not transport:
            detail = f"'{prefix}{key}' is for {ACCESS[key]}, and {url} is reached by {transport}."
            raise _wrong(said, f"{prefix}{key}", detail, "remove it")
    missing = [key for key in _NEEDED.get(transport, ()) if key not in found]
    if missing:
        where = f"'{prefix or 'source.'}{missing[0]}'"
        raise _wrong(
            said,
            at,
            f"{url} is reached by {transport}, and {where} is not said.",
            "name the file of a private key, and one with the keys of the server as ssh-keyscan prints them, checked "
            "with whoever runs it",
        )
    for key, other in _TOGETHER:
        if key in found and other not in found:
            detail = f"'{prefix}{key}' is said, and '{prefix}{other}' is not."
            raise _wrong(said, f"{prefix}{key}", detail, f"say '{prefix}{other}', or remove '{prefix}{key}'")
    paths = {key: place(value) for key, value in found.items() if key.endswith("_file")}
    normal = {"proxy": normal_proxy, "jump": normal_jump}
    texts = {key: normal[key](value) if key in normal else value for key, value in found.items()}
    return Remote(url, **{**texts, **paths})


def _wrong(said: Said, key: str, detail: str, hint: str) -> SettingsError:
    location = said.locations.get(key)
    return SettingsError(
        Diagnostic(
            location=location,
            code="bad-config",
            summary="The agent's configuration is wrong.",
            detail=detail,
            hint=hint,
        )
    )


def _placed(error: SettingsError, location: SourceLocation | None) -> SettingsError:
    return SettingsError(*(evolve(item, location=location) for item in error.diagnostics))


def is_proxy(value: JsonValue) -> str:
    """Return what is wrong with a proxy; empty: nothing."""
    return _refusal(normal_proxy, value)


def is_jump(value: JsonValue) -> str:
    """Return what is wrong with a jump host; empty: nothing."""
    return _refusal(normal_jump, value)


def is_token_user(value: JsonValue) -> str:
    """Return what is wrong with the user of a token or a proxy; empty: nothing."""
    good = isinstance(value, str) and _USER.fullmatch(value)
    return "" if good else "a name without blanks and colons is expected"


def _refusal(normal: Callable[[str], str], value: JsonValue) -> str:
    if not isinstance(value, str) or not value:
        return "a text is expected"
    try:
        normal(value)
    except SettingsError as error:
        found = error.diagnostics[0]
        return f"{found.detail} {found.hint}".rstrip(".")
    return ""
