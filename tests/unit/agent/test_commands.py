"""What makes two requests equal (design 1.6)."""

from pathlib import Path

import pytest
from attrs import evolve

from datum.agent.commands import request_key
from datum.agent.one_pass import Request
from datum.agent.settings import Options, Settings, read_settings
from datum.model.manifest import LimitClass


def settings(tmp_path: Path) -> Settings:
    return read_settings(Options(root=str(tmp_path), repo="/srv/fleet", host="web1"))


def test_the_same_request_is_equal(tmp_path: Path) -> None:
    assert request_key(settings(tmp_path), Request()) == request_key(settings(tmp_path), Request())


@pytest.mark.parametrize(
    "request_",
    [Request(is_detailed=True), Request(expect="sha256:0"), Request(allowed={LimitClass.REMOVALS: 1})],
    ids=str,
)
def test_a_flag_makes_another_request(tmp_path: Path, request_: Request) -> None:
    """With --detailed-exitcode a pass ends with another code: who joined one without it got the wrong answer."""
    assert request_key(settings(tmp_path), request_) != request_key(settings(tmp_path), Request())


@pytest.mark.parametrize("change", [{"rev": "0" * 40}, {"ref": "other"}, {"is_offline": True}], ids=str)
def test_another_target_makes_another_request(tmp_path: Path, change: dict[str, object]) -> None:
    changed = evolve(settings(tmp_path), **change)  # type: ignore[arg-type]  # named fields of Settings
    assert request_key(changed, Request()) != request_key(settings(tmp_path), Request())
