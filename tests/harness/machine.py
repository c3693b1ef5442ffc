"""What a one-shot root and a booted host have in common: a keeper, a disk, and ways in."""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from attrs import evolve

from tests.harness import image
from tests.harness.changes import Change, list_changes
from tests.harness.keeper import CONSOLE, DISK, LAYER, UPPER, fork_keeper, make_cgroup
from tests.harness.linux import Process, open_in_root
from tests.harness.network import Cable, Network
from tests.harness.spec import DROPPED, ENVIRONMENT, Bind, Spec

_BOUNDING_SET: Final = ",".join(f"-{name}" for name in DROPPED)
_JOIN: Final = 'echo 0 > "$0" && exec "$@"'
_BALLAST: Final = "ballast"


class HostError(AssertionError):
    """A test host did not do what it was told; the text has what it printed."""


class Machine:
    """A throw-away Debian with a disk of its own; use it as a context manager.

    Every process of it ends with ``close()``, and by itself when the test process ends.
    """

    def __init__(
        self,
        *,
        binds: Sequence[Bind],
        size: str,
        name: str,
        lossy: bool,
        with_systemd: bool,
        suite: str = image.SUITE,
        network: Network | None = None,
    ) -> None:
        """Start a host on a clean disk, and on a network where one is given that has a place for its name.

        Raises:
            ImageError: there is no image and none can be built here.
            HostError: the host does not start.
            NetworkError: the network has no free place of its name.
            OSError: namespaces or cgroups cannot be had.
        """
        base = image.find_or_build(suite)
        mount_point = base.parent / "mnt"
        mount_point.mkdir(exist_ok=True)
        places = network.names if network is not None else {}
        spec = Spec(base, mount_point, name, size, tuple(binds), lossy, cgroup="", places=places)
        if with_systemd:
            spec = evolve(spec, cgroup=str(make_cgroup()))
        self._spec = spec
        self._init: Process | None = None
        self._cable: Cable | None = None
        self._keeper, self._channel = fork_keeper(spec)
        try:
            self._await_up()
            self._cable = network.connect(name, self._keeper) if network is not None else None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Throw the host and its disk away; calling it again does nothing."""
        if self._keeper:
            self._channel.close()
            os.waitpid(self._keeper, 0)
            self._keeper = 0

    @property
    def init(self) -> Process:
        """The host's process 1, as the machine outside sees it."""
        if self._init is None or not self._init.is_alive():
            raise HostError(f"{self._spec.name} is not running; it printed:\n{self.console()}")
        return self._init

    @property
    def path(self) -> Path:
        """The host's root, to look at from outside.

        An absolute link below it is followed from the root of *this* machine: never write through
        this path, use ``write`` for that.
        """
        return Path(f"/proc/{self.init.pid}/root")

    def popen(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> "subprocess.Popen[bytes]":
        """Start a command in the host, as root and with a clean environment; it dies with us."""
        return subprocess.Popen(
            [*self._way_in(), *argv],
            env={**ENVIRONMENT, **(env or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        input: str | bytes = b"",  # noqa: A002 - subprocess's word
        timeout: float = 60.0,
        check: bool = True,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in the host, as root and with a clean environment, and wait for it.

        The result has text; the return code is negative where a signal ended the command.

        Raises:
            HostError: it failed and ``check`` is set, or it took longer than ``timeout`` seconds.
        """
        data = input.encode() if isinstance(input, str) else input
        with self.popen(argv, env=env, stdin=subprocess.PIPE) as process:
            try:
                out, err = process.communicate(data, timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                # what the command started may hold the pipes; it ends with the host
                for pipe in (process.stdin, process.stdout, process.stderr):
                    assert pipe is not None
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
                raise HostError(f"{list(argv)} took longer than {timeout} s") from None
        texts = (out.decode(errors="surrogateescape"), err.decode(errors="surrogateescape"))
        done = subprocess.CompletedProcess(list(argv), process.returncode, *texts)
        if check and done.returncode:
            raise HostError(f"{done.args} ended with {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
        return done

    def read(self, path: str) -> bytes:
        """Return the content of a file of the host; links are followed as in the host."""
        with os.fdopen(open_in_root(self.path, path, os.O_RDONLY), "rb") as file:
            return file.read()

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> None:
        """Write a file of the host, made where it is missing, in a folder that exists."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(open_in_root(self.path, path, flags, mode), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            os.fchmod(file.fileno(), mode)

    def changes(self) -> dict[str, Change]:
        """Return all that differs on the host's disk from a fresh one, by absolute path."""
        disk = self._disk()
        return list_changes(disk / UPPER, (disk / LAYER, self._spec.image))

    def cut(self) -> None:
        """Pull the plug: every process is killed at once, and the disk stays, for ``start``.

        A ``lossy`` host finds on its disk what a real one would: what was not synced may be gone.
        Elsewhere nothing written is lost.
        """
        self._channel.send(b"cut")
        self._await_down()

    def start(self) -> None:
        """Switch the host on again with the disk that it had."""
        self._channel.send(b"start")
        self._await_up()

    def unplug(self) -> None:
        """Pull the cable to the network."""
        self._the_cable().unplug()

    def plug(self) -> None:
        """Put the cable back."""
        self._the_cable().plug()

    def _the_cable(self) -> Cable:
        if self._cable is None:
            raise HostError(f"{self._spec.name} is on no network")
        return self._cable

    def fill(self) -> None:
        """Leave no byte free on the host's disk (ENOSPC), until ``free``."""
        with (self._disk() / DISK / _BALLAST).open("ab", buffering=0) as file:
            for size in (1 << 24, 1 << 12):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self) -> None:
        """Take back what ``fill`` did."""
        (self._disk() / DISK / _BALLAST).unlink()

    def set_read_only(self, path: str = "/") -> None:
        """Make a folder of the host read only (EROFS); ``/`` is the whole disk."""
        if path != "/":
            self.run(["mount", "--bind", path, path])
        self.run(["mount", "-o", "remount,ro" if path == "/" else "remount,bind,ro", path])

    def set_writable(self, path: str = "/") -> None:
        """Take back what ``set_read_only`` did."""
        self.run(["mount", "-o", "remount,rw", "/"] if path == "/" else ["umount", path])

    def console(self) -> str:
        """Return what the host's process 1 has printed; nothing when its keeper is gone."""
        with contextlib.suppress(OSError):
            return (self._disk() / CONSOLE).read_text(errors="replace")
        return ""

    def _disk(self) -> Path:
        """Return the tmpfs that holds everything of the host, seen through its keeper."""
        return Path(f"/proc/{self._keeper}/root{self._spec.mount_point}")

    def _way_in(self) -> list[str]:
        """Return what to put before a command to have it run in the host."""
        pid = str(self.init.pid)
        enter = ["nsenter", "-t", pid, "-m", "-u", "-i", "-n", "-p", "-r", "--wd"]
        join: list[str] = []
        if self._spec.cgroup:
            # joined from outside: a host may forbid to cross the border of its cgroup namespace
            cgroup = Path(self._spec.cgroup, "host", "exec")
            cgroup.mkdir(exist_ok=True)
            join = ["/bin/sh", "-c", _JOIN, str(cgroup / "cgroup.procs")]
            enter.append("-C")
        caps = [f"--bounding-set={_BOUNDING_SET}", f"--inh-caps={_BOUNDING_SET}"]
        return [*join, *enter, "setpriv", "--pdeathsig", "KILL", *caps]

    def _hear(self, timeout: float) -> tuple[str, str]:
        """Return the keeper's next word and what follows it."""
        ready, _, _ = select.select([self._channel], [], [], timeout)
        if not ready:
            raise HostError(f"{self._spec.name} did not answer in {timeout} s:\n{self.console()}")
        word, _, text = self._channel.recv(1 << 16).decode().partition(" ")
        if word == "failed" or not word:
            raise HostError(f"{self._spec.name} failed: {text}\n{self.console()}")
        return word, text

    def _await_up(self, timeout: float = 30.0) -> None:
        word, text = self._hear(timeout)
        if word != "up":
            raise HostError(f"{self._spec.name} went {word} ({text}):\n{self.console()}")
        pid, start = text.split()
        self._init = Process(int(pid), int(start))

    def _await_down(self, timeout: float = 30.0) -> None:
        word, text = self._hear(timeout)
        if word != "down":
            raise HostError(f"{self._spec.name} is {word} ({text}) but was to go down")
        self._init = None


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a command of a host: nsenter's child first, so that nsenter still collects it."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        for pid in children.read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        process.wait(1.0)
    process.kill()
