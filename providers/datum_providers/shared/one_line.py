"""Texts that stand in one line of a file that a program reads. Pure."""

import re
from typing import Final

from datum.model.secret import Secret
from datum.provider.contract import DesiredError

_BROKEN: Final = re.compile(r"[\x00-\x1f\x7f]")


def parse_line(attribute: str, value: object, *, what: str) -> str | None:
    """Return a text of one line; None for none.

    Args:
        attribute: name of the field.
        value: as it is declared.
        what: it is, at the beginning of a sentence.

    Raises:
        DesiredError: it is no text, empty, has more lines, or is a secret: everybody may read the file.
    """
    if value is None:
        return None
    if isinstance(value, Secret):
        raise DesiredError(
            attribute,
            "a secret stands here, and everybody on the host may read the file that it would be written to.",
            hint="put it into a file that only its user can read, and name that",
            code="secret-shown",
        )
    if not isinstance(value, str) or not value.strip():
        raise DesiredError(attribute, f"{what} is a text that is not empty.")
    if _BROKEN.search(value):
        raise DesiredError(attribute, f"{what} is one line, without tabs and other control characters.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DesiredError(attribute, f"{what} holds half of a surrogate pair, which has no bytes.") from error
    return value
