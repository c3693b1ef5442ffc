"""The package, and pip, on a running Debian that had no agent: what is there, and that README's lines work."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from scripts.debian.distributions import version_of
from tests.architecture.tracked import ROOT
from tests.docs.readme import lines_of
from tests.harness.booted import Booted
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import LIBRARIES, AgentBind
from tests.harness.spec import Bind
from tests.packages.building import Built
from tests.packages.packaged import DEBS, README_PLACE, VENV, PackagedHost
from tests.proofs.on_host import FleetOnHost

PYTHON = f"{VENV}/bin/python"
COMPLETE = """
source /usr/share/bash-completion/completions/datum
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_datum 2>/dev/null; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def test_a_host_is_enrolled_and_kept(host: PackagedHost) -> None:
    """Everything of one installation, since installing is what costs time."""
    said = host.dpkg("-i", "old.deb")
    assert "warning" not in said.lower()
    _sees_the_command(host)
    _sees_one_compiled_version(host)
    _sees_files_as_dpkg_knows_them(host)
    _sees_accounts(host)
    _sees_pages_and_completion(host)
    _sees_units_that_wait_for_init(host)
    host.enrol()
    assert host.machine.read("/etc/motd") == b"kept\n"
    assert "nothing to do" in host.datum("apply")
    assert host.timer() == ("enabled", "active")
    _service_runs_a_pass(host)
    assert host.machine.run(["systemctl", "is-system-running"], check=False).stdout.strip() == "running"


def _sees_the_command(host: PackagedHost) -> None:
    assert host.version() == version_of(ROOT)
    # Whatever the caller's environment names: another folder of modules is not looked at.
    env = {"PYTHONPATH": "/srv/foreign", "PYTHONHOME": "/srv", "PYTHONSTARTUP": "/srv/x"}
    host.sh("mkdir -p /srv/foreign/datum && echo 'raise SystemExit(99)' > /srv/foreign/datum/__init__.py")
    assert host.machine.run(["datum", "--version"], env=env).stdout.startswith("datum ")
    assert host.machine.run(["setpriv", "--reuid=65534", "--clear-groups", "datum", "--version"]).returncode == 0


def _sees_one_compiled_version(host: PackagedHost) -> None:
    (only,) = host.versions()
    folder = f"/usr/lib/datum/versions/{only}"
    assert host.sh(f"readlink -f {VENV}") == folder
    assert host.sh(f"head -n 1 {folder}/bin/datum") == f"#!{folder}/bin/python -I"
    assert host.sh(f"{PYTHON} -Ic 'import sys, datum; print(sys.prefix, datum.__file__)'").startswith(f"{VENV} ")
    # Nothing is left to be compiled by the first command of a user who may not write there.
    assert host.sh(f"find {folder} -name '*.py' | wc -l") == host.sh(f"find {folder} -name '*.pyc' | wc -l")
    assert host.sh("find /usr/lib/datum/dist -name '*.pyc' | wc -l") == "0"
    checked = "import sys, marshal; print(open(sys.argv[1], 'rb').read()[4])"
    compiled = host.sh(f"find {folder} -name 'main.*.pyc' | head -n 1")
    assert host.sh(f"{PYTHON} -Ic {shlex.quote(checked)} {compiled}") == "1"
    # Hard links: the second folder costs next to nothing.
    assert host.sh(f"stat -c %h {folder}/lib/python3.11/site-packages/datum/cli/main.py") == "2"
    names = host.sh(f"{PYTHON} -Ic 'from datum.cli import main; print(main.main.__code__.co_filename)'")
    assert names.endswith("site-packages/datum/cli/main.py")
    assert "/.part/" not in names


def _sees_files_as_dpkg_knows_them(host: PackagedHost) -> None:
    assert host.sh("dpkg --verify datum-agent") == ""
    assert host.sh("dpkg-query -W -f '${db:Status-Abbrev}' datum-agent") == "ii"
    assert host.sh("stat -c '%a %U %G' /etc/datum") == "755 root root"
    assert host.sh("dpkg -S /usr/bin/datum /etc/datum | cut -d: -f1 | sort -u") == "datum-agent"


def _sees_accounts(host: PackagedHost) -> None:
    for account in ("datum-source", "datum-resolve"):
        line = host.sh(f"getent passwd {account}")
        assert re.fullmatch(rf"{account}:x:\d+:\d+:[^:]*:/nonexistent:/usr/sbin/nologin", line)


def _sees_pages_and_completion(host: PackagedHost) -> None:
    pages = host.sh("ls /usr/share/man/man1 | grep '^datum'").split()
    commands = re.findall(r"^  (\w+) ", host.datum("--help").partition("Commands:")[2], re.MULTILINE)
    assert set(pages) == {"datum.1.gz", *(f"datum-{name}.1.gz" for name in commands)}
    assert "apply" in host.sh("zcat /usr/share/man/man1/datum.1.gz")
    assert completions(host, "datum", "appl") == ["apply"]
    assert completions(host, "datum", "plan", "--detailed") == ["--detailed-exitcode"]
    for shell, place in {
        "bash": "/usr/share/bash-completion/completions/datum",
        "zsh": "/usr/share/zsh/vendor-completions/_datum",
        "fish": "/usr/share/fish/vendor_completions.d/datum.fish",
    }.items():
        assert host.machine.read(place).decode() == host.datum("completion", shell)


def completions(host: PackagedHost, *words: str) -> list[str]:
    return host.machine.run(["bash", "-c", COMPLETE.format(words=shlex.join(words))]).stdout.split()


def _sees_units_that_wait_for_init(host: PackagedHost) -> None:
    assert host.timer() == ("disabled", "inactive")
    assert host.sh("systemctl is-enabled datum-boot.timer") == "disabled"
    assert host.sh("systemd-analyze verify --man=no /usr/lib/systemd/system/datum.service 2>&1") == ""


def _service_runs_a_pass(host: PackagedHost) -> None:
    host.machine.write("/etc/motd", "drifted\n")
    host.machine.run(["systemctl", "start", "datum.service"])
    assert host.machine.read("/etc/motd") == b"kept\n"


def test_it_is_installed_into_an_image_in_which_nothing_runs(make_oneshot: Callable[..., Oneshot], debs: Path) -> None:
    with_debs = make_oneshot(binds=(Bind(str(debs), DEBS),))
    with_debs.run(["dpkg", "-i", f"{DEBS}/old.deb"], timeout=120)
    assert with_debs.run(["datum", "--version"]).stdout == f"datum {version_of(ROOT)}\n"
    with_debs.run(["dpkg", "-r", "datum-agent"], timeout=120)
    assert not (with_debs.path / "usr/lib/datum").exists()


def test_readmes_way_by_pip_leads_to_a_host_that_keeps_itself(
    make_booted: Callable[..., Booted], built: Built, tmp_path: Path
) -> None:
    """The line of pip gets a wheel of this tree; what an index would give beside it lies in a folder of its own."""
    fleet = FleetOnHost(tmp_path, AgentBind((), {}, ()))
    fleet.commit({"file:/etc/motd": {"content": "kept\n"}})
    host = make_booted(binds=(Bind(str(built.wheel.parent), DEBS), Bind(fleet.bind.source, README_PLACE)))
    pip, *others = lines_of("pip")
    assert pip.endswith("install .")
    host.run(["sh", "-ec", f"{pip[:-1]}--no-index --no-deps {DEBS}/{built.wheel.name}"], timeout=300)
    host.write("/opt/datum/lib/python3.11/site-packages/libraries.pth", f"{LIBRARIES}\n")
    for line in others:
        host.run(["sh", "-ec", line], timeout=120)
    assert host.read("/etc/motd") == b"kept\n"
    host.write("/etc/motd", "drifted\n")
    host.run(["systemctl", "start", "datum.service"], timeout=120)
    assert host.read("/etc/motd") == b"kept\n"
    shown = host.run(["systemctl", "show", "-P", "ExecStart", "datum.service"]).stdout
    assert "argv[]=/opt/datum/bin/datum apply" in shown
    assert host.run(["systemctl", "is-active", "datum.timer"]).stdout == "active\n"
