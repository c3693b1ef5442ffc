"""The pointer's file: round trip, refusals, durability."""

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datum.errors import DatumError, ExitCode, PermissionRefusedError, SettingsError, StateError
from datum.model.identity import HostName
from datum.model.pointer import Pointer, TrailEntry
from datum.model.revision import Revision
from datum.state.pointer_file import check_binding, encode_pointer, read_pointer, write_pointer

HOST = HostName("web1")
FLEET = "0c0f7a52-6c6e-4b0e-9f0e-3b2f6f1d2a11"
A, B = Revision("a" * 40), Revision("b" * 64, algorithm="sha256")
FULL = Pointer(FLEET, HOST, A, B, (TrailEntry(A, HostName("old")), TrailEntry(B, HOST)), A, A, (A,), B, sealed=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pointer.json"


def document(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_bytes())
    return loaded


def refusal(call: Callable[[], object], code: str) -> DatumError:
    with pytest.raises(StateError) as caught:
        call()
    assert caught.value.exit_code is ExitCode.IOERR
    assert caught.value.diagnostics[0].code == code
    assert caught.value.diagnostics[0].hint
    return caught.value


def test_missing_file_is_first_contact(path: Path) -> None:
    assert read_pointer(path) is None


@pytest.mark.parametrize("pointer", [FULL, Pointer(FLEET, HOST)])
def test_what_is_written_is_read(path: Path, pointer: Pointer) -> None:
    write_pointer(path, pointer)
    assert read_pointer(path) == pointer


def test_the_file_is_private_and_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        write_pointer(path, FULL)
        os.umask(0o777)
        write_pointer(path, Pointer(FLEET, HOST))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_the_file_holds_exactly_the_fields_of_the_design_and_no_ref(path: Path) -> None:
    write_pointer(path, Pointer(FLEET, HOST, Revision("a" * 40, ref="main"), A))
    fields = "format fleet host enrolled accepted trail previous converged quarantined trial sealed"
    assert list(document(path)) == fields.split()
    assert document(path)["format"] == 1
    assert document(path)["enrolled"] == "sha1:" + "a" * 40


def test_equal_pointer_is_not_written_again(path: Path) -> None:
    write_pointer(path, FULL)
    before = path.stat(), path.parent.stat().st_mtime_ns
    write_pointer(path, FULL)
    after = path.stat(), path.parent.stat().st_mtime_ns
    assert (before[0].st_ino, before[0].st_mtime_ns, before[1]) == (after[0].st_ino, after[0].st_mtime_ns, after[1])


def test_file_and_folder_are_synced_around_the_rename(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def record_fsync(descriptor: int) -> None:
        events.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def record_replace(self: Path, target: Path) -> Path:
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    write_pointer(path, FULL)
    assert events == ["file", "rename", "folder"]


@pytest.mark.parametrize("point", ["fsync", "rename"])
def test_a_failed_write_leaves_the_old_pointer_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    write_pointer(path, FULL)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if point == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, "replace", fail)
    error = refusal(lambda: write_pointer(path, Pointer(FLEET, HOST)), "pointer-unwritable")
    assert "No space left" in str(error)
    assert read_pointer(path) == FULL
    assert list(path.parent.iterdir()) == [path]


def test_missing_folder_cannot_be_written(tmp_path: Path) -> None:
    refusal(lambda: write_pointer(tmp_path / "none" / "pointer.json", FULL), "pointer-unwritable")


def test_leftover_of_a_killed_write_is_removed_by_the_next_and_nothing_else_is(path: Path) -> None:
    leftover = path.with_name(".pointer.json.0123456789abcdef.tmp")
    stranger = path.with_name(".pointer.json.mine.tmp")
    leftover.write_text("{")
    stranger.write_text("")
    write_pointer(path, FULL)
    assert not leftover.exists()
    assert stranger.exists()


def test_damage_is_not_overwritten(path: Path) -> None:
    path.write_text("{")
    path.chmod(0o600)
    refusal(lambda: write_pointer(path, FULL), "pointer-damaged")
    assert path.read_text() == "{"


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)


def test_every_truncation_is_damage(path: Path) -> None:
    whole = encode_pointer(FULL).rstrip()
    for length in range(len(whole)):
        put(path, whole[:length])
        refusal(lambda: read_pointer(path), "pointer-damaged")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\0" * 300, "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b"[]", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b"{}", "format"),
        (b'{"format": 1, "format": 1}', "twice"),
        (b" " * ((1 << 20) + 1), "larger"),
    ],
)
def test_bytes_that_are_no_pointer_are_damage(path: Path, data: bytes, why: str) -> None:
    put(path, data)
    assert why in str(refusal(lambda: read_pointer(path), "pointer-damaged"))


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("format", True, "'format'"),
        ("format", 0, "'format'"),
        ("format", "1", "'format'"),
        ("format", 1.0, "'format'"),
        ("fleet", "", "'fleet' is no text"),
        ("fleet", 7, "'fleet' is no text"),
        ("host", None, "'host' is no text"),
        ("host", "Not A Host", "'host': "),
        ("accepted", "main", "'accepted': "),
        ("accepted", 5, "'accepted' is no text"),
        ("accepted", "main@sha1:" + "a" * 40, "names a ref"),
        ("accepted", "sha256:" + "a" * 40, "'accepted': "),
        ("trail", None, "'trail' is no list"),
        ("trail", {}, "'trail' is no list"),
        ("trail", ["sha1:" + "a" * 40], "'trail[0]' is not a revision and a host"),
        ("trail", [{"revision": "sha1:" + "a" * 40}], "'trail[0]' is not"),
        ("trail", [{"revision": None, "host": "web1"}], "'trail[0].revision'"),
        ("trail", [{"revision": "sha1:" + "a" * 40, "host": "-"}], "'trail[0].host'"),
        ("quarantined", "sha1:" + "a" * 40, "'quarantined' is no list"),
        ("quarantined", [None], "'quarantined[0]'"),
        ("sealed", 0, "'sealed'"),
        ("sealed", None, "'sealed'"),
        ("accepted", None, "set together"),
        ("enrolled", None, "set together"),
        ("trail", [], "although 'trail' is empty"),
        ("extra", 1, "unknown 'extra'"),
    ],
)
def test_wrong_fields_are_damage_and_named(path: Path, key: str, value: object, why: str) -> None:
    put(path, json.dumps({**json.loads(encode_pointer(FULL)), key: value}).encode())
    assert why in str(refusal(lambda: read_pointer(path), "pointer-damaged"))


@pytest.mark.parametrize("key", json.loads(encode_pointer(FULL)))
def test_every_field_is_wanted(path: Path, key: str) -> None:
    content = json.loads(encode_pointer(FULL))
    del content[key]
    put(path, json.dumps(content).encode())
    refusal(lambda: read_pointer(path), "pointer-damaged")


def test_trail_without_an_accepted_revision_is_damage(path: Path) -> None:
    content = json.loads(encode_pointer(FULL)) | {"accepted": None, "enrolled": None}
    put(path, json.dumps(content).encode())
    assert "none was ever accepted" in str(refusal(lambda: read_pointer(path), "pointer-damaged"))


def test_a_newer_format_says_that_a_newer_datum_wrote_it(path: Path) -> None:
    put(path, json.dumps({"format": 2, "whatever": 1}).encode())
    error = refusal(lambda: read_pointer(path), "pointer-of-newer-datum")
    assert "newer datum" in error.diagnostics[0].summary


def test_damage_never_reads_as_first_contact_and_says_what_to_do(path: Path) -> None:
    put(path, b"{")
    error = refusal(lambda: read_pointer(path), "pointer-damaged")
    assert str(path) in str(error)
    hint = error.diagnostics[0].hint
    assert "backup" in hint
    # `datum init` alone ends in lost state on a host that has reports; `status` has the whole line.
    assert "the next command then says how to enrol this host" in hint
    assert "datum init" not in hint


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(path: Path, mode: int) -> None:
    write_pointer(path, FULL)
    path.chmod(mode)
    assert f"{mode:04o}" in str(refusal(lambda: read_pointer(path), "pointer-unsafe"))


def test_a_file_of_somebody_else_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pointer(path, FULL)
    real = os.fstat

    def other_owner(descriptor: int) -> os.stat_result:
        values = list(real(descriptor))
        values[4] = os.geteuid() + 4321
        return os.stat_result(values)

    monkeypatch.setattr(os, "fstat", other_owner)
    assert "belongs to user" in str(refusal(lambda: read_pointer(path), "pointer-unsafe"))


def test_links_folders_and_pipes_are_refused(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "nowhere")
    assert "symbolic link" in str(refusal(lambda: read_pointer(path), "pointer-unsafe"))
    path.unlink()
    path.mkdir()
    assert "not a regular file" in str(refusal(lambda: read_pointer(path), "pointer-unsafe"))
    path.rmdir()
    os.mkfifo(path, 0o600)
    assert "not a regular file" in str(refusal(lambda: read_pointer(path), "pointer-unsafe"))


def test_a_file_below_a_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refusal(lambda: read_pointer(tmp_path / "file" / "pointer.json"), "pointer-unreadable")


def test_a_read_error_is_unreadable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pointer(path, FULL)

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdopen", fail)
    assert "Input/output error" in str(refusal(lambda: read_pointer(path), "pointer-unreadable"))


@pytest.mark.parametrize(("user", "kind"), [(0, StateError), (1000, PermissionRefusedError)])
def test_who_may_not_read_it_lacks_rights(
    path: Path, monkeypatch: pytest.MonkeyPatch, user: int, kind: type[DatumError]
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(kind) as caught:
        read_pointer(path)
    assert caught.value.diagnostics[0].code == "pointer-unreadable"


def test_binding_to_this_fleet_and_host_passes() -> None:
    check_binding(FULL, FLEET, HOST)
    check_binding(FULL, None, HOST)


def test_another_host_is_a_matter_of_configuration_and_names_the_command() -> None:
    with pytest.raises(SettingsError) as caught:
        check_binding(FULL, FLEET, HostName("web2"))
    assert caught.value.exit_code is ExitCode.CONFIG
    assert "datum init --rename web1" in caught.value.diagnostics[0].hint


def test_another_fleet_is_a_matter_of_configuration() -> None:
    with pytest.raises(SettingsError) as caught:
        check_binding(FULL, "11111111-1111-1111-1111-111111111111", HOST)
    assert FLEET in str(caught.value)


commits = st.integers(0, 9).map(lambda digit: Revision(str(digit) * 40))
entries = st.builds(TrailEntry, commits, st.sampled_from([HOST, HostName("old.example")]))


@given(
    accepted=commits,
    trail=st.lists(entries, min_size=1),
    marks=st.tuples(*[st.none() | commits] * 3),
    quarantined=st.lists(commits),
    sealed=st.booleans(),
)
def test_every_pointer_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    accepted: Revision,
    trail: list[TrailEntry],
    marks: tuple[Revision | None, ...],
    quarantined: list[Revision],
    sealed: bool,
) -> None:
    pointer = Pointer(
        FLEET, HOST, accepted, accepted, tuple(trail), marks[0], marks[1], tuple(quarantined), marks[2], sealed=sealed
    )
    path = tmp_path_factory.mktemp("state") / "pointer.json"
    write_pointer(path, pointer)
    assert read_pointer(path) == pointer
    assert path.read_bytes() == encode_pointer(pointer)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
def test_a_state_directory_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    """They could take the pointer away, which looks like first contact, or bring a mirror with a configuration."""
    tmp_path.chmod(mode)
    with pytest.raises(StateError) as caught:
        read_pointer(tmp_path / "pointer.json")
    assert caught.value.diagnostics[0].code == "state-unsafe"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away")
@pytest.mark.parametrize(("uid", "gid", "mode"), [(65534, 0, 0o700), (0, 65534, 0o770)])
def test_a_state_directory_of_somebody_else_is_refused(tmp_path: Path, uid: int, gid: int, mode: int) -> None:
    """As above, by owner and by group."""
    tmp_path.chmod(mode)
    os.chown(tmp_path, uid, gid)
    with pytest.raises(StateError) as caught:
        read_pointer(tmp_path / "pointer.json")
    assert caught.value.diagnostics[0].code == "state-unsafe"


def test_a_state_directory_of_ones_own_group_is_trusted(tmp_path: Path) -> None:
    """What an ordinary user's umask of 002 makes."""
    tmp_path.chmod(0o775)
    assert read_pointer(tmp_path / "pointer.json") is None
