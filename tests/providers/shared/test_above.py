"""What a path waits for beside its accounts."""

import pytest

from datum.model.graph import DependencyKind, Target
from datum.model.identity import ResourceId
from datum_providers.shared.above import edges_above
from tests.providers.index import Index


def edges(path: str, declared: dict[Target, str]) -> list[tuple[str, str]]:
    index = Index({target: ResourceId.parse(text) for target, text in declared.items()})
    return [(str(edge.target), edge.reason) for edge in edges_above(path, index)]


def test_the_nearest_declared_directory_and_mount_are_required() -> None:
    declared = {
        Target("path", "/srv"): "directory:/srv",
        Target("path", "/srv/data"): "directory:/srv/data",
        Target("mount", "/srv"): "mount:/srv",
        Target("mount", "/srv/data"): "mount:/srv/data",
        Target("mount", "/var"): "mount:/var",
    }
    assert edges("/srv/data/app/a.conf", declared) == [
        ("directory:/srv/data", "parent directory"),
        ("mount:/srv/data", "mount above"),
    ]


def test_what_stands_on_a_mount_point_itself_waits_for_the_mount() -> None:
    assert edges("/srv", {Target("mount", "/srv"): "mount:/srv"}) == [("mount:/srv", "mount above")]


@pytest.mark.parametrize("path", ["/etc/nginx", "/etc/nginx/nginx.conf", "/usr/share/nginx/x/y"])
def test_a_package_whose_name_is_on_the_way_is_waited_for_softly(path: str) -> None:
    index = Index({Target("package", "nginx"): ResourceId("package", "nginx")})
    (edge,) = edges_above(path, index)
    assert edge.kind is DependencyKind.AFTER
    assert edge.soft


@pytest.mark.parametrize("path", ["/etc/nginx.conf", "/etc/nginx-extras/a", "/", "/etc/apt/preferences.d/nginx"])
def test_a_name_that_only_begins_like_a_package_says_nothing(path: str) -> None:
    assert edges(path, {Target("package", "nginx"): "package:nginx"}) == []


def test_what_is_to_be_gone_does_not_go_before_the_mount_on_it() -> None:
    targets = {Target("mount", "/srv/a"): "mount:/srv/a", Target("path", "/srv/a"): "directory:/srv/a"}
    index = Index({target: ResourceId.parse(text) for target, text in targets.items()}, absent=frozenset({"/srv/a"}))
    assert edges_above("/srv/a", index) == ()
    assert [edge.reason for edge in edges_above("/srv/a/b", index)] == ["parent directory", "mount above"]
