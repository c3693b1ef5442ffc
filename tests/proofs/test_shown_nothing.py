"""For every example fleet and every host of it: what a plan says is done, and a second pass has nothing to do.

It says so in one line, and writes nothing.

The fleets are those of `fixtures/fleets` and of the documentation, but for the ones that are shown as wrong.
"""

import json
import re
import shutil
import tarfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.test_examples import DEFAULT_FLEET, EXAMPLES
from tests.git_repository import GitRepository
from tests.passes.scene import HOUSEKEEPING, REPORTS, STATE, run, snapshot
from tests.proofs.predicted import NEEDLESS, Fidelity
from tests.proofs.stage import expect, install

FIXTURES: Final = Path(__file__).resolve().parents[2] / "fixtures/fleets"
# The fleet that says "not yet", so that no pass makes its host what it shall be.
ON_HOLD: Final = frozenset({"docs/manifest.md:settings"})
# What the commands and checks of the examples run, as scripts that do no more than the examples speak of.
PROGRAMS: Final = {
    "adduser": 'echo "$3:x:900:900::/:/bin/sh" >> /etc/passwd; echo "$3:x:900:" >> /etc/group',
    "gpg": 'cat "$5" > "$4"',
    "id": 'grep -q "^$1:" /etc/passwd',
    "make": 'mkdir "$2/bin" && echo built > "$2/bin/app"',
    "openssl": "exit 1",
    "/opt/app/bin/migrate": 'cd /srv/migrated; if [ -n "$1" ]; then [ ! -e done ]; else : > done; fi',
    "visudo": "cat /etc/sudoers.d/*",
    "/usr/sbin/nginx": "[ -s /etc/nginx/nginx.conf ]",
}
TOOLS: Final = ("sh", "cat", "grep", "mkdir", "mv", "rm", "tar")
# Types that the tools of a Debian make; fleets with one of them are tried in `test_planned_and_done`.
OF_DEBIAN: Final = (
    "authorized_key", "group", "hostname", "mount", "package", "service", "sysctl", "timezone", "user",
)  # fmt: skip


def fleets() -> Iterator[tuple[str, Mapping[str, str | bytes]]]:
    """Yield a name and the files of each fleet that declares something right."""
    for folder in sorted(FIXTURES.iterdir()):
        yield folder.name, {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    for name, fleet in EXAMPLES.items():
        if not fleet.expected and name not in ON_HOLD:
            yield name, {"fleet.yaml": DEFAULT_FLEET, **fleet.files}


def examples() -> list[Any]:
    """Return every host file of every fleet, as parameters."""
    return [
        pytest.param(files, Path(path).stem, id=f"{name}-{Path(path).stem}")
        for name, files in fleets()
        for path in sorted(files)
        if path.startswith("hosts/")
    ]


def needs_debian(files: Mapping[str, str | bytes]) -> bool:
    """Whether a fleet declares something that a bare root cannot become."""
    texts = (text.decode() if isinstance(text, bytes) else text for text in files.values())
    return any(re.search(rf"^ +(?:{'|'.join(OF_DEBIAN)}):\S", text, re.MULTILINE) for text in texts)


def furnish(root: Path, resources: Mapping[str, Mapping[str, Any]]) -> None:
    """Make what the resources suppose: folders, accounts and programs that check."""
    accounts = {"root": 0}
    for name, resource in resources.items():
        fields = resource["fields"]
        path = name.partition(":/")[2]
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if fields.get("audit"):  # reported, never repaired: it is in sync only if it was before
            (root / path).write_text(str(fields["content"]))
        for each in (fields, *fields.get("rules", ())):
            named = {str(each.get(key, "root")) for key in ("owner", "group")} | {str(fields.get("user", "root"))}
            for account in sorted(account for account in named if not account.isdigit()):
                accounts.setdefault(account, 1000 + len(accounts))
        if "validate" in fields:
            program = str(fields["validate"][0])
            install(root, "/bin/true", program if program.startswith("/") else f"/usr/bin/{program}")
    told = [each["fields"].get(key, ()) for each in resources.values() for key in ("run", "unless", "only_if")]
    if programs := {str(argv[0]) for argv in told if argv}:
        accounts.pop("app", None)
        install_programs(root, programs & set(PROGRAMS))
    etc = root / "etc"
    etc.mkdir(exist_ok=True)
    (etc / "passwd").write_text("".join(f"{name}:x:{uid}:{uid}::/:/bin/sh\n" for name, uid in accounts.items()))
    (etc / "group").write_text("".join(f"{name}:x:{uid}:\n" for name, uid in accounts.items()))
    (etc / "os-release").write_text('ID=debian\nVERSION_ID="12"\n')


def install_programs(root: Path, programs: Collection[str]) -> None:
    """Make what an example runs, and what that works on."""
    for tool in TOOLS:
        install(root, str(shutil.which(tool)), f"/usr/bin/{tool}")
    for name in programs:
        place = root / (name.lstrip("/") if name.startswith("/") else f"usr/bin/{name}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"#!/usr/bin/sh\n{PROGRAMS[name]}\n")
        place.chmod(0o755)
    for folder in ("etc/apt/keyrings", "opt", "srv/migrated", "var/lib/app"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "srv/migrated").chmod(0o777)
    (root / "srv/Makefile").touch()
    with tarfile.open(root / "srv/app.tar", "w") as archive:
        archive.add(root / "srv/Makefile", "Makefile")


def test_there_are_examples_of_every_type() -> None:
    assert len(examples()) >= 20
    text = str([list(files.values()) for _, files in fleets()])
    assert all(f"{kind}:" in text for kind in ("file", "directory", "link", "tree", "check", "command"))


@pytest.mark.parametrize(("files", "host"), [one for one in examples() if not needs_debian(one.values[0])])
def test_a_second_pass_says_one_line_and_writes_nothing(
    tmp_path: Path, files: Mapping[str, str | bytes], host: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    repository = GitRepository(tmp_path / "fleet")
    repository.commit(files)
    rendered = expect(run("render", host, "--fleet", str(repository.path), "--json"))
    furnish(root, json.loads(rendered.out)["resources"])
    where = ("--root", str(root))
    expect(run("init", "--repo", str(repository.path), "--host", host, "--no-timer", *where))
    plan = expect(run("plan", "--json", *where)).json
    Fidelity(plan["resources"], expect(run("apply", "--json", *where)).json["resources"]).judge(needless=NEEDLESS)
    kept = (f"{STATE}/run", f"{STATE}/lock", REPORTS)
    before = snapshot(root, kept)
    assert expect(run("plan", "--json", *where)).json["actions"] == 0
    ran = expect(run("apply", *where))
    assert len(ran.out.splitlines()) == 1, ran.out
    assert "nothing to do" in ran.out
    assert ran.err == ""
    assert snapshot(root, kept) == before
    shutil.rmtree(root / STATE / "run")
    assert run("apply", *where).out == ran.out
    assert snapshot(root, HOUSEKEEPING) == {path: entry for path, entry in before.items() if is_host(path)}


def is_host(path: str) -> bool:
    """Whether a path below the root is none of a pass's own."""
    return not any(path == name or path.startswith(f"{name}/") for name in HOUSEKEEPING)
