"""Bytes named as git names them."""

import pytest

from datum.model.content import Content, blob_id


@pytest.mark.parametrize(
    ("data", "algorithm", "name"),
    [
        # As `git hash-object --stdin` prints them.
        (b"", "sha1", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        (b"hello\n", "sha1", "ce013625030ba8dba906f756967f9e9ca394464a"),
        (b"", "sha256", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"),
    ],
)
def test_bytes_have_the_name_that_git_gives_them(data: bytes, algorithm: str, name: str) -> None:
    assert blob_id(data, algorithm) == name
    content = Content.from_bytes(data, algorithm=algorithm)
    assert (content.blob, content.inline, content.algorithm) == (name, data, algorithm)


def test_sha1_is_the_default() -> None:
    assert blob_id(b"x") == blob_id(b"x", "sha1")
    assert Content.from_bytes(b"x").algorithm == "sha1"


def test_bytes_at_hand_equal_the_object_that_names_them() -> None:
    held = Content.from_bytes(b"secret words", source="files/a")
    assert held == Content(held.blob, source="files/a")
    assert held.source == "files/a"
    assert "secret words" not in repr(held)
