"""`datum doctor` on hosts that are broken in one way each: which check says so, as what, in which words."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from datum.agent.doctor import as_json
from datum.agent.doctor.catalogue import CHECKS, GROUPS
from datum.diagnostics import Diagnostic
from datum.errors import PermissionRefusedError
from tests.passes.looks import write_pause
from tests.passes.scene import HOST, OTHER_FLEET_ID, REPORTS, STATE, Ran, Scene, run, snapshot
from tests.passes.test_concurrency import passes, wait_for

A = {"file:/etc/a": {"content": "a\n"}}
B = {"file:/etc/a": {"content": "b\n"}}
CONFIG: Final = "/etc/datum/agent.yaml"
SCHEMA: Final = json.loads(Path(as_json.__file__).with_name("schema.json").read_text())
# What the machine that runs the tests is like is not what they are about.
OF_THE_MACHINE: Final = {
    "clock-synchronized",
    "capabilities",
    "confinement",
    "free-space",
    "program-version",
    "rights-of-root",
}

Checks = Mapping[str, list[Mapping[str, Any]]]


def diagnose(scene: Scene, *options: str, code: int | None = None) -> Checks:
    """Return what each check found; the document keeps its schema, and the text is one."""
    ran = scene.run("doctor", "--json", *options)
    assert "Traceback" not in ran.err
    if code is not None:
        assert ran.code == code, ran
    assert ran.code == ran.json["exit_code"]
    jsonschema.Draft202012Validator(SCHEMA).validate(ran.json)
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in ran.json["checks"]:
        found.setdefault(each["check"], []).append(each)
    return found


def states(found: Checks, *names: str) -> set[str]:
    return {each["state"] for name in names or set(found) - OF_THE_MACHINE for each in found[name]}


@pytest.fixture
def host(scene: Scene) -> Scene:
    """Give a host that converged at its first revision."""
    scene.enrolled(A)
    return scene


def test_a_host_that_is_well_has_no_fault_and_every_check(host: Scene) -> None:
    found = diagnose(host, code=0)
    assert states(found) <= {"ok", "not_checked"}
    assert {each["check"] for name in found for each in found[name] if each["state"] == "ok"} >= {
        *("configuration-file", "configuration-rights", "source-account", "remote-repository", "remote-protocol"),
        *("remote-ref", "remote-fetch", "remote-revision", "state-directory", "pointer", "mirror", "pass-lock"),
        *("quarantined-revisions", "clock-of-source", "clock-of-reports", "writable", "unnamed-files"),
        *("resource-types", "manifest", "pass-reports", "last-pass", "report-space", "enforcement"),
    }
    of_other_transports = {
        *("remote-files", "remote-name", "remote-proxy", "remote-connection", "remote-certificate"),
        *("remote-host-key", "remote-answer", "remote-login"),
    }
    assert set(found) == set(CHECKS) - of_other_transports
    text = host.run("doctor")
    assert (text.code, text.err) == (0, "")
    headings = [line.split()[0] for line in text.out.splitlines() if line[0] != " "][: len(GROUPS)]
    assert set(headings) <= set(GROUPS) | {"0"}
    assert text.out.splitlines()[-1].startswith("0 faults")


def no_configuration(host: Scene) -> None:
    host.at(CONFIG).unlink()


def unknown_key(host: Scene) -> None:
    host.write(CONFIG, host.at(CONFIG).read_text() + "enforcment: hold\n")


def no_yaml(host: Scene) -> None:
    host.write(CONFIG, "repo: [\n")


def configuration_is_a_folder(host: Scene) -> None:
    host.at(CONFIG).unlink()
    host.at(CONFIG).mkdir()


def others_write_it(host: Scene) -> None:
    host.at(CONFIG).chmod(0o666)


def configuration_leads_away(host: Scene) -> None:
    shutil.rmtree(host.root / STATE)
    (host.root / STATE).symlink_to("/")


def not_enrolled(host: Scene) -> None:
    host.pointer_path.unlink()
    shutil.rmtree(host.at("/var/log/datum/reports"))


def state_lost(host: Scene) -> None:
    host.pointer_path.unlink()


def damaged_pointer(host: Scene) -> None:
    host.pointer_path.write_text("{")


def pointer_of_another(host: Scene) -> None:
    host.write(CONFIG, host.at(CONFIG).read_text().replace(HOST, "web2"))


def open_pointer(host: Scene) -> None:
    host.pointer_path.chmod(0o666)


def state_is_a_file(host: Scene) -> None:
    shutil.rmtree(host.root / STATE)
    host.write(f"/{STATE}", "x")


def open_state(host: Scene) -> None:
    (host.root / STATE).chmod(0o777)


def no_mirror(host: Scene) -> None:
    shutil.rmtree(host.root / STATE / "mirror.git")


def damaged_mirror(host: Scene) -> None:
    for pack in (host.root / STATE / "mirror.git/objects").rglob("*"):
        if pack.is_file():
            pack.chmod(0o600)
            pack.write_bytes(b"x")


def stale_lock(host: Scene) -> None:
    host.write(f"/{STATE}/mirror.git/shallow.lock", "")


def quarantined(host: Scene) -> None:
    said = json.loads(host.pointer_path.read_text())
    said["quarantined"] = ["sha1:" + "9" * 40]
    host.pointer_path.write_text(json.dumps(said))


def repository_gone(host: Scene) -> None:
    shutil.rmtree(host.repository.path)


def no_repository(host: Scene) -> None:
    shutil.rmtree(host.repository.path / ".git")


def branch_gone(host: Scene) -> None:
    host.repository.git("branch", "--move", "main", "trunk")


def rewritten(host: Scene) -> None:
    host.repository.git("commit", "--quiet", "--amend", "-m", "rewritten")


def foreign(host: Scene) -> None:
    host.commit(A, fleet=OTHER_FLEET_ID)


def for_another_agent(host: Scene) -> None:
    host.commit(A, agent=">=99")


def no_header(host: Scene) -> None:
    host.commit_files({"fleet.yaml": "datum: [\n"})


def not_in_the_fleet(host: Scene) -> None:
    host.repository.git("rm", "--quiet", f"hosts/{HOST}.yaml")
    host.commit_files({"hosts/web9.yaml": "{}"})


def invalid(host: Scene) -> None:
    host.commit({"file:/etc/a": {"contents": "a\n"}})


def commit_of_tomorrow(host: Scene) -> None:
    host.repository.git(
        "commit", "--quiet", "--allow-empty", "-m", "x", environment={"GIT_COMMITTER_DATE": "2099-01-01T00:00:00Z"}
    )


def report_of_tomorrow(host: Scene) -> None:
    host.write(f"/{REPORTS}/20990101T000000Z-1.converged.quiet.json", "{}")


def old_report(host: Scene) -> None:
    shutil.rmtree(host.root / REPORTS)
    host.write(f"/{REPORTS}/20200101T000000Z-1.failed.loud.json", "{}")


def no_reports(host: Scene) -> None:
    shutil.rmtree(host.root / REPORTS)


def damaged_report(host: Scene) -> None:
    max((host.root / REPORTS).glob("*.json"), key=lambda path: path.stat().st_mtime_ns).write_text("{")


def held(host: Scene) -> None:
    host.write(CONFIG, host.at(CONFIG).read_text() + "enforcement: hold\n")


def damaged_pause(host: Scene) -> None:
    host.write(f"/{STATE}/pause.yaml", "[")


def paused_of_no_type(host: Scene) -> None:
    write_pause(host, "bogus:*")


Break = Callable[[Scene], None]
BROKEN: Final[list[tuple[Break, str, str, str]]] = [
    (no_configuration, "configuration-file", "fault", "does not know what to enforce"),
    (unknown_key, "configuration-file", "fault", "'enforcment' is no key"),
    (no_yaml, "configuration-file", "fault", f"{CONFIG}:"),
    (configuration_is_a_folder, "configuration-file", "fault", "Is a directory"),
    (others_write_it, "configuration-rights", "fault", "mode 0666"),
    (configuration_leads_away, "configuration-file", "fault", "leads out of the root"),
    (not_enrolled, "pointer", "fault", "is not enrolled"),
    (state_lost, "pointer", "fault", "The state of this host is lost"),
    (damaged_pointer, "pointer", "fault", "The pointer is damaged"),
    (pointer_of_another, "pointer", "fault", "enrolled under another name"),
    (open_pointer, "pointer", "fault", "cannot be trusted"),
    (state_is_a_file, "state-directory", "fault", "is no directory"),
    (open_state, "state-directory", "fault", "mode 0777"),
    (open_state, "pointer", "fault", "cannot be trusted"),
    (no_mirror, "mirror", "warning", "There is no mirror"),
    (damaged_mirror, "mirror", "warning", "not whole"),
    (stale_lock, "mirror", "warning", "left 1 file in"),
    (quarantined, "quarantined-revisions", "warning", "9" * 12),
    (repository_gone, "remote-repository", "fault", "does not exist"),
    (no_repository, "remote-repository", "fault", "is no git repository"),
    (branch_gone, "remote-ref", "fault", "no branch or tag 'main'. It has trunk"),
    (rewritten, "remote-revision", "fault", "does not descend from"),
    (foreign, "remote-revision", "fault", f"belongs to fleet {OTHER_FLEET_ID}"),
    (for_another_agent, "remote-revision", "fault", "asks for agent >=99"),
    (no_header, "remote-revision", "fault", "fleet.yaml:"),
    (not_in_the_fleet, "manifest", "fault", HOST),
    (invalid, "manifest", "fault", "contents"),
    (commit_of_tomorrow, "clock-of-source", "warning", "is dated"),
    (report_of_tomorrow, "clock-of-reports", "warning", "set back"),
    (old_report, "pass-reports", "warning", "days old"),
    (old_report, "last-pass", "warning", "failed"),
    (no_reports, "pass-reports", "warning", "No pass wrote a report"),
    (damaged_report, "last-pass", "warning", "cannot be read"),
    (held, "enforcement", "warning", "enforcement: hold"),
    (damaged_pause, "enforcement", "fault", "pause"),
    (paused_of_no_type, "enforcement", "warning", "no type that there is: bogus:*: nothing is paused by that"),
]


@pytest.mark.parametrize(("spoil", "check", "state", "words"), BROKEN, ids=[f"{b[0].__name__}-{b[1]}" for b in BROKEN])
def test_a_broken_host(host: Scene, spoil: Break, check: str, state: str, words: str) -> None:
    """The check that it concerns says so, with a cure; all others are made as well."""
    spoil(host)
    found = diagnose(host, code=1 if state == "fault" else None)
    (said,) = [each for each in found[check] if each["state"] == state]
    assert words in said["found"], said
    assert said["cure"], said
    local = {name for name, one in CHECKS.items() if one.group in {"clock", "disk", "permissions", "versions", "state"}}
    assert local <= set(found), "something was not looked at"
    text = host.run("doctor")
    assert words.split(maxsplit=1)[0] in text.out
    assert text.err == ""


def test_what_can_still_be_told_is_told_without_a_configuration(host: Scene) -> None:
    no_configuration(host)
    found = diagnose(host, code=1)
    assert states(found, "pointer", "mirror", "resource-types", "pass-reports") == {"ok"}
    assert states(found, "remote-revision", "manifest") == {"not_checked"}


def test_without_a_pointer_the_source_is_asked_as_for_a_first_contact(host: Scene) -> None:
    damaged_pointer(host)
    found = diagnose(host, code=1)
    assert states(found, "remote-ref", "remote-fetch", "manifest") == {"ok"}
    assert states(found, "remote-revision", "quarantined-revisions") == {"not_checked"}
    not_enrolled(host)
    assert states(diagnose(host, code=1), "remote-revision") == {"ok"}


def test_the_enforced_revision_is_resolved_where_no_remote_has_any(host: Scene) -> None:
    repository_gone(host)
    (said,) = diagnose(host, code=1)["manifest"]
    assert (said["state"], said["facts"]["resources"]) == ("ok", 1)


def test_an_option_tries_a_remote_before_it_is_configured(host: Scene) -> None:
    """Options overrule the file, as in every command."""
    copy = host.folder / "copy"
    shutil.copytree(host.repository.path, copy)
    found = diagnose(host, "--repo", str(copy), "--ref", "trunk", code=1)
    assert [each["of"] for each in found["remote-ref"]] == [str(copy)]
    assert "'trunk'" in found["remote-ref"][0]["found"]


def test_every_remote_is_asked_and_one_that_is_had_makes_others_warnings(host: Scene) -> None:
    copy = host.folder / "copy"
    shutil.copytree(host.repository.path, copy)
    remotes = [{"url": str(host.folder / "gone")}, {"url": host.url}, {"url": str(copy)}]
    host.commit(B)
    host.apply("--repo", host.url)
    host.write(CONFIG, json.dumps({"host": HOST, "source": {"remotes": remotes}}))
    found = diagnose(host, code=0)
    assert [(each["of"], each["state"]) for each in found["remote-repository"]] == [
        (str(host.folder / "gone"), "warning"),
        (host.url, "ok"),
        (str(copy), "ok"),
    ]
    assert [each["state"] for each in found["remote-revision"]] == ["not_checked", "ok", "warning"]


def test_offline_nothing_is_asked_and_the_rest_is_looked_at(host: Scene) -> None:
    repository_gone(host)
    found = diagnose(host, "--offline", code=0)
    assert states(found, "remote-repository", "remote-ref", "remote-revision", "clock-of-source") == {"not_checked"}
    assert "--offline" in found["remote-ref"][0]["found"]
    assert states(found, "manifest", "mirror", "pointer") == {"ok"}


def test_a_running_pass_is_shown_and_not_waited_for(scene: Scene, odd_types: Path) -> None:
    """Doctor takes no lock."""
    scene.commit({"slow:/etc/slow": {"content": "x\n"}})
    assert scene.init().code == 0
    with passes(scene) as made:
        made.start()
        wait_for(odd_types / "begun")
        (said,) = diagnose(scene)["pass-lock"]
        (odd_types / "go").touch()
        made.finish()
    assert said["state"] == "ok"
    assert (said["facts"]["is_held"], said["facts"]["pid"]) == (True, made.processes[0].pid)


def install_type(host: Scene, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution that offers one type."""
    info = host.folder / "site/twin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: twin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[datum.providers]\n{line}\n")
    monkeypatch.syspath_prepend(str(info.parent))


def test_two_distributions_of_one_type_are_a_finding_and_no_end(host: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    install_type(host, "file = twin:File", monkeypatch)
    found = diagnose(host, code=1)
    (said,) = found["resource-types"]
    assert (said["state"], said["codes"]) == ("fault", ["duplicate-provider"])
    assert states(found, "manifest") == {"not_checked"}
    assert states(found, "pointer", "remote-ref") == {"ok"}


def test_a_type_that_cannot_be_loaded_is_a_finding(host: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody names breaks no pass, and is found here."""
    install_type(host, "gone = nothing_of_this_name:Gone", monkeypatch)
    found = diagnose(host, code=1)
    (said,) = found["resource-types"]
    assert (said["state"], "nothing_of_this_name" in said["found"]) == ("fault", True)
    assert states(found, "manifest") == {"ok"}


def test_a_check_that_breaks_is_a_bug_and_takes_no_other_along(host: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row M14: one bad item never stops the rest; it is reported."""
    complete = diagnose(host)

    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("datum.agent.doctor.keeping.judge_lock", breaks)
    found = diagnose(host, code=70)
    assert set(found) == set(complete)
    (said,) = found["pass-lock"]
    assert (said["state"], "ZeroDivisionError" in said["found"]) == ("not_checked", True)


def test_where_what_reads_revisions_cannot_be_started_none_is_read(
    host: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the source is asked, and all else is looked at."""
    refusal = Diagnostic(
        code="resolver-not-started", summary="It could not be started.", detail="No.", hint="Allow it."
    )

    def refuse(*_: object, **__: object) -> None:
        raise PermissionRefusedError(refusal)

    monkeypatch.setattr("datum.cli.effects.reading", refuse)
    found = diagnose(host, code=1)
    (said,) = found["revision-reader"]
    assert (said["state"], said["codes"], said["cure"]) == ("fault", ["resolver-not-started"], "Allow it.")
    assert states(found, "remote-ref", "remote-revision", "manifest") == {"not_checked"}
    assert states(found, "pointer", "mirror", "configuration-file") == {"ok"}


@pytest.mark.parametrize("options", [(), ("--json",), ("--offline",)])
def test_doctor_leaves_no_trace(scene: Scene, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """As `plan`: with something to fetch, leftovers in the mirror, and a report that would go."""
    scene.enrolled(A)
    scene.commit(B)
    stale_lock(scene)
    old_report(scene)
    throw_away = scene.folder / "tmp"
    throw_away.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(throw_away))
    monkeypatch.setenv("TMPDIR", str(throw_away))
    before, repository = snapshot(scene.root), snapshot(scene.repository.path)
    assert scene.run("doctor", *options).code == 0
    assert snapshot(scene.root) == before
    assert snapshot(scene.repository.path) == repository
    assert list(throw_away.iterdir()) == []


@pytest.mark.parametrize("spoil", [no_configuration, damaged_pointer, damaged_mirror, not_enrolled, no_mirror])
def test_doctor_of_a_broken_host_leaves_no_trace(host: Scene, spoil: Break) -> None:
    host.commit(B)
    spoil(host)
    before = host.everything()
    host.run("doctor")
    assert host.everything() == before


def test_doctor_of_an_empty_root_makes_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    ran = run("doctor", "--root", str(tmp_path / "root"))
    assert (ran.code, ran.err) == (1, "")
    assert list((tmp_path / "root").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--root", "/nowhere"), "no directory"),
        (("--repo", "/x", "--host", "NO NAME"), "no host name"),
        (("--config", ""), "no value"),
        (("--fetch",), "No such option"),
    ],
)
def test_a_wrong_option_is_said_so(options: tuple[str, ...], words: str) -> None:
    ran = run("doctor", *options)
    assert ran.code == 64, ran
    assert words in ran.err
    assert ran.out == ""


def test_an_ordinary_user_of_an_own_root_checks_everything(user_scene: Scene) -> None:
    user_scene.enrolled(A)
    before = user_scene.everything()
    ran: Ran = user_scene.run("doctor", "--json")
    assert ran.code == 0, ran
    assert not [each for each in ran.json["checks"] if each["needs_root"]]
    assert user_scene.everything() == before
