"""What two revisions declare, and what is found between them, so that one pass does everything that a pass can do.

`FILES`: files alone, one of them written in place. `KINDS`: every writing operation of every type, and a set that a
check passes. `WRITTEN`: the same set where there are no namespaces. `REFUSED`, `RESTORED`: a set that its check
refuses, with namespaces and without.
"""

import contextlib
import os
from pathlib import Path
from typing import Any, Final

from tests.proofs.stage import ACCEPTS, JUDGES, SHELL, WITHOUT_NAMESPACES, Scenario

Resources = dict[str, dict[str, Any]]

# Something is mounted on it.
BOUND: Final = "etc/bound"
LEFTOVER: Final = "etc/cron.d/.swept.datum~.dpkg-tmp"
_LOSES: Final = {"allow": ["data_loss"]}
_SET: Final = "etc/set.d"
# Says yes to the whole old set and the whole new one, and to nothing between them.
_WHOLE: Final = f"""
: {JUDGES}
cd /{_SET} || exit 2
read -r all < set-file
case $all in
old) [ ! -h set-link ] && [ -f set-gone ] && [ ! -e set-new ] && [ ! -e set-dir ] && [ ! -e set-tree/added ] ;;
new) [ -h set-link ] && [ ! -e set-gone ] && [ -f set-new ] && [ -d set-dir/below ] && [ -f set-tree/added ] ;;
*) exit 3 ;;
esac || exit 4
"""
_UNIT: Final = "[Service]\nExecStart=/bin/true\n"


def _shell(text: str) -> list[str]:
    return [SHELL, "-c", text]


def _nothing(root: Path) -> None:
    """Leave the host alone."""


def _first_files() -> Resources:
    owned = _owned(0, 0)
    return {
        "file:/etc/updated": {"content": "old bytes\n" * 2, "mode": "0644"},
        "file:/etc/sudoers.d/updated": {"content": "old rule\n", "mode": "0440", "allow": ["access_loss"]},
        "file:/etc/attributes": {"content": "kept\n", "mode": "0644", **owned},
        "file:/etc/mode-only": {"content": "kept\n", "mode": "0600"},
        "file:/etc/both": {"content": "old\n", "mode": "0600", **owned},
        "file:/etc/checked": {"content": "old\n", "mode": "0644", "validate": _validate()},
        "file:/etc/cron.d/swept": {"content": "kept\n", "mode": "0644"},
        "file:/etc/profile.d/removed.sh": {"content": "old\n", "mode": "0644"},
        "file:/etc/logrotate.d/removed": {"content": "old\n", "mode": "0644"},
        "file:/etc/sysctl.d/updated.conf": {"content": "kernel.domainname = old\n", "mode": "0644"},
        f"file:/{BOUND}": {"content": "old bytes\n" * 20, "mode": "0644"},
        "file:/etc/replaced": {"content": "kept\n", "mode": "0644"},
        "file:/etc/same": {"content": "kept\n", "mode": "0644"},
    }


def _second_files() -> Resources:
    other = _owned(12, 13)
    return {
        "file:/etc/updated": {"content": "new bytes\n" * 3, "mode": "0644"},
        "file:/etc/sudoers.d/updated": {"content": "new rule\n", "mode": "0440", "allow": ["access_loss"]},
        "file:/etc/attributes": {"content": "kept\n", "mode": "4755" if other else "0755", **other},
        "file:/etc/mode-only": {"content": "kept\n", "mode": "0640"},
        "file:/etc/both": {"content": "new\n", "mode": "0644", **other},
        "file:/etc/checked": {"content": "new\n", "validate": _validate()},
        "file:/etc/checked-new": {"content": "new\n", "validate": _validate()},
        "file:/etc/cron.d/swept": {"content": "kept\n"},
        "file:/etc/cron.d/created": {"content": "new\n", "mode": "0600"},
        "file:/etc/replaced": {"content": "kept\n", **_LOSES},
        "file:/etc/same": {"content": "kept\n"},
        "file:/etc/systemd/created.service": {"source": "files/unit"},
        "file:/etc/sysctl.d/updated.conf": {"content": "kernel.domainname = new\n", "mode": "0644"},
        "file:/etc/apt/sources.list.d/created.list": {"content": "deb [trusted=yes] file:/new ./\n"},
        f"file:/{BOUND}": {"content": "new bytes\n" * 3, "mode": "0640"},
    }


def _owned(uid: int, gid: int) -> dict[str, int]:
    return {"owner": uid, "group": gid} if os.geteuid() == 0 else {}


def _validate() -> list[str]:
    return [*_shell('[ -s "$0" ]'), "{path}"]


def _replace_by_link(root: Path) -> None:
    (root / "etc/replaced").unlink()
    (root / "etc/replaced").symlink_to("same")
    (root / LEFTOVER).write_text("half of someth")


def _guards(*names: str) -> list[str]:
    return [f"{name.partition(':')[0]}:/{_SET}/{name.partition(':')[2]}" for name in names]


def _first_set() -> Resources:
    return {
        f"file:/{_SET}/set-file": {"content": "old\n"},
        f"file:/{_SET}/set-link": {"content": "a file\n"},
        f"file:/{_SET}/set-gone": {"content": "old\n"},
        f"tree:/{_SET}/set-tree": {"source": "files/set"},
    }


def _second_set(script: str) -> Resources:
    names = ("file:set-file", "link:set-link", "file:set-gone", "file:set-new", "directory:set-dir", "tree:set-tree")
    return {
        f"file:/{_SET}/set-file": {"content": "new\n", "mode": "0600"},
        f"link:/{_SET}/set-link": {"target": "set-file", **_LOSES},
        f"file:/{_SET}/set-gone": {"absent": True, **_LOSES},
        f"file:/{_SET}/set-new": {"content": "new\n"},
        f"directory:/{_SET}/set-dir": {"mode": "0750"},
        f"directory:/{_SET}/set-dir/below": {},
        f"tree:/{_SET}/set-tree": {"source": "files/set", "exclusive": True},
        "check:set": {"run": _shell(script), "guards": [*_guards(*names, "directory:set-dir/below")]},
    }


_SET_PATHS: Final = frozenset(
    f"{_SET}/{name}" for name in ("set-file", "set-link", "set-gone", "set-new", "set-dir", "set-tree")
)
_FIRST_SET_FILES: Final = {"files/set/kept": "kept\n", "files/set/changed": "old\n", "files/set/sub/gone": "old\n"}
_SECOND_SET_FILES: Final = {"files/set/kept": "kept\n", "files/set/changed": "new\n", "files/set/added": "new\n"}


def _first_kinds() -> Resources:
    return {
        "file:/etc/updated": {"content": "old\n"},
        "file:/etc/attributes": {"content": "kept\n", "mode": "0644", "owner": 0},
        "file:/etc/input": {"content": "old\n"},
        "file:/etc/seeded": {"content": "seed\n", "seed": True},
        "file:/etc/orphan.d/file": {"content": "old\n"},
        "link:/etc/orphan.d/link": {"target": "file"},
        "directory:/srv/attributes": {"mode": "0755"},
        "directory:/srv/clears": {"exclusive": True},
        "directory:/srv/clears/dropped": {},
        "directory:/srv/deep": {"exclusive": True, "recurse": True, "keep": ["kept"]},
        "directory:/srv/owned": {"owner": 0, "group": 0, "recursive": ["owner", "group"]},
        "link:/srv/pointed": {"target": "/old"},
        "tree:/srv/tree": {"source": "files/tree"},
        "tree:/srv/dropped": {"source": "files/dropped", "on_removal": "delete"},
        "command:built": _built(),
        "command:dropped": {"run": _shell(":> /srv/by-dropped"), "creates": "/srv/by-dropped"},
        **_first_set(),
        "check:dropped": {"run": _shell(":"), "guards": ["file:/etc/orphan.d/file"]},
    }


def _second_kinds() -> Resources:
    return {
        "file:/etc/updated": {"content": "new\n"},
        "file:/etc/attributes": {"content": "kept\n", "mode": "4750", "owner": 12},
        "file:/etc/input": {"content": "new\n"},
        "file:/etc/seeded": {"content": "another seed\n", "seed": True},
        "file:/etc/seeded-new": {"content": "seed\n", "seed": True},
        "file:/etc/parts": {"parts": [{"content": "one\n"}, {"source": "files/part"}]},
        "file:/etc/assembled": {"assemble": "lines"},
        "file:/etc/bytes": {"base64": "AP8K", "mode": "0600"},
        "file:/etc/was-directory": {"content": "new\n", **_LOSES},
        "file:/etc/was-empty": {"content": "new\n"},
        "file:/etc/was-link": {"content": "new\n", **_LOSES},
        "file:/etc/was-pipe": {"content": "new\n", **_LOSES},
        "file:/etc/gone": {"absent": True, **_LOSES},
        "file:/etc/cron.d/swept": {"content": "kept\n"},
        "directory:/srv/created": {"mode": "2770", "owner": 12, "group": 13},
        "directory:/srv/attributes": {"mode": "0700"},
        "directory:/srv/clears": {"exclusive": True},
        "directory:/srv/deep": {"exclusive": True, "recurse": True, "keep": ["kept"]},
        "directory:/srv/owned": {"owner": 12, "group": 13, "recursive": ["owner", "group"]},
        "directory:/srv/gone": {"absent": True, **_LOSES},
        "directory:/srv/was-file": {"mode": "0711", **_LOSES},
        "link:/srv/created-link": {"target": "created"},
        "link:/srv/pointed": {"target": "/new", "owner": 12},
        "link:/srv/link-was-file": {"target": "created", **_LOSES},
        "link:/srv/link-was-directory": {"target": "created", **_LOSES},
        "link:/srv/link-gone": {"absent": True, **_LOSES},
        "tree:/srv/tree": {
            "source": "files/tree",
            "exclusive": True,
            "keep": ["kept.d"],
            "links": "keep",
            "rules": [{"match": "*.key", "mode": "0600", "owner": 12}, {"match": "sub/", "mode": "0700"}],
            **_LOSES,
        },
        "tree:/srv/created-tree": {"source": "files/tree", "links": "keep", "mode": "0640"},
        "command:made": {"run": _shell("echo made > /srv/by-made"), "creates": "/srv/by-made"},
        "command:built": _built(),
        **_second_set(_WHOLE),
    }


def _built() -> dict[str, Any]:
    script = "read -r all < /etc/input; echo $all > /srv/by-built"
    return {"run": _shell(script), "inputs": ["/etc/input"], "outputs": ["/srv/by-built"]}


_FIRST_TREE: Final = {
    "files/tree/changed": "old\n",
    "files/tree/same": "kept\n",
    "files/tree/site.key": "key\n",
    "files/tree/gone/a": "old\n",
    "files/dropped/a": "old\n",
    "files/dropped/sub/b": "old\n",
}
_SECOND_TREE: Final = {
    "files/tree/changed": "new\n",
    "files/tree/same": "kept\n",
    "files/tree/site.key": "key\n",
    "files/tree/sub/added": "new\n",
    "files/tree/kind": "was a directory\n",
    "files/part": "two\n",
}


def _obstruct(root: Path) -> None:
    """Put things of another kind where something is wanted, and things that nobody declares where they are cleared."""
    etc, srv = root / "etc", root / "srv"
    (root / LEFTOVER).write_text("half of someth")
    (etc / "was-directory/sub").mkdir(parents=True)
    (etc / "was-empty").mkdir()
    (etc / "was-link").symlink_to("updated")
    os.mkfifo(etc / "was-pipe")
    (srv / "deep/sub/subsub").mkdir(parents=True)
    (srv / "deep/kept").mkdir()
    (srv / "gone/sub").mkdir(parents=True)
    (srv / "owned/sub").mkdir(parents=True)
    (srv / "link-was-directory/sub").mkdir(parents=True)
    (srv / "link-gone").symlink_to("/old")
    (srv / "tree/kind").mkdir()
    (srv / "tree/kept.d").mkdir()
    (srv / "clears/stray-link").symlink_to("/old")
    with contextlib.suppress(OSError):  # where the file system has none
        os.setxattr(etc / "updated", "user.note", b"kept")
    for path in (
        *("etc/was-directory/sub/a", "etc/gone", "srv/clears/stray", "srv/deep/stray", "srv/deep/sub/a"),
        *("srv/deep/sub/subsub/b", "srv/deep/kept/a", "srv/gone/a", "srv/gone/sub/b", "srv/owned/a", "srv/owned/sub/b"),
        *("srv/was-file", "srv/link-was-file", "srv/link-was-directory/sub/a", "srv/tree/kind/a", "srv/tree/stray"),
        *("srv/tree/kept.d/a",),
    ):
        (root / path).write_text("found\n")


FILES: Final = Scenario(
    "files",
    _first_files(),
    _second_files(),
    _replace_by_link,
    second_files={"files/unit": _UNIT},
    loose=frozenset({BOUND}),
    bound=frozenset({BOUND}),
)
KINDS: Final = Scenario(
    "kinds",
    _first_kinds(),
    _second_kinds(),
    _obstruct,
    first_files={**_FIRST_TREE, **_FIRST_SET_FILES},
    second_files={**_SECOND_TREE, **_SECOND_SET_FILES},
    contribute={"lines": {"10-one": "one", "20-two": "two"}},
    links={"files/tree/link": "changed", "files/tree/sub/dangling": "/not/there"},
    guarded=_SET_PATHS,
    loose=frozenset({"srv/by-made", "srv/by-built"}),
)


def _set_scenario(name: str, *, passing: Scenario | None = None, prefix: tuple[str, ...] = ()) -> Scenario:
    script = _WHOLE if passing is None else f"{_WHOLE} [ -e /{ACCEPTS} ]"
    return Scenario(
        name,
        _first_set(),
        {**_second_set(script), "file:/etc/alone": {"content": "new\n"}},
        _nothing,
        first_files=_FIRST_SET_FILES,
        second_files=_SECOND_SET_FILES,
        prefix=prefix,
        code=0 if passing is None else 1,
        guarded=_SET_PATHS,
        passing=passing,
    )


WRITTEN: Final = _set_scenario("written", prefix=WITHOUT_NAMESPACES)
REFUSED: Final = _set_scenario("refused", passing=WRITTEN)
RESTORED: Final = _set_scenario("restored", passing=WRITTEN, prefix=WITHOUT_NAMESPACES)
