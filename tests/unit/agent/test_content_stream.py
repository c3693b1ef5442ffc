"""Bytes of the repository as the host room gets them: a damaged large object is a failure of one resource."""

from pathlib import Path

import pytest

from datum.agent.wiring import opener
from datum.host.output import open_output
from datum.model.content import Content
from datum.provider.host import HostError
from datum.repository.worktree import clone_tree
from tests.git_repository import GitRepository

DATA = bytes(range(256)) * 40


def test_a_large_object_is_streamed_and_its_damage_is_an_error_of_the_host_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datum.repository.objects.WHOLE_LIMIT", 1000)
    made = GitRepository(tmp_path / "fleet")
    made.commit({"large": DATA})
    blob = made.git("rev-parse", "HEAD:large")
    open_content = opener(clone_tree(made.path, "main", open_output=open_output))
    with open_content(Content(blob)) as stream:
        assert stream.readable()
        assert (stream.read(1), stream.read()) == (DATA[:1], DATA[1:])
    file = made.path / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(HostError, match=blob) as caught, open_content(Content(blob)) as stream:
        stream.read()
    assert caught.value.diagnostics[0].code == "content-unreachable"
    assert caught.value.diagnostics[0].hint
