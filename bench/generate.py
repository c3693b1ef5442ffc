"""Writes one desired state of N files for Datum, for the floor, and for rivals that are installed here.

N distinct files of about 1 KiB, 0644, fifty to a directory; every tenth requires the one before it. The directories
exist: what is measured is the files.
"""

import json
import random
import subprocess
from hashlib import sha256
from pathlib import Path

FLEET = "5b1f0c8e-6f0e-4d5a-9a8e-3a1d5e7c9b21"
GIT = ["git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "init.defaultBranch=main"]


def generate(place: Path, count: int) -> None:
    """Write everything below `place`: fleet/, root/, floor.json, cfengine/."""
    source = place / "fleet/files"
    lines = ["resources:"]
    floor: list[tuple[str, str, int]] = []
    before = ""
    for number, path, data in _files(count):
        file = source / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        (place / "root/srv" / path).parent.mkdir(parents=True, exist_ok=True)
        lines += [f"  file:/srv/{path}:", f"    source: files/{path}", '    mode: "0644"']
        if number % 10 == 9:
            lines.append(f"    requires: [file:/srv/{before}]")
        before = path
        floor.append((str(place / "root/srv" / path), sha256(data).hexdigest(), len(data)))
    (place / "fleet/hosts").mkdir()
    (place / "fleet/hosts/bench.yaml").write_text("\n".join(lines) + "\n")
    (place / "fleet/fleet.yaml").write_text(f'datum: 1\nagent: ">=0.1"\nfleet: {FLEET}\nlayers: []\n')
    (place / "floor.json").write_text(json.dumps(floor))
    _write_cfengine(place, source)
    for command in (
        ["init", "--quiet"],
        ["add", "--all"],
        ["commit", "--quiet", "--message", "bench"],
        ["repack", "-adq"],
    ):
        subprocess.run([*GIT, *command], cwd=place / "fleet", check=True)


def _files(count: int) -> list[tuple[int, str, bytes]]:
    chance = random.Random(20240601 + count)
    found = []
    for number in range(count):
        lines = [f"# managed file {number} of {count}"]
        lines += [f"option_{key:02d} = {chance.getrandbits(128):032x}" for key in range(21)]
        found.append((number, f"d{number // 50:04d}/f{number:05d}.conf", ("\n".join(lines) + "\n").encode()))
    return found


def _write_cfengine(place: Path, source: Path) -> None:
    """Write the same state as copy promises that compare by digest (CFEngine reference, files/copy_from)."""
    promises = "\n".join(
        f'    "{place}/root/srv/{file.relative_to(source)}" copy_from => same("{file}"), perms => plain;'
        for file in sorted(source.rglob("*.conf"))
    )
    (place / "cfengine").mkdir()
    policy = place / "cfengine/bench.cf"
    policy.write_text(
        'body common control { bundlesequence => { "bench" }; }\n'
        'body copy_from same(from) { source => "$(from)"; compare => "digest"; }\n'
        'body perms plain { mode => "0644"; }\n'
        f"bundle agent bench {{\n  files:\n{promises}\n}}\n"
    )
    policy.chmod(0o600)
