"""Several remotes in order, and passes over https: what is enforced, reported, and shown nowhere (design 3.2, 3.5)."""

import base64
import contextlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.strace import trace
from tests.passes.scene import HOST, Scene
from tests.remotes.certificates import Authority
from tests.remotes.hostile import packet
from tests.remotes.https import HttpsServer

A = {"file:/etc/a": {"content": "a\n"}}
B = {"file:/etc/a": {"content": "b\n"}}
TOKEN = "t0ken-of-the-tests"
ENCODED = base64.b64encode(f"git:{TOKEN}".encode())


def configure(scene: Scene, *remotes: Any) -> None:
    """Write the configuration with these remotes; JSON is YAML."""
    said = {
        "host": HOST,
        "source": {"remotes": [one if isinstance(one, dict) else {"url": str(one)} for one in remotes]},
    }
    scene.write("/etc/datum/agent.yaml", json.dumps(said))


def copy(scene: Scene, name: str) -> Path:
    """Return another repository with all that the fleet has now."""
    target = scene.folder / name
    shutil.copytree(scene.repository.path, target)
    scene.give()
    return target


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a host that has converged at a first revision."""
    made = Scene(tmp_path)
    made.enrolled(A)
    return made


def codes(report: Any) -> list[tuple[str, str]]:
    return [(item["severity"], item["code"]) for item in report["source"]["diagnostics"]]


def test_the_first_that_answers_counts(scene: Scene) -> None:
    """Those before it are warnings of the report, which names the one that answered; the pass is a good one."""
    stale = copy(scene, "stale")
    head = scene.commit(B)
    configure(scene, scene.folder / "gone", scene.repository.path, stale)
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (0, "ok")
    assert ran.json["source"]["remote"] == str(scene.repository.path)
    assert codes(ran.json) == [("warning", "repository-missing")]
    assert str(scene.folder / "gone") in ran.json["source"]["diagnostics"][0]["detail"]
    assert (scene.pointer["accepted"], scene.read("/etc/a")) == (head, "b\n")


def test_unreachable_means_that_none_answered(scene: Scene) -> None:
    """Each is named with its reason, and the host is kept as it was."""
    (scene.folder / "none").mkdir()
    configure(scene, scene.folder / "gone", scene.folder / "none")
    scene.write("/etc/a", "drift\n")
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (69, "unreachable")
    assert codes(ran.json) == [("error", "repository-missing"), ("error", "repository-invalid")]
    assert scene.read("/etc/a") == "a\n"


def test_a_remote_that_has_no_such_ref_is_not_passed_over(scene: Scene) -> None:
    """It answers: somebody moved the branch, and the next copy may only not know it yet."""
    other = copy(scene, "other")
    scene.repository.git("branch", "--move", "main", "trunk")
    configure(scene, scene.folder / "gone", scene.repository.path, other)
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (69, "gone")
    assert codes(ran.json) == [("warning", "repository-missing"), ("error", "ref-gone")]


def test_a_copy_that_lags_is_no_branch_that_was_set_back(scene: Scene) -> None:
    """It is passed over; of the first remote the same is refused (76)."""
    stale = copy(scene, "stale")
    scene.commit(B)
    scene.apply()
    configure(scene, scene.folder / "gone", stale)
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (69, "unreachable")
    assert codes(ran.json) == [("error", "repository-missing"), ("error", "remote-behind")]
    assert scene.read("/etc/a") == "b\n"
    configure(scene, stale, scene.repository.path)
    assert scene.run("apply").code == 76


def test_a_copy_that_is_ahead_is_followed(scene: Scene) -> None:
    """One that was accepted is accepted, wherever it came from."""
    head = scene.commit(B)
    ahead = copy(scene, "ahead")
    configure(scene, scene.folder / "gone", ahead)
    scene.apply()
    assert scene.pointer["accepted"] == head


def test_a_refused_revision_keeps_the_warnings(scene: Scene) -> None:
    """Both are said: why the first did not answer, and why the other is refused."""
    scene.repository.git("checkout", "--quiet", "--orphan", "other")
    scene.commit(B)
    scene.repository.git("branch", "--force", "main", "other")
    configure(scene, scene.folder / "gone", scene.repository.path)
    ran = scene.run("apply", "--json")
    assert ran.code == 76
    assert codes(ran.json) == [("warning", "repository-missing"), ("error", "not-a-descendant")]


@pytest.fixture
def server(scene: Scene, tmp_path: Path) -> Iterator[HttpsServer]:
    """Give a server of the fleet that lets in who has the token; it is configured as the only remote."""
    authority = Authority(tmp_path / "authority")
    (scene.root / "etc/datum/ca.pem").write_bytes(authority.path.read_bytes())
    scene.write("/etc/datum/token", f"{TOKEN}\n")
    (scene.root / "etc/datum/token").chmod(0o600)
    with HttpsServer(tmp_path, authority.issue("localhost"), credentials=f"git:{TOKEN}") as made:
        access = {"url": made.url(), "ca_file": "/etc/datum/ca.pem", "token_file": "/etc/datum/token"}
        configure(scene, access)
        yield made


def test_a_pass_over_https(scene: Scene, server: HttpsServer) -> None:
    """A poll that finds nothing new is two requests; a commit is four."""
    scene.apply()
    assert len(server.requests) == 2
    scene.commit(B)
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["remote"]) == (0, server.url())
    assert len(server.requests) == 6
    assert scene.read("/etc/a") == "b\n"


def test_first_contact_over_https(scene: Scene, server: HttpsServer) -> None:
    """The configuration is there before, since the access stands in it; what it says is not overwritten."""
    for folder in ("var/lib/datum", "var/log/datum"):
        shutil.rmtree(scene.root / folder)
    text = scene.read("/etc/datum/agent.yaml") or ""
    before = json.dumps({**json.loads(text), "trust": {"anchor": scene.repository.head}})
    scene.write("/etc/datum/agent.yaml", before)
    assert scene.run("init", "--repo", server.url(), "--host", HOST, "--no-timer").code == 0
    assert scene.read("/etc/datum/agent.yaml") == before
    scene.apply()
    assert scene.run("init", "--repo", "https://other.example/fleet", "--host", HOST, "--no-timer").code == 78


def test_what_writes_ends_with_a_killed_pass_and_the_next_one_fetches(scene: Scene, server: HttpsServer) -> None:
    """Git would go on waiting for a server that hangs, for nobody is left who ends it at the deadline."""
    scene.commit(B)
    begun, over = threading.Event(), threading.Event()

    def hang(handler: Any) -> bool:
        if [request.method for request in server.requests].count("POST") < 2:
            return False
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-git-upload-pack-result")
        handler.send_header("Content-Length", str(1 << 20))
        handler.end_headers()
        # With the head of a pack git starts what writes it.
        handler.wfile.write(packet(b"acknowledgments\n") + packet(b"ready\n") + b"0001")
        handler.wfile.write(packet(b"packfile\n") + packet(b"\x01PACK" + bytes([0, 0, 0, 2, 0, 0, 0, 1])))
        begun.set()
        over.wait(60)
        handler.close_connection = True
        return True

    server.instead = hang
    quarantine = str(scene.root / "var/lib/datum/quarantine")
    try:
        with scene.start("apply") as process:
            assert begun.wait(60)
            # Now it waits for the rest.
            assert awaited(lambda: bool(processes("index-pack", within=quarantine)))
            assert processes(quarantine)
            process.kill()
            process.communicate()
        assert awaited(lambda: not processes(quarantine))
    finally:
        over.set()
    server.instead = None
    scene.apply()
    assert scene.read("/etc/a") == "b\n"


def awaited(condition: Callable[[], bool]) -> bool:
    """Return whether something comes true within half a minute."""
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def processes(word: str, *, within: str = "") -> list[str]:
    """Return the command lines that name something, of processes whose environment does, too, where that is given."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            if word in line and within.encode() in (process / "environ").read_bytes():
                lines.append(line)
    return lines


@pytest.mark.parametrize("is_valid", [True, False])
def test_the_token_is_written_and_said_nowhere(scene: Scene, server: HttpsServer, is_valid: bool) -> None:
    """Neither in a report nor in the mirror, nor in a word that is printed, whether or not it is let in."""
    if not is_valid:
        server.credentials = "git:another"
    scene.commit(B)
    said = [scene.run(*words) for words in (("apply", "--json"), ("plan",), ("status",), ("report", "--json"))]
    assert said[0].code == (0 if is_valid else 69)
    assert not any(TOKEN in ran.out + ran.err for ran in said)
    secret = scene.root / "etc/datum/token"
    written = [path for path in scene.folder.rglob("*") if path.is_file() and not path.is_symlink() and path != secret]
    for form in (TOKEN.encode(), TOKEN.encode().hex().encode(), ENCODED):
        assert not [path for path in written if form in path.read_bytes()]


@pytest.mark.parametrize(
    "text",
    [
        f"https:/oauth2:{TOKEN}@git.example.org/x",
        f" https://oauth2:{TOKEN}@git.example.org/x",
        f"https//oauth2:{TOKEN}@git.example.org/x",
        f"git clone https://oauth2:{TOKEN}@git.example.org/x",
        f"//oauth2:{TOKEN}@git.example.org/x",
    ],
)
def test_a_token_in_what_is_no_url_is_shown_nowhere(scene: Scene, text: str) -> None:
    """Such a configuration is refused, and nothing of what was pasted is repeated."""
    configure(scene, text)
    said = [scene.run(*words) for words in (("apply", "--json"), ("plan",), ("status",))]
    said.append(scene.run("plan", "--repo", text))
    assert [ran.code for ran in said] == [78, 78, 78, 78]
    assert not any(TOKEN in ran.out + ran.err for ran in said)


def test_what_a_server_says_of_its_disk_does_not_end_the_pass(scene: Scene, server: HttpsServer) -> None:
    """The host is repaired at the enforced revision all the same."""
    scene.commit(B)
    scene.write("/etc/a", "drift\n")

    def refuse(handler: Any) -> bool:
        if [request.method for request in server.requests].count("POST") < 2:
            return False
        body = packet(b"packfile\n") + packet(b"\x03a\nNo space left on device\n")
        handler.answer(200, {"Content-Type": "application/x-git-upload-pack-result"}, body)
        return True

    server.instead = refuse
    ran = scene.run("apply", "--json")
    assert (ran.code, ran.json["source"]["status"]) == (69, "unreachable")
    assert scene.read("/etc/a") == "a\n"


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_no_process_of_a_pass_has_the_token_in_its_command_line(scene: Scene, server: HttpsServer) -> None:
    """Neither git nor what git starts, while it asks and fetches."""
    scene.commit(B)
    started = trace(scene.command("apply", "--root", str(scene.root)), ["execve"])
    programs = [call.arguments for call in started]
    assert any("remote-https" in line for line in programs)
    assert any("index-pack" in line for line in programs)
    assert not [line for line in programs if TOKEN in line or ENCODED.decode() in line]
