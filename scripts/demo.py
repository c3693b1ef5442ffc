"""Shows a fleet being kept, against a root that it makes and throws nothing of yours at.

Every step says what it runs and what it expects; an unexpected exit code ends the demo with 1.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
HOST = "web1"
GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def main() -> int:
    """Run all steps; return the exit code."""
    place = Path(tempfile.mkdtemp(prefix="datum-demo-"))
    fleet, root = place / "fleet", place / "root"
    shutil.copytree(CLONE / "fixtures/fleets/sample", fleet)
    (root / "etc/profile.d").mkdir(parents=True)

    say("A fleet repository, committed with git; the host will fetch it like any remote.")
    git(fleet, "init", "--quiet", "--initial-branch=main")
    commit(fleet, "the sample fleet")

    say(f"Enrol this root as host {HOST}. Nothing on it is touched yet.")
    datum(root, "init", "--repo", f"file://{fleet}", "--host", HOST, "--no-timer")
    say("What would a pass do?")
    datum(root, "plan")
    say("Do it.")
    datum(root, "apply")
    say("A second pass has nothing to do.")
    datum(root, "apply")

    say("Somebody changes a file, a page and a folder by hand; the next pass says so and repairs it.")
    (root / "etc/web/conf.d/blue.conf").write_text("backend blue 127.0.0.1:9999\n")
    (root / "etc/web/conf.d/left-behind.conf").write_text("backend old 10.0.0.99:80\n")
    (root / "srv/www/index.html").unlink()
    datum(root, "apply")

    say("A reviewed change: another port, and one backend less. What is dropped from a drop-in place is removed.")
    change(fleet / "hosts/web1.yaml", "http_port: 8080", "http_port: 8443")
    change(fleet / "layers/role/web.yaml", ", green: 10.0.0.12", "")
    commit(fleet, "move to 8443, retire green")
    datum(root, "apply")

    say("Somebody rewrites the branch. The host refuses it and keeps what it enforces.")
    git(fleet, "reset", "--quiet", "--hard", "HEAD~1")
    change(fleet / "hosts/web1.yaml", "http_port: 8080", "http_port: 6666")
    commit(fleet, "not reviewed", "--amend")
    datum(root, "apply", expected=76)
    datum(root, "status")

    newest = max((root / "var/log/datum/reports").glob("*.json"))
    say(f"The report of the last pass: {newest}")
    print(f"Everything of this demo lies in {place}; remove it when you have looked.")
    return 0


def say(text: str) -> None:
    """Announce a step."""
    print(f"\n── {text}", flush=True)


def datum(root: Path, *words: str, expected: int = 0) -> None:
    """Run datum below the root; end the demo when it exits otherwise than expected."""
    command = [sys.executable, "-m", "datum", words[0], "--root", str(root), *words[1:]]
    print(f"$ datum {' '.join(command[3:])}", flush=True)
    code = subprocess.run(command, check=False).returncode
    if code != expected:
        sys.exit(f"demo: exit code {expected} was expected, not {code}")
    if expected:
        print(f"(exit code {code})", flush=True)


def git(fleet: Path, *words: str) -> None:
    """Run git in the fleet repository, without anybody's configuration."""
    subprocess.run(["git", "-C", str(fleet), *words], check=True, env={**os.environ, **GIT})


def commit(fleet: Path, subject: str, *more: str) -> None:
    """Commit everything."""
    git(fleet, "add", "--all")
    git(fleet, "commit", "--quiet", "--message", subject, *more)


def change(file: Path, old: str, new: str) -> None:
    """Replace one text in a file."""
    text = file.read_text()
    if old not in text:
        sys.exit(f"demo: {file} does not hold '{old}'")
    file.write_text(text.replace(old, new))


if __name__ == "__main__":
    sys.exit(main())
