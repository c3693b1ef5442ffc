"""Values of the machine are put in once it is known."""

from collections.abc import Mapping

from attrs import evolve

from datum.fleet.late import SAMPLE_MACHINE, substitute
from datum.model.content import Content
from datum.model.identity import ResourceId
from datum.model.manifest import EffectiveManifest, Late
from datum.model.observation import Machine
from datum.testing.trees import MemoryTree
from tests.unit.fleet.support import memory_tree, resolve

_A = ResourceId("thing", "a")
_MACHINE = Machine({"cpus": 8, "arch": "arm64", "memory_mib": 100, "addresses": {"eth0": "10.0.0.1"}})


def _late(fields: str, template: str = "") -> tuple[EffectiveManifest, MemoryTree]:
    files = {"hosts/web1.yaml": f"resources:\n  thing:a: {{{fields}}}\n  thing:b: {{text: x}}\n", "t": template}
    return resolve(files), memory_tree(files)


def test_every_late_value_is_replaced() -> None:
    manifest, tree = _late('number: "${machine.cpus * 2}", text: "on ${machine.arch}", any: 1')
    found, failed = substitute(manifest, tree, _MACHINE)
    assert not failed
    assert found.by_id[_A].attributes == {"number": 16, "text": "on arm64", "any": 1}
    assert found.digest == manifest.digest
    assert found.resources[1] is manifest.resources[1]


def test_manifest_without_late_values_is_the_same() -> None:
    manifest, tree = _late("number: 1")
    assert substitute(manifest, tree, _MACHINE)[0] is manifest


def test_late_template_is_rendered() -> None:
    manifest, tree = _late("template: t", "cpus {{ machine.cpus }}\n")
    assert isinstance(manifest.by_id[_A].attributes["template"], Late)
    found, failed = substitute(manifest, tree, _MACHINE)
    assert found.by_id[_A].attributes["template"] == Content.from_bytes(b"cpus 8\n", source="t")
    assert not failed


def test_where_it_has_no_value_the_sample_stands_and_the_resource_is_named() -> None:
    manifest, tree = _late('any: "${machine.addresses.eth7}", text: "${machine.default_interface}"')
    found, failed = substitute(manifest, tree, _MACHINE)
    assert found.by_id[_A].attributes == {"any": "192.0.2.1", "text": "eth0"}
    assert set(failed) == {_A}
    assert failed[_A].resource == "thing:a"
    assert str(failed[_A].location) == "hosts/web1.yaml:2:18"


def test_template_that_has_no_value_here_is_named_with_its_own_place() -> None:
    manifest, tree = _late("template: t", "first\n{{ machine.addresses.eth7 }}\n")
    found, failed = substitute(manifest, tree, _MACHINE)
    assert found.by_id[_A].attributes["template"] == Content.from_bytes(b"first\n192.0.2.1\n", source="t")
    assert str(failed[_A].location) == "t:2:1"


def test_what_has_no_value_anywhere_still_has_its_type() -> None:
    manifest, tree = _late('any: "${machine.cpus}", template: t', "{{ machine.cpus }}")
    resource = manifest.by_id[_A]
    attributes = {
        "any": Late("${machine.cpus + 'x'}"),
        "template": evolve(resource.attributes["template"], template="gone"),  # type: ignore[misc]  # it is a Late
    }
    broken = evolve(manifest, resources=(evolve(resource, attributes=attributes),))
    found, failed = substitute(broken, tree, _MACHINE)
    assert found.by_id[_A].attributes == {
        "any": "${machine.cpus + 'x'}",
        "template": Content.from_bytes(b"", source="gone"),
    }
    assert set(failed) == {_A}


def test_sample_machine_has_an_address_for_every_interface() -> None:
    addresses = SAMPLE_MACHINE.values["addresses"]
    assert isinstance(addresses, Mapping)
    assert (list(addresses), len(addresses)) == (["eth0"], 1)
    assert "any0" in addresses
    assert not addresses.__contains__(3)
