"""What plans and reports tell of files, links, directories and trees beside what became of them."""

import os
import subprocess
import sys
from itertools import count
from typing import Any, Final

import pytest

from datum.fleet import template_engine
from datum.fleet.expressions.library import Builtin
from datum.model.content import blob_id
from tests.passes.looks import assert_settled, mounted, needs_root, planned, reported, said, written
from tests.passes.scene import HOST, REPORTS, Scene, install, run
from tests.proofs.stage import WITHOUT_NAMESPACES

CHECK: Final = "check:set"
SET: Final = ("file:/etc/set.conf", "link:/srv/set.link")


@needs_root
@pytest.mark.parametrize("word", ["good", "bad"])
def test_a_set_that_is_judged_after_writing_says_so_with_the_reason(scene: Scene, word: str) -> None:
    """In what `apply` prints and in the report, for every member of the set, refused or not."""
    install(scene, "/bin/sh")
    script = 'read word < /etc/set.conf; [ "$word" = good ]'
    scene.commit(
        {
            CHECK: {"run": ["/bin/sh", "-c", script], "guards": list(SET)},
            SET[0]: {"content": f"{word}\n"},
            SET[1]: {"target": "set.d"},
        }
    )
    assert scene.init().code == 0
    argv = [*WITHOUT_NAMESPACES, *scene.command("apply", "--root", str(scene.root))]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if word == "good" else 1), done
    found = reported(scene)
    for name in SET:
        (remark,) = found[name]["remarks"]
        assert remark.startswith("checked_after_writing: "), remark
        assert "Operation not permitted" in remark
        assert f"note: {remark}" in done.stdout
    (check,) = scene.report["checks"]
    assert check["outcome"] == ("passed" if word == "good" else "refused")
    assert (scene.read("/etc/set.conf"), scene.at("/srv/set.link").is_symlink()) == (
        ("good\n", True) if word == "good" else (None, False)
    )
    if word == "good":
        assert_settled(scene)


def numbers(**other: str) -> str:
    """Return the texts `line 1` to `line 100`, some of them others."""
    return "".join(f"{other.get(f'line{number}', f'line {number}')}\n" for number in range(1, 101))


@pytest.mark.parametrize("resource", ["file:/srv/long", "tree:/srv/many"])
def test_a_diff_has_what_changes_and_three_lines_around_it(scene: Scene, resource: str) -> None:
    """The rest of a text is in no plan and in no report."""
    is_file = resource.startswith("file")
    fields = {resource: {"source": "files/many/long" if is_file else "files/many"}}
    written(scene, fields, {"files/many/long": numbers()})
    assert scene.init().code == 0
    scene.apply()
    scene.write("/srv/long" if is_file else "/srv/many/long", numbers(line50="odd"))
    (change,) = planned(scene)[resource]["changes"]
    around = [f" line {number}" for number in range(47, 54)]
    assert change["diff"].splitlines() == ["@@ -47,7 +47,7 @@", *around[:3], "-odd", "+line 50", *around[4:]]
    told = scene.run("plan").out + scene.apply().out
    (report,) = (path.read_text(encoding="utf-8") for path in scene.at(f"/{REPORTS}").glob(f"{scene.report['id']}.*"))
    assert reported(scene)[resource]["changes"][0]["diff"] == change["diff"]
    assert "line 53" in report
    assert not [number for number in (46, 54) if f"line {number}" in told + report]


TEMPLATE: Final = """\
{% for key in {"b": 1, "a": 2, "c": 3} | keys %}{{ key }} {% endfor %}
{{ ["z", "y", "z", host.name] | unique | join(" ") }}
{{ {"two": 2, "one": [1, {"x": 1, "a": host.name | upper}]} | to_json }}
"""
RENDERED: Final = 'a b c \nz y web1\n{"one": [1, {"a": "WEB1", "x": 1}], "two": 2}\n'


@pytest.fixture
def templates(scene: Scene) -> Scene:
    """Give a fleet with a template that goes through maps and lists."""
    written(scene, {"file:/etc/made": {"template": "templates/made"}}, {"templates/made": TEMPLATE})
    return scene


def test_a_template_that_renders_twice_as_two_texts_is_an_error(
    templates: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in a template can do that but a fault of ours."""
    assert run("validate", "--fleet", templates.url).code == 0
    calls = count()
    odd = template_engine._spending(Builtin("upper", lambda _: str(next(calls))))
    monkeypatch.setattr(template_engine, "_TEMPLATE_FILTERS", {**template_engine._TEMPLATE_FILTERS, "upper": odd})
    ran = run("validate", "--fleet", templates.url, "--json")
    assert ran.code == 65, ran
    assert [item["code"] for item in ran.json["diagnostics"]] == ["not-deterministic"]


@pytest.mark.parametrize("seed", ["0", "1"])
def test_a_template_renders_as_the_same_text_in_every_process(templates: Scene, seed: str) -> None:
    """Whatever the order is in which a process has what is in a set."""
    argv = [sys.executable, "-m", "datum", "render", HOST, "--fleet", templates.url]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    assert f'"blob": "{blob_id(RENDERED.encode())}"' in done.stdout


@needs_root
def test_what_is_mounted_on_says_what_to_do_before_it_can_go(scene: Scene) -> None:
    """A file; nothing of it changes, and the pass goes on."""
    outside = scene.folder / "outside"
    outside.write_text("old\n", encoding="utf-8")
    scene.write("/etc/hosts", "below\n")
    wanted: dict[str, dict[str, Any]] = {"file:/etc/hosts": {"absent": True}, "file:/etc/next": {"content": "x\n"}}
    scene.commit(wanted)
    assert scene.init().code == 0
    with mounted("--bind", str(outside), str(scene.at("/etc/hosts"))):
        scene.apply(code=1)
        assert scene.outcomes() == {"file:/etc/hosts": "busy", "file:/etc/next": "applied"}
        assert "umount /etc/hosts" in said(reported(scene)["file:/etc/hosts"])
        assert outside.read_text(encoding="utf-8") == "old\n"
    scene.apply()
    assert not os.path.lexists(scene.at("/etc/hosts"))
    assert_settled(scene)
