"""`datum adopt`: what is printed, put into the fleet, leaves the host as it is."""

from pathlib import Path

import pytest

from tests.passes.scene import HOST, Ran, Scene, run

NASTY = "a ${x} $${y} $$${z}\n\u2028 \x07 \"quoted\" 'too' \\ # no: comment\n\ttab\r\n"

SYSCTL = "a key is there once its file in /etc/sysctl.d is; declare what `sysctl -n net/ipv4/ip_forward` says as value"
SERVICE = (
    "a service is there while it runs or is enabled; to keep it from both, declare running: false and enabled: false"
)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Give a host on which somebody made things by hand."""
    made = Scene(tmp_path)
    made.write("/etc/motd", "hello\n")
    made.write("/etc/nasty", NASTY)
    made.at("/etc/app.d").chmod(0o750)
    made.at("/etc/link").symlink_to("motd")
    made.at("/etc/motd").chmod(0o640)
    return made


NAMES = ("file:/etc/motd", "file:/etc/nasty", "directory:/etc/app.d", "link:/etc/link")


def test_what_is_adopted_changes_nothing(scene: Scene) -> None:
    """Put into the host's file as it is printed: the first pass has nothing to do."""
    before = scene.host()
    ran = scene.run("adopt", *NAMES)
    assert (ran.code, ran.err) == (0, "")
    assert scene.host() == before
    scene.commit({})
    scene.commit_files({f"hosts/{HOST}.yaml": ran.out})
    assert scene.init().code == 0
    scene.apply()
    assert f"nothing to do, {len(NAMES)} in sync" in scene.apply().out


def test_output_is_plain(scene: Scene) -> None:
    """Nothing in it that a terminal would obey; sorted by id."""
    ran = scene.run("adopt", *NAMES)
    assert all(char.isprintable() or char == "\n" for char in ran.out)
    assert ran.out.splitlines()[:3] == ["resources:", "  directory:/etc/app.d:", *ran.out.splitlines()[2:3]]
    assert '    content: "hello\\n"' in ran.out.splitlines()
    assert '    mode: "0640"' in ran.out.splitlines()


def test_as_json(scene: Scene) -> None:
    value = scene.run("adopt", "file:/etc/motd", "link:/etc/link", "--json").json
    assert value["schema_version"] == 1
    assert value["resources"]["file:/etc/motd"]["content"] == "hello\n"
    assert value["resources"]["link:/etc/link"]["target"] == "motd"


def refused(ran: Ran) -> dict[str, dict[str, str]]:
    assert ran.code == 64, ran
    return {item["detail"].partition(":")[0] + item["code"]: item for item in ran.json["error"]["diagnostics"]}


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("file:/etc/none", "cannot-be-adopted", "nothing of that name"),
        ("file:/etc/app.d", "cannot-be-adopted", ""),
        ("fil:/etc/motd", "unknown-resource-type", "'fil' is no resource type"),
        ("motd", "bad-resource-id", ""),
        ("file:etc/motd", "", ""),
    ],
)
def test_what_cannot_be_adopted_is_said(scene: Scene, name: str, code: str, words: str) -> None:
    """One finding for each, exit 64, nothing printed as a result."""
    found = refused(scene.run("adopt", name, "file:/etc/motd", "--json"))
    (item,) = found.values()
    assert item["code"] == code or not code
    assert words in item["detail"]


@pytest.mark.parametrize(
    ("name", "detail", "hint"),
    [
        (
            "tree:/etc/app.d",
            "tree:/etc/app.d: a tree is a folder of the repository, and what stands at /etc/app.d is not in it.",
            "copy /etc/app.d into the repository and name that folder as source",
        ),
        (
            "command:anything",
            "command:anything: a command is nothing on the host, so there is nothing to adopt.",
            "adopt what it makes: `datum adopt file:PATH`, or declare the command by hand",
        ),
        (
            "check:nginx",
            "check:nginx: a check is nothing on the host, so there is nothing to adopt.",
            "declare it by hand",
        ),
        (
            "sysctl:net/ipv4/ip_forward",
            "sysctl:net/ipv4/ip_forward: nothing of that name counts as there.",
            SYSCTL,
        ),
        (
            "service:nginx",
            "service:nginx: nothing of that name counts as there.",
            SERVICE,
        ),
    ],
)
def test_what_no_host_can_tell_is_refused_with_what_to_do_instead(
    scene: Scene, name: str, detail: str, hint: str
) -> None:
    """As data and to people."""
    before = scene.host()
    (item,) = refused(scene.run("adopt", name, "--json")).values()
    assert (item["code"], item["detail"], item["hint"]) == ("cannot-be-adopted", detail, hint)
    ran = scene.run("adopt", name)
    assert (ran.code, ran.out) == (64, "")
    assert detail in " ".join(ran.err.split())
    assert hint in " ".join(ran.err.split())
    assert scene.host() == before


def test_every_name_that_cannot_be_adopted_is_said_at_once(scene: Scene) -> None:
    ran = scene.run("adopt", "file:/etc/none", "tree:/srv", "nothing:x")
    assert ran.code == 64
    assert ran.out == ""
    assert ran.err.count("error[") == 3


def test_what_is_no_path_is_not_called_one(scene: Scene) -> None:
    """Names of files of systemd and cron: no place is made of them, and no line that would not work."""
    units = scene.at("/etc/systemd/system")
    units.mkdir(parents=True)
    (units / "app.service").write_text("[Service]\n")
    scene.at("/etc/cron.d/app").mkdir(parents=True)
    found = refused(scene.run("adopt", "timer:app", "cron:app", "--json"))
    assert [(item["detail"], item.get("hint", "")) for item in found.values()] == [
        ("timer:app: no regular file stands in the place of app.", ""),
        ("cron:app: an empty directory stands in the place of app, and no regular file.", ""),
    ]
    (units / "app.timer").write_text("[Timer]\nOnCalendar=daily\nWakeSystem=yes\n")
    hint = "datum adopt unit:app.timer unit:app.service service:app.timer"
    assert hint in " ".join(scene.run("adopt", "timer:app").err.split())


def test_a_near_type_is_suggested(scene: Scene) -> None:
    assert "did you mean file:/etc/motd?" in scene.run("adopt", "fil:/etc/motd").err


def test_what_may_not_be_read_is_said(scene: Scene) -> None:
    loop = scene.at("/etc/loop")
    loop.symlink_to("loop")
    (item,) = refused(scene.run("adopt", "file:/etc/loop/x", "--json")).values()
    assert "cannot be looked at" in item["detail"]


def test_a_root_that_is_none_is_said(tmp_path: Path) -> None:
    ran = run("adopt", "file:/etc/motd", "--root", str(tmp_path / "none"))
    assert ran.code == 64
    assert "error[" in ran.err
