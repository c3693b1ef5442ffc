"""Writes one desired state of N files for Datum, for the floors, and for rivals that are installed here.

N distinct files of about 1 KiB with mode, owner and group, fifty to a directory. For Datum it is declared twice: host
`file` has a resource for each, which requires the first of its directory; host `tree` has one for all of them. The
directories exist: what is measured is the files.
"""

import json
import os
import random
import subprocess
from hashlib import sha256
from pathlib import Path

FLEET = "5b1f0c8e-6f0e-4d5a-9a8e-3a1d5e7c9b21"
PER_FOLDER = 50
GIT = ["git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "init.defaultBranch=main"]


def generate(place: Path, count: int) -> None:
    """Write everything below `place`: fleet/, floor.json, plain.json, plain.txt, cfengine/."""
    source = place / "fleet/files"
    lines = ["resources:"]
    floor: list[tuple[str, str, int]] = []
    plain: list[tuple[str, str]] = []
    owner = f'    owner: "{os.getuid()}"', f'    group: "{os.getgid()}"', '    mode: "0644"'
    first = ""
    for number, path, data in _files(count):
        file = source / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        lines += [f"  file:/srv/{path}:", f"    source: files/{path}", *owner]
        if number % PER_FOLDER == 0:
            first = path
        else:
            lines.append(f"    requires: [file:/srv/{first}]")
        floor.append((f"srv/{path}", sha256(data).hexdigest(), len(data)))
        plain.append((str(file), f"srv/{path}"))
    (place / "fleet/hosts").mkdir()
    (place / "fleet/hosts/file.yaml").write_text("\n".join(lines) + "\n")
    lines = ["resources:", "  tree:/srv:", "    source: files", *owner]
    (place / "fleet/hosts/tree.yaml").write_text("\n".join(lines) + "\n")
    (place / "fleet/fleet.yaml").write_text(f'datum: 1\nagent: ">=0.1"\nfleet: {FLEET}\nlayers: []\n')
    (place / "floor.json").write_text(json.dumps(floor))
    (place / "plain.json").write_text(json.dumps(plain))
    (place / "plain.txt").write_text("".join(f"{source}\n{path}\n" for source, path in plain))
    _write_cfengine(place, source)
    for command in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["commit", "--quiet", "--message", "bench"],
        ["repack", "-adq"],
    ):
        subprocess.run([*GIT, *command], cwd=place / "fleet", check=True)


def make_root(root: Path, place: Path) -> None:
    """Make the directories, and nothing in them, below a new root."""
    for folder in (place / "fleet/files").iterdir():
        (root / "srv" / folder.name).mkdir(parents=True)


def _files(count: int) -> list[tuple[int, str, bytes]]:
    chance = random.Random(20240601 + count)
    found = []
    for number in range(count):
        lines = [f"# managed file {number} of {count}"]
        lines += [f"option_{key:02d} = {chance.getrandbits(128):032x}" for key in range(21)]
        found.append((number, f"d{number // PER_FOLDER:04d}/f{number:05d}.conf", ("\n".join(lines) + "\n").encode()))
    return found


def _write_cfengine(place: Path, source: Path) -> None:
    """Write the same state as copy promises that compare by digest (CFEngine reference, files/copy_from)."""
    promises: list[str] = []
    for number, file in enumerate(sorted(source.rglob("*.conf"))):
        path = file.relative_to(source)
        after = "" if number % PER_FOLDER == 0 else f', depends_on => {{ "{number - number % PER_FOLDER}" }}'
        promises.append(
            f'    "{place}/file/srv/{path}" copy_from => same("{file}"), perms => plain, handle => "{number}"{after};'
        )
    (place / "cfengine").mkdir()
    policy = place / "cfengine/bench.cf"
    policy.write_text(
        'body common control { bundlesequence => { "bench" }; }\n'
        'body copy_from same(from) { source => "$(from)"; compare => "digest"; copy_backup => "false"; }\n'
        'body perms plain { mode => "0644"; rxdirs => "false"; '
        f'owners => {{ "{os.getuid()}" }}; groups => {{ "{os.getgid()}" }}; }}\n'
        "bundle agent bench {\n  files:\n" + "\n".join(promises) + "\n}\n"
    )
    policy.chmod(0o600)
