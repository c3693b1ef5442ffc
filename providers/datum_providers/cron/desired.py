"""What a declaration of a file of cron means, in normal form. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from datum.model.content import Content
from datum.model.manifest import AttributeValue
from datum.provider.contract import DesiredError
from datum_providers.cron.schedule import parse_schedule
from datum_providers.shared.accounts import is_number, parse_account
from datum_providers.shared.contents import parse_content
from datum_providers.shared.one_line import parse_line
from datum_providers.shared.programs import parse_environment

FOLDER: Final = "/etc/cron.d"
CONTENT_FIELDS: Final = ("content", "template")
"""The fields that say the file as a whole."""

ROOT: Final = "root"

LONGEST: Final = 998
"""Bytes of a command; cron cuts what is longer (MAX_COMMAND)."""

_JOB_FIELDS: Final = ("schedule", "command", "user", "environment")
# What cron takes for a file of its own, as run-parts(8) does: no dot, so no leftover of an editor or of dpkg.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_NAME: Final = 200


@frozen
class DesiredCron:
    """A file in /etc/cron.d."""

    name: str
    # None: only that it is there.
    content: Content | None = None
    # As whom the command runs; empty where the file is said as a whole.
    user: str = ""

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{FOLDER}/{self.name}"


def normal_name(name: str) -> str:
    """Return the name, which has one spelling.

    Raises:
        DesiredError: cron would not read a file of that name.
    """
    if _NAME.fullmatch(name) and len(name) <= _LONGEST_NAME:
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name.removeprefix(f"{FOLDER}/")).strip("-")
    raise DesiredError(
        "",
        f"'{name}' is no name of a file that cron reads: letters, digits, _ and -, and no dot.",
        hint=f"Write cron:{plain}" if plain and len(plain) <= _LONGEST_NAME else "",
        code="bad-resource-name",
    )


def parse_cron(name: str, attributes: Mapping[str, AttributeValue]) -> DesiredCron:
    """Read the attributes of one file.

    Raises:
        DesiredError: a job and a whole file, half a job, or a value that cannot be meant.
    """
    job = [field for field in _JOB_FIELDS if attributes.get(field) is not None]
    content = parse_content(attributes, CONTENT_FIELDS)
    if content is not None:
        if job:
            whole = next(field for field in CONTENT_FIELDS if attributes.get(field) is not None)
            raise DesiredError(
                whole,
                f"{whole} is the file as a whole, and {job[0]} is declared, too.",
                hint=f"write {job[0]} into the file, or take {whole} out",
                code="two-contents",
            )
        return DesiredCron(normal_name(name), _whole(content))
    if not job:
        return DesiredCron(normal_name(name))
    user = _user(attributes.get("user"))
    return DesiredCron(normal_name(name), Content.from_bytes(_render(attributes, user).encode()), user)


def _whole(content: Content) -> Content:
    """End the last line, which cron would not read otherwise."""
    data = content.inline
    if data is None or data.endswith(b"\n"):
        return content
    return Content.from_bytes(data + b"\n", source=content.source, algorithm=content.algorithm)


def _render(attributes: Mapping[str, AttributeValue], user: str) -> str:
    schedule = parse_line("schedule", attributes.get("schedule"), what="a schedule")
    command = parse_line("command", attributes.get("command"), what="a command")
    if schedule is None or command is None:
        missing, other = ("schedule", "command") if schedule is None else ("command", "schedule")
        if schedule is None and command is None:
            other = next(field for field in _JOB_FIELDS if attributes.get(field) is not None)
        raise DesiredError(other, f"{other} is declared and {missing} is not.", hint=f"declare {missing}")
    try:
        when = parse_schedule(schedule)
    except ValueError as error:
        raise DesiredError("schedule", f"{error}.", hint='schedule: "30 4 * * 1-5"', code="bad-schedule") from error
    variables = parse_environment("environment", attributes.get("environment"))
    lines = [f"{name}={_quoted(name, text)}" for name, text in variables.items()]
    return "".join(f"{line}\n" for line in (*lines, f"{when} {user} {_command(command)}"))


def _command(text: str) -> str:
    """Return a command as cron passes it on unchanged: a bare percent sign would end it, and begin its input."""
    if "\\\\" in text or "\\%" in text:
        raise DesiredError(
            "command",
            "a backslash stands before another one or before a percent sign, and what cron makes of it differs.",
            hint="write % alone, it is escaped for cron by itself; a command with two backslashes goes into a script",
        )
    plain = text.strip()
    escaped = plain.replace("%", "\\%")
    if len(escaped.encode()) > LONGEST:
        raise DesiredError(
            "command", f"the command is longer than the {LONGEST} bytes that cron reads.", hint="put it into a script"
        )
    return escaped


def _quoted(name: str, text: str) -> str:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise DesiredError("environment", f"the value of {name} is one line, without control characters.")
    quote = "'" if '"' in text else '"'
    if quote in text:
        raise DesiredError(
            "environment", f"the value of {name} holds both kinds of quotes, which cron cannot be told.",
            hint="set it in the command, or in a script",
        )  # fmt: skip
    return f"{quote}{text}{quote}"


def _user(value: AttributeValue) -> str:
    user = parse_account("user", value) or ROOT
    if is_number(user):
        raise DesiredError("user", "cron takes the name of a user, and no number.", code="bad-account")
    return user
