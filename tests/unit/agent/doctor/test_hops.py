"""Which hop is broken is read from what asking came to; what was met on the way only adds facts."""

from typing import Any, Final

import pytest
from attrs import evolve

from datum.agent.doctor import hops
from datum.agent.doctor.finding import Finding, State
from datum.agent.doctor.hops import Asked, Way, eased, judge_way
from datum.diagnostics import Diagnostic
from datum.model.revision import SourceStatus
from datum.repository.heard import Certificate, Heard
from datum.repository.remote import Remote
from tests.unit.fakes import revision

OK, WARNING, FAULT, NOT = State.OK, State.WARNING, State.FAULT, State.NOT_CHECKED
NOW: Final = "2026-01-02T12:00:00Z"
SECONDS: Final = 1_767_355_200.0
DAY: Final = 86400.0
HTTPS: Final = Remote("https://h/x", token_file="/t", ca_file="/c")
SSH: Final = Remote("ssh://git@h/x", key_file="/k", known_hosts_file="/n")
PATH: Final = Remote("/srv/x")
CERTIFICATE: Final = Certificate("h", "Authority", ("h",), SECONDS + 90 * DAY, "TLSv1.3")
HEARD: Final = Heard(addresses=("10.0.0.1",), peer="10.0.0.1", certificate=CERTIFICATE, status=401, ahead=0.0)
SSH_HEARD: Final = Heard(
    addresses=("10.0.0.1",),
    peer="10.0.0.1",
    offered_keys=("ssh-ed25519 SHA256:aa",),
    pinned_keys=("ED25519 SHA256:aa", "RSA SHA256:bb"),
    is_let_in=True,
)
GOOD: Final = Asked(SourceStatus.OK, (), revision(1), "2026-01-01T12:00:00Z", "Ann")


def failed(code: str, status: SourceStatus = SourceStatus.UNREACHABLE) -> Asked:
    return Asked(status, (Diagnostic(code=code, summary="It fails.", detail="Why.", hint="Mend it."),))


def judged(remote: Remote, asked: Asked, heard: Heard = HEARD, **more: Any) -> dict[str, Finding]:
    found = list(judge_way(Way(remote, heard, asked, NOW, **more)))
    assert [each.check for each in found] == list(hops.hops_of(remote))
    assert {each.of for each in found} == {remote.url}
    return {each.check: each for each in found}


@pytest.mark.parametrize(
    "remote", [PATH, HTTPS, SSH, evolve(HTTPS, proxy="http://p:1")], ids=["path", "https", "ssh", "proxy"]
)
def test_all_is_well(remote: Remote) -> None:
    found = judged(remote, GOOD, SSH_HEARD if remote is SSH else HEARD, files={"/t": "mode 0600"})
    assert {each.state for each in found.values()} == {OK}
    assert "by Ann, 24 hours old, is acceptable" in found["remote-revision"].found


@pytest.mark.parametrize("code", sorted(hops._BY_CODE))
@pytest.mark.parametrize("remote", [HTTPS, SSH, evolve(HTTPS, proxy="http://p:1")], ids=["https", "ssh", "proxy"])
def test_what_is_before_the_broken_hop_holds_and_what_is_behind_was_not_come_to(remote: Remote, code: str) -> None:
    found = judged(remote, failed(code), SSH_HEARD if remote is SSH else HEARD)
    names = list(found)
    place = names.index(next(name for name, each in found.items() if each.state is FAULT))
    assert (found[names[place]].codes, found[names[place]].cure) == ((code,), "Mend it.")
    wanted = hops._BY_CODE[code]
    if wanted in names:
        assert names[place] == wanted
    assert {found[name].state for name in names[place + 1 :]} <= {NOT}
    if names[place] != "remote-answer":
        assert {found[name].state for name in names[:place]} <= {OK}


def test_a_conversation_that_ends_somewhere_says_nothing_of_what_was_not_seen() -> None:
    late = failed("remote-timeout")
    nothing = judged(HTTPS, late, Heard())
    assert {name: each.state for name, each in nothing.items() if each.state is not NOT} == {
        "remote-files": OK,
        "remote-answer": FAULT,
    }
    seen = judged(HTTPS, late)
    assert [each.state for each in seen.values()][:5] == [OK, OK, OK, OK, FAULT]
    assert judged(SSH, late, SSH_HEARD)["remote-login"].state is OK
    assert judged(SSH, late, evolve(SSH_HEARD, is_let_in=False))["remote-login"].state is NOT


def test_a_failure_without_a_hop_in_this_way_is_the_next_that_fits() -> None:
    assert judged(PATH, failed("git-not-runnable"))["remote-repository"].state is FAULT
    assert judged(SSH, failed("encryption-failed"), SSH_HEARD)["remote-host-key"].state is FAULT
    assert judged(HTTPS, Asked(SourceStatus.UNREACHABLE))["remote-answer"].state is FAULT


@pytest.mark.parametrize(("days", "state"), [(90, OK), (22, OK), (21, WARNING), (0.5, WARNING), (-1, WARNING)])
def test_a_certificate_that_expires_soon_is_a_warning_with_the_days(days: float, state: State) -> None:
    heard = evolve(HEARD, certificate=evolve(CERTIFICATE, expires=SECONDS + days * DAY))
    found = judged(HTTPS, GOOD, heard)["remote-certificate"]
    assert (found.state, found.facts["days_left"]) == (state, int(days // 1))
    assert f"in {int(days // 1)} days" in found.found


@pytest.mark.parametrize("certificate", [None, Certificate()])
def test_a_certificate_that_could_not_be_seen_is_that_which_git_took(certificate: Certificate | None) -> None:
    found = judged(HTTPS, GOOD, evolve(HEARD, certificate=certificate))["remote-certificate"]
    assert (found.state, "could not be seen" in found.found) == (OK, True)


def test_keys_are_told_pinned_and_offered() -> None:
    found = judged(SSH, GOOD, SSH_HEARD)["remote-host-key"]
    assert found.found == "It shows ssh-ed25519 SHA256:aa, which is pinned. 1 more pinned."
    assert found.facts == {"offered": SSH_HEARD.offered_keys, "pinned": SSH_HEARD.pinned_keys}
    other = judged(SSH, failed("host-key-changed"), evolve(SSH_HEARD, is_let_in=False))["remote-host-key"]
    assert (other.state, other.facts["pinned"]) == (FAULT, SSH_HEARD.pinned_keys)
    assert judged(SSH, GOOD, Heard())["remote-host-key"].found == "It shows a key that is pinned."


def test_a_jump_host_is_named_where_it_is_connected_to() -> None:
    found = judged(evolve(SSH, jump="ann@j:2222"), GOOD, SSH_HEARD)
    assert found["remote-name"].found.startswith("j is")
    assert "port 2222, the jump host ann@j:2222 on the way" in found["remote-connection"].found


def test_a_revision_that_is_refused_is_named_with_the_evidence() -> None:
    asked = evolve(GOOD, status=SourceStatus.REFUSED, diagnostics=failed("not-a-descendant").diagnostics)
    found = judged(HTTPS, asked)
    assert found["remote-fetch"].state is OK
    refused = found["remote-revision"]
    assert (refused.state, refused.codes, refused.facts["revision"]) == (FAULT, ("not-a-descendant",), revision(1).key)
    assert judged(HTTPS, evolve(asked, is_behind=True))["remote-revision"].state is WARNING


def test_a_revision_that_is_quarantined_here_is_a_warning() -> None:
    found = judged(HTTPS, evolve(GOOD, is_quarantined=True))["remote-revision"]
    assert (found.state, "is quarantined" in found.found) == (WARNING, True)


def test_without_a_pointer_that_can_be_read_nothing_is_said_of_a_revision() -> None:
    assert judged(HTTPS, evolve(GOOD, is_floor_known=False))["remote-revision"].state is NOT


@pytest.mark.parametrize(
    ("date", "words"),
    [
        ("2026-01-02T12:30:00Z", "dated 30 minutes ahead"),
        ("", "of an unknown age"),
        ("2025-12-03T12:00:00Z", "30 days old"),
    ],
)
def test_how_old_a_revision_is(date: str, words: str) -> None:
    assert words in judged(HTTPS, evolve(GOOD, committed_at=date))["remote-revision"].found


def test_a_fault_is_a_warning_where_another_remote_is_had() -> None:
    found = tuple(judged(HTTPS, failed("login-refused")).values())
    assert FAULT in {each.state for each in eased(found, has_other=False)}
    states = {each.check: each for each in eased(found, has_other=True)}
    assert states["remote-login"].state is WARNING
    assert "Another remote is had" in states["remote-login"].found
    assert states["remote-name"].state is OK
