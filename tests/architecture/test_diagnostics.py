"""Every code that the code can emit has an entry in docs/diagnostics.md, and every entry has a code (house rule 23)."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from datum.agent.doctor.catalogue import CHECKS
from datum.model.plan import HoldReason
from tests.architecture.tracked import PYTHON_FOLDERS, ROOT, python_files

DOCUMENT: Final = ROOT / "docs" / "diagnostics.md"

# Kebab-case strings of the code that are no codes. A new one is a code, or stands here with what it is.
NOT_CODES: Final = {
    "apt-get": "a program",
    "auto-restart": "a state of units, in systemd's words",
    "starting-again": "what a unit in that state is observed as",
    "bad-setting": "a load state of units, in systemd's words",
    "btrfs-progs": "a package",
    "cat-file": "a command of git",
    "cifs-utils": "a package",
    "daemon-reload": "a command of systemctl",
    "config-files": "a state of packages, in dpkg's words",
    "datum-agent": "the distribution",
    "datum-apt": "a scope of the service manager",
    "datum-given-up": "a scope of the service manager",
    "datum-resolve": "an account",
    "datum-source": "an account",
    "deb-src": "a type of source, in apt's words",
    "debian-12": "an operating system",
    "drop-in": "a word for a file of a unit",
    "enabled-runtime": "a state of unit files, in systemd's words",
    "exit-code": "a result of services, in systemd's words",
    "git-https": "what `datum doctor` calls git's helper",
    "glusterfs-client": "a package",
    "half-installed": "a state of packages, in dpkg's words",
    "inactive-or-failed": "when a scope is forgotten, in systemd's words",
    "is-enabled": "a command of systemctl",
    "linked-runtime": "a state of unit files, in systemd's words",
    "masked-runtime": "a state of unit files, in systemd's words",
    "needs-reload": "a mark of the service manager",
    "needs-restart": "a mark of the service manager",
    "nfs-common": "a package",
    "no-kernel": "a cause of NotApplicable, on the page of its type",
    "no-manager": "a cause of NotApplicable, on the page of its type",
    "no-marks": "a cause of NotApplicable, on the page of its type",
    "no-modes": "a cause of NotApplicable, on the page of its type",
    "no-owners": "a cause of NotApplicable, on the page of its type",
    "no-shadow": "a cause of NotApplicable, on the page of its type",
    "not-found": "a load state of units, in systemd's words",
    "not-installed": "a state of packages, in dpkg's words",
    "notify-reload": "a type of service, in systemd's words",
    "ntfs-3g": "a package, and its type of file system",
    "openssh-client": "a package",
    "openssh-server": "a package",
    "pack-objects": "a command of git",
    "read-back-ignored": "a cause of NotApplicable, on the page of its type",
    "read-only-kernel": "a cause of NotApplicable, on the page of its type",
    "reinst-required": "a state of packages, in dpkg's words",
    "remote-https": "a command of git",
    "remove": "what was being done, compared with in a choice of two codes",
    "ssh-ed25519": "a kind of key",
    "ssh-keygen": "a program",
    "ssh-keyscan": "a program",
    "symref-target": "git's protocol",
    "systemd-analyze": "a program",
    "systemd-run": "a program",
    "upload-pack": "git's protocol",
    "util-linux": "a package",
    "utf-8": "an encoding",
    "write-only-key": "a cause of NotApplicable, on the page of its type",
    "x-datum": "an annotation of JSON Schema",
    "x-no-field": "an annotation of JSON Schema",
    "x-nothing-there": "an annotation of JSON Schema",
}

_CODE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FIRST_ARGUMENT: Final = {"problem", "EvaluationError"}


def codes_in(source: str) -> Iterator[str]:
    """Yield the codes of one file: every string in kebab-case, and single words where a code is expected."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "-" in node.value:
            yield from _matching(node)
        elif isinstance(node, ast.keyword) and node.arg == "code":
            yield from _matching(node.value)
        elif isinstance(node, ast.Call) and _name_of(node.func) in _FIRST_ARGUMENT and node.args:
            yield from _matching(node.args[0])


def _matching(node: ast.expr) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and _CODE.fullmatch(inner.value):
            yield inner.value


def _name_of(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ""


@cache
def codes_of(path: Path) -> frozenset[str]:
    """Return the codes of one file."""
    return frozenset(codes_in(path.read_text()))


def emitted() -> frozenset[str]:
    """Return every code of datum and its providers; what only fakes of tests say does not count.

    The names of the checks of `datum doctor` are none: they stand in docs/doctor.md.
    """
    found = {
        code
        for path in python_files(*PYTHON_FOLDERS)
        if not path.is_relative_to(ROOT / "datum" / "testing")
        for code in codes_of(path)
    }
    # Made of the reason, in the reconciler.
    held = {f"held-{reason.value.replace('_', '-')}" for reason in HoldReason}
    return frozenset(found - set(NOT_CODES) - set(CHECKS)) | held


def documented() -> list[str]:
    """Return the headings of the document that name a code, in their order."""
    return re.findall(r"^### `([a-z0-9-]+)`$", DOCUMENT.read_text(), re.MULTILINE)


def test_every_code_is_documented() -> None:
    assert not sorted(emitted() - set(documented()))


def test_every_documented_code_can_be_emitted() -> None:
    assert not sorted(set(documented()) - emitted())


def test_no_code_is_documented_twice() -> None:
    assert len(documented()) == len(set(documented()))


def test_every_entry_says_something_and_what_to_do() -> None:
    for entry in re.split(r"^### ", DOCUMENT.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, body = entry.partition("\n")
        text = body.split("\n## ")[0].strip()
        assert len(text.split()) >= 8, f"{heading} says next to nothing"


def test_codes_are_found_where_they_hide() -> None:
    source = (
        'problem("conflict", x)\n'
        'Diagnostic(code="unverified" if x else "some-thing")\n'
        'TABLE = ((b"x", "of-a-table", "Words."),)\n'
        'return "as-a-result", detail\n'
    )
    assert set(codes_in(f"def f():\n{_indent(source)}")) == {
        "conflict",
        "unverified",
        "some-thing",
        "of-a-table",
        "as-a-result",
    }


def _indent(source: str) -> str:
    return "".join(f"    {line}\n" for line in source.splitlines())


def test_the_allow_list_names_only_what_is_there() -> None:
    everything = {code for path in python_files(*PYTHON_FOLDERS) for code in codes_of(path)}
    assert not sorted(set(NOT_CODES) - everything), "remove these from NOT_CODES"
