"""Names of commits."""

import pytest

from datum.model.revision import Revision

SHA1, SHA256 = "a" * 40, "b" * 64


@pytest.mark.parametrize(
    "text",
    [f"sha1:{SHA1}", f"main@sha1:{SHA1}", f"release/2026@sha256:{SHA256}", f"sha256:{SHA256}", f"odd@name@sha1:{SHA1}"],
)
def test_the_text_form_is_read_and_written(text: str) -> None:
    found = Revision.parse(text)
    assert str(found) == text
    assert found == Revision.parse(found.key)


@pytest.mark.parametrize(
    "text",
    ["", SHA1, f"sha1:{SHA256}", f"sha256:{SHA1}", f"sha1:{SHA1[:-1]}", f"md5:{SHA1}", f"@sha1:{SHA1}",
     f"a b@sha1:{SHA1}", f"sha1:{SHA1.upper()}", f"sha1:{SHA1}\n", f"main@{SHA1}"],
)  # fmt: skip
def test_what_is_no_revision_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="no revision"):
        Revision.parse(text)


@pytest.mark.parametrize("commit", ["", "a" * 39, "A" * 40, "g" * 40, "a" * 41, "a" * 63, f"{SHA1}\n"])
def test_a_commit_is_whole_lower_case_hexadecimal(commit: str) -> None:
    with pytest.raises(ValueError, match="no object name"):
        Revision(commit)


@pytest.mark.parametrize(("commit", "algorithm"), [(SHA1, "sha256"), (SHA256, "sha1"), (SHA1, "md5")])
def test_the_algorithm_fits_the_commit(commit: str, algorithm: str) -> None:
    with pytest.raises(ValueError, match=algorithm):
        Revision(commit, algorithm=algorithm)


@pytest.mark.parametrize(("commit", "algorithm"), [(SHA1, "sha1"), (SHA256, "sha256")])
def test_the_length_tells_the_algorithm(commit: str, algorithm: str) -> None:
    assert Revision(commit).algorithm == algorithm
    assert Revision(commit).key == f"{algorithm}:{commit}"


def test_the_ref_takes_no_part_in_equality() -> None:
    assert Revision(SHA1, ref="main") == Revision(SHA1, ref="other") == Revision(SHA1)
    assert len({Revision(SHA1, ref="main"), Revision(SHA1)}) == 1
    assert Revision(SHA1) != Revision("b" * 40)


def test_the_short_form_has_twelve_digits() -> None:
    assert Revision("0123456789abcdef" + "0" * 24).short == "0123456789ab"
