"""What stands at the path of a file of cron. Reads the host; changes nothing."""

from typing import Final

from datum.model.content import blob_id
from datum.model.json import JsonObject
from datum.model.observation import Absent, FieldValue, Observation, Present
from datum.provider.host import HostError, HostReader
from datum_providers.cron.desired import FOLDER, ROOT, DesiredCron
from datum_providers.shared.root_files import NONE, see_file
from datum_providers.shared.texts import TEXT_LIMIT, text_detail

LIMIT: Final = 8 * 1024 * 1024
"""Bytes of such a file that are looked at."""


def observe_cron(reader: HostReader, wanted: DesiredCron) -> Observation:
    """Look at one file."""
    try:
        seen = see_file(reader, wanted.path, limit=LIMIT)
        fields: dict[str, FieldValue] = {**seen.fields, **_unknown_user(reader, wanted)}
        if seen.fields["kind"] == NONE:
            del fields["kind"]
            if seen.first_missing != wanted.path:
                fields["missing_parent"] = FOLDER
            return Absent(fields)
    except HostError as error:
        return error.unobservable()
    detail: JsonObject = {}
    if seen.data is not None:
        algorithm = wanted.content.algorithm if wanted.content is not None else "sha1"
        fields["content"] = f"blob:{blob_id(seen.data, algorithm)}"
        is_other = wanted.content is None or wanted.content.blob != blob_id(seen.data, algorithm)
        detail = text_detail(seen.data) if is_other and len(seen.data) <= TEXT_LIMIT else {}
    return Present(fields, detail, seen.identity, holds=seen.holds, mounts=seen.mounts)


def _unknown_user(reader: HostReader, wanted: DesiredCron) -> dict[str, FieldValue]:
    """Return `user_known` where there is no such user; cron then reads nothing of the file."""
    is_known = wanted.user in {"", ROOT} or reader.user_id(wanted.user) is not None
    return {} if is_known else {"user_known": False}
