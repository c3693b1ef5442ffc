"""A staged set comes to what its changes come to one after the other; refused, to nothing."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from datum.host import staging_checks
from datum.host.local import LocalHost
from datum.host.showing import Outcome
from datum.host.writer import LocalWriter
from datum.provider.host import DirectoryWrite, HostError, LinkWrite
from tests.unit.host.files import file_of, refused
from tests.unit.host.sets import check, tree

PATHS = ("/a", "/b", "/d", "/d/x", "/d/e", "/d/e/y", "/l", "/n", "/n/m", "/n/m/z", "/n/w")
KINDS = (
    "file",
    "link",
    "directory",
    "attributes",
    "remove",
    "remove-directory",
    "residue",
    "file-over",
    "directory-over",
)
_UNSHOWN = Outcome(passed=False, output="", reason_unavailable="no namespaces")


@frozen
class Op:
    """One change."""

    kind: str
    path: str

    def do(self, writer: LocalWriter) -> str:
        """Make it; return the code of the refusal, empty where there was none."""
        below = tuple(path for path in PATHS if path.startswith(f"{self.path}/"))
        done: dict[str, Callable[[], None]] = {
            "file": lambda: writer.write_file(self.path, file_of(self.path.encode(), mode="0640")),
            "file-over": lambda: writer.write_file(self.path, file_of(b"over", takes=below)),
            "link": lambda: writer.write_link(self.path, LinkWrite("target", takes=())),
            "directory": lambda: writer.make_directory(self.path, DirectoryWrite("0750")),
            "directory-over": lambda: writer.make_directory(self.path, DirectoryWrite(replaces=True)),
            "attributes": lambda: writer.set_attributes(self.path, mode="0700"),
            "remove": lambda: writer.remove_file(self.path),
            "remove-directory": lambda: writer.remove_directory(self.path, takes=below),
            "residue": lambda: writer.remove_residue(self.path),
        }
        try:
            done[self.kind]()
        except HostError as error:
            # that a leftover goes along with its directory is refused directly only
            return "" if self.kind == "residue" else error.diagnostics[0].code
        return ""


OPS = st.lists(st.builds(Op, st.sampled_from(KINDS), st.sampled_from(PATHS)), max_size=8)


def fill(root: Path) -> Path:
    """Make some of the paths, and a leftover."""
    (root / "d/e").mkdir(parents=True)
    for name in ("a", "d/x", "d/e/y"):
        (root / name).write_text("old")
    (root / "l").symlink_to("a")
    (root / ".a.datum~.dpkg-tmp").write_text("left")
    return root


@settings(deadline=None)
@given(ops=OPS)
def test_a_set_is_what_its_changes_are_one_by_one_or_nothing(ops: list[Op]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="datum-sets-"))
    try:
        roots = [fill(folder / name) for name in ("one", "set", "written", "refused")]
        before = tree(roots[-1])
        with (
            mock.patch.object(staging_checks, "run_shown", return_value=_UNSHOWN),
            mock.patch.object(staging_checks, "run_program", _judge),
        ):
            accepted = _commit(roots[1], ops, judges=None)
            assert _commit(roots[2], ops, judges="true") == accepted
            assert _commit(roots[3], ops, judges="false") == accepted
        with LocalHost(str(roots[0])) as host:
            assert [op.do(host.writer()) for op, _ in accepted] == [code for _, code in accepted]
        done = tree(roots[0])
        assert [tree(root) for root in roots[1:3]] == [done, done]
        # a leftover whose name is needed goes before a set is judged
        left = ".a.datum~.dpkg-tmp"
        assert {**tree(roots[3]), left: before[left]} == before
    finally:
        shutil.rmtree(folder)


def _judge(*_: object, **__: object) -> object:
    """Stand for a program that says what its name says."""
    command = _[0]
    if getattr(command, "argv", ("",))[-1] == "false":
        raise HostError("It refuses.", code="program-deadline")
    return mock.Mock(exit_code=0, stdout=b"", stderr=b"")


def _commit(root: Path, ops: list[Op], *, judges: str | None) -> list[tuple[Op, str]]:
    """Stage, judge, and commit or discard; return what could be staged, or was refused for itself."""
    with LocalHost(str(root)) as host:
        writer = host.staging()
        told = [(op, op.do(writer)) for op in ops]
        accepted = [(op, code) for op, code in told if code != "cannot-be-staged"]
        if judges == "false":
            with refused("check-failed"):
                writer.judge([check(judges)])
        else:
            writer.judge([check(judges)] if judges else [])
            writer.commit()
        writer.discard()
        return accepted
