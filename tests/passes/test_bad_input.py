"""Bad input (issue 2): each a clear error with its code and place, and nothing changed."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.harness.spec import Bind
from tests.passes.scene import DROP_IN, FLEET_ID, HOST, OTHER_FLEET_ID, STATE, Scene

FILE = f"hosts/{HOST}.yaml"
GOOD = {f"file:{DROP_IN}/kept": {"content": "kept\n"}, "file:/etc/motd": {"content": "hello\n"}}
HEAD = f'datum: 1\nagent: ">=0.1"\nfleet: {FLEET_ID}\nlayers: [os, role]\n'


def one(lines: str, name: str = "file:/etc/motd") -> str:
    """Return a host file with one resource, whose fields begin on line 3."""
    return f"resources:\n  {name}:\n" + "".join(f"    {line}\n" for line in lines.split("\n"))


def assert_invalid(scene: Scene, place: str, *words: str) -> None:
    """Every command says the same thing at the same place, and nothing but a report and the mirror changes."""
    before, pointer = scene.host(), scene.pointer_path.read_bytes()
    whole = scene.everything()
    ran = scene.run("plan")
    assert ran.code == 65, ran
    assert scene.everything() == whole, "plan leaves no trace"
    ran = scene.apply(code=65)
    for text in (place, *words):
        assert text in ran.err, ran.err
    assert scene.host() == before
    assert scene.pointer_path.read_bytes() == pointer


def test_an_invalid_revision_is_named_where_the_pass_ends(scene: Scene) -> None:
    scene.enrolled(GOOD)
    head = scene.commit_files({FILE: "- a\n"})
    ran = scene.apply(code=65)
    assert head in ran.out + ran.err
    assert head in scene.report["source"]["revision"]


HOST_FILES = {
    "unknown key": ("resorces:\n  file:/etc/motd: {content: x}\n", "1:1", ["resources"]),
    "unknown field": (one("contnet: x"), "3:5", ["content"]),
    "unknown type": (one("content: x", "fill:/etc/motd"), "2:3", ["file"]),
    "no type": (one("content: x", "/etc/motd"), "2:3", []),
    "wrong type of a field": (one("content: [a]"), "3:", ["content"]),
    "wrong type of a section": ("resources: []\n", "1:", ["resources"]),
    "wrong type of a resource": ("resources:\n  file:/etc/motd: 7\n", "2:", []),
    "a host file that is a list": ("- a\n", "1:1", []),
    "unquoted mode": (one("content: x\nmode: 0644"), "4:", ['"0644"']),
    "unquoted mode of octal form": (one("content: x\nmode: 0o644"), "4:", ["mode"]),
    "mode with a nine": (one('content: x\nmode: "0689"'), "4:", ["mode"]),
    "mode in letters": (one("content: x\nmode: rw-r--r--"), "4:", ["mode"]),
    "ambiguous boolean": ("variables: {a: no}\n" + one("content: x"), "1:16", ["quote", "no"]),
    "ambiguous sexagesimal": ("variables: {a: 12:30:45}\n" + one("content: x"), "1:16", ["quote"]),
    "ambiguous octal": ("variables: {a: 017}\n" + one("content: x"), "1:16", ["quote"]),
    "boolean of YAML 1.1": (one("content: x\nprotect: yes"), "4:", ["true"]),
    "negative owner": (one("content: x\nowner: -1"), "4:", ["owner"]),
    "validate that is no list": (one("content: x\nvalidate: visudo -c"), "4:", ["validate"]),
    "duplicate key": (one("content: x\nmode: '0644'\ncontent: y"), "5:5", ["content", f"{FILE}:3"]),
    "duplicate resource": (one("content: x") + "  file:/etc/motd:\n    mode: '0644'\n", "4:3", [f"{FILE}:2"]),
    "custom tag": (one("content: !vault x"), "3:", ["!vault"]),
    "python tag": (one("content: !!python/object/apply:os.system [id]"), "3:", ["python"]),
    "syntax error": ("resources:\n  file:/etc/motd: [\n", "3:1", []),
    "tab": ("resources:\n\tfile:/etc/motd: {}\n", "2:", []),
    "two documents": ("resources: {}\n---\nresources: {}\n", "2:", []),
    "undefined alias": (one("content: *nobody"), "3:", ["nobody"]),
    "relative path": (one("content: x", "file:etc/motd"), "2:3", ["relative"]),
    "path with dots": (one("content: x", "file:/etc/../motd"), "2:3", [".."]),
    "path with a dot": (one("content: x", "file:/etc/./motd"), "2:3", ["file:/etc/motd"]),
    "path with two slashes": (one("content: x", "file:/etc//motd"), "2:3", ["file:/etc/motd"]),
    "path that ends with a slash": (one("content: x", "file:/etc/motd/"), "2:3", ["file:/etc/motd"]),
    "path that climbs out": (one("content: x", "file:/../../etc/motd"), "2:3", []),
    "path with NUL": (one("content: x", '"file:/etc/a\\0b"'), "2:3", []),
    "the root": (one("content: x", "file:/"), "2:3", []),
    "the state directory": (one("content: x", f"file:/{STATE}/pointer.json"), "2:3", [STATE]),
    "the configuration": (one("content: x", "file:/etc/datum/agent.yaml"), "2:3", ["datum"]),
    "removal of the configuration": (one("absent: true", "file:/etc/datum"), "2:3", ["datum"]),
    "absent beside content": (one("content: x\nabsent: true"), ":", ["absent"]),
    "content and source": (one("content: x\nsource: files/a"), ":", ["source"]),
    "unknown hazard": (one("content: x\nallow: [everything]"), "4:", ["data_loss"]),
    "unknown removal": (one("content: x\non_removal: maybe"), "4:", ["keep"]),
    "unresolved reference": (one("content: x\nrequires: [file:/etc/mtod]"), "4:", ["file:/etc/mtod"]),
    "reference that is no id": (one("content: x\nrequires: [motd]"), "4:", ["motd"]),
    "itself required": (one("content: x\nrequires: [file:/etc/motd]"), "", ["file:/etc/motd"]),
    "cycle": (
        one("content: x\nrequires: [file:/etc/b]") + "  file:/etc/b:\n    content: y\n    after: [file:/etc/motd]\n",
        "",
        ["file:/etc/b", "file:/etc/motd", "4:", "7:"],
    ),
    # Of two types, and of one by what it holds: every conflict with both of its places.
    "one thing of accounts said twice": (
        one("groups: [web]\nuid: 1500", "user:anna")
        + "  group:web:\n    members: [bert, anna]\n"
        + "  user:bert:\n    uid: 1500\n"
        + "  user:carl:\n    groups: [games]\n    groups_mode: exact\n"
        + "  group:mail:\n    members: [carl]\n",
        "2:3",
        [
            "user:anna and group:web both hold the members web. One of them must go, or both must be one resource.",
            f"{FILE}:5:3: group:web is declared here\n  try: take user:anna out",
            f"{FILE}:7:3: error[duplicate-target]",
            f"  {FILE}:2:3: user:anna is declared here\n  try: take user:bert out",
            f"{FILE}:9:3: error[duplicate-target]",
            f"{FILE}:12:3: group:mail is declared here\n  try: take user:carl out",
        ],
    ),
    "undefined variable": ("variables: {port: 1}\n" + one('content: "${var.prot}"'), "4:", ["prot", "port"]),
    "variable cycle": (
        'variables: {a: "${var.b}", b: "${var.a}"}\n' + one('content: "${var.a}"'),
        ":",
        ["var.a", "var.b"],
    ),
    "unterminated expression": (one('content: "${var.x"'), "3:", ["}"]),
    "expression cut by a comment": (one("content: ${var.x #}"), "3:", ["quote"]),
    "call in an expression": (one('content: "${host.name.upper()}"'), "3:", []),
    "root of a later version": (one('content: "${secret.x}"'), "3:", ["secret"]),
    "machine in a condition": (one('content: x\nwhen: "${machine.cpus > 1}"'), "4:", ["machine"]),
    "machine in an id": (one("content: x", '"file:/etc/${machine.arch}"'), "2:3", ["machine"]),
    "for_each without each.key in the id": (one("content: x\nfor_each: [a, b]"), "2:3", ["each.key"]),
    "for_each of the same": (one("content: x\nfor_each: [a, a]", '"file:/etc/${each.key}"'), "4:", ["a"]),
    "missing source": (one("source: files/nope"), "3:", ["files/nope"]),
    "source that climbs out": (one("source: ../fleet.yaml"), "3:", [".."]),
    "absolute source": (one("source: /etc/passwd"), "3:", ["/etc/passwd"]),
    "source that is a folder": (one("source: files"), "3:", ["files"]),
    "missing template": (one("template: templates/nope"), "3:", ["templates/nope"]),
    "undefined layer": ("layers: {rôle: web}\n", "1:", ["role"]),
    "undefined member": ("layers: {role: wbe}\n", "1:", ["web"]),
    "expect of something unknown": ("expect: {colour: red}\n", "1:", ["colour"]),
}


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Give one scene that no test of this module changes but by commits, none of which can be accepted."""
    scene = Scene(tmp_path_factory.mktemp("settled"))
    scene.repository.commit(
        {"layers/role/web.yaml": "resources: {}\n", "files/a": "a\n", "templates/t": "t\n"}, message="beside"
    )
    scene.enrolled(GOOD, layers=["os", "role"])
    return scene


@pytest.fixture
def unmoved(settled: Scene) -> Scene:
    """Give that scene at the revision that it enforces."""
    settled.repository.git("reset", "--quiet", "--hard", settled.pointer["accepted"])
    return settled


@pytest.mark.parametrize("name", HOST_FILES)
def test_a_host_file_that_cannot_be_meant(unmoved: Scene, name: str) -> None:
    text, place, words = HOST_FILES[name]
    unmoved.commit_files({FILE: text})
    assert_invalid(unmoved, f"{FILE}:{place}" if place and place != ":" else FILE, *words)


BYTES = {
    "not UTF-8": (b"resources:\n  file:/etc/motd:\n    content: \xff\n", "hosts/web1.yaml:3"),
    "UTF-16": ("resources: {}\n".encode("utf-16"), "hosts/web1.yaml:1"),
    "NUL": (b"resources: {}\n\0", "hosts/web1.yaml"),
    "alias bomb": (
        b"a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + n, 98 + n, b", ".join([b"*%c" % (97 + n)] * 10)) for n in range(9)),
        "hosts/web1.yaml",
    ),
    "too deep": (b"variables: {a: " + b"[" * 5000 + b"]" * 5000 + b"}\n", "hosts/web1.yaml"),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_text_to_read(unmoved: Scene, name: str) -> None:
    unmoved.commit_files({FILE: BYTES[name][0]})
    assert_invalid(unmoved, BYTES[name][1])


def test_a_conflict_names_both_places_and_the_ways_out(scene: Scene) -> None:
    scene.enrolled(GOOD, layers=["os", "role"])
    scene.commit_files(
        {
            "layers/role/web.yaml": one("content: web"),
            "layers/role/db.yaml": one("content: db"),
            FILE: "layers: {role: [web, db]}\n",
        }
    )
    assert_invalid(scene, "layers/role/web.yaml:3", "layers/role/db.yaml:3", "stronger")


def test_absent_against_declared_at_equal_rank_is_a_conflict(scene: Scene) -> None:
    scene.enrolled(GOOD, layers=["os", "role"])
    scene.commit_files(
        {
            "layers/role/web.yaml": one("content: web"),
            "layers/role/db.yaml": one("absent: true"),
            FILE: "layers: {role: [web, db]}\n",
        }
    )
    assert_invalid(scene, "layers/role/", "file:/etc/motd")


TEMPLATES = {
    "undefined name": ("one\n{{ var.nope }}\n", "templates/t:2", "nope"),
    "syntax": ("one\n{% if %}\n", "templates/t:2", ""),
    "endless": ("{% for a in range(9) %}{% endfor %}", "templates/t:1", "call"),
    "include from elsewhere": ("{% include '../../etc/passwd' %}", "templates/t:1", ""),
    "attribute of Python": ("{{ ''.__class__ }}", "templates/t:1", ""),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_cannot_be_rendered(unmoved: Scene, name: str) -> None:
    text, place, word = TEMPLATES[name]
    unmoved.commit_files({FILE: one("template: templates/t"), "templates/t": text})
    assert_invalid(unmoved, place, word)


HEADS = {
    "no fleet.yaml": (None, "fleet.yaml"),
    "another format": (HEAD.replace("datum: 1", "datum: 2"), "fleet.yaml:1"),
    "no format": (HEAD.replace("datum: 1\n", ""), "fleet.yaml"),
    "no fleet id": (HEAD.replace(f"fleet: {FLEET_ID}\n", ""), "fleet.yaml"),
    "fleet id that is none": (HEAD.replace(FLEET_ID, "mine"), "fleet.yaml:3"),
    "agent range that is none": (HEAD.replace('">=0.1"', "newest"), "fleet.yaml:2"),
    "layers that are none": (HEAD.replace("[os, role]", "7"), "fleet.yaml:4"),
    "unknown key": (f"{HEAD}colour: red\n", "fleet.yaml:5:1"),
    "syntax": (f"{HEAD}limits: [\n", "fleet.yaml:6"),
    "limits that are none": (f"{HEAD}limits: {{removals: many}}\n", "fleet.yaml:5"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_fleet_file_that_cannot_be_meant(scene: Scene, name: str) -> None:
    text, place = HEADS[name]
    scene.enrolled(GOOD)
    if text is None:
        scene.repository.git("rm", "--quiet", "fleet.yaml")
        scene.commit_files({})
    else:
        scene.commit_files({"fleet.yaml": text})
    before, pointer = scene.host(), scene.pointer_path.read_bytes()
    ran = scene.run("apply")
    assert ran.code in {65, 76}, "whether it belongs to this fleet may be what cannot be told"
    assert place in ran.err + ran.out
    assert scene.host() == before
    assert scene.pointer_path.read_bytes() == pointer


# --- what stands where a file is wanted


def _symlink(scene: Scene, path: str, target: str) -> None:
    place = scene.repository.path / path
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(target)
    scene.commit_files({})


def test_a_symlink_where_a_source_is_wanted(scene: Scene) -> None:
    scene.enrolled(GOOD)
    _symlink(scene, "files/link", "/etc/passwd")
    scene.commit_files({FILE: one("source: files/link")})
    assert_invalid(scene, f"{FILE}:3", "files/link", "link")


def test_a_symlink_on_the_way_to_a_source(scene: Scene) -> None:
    scene.enrolled(GOOD)
    _symlink(scene, "files/way", "../hosts")
    scene.commit_files({FILE: one("source: files/way/web1.yaml")})
    assert_invalid(scene, f"{FILE}:3", "files/way")


def test_a_symlink_where_the_host_file_is_wanted(scene: Scene) -> None:
    scene.enrolled(GOOD)
    scene.commit_files({"hosts/web2.yaml": "resources: {}\n"})
    scene.apply()
    _symlink(scene, FILE, "web2.yaml")
    assert_invalid(scene, FILE, "link")


def test_a_gitlink_where_a_source_is_wanted(scene: Scene) -> None:
    head = scene.enrolled(GOOD)
    scene.commit_files({FILE: one("source: files/module")})
    scene.repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},files/module")
    scene.repository.git("commit", "--quiet", "-m", "module")
    assert_invalid(scene, f"{FILE}:3", "files/module")


def test_a_pointer_to_large_file_storage_where_a_source_is_wanted(scene: Scene) -> None:
    scene.enrolled(GOOD)
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    scene.commit_files({FILE: one("source: files/large"), "files/large": pointer})
    assert_invalid(scene, f"{FILE}:3", "files/large", "LFS")


# --- repositories


def _none(path: Path) -> None:
    path.mkdir()


def _a_file(path: Path) -> None:
    path.write_text("not a repository\n")


def _empty(path: Path) -> None:
    os.system(f"git init --quiet --initial-branch=main {path}")


def _garbage(path: Path) -> None:
    _empty(path)
    (path / ".git/HEAD").write_bytes(b"\xff\xff")


NOT_REPOSITORIES: dict[str, tuple[Callable[[Path], None], set[int]]] = {
    "not there": (lambda path: None, {69}),
    "a folder": (_none, {69}),
    "a file": (_a_file, {69}),
    "empty": (_empty, {66, 69}),
    "damaged": (_garbage, {66, 69}),
}


@pytest.mark.parametrize("name", NOT_REPOSITORIES)
def test_init_from_what_is_no_repository(scene: Scene, name: str) -> None:
    make, codes = NOT_REPOSITORIES[name]
    url = scene.folder / "odd"
    make(url)
    ran = scene.run("init", "--repo", str(url), "--host", HOST, "--no-timer")
    assert ran.code in codes, ran
    assert str(url) in ran.err
    assert not scene.pointer_path.exists()
    assert not scene.at("/etc/datum/agent.yaml").exists()


@pytest.mark.parametrize("name", NOT_REPOSITORIES)
def test_a_source_that_stopped_being_a_repository_leaves_the_enforced_revision(scene: Scene, name: str) -> None:
    head = scene.enrolled(GOOD)
    scene.write("/etc/motd", "drift\n")
    scene.repository.path.rename(scene.folder / "away")
    NOT_REPOSITORIES[name][0](scene.repository.path)
    ran = scene.apply(code=69)
    assert scene.url in ran.err + ran.out
    assert scene.read("/etc/motd") == "hello\n"
    assert (scene.pointer["accepted"], scene.trail) == (head, [head])
    assert scene.read(f"{DROP_IN}/kept") == "kept\n"


def test_a_repository_of_other_people_is_refused(scene: Scene) -> None:
    head = scene.enrolled(GOOD)
    shutil.rmtree(scene.repository.path / ".git")
    scene.repository.git("init", "--quiet", "--initial-branch=main")
    other = scene.commit({"file:/etc/motd": {"content": "evil\n"}})
    scene.write("/etc/motd", "drift\n")
    ran = scene.apply(code=76)
    assert other in ran.err + ran.out
    assert scene.read("/etc/motd") == "hello\n"
    assert scene.pointer["accepted"] == head


def test_a_damaged_object_of_the_source_is_never_enforced(scene: Scene) -> None:
    head = scene.enrolled(GOOD)
    scene.commit_files({FILE: one("content: new")})
    blob = scene.repository.git("rev-parse", f"HEAD:{FILE}")
    path = scene.repository.path / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\0")
    scene.write("/etc/motd", "drift\n")
    ran = scene.apply(code=69)
    assert ran.err + ran.out
    assert scene.read("/etc/motd") == "hello\n"
    assert scene.pointer["accepted"] == head


def test_a_repository_without_the_objects_it_names_is_never_enforced(scene: Scene) -> None:
    head = scene.enrolled(GOOD)
    scene.commit_files({FILE: one("source: files/b"), "files/b": "b\n"})
    blob = scene.repository.git("rev-parse", "HEAD:files/b")
    (scene.repository.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    before = scene.host()
    scene.apply(code=69)
    assert scene.host() == before
    assert scene.pointer["accepted"] == head


# --- pointers


def test_a_pointer_of_another_fleet_is_never_followed(scene: Scene) -> None:
    scene.enrolled(GOOD)
    scene.commit({"file:/etc/motd": {"content": "new\n"}})
    text = scene.pointer_path.read_text().replace(FLEET_ID, OTHER_FLEET_ID)
    scene.pointer_path.write_text(text)
    before = scene.host()
    ran = scene.run("apply")
    assert ran.code in {74, 76, 78}, ran
    assert OTHER_FLEET_ID in ran.err + ran.out
    assert scene.host() == before
    assert scene.pointer_path.read_text() == text


def test_a_pointer_to_a_revision_that_nobody_has_changes_nothing(scene: Scene) -> None:
    head = scene.enrolled(GOOD)
    scene.commit({"file:/etc/motd": {"content": "new\n"}})
    text = scene.pointer_path.read_text().replace(head, "0123456789" * 4)
    scene.pointer_path.write_text(text)
    before = scene.host()
    ran = scene.run("apply")
    assert ran.code not in {0, 2, 70}, ran
    assert "0123456789" in ran.err + ran.out
    assert scene.host() == before
    assert scene.pointer_path.read_text() == text


POINTERS = {
    "unknown key": {"colour": "red"},
    "trail that is none": {"trail": "all"},
    "revision that is none": {"accepted": "main"},
    "newer format": {"format": 2},
    "host that is none": {"host": 7},
    "no fleet": {"fleet": None},
    "trail without hosts": {"trail": [{"revision": "sha1:" + "0" * 40}]},
}


@pytest.mark.parametrize("name", POINTERS)
def test_a_pointer_that_cannot_be_meant_ends_with_74(scene: Scene, name: str) -> None:
    scene.enrolled(GOOD)
    scene.commit({"file:/etc/motd": {"content": "new\n"}})
    text = json.dumps(json.loads(scene.pointer_path.read_text()) | POINTERS[name])
    scene.pointer_path.write_text(text)
    before = scene.host()
    ran = scene.apply(code=74)
    assert "pointer.json" in ran.err
    assert scene.host() == before
    assert scene.pointer_path.read_text() == text


def test_a_pointer_that_is_a_link_is_not_followed(scene: Scene) -> None:
    scene.enrolled(GOOD)
    elsewhere = scene.folder / "pointer.json"
    scene.pointer_path.rename(elsewhere)
    scene.pointer_path.symlink_to(elsewhere)
    scene.commit({"file:/etc/motd": {"content": "new\n"}})
    before, text = scene.host(), elsewhere.read_bytes()
    scene.apply(code=74)
    assert scene.host() == before
    assert elsewhere.read_bytes() == text


# --- disks


def test_a_user_without_rights_is_told_which_path_and_why(user_scene: Scene) -> None:
    if user_scene.caller.is_self:
        pytest.skip("needs a second user")
    user_scene.commit({"file:/srv/a": {"content": "a\n"}, "file:/etc/motd": {"content": "x\n"}})
    assert user_scene.init().code == 0
    os.chown(user_scene.at("/srv"), 0, 0)
    ran = user_scene.apply(code=1)
    assert "/srv" in ran.out + ran.err
    assert not user_scene.at("/srv/a").exists()
    assert user_scene.read("/etc/motd") == "x\n"


@pytest.fixture
def machine(
    make_oneshot: Callable[..., Oneshot], agent_bind: AgentBind, scene: Scene
) -> Callable[..., tuple[Oneshot, Callable[..., tuple[int, str]]]]:
    """Give a maker of a whole host, enrolled in the scene's fleet, and what runs datum there."""

    def make(size: str = "2g") -> tuple[Oneshot, Callable[..., tuple[int, str]]]:
        host = make_oneshot(binds=(Bind(scene.url, "/fleet"),), size=size)

        def datum(*arguments: str) -> tuple[int, str]:
            done = host.run([*agent_bind.argv, *arguments], env=agent_bind.env, check=False)
            return done.returncode, done.stdout + done.stderr

        assert datum("init", "--repo", "/fleet", "--host", HOST, "--no-timer")[0] == 0
        return host, datum

    return make


def test_a_full_disk_is_said_so_and_the_next_pass_converges(
    scene: Scene, machine: Callable[..., tuple[Oneshot, Callable[..., tuple[int, str]]]]
) -> None:
    scene.commit({"file:/etc/motd": {"content": "small\n"}})
    host, datum = machine("64m")
    assert datum("apply")[0] == 0
    scene.commit({"file:/etc/motd": {"content": "large\n" * 20000}, "file:/etc/other": {"content": "x" * 100000}})
    before = host.read(f"/{STATE}/pointer.json")
    host.fill()
    code, text = datum("apply")
    assert code in {1, 69, 71, 74}, text
    assert "space" in text
    assert host.read("/etc/motd") == b"small\n"
    host.free()
    assert json.loads(host.read(f"/{STATE}/pointer.json"))
    assert code == 1 or host.read(f"/{STATE}/pointer.json") == before
    code, text = datum("apply")
    assert code == 0, text
    assert host.read("/etc/motd") == b"large\n" * 20000
    assert not [path for path in host.changes() if ".datum" in path]


def test_a_read_only_disk_changes_nothing_and_is_said_so(
    scene: Scene, machine: Callable[..., tuple[Oneshot, Callable[..., tuple[int, str]]]]
) -> None:
    scene.commit({"file:/etc/motd": {"content": "x\n"}, "file:/srv/b": {"content": "b\n"}})
    host, datum = machine()
    host.set_read_only("/etc")
    code, text = datum("apply")
    assert code in {1, 71}, text
    assert "read-only" in text.lower()
    assert "/etc/motd" in text
    host.set_read_only("/var/lib/datum")
    host.set_writable("/etc")
    motd = host.read("/etc/motd")
    code, text = datum("apply")
    assert code == 74, text
    assert "/var/lib/datum" in text
    assert host.read("/etc/motd") == motd
    host.set_writable("/var/lib/datum")
    assert datum("apply")[0] == 0
    assert host.read("/etc/motd") == b"x\n"
