"""Every example on the pages of `file`, `directory`, `link`, `tree`, `command` and `check` is applied twice somewhere.

Most are run as their page says, below a bare root (`tests/docs`). Those that name programs, accounts or packages of a
system, or something that stands in the way, are applied here on a Debian. Programs that the image does not have are
stood in for by scripts that do what matters of them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

from tests.docs.test_examples import ROOT, Document, commands_of, lay_out, read_document
from tests.git_repository import GitRepository
from tests.harness.oneshot import Oneshot
from tests.harness.plugin import AgentBind
from tests.proofs.on_host import FleetOnHost, reports

PAGES: Final = ("file", "directory", "link", "tree", "command", "check")
_GPG: Final = """#!/bin/sh
[ "$1 $2 $3" = "--dearmor --yes -o" ] && cat "$5" > "$4"
"""
_MIGRATE: Final = """#!/bin/sh
case $1 in
--pending) [ ! -e /var/tmp/migrated ] ;;
*) [ "$APP_ENV $USER $PWD" = "production app /opt/app" ] && echo done > /var/tmp/migrated ;;
esac
"""
_MAKE: Final = """#!/bin/sh
[ -e "$2/Makefile" ] && mkdir "$2/bin" && touch "$2/bin/app"
"""
_NGINX: Final = """#!/bin/sh
[ "$1" = -t ] && grep -q sites /etc/nginx/nginx.conf && cat /etc/nginx/sites/shop.conf /etc/nginx/sites/blog.conf
"""


@frozen
class OnHost:
    """An example that is applied on a Debian."""

    # What must hold then: a script, each of whose lines must end well.
    after: str
    # What somebody has done on the host before the first pass.
    before: str = ":"
    # What stands in for programs, by path.
    programs: tuple[tuple[str, str], ...] = ()


ON_HOSTS: Final = {
    "file:file": OnHost(
        before="echo old > /etc/motd.old",
        after="""
            [ "$(cat /etc/motd)" = "Welcome to web1" ]
            [ ! -e /etc/motd.old ]
            grep -q 'name = web1' /etc/app/app.conf
            [ "$(stat -c '%a %U %G' /etc/sudoers.d/deploy)" = "440 root root" ]
            [ "$(stat -c '%a %U %G' /etc/app/app.conf)" = "640 root www-data" ]
            visudo -cqf /etc/sudoers.d/deploy
        """,
    ),
    "file:in-the-way": OnHost(
        before="ln -s /run/resolver.conf /etc/resolver.conf",
        after="[ ! -h /etc/resolver.conf ] && grep -q 192.0.2.53 /etc/resolver.conf && [ ! -e /run/resolver.conf ]",
    ),
    "tree:tree-of-links": OnHost(
        after='[ "$(readlink /srv/releases/current)" = 2 ] && [ -f /srv/releases/current/run ]'
    ),
    "command:command": OnHost(
        programs=(("/usr/bin/gpg", _GPG), ("/opt/app/bin/migrate", _MIGRATE)),
        after="""
            cmp /etc/app/key.asc /etc/apt/keyrings/app.gpg
            [ "$(stat -c '%U %a' /var/lib/app/token /var/tmp/migrated | xargs)" = "app 600 app 644" ]
        """,
    ),
    "command:commands-in-a-row": OnHost(
        programs=(("/usr/bin/make", _MAKE),),
        before="touch /srv/Makefile && tar -C /srv -cf /srv/app.tar Makefile",
        after="[ -f /opt/app/Makefile ] && [ -f /opt/app/bin/app ] && [ ! -e /opt/app.new ]",
    ),
    "check:check": OnHost(programs=(("/usr/sbin/nginx", _NGINX),), after="/usr/sbin/nginx -t"),
    "check:check-of-drop-ins": OnHost(after="visudo -c -s && [ -s /etc/sudoers.d/20-web ]"),
}


def document(page: str) -> Document:
    return read_document((ROOT / "docs" / "types" / f"{page}.md").read_text())


def run_twice(page: str) -> set[str]:
    """Return the examples that are run as their page says, and converge in each of two passes."""
    apply = ("datum apply --root $ROOT", 0)
    return {f"{page}:{name}" for _, name, text in document(page).runs if list(commands_of(text)).count(apply) >= 2}


def test_every_example_of_these_pages_is_applied_twice() -> None:
    """All that are not there to be refused; those that only end well where their programs are count here only."""
    shown = {f"{page}:{name}" for page in PAGES for name, fleet in document(page).fleets.items() if not fleet.expected}
    applied = {name for page in PAGES for name in run_twice(page)} | set(ON_HOSTS)
    assert shown == applied
    assert len(shown) >= 13


@pytest.mark.parametrize("name", ON_HOSTS)
def test_an_example_is_applied_on_a_debian_and_the_second_pass_has_nothing_to_do(
    name: str, tmp_path: Path, agent_bind: AgentBind, make_oneshot: Callable[..., Oneshot]
) -> None:
    page, _, example = name.partition(":")
    case, fleet = ON_HOSTS[name], FleetOnHost(tmp_path, agent_bind)
    lay_out(document(page).fleets[example], tmp_path / "fleet")
    GitRepository(tmp_path / "fleet").commit({})
    machine = make_oneshot(binds=(fleet.bind,))
    for path, text in case.programs:
        machine.run(["mkdir", "-p", str(Path(path).parent)])
        machine.write(path, text, mode=0o755)
    machine.run(["sh", "-ec", case.before])
    fleet.enrol(machine)
    said = fleet.datum(machine, "apply")
    assert "checked_after_writing" not in said
    machine.run(["sh", "-ec", case.after])
    assert "nothing to do" in fleet.datum(machine, "apply")
    first, second = reports(machine)
    assert {entry["outcome"] for entry in first["resources"]} == {"applied"}
    assert [check["outcome"] for check in first["checks"]] == ["passed"] * (page == "check")
    assert (second["outcome"], second["resources"]) == ("converged", [])
