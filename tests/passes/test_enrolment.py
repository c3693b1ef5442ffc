"""`datum init` by options and by questions at a terminal (design 6, ADR 0048)."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datum.agent.keys import host_key
from tests.passes.scene import FLEET_ID, HOST, STATE, Ran, Scene
from tests.passes.terminal import Terminal
from tests.remotes.certificates import Authority
from tests.remotes.https import HttpsServer

A = {"file:/etc/a": {"content": "a\n"}}
TOKEN = "t0ken-of-the-tests"
CONFIG = "/etc/datum/agent.yaml"
QUESTION = "Trust this commit as the anchor of this host? [y/N]: "
REPOSITORY = "or a path on this host): "
NAME = "Name of this host in the fleet"
REF = "Branch or tag to follow [main]: "
ANCHOR = "look at what the source names now): "
# What the agent keeps for itself may be there; nothing that enrols.
ENROLS = (CONFIG, "/var/lib/datum/pointer.json", "/var/lib/datum/mirror.git")


def codes(ran: Ran) -> list[str]:
    """Return the codes of the error on stdout."""
    return [item["code"] for item in ran.json["error"]["diagnostics"]]


def is_enrolled(scene: Scene) -> bool:
    """Whether anything is left of an enrolment."""
    return any(os.path.lexists(scene.at(path)) for path in ENROLS)


def lasting(scene: Scene) -> dict[str, Any]:
    """Return everything below the root but what waiting for the lock touches."""
    return {path: found for path, found in scene.everything().items() if not path.startswith("var/lib/datum/run")}


@pytest.fixture
def fleet(scene: Scene) -> Scene:
    """Give a fleet with one revision, and a host that nobody enrolled."""
    scene.commit(A)
    return scene


# --- what is shown


def test_the_first_plan_is_shown_and_nothing_is_applied(fleet: Scene) -> None:
    ran = fleet.init()
    assert "+ create  file:/etc/a" in ran.out
    order = [ran.out.index(words) for words in ("is enrolled in fleet", "Plan: 1 to create", "Nothing was applied")]
    assert order == sorted(order)
    assert fleet.read("/etc/a") is None


def test_the_commit_that_is_pinned_is_shown_loudly(fleet: Scene) -> None:
    ran = fleet.init()
    assert f"anchor        {fleet.repository.head}" in ran.out
    assert "'change' by Carl Committer <carl@example.org>, 2023-11-14T22:15:00Z" in ran.out
    assert "trusted: nobody named an anchor" in ran.out


def test_an_anchor_that_was_said_needs_no_loud_words(fleet: Scene) -> None:
    ran = fleet.init("--anchor", fleet.repository.head)
    assert ran.code == 0
    assert "nobody named an anchor" not in ran.out
    assert f"anchor: '{fleet.repository.head}'" in (fleet.read(CONFIG) or "")


def test_as_json_everything_is_one_value(fleet: Scene) -> None:
    head = fleet.repository.head
    value = fleet.init("--json").json
    assert (value["schema_version"], value["host"], value["fleet"]) == (1, HOST, FLEET_ID)
    assert (value["anchor"], value["is_pinned"], value["is_new"]) == (head, True, True)
    assert value["commit"]["committer"] == "Carl Committer <carl@example.org>"
    assert [resource["id"] for resource in value["plan"]["resources"]] == ["file:/etc/a"]
    assert (value["timer"], value["host_key"], value["diagnostics"]) == (None, None, [])
    again = fleet.init("--json").json
    assert (again["is_new"], again["is_pinned"], again["anchor"]) == (False, False, head)


def test_without_a_plan_none_is_made(fleet: Scene) -> None:
    assert "Plan:" not in fleet.init("--no-plan").out
    assert fleet.init("--no-plan", "--json").json["plan"] is None


def test_a_plan_that_cannot_be_made_is_a_warning_and_the_host_is_enrolled(scene: Scene) -> None:
    """The host is not the one that the fleet expects: a pass would end with 71."""
    scene.commit(A, host={"expect": {"arch": "none-such"}})
    ran = scene.init()
    assert ran.code == 0
    assert "No plan could be made; the host is enrolled all the same." in ran.out
    assert "warning[host-not-observable]" in ran.err
    assert "error[" not in ran.err
    value = scene.init("--json").json
    assert value["plan"] is None
    assert "host-not-observable" in {item["code"] for item in value["diagnostics"]}
    assert scene.run("apply").code == 71


def test_the_public_key_of_the_host_is_shown(fleet: Scene) -> None:
    line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8cVt1sUOqUQ3g5t6zX5C1lfTQ6Y0Pz6lYwQk2mHqEo"
    fleet.at("/etc/ssh").mkdir()
    fleet.write("/etc/ssh/ssh_host_ed25519_key.pub", f"{line} root@web1\n")
    assert f"host key      {line}\n" in fleet.init().out
    assert fleet.init("--json").json["host_key"] == line


@pytest.mark.parametrize("text", ["", "ssh-rsa AAAA", "ssh-ed25519", "\x1b[31mssh-ed25519 A", "ssh-ed25519 é"])
def test_what_is_no_such_key_is_not_shown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.pub"
    path.write_text(text)
    assert host_key(path) == ""
    os.mkfifo(tmp_path / "fifo")
    assert host_key(tmp_path / "fifo") == ""
    assert host_key(tmp_path / "none") == ""


# --- what is refused


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--anchor", ""], "empty-option"),
        (["--token-file", ""], "empty-option"),
        (["--repo", ""], "empty-option"),
        (["--anchor", "main"], "bad-anchor"),
        (["--anchor", "8ef80f1"], "bad-anchor"),
        (["--trust-on-first-use"], "trust-needs-a-terminal"),
        (["--trust-on-first-use", "--anchor", "a" * 40], "options-exclude"),
        (["--make-key", "--key-file", "/k"], "options-exclude"),
        (["--repo", "ssh://git@example.org/fleet"], "init-needs-key"),
        (["--repo", "ssh://git@example.org/fleet", "--key-file", "/k"], "init-needs-known-hosts"),
    ],
)
def test_what_cannot_be_meant_is_refused_without_a_trace(fleet: Scene, words: list[str], code: str) -> None:
    before = fleet.everything()
    base = ["init", "--host", HOST, *([] if "--repo" in words else ["--repo", fleet.url])]
    ran = fleet.run(*base, *words, "--json")
    assert (ran.code, codes(ran)) == (64, [code])
    assert fleet.everything() == before


@pytest.mark.parametrize(
    "words", [["--token-file", "token"], ["--jump", "a b"], ["--proxy", "ftp://p"], ["--token-user", "a:b"]]
)
def test_access_that_cannot_be_meant_is_refused_as_in_the_configuration(fleet: Scene, words: list[str]) -> None:
    repo = "ssh://git@example.org/fleet" if words[0] == "--jump" else "https://example.org/fleet"
    more = ["--key-file", "/k", "--known-hosts-file", "/h"] if words[0] == "--jump" else []
    ran = fleet.run("init", "--repo", repo, "--host", HOST, "--anchor", "a" * 40, *more, *words, "--json")
    assert (ran.code, codes(ran)) == (78, ["bad-config"])
    assert ran.json["error"]["diagnostics"][0]["location"] is None
    assert not is_enrolled(fleet)


def test_an_anchor_that_the_source_does_not_descend_from_is_refused_without_a_trace(fleet: Scene) -> None:
    ran = fleet.init("--anchor", "a" * 40, "--json")
    assert (ran.code, codes(ran)) == (76, ["not-anchored"])
    assert not is_enrolled(fleet)


def test_an_existing_configuration_gets_the_anchor_that_was_said(fleet: Scene) -> None:
    fleet.write(CONFIG, f"# mine\nrepo: {fleet.url}\nhost: {HOST}\n")
    assert fleet.init("--anchor", fleet.repository.head).code == 0
    text = fleet.read(CONFIG) or ""
    assert text.startswith(f"# mine\nrepo: {fleet.url}\nhost: {HOST}\n")
    assert fleet.repository.head in text


def test_an_existing_configuration_gets_no_anchor_unasked(fleet: Scene) -> None:
    text = f"# mine\nrepo: {fleet.url}\nhost: {HOST}\n"
    fleet.write(CONFIG, text)
    ran = fleet.init("--json")
    assert (ran.code, ran.json["anchor"], ran.json["is_pinned"]) == (0, None, False)
    assert fleet.read(CONFIG) == text


def test_what_the_configuration_says_need_not_be_said_again(fleet: Scene) -> None:
    """As cloud-init wrote it."""
    text = f"repo: {fleet.url}\nhost: {HOST}\n"
    fleet.write(CONFIG, text)
    assert fleet.run("init").code == 0
    fleet.apply()


def test_another_anchor_is_refused_once_something_is_accepted(fleet: Scene) -> None:
    fleet.init()
    fleet.apply()
    before = fleet.everything()
    ran = fleet.init("--anchor", "a" * 40, "--json")
    assert (ran.code, codes(ran)) == (78, ["configured-otherwise"])
    assert fleet.everything() == before


def test_init_again_changes_no_byte(fleet: Scene) -> None:
    for options in ([], ["--anchor", fleet.repository.head], ["--enforcement", "enforce"], ["--ref", "main"]):
        fleet.init()
        before = lasting(fleet)
        assert fleet.init(*options).code == 0
        assert lasting(fleet) == before


def test_copies_are_asked_in_their_order(fleet: Scene) -> None:
    copy = fleet.folder / "copy"
    shutil.copytree(fleet.repository.path, copy)
    assert fleet.run("init", "--repo", fleet.url, "--repo", str(copy), "--host", HOST).code == 0
    shutil.rmtree(fleet.repository.path)
    ran = fleet.run("apply", "--json")
    assert (ran.code, ran.json["source"]["remote"]) == (0, str(copy))


def test_below_another_root_there_is_no_timer(fleet: Scene) -> None:
    ran = fleet.run("init", "--repo", fleet.url, "--host", HOST)
    assert ran.code == 0
    assert "timer" not in ran.out
    assert not fleet.at("/etc/systemd").exists()


def test_tighter_enforcement_is_written(fleet: Scene) -> None:
    assert fleet.init("--enforcement", "observe").code == 0
    fleet.apply()
    assert fleet.read("/etc/a") is None


# --- over the network


@pytest.fixture
def server(fleet: Scene, tmp_path: Path) -> Iterator[HttpsServer]:
    """Give a server of the fleet that lets in who has the token."""
    authority = Authority(tmp_path / "authority")
    fleet.at("/etc/datum").mkdir()
    fleet.at("/etc/datum/ca.pem").write_bytes(authority.path.read_bytes())
    fleet.write("/etc/datum/token", f"{TOKEN}\n")
    fleet.at("/etc/datum/token").chmod(0o600)
    with HttpsServer(tmp_path, authority.issue("localhost"), credentials=f"git:{TOKEN}") as made:
        yield made


ACCESS = ("--token-file", "/etc/datum/token", "--ca-file", "/etc/datum/ca.pem")


def test_over_the_network_a_script_has_to_say_an_anchor(fleet: Scene, server: HttpsServer) -> None:
    """Nothing is asked of the server before; the hint has the line."""
    ran = fleet.run("init", "--repo", server.url(), "--host", HOST, *ACCESS, "--json")
    assert (ran.code, codes(ran)) == (64, ["init-needs-anchor"])
    hint = ran.json["error"]["diagnostics"][0]["hint"]
    assert "--anchor $(git rev-parse main)" in hint.replace("'", "")
    assert server.requests == []
    assert not is_enrolled(fleet)


def test_over_the_network_an_anchor_enrols(fleet: Scene, server: HttpsServer) -> None:
    head = fleet.repository.head
    ran = fleet.run("init", "--repo", server.url(), "--host", HOST, *ACCESS, "--anchor", head)
    assert ran.code == 0, ran
    text = fleet.read(CONFIG) or ""
    assert "token_file: '/etc/datum/token'" in text
    assert TOKEN not in text + ran.out + ran.err
    fleet.apply()
    assert fleet.read("/etc/a") == "a\n"


@pytest.mark.parametrize(
    ("break_it", "code"),
    [
        (lambda path: path.unlink(), "source-file-unreadable"),
        (lambda path: path.chmod(0o644), "source-file-exposed"),
        (lambda path: path.write_text(""), "token-malformed"),
        (lambda path: path.write_text("wrong"), None),
    ],
    ids=["missing", "readable", "empty", "wrong"],
)
def test_a_token_that_cannot_be_used_enrols_nobody(
    fleet: Scene, server: HttpsServer, break_it: Any, code: str | None
) -> None:
    break_it(fleet.at("/etc/datum/token"))
    head = fleet.repository.head
    ran = fleet.run("init", "--repo", server.url(), "--host", HOST, *ACCESS, "--anchor", head, "--json")
    assert ran.code == 69
    assert code is None or codes(ran) == [code]
    assert not is_enrolled(fleet)


# --- at a terminal


def at_terminal(scene: Scene, *words: str) -> Terminal:
    return Terminal(scene.command("init", "--root", str(scene.root), *words), {"PYTHONDONTWRITEBYTECODE": "1"})


def test_what_is_not_said_is_asked_for(fleet: Scene) -> None:
    """Wrong answers are told and asked for again; the evidence comes before the question of trust."""
    with at_terminal(fleet) as terminal:
        terminal.answer(REPOSITORY, "git://example.org/fleet")
        terminal.expect("nothing protects it")
        terminal.answer(REPOSITORY, fleet.url)
        terminal.answer(NAME, "No_Host")
        terminal.expect("is no host name")
        terminal.answer(NAME, HOST)
        terminal.answer(REF, "")
        terminal.answer(ANCHOR, "main")
        terminal.expect("the whole id of a commit")
        terminal.answer(ANCHOR, "")
        shown = terminal.expect(QUESTION)
        assert fleet.repository.head in shown
        assert "Carl Committer <carl@example.org>, 2023-11-14T22:15:00Z" in shown
        assert FLEET_ID in shown
        assert f"1 resource for {HOST}" in shown
        assert not is_enrolled(fleet)
        terminal.press(b"maybe\n")
        terminal.answer(QUESTION, "yes")
        assert terminal.end() == 0
        assert "is enrolled in fleet" in terminal.said
    assert fleet.repository.head in (fleet.read(CONFIG) or "")
    fleet.apply()


def test_a_wrong_answer_is_told_before_the_next_question(fleet: Scene) -> None:
    """A path where nothing is, a branch that the repository lacks, a name that the fleet lacks: none ends the rest."""
    fleet.repository.git("branch", "trunk")
    with at_terminal(fleet) as terminal:
        terminal.answer(REPOSITORY, "/no/such/fleet")
        assert "/no/such/fleet does not exist" in terminal.expect(REPOSITORY)
        terminal.press(fleet.url.encode() + b"\n")
        terminal.answer(NAME, "web9")
        terminal.answer(REF, "develop")
        assert "no branch or tag 'develop'. It has main, trunk" in terminal.expect(REF)
        terminal.press(b"trunk\n")
        terminal.answer(ANCHOR, fleet.repository.head)
        assert "web9" in terminal.expect("Name of this host in the fleet: ")
        terminal.press(HOST.encode() + b"\n")
        assert terminal.end() == 0, terminal.said
    text = fleet.read(CONFIG) or ""
    assert "ref: 'trunk'" in text
    assert f"host: '{HOST}'" in text
    fleet.apply()


def test_a_terminal_without_control_sequences_gets_none(fleet: Scene) -> None:
    """`TERM=dumb` is what `at_terminal` says; without colours there are still the line of progress and bold words."""
    command = fleet.command("init", "--root", str(fleet.root))
    for term, has_sequences in (("dumb", False), ("xterm", True)):
        with Terminal(command, {"PYTHONDONTWRITEBYTECODE": "1", "TERM": term, "NO_COLOR": ""}) as terminal:
            terminal.answer(REPOSITORY, fleet.url)
            terminal.answer(NAME, HOST)
            terminal.answer(REF, "")
            terminal.answer(ANCHOR, fleet.repository.head)
            assert terminal.end() == 0
            assert ("\x1b" in terminal.said) is has_sequences, terminal.said
        shutil.rmtree(fleet.root / "etc/datum")
        shutil.rmtree(fleet.root / STATE)


def test_a_file_that_was_named_is_looked_at_before_the_first_question(fleet: Scene) -> None:
    with at_terminal(fleet, "--host", HOST, "--token-file", "/etc/datum/tokn") as terminal:
        assert terminal.end() == 69
        assert "source-file-unreadable" in terminal.said
        assert "/etc/datum/tokn: No such file or directory" in terminal.said
        assert REPOSITORY not in terminal.said


def test_where_repository_and_host_are_said_no_branch_is_asked_for(fleet: Scene) -> None:
    """The line of README enrols at a terminal as in a script, without a question."""
    with at_terminal(fleet, "--repo", fleet.url, "--host", HOST) as terminal:
        assert terminal.end() == 0
        assert not any(asked in terminal.said for asked in (REPOSITORY, NAME, REF, ANCHOR, QUESTION, "[y/N]"))


def test_a_private_key_that_is_there_is_asked_for_and_looked_at(fleet: Scene) -> None:
    """Who wants no key made has one; one that others may read, or that is not there, is asked for again."""
    asked = "File of the private key, as this host has it: "
    fleet.write("/etc/key", "private")
    fleet.at("/etc/key").chmod(0o644)
    with at_terminal(fleet, "--repo", "ssh://git@127.0.0.1:1/fleet", "--host", HOST) as terminal:
        terminal.answer("Make a key at /etc/datum/ssh_key? [y/N]: ", "")
        terminal.answer(asked, "etc/key")
        assert "does not begin with /" in terminal.expect(asked)
        terminal.press(b"/etc/kee\n")
        assert "No such file" in terminal.expect(asked)
        terminal.press(b"/etc/key\n")
        assert "mode 0644" in terminal.expect(asked)
        fleet.at("/etc/key").chmod(0o600)
        terminal.press(b"/etc/key\n")
        assert terminal.end() == 74
        assert "server-keys-unknown" in terminal.said


def test_trust_on_first_use_goes_to_the_question(fleet: Scene, server: HttpsServer) -> None:
    words = ("--repo", server.url(), "--host", HOST, *ACCESS, "--trust-on-first-use")
    with at_terminal(fleet, *words) as terminal:
        terminal.answer(QUESTION, "y")
        assert terminal.end() == 0
        assert ANCHOR not in terminal.said
    assert f"anchor: '{fleet.repository.head}'" in (fleet.read(CONFIG) or "")


def test_over_the_network_a_person_may_name_the_anchor(fleet: Scene, server: HttpsServer) -> None:
    with at_terminal(fleet, "--repo", server.url(), "--host", HOST, *ACCESS) as terminal:
        terminal.answer(ANCHOR, fleet.repository.head)
        assert terminal.end() == 0
        assert QUESTION not in terminal.said


@pytest.mark.parametrize(
    ("keys", "code", "said"),
    [
        (b"\n", 64, "not-confirmed"),
        (b"n\n", 64, "not-confirmed"),
        (b"\x04", 64, "no-answer"),
        (b"\x03", 130, ""),
    ],
    ids=["nothing", "no", "end", "ctrl-c"],
)
def test_without_a_yes_nothing_is_trusted_and_nothing_left_behind(
    fleet: Scene, keys: bytes, code: int, said: str
) -> None:
    before = fleet.everything()
    with at_terminal(fleet, "--repo", fleet.url, "--host", HOST, "--trust-on-first-use") as terminal:
        terminal.expect(QUESTION)
        terminal.press(keys)
        assert terminal.end() == code
        assert said in terminal.said
        assert "Traceback" not in terminal.said
    assert fleet.everything() == before


@pytest.mark.parametrize("keys", [b"\x04", b"\x03"], ids=["end", "ctrl-c"])
@pytest.mark.parametrize("question", [REPOSITORY, NAME, REF, ANCHOR])
def test_every_question_can_be_left(fleet: Scene, question: str, keys: bytes) -> None:
    before = fleet.everything()
    answers = {REPOSITORY: fleet.url, NAME: HOST, REF: "", ANCHOR: ""}
    with at_terminal(fleet) as terminal:
        for asked, answer in answers.items():
            if asked == question:
                break
            terminal.answer(asked, answer)
        terminal.expect(question)
        terminal.press(keys)
        assert terminal.end() == (64 if keys == b"\x04" else 130)
    assert fleet.everything() == before


def test_what_a_commit_says_drives_no_terminal(scene: Scene) -> None:
    scene.commit(A)
    scene.repository.commit({}, message="evil \x1b]0;owned\x07 \u202e subject")
    with at_terminal(scene, "--repo", scene.url, "--host", HOST, "--trust-on-first-use") as terminal:
        shown = terminal.expect(QUESTION)
        assert r"evil \x1b]0;owned\x07 \u202e subject" in shown
        terminal.press(b"n\n")
        terminal.end()


def test_without_a_terminal_nothing_is_asked(fleet: Scene) -> None:
    """A script that forgot an option gets an error, and does not hang."""
    done = subprocess.run(
        fleet.command("init", "--root", str(fleet.root), "--json"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 64
    assert json.loads(done.stdout)["error"]["diagnostics"][0]["code"] == "init-needs-repo-and-host"
