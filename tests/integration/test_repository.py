"""The mirror against real remotes, through the real git program."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from datum.errors import (
    DatumError,
    InternalError,
    RepositoryError,
    RepositoryUnreachableError,
    RevisionNotFoundError,
    StateError,
)
from datum.host.program import run_program
from datum.model.revision import Revision
from datum.provider.host import Command, CommandOutcome
from datum.repository.mirror import MAX_PACKS, Mirror
from datum.repository.remote import Remote
from tests.git_repository import GitRepository

LIMIT = 10_000_000


def code_of(error: pytest.ExceptionInfo[DatumError]) -> str:
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.summary
    assert diagnostic.detail
    assert diagnostic.hint
    return diagnostic.code


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every path below a folder with inode, size and time of change."""
    return {
        str(path): (status.st_ino, status.st_size, status.st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        for status in (path.lstat(),)
    }


class Fleet:
    """A remote, a state directory, and a mirror in it."""

    def __init__(self, folder: Path) -> None:
        self.remote = GitRepository(folder / "remote")
        self.url = str(self.remote.path)
        self.state = folder / "state"
        self.mirror = Mirror.open(self.state, run_program)

    def ask(self, ref: str = "main") -> Revision:
        return self.mirror.ask(Remote(self.url), ref, timeout=20)

    def fetch(self, revision: Revision, mirror: Mirror | None = None, limit: int = LIMIT) -> None:
        (mirror or self.mirror).fetch(Remote(self.url), "main", revision, timeout=20, byte_limit=limit)

    def take(self) -> Revision:
        """Ask, fetch and promote, as a pass does."""
        revision = self.ask()
        self.fetch(revision)
        self.mirror.promote(revision)
        return revision

    def reopen(self) -> Mirror:
        self.mirror = Mirror.open(self.state, run_program)
        return self.mirror

    @property
    def store(self) -> Path:
        return self.state / "mirror.git"

    def fsck(self) -> None:
        """Assert that git finds nothing wrong with the mirror."""
        done = subprocess.run(
            ["git", f"--git-dir={self.store}", "fsck", "--strict", "--full"], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    made.remote.commit({"fleet.yaml": "one\n", "files/a": "a"}, "first")
    with made.mirror:
        yield made


# Asking


def test_branches_tags_and_full_names_are_found(fleet: Fleet) -> None:
    first = fleet.remote.head
    fleet.remote.git("tag", "light")
    fleet.remote.git("tag", "-a", "-m", "x", "heavy")
    fleet.remote.git("tag", "-a", "-m", "x", "nested", "heavy")
    for ref in ("main", "light", "heavy", "nested", "refs/heads/main", "tags/heavy", "HEAD"):
        assert fleet.ask(ref).commit == first
    assert str(fleet.ask("HEAD")) == f"main@sha1:{first}"
    assert str(fleet.ask("refs/heads/main")) == f"main@sha1:{first}"
    assert str(fleet.ask("tags/heavy")) == f"tags/heavy@sha1:{first}"


def test_asking_changes_nothing_and_imports_no_pygit2(fleet: Fleet, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    script = (
        "import sys; from pathlib import Path; from datum.host.program import run_program;"
        "from datum.repository.mirror import Mirror;"
        "from datum.repository.remote import Remote;"
        "m = Mirror.open(Path(sys.argv[1]), run_program); print(m.ask(Remote(sys.argv[2]), 'main', timeout=20));"
        "assert 'pygit2' not in sys.modules"
    )
    argv = [sys.executable, "-c", script, str(fleet.state), fleet.url]
    done = subprocess.run(argv, capture_output=True, check=False, text=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == f"main@sha1:{fleet.remote.head}", done.stderr
    assert snapshot(tmp_path) == before


def test_a_branch_and_a_tag_of_one_name_are_both_named(fleet: Fleet) -> None:
    fleet.remote.git("tag", "main")
    with pytest.raises(RevisionNotFoundError, match=r"refs/heads/main and refs/tags/main") as caught:
        fleet.ask()
    assert code_of(caught) == "ref-ambiguous"
    assert fleet.ask("refs/heads/main").commit == fleet.remote.head


def test_a_lost_ref_is_told_from_an_empty_repository(fleet: Fleet, tmp_path: Path) -> None:
    for number in range(12):
        fleet.remote.git("branch", f"b{number:02}")
    with pytest.raises(RevisionNotFoundError, match=r"b00, .*b07 and 5 more") as caught:
        fleet.ask("gone")
    assert code_of(caught) == "ref-gone"
    fleet.url = str(GitRepository(tmp_path / "empty").path)
    for ref in ("main", "HEAD"):
        with pytest.raises(RevisionNotFoundError) as caught:
            fleet.ask(ref)
        assert code_of(caught) == "repository-empty"


def test_a_detached_head_is_no_source(fleet: Fleet) -> None:
    fleet.remote.git("checkout", "--quiet", "--detach")
    with pytest.raises(RevisionNotFoundError) as caught:
        fleet.ask("HEAD")
    assert code_of(caught) == "remote-head-detached"


@pytest.mark.parametrize("make", ["nothing", "folder", "file", "hollow"])
def test_what_is_no_repository_is_told_from_nothing(fleet: Fleet, tmp_path: Path, make: str) -> None:
    path = tmp_path / "thing"
    if make == "file":
        path.write_text("x")
    elif make != "nothing":
        path.mkdir()
    if make == "hollow":
        (path / "HEAD").write_text("ref: refs/heads/main\n")
    fleet.url = str(path)
    with pytest.raises(RepositoryUnreachableError, match="thing") as caught:
        fleet.ask()
    assert code_of(caught) == ("repository-missing" if make == "nothing" else "repository-invalid")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which needs root")
def test_a_repository_that_may_not_be_read_says_so(fleet: Fleet) -> None:
    for folder in (fleet.remote.path, *fleet.remote.path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            break
    else:
        fleet.remote.path.chmod(0o700)
    os.setresgid(65534, 65534, 0)
    os.setresuid(65534, 65534, 0)
    try:
        with pytest.raises(RepositoryUnreachableError) as caught:
            fleet.ask()
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
    assert code_of(caught) == "repository-denied"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a repository to another user, which needs root")
def test_root_reads_a_repository_that_a_user_owns(fleet: Fleet) -> None:
    for path in (fleet.remote.path, *fleet.remote.path.rglob("*")):
        os.lchown(path, 1000, 1000)
    revision = fleet.take()
    assert fleet.mirror.tree(revision).read("fleet.yaml") == b"one\n"


def test_a_sha256_repository_is_not_in_this_version(fleet: Fleet, tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "new", "--object-format=sha256")
    made.commit({"a": "1"})
    fleet.url = str(made.path)
    with pytest.raises(RepositoryUnreachableError, match="SHA-256") as caught:
        fleet.ask()
    assert code_of(caught) == "not-in-this-version"


# Fetching


def test_a_revision_is_readable_before_and_after_promotion(fleet: Fleet) -> None:
    revision = fleet.ask()
    assert not fleet.mirror.has(revision)
    assert not fleet.state.exists()
    fleet.fetch(revision)
    assert fleet.mirror.has(revision)
    assert not fleet.store.exists()
    tree = fleet.mirror.tree(revision)
    fleet.mirror.promote(revision)
    assert tree.read("files/a") == b"a"
    assert not (fleet.state / "quarantine").exists()
    assert fleet.reopen().has(revision)
    assert fleet.mirror.tree(revision).read("fleet.yaml") == b"one\n"
    assert fleet.mirror.describe(revision).subject == "first"
    assert fleet.mirror.resolve(revision.commit[:8]) == revision
    fleet.fsck()


def test_only_what_is_new_is_fetched_and_merged(fleet: Fleet) -> None:
    first = fleet.take()
    fleet.remote.commit({"big": os.urandom(200_000)})
    second = fleet.take()
    third_commit = fleet.remote.commit({"files/a": "b"})
    third = fleet.ask()
    # Far less than what the mirror has already.
    fleet.fetch(third, limit=20_000)
    tree = fleet.mirror.tree(third)
    fleet.mirror.promote(third)
    assert tree.read("files/a") == b"b"
    assert len(tree.read("big")) == 200_000
    assert third.commit == third_commit
    assert fleet.mirror.is_descendant(third, first)
    assert fleet.mirror.is_descendant(third, third)
    assert not fleet.mirror.is_descendant(first, second)
    fleet.fsck()


def test_a_refused_revision_leaves_nothing(fleet: Fleet) -> None:
    first = fleet.take()
    fleet.remote.commit({"files/a": "b"})
    before = snapshot(fleet.state)
    second = fleet.ask()
    fleet.fetch(second)
    fleet.mirror.discard()
    assert set(snapshot(fleet.state)) == set(before)
    assert not fleet.mirror.has(second)
    assert fleet.mirror.has(first)


def test_a_rewritten_branch_is_fetched_and_is_no_descendant(fleet: Fleet) -> None:
    first = fleet.take()
    fleet.remote.git("commit", "--quiet", "--amend", "-m", "rewritten")
    second = fleet.ask()
    fleet.fetch(second)
    assert not fleet.mirror.is_descendant(second, first)


def test_the_revision_that_was_asked_is_fetched_though_the_branch_moved(fleet: Fleet) -> None:
    revision = fleet.ask()
    fleet.remote.commit({"files/a": "later"})
    fleet.fetch(revision)
    assert fleet.mirror.tree(revision).read("files/a") == b"a"


def test_a_revision_that_vanished_is_asked_for_again_next_time(fleet: Fleet) -> None:
    with pytest.raises(RepositoryUnreachableError) as caught:
        fleet.fetch(Revision("f" * 40))
    assert code_of(caught) == "revision-vanished"
    assert not (fleet.state / "quarantine").exists()


def test_a_tag_of_a_file_is_no_revision(fleet: Fleet) -> None:
    fleet.remote.git("tag", "thing", fleet.remote.git("rev-parse", "HEAD:fleet.yaml"))
    revision = fleet.ask("thing")
    with pytest.raises(RevisionNotFoundError, match="is a blob") as caught:
        fleet.fetch(revision)
    assert code_of(caught) == "revision-no-commit"
    assert not fleet.mirror.has(revision)


def test_more_bytes_than_allowed_are_not_taken(fleet: Fleet) -> None:
    fleet.remote.commit({"big": os.urandom(200_000)})
    revision = fleet.ask()
    with pytest.raises(RepositoryUnreachableError, match="100000 bytes") as caught:
        fleet.fetch(revision, limit=100_000)
    assert code_of(caught) == "fetch-too-big"
    assert not (fleet.state / "quarantine").exists()
    fleet.fetch(revision, limit=300_000)


def test_a_shallow_remote_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    fleet.remote.commit({"files/a": "b"})
    shallow = GitRepository(tmp_path / "shallow")
    shallow.git("fetch", "--quiet", "--depth=1", f"file://{fleet.url}", "+main:refs/heads/copy")
    fleet.url = str(shallow.path)
    with pytest.raises(RepositoryUnreachableError) as caught:
        fleet.fetch(fleet.ask("copy"))
    assert code_of(caught) == "remote-shallow"


def test_a_remote_with_a_hole_is_not_taken(fleet: Fleet) -> None:
    blob = fleet.remote.git("rev-parse", "HEAD:files/a")
    (fleet.remote.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RepositoryUnreachableError) as caught:
        fleet.fetch(fleet.ask())
    assert code_of(caught) == "fetch-failed"


def test_a_corrupted_pack_of_the_remote_is_not_taken(fleet: Fleet) -> None:
    fleet.remote.commit({"big": os.urandom(50_000)})
    fleet.remote.git("repack", "-a", "-d", "-q")
    (pack,) = (fleet.remote.path / ".git/objects/pack").glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0xFF
    pack.chmod(0o644)
    pack.write_bytes(data)
    with pytest.raises(RepositoryUnreachableError) as caught:
        fleet.fetch(fleet.ask())
    assert code_of(caught) == "fetch-failed"
    assert not fleet.store.exists()


def test_a_malformed_object_of_the_remote_is_not_taken(fleet: Fleet) -> None:
    tree = fleet.remote.git("rev-parse", "HEAD^{tree}")
    entry = b"100644 .git\0" + bytes.fromhex(fleet.remote.git("rev-parse", "HEAD:fleet.yaml"))
    tree = fleet.remote.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=entry)
    commit = fleet.remote.git("commit-tree", tree, "-m", "bad")
    fleet.remote.git("update-ref", "refs/heads/main", commit)
    with pytest.raises(RepositoryUnreachableError) as caught:
        fleet.fetch(fleet.ask())
    assert code_of(caught) == "fetch-object-refused"


def test_a_slow_remote_is_left(fleet: Fleet) -> None:
    with pytest.raises(RepositoryUnreachableError) as caught:
        fleet.mirror.ask(Remote(fleet.url), "main", timeout=0.0)
    assert code_of(caught) == "remote-timeout"


def test_no_configuration_or_hook_but_ours_takes_part(fleet: Fleet, tmp_path: Path) -> None:
    """A remote can be another user's: nothing that it says may run, nor may the home directory of the caller."""
    trap, evil = tmp_path / "sprung", tmp_path / "evil"
    evil.write_text(f'#!/bin/sh\ntouch {trap}\nexec "$@"\n')
    evil.chmod(0o755)
    for key in ("uploadpack.packObjectsHook", "core.fsmonitor", "core.sshCommand", "core.alternateRefsCommand"):
        fleet.remote.git("config", key, str(evil))
    for name in ("post-update", "reference-transaction", "pre-auto-gc"):
        (fleet.remote.path / ".git/hooks" / name).parent.mkdir(exist_ok=True)
        shutil.copy(evil, fleet.remote.path / ".git/hooks" / name)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f"[uploadpack]\n\tpackObjectsHook = {evil}\n[core]\n\thooksPath = {fleet.remote.path}/.git/hooks\n"
        f'[url "{tmp_path}/elsewhere"]\n\tinsteadOf = {fleet.url}\n'
    )

    def run_at_home(command: Command) -> CommandOutcome:
        environment = {**command.environment, "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        return run_program(
            Command(
                command.argv,
                timeout=command.timeout,
                stdin=command.stdin,
                environment=environment,
                success=command.success,
            )
        )

    with Mirror.open(fleet.state, run_at_home) as mirror:
        revision = mirror.ask(Remote(fleet.url), "main", timeout=20)
        mirror.fetch(Remote(fleet.url), "main", revision, timeout=20, byte_limit=LIMIT)
        mirror.promote(revision)
    assert not trap.exists()


# Promotion, refs and packs


def test_exactly_the_given_revisions_are_kept(fleet: Fleet) -> None:
    first = fleet.take()
    fleet.remote.git("commit", "--quiet", "--amend", "-m", "rewritten")
    second = fleet.take()
    lost = Revision("f" * 40)
    fleet.mirror.keep([first, second, lost])
    refs = fleet.store / "refs/datum"
    assert {path.name for path in refs.iterdir()} == {first.commit, second.commit}
    before = snapshot(fleet.state)
    fleet.mirror.keep([second, first])
    assert snapshot(fleet.state) == before
    fleet.mirror.keep([second])
    assert {path.name for path in refs.iterdir()} == {second.commit}
    fleet.fsck()


def test_many_packs_become_one_and_lose_nothing(fleet: Fleet) -> None:
    revisions = [fleet.take()]
    old = fleet.mirror.tree(revisions[0])
    for number in range(MAX_PACKS):
        fleet.remote.commit({"files/a": str(number)})
        revisions.append(fleet.take())
        fleet.mirror.keep(revisions[-1:])
    packs = list((fleet.store / "objects/pack").glob("*.pack"))
    assert len(packs) == 1
    assert old.read("files/a") == b"a"
    for mirror in (fleet.mirror, fleet.reopen()):
        assert mirror.is_sound(revisions)
    fleet.fsck()


def test_a_promotion_without_a_fetch_keeps_what_is_there(fleet: Fleet) -> None:
    revision = fleet.take()
    fleet.mirror.keep([])
    fleet.mirror.promote(revision)
    assert (fleet.store / "refs/datum" / revision.commit).exists()
    with pytest.raises(RepositoryError, match="f" * 40):
        fleet.mirror.promote(Revision("f" * 40))


def test_what_a_killed_pass_left_is_swept(fleet: Fleet) -> None:
    """Every name under which git takes a lock or begins a file, in the mirror and where a fetch was being put."""
    first = fleet.take()
    quarantine = fleet.state / "quarantine"
    (quarantine / "objects/pack").mkdir(parents=True)
    (quarantine / "refs/datum").mkdir(parents=True)
    locks = [f"{name}.lock" for name in ("shallow", "config", "HEAD", "packed-refs", "refs/datum/x", "objects/info/x")]
    begun = [f"objects/pack/{name}" for name in ("tmp_pack_1", "tmp_idx_1", "tmp_rev_1", ".tmp-1-pack-1.idx")]
    for name in (*locks, *begun):
        (fleet.store / name).write_text("")
    for name in (*(lock for lock in locks if "info" not in lock), *begun, f"objects/pack/pack-{'0' * 40}.keep"):
        (quarantine / name).write_text("")
    # Says that a pack stays: no lock, and not in the way.
    (pack,) = (fleet.store / "objects/pack").glob("*.pack")
    pack.with_suffix(".keep").write_text("fetch-pack 1 on web1\n")
    fleet.remote.commit({"files/a": "b"})
    fleet.reopen()
    second = fleet.take()
    fleet.mirror.keep([first, second])
    assert not [name for name in (*locks, *begun) if (fleet.store / name).exists()]
    assert sorted(path.name for path in fleet.state.iterdir()) == ["mirror.git"]
    assert fleet.mirror.is_sound([first, second])
    fleet.fsck()


def test_a_mirror_put_aside_by_a_killed_pass_comes_back(fleet: Fleet) -> None:
    revision = fleet.take()
    fleet.store.rename(fleet.state / "mirror.old")
    assert not fleet.mirror.is_sound([revision])
    assert fleet.reopen().is_sound([revision])


def test_keeping_without_a_mirror_makes_none(fleet: Fleet) -> None:
    fleet.mirror.keep([Revision("f" * 40)])
    assert not fleet.state.exists()


# Damage


def damage_pack(fleet: Fleet, how: str) -> None:
    """Make the mirror unusable in one way."""
    pack = next((fleet.store / "objects/pack").glob("*.pack"))
    if how == "foreign":
        shutil.rmtree(fleet.store)
        fleet.store.mkdir()
        (fleet.store / "photo.jpg").write_text("x")
    elif how == "file":
        shutil.rmtree(fleet.store)
        fleet.store.write_text("x")
    elif how == "no pack":
        pack.unlink()
        pack.with_suffix(".idx").unlink()
    else:
        pack.chmod(0o644)
        pack.write_bytes(b"PACK" + bytes(pack.stat().st_size - 4))


@pytest.mark.parametrize("how", ["foreign", "file", "no pack", "zeros"])
def test_a_damaged_mirror_is_seen_and_healed_by_the_next_fetch(fleet: Fleet, how: str) -> None:
    first = fleet.take()
    assert fleet.mirror.is_sound([first])
    damage_pack(fleet, how)
    mirror = fleet.reopen()
    assert not mirror.is_sound([first])
    assert not mirror.has(first)
    with pytest.raises(RepositoryError) as caught:
        mirror.tree(first)
    assert code_of(caught) in {"object-missing", "object-damaged", "repository-invalid"}
    fleet.remote.commit({"files/a": "b"})
    second = fleet.take()
    assert fleet.reopen().is_sound([first, second])
    assert not (fleet.state / "mirror.old").exists()
    fleet.fsck()


def loosen(fleet: Fleet) -> None:
    """Make loose objects of the one pack of the mirror."""
    (pack,) = (fleet.store / "objects/pack").glob("*.pack")
    data = pack.read_bytes()
    for file in (fleet.store / "objects/pack").iterdir():
        file.unlink()
    subprocess.run(["git", f"--git-dir={fleet.store}", "unpack-objects", "-q"], input=data, check=True)


def test_a_submodule_that_is_nowhere_does_not_make_a_mirror_unsound(fleet: Fleet) -> None:
    fleet.remote.git("update-index", "--add", "--cacheinfo", f"160000,{'c' * 40},sub")
    fleet.remote.git("commit", "--quiet", "-m", "submodule")
    assert fleet.mirror.is_sound([fleet.take()])


def test_a_missing_file_object_is_seen(fleet: Fleet) -> None:
    revision = fleet.take()
    blob = fleet.remote.git("rev-parse", "HEAD:files/a")
    loosen(fleet)
    assert fleet.reopen().is_sound([revision])
    (fleet.store / "objects" / blob[:2] / blob[2:]).unlink()
    assert not fleet.reopen().is_sound([revision])
    with pytest.raises(RepositoryError, match=blob):
        fleet.mirror.tree(revision).read("files/a")


def test_a_reset_mirror_stays_until_its_successor_is_there(fleet: Fleet) -> None:
    revision = fleet.take()
    fleet.mirror.reset()
    assert fleet.mirror.has(revision)
    assert fleet.mirror.tree(revision).read("fleet.yaml") == b"one\n"
    url, fleet.url = fleet.url, "/nonexistent"
    with pytest.raises(RepositoryUnreachableError):
        fleet.fetch(revision)
    assert fleet.store.exists()
    fleet.url = url
    fleet.fetch(revision)
    assert not (fleet.state / "quarantine/objects/info/alternates").exists()
    fleet.mirror.promote(revision)
    assert fleet.reopen().is_sound([revision])
    assert {path.name for path in (fleet.store / "refs").rglob("*") if path.is_file()} == {revision.commit}
    fleet.fsck()


def test_nothing_known_yet_is_said(fleet: Fleet) -> None:
    with pytest.raises(RevisionNotFoundError, match="nothing was fetched") as caught:
        fleet.mirror.resolve("main")
    assert code_of(caught) == "revision-missing"
    fleet.take()
    with pytest.raises(RevisionNotFoundError):
        fleet.mirror.resolve("f" * 40)


def test_a_fetch_that_builds_on_damaged_bytes_is_made_whole(fleet: Fleet) -> None:
    """A delta against a file that the mirror has damaged cannot be resolved; the mirror must not stay so for ever."""
    lines = "".join(f"line {number}\n" for number in range(5000))
    fleet.remote.commit({"big": lines})
    first = fleet.take()
    loosen(fleet)
    blob = fleet.remote.git("rev-parse", "HEAD:big")
    file = fleet.store / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-40] + bytes(40))
    mirror = fleet.reopen()
    assert mirror.is_sound([first])
    fleet.remote.commit({"big": lines + "one more\n"})
    second = fleet.take()
    for revision in (first, second):
        assert fleet.reopen().tree(revision).read("big").startswith(b"line 0")
    fleet.fsck()


# Leaving no trace


def test_a_temporary_mirror_touches_nothing_of_the_state(fleet: Fleet, tmp_path: Path) -> None:
    first = fleet.take()
    fleet.remote.commit({"files/a": "b"})
    second = fleet.ask()
    (fleet.state / "quarantine").mkdir()
    (fleet.store / "shallow.lock").write_text("")
    before = snapshot(fleet.state)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with Mirror.open(fleet.state, run_program, temporary=temporary) as mirror:
        assert mirror.is_sound([first])
        fleet.fetch(second, mirror)
        assert mirror.tree(second).read("files/a") == b"b"
        assert mirror.is_descendant(second, first)
        with pytest.raises(InternalError):
            mirror.promote(second)
        with pytest.raises(InternalError):
            mirror.keep([second])
    assert snapshot(fleet.state) == before
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("how", ["nothing", "foreign", "no pack", "zeros"])
def test_a_temporary_mirror_does_without_a_mirror(fleet: Fleet, tmp_path: Path, how: str) -> None:
    if how != "nothing":
        fleet.take()
        damage_pack(fleet, how)
    before = snapshot(tmp_path / "state")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    fleet.remote.commit({"files/a": "b"})
    revision = fleet.ask()
    with Mirror.open(fleet.state, run_program, temporary=temporary) as mirror:
        fleet.fetch(revision, mirror)
        assert mirror.tree(revision).read("files/a") == b"b"
    assert snapshot(tmp_path / "state") == before


def test_a_state_directory_that_cannot_be_written_is_a_state_error(fleet: Fleet) -> None:
    revision = fleet.ask()
    fleet.state.write_text("a file in its place")
    with pytest.raises(StateError, match="state") as caught:
        fleet.fetch(revision)
    assert code_of(caught) == "state-not-writable"


def test_refs_of_the_mirror_that_cannot_be_listed_are_a_state_error(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = fleet.take()

    def refuse(folder: Path) -> Iterator[Path]:
        raise OSError(errno.EIO, "Input/output error", str(folder))

    with Mirror.open(fleet.state, run_program) as mirror:
        monkeypatch.setattr(Path, "iterdir", refuse)
        with pytest.raises(StateError, match=r"refs.*Input/output error") as caught:
            mirror.keep([revision])
    assert code_of(caught) == "state-not-writable"
