"""A secret shows itself nowhere."""

import copy
import json
import logging
import pickle
import traceback

import pytest

from datum.model.secret import HIDDEN, Secret

PLANTED = b"s3cr3t-words"
SECRET = Secret(PLANTED)


@pytest.mark.parametrize(
    "shown",
    [
        repr(SECRET),
        str(SECRET),
        f"{SECRET}",
        f"{SECRET!r:>40}",
        f"{SECRET:>40}",
        "{}".format(SECRET),  # noqa: UP032  # another road to the text
        "%s %r" % (SECRET, SECRET),  # noqa: UP031  # another road to the text
        repr([SECRET, {"a": SECRET}]),
        str(ValueError(SECRET)),
    ],
    ids=["repr", "str", "format", "aligned-repr", "aligned", "str-format", "percent", "nested", "error"],
)
def test_no_text_form_holds_it(shown: str) -> None:
    assert PLANTED.decode() not in shown
    assert HIDDEN in shown


def test_a_log_does_not_hold_it(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("datum").warning("%s %r", SECRET, SECRET)
    assert PLANTED.decode() not in caplog.text


def test_a_traceback_does_not_hold_it() -> None:
    def fail(secret: Secret) -> None:
        raise ValueError(secret)

    with pytest.raises(ValueError, match="secret") as caught:
        fail(SECRET)
    text = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert f"secret = {HIDDEN}" in text
    assert PLANTED.decode() not in text


@pytest.mark.parametrize("road", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_it_is_not_pickled_or_copied(road: object) -> None:
    assert callable(road)
    with pytest.raises(TypeError, match="not pickled"):
        road(SECRET)


def test_it_is_no_json() -> None:
    with pytest.raises(TypeError) as caught:
        json.dumps(SECRET)
    assert PLANTED.decode() not in str(caught.value)


def test_it_is_revealed_on_purpose_only() -> None:
    assert SECRET.reveal == PLANTED
    assert Secret(PLANTED) == SECRET
    assert Secret(b"other") != SECRET
