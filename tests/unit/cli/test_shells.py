"""Completion as each shell understands it: typed into the shell itself, where it is there."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from datum.cli.main import main
from datum.cli.outline import Outline, Parameter, Value
from datum.cli.views.shells import Shell, completion

ODD = "It's [odd]: a \\ b"
TOP = Outline(
    "datum",
    "Top.",
    (),
    (Parameter(("--version",), "Version.", ""), Parameter(("--help",), "Help.", "")),
    (
        Outline(
            "datum plan",
            ODD,
            (),
            (
                Parameter(("--record", "-r"), ODD, "FILE", Value.FILE),
                Parameter(("--root",), "Root.", "DIR", Value.DIRECTORY),
                Parameter(("--form",), "Form.", "FORM", Value.CHOICE, ("text", "dot")),
                Parameter(("--host",), "Host.", "NAME"),
                Parameter(("--tag",), "Tag.", "TAG", is_repeated=True),
                Parameter((), "Clone.", "DIR", Value.DIRECTORY),
            ),
        ),
        Outline(
            "datum fleet",
            "Fleet.",
            (),
            (Parameter(("--all",), "All.", ""),),
            (
                Outline(
                    "datum fleet halt", "Halt.", (), (Parameter((), "Way.", "WAY", Value.CHOICE, ("now", "soon")),)
                ),
                Outline("datum fleet list-all", "List.", (), (Parameter((), "Names.", "NAME", is_repeated=True),)),
            ),
        ),
    ),
)
needs = {
    shell: pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not there: scripts/setup test, as root")
    for shell in Shell
}


def bash(tmp_path: Path, *words: str) -> list[str]:
    """Return what bash would offer for the last word."""
    (tmp_path / "datum").write_text(completion(Shell.BASH, TOP))
    # compopt is for the middle of a real completion only.
    script = f"""
    compopt() {{ :; }}
    source {shlex.quote(str(tmp_path / "datum"))}
    COMP_WORDS=({shlex.join(words)}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
    _datum; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout != "\n" else []


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["datum", ""], ["plan", "fleet"]),
        (["datum", "p"], ["plan"]),
        (["datum", "x"], []),
        (["datum", "--"], ["--version", "--help"]),
        (["datum", "plan", "--r"], ["--record", "--root"]),
        (["datum", "plan", "--form", ""], ["text", "dot"]),
        (["datum", "plan", "--form", "=", "d"], ["dot"]),
        (["datum", "plan", "--form", "="], ["text", "dot"]),
        (["datum", "plan", "--host", ""], []),
        (["datum", "plan", "--host", "fleet", "--f"], ["--form"]),
        (["datum", "plan", "--root", "fol"], ["folder"]),
        (["datum", "plan", "--record", "fi"], ["file"]),
        (["datum", "plan", "-r", "fi"], ["file"]),
        (["datum", "plan", ""], ["folder"]),
        (["datum", "fleet", ""], ["halt", "list-all"]),
        (["datum", "fleet", "--"], ["--all"]),
        (["datum", "fleet", "halt", "n"], ["now"]),
        (["datum", "fleet", "list-all", ""], []),
    ],
)
def test_bash_offers_what_can_be_typed(words: list[str], offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert [each for each in bash(tmp_path, *words) if each != "datum"] == offered


@needs[Shell.ZSH]
@pytest.mark.parametrize(
    ("typed", "seen"),
    [("datum p", "datum plan "), ("datum plan --fo", "datum plan --form="), ("datum fleet ha", "datum fleet halt ")],
)
def test_zsh_completes_a_word(typed: str, seen: str, tmp_path: Path) -> None:
    (tmp_path / "_datum").write_text(completion(Shell.ZSH, TOP))
    # zsh completes in an interactive one only, so it gets one of its own on a terminal of its own. What shows the line
    # is printed in two pieces, or the echo of what is typed would be taken for it.
    script = f"""
    zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z 'PS1=; fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -D; unset zle_bracketed_paste'
    zpty -w z 'show() {{ print -r -- "<""$BUFFER>" }}; zle -N show; bindkey "^X" show; print re""ady'
    zpty -r -m z found '*ready*'
    zpty -w -n z {shlex.quote(typed)}$'\\t\\x18'
    zpty -r -m z found '*<*>*'; print -r -- $found
    """
    done = subprocess.run(["zsh", "-fc", script], capture_output=True, text=True, check=True, timeout=60)
    assert f"<{seen}>" in done.stdout, done.stdout + done.stderr


@needs[Shell.FISH]
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("datum p", ["plan"]),
        ("datum plan --fo", ["--form"]),
        ("datum plan --form ", ["dot", "text"]),
        ("datum fleet ha", ["halt"]),
        ("datum fleet halt ", ["now", "soon"]),
        ("datum plan --host x fl", []),
    ],
)
def test_fish_offers_what_can_be_typed(typed: str, offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "datum.fish").write_text(completion(Shell.FISH, TOP))
    script = f"source {tmp_path}/datum.fish; complete -C {shlex.quote(typed)}"
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, env=env
    )
    assert sorted(line.split("\t")[0] for line in done.stdout.splitlines()) == offered


def test_zsh_reads_texts_with_its_own_signs_as_texts() -> None:
    said = completion(Shell.ZSH, TOP)
    assert "[It'\"'\"'s \\[odd\\]\\: a \\\\ b]" in said


def test_fish_reads_texts_with_its_own_signs_as_texts() -> None:
    assert "-d 'It\\'s [odd]: a \\\\ b'" in completion(Shell.FISH, TOP)


@pytest.mark.parametrize("shell", list(Shell))
def test_the_command_prints_it_for_every_command_there_is(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell.value]) == 0
    said = capsys.readouterr().out
    assert "--detailed-exitcode" in said.replace("-l detailed-exitcode", "--detailed-exitcode")
    assert "completion" in said


def test_another_shell_is_told_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 64
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


def test_a_missing_shell_is_told_in_readable_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion"]) == 64
    said = capsys.readouterr().err
    assert said.startswith("datum: Missing argument 'SHELL'. Choose from: bash, zsh, fish\n"), said
