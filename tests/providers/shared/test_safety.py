"""What a look says of whether a path may be written: what the writer refuses for certain, and nothing else."""

from typing import Any

import pytest

from datum.model.graph import SAFE_FOLDER, Target
from datum.model.observation import Absent, Present
from datum.model.plan import Change, Effect, Operation, Step
from datum.provider.contract import AnyProvider
from datum.provider.host import FileKind, HostError
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.directory.provider import DirectoryProvider
from datum_providers.file.provider import FileProvider
from datum_providers.link.provider import LinkProvider
from datum_providers.shared.safety import makes_safe
from datum_providers.tree.provider import TreeProvider
from tests.providers.tree.cases import folder_of

FILE = FileProvider()
PATH = "/srv/a/x"
TYPES = [
    (FILE, {"content": "x\n"}),
    (LinkProvider(), {"target": "/srv/b"}),
    (DirectoryProvider(), {}),
    (TreeProvider(), {"source": folder_of({})}),
]


def host_with(mode: str = "0755", uid: int = 0) -> FakeHost:
    host = FakeHost()
    host.world.users.update(bob=7, eve=8)
    host.add("/srv/a", FakeFile(FileKind.DIRECTORY, mode, uid))
    return host


def seen(host: FakeHost, provider: AnyProvider = FILE, **attributes: Any) -> Present | Absent:
    found = provider.observe(host.reader(), {PATH: provider.parse(PATH, attributes)})[PATH]
    assert isinstance(found, (Present, Absent))
    return found


@pytest.mark.parametrize(("provider", "attributes"), TYPES, ids=lambda value: getattr(value, "type_name", ""))
@pytest.mark.parametrize("kind", [None, FileKind.REGULAR, FileKind.SYMLINK, FileKind.DIRECTORY, FileKind.FIFO])
def test_every_type_of_paths_says_what_is_in_the_way_whatever_stands_there(
    provider: AnyProvider, attributes: dict[str, Any], kind: FileKind | None
) -> None:
    for mode, unsafe in (("0770", ["/srv/a"]), ("0750", []), ("1777", [])):
        host = host_with(mode)
        if kind is not None:
            host.add(PATH, FakeFile(kind, "0755"))
        found = seen(host, provider, **attributes).unsafe
        assert [folder.path for folder in found] == unsafe
        for folder in found:
            assert folder.detail.startswith(f"'/srv/a', on the way to '{PATH}', ")
            assert "chmod" in folder.detail


@pytest.mark.parametrize(
    ("owner", "stands", "is_safe"),
    [
        ("bob", None, True),
        (7, None, True),
        (None, None, False),
        ("eve", None, False),
        ("later", None, True),
        ("eve", 8, False),
        (None, 7, True),
        (None, 0, True),
    ],
)
def test_in_a_user_s_directory_the_owner_decides_and_nothing_is_said_of_what_is_not_certain(
    owner: str | int | None, stands: int | None, is_safe: bool
) -> None:
    """An account that is not there yet has no number; what may only have to go, goes with the rights of that user."""
    host = host_with(uid=7)
    if stands is not None:
        host.add(PATH, FakeFile(uid=stands))
    attributes: dict[str, Any] = {} if owner is None else {"owner": owner}
    assert (seen(host, **attributes).unsafe == ()) is is_safe


def test_a_leftover_may_be_all_that_has_to_go() -> None:
    host = host_with(uid=7)
    host.world.residues.add(PATH)
    assert seen(host).unsafe == ()
    host.remove_residue(PATH)
    assert seen(host).unsafe


def test_what_is_said_is_what_the_writer_does() -> None:
    for mode, uid in (("0755", 0), ("0775", 0), ("0757", 0), ("1777", 0), ("0755", 7)):
        host = host_with(mode, uid)
        wanted = FILE.parse(PATH, {"content": "x\n"})
        found = FILE.observe(host.reader(), {PATH: wanted})[PATH]
        assert isinstance(found, Absent)
        step = FILE.plan(wanted, found)
        assert step is not None
        code = ""
        try:
            FILE.apply(host.writer(), wanted, step)
        except HostError as error:
            code = error.diagnostics[0].code
        assert code == ("unsafe-path" if found.unsafe else ""), mode


def test_a_missing_directory_is_not_there_to_be_unsafe() -> None:
    host = host_with("0770")
    found = FILE.observe(host.reader(), {"/srv/b/c/x": FILE.parse("/srv/b/c/x", {"content": "x\n"})})["/srv/b/c/x"]
    assert found == Absent({"missing_parent": "/srv/b"})
    assert isinstance(found, Absent)
    assert found.unsafe == ()


@pytest.mark.parametrize(
    ("mode", "group", "is_safe"),
    [
        ("0755", "", True),
        (None, "", True),
        ("0775", "", False),
        ("0775", "staff", True),
        ("0757", "staff", False),
        ("1777", "", True),
    ],
)
def test_a_directory_is_safe_again_when_its_rights_are(mode: str | None, group: str, is_safe: bool) -> None:
    made = tuple(Effect(Target(SAFE_FOLDER, path)) for path in ("/var/run/a", "/run/a"))
    assert makes_safe("/var/run/a", mode, group) == (made if is_safe else ())


def test_folders_of_a_tree_are_safe_again_when_their_rights_are() -> None:
    provider = TreeProvider()
    wanted = provider.parse("/srv/t", {"source": folder_of({"sub/x": "x"}), "directory_mode": "0750"})
    changes = (Change("./sub", "directory 0770", "directory 0750"), Change("./sub/x", "blob:1 0600", "blob:1 0644"))
    safe = (Effect(Target(SAFE_FOLDER, "/srv/t/sub")),)
    assert provider.effects(wanted, Step(Operation.UPDATE, changes)) == safe
    assert provider.effects(wanted, Step(Operation.CREATE, (Change("./sub", None, "directory 0750"),))) == (
        Effect(Target("path", "/srv/t/sub")),
    )
