"""Passes through a proxy with a password: it is told to the proxy, and to nothing and nobody else."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from attrs import frozen

from tests.harness.strace import trace
from tests.passes.scene import HOST, Scene
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer
from tests.remotes.proxy import Proxy

USER = "web1"
PASSWORD = "p4ss:w@rd/of %the? t"
PLACE = "etc/datum/password"
FORMS = (
    PASSWORD,
    quote(PASSWORD, safe=""),
    PASSWORD.encode().hex(),
    json.dumps(PASSWORD),
    base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode(),
    base64.b64encode(PASSWORD.encode()).decode(),
)


@frozen
class Place:
    """A host that has converged, and what it reaches its fleet through."""

    scene: Scene
    proxy: Proxy


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    scene = Scene(tmp_path)
    scene.enrolled({"file:/etc/a": {"content": "a\n"}})
    authority = Authority(scene.root / "etc/datum/authority")
    with (
        HttpsServer(scene.repository.path.parent, authority.issue("localhost")) as server,
        Proxy(credentials=f"{USER}:{PASSWORD}") as proxy,
    ):
        access = {
            "url": server.url(scene.repository.path.name),
            "ca_file": "/etc/datum/authority/ca.pem",
            "proxy": proxy.url,
            "proxy_user": USER,
            "proxy_password_file": f"/{PLACE}",
        }
        scene.write(f"/{PLACE}", f"{PASSWORD}\n")
        (scene.root / PLACE).chmod(0o600)
        scene.write("/etc/datum/agent.yaml", json.dumps({"host": HOST, "source": {"remotes": [access]}}))
        yield Place(scene, proxy)


@pytest.mark.parametrize("is_valid", [True, False])
def test_the_password_is_written_and_said_nowhere(place: Place, is_valid: bool) -> None:
    """Neither in a report nor in the mirror, nor in a word that is printed, whether or not the proxy lets through."""
    scene = place.scene
    scene.commit({"file:/etc/a": {"content": "b\n"}})
    if not is_valid:
        place.proxy.credentials = "somebody:else"
    said = [scene.run(*words) for words in (("apply", "--json"), ("plan",), ("status",), ("report", "--json"))]
    assert said[0].code == (0 if is_valid else 69)
    assert is_valid or said[0].json["source"]["diagnostics"][0]["code"] == "proxy-login-refused"
    assert scene.read("/etc/a") == ("b\n" if is_valid else "a\n")
    assert not [form for form in FORMS for ran in said if form in ran.out + ran.err]
    secret = scene.root / PLACE
    written = [path for path in scene.folder.rglob("*") if path.is_file() and not path.is_symlink() and path != secret]
    assert not [path for form in FORMS for path in written if form.encode() in path.read_bytes()]


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_no_process_of_a_pass_has_the_password_in_its_command_line(place: Place) -> None:
    """Neither git nor what git starts, while it asks and fetches."""
    scene = place.scene
    scene.commit({"file:/etc/a": {"content": "b\n"}})
    started = trace(scene.command("apply", "--root", str(scene.root)), ["execve"])
    programs = [call.arguments for call in started]
    assert any("remote-https" in line for line in programs)
    assert not [line for line in programs for form in FORMS if form in line]
    assert place.proxy.asked
