"""Whatever the folder holds and whatever stands on the host: one step makes the host so, and touches no more."""

import contextlib
from collections.abc import Mapping
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from datum.model.observation import Absent, Present
from datum.model.plan import Operation, Step
from datum.provider.host import FileKind
from datum.testing.host import FakeHost
from datum.testing.world import FakeFile
from datum_providers.tree.desired import DesiredTree
from datum_providers.tree.provider import TreeProvider
from tests.providers.tree.cases import folder_of, texts_of

PROVIDER: Final = TreeProvider()
ROOT: Final = "/opt/app"
# Few names, so that they meet.
_PATHS: Final = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)
_WANTED: Final = st.sampled_from(["1", "2"]) | st.just({"executable": "1"}) | st.just({"link": "a"})
_KINDS: Final = st.sampled_from([FileKind.REGULAR, FileKind.DIRECTORY, FileKind.SYMLINK, FileKind.FIFO])


def _is_tree(paths: Mapping[str, object]) -> bool:
    """Whether nothing lies below a file."""
    return not any(other.startswith(f"{path}/") for path in paths for other in paths)


folders_of_git = st.dictionaries(_PATHS, _WANTED, min_size=1, max_size=6).filter(_is_tree)
hosts = st.dictionaries(_PATHS, st.tuples(_KINDS, st.sampled_from(["0644", "0755"])), max_size=8)


def host_with(found: Mapping[str, tuple[FileKind, str]], files: Mapping[str, Any], *, is_there: bool) -> FakeHost:
    """Return a host on which these stand; what would lie below a file does not."""
    host = FakeHost()
    host.add_directory("/opt")
    host.add_file("/opt/beside", b"beside")
    for text in texts_of(files):
        host.add_content(PROVIDER.parse(ROOT, {"source": folder_of({"x": text})}).entries[-1].content, text.encode())
    if not is_there:
        return host
    host.add_directory(ROOT)
    for path in sorted(found):
        kind, mode = found[path]
        above = [f"{ROOT}/{path}"[: len(ROOT) + 1 + at] for at, one in enumerate(path) if one == "/"]
        standing = [host.files.get(folder) for folder in above]
        if all(one is None or one.kind is FileKind.DIRECTORY for one in standing):
            host.add(f"{ROOT}/{path}", FakeFile(kind, mode, data=b"1" if kind is FileKind.REGULAR else b"", link="b"))
    return host


def step_of(host: FakeHost, desired: DesiredTree) -> Step | None:
    seen = PROVIDER.observe(host.reader(), {ROOT: desired})[ROOT]
    assert isinstance(seen, (Present, Absent))
    return PROVIDER.plan(desired, seen)


@settings(deadline=None)
@given(folders_of_git, hosts, st.booleans(), st.booleans())
def test_one_step_makes_the_host_as_the_folder_is(
    files: dict[str, Any], found: dict[str, tuple[FileKind, str]], is_there: bool, is_exclusive: bool
) -> None:
    desired = PROVIDER.parse(ROOT, {"source": folder_of(files), "links": "keep", "exclusive": is_exclusive})
    host = host_with(found, files, is_there=is_there)
    before = host.snapshot()
    step = step_of(host, desired)
    if step is not None:
        assert (step.operation is Operation.CREATE) is not is_there
        PROVIDER.apply(host.writer(), desired, step)
    assert step_of(host, desired) is None
    after = host.snapshot()
    wanted = {entry.path for entry in desired.entries}
    for path in before.keys() | after.keys():
        if path in wanted:
            assert path in after
        elif path not in after:
            assert step is not None
            assert path in step.takes
        else:
            assert after[path] == before[path]
    if is_exclusive:
        assert {path for path in after if path.startswith(f"{ROOT}/")} == wanted - {ROOT}


@settings(deadline=None)
@given(folders_of_git, hosts, st.integers(0, 12))
def test_a_step_that_ends_anywhere_is_finished_by_the_next(
    files: dict[str, Any], found: dict[str, tuple[FileKind, str]], turn: int
) -> None:
    desired = PROVIDER.parse(ROOT, {"source": folder_of(files), "links": "keep", "exclusive": True})
    host = host_with(found, files, is_there=True)
    step = step_of(host, desired)
    if step is None:
        return
    host.fail(KeyboardInterrupt(), skip=turn, times=1)
    with contextlib.suppress(KeyboardInterrupt):
        PROVIDER.apply(host.writer(), desired, step)
    host.heal()
    rest = step_of(host, desired)
    if rest is not None:
        assert {change.name for change in rest.changes} <= {change.name for change in step.changes}
        PROVIDER.apply(host.writer(), desired, rest)
    assert step_of(host, desired) is None
