"""Making the account that servers are talked to under: once, whole, and never in the place of another one."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve, frozen

from datum.agent import accounts
from datum.agent.accounts import SystemAccount, account_faults, find_account, make_source_account, unfit
from datum.errors import DatumError, PermissionRefusedError, SettingsError, StateError
from datum.host.program import run_program
from datum.provider.host import Command, CommandOutcome, HostError, ProgramRunner

NAME = "datum-source"
PASSWD = "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann:/home/ann:/bin/bash\n"
GROUP = "root:x:0:\nann:x:1000:\n"
GOOD = f"{NAME}:x:990:990:x:/nonexistent:/usr/sbin/nologin\n"
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make accounts")
with_useradd = pytest.mark.skipif(shutil.which("useradd", path="/usr/sbin") is None, reason="there is no useradd")


@frozen
class Files:
    """The account files of a root of the test's."""

    root: Path

    def write(self, *, passwd: str = "", group: str = "", shadow: str = "") -> None:
        (self.root / "etc").mkdir(exist_ok=True)
        for name, text in (("passwd", PASSWD + passwd), ("group", GROUP + group), ("shadow", shadow)):
            (self.root / "etc" / name).write_text(text)

    def line(self, name: str, file: str = "passwd") -> list[str]:
        lines = [line.split(":") for line in (self.root / "etc" / file).read_text().splitlines()]
        return next(line for line in lines if line[0] == name)

    def make(self, run: ProgramRunner = run_program, name: str = NAME) -> bool:
        return make_source_account(run, name, root=str(self.root))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    made = Files(tmp_path)
    made.write()
    return made


def refuse(command: Command) -> CommandOutcome:
    raise AssertionError(command.argv)


def answering(outcome: CommandOutcome) -> ProgramRunner:
    def run(command: Command) -> CommandOutcome:
        assert command.argv
        return outcome

    return run


def told(act: Callable[[], object], kind: type[DatumError], code: str) -> str:
    """Return the detail and the hint of a refusal."""
    with pytest.raises(kind) as caught:
        act()
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.hint
    return f"{found.detail} {found.hint}"


@only_root
@with_useradd
def test_it_is_made_once(files: Files) -> None:
    """A system account with a group of its own that nobody can log into."""
    assert files.make()
    _, _, uid, gid, _, home, shell = files.line(NAME)
    assert 0 < int(uid) < 1000
    assert (home, shell) == ("/nonexistent", "/usr/sbin/nologin")
    assert files.line(NAME, "group")[2:] == [gid, ""]
    assert files.line(NAME, "shadow")[1][:1] in {"!", "*"}
    before = {path: path.read_bytes() for path in (files.root / "etc").iterdir()}
    assert not files.make(refuse)
    assert {path: path.read_bytes() for path in (files.root / "etc").iterdir()} == before
    assert not account_faults(
        accounts._Files(str(files.root)).account(NAME) or pytest.fail("none"), root=str(files.root)
    )


@only_root
@with_useradd
def test_another_name_is_made_as_well(files: Files) -> None:
    assert files.make(name="datum-resolve")
    assert files.make()
    assert files.line("datum-resolve")[2] != files.line(NAME)[2]


@only_root
@with_useradd
def test_a_group_that_is_left_of_it_is_taken(files: Files) -> None:
    files.write(group=f"{NAME}:x:770:\n")
    assert files.make()
    assert files.line(NAME)[3] == "770"


@only_root
@with_useradd
def test_what_a_killed_useradd_left_is_finished(files: Files) -> None:
    """The line of the user comes first, and then that of its group."""
    files.write(passwd=GOOD)
    assert files.make()
    assert files.line(NAME, "group")[2] == "990"
    assert not files.make(refuse)


def test_one_that_is_there_is_taken_as_it_is(files: Files) -> None:
    """Whatever its home and its comment say; nobody needs to be root for that."""
    files.write(
        passwd=f"{NAME}:x:107:107::/:/bin/false\n", group=f"{NAME}:x:107:{NAME}\n", shadow=f"{NAME}:!*:::::::\n"
    )
    assert not files.make(refuse)


def test_root_is_always_there(files: Files) -> None:
    assert not files.make(refuse, name="root")


UNFIT = {
    "root by another name": (f"{NAME}:x:0:990::/:/usr/sbin/nologin\n", "", "", "(uid 0)"),
    "the group of root": (f"{NAME}:x:990:0::/:/usr/sbin/nologin\n", "", "", "(gid 0)"),
    "a shell": (f"{NAME}:x:990:990::/:/bin/sh\n", "", "", "has the shell /bin/sh"),
    "the shell of no shell": (f"{NAME}:x:990:990::/:\n", "", "", "has the shell /bin/sh"),
    "a password": (GOOD, "", f"{NAME}:$y$x:::::::\n", "has a password"),
    "no password needed": (GOOD, "", f"{NAME}::::::::\n", "has a password"),
    "the uid of another": (f"{NAME}:x:1000:990::/:/usr/sbin/nologin\n", "", "", "has the uid of 'ann'"),
    "the group of another": (f"{NAME}:x:990:1000::/:/usr/sbin/nologin\n", "", "", "shares its group with 'ann'"),
    "a member of its group": (GOOD, f"{NAME}:x:990:ann\n", "", "shares its group with 'ann'"),
    "a group of its name with a member": ("", f"{NAME}:x:990:ann\n", "", "shares its group with 'ann'"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_one_of_another_kind_is_refused(files: Files, name: str) -> None:
    """With what is wrong with it, and it stays as it is."""
    passwd, group, shadow, words = UNFIT[name]
    files.write(passwd=passwd, group=group or f"{NAME}:x:990:\n", shadow=shadow)
    before = (files.root / "etc/passwd").read_bytes()
    assert words in told(lambda: files.make(refuse), SettingsError, "source-account-unfit")
    assert (files.root / "etc/passwd").read_bytes() == before


def test_keys_of_ssh_let_somebody_in(files: Files) -> None:
    files.write(passwd=f"{NAME}:x:990:990::/var/lib/x:/usr/sbin/nologin\n", group=f"{NAME}:x:990:\n")
    (files.root / "var/lib/x/.ssh").mkdir(parents=True)
    assert not files.make(refuse)
    (files.root / "var/lib/x/.ssh/authorized_keys").write_text("ssh-ed25519 AAAA\n")
    assert "/var/lib/x/.ssh/authorized_keys" in told(lambda: files.make(refuse), SettingsError, "source-account-unfit")


def test_all_that_is_wrong_is_told_together(files: Files) -> None:
    files.write(passwd=f"{NAME}:x:0:0::/:/bin/sh\n")
    words = told(lambda: files.make(refuse), SettingsError, "source-account-unfit")
    assert all(part in words for part in ("uid 0", "gid 0", "/bin/sh", "source.account"))


def test_only_root_can_make_one(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert NAME in told(lambda: files.make(refuse), PermissionRefusedError, "not-root")


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (b"useradd: cannot lock /etc/passwd; try again later.\n", "when vipw, passwd or the like has ended"),
        (
            b"useradd: /etc/passwd.17: No space left on device\nuseradd: cannot lock /etc/passwd; try again later.\n",
            "df",
        ),
        (b"useradd: /etc/passwd.17: Read-only file system\nuseradd: cannot lock /etc/passwd\n", "findmnt"),
        (b"useradd: invalid user name 'x y'\n", "pwck"),
        (b"", "It wrote: nothing"),
    ],
)
def test_why_it_could_not_be_made_is_told(
    files: Files, monkeypatch: pytest.MonkeyPatch, words: bytes, cure: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = told(lambda: files.make(answering(CommandOutcome(1, b"", words))), StateError, "source-account-not-made")
    assert cure in found
    assert words.decode().splitlines()[-1:] == [] or words.decode().splitlines()[-1] in found


def test_a_host_without_useradd_is_told(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def missing(command: Command) -> CommandOutcome:
        assert command.argv[0] == "useradd"
        raise HostError("'useradd' cannot be run: it is not on this host.", hint="install what brings useradd")

    assert "install what brings useradd" in told(lambda: files.make(missing), StateError, "source-account-not-made")


def test_a_useradd_that_lies_is_told(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = told(lambda: files.make(answering(CommandOutcome(0, b"", b""))), StateError, "source-account-not-made")
    assert f"{files.root}/etc/passwd has no such user" in words


def test_account_files_that_cannot_be_read_are_told(files: Files) -> None:
    (files.root / "etc/passwd").unlink()
    (files.root / "etc/passwd").mkdir()
    assert "etc/passwd: Is a directory." in told(lambda: files.make(refuse), StateError, "source-account-not-made")


def test_nothing_of_another_root_is_run(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is never taken for an option."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    seen: list[tuple[str, ...]] = []

    def run(command: Command) -> CommandOutcome:
        seen.append(command.argv)
        return CommandOutcome(1, b"", b"no\n")

    told(lambda: files.make(run, name="-x"), StateError, "source-account-not-made")
    (argv,) = seen
    assert argv[0] == "useradd"
    assert argv[-4:] == ("--prefix", str(files.root), "--", "-x")


def test_lines_that_are_none_are_passed_over(files: Files) -> None:
    files.write(passwd=f"+::::::\n#{NAME}:x:0:0::/:/bin/sh\n{NAME}:x:abc:0::/:/bin/sh\n{NAME}:x\n" + GOOD)
    assert find_account(NAME, root=str(files.root)) == SystemAccount(
        NAME, 990, 990, "/nonexistent", "/usr/sbin/nologin"
    )


def test_the_running_system_is_asked_where_its_files_lack_a_name() -> None:
    found = find_account("nobody")
    assert found is not None
    assert find_account("no-such-user-here") is None
    assert account_faults(evolve(found, uid=0))


def test_the_fragment_for_packages_says_the_same() -> None:
    text = (Path(accounts.__file__).parents[1] / "units" / accounts.SYSUSERS).read_text()
    (line,) = [line for line in text.splitlines() if line.startswith(f"u {NAME} ")]
    assert line == f'u {NAME} - "{accounts._COMMENT}" {accounts._HOME} {accounts._SHELL}'


def test_the_account_that_reads_revisions_is_told_for_what_it_does() -> None:
    """No key of the configuration names another one."""
    found = unfit("datum-resolve", ("has a password",))
    assert "What reads revisions should be able to do nothing else." in found.detail
    assert found.summary == "The account that reads revisions is one of another kind."
    assert "source.account" not in found.hint
    assert unfit("datum-source", ("has a password",)).summary == "The account of the source is one of another kind."
    assert "source.account" in unfit("datum-source", ("has a password",)).hint


def test_each_account_that_could_not_be_made_is_told_for_what_it_does(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    run = answering(CommandOutcome(1, b"", b"no\n"))
    for name, role in (("datum-resolve", "that reads revisions"), ("datum-source", "of the source")):
        with pytest.raises(StateError) as caught:
            files.make(run, name=name)
        (found,) = caught.value.diagnostics
        assert found.summary == f"The account {role} could not be made."
        assert f"'{name}'" in found.detail
